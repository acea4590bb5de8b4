"""What columns hold: one reading of types, for arrays and tables of every library.

pandas, polars, Arrow, NumPy and Python call the same types by much the same words, and
the core imports neither pandas, polars nor Arrow: so a type is known by the first word
of its name. What a column of objects holds, the types of its values say.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import listed
from multikernel.kernels.sequence.tables import CATEGORIES, NUMBERS

TEXT, DATES, OTHER = "text", "dates", "objects of another type"

NAMES: Mapping[str, str] = {
    NUMBERS: "bool boolean int uint float double halffloat decimal null "
    "nonetype natype",
    TEXT: "str string stringdtype large_string string_view utf bytes binary "
    "large_binary binary_view fixed_size_binary",
    CATEGORIES: "category categorical enum dictionary",
    DATES: "date datetime timestamp",
    "durations": "timedelta duration",
    "times of a day": "time",
    "periods": "period",
    "intervals": "interval",
    "complex numbers": "complex",
    "structures": "struct map dict",
    "lists": "list large_list fixed_size_list array ndarray tuple set",
}
"""What types are called that hold the same; what is missing may stand among numbers."""

KINDS = {name: kind for kind, names in NAMES.items() for name in names.split()}

ADVICE: Mapping[str, str] = {
    DATES: "multikernel.TableEncoder makes years of dates, and points on circles of "
    "the days, weeks, months or years: put it before the estimator in a pipeline (it "
    "takes data frames of pandas), or give the days since a date as numbers",
    "durations": "give numbers in a unit of your choice, in pandas and polars for "
    "example by X[{0}].dt.total_seconds()",
    "times of a day": "give the hours as numbers, or their cosine and sine",
    "periods": "make dates of them, X[{0}].dt.to_timestamp(), and numbers of these by "
    "multikernel.TableEncoder",
    "intervals": "give their ends, or the middles, as numbers",
    "complex numbers": "give the real and the imaginary parts as two columns",
    "structures": "give each field as a column, in polars by X.unnest({0})",
    "lists": "give each element as a column",
    OTHER: "give numbers or text",
}
"""What to do with columns that kernels do not take."""

LEFT_TO_NUMPY = ("structures", "lists", OTHER)
"""What NumPy makes no number of."""


def names_of(X: Any) -> list[Any] | None:
    """Return what the columns of a data frame, or of a table of Arrow, are called.

    None is for data whose columns have no names.
    """
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return list(X.columns)
    if hasattr(X, "column_names") and hasattr(X, "schema"):
        return list(X.column_names)
    return None


def is_frame(X: Any) -> bool:
    """Return whether data is a data frame or a table of Arrow."""
    return names_of(X) is not None


def kinds_of(X: Any, *, look: bool = True) -> list[str]:
    """Return what each column holds, of a frame or of an array with two axes.

    It is a key of `NAMES`, or `OTHER`. Without a `look` at values, which Dask does not
    have yet, columns of objects pass as numbers.
    """
    names = names_of(X)
    if names is None:
        types = [X.dtype] * X.shape[1]
    else:
        types = list(X.dtypes) if hasattr(X, "dtypes") else list(X.schema.types)
    # Thousands of columns are of a few types.
    kind_of_type = {kind: _kind_of_type(kind) for kind in set(types)}
    kinds = [kind_of_type[kind] for kind in types]
    for number in [number for number, kind in enumerate(kinds) if kind == OTHER]:
        kinds[number] = NUMBERS
        if look:
            column = X[:, number] if names is None else X[names[number]]
            kinds[number] = _kind_of_values(column_values(column))
    return kinds


def refuse_kinds(
    names: Sequence[Any], kinds: Iterable[str], where: str = "X", out: str = ""
) -> None:
    """Raise for columns that are neither numbers nor text nor categories.

    Messages call the columns by their `names`, and the data `where`; `out` says how
    columns are left out.
    """
    holders: dict[str, list[Any]] = {}
    for name, kind in zip(names, kinds, strict=True):
        if kind in ADVICE:
            holders.setdefault(kind, []).append(name)
    for kind, columns in holders.items():
        several, them = ("s", "them") if len(columns) > 1 else ("", "it")
        raise ValueError(
            f"Kernels take numbers and text, and {where} holds {kind} (column{several} "
            f"{listed(columns)}): {ADVICE[kind].format(repr(columns[0]))}, or leave "
            f"{them} out{out}."
        )


WIDE = ("Int128", "UInt128")
"""Integers of polars that NumPy has no type for: they come as objects."""


def column_values(column: Any) -> Array:
    """Return a column of whatever library as an array of one axis."""
    if hasattr(column, "combine_chunks"):  # a chunked array of Arrow
        column = column.combine_chunks()
    if hasattr(column, "is_valid"):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    if str(getattr(column, "dtype", "")) in WIDE:
        column = column.cast(float)
    return np.asarray(column)


def numbers_of(column: Any, label: str) -> Array:
    """Return a column of numbers as float64, nan where a value is missing."""
    values = column_values(column)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64, copy=False)
    try:
        floats = [np.nan if is_missing(v) else float(v) for v in values.tolist()]
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"Column {label} holds no numbers: {error}.") from error
    return np.array(floats, dtype=np.float64)


def is_missing(value: Any) -> bool:
    """Return whether a value is None, nan, which differs from itself, or pandas.NA."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _kind_of_type(kind: Any) -> str:
    """Return what a type of a column holds; `OTHER` where its values have to say."""
    if getattr(kind, "kind", "") == "V":
        return KINDS["struct"]
    inner = getattr(kind, "subtype", None)
    name = str(getattr(kind, "name", kind))
    # Arrow keeps periods as numbers, and says so in the name of an extension alone.
    name = getattr(kind, "extension_name", name).rpartition("pandas.")[2]
    # A sparse column holds what its type is made of.
    return _named(str(inner) if name.startswith("Sparse") else name) or OTHER


def _kind_of_values(values: Array) -> str:
    """Return the kind of values that is no number, text last, else numbers."""
    kinds = {_kind_of_class(each) for each in set(map(type, values.tolist()))}
    kinds -= {NUMBERS}
    if len(kinds) > 1:
        kinds -= {TEXT}
    return min(kinds, default=NUMBERS)


def _kind_of_class(kind: type) -> str:
    """Return the kind of a class, by its name or its nearest base class's."""
    named = (_named(each.__name__) for each in kind.__mro__)
    first_kind = next((each for each in named if each not in (None, CATEGORIES)), None)
    return first_kind or (NUMBERS if issubclass(kind, Number) else OTHER)


def _named(name: str) -> str | None:
    """Return the kind for a type's name, such as 'timestamp[us, tz=UTC]', or None."""
    word = re.match("[a-z_]*", name.lower())
    return KINDS.get(word[0].rstrip("_")) if word else None
