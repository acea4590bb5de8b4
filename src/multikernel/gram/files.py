"""Files of Gram matrices: written to their end or refused, and opened again."""

import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from multikernel._typing import Array
from multikernel._validation import FOLDER, PRECISION, check_parameter
from multikernel.gram.factors.landmarks import LowRank
from multikernel.gram.memory import new_file
from multikernel.gram.normalization import Normalization
from multikernel.gram.temporary import (
    CAN_LOCK,
    PathLike as PathLike,
    TemporaryFolder,
    lock,
    made_folder,
)
from multikernel.linalg.tables import backing
from multikernel.linalg.threads import run_blocks

MATRICES, HEADER, LEARNT = "stack.npy", "stack.json", "normalization.npz"
"""Files of a stack: its matrices, what they are, and what their steps have learnt."""

MARKER = "stack.writing"
"""What is there, and locked, while the files are written."""

FORMAT = "multikernel stack 1"


@dataclass(frozen=True)
class MemoryMapped:
    """Storage of whole kernels in a file, which the system reads as it is needed.

    A folder holds one stack. It is written once; where the same kernels are to be
    computed on the same samples again, the file is opened. Kernels that are only
    scaled ("trace", "variance") are written as they are, and scaled as they are used.

    Parameters
    ----------
    folder : str or path-like, default=None
        Where the file is; made if it does not exist. None takes a folder for
        temporary files, which is removed when the stack is no longer used.
    dtype : {"float64", "float32"}, default="float64"
        In what precision matrices are stored; sums are taken in float64.

    Raises
    ------
    ValueError
        If a parameter is out of its range.

    Examples
    --------
    >>> from multikernel.gram import MemoryMapped
    >>> MemoryMapped("kernels", dtype="float32")
    MemoryMapped(folder='kernels', dtype='float32')
    """

    folder: PathLike | None = None
    dtype: str = "float64"

    def __post_init__(self) -> None:
        check_parameter("MemoryMapped", "folder", self.folder, FOLDER)
        check_parameter("MemoryMapped", "dtype", self.dtype, PRECISION)


STORAGE = ("auto", "by_kernel", "dense", "dense32", "lazy", "low_rank", "memmap")
Storage = str | LowRank | MemoryMapped
"""What a ``storage`` parameter may be."""


@dataclass(frozen=True)
class Header:
    """What a file of Gram matrices says of itself.

    Parameters
    ----------
    name : str
        What the stack is.
    shape : tuple of int
        (n_kernels, n_rows, n_cols).
    dtype : str
        The type of its numbers.
    normalize : tuple of str
        The steps that its matrices have been normalised by.
    source : str
        A fingerprint of kernels and samples that they were computed from; empty for
        matrices from elsewhere.
    checksums : tuple of int
        Of every matrix.
    format : str
        The version of the files.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    normalize: tuple[str, ...] = ()
    source: str = ""
    checksums: tuple[int, ...] = field(default=(), repr=False)
    format: str = FORMAT


def write_stack(
    folder: PathLike | None,
    header: Header,
    fill: Callable[[Array], Normalization | None],
) -> Array:
    """Write a stack into a folder, its header, with checksums, last; return it mapped.

    The folder is made if it does not exist; None takes a temporary one, which is
    removed with the last array that is mapped from it. What is to `fill` writes the
    matrices into an array, and returns what their steps have learnt. What a killed
    process has begun in the folder is replaced. A folder that holds a stack already or
    where one is being written, or a full disk, raises an OSError, and what was begun is
    removed.
    """
    if folder is not None:
        return _written_stack(Path(folder), header, fill)
    made = TemporaryFolder()
    try:
        mapped = _written_stack(made.path, header, fill)
    except BaseException:
        made.remove()
        raise
    made.hold_for(backing(mapped))
    return mapped


def _written_stack(
    place: Path, header: Header, fill: Callable[[Array], Normalization | None]
) -> Array:
    """Write a stack into a folder and map it, or leave nothing of it."""
    made_folder(place)
    with _marked(place):
        array = new_file(place / MATRICES, header.shape, header.dtype)
        try:
            _write_whole(place, array, header, fill)
        except BaseException:
            _remove_begun(place)
            raise
    return _mapped(place / MATRICES)


@contextmanager
def _marked(place: Path) -> Iterator[None]:
    """Have a locked marker in a folder while a stack is written into it.

    What was begun beside a marker that nobody holds is removed: its process was killed.
    """
    marker = place / MARKER
    is_marked = marker.exists()
    with marker.open("ab") as file:
        try:
            lock(file.fileno())
            held = os.path.samestat(marker.stat(), os.fstat(file.fileno()))
        except OSError as error:
            # Of a file system without locks one that is new is nobody's.
            held = not (
                is_marked or isinstance(error, BlockingIOError | FileNotFoundError)
            )
        if not held:
            raise FileExistsError(
                f"A stack is being written into {place} ({MARKER}): wait for the "
                "process that writes it, or name another folder."
            )
        if is_marked and not (place / HEADER).exists():
            _remove_begun(place)
        try:
            yield
        finally:
            if not CAN_LOCK:
                file.close()  # Windows does not remove open files
            marker.unlink()


def _remove_begun(place: Path) -> None:
    """Remove the files of a stack that is not whole."""
    for name in (MATRICES, LEARNT, f"{HEADER}.partial"):
        (place / name).unlink(missing_ok=True)


def holds_stack(folder: PathLike) -> bool:
    """Return whether a folder holds a stack, or matrices that we have not begun."""
    path = Path(folder)
    foreign = (path / MATRICES).exists() and not (path / MARKER).exists()
    return foreign or (path / HEADER).exists()


def _write_whole(
    place: Path,
    array: "np.memmap[Any, Any]",
    header: Header,
    fill: Callable[[Array], Normalization | None],
) -> None:
    """Write the files of a stack, the header last: only what is whole has one."""
    learnt = fill(array)
    array.flush()
    if learnt is not None:
        with written(place / LEARNT):
            np.savez(place / LEARNT, **_arrays(learnt))
    text = json.dumps(asdict(replace(header, checksums=checksums(array))), indent=1)
    begun = place / f"{HEADER}.partial"
    with written(place / HEADER):
        begun.write_text(text, encoding="utf-8")
        begun.replace(place / HEADER)


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Raise an OSError of the block again, with the name of the file in its text."""
    try:
        yield
    except OSError as error:
        text = f"the file cannot be written ({error.strerror or error})"
        raise OSError(error.errno, text, str(path)) from error


def open_stack(path: PathLike) -> tuple[Array, Header | None]:
    """Open Gram matrices in a file: mapped, with what is known of them.

    It is a folder that `write_stack` has written, or a file of NumPy's format (.npy)
    that holds one matrix or several, and has no header. A missing file raises an
    OSError; one that was not written to its end, was damaged or holds something else, a
    ValueError.
    """
    file = Path(path)
    if file.name == MATRICES:
        file = file.parent
    header = read_header(file) if file.is_dir() else None
    array = _mapped(file if header is None else file / MATRICES)
    if header is None:
        return array, None
    if header.shape != array.shape or header.dtype != array.dtype.name:
        raise ValueError(
            f"{file / HEADER} speaks of {header.dtype} of shape {header.shape}, but "
            f"{MATRICES} holds {array.dtype.name} of shape {array.shape}: it was "
            "changed. Write the stack again."
        )
    sums = checksums(array)
    if sums != header.checksums:
        pairs = zip(sums, header.checksums, strict=True)
        m = next(m for m, (a, b) in enumerate(pairs) if a != b)
        raise ValueError(
            f"Matrix {m} in {file / MATRICES} is not what was written: its checksum "
            "differs. Write the stack again."
        )
    return array, header


def read_header(folder: Path) -> Header:
    """Return the header of a folder's stack, or say that it has none."""
    path = folder / HEADER
    if not path.exists():
        begun = (folder / MATRICES).exists()
        raise ValueError(
            f"{folder / MATRICES} has no {HEADER}: it was not written to its end, or "
            "not by multikernel. Name another folder, or remove this one and write the "
            "stack again."
            if begun
            else f"{folder} holds no stack of Gram matrices ({HEADER})."
        )
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        given_fields = {f.name: given[f.name] for f in fields(Header)}
        for name in ("shape", "normalize", "checksums"):
            given_fields[name] = tuple(given_fields[name])
        header = Header(**given_fields)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no header of a stack ({error}).") from error
    if header.format != FORMAT:
        raise ValueError(
            f"{path} has the format {header.format!r}, and {FORMAT!r} is read."
        )
    return header


def learnt_steps(folder: PathLike, empty: Normalization) -> Normalization:
    """Return what the steps of a folder's stack have learnt, from empty ones."""
    steps = list(empty.steps)
    with np.load(Path(folder) / LEARNT, allow_pickle=False) as arrays:
        for name, values in arrays.items():
            number, _, field_name = name.partition(".")
            steps[int(number)] = replace(steps[int(number)], **{field_name: values})
    return Normalization(tuple(steps))


def _arrays(learnt: Normalization) -> dict[str, Any]:
    """Return the arrays of all steps, each with its step's number before its name."""
    return {
        f"{number}.{f.name}": getattr(step, f.name)
        for number, step in enumerate(learnt.steps)
        for f in fields(step)
        if isinstance(getattr(step, f.name), np.ndarray)
    }


def joined(
    matrices: Sequence[Array], folder: PathLike | None = None, name: str = "grams"
) -> Array:
    """Copy matrices, in memory or in files of their own, into one file, and map it.

    Numbers are float32 if all matrices are; without a folder a temporary one is taken.
    """
    single = all(matrix.dtype == np.float32 for matrix in matrices)
    shape = (len(matrices), *matrices[0].shape)
    dtype = "float32" if single else "float64"

    def fill(array: Array) -> None:
        # One by one, in order: no more is held than the system wants to.
        for room, matrix in zip(array, matrices, strict=True):
            room[...] = matrix

    return write_stack(folder, Header(name, shape, dtype), fill)


def checksums(array: Array) -> tuple[int, ...]:
    """Return a checksum of every matrix, on all threads."""
    sums = np.zeros(array.shape[0], dtype=np.int64)

    def add(m: int) -> None:
        sums[m] = zlib.crc32(array[m])

    run_blocks(add, range(array.shape[0]))
    return tuple(sums.tolist())


def _mapped(path: Path) -> Array:
    """Return the matrices of a file, of three axes, as a view of it."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path} of precomputed matrices.")
    try:
        array = np.asarray(npy.open_memmap(path, "r"))
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{path} is no file of an array in NumPy's format ({error})."
        ) from error
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.dtype not in (np.float64, np.float32):
        raise ValueError(
            f"{path} holds {array.dtype} of shape {array.shape}; Gram matrices are "
            "float64 or float32 of shape (n_kernels, n_rows, n_cols)."
        )
    if not array.flags.c_contiguous:
        raise ValueError(
            f"{path} holds its numbers in Fortran's order: write "
            "numpy.ascontiguousarray(K), so that each matrix is read in one piece."
        )
    return array
