"""Factors in files: an engine whose blocks stay on the disk, and rows to start from."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.gram.factors.engine import FactorBlock, RowBlocks, SampledRows, Task
from multikernel.gram.factors.landmarks import LowRank
from multikernel.gram.factors.rows import moments, normalised, raw_block, replaced
from multikernel.gram.temporary import PathLike, TemporaryFolder, made_folder
from multikernel.linalg.tables import evenly_spaced
from multikernel.linalg.threads import run_blocks

BLOCK_ROWS = 10_000
"""Rows of a block. What a thread makes of one, such as 250 columns in float64, stays
below 32 MB: memory that the C library hands out again without asking the system, which
took most of the time of blocks of 131 072 rows."""

BLOCKS_PER_FILE = 32
"""Blocks of one file: a process may have some thousand files open."""

SAMPLED_ROWS = 50_000
"""Rows that landmarks are chosen from. Of a million rows of the generated problem a
sample of them left no more than one of all rows did (benchmarks/scale/memmap.py)."""

EPS32 = float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class Deferred:
    """A function of a block that is called whenever its result is asked for."""

    task: Task
    items: tuple[Any, ...]


@dataclass(eq=False)
class FileEngine:
    """Calls functions on all threads, and keeps factors in files.

    Factors that are not normalised yet are not kept at all: they are asked for twice
    or three times, and are computed anew, which takes less than writing them.

    Parameters
    ----------
    folder : str or path-like
        Where the files are; they go with the blocks.
    dtype : {"float64", "float32"}
        In what precision factors are stored.
    tell : callable, optional
        Called with the share of building that is done.
    """

    folder: PathLike
    dtype: str
    tell: Callable[[float], None] | None = None
    _told: float = 0.0
    _free: dict[tuple[int, int], list[Array]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _files: list[TemporaryFolder] = field(default_factory=list)

    def map(self, task: Task, *each: Sequence[Any]) -> list[Any]:
        """Return what a function returns for the items of sequences, or how to."""
        items = list(zip(*each, strict=True))
        inner = task.func if isinstance(task, partial) else task
        if inner in (raw_block, replaced):
            return [Deferred(task, item) for item in items]
        results: list[Any] = [None] * len(items)
        finished: list[int] = []
        first, last = self._told, self._told_after(inner)

        def work(place: int) -> None:
            result = _value(Deferred(task, items[place]))
            if isinstance(result, FactorBlock):
                result = self._kept(result)
            results[place] = result
            finished.append(place)
            if self.tell is not None and inner in (moments, normalised):
                self.tell(first + (last - first) * len(finished) / len(items))

        run_blocks(work, range(len(items)))
        self._free.clear()
        self._told = last
        return results

    def _told_after(self, task: Task) -> float:
        """Return the share of building that is done after a pass over the rows.

        The last pass is half of it. How many rounds of landmarks come before, nobody
        knows: each takes half of what is left to there. A refinement takes nothing
        back.
        """
        if task is moments:
            return max(self._told, 0.25 + 0.5 * self._told)
        return 1.0 if task is normalised else self._told

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return the results of handles, computing deferred ones."""
        return [_value(handle) for handle in handles]

    def room(self) -> int:
        """Return the bytes that may be held, were they all in float64."""
        folder = made_folder(self.folder)
        return shutil.disk_usage(folder).free * (2 if self.dtype == "float32" else 1)

    def _kept(self, block: FactorBlock) -> FactorBlock:
        """Return a copy of a block in arrays that are mapped from a file."""
        n_rows, rank = block.Z.shape
        n_roots = 0 if block.roots is None else len(block.roots)
        array = self._place((rank + n_roots, n_rows))
        array[:rank] = block.Z.T
        if block.roots is None:
            return FactorBlock(array.T)
        # Roots are upper bounds: in single precision they are rounded up.
        up = 1.0 + EPS32 if self.dtype == "float32" else 1.0
        array[rank:] = block.roots * up
        return FactorBlock(array[:rank].T, array[rank:])

    def _place(self, shape: tuple[int, int]) -> Array:
        """Return room for a block in a file."""
        with self._lock:
            free = self._free.setdefault(shape, [])
            if not free:
                number = BLOCKS_PER_FILE if shape[1] == BLOCK_ROWS else 1
                free.extend(self._made().scratch((number, *shape), self.dtype))
            return free.pop()

    def _made(self) -> TemporaryFolder:
        """Return the folder of all files: each one holds a lock, and so a file open."""
        if not self._files:
            made_folder(self.folder)
            self._files.append(TemporaryFolder(self.folder))
        return self._files[0]


def _value(handle: Any) -> Any:
    """Return the result of a handle, a list of handles, or a plain value."""
    if isinstance(handle, Deferred):
        return handle.task(*(_value(item) for item in handle.items))
    return [_value(h) for h in handle] if isinstance(handle, list) else handle


def rows_for_files(
    X: Array, options: LowRank, tell: Callable[[float], None] | None = None
) -> SampledRows:
    """Return the rows of a table, whose factors are to be held in files.

    Blocks are views of the table, in memory or mapped from a file; the options have a
    folder. What is to `tell` is called with the share of building that is done.
    """
    assert options.folder is not None
    starts = np.arange(0, X.shape[0], BLOCK_ROWS)
    ends = np.append(starts, X.shape[0])
    parts = tuple(X[a:b] for a, b in pairwise(ends.tolist()))
    engine = FileEngine(options.folder, options.dtype, tell)
    sample = X[evenly_spaced(X.shape[0], SAMPLED_ROWS)]
    return SampledRows(RowBlocks(engine, parts, ends), np.array(sample))
