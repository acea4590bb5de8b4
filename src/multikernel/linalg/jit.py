"""How loops are compiled: kept for later processes, and said where it takes long.

Importing this loads numba; what calls a loop asks `threads.compiled` for it instead.
"""

import logging
import os
import time
from collections.abc import Callable
from glob import escape, glob
from typing import Any, ClassVar, TypeVar

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache

Loop = TypeVar("Loop", bound=Callable[..., Any])

LOG = logging.getLogger("multikernel")

PATIENCE = 1.0
"""Seconds of compiling in a process from which on a line says what goes on."""

NOT_KEPT = (
    "multikernel compiles its loops, some seconds in every new process: they cannot be "
    "kept for later ones (%s). Set NUMBA_CACHE_DIR to a folder that can be written."
)
KEPT = (
    "multikernel compiles its loops, which takes some seconds; they are kept for later "
    "processes."
)
NO_FOLDER = "neither the library's folder nor the home can be written"


def loop(**options: Any) -> Callable[[Loop], Loop]:
    """Return a decorator that has numba compile a function, and keeps the result.

    Compiled code is kept in the folder that NUMBA_CACHE_DIR names, beside the library
    or in the home, and read where it cannot be written; where there is neither, it is
    compiled in every process. The function leaves the interpreter to other threads;
    `options` go to ``numba.njit``.
    """

    def decorate(function: Loop) -> Loop:
        dispatcher: Any = njit(nogil=True, **options)(function)
        try:
            dispatcher._cache = _Kept(function)  # type: ignore[no-untyped-call]
        except RuntimeError:  # numba found no folder that can be written
            TELLER.reason = NO_FOLDER
        compiled: Loop = dispatcher
        return compiled

    return decorate


def _readable(locator: Any) -> Any:
    """Return one of numba's places for code that need not be written to.

    It holds code already, as in an image whose root is read-only.
    """

    class Readable(locator):  # type: ignore[misc] # a class as a value
        def ensure_cache_path(self) -> None:
            folder = self.get_cache_path()
            if not glob(os.path.join(escape(folder), "*.nbi")):
                raise FileNotFoundError(f"{folder} holds no compiled code")

    return Readable


_NUMBAS: Any = FunctionCache._impl_class


class _Places(_NUMBAS):  # type: ignore[misc] # a class as a value
    """Where code is looked for: the folder that is named, and where numba can write.

    What can only be read comes last, unless somebody has named it.
    """

    # The first is the folder that is named, then come the library's and the home.
    _locator_classes: ClassVar[list[Any]] = [
        *_NUMBAS._locator_classes[:1],
        *map(_readable, _NUMBAS._locator_classes[:1]),
        *_NUMBAS._locator_classes[1:],
        *map(_readable, _NUMBAS._locator_classes[1:3]),
    ]


class _Kept(FunctionCache):
    """Compiled code in files; a full disk ends no fit, but is told of."""

    _impl_class = _Places

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            TELLER.not_kept(f"{self.cache_path}: {error.strerror}")


class Teller(event.Listener):
    """Says once in a process that loops are compiled, if it is long or for nothing.

    Parameters
    ----------
    clock : callable, default=time.perf_counter
        Returns seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock, self.reason = clock, ""
        self._said = False
        self._spent, self._begun, self._depth = 0.0, 0.0, 0

    def on_start(self, event: Any) -> None:
        """Say so if it is time to: numba begins to compile a function."""
        dispatcher = event.data["dispatcher"]
        if self._depth == 0:
            if not dispatcher.py_func.__module__.startswith("multikernel."):
                return
            self._begun = self.clock()
            if self.reason:
                self._say(NOT_KEPT, self.reason)
            elif self._spent >= PATIENCE:
                self._say(KEPT)
        self._depth += 1  # what a loop calls is compiled within

    def on_end(self, event: Any) -> None:
        """Add up the time that it took."""
        if self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0:
            self._spent += self.clock() - self._begun

    def not_kept(self, reason: str) -> None:
        """Say why compiled code is lost with the process."""
        self.reason = reason
        self._say(NOT_KEPT, reason)

    def _say(self, sentence: str, *details: str) -> None:
        if not self._said:
            self._said = True
            LOG.warning(sentence, *details)


TELLER = Teller()
event.register("numba:compile", TELLER)  # type: ignore[no-untyped-call]
