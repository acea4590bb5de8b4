r"""Targets free of their offset: what an intercept takes up must not drown the rest.

Where there is an intercept and the loss is one of :math:`y - f` alone, targets
:math:`y - c` have the same models, but for :math:`c` in the intercept. Residuals of
targets as they are carry the rounding of the offset, and products of a dual point with
them cancel; those of centred ones do not.
"""

from dataclasses import replace
from typing import Protocol

import numpy as np

from multikernel._typing import Array
from multikernel.linalg import EPS
from multikernel.losses.base import Loss, is_shift_equivariant
from multikernel.losses.weighted import WeightedLoss
from multikernel.problem import Problem

CONSTANT = 4.0 * EPS
"""Targets that differ by no more than this share of the largest are constant."""

COARSENESS = 8.0
"""The constant is a multiple of about so many deviations, and so of a few digits. Then
the differences are exact, and targets whose mean is less than half as many deviations
from zero stay as they are; three of sixteen digits are what that may cost."""


class Targets(Protocol):
    """What decides by which constants targets are centred: every problem has it."""

    @property
    def y(self) -> Array:
        """Return the targets."""
        ...

    @property
    def loss(self) -> Loss:
        """Return the loss."""
        ...

    @property
    def fit_intercept(self) -> bool:
        """Return whether there is an intercept, which takes the constants up."""
        ...

    @property
    def offset(self) -> Array | float:
        """Return what was taken from the targets already."""
        ...


def half_range(y: Array) -> float:
    """Return half the range of targets, one of constants; of labels +-1 it is one.

    What solvers take for granted of the size of functions is in units of it.
    """
    half = 0.5 * float(np.ptp(y, axis=0).max())
    return half if half > 0.0 else 1.0


def centred(problem: Problem) -> Problem:
    """Return the problem with targets about zero, and what they were about as offset.

    Every solver begins with it, and so does `duality_gap`: a problem may be stated with
    targets as they are. One that has an offset already comes back as it is, as does one
    without an intercept, or with a loss that is not known to be one of y - f alone.

    Parameters
    ----------
    problem : Problem
        The problem.

    Returns
    -------
    problem : Problem
        With the same solutions.
    """
    y, offset = centred_targets(problem)
    return problem if y is problem.y else replace(problem, y=y, offset=offset)


def centred_targets(problem: Targets) -> tuple[Array, Array | float]:
    """Return targets about zero, and what they were about.

    Parameters
    ----------
    problem : Targets
        A problem, over Gram matrices or over a graph.

    Returns
    -------
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The targets less the offset; zeros where they are constant but for rounding, and
        the problem's own where nothing is to be done.
    offset : ndarray of shape (n_outputs,) or float
        About their (weighted) means.
    """
    y, loss = problem.y, problem.loss
    free = problem.fit_intercept and is_shift_equivariant(loss)
    if not free or np.any(problem.offset):
        return y, problem.offset
    shares = np.full(len(y), 1.0 / len(y))
    if isinstance(loss, WeightedLoss):
        shares = loss.weights / loss.weights.sum()
    columns = y.reshape(len(y), -1)
    found = [_level_of_few_digits(column, shares) for column in columns.T]
    offset = np.array([middle for middle, _ in found])
    if not offset.any():
        return y, problem.offset
    constant = np.array([is_constant for _, is_constant in found])
    return np.where(constant, 0.0, columns - offset).reshape(y.shape), offset


def _level_of_few_digits(y: Array, shares: Array) -> tuple[float, bool]:
    """Return a number of few digits that targets are about, and if they are constant.

    It is zero where the targets are about zero, or too large for any difference.
    """
    first = float(y[0])
    with np.errstate(over="ignore", invalid="ignore"):
        beyond = y - first
        mean = float(shares @ beyond)
        apart = beyond - mean
        widest = float(np.abs(apart).max())
        if widest <= CONSTANT * float(np.abs(y).max()):
            return first + mean, True
        deviation = widest * float(np.sqrt(shares @ (apart / widest) ** 2))
        if not (np.isfinite(deviation) and deviation > 0.0):
            return 0.0, False
        step = 2.0 ** np.ceil(np.log2(COARSENESS * deviation))
        middle = float(step * np.rint((first + mean) / step))
    return (middle if np.isfinite(middle) else 0.0), False


def published_intercept(problem: Targets, b: Array) -> Array:
    """Return intercepts for centred targets as those of the observed ones will be.

    These are rounded to the digits that an offset leaves, and what is certified is the
    model that is published.

    Parameters
    ----------
    problem : Targets
        The problem.
    b : ndarray of shape (n_outputs,)
        Intercepts for its targets.

    Returns
    -------
    b : ndarray of shape (n_outputs,)
        The same, as ``b + offset`` says it in floating point.
    """
    return np.asarray((b + problem.offset) - problem.offset)
