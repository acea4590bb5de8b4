"""MKL-GOMP: kernels selected one after the other."""
