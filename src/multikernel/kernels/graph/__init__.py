"""Directed acyclic graphs of kernels (HKL)."""

from multikernel.kernels.graph.polynomial import PolynomialGrid

__all__ = ["PolynomialGrid"]
