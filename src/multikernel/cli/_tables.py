"""Features, targets and other columns of data files."""

import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from multikernel.cli import _frames
from multikernel.cli._columns import PLAIN, ColumnChoice, say_ignored, split_names
from multikernel.cli._features import Table, note_ids, numeric_features, text_columns
from multikernel.cli._targets import (
    date_names,
    read_groups,
    read_offset,
    read_targets,
    refuse_odd_cells,
)
from multikernel.datasets.files import NO_COLUMN, SUFFIXES as FASTA, check_columns
from multikernel.estimators import NamedGrams, stack_grams
from multikernel.estimators.read.kinds import Sheet, default_text_kinds
from multikernel.estimators.read.targets import category_order, read_quantity
from multikernel.kernels.sequence.tables import CATEGORIES, SEQUENCES

FORMATS = (".csv", ".parquet", ".npz")
READABLE = (*FORMATS, ".tsv", *FASTA)
STDIN = "standard input"

KINDS = ("date", "category", "sequence")
"""Options that determine the kind of a feature."""

FEATURES = ("unpenalized", *KINDS)
"""Options that name features."""

NAMED = ("id", *KINDS, "group", "view")
"""Options that require a table with column names."""

LACKS = (
    "{path} lacks columns that the model was fitted on: {missing}. The file has the "
    "columns {names}. Pass a file with all columns of the model."
)
"""Message of `check_columns` for a file without columns of a saved model."""

NAMES_OF_ARRAY = " An npz file needs their names in its array feature_names."


def read_table(
    path: Path, choice: ColumnChoice = PLAIN, more_fasta: Sequence[Path] = ()
) -> Table:
    """Read a CSV, TSV, Parquet or npz file, standard input (``-``), or FASTA files."""
    # Standard input is CSV. `more_fasta` are FASTA files to read together with `path`.
    source = None
    if str(path) == "-":
        if sys.stdin is None:
            raise ValueError("Standard input is closed: pass a file instead of -.")
        source, path = io.BytesIO(sys.stdin.buffer.read()), Path(STDIN)
    else:
        _require_readable(path, more_fasta)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        return _read_npz(path, choice)
    if suffix in FASTA:
        # All sequences form one column. If there are several files, each is a class.
        frame = _frames.read_fasta_frames([path, *more_fasta], choice)
        sequences = dict.fromkeys([*choice.sequence, _frames.COLUMN])
        choice = replace(choice, sequence=tuple(sequences))
    else:
        frame = _frames.read_frame(path, source, choice)
    return make_table(path, frame, choice.split_lists(frame.columns))


def _require_readable(path: Path, more_paths: Sequence[Path]) -> None:
    """Raise unless the file names have supported suffixes."""
    if path.suffix.lower() not in READABLE:
        raise ValueError(
            f"Cannot read data from {path}: the name must end in one of "
            f"{', '.join(READABLE)}. Unpack compressed files, and save spreadsheets as "
            "CSV."
        )
    tables = [p for p in (path, *more_paths) if p.suffix.lower() not in FASTA]
    if more_paths and tables:
        raise ValueError(
            "Several files must all be FASTA files, one for each class, but "
            f"{tables[0]} is not: pass one table, or only FASTA files "
            f"({', '.join(FASTA)})."
        )


def make_table(path: Path, frame: pd.DataFrame, choice: ColumnChoice) -> Table:
    """Return a data frame's features, targets, groups, offset and IDs, by `choice`."""
    # Error messages name the file `path`.
    require_columns(path, frame.columns, choice)
    order = None
    if len(choice.target) == 1:
        order = category_order(frame[choice.target[0]])
        # Ordered categories are classes.
        choice = replace(choice, labels=choice.labels or order is not None)
    y = read_targets(path, choice.target, frame, len(frame), choice)
    features, views = _select_features(path, frame, choice)
    options = choice.date, choice.unpenalized, choice.sequence, choice.category
    dates, linear, strings, words = ([n for n in ns if n in features] for ns in options)
    all_words = linear if not views else [*features]
    taken = {*strings, *words, *dates}
    new_strings, new_words, doubts = _classify_texts(features, taken, all_words, choice)
    strings, words = strings + new_strings, words + new_words
    skip = (*strings, *words, *dates)
    if choice.is_known:
        # If categories are numbers, one new word makes the column text.
        coded = [n for n in words if n not in choice.texts]
        features = features.assign(
            **{n: _frames.with_numbers(features[n]) for n in coded}
        )
    X = numeric_features(path, features, skip, doubts, from_model=choice.is_known)
    # Estimators read columns of this type as categories, even if they contain numbers.
    X = X.astype(dict.fromkeys(words, "category")) if words else X
    if not choice.is_known:
        note_ids(X, (*words, *linear))
    return Table(
        X,
        y,
        strings,
        words,
        views,
        groups=read_groups(path, frame, choice.group) if choice.group else None,
        offset=read_offset(path, frame, choice.offset) if choice.offset else None,
        ids=frame[list(choice.id)] if choice.id else None,
        dates={name: date_names(path, X[name], choice.period) for name in dates},
        periods=choice.period,
        unpenalized=linear,
        order=order,
    )


def require_columns(
    path: Path, present: Iterable[object], choice: ColumnChoice
) -> None:
    """Raise if a file lacks a column of an option, or two options name the same one."""
    names_of: dict[str, list[str]] = {}
    for key in ("target", "event", "drop", "offset", "id", "group", *FEATURES):
        value = getattr(choice, key) or ()
        names = [value] if isinstance(value, str) else [*value]
        if key == "target":
            names = [name for name in names if name != choice.event]
        names_of[key] = names
        # The columns of a saved model are checked by `_model_part`.
        if not (choice.is_known and key in KINDS):
            check_columns(path, present, names, f"--{key}: {NO_COLUMN}")
    features = () if choice.is_known else FEATURES
    others = ("offset", "id", "group")
    # Pairs of options that must not name the same column.
    pairs = [*product(("target", "event"), others + features)]
    pairs += product((*others, "drop"), features)
    if not choice.is_known:
        # A column has sequences, categories or dates, never two of these kinds.
        # Columns of sequences cannot be unpenalized.
        pairs += product(("sequence",), ("category", "date", "unpenalized"))
        pairs += [("category", "date")]
    for key, other_key in pairs:
        shared = [name for name in names_of[other_key] if name in names_of[key]]
        if shared:
            raise ValueError(
                f"--{other_key} {shared[0]!r} is also the column of --{key}: remove "
                "one of these options."
            )


def _select_features(
    path: Path, frame: pd.DataFrame, choice: ColumnChoice
) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Return the columns that are features, and the columns of each view."""
    ids = {*choice.id} - {*(choice.only or ())}
    not_features = {*choice.drop, *choice.target, *ids, choice.group, choice.offset}
    features = frame[[name for name in frame if name not in not_features]]
    features = _model_part(path, features, choice)
    unpenalized = choice.unpenalized
    views = choice.find([str(name) for name in features if name not in unpenalized])
    if views:
        in_views = [*chain.from_iterable(views.values()), *unpenalized]
        features = features[list(dict.fromkeys(in_views))]
    return features, views


def _model_part(path: Path, frame: pd.DataFrame, choice: ColumnChoice) -> pd.DataFrame:
    """Return the columns that a saved model uses, or all columns without a model."""
    only = choice.only
    if only is None:
        return frame
    # Columns that the file lacks and no kernel uses are filled with zeros.
    absent = [name for name in choice.unused if name not in frame]
    frame = frame.assign(**dict.fromkeys(absent, 0.0)) if absent else frame
    message = LACKS + NAMES_OF_ARRAY * (path.suffix.lower() == ".npz")
    check_columns(path, frame.columns, list(only), message)
    unused = [str(column) for column in frame if column not in set(only)]
    say_ignored("that the model does not use", unused)
    return frame[list(only)]


def _classify_texts(
    features: pd.DataFrame, taken: set[str], labels: Sequence[str], choice: ColumnChoice
) -> tuple[list[str], list[str], Mapping[str, str]]:
    """Return sequence columns, category columns, and doubts on other text columns."""
    # Options set the kinds of the `taken` columns. Text columns in `labels` are
    # categories. Cells decide on other text columns, unless a saved model is used.
    texts = [name for name in text_columns(features) if name not in taken]
    words = [name for name in texts if name in labels]
    texts = [name for name in texts if name not in labels]
    if choice.is_known:
        return [], words, {}
    # pandas categories are declared as categories, other text is not.
    refuse_odd_cells(features[words].select_dtypes(exclude="category"))
    kinds, doubts = default_text_kinds(Sheet(features[texts]))  # by position in `texts`
    sequences = [texts[index] for index, kind in kinds.items() if kind == SEQUENCES]
    words += [texts[index] for index, kind in kinds.items() if kind == CATEGORIES]
    return sequences, words, {texts[index]: doubt for index, doubt in doubts.items()}


def as_times(table: Table, event: str | None) -> Table:
    """Return a table with survival times as targets; unchanged if `event` is None."""
    # `event` names the target with the event indicators, 1 or 0. The targets of the
    # returned table have the columns event and time.
    if event is None:
        return table
    time_names = [name for name in table.y if name != event]
    if len(time_names) != 1:
        raise ValueError(
            f"--event {event!r} requires one --target, the event or censoring time, "
            f"but got {', '.join(map(repr, time_names))}: name one column."
        )
    (name,) = time_names
    time = read_quantity(table.y[name], f"--target {name!r}")
    times = pd.DataFrame({"event": table.y[event], "time": time})
    invalid = times["event"][~times["event"].isin((0, 1))]
    if len(invalid):
        raise ValueError(
            f"--event {event!r} must hold 1 (observed) or 0 (censored) in every row, "
            f"but it holds {invalid.tolist()[0]!r} at row {invalid.index[0]}: name "
            "another column, or correct the value."
        )
    return replace(table, y=times)


SHAPES = {"X": "(n_rows, n_features)", "K": "(n_kernels, n_rows, n_samples)"}


FEATURE_ARRAYS = (*SHAPES, "feature_names", "kernel_names")
"""Arrays of an npz file that are not targets."""


def _read_npz(path: Path, choice: ColumnChoice) -> Table:
    """Return the table, the sparse table or the Gram matrices of an npz file."""
    # The file is a `scipy.sparse.save_npz` file, or has the array ``X`` (and
    # ``feature_names``) or the Gram matrices ``K`` (and ``kernel_names``).
    if choice.is_known and (choice.category or choice.sequence or choice.date):
        raise ValueError(
            f"{path} is an npz file, but the model was fitted on columns of "
            "categories, sequences or dates: pass a CSV or Parquet file."
        )
    _refuse_options(path, "an npz file", choice, *NAMED)
    arrays = _load_arrays(path)
    target = split_names(choice.target, arrays)
    for name in [name for name in (*target, choice.offset) if name is not None]:
        option = "target" if name in target else "offset"
        option = "event" if name == choice.event else option
        offered = [key for key in arrays if key == name or key not in FEATURE_ARRAYS]
        check_columns(path, offered, [name], f"--{option}: {NO_COLUMN}")
    if {"data", "indices", "indptr", "shape"} <= arrays.keys():
        no_columns = ("drop", "unpenalized", "offset")
        _refuse_options(path, "a sparse table", choice, *no_columns)
        X = _sparse_table(path, arrays)
        return Table(X, read_targets(path, target, arrays, X.shape[0], choice))
    key = "K" if "K" in arrays else "X"
    array = _number_array(path, key, arrays)
    n_rows, n_names = array.shape[:2] if key == "X" else array.shape[1::-1]
    names = _array_names(path, key, arrays, n_names)
    y = read_targets(path, target, arrays, n_rows, choice)
    offset, column = None, choice.offset
    if column is not None:
        offset = read_offset(path, pd.DataFrame({column: arrays[column]}), column)
    if key == "K":
        _refuse_options(path, "a file of Gram matrices", choice, "drop", "unpenalized")
        if not choice.is_known and array.shape[1] != array.shape[2]:
            raise ValueError(
                f"K of {path} has shape {array.shape}, but a fit requires square "
                "matrices, shape (n_kernels, n_rows, n_rows): save the matrix of "
                "kernel m as K[m]."
            )
        grams = stack_grams(array)
        grams = NamedGrams(grams, tuple(names)) if names else grams
        return Table(grams, y, offset=offset)
    names = names or [f"x{index}" for index in range(n_names)]
    columns, frame = choice.split_lists(names), pd.DataFrame(array, columns=names)
    check_columns(path, names, [*columns.drop, *columns.unpenalized])
    features = _model_part(path, frame.drop(columns=[*columns.drop]), choice)
    features = numeric_features(path, features, from_model=choice.is_known)
    return Table(features, y, offset=offset, unpenalized=columns.unpenalized)


def _refuse_options(path: Path, content: str, choice: ColumnChoice, *keys: str) -> None:
    """Raise for options that the content of an npz file does not support."""
    # `keys` are the options' names. Those in `NAMED` require column names.
    options = [f"--{key}" for key in keys if getattr(choice, key)]
    if options:
        advice = " or write the table as CSV or Parquet" * (keys == NAMED)
        raise ValueError(
            f"{path} is {content}, which does not support {', '.join(options)}: remove "
            f"{'these options' if len(options) > 1 else 'this option'}{advice}."
        )


def _load_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of an npz file by name; raise if it is damaged or unnamed."""
    with _frames.explain_damage(path, "npz file of plain arrays"):
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.ndarray):
            with archive:
                return {key: archive[key] for key in archive.files}
    raise ValueError(
        f"{path} is not a valid npz file, because it holds a single array without a "
        "name: write named arrays with numpy.savez."
    )


def _number_array(
    path: Path, key: str, arrays: Mapping[str, NDArray[np.generic]]
) -> NDArray[np.generic]:
    """Return the array `key`; raise unless it is numeric, with the axes in `SHAPES`."""
    check_columns(path, arrays, [key])
    array, shape = arrays[key], SHAPES[key]
    if array.ndim != shape.count(",") + 1:
        raise ValueError(
            f"{key} of {path} has shape {array.shape}, expected {shape}: save an array "
            "of this shape."
        )
    if array.dtype.kind not in _frames.NUMBERS:
        raise ValueError(
            f"{key} of {path} holds {array.dtype}, expected real numbers: convert the "
            "array before you save it."
        )
    return array


def _array_names(
    path: Path, array: str, arrays: Mapping[str, NDArray[np.generic]], count: int
) -> list[str] | None:
    """Return the stored names of columns or kernels, or None; raise for equal names."""
    key = "kernel_names" if array == "K" else "feature_names"
    if key not in arrays:
        return None
    if arrays[key].shape != (count,):
        unit = "matrix" if array == "K" else "column"
        raise ValueError(
            f"{key} of {path} has shape {arrays[key].shape}, expected ({count},): save "
            f"one name for each {unit} of {array}."
        )
    names = [str(name) for name in arrays[key]]
    repeated = _frames.first_repeated(names)
    if repeated is not None:
        raise ValueError(
            f"{key} of {path} holds {repeated!r} more than once: save different names."
        )
    return names


def _sparse_table(path: Path, arrays: Mapping[str, NDArray[Any]]) -> csr_array:
    """Return the CSR table of a `scipy.sparse.save_npz` file."""
    if arrays.get("format", np.array(b"csr")).tolist() != b"csr":
        raise ValueError(
            f"{path} holds a sparse table that is not in CSR format: save "
            "scipy.sparse.csr_array(X)."
        )
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    with _frames.explain_damage(path, "sparse table of scipy.sparse.save_npz"):
        table = csr_array(parts, shape=tuple(arrays["shape"].tolist()))
        table.check_format()
    return table
