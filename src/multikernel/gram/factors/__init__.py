"""Factors of kernels, one family: in memory, in files, on workers."""
