"""Sparse learning: a mean loss with a sum of block norms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from multikernel._validation import UNIT_INTERVAL, Check
from multikernel.estimators.fit.solve import Recipe, Training
from multikernel.estimators.gram_method import GramMethod, gram_source, loss_of
from multikernel.regularizers import BlockElasticNet, BlockL1, BlockRegularizer
from multikernel.solvers import SpicyMKL

SPARSE_CHECKS: Mapping[str, Check] = {"l1_ratio": UNIT_INTERVAL}


@dataclass(frozen=True, eq=False)
class SparseMethod(GramMethod):
    """A mean loss with a sum of block norms, and of their squares.

    Parameters
    ----------
    source, loss
        As in `GramMethod`.
    alpha, l1_ratio, tol, max_iter
        As in `SpicyMKLClassifier`.
    """

    alpha: float
    l1_ratio: float
    tol: float
    max_iter: int

    def problem(self, data: Training) -> Recipe:
        """Return the recipe; the mean loss of an alpha is the sum of total times it."""
        total = data.samples.total_weight
        penalty: BlockRegularizer = BlockL1(self.alpha * total)
        if self.l1_ratio != 1.0:
            penalty = BlockElasticNet(self.alpha * total, self.l1_ratio)
        solver = SpicyMKL(tol=self.tol, max_iter=self.max_iter)
        return Recipe(self.loss, penalty, solver, 1.0 / total)


def sparse_method(model: Any, alpha: float = 1.0, **source: Any) -> SparseMethod:
    """Return the method of an estimator, at a strength of one for a search."""
    return SparseMethod(
        gram_source(model, **source),
        loss_of(model),
        float(alpha),
        float(model.l1_ratio),
        float(model.tol),
        model.max_iter,
    )
