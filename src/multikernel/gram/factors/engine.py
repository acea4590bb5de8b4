"""Blocks of rows: maps over them, and sums that are the same whoever computes them.

The blocks hold factors of kernels; engines say where functions are called.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.memory import byte_limit
from multikernel.linalg.tables import sizes_of
from multikernel.linalg.tall import gathered, runs_of, weighted_gram

Task = Callable[..., Any]
"""A function of a block and of more; it must not change them, as it may run twice."""

FAN_IN = 8
"""Blocks whose results one task adds up: of more blocks only this many sums travel."""


class Engine(Protocol):
    """Calls functions, somewhere."""

    def map(self, task: Task, *each: Sequence[Any]) -> list[Any]:
        """Return handles on what a function returns for the items of sequences.

        Items may be handles, or lists of them.
        """

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return what handles stand for."""

    def room(self) -> int | None:
        """Return how many bytes may be held, None where that is not known."""


class InProcess:
    """Calls functions at once; a handle is what was returned."""

    def map(self, task: Task, *each: Sequence[Any]) -> list[Any]:
        """Return what a function returns for the items of sequences."""
        return [task(*items) for items in zip(*each, strict=True)]

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return them."""
        return list(handles)

    def room(self) -> int:
        """Return half of the memory that is free."""
        return byte_limit(None)


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """Rows in blocks, each an object that an engine has a handle on.

    Sums are added up in the order of the blocks, so that they are the same to the last
    bit whichever worker computed what, and in which order.

    Parameters
    ----------
    engine : Engine
        Where functions are called.
    handles : tuple
        One for each block.
    ends : ndarray of shape (n_blocks + 1,)
        Block b holds the rows ``ends[b]`` to ``ends[b + 1]``.
    """

    engine: Engine
    handles: tuple[Any, ...]
    ends: Indices

    @property
    def n_rows(self) -> int:
        """Return the rows of all blocks."""
        return int(self.ends[-1])

    def split(self, rows: Array) -> list[Array]:
        """Return the part of every block of an array with one entry per row."""
        return np.split(rows, self.ends[1:-1])

    def made(self, task: Task, *each: Sequence[Any], **common: Any) -> "RowBlocks":
        """Return the blocks that a task makes of each; none travels to the caller."""
        handles = self.engine.map(partial(task, **common), self.handles, *each)
        return RowBlocks(self.engine, tuple(handles), self.ends)

    def map(self, task: Task, *each: Sequence[Any], **common: Any) -> list[Any]:
        """Return what a function of a block and of its items returns, block by block.

        Of every sequence a block has one item; further arguments are the same for all.
        """
        handles = self.engine.map(partial(task, **common), self.handles, *each)
        return self.engine.gather(handles)

    def joined(self, task: Task, *each: Sequence[Any], **common: Any) -> Array:
        """Return arrays with one entry per row, put together."""
        return np.concatenate(self.map(task, *each, **common))

    def sum(self, task: Task, *each: Sequence[Any], **common: Any) -> tuple[Array, ...]:
        """Return the sums over all blocks of the arrays that a function returns."""
        handles = self.engine.map(partial(task, **common), self.handles, *each)
        while len(handles) > FAN_IN:
            starts = range(0, len(handles), FAN_IN)
            groups = [handles[start : start + FAN_IN] for start in starts]
            handles = self.engine.map(added, groups)
        return added(self.engine.gather(handles))

    def rows(self, task: Task, indices: Indices, **common: Any) -> Array:
        """Return what a function makes of some rows, one entry for each of them.

        It takes a block, and numbers of rows within it; the indices are in any order.
        """
        owners = np.searchsorted(self.ends, indices, side="right") - 1
        # One block is asked even for no rows: it knows what shape they would have.
        asked = np.unique(owners) if indices.size else np.zeros(1, dtype=np.intp)
        places = [np.flatnonzero(owners == b) for b in asked]
        tasks = [
            indices[rows] - self.ends[b] for b, rows in zip(asked, places, strict=True)
        ]
        handles = self.engine.map(
            partial(task, **common), [self.handles[b] for b in asked], tasks
        )
        gathered_rows = np.concatenate(self.engine.gather(handles))
        order = np.empty(indices.size, dtype=np.intp)
        order[np.concatenate(places)] = np.arange(indices.size)
        return np.asarray(gathered_rows[order])


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows in blocks, and a sample of them at hand.

    Parameters
    ----------
    blocks : RowBlocks
        Of arrays of shape (n_block, n_features), float64 and finite.
    sample : ndarray of shape (n_sampled, n_features)
        Some of the rows.
    """

    blocks: RowBlocks
    sample: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_features)."""
        return self.blocks.n_rows, int(self.sample.shape[1])

    @property
    def ndim(self) -> int:
        """Return 2."""
        return 2


def added(results: Sequence[Sequence[Array]]) -> tuple[Array, ...]:
    """Return the sums of arrays, in the order in which they come."""
    first, *others = results
    totals = tuple(np.array(part) for part in first)
    for other in others:
        for total, part in zip(totals, other, strict=True):
            total += part
    return totals


Parts = Sequence[slice]
"""The columns of kernels."""


@dataclass(frozen=True, eq=False)
class FactorBlock:
    """Some rows of the factors of all kernels, and of what these leave.

    Every method is one task: what a product needs of a block is fetched in one go.
    Results come as tuples of arrays to be added up, or as arrays of one entry per row.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, total_rank)
        The factors, side by side; in single precision they are added up in double.
    roots : ndarray of shape (n_kernels, n_rows) or None
        Roots of the residual's diagonals; None where nothing is left.
    """

    Z: Array
    roots: Array | None = None

    def __sizeof__(self) -> int:
        """Return the bytes of the arrays, which schedulers go by."""
        return self.Z.nbytes + (0 if self.roots is None else self.roots.nbytes)

    def inner(self, v: Array, columns: Indices) -> tuple[Array]:
        """Return Z^T v for some columns."""
        runs = runs_of(columns)
        return (np.concatenate([self._some(run).T @ v for run in runs]),)

    def inner_of_each(self, coefs: Array, parts: Parts) -> tuple[Array]:
        """Return Z_m^T coefs[:, m] for some kernels, one after another."""
        pairs = enumerate(parts)
        inner = [self._some(part).T @ coefs[:, column] for column, part in pairs]
        return (np.concatenate(inner),)

    def forms(
        self, v: Array, columns: Indices, kernels: Indices
    ) -> tuple[Array, Array, Array]:
        """Return Z^T v, and what bounds on the residual's forms are made of."""
        if self.roots is None:
            return (*self.inner(v, columns), np.zeros(kernels.size), v.sum(axis=0))
        bounds = (self.roots @ sizes_of(v))[kernels]
        return (*self.inner(v, columns), bounds, v.sum(axis=0))

    def times(self, u: Array, columns: Indices) -> Array:
        """Return Z[:, columns] @ u."""
        total, start = np.zeros((self.Z.shape[0], *u.shape[1:])), 0
        for run in runs_of(columns):
            width = run.stop - run.start
            total += self._some(run) @ u[start : start + width]
            start += width
        return total

    def images(self, u: Array, parts: Parts) -> Array:
        """Return Z_m u_m for some kernels, shape (n_rows, n_kernels[, n_outputs])."""
        images, start = np.empty((self.Z.shape[0], len(parts), *u.shape[1:])), 0
        for m, part in enumerate(parts):
            width = part.stop - part.start
            images[:, m] = self._some(part) @ u[start : start + width]
            start += width
        return images

    def diagonals(self, parts: Parts) -> Array:
        """Return the diagonals of some kernels, shape (n_rows, n_kernels)."""
        diagonals = np.empty((self.Z.shape[0], len(parts)))
        for m, part in enumerate(parts):
            Z = self._some(part)
            np.einsum("ik,ik->i", Z, Z, out=diagonals[:, m])
        return diagonals

    def sums(self, u: Array, units: Array, columns: Indices, parts: Parts) -> Array:
        """Return Z u, and sums of units times roots of diagonals, side by side."""
        total = self.times(u, columns)
        roots = np.zeros(self.Z.shape[0])
        for part, unit in zip(parts, units.tolist(), strict=True):
            if unit:
                Z = self._some(part)
                roots += unit * np.sqrt(np.einsum("ik,ik->i", Z, Z))
        return np.column_stack([total, roots])

    def squares(self, weights: Array, columns: Indices) -> tuple[Array]:
        """Return the diagonal of A^T diag(w) A, where A is some columns."""
        some = [self._some(run) for run in runs_of(columns)]
        sums = [np.einsum("i,ij,ij->j", weights, Z, Z) for Z in some]
        return (np.concatenate(sums),)

    def row_squares(self, weights: Array, columns: Indices) -> Array:
        """Return the diagonal of A diag(w) A^T, where A is some columns."""
        A = gathered(self.Z, columns).astype(np.float64, copy=False)
        return np.asarray(np.einsum("ij,ij,j->i", A, A, weights))

    def gram(self, weights: Array, sides: Array, columns: Indices) -> tuple[Array, ...]:
        """Return A^T diag(w) A and A^T diag(w) B, where A is some columns."""
        return weighted_gram(self.Z, weights, columns, sides)

    def own_products(self, parts: Parts) -> tuple[Array]:
        """Return Z_m^T Z_m for every kernel, flat, one after another."""
        some = [self._some(part) for part in parts]
        return (np.concatenate([(Z.T @ Z).reshape(-1) for Z in some]),)

    def rows(self, indices: Indices, columns: Indices) -> Array:
        """Return Z[indices, columns]."""
        return np.array(gathered(self.Z[indices], columns), dtype=np.float64)

    def root_rows(self, indices: Indices) -> Array:
        """Return some entries of the residual's roots, shape (n_indices, n_kernels)."""
        assert self.roots is not None
        return np.array(self.roots[:, indices].T, dtype=np.float64)

    def _some(self, columns: slice) -> Array:
        """Return some columns in double precision: a view where they are held so."""
        return self.Z[:, columns].astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class BlockedColumns:
    """Some columns of a tall matrix whose rows are in blocks.

    Parameters
    ----------
    blocks : RowBlocks
        Of `FactorBlock`.
    columns : ndarray of shape (n_columns,)
        The columns.
    """

    blocks: RowBlocks
    columns: Indices

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_columns)."""
        return self.blocks.n_rows, self.columns.size

    def inner(self, v: Array) -> Array:
        """Return Z^T v."""
        if not self.columns.size:
            return np.zeros((0, *v.shape[1:]))
        parts = self.blocks.split(v)
        (total,) = self.blocks.sum(FactorBlock.inner, parts, columns=self.columns)
        return total

    def inner_of_each(self, vectors: Array, parts: Sequence[slice]) -> Array:
        """Return for every part of the columns their products with its own vector."""
        products = np.zeros((self.columns.size, *vectors.shape[2:]))
        used = np.flatnonzero(vectors.reshape(len(parts), -1).any(axis=1))
        if not used.size:
            return products
        used_parts = [parts[m] for m in used.tolist()]
        # A view where all are used: vectors are as many as kernels of a model.
        some = vectors if used.size == len(parts) else vectors[used]
        (total,) = self.blocks.sum(
            FactorBlock.inner_of_each,
            self.blocks.split(np.moveaxis(some, 1, 0)),
            parts=self._in_blocks(used_parts),
        )
        products[np.r_[tuple(used_parts)]] = total
        return products

    def _in_blocks(self, parts: Sequence[slice]) -> list[slice]:
        """Return where parts are in the blocks: neighbours are so there as well."""
        blocks = [self.columns[part] for part in parts]
        return [slice(int(c[0]), int(c[-1]) + 1) for c in blocks]

    def images(self, u: Array, parts: Sequence[slice]) -> Array:
        """Return Z_m u_m for some parts."""
        if not parts:
            return np.empty((0, self.shape[0], *u.shape[1:]))
        images = self.blocks.joined(
            FactorBlock.images,
            u=np.concatenate([u[part] for part in parts]),
            parts=self._in_blocks(parts),
        )
        return np.ascontiguousarray(np.moveaxis(images, 0, 1))

    def times(self, u: Array) -> Array:
        """Return Z u."""
        used = np.flatnonzero(u.any(axis=tuple(range(1, u.ndim))))
        if not used.size:
            return np.zeros((self.shape[0], *u.shape[1:]))
        return self.blocks.joined(
            FactorBlock.times, u=u[used], columns=self.columns[used]
        )

    def squares(self, weights: Array) -> Array:
        """Return the diagonal of Z^T diag(w) Z."""
        parts = self.blocks.split(weights)
        (total,) = self.blocks.sum(FactorBlock.squares, parts, columns=self.columns)
        return total

    def row_squares(self, weights: Array) -> Array:
        """Return the diagonal of Z diag(w) Z^T."""
        return self.blocks.joined(
            FactorBlock.row_squares, weights=weights, columns=self.columns
        )

    def gram(
        self, weights: Array, columns: Indices, sides: Array
    ) -> tuple[Array, Array]:
        """Return A^T diag(w) A and A^T diag(w) B."""
        gram, inner = self.blocks.sum(
            FactorBlock.gram,
            self.blocks.split(weights),
            self.blocks.split(sides),
            columns=self.columns[columns],
        )
        return gram, inner

    def rows(self, indices: Indices) -> Array:
        """Return some rows."""
        return self.blocks.rows(FactorBlock.rows, indices, columns=self.columns)
