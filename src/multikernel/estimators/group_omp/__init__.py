"""MKL-GOMP: kernels are selected one by one."""
