"""What the estimators of lp-norm learning share."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from multikernel._validation import COUNT, NOTHING, AnyOf, Check, OneOf
from multikernel.estimators.fit.base import BaseMKL
from multikernel.estimators.fit.parameters import SequenceOf
from multikernel.estimators.fit.solve import Recipe
from multikernel.estimators.lp.solvers import check_solver, exponent, lp_solver
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import LP_SOLVERS, Solver


class MarginMKL(BaseMKL):
    """C times the sum of losses plus half a squared norm; p is infinite here."""

    _checks: ClassVar[Mapping[str, Check]] = {"max_iter": AnyOf((NOTHING, COUNT))}

    tol: float
    max_iter: int | None

    def _exponents(self) -> Sequence[float]:
        """Return all p that are solved for."""
        return [np.inf]

    def _solver(self) -> Solver:
        """Return the algorithm."""
        return lp_solver("auto", self.tol, self.max_iter)

    def _build(self, total_weight: float) -> Recipe:
        """Return the recipe; the weight of all samples does not matter.

        The solvers take the objective over C, so that dual points of one C are
        feasible for all. A search sets C and p.
        """
        C, p = self._strength("C"), float(self._exponents()[0])
        penalty = SquaredBlockNorm(1.0 / C, p)
        return Recipe(self._find_loss(), penalty, self._solver(), C, dual_scale=C)


class LpMKL(MarginMKL):
    """A model with a choice of solvers, not all of which fit every p."""

    _checks: ClassVar[Mapping[str, Check]] = {
        "p": exponent,
        "ps": SequenceOf(exponent, "a sequence of numbers of at least 1 (or infinity)"),
        "solver": OneOf(("auto", *LP_SOLVERS)),
    }

    p: Any
    solver: str

    def _exponents(self) -> Sequence[float]:
        """Return all p that are solved for."""
        return [self.p]

    def _solver(self) -> Solver:
        """Return the algorithm."""
        return lp_solver(self.solver, self.tol, self.max_iter)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_solver(type(self).__name__, self.solver, self._exponents())
