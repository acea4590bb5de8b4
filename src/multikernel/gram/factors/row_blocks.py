"""Tables in blocks of rows that Dask computes.

A block is a delayed object with all tasks that lead to it, from the partitions of the
user's collection on, so Dask can recompute the blocks of a lost worker. Only this
module and the command line import Dask.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from multikernel._install import how_to_install
from multikernel._typing import Array, Indices
from multikernel.gram.memory import byte_limit, new_file
from multikernel.gram.temporary import PathLike, TemporaryFolder, create_folder
from multikernel.linalg.threads import available_threads, with_one_blas_thread

if TYPE_CHECKING:
    from dask.array import Array as DaskArray
    from dask.callbacks import Callback
    from dask.dataframe import DataFrame
    from dask.delayed import Delayed
    from distributed import Client

# Tasks are functions of a block and more arguments. They may run twice, so they must
# not change their arguments.
Result = TypeVar("Result")
"""The type of a task's result for one block."""

FAN_IN = 8
"""Number of blocks whose results one task adds up before it sends the sum."""

# Arrays of this many rows and up to 400 columns take at most 32 MB; the allocator
# reuses the memory of such arrays.
BLOCK_ROWS = 10_000
"""Number of rows of a block if factors are in files."""

SAMPLED_ROWS = 20_000
"""Number of rows from which landmarks are first chosen."""


def dask_module() -> Any:
    """Return the Dask module, or raise with the command that installs it."""
    try:
        import dask
    except ImportError as error:
        raise ImportError(
            "A Dask collection, or LowRank with a folder, requires Dask: "
            f"{how_to_install('dask')}.",
            name="dask",
        ) from error
    return dask


def delayed(value: object) -> "Delayed":
    """Return `dask.delayed(value)`; if it is a function, each call is a new task."""
    return dask_module().delayed(value, pure=False)


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """Rows in blocks, each a delayed object of Dask."""

    parts: tuple["Delayed", ...]
    ends: Indices  # (n_blocks + 1,), block b has rows ends[b] to ends[b + 1] - 1
    # Folder for files of factors; if given, threads of this process compute them.
    folder: TemporaryFolder | None = None
    client: "Client | None" = None  # computes the blocks; None for this process

    @classmethod
    def of(
        cls, parts: Sequence["Delayed"], ends: Indices, folder: TemporaryFolder | None
    ) -> "RowBlocks":
        """Return blocks of delayed objects, computed on the currently active client."""
        client = active_client() if folder is None else None
        return cls(tuple(parts), ends, folder, client)

    @classmethod
    def from_arrays(
        cls,
        blocks: Sequence[object],
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

    def apply(
        self, task: Callable[..., object], *items: Sequence[object], **options: object
    ) -> "RowBlocks":
        """Return new blocks, the results of `task` for each block and its items."""
        # Each sequence in `items` has one item for every block.
        call = delayed(partial(task, **options))
        return replace(self, parts=tuple(map(call, self.parts, *items)))

    def persist(self, tell: Callable[[float], None] | None = None) -> "RowBlocks":
        """Compute the blocks, and return the computed blocks, which stay in memory."""
        # The memory is that of this process, or of the workers of the Dask client.
        # `tell` is called with the share of the blocks that threads of this process
        # have computed.
        with nullcontext() if tell is None else self._telling(tell):
            return replace(self, parts=self._run(dask_module().persist, self.parts))

    def _telling(self, tell: Callable[[float], None]) -> "Callback":
        """Return a Dask callback that reports the share of computed blocks."""
        from dask.callbacks import Callback

        keys, n_done = {part.key for part in self.parts}, count(1)

        def count_block(key: str, *_: object) -> None:
            if key in keys:
                tell(next(n_done) / len(keys))

        return Callback(posttask=count_block)

    def store(self) -> "RowBlocks":
        """Compute and store the blocks: in files, or in memory if `folder` is None."""
        if self.folder is None:
            return self.persist()
        names = [self.folder.path / f"rows-{b}.npy" for b in range(len(self.parts))]
        paths = self.map(_save, names)
        return replace(self, parts=tuple(map(delayed(_opened), paths)))

    def resize(self, sizes: Indices) -> "RowBlocks":
        """Return a copy with the blocks' numbers of rows, and without empty blocks."""
        # `sizes` has the number of rows of each block. If factors are in files, blocks
        # are split into blocks of at most `BLOCK_ROWS` rows.
        parts, ends = [], [0]
        for part, n_rows in zip(self.parts, sizes.tolist(), strict=True):
            step = max(n_rows, 1) if self.folder is None else BLOCK_ROWS
            for start in range(0, n_rows, step):
                stop = min(start + step, n_rows)
                is_whole = stop - start == n_rows
                cut = delayed(getitem)
                parts.append(part if is_whole else cut(part, slice(start, stop)))
                ends.append(ends[-1] + stop - start)
        return replace(self, parts=tuple(parts), ends=np.array(ends))

    def map(
        self, task: Callable[..., Result], *items: Sequence[object], **options: object
    ) -> list[Result]:
        """Return the results of calling `task` with each block and its items."""
        return self._computed(self.apply(task, *items, **options).parts)

    def concatenate(
        self,
        task: Callable[..., Array],
        *items: Sequence[object],
        axis: int = 0,
        **options: object,
    ) -> Array:
        """Call `task` for each block as in `map`, and concatenate the results."""
        # Along `axis`, a result has one entry for each row of its block.
        return np.concatenate(self.map(task, *items, **options), axis)

    def sum(
        self,
        task: Callable[..., tuple[Array, ...]],
        *items: Sequence[object],
        **options: object,
    ) -> tuple[Array, ...]:
        """Return the sums over all blocks of the arrays that `task` returns."""
        # Results are added in the order of the blocks, so sums do not depend on
        # workers.
        parts, add = self.apply(task, *items, **options).parts, delayed(added)
        while len(parts) > FAN_IN:
            starts = range(0, len(parts), FAN_IN)
            parts = tuple(add(*parts[start : start + FAN_IN]) for start in starts)
        return added(*self._computed(parts))

    def rows(
        self, task: Callable[..., Array], indices: Indices, **options: object
    ) -> Array:
        """Return the results of `task` for some rows, in the order of `indices`."""
        # `task` receives a block, and the positions of the chosen rows in this block.
        # `indices`, in any order, number the rows of all blocks consecutively.
        owners = np.searchsorted(self.ends, indices, side="right") - 1
        # Without indices, call the function for one block to determine the shape.
        chosen = np.unique(owners) if indices.size else np.zeros(1, dtype=np.intp)
        positions = [np.flatnonzero(owners == b) for b in chosen]
        blocks = replace(self, parts=tuple(self.parts[b] for b in chosen))
        block_rows = [
            indices[here] - self.ends[b]
            for b, here in zip(chosen, positions, strict=True)
        ]
        rows = blocks.concatenate(task, block_rows, axis=0, **options)
        order = np.empty(indices.size, dtype=np.intp)
        order[np.concatenate(positions)] = np.arange(indices.size)
        return np.asarray(rows[order])

    def available_bytes(self) -> int | None:
        """Return the number of bytes that factors may use; None if it is unknown."""
        if self.folder is not None:
            return shutil.disk_usage(self.folder.path).free
        if self.client is None:
            return byte_limit(None)
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker.get("memory_limit") for worker in workers]
        # Dask workers start to spill to disk at 0.6 of their memory.
        return int(0.6 * sum(limits)) if limits and all(limits) else None

    def _computed(self, parts: Sequence["Delayed"]) -> list[Any]:
        """Return the results of delayed objects."""
        return list(self._run(dask_module().compute, parts))

    def _run(
        self, function: Callable[..., Iterable[Result]], parts: Sequence["Delayed"]
    ) -> tuple[Result, ...]:
        """Call a Dask function such as `compute` on delayed objects."""
        dask = dask_module()

        def run() -> tuple[Result, ...]:
            return tuple(function(*parts, traverse=False))

        if self.client is not None:
            # Dask must not warn about a large graph: the graph contains parts of
            # vectors, so that lost tasks can run again.
            settings = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
            with dask.config.set(settings, scheduler=self.client), connected():
                return run()
        with _in_this_process(always=self.folder is not None):
            return with_one_blas_thread(run)


@contextmanager
def _in_this_process(*, always: bool) -> Iterator[None]:
    """Run Dask in this process; keep a scheduler of the user unless `always`."""
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
    for result in others:
        for total, part in zip(totals, result, strict=True):
            total += part
    return totals


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows in blocks, and a sample of the rows in memory."""

    blocks: RowBlocks  # arrays (n_rows_of_block, n_features), float64 and finite
    sample: Array  # (n_sampled, n_features), some of the rows
    # Called with the share of the blocks whose factors are computed.
    tell: Callable[[float], None] | None = None

    @classmethod
    def with_sample(cls, blocks: RowBlocks) -> "SampledRows":
        """Return rows in blocks with a reproducible sample of the rows."""
        sizes = np.diff(blocks.ends)
        if blocks.n_rows > SAMPLED_ROWS:
            sizes = np.maximum(sizes * SAMPLED_ROWS // blocks.n_rows, 1)
        sample = blocks.concatenate(sampled, sizes.tolist(), range(sizes.size))
        return cls(blocks, sample)

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_features)."""
        return self.blocks.n_rows, int(self.sample.shape[1])

    @property
    def ndim(self) -> int:
        """Return 2, the number of dimensions of a table."""
        return 2


def sampled(rows: Array, n_sampled: int, seed: int) -> Array:
    """Return a reproducible sample of the rows of a block."""
    if n_sampled >= rows.shape[0]:
        return rows
    random = np.random.default_rng(seed)
    indices = random.choice(rows.shape[0], n_sampled, replace=False)
    return np.asarray(rows[np.sort(indices)])


def rows_in_blocks(X: Array, folder: PathLike) -> SampledRows:
    """Return the rows of X in blocks; their factors will be stored in `folder`."""
    blocks = [X[start : start + BLOCK_ROWS] for start in range(0, len(X), BLOCK_ROWS)]
    temporary = TemporaryFolder(create_folder(folder))
    row_blocks = RowBlocks.from_arrays(blocks, [*map(len, blocks)], temporary)
    return SampledRows.with_sample(row_blocks)


def _save(rows: Array, path: Path) -> Path:
    """Write rows to a file, whose disk space is allocated first."""
    new_file(path, rows.shape, "float64")[:] = rows
    return path


def _opened(path: Path) -> Array:
    """Return the rows of a file as a memory map."""
    return np.asarray(np.load(path, mmap_mode="r"))


def active_client() -> "Client | None":
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
        "runs until the fit ends. Dask reports: "
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


def mapped(
    X: "DaskArray | DataFrame", function: Callable[..., Array], example: Array
) -> "DaskArray":
    """Return a lazy Dask array of `function` applied to the rows of a collection."""
    import dask.array as da

    # The function maps a partition to one entry per row; `example` is its result for
    # some row.
    X = whole_rows(X)
    parts = partitions(X)
    # Dask may fuse partitions, so that a collection has fewer than it reports.
    sizes = X.chunks[0] if hasattr(X, "chunks") else [float("nan")] * len(parts)
    call = dask_module().delayed(function)
    parts = [
        da.from_delayed(call(part), (size, *example.shape[1:]), meta=example[:0])
        for part, size in zip(parts, sizes, strict=True)
    ]
    return da.concatenate(parts)


def whole_rows(X: "DaskArray | DataFrame") -> "DaskArray | DataFrame":
    """Return a collection whose partitions contain whole rows."""
    if hasattr(X, "chunks") and X.ndim == 2 and X.numblocks[1] > 1:
        return X.rechunk({1: -1})
    return X


def partitions(X: "DaskArray | DataFrame") -> list["Delayed"]:
    """Return the partitions of a Dask collection, in row order, as delayed objects."""
    return list(np.ravel(whole_rows(X).to_delayed()))
