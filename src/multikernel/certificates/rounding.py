"""Bounds on rounding errors of a gap, and the dual point that proves it.

How large errors of products may be says `multikernel.certificates.evaluation`.
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
from multikernel.gram.refine import has_features
from multikernel.linalg import EPS, TINY
from multikernel.losses.base import Loss
from multikernel.losses.coupled import is_coupled
from multikernel.problem import Problem

ORDINARY = 1e-9
"""Share of the objective that rounding may hide without the gap being enlarged.

In ordinary scaling errors stay below it: on the 24-sample problems of the conformance
suite at gaps of 1e-8 the bounds are between 1e-14 and 1e-11."""


def rounding_unit(n_samples: int) -> float:
    """Return u, the relative rounding error of an inner product of n terms."""
    return float((4.0 + np.sqrt(n_samples)) * EPS)


def larger_diagonals(n_samples: int, rounded: Array, traces: Array) -> Array:
    """Return factors that enlarge diagonals in error bounds, shape (n_kernels,).

    `rounded` are the `GramStack.rounded_traces`. A factor is 1 if they are the traces.
    """
    sizes = np.maximum(np.abs(traces), TINY)
    return np.asarray(1.0 + n_samples * np.maximum(rounded / sizes - 1.0, 0.0))


def largest_losses(loss: Loss, y: Array, f: Array, spread: Array) -> Array:
    """Return bounds on the losses between f - spread and f + spread."""
    if is_coupled(loss):
        # A slope p - e_y has a sum of absolute values of two times the mass at most.
        most = 2.0 * loss.masses(y) * spread.max(axis=1)
        return np.asarray(loss.value(y, f) + most)
    # Losses are convex: between two points none exceeds the larger value at an end.
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
        By how much rounding may hide a larger one.
    in_single : float
        The same, if its kernels are only known to single precision.
    """

    norms: Array
    objective: float
    excess: float
    in_single: float


def is_rounding(problem: Problem, f: Array, sizes: Array, objective: float) -> bool:
    """Return whether an objective is nothing but the rounding of decision values f.

    The `sizes` bound the numbers that decision values are sums of. Parameters may fit
    without an error, and no gap is a share of zero. Rounding must be small beside the
    loss of a constant: otherwise it hides a model.
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
    """Return what the dual norms of a certificate may be, rounding included."""
    gram, norms = problem.gram, certificate.dual_norms
    length = float(np.linalg.norm(certificate.dual))
    traces = gram.rounded_traces()
    largest = np.sqrt(norms**2 + unit * length**2 * traces)
    # A quadratic form of a matrix cancels. A form of features is a squared norm, whose
    # rounding error is relative.
    of_features = norms + unit * length * np.sqrt(traces)
    smaller = has_features(gram) & (of_features < largest)
    return np.asarray(np.where(smaller, of_features, largest))


def safely_feasible(
    problem: Problem, certificate: DualCertificate, worth: Worth
) -> Array:
    """Return the multiple of a dual point that proves the gap, rounding included.

    Its dual norms may be larger than computed: the multiple is that with the best dual
    value at the largest ones, inside the dual ball where there is one. Where a penalty
    is steep, the point itself may prove next to nothing.

    Parameters
    ----------
    problem : Problem
        The problem.
    certificate : DualCertificate
        A feasible dual point with its dual norms.
    worth : Worth
        Of the model whose `enlarged_gap` is to be proved.

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
    """Return a bound on how much too high a dual value is by rounding of dual norms.

    It is the value less the value of a multiple that is feasible even if dual norms
    are the `largest`, and the rounding of the conjugate's sum. `norms` are the block
    norms of the primal point, near which the multiple is looked for.
    """
    rho = certificate.dual
    _, value = scaled_dual_value(problem, rho, norms, largest)
    sums = 4.0 * EPS * float(np.abs(problem.loss.conjugate(problem.y, -rho)).sum())
    return max(certificate.value - value, 0.0) + sums


def _hidden(
    problem: Problem, worth: Worth, certificate: DualCertificate
) -> tuple[float, Array]:
    """Return what rounding may hide of a gap, and the largest dual norms."""
    norms, gap = worth.norms, relative_gap(worth.objective, certificate.value)
    unit = rounding_unit(certificate.dual.shape[0])
    largest = largest_dual_norms(problem, certificate, unit)
    hidden = worth.excess + hidden_by_dual_norms(problem, certificate, norms, largest)
    if gap + hidden / max(abs(worth.objective), TINY) >= -ORDINARY:
        return hidden, largest
    # No kernels do this, so these are less exact than what they are computed with.
    largest = largest_dual_norms(problem, certificate, ROUNDING)
    by_dual_norms = hidden_by_dual_norms(problem, certificate, norms, largest)
    return worth.in_single + by_dual_norms, largest


def enlarged_gap(problem: Problem, worth: Worth, certificate: DualCertificate) -> float:
    """Return the relative gap of a model and a dual point, rounding included.

    Parameters
    ----------
    problem : Problem
        The problem.
    worth : Worth
        Of the model.
    certificate : DualCertificate
        A feasible dual point with its dual norms.

    Returns
    -------
    gap : float
        Never more than `ORDINARY` below the gap in exact arithmetic.
    """
    gap = relative_gap(worth.objective, certificate.value)
    hidden, _ = _hidden(problem, worth, certificate)
    return with_rounding(gap, hidden, worth.objective)


def with_rounding(
    gap: float, excess: float, objective: float, ordinary: float = ORDINARY
) -> float:
    """Return a relative gap, enlarged by what rounding may hide of it.

    Parameters
    ----------
    gap : float
        The relative gap.
    excess : float
        By how much rounding may hide a larger one, not negative.
    objective : float
        The objective that the gap is relative to.
    ordinary : float, default=1e-9
        Share of the objective that rounding may hide without the gap being enlarged.

    Returns
    -------
    gap : float
        By at most `ordinary` below the gap in exact arithmetic.
    """
    return gap + max(excess / max(abs(objective), TINY) - ordinary, 0.0)
