"""The simplex of every row: what the losses of all classes share."""

import numpy as np

from multikernel._typing import Array, Mask
from multikernel.linalg.interrupts import compiled

PROJECT = "multikernel.linalg.simplex", "project_simplex"

OUTSIDE = 1e-12
"""Distance from the simplex that is rounding."""


class SimplexDomain:
    """The domain of slopes u = p - e_y, with p in the simplex."""

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the box around the domain: p between 0 and 1."""
        return -y, 1.0 - y

    def project_rows(self, y: Array, u: Array) -> Array:
        """Return the nearest point of the domain to every row of u."""
        rows = np.ascontiguousarray(y + u, dtype=np.float64)
        return np.asarray(compiled(*PROJECT)(rows, np.ones(len(y))) - y)

    def support(self, y: Array, u: Array) -> Mask:
        """Return where p is positive, shape (n_samples, n_classes)."""
        return np.asarray(y + u > 0.0)

    def masses(self, y: Array) -> Array:
        """Return what the p of every row sum to: ones."""
        return np.ones(len(y))

    def _point(self, y: Array, u: Array) -> tuple[Array, Mask]:
        """Return p, clipped by rounding only, and which rows are in the domain."""
        p = y + u
        inside = p.min(axis=1) >= -OUTSIDE
        inside &= np.abs(u.sum(axis=1)) <= OUTSIDE
        return np.clip(p, 0.0, 1.0), inside


def own_values(y: Array, f: Array) -> Array:
    """Return the decision value of the own class of every sample, as a column."""
    return np.asarray(np.take_along_axis(f, np.argmax(y, axis=1)[:, None], axis=1))


def class_shares(y: Array, weights: Array | None) -> Array:
    """Return the total weight of every class.

    Raises
    ------
    ValueError
        If a class is empty: then the best constant model is infinite.
    """
    totals = y.sum(axis=0) if weights is None else weights @ y
    if not np.all(totals > 0.0):
        raise ValueError(
            "The best constant model is infinite: class "
            f"{int(np.argmin(totals))} has no samples."
        )
    return np.asarray(totals)
