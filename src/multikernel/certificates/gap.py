r"""One duality gap for every loss, regulariser and solver.

For the problem of `multikernel.problem.Problem` the dual is

.. math::
    \max_\rho \; -\sum_i \ell^*(y_i, -\rho_i)
    - \Omega^*\bigl(\|\rho\|_{K_1}, \dots, \|\rho\|_{K_M}\bigr)
    \quad \text{subject to } \sum_i \rho_i = 0 \text{ (with an intercept)}.

It meets the kernels through M numbers only, so nothing here depends on how they are
stored. Every dual value is taken at a *feasible* point: the gap is a proof.

Where factors leave a residual of the kernels, an upper bound on what it adds to a dual
norm is known. The few kernels for which that bound is too loose are computed whole,
for one quadratic form; those that truly violate the dual point need more landmarks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import minimize_scalar

from multikernel._typing import Array, Indices
from multikernel.certificates.forms import factor_norms
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram.base import GramStack
from multikernel.linalg import EPS, TINY
from multikernel.losses.base import Loss
from multikernel.losses.coupled import is_coupled, project_coupled
from multikernel.problem import Problem, Solution
from multikernel.regularizers.base import ProximableRegularizer

NUDGE = 1.0 - 1e-6
"""How much a dual point is shrunk to see whether shrinking pays."""

NEGATIVE_GAP = -1e-4
"""Relative gap below which it is not rounding, single precision included."""


@dataclass(frozen=True, eq=False)
class DualCertificate:
    """A feasible dual point and its value.

    Parameters
    ----------
    dual : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Feasible: centred (with an intercept), inside the conjugate's domain, and
        inside the regulariser's dual ball.
    dual_norms : ndarray of shape (n_kernels,)
        ||dual||_{K_m} for every kernel.
    value : float
        Dual objective, a lower bound on the optimum.
    """

    dual: Array
    dual_norms: Array
    value: float


def primal_value(problem: Problem, norms: Array, f: Array) -> float:
    """Return the primal objective.

    Parameters
    ----------
    problem : Problem
        The problem.
    norms : ndarray of shape (n_kernels,)
        Block norms.
    f : ndarray of the shape of ``problem.y``
        Decision values, intercept included.
    """
    losses = problem.loss.value(problem.y, f)
    return float(losses.sum()) + problem.regularizer.value(norms)


class DualDomain(Protocol):
    """What decides which dual points are feasible: every problem has it."""

    @property
    def loss(self) -> Loss:
        """Return the loss."""
        ...

    @property
    def y(self) -> Array:
        """Return the targets."""
        ...

    @property
    def fit_intercept(self) -> bool:
        """Return whether there is an intercept, so that sums must be zero."""
        ...


def project_dual(problem: DualDomain, rho: Array) -> Array:
    """Return the nearest point to `rho` that is centred and inside the loss's domain.

    The nearest point of a box with a fixed sum is a clipped shift of the candidate;
    the shift is the root of a monotone piecewise linear function. Where the loss
    couples the outputs, each row has a simplex in place of the box.

    Parameters
    ----------
    problem : Problem or HullProblem
        Gives the loss's domain and whether there is an intercept.
    rho : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A candidate, for example minus the gradient of the loss.

    Returns
    -------
    projected : ndarray of the shape of `rho`
    """
    if is_coupled(problem.loss):
        centre = problem.fit_intercept
        return project_coupled(problem.loss, problem.y, rho, centre=centre)
    lower_u, upper_u = problem.loss.dual_bounds(problem.y)
    lower, upper = -upper_u, -lower_u  # rho = -u
    if not problem.fit_intercept:
        clipped: Array = np.clip(rho, lower, upper)
        return clipped
    if rho.ndim == 1:
        return _centred_clip(rho, lower, upper)
    columns = [
        _centred_clip(rho[:, k], lower[:, k], upper[:, k]) for k in range(rho.shape[1])
    ]
    return np.stack(columns, axis=1)


def _centred_clip(rho: Array, lower: Array, upper: Array) -> Array:
    """Return clip(rho - shift, lower, upper) with the shift that makes the sum zero."""
    left, right = float(np.min(rho - upper)), float(np.max(rho - lower))
    if not (np.isfinite(left) and np.isfinite(right)):
        centred: Array = rho - rho.mean()
        return centred
    clipped: Array = np.clip(rho, lower, upper)
    shift = 0.0
    for _ in range(200):
        excess = float(clipped.sum())
        # A sum that is rounding asks for steps too small to be made.
        if abs(excess) <= EPS * float(np.abs(clipped).sum()):
            break
        left, right = (shift, right) if excess > 0.0 else (left, shift)
        inside = (clipped > lower) & (clipped < upper)
        free = int(inside.sum())
        step = shift + excess / free if free else np.inf
        # Newton on a monotone piecewise linear function, bisection as the safeguard.
        new = step if left < step < right else 0.5 * (left + right)
        if new == shift or right - left <= 0.0:
            break
        shift = new
        clipped = np.clip(rho - shift, lower, upper)
    return clipped


def certify(
    problem: Problem, rho: Array, norms: Array, candidate_norms: Array
) -> DualCertificate:
    """Scale a projected point into the regulariser's dual ball and evaluate it.

    Parameters
    ----------
    problem : Problem
        The problem.
    rho : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A point returned by `project_dual`.
    norms : ndarray of shape (n_kernels,)
        Block norms of the current primal point (`BlockRegularizer.conjugate`).
    candidate_norms : ndarray of shape (n_kernels,)
        ``dual_norms(problem.gram, rho)``.
    """
    scale, value = scaled_dual_value(problem, rho, norms, candidate_norms)
    return DualCertificate(scale * rho, scale * candidate_norms, value)


def scaled_dual_value(
    problem: Problem, rho: Array, norms: Array, candidate_norms: Array
) -> tuple[float, float]:
    """Return the best feasible multiple of a dual point, and its dual value.

    Parameters
    ----------
    problem : Problem
        The problem.
    rho : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A point inside the loss's domain, centred where there is an intercept.
    norms : ndarray of shape (n_kernels,)
        Block norms of the current primal point (`BlockRegularizer.conjugate`).
    candidate_norms : ndarray of shape (n_kernels,)
        Dual norms of `rho`, or upper bounds on them.

    Returns
    -------
    scale : float
        In [0, 1].
    value : float
        The dual objective at ``scale * rho``.
    """
    loss, regularizer, y = problem.loss, problem.regularizer, problem.y

    def loss_of(scale: float) -> float:
        conjugate = float(loss.conjugate(y, -scale * rho).sum())
        return conjugate + regularizer.conjugate(scale * candidate_norms, norms)

    largest = regularizer.feasible_scale(candidate_norms)
    scale, lowest = largest, loss_of(largest)
    if loss_of(NUDGE * largest) < lowest:
        # The value is concave in the scale and falls at the largest one. That is so
        # where Omega* is finite but steep: without this an elastic net's first dual
        # values, at points that ignore most kernels, would be useless.
        found = minimize_scalar(
            loss_of, bounds=(0.0, largest), method="bounded", options={"xatol": 1e-9}
        )
        if found.fun < lowest:
            scale, lowest = float(found.x), float(found.fun)
    # Zero is always feasible, and the only point that proves an optimum of zero.
    if not lowest <= 0.0 and loss_of(0.0) <= lowest:
        scale, lowest = 0.0, loss_of(0.0)
    return scale, -lowest


def relative_gap(primal: float, dual: float) -> float:
    """Return (primal - dual) / abs(primal), zero where both are zero."""
    return (primal - dual) / max(abs(primal), TINY)


def check_gap(gap: float) -> None:
    """Raise if a relative gap is negative beyond rounding, which kernels cannot cause.

    Parameters
    ----------
    gap : float
        Of a primal and a feasible dual point.

    Raises
    ------
    IndefiniteKernelError
        No matrix is named: the quadratic forms that were met were not negative.
    """
    if gap < NEGATIVE_GAP:
        raise IndefiniteKernelError(
            f"The dual value exceeds the objective by {-gap:.2g} of it. With symmetric "
            "positive semidefinite Gram matrices that is impossible: check the kernels "
            "that are functions of your own, and the matrices that were precomputed."
        )


def decision_values(problem: Problem, solution: Solution) -> Array:
    """Return the decision values of a solution on the training samples.

    Parameters
    ----------
    problem : Problem
        The problem.
    solution : Solution
        Any solution of it.

    Returns
    -------
    f : ndarray of the shape of ``problem.y``
        Those that are compared with ``problem.y``, so without the problem's offset.
    """
    f = np.zeros_like(problem.y)
    if solution.active.size:
        f = problem.gram.take(solution.active).block_matvec(solution.coefs).sum(axis=0)
    return np.asarray(f + (solution.intercept - problem.offset))


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
