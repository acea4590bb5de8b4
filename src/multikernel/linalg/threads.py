"""Threads: uninterruptible work, pools over blocks, and BLAS with one thread.

Python raises interrupts in the main thread only, between any two instructions, also in
libraries. Work in another thread is not interrupted.
"""

from _thread import start_new_thread
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import cache, partial
from importlib import import_module
from itertools import islice
from queue import SimpleQueue
from threading import Condition, Lock, get_ident, main_thread
from typing import Any, Generic, TypeVar

from threadpoolctl import LibController, ThreadpoolController

Result = TypeVar("Result")


def uninterrupted(
    work: Callable[[], Result], stop: Callable[[], None] | None = None
) -> Result:
    """Return the result of `work`; an interrupt is raised after it has ended.

    Errors of `work` are raised here. On an interrupt, `stop` is called to end it early.
    """
    if get_ident() != main_thread().ident:
        return work()
    outcome: Future[Result] = Future()
    running = Lock()
    running.acquire()
    run = partial(_report, work, outcome, running)
    try:
        # `Thread.start` is Python code, which an interrupt can break off.
        try:
            start_new_thread(run, ())
        except RuntimeError:  # no thread can be started
            run()
        with running:
            pass
    except BaseException:
        if stop is not None:
            stop()
        with running:
            pass
        raise
    return outcome.result()


def aside(work: Callable[[], Result]) -> Result:
    """Return the result of `work`; an interrupt is raised at once and abandons it.

    This is for library code that releases the GIL but cannot be stopped. Abandoned work
    continues in the background, so it must have no side effects.
    """
    if get_ident() != main_thread().ident:
        return work()
    outcome: Future[Result] = Future()
    running = Lock()
    running.acquire()
    try:
        start_new_thread(_report, (work, outcome, running))
    except RuntimeError:  # no thread can be started
        return work()
    # An interrupt that comes just before the wait does not wake it.
    while not running.acquire(timeout=0.1):
        pass
    return outcome.result()


def _report(
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
    """Return a numba function, which is loaded and compiled at its first call.

    Interrupts are delayed during loading and compilation, but not in later calls. The
    function must only accept and return numbers, arrays and tuples of them, because
    other objects run Python code inside the call, where an interrupt kills the process.
    """
    loaded: list[Any] = []

    def call(*arguments: object) -> Any:
        """Return the result of the function; the first call loads and compiles it."""
        if loaded:
            return loaded[0](*arguments)

        def first() -> Any:
            function = getattr(import_module(module), name)
            result = function(*arguments)
            loaded.append(function)
            return result

        return uninterrupted(first)

    return call


Block = TypeVar("Block")
Part = TypeVar("Part")

AHEAD = 2
"""Number of parts per thread that may wait for earlier parts to be added."""


@cache
def _libraries() -> list[LibController]:
    """Return a controller for every BLAS library; NumPy and SciPy have one each."""
    controllers = ThreadpoolController().select(user_api="blas").lib_controllers
    return list(controllers)


def _set_threads(blas: LibController, number: int) -> None:
    """Set the number of threads of a BLAS library from any thread.

    `threadpoolctl` 3.7 and later ignore all threads but the first that changed
    OpenBLAS, until its control is cleared.
    """
    clear = getattr(blas, "clear_controlling_thread", lambda *, force: None)
    clear(force=True)
    blas.set_num_threads(number)
    clear(force=True)


class _SharedLimit:
    """A limit of BLAS to one thread, in force while any thread requires it.

    The number of BLAS threads belongs to the process. The first user lowers the number,
    and the last one restores it, possibly in another thread. Both operations can be
    repeated after an interrupt.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users: set[int] = set()  # by their threads
        self._lowered: list[tuple[LibController, int]] = []
        self._held = False

    def holds_for(self, user: int) -> bool:
        """Return whether a thread already uses the limit."""
        return user in self._users

    def enter(self, user: int) -> None:
        with self._lock:
            self._users.add(user)
            if self._held:
                return
            # A library that already uses one thread is not changed.
            self._lowered = self._lowered or [
                (blas, n) for blas in _libraries() if (n := blas.num_threads) > 1
            ]
            for blas, _ in self._lowered:
                _set_threads(blas, 1)
            self._held = True

    def leave(self, user: int) -> None:
        with self._lock:
            self._users.discard(user)
            if not self._users:
                self._held = False
                for blas, n_threads in self._lowered:
                    _set_threads(blas, n_threads)
                self._lowered = []


_LIMIT = _SharedLimit()


def with_one_blas_thread(work: Callable[[], Result], *, small: bool = True) -> Result:
    """Return the result of `work` while BLAS uses one thread, if the work is small.

    Small factorizations are much slower on several threads, and our pools must not
    multiply with that of BLAS. The call costs ten microseconds; nested calls cost
    nothing. Interrupts restore the number of threads.
    """
    user = get_ident()
    if not small or _LIMIT.holds_for(user):
        return work()
    # A context manager would be skipped by an interrupt at the start of its exit. If an
    # interrupt breaks off the first `leave`, the second one completes it.
    try:
        try:
            _LIMIT.enter(user)
            return work()
        finally:
            _LIMIT.leave(user)
    finally:
        _LIMIT.leave(user)


def available_threads() -> int:
    """Return the number of threads that BLAS may use.

    Joblib's workers, environment variables and `threadpoolctl` limit this number.
    """
    return max((library.num_threads for library in _libraries()), default=1)


def run_blocks(
    work: Callable[[Block], None],
    blocks: Iterable[Block],
    n_threads: int | None = None,
    stop: Callable[[], None] | None = None,
) -> None:
    """Call a function for every block, on as many threads as BLAS may use.

    Blocks are drawn one by one and run in any order. Errors of the function are raised
    here, and no later blocks are started. On an interrupt, `stop` is called to end
    early.
    """
    threads = available_threads() if n_threads is None else n_threads
    if threads == 1:

        def in_turn() -> None:
            for block in blocks:
                work(block)

        with_one_blas_thread(in_turn)
        return
    queue = _Queue(work, iter(blocks))

    def halt() -> None:
        queue.open = False
        if stop is not None:
            stop()

    share = partial(
        with_one_blas_thread, partial(_run_on_threads, queue.work_off, threads)
    )
    uninterrupted(share, halt)
    for error in queue.errors:
        raise error


def add_blocks(
    work: Callable[[Block], Part],
    blocks: Iterable[Block],
    add: Callable[[Part], None],
) -> None:
    """Call a function for every block as in `run_blocks`, and add the results.

    Results are added in the order of the blocks, so that sums are reproducible.
    """
    in_turn = _InTurn(work, add, AHEAD * available_threads())
    run_blocks(in_turn, enumerate(blocks))


class _InTurn(Generic[Block, Part]):
    """A callable that processes numbered blocks and adds the results in order."""

    def __init__(
        self,
        work: Callable[[Block], Part],
        add: Callable[[Part], None],
        ahead: int,
    ) -> None:
        self._work, self._add, self._ahead = work, add, ahead
        self._added, self._failed = 0, False
        self._parts: dict[int, Part] = {}
        self._changed = Condition()

    def __call__(self, numbered: tuple[int, Block]) -> None:
        number, block = numbered
        with self._changed:
            self._changed.wait_for(
                lambda: self._failed or number < self._added + self._ahead
            )
        try:
            part = self._work(block)
            with self._changed:
                self._parts[number] = part
                while self._added in self._parts:
                    self._add(self._parts.pop(self._added))
                    self._added += 1
        except BaseException:
            self._failed = True
            raise
        finally:
            with self._changed:
                self._changed.notify_all()


def _run_on_threads(work: Callable[[], None], n_threads: int) -> None:
    """Call a function that raises nothing on several threads, including this one."""
    ended: SimpleQueue[None] = SimpleQueue()

    def run() -> None:
        work()
        ended.put(None)

    for _ in range(n_threads - 1):
        start_new_thread(run, ())
    work()
    for _ in range(n_threads - 1):
        ended.get()


class _Queue(Generic[Block]):
    """A queue of blocks that several threads process."""

    def __init__(self, work: Callable[[Block], None], blocks: Iterator[Block]) -> None:
        self.open = True
        self.errors: list[BaseException] = []
        self._work, self._blocks = work, blocks
        self._lock = Lock()

    def work_off(self) -> None:
        """Process blocks until the iterator is empty or a block fails."""
        try:
            while self.open:
                with self._lock:
                    block = list(islice(self._blocks, 1))
                if not block:
                    return
                self._work(block[0])
        except BaseException as error:
            self.open = False
            self.errors.append(error)
