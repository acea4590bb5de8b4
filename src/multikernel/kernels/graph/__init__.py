"""Directed acyclic graphs of kernels (HKL)."""

from multikernel.kernels.graph.base import (
    FittedGraph,
    GraphSamples,
    KernelGraph,
    descendants,
    hull,
)
from multikernel.kernels.graph.explicit import DictionaryGraph
from multikernel.kernels.graph.grid import DirectedGrid
from multikernel.kernels.graph.grids import (
    AnovaGrid,
    EmpiricalGrid,
    HermiteGrid,
    PolynomialGrid,
)

__all__ = [
    "AnovaGrid",
    "DictionaryGraph",
    "DirectedGrid",
    "EmpiricalGrid",
    "FittedGraph",
    "GraphSamples",
    "HermiteGrid",
    "KernelGraph",
    "PolynomialGrid",
    "descendants",
    "hull",
]
