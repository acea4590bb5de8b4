r"""Quadratic programs over directions in simplices, by elimination.

A direction z in a simplex a row has rows that sum to zero, and columns with given sums
where there is an intercept. With a matrix M that has a block for some entries of every
column, and a diagonal for all others, its minimum is

.. math:: z = M^{-1} (r - \lambda 1^\top - 1 b^\top)

with multipliers of the rows and columns. Those of rows that are in no block follow from
b, so that the system is of the size of the others and of the columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from multikernel._typing import Array, Indices

RIDGE = 1e-14
"""This share of the diagonal is added to the multipliers' system, whose rounding it
is."""

SOLVES = 2
"""The multipliers are found, and then what rounding has left of the sums."""

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class SimplexSystem:
    """A matrix M, and what rows and columns of its solutions sum to.

    Parameters
    ----------
    softness : ndarray of shape (n_rows, n_columns)
        The inverse of the diagonal; zero in blocks, and for entries that stay.
    members : sequence of ndarray of int
        The rows of the block of every column.
    inverses : sequence of ndarray of shape (n_members, n_members)
        The inverse of the block of every column.
    centred : bool
        Whether sums of columns are given.
    """

    softness: Array
    members: Sequence[Indices]
    inverses: Sequence[Array]
    centred: bool

    def solve(self, sides: Array, sums: Array | None = None) -> tuple[Array, Array]:
        """Return the minima for some right-hand sides, and the columns' multipliers.

        Parameters
        ----------
        sides : ndarray of shape (n_sides, n_rows, n_columns)
            The right-hand sides r.
        sums : ndarray of shape (n_columns,), optional
            What columns of the minima sum to; zero by default.

        Returns
        -------
        minima : ndarray of shape (n_sides, n_rows, n_columns)
        shifts : ndarray of shape (n_sides, n_columns)
            The multipliers b.
        """
        # Entries of a row are alike near the end: what they share is taken off first.
        left = sides - (sides * self._shares).sum(axis=2, keepdims=True)
        shifts = np.zeros((len(sides), sides.shape[2]))
        for _ in range(SOLVES):
            z = self._times(left)
            excess = z.sum(axis=1) - (0.0 if sums is None else sums)
            rows, more = self._multipliers(z.sum(axis=2), excess)
            left -= rows[:, :, None] + more[:, None]
            shifts += more
        return self._times(left), shifts

    def _multipliers(self, rows: Array, columns: Array) -> tuple[Array, Array]:
        """Return those of rows and columns that take off what these sum to."""
        together, alone = self._rows
        s, total = self.softness[alone], self._alone_totals
        target = np.hstack([rows[:, together], columns - (rows[:, alone] / total) @ s])
        if not self.centred:
            target = target[:, : together.size]
        factor, scale = self._factor
        found = cho_solve(factor, (target * scale).T).T * scale
        shifts = np.zeros(columns.shape)
        shifts[:, : found.shape[1] - together.size] = found[:, together.size :]
        multipliers = np.empty(rows.shape)
        multipliers[:, together] = found[:, : together.size]
        multipliers[:, alone] = (rows[:, alone] - shifts @ s.T) / total
        return multipliers, shifts

    @cached_property
    def _shares(self) -> Array:
        """Return how soft the entries are within their rows."""
        soft = self.softness.copy()
        for c, (own, inverse) in enumerate(self._blocks):
            soft[own, c] = inverse.diagonal()
        return np.asarray(soft / np.maximum(soft.sum(axis=1, keepdims=True), TINY))

    def _times(self, sides: Array) -> Array:
        """Return M^-1 times right-hand sides."""
        product = self.softness * sides
        for c, (own, inverse) in enumerate(self._blocks):
            product[:, own, c] = sides[:, own, c] @ inverse
        return np.asarray(product)

    @property
    def _blocks(self) -> list[tuple[Indices, Array]]:
        return list(zip(self.members, self.inverses, strict=True))

    @cached_property
    def _rows(self) -> tuple[Indices, Indices]:
        """Return the rows that are in a block, and the others."""
        inside = np.zeros(len(self.softness), dtype=bool)
        for own in self.members:
            inside[own] = True
        return np.flatnonzero(inside), np.flatnonzero(~inside)

    @cached_property
    def _alone_totals(self) -> Array:
        return np.maximum(self.softness[self._rows[1]].sum(axis=1), TINY)

    @cached_property
    def _factor(self) -> tuple[tuple[Array, bool], Array]:
        """Return the factor of the multipliers' scaled system, and the scale."""
        together, alone = self._rows
        n_rows, n_columns = together.size, self.softness.shape[1]
        places = np.zeros(len(self.softness), dtype=np.intp)
        places[together] = np.arange(n_rows)
        system = np.zeros((n_rows + n_columns, n_rows + n_columns))
        s, lone = self.softness[together], self.softness[alone]
        system[np.arange(n_rows), np.arange(n_rows)] = s.sum(axis=1)
        system[:n_rows, n_rows:] = s
        corner = np.diag(self.softness.sum(axis=0))
        corner -= (lone / self._alone_totals[:, None]).T @ lone
        system[n_rows:, n_rows:] = corner
        for c, (own, inverse) in enumerate(self._blocks):
            system[np.ix_(places[own], places[own])] += inverse
            sums = inverse.sum(axis=0)
            system[places[own], n_rows + c] += sums
            system[n_rows + c, n_rows + c] += sums.sum()
        system[n_rows:, :n_rows] = system[:n_rows, n_rows:].T
        # One constant for all rows and columns changes nothing.
        corner = system[n_rows:, n_rows:]
        corner += float(corner.diagonal().mean()) / n_columns
        size = n_rows + n_columns if self.centred else n_rows
        system = system[:size, :size]
        # Rows without an entry that moves, and columns that no row can leave, stay.
        diagonal = system.diagonal().copy()
        scale = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.maximum(diagonal, TINY)), 0.0)
        system *= scale[:, None] * scale
        system[np.diag_indices(size)] = 1.0 + RIDGE
        return cho_factor(system, lower=True, overwrite_a=True), scale
