"""Work that an interrupt must not cut in two: Ctrl-C waits for its end.

Python raises interrupts in the main thread only, between any two instructions of any
Python code, that of libraries included. What runs in another thread meets none.
"""

from _thread import start_new_thread
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from importlib import import_module
from threading import Lock, get_ident, main_thread
from typing import Any, TypeVar

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
