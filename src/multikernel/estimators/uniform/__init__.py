"""One machine on the sum of all kernels: the baseline of every method."""
