"""Hierarchical kernel learning over graphs of kernels (Bach 2008)."""
