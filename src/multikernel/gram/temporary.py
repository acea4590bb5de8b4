"""Temporary folders that are removed with the arrays that use them."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np

from multikernel._typing import Array
from multikernel.gram.memory import new_file

PathLike = str | os.PathLike[str]


class TemporaryFolder:
    """A folder for temporary files that is removed with its last reference."""

    def __init__(self, parent: PathLike | None = None) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="multikernel-", dir=parent))
        self._file_numbers = count()
        weakref.finalize(self, _remove_folder, self.path, os.getpid())

    def scratch(self, shape: Sequence[int], dtype: str) -> Array:
        """Return a writable array in a file that is deleted with the array."""
        path = self.path / f"{next(self._file_numbers)}.npy"
        array = new_file(path, shape, dtype)
        # The finalizer refers to the folder, so the folder outlives its arrays.
        weakref.finalize(array, _remove_file, path, self, os.getpid())
        return np.asarray(array)


def create_folder(folder: PathLike) -> Path:
    """Return a folder, created if missing; raise if a part of its path is a file."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise NotADirectoryError(
            f"{path} must be a folder, but this path or a part of it is a file: choose "
            "another folder."
        ) from error
    return path


def _remove_file(path: Path, folder: TemporaryFolder, process: int) -> None:
    """Remove a file, except in a fork of the process that created it."""
    # `folder` is not used here. The finalizer stores a reference to it until this call,
    # so that the folder is not removed before.
    if os.getpid() == process:
        path.unlink(missing_ok=True)


def _remove_folder(path: Path, process: int) -> None:
    """Remove a folder, unless this process is a fork of the process that made it."""
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)
