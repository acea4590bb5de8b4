"""One-class learning with many kernels."""
