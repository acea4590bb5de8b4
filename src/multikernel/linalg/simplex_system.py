"""Quadratic programs over rows that sum to zero, solved by elimination."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from multikernel._typing import Array, Indices
from multikernel.linalg import TINY


# Rows of a direction z sum to zero, and with an intercept columns sum to given numbers.
# M has a block for some entries of every column, and is diagonal for the others. The
# minimum of z^T M z / 2 - r^T z is
#
#     z = M^-1 (r - lambda 1^T - 1 b^T)
#
# with multipliers lambda of rows and b of columns. Multipliers of rows without block
# entries are eliminated.
@dataclass(frozen=True, eq=False)
class SimplexSystem:
    """A quadratic program with matrix M, in z with given sums of rows and columns."""

    # (n_rows, n_columns), inverse of M's diagonal; zero in blocks and for fixed entries
    softness: Array
    members: Sequence[Indices]  # for every column of z, the rows in its block
    inverses: Sequence[Array]  # inverse of the block of every column
    centered: bool  # whether the sums of columns are constrained

    def solve(self, rhs: Array, sums: Array | None = None) -> tuple[Array, Array]:
        """Return the minimizer z and the column multipliers b for each r in `rhs`."""
        # `rhs` and z have shape (n_sides, n_rows, n_columns), b (n_sides, n_columns).
        # If columns are constrained, those of z sum to `sums`, (n_columns,), or to zero
        # if `sums` is None.
        # Rows of z sum to zero, so the common part of a row of `rhs` only adds
        # rounding errors and is removed first.
        residual = rhs - (rhs * self._softness_shares).sum(axis=2, keepdims=True)
        shifts = np.zeros((len(rhs), rhs.shape[2]))
        # The second iteration removes rounding errors of the sums.
        for _ in range(2):
            z = self._inverse_times(residual)
            excess = z.sum(axis=1) - (0.0 if sums is None else sums)
            # This raises LinAlgError if the system of multipliers has no Cholesky
            # factor.
            rows, columns = self._multipliers(z.sum(axis=2), excess)
            residual -= rows[:, :, None] + columns[:, None]
            shifts += columns
        z = self._inverse_times(residual)
        return z - self._softness_shares * z.sum(axis=2, keepdims=True), shifts

    def _multipliers(self, rows: Array, columns: Array) -> tuple[Array, Array]:
        """Return multipliers of constraints that remove errors `rows` and `columns`."""
        # The errors are those of an approximate solution z: `rows`, (n_sides, n_rows),
        # are the sums of z's rows, which must be zero, and `columns`, (n_sides,
        # n_columns), are the sums of z's columns minus the required sums.
        in_block, lone = self._split_rows
        s, totals, n_rows = self.softness[lone], self._lone_softness, in_block.size
        target = np.hstack([rows[:, in_block], columns - (rows[:, lone] / totals) @ s])
        factor, scale = self._multiplier_factor
        # Unconstrained columns have no multipliers.
        target = target[:, : scale.size]
        result = np.zeros((len(rows), n_rows + columns.shape[1]))
        result[:, : scale.size] = cho_solve(factor, (target * scale).T).T * scale
        multipliers, shifts = np.empty(rows.shape), result[:, n_rows:]
        multipliers[:, in_block] = result[:, :n_rows]
        multipliers[:, lone] = (rows[:, lone] - shifts @ s.T) / totals
        return multipliers, shifts

    def _inverse_times(self, rhs: Array) -> Array:
        """Return the inverse of the matrix M times right-hand sides."""
        product = self.softness * rhs
        for c, rows, inverse in self._blocks():
            product[:, rows, c] = rhs[:, rows, c] @ inverse
        return np.asarray(product)

    def _blocks(self) -> Iterator[tuple[int, Indices, Array]]:
        """Iterate over the blocks of M: index of the column, rows, and inverse."""
        columns = range(len(self.members))
        return zip(columns, self.members, self.inverses, strict=True)

    @cached_property
    def _softness_shares(self) -> Array:
        """Diagonal of M^-1, (n_rows, n_columns), with each row divided by its sum."""
        soft = self.softness.copy()
        for c, rows, inverse in self._blocks():
            soft[rows, c] = inverse.diagonal()
        return np.asarray(soft / np.maximum(soft.sum(axis=1, keepdims=True), TINY))

    @cached_property
    def _split_rows(self) -> tuple[Indices, Indices]:
        """Indices of the rows that have block entries, and of the other rows."""
        is_in_block = np.zeros(len(self.softness), dtype=bool)
        for rows in self.members:
            is_in_block[rows] = True
        return np.flatnonzero(is_in_block), np.flatnonzero(~is_in_block)

    @cached_property
    def _lone_softness(self) -> Array:
        """Row sums of `softness`, (n_lone,), for the rows of z that are in no block."""
        return np.asarray(
            np.maximum(self.softness[self._split_rows[1]].sum(axis=1), TINY)
        )

    @cached_property
    def _multiplier_factor(self) -> tuple[tuple[Array, bool], Array]:
        """Cholesky factor of the scaled multiplier system, and the scale."""
        system = self._multiplier_system()
        # Rows and columns whose entries are all fixed keep the multiplier zero.
        diagonal = system.diagonal()
        roots = np.sqrt(np.maximum(diagonal, TINY))
        scale = np.where(diagonal > 0.0, 1.0 / roots, 0.0)
        system *= scale[:, None] * scale
        system[np.diag_indices(scale.size)] = 1.0 + 1e-14
        return cho_factor(system, lower=True, overwrite_a=True), scale

    def _multiplier_system(self) -> Array:
        """Return the matrix of the system for multipliers that are not eliminated."""
        in_block, lone = self._split_rows
        n_rows, n_columns = in_block.size, self.softness.shape[1]
        positions = np.zeros(len(self.softness), dtype=np.intp)
        positions[in_block] = np.arange(n_rows)
        s, s_lone = self.softness[in_block], self.softness[lone]
        system = np.zeros((n_rows + n_columns, n_rows + n_columns))
        system[np.arange(n_rows), np.arange(n_rows)] = s.sum(axis=1)
        system[:n_rows, n_rows:] = s
        system[n_rows:, n_rows:] = np.diag(self.softness.sum(axis=0))
        system[n_rows:, n_rows:] -= (s_lone / self._lone_softness[:, None]).T @ s_lone
        for c, rows, inverse in self._blocks():
            sums = inverse.sum(axis=0)
            system[np.ix_(positions[rows], positions[rows])] += inverse
            system[positions[rows], n_rows + c] += sums
            system[n_rows + c, n_rows + c] += sums.sum()
        if not self.centered:
            return np.asarray(system[:n_rows, :n_rows])
        system[n_rows:, :n_rows] = system[:n_rows, n_rows:].T
        # The system is singular: adding a constant to all column multipliers and
        # subtracting it from all row multipliers changes nothing.
        corner = system[n_rows:, n_rows:]
        corner += float(corner.diagonal().mean()) / n_columns
        return system


def project_simplex(rows: Array, totals: Array) -> Array:
    """Project each row onto the nonnegative vectors whose sum is the row's total."""
    # Differences from the largest number of each row avoid cancellation.
    largest = rows.max(axis=1, keepdims=True)
    distances = np.sort(largest - rows, axis=1)
    # The projection of a row x is max(x - t, 0). If its k largest numbers remain
    # positive, t is their sum minus the total, divided by k; the correct k has the
    # largest t.
    counts = np.arange(1.0, rows.shape[1] + 1.0)
    shifts = (-np.cumsum(distances, axis=1) - totals[:, None]) / counts
    projected = np.maximum(rows - (largest + shifts.max(axis=1, keepdims=True)), 0.0)
    # Rescaling removes rounding errors, which are proportional to the entries of a row,
    # and may be large relative to its total.
    projected *= (totals / projected.sum(axis=1))[:, None]
    return np.asarray(projected)
