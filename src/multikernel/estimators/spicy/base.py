"""What the estimators of sparse learning share."""

from collections.abc import Mapping
from typing import ClassVar

from multikernel._validation import UNIT_INTERVAL, Check
from multikernel.estimators.fit.base import BaseMKL
from multikernel.estimators.fit.solve import Recipe
from multikernel.regularizers import BlockElasticNet, BlockL1, BlockRegularizer
from multikernel.solvers import SpicyMKL


class SparseMKL(BaseMKL):
    """A mean loss with a sum of block norms, and of their squares."""

    _checks: ClassVar[Mapping[str, Check]] = {"l1_ratio": UNIT_INTERVAL}

    l1_ratio: float
    tol: float
    max_iter: int

    def _build(self, total_weight: float) -> Recipe:
        """Return the recipe; the mean loss of an alpha is the sum of total times it."""
        alpha = self._strength() * total_weight
        penalty: BlockRegularizer = BlockL1(alpha)
        if self.l1_ratio != 1.0:
            penalty = BlockElasticNet(alpha, float(self.l1_ratio))
        solver = SpicyMKL(tol=float(self.tol), max_iter=self.max_iter)
        return Recipe(self._find_loss(), penalty, solver, 1.0 / total_weight)
