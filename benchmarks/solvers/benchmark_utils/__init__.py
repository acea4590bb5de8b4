"""What the solvers here share: the problem as this library states it, and features."""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multikernel.certificates import decision_values
from multikernel.gram import DenseStack
from multikernel.losses import HingeLoss, LogisticLoss, SquaredLoss
from multikernel.problem import Problem, Solution
from multikernel.regularizers import BlockL1, BlockRegularizer, SquaredBlockNorm

Array = NDArray[np.float64]

LOSSES = {
    "log_loss": LogisticLoss(),
    "hinge": HingeLoss(),
    "squared_error": SquaredLoss(),
}
RANK = 1e-10
"""Eigenvalues below this share of the largest one make no feature."""


def problem_of(
    kernels: "Kernels", y: Array, loss: str, penalty: str, alpha: float
) -> Problem:
    """Return a problem; ``penalty`` is "l1", or "lp" for kernel weights with p = 2."""
    norm: BlockRegularizer = BlockL1(alpha)
    if penalty == "lp":
        norm = SquaredBlockNorm(alpha, 2.0)
    return Problem(DenseStack(kernels.K), y, LOSSES[loss], norm)


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
    the norms of the functions. All solvers share those of a data set; `seconds` are of
    the processor.
    """

    def __init__(self, K: Array) -> None:
        start = time.process_time()
        blocks = [_features(matrix) for matrix in K]
        self.sizes = [block.shape[1] for block in blocks]
        self.starts = np.cumsum([0, *self.sizes[:-1]])
        # Column by column in memory, as coordinate descent reads them.
        self.matrix = np.concatenate([block.T for block in blocks]).T
        self.seconds = time.process_time() - start

    def result(self, weights: Any, intercept: float) -> dict[str, Array]:
        """Return the decision values and norms of weights of the features."""
        norms = np.sqrt(np.add.reduceat(np.square(weights), self.starts))
        return {"values": self.matrix @ weights + intercept, "norms": norms}


def _features(matrix: Array) -> Array:
    values, vectors = np.linalg.eigh(matrix)
    kept = values > RANK * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


@dataclass(frozen=True, eq=False)
class Kernels:
    """Kernel matrices, with features for solvers that want them."""

    K: Array

    @cached_property
    def features(self) -> Features:
        """The features, made when they are asked for first."""
        return Features(self.K)
