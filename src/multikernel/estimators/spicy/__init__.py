"""Sparse MKL with a block-norm penalty, for many losses (Suzuki and Tomioka 2009)."""
