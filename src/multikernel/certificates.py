r"""One duality gap for every loss, regulariser and solver.

For the problem of `multikernel.problem.Problem` the dual is

.. math::
    \max_\rho \; -\sum_i \ell^*(y_i, -\rho_i)
    - \Omega^*\bigl(\|\rho\|_{K_1}, \dots, \|\rho\|_{K_M}\bigr)
    \quad \text{subject to } \sum_i \rho_i = 0 \text{ (with an intercept)}.

It meets the kernels through M numbers only, so nothing here depends on how they are
stored. Every dual value is taken at a *feasible* point: the gap is a proof.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from multikernel._typing import Array, Indices
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram.base import GramStack
from multikernel.losses.base import Loss
from multikernel.problem import Problem, Solution

NUDGE = 1.0 - 1e-6
"""How much a dual point is shrunk to see whether shrinking pays."""

TINY = float(np.finfo(np.float64).tiny)


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

    Returns
    -------
    objective : float
    """
    losses = problem.loss.value(problem.y, f)
    return float(losses.sum()) + problem.regularizer.value(norms)


def dual_norms(gram: GramStack, rho: Array) -> Array:
    """Return ||rho||_{K_m} for every kernel: one pass.

    Parameters
    ----------
    gram : GramStack
        The kernel matrices.
    rho : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Dual variable.

    Returns
    -------
    norms : ndarray of shape (n_kernels,)

    Raises
    ------
    IndefiniteKernelError
        If a quadratic form is negative beyond rounding, so that its matrix is no
        kernel matrix.
    """
    forms = gram.quadratic_forms(rho)
    check_forms(gram, forms, rho)
    return np.sqrt(np.maximum(forms, 0.0))


def check_forms(
    gram: GramStack, forms: Array, rho: Array, kernels: Indices | None = None
) -> None:
    """Raise if a quadratic form is not finite, or negative beyond rounding.

    Parameters
    ----------
    gram : GramStack
        The kernel matrices.
    forms : ndarray of shape (n_kernels,)
        Their quadratic forms of `rho`.
    rho : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The vector.
    kernels : ndarray of shape (n_kernels,), optional
        What the message calls the kernels, where `gram` is a part of a stack.

    Raises
    ------
    IndefiniteKernelError
        Naming the worst kernel.
    """
    # |rho|^2 times the trace bounds the form; sqrt(eps) of it is far above rounding
    # (also that of float32 storage is covered) and far below a real violation.
    lowest = int(np.argmin(forms))
    if forms[lowest] >= 0.0 and np.isfinite(forms).all():
        return
    size = float(np.sum(rho * rho))
    traces = np.abs(gram.diagonals()).sum(axis=1)
    bad = ~np.isfinite(forms) | (forms < -1e-8 * size * np.maximum(traces, TINY))
    if not bad.any():
        return
    worst = int(
        np.argmax(np.where(bad, np.where(np.isfinite(forms), -forms, np.inf), -np.inf))
    )
    curvature = forms[worst] / max(size, TINY)
    name = worst if kernels is None else kernels[worst]
    raise IndefiniteKernelError(
        f"Gram matrix {name} is not positive semidefinite: a quadratic form of it is "
        f"{forms[worst]:.3g} (Rayleigh quotient {curvature:.3g}, so it has an "
        "eigenvalue at or below that, where its trace is "
        f"{traces[worst]:.3g}). Shift its diagonal by at least minus that eigenvalue, "
        "clip its negative eigenvalues, or leave it out."
    )


def project_dual(problem: Problem, rho: Array) -> Array:
    """Return the nearest point to `rho` that is centred and inside the loss's domain.

    The nearest point of a box with a fixed sum is a clipped shift of the candidate;
    the shift is the root of a monotone piecewise linear function.

    Parameters
    ----------
    problem : Problem
        Gives the loss's domain and whether there is an intercept.
    rho : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A candidate, for example minus the gradient of the loss.

    Returns
    -------
    projected : ndarray of the shape of `rho`
    """
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
        left, right = (shift, right) if excess > 0.0 else (left, shift)
        inside = (clipped > lower) & (clipped < upper)
        free = int(inside.sum())
        step = shift + excess / free if free else np.inf
        # Newton on a monotone piecewise linear function, bisection as the safeguard.
        new = step if left < step < right else 0.5 * (left + right)
        if excess == 0.0 or new == shift or right - left <= 0.0:
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

    Returns
    -------
    certificate : DualCertificate
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
        In (0, 1].
    value : float
        The dual objective at ``scale * rho``.
    """
    loss, regularizer, y = problem.loss, problem.regularizer, problem.y

    def loss_of(scale: float) -> float:
        conjugate = float(loss.conjugate(y, -scale * rho).sum())
        return conjugate + regularizer.conjugate(scale * candidate_norms, norms)

    largest = regularizer.feasible_scale(candidate_norms)
    best = loss_of(largest)
    if loss_of(NUDGE * largest) < best:
        # The value is concave in the scale and falls at the largest one. That is so
        # where Omega* is finite but steep: without this an elastic net's first dual
        # values, at points that ignore most kernels, would be useless.
        found = minimize_scalar(
            loss_of, bounds=(0.0, largest), method="bounded", options={"xatol": 1e-9}
        )
        if found.fun < best:
            return float(found.x), -float(found.fun)
    return largest, -best


def relative_gap(primal: float, dual: float) -> float:
    """Return (primal - dual) / max(abs(primal), tiny)."""
    return (primal - dual) / max(abs(primal), TINY)


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
    """
    f = np.zeros_like(problem.y)
    if solution.active.size:
        f = problem.gram.take(solution.active).block_matvec(solution.coefs).sum(axis=0)
    return f + solution.intercept


def duality_gap(problem: Problem, solution: Solution) -> float:
    """Return the relative duality gap of a solution, computed from scratch.

    Nothing but the expansions, the intercept and the dual point are trusted: norms
    and decision values are recomputed, and the dual point is projected and scaled.

    Parameters
    ----------
    problem : Problem
        The problem.
    solution : Solution
        Any solution of it.

    Returns
    -------
    gap : float
        Never below zero but for rounding; infinite if the dual point is not finite.
    """
    if not np.isfinite(solution.dual).all():
        return np.inf
    norms = np.zeros(problem.gram.shape[0])
    if solution.active.size:
        images = problem.gram.take(solution.active).block_matvec(solution.coefs)
        axes = tuple(range(1, images.ndim))
        forms = np.sum(solution.coefs * images, axis=axes)
        norms[solution.active] = np.sqrt(np.maximum(forms, 0.0))
    primal = primal_value(problem, norms, decision_values(problem, solution))
    rho = project_dual(problem, solution.dual)
    certificate = certify(problem, rho, norms, dual_norms(problem.gram, rho))
    return relative_gap(primal, certificate.value)


@dataclass(frozen=True, eq=False)
class ConstantModel:
    """The best model without kernels.

    Parameters
    ----------
    intercept : ndarray of shape (n_outputs,)
        The best constant, zero where the problem has no intercept.
    dual : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A dual point that is optimal for the constant model: minus a subgradient of
        the loss there, which sums to zero with an intercept.
    """

    intercept: Array
    dual: Array


def constant_model(problem: Problem) -> ConstantModel:
    """Return the best constant model and its dual point.

    Parameters
    ----------
    problem : Problem
        The kernels are not used.

    Returns
    -------
    model : ConstantModel

    Raises
    ------
    ValueError
        If the best constant is infinite: one class only.
    """
    y, loss = problem.y, problem.loss
    if not problem.fit_intercept:
        n_outputs = 1 if y.ndim == 1 else y.shape[1]
        return ConstantModel(np.zeros(n_outputs), -loss.gradient(y, np.zeros_like(y)))
    if y.ndim == 1:
        b, dual = best_intercept(loss, y, np.zeros_like(y))
        return ConstantModel(np.array([b]), dual)
    zero = np.zeros(y.shape[0])
    fits = [best_intercept(loss, y[:, k], zero) for k in range(y.shape[1])]
    return ConstantModel(
        np.array([b for b, _ in fits]), np.stack([dual for _, dual in fits], axis=1)
    )


def best_intercept(loss: Loss, y: Array, f: Array) -> tuple[float, Array]:
    """Return the best constant to add to decision values, and a dual point there.

    The summed loss is minimised by bisection on its slope. At a kink the two one-sided
    subgradients are mixed so that their sum is zero: both are subgradients at
    (numerically) the same point, so the mixture is one.

    Parameters
    ----------
    loss : Loss
        The loss.
    y, f : ndarray of shape (n_samples,)
        Targets, and decision values without intercept.

    Returns
    -------
    b : float
        The best intercept.
    dual : ndarray of shape (n_samples,)
        Minus a subgradient of the loss at f + b; it sums to zero.
    """

    def slope(b: float) -> tuple[float, Array]:
        gradient = loss.gradient(y, f + b)
        return float(gradient.sum()), gradient

    reach = 1.0 + float(np.abs(y).max() + np.abs(f).max())
    left, right = -reach, reach
    while slope(left)[0] > 0.0:
        left = _widen(left, reach)
    while slope(right)[0] < 0.0:
        right = _widen(right, reach)
    precision = 4.0 * np.finfo(float).eps * (right - left)
    while right - left > precision:
        middle = 0.5 * (left + right)
        left, right = (left, middle) if slope(middle)[0] >= 0.0 else (middle, right)
    (low, g_low), (high, g_high) = slope(left), slope(right)
    share = 0.5 if high <= low else float(np.clip(-low / (high - low), 0.0, 1.0))
    # In this form a mixture of equal numbers is that number to the last digit, so that
    # no entry leaves the conjugate's domain by rounding.
    gradient = g_low + share * (g_high - g_low)
    return 0.5 * (left + right), -gradient


def _widen(b: float, reach: float) -> float:
    """Double a bracket end, and say what is wrong when it runs away."""
    # Constants of regression are within reach at once; those of the logistic loss are
    # log-odds, and weights would have to differ by exp(256) to put them beyond.
    if abs(b) > 128.0 * reach:
        raise ValueError(
            "The best constant model is infinite: the targets hold one class only."
        )
    return 2.0 * b


def alpha_max(problem: Problem) -> float:
    r"""Return the smallest regularisation at which every kernel is out.

    .. math:: \alpha_{\max} = \max_m \|\rho_0\|_{K_m}

    in the summed scale of `Problem` (an estimator's alpha is this over n_samples),
    with :math:`\rho_0` the dual point of the best constant model. For losses with
    kinks there, such as the hinge, it is an upper bound. For an elastic net it is the
    alpha at which the block l1 part alone removes every kernel, so the value is
    divided by ``l1_ratio``; it is infinite where that is zero.

    Parameters
    ----------
    problem : Problem
        Its regulariser is used for its shape only, not for its strength.

    Returns
    -------
    alpha : float
    """
    largest = float(dual_norms(problem.gram, constant_model(problem).dual).max())
    l1_ratio = float(getattr(problem.regularizer, "l1_ratio", 1.0))
    return largest / l1_ratio if l1_ratio > 0.0 else np.inf
