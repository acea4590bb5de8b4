"""Blocks of rows: maps over them, and sums that are the same whoever computes them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.memory import byte_limit

Task = Callable[..., Any]
"""A function of a block and of more; it must not change them, as it may run twice."""

FAN_IN = 8
"""Blocks whose results one task adds up: of more blocks only so many sums travel."""


class Engine(Protocol):
    """Calls functions, somewhere."""

    def map(self, task: Task, *each: Sequence[Any]) -> list[Any]:
        """Return handles on what a function returns for the items of sequences.

        Items may be handles, or lists of them.
        """
        ...

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return what handles stand for."""
        ...

    def room(self) -> int | None:
        """Return how many bytes may be held, None where that is not known."""
        ...


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
        """Return blocks that a function makes of these; they stay where they are."""
        handles = self.engine.map(partial(task, **common), self.handles, *each)
        return RowBlocks(self.engine, tuple(handles), self.ends)

    def map(self, task: Task, *each: Sequence[Any], **common: Any) -> list[Any]:
        """Return what a function of a block and of its items returns, block by block.

        Parameters
        ----------
        task : callable
            The function.
        *each : sequence
            One item for each block.
        **common : object
            Further arguments, the same for all.
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

        Parameters
        ----------
        task : callable
            Takes a block, and numbers of rows within it.
        indices : ndarray of shape (n_indices,)
            Numbers of rows, in any order.
        **common : object
            Further arguments.
        """
        owners = np.searchsorted(self.ends, indices, side="right") - 1
        # One block is asked even for no rows: it knows what shape they would have.
        asked = np.unique(owners) if indices.size else np.zeros(1, dtype=np.intp)
        places = [np.flatnonzero(owners == b) for b in asked]
        own = [
            indices[place] - self.ends[b]
            for b, place in zip(asked, places, strict=True)
        ]
        handles = self.engine.map(
            partial(task, **common), [self.handles[b] for b in asked], own
        )
        found = np.concatenate(self.engine.gather(handles))
        order = np.empty(indices.size, dtype=np.intp)
        order[np.concatenate(places)] = np.arange(indices.size)
        return np.asarray(found[order])


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
