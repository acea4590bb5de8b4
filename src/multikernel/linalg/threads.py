"""Threads: work that an interrupt must not cut, blocks over a pool, BLAS held to one.

Python raises interrupts in the main thread only, between any two instructions of any
Python code, in libraries too. What runs in another thread meets none.
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
    """Return what a function returns; an interrupt is raised once it has ended.

    What it raises is raised here. On an interrupt, `stop` is called to ask it to end
    early.
    """
    if get_ident() != main_thread().ident:
        return work()
    outcome: Future[Result] = Future()
    running = Lock()
    running.acquire()
    run = partial(_report, work, outcome, running)
    try:
        # Not `Thread`, whose start is Python code that an interrupt can cut as well.
        try:
            start_new_thread(run, ())
        except RuntimeError:  # There is no thread to be had.
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
    """Return what a function returns; an interrupt is raised at once, and leaves it.

    For foreign code that lets other threads run, but that nobody can ask to end: what
    an interrupt has left goes on until its own limit, and nobody waits for it. It must
    change nothing that others see.
    """
    if get_ident() != main_thread().ident:
        return work()
    outcome: Future[Result] = Future()
    running = Lock()
    running.acquire()
    try:
        start_new_thread(_report, (work, outcome, running))
    except RuntimeError:  # There is no thread to be had.
        return work()
    # An interrupt that comes just before the wait does not wake it.
    while not running.acquire(timeout=0.1):
        pass
    return outcome.result()


def _report(
    work: Callable[[], Result], outcome: "Future[Result]", running: Lock
) -> None:
    """Call `work`, put its result or error in `outcome`, and release the lock."""
    try:
        outcome.set_result(work())
    except BaseException as error:
        outcome.set_exception(error)
    finally:
        running.release()


@cache
def compiled(module: str, name: str) -> Callable[..., Any]:
    """Return a function compiled by numba, which is loaded when it is first called.

    Loading numba takes longer than all other imports together. Neither that nor the
    first call, which compiles, is cut in two by an interrupt. Later calls are: so the
    function must take and return numbers, arrays and tuples of them only. Building any
    other object runs Python code inside the call, where an interrupt kills the process.
    """
    loaded: list[Any] = []

    def call(*arguments: object) -> Any:
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
"""Parts a thread that may wait for earlier ones before they are added in their turn."""


@cache
def _libraries() -> list[LibController]:
    """Return a controller for every BLAS library: NumPy and SciPy bring a copy each."""
    controllers = ThreadpoolController().select(user_api="blas").lib_controllers
    return list(controllers)


def _set_threads(blas: LibController, number: int) -> None:
    """Set the number of threads of a library from whichever thread runs this.

    From version 3.7 on, `threadpoolctl` ignores every thread but the first that changed
    the number of OpenBLAS, until that one ends or its control is cleared.
    """
    clear = getattr(blas, "clear_controlling_thread", _no_control_to_clear)
    clear(force=True)
    blas.set_num_threads(number)
    clear(force=True)


def _no_control_to_clear(*, force: bool) -> None:
    """Stand in for the clearing that libraries without control do not need."""


class _SharedLimit:
    """Holds BLAS to one thread while any thread of the process asks for it.

    The number of BLAS threads belongs to the process. Were every caller to restore
    what it found, two that overlap would leave BLAS on one thread for good. The first
    to enter lowers the number, and the last to leave gives it back, which is often
    another thread; those between find it `held`. An interrupt may cut either short:
    both can be repeated, and `lowered` is what remains to be given back.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users: set[int] = set()  # by their threads
        self._lowered: list[tuple[LibController, int]] = []
        self._held = False

    def holds_for(self, user: int) -> bool:
        """Return whether a thread is within such work."""
        return user in self._users

    def enter(self, user: int) -> None:
        with self._lock:
            self._users.add(user)
            if self._held:
                return
            if not self._lowered:
                # A library that is at one thread already is somebody else's to restore.
                several = [(library, library.num_threads) for library in _libraries()]
                self._lowered = [
                    (blas, n_threads) for blas, n_threads in several if n_threads > 1
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
    """Return what a function returns while BLAS uses one thread, if its work is small.

    Small factorisations are manyfold slower on several threads, and a pool of our own
    must not multiply with the pool of BLAS. It costs some ten microseconds, and nothing
    within work that has it already; threads may overlap in any order. An interrupt
    gives the threads back as well.
    """
    user = get_ident()
    if not small or _LIMIT.holds_for(user):
        return work()
    # Not a context manager: an interrupt at the start of its exit would skip the rest.
    # One that cuts the first `leave` short meets the second.
    try:
        try:
            _LIMIT.enter(user)
            return work()
        finally:
            _LIMIT.leave(user)
    finally:
        _LIMIT.leave(user)


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
    stop: Callable[[], None] | None = None,
) -> None:
    """Call a function on every block, on several threads, as many as BLAS may use.

    Blocks are taken one by one, so that they need not be stored, and run in any order.
    What the function raises is raised here, and later blocks are not started. On an
    interrupt, `stop` is called to ask what takes long to end early.
    """
    threads = available_threads() if n_threads is None else n_threads
    if threads == 1:
        with_one_blas_thread(partial(_work_alone, work, blocks))
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
    """Call a function on every block as `run_blocks` does, and add what it returns.

    Parts are added one after the other, in the order of their blocks: sums in the order
    in which threads happen to end would be other bits in every run.
    """
    in_turn = _InTurn(work, add, AHEAD * available_threads())
    run_blocks(in_turn, enumerate(blocks))


class _InTurn(Generic[Block, Part]):
    """Work on numbered blocks whose parts are added in the order of their numbers.

    A thread waits where it is too far ahead of the slowest, so that few parts are held.
    The slowest waits for nobody.
    """

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


def _work_alone(work: Callable[[Block], None], blocks: Iterable[Block]) -> None:
    """Call a function on every block in turn."""
    for block in blocks:
        work(block)


def _run_on_threads(work: Callable[[], None], n_threads: int) -> None:
    """Call a function that raises nothing on several threads, this one included."""
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
    """Blocks that several threads take from one iterator."""

    def __init__(self, work: Callable[[Block], None], blocks: Iterator[Block]) -> None:
        self.open = True
        self.errors: list[BaseException] = []
        self._work, self._blocks = work, blocks
        self._lock = Lock()

    def work_off(self) -> None:
        """Work until no block is left, or until one has failed."""
        try:
            while self.open:
                with self._lock:
                    taken = list(islice(self._blocks, 1))
                if not taken:
                    return
                self._work(taken[0])
        except BaseException as error:
            self.open = False
            self.errors.append(error)
