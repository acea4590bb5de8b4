"""Compilation of loops by numba, which `threads.compiled` imports when it is needed."""

import hashlib
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from glob import escape, glob
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import register_jitable

Loop = TypeVar("Loop", bound=Callable[..., object])

LOG = logging.getLogger("multikernel")

# No code calls the wrappers that numba makes for calls from C. Without them, the five
# loops of LpMKLClassifierCV compile in 5.6 instead of 6.7 s (minima of 3 measurements).
SETTINGS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
"""Numba options of every compiled function."""

PATIENCE = 1.0
"""Seconds of compilation in a process after which a message is logged."""

NOT_CACHED = (
    "multikernel compiles its loops in every new process, which takes some seconds, "
    "because they cannot be cached (%s). Set NUMBA_CACHE_DIR to a writable folder."
)
CACHED = (
    "multikernel compiles its loops, which takes some seconds. They are cached for "
    "later processes."
)
UNREADABLE = (
    "multikernel cannot load a file of compiled code in %s (%s), so it compiles the "
    "code again, which takes some seconds. The file is replaced if the folder is "
    "writable; otherwise set NUMBA_CACHE_DIR to a writable folder."
)
SHARED = (
    "Other users can write to %s, from which multikernel loads compiled code, so they "
    "can run code in this process. Set NUMBA_CACHE_DIR to a folder to which only you "
    "can write (mode 700)."
)
NO_FOLDER = "neither the library's folder nor the home folder is writable"


def loop(**options: Any) -> Callable[[Loop], Loop]:
    """Return a decorator that compiles a function with numba, and caches the result."""

    def decorate(function: Loop) -> Loop:
        dispatcher = njit(**SETTINGS, **options)(function)
        try:
            dispatcher._cache = _CodeCache(function)
        except RuntimeError:  # numba found no folder that can be written
            COMPILATIONS.reason = NO_FOLDER
        compiled: Loop = dispatcher
        return compiled

    return decorate


def part(**options: Any) -> Callable[[Loop], Loop]:
    """Return a decorator for functions that only compiled loops call."""
    # The functions get no wrapper for calls from Python, which saves a quarter of the
    # compile time. Their code is cached with the loops that call them.
    decorate: Callable[[Loop], Loop] = register_jitable(**SETTINGS, **options)
    return decorate


def _readable(locator: type) -> type:
    """Return a variant of a numba cache locator that accepts read-only folders."""

    class Readable(locator):  # type: ignore[misc] # a class as a value
        def ensure_cache_path(self) -> None:
            folder = self.get_cache_path()
            if not glob(os.path.join(escape(folder), "*.nbi")):
                raise FileNotFoundError(folder)  # numba then tries the next folder

    return Readable


_NUMBAS: Any = FunctionCache._impl_class


class _CacheFolders(_NUMBAS):  # type: ignore[misc] # a class as a value
    """Cache locations: NUMBA_CACHE_DIR, writable folders, then read-only folders."""

    # numba's order: NUMBA_CACHE_DIR, the library's folder, the home folder.
    _locator_classes: ClassVar[list[type]] = [
        *_NUMBAS._locator_classes[:1],
        *map(_readable, _NUMBAS._locator_classes[:1]),
        *_NUMBAS._locator_classes[1:],
        *map(_readable, _NUMBAS._locator_classes[1:3]),
    ]


_FILES: Any = IndexDataCacheFile


class _ChecksummedFiles(_FILES):  # type: ignore[misc] # a class as a value
    """Files of compiled code with checksums, because damaged code could crash."""

    def _load_index(self) -> object:
        if not os.path.lexists(self._index_path):
            return {}
        try:
            _check(self._index_path)
            return super()._load_index()
        except Exception as error:  # a damaged pickle raises errors of any kind
            COMPILATIONS.log_unreadable(self._cache_path, error)
            return {}  # the next save replaces the file

    def _load_data(self, name: str) -> object:
        _check(self._data_path(name))
        return super()._load_data(name)

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BytesIO]:
        with super()._open_for_write(filepath) as file:
            content = BytesIO()
            yield content
            file.write(content.getvalue())
            file.write(_checksum(content.getvalue()))


def _checksum(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _check(path: str) -> None:
    """Raise unless a file ends with the checksum of its content."""
    content = Path(path).read_bytes()
    size = hashlib.sha256().digest_size
    if _checksum(content[:-size]) != content[-size:]:
        raise ValueError(
            f"The code in {os.path.basename(path)} is damaged, or from another version "
            "of multikernel."
        )


class _CodeCache(FunctionCache):
    """Cache of compiled code in files; logs damaged files and full disks."""

    _impl_class = _CacheFolders

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        locator = self._impl.locator
        self._cache_file = _ChecksummedFiles(
            self.cache_path, self._impl.filename_base, locator.get_source_stamp()
        )

    def load_overload(self, sig: object, target_context: object) -> object:
        COMPILATIONS.check_owner(self.cache_path)
        try:
            return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        except Exception as error:  # a damaged pickle raises errors of any kind
            COMPILATIONS.log_unreadable(self.cache_path, error)
            return None  # numba then compiles the function and saves it

    def save_overload(self, sig: object, data: object) -> None:
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError as error:
            COMPILATIONS.log_uncached(f"{self.cache_path}: {error.strerror}")


def _is_writable_by_others(folder: str) -> bool:
    """Return whether the folder is writable by all users, or has an unknown owner."""
    # Known owners are the superuser, this user and the owner of the library. Write
    # permission of a group is accepted.
    if os.name != "posix" or not os.path.isdir(folder):
        return False
    owners = {0, os.getuid(), os.stat(__file__).st_uid}
    inner, outer = os.stat(folder), os.stat(os.path.dirname(folder))
    return (
        inner.st_uid not in owners
        or bool(inner.st_mode & stat.S_IWOTH)
        # Users who can write to the parent can replace the folder, unless it is sticky.
        or (outer.st_mode & (stat.S_IWOTH | stat.S_ISVTX)) == stat.S_IWOTH
    )


class CompilationLog(event.Listener):
    """A listener that logs once per process if compilation is slow or caching fails."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock, self.reason = clock, ""
        self._has_logged = self._has_checked_owner = False
        self._seconds, self._started, self._depth = 0.0, 0.0, 0

    def on_start(self, event: event.Event) -> None:
        """Log missing caches and slow compilation; numba calls it before compiling."""
        dispatcher = event.data["dispatcher"]
        if self._depth == 0:
            if not dispatcher.py_func.__module__.startswith("multikernel."):
                return
            self._started = self.clock()
            if self.reason:
                self._log_once(NOT_CACHED, self.reason)
            elif self._seconds >= PATIENCE:
                self._log_once(CACHED)
        self._depth += 1  # events of functions that a loop calls are nested

    def on_end(self, event: event.Event) -> None:
        """Add up the compilation time."""
        if self._depth == 0:
            return
        self._depth -= 1
        if self._depth == 0:
            self._seconds += self.clock() - self._started

    def log_uncached(self, reason: str) -> None:
        """Log why compiled code is not cached."""
        self.reason = reason
        self._log_once(NOT_CACHED, reason)

    def log_unreadable(self, folder: str, error: Exception) -> None:
        """Log that cached code cannot be loaded and is compiled again."""
        reason = " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        self._log_once(UNREADABLE, folder, reason)

    def check_owner(self, folder: str) -> None:
        """Log once per process if other users can write to the folder of a cache."""
        if not self._has_checked_owner and _is_writable_by_others(folder):
            self._has_checked_owner = True
            LOG.warning(SHARED, folder)

    def _log_once(self, sentence: str, *details: str) -> None:
        if not self._has_logged:
            self._has_logged = True
            LOG.warning(sentence, *details)


COMPILATIONS = CompilationLog()
event.register("numba:compile", COMPILATIONS)  # type: ignore[no-untyped-call]
