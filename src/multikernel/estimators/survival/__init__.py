"""Sparse MKL for times to an event that may be censored."""
