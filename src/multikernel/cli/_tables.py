"""Reading data files into features and targets, and writing predictions."""

import io
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.errors import ParserWarning

from multikernel.cli._sequences import COLUMN, read_fasta_frame
from multikernel.datasets.fasta import SUFFIXES as FASTA
from multikernel.estimators import stack_grams
from multikernel.persistence import write_whole

FORMATS = (".csv", ".parquet", ".npz")
READABLE = (*FORMATS, *FASTA)
SHAPES = {"X": "(n_rows, n_features)", "K": "(n_kernels, n_rows, n_samples)"}
NAMED = {"X": ("feature_names", "x", 1), "K": ("kernel_names", "gram ", 0)}
NUMBERS = "biuf"
"""Kinds of arrays that hold real numbers, as numpy writes them."""
WORDS = (str, bool, int, float)


@dataclass(frozen=True, eq=False)
class Table:
    """Features and, where the file has them, targets.

    Parameters
    ----------
    X : DataFrame or ndarray of shape (n_samples, n_samples, n_kernels)
        The features as a data frame, or precomputed Gram matrices, samples first.
    y : ndarray of shape (n_samples,), DataFrame or None
        The targets; several as a data frame with their names.
    kernel_names : tuple of str or None
        Names of precomputed kernels; None tells that `X` holds features.
    sequences : tuple of str
        Columns of `X` that hold strings.
    """

    X: Any
    y: Any
    kernel_names: tuple[str, ...] | None = None
    sequences: tuple[str, ...] = ()

    @property
    def precomputed(self) -> bool:
        """Return whether `X` holds Gram matrices."""
        return self.kernel_names is not None


def read_table(
    path: Path, target: list[str], drop: list[str], sequences: Sequence[str] = ()
) -> Table:
    """Read a CSV, Parquet, FASTA or npz file.

    Parameters
    ----------
    path : Path
        The file. In an npz file ``X`` holds the features (and ``feature_names`` their
        names) or ``K`` the Gram matrices, of shape (n_kernels, n_rows, n_samples).
    target : list of str
        Columns of the targets, or arrays of them in an npz file; none reads none.
    drop : list of str
        Columns to leave out.
    sequences : sequence of str
        Columns of strings to keep; in a FASTA file the one of letters is kept always.

    Returns
    -------
    table : Table

    Raises
    ------
    ValueError
        If the format is unknown, if the file does not have it or is empty, or if a
        column is missing, doubled or holds no numbers.
    """
    _require_format(path, "read", READABLE)
    if path.suffix == ".npz":
        return _read_npz(path, target, drop)
    if path.suffix in FASTA:
        frame = read_fasta_frame(path)
        sequences = [*sequences, COLUMN] if COLUMN not in sequences else sequences
    else:
        frame = _read_frame(path)
    _require(path, frame.columns, list(sequences))
    kept = tuple(name for name in sequences if name not in (*target, *drop))
    named = [*drop, *target]
    _require(path, frame.columns, named)
    y = _all_targets(path, target, frame, len(frame))
    return Table(_features(path, frame.drop(columns=named), kept), y, None, kept)


def _require_format(path: Path, use: str, formats: Sequence[str] = FORMATS) -> None:
    if path.suffix not in formats:
        raise ValueError(
            f"Cannot {use} {path}: the name must end in one of {', '.join(formats)}."
        )


@contextmanager
def _readable(path: Path, kind: str) -> Iterator[None]:
    """Turn what readers make of a damaged file into one sentence."""
    try:
        yield
    except MemoryError:
        raise
    except ParserWarning as error:
        raise ValueError(
            f"{path} has rows with more fields than its header."
        ) from error
    except Exception as error:
        if getattr(error, "filename", None) is not None:
            raise  # the system says that it cannot be opened, and why
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} is no {kind} ({reason}).") from error


def _read_frame(path: Path) -> pd.DataFrame:
    if path.suffix == ".parquet":
        with _readable(path, "Parquet file"):
            return pd.read_parquet(path)
    # Without the repairs that pandas makes in silence.
    with _readable(path, "CSV file with a header"), warnings.catch_warnings():
        warnings.simplefilter("error", ParserWarning)  # rows beyond the header
        header = pd.read_csv(path, header=None, nrows=1, dtype=str)
        frame = pd.read_csv(path, index_col=False, low_memory=False)
    doubled = _doubled(header.iloc[0].dropna())
    if doubled is not None:
        raise ValueError(f"{path} has several columns named {doubled!r}.")
    return frame


def _read_npz(path: Path, target: list[str], drop: list[str]) -> Table:
    with _readable(path, "npz file of plain arrays"):
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("it holds a single array without a name")
        with archive:
            arrays = {key: archive[key] for key in archive.files}
    _require(path, arrays, target)
    key = "K" if "K" in arrays else "X"
    _require(path, arrays, [key])
    _require_axes(path, arrays, key)
    names_key, letter, axis = NAMED[key]
    names = [f"{letter}{index}" for index in range(arrays[key].shape[axis])]
    if names_key in arrays:
        names = _names(path, names_key, arrays[names_key], len(names))
    n_rows = arrays[key].shape[1 if key == "K" else 0]
    y = _all_targets(path, target, arrays, n_rows)
    if key == "K":
        return Table(stack_grams(arrays["K"]), y, tuple(names))
    frame = pd.DataFrame(arrays["X"], columns=names)
    _require(path, frame.columns, drop)
    return Table(_features(path, frame.drop(columns=drop)), y)


def _features(
    path: Path, frame: pd.DataFrame, sequences: Sequence[str] = ()
) -> pd.DataFrame:
    """Return the features as numbers, apart from sequences."""
    if not len(frame):
        raise ValueError(f"{path} has no rows.")
    if frame.columns.empty:
        raise ValueError(f"{path} has no features: no other columns than those named.")
    numbers = [name for name in frame if name not in sequences]
    wrong = [name for name in numbers if frame[name].dtype.kind not in NUMBERS]
    if wrong:
        options = " ".join(f"--drop '{name}'" for name in wrong)
        raise ValueError(
            f"{path} has columns without numbers: {', '.join(map(str, wrong))}. "
            f"Encode them as numbers first, leave them out with {options}, or name "
            "those of sequences with --sequence."
        )
    return frame.astype(dict.fromkeys(numbers, np.float64))


def _all_targets(path: Path, names: list[str], columns: Any, n_rows: int) -> Any:
    """Return the targets: none, one as an array, several as a data frame."""
    read = {name: _targets(path, np.asarray(columns[name]), n_rows) for name in names}
    if len(read) < len(names):
        raise ValueError(f"--target names {_doubled(names)!r} more than once.")
    if len(read) <= 1:
        return next(iter(read.values()), None)
    return pd.DataFrame(read)


def _targets(path: Path, y: Any, n_rows: int) -> Any:
    """Return the targets if they are real numbers or words, one per row."""
    if y.shape != (n_rows,):
        raise ValueError(
            f"The targets of {path} have the shape {y.shape}, expected ({n_rows},): "
            "one per row."
        )
    kind = y.dtype.kind
    if kind == "O":
        # What is missing among words is nan, which differs from itself.
        plain = all(isinstance(label, WORDS) and label == label for label in y)
    else:
        plain = kind in NUMBERS + "U"
    if not plain:
        raise ValueError(
            f"The targets of {path} must be real numbers, words or truth values, and "
            "none may be missing."
        )
    return y


def _require(path: Path, present: Any, wanted: list[str]) -> None:
    """Raise if something asked for is not in the file, and say what is."""
    missing = [name for name in wanted if name not in present]
    if missing:
        some = [str(name) for name in list(present)[:12]]
        more = ", ..." if len(present) > len(some) else ""
        raise ValueError(
            f"{path} has no {', '.join(map(repr, missing))}; it has "
            f"{', '.join(some)}{more}."
        )


def _require_axes(path: Path, arrays: Any, key: str) -> None:
    array, shape = arrays[key], SHAPES[key]
    if array.ndim != shape.count(",") + 1:
        raise ValueError(f"{key} of {path} has shape {array.shape}, expected {shape}.")
    if array.dtype.kind not in NUMBERS:
        raise ValueError(f"{key} of {path} holds {array.dtype}, expected real numbers.")


def _names(path: Path, key: str, given: Any, count: int) -> list[str]:
    """Return the names if there is one for each, all different."""
    if given.shape != (count,):
        raise ValueError(
            f"{key} of {path} holds {given.size} names, and there are {count} to name."
        )
    names = [str(name) for name in given]
    doubled = _doubled(names)
    if doubled is not None:
        raise ValueError(f"{key} of {path} holds {doubled!r} more than once.")
    return names


def _doubled(names: Iterable[str]) -> str | None:
    """Return the first name that is there more than once."""
    return next((name for name, n in Counter(names).items() if n > 1), None)


def write_table(frame: pd.DataFrame, path: Path | None) -> None:
    """Write predictions to a CSV, Parquet or npz file, or as CSV to stdout.

    Parameters
    ----------
    frame : DataFrame
        One row per sample.
    path : Path or None
        The file; its ending decides the format. None writes to stdout.

    Raises
    ------
    ValueError
        If the format is unknown.
    """
    if path is None:
        frame.to_csv(sys.stdout, index=False)
        return
    _require_format(path, "write")
    data = io.BytesIO()
    if path.suffix == ".csv":
        frame.to_csv(data, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(data, index=False)
    else:
        # By way of lists: words become arrays of text, which need no pickle.
        arrays: dict[str, Any] = {str(k): np.array(frame[k].to_list()) for k in frame}
        np.savez_compressed(data, **arrays)
    write_whole(path, data.getvalue())
