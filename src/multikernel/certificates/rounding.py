"""Bounds on rounding errors of a gap, and the dual point that proves the gap."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from multikernel._typing import Array
from multikernel.certificates.gap import (
    DualCertificate,
    Number,
    certify,
    relative_gap,
    sum_of_samples,
)
from multikernel.gram.checks import ROUNDING
from multikernel.linalg import EPS, TINY
from multikernel.losses.base import Loss, has_log_scale, log_rounding
from multikernel.losses.coupled import is_coupled
from multikernel.losses.weighted import without_weights
from multikernel.problem import Problem

# If kernels and targets have ordinary scales, rounding errors are smaller than this
# share: on the 24-sample problems of the conformance suite at gaps of 1e-8, their
# bounds are 1e-14 to 1e-11.
ORDINARY = 1e-9
"""Rounding errors below this share of the objective do not enlarge the gap."""


def rounding_unit(n_samples: int) -> float:
    """Return the relative rounding error of an inner product over all samples."""
    return float((4.0 + np.sqrt(n_samples)) * EPS)


def diagonal_factors(n_samples: int, rounded_traces: Array, traces: Array) -> Array:
    """Return one factor for each kernel, for bounds on rounding errors of products."""
    # The bounds for products with kernel m contain diag(K_m) times factor m. A factor
    # is above 1 if the kernel's rounded trace (`GramStack.rounded_traces`) exceeds its
    # trace, because entries of K_m are small differences of large numbers.
    sizes = np.maximum(np.abs(traces), TINY)
    return np.asarray(1.0 + n_samples * np.maximum(rounded_traces / sizes - 1.0, 0.0))


def largest_losses(loss: Loss, y: Array, f: Array, spread: Array) -> Array:
    """Return bounds on the losses between f - spread and f + spread."""
    if is_coupled(loss):
        # The slopes of a sample are its weight, loss.masses(y), times p - e_y, with
        # class probabilities p and the unit vector e_y of its class. So their absolute
        # values sum to at most two weights.
        largest_changes = 2.0 * loss.masses(y) * spread.max(axis=1)
        return np.asarray(loss.value(y, f) + largest_changes)
    # Losses are convex, so they are largest at an end of the interval.
    end_losses = (loss.value(y, f + sign * spread) for sign in (-1.0, 1.0))
    return np.asarray(np.maximum(*end_losses))


@dataclass(frozen=True, eq=False)
class Worth:
    """Norms and objective of a model, with bounds on rounding errors."""

    norms: Array  # of all kernels
    objective: Number
    excess: Number  # bound on how much rounding may understate the objective
    # The same bound for rounding errors that are larger by a factor.
    largest_increase: Callable[[float], Number]


def is_rounding(problem: Problem, f: Array, sizes: Array, objective: float) -> bool:
    """Return whether an objective is at the rounding level of the decision values f."""
    # `sizes` are bounds on the absolute values of the summands of f, and `hidden` is
    # the resulting bound on the rounding error of the loss. If the objective is at most
    # `hidden`, the model fits the targets exactly, and a relative gap would be
    # meaningless.
    spread = 4.0 * EPS * sizes
    if has_log_scale(without_weights(problem.loss)):
        # These losses are zero if |f - log(y)| is at most `log_rounding(f)`.
        spread = spread + 2.0 * log_rounding(f)
    largest = largest_losses(problem.loss, problem.y, f, spread)
    hidden = float((largest - problem.loss.value(problem.y, f)).sum())
    if objective > hidden:
        return False
    # If the rounding level is near the loss of a constant, f may be far from the best
    # model, so the fit does not count as exact.
    constant = np.full_like(f, f.mean())
    return hidden <= ORDINARY * float(problem.loss.value(problem.y, constant).sum())


def rounding_safe(
    problem: Problem,
    rho: Array,
    norms: Array,
    dual_norms: Array,
    unit: float | None = None,
) -> DualCertificate:
    """Return a certificate near a dual point whose value rounding cannot overstate."""
    # The point is multiplied by the factor that maximizes the dual value, computed from
    # upper bounds on the dual norms. If the penalty limits dual norms, the result is
    # within the limits. If the conjugate of the penalty is steep, the dual value of the
    # point alone could be much lower. `norms` belong to the model whose gap is
    # proved; `unit` is the relative rounding error of quadratic forms, by default that
    # of double precision.
    largest = largest_dual_norms(problem, rho, dual_norms, unit)
    certificate = certify(problem, rho, norms, largest)
    conjugates = np.abs(problem.loss.conjugate(problem.y, -rho))
    rounding = 4.0 * EPS * sum_of_samples(conjugates, norms)
    return replace(certificate, value=certificate.value - rounding)


def largest_dual_norms(
    problem: Problem, rho: Array, dual_norms: Array, unit: float | None = None
) -> Array:
    """Return upper bounds on the dual norms of a point that include rounding."""
    unit = rounding_unit(len(rho)) if unit is None else unit
    length = np.linalg.norm(rho, axis=0 if dual_norms.ndim > 1 else None)
    traces, has_features = problem.gram.rounded_traces(), problem.gram.has_features()
    largest = np.sqrt(dual_norms**2 + np.multiply.outer(traces, unit * length**2))
    # Quadratic forms of matrices suffer from cancellation. With features they are
    # squared norms, whose rounding errors are relative.
    feature_norms = dual_norms + np.multiply.outer(np.sqrt(traces), unit * length)
    largest[has_features] = np.fmin(largest, feature_norms)[has_features]
    return np.asarray(largest)


def prove(
    problem: Problem, worth: Worth, certificate: DualCertificate
) -> tuple[float, Array]:
    """Return a model's relative gap despite rounding, and the point that proves it."""
    # `worth` is the evaluation of the model, `certificate` that of the dual point.
    rho, sizes, norms = certificate.dual, certificate.dual_norms, worth.norms
    safe = rounding_safe(problem, rho, norms, sizes)
    if worth.objective == 0.0:
        # The dual value at the point zero has no rounding error. If this value is zero,
        # it proves that the objective zero is optimal.
        zeros = np.zeros_like(norms)
        if certify(problem, np.zeros_like(rho), norms, zeros).value == 0.0:
            return 0.0, safe.dual
    if gap_of(worth, safe) < -ORDINARY:
        # Such a negative gap means that the entries of the kernels are less precise
        # than double precision.
        safe = rounding_safe(problem, rho, norms, sizes, ROUNDING)
        single = worth.largest_increase(ROUNDING / rounding_unit(len(rho)))
        worth = replace(worth, excess=single)
    return gap_of(worth, safe), safe.dual


def gap_of(worth: Worth, certificate: DualCertificate) -> Number:
    """Return the relative gap to a `rounding_safe` certificate, despite rounding."""
    gap = relative_gap(worth.objective, certificate.value)
    return with_rounding(gap, worth.excess, worth.objective)


def with_rounding(
    gap: Number, excess: Number, objective: Number, ordinary: float = ORDINARY
) -> Number:
    """Return a relative gap plus the part of excess / |objective| above `ordinary`."""
    # `excess` bounds the absolute rounding error of the gap, so excess / |objective|
    # bounds the relative error. Its part up to `ordinary`, the size of ordinary
    # rounding errors, is ignored: the result is at least the exact relative gap minus
    # `ordinary`.
    hidden = excess / np.maximum(np.abs(objective), TINY)
    return gap + np.maximum(hidden - ordinary, 0.0)
