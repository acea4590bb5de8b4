"""Certified bounds on v^T K (K + c I)^{-1} v from a few products with K."""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array

# The form is the integral of h(x) = x / (x + c) against the spectral measure of (K, v),
# whose Gauss rules are given by the Lanczos process (Golub and Meurant 2010, Matrices,
# Moments and Quadrature with Applications, Princeton University Press, chapters 6 and
# 7). Odd derivatives of h are positive and even ones negative for x > -c, so the sign
# of the quadrature error is known: Gauss rules, and Gauss-Radau rules with a node at or
# above the largest eigenvalue, are upper bounds; a Gauss-Radau rule with a node at or
# below the smallest eigenvalue is a lower bound.
#
# Each rule grows by one term per product (the pivots of T + c I, and of T - z I for the
# two nodes z), so a step costs the product and O(n). The bounds hold up to rounding
# without reorthogonalization (Golub and Strakoš 1994, Estimates in quadratic formulas,
# Numerical Algorithms 8, doi:10.1007/BF02142693).

# The node is below all eigenvalues even after rounding.
LOWER_NODE = 1e-14
"""Absolute value of the negative Radau node, relative to the trace."""

FLOOR = 1e-290
"""Lower limit of pivots, which is reached for a zero matrix."""

# Fields of `QuadratureBounds` whose first axis does not index the matrices.
COMMON = ("sizes", "shifts", "steps")


@dataclass(eq=False)
class QuadratureBounds:
    """Bounds on v^T K (K + c I)^-1 v for matrices K and vectors v, step by step."""

    # Lanczos vectors to be multiplied by the matrices; (n_matrices, n_vectors,
    # n_samples).
    basis: Array
    previous: Array  # previous Lanczos vectors
    sizes: Array  # squared norms of the vectors v
    shifts: Array  # (n_vectors,), the number c for each vector v
    traces: Array  # upper bounds on the largest eigenvalues, (n_matrices, 1)
    floor: Array  # distance of the Radau nodes from 0 and `traces`, (n_matrices, 1)
    # Last diagonal entry of the tridiagonal matrix T of every pair, (n_matrices,
    # n_vectors). If it is negative beyond rounding, the matrix is indefinite and the
    # bounds are invalid.
    diagonal: Array
    coupling: Array  # squared last off-diagonal entry of T
    # Last pivots of T + c I, and of T - z I for the left and the right node z.
    pivot: Array
    low_pivot: Array
    high_pivot: Array
    term: Array  # last term of the Gauss rule of 1 / (x + c)
    gauss: Array  # Gauss rule of x / (x + c), for unit vectors
    lower: Array
    upper: Array
    steps: int = 0  # number of multiplications by each matrix

    def advance(self, images: Array) -> None:
        """Tighten the bounds; `images`, each matrix times `basis`, is overwritten."""
        # A Lanczos step: images - previous * coupling^(1/2) - basis * diagonal is the
        # next basis vector times its norm, the root of the next `coupling`.
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
        """Return the bounds of the matrices for which the mask `is_kept` is True."""
        names = [field.name for field in fields(self) if field.name not in COMMON]
        return replace(self, **{name: getattr(self, name)[is_kept] for name in names})

    def _extend_tridiagonal(self, diagonal: Array) -> None:
        """Add a row to each tridiagonal matrix; update its pivots and Gauss rule."""
        ratio, floor = self.coupling / self.pivot, self.floor
        self.pivot = diagonal + self.shifts - ratio
        self.term *= ratio / self.pivot
        # The first term is a / (a + c), because 1 - c / (a + c) cancels for a << c.
        if self.steps == 0:
            self.gauss, self.term = diagonal / self.pivot, 1.0 / self.pivot
        else:
            self.gauss = self.gauss - self.shifts * self.term
        self.steps += 1
        # Pivots that are raised to the floor widen the bounds, which stay valid.
        low_pivot = diagonal + floor - self.coupling / self.low_pivot
        high_pivot = diagonal - self.traces - floor - self.coupling / self.high_pivot
        self.low_pivot = np.maximum(low_pivot, 0.5 * floor)
        self.high_pivot = np.minimum(high_pivot, -0.5 * floor)

    def _evaluate_radau_rules(self) -> None:
        """Set the lower and upper bounds from both Gauss-Radau rules."""
        step = self.coupling / self.pivot
        scale = self.shifts * self.term * step
        # Last diagonal entry z + b^2 / pivot of T - z I, eq. (6.7) of Golub and
        # Meurant solved for the entry that makes z an eigenvalue.
        low_ratio = self.coupling / self.low_pivot
        high_ratio = self.coupling / self.high_pivot
        low_entry = self.shifts - self.floor + low_ratio - step
        high_entry = self.shifts + self.traces + self.floor + high_ratio - step
        # Rounding may make these entries negative or zero. For such a `low_entry`, the
        # lower bound is zero, and for such a `high_entry`, the upper bound is the Gauss
        # rule.
        low_rule, high_rule = self.gauss.copy(), np.zeros(scale.shape)
        np.divide(scale, low_entry, out=low_rule, where=low_entry > 0.0)
        np.divide(scale, high_entry, out=high_rule, where=high_entry > 0.0)
        self.lower = self.sizes * (self.gauss - low_rule)
        self.upper = self.sizes * (self.gauss - high_rule)


def start_bounds(vectors: Array, shifts: Array, traces: Array) -> QuadratureBounds:
    """Return the bounds before the first step, for every pair of matrix and vector."""
    n_matrices, (n_vectors, n_samples) = traces.size, vectors.shape
    sizes = np.einsum("jn,jn->j", vectors, vectors)
    unit = vectors / np.sqrt(np.maximum(sizes, FLOOR))[:, None]
    bounds = traces[:, None]
    pairs = (n_matrices, n_vectors)
    # Shapes: `vectors` (n_vectors, n_samples), `shifts` (n_vectors,), and `traces`
    # (n_matrices,). The first bounds are zero and |v|^2 t / (t + c), because no
    # eigenvalue exceeds the trace t.
    return QuadratureBounds(
        basis=np.repeat(unit[None], n_matrices, axis=0),
        previous=np.zeros((n_matrices, n_vectors, n_samples)),
        sizes=sizes,
        shifts=shifts,
        traces=bounds,
        floor=LOWER_NODE * bounds + FLOOR,
        diagonal=np.zeros(pairs),
        coupling=np.zeros(pairs),
        pivot=np.ones(pairs),
        low_pivot=np.ones(pairs),
        high_pivot=np.ones(pairs),
        term=np.ones(pairs),
        gauss=np.zeros(pairs),
        lower=np.zeros(pairs),
        upper=sizes * (bounds / (bounds + shifts)),
    )
