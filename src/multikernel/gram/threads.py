"""Threads of the storage layer: blocks over a pool, and BLAS held to one thread."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from threading import Lock
from typing import Generic, TypeVar

from threadpoolctl import ThreadpoolController

Block = TypeVar("Block")


@cache
def _controller() -> ThreadpoolController:
    """Find the loaded BLAS libraries, once: NumPy and SciPy bring a copy each."""
    return ThreadpoolController()


class _SharedLimit:
    """Holds BLAS to one thread while any thread of the process asks for it.

    The number of BLAS threads belongs to the process. Were every caller to restore
    what it found, two that overlap would leave BLAS on one thread for good.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._limit: AbstractContextManager[object] | None = None

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                # A limiter takes effect when it is made, not when it is entered.
                self._limit = _controller().limit(limits=1, user_api="blas")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._limit is not None:
                limit, self._limit = self._limit, None
                limit.__exit__(None, None, None)


_ONE_THREAD = _SharedLimit()


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS uses one thread.

    Small factorisations are manyfold slower on several threads, and a pool of our own
    must not multiply with that of BLAS. Entering costs some ten microseconds; threads
    may enter and leave in any order.
    """
    return _ONE_THREAD


def available_threads() -> int:
    """Return how many threads BLAS may use now.

    Joblib's workers, environment variables and `threadpoolctl` limit this number, so
    a pool of this size never multiplies with theirs.
    """
    blas = _controller().select(user_api="blas").lib_controllers
    return max((library.num_threads for library in blas), default=1)


def run_blocks(
    work: Callable[[Block], None],
    blocks: Iterable[Block],
    n_threads: int | None = None,
) -> None:
    """Call a function on every block, on several threads.

    Parameters
    ----------
    work : callable
        Writes its results itself; blocks may run in any order.
    blocks : iterable
        The blocks.
    n_threads : int, optional
        Threads; as many as BLAS may use when left out.

    Raises
    ------
    Exception
        The first one that `work` raised; later blocks are not started.
    """
    threads = available_threads() if n_threads is None else n_threads
    with one_blas_thread():
        if threads == 1:
            for block in blocks:
                work(block)
            return
        queue = _Queue(iter(blocks))
        with ThreadPoolExecutor(threads) as pool:
            workers = [pool.submit(queue.work_off, work) for _ in range(threads)]
            try:
                for worker in workers:
                    worker.result()
            finally:
                # An error or an interrupt must not wait for the other blocks.
                queue.close()


class _NoBlock:
    """Marks the end of the blocks."""


_NO_BLOCK = _NoBlock()


class _Queue(Generic[Block]):
    """Blocks that several threads take from one iterator, so that none is stored."""

    def __init__(self, blocks: Iterator[Block]) -> None:
        self._blocks = blocks
        self._lock = Lock()
        self._open = True

    def work_off(self, work: Callable[[Block], None]) -> None:
        """Work until no block is left."""
        try:
            while self._open:
                with self._lock:
                    block = next(self._blocks, _NO_BLOCK)
                if isinstance(block, _NoBlock):
                    return
                work(block)
        finally:
            self.close()

    def close(self) -> None:
        """Give out no more blocks."""
        self._open = False
