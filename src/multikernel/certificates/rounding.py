"""Bounds on rounding errors of a gap, and the dual point that proves the gap.

`multikernel.certificates.evaluation` states the error bounds of products.
"""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.certificates.gap import (
    DualCertificate,
    relative_gap,
    scaled_dual_value,
)
from multikernel.gram.checks import ROUNDING
from multikernel.linalg import EPS, TINY
from multikernel.losses.base import Loss
from multikernel.losses.coupled import is_coupled
from multikernel.problem import Problem

ORDINARY = 1e-9
"""Rounding errors below this share of the objective do not enlarge the gap.

With ordinary scaling, errors are smaller: on the 24-sample problems of the conformance
suite at gaps of 1e-8, the bounds are between 1e-14 and 1e-11."""


def rounding_unit(n_samples: int) -> float:
    """Return u, the relative rounding error of an inner product of n terms."""
    return float((4.0 + np.sqrt(n_samples)) * EPS)


def larger_diagonals(n_samples: int, rounded: Array, traces: Array) -> Array:
    """Return factors that enlarge diagonals in error bounds, shape (n_kernels,).

    `rounded` is `GramStack.rounded_traces()`. A factor is 1 if the rounded trace equals
    the trace.
    """
    sizes = np.maximum(np.abs(traces), TINY)
    return np.asarray(1.0 + n_samples * np.maximum(rounded / sizes - 1.0, 0.0))


def largest_losses(loss: Loss, y: Array, f: Array, spread: Array) -> Array:
    """Return bounds on the losses between f - spread and f + spread."""
    if is_coupled(loss):
        # The absolute values of a slope p - e_y sum to at most twice the mass.
        most = 2.0 * loss.masses(y) * spread.max(axis=1)
        return np.asarray(loss.value(y, f) + most)
    # Losses are convex, so they are largest at an end of the interval.
    ends = (loss.value(y, f + sign * spread) for sign in (-1.0, 1.0))
    return np.asarray(np.maximum(*ends))


@dataclass(frozen=True, eq=False)
class Worth:
    """Norms and objective of a model, with bounds on rounding errors.

    Parameters
    ----------
    norms : ndarray of shape (n_kernels,)
        Block norms of all kernels.
    objective : float
        Primal objective.
    excess : float
        Bound on how much rounding may understate the objective.
    in_single : float
        The same bound if the kernels have single precision only.
    """

    norms: Array
    objective: float
    excess: float
    in_single: float


def is_rounding(problem: Problem, f: Array, sizes: Array, objective: float) -> bool:
    """Return whether an objective is at the rounding level of the decision values f.

    This happens if parameters fit the targets exactly; a relative gap is then
    meaningless. `sizes` bound the summands of the decision values. The rounding level
    must also be small compared to the loss of a constant, because otherwise it could
    hide a model.
    """
    largest = largest_losses(problem.loss, problem.y, f, 4.0 * EPS * sizes)
    hidden = float((largest - problem.loss.value(problem.y, f)).sum())
    if objective > hidden:
        return False
    constant = np.full_like(f, f.mean())
    return hidden <= ORDINARY * float(problem.loss.value(problem.y, constant).sum())


def largest_dual_norms(
    problem: Problem, certificate: DualCertificate, unit: float
) -> Array:
    """Return upper bounds on a certificate's dual norms that include rounding."""
    gram, norms = problem.gram, certificate.dual_norms
    length = float(np.linalg.norm(certificate.dual))
    traces = gram.rounded_traces()
    largest = np.sqrt(norms**2 + unit * length**2 * traces)
    # Quadratic forms of matrices suffer from cancellation. With features they are
    # squared norms, whose rounding errors are relative.
    of_features = norms + unit * length * np.sqrt(traces)
    smaller = gram.has_features() & (of_features < largest)
    return np.asarray(np.where(smaller, of_features, largest))


def safely_feasible(
    problem: Problem, certificate: DualCertificate, worth: Worth
) -> Array:
    """Return the multiple of a dual point that proves the gap despite rounding errors.

    The exact dual norms may be larger than the computed ones. The multiple has the best
    dual value at their upper bounds, and is inside the dual ball if there is one. For a
    steep penalty, the dual value of the point itself could be much lower.

    Parameters
    ----------
    problem : Problem
        The problem.
    certificate : DualCertificate
        A feasible dual point with its dual norms.
    worth : Worth
        Norms and objective of the model whose `enlarged_gap` is to be proved.

    Returns
    -------
    dual : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    """
    _, largest = _hidden(problem, worth, certificate)
    rho = certificate.dual
    return scaled_dual_value(problem, rho, worth.norms, largest)[0] * rho


def hidden_by_dual_norms(
    problem: Problem, certificate: DualCertificate, norms: Array, largest: Array
) -> float:
    """Return a bound on how much rounding of dual norms may overstate a dual value.

    It is the decrease of the dual value if the dual norms are the `largest`, plus the
    rounding error of the sum of conjugates. `norms` are the block norms of the primal
    point.
    """
    rho = certificate.dual
    _, value = scaled_dual_value(problem, rho, norms, largest)
    sums = 4.0 * EPS * float(np.abs(problem.loss.conjugate(problem.y, -rho)).sum())
    return max(certificate.value - value, 0.0) + sums


def _hidden(
    problem: Problem, worth: Worth, certificate: DualCertificate
) -> tuple[float, Array]:
    """Return a bound on the rounding error of a gap, and bounds on the dual norms."""
    norms, gap = worth.norms, relative_gap(worth.objective, certificate.value)
    unit = rounding_unit(certificate.dual.shape[0])
    largest = largest_dual_norms(problem, certificate, unit)
    hidden = worth.excess + hidden_by_dual_norms(problem, certificate, norms, largest)
    if gap + hidden / max(abs(worth.objective), TINY) >= -ORDINARY:
        return hidden, largest
    # Such a negative gap means that the entries of the kernels are less precise than
    # double precision.
    largest = largest_dual_norms(problem, certificate, ROUNDING)
    by_dual_norms = hidden_by_dual_norms(problem, certificate, norms, largest)
    return worth.in_single + by_dual_norms, largest


def enlarged_gap(problem: Problem, worth: Worth, certificate: DualCertificate) -> float:
    """Return the relative gap of a model and a dual point, enlarged by rounding errors.

    Parameters
    ----------
    problem : Problem
        The problem.
    worth : Worth
        Norms and objective of the model, with their error bounds.
    certificate : DualCertificate
        A feasible dual point with its dual norms.

    Returns
    -------
    gap : float
        At most `ORDINARY` smaller than the gap in exact arithmetic.
    """
    gap = relative_gap(worth.objective, certificate.value)
    hidden, _ = _hidden(problem, worth, certificate)
    return with_rounding(gap, hidden, worth.objective)


def with_rounding(
    gap: float, excess: float, objective: float, ordinary: float = ORDINARY
) -> float:
    """Return a relative gap, enlarged by a bound on its rounding error.

    Parameters
    ----------
    gap : float
        The relative gap.
    excess : float
        Nonnegative bound on the absolute rounding error of the gap.
    objective : float
        The objective that the gap is relative to.
    ordinary : float, default=1e-9
        Rounding errors below this share of the objective do not enlarge the gap.

    Returns
    -------
    gap : float
        At most `ordinary` smaller than the gap in exact arithmetic.
    """
    return gap + max(excess / max(abs(objective), TINY) - ordinary, 0.0)
