"""Threads of the storage layer: blocks over a pool, and BLAS held to one thread."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Block = TypeVar("Block")


@cache
def _controller() -> ThreadpoolController:
    """Find the loaded BLAS libraries, once: NumPy and SciPy bring a copy each."""
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS uses one thread.

    Small factorisations are manyfold slower on several threads, and a pool of our own
    must not multiply with that of BLAS. Entering costs some ten microseconds.
    """
    limit: AbstractContextManager[object] = _controller().limit(
        limits=1, user_api="blas"
    )
    return limit


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
        with ThreadPoolExecutor(threads) as pool:
            futures = [pool.submit(work, block) for block in blocks]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
