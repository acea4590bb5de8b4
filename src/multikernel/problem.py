r"""What is solved, and what comes back; targets free of their offset.

Where there is an intercept and the loss is one of :math:`y - f` alone, targets
:math:`y - c` have the same models, but for :math:`c` in the intercept. Residuals of
targets as they are carry the rounding of the offset, and products of a dual point with
them cancel; residuals of centered targets do not: what an intercept takes up must not
drown the rest.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.refine import Refinement
from multikernel.linalg import EPS
from multikernel.linalg.tables import equal_shares
from multikernel.losses.base import Loss, is_shift_equivariant
from multikernel.losses.weighted import weights_of
from multikernel.regularizers.base import BlockRegularizer


@dataclass(frozen=True, eq=False)
class Problem:
    r"""One multiple kernel learning problem.

    .. math::
        \min_{f, b} \sum_i \ell\bigl(y_i, \textstyle\sum_m f_m(x_i) + b\bigr)
        + \Omega(\|f_1\|, \dots, \|f_M\|)

    Parameters
    ----------
    gram : GramStack
        The kernel matrices on the training samples, square.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Targets; -1.0 / +1.0 for classification losses.
    loss : Loss
        Summed over samples (and outputs).
    regularizer : BlockRegularizer
        Penalty on the block norms; its ``alpha`` multiplies the penalty, so it is
        n_samples times the ``alpha`` of an estimator.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is zero.
    offset : ndarray of shape (n_outputs,) or 0.0, default=0.0
        What was taken from the targets beforehand, and belongs to the intercepts of
        solutions: y + offset is what was observed (`centred`).
    columns : ndarray of shape (n_samples, n_columns), optional
        Columns with a free coefficient each beside the intercept.
    """

    gram: GramStack
    y: Array
    loss: Loss
    regularizer: BlockRegularizer
    fit_intercept: bool = True
    offset: Array | float = 0.0
    columns: Array | None = None


class Status(Enum):
    """Why a solver stopped; the value is the sentence shown to the user."""

    CONVERGED = "The duality gap is below the tolerance."
    MAX_ITER = "The iteration limit was reached: raise max_iter or loosen tol."
    STOPPED = "A callback asked to stop."
    STALLED = (
        "No further progress is possible in floating-point arithmetic: loosen tol, or "
        "check the scaling of kernels and targets, and offsets of targets (without an "
        "intercept) or of inputs that hide how they vary."
    )
    LIMITED = (
        "That is the optimum over the landmarks; what these leave of the kernels hides "
        "the rest: allow a larger max_rank, see LowRank, or loosen tol."
    )
    NOISE_LIMITED = (
        "The gap on the nodes looked at (reduced_gap_) is below tol, that over the "
        "whole graph (duality_gap_) is not. The kernels left out could not be proven "
        "useless: what their sums amount to does not stand out from noise. "
        "certify=True and a larger weight_base go on."
    )
    MAX_KERNELS = (
        "The hull has max_kernels nodes and its optimality is not proven: raise "
        "max_kernels, alpha or the weight_base of the graph."
    )
    SELECTED = "The requested number of kernels is selected."
    STATIONARY = (
        "The weights are stationary: the problem is not convex, and has no certificate."
    )
    PRECISE = "No kernel that is left improves the fit by more than the tolerance."


@dataclass(frozen=True)
class Progress:
    """One line of a convergence history.

    Parameters
    ----------
    iteration : int
        Outer iterations made.
    seconds : float
        Wall-clock time since the start of the solve.
    objective : float
        Primal objective of the whole problem, in its own (summed) scale.
    duality_gap : float
        Relative duality gap of the whole problem, nan where a method has none.
    n_active : int
        Kernels with a nonzero block norm.
    passes : float, default=0
        Passes over all Gram matrices made (one pass = every quadratic form once).
    inner_steps : int, default=0
        Newton steps, SMO steps, ... made in total.
    done : float or None, default=None
        Share of a search, a path or a fit of several problems that is done: it never
        falls. None in a fit of a single problem, which does not know how many
        iterations it will take.
    note : str, default=""
        How far a search with a strength for every target is, in words.
    """

    iteration: int
    seconds: float
    objective: float
    duality_gap: float
    n_active: int
    passes: float = 0.0
    inner_steps: int = 0
    done: float | None = None
    note: str = ""


Callback = Callable[[Progress], bool]
"""Called once per outer iteration; returning True stops the solver."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What every solver returns; doubles as the warm start of the next solve.

    Parameters
    ----------
    kernel_weights : ndarray of shape (n_kernels,)
        Weights of the combination, nonnegative.
    norms : ndarray of shape (n_kernels,)
        Block norms ||f_m||.
    active : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero norm, ascending.
    coefs : ndarray of shape (n_active, n_samples) or (n_active, n_samples, n_outputs)
        Expansions f_m = K_m coefs[k] of the active kernels m = active[k]; of another
        length where the stack takes them so (`capabilities.expansion_length`).
    intercept : ndarray of shape (n_outputs,)
        The intercept b, one value for one-dimensional targets; the `offset` of the
        problem is part of it.
    dual : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A dual feasible point; `duality_gap` is computed from it.
    objective : float
        Primal objective.
    duality_gap : float
        Relative duality gap, nan for heuristics.
    n_iter : int
        Outer iterations made.
    status : Status
        Why the solver stopped.
    history : tuple of Progress
        One line per outer iteration.
    refinement : Refinement, optional
        What the stack can do for a smaller gap, by `refine.refined`, where its
        matrices leave too much of the kernels; None where it can do nothing.
    effects : ndarray of shape (n_columns,), optional
        The coefficients of the problem's columns, where it has any.
    steps : tuple of str, default=()
        The algorithms that led here, in order.
    """

    kernel_weights: Array
    norms: Array
    active: Indices
    coefs: Array
    intercept: Array
    dual: Array
    objective: float
    duality_gap: float
    n_iter: int
    status: Status
    history: tuple[Progress, ...] = ()
    refinement: Refinement | None = None
    effects: Array | None = None
    steps: tuple[str, ...] = ()


class Targets(Protocol):
    """Targets with their loss, the part that all kinds of problems share."""

    @property
    def y(self) -> Array:
        """Return the targets."""

    @property
    def loss(self) -> Loss:
        """Return the loss."""

    @property
    def fit_intercept(self) -> bool:
        """Return whether there is an intercept, so that dual points sum to zero."""

    @property
    def offset(self) -> Array | float:
        """Return what was taken from the targets already."""


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
    shares = equal_shares(len(y), weights_of(loss, len(y)))
    columns = y.reshape(len(y), -1)
    levels = [level_of_few_digits(column, shares) for column in columns.T]
    offset = np.array([middle for middle, _ in levels])
    if not offset.any():
        return y, problem.offset
    constant = np.array([is_constant for _, is_constant in levels])
    return np.where(constant, 0.0, columns - offset).reshape(y.shape), offset


def level_of_few_digits(y: Array, shares: Array) -> tuple[float, bool]:
    """Return the offset to take off targets, and whether they are constant.

    The offset is near their mean, weighted by `shares`, and rounded to few binary
    digits, so that y - offset is exact in floating point. It is zero where the mean is
    within a few deviations from zero, and where differences of targets overflow.
    Constant targets have their mean as the offset.
    """
    first = float(y[0])
    with np.errstate(over="ignore", invalid="ignore"):
        beyond = y - first
        mean = float(shares @ beyond)
        apart = beyond - mean
        widest = float(np.abs(apart).max())
        if widest <= 4.0 * EPS * float(np.abs(y).max()):
            return first + mean, True
        deviation = widest * float(np.sqrt(shares @ (apart / widest) ** 2))
        if not (np.isfinite(deviation) and deviation > 0.0):
            return 0.0, False
        # A multiple of about 8 deviations has few digits, so differences are exact.
        step = 2.0 ** np.ceil(np.log2(8.0 * deviation))
        middle = float(step * np.rint((first + mean) / step))
    return (middle if np.isfinite(middle) else 0.0), False


def published_intercept(problem: Targets, b: Array) -> Array:
    """Return intercepts for centered targets as the observed targets will have them.

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
