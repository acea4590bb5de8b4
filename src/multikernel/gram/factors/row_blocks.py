"""Tables in blocks of rows that Dask computes; no other module imports Dask.

A block is a delayed object with all tasks that lead to it, from the partitions of the
user's collection on. So Dask recomputes the blocks of a lost worker.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from multikernel._install import how_to_install
from multikernel._typing import Array, Indices
from multikernel.gram.memory import byte_limit, new_file
from multikernel.gram.temporary import PathLike, TemporaryFolder, create_folder
from multikernel.linalg.threads import available_threads, with_one_blas_thread

Task = Callable[..., Any]
"""A function of a block and other arguments, which it must not change: it may run
twice."""

FAN_IN = 8
"""Number of blocks whose results one task adds up before they are sent."""

BLOCK_ROWS = 10_000
"""Rows of a block if factors are in files: arrays below 32 MB, whose memory is reused.
"""

SAMPLED_ROWS = 20_000
"""Number of rows from which landmarks are chosen; outliers are added later."""


def dask_module() -> Any:
    """Return the Dask module, or raise with the command that installs it."""
    try:
        import dask
    except ImportError as error:
        raise ImportError(
            f"Rows in blocks require Dask: {how_to_install('dask')}.", name="dask"
        ) from error
    return dask


def delayed(value: Any) -> Any:
    """Return a delayed value; each call of a delayed function has a new key."""
    return dask_module().delayed(value, pure=False)


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """Rows in blocks, each a delayed object of Dask."""

    parts: tuple[Any, ...]
    ends: Indices  # (n_blocks + 1,), block b has rows ends[b] to ends[b + 1] - 1
    # For files of factors, which threads of this process then compute.
    folder: TemporaryFolder | None = None
    client: Any = None  # of the workers that compute the blocks; None for this process

    @classmethod
    def of(
        cls, parts: Sequence[Any], ends: Indices, folder: TemporaryFolder | None
    ) -> "RowBlocks":
        """Return blocks of delayed objects, computed on the currently active client."""
        client = active_client() if folder is None else None
        return cls(tuple(parts), ends, folder, client)

    @classmethod
    def held(
        cls,
        blocks: Sequence[Any],
        sizes: Sequence[int],
        folder: TemporaryFolder | None = None,
    ) -> "RowBlocks":
        """Return blocks that are in memory; `sizes` are their numbers of rows."""
        return cls.of([*map(delayed, blocks)], np.cumsum([0, *sizes]), folder)

    @property
    def n_rows(self) -> int:
        """Return the number of rows of all blocks."""
        return int(self.ends[-1])

    def split(self, rows: Array, axis: int = 0) -> list[Array]:
        """Split an array with one entry per row into the parts of the blocks."""
        return np.split(rows, self.ends[1:-1], axis)

    def made(self, task: Task, *each: Sequence[Any], **common: Any) -> "RowBlocks":
        """Return new blocks, each the result of a function of one block."""
        # Each block gets one item of every sequence in `each`.
        call = delayed(partial(task, **common))
        return replace(self, parts=tuple(map(call, self.parts, *each)))

    def kept(self, tell: Callable[[float], None] | None = None) -> "RowBlocks":
        """Compute the blocks; keep them in memory of this process or of the workers."""
        # `tell` receives the share of blocks that threads of this process have
        # computed.
        with nullcontext() if tell is None else self._telling(tell):
            return replace(self, parts=self._run(dask_module().persist, self.parts))

    def _telling(self, tell: Callable[[float], None]) -> Any:
        """Return a Dask callback that reports the share of computed blocks."""
        from dask.callbacks import Callback

        keys, done = {part.key for part in self.parts}, count(1)

        def look(key: str, *_: Any) -> None:
            if key in keys:
                tell(next(done) / len(keys))

        return Callback(posttask=look)

    def stored(self) -> "RowBlocks":
        """Compute the blocks; store them in files, or in memory without a folder."""
        if self.folder is None:
            return self.kept()
        names = [self.folder.path / f"rows-{b}.npy" for b in range(len(self.parts))]
        paths = self.map(_save, names)
        return replace(self, parts=tuple(map(delayed(_opened), paths)))

    def of_sizes(self, sizes: Indices) -> "RowBlocks":
        """Return the blocks of nonzero size, split if factors are in files."""
        parts, ends = [], [0]
        for part, n_rows in zip(self.parts, sizes.tolist(), strict=True):
            step = max(n_rows, 1) if self.folder is None else BLOCK_ROWS
            for start in range(0, n_rows, step):
                stop = min(start + step, n_rows)
                is_whole = stop - start == n_rows
                parts.append(part if is_whole else delayed(_between)(part, start, stop))
                ends.append(ends[-1] + stop - start)
        return replace(self, parts=tuple(parts), ends=np.array(ends))

    def map(self, task: Task, *each: Sequence[Any], **common: Any) -> list[Any]:
        """Return the results of a function of every block and its items."""
        return self._computed(self.made(task, *each, **common).parts)

    def joined(
        self, task: Task, *each: Sequence[Any], axis: int = 0, **common: Any
    ) -> Array:
        """Return the concatenated results of a function with one entry per row."""
        return np.concatenate(self.map(task, *each, **common), axis)

    def sum(self, task: Task, *each: Sequence[Any], **common: Any) -> tuple[Array, ...]:
        """Return the sums over all blocks of the arrays that a function returns."""
        # Results are added in the order of the blocks, so sums do not depend on
        # workers.
        parts, add = self.made(task, *each, **common).parts, delayed(added)
        while len(parts) > FAN_IN:
            starts = range(0, len(parts), FAN_IN)
            parts = tuple(add(*parts[k : k + FAN_IN]) for k in starts)
        return added(*self._computed(parts))

    def rows(self, task: Task, indices: Indices, **common: Any) -> Array:
        """Return the results of a function for some rows, in the given order."""
        # The function receives a block and the positions of rows in it. The indices
        # count the rows of all blocks, in any order.
        owners = np.searchsorted(self.ends, indices, side="right") - 1
        # Without indices, call the function for one block to determine the shape.
        asked = np.unique(owners) if indices.size else np.zeros(1, dtype=np.intp)
        places = [np.flatnonzero(owners == b) for b in asked]
        some = replace(self, parts=tuple(self.parts[b] for b in asked))
        inside = [
            indices[positions] - self.ends[b]
            for b, positions in zip(asked, places, strict=True)
        ]
        rows = some.joined(task, inside, **common)
        order = np.empty(indices.size, dtype=np.intp)
        order[np.concatenate(places)] = np.arange(indices.size)
        return np.asarray(rows[order])

    def room(self) -> int | None:
        """Return the number of bytes that factors may use; None if it is unknown."""
        if self.folder is not None:
            return shutil.disk_usage(self.folder.path).free
        if self.client is None:
            return byte_limit(None)
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker.get("memory_limit") for worker in workers]
        # Dask workers start to spill to disk at 0.6 of their memory.
        return int(0.6 * sum(limits)) if limits and all(limits) else None

    def _computed(self, parts: Sequence[Any]) -> list[Any]:
        """Compute delayed objects, and return their results."""
        return list(self._run(dask_module().compute, parts))

    def _run(self, function: Task, parts: Sequence[Any]) -> tuple[Any, ...]:
        """Call a Dask function such as `compute` on delayed objects."""
        dask = dask_module()

        def run() -> tuple[Any, ...]:
            return tuple(function(*parts, traverse=False))

        if self.client is not None:
            # The graph contains parts of vectors, so Dask can run lost tasks again.
            quiet = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
            with dask.config.set(quiet, scheduler=self.client), connected():
                return run()
        with _here(always=self.folder is not None):
            return with_one_blas_thread(run)


@contextmanager
def _here(*, always: bool) -> Iterator[None]:
    """Run Dask in this process, or on the user's scheduler unless `always`."""
    dask, n_threads = dask_module(), available_threads()
    if not always and dask.config.get("scheduler", None):
        yield
    elif n_threads == 1:
        with dask.config.set(scheduler="synchronous"):
            yield
    else:
        with (
            ThreadPoolExecutor(n_threads) as pool,
            dask.config.set(scheduler="threads", pool=pool),
        ):
            yield


def added(first: Sequence[Array], *others: Sequence[Array]) -> tuple[Array, ...]:
    """Return the sums of several results, added in the given order."""
    totals = tuple(np.array(part) for part in first)
    for other in others:
        for total, part in zip(totals, other, strict=True):
            total += part
    return totals


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows in blocks, and a sample of the rows in memory."""

    blocks: RowBlocks  # of shape (n_block, n_features), float64 and finite
    sample: Array  # (n_sampled, n_features), some of the rows
    # Called with the share of the blocks whose factors are computed.
    tell: Callable[[float], None] | None = None

    @classmethod
    def drawn(cls, blocks: RowBlocks) -> "SampledRows":
        """Return rows in blocks with a reproducible sample of the rows."""
        sizes = np.diff(blocks.ends)
        if blocks.n_rows > SAMPLED_ROWS:
            sizes = np.maximum(sizes * SAMPLED_ROWS // blocks.n_rows, 1)
        return cls(blocks, blocks.joined(sampled, sizes.tolist(), range(sizes.size)))

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_features)."""
        return self.blocks.n_rows, int(self.sample.shape[1])

    @property
    def ndim(self) -> int:
        """Return 2, the number of dimensions of a table."""
        return 2


def sampled(rows: Array, share: int, number: int) -> Array:
    """Return a reproducible sample of the rows of a block."""
    if share >= rows.shape[0]:
        return rows
    drawn = np.random.default_rng(number).choice(rows.shape[0], share, replace=False)
    return np.asarray(rows[np.sort(drawn)])


def rows_in_blocks(X: Array, folder: PathLike) -> SampledRows:
    """Return the rows of a table whose factors are stored in a folder."""
    blocks = [X[start : start + BLOCK_ROWS] for start in range(0, len(X), BLOCK_ROWS)]
    temporary = TemporaryFolder(create_folder(folder))
    return SampledRows.drawn(RowBlocks.held(blocks, [*map(len, blocks)], temporary))


def _save(rows: Array, path: Path) -> Path:
    """Write rows to a file, whose disk space is allocated first."""
    new_file(path, rows.shape, "float64")[:] = rows
    return path


def _opened(path: Path) -> Array:
    """Return the rows of a file as a memory map."""
    return np.asarray(np.load(path, mmap_mode="r"))


def _between(rows: Array, start: int, stop: int) -> Array:
    """Return the rows from `start` to before `stop`."""
    return rows[start:stop]


def active_client() -> Any:
    """Return the client that Dask would use, None for this process."""
    try:
        scheduler = dask_module().base.get_scheduler()
    except RuntimeError as error:
        # Dask is configured for a distributed scheduler, but its client was closed.
        raise cluster_has_gone(error) from error
    client = getattr(scheduler, "__self__", None)
    return client if hasattr(client, "scheduler_info") else None


def cluster_has_gone(error: BaseException) -> ConnectionError:
    """Return an error that explains Dask's error about a lost cluster."""
    return ConnectionError(
        "The Dask cluster stopped during the fit: its scheduler or client was closed "
        "or restarted, or its tasks were cancelled. Fit again with a cluster that "
        "runs until the end. Dask reports: "
        f"{' '.join(str(error).split())}"
    )


@contextmanager
def connected() -> Iterator[None]:
    """Turn Dask's errors about a lost cluster or task into one clear error."""
    from distributed.client import ClosedClientError

    try:
        yield
    except (CancelledError, ClosedClientError) as error:
        raise cluster_has_gone(error) from error


def mapped(X: Any, function: Callable[[Any], Any], like: Any) -> Any:
    """Return a lazy Dask array of a function of the rows of a collection."""
    import dask.array as da

    # The function maps a partition to one entry per row; `like` is its result for some
    # row.
    X = whole_rows(X)
    parts = partitions(X)
    # Dask may fuse partitions, so that a collection has fewer than it reports.
    sizes = X.chunks[0] if hasattr(X, "chunks") else [float("nan")] * len(parts)
    call = dask_module().delayed(function)
    parts = [
        da.from_delayed(call(part), (size, *like.shape[1:]), meta=like[:0])
        for part, size in zip(parts, sizes, strict=True)
    ]
    return da.concatenate(parts)


def whole_rows(X: Any) -> Any:
    """Return a collection whose partitions contain whole rows."""
    if hasattr(X, "chunks") and X.ndim == 2 and X.numblocks[1] > 1:
        return X.rechunk({1: -1})
    return X


def partitions(X: Any) -> list[Any]:
    """Return the partitions of a collection, in order, as delayed objects."""
    return list(np.ravel(whole_rows(X).to_delayed()))
