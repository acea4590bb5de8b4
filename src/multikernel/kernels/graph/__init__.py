"""Directed acyclic graphs of kernels (HKL)."""

from multikernel.kernels.graph.base import (
    FittedGraph,
    GraphSamples,
    KernelGraph,
    ancestors,
    descendants,
    frontier,
    hull,
)
from multikernel.kernels.graph.grid import DirectedGrid
from multikernel.kernels.graph.polynomial import PolynomialGrid

__all__ = [
    "DirectedGrid",
    "FittedGraph",
    "GraphSamples",
    "KernelGraph",
    "PolynomialGrid",
    "ancestors",
    "descendants",
    "frontier",
    "hull",
]
