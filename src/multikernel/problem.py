"""What is solved, and what comes back."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack, Refinement
from multikernel.losses.base import Loss
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
        solutions: y + offset is what was observed (`multikernel.certificates.centred`).
    """

    gram: GramStack
    y: Array
    loss: Loss
    regularizer: BlockRegularizer
    fit_intercept: bool = True
    offset: Array | float = 0.0


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
        Kernels with a non-zero block norm.
    passes : float, default=0
        Passes over all Gram matrices made (one pass = every quadratic form once).
    inner_steps : int, default=0
        Newton steps, SMO steps, ... made in total.
    done : float or None, default=None
        Share of a cross-validation that is done; None in a single fit, which does not
        know how many iterations it will take.
    """

    iteration: int
    seconds: float
    objective: float
    duality_gap: float
    n_active: int
    passes: float = 0.0
    inner_steps: int = 0
    done: float | None = None


Callback = Callable[[Progress], bool]
"""Called once per outer iteration; returning True stops the solver."""


@dataclass(frozen=True, eq=False)
class Solution:
    """What every solver returns; doubles as the warm start of the next solve.

    Parameters
    ----------
    kernel_weights : ndarray of shape (n_kernels,)
        Weights of the combination, non-negative.
    norms : ndarray of shape (n_kernels,)
        Block norms ||f_m||.
    active : ndarray of shape (n_active,)
        Indices of the kernels with a non-zero norm, ascending.
    coefs : ndarray of shape (n_active, n_samples) or (n_active, n_samples, n_outputs)
        Expansions f_m = K_m coefs[k] of the active kernels m = active[k]; of another
        length where the stack takes them so (`GramStack.expansion_length`).
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
        What the stack can do for a smaller gap, by `GramStack.refine`, where its
        matrices leave too much of the kernels; None where it can do nothing.
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
