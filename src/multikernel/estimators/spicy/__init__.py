"""Sparse MKL with a block-norm penalty and a loss (Suzuki and Tomioka 2009)."""
