"""The best point between two dual points whose images under all kernels are known."""

import numpy as np
from scipy.optimize import minimize_scalar

from multikernel._typing import Array
from multikernel.problem import Problem
from multikernel.solvers.best import Expansion
from multikernel.solvers.lp.inner_ball import InnerBall

STEP_TOLERANCE = 1e-3
"""The share of a step is found to this precision: a Newton step tells its best length
no better."""

EPS = 64.0 * float(np.finfo(np.float64).eps)
"""Relative size of the rounding errors of a dual value."""


def _box(problem: Problem) -> tuple[Array, Array]:
    """Return the bounds of the dual variables."""
    lower, upper = problem.loss.dual_bounds(problem.y)
    return -upper, -lower


def between(
    problem: Problem, old: Expansion, new: Expansion, share: float
) -> Expansion:
    """Return old + share (new - old); 1 is the new one.

    Parameters
    ----------
    problem : Problem
        Gives the bounds of the dual variables, which rounding is not to pass.
    old, new : Expansion
        The ends.
    share : float
        In [0, 1].

    Returns
    -------
    point : Expansion
    """
    lower, upper = _box(problem)
    rho = np.clip(old.rho + share * (new.rho - old.rho), lower, upper)
    images = old.images + share * (new.images - old.images)
    return Expansion(rho, images, np.maximum(images @ rho, 0.0))


def _forms_between(old: Expansion, new: Expansion, cross: Array, share: float) -> Array:
    """Return the quadratic forms of old + share (new - old)."""
    rest = 1.0 - share
    forms = rest * (rest * old.forms + 2.0 * share * cross)
    return np.maximum(forms + share * share * new.forms, 0.0)


def best_share(
    problem: Problem, ball: InnerBall, old: Expansion, new: Expansion
) -> float:
    """Return the best point between two as a share of the way; 1 is the new one.

    Every quadratic form is known along the way, so no matrix is read.

    Parameters
    ----------
    problem : Problem
        The problem, whose dual is maximised.
    ball : InnerBall
        Over which kernel weights answer the dual point.
    old, new : Expansion
        The ends.

    Returns
    -------
    share : float
        In [0, 1].
    """
    alpha = problem.regularizer.alpha
    lower, upper = _box(problem)
    cross, support = new.images @ old.rho, ball.support()

    def dual_loss(share: float) -> float:
        rho = np.clip(old.rho + share * (new.rho - old.rho), lower, upper)
        conjugate = float(problem.loss.conjugate(problem.y, -rho).sum())
        forms = _forms_between(old, new, cross, share)
        return conjugate + support(forms) / (2.0 * alpha)

    whole = dual_loss(1.0)
    if whole <= dual_loss(1.0 - STEP_TOLERANCE):
        return 1.0  # by convexity; most steps end so
    found = minimize_scalar(
        dual_loss,
        bounds=(0.0, 1.0),
        method="bounded",
        options={"xatol": STEP_TOLERANCE},
    )
    return 1.0 if whole <= found.fun + EPS * abs(whole) else float(found.x)
