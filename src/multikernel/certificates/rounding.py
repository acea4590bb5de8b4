"""Bounds on rounding errors of a gap, and the dual point that proves the gap."""

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
    objective: float
    excess: float  # bound on how much rounding may understate the objective
    in_single: float  # the same bound if the kernels have single precision only


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
    feature_norms = norms + unit * length * np.sqrt(traces)
    is_smaller = gram.has_features() & (feature_norms < largest)
    return np.asarray(np.where(is_smaller, feature_norms, largest))


def rounding_safe_dual(
    problem: Problem, certificate: DualCertificate, worth: Worth
) -> Array:
    """Return the certificate's point, rescaled to prove its gap despite rounding."""
    # The point is multiplied by the factor that maximizes the dual value, computed from
    # upper bounds on the dual norms. If the penalty limits dual norms, the result is
    # within the limits. If the conjugate of the penalty is steep, the dual value of the
    # point alone could be much lower. `worth` describes the model whose gap is proved.
    _, largest = _gap_rounding(problem, worth, certificate)
    rho = certificate.dual
    return scaled_dual_value(problem, rho, worth.norms, largest)[0] * rho


def dual_norm_rounding(
    problem: Problem, certificate: DualCertificate, norms: Array, largest: Array
) -> float:
    """Return a bound on how much rounding of dual norms may overstate a dual value."""
    rho = certificate.dual
    # The bound is a sum of two parts. The first part is the decrease of the dual value
    # if the dual norms are `largest`, their upper bounds that include rounding. The
    # second part is the rounding error of the sum of conjugates.
    _, value = scaled_dual_value(problem, rho, norms, largest)
    sums = 4.0 * EPS * float(np.abs(problem.loss.conjugate(problem.y, -rho)).sum())
    return max(certificate.value - value, 0.0) + sums


def _gap_rounding(
    problem: Problem, worth: Worth, certificate: DualCertificate
) -> tuple[float, Array]:
    """Return upper bounds on the rounding error of a gap and on each dual norm."""
    norms, gap = worth.norms, relative_gap(worth.objective, certificate.value)
    unit = rounding_unit(certificate.dual.shape[0])
    largest = largest_dual_norms(problem, certificate, unit)
    hidden = worth.excess + dual_norm_rounding(problem, certificate, norms, largest)
    if gap + hidden / max(abs(worth.objective), TINY) >= -ORDINARY:
        return hidden, largest
    # Such a negative gap means that the entries of the kernels are less precise than
    # double precision.
    largest = largest_dual_norms(problem, certificate, ROUNDING)
    by_dual_norms = dual_norm_rounding(problem, certificate, norms, largest)
    return worth.in_single + by_dual_norms, largest


def enlarged_gap(problem: Problem, worth: Worth, certificate: DualCertificate) -> float:
    """Return a model's relative gap, plus a bound on the rounding error of this gap."""
    # `worth` is the evaluation of the model, `certificate` that of the dual point.
    if worth.objective == 0.0:
        # The dual value at the point zero has no rounding error. If this value is zero,
        # it proves that the objective zero is optimal.
        zeros = np.zeros_like(certificate.dual), np.zeros_like(worth.norms)
        if scaled_dual_value(problem, zeros[0], worth.norms, zeros[1])[1] == 0.0:
            return 0.0
    gap = relative_gap(worth.objective, certificate.value)
    hidden, _ = _gap_rounding(problem, worth, certificate)
    return with_rounding(gap, hidden, worth.objective)


def with_rounding(
    gap: float, excess: float, objective: float, ordinary: float = ORDINARY
) -> float:
    """Return a relative gap plus the part of excess / |objective| above `ordinary`."""
    # `excess` bounds the absolute rounding error of the gap, so excess / |objective|
    # bounds the relative error. Its part up to `ordinary`, the size of ordinary
    # rounding errors, is ignored: the result is at least the exact relative gap minus
    # `ordinary`.
    return gap + max(excess / max(abs(objective), TINY) - ordinary, 0.0)
