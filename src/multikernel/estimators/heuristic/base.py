"""What the estimators with weights by a rule share."""

from abc import abstractmethod
from typing import Any

import numpy as np

from multikernel.estimators.fit.progress import Watch
from multikernel.estimators.fit.solve import Recipe, Training
from multikernel.estimators.lp.base import MarginMKL
from multikernel.solvers import Solver
from multikernel.solvers.fixed_weights import FixedWeights, WeightRule


class RuleMKL(MarginMKL):
    """A machine on a sum of kernels whose weights a rule has chosen."""

    # A rule reads whole kernels, and is not asked again on finer factors.
    _refines = False

    @abstractmethod
    def _rule(self) -> WeightRule:
        """Return what chooses the weights."""

    def _solver(self) -> Solver:
        """Return the machine with weights by the rule."""
        return FixedWeights(self._rule(), super()._solver())

    def _solve(
        self, recipe: Recipe, training: Training, watch: Watch
    ) -> dict[str, Any]:
        """Solve, and call the gap what it is: that of the machine."""
        attributes = super()._solve(recipe, training, watch)
        gap = attributes["duality_gap_"]
        attributes["machine_gap_"] = gap
        attributes["duality_gap_"] = np.nan if np.ndim(gap) == 0 else gap * np.nan
        return attributes
