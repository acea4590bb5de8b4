"""What the solvers here share: data of two kinds, and the problem in our terms."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from multikernel.certificates import decision_values
from multikernel.gram import DenseStack, GramStack
from multikernel.kernels.graph import GraphSamples, descendants, hull
from multikernel.losses import HingeLoss, LogisticLoss, SquaredLoss
from multikernel.problem import Problem, Solution
from multikernel.regularizers import BlockL1, BlockRegularizer, SquaredBlockNorm

Array = NDArray[np.float64]

LOSSES = {
    "log_loss": LogisticLoss(),
    "hinge": HingeLoss(),
    "squared_error": SquaredLoss(),
}
RESIDUAL = 1e-10
"""A factor may leave this share of a kernel's largest diagonal entry."""


def problem_of(
    kernels: "Kernels",
    y: Array,
    loss: str,
    penalty: str,
    alpha: float,
    stack: GramStack | None = None,
) -> Problem:
    """Return a problem; ``penalty`` is "l1", or "lp" for kernel weights with p = 2."""
    norm: BlockRegularizer = BlockL1(alpha)
    if penalty == "lp":
        norm = SquaredBlockNorm(alpha, 2.0)
    return Problem(stack or DenseStack(kernels.K), y, LOSSES[loss], norm)


def result(problem: Problem, solution: Solution, K_test: Array) -> dict[str, Array]:
    """Return the decision values and the norms of a solution of ours."""
    test = np.full(K_test.shape[1], float(solution.intercept[0]))
    for coefs, m in zip(solution.coefs, solution.active, strict=True):
        test += K_test[m] @ coefs
    values = decision_values(problem, solution)
    return {"values": values, "norms": solution.norms, "test": test}


class Features:
    """Exact features of every kernel, side by side: K_m = Z_m Z_m'.

    A group lasso on them is the problem with a sum of norms, and its weights w_m have
    the norms of the functions. They are Cholesky's factors with pivots, the quickest
    there are (on 837 kernels of 455 samples 0.6 s, where eigenvectors take 11.5 s); to
    a group lasso all factors of a kernel are one, up to a rotation. All solvers share
    those of a data set; `seconds` are of the processor.
    """

    def __init__(self, K: Array) -> None:
        start = time.process_time()
        blocks = [_factor(matrix) for matrix in K]
        self.sizes = [block.shape[1] for block in blocks]
        self.offsets = np.cumsum([0, *self.sizes])
        # Column by column in memory, as coordinate descent reads them.
        self.matrix = np.concatenate([block.T for block in blocks]).T
        self.seconds = time.process_time() - start

    def result(self, weights: Any, intercept: float) -> dict[str, Array]:
        """Return the decision values and norms of weights of the features."""
        norms = np.sqrt(np.add.reduceat(np.square(weights), self.offsets[:-1]))
        return {"values": self.matrix @ weights + intercept, "norms": norms}


def _factor(matrix: Array) -> Array:
    lower, pivots, rank, _ = dpstrf(
        matrix, tol=RESIDUAL * matrix.diagonal().max(), lower=1
    )
    factor = np.empty((len(matrix), rank))
    factor[pivots - 1] = np.tril(lower[:, :rank])
    return factor


@dataclass(frozen=True, eq=False)
class Kernels:
    """Kernel matrices, with features for solvers that want them."""

    K: Array

    @cached_property
    def features(self) -> Features:
        """The features, made when they are asked for first."""
        return Features(self.K)

    def few(self, y: Array, K_test: Array) -> dict[str, Any]:
        """Return what a solver is tried on before the clock starts."""
        K = self.K[:3, :30, :30].copy()
        return {"kernels": Kernels(K), "y": y[:30], "K_test": K_test[:3, :, :30]}


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph of kernels on samples."""

    samples: GraphSamples

    def few(self, y: Array, K_test: Array) -> dict[str, Any]:
        """Return what a solver is tried on: all, as a graph has no part."""
        return {}

    def nodes(self) -> list[Any]:
        """Return all nodes, parents first; there may be very many."""
        graph = self.samples.graph
        return [node for root in graph.roots() for node in descendants(graph, root)]

    def terms(self, nodes: Sequence[Any]) -> list[tuple[float, list[int]]]:
        """Return d_v for every ancestor v of some nodes, and which come after it."""
        graph = self.samples.graph
        above = [hull(graph, [node]) for node in nodes]
        return [
            (graph.weight(v), [k for k, those in enumerate(above) if v in those])
            for v in hull(graph, nodes)
        ]

    def norm(self, norms: Mapping[Any, float]) -> float:
        """Return the sum of d_v times the norm of all that comes after v."""
        sizes = np.array(list(norms.values()))
        terms = self.terms(list(norms))
        return sum(weight * float(np.linalg.norm(sizes[own])) for weight, own in terms)
