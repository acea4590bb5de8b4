"""lp-norm learning: C times the sum of losses plus half a squared norm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from multikernel._validation import COUNT, NOTHING, AnyOf, Check, OneOf
from multikernel.estimators.grams.method import GramMethod
from multikernel.estimators.grams.source import gram_source
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.lp.solvers import check_solver, exponent, lp_solver
from multikernel.estimators.parameters import SequenceOf, loss_of
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import LP_SOLVERS, Solver

MARGIN_CHECKS: Mapping[str, Check] = {"max_iter": AnyOf((NOTHING, COUNT))}

LP_CHECKS: Mapping[str, Check] = {
    **MARGIN_CHECKS,
    "p": exponent,
    "ps": SequenceOf(exponent, "a sequence of numbers of at least 1 (or infinity)"),
    "solver": OneOf(("auto", *LP_SOLVERS)),
}


@dataclass(frozen=True, eq=False)
class MarginMethod(GramMethod):
    """C times the sum of losses plus half a squared norm.

    Parameters
    ----------
    source, loss
        As in `GramMethod`.
    C, p
        As in `LpMKLClassifier`.
    solver : Solver
        The algorithm.
    """

    C: float
    p: float
    solver: Solver

    why_no_path: ClassVar[str | None] = (
        "keeps kernels in use at every C, so there is no strength to start a path "
        "from: LpMKLClassifierCV and LpMKLRegressorCV solve for a grid of C, and their "
        "path_ holds it."
    )

    def problem(self, data: Training) -> Recipe:
        """Return the recipe; the weight of all samples does not matter."""
        return self.recipe()

    def recipe(self) -> Recipe:
        """Return the recipe, whatever the samples.

        The solvers take the objective over C, so that dual points of one C are
        feasible for all.
        """
        penalty = SquaredBlockNorm(1.0 / self.C, self.p)
        return Recipe(self.loss, penalty, self.solver, self.C, dual_scale=self.C)


def margin_method(model: Any, C: float = 1.0) -> MarginMethod:
    """Return the method of an estimator without p: kernels weigh the same."""
    solver = lp_solver("auto", model.tol, model.max_iter)
    return MarginMethod(gram_source(model), loss_of(model), float(C), np.inf, solver)


def lp_method(model: Any, ps: Sequence[float], C: float = 1.0) -> MarginMethod:
    """Return the method of an estimator with a choice of solvers.

    Parameters
    ----------
    model : BaseMKL
        The estimator.
    ps : sequence of float
        All p that are solved for; the method has the first.
    C : float, default=1.0
        In front of the losses; that of a search is set by its candidates.

    Returns
    -------
    method : MarginMethod

    Raises
    ------
    ValueError
        If the solver does not fit every p.
    """
    check_solver(type(model).__name__, model.solver, ps)
    solver = lp_solver(model.solver, model.tol, model.max_iter)
    source = gram_source(model)
    return MarginMethod(source, loss_of(model), float(C), float(ps[0]), solver)
