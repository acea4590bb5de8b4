"""Sparse MKL for ordered classes."""
