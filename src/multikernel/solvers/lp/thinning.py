"""Fewer kernels for a sparse model that is as good: ties are broken, remnants go."""

from dataclasses import replace

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import best_intercept, primal_value
from multikernel.problem import Problem, Solution, Status
from multikernel.solvers.incumbent import Model, Tracker

EPS = 1e-12
"""Of the largest number: what is rounding in least squares."""

RIDGE = 1e-10
"""Of the diagonal: kernels that all but tie leave least squares without a solution."""


def thinned(
    problem: Problem, solution: Solution, images: Array, most: float
) -> Solution:
    r"""Return a model of as few of the active kernels as an objective allows.

    With :math:`g_m = f_m / \|f_m\|` the model is a combination of unit functions by
    their block norms. At the optimum the objective does not change to first order if
    norms are moved between active kernels, so norms that leave the decision values and
    their own sum about the same are as good. Kernels are taken up one by one, the one
    that explains most of what is missing first, with non-negative least squares for
    the norms [1]_: of kernels that tie one is taken, and none that adds nothing.

    Parameters
    ----------
    problem : Problem
        With a penalty on the sum of norms and one-dimensional targets.
    solution : Solution
        A solution of it.
    images : ndarray of shape (n_active, n_samples)
        The decision values of its functions f_m.
    most : float
        The objective that must not be exceeded.

    Returns
    -------
    solution : Solution
        With other `norms`, `active`, `coefs`, `intercept` and `objective`; what came
        in, where no fewer kernels will do.

    References
    ----------
    .. [1] Lawson, Hanson (1974). Solving least squares problems, chapter 23.
    """
    norms = solution.norms[solution.active]
    unit = images / norms[:, None]
    models = _least_squares(unit, norms, problem.regularizer.alpha)
    # The first that is good enough; more kernels are hardly ever worse.
    low, high, found = 0, len(models), solution
    while low < high:
        middle = (low + high) // 2
        fitted = _with_norms(problem, solution, models[middle], unit)
        if fitted.objective <= most:
            high, found = middle, fitted
        else:
            low = middle + 1
    return found


def worth(gap: float, tol: float, bound: float) -> float:
    """Return the objective up to which fewer kernels are worth a larger gap.

    Half of what the tolerance leaves is spent: a gap that is computed anew, from the
    model that is published, must not exceed it by rounding.

    Parameters
    ----------
    gap, tol : float
        The relative duality gap, and its tolerance.
    bound : float
        The dual value.

    Returns
    -------
    most : float
    """
    return bound / (1.0 - 0.5 * (gap + tol))


def thin(tracker: Tracker, tol: float) -> None:
    """Exchange a tracker's model, once its gap is below the tolerance: one pass.

    Parameters
    ----------
    tracker : Tracker
        With a model that has one expansion for all kernels.
    tol : float
        The tolerance.
    """
    problem, model = tracker.problem, tracker.model
    if tracker.gap > tol or len(model.expansions) > 1:
        return
    weights = model.weights[model.active]
    images = weights[:, None] * problem.gram.matvec(model.expansions[0])[model.active]
    tracker.recorder.passes += 1
    most = worth(tracker.gap, tol, tracker.certificate.value)
    found = thinned(problem, tracker.solution(Status.CONVERGED), images, most)
    one = np.ones_like(found.norms)
    tracker.model = Model(
        found.norms, found.intercept, found.objective, one, found.coefs
    )


def _least_squares(unit: Array, norms: Array, strength: float) -> list[Array]:
    """Return norms of one kernel, two kernels, ... that explain the decision values.

    Parameters
    ----------
    unit : ndarray of shape (n_active, n_samples)
        Decision values of functions of norm one.
    norms : ndarray of shape (n_active,)
        Norms with which they make up what is to be explained.
    strength : float
        What a change of the sum of norms costs, squared, relative to one of the
        decision values.

    Returns
    -------
    models : list of ndarray of shape (n_active,)
        Fewer than there are kernels.
    """
    products = unit @ unit.T + strength
    sizes = np.sqrt(np.diag(products))
    products /= np.outer(sizes, sizes)
    aims = products @ (sizes * norms)
    found, models = np.zeros_like(norms), []
    taken = np.zeros(norms.size, dtype=bool)
    floor = EPS * float(aims.max())
    while len(models) < norms.size - 1:
        gains = np.where(taken, -np.inf, aims - products @ found)
        best = int(np.argmax(gains))
        if gains[best] <= floor:
            break
        taken[best] = True
        found = _nonnegative(products, aims, found, taken)
        models.append(found / sizes)
    return models


def _nonnegative(products: Array, aims: Array, found: Array, taken: Array) -> Array:
    """Return least squares over the kernels taken; those that fall to zero leave."""
    while True:
        places = np.flatnonzero(taken)
        block = products[np.ix_(places, places)]
        block[np.diag_indices_from(block)] += RIDGE
        solved = np.linalg.solve(block, aims[places])
        if (solved > 0.0).all():
            result = np.zeros_like(found)
            result[places] = solved
            return result
        before = found[places]
        falling = solved <= 0.0
        share = float(np.min(before[falling] / (before[falling] - solved[falling])))
        moved = before + share * (solved - before)
        found = found.copy()
        found[places] = np.where(falling & (moved <= EPS * moved.max()), 0.0, moved)
        if not (found[places] == 0.0).any():
            found[places[int(np.argmin(moved))]] = 0.0
        taken[places[found[places] == 0.0]] = False


def _with_norms(
    problem: Problem, solution: Solution, norms: Array, unit: Array
) -> Solution:
    """Return the model with other norms of the active kernels."""
    f = norms @ unit
    b = np.zeros(1)
    if problem.fit_intercept:
        b[0] = best_intercept(problem.loss, problem.y, f)[0]
    places = np.flatnonzero(norms)
    active = solution.active[places]
    scales = norms[places] / solution.norms[active]
    every = np.zeros_like(solution.norms)
    every[active] = norms[places]
    return replace(
        solution,
        norms=every,
        active=active,
        coefs=scales[:, None] * solution.coefs[places],
        intercept=b,
        objective=primal_value(problem, every, f + b),
    )
