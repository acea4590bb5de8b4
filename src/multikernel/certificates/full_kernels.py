"""Proofs over full kernels from stacks that hold less of them.

Where factors leave a residual of the kernels, an upper bound on what it adds to a dual
norm is known. The few kernels for which that bound is too loose are computed whole,
for one quadratic form; those that truly violate the dual point need more landmarks.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates.forms import TINY, factor_norms
from multikernel.certificates.gap import DualCertificate, certify, scaled_dual_value
from multikernel.gram.base import GramStack
from multikernel.problem import Problem
from multikernel.regularizers.base import ProximableRegularizer

MARGIN = 0.5
"""Landmarks are added until a bound is this share of what it may be, as the next dual
point is another one."""

TIGHT = 1e-5
"""A bound on a form may exceed it by this share of the largest form."""

COMPUTED = 2**35
"""Values of kernels that are computed for one proof. Gaussians of one column took
2.4 ns a value on a busy core, of 20 columns 4.4 (20 000 samples): 84 and 150 seconds
of one core for so many."""


@dataclass(frozen=True, eq=False)
class FullProof:
    """A dual point that is feasible over the full kernels.

    Parameters
    ----------
    certificate : DualCertificate
        The point, scaled, and its value.
    goals : dict of int to float
        What the bounds on the residuals' forms of some kernels must become, at the
        dual point before it was scaled, for a value that the tolerance asks for.
    """

    certificate: DualCertificate
    goals: dict[int, float]


def prove_over_full_kernels(
    problem: Problem, rho: Array, forms: Array, norms: Array, excess: float
) -> FullProof:
    """Scale a dual point so that it is feasible over the full kernels.

    Bounds are cut at a common level, the highest one at which what they cost is small.
    Kernels above it are computed whole, if that can be done.

    Parameters
    ----------
    problem : Problem
        The problem over the factors.
    rho : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A dual point, feasible over the factors.
    forms : ndarray of shape (n_kernels,)
        Its quadratic forms of the factors.
    norms : ndarray of shape (n_kernels,)
        Block norms of the current primal point.
    excess : float
        What residuals may cost of the dual value.
    """
    residual, regularizer = problem.gram.residual_bounds(rho), problem.regularizer
    # Below its threshold a penalty does not see a kernel.
    level = 0.0
    if isinstance(regularizer, ProximableRegularizer):
        level = regularizer.threshold**2

    def value(cut: float) -> float:
        most = np.maximum(forms + cut, level)
        sizes = np.sqrt(np.minimum(forms + residual, most))
        return scaled_dual_value(problem, rho, norms, sizes)[1]

    cut = highest(value, value(0.0) - excess, float(residual.max()))
    allowed = np.maximum(cut, level - forms)
    loose = np.flatnonzero(residual > allowed)
    bounds = tightened(problem.gram, rho, forms, residual, loose)
    before, residual[loose] = residual[loose], bounds
    certificate = certify(problem, rho, norms, np.sqrt(forms + residual))
    # A goal is for the loose bounds, so it is larger than what is allowed by as much.
    goals = {
        int(m): float(MARGIN * was * (allowed[m] / bound))
        for m, was, bound in zip(loose, before, bounds, strict=True)
        if bound > allowed[m]
    }
    return FullProof(certificate, goals)


def tightened(
    gram: GramStack, rho: Array, forms: Array, residual: Array, loose: Indices
) -> Array:
    """Return bounds on what a stack leaves of some forms, computed where that is quick.

    `forms` are the quadratic forms of the dual point, `residual` the bounds on what
    they lack; those returned are of the `loose` kernels only, and no larger than
    before.
    """
    if not 0 < loose.size * rho.shape[0] ** 2 <= COMPUTED:
        return np.asarray(residual[loose])
    exact = np.maximum(gram.full_forms(loose, rho) - forms[loose], 0.0)
    return np.asarray(np.fmin(residual[loose], exact))


def largest_dual_norm(gram: GramStack, rho: Array) -> float:
    """Return the largest dual norm, or a bound that exceeds it by next to nothing."""
    forms, residual = factor_norms(gram, rho) ** 2, gram.residual_bounds(rho)
    loose = np.flatnonzero(forms + residual > (1.0 + TIGHT) * forms.max())
    residual[loose] = tightened(gram, rho, forms, residual, loose)
    return float(np.sqrt((forms + residual).max()))


def highest(value: Callable[[float], float], least: float, most: float) -> float:
    """Return about the highest cut whose value is at least as large as asked for."""
    if value(most) >= least:
        return most
    low, high = np.log(max(most, TINY)) - np.array([40.0, 0.0])
    while high - low > 0.1:
        middle = 0.5 * (low + high)
        enough = value(float(np.exp(middle))) >= least
        low, high = (middle, high) if enough else (low, middle)
    return float(np.exp(low))
