"""Weights by a rule: a machine on a sum of kernels that nothing is proved of."""

from typing import Any

import numpy as np

from multikernel.estimators.grams.source import gram_source
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.lp.method import UnitSumMethod
from multikernel.estimators.lp.solvers import lp_solver
from multikernel.estimators.parameters import loss_of
from multikernel.problem import Solution
from multikernel.solvers.fixed_weights import FixedWeights, WeightRule


class RuleMethod(UnitSumMethod):
    """A machine on a sum of kernels whose weights a rule has chosen."""

    def publish(
        self, problem: Recipe, data: Training, solution: list[Solution]
    ) -> dict[str, Any]:
        """Return the attributes, and call the gap what it is: that of the machine."""
        attributes = super().publish(problem, data, solution)
        gap = attributes["duality_gap_"]
        attributes["machine_gap_"] = gap
        attributes["duality_gap_"] = np.nan if np.ndim(gap) == 0 else gap * np.nan
        return attributes


def rule_method(model: Any, rule: WeightRule) -> RuleMethod:
    """Return the method of an estimator whose weights a rule chooses.

    A rule reads whole kernels, and is not asked again on finer factors.
    """
    solver = FixedWeights(rule, lp_solver("auto", model.tol, model.max_iter))
    source = gram_source(model, refines=False)
    return RuleMethod(source, loss_of(model), model.C, np.inf, solver)
