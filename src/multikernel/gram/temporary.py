"""Temporary folders: removed with what uses them, or by the next one that is made.

A process that is killed removes nothing. So each holds a lock on its folder, which goes
when the process does, however it ends: a folder that can be locked is nobody's.
"""

import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.gram.memory import new_file

try:
    import fcntl
except ImportError:  # Windows does not remove files that are open
    fcntl = None  # type: ignore[assignment]

CAN_LOCK = fcntl is not None
PREFIX, SUFFIX = "multikernel-", ".tmp"
OURS = re.compile(rf"{PREFIX}[a-z0-9_]{{8}}{re.escape(SUFFIX)}")
"""Names of temporary folders: no folder that a user names is taken for one."""

PathLike = str | os.PathLike[str]


def lock(descriptor: int) -> None:
    """Hold an open file or folder until it is closed, by whatever end of the process.

    A BlockingIOError tells that somebody else does, another OSError that the file
    system has no locks.
    """
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def held(descriptor: int, path: PathLike) -> bool:
    """Lock what was just made, and return whether no other process has swept it."""
    with suppress(OSError):  # of file systems that cannot
        try:
            lock(descriptor)
        except BlockingIOError:
            return False  # being swept
    return os.path.exists(path)


class TemporaryFolder:
    """A folder for temporary files, which is removed when nothing refers to it.

    Those of killed processes beside it are removed when it is made.

    Parameters
    ----------
    parent : str or path-like, default=None
        Where to make it, a folder that exists; None takes the system's place for
        temporary files.
    """

    def __init__(self, parent: PathLike | None = None) -> None:
        _sweep(Path(tempfile.gettempdir() if parent is None else parent))
        self.path, descriptor = _made(parent)
        self._numbers = count()
        self._removed = weakref.finalize(
            self, _remove, self.path, descriptor, os.getpid()
        )

    def remove(self) -> None:
        """Remove the folder now."""
        self._removed()

    def scratch(self, shape: Sequence[int], dtype: str) -> Array:
        """Return an array to write to, in a file that is deleted with the array."""
        path = self.path / f"{next(self._numbers)}.npy"
        array = new_file(path, shape, dtype)
        # The finalizer refers to the folder, which so outlives its arrays.
        weakref.finalize(array, _drop, path, self, os.getpid())
        return np.asarray(array)

    def hold_for(self, owner: Any) -> None:
        """Keep the folder as long as an object is there."""
        weakref.finalize(owner, _drop, None, self, os.getpid())


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Raise an OSError of the block again, with the name of the file in its text."""
    try:
        yield
    except OSError as error:
        text = f"the file cannot be written ({error.strerror or error})"
        raise OSError(error.errno, text, str(path)) from error


def made_folder(folder: PathLike) -> Path:
    """Return a folder, which is made where it is not there yet.

    Raises
    ------
    NotADirectoryError
        If a file stands in its place, or in the place of a folder above.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise NotADirectoryError(
            f"{path} must be a folder, and it, or a part of its path, is a file."
        ) from error
    return path


def _made(parent: PathLike | None) -> tuple[Path, int | None]:
    """Make a folder, and return it with what holds its lock."""
    while True:
        path = Path(tempfile.mkdtemp(SUFFIX, PREFIX, parent))
        if not CAN_LOCK:
            return path, None
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue  # swept before it was locked
        if held(descriptor, path):
            return path, descriptor
        os.close(descriptor)


def _drop(path: Path | None, folder: TemporaryFolder, process: int) -> None:
    """Remove a file of a folder, which may be the last that refers to that."""
    if path is not None and os.getpid() == process:
        path.unlink(missing_ok=True)


def _remove(path: Path, descriptor: int | None, process: int) -> None:
    """Remove a folder; a fork of the process that made it leaves that alone."""
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
    if descriptor is not None:
        os.close(descriptor)


def _sweep(parent: Path) -> None:
    """Remove the temporary folders of processes that were killed, where we may."""
    if not CAN_LOCK:
        return
    with suppress(OSError):  # a folder that cannot be listed is not ours to sweep
        for entry in os.scandir(parent):
            if OURS.fullmatch(entry.name):
                _remove_stray(entry.path)


def _remove_stray(path: str) -> None:
    """Remove a folder that nobody holds and that belongs to the user."""
    try:
        # No link is followed, or somebody could have another folder removed.
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        state = os.fstat(descriptor)
        if state.st_uid == os.geteuid() and stat.S_IMODE(state.st_mode) == 0o700:
            lock(descriptor)
            shutil.rmtree(path, ignore_errors=True)
    except OSError:
        pass  # held by whoever uses it, or on a file system without locks
    finally:
        os.close(descriptor)
