"""Threads: uninterruptible work, pools over blocks, and BLAS with one thread."""

from _thread import start_new_thread
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import cache, partial
from importlib import import_module
from itertools import islice
from queue import SimpleQueue
from threading import Lock, get_ident, main_thread
from time import sleep
from typing import Any, TypeVar

from threadpoolctl import LibController, ThreadpoolController

Result = TypeVar("Result")


def uninterrupted(
    work: Callable[[], Result], stop: Callable[[], None] | None = None
) -> Result:
    """Return the result of `work`, run in a thread; interrupts wait until its end."""
    # Python raises interrupts in the main thread only, between any two instructions,
    # also in libraries. Work in another thread is not interrupted.
    if get_ident() != main_thread().ident:
        return work()
    outcome: Future[Result] = Future()
    running = Lock()
    running.acquire()
    run = partial(_run_and_store, work, outcome, running)
    try:
        # `Thread.start` is Python code, which an interrupt can break off.
        try:
            start_new_thread(run, ())
        except RuntimeError:  # no thread can be started
            run()
        running.acquire()
    except BaseException:
        # `stop` makes `work` end early.
        if stop is not None:
            stop()
        # The interrupt may have come just after the lock was acquired.
        while not outcome.done():
            running.acquire(timeout=0.1)
        raise
    return outcome.result()


def aside(work: Callable[[], Result]) -> Result:
    """Return the result of `work`, run in a thread; interrupts abandon it at once."""
    # For library code that releases the GIL but cannot be stopped. Abandoned work
    # continues in the background, so it must have no side effects.
    if get_ident() != main_thread().ident:
        return work()
    outcome: Future[Result] = Future()
    running = Lock()
    running.acquire()
    try:
        start_new_thread(_run_and_store, (work, outcome, running))
    except RuntimeError:  # no thread can be started
        return work()
    # Without a timeout, an interrupt just before the wait would have no effect.
    while not running.acquire(timeout=0.1):
        pass
    return outcome.result()


def _run_and_store(
    work: Callable[[], Result], outcome: "Future[Result]", running: Lock
) -> None:
    """Call `work`, store its result or error in `outcome`, and release the lock."""
    try:
        outcome.set_result(work())
    except BaseException as error:
        outcome.set_exception(error)
    finally:
        running.release()


@cache
def compiled(module: str, name: str) -> Callable[..., Any]:
    """Return a numba function, which is loaded and compiled at its first call."""
    # Interrupts are delayed during loading and compilation, but not in later calls. The
    # function must only accept and return numbers, arrays and tuples of them, because
    # other objects run Python code inside the call, where an interrupt kills the
    # process.
    loaded: list[Callable[..., object]] = []

    def call(*arguments: object) -> object:
        """Return the result of the function `name`, which the first call compiles."""
        if loaded:
            return loaded[0](*arguments)

        def first_call() -> object:
            function: Callable[..., object] = getattr(import_module(module), name)
            result = function(*arguments)
            loaded.append(function)
            return result

        return uninterrupted(first_call)

    return call


Block = TypeVar("Block")
Part = TypeVar("Part")

AHEAD = 8
"""Number of results per thread that are stored before they are added in order."""


@cache
def _libraries() -> list[LibController]:
    """Return a controller for every BLAS library; NumPy and SciPy have one each."""
    controllers = ThreadpoolController().select(user_api="blas").lib_controllers
    return list(controllers)


def _set_threads(blas: LibController, n_threads: int) -> None:
    """Set the number of threads of a BLAS library from any thread."""
    # Since version 3.7, `threadpoolctl` lets only the first thread that calls
    # `set_num_threads` change OpenBLAS. It ignores the calls of other threads until
    # `clear_controlling_thread` is called.
    clear = getattr(blas, "clear_controlling_thread", lambda *, force: None)
    clear(force=True)
    blas.set_num_threads(n_threads)
    clear(force=True)


class _SharedLimit:
    """A limit of BLAS to one thread, in force while any thread requires it."""

    # The number of BLAS threads belongs to the process. The first thread that uses the
    # limit lowers the number, and the last one restores it. Both operations can be
    # repeated after an interrupt, because `_own` returns at once if the thread is still
    # the owner. A lock would stay locked if the interrupt came between its acquisition
    # and the block (Python 3.14).
    def __init__(self) -> None:
        # {"thread": user} while the thread `user` changes the limit, otherwise empty.
        self._owner: dict[str, int] = {}
        self.users: set[int] = set()  # identifiers of threads
        self._lowered: list[tuple[LibController, int]] = []

    def _own(self, user: int) -> None:
        """Wait until the thread `user` may change the limit."""
        while self._owner.setdefault("thread", user) != user:
            sleep(1e-5)

    def enter(self, user: int) -> None:
        """Register a thread as user of the limit, and limit BLAS to one thread."""
        self._own(user)
        self.users.add(user)
        # A library that already uses one thread is not changed.
        self._lowered = self._lowered or [
            (blas, n) for blas in _libraries() if (n := blas.num_threads) > 1
        ]
        for blas, _ in self._lowered:
            _set_threads(blas, 1)
        self._owner.clear()

    def leave(self, user: int) -> None:
        """Remove a user; after the last one, restore the number of BLAS threads."""
        self._own(user)
        self.users.discard(user)
        if not self.users:
            for blas, n_threads in self._lowered:
                _set_threads(blas, n_threads)
            self._lowered = []
        self._owner.clear()


_LIMIT = _SharedLimit()


def with_one_blas_thread(work: Callable[[], Result], *, small: bool = True) -> Result:
    """Return the result of `work`, during which BLAS uses one thread if `small`."""
    # Small factorizations are much slower on several threads, and the threads of our
    # pools must not each start threads of BLAS. The call costs ten microseconds; nested
    # calls cost nothing.
    user = get_ident()
    if not small or user in _LIMIT.users:
        return work()
    # This is not a context manager: an interrupt at the start of its `__exit__` would
    # end this method before it restores the threads. If an interrupt ends the first
    # call of `leave` early, the second call restores the threads.
    try:
        try:
            _LIMIT.enter(user)
            return work()
        finally:
            _LIMIT.leave(user)
    finally:
        _LIMIT.leave(user)


def available_threads() -> int:
    """Return the number of threads that BLAS may use."""
    # Joblib's workers, environment variables and `threadpoolctl` limit this number.
    return max((library.num_threads for library in _libraries()), default=1)


def run_blocks(
    work: Callable[[Block], None],
    blocks: Iterable[Block],
    n_threads: int | None = None,
    stop: Callable[[], None] | None = None,
) -> None:
    """Call `work` for every block on `n_threads` threads; None: all available ones.

    An interrupt calls `stop`, which must make running calls of `work` end early.
    """
    # Blocks are drawn one by one and run in any order. After an error, which is raised
    # here, or an interrupt, no later blocks are started.
    threads = available_threads() if n_threads is None else n_threads
    if threads == 1:

        def in_turn() -> None:
            for block in blocks:
                work(block)

        with_one_blas_thread(in_turn)
        return
    errors: list[BaseException] = []

    def halt() -> None:
        errors.append(KeyboardInterrupt())
        if stop is not None:
            stop()

    run = partial(_run_on_threads, work, iter(blocks), errors, threads)
    uninterrupted(partial(with_one_blas_thread, run), halt)
    for error in errors:
        raise error


def add_blocks(
    work: Callable[[Block], Part],
    blocks: Iterable[Block],
    add: Callable[[Part], None],
) -> None:
    """Call `work` for every block on all threads, and add the results in order."""
    # The order of the blocks makes sums reproducible.
    remaining = iter(blocks)
    while group := list(islice(remaining, AHEAD * available_threads())):
        parts: dict[int, Part] = {}

        def store(
            k: int, group: list[Block] = group, parts: dict[int, Part] = parts
        ) -> None:
            parts[k] = work(group[k])

        run_blocks(store, range(len(group)))
        for k in range(len(group)):
            add(parts[k])


def _run_on_threads(
    work: Callable[[Block], None],
    blocks: Iterator[Block],
    errors: list[BaseException],
    n_threads: int,
) -> None:
    """Call `work` for blocks on several threads, until none is left or one raises."""
    lock, ended = Lock(), SimpleQueue[None]()

    def run() -> None:
        try:
            while not errors:
                with lock:
                    block = list(islice(blocks, 1))
                if not block:
                    break
                work(block[0])
        except BaseException as error:
            errors.append(error)
        finally:
            ended.put(None)

    for _ in range(n_threads - 1):
        start_new_thread(run, ())
    run()
    for _ in range(n_threads):
        ended.get()
