"""Reading data files into features and targets, and writing predictions."""

import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd
from pandas.errors import ParserWarning

from multikernel.estimators import stack_grams

FORMATS = (".csv", ".parquet", ".npz")


@dataclass(frozen=True, eq=False)
class Table:
    """Features and, where the file has them, targets.

    Parameters
    ----------
    X : DataFrame or ndarray of shape (n_samples, n_samples, n_kernels)
        The features as a data frame, or precomputed Gram matrices, samples first.
    y : ndarray of shape (n_samples,) or None
        The targets.
    kernel_names : tuple of str or None
        Names of precomputed kernels; None tells that `X` holds features.
    """

    X: Any
    y: Any
    kernel_names: tuple[str, ...] | None = None

    @property
    def precomputed(self) -> bool:
        """Return whether `X` holds Gram matrices."""
        return self.kernel_names is not None


def read_table(path: Path, target: str | None, drop: list[str]) -> Table:
    """Read a CSV, Parquet or npz file.

    Parameters
    ----------
    path : Path
        The file. In an npz file ``X`` holds the features (and ``feature_names`` their
        names) or ``K`` the Gram matrices, of shape (n_kernels, n_rows, n_samples).
    target : str or None
        Column of the targets, or array of them in an npz file; None reads none.
    drop : list of str
        Columns to leave out.

    Returns
    -------
    table : Table

    Raises
    ------
    ValueError
        If the format is unknown, if the file does not have it or is empty, or if a
        column is missing, doubled or holds no numbers.
    """
    if path.suffix not in FORMATS:
        raise ValueError(
            f"Cannot read {path}: the name must end in one of {', '.join(FORMATS)}."
        )
    if path.suffix == ".npz":
        return _read_npz(path, target, drop)
    frame = _read_csv(path) if path.suffix == ".csv" else _read_parquet(path)
    if frame.empty:
        raise ValueError(f"{path} has no rows.")
    _require(path, frame.columns, [*drop, *([target] if target else [])])
    y = None if target is None else frame[target].to_numpy()
    features = frame.drop(columns=[*drop, *([target] if target else [])])
    if features.columns.empty:
        raise ValueError(f"{path} has no features: no other columns than those named.")
    _require_numbers(path, features)
    return Table(features.astype(np.float64), y)


def _read_csv(path: Path) -> pd.DataFrame:
    """Read a CSV file, without the repairs that pandas makes in silence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)  # rows beyond the header
            header = pd.read_csv(path, header=None, nrows=1, dtype=str)
            frame = pd.read_csv(path, index_col=False)
    except ParserWarning as error:
        raise ValueError(
            f"{path} has rows with more fields than its header."
        ) from error
    except ValueError as error:
        reason = str(error).strip()
        raise ValueError(f"{path} is no CSV file with a header ({reason}).") from error
    names = header.iloc[0].dropna().tolist()
    doubled = [name for name, times in Counter(names).items() if times > 1]
    if doubled:
        raise ValueError(f"{path} has several columns named {doubled[0]!r}.")
    return frame


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except ValueError as error:
        raise ValueError(f"{path} is no Parquet file ({error}).") from error


def _read_npz(path: Path, target: str | None, drop: list[str]) -> Table:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (AttributeError, BadZipFile, EOFError, ValueError) as error:
        raise ValueError(f"{path} is no npz file of plain arrays ({error}).") from error
    _require(path, arrays, [target] if target else [])
    y = None if target is None else arrays[target]
    if "K" in arrays:
        _require_axes(path, arrays, "K", 3, "(n_kernels, n_rows, n_samples)")
        numbered = [f"gram {index}" for index in range(len(arrays["K"]))]
        names = tuple(map(str, arrays.get("kernel_names", numbered)))
        _require_names(path, "kernel_names", names, len(numbered))
        return Table(stack_grams(arrays["K"]), y, names)
    _require(path, arrays, ["X"])
    _require_axes(path, arrays, "X", 2, "(n_rows, n_features)")
    columns = [f"x{index}" for index in range(arrays["X"].shape[1])]
    columns = [str(name) for name in arrays.get("feature_names", columns)]
    _require_names(path, "feature_names", columns, arrays["X"].shape[1])
    frame = pd.DataFrame(arrays["X"], columns=columns)
    _require(path, frame.columns, drop)
    return Table(frame.drop(columns=drop).astype(np.float64), y)


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


def _require_axes(path: Path, arrays: Any, key: str, ndim: int, shape: str) -> None:
    if arrays[key].ndim != ndim:
        raise ValueError(
            f"{key} of {path} has shape {arrays[key].shape}, expected {shape}."
        )


def _require_names(path: Path, key: str, names: Sequence[str], count: int) -> None:
    """Raise unless there is one name for each, all different."""
    if len(names) != count:
        raise ValueError(
            f"{key} of {path} holds {len(names)} names, and there are {count} to name."
        )
    doubled = [name for name, times in Counter(names).items() if times > 1]
    if doubled:
        raise ValueError(f"{key} of {path} holds {doubled[0]!r} more than once.")


def _require_numbers(path: Path, features: pd.DataFrame) -> None:
    wrong = features.select_dtypes(exclude=["number", "bool"]).columns
    if len(wrong):
        names = ", ".join(map(str, wrong))
        options = " ".join(f"--drop '{name}'" for name in wrong)
        raise ValueError(
            f"{path} has columns without numbers: {names}. Encode them as numbers "
            f"first, or leave them out with {options}."
        )


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
    elif path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix == ".npz":
        # By way of lists: words become arrays of text, which need no pickle.
        arrays: dict[str, Any] = {str(k): np.array(frame[k].to_list()) for k in frame}
        np.savez_compressed(path, **arrays)
    else:
        raise ValueError(
            f"Cannot write {path}: the name must end in one of {', '.join(FORMATS)}."
        )
