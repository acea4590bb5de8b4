"""Both ends of a spectrum, from products with the matrix alone."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from multikernel._typing import Array

TOLERANCE = 1e-6
"""Error of a sum of leading eigenvalues, over the trace, at which it is good enough."""

NEGLIGIBLE = 1e-12
"""Share of the largest eigenvalue of a matrix below which a direction is rounding,
which leaves eigenvalues of some 1e-16 times its order."""

GROWTH = 1e-14
"""Length of a new direction, over the trace, below which it is rounding."""


@dataclass(frozen=True, eq=False)
class LeadingPairs:
    """The largest eigenvalues of a positive semidefinite matrix.

    Parameters
    ----------
    values : ndarray of shape (count,)
        Eigenvalues, descending.
    vectors : ndarray of shape (n, count)
        Orthonormal eigenvectors; zero for eigenvalues that were not looked for, as all
        of the trace was found before.
    error : float
        By how much their sum may be too small. A proof where what the trace leaves
        over is that small, an estimate by the residuals otherwise.
    products : int
        Products with the matrix that were made.
    """

    values: Array
    vectors: Array
    error: float
    products: int


def leading_pairs(
    matvec: Callable[[Array], Array],
    n: int,
    count: int,
    trace: float,
    *,
    tol: float = TOLERANCE,
) -> LeadingPairs:
    r"""Return the largest eigenvalues of a matrix, as a sum to `tol` of its trace.

    Lanczos' method with all directions kept orthogonal and no restarts, so that every
    product counts. The Ritz values :math:`\psi_j` of the space reached bound the sum on
    both sides [1]_,

    .. math::
        \sum_{j \le \theta} \psi_j \le \sum_{j \le \theta} \lambda_j \le
        \sum_{j \le \theta} \psi_j + \operatorname{tr} K - \sum_j \psi_j,

    as the leading eigenvalues of a positive semidefinite matrix add up to no more than
    the leading ones of its two diagonal blocks. Where the spectrum falls too slowly for
    that bound, it stops at residuals that add up to the tolerance, once a second start
    has found nothing new.

    Parameters
    ----------
    matvec : callable
        Maps a vector of shape (n,) to its product with a positive semidefinite matrix.
    n : int
        Order of the matrix.
    count : int
        How many eigenvalues; at most n.
    trace : float
        The matrix's trace.
    tol : float, default=1e-6
        Error of the sum, over the trace.

    Returns
    -------
    pairs : LeadingPairs
        The same in every call.

    References
    ----------
    .. [1] Bourin, Lee (2012). Unitary orbits of Hermitian operators with convex or
       concave functions. Bulletin of the London Mathematical Society 44, 1085-1102.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.linalg.spectra import leading_pairs
    >>> K = np.diag([1.0, 5.0, 2.0])
    >>> leading_pairs(K.dot, 3, 2, trace=8.0).values.round(6)
    array([5., 2.])
    """
    if count == 0 or trace <= 0.0:
        return LeadingPairs(np.zeros(count), np.eye(n, count), 0.0, 0)
    if n <= 64:
        matrix = np.stack([matvec(unit) for unit in np.eye(n)], axis=1)
        values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
        largest = np.maximum(values[: -count - 1 : -1], 0.0)
        return LeadingPairs(largest, vectors[:, : -count - 1 : -1], 0.0, n)
    return _KrylovSpace(matvec, n, count, trace, tol).run()


class _KrylovSpace:
    """A growing space, the matrix in it, and what that says of the whole matrix.

    Products are made by `numpy.dot`, which leaves the interpreter to other threads;
    `numpy.matmul` keeps it where it makes one product.
    """

    def __init__(
        self,
        matvec: Callable[[Array], Array],
        n: int,
        count: int,
        trace: float,
        tol: float,
    ) -> None:
        self.matvec, self.n, self.count = matvec, n, count
        self.trace, self.bound = trace, tol * trace
        self.rng = np.random.default_rng(0)
        self.size = 0
        self.residual: Array | None = None
        # Rows, so that a new direction is one contiguous row.
        self.basis = np.empty((min(n, 2 * count + 32), n))
        self.images = np.empty_like(self.basis)

    def run(self) -> LeadingPairs:
        """Grow the space until the sum of the leading Ritz values is certain."""
        self.extend(self.rng.standard_normal(self.n))
        probed_at, settled = -1, np.inf
        while True:
            pairs, proved = self.pairs()
            small = pairs.error <= self.bound
            if self.size == self.n or (small and proved):
                return pairs
            # What a second start adds is what the first one was blind to.
            done = probed_at >= 0 and self.size >= probed_at + 8
            if done and small and pairs.values.sum() - settled <= self.bound:
                return pairs
            if done:
                probed_at = -1
            elif small and probed_at < 0:
                probed_at, settled = self.size, float(pairs.values.sum())
                self.extend(self.rng.standard_normal(self.n))
            if probed_at < 0 and self.residual is not None:
                # Where a space has had one start only, that is the next direction of
                # Lanczos; where it has had several, it is the one that is worth most.
                self.extend(self.residual)
            # A look at the projected matrix costs the cube of its order.
            for _ in range(4):
                self.extend(self.images[self.size - 1])

    def extend(self, direction: Array) -> None:
        """Add what is new in a direction, or a random one where nothing is."""
        if self.size == self.n:
            return
        if self.size == len(self.basis):
            room = min(self.n, 2 * self.size) - self.size
            self.basis = np.concatenate([self.basis, np.empty((room, self.n))])
            self.images = np.concatenate([self.images, np.empty((room, self.n))])
        directions = self.basis[: self.size]
        new, length = direction, float(np.linalg.norm(direction))
        least = GROWTH * max(length, self.trace / self.n)
        for attempt in range(4):
            # Twice is enough: what the first sweep leaves of the space is rounding.
            for _ in range(2):
                new = new - np.dot(directions.T, np.dot(directions, new))
            length = float(np.linalg.norm(new))
            if length > least:
                break
            new, least = self.rng.standard_normal(self.n), GROWTH * (attempt + 1)
        new = new / length
        self.basis[self.size] = new
        self.images[self.size] = self.matvec(new)
        self.size += 1

    def pairs(self) -> tuple[LeadingPairs, bool]:
        """Return the leading Ritz pairs, and whether their error is proved."""
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
        left_over = max(self.trace - float(values.sum()), 0.0)
        error, proved = left_over, True
        if count == self.count:
            residuals = np.dot(images.T, weights) - vectors * largest
            lengths = np.linalg.norm(residuals, axis=0)
            self.residual = residuals[:, lengths.argmax()]
            error = min(left_over, float(lengths.sum()))
            proved = left_over <= self.bound
        return LeadingPairs(largest, vectors, error, self.size), proved


def lowest_direction(matvec: Callable[[Array], Array], n: int, size: float) -> Array:
    """Return a unit vector with about the smallest Rayleigh quotient, always the same.

    `size` is the trace of the matrix, or another number of that size, which says what
    is small.

    >>> import numpy as np
    >>> K = np.diag([2.0, -1.0, 0.5])
    >>> np.abs(lowest_direction(K.dot, 3, 1.5)).round(6)
    array([0., 1., 0.])
    """
    # The constant vector is what centred problems never look at: the start is near.
    start = 1.0 + 0.1 * np.random.default_rng(0).standard_normal(n)
    # The norm of an image may be too large for a number where its entries are not.
    shift = max(abs(size), float(np.abs(matvec(start)).max()))
    if shift == 0.0:
        return np.asarray(start / np.linalg.norm(start))
    if n <= 32:
        matrix = np.stack([matvec(unit) / shift for unit in np.eye(n)])
        return np.asarray(np.linalg.eigh(0.5 * (matrix + matrix.T))[1][:, 0])
    # Turned round and shifted, so that what is small beside the trace counts as found:
    # the eigenvalues of a kernel crowd at zero, and need not be told apart. ARPACK
    # takes what is small in itself for converged, so the scale goes out.
    turned = LinearOperator(
        (n, n), lambda v: v - matvec(v.ravel()) / shift, dtype=float
    )
    try:
        vectors = eigsh(turned, 1, which="LA", v0=start, tol=1e-4)[1]
    except ArpackNoConvergence as stopped:
        vectors = np.column_stack([stopped.eigenvectors, start])
    direction: Array = vectors[:, 0] / np.linalg.norm(vectors[:, 0])
    return direction
