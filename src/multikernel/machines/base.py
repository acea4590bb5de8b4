"""The base class of machines, which are learners for one Gram matrix."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from multikernel._typing import Array
from multikernel.exceptions import IndefiniteKernelError, UnsupportedProblemError
from multikernel.gram.matrix import GramMatrix
from multikernel.losses.base import Loss
from multikernel.losses.weighted import output_loss

# If a step reaches bounds, the variables at bounds are fixed, and the next linear
# system contains the other variables only.
MOST_FACES = 10
"""Maximum number of linear systems for one Newton step on a face."""


@dataclass(frozen=True, eq=False)
class MachineFit:
    """A solution for one kernel, f = K dual + intercept; also a warm start.

    The coefficients `dual`, in the shape of the targets, equal the dual variable rho,
    which at the optimum is minus a subgradient of the loss. `intercept`, (n_outputs,),
    is zero if the problem has none; decision values f on the training samples include
    it. `objective` is the dual objective -sum_i l*(y_i, -rho_i) - rho^T K rho / 2, a
    lower bound on the optimum. `n_steps` counts pair steps, Newton steps or linear
    solves, and `converged` states whether the tolerance was reached.
    """

    dual: Array
    intercept: Array
    f: Array
    objective: float
    n_steps: int
    converged: bool


LossKind = TypeVar("LossKind", bound=Loss)


@dataclass(frozen=True, eq=False)
class Task(Generic[LossKind]):
    """The problem of a machine: Gram matrix, targets, loss, and use of an intercept."""

    gram: GramMatrix
    y: Array
    loss: LossKind
    fit_intercept: bool


class KernelMachine(ABC):
    """Learner for one Gram matrix K, with regularization strength one.

    It minimizes sum_i l(y_i, f(x_i) + b) + ||f||_K^2 / 2. A subclass implements
    `unsupported` and `_solve`, which gets validated shapes and a supported loss. For
    strength C, use the loss ``weighted(loss, np.full(n_samples, C))``: scaling the Gram
    matrix would require a copy of it, and change the dual variable.
    """

    @abstractmethod
    def unsupported(self, loss: Loss) -> str | None:
        """Return why this machine does not support a loss, or None if it does."""

    @abstractmethod
    def _solve(self, task: Task[Any], init: MachineFit | None) -> MachineFit:
        """Solve a task with validated shapes and a supported loss."""

    def fit(
        self,
        gram: GramMatrix,
        y: Array,
        loss: Loss,
        *,
        fit_intercept: bool,
        init: MachineFit | None = None,
    ) -> MachineFit:
        """Return the solution; outputs are separate unless the loss couples them.

        The decision values f of a warm start `init` must belong to `gram` (see
        `warm_start`). Targets of one class only, numbers that are not finite or wrong
        shapes raise a `ValueError`, and a negative quadratic form of `gram` an
        `IndefiniteKernelError`.
        """
        check_problem(self, gram, y, loss, init)
        return self._solve(Task(gram, y, loss, fit_intercept), init)


def warm_start(
    gram: GramMatrix, dual: Array, *, intercept: Array | None = None
) -> MachineFit:
    """Return a warm start for a Gram matrix from the dual point of another fit.

    The point must be feasible for the loss. The call computes one product with the Gram
    matrix; if decision values are already computed, use ``dataclasses.replace(fit,
    f=...)``.
    """
    # The objective is nan, because it depends on the loss.
    n_outputs = 1 if dual.ndim == 1 else dual.shape[1]
    b = np.zeros(n_outputs) if intercept is None else intercept
    f = support_product(gram, dual) + (b[0] if dual.ndim == 1 else b)
    return MachineFit(dual, b, f, np.nan, 0, False)


def support_product(gram: GramMatrix, v: Array) -> Array:
    """Return gram times v, from the columns where v is not zero if that is cheaper."""
    support = np.flatnonzero(v if v.ndim == 1 else v.any(axis=1))
    # Selecting columns of an array copies them, so with over a quarter of all columns
    # the full product is cheaper. If columns must be computed, each omitted column
    # saves time.
    cost = 1 if gram.array is None else 4
    if gram.quick_products or cost * support.size >= v.shape[0]:
        return gram.matvec(v)
    product = np.zeros((gram.shape[0], *v.shape[1:]))
    for start in range(0, support.size, 256):
        block = support[start : start + 256]
        product += gram.columns(block) @ v[block]
    return product


def whole_array(gram: GramMatrix, n_bytes: int) -> Array | None:
    """Return the matrix as a C-ordered float64 array; None if it remains implicit."""
    n, array = gram.shape[0], gram.array
    if array is None:
        # The entries are not stored yet. They are computed, unless products with the
        # matrix are fast anyway or the entries need more than `n_bytes`.
        if gram.quick_products or 8 * n**2 > n_bytes:
            return None
        array = gram.columns(np.arange(n))
    # A C-ordered float64 array is returned without a copy.
    return np.ascontiguousarray(array, dtype=np.float64)


NOT_FINITE = (
    "The Gram matrix contains NaN or infinite values: impute or scale the data."
)

NOT_A_KERNEL = (
    "The Gram matrix is not positive semidefinite: a quadratic form of it is negative. "
    "Subtract its smallest eigenvalue from its diagonal, or set its negative "
    "eigenvalues to zero."
)


def check_problem(
    machine: KernelMachine,
    gram: GramMatrix,
    y: Array,
    loss: Loss,
    init: MachineFit | None,
) -> None:
    """Raise for an unsupported loss, differing shapes, or NaN or infinite targets."""
    reason = machine.unsupported(loss)
    if reason is not None:
        raise UnsupportedProblemError(reason)
    if y.ndim not in (1, 2) or gram.shape != (y.shape[0], y.shape[0]):
        raise ValueError(
            f"The Gram matrix has shape {gram.shape} and the targets {y.shape}; "
            "expected a square matrix with one row per sample, and targets of shape "
            "(n_samples,) or (n_samples, n_outputs)."
        )
    invalid = np.argwhere(~np.isfinite(y)).tolist()
    if invalid:
        raise ValueError(
            f"y must be finite, got {y[tuple(invalid[0])]} for sample {invalid[0][0]} "
            "(counted from 0): remove such samples."
        )
    if init is not None and not init.dual.shape == init.f.shape == y.shape:
        raise ValueError(
            f"init has a dual of shape {init.dual.shape} and an f of shape "
            f"{init.f.shape}, but the targets have shape {y.shape}: use warm_start to "
            "create init."
        )


def fit_outputs(
    fit_one: Callable[[Task[Any], MachineFit | None], MachineFit],
    task: Task[Any],
    init: MachineFit | None,
) -> MachineFit:
    """Fit every output separately, and return the joint fit with summed steps."""
    if task.y.ndim == 1:
        return fit_one(task, init)
    fits = []
    for k, y in enumerate(np.ascontiguousarray(task.y.T)):
        output_task = replace(task, y=y, loss=output_loss(task.loss, k))
        fits.append(fit_one(output_task, None if init is None else _output(init, k)))
    return MachineFit(
        np.stack([fit.dual for fit in fits], axis=1),
        np.concatenate([fit.intercept for fit in fits]),
        np.stack([fit.f for fit in fits], axis=1),
        sum(fit.objective for fit in fits),
        sum(fit.n_steps for fit in fits),
        all(fit.converged for fit in fits),
    )


def _output(fit: MachineFit, k: int) -> MachineFit:
    """Return the part of a fit that belongs to output k, with an objective of nan."""
    return MachineFit(
        fit.dual[:, k], fit.intercept[k : k + 1], fit.f[:, k], np.nan, 0, fit.converged
    )


def factorization_error(gram: GramMatrix) -> ValueError:
    """Return the error for a K whose sum with a positive diagonal did not factorize."""
    if np.isfinite(gram.matvec(np.ones(gram.shape[1]))).all():
        return IndefiniteKernelError(NOT_A_KERNEL)
    return ValueError(NOT_FINITE)


@dataclass(frozen=True, eq=False)
class BoxCost:
    """Loss whose conjugate at -rho is the linear cost c^T rho on a box around zero."""

    # With this loss and an intercept, a machine minimizes rho^T K rho / 2 + c^T rho
    # subject to L <= rho <= U and sum(rho) = 0. Targets are ignored.

    lower: Array  # L <= 0
    upper: Array  # U >= 0
    costs: Array  # c

    def value(self, y: Array, f: Array) -> Array:
        """Return the maximum of -(f + c) rho over the box, for every sample."""
        slope = -(f + self.costs)
        return np.maximum(slope * self.upper, slope * self.lower)

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -rho, for the point rho of the box that maximizes -(f + c) rho."""
        return np.where(f + self.costs < 0.0, -self.upper, -self.lower)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return c rho for rho = -u; infinity if rho is outside the box."""
        is_inside = (u >= -self.upper) & (u <= -self.lower)
        return np.where(is_inside, -self.costs * u, np.inf)

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return lower and upper bounds of u = -rho, the conjugate's argument."""
        return -self.upper, -self.lower

    def dual_pieces(self, y: Array) -> tuple[Array, Array, Array]:
        """Return signs, costs and sizes of two pieces: rho > 0 and rho < 0."""
        # rho = p_1 - p_2 with 0 <= p_k <= size, at the cost c p_1 - c p_2. The signs
        # refer to u = -rho.
        ones = np.ones_like(self.costs)
        return (
            np.stack([-ones, ones]),
            np.stack([self.costs, -self.costs]),
            np.stack([self.upper, -self.lower]),
        )
