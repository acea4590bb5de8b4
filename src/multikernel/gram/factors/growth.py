"""Greedy pivoted Cholesky of one kernel: only the columns of landmarks are computed."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dpstrf

from multikernel._typing import Array, Indices
from multikernel.gram.steps import inverse_roots
from multikernel.kernels.base import Kernel, checked_values, kernel_diagonal
from multikernel.kernels.built_in import is_built_in
from multikernel.kernels.category import CategoryKernel
from multikernel.kernels.columns import ColumnKernel, select_columns
from multikernel.kernels.gaussian import radial_form
from multikernel.linalg import EPS
from multikernel.linalg.tables import distinct_rows
from multikernel.linalg.threads import compiled

LOOPS = "multikernel.gram.factors.growth_loops"

# To complete a factor of 569 samples, LAPACK took 15 ms, and a loop over columns 45 ms.
COMPLETED = 5
"""Ratio of full rank to current rank up to which LAPACK completes a factor."""

# Each landmark adds an error of EPS times diagonal, because its contribution is
# subtracted from the residual once.
ROUNDING = 4
"""Rounding error of a residual without landmarks, in units of EPS times diagonal."""


MOST_VALUES = 32
"""Maximum number of distinct rows for which exact factors are computed."""


def rounding_error_share(rank: int) -> float:
    """Return a bound on a residual's rounding error, as a share of the diagonal."""
    return (ROUNDING + rank) * EPS


@dataclass(frozen=True)
class Goal:
    """A criterion to stop adding landmarks."""

    max_rank: int  # maximum number of landmarks
    # Without `sizes`: limit on the trace of the residual E, as a share of the centered
    # kernel's trace. With `sizes`: limit on the sum of sizes[i] * sqrt(E_ii) over all
    # samples i.
    value: float
    # (n_samples,), the factors sizes[i] of this sum: absolute values of a dual point v,
    # so that the squared sum bounds v^T E v, or equal shares for a sample of the rows.
    sizes: Array | None = None
    # Minimum number of landmarks, unless the residual contains only rounding errors.
    min_rank: int = 0


@dataclass(frozen=True, eq=False)
class Factor:
    """A factor Z of a kernel matrix K = Z Z^T + E, from its values at landmarks."""

    rows: Array  # (rank, n_samples), Z transposed; triangular at the landmarks
    residual: Array  # computed diagonal of E, nonnegative
    # Indices of samples, in the order of choice; -1 for landmarks outside the samples.
    landmarks: Indices
    diagonal: Array  # diagonal of K

    @property
    def bound(self) -> Array:
        """Return the residual plus a bound on its rounding error, (n_samples,)."""
        unit = rounding_error_share(self.landmarks.size)
        return np.asarray(self.residual + unit * self.diagonal)

    @property
    def is_exact(self) -> bool:
        """Return whether the residual contains only rounding errors."""
        rounding = 2 * ROUNDING * EPS * float(self.diagonal.max(initial=0.0))
        return float(self.residual.max(initial=0.0)) <= rounding

    def from_bound(self) -> "Factor":
        """Return the factor without the allowance for rounding in its residual."""
        # `self.residual` contains the allowance: it is the property `bound` of the
        # factor that is returned.
        squares = np.einsum("ri,ri->i", self.rows, self.rows)
        if not self.landmarks.size:
            return replace(self, diagonal=squares + self.residual)
        # Solve two equations for residual and diagonal: bound = residual + unit *
        # diagonal, and diagonal = squares + residual.
        unit = rounding_error_share(self.landmarks.size)
        diagonal = (squares + self.residual) / (1.0 + unit)
        residual = np.maximum(self.residual - unit * diagonal, 0.0)
        return replace(self, residual=residual, diagonal=diagonal)


@dataclass(frozen=True, eq=False)
class KernelColumns:
    """Columns of a kernel's matrix, computed one at a time."""

    kernel: Kernel  # a kernel of all columns of `X`
    X: Array
    owner: str  # name of the kernel in messages
    roots: Array | None = None  # inverse roots of the diagonal, if values are cosines

    def diagonal(self) -> Array:
        """Return the diagonal, shape (n_samples,)."""
        values = checked_values(
            lambda: kernel_diagonal(self.kernel, self.X),
            self.X.shape[:1],
            f"The diag of {self.owner}",
        )
        if self.roots is None:
            return values
        return np.asarray(values * self.roots**2)

    def column(self, sample: int) -> Array:
        """Return the column of one sample, shape (n_samples,)."""
        X, row = self.X, self.X[sample : sample + 1]
        shape = (X.shape[0], 1)
        values = checked_values(lambda: self.kernel(X, row), shape, self.owner)[:, 0]
        return (
            values if self.roots is None else values * self.roots * self.roots[sample]
        )

    def distinct_groups(self) -> tuple[Indices, Indices] | None:
        """Return the groups of equal samples (`distinct_rows`); None if too many."""
        # Values of custom kernels may differ for equal samples.
        if not is_built_in(self.kernel):
            return None
        max_groups = len(self.X) // 2
        if type(self.kernel) is not CategoryKernel:
            max_groups = min(max_groups, MOST_VALUES)
        return distinct_rows(self.X, max_groups)

    def take(self, samples: Indices) -> "KernelColumns":
        """Return the columns restricted to `samples`."""
        roots = None if self.roots is None else self.roots[samples]
        return replace(self, X=np.ascontiguousarray(self.X[samples]), roots=roots)


def kernel_columns(
    kernel: Kernel, X: Array, owner: str, *, cosine: bool
) -> KernelColumns:
    """Return the `KernelColumns` of a kernel on X; of its cosines if `cosine`."""
    # A `ColumnKernel` must give its columns as indices, not as names.
    kernel_on_columns, X_columns = kernel_and_columns(kernel, X)
    columns = KernelColumns(kernel_on_columns, np.ascontiguousarray(X_columns), owner)
    # Radial kernels have a diagonal of ones already.
    if not cosine or radial_form(kernel) is not None:
        return columns
    return replace(columns, roots=inverse_roots(columns.diagonal()))


def kernel_and_columns(kernel: Kernel, X: Array) -> tuple[Kernel, Array]:
    """Return a kernel without its choice of columns, and the columns of X it uses."""
    if type(kernel) is not ColumnKernel:
        return kernel, X
    return kernel.kernel, select_columns(X, kernel.columns)


def without_landmarks(columns: KernelColumns) -> Factor:
    """Return the factor of a kernel that has no landmarks yet."""
    diagonal = columns.diagonal()
    empty = np.empty((0, diagonal.size)), np.empty(0, dtype=np.intp)
    return Factor(empty[0], np.maximum(diagonal, 0.0), empty[1], diagonal)


def exact_factor(columns: KernelColumns, max_rank: int) -> Factor | None:
    """Return an exact factor; None if more than `max_rank` samples are distinct."""
    groups = columns.distinct_groups()
    if groups is None or groups[0].size > max_rank:
        return None
    # Factorize the matrix of one sample per group of equal samples.
    members, group = groups
    distinct = columns.take(members)
    shares = np.full(members.size, 1.0 / members.size)
    goal = Goal(members.size, 0.0)
    distinct_factor = grow(distinct, without_landmarks(distinct), shares, goal)
    return Factor(
        np.take(distinct_factor.rows, group, axis=1),
        distinct_factor.residual[group],
        members[distinct_factor.landmarks],
        distinct_factor.diagonal[group],
    )


def grow(columns: KernelColumns, factor: Factor, weights: Array, goal: Goal) -> Factor:
    """Add landmarks to a factor until the goal is met; return the new factor."""
    # Weights of samples sum to one; the given factor is not changed.
    n_samples, rank = factor.residual.size, factor.landmarks.size
    max_rank = min(goal.max_rank, n_samples)
    residual = factor.residual.copy()
    rows, landmarks = factor.rows, factor.landmarks
    # The second stage adds landmarks up to the minimum number, even beyond the goal.
    minimum = replace(goal, value=0.0, sizes=None)
    stages = [(goal, max_rank), (minimum, min(goal.min_rank, max_rank))]
    for stage, size in stages:
        is_done = False
        while not is_done and rank < size:
            if size == n_samples <= COMPLETED * max(rank, stage.min_rank):
                current = Factor(
                    rows[:rank], residual, landmarks[:rank], factor.diagonal
                )
                return _completed_by_lapack(columns, current, weights, stage)
            rows, landmarks = _enlarged(rows[:rank], landmarks[:rank], size)
            current = replace(factor, rows=rows, residual=residual, landmarks=landmarks)
            rank, is_done = _add_landmarks(columns, current, rank, weights, stage)
    # Copy, so that the memory of unused rows is freed.
    return Factor(rows[:rank].copy(), residual, landmarks[:rank], factor.diagonal)


def _enlarged(rows: Array, landmarks: Indices, max_rank: int) -> tuple[Array, Indices]:
    """Return copies of a factor's rows and landmarks in larger arrays."""
    rank, n_samples = rows.shape
    capacity = min(max_rank, max(32, 2 * rank))
    enlarged = np.empty((capacity, n_samples)), np.empty(capacity, dtype=np.intp)
    enlarged[0][:rank], enlarged[1][:rank] = rows, landmarks
    return enlarged


def _add_landmarks(
    columns: KernelColumns, factor: Factor, rank: int, weights: Array, goal: Goal
) -> tuple[int, bool]:
    """Add landmarks while there is space; return the rank and whether `goal` is met."""
    form = radial_form(columns.kernel)
    sizes = np.empty(0) if goal.sizes is None else goal.sizes
    floor = ROUNDING * EPS * float(factor.diagonal.max(initial=0.0))
    if form is not None:
        features = np.ascontiguousarray(columns.X.T)
        state = factor.residual, factor.landmarks, weights, floor, goal.value, sizes
        grown: tuple[int, bool] = compiled(LOOPS, "grow_radial")(
            features, form.exponent, factor.rows, rank, *state
        )
        return grown
    survey, is_small = compiled(LOOPS, "survey"), compiled(LOOPS, "small_enough")
    add_landmark = compiled(LOOPS, "add_landmark")
    centered_mean = float(factor.diagonal @ weights)
    centered_mean -= float(np.sum((factor.rows[:rank] @ weights) ** 2))
    while True:
        pivot, largest, total = survey(factor.residual, weights)
        residual, goal_value = factor.residual, goal.value
        if is_small(largest, floor, total, centered_mean, residual, sizes, goal_value):
            return rank, True
        if rank == factor.rows.shape[0]:
            return rank, False
        column = factor.rows[rank]
        column[:] = columns.column(pivot)
        # Some kernels distinguish a sample compared with itself from two equal samples,
        # so use the diagonal for the landmark itself.
        if not is_built_in(columns.kernel):
            column[pivot] = factor.diagonal[pivot]
        add_landmark(factor.rows, rank, pivot, factor.residual, factor.landmarks)
        centered_mean -= float(column @ weights) ** 2
        rank += 1


def _completed_by_lapack(
    columns: KernelColumns, factor: Factor, weights: Array, goal: Goal
) -> Factor:
    """Return the factor that `grow` returns, computed by one call of LAPACK."""
    n_samples = factor.residual.size
    remainder = checked_values(
        lambda: columns.kernel(columns.X, columns.X),
        (n_samples, n_samples),
        columns.owner,
    )
    if columns.roots is not None:
        remainder = remainder * columns.roots * columns.roots[:, None]
    remainder = np.subtract(remainder, factor.rows.T @ factor.rows)
    remainder.reshape(-1)[:: n_samples + 1] = factor.residual
    landmarks = factor.landmarks[factor.landmarks >= 0]
    remainder[landmarks], remainder[:, landmarks] = 0.0, 0.0
    floor = ROUNDING * EPS * float(factor.diagonal.max(initial=0.0))
    lower, order, n_added, _ = dpstrf(remainder.T, tol=floor, lower=1, overwrite_a=1)
    order -= 1
    rows = np.take(np.triu(lower.T[:n_added]), np.argsort(order), axis=1)
    if goal.sizes is None and goal.min_rank < n_samples:
        rows = rows[: _n_rows_for_goal(factor, rows, weights, goal.value)]
    residual = factor.residual - np.einsum("ri,ri->i", rows, rows)
    np.maximum(residual, 0.0, out=residual)
    new_landmarks = order[: len(rows)].astype(np.intp)
    residual[landmarks], residual[new_landmarks] = 0.0, 0.0
    return Factor(
        np.concatenate([factor.rows, rows]),
        residual,
        np.concatenate([factor.landmarks, new_landmarks]),
        factor.diagonal,
    )


def _n_rows_for_goal(factor: Factor, rows: Array, weights: Array, goal: float) -> int:
    """Return how many of the new rows are needed to meet `goal`, a share of a trace."""
    means = np.concatenate([factor.rows, rows]) @ weights
    # Entry k of both arrays belongs to the factor with k + 1 of the new rows.
    centered_means = factor.diagonal @ weights - np.cumsum(means**2)[len(factor.rows) :]
    residual_means = factor.residual @ weights - np.cumsum(rows**2 @ weights)
    sufficient = np.flatnonzero(residual_means <= goal * centered_means)
    return int(sufficient[0]) + 1 if sufficient.size else len(rows)


def extended_triangle(factor: Factor, old_triangle: Array | None) -> Array | None:
    """Return `old_triangle` with rows for the new landmarks; None if it is None."""
    # The triangle, (rank, rank), contains the rows of a factor at the landmarks: the
    # lower Cholesky factor of the kernel at the landmarks. If all landmarks are samples
    # of the stack, the factor itself contains these rows, and the triangle is None.
    rank = factor.landmarks.size
    if old_triangle is None or old_triangle.shape[0] == rank:
        return old_triangle
    triangle = np.zeros((rank, rank))
    old_rank = old_triangle.shape[0]
    triangle[:old_rank, :old_rank] = old_triangle
    new_landmarks = factor.landmarks[old_rank:]
    triangle[old_rank:] = np.tril(factor.rows[:, new_landmarks].T, old_rank)
    return triangle
