"""lp-norm learning: C times the sum of losses plus half a squared norm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from multikernel._validation import COUNT, NOTHING, AnyOf, Check, OneOf
from multikernel.estimators.grams.method import GramMethod
from multikernel.estimators.grams.source import gram_source
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.lp.solvers import check_solver, exponent, lp_solver
from multikernel.estimators.parameters import SequenceOf, loss_of
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.scale import Amount, multiple_of_scale, target_units
from multikernel.losses import Loss, SmoothConjugateLoss
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import LP_SOLVERS, Solver

STANDARD_C = 2.0
"""What ``C="scale"`` stands for, times `margin_unit`, where targets have a deviation of
one. ``benchmarks/defaults`` (strengths), 6 sets, R^2 less that of the search, median at
1, 2 and 4: squared error with p = 2 -0.012, -0.013 and -0.019, with p = inf -0.028,
-0.017 and -0.016; absolute error -0.016, -0.006 and -0.015, -0.021, -0.013 and -0.021.
C = 1 whatever the kernels is some 16 to 32 there with p = inf, -0.07 to -0.14."""

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

    C: Amount
    p: float
    solver: Solver

    why_no_path: ClassVar[str | None] = (
        "keeps kernels in use at every C, so there is no strength to start a path "
        "from: LpMKLClassifierCV and LpMKLRegressorCV solve for a grid of C, and their "
        "path_ holds it."
    )

    @property
    def spread(self) -> float:
        """Return the norm in which weights of the kernels are one."""
        return self.p

    def with_tol(self, tol: float) -> Self:
        """Return the method with another relative duality gap to stop at."""
        solver: Any = self.solver
        return replace(self, solver=replace(solver, tol=tol))

    def problem(self, data: Training) -> Recipe:
        """Return the recipe.

        The solvers take the objective over C, so that dual points of one C are
        feasible for all.
        """
        units = target_units(self.source.owner, data.samples)
        losses, numbers = self.loss.on(units)
        k = self.loss.degree
        power = None if k is None else 2 - k
        standard = 1.0
        if multiple_of_scale(self.C) is not None:
            standard = STANDARD_C * margin_unit(losses[0], data, self.spread)
        Cs = units.numbers("C", self.C, standard, power)
        numbers["C"] = units.published(self.C, Cs)
        penalties = [SquaredBlockNorm(1.0 / C, self.p) for C in Cs.tolist()]
        return Recipe(losses, penalties, self.solver, Cs, Cs, numbers)


class UnitSumMethod(MarginMethod):
    """A machine on a sum of kernels whose weights have a sum of one."""

    @property
    def spread(self) -> float:
        """Return one."""
        return 1.0


def margin_unit(loss: Loss, training: Training, p: float) -> float:
    """Return the C that loss and kernels ask for, at targets with a deviation of one.

    What C does depends on the size of the kernel that the machine learns with, the
    combination of all: of M kernels with equal weights of p-norm one it is M^(1 - 1/p)
    times the mean kernel. The unit is one over its variance in feature space. A step of
    Newton's method from a constant model is as long as the kernel times C times the
    curvature: one that is a quarter, as that of the logistic loss is in the middle of
    its slopes, needs four times the C.

    Parameters
    ----------
    loss : Loss
        The loss of a sample.
    training : Training
        Samples and Gram matrices.
    p : float
        Norm of the kernel weights.

    Returns
    -------
    unit : float
    """
    size: float = training.kernel_size * training.stack.shape[0] ** (1.0 - 1.0 / p)
    return curvature_unit(loss, training.samples) / size


def curvature_unit(loss: Loss, samples: Samples) -> float:
    """Return one over the curvature of a loss, one where it has none.

    Parameters
    ----------
    loss : Loss
        The loss of a sample.
    samples : Samples
        Its targets.

    Returns
    -------
    unit : float
    """
    if not isinstance(loss, SmoothConjugateLoss):
        return 1.0
    y = samples.targets[0]
    ends = np.stack(loss.dual_bounds(y))
    # The middle of an unbounded interval is zero, where there is no loss.
    middle = np.where(np.isfinite(ends).all(axis=0), ends, 0.0).mean(axis=0)
    return float(loss.conjugate_hessian(y, middle).mean())


def margin_method(
    model: Any, C: Amount = 1.0, kind: type[MarginMethod] = MarginMethod
) -> MarginMethod:
    """Return the method of an estimator without p: kernels weigh the same."""
    solver = lp_solver("auto", model.tol, model.max_iter)
    return kind(gram_source(model), loss_of(model), C, np.inf, solver)


def lp_method(model: Any, ps: Sequence[float], C: Amount = 1.0) -> MarginMethod:
    """Return the method of an estimator with a choice of solvers.

    Parameters
    ----------
    model : BaseMKL
        The estimator.
    ps : sequence of float
        All p that are solved for; the method has the first.
    C : float or str, default=1.0
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
    return MarginMethod(source, loss_of(model), C, float(ps[0]), solver)
