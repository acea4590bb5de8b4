"""Certified bounds on v^T K (K + c I)^{-1} v from a few products with K.

The form is the integral of :math:`h(x) = x / (x + c)` against the spectral measure of
(K, v), whose Gauss rules are given by the Lanczos process [1]_. Odd derivatives of h
are positive and even ones negative for x > -c, so the sign of the quadrature error is
known: Gauss rules, and Gauss-Radau rules with a node at or above the largest
eigenvalue, are upper bounds; a Gauss-Radau rule with a node at or below the smallest
eigenvalue is a lower bound.

Each rule grows by one term per product (the pivots of T + c I, and of T - z I for the
two nodes z), so a step costs the product and O(n). The bounds hold up to rounding
without reorthogonalization [2]_.

References
----------
.. [1] Golub, Meurant (2010). Matrices, Moments and Quadrature with Applications.
   Princeton University Press, chapters 6 and 7.
.. [2] Golub, Strakoš (1994). Estimates in quadratic formulas. Numerical Algorithms 8.
   doi:10.1007/BF02142693
"""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array

LOWER_NODE = 1e-14
"""Absolute value of the negative Radau node, relative to the trace. The node is below
all eigenvalues even after rounding."""

FLOOR = 1e-290
"""Lower limit of pivots, which is reached for a zero matrix."""

# Fields of `QuadratureBounds` whose first axis is not that of the matrices.
COMMON = ("sizes", "shifts", "pivots", "steps")


@dataclass(eq=False)
class QuadratureBounds:
    """Bounds on v^T K (K + c I)^-1 v for pairs of matrices and vectors, step by step.

    Parameters
    ----------
    basis : ndarray of shape (n_matrices, n_vectors, n_samples)
        Current Lanczos vectors, to be multiplied by their matrices.
    previous : ndarray of shape (n_matrices, n_vectors, n_samples)
        Previous Lanczos vectors.
    sizes : ndarray of shape (n_vectors,)
        Squared norms of the vectors v.
    shifts : ndarray of shape (n_vectors,)
        Shift c of every vector.
    traces : ndarray of shape (n_matrices, 1)
        Upper bounds on the largest eigenvalues, such as the traces.
    diagonal : ndarray of shape (n_matrices, n_vectors)
        Last diagonal entry of the tridiagonal matrix. If it is negative beyond
        rounding, the matrix is indefinite and the bounds are invalid.
    coupling : ndarray of shape (n_matrices, n_vectors)
        Squared last off-diagonal entry of the tridiagonal matrix.
    pivots : ndarray of shape (3, n_matrices, n_vectors)
        Last pivots of T + c I, and of T - z I for the left and the right node.
    term : ndarray of shape (n_matrices, n_vectors)
        Last term of the Gauss rule of 1 / (x + c).
    gauss : ndarray of shape (n_matrices, n_vectors)
        Gauss rule of x / (x + c), for unit vectors.
    lower, upper : ndarray of shape (n_matrices, n_vectors)
        The bounds.
    steps : int, default=0
        Number of multiplications by each matrix.
    """

    basis: Array
    previous: Array
    sizes: Array
    shifts: Array
    traces: Array
    diagonal: Array
    coupling: Array
    pivots: Array
    term: Array
    gauss: Array
    lower: Array
    upper: Array
    steps: int = 0

    def advance(self, images: Array) -> None:
        """Tighten the bounds from ``K_m basis[m, j]``, which is overwritten."""
        self.diagonal = diagonal = np.einsum("mjn,mjn->mj", self.basis, images)
        self._extend_tridiagonal(diagonal)
        # In place, because the oldest vectors are not needed after this step.
        self.previous *= np.sqrt(self.coupling)[:, :, None]
        images -= self.previous
        np.multiply(self.basis, diagonal[:, :, None], out=self.previous)
        images -= self.previous
        self.coupling = np.einsum("mjn,mjn->mj", images, images)
        self._evaluate_radau_rules()
        images /= np.sqrt(np.maximum(self.coupling, FLOOR))[:, :, None]
        self.previous, self.basis = self.basis, images

    def keep(self, is_kept: NDArray[np.bool_]) -> "QuadratureBounds":
        """Return the bounds of some of the matrices."""
        names = [field.name for field in fields(self) if field.name not in COMMON]
        arrays = {name: getattr(self, name)[is_kept] for name in names}
        return replace(self, pivots=self.pivots[:, is_kept], **arrays)

    def _extend_tridiagonal(self, diagonal: Array) -> None:
        """Add a row to the tridiagonal matrix: new pivots, and a Gauss term."""
        shifted, lower, upper = self.pivots
        ratio = self.coupling / shifted
        pivot = diagonal + self.shifts - ratio
        self.term *= ratio / pivot
        # The first term is a / (a + c), because 1 - c / (a + c) cancels for a << c.
        if self.steps == 0:
            self.gauss, self.term = diagonal / pivot, 1.0 / pivot
        else:
            self.gauss = self.gauss - self.shifts * self.term
        self.steps += 1
        floor = LOWER_NODE * self.traces + FLOOR
        # A lower limit of pivots can only widen the bounds.
        lower = np.maximum(diagonal + floor - self.coupling / lower, 0.5 * floor)
        upper = np.minimum(
            diagonal - self.traces - floor - self.coupling / upper, -0.5 * floor
        )
        self.pivots = np.stack([pivot, lower, upper])

    def _evaluate_radau_rules(self) -> None:
        """Evaluate both Radau rules."""
        pivot, lower, upper = self.pivots
        floor = LOWER_NODE * self.traces + FLOOR
        step = self.coupling / pivot
        scale = self.shifts * self.term * step
        # Last diagonal entry z + b^2 / pivot of T - z I, eq. (6.7) of [1]_ solved for
        # the entry that makes z an eigenvalue.
        low_end = self.shifts - floor + self.coupling / lower - step
        high_end = self.shifts + self.traces + floor + self.coupling / upper - step
        # If rounding prevents such an entry, zero and the Gauss rule are still bounds.
        low, high = low_end > 0.0, high_end > 0.0
        below, above = np.array(self.gauss), np.zeros_like(scale)
        np.divide(scale, low_end, out=below, where=low)
        np.divide(scale, high_end, out=above, where=high)
        self.lower = self.sizes * (self.gauss - below)
        self.upper = self.sizes * (self.gauss - above)


def start_bounds(vectors: Array, shifts: Array, traces: Array) -> QuadratureBounds:
    r"""Return the initial bounds on v^T K (K + c I)^-1 v.

    They are zero and :math:`\|v\|^2 t / (t + c)`.

    `vectors` has a row for every v, `shifts` its positive shift c, and `traces` an
    upper bound t on the largest eigenvalue of every matrix.

    >>> import numpy as np
    >>> from multikernel.linalg.quadrature import start_bounds
    >>> K, v = np.diag([4.0, 1.0, 0.1]), np.array([1.0, 2.0, 3.0])
    >>> exact = v @ K @ np.linalg.solve(K + np.eye(3), v)
    >>> bounds = start_bounds(v[None], np.array([1.0]), np.array([5.1]))
    >>> for _ in range(3):
    ...     bounds.advance(bounds.basis @ K)
    ...     print(f"{bounds.lower[0, 0]:.3f} {exact:.3f} {bounds.upper[0, 0]:.3f}")
    2.732 3.618 4.411
    3.535 3.618 3.808
    3.618 3.618 3.618
    """
    n_matrices, (n_vectors, n_samples) = traces.size, vectors.shape
    sizes = np.einsum("jn,jn->j", vectors, vectors)
    unit = vectors / np.sqrt(np.maximum(sizes, FLOOR))[:, None]
    bounds = traces[:, None]
    pairs = (n_matrices, n_vectors)
    return QuadratureBounds(
        basis=np.repeat(unit[None], n_matrices, axis=0),
        previous=np.zeros((n_matrices, n_vectors, n_samples)),
        sizes=sizes,
        shifts=shifts,
        traces=bounds,
        diagonal=np.zeros(pairs),
        coupling=np.zeros(pairs),
        pivots=np.ones((3, *pairs)),
        term=np.ones(pairs),
        gauss=np.zeros(pairs),
        lower=np.zeros(pairs),
        upper=sizes * (bounds / (bounds + shifts)),
    )
