"""Work that an interrupt must not cut in two: Ctrl-C waits for its end.

Python raises interrupts in the main thread only, between any two instructions of any
Python code, that of libraries included. What runs in another thread meets none.
"""

from _thread import start_new_thread
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from threading import Lock, get_ident, main_thread
from typing import Any, TypeVar

Result = TypeVar("Result")


def uninterrupted(
    work: Callable[[], Result], stop: Callable[[], None] | None = None
) -> Result:
    """Return what a function returns; an interrupt is raised once it has ended.

    Parameters
    ----------
    work : callable
        Called without arguments; whatever it raises is raised here.
    stop : callable, optional
        Asks `work` to end early; called on an interrupt.

    Returns
    -------
    result : object
        What `work` returned.
    """
    if get_ident() != main_thread().ident:
        return work()
    outcome: Future[Result] = Future()
    running = Lock()
    running.acquire()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)
        finally:
            running.release()

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


def run_compiled(function: Any, *arguments: object) -> Any:
    """Call a function compiled by numba, whose first call compiles it uninterrupted.

    It must take and return numbers, arrays and tuples of them only. Building any other
    object runs Python code inside the call, where an interrupt kills the process.

    Parameters
    ----------
    function : callable
        The compiled function.
    *arguments : object
        Its arguments.

    Returns
    -------
    result : object
        What it returned.
    """
    if function.signatures:
        return function(*arguments)
    return uninterrupted(partial(function, *arguments))
