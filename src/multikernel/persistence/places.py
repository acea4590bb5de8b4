"""Places of outputs: files, links, pipes or standard output. Inputs are refused."""

import glob
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO

from multikernel.gram.temporary import PathLike
from multikernel.linalg.threads import uninterrupted

KINDS = {
    stat.S_ISDIR: "a folder",
    stat.S_ISBLK: "a device, not a file",
    stat.S_ISCHR: "a device, not a file",
    stat.S_ISSOCK: "a socket, not a file",
}
"""Kinds of paths that cannot be written to, by the function that detects them."""

UNFINISHED = ".part"
"""Suffix of incomplete files."""


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Re-raise an OSError with the name of the file in its text."""
    try:
        yield
    except OSError as error:
        text = f"the file cannot be written ({error.strerror or error})"
        raise OSError(error.errno, text, str(path)) from error


@dataclass(frozen=True)
class Place:
    """Destination of an output: a file, a pipe, standard error or standard output."""

    # Path given by the user.
    path: Path
    # File to create or replace, with links resolved.
    file: Path | None = None
    # `pipe` and `errors`: whether the path is a pipe, or standard error.
    pipe: bool = False
    errors: bool = False

    @property
    def is_standard_output(self) -> bool:
        """Whether the output goes to standard output."""
        return self.file is None and not (self.pipe or self.errors)


def find_place(path: PathLike, inputs: Iterable[PathLike] = ()) -> Place:
    """Return the destination of an output, or raise if it cannot be written."""
    # `inputs` are files, folders or patterns that must not be overwritten.
    output = Path(path)
    try:
        state = os.stat(output)
    except FileNotFoundError:
        return Place(output, _new_file(output))
    except OSError as error:
        raise OSError(
            f"Cannot save to {output}: {error.strerror}. Name another file."
        ) from error
    refuse_input(state, output, inputs)
    for stream in (sys.stdout, sys.stderr):
        if _is_stream(state, stream):
            return Place(output, errors=stream is sys.stderr)
    for is_kind, kind in KINDS.items():
        if is_kind(state.st_mode):
            error_class = IsADirectoryError if kind == "a folder" else OSError
            raise error_class(f"Cannot save to {output}: it is {kind}. Name a file.")
    if stat.S_ISFIFO(state.st_mode):
        return Place(output, pipe=True)
    return Place(output, Path(os.path.realpath(output)))


def standard_output(inputs: Iterable[PathLike] = ()) -> Place:
    """Return standard output as a destination; raise if it is one of the inputs."""
    stdout, state = Place(Path("standard output")), _state_of(sys.stdout)
    # Only regular files can be inputs.
    if state is not None and stat.S_ISREG(state.st_mode):
        refuse_input(state, stdout.path, inputs)
    return stdout


def _new_file(output: Path) -> Path:
    """Return the file to create, with links resolved; raise if it has no folder."""
    target = Path(os.path.realpath(output))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"Cannot save to {output}: the folder {target.parent} does not exist. "
            "Create it, or name another folder."
        )
    return target


def refuse_input(state: os.stat_result, path: Path, inputs: Iterable[PathLike]) -> None:
    """Raise if the output is one of the inputs (except a terminal)."""
    if stat.S_ISCHR(state.st_mode):
        return
    for source in _input_files(inputs):
        with suppress(OSError):  # a missing input raises when it is read
            if os.path.samestat(state, os.stat(source)):
                which = "" if Path(source) == path else f", {source}"
                raise ValueError(
                    f"Cannot write to {path}: it is an input file{which}. "
                    "Choose another file."
                )


def _input_files(inputs: Iterable[PathLike]) -> Iterator[PathLike]:
    """Yield the files of inputs, including those in folders and patterns."""
    for source in inputs:
        path = Path(source)
        if path.is_dir():
            yield from (file for file in path.rglob("*") if file.is_file())
        elif path.exists() or not glob.has_magic(str(path)):
            yield source
        else:
            yield from glob.iglob(str(path), recursive=True)


def _is_stream(state: os.stat_result, stream: TextIO) -> bool:
    """Return whether a path is the file of an output stream."""
    status = _state_of(stream)
    if status is None:
        return False
    # The same terminal may have several file nodes, but only one device number.
    device = stat.S_ISCHR(status.st_mode) and status.st_rdev == state.st_rdev != 0
    return device or os.path.samestat(state, status)


def _state_of(stream: TextIO) -> os.stat_result | None:
    """Return the status of a stream's file, or None if it has no file."""
    try:
        return os.fstat(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return None


def write_to(place: Place, data: bytes) -> None:
    """Write an output completely or not at all."""

    def write() -> None:
        with temporary_output(place) as file, naming_file(place.path):
            file.write(data)

    # A pipe may wait for its reader without end, so interrupts must be possible.
    if place.file is None:
        write()
    else:
        # Interrupts are delayed until the file is complete.
        uninterrupted(write)


@contextmanager
def temporary_output(place: Place) -> Iterator[IO[bytes]]:
    """Yield a temporary file whose content is moved to the destination at the end."""
    if place.file is not None:
        with _replaced(place.file, place.path) as file:
            yield file
        return
    with tempfile.TemporaryFile() as file:
        yield file
        with naming_file(place.path):
            file.seek(0)
            if place.pipe:
                with place.path.open("wb") as pipe:
                    shutil.copyfileobj(file, pipe)
            else:
                stream = sys.stderr if place.errors else sys.stdout
                stream.flush()
                shutil.copyfileobj(file, stream.buffer)
                stream.buffer.flush()


@contextmanager
def _replaced(target: Path, output: Path) -> Iterator[IO[bytes]]:
    """Yield a temporary file next to `target`; rename it to `target` at the end."""
    # Error messages name `output`, the path given by the user.
    with naming_file(output):
        beginning = f".{target.name}."
        descriptor, name = tempfile.mkstemp(UNFINISHED, beginning, target.parent)
    file = os.fdopen(descriptor, "w+b")
    try:
        yield file
        with naming_file(output):
            file.flush()
            os.fsync(descriptor)
            file.close()  # Windows does not move open files
            mask = os.umask(0)  # the umask can only be read by setting it
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)  # mkstemp makes files private
            os.replace(name, target)
    except BaseException:
        with suppress(OSError):  # unwritten data are discarded
            file.close()
        Path(name).unlink(missing_ok=True)
        raise
