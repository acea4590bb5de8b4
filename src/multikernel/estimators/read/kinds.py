"""Kinds of columns: numbers, text, categories, dates, and unsupported kinds.

The first word of a type's name determines the kind, so that neither pandas, polars nor
Arrow is imported. Columns of dtype object have the kind of their values.
"""

import enum
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from numbers import Number
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import listed
from multikernel.datasets.csv_form import NUMBER, WITH_COMMA
from multikernel.kernels.columns import Features
from multikernel.kernels.sequence.builders import LEAST_LETTERS, why_no_sequences
from multikernel.kernels.sequence.letters import from_texts
from multikernel.kernels.sequence.tables import CATEGORIES, NUMBERS, SEQUENCES

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
"""Names of types, by kind of column. Missing values count as numbers."""

KINDS = {name: kind for kind, names in NAMES.items() for name in names.split()}

ADVICE: Mapping[str, str] = {
    DATES: "encode pandas dates with multikernel.TableEncoder in a pipeline before the "
    "estimator, or pass the days since a date as numbers",
    "durations": "convert them to numbers in a unit of your choice, for example with "
    "{0}.dt.total_seconds()",
    "times of a day": "pass the hours as numbers, or their cosine and sine",
    "periods": "convert them to dates with {0}.dt.to_timestamp(), and the dates to "
    "numbers with multikernel.TableEncoder",
    "intervals": "pass their bounds, or the midpoints, as numbers",
    "complex numbers": "pass the real and the imaginary parts as two columns",
    "structures": "pass each field as a column, in polars with X.unnest(...)",
    "lists": "pass each element as a column",
    OTHER: "pass numbers or text",
}
"""How to convert columns that kernels do not support; {0} is the column."""

LEFT_TO_NUMPY = ("structures", "lists", OTHER)
"""Kinds for which NumPy raises the error, because scikit-learn's checks expect it."""


def names_of(X: object) -> list[Hashable] | None:
    """Return the column names of a data frame or Arrow table; None for other data."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return list(X.columns)
    if hasattr(X, "column_names") and hasattr(X, "schema"):
        return list(X.column_names)
    return None


def kinds_of(X: Any, *, look: bool = True) -> list[str]:
    """Return the kind of each column: a key of `NAMES`, or `OTHER`."""
    # The kind of a column of Python objects depends on their values. If `look` is
    # False, as for Dask data, values are not read, and such a column counts as numbers.
    names = names_of(X)
    if names is None:
        types = [X.dtype] * X.shape[1]
    else:
        types = list(X.dtypes) if hasattr(X, "dtypes") else list(X.schema.types)
    # Thousands of columns have only a few types.
    kind_of_type = {dtype: _kind_of_type(dtype) for dtype in set(types)}
    kinds = [kind_of_type[dtype] for dtype in types]
    for index in [index for index, kind in enumerate(kinds) if kind == OTHER]:
        kinds[index] = NUMBERS
        if look:
            column = X[:, index] if names is None else X[names[index]]
            kinds[index] = _kind_of_values(column_values(column))
    return kinds


def refuse_kinds(
    names: Sequence[Hashable], kinds: Iterable[str], where: str = "X", how: str = ""
) -> None:
    """Raise if a column contains neither numbers nor text nor categories."""
    # In the message, `where` is the name of the data, and `how`, such as " with --drop
    # 'day'", says how to remove the columns.
    columns_by_kind: dict[str, list[Hashable]] = {}
    for name, kind in zip(names, kinds, strict=True):
        if kind in ADVICE:
            columns_by_kind.setdefault(kind, []).append(name)
    for kind, columns in columns_by_kind.items():
        several = "s" if len(columns) > 1 else ""
        # The columns of an array have no names, only positions.
        column = f"X[{columns[0]!r}]"
        if isinstance(names, range):
            column = f"pandas.Series(X[:, {columns[0]}])"
        advice = ADVICE[kind].format(column)
        raise ValueError(
            f"Kernels accept numbers and text, but {where} holds {kind} "
            f"(column{several} {listed(columns)}): {advice}, or remove the "
            f"column{several}{how}."
        )


def column_values(column: Any) -> Array:
    """Return a column of a data frame of any library as an array with one axis."""
    if hasattr(column, "combine_chunks"):  # a chunked array of Arrow
        column = column.combine_chunks()
    if hasattr(column, "is_valid"):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    dtype = str(getattr(column, "dtype", ""))
    if dtype in ("Int128", "UInt128"):  # polars; NumPy would return objects
        column = column.cast(float)
    has_objects = dtype == "object" and getattr(column, "ndim", 0) == 1
    has_objects |= isinstance(column, list | tuple)
    if not has_objects or not any(isinstance(value, enum.Enum) for value in column):
        return np.asarray(column)
    # NumPy would truncate the values of Enums that are also strings.
    values = np.empty(len(column), dtype=object)
    values[:] = [getattr(v, "value", v) if isinstance(v, str) else v for v in column]
    return values


LARGEST_INTEGER = 2.0**53
"""Largest integer up to which float64 represents all integers."""


def has_large_floats(values: Array) -> bool:
    """Return whether floating-point numbers may be rounded integers."""
    # In half precision, the limit would be infinite.
    is_float = values.dtype.kind == "f" and values.dtype != np.float16
    return is_float and bool((np.abs(values) >= LARGEST_INTEGER).any())


def as_array(data: object, name: str) -> Array:
    """Return array-like data as an array; the values of lists do not change."""
    try:
        values = column_values(data)
    except TypeError:  # NumPy dates mixed with numbers
        values = np.asarray(data, dtype=object)
    except ValueError as error:
        raise ValueError(
            f"{name} must hold one value per sample, or rows of equal length, but its "
            "rows have different lengths."
        ) from error
    if isinstance(data, list | tuple) and (
        values.dtype.kind in "US" or has_large_floats(values)
    ):
        # NumPy converts numbers to text, removes NUL characters at the end of text, and
        # rounds large integers.
        array = np.asarray(data, dtype=object)
        is_exact = array.ravel().tolist() == values.ravel().tolist()
        values = values if is_exact else array
    # scikit-learn does not support NumPy's StringDType.
    return values.astype(object) if values.dtype.kind == "T" else values


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN (which differs from itself) or pandas.NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    unequal = value != value
    return isinstance(unequal, bool | np.bool_) and bool(unequal)


def column_kind(column: object) -> str:
    """Return the kind of one column of any library; see `kinds_of`."""
    kind = _kind_of_type(getattr(column, "dtype", getattr(column, "type", object)))
    return _kind_of_values(column_values(column)) if kind == OTHER else kind


def _kind_of_type(dtype: object) -> str:
    """Return the kind of a column's type; `OTHER` if its values determine the kind."""
    subtype = getattr(dtype, "subtype", None)
    name = str(getattr(dtype, "name", dtype))
    # Arrow stores periods as numbers, with their type in the extension name only.
    name = getattr(dtype, "extension_name", name).rpartition("pandas.")[2]
    # The type of a sparse column contains the type of its values.
    return _kind_by_name(str(subtype) if name.startswith("Sparse") else name) or OTHER


def _kind_of_values(values: Array) -> str:
    """Return the kind of a column of objects from its values."""
    kinds = {_kind_of_class(cls) for cls in set(map(type, values.tolist()))}
    # An unsupported kind has priority over text, and text over numbers.
    kinds -= {NUMBERS}
    if len(kinds) > 1:
        kinds -= {TEXT}
    return min(kinds, default=NUMBERS)


def _kind_of_class(value_type: type) -> str:
    """Return the kind of a class, from its name or that of its nearest base class."""
    # Skip numbers.Complex, which is a base class of all real numbers.
    bases = (base for base in value_type.__mro__ if base.__module__ != "numbers")
    found_kinds = (_kind_by_name(base.__name__) for base in bases)
    kind = next((base for base in found_kinds if base not in (None, CATEGORIES)), None)
    return kind or (NUMBERS if issubclass(value_type, Number) else OTHER)


def _kind_by_name(name: str) -> str | None:
    """Return the kind for a type's name, such as 'timestamp[us, tz=UTC]', or None."""
    match = re.match("[a-z_]*", name.lower())
    return KINDS.get(match[0].rstrip("_")) if match else None


TEXTS = (TEXT, CATEGORIES)
"""Kinds of columns that are read as sequences or categories."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Input data with their column names, kinds and values, each computed once."""

    data: Any

    @cached_property
    def names(self) -> list[Hashable] | None:
        """The names of the columns; None for data without names."""
        return names_of(self.data)

    def name(self, column: int) -> Hashable:
        """Return the name of a column, or its position in data without names."""
        return column if self.names is None else self.names[column]

    @cached_property
    def table(self) -> Any:
        """The frame itself, or an array with two axes."""
        X = self.data
        return X[:, None] if self.names is None and X.ndim == 1 else X

    @cached_property
    def kinds(self) -> list[str]:
        """The kind of each column; see `kinds_of`."""
        return kinds_of(self.table)

    @cached_property
    def features(self) -> Features:
        """The number and the names of the columns."""
        if self.names is not None:
            return Features(len(self.names), tuple(map(str, self.names)))
        return Features(self.table.shape[1] if self.table.ndim > 1 else 1)

    @cached_property
    def texts(self) -> tuple[int, ...]:
        """The positions of columns of text or of pandas categories."""
        X = self.table
        if self.names is None and (X.dtype.kind not in "OUS" or X.ndim != 2):
            return ()
        return tuple(c for c, kind in enumerate(self.kinds) if kind in TEXTS)

    def column(self, position: int) -> Any:
        """Return a column by its position."""
        if self.names is None:
            return self.table[:, position]
        return self.table[self.names[position]]

    def values(self, position: int) -> Array:
        """Return the values of a column by its position."""
        return column_values(self.column(position))


def default_text_kinds(sheet: Sheet) -> tuple[dict[int, str], dict[int, str]]:
    """Return the kinds of unambiguous text columns, and why others are ambiguous."""
    # Both mappings have the positions of columns as keys.
    kinds, reasons = {}, {}
    for column in sheet.texts:
        if sheet.kinds[column] == CATEGORIES:
            kinds[column] = CATEGORIES
            continue
        values = sheet.values(column).tolist()
        reason = why_no_text_sequences(values)
        if reason is None:
            kinds[column] = SEQUENCES
            continue
        # Arrays of text may contain numbers, so categories require a data frame.
        why_not: str | None = "X is an array, not a data frame"
        if sheet.names is not None:
            why_not = _why_no_categories(values)
        if why_not is None:
            kinds[column] = CATEGORIES
        else:
            reasons[column] = f"neither sequences ({reason}) nor categories ({why_not})"
    return kinds, reasons


def checked_text_kinds(sheet: Sheet) -> dict[int, str]:
    """Return the kind of every text column for ``kernels=None``; raise if ambiguous."""
    kinds, doubts = default_text_kinds(sheet)
    if not doubts or not (kinds or sheet.names is not None):
        return kinds
    column, doubt = next(iter(doubts.items()))
    name = sheet.name(column)
    as_categories = (
        f"For categories, pass a view, kernels={{'a name': [{name!r}]}}, or "
        f"ColumnKernel(CategoryKernel(), {name!r}). "
    )
    present = [v for v in sheet.values(column).tolist() if not is_missing(v)]
    if mostly_differ(len(set(present)), len(present)):
        as_categories = ""
    are_quantities = all(isinstance(v, str) and reads_as_quantity(v) for v in present)
    convert = (
        "If it holds numbers or dates, convert them, for example with "
        "pandas.to_numeric. "
    ) * are_quantities
    raise ValueError(
        f"kernels=None cannot choose a kernel for column {name!r}, which holds "
        f"{doubt}. {convert}{as_categories}For sequences, pass ColumnKernel(kernel, "
        f"{name!r}) with a kernel of multikernel.kernels.sequence. Otherwise remove "
        "the column."
    )


def why_no_text_sequences(values: list[object]) -> str | None:
    """Return why a column of text is not read as sequences; None if it is."""
    if not all(isinstance(value, str | bytes) for value in values):
        return "some values are not text"
    try:
        return why_no_sequences(from_texts(values))
    except ValueError:  # letters beyond Latin-1
        return "not all letters are capitals of DNA, RNA or proteins"


def _why_no_categories(values: list[Any]) -> str | None:
    """Return why a column of text is not read as categories; None if it is."""
    if (odd_cell := first_odd_cell(values)) is not None:
        cell = f"{odd_cell[1]!r} at row {odd_cell[0]}"
        return f"{cell} is not a number, but most cells are: correct it"
    values = [value for value in values if not is_missing(value)]
    if not all(isinstance(value, str) for value in values):
        return "some values are not text"
    distinct_values = set(values)
    if 2 * len(distinct_values) > len(values):
        return "more than half of the values differ"
    if all(len(v) >= LEAST_LETTERS and len(v.split()) == 1 for v in distinct_values):
        return "all values are as long as sequences"
    quantity = next(filter(reads_as_quantity, sorted(distinct_values)), None)
    if quantity is not None:
        return f"{quantity!r} reads as a number or a date"
    if all_match(UNIT_NUMBER, distinct_values):
        return f"{min(distinct_values)!r} reads as a number with a unit"
    if all_match(MONTH_DATE, distinct_values):
        return f"{min(distinct_values)!r} reads as a date"
    return None


LEAST_FILLED = 20
"""Minimum number of values for which `mostly_differ` can return True."""


def mostly_differ(n_distinct: int, n_values: int) -> bool:
    """Return whether over half of the values are distinct; False for few values."""
    return n_values >= LEAST_FILLED and 2 * n_distinct > n_values


def refuse_identifiers(label: str, n_distinct: int, n_values: int) -> None:
    """Raise if over half of the values of a column of categories are distinct."""
    if mostly_differ(n_distinct, n_values):
        raise ValueError(
            f"Column {label} holds {n_distinct} different values in {n_values} "
            "samples. A column of categories may have at most half as many different "
            "values as samples. Remove the column (on the command line by --id or "
            "--drop), or merge its values into fewer categories."
        )


def reads_as_quantity(text: str) -> bool:
    """Return whether a text is a number, an ISO date, or has digits but no letters."""
    # A comma may be the decimal mark. Texts with digits but without letters include
    # 31/01/2024, 1,000,000 and 50 %.
    for parse in (float, datetime.fromisoformat):
        try:
            parse(text.replace(",", "."))
        except ValueError:
            continue
        # `float` also parses "nan" and "inf", which are no quantities.
        return text.strip().lower() not in ("nan", "inf", "infinity")
    if OTHER_NUMBERS.fullmatch(text.strip()):
        return True
    return any(map(str.isdigit, text)) and not any(map(str.isalpha, text))


OTHER_NUMBERS = re.compile(
    r"[-+]?(\d+\.\d*|\.\d+|\d+(?=d[-+]))d[-+]?\d+|[-+]?0x[0-9a-f]+", re.IGNORECASE
)
"""Numbers as Fortran writes them, 1.5D3, and hexadecimal ones, 0x1F."""


_UNIT = (
    r"(?:[kcdmnpu\u00b5\u03bc]?(?:g|m|l|L|s|mol)|[mnu\u00b5\u03bc]M|mcg|lbs?|oz|ft|in"
    r"|miles?|[kM]?bp|k?Hz|[kMG]B|bpm|mmHg|kcal|IU|k|\u00b0[CF]|d|days?|weeks?|months?"
    r"|y|yrs?|years?|h|hrs?|hours?|min|minutes?|sec|seconds?|euros?|dollars?)"
)
_CURRENCY = "(?:USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|US\\$|[$\u20ac\u00a3\u00a5\u20b9])"
_AMOUNT = r"[-+\u2212]?\d[\d.,' ]*(?:[eE][-+]?\d+)?"
UNIT_NUMBER = re.compile(
    rf"\s*(?:{_CURRENCY}\s*{_AMOUNT}"
    rf"|{_AMOUNT}\s*(?:{_CURRENCY}|{_UNIT}[23\u00b2\u00b3]?(?:/\w{{1,5}})?)?)\s*",
    re.ASCII,
)
"""Numbers with a unit or a currency, such as 10 mg or EUR 5; some may have none."""

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
MONTH_DATE = re.compile(
    rf"\s*(?:\d{{1,2}}[ ./-]+{_MONTH}(?:[ ,./-]+\d{{2,4}})?"
    rf"|{_MONTH}[ './-]+\d{{1,4}}(?:,?\s+\d{{4}})?)\s*",
    re.IGNORECASE | re.ASCII,
)
"""Dates with the name of a month, such as 12 Jan 2024 or Jan-24."""

UNIT = re.compile(r"[^\d.,' eE+\-\u2212\s]")
"""A letter or sign that is no part of a number."""

FEWEST_AMOUNTS = 3
"""Minimum number of different texts with units that are not categories."""


def all_match(pattern: re.Pattern[str], values: Iterable[object]) -> bool:
    """Return whether all values are texts that match a pattern of quantities."""
    distinct = set(values)
    if not all(isinstance(v, str) and pattern.fullmatch(v) for v in distinct):
        return False
    # A few doses, such as 10 mg and 20 mg, may be categories. Without any unit, texts
    # such as 1.0.2 are no amounts.
    has_unit = any(UNIT.search(str(v)) for v in distinct)
    return pattern is not UNIT_NUMBER or (len(distinct) >= FEWEST_AMOUNTS and has_unit)


def first_odd_cell(column: object) -> tuple[int, str] | None:
    """Return row and text of the first cell that is no number, or None."""
    # Return None unless most cells, but not all, are numbers.
    values = column_values(column)
    if values.dtype.kind not in "OUST":
        return None
    present = [(row, v) for row, v in enumerate(values.tolist()) if not is_missing(v)]
    cells = [
        (row, value.decode("latin-1") if isinstance(value, bytes) else str(value))
        for row, value in present
    ]
    counts = Counter(cell for _, cell in cells)
    point_numbers = {cell for cell in counts if NUMBER.fullmatch(cell)}
    # The decimal mark is a comma if at least two different numbers contain one, and if
    # more cells contain a comma than a point.
    commas = {cell for cell in counts if "," in cell and WITH_COMMA.fullmatch(cell)}
    accepted_numbers = point_numbers
    dotted = {cell for cell in point_numbers if "." in cell}
    n_commas, n_dotted = (sum(counts[c] for c in group) for group in (commas, dotted))
    # A single cell such as "1,5" among integers is probably an error.
    if len(commas) > 1 and n_commas > n_dotted:
        accepted_numbers = commas | point_numbers - dotted
    n_numbers, n_cells = sum(counts[cell] for cell in accepted_numbers), len(cells)
    # Require at least two different numbers: labels "1" and "a" are classes.
    if len(accepted_numbers) < 2 or n_numbers == n_cells or 2 * n_numbers < n_cells - 1:
        return None
    odd_texts = counts.keys() - accepted_numbers
    return next((row, cell) for row, cell in cells if cell in odd_texts)


UNNAMED = re.compile(r"\s*(Unnamed: ?\d+(\.\d+)*|__index_level_\d+__)?\s*")
"""Default names of unnamed columns in pandas, Arrow and CSV files."""


def row_numbers(name: object, values: object) -> bool:
    """Return whether a first column contains the row numbers that ``to_csv`` writes."""
    if name is not None and not (isinstance(name, str) and UNNAMED.fullmatch(name)):
        return False
    integers = column = column_values(values)
    if column.dtype.kind == "f" and np.isfinite(column).all():
        integers = column.astype(np.int64)
    if integers.dtype.kind not in "iu" or not np.array_equal(integers, column):
        return False
    are_distinct = np.unique(integers).size == integers.size > 1
    return bool(are_distinct and integers.min() >= 0)
