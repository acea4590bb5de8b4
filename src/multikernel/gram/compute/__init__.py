"""Kernels in blocks: `matrices` stores them, `forms` computes quadratic forms only."""
