"""Compute kernels in blocks: whole matrices, or only their quadratic forms."""
