"""Blocks of rows on the workers of a Dask cluster: the only module that imports Dask.

Whatever a worker holds is a future with the tasks that made it, down to the
partitions of the user's collection; vectors travel inside the tasks. So what a worker
that dies takes along is computed anew by another one, and a fit only takes longer.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from multikernel.gram.factors.engine import Engine, InProcess, Task

TARGET = 0.6
"""Of a worker's memory, that factors may take: beyond, Dask begins to spill to disk."""


@dataclass(frozen=True, eq=False)
class OnWorkers:
    """Calls functions on workers; a handle is a future.

    Parameters
    ----------
    client : distributed.Client
        The client of the cluster.
    """

    client: Any

    def map(self, task: Task, *each: Sequence[Any]) -> list[Any]:
        """Return futures of what a function returns for the items of sequences."""
        import dask

        # The graph holds parts of vectors, which is how a lost task can run again.
        quiet = {"distributed.admin.large-graph-warning-threshold": "1 TB"}
        with dask.config.set(quiet), _connected():
            futures: list[Any] = self.client.map(task, *map(list, each), pure=False)
        return futures

    def gather(self, handles: Sequence[Any]) -> list[Any]:
        """Return the results of futures; wait until all are computed."""
        with _connected():
            return list(self.client.gather(list(handles)))

    def room(self) -> int | None:
        """Return how many bytes the workers may hold together."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker.get("memory_limit") for worker in workers]
        return int(TARGET * sum(limits)) if limits and all(limits) else None


@contextmanager
def _connected() -> Iterator[None]:
    """Say in a sentence that a cluster has gone, or has given up a fit."""
    from distributed.client import ClosedClientError

    try:
        yield
    except (CancelledError, ClosedClientError) as error:
        raise ConnectionError(
            "The cluster of Dask has given up what this fit asked for: its scheduler "
            "or its client was closed or restarted, or somebody cancelled it. Fit "
            "again with a cluster that stays until the end. Dask says: "
            f"{' '.join(str(error).split())}"
        ) from error


def active_client() -> Any:
    """Return the active client, None where there is none."""
    try:
        from distributed import default_client
    except ImportError:
        return None
    try:
        return default_client()
    except ValueError:
        return None


def started(parts: Sequence[Any]) -> tuple[Engine, list[Any]]:
    """Return an engine, and handles on what delayed objects stand for, one for each.

    It is the workers of the active client, or this process where there is none.
    """
    import dask

    client = active_client()
    if client is None:
        return InProcess(), list(dask.compute(*parts))
    futures: list[Any] = client.compute(list(parts))
    return OnWorkers(client), futures


def mapped(X: Any, function: Callable[[Any], Any], like: Any) -> Any:
    """Return a lazy Dask array of what a function makes of the rows of a collection.

    The function takes a partition, and returns an array with one entry per row; `like`
    is what it returns for some row.
    """
    import dask
    import dask.array as da

    X = whole_rows(X)
    parts = partitions(X)
    # What Dask fuses has fewer partitions than it says.
    sizes = X.chunks[0] if hasattr(X, "chunks") else [float("nan")] * len(parts)
    call = dask.delayed(function)
    parts = [
        da.from_delayed(call(part), (size, *like.shape[1:]), meta=like[:0])
        for part, size in zip(parts, sizes, strict=True)
    ]
    return da.concatenate(parts)


def whole_rows(X: Any) -> Any:
    """Return a collection whose partitions hold whole rows."""
    if hasattr(X, "chunks") and X.ndim == 2 and X.numblocks[1] > 1:
        return X.rechunk({1: -1})
    return X


def partitions(X: Any) -> list[Any]:
    """Return the partitions of a collection, in order, as delayed objects."""
    delayed = whole_rows(X).to_delayed()
    return list(delayed) if isinstance(delayed, list) else list(delayed.reshape(-1))
