"""Threads of the storage layer: blocks over a pool, and BLAS held to one thread."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from threading import Lock
from typing import Generic, TypeVar

from threadpoolctl import LibController, ThreadpoolController

Block = TypeVar("Block")


@cache
def _controller() -> ThreadpoolController:
    """Find the loaded BLAS libraries, once: NumPy and SciPy bring a copy each."""
    return ThreadpoolController()


def _libraries() -> list[LibController]:
    """Return a controller for every BLAS library."""
    found: list[LibController] = _controller().select(user_api="blas").lib_controllers
    return found


def _set_threads(blas: LibController, number: int) -> None:
    """Set the number of threads of a library from whichever thread runs this.

    From version 3.7 on, `threadpoolctl` ignores every thread but the first that changed
    the number of OpenBLAS, until that one ends or its control is cleared.
    """
    clear = getattr(blas, "clear_controlling_thread", _nobody_controls)
    clear(force=True)
    blas.set_num_threads(number)
    clear(force=True)


def _nobody_controls(*, force: bool) -> None:
    """Stand in for the clearing that libraries without control do not need."""


class _SharedLimit:
    """Holds BLAS to one thread while any thread of the process asks for it.

    The number of BLAS threads belongs to the process. Were every caller to restore
    what it found, two that overlap would leave BLAS on one thread for good. The first
    to enter lowers the number, and the last to leave gives it back, which is often
    another thread.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._lowered: list[tuple[LibController, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                # A library that is at one thread already is somebody else's to restore.
                several = [(library, library.num_threads) for library in _libraries()]
                self._lowered = [(blas, found) for blas, found in several if found > 1]
                for blas, _ in self._lowered:
                    _set_threads(blas, 1)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                for blas, found in self._lowered:
                    _set_threads(blas, found)
                self._lowered = []


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
    return max((library.num_threads for library in _libraries()), default=1)


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
