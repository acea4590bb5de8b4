"""Tables and Gram matrices in npz files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from multikernel.cli._columns import ColumnChoice, parted
from multikernel.cli._features import Table, features_of
from multikernel.cli._frames import NUMBERS, first_repeated, naming_damage
from multikernel.cli._targets import read_offset, read_targets
from multikernel.datasets.files import check_columns
from multikernel.estimators import NamedGrams, stack_grams

SHAPES = {"X": "(n_rows, n_features)", "K": "(n_kernels, n_rows, n_samples)"}


def read_npz(path: Path, choice: ColumnChoice) -> Table:
    """Return the table, the sparse table or the Gram matrices of an npz file."""
    _refuse_column_options(path, choice)
    arrays = _arrays_of(path)
    target = parted(choice.target, arrays)
    check_columns(path, arrays, target)
    if {"data", "indices", "indptr", "shape"} <= arrays.keys():
        _refuse_unused(
            path, "a sparse table", choice.drop, choice.unpenalized, choice.offset
        )
        X = _sparse_table(path, arrays)
        return Table(X, read_targets(path, target, arrays, X.shape[0], choice))
    key = "K" if "K" in arrays else "X"
    array = _numbers_of(path, key, arrays)
    n_rows, n_names = array.shape[:2] if key == "X" else array.shape[1::-1]
    names_key = "kernel_names" if key == "K" else "feature_names"
    names = arrays.get(names_key)
    names = None if names is None else _checked_names(path, names_key, names, n_names)
    y = read_targets(path, target, arrays, n_rows, choice)
    offset = None
    if choice.offset is not None:
        check_columns(path, arrays, [choice.offset])
        column = pd.DataFrame({choice.offset: arrays[choice.offset]})
        offset = read_offset(path, column, choice.offset)
    if key == "K":
        _refuse_unused(path, "Gram matrices", choice.drop, choice.unpenalized)
        grams = stack_grams(array)
        named = NamedGrams(grams, tuple(names)) if names else grams
        return Table(named, y, offset=offset)
    names = names or [f"x{index}" for index in range(array.shape[1])]
    frame = pd.DataFrame(array, columns=names)
    drop, free = parted(choice.drop, names), parted(choice.unpenalized, names)
    check_columns(path, frame.columns, [*drop, *free])
    features = features_of(path, frame.drop(columns=drop))
    return Table(features, y, offset=offset, unpenalized=tuple(free))


def _arrays_of(path: Path) -> dict[str, Any]:
    """Return the arrays of an npz file."""
    with naming_damage(path, "npz file of plain arrays"):
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("it holds a single array without a name")
        with archive:
            return {key: archive[key] for key in archive.files}


def _numbers_of(path: Path, key: str, arrays: Mapping[str, Any]) -> Any:
    """Return the array `key`; raise unless it has the expected shape and numbers."""
    check_columns(path, arrays, [key])
    array, shape = arrays[key], SHAPES[key]
    if array.ndim != shape.count(",") + 1:
        raise ValueError(f"{key} of {path} has shape {array.shape}, expected {shape}.")
    if array.dtype.kind not in NUMBERS:
        raise ValueError(f"{key} of {path} holds {array.dtype}, expected real numbers.")
    return array


def _refuse_unused(path: Path, content: str, *values: object) -> None:
    """Raise for options of single columns, which matrices do not have."""
    options = ("--drop", "--unpenalized", "--offset")
    used = [name for name, value in zip(options, values, strict=False) if value]
    if used:
        raise ValueError(
            f"{path} holds {content}, which do not support {', '.join(used)}: remove "
            "the option."
        )


def _refuse_column_options(path: Path, choice: ColumnChoice) -> None:
    """Raise for options that need a table with named columns of any kind."""
    if choice.only is not None and (choice.categories or choice.sequences):
        raise ValueError(
            f"{path} is an npz file, but the model reads text columns: pass a CSV or "
            "Parquet file."
        )
    options = {
        "--id": choice.ids,
        "--date": choice.dates,
        "--view": choice.views,
        "--category": choice.categories,
        "--sequence": choice.sequences,
        "--group": choice.group,
    }
    used = [option for option, value in options.items() if value]
    if used:
        raise ValueError(
            f"{path} is an npz file, which does not support {', '.join(used)}: write "
            "the table as CSV or Parquet, or remove the option."
        )


def _sparse_table(path: Path, arrays: Mapping[str, Any]) -> csr_array:
    """Return the CSR table of a `scipy.sparse.save_npz` file."""
    if arrays.get("format", np.array(b"csr")).item() != b"csr":
        raise ValueError(
            f"{path} holds a sparse table that is not in CSR format: save "
            "scipy.sparse.csr_array(X)."
        )
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    table = csr_array(parts, shape=tuple(arrays["shape"].tolist()))
    table.check_format()
    return table


def _checked_names(path: Path, key: str, given: Any, count: int) -> list[str]:
    """Return the names; raise unless there are `count` different names."""
    if given.shape != (count,):
        raise ValueError(f"{key} of {path} holds {given.size} names, expected {count}.")
    names = [str(name) for name in given]
    doubled = first_repeated(names)
    if doubled is not None:
        raise ValueError(
            f"{key} of {path} holds {doubled!r} more than once: names must differ."
        )
    return names
