"""Directed acyclic graphs of kernels (HKL)."""

from multikernel.kernels.graph.anova import AnovaGrid
from multikernel.kernels.graph.base import (
    FittedGraph,
    GraphSamples,
    KernelGraph,
    ancestors,
    descendants,
    frontier,
    hull,
)
from multikernel.kernels.graph.empirical import EmpiricalGrid
from multikernel.kernels.graph.explicit import DictionaryGraph
from multikernel.kernels.graph.grid import DirectedGrid
from multikernel.kernels.graph.hermite import HermiteGrid
from multikernel.kernels.graph.polynomial import PolynomialGrid

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
    "ancestors",
    "descendants",
    "frontier",
    "hull",
]
