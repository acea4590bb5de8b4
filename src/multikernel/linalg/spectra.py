"""Largest and smallest eigenvalues from matrix-vector products."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from multikernel._typing import Array

TOLERANCE = 1e-6
"""Accepted error of a sum of leading eigenvalues, relative to the trace."""

NEGLIGIBLE = 1e-12
"""Eigenvalues below this share of the largest one are rounding errors."""

GROWTH = 1e-14
"""Relative length below which a new direction is only rounding errors."""


@dataclass(frozen=True, eq=False)
class LeadingPairs:
    """The largest eigenvalues of a positive semidefinite matrix, with eigenvectors."""

    values: Array  # eigenvalues, descending
    # Orthonormal; the last columns are zero if the search ended earlier, because the
    # rest of the trace is negligible.
    vectors: Array
    # Bound on the error of the sum of `values`, proven if the rest of the trace is
    # small and otherwise estimated from residuals.
    error: float
    products: int  # number of multiplications by the matrix


def leading_pairs(
    matvec: Callable[[Array], Array],
    n: int,
    count: int,
    trace: float,
    *,
    tol: float = TOLERANCE,
) -> LeadingPairs:
    """Return the `count` largest eigenvalues of a matrix, with eigenvectors."""
    # The sum of the returned eigenvalues has an error, proven or estimated, of at most
    # tol * trace.
    if count == 0 or trace <= 0.0:
        return LeadingPairs(np.zeros(count), np.eye(n, count), 0.0, 0)
    if n <= 64:
        matrix = np.stack([matvec(unit) for unit in np.eye(n)], axis=1)
        values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
        largest = np.maximum(values[: -count - 1 : -1], 0.0)
        return LeadingPairs(largest, vectors[:, : -count - 1 : -1], 0.0, n)
    return _KrylovSpace(matvec, n, count, trace, tol * trace).run()


# The Lanczos method with full orthogonalization and without restarts; deterministic.
# The Ritz values psi_j bound the sum of the largest eigenvalues lambda_j:
#
#     psi_1 + ... + psi_count <= lambda_1 + ... + lambda_count
#                             <= psi_1 + ... + psi_count + tr K - (sum of all psi_j)
#
# (Bourin and Lee 2012, Unitary orbits of Hermitian operators with convex or concave
# functions, Bulletin of the London Mathematical Society 44, 1085-1102). If the spectrum
# decreases too slowly for that bound, the method stops when residuals sum to the
# tolerance and a second random start finds nothing new.
@dataclass(eq=False)
class _KrylovSpace:
    """A growing Krylov space of a matrix, with the images of its basis vectors."""

    matvec: Callable[[Array], Array]
    n: int
    count: int
    trace: float
    bound: float
    size: int = 0
    residual: Array | None = None

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(0)
        # Basis vectors are rows, so that each is contiguous.
        self.basis = np.empty((min(self.n, 2 * self.count + 32), self.n))
        self.images = np.empty_like(self.basis)

    def run(self) -> LeadingPairs:
        """Grow the space until the sum of the leading Ritz values is precise enough."""
        self.extend(self.rng.standard_normal(self.n))
        probe_size, probe_sum = -1, np.inf
        while True:
            pairs, is_proven = self.pairs()
            is_precise = pairs.error <= self.bound
            if self.size == self.n or (is_precise and is_proven):
                return pairs
            # A second random start finds eigenvectors orthogonal to the first start.
            is_probed = probe_size >= 0 and self.size >= probe_size + 8
            has_grown = pairs.values.sum() - probe_sum > self.bound
            if is_probed and is_precise and not has_grown:
                return pairs
            if is_probed:
                probe_size = -1
            elif is_precise and probe_size < 0:
                probe_size, probe_sum = self.size, float(pairs.values.sum())
                self.extend(self.rng.standard_normal(self.n))
            if probe_size < 0 and self.residual is not None:
                # After one random start, the residuals of all Ritz vectors are
                # multiples of the next Lanczos vector. After several random starts,
                # they differ, and `residual` is the longest of them.
                self.extend(self.residual)
            # Add four vectors before the next call of `pairs`, which costs the cube of
            # their number.
            for _ in range(4):
                self.extend(self.images[self.size - 1])

    def extend(self, direction: Array) -> None:
        """Add `direction` to the space, or a random vector if the space contains it."""
        if self.size == self.n:
            return
        if self.size == len(self.basis):
            n_new = min(self.n, 2 * self.size) - self.size
            self.basis = np.concatenate([self.basis, np.empty((n_new, self.n))])
            self.images = np.concatenate([self.images, np.empty((n_new, self.n))])
        # `numpy.dot` releases the GIL here; `numpy.matmul` does not.
        directions = self.basis[: self.size]
        vector, length = direction, math.sqrt(np.dot(direction, direction))
        smallest = GROWTH * max(length, self.trace / self.n)
        for attempt in range(4):
            # Two sweeps suffice, because the first leaves only rounding errors.
            for _ in range(2):
                vector = vector - np.dot(directions.T, np.dot(directions, vector))
            length = math.sqrt(np.dot(vector, vector))
            if length > smallest:
                break
            vector, smallest = self.rng.standard_normal(self.n), GROWTH * (attempt + 1)
        vector = vector / length
        self.basis[self.size] = vector
        self.images[self.size] = self.matvec(vector)
        self.size += 1

    def pairs(self) -> tuple[LeadingPairs, bool]:
        """Return the leading Ritz pairs, and whether their error bound is proven."""
        basis, images = self.basis[: self.size], self.images[: self.size]
        projected = np.dot(basis, images.T)
        values, weights = np.linalg.eigh(0.5 * (projected + projected.T))
        values = np.maximum(values[::-1], 0.0)
        weights = weights[:, ::-1][:, : self.count]
        count = min(self.count, self.size)
        vectors = np.zeros((self.n, self.count))
        vectors[:, :count] = np.dot(basis.T, weights)
        largest = np.zeros(self.count)
        largest[:count] = values[:count]
        remaining = max(self.trace - float(values.sum()), 0.0)
        error, is_proven = remaining, True
        if count == self.count:
            residuals = np.dot(images.T, weights) - vectors * largest
            lengths = np.linalg.norm(residuals, axis=0)
            self.residual = residuals[:, lengths.argmax()]
            error = min(remaining, float(lengths.sum()))
            is_proven = remaining <= self.bound
        return LeadingPairs(largest, vectors, error, self.size), is_proven


def lowest_direction(matvec: Callable[[Array], Array], n: int, size: float) -> Array:
    """Return a unit vector with nearly the smallest Rayleigh quotient of a matrix."""
    # Do not start at the constant vector, which centered matrices map to zero.
    start = 1.0 + 0.1 * np.random.default_rng(0).standard_normal(n)
    # `size` is the trace of the matrix, or another number of its magnitude.
    # Unlike the norm, the maximum cannot overflow.
    shift = max(abs(size), float(np.abs(matvec(start)).max()))
    if shift == 0.0:
        return np.asarray(start / np.linalg.norm(start))
    if n <= 32:
        matrix = np.stack([matvec(unit) / shift for unit in np.eye(n)])
        return np.asarray(np.linalg.eigh(0.5 * (matrix + matrix.T))[1][:, 0])
    # The operator is I - K / shift for the matrix K, so convergence is relative to the
    # trace: a kernel's eigenvalues cluster at zero and need not be separated. K is
    # divided because ARPACK's convergence test is absolute for small numbers.
    operator = LinearOperator(
        (n, n), lambda v: v - matvec(v.ravel()) / shift, dtype=float
    )
    try:
        vectors = eigsh(operator, 1, which="LA", v0=start, tol=1e-4)[1]
    except ArpackNoConvergence as stopped:
        vectors = np.column_stack([stopped.eigenvectors, start])
    direction: Array = vectors[:, 0] / np.linalg.norm(vectors[:, 0])
    return direction
