r"""Quadratic programs over directions within simplices, by elimination.

Rows of a direction z sum to zero, and columns to given numbers where there is an
intercept. With a matrix M that has a block for some entries of every column, and a
diagonal for all others, the least of :math:`\tfrac12 z^\top M z - r^\top z` is

.. math:: z = M^{-1} (r - \lambda 1^\top - 1 b^\top)

with multipliers of the rows and columns. Those of rows that are in no block follow from
b, so that the system is of the size of the others and of the columns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from multikernel._typing import Array, Indices
from multikernel.linalg import TINY


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
        Whether the sums of columns are given.
    """

    softness: Array
    members: Sequence[Indices]
    inverses: Sequence[Array]
    centred: bool

    def solve(self, sides: Array, sums: Array | None = None) -> tuple[Array, Array]:
        """Return minima for some right-hand sides, and the columns' multipliers b.

        Right-hand sides and minima have the shape (n_sides, n_rows, n_columns), and
        `sums` are what columns of the minima sum to, zero by default. A system without
        a factor raises `numpy.linalg.LinAlgError`.
        """
        # Near an optimum the entries of a row are nearly equal. Rows of z sum to zero,
        # so that their common part only adds rounding errors: it is taken off first.
        rest = sides - (sides * self._softness_shares).sum(axis=2, keepdims=True)
        shifts = np.zeros((len(sides), sides.shape[2]))
        # Once more for what rounding has left of the sums.
        for _ in range(2):
            z = self._inverse_times(rest)
            excess = z.sum(axis=1) - (0.0 if sums is None else sums)
            rows, columns = self._multipliers(z.sum(axis=2), excess)
            rest -= rows[:, :, None] + columns[:, None]
            shifts += columns
        z = self._inverse_times(rest)
        return z - self._softness_shares * z.sum(axis=2, keepdims=True), shifts

    def _multipliers(self, rows: Array, columns: Array) -> tuple[Array, Array]:
        """Return the multipliers that take off these sums of rows and of columns."""
        together, alone = self._split_rows
        s, totals, count = self.softness[alone], self._lone_softness, together.size
        target = np.hstack([rows[:, together], columns - (rows[:, alone] / totals) @ s])
        factor, scale = self._multiplier_factor
        target = target[:, : scale.size]  # of rows only where columns are free
        result = np.zeros((len(rows), count + columns.shape[1]))
        result[:, : scale.size] = cho_solve(factor, (target * scale).T).T * scale
        multipliers, shifts = np.empty(rows.shape), result[:, count:]
        multipliers[:, together] = result[:, :count]
        multipliers[:, alone] = (rows[:, alone] - shifts @ s.T) / totals
        return multipliers, shifts

    def _inverse_times(self, sides: Array) -> Array:
        """Return M^-1 times right-hand sides."""
        product = self.softness * sides
        for c, rows, inverse in self._blocks():
            product[:, rows, c] = sides[:, rows, c] @ inverse
        return np.asarray(product)

    def _blocks(self) -> Iterator[tuple[int, Indices, Array]]:
        """Return column, rows and inverse of every block."""
        columns = range(len(self.members))
        return zip(columns, self.members, self.inverses, strict=True)

    @cached_property
    def _softness_shares(self) -> Array:
        """Return the diagonal of M^-1, each row divided by its sum."""
        soft = self.softness.copy()
        for c, rows, inverse in self._blocks():
            soft[rows, c] = inverse.diagonal()
        return np.asarray(soft / np.maximum(soft.sum(axis=1, keepdims=True), TINY))

    @cached_property
    def _split_rows(self) -> tuple[Indices, Indices]:
        """Return the rows that are in a block, and the others."""
        inside = np.zeros(len(self.softness), dtype=bool)
        for rows in self.members:
            inside[rows] = True
        return np.flatnonzero(inside), np.flatnonzero(~inside)

    @cached_property
    def _lone_softness(self) -> Array:
        """Return the softness of every row that is in no block."""
        return np.asarray(
            np.maximum(self.softness[self._split_rows[1]].sum(axis=1), TINY)
        )

    @cached_property
    def _multiplier_factor(self) -> tuple[tuple[Array, bool], Array]:
        """Return the factor of the multipliers' scaled system, and the scale."""
        system = self._multiplier_system()
        # Rows without an entry that moves, and columns that no row can leave, stay.
        diagonal = system.diagonal()
        roots = np.sqrt(np.maximum(diagonal, TINY))
        scale = np.where(diagonal > 0.0, 1.0 / roots, 0.0)
        system *= scale[:, None] * scale
        system[np.diag_indices(scale.size)] = 1.0 + 1e-14
        return cho_factor(system, lower=True, overwrite_a=True), scale

    def _multiplier_system(self) -> Array:
        """Return the matrix of the multipliers, of rows in blocks and of columns."""
        together, alone = self._split_rows
        n_rows, n_columns = together.size, self.softness.shape[1]
        places = np.zeros(len(self.softness), dtype=np.intp)
        places[together] = np.arange(n_rows)
        s, lone = self.softness[together], self.softness[alone]
        system = np.zeros((n_rows + n_columns, n_rows + n_columns))
        system[np.arange(n_rows), np.arange(n_rows)] = s.sum(axis=1)
        system[:n_rows, n_rows:] = s
        system[n_rows:, n_rows:] = np.diag(self.softness.sum(axis=0))
        system[n_rows:, n_rows:] -= (lone / self._lone_softness[:, None]).T @ lone
        for c, rows, inverse in self._blocks():
            sums = inverse.sum(axis=0)
            system[np.ix_(places[rows], places[rows])] += inverse
            system[places[rows], n_rows + c] += sums
            system[n_rows + c, n_rows + c] += sums.sum()
        if not self.centred:
            return np.asarray(system[:n_rows, :n_rows])
        system[n_rows:, :n_rows] = system[:n_rows, n_rows:].T
        # One constant for all rows and columns changes nothing.
        corner = system[n_rows:, n_rows:]
        corner += float(corner.diagonal().mean()) / n_columns
        return system
