"""lp-norm MKL: minimizes C times the sum of losses plus half a squared block norm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, Self

import numpy as np

from multikernel._validation import COUNT, NOTHING, AnyOf, Check, Number, OneOf
from multikernel.certificates.null_model import best_intercept
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.grams.method import GramMethod
from multikernel.estimators.grams.recipe import Recipe
from multikernel.estimators.grams.source import gram_source
from multikernel.estimators.grams.training import Training
from multikernel.estimators.parameters import SequenceOf, loss_of
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.scale import target_scale
from multikernel.losses import Loss, SmoothConjugateLoss
from multikernel.losses.base import link_of
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import Solver
from multikernel.solvers.base import tolerance_of
from multikernel.solvers.lp_choice import LP_SOLVERS, SPARSE_ONLY, lp_solver

# The mean accuracy on 20 data sets is 0.873 with this default, and 0.867 with C = 1:
# ``benchmarks/defaults`` (margins).
STANDARD_C = 2.0
"""The default C in multiples of `margin_unit`."""

LARGEST_KERNEL = 1e95
"""Largest mean variance of kernels, and one over the smallest, for a default C."""


def p_choice(value: object) -> str | None:
    """Return None for a valid ``p``, otherwise the accepted values."""
    is_infinite = isinstance(value, float | np.floating) and value == np.inf
    if is_infinite or Number(1.0)(value) is None:
        return None
    return "a number of at least 1, or infinity"


MARGIN_CHECKS: Mapping[str, Check] = {"max_iter": AnyOf((NOTHING, COUNT))}

LP_CHECKS: Mapping[str, Check] = {
    **MARGIN_CHECKS,
    "p": p_choice,
    "ps": SequenceOf(p_choice, "a sequence of numbers of at least 1 (or infinity)"),
    "solver": OneOf(("auto", *LP_SOLVERS)),
}


@dataclass(frozen=True, eq=False)
class MarginMethod(GramMethod):
    """A method that minimizes C times the sum of losses plus half a squared norm."""

    C: float | None  # None means `STANDARD_C` times `margin_unit`
    p: float  # as in `LpMKLClassifier`
    solver: Solver

    def weight_sum(self, n_kernels: int) -> float:
        """Return the sum that kernel weights of p-norm one have if all are equal."""
        total: float = n_kernels ** (1.0 - 1.0 / self.p)
        return total

    @property
    def tol(self) -> float:
        """The relative duality gap at which the solver stops."""
        return tolerance_of(self.solver)

    def with_tol(self, tol: float) -> Self:
        """Return the method with another tolerance."""
        return replace(self, solver=with_tol(self.solver, tol))

    def recipe(self, data: Training) -> Recipe:
        """Return losses, penalties divided by C, and the solver."""
        scale = target_scale(self.source.owner, data.samples, self.loss.unit)
        losses, params = self.loss.at_scale(scale)
        C = self.C
        if C is None:
            weight_sum = self.weight_sum(data.stack.shape[0])
            C = STANDARD_C * margin_unit(losses[0], data, weight_sum)
        Cs = scale.scaled("C", C, 2 - scale.degree)
        params["C"] = scale.as_attribute(Cs)
        # The solvers minimize the objective divided by C, so that a dual point that is
        # feasible for one C is feasible for all C.
        penalties = [SquaredBlockNorm(1.0 / C, self.p) for C in Cs.tolist()]
        return Recipe(
            losses,
            penalties,
            self.solver,
            objective_scale=Cs,
            dual_scale=Cs,
            params=params,
        )


def with_tol(solver: Any, tol: float) -> Any:
    """Return a copy of a solver, and of its inner solver, with tolerance `tol`."""
    changes: dict[str, object] = {"tol": tol} if hasattr(solver, "tol") else {}
    inner = getattr(solver, "solver", None)
    # `SquaredForm.solver` is a class. `SquaredForm` passes its tolerance to the solvers
    # that it creates from this class.
    if is_dataclass(inner) and not isinstance(inner, type):
        changes["solver"] = with_tol(inner, tol)
    return replace(solver, **changes)


def margin_unit(loss: Loss, training: Training, weight_sum: float) -> float:
    """Return the value whose multiples are the default values of C."""
    # The default C is this value times `STANDARD_C`, and the grid of a search is this
    # value times `C_MULTIPLES`. A Newton step from a constant model is proportional to
    # C, to the size of the combined kernel and to the curvature of the loss. So this
    # value is one over the product of size and curvature, for targets of variance one.
    # The size is the variance of the combined kernel in feature space: `weight_sum`,
    # the sum of the kernel weights, times the mean variance of the kernels. The
    # curvature of the logistic loss is at most a quarter, so its C is four times as
    # large.
    variance = training.kernel_size
    if not 1.0 / LARGEST_KERNEL <= variance <= LARGEST_KERNEL:
        size, constant = ("small", "large") if variance < 1.0 else ("large", "small")
        raise ValueError(
            f"{training.source.owner}: the Gram matrices have a mean variance of "
            f"{variance:.3g}, which is too {size} for the default C: multiply all "
            f"kernels by the same {constant} constant, or pass normalize='variance'."
        )
    return curvature_unit(loss, training.samples) / (variance * weight_sum)


def curvature_unit(loss: Loss, samples: Samples) -> float:
    """Return the mean of one over a loss's curvature; one if it has no curvature."""
    if not isinstance(loss, SmoothConjugateLoss):
        return 1.0
    # The Hessian of the conjugate is one over the curvature of the loss. With a link
    # function, it is evaluated at the model that has only an intercept.
    y = samples.targets[0]
    if link_of(loss) is not None:
        b, _ = best_intercept(loss, y, np.zeros_like(y))
        slopes = loss.gradient(y, np.full_like(y, b))
        return float(loss.conjugate_hessian(y, slopes).mean())
    bounds = np.stack(loss.dual_bounds(y))
    # Use the curvature at the midpoint of each dual variable's interval. If an interval
    # is unbounded, use the curvature at zero, the dual variable of a sample without
    # loss.
    midpoints = np.where(np.isfinite(bounds).all(axis=0), bounds, 0.0).mean(axis=0)
    return float(loss.conjugate_hessian(y, midpoints).mean())


def lp_method(
    model: BaseMKL, ps: Sequence[float], C: float | None = 1.0
) -> MarginMethod:
    """Return lp-norm MKL with p = ps[0]; raise unless the solver supports all `ps`."""
    check_solver(type(model).__name__, model.solver, ps)
    solver = lp_solver(model.solver, model.tol, model.max_iter)
    source = gram_source(model, uses_all=min(ps) > 1.0, takes_columns=True)
    return MarginMethod(source, loss_of(model), C, float(ps[0]), solver)


def check_solver(owner: str, solver: str, exponents: Sequence[float]) -> None:
    """Raise if a solver for p = 1 only is requested for another p."""
    other_ps = [p for p in exponents if p != 1.0]
    if solver in SPARSE_ONLY and other_ps:
        general_solvers = ", ".join(
            repr(name) for name in LP_SOLVERS if name not in SPARSE_ONLY
        )
        raise ValueError(
            f"{owner}: solver={solver!r} supports p=1 only, got p={other_ps[0]:g}: "
            f"pass p=1, or one of the solvers 'auto', {general_solvers}."
        )
