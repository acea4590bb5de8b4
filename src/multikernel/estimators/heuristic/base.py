"""What the estimators with weights by a rule share."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from multikernel._validation import (
    COUNT,
    NOTHING,
    POSITIVE,
    AnyOf,
    Check,
    OneOf,
)
from multikernel.estimators.fit.base import BaseMKL
from multikernel.estimators.fit.losses import find_loss
from multikernel.estimators.fit.parameters import SHARED_CHECKS
from multikernel.estimators.fit.progress import Watch
from multikernel.estimators.fit.solve import Recipe, Training
from multikernel.estimators.lp.base import margin_recipe
from multikernel.estimators.lp.solvers import MAX_ITER_CHECK, lp_solver
from multikernel.solvers.fixed_weights import FixedWeights, WeightRule

HEURISTIC_CHECKS: Mapping[str, Check] = {
    "C": POSITIVE,
    **SHARED_CHECKS,
    "max_iter": MAX_ITER_CHECK,
}

ALIGNMENT_CHECKS: Mapping[str, Check] = {
    "method": OneOf(("independent", "joint", "greedy")),
    "max_kernels": AnyOf((NOTHING, COUNT)),
    **HEURISTIC_CHECKS,
}


class RuleMKL(BaseMKL):
    """A machine on a sum of kernels whose weights a rule has chosen."""

    C: float
    tol: float
    max_iter: int | None

    # A rule reads whole kernels, and is not asked again on finer factors.
    _refines = False

    @abstractmethod
    def _rule(self) -> WeightRule:
        """Return what chooses the weights."""

    def _build(self, total_weight: float) -> Recipe:
        """Return the recipe; the weight of all samples does not matter."""
        loss = find_loss(self.loss, getattr(self, "epsilon", 0.1))
        solver = lp_solver("auto", self.tol, self.max_iter)
        return margin_recipe(loss, self.C, np.inf, FixedWeights(self._rule(), solver))

    def _solve(
        self, recipe: Recipe, training: Training, watch: Watch
    ) -> dict[str, Any]:
        """Solve, and call the gap what it is: that of the machine."""
        attributes = super()._solve(recipe, training, watch)
        gap = attributes["duality_gap_"]
        attributes["machine_gap_"] = gap
        attributes["duality_gap_"] = np.nan if np.ndim(gap) == 0 else gap * np.nan
        return attributes
