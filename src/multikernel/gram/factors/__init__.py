"""Kernels stored as low-rank factors: in memory, in files or on workers of Dask."""
