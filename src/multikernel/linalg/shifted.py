"""Shifted positive definite systems by Cholesky factorization."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg.blas import dsyrk, dtrsm
from scipy.linalg.lapack import dposv, dpotrf, dtrtrs

from multikernel._typing import Array
from multikernel.linalg.tall import take_columns
from multikernel.linalg.threads import with_one_blas_thread

# Rounding makes eigenvalues negative by up to 1e-8 of the trace in single precision;
# more negative ones cannot come from a kernel.
NUGGETS = (1e-14, 1e-12, 1e-10, 1e-8, 1e-7, 1e-6)
"""Shares of the trace, tried in turn, that make a shifted matrix positive definite."""

# For smaller systems, more threads are not faster, and on a busy machine much slower.
ONE_THREAD_BELOW = 1000
"""Number of rows below which BLAS uses one thread."""


def solve_shifted(K: Array, rhs: Array, shift: Array, low_rank: Array | None) -> Array:
    """Solve (K + diag(shift) + U U^T) x = rhs with U = `low_rank`; K is not changed."""
    trace = float(np.abs(K.diagonal()).sum())
    return solve_with_nugget(
        lambda raised: _try_shifted(K, rhs, raised, low_rank), shift, trace
    )


def solve_with_nugget(
    attempt: Callable[[Array], Array | None], shift: Array, trace: float
) -> Array:
    """Return attempt(shift); while it is None, add more of the trace to the shift."""
    # `attempt` solves the system with a shift, or returns None if its matrix is not
    # positive definite.
    solution = attempt(shift)
    if solution is None and np.all(shift > 0.0):
        # These shares of the trace compensate rounding errors of the matrix.
        for raised in NUGGETS:
            solution = attempt(shift + raised * trace)
            if solution is not None:
                break
    if solution is None:
        raise LinAlgError(
            "The Gram matrix is not positive definite after adding at least "
            f"{np.min(shift):.3g} to each diagonal entry. Gram matrices must be "
            "positive semidefinite, and positive definite if 0 is added: check your "
            "own kernel functions and precomputed matrices for negative eigenvalues."
        )
    return solution


OMITTED_TRACE = 1e-3
"""Largest total trace, relative to the shift, of columns that a root may omit."""


@dataclass(frozen=True, eq=False)
class DiagonalRoot:
    """The root diag(d^(1/2)) of a diagonal matrix."""

    scale: Array  # d^(-1/2)

    def half(self, rhs: Array) -> Array:
        """Return R^-1 @ rhs, the first half of a solution; see `rest`."""
        return np.asarray(self.scale[:, None] * rhs)

    def rest(self, halves: Array) -> Array:
        """Return R^-T @ halves: rest(half(b)) solves R R^T x = b."""
        return self.half(halves)


@dataclass(frozen=True, eq=False)
class ShiftedRoot:
    """A root R with K + diag(d) = R R^T, from a scaled Cholesky factor."""

    scale: Array  # d^(-1/2)
    factor: Array  # lower Cholesky factor of the scaled system, Fortran order

    def half(self, rhs: Array) -> Array:
        """Return R^-1 @ rhs, the first half of a solution; see `rest`."""
        # A quadratic form of the inverse of R R^T is |R^-1 b|^2, so it does not need
        # the second half.
        return self._triangular(self.scale[:, None] * rhs, 0)

    def rest(self, halves: Array) -> Array:
        """Return R^-T @ halves: rest(half(b)) solves R R^T x = b."""
        return np.asarray(self.scale[:, None] * self._triangular(halves, 1))

    def _triangular(self, rhs: Array, transposed: int) -> Array:
        """Return L^-1 (or L^-T, if transposed) times a matrix; L is `factor`."""
        small = len(rhs) < ONE_THREAD_BELOW
        if rhs.flags.f_contiguous:
            # dtrtrs is faster for Fortran order, and dtrsm below for C order.
            solve = partial(dtrtrs, self.factor, rhs, lower=1, trans=transposed)
            return np.asarray(with_one_blas_thread(solve, small=small)[0])
        # The transpose of a C-ordered matrix is Fortran-ordered and needs no copy.
        by_rows = partial(
            dtrsm, 1.0, self.factor, rhs.T, side=1, lower=1, trans_a=1 - transposed
        )
        return np.asarray(with_one_blas_thread(by_rows, small=small)).T


@dataclass(frozen=True, eq=False)
class FactorRoot:
    """A root R = diag(d^(1/2)) F of diag(d) plus low rank, with F F^T = I + W W^T."""

    # With the Cholesky factor L of W^T W + I, F = I + W (L + I)^-1 W^T and
    # F^-1 = I - W (I + L^T)^-1 L^-1 W^T. A product of F and a vector takes about as
    # long as products with W and W^T. The rows of W are already multiplied by `scale`.
    scale: Array  # d^(-1/2)
    columns: Array  # W
    factor: Array  # L

    def half(self, rhs: Array) -> Array:
        """Return R^-1 @ rhs, the first half of a solution; see `rest`."""
        scaled = self.scale[:, None] * rhs
        inner = dtrtrs(self.factor, self.columns.T @ scaled, lower=1)[0]
        return np.asarray(scaled - self.columns @ self._plus_one(inner, 1))

    def rest(self, halves: Array) -> Array:
        """Return R^-T @ halves: rest(half(b)) solves R R^T x = b."""
        inner = self._plus_one(self.columns.T @ halves, 0)
        inner = dtrtrs(self.factor, inner, lower=1, trans=1)[0]
        return np.asarray(self.scale[:, None] * (halves - self.columns @ inner))

    def _plus_one(self, rhs: Array, transposed: int) -> Array:
        """Return (L + I)^-1 (or its transpose) times a matrix; L is `factor`."""
        return np.asarray(
            dtrtrs(self._factor_plus_one, rhs, lower=1, trans=transposed)[0]
        )

    @cached_property
    def _factor_plus_one(self) -> Array:
        """Return L + I of the formulas above; L is `factor`."""
        total = self.factor.copy(order="F")
        total.ravel("K")[:: len(total) + 1] += 1.0
        return total


class Root(Protocol):
    """A root R with K + diag(d) = R R^T for a matrix K; `scale` is d^(-1/2)."""

    @property
    def scale(self) -> Array:
        """The numbers d^(-1/2) for the shift d, shape (n,)."""

    def half(self, rhs: Array) -> Array:
        """Return R^-1 @ rhs, the first half of a solution; see `rest`."""

    def rest(self, halves: Array) -> Array:
        """Return R^-T @ halves: rest(half(b)) solves R R^T x = b."""


def factor_root(Z: Array, weights: Array, shift: Array) -> Root | None:
    """Return a root of Z diag(w) Z^T + diag(shift), or None if rounding prevents it."""
    # Weights are nonnegative, and shifts positive.
    used_columns = np.flatnonzero(weights)
    scale = 1.0 / np.sqrt(shift)
    columns = take_columns(Z, used_columns, scale)
    columns *= np.sqrt(weights[used_columns])
    traces = np.einsum("ij,ij->j", columns, columns)
    order = np.argsort(traces)
    # Columns that are negligible relative to the shift are omitted.
    significant = np.sort(order[np.cumsum(traces[order]) > OMITTED_TRACE])
    columns = take_columns(columns, significant)
    is_wide = significant.size > len(Z)
    system = columns @ columns.T if is_wide else columns.T @ columns
    system.reshape(-1)[:: len(system) + 1] += 1.0
    factor = _lower_factor(system)
    if factor is None:
        return None
    return ShiftedRoot(scale, factor) if is_wide else FactorRoot(scale, columns, factor)


def shifted_root(K: Array, shift: Array) -> ShiftedRoot | None:
    """Return a root of K + diag(shift); None if this sum is not positive definite."""
    # Shifts are positive, and K is not changed.
    scale = 1.0 / np.sqrt(shift)
    system = _scaled(K, scale)
    system.reshape(-1)[:: scale.size + 1] += 1.0
    return root_of_scaled(system, scale)


def root_of_scaled(system: Array, scale: Array) -> ShiftedRoot | None:
    """Return a root of S^-1 A S^-1 with S = diag(scale); None if A is indefinite."""
    # Only the upper triangle of A = `system` is read, and its array is overwritten.
    factor = _lower_factor(system)
    return None if factor is None else ShiftedRoot(scale, factor)


def _scaled(K: Array, scale: Array) -> Array:
    """Return diag(scale) K diag(scale) as a new array in C order."""
    system = np.multiply(K, scale, order="C")
    system *= scale[:, None]
    return system


def _lower_factor(system: Array) -> Array | None:
    """Overwrite a matrix by its lower Cholesky factor; return None if it has none."""
    factorize = partial(dpotrf, system.T, lower=1, overwrite_a=1, clean=0)
    small = len(system) < ONE_THREAD_BELOW
    factor, info = with_one_blas_thread(factorize, small=small)
    return np.asarray(factor) if info == 0 else None


def _try_shifted(
    K: Array, rhs: Array, shift: Array, low_rank: Array | None
) -> Array | None:
    """Solve as `solve_shifted`; return None if the matrix is not positive definite."""
    if np.all(shift > 0.0):
        # Solve with the matrix S (K + U U^T) S + I, S = diag(shift)^(-1/2). Solutions
        # are accurate even if the shifts differ by orders of magnitude.
        scale, diagonal = 1.0 / np.sqrt(shift), np.ones(shift.size)
        system = _scaled(K, scale)
    else:
        # An infinite shift fixes its unknown at zero.
        is_fixed = np.isinf(shift)
        scale, diagonal = np.where(is_fixed, 0.0, 1.0), np.where(is_fixed, 1.0, shift)
        system = K.copy(order="C")
        system[is_fixed], system[:, is_fixed] = 0.0, 0.0
    if low_rank is not None and system.size:
        # Add U U^T to the triangle that `_cholesky_solve` reads.
        rows = np.ascontiguousarray(low_rank * scale[:, None]).T
        add = partial(dsyrk, 1.0, rows, 1.0, system.T, 1, 1, 1)
        with_one_blas_thread(add)
    system.reshape(-1)[:: system.shape[0] + 1] += diagonal
    solution = _cholesky_solve(system, (rhs.T * scale).T)
    return None if solution is None else np.asarray((solution.T * scale).T)


def _cholesky_solve(system: Array, rhs: Array) -> Array | None:
    """Solve a system in place by LAPACK; None if it is not positive definite."""
    if not system.size:  # some versions of SciPy's wrapper reject it
        return rhs
    # The transpose of a C-ordered symmetric matrix is the same matrix in Fortran's
    # order, so LAPACK works in place.
    solve = partial(dposv, system.T, rhs, lower=1, overwrite_a=1, overwrite_b=1)
    small = system.shape[0] < ONE_THREAD_BELOW
    _, solution, info = with_one_blas_thread(solve, small=small)
    return np.asarray(solution) if info == 0 else None
