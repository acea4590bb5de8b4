"""Problems and solutions of multiple kernel learning, and centered targets."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.gram.base import GramStack
from multikernel.gram.refine import Refinement
from multikernel.linalg import EPS
from multikernel.linalg.tables import equal_shares
from multikernel.losses.base import Loss, is_shift_equivariant
from multikernel.losses.weighted import weights_of
from multikernel.regularizers.base import BlockRegularizer


@dataclass(frozen=True, eq=False)
class Problem:
    """One multiple kernel learning problem.

    It minimizes the sum over samples i of the loss of y_i and f_1(x_i) + ... + f_M(x_i)
    + b, plus the regularizer of the block norms ||f_1||, ..., ||f_M||. The stack `gram`
    has square kernel matrices of the training samples. Targets y, (n_samples,) or
    (n_samples, n_outputs), are +1 and -1 for classification losses. The ``alpha`` of
    the regularizer is the sum of sample weights times the ``alpha`` of an estimator.
    The observed targets are y + offset, where `offset` is 0.0 or has shape (n_outputs,)
    (see `center_targets`). The intercept b is zero unless `fit_intercept`. `columns`,
    (n_samples, n_columns), are further features; their coefficients have no penalty.
    """

    gram: GramStack
    y: Array
    loss: Loss
    regularizer: BlockRegularizer
    fit_intercept: bool = True
    offset: Array | float = 0.0
    columns: Array | None = None


class Status(Enum):
    """Reason why a solver stopped; the value is the sentence shown to the user."""

    CONVERGED = "The duality gap is below the tolerance."
    MAX_ITER = "The iteration limit was reached: raise max_iter or tol."
    STOPPED = "The callback stopped the solver by returning True."
    STALLED = (
        "No further progress is possible, because of rounding errors: raise tol, or "
        "scale the kernels and targets to a similar size. If inputs (or targets, "
        "without an intercept) vary little compared with their mean, subtract the mean."
    )
    LIMITED = (
        "The solution is optimal for the low-rank kernels, but their landmarks "
        "approximate the full kernels too roughly for tol: allow a larger max_rank "
        "(see LowRank), or raise tol."
    )
    NOISE_LIMITED = (
        "The gap over the visited nodes (reduced_gap_) is below tol, but the gap over "
        "the whole graph (duality_gap_) is not. The other nodes could not be ruled "
        "out, but noise alone explains the size of their sums over descendants. To "
        "continue the search, use certify=True and a larger weight_base."
    )
    MAX_KERNELS = (
        "The hull has max_kernels nodes, but its optimality is not proven: raise "
        "max_kernels, alpha or the weight_base of the graph."
    )
    SELECTED = "The requested number of kernels is selected."
    STATIONARY = (
        "The weights are stationary. The problem is not convex, so there is no "
        "certificate of optimality."
    )
    PRECISE = "No remaining kernel improves the fit by more than the tolerance."


@dataclass(frozen=True)
class Progress:
    """One line of a convergence history, for callbacks.

    `iteration` counts outer iterations, `inner_steps` for example Newton or SMO steps,
    and `passes` passes over all Gram matrices (a pass computes every quadratic form
    once). `seconds` is wall-clock time since the start. `objective` and the relative
    `duality_gap` (nan for methods without one) belong to the entire problem, in the
    scale of `Problem`; `n_active` kernels have nonzero norms. `done` is None for one
    fit; for a search, a path or several fits it is the completed share, which never
    decreases. `note` is a remark on a search with a separate alpha for each target.
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
    """A solution of a problem; also the warm start of the next solve.

    `kernel_weights` are the nonnegative weights of the kernels in their combination,
    and `norms` the block norms ||f_m||, both of shape (n_kernels,). `active` are the
    indices of kernels with nonzero norms, ascending. With m = active[k], coefs[k] are
    the coefficients of f_m = K_m coefs[k], of shape (n_samples,) or (n_samples,
    n_outputs); some stacks have another `GramStack.expansion_length`. `intercept`,
    (n_outputs,), includes the offset of the problem. `dual` is a feasible dual point,
    in the shape of the targets, which proves `duality_gap` (relative; nan for
    heuristics). `objective` is the primal one. `status` says why the solver stopped
    after `n_iter` outer iterations, and `history` contains their `Progress`, in order.
    `refinement` is the argument with which `refine.refined` allows a smaller gap, or
    None if no smaller gap is required or possible. `effects` are the coefficients of
    unpenalized columns, and `steps` the names of the algorithms used, in order.
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
    """Protocol of the targets, loss and offset, which every kind of problem has."""

    @property
    def y(self) -> Array:
        """The targets."""

    @property
    def loss(self) -> Loss:
        """The loss."""

    @property
    def fit_intercept(self) -> bool:
        """Whether there is an intercept, so that dual points sum to zero."""

    @property
    def offset(self) -> Array | float:
        """The offset of the targets, 0.0 or one per output; see `Problem`."""


def half_range(y: Array) -> float:
    """Return half the largest range of a column of y, or 1 for constant targets."""
    # Solvers use half the range as the unit of their initial guesses for the size of
    # functions.
    half = 0.5 * float(np.ptp(y, axis=0).max())
    return half if half > 0.0 else 1.0


def center_targets(problem: Problem) -> Problem:
    """Return the problem with centered targets; its offset is the former center."""
    # All solvers and `duality_gap` call this first, so users may pass uncentered
    # targets.
    y, offset = centered_targets(problem)
    return problem if y is problem.y else replace(problem, y=y, offset=offset)


def centered_targets(problem: Targets) -> tuple[Array, Array | float]:
    """Return centered targets, and the offset that was subtracted."""
    # If the loss depends on y - f only, targets y - c have the same models, with c
    # subtracted from the intercept. A large offset makes residuals inaccurate and
    # cancels digits in products with dual points, so solvers center the targets.
    y, loss = problem.y, problem.loss
    is_shiftable = problem.fit_intercept and is_shift_equivariant(loss)
    if not is_shiftable or np.any(problem.offset):
        return y, problem.offset
    shares = equal_shares(len(y), weights_of(loss, len(y)))
    columns = y.reshape(len(y), -1)
    offset, is_constant_column = rounded_centers(columns, shares)
    if not offset.any():
        return y, problem.offset
    # Targets that are constant up to rounding become zeros.
    return np.where(is_constant_column, 0.0, columns - offset).reshape(y.shape), offset


def rounded_centers(columns: Array, shares: Array) -> tuple[Array, Mask]:
    """Return offsets to subtract from columns, and a mask of constant columns."""
    centers = [_rounded_center(column, shares) for column in columns.T]
    is_constant = np.array([fixed for _, fixed in centers], dtype=bool)
    return np.array([center for center, _ in centers]), is_constant


def _rounded_center(y: Array, shares: Array) -> tuple[float, bool]:
    """Return the offset to subtract from targets, and whether they are constant."""
    # The offset is the mean weighted by `shares`, rounded to few binary digits unless
    # the targets are constant. The offset is zero if the mean is within a few standard
    # deviations of zero, or if differences between targets overflow.
    first_target = float(y[0])
    with np.errstate(over="ignore", invalid="ignore"):
        differences = y - first_target
        mean = float(shares @ differences)
        deviations = differences - mean
        largest = float(np.abs(deviations).max())
        if largest <= 4.0 * EPS * float(np.abs(y).max()):
            return first_target + mean, True
        deviation = largest * float(np.sqrt(shares @ (deviations / largest) ** 2))
        if not (np.isfinite(deviation) and deviation > 0.0):
            return 0.0, False
        # The mean is rounded to a multiple of `step`, a power of two between 8 and 16
        # times the standard deviation of y. The rounded mean has few binary digits, so
        # y - offset is exact.
        step = 2.0 ** np.ceil(np.log2(8.0 * deviation))
        center = float(step * np.rint((first_target + mean) / step))
    return (center if np.isfinite(center) else 0.0), False


def published_intercept(problem: Targets, b: Array) -> Array:
    """Return intercepts b, rounded to the digits that b + problem.offset keeps."""
    # A fitted model stores the intercept b + offset, so a large offset limits the
    # digits of b, and the certificate must be valid for the rounded intercept.
    return np.asarray((b + problem.offset) - problem.offset)
