"""Selection among kernels of low rank: exact, from their factors."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.factors.low_rank import LowRankStack
from multikernel.solvers.group_omp.improvement import TIE, Choice, Query, choose
from multikernel.solvers.group_omp.whitening import Whitening


class FactorSelector:
    """Exact scores of kernels of low rank: one product with all factors.

    Every factor is rotated once so that its columns are orthogonal in the whitened
    geometry, with squared lengths s_i; then 2 I_m = sum_i (z_i^T r)^2 / (s_i + c).

    Parameters
    ----------
    stack : LowRankStack
        The factors.
    whitening : Whitening
        The geometry.
    """

    def __init__(self, stack: LowRankStack, whitening: Whitening) -> None:
        self.stack, self.whitening, self.prepared = stack, whitening, 0.0
        self.lengths = np.empty(stack.factors.shape[1])
        self.rotations: list[tuple[Indices, Array]] = []
        for rank in np.unique(stack.ranks):
            self._diagonalize(int(rank))

    def _diagonalize(self, rank: int) -> None:
        """Find the principal axes of the factors of one rank, a block at a time."""
        first = self.stack.offsets[:-1][self.stack.ranks == rank]
        n_samples = self.stack.shape[1]
        step = max(1, 2**20 // (n_samples * rank))
        for start in range(0, first.size, step):
            columns = first[start : start + step, None] + np.arange(rank)
            part = self.stack.factors[:, columns.ravel()].T
            part = self.whitening.project(np.array(self.whitening.scaled(part)))
            if rank == 1:
                self.lengths[columns[:, 0]] = np.einsum("kn,kn->k", part, part)
                continue
            blocks = part.reshape(-1, rank, n_samples)
            lengths, axes = np.linalg.eigh(blocks @ blocks.transpose(0, 2, 1))
            self.lengths[columns] = np.maximum(lengths, 0.0)
            self.rotations.append((columns, axes.transpose(0, 2, 1)))

    def best(self, query: Query) -> Choice:
        """Return the best candidate of every group."""
        products = self.whitening.scaled(query.rows) @ self.stack.factors
        for columns, axes in self.rotations:
            rotated = axes @ products.T[columns]
            products.T[columns] = rotated
        np.square(products, out=products)
        forms = np.add.reduceat(products, query.starts, axis=0)
        forms /= self.lengths + query.shifts[:, None]
        if self.rotations:
            forms = np.add.reduceat(forms, self.stack.offsets[:-1], axis=1)
        return choose(query, forms, TIE, 1.0)
