"""Columns of all types, in tables of every library, at fits and at predictions.

What is read as numbers must predict as these numbers do, dates and the like must be
refused in a sentence, wherever they stand, and whatever else the table holds.
"""

import datetime as dt
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from attack import inputs
from sklearn.base import clone

from multikernel.kernels import CategoryKernel, ColumnKernel

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


def columns(library, n):
    """Columns of an even number of rows, by their types."""
    shared = common(n)
    return shared | {"pandas": of_pandas, "polars": of_polars, "arrow": of_arrow}[
        library
    ](shared, n)


def common(n):
    """What every library makes columns of, by itself."""
    days = [dt.timedelta(days=i) for i in range(n)]
    when = [dt.datetime(2024, 1, 1) + each for each in days]
    words = ["a", "b"] * (n // 2)
    return {
        "int": list(range(n)),
        "float": [float(i) for i in range(n)],
        "bool": [i % 2 == 0 for i in range(n)],
        "decimal": [Decimal(i) for i in range(n)],
        "string": words,
        "bytes": [word.encode() for word in words],
        "none": [None] * n,
        "naive datetime": when,
        "zoned datetime": [each.replace(tzinfo=dt.UTC) for each in when],
        "date": [each.date() for each in when],
        "duration": days,
        "time": [dt.time(i) for i in range(n)],
        "struct": [{"a": i} for i in range(n)],
        "list": [[i, 1] for i in range(n)],
    }


def of_pandas(shared, n):
    """Columns that only pandas has."""
    words = shared["string"]
    return {
        "category": pd.Categorical(words),
        "category of numbers": pd.Categorical([1, 2] * (n // 2)),
        "complex": np.arange(n) + 1j,
        "complex objects": pd.Series([1j] * n, dtype=object),
        "period": pd.period_range("2024-01", periods=n, freq="M"),
        "interval": pd.interval_range(0, n),
        "nullable int": pd.array(range(n), dtype="Int64"),
        "nullable bool": pd.array(shared["bool"], dtype="boolean"),
        "string of objects": pd.Series(words, dtype=object),
        "sparse": pd.arrays.SparseArray(np.arange(float(n))),
        "arrow int": pd.array(range(n), dtype=pd.ArrowDtype(pa.int64())),
        "arrow datetime": pd.array(
            shared["naive datetime"], dtype=pd.ArrowDtype(pa.timestamp("us"))
        ),
        "arrow date": pd.array(shared["date"], dtype=pd.ArrowDtype(pa.date32())),
    }


def of_polars(shared, n):
    """Columns that only polars has."""
    words = shared["string"]
    return {
        "category": pl.Series(words, dtype=pl.Categorical),
        "enum": pl.Series(words, dtype=pl.Enum(["a", "b"])),
        "array": pl.Series([[1, 2]] * n, dtype=pl.Array(pl.Int64, 2)),
        "object": pl.Series([object()] * n, dtype=pl.Object),
        "small int": pl.Series(range(n), dtype=pl.UInt8),
    }


def of_arrow(shared, n):
    """Columns that only Arrow has."""
    words = shared["string"]
    return {
        "category": pa.array(words).dictionary_encode(),
        "array": pa.array([[1, 2]] * n, type=pa.list_(pa.int64(), 2)),
        "small float": pa.array(np.arange(n, dtype=np.float16)),
        "large string": pa.array(words, type=pa.large_string()),
    }


EQUAL = dict.fromkeys(["int", "float", "decimal", "sparse"], "float") | {
    "nullable int": "float",
    "arrow int": "float",
    "small int": "float",
    "small float": "float",
    "bool": "bool",
    "nullable bool": "bool",
}
"""Types that are read as numbers, and others with the same numbers."""

NO_NUMBERS = (
    "that are not numeric|must be numeric|non-numeric|holds no numbers|"
    "holds text, but held numbers in fit"
)
REFUSED = {
    "none": "contains NaN",
    "string": NO_NUMBERS,
    "string of objects": NO_NUMBERS,
    "large string": NO_NUMBERS,
    "bytes": NO_NUMBERS,
    "category": NO_NUMBERS,
    "category of numbers": NO_NUMBERS,
    "enum": NO_NUMBERS,
    "naive datetime": r"holds dates \(column 'c'\): encode .* multikernel.TableEncoder",
    "zoned datetime": "holds dates .*TableEncoder",
    "arrow datetime": "holds dates .*TableEncoder",
    "date": "holds dates .*TableEncoder",
    "arrow date": "holds dates .*TableEncoder",
    "duration": r"holds durations .*X\['c'\]\.dt\.total_seconds\(\)",
    "time": "holds times of a day .*hours as numbers",
    "period": "holds periods .*to_timestamp",
    "interval": "holds intervals .*midpoints",
    "complex": "holds complex numbers .*two columns",
    "complex objects": "holds complex numbers .*two columns",
    "struct": "holds structures .*each field",
    "list": "holds lists .*each element",
    "array": "holds lists .*each element",
    "object": "holds objects of another type .*pass numbers or text",
}
"""What is said of the others."""


def run_one(seed):
    """Return the findings of one table: (category, sentence) pairs."""
    random = np.random.default_rng([seed, 41])
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attempt(random, found)
    return found


def attempt(random, found):
    """Fit and predict with one column of another type, at either of them or at both."""
    model, X, y = inputs.base(random)
    while X.ndim != 2:  # Gram matrices
        model, X, y = inputs.base(random)
    n, width = X.shape
    library = str(random.choice(list(LIBRARIES)))
    types = columns(library, n)
    kind, at = str(random.choice(list(types))), f"x{random.integers(width)}"
    numbers = {f"x{c}": X[:, c] for c in range(width)}
    if kind in EQUAL:
        numbers[at] = np.array(common(n)[EQUAL[kind]], dtype=float)
    if random.random() < 0.5 and isinstance(model.kernels, list):
        numbers["word"] = ["x", "y"] * (n // 2)
        model.set_params(
            kernels=[
                *(ColumnKernel(k, ["x0", "x1", "x2"]) for k in model.kernels[:2]),
                ColumnKernel(CategoryKernel(), "word"),
            ]
        )
    plain = LIBRARIES[library](numbers)
    odd = LIBRARIES[library](numbers | {at: types[kind]})
    places = [(odd, odd), (odd, plain), (plain, odd)]
    fitted, new = places[random.integers(3)]
    what = f"{kind} of {library} in {at} of {type(model).__name__}({model.kernels})"
    try:
        values = clone(model).fit(fitted, y).predict(new)
    except inputs.DOCUMENTED as error:
        found += inputs.judge_error(error)
        if kind in EQUAL and not fails(model, plain, y):
            found.append(("inconsistent", f"{what}: {inputs.described(error)}"))
        return
    except Exception as error:
        found.append(("exceptions", f"{what}: {inputs.described(error)}"))
        return
    if kind in EQUAL:
        same = clone(model).fit(plain, y).predict(plain)
        if not np.array_equal(values, same):
            found.append(("inconsistent", f"{what}: other predictions than of floats"))
    elif REFUSED[kind] != NO_NUMBERS:
        found.append(("inconsistent", f"{what} was taken for something else"))


def fails(model, X, y):
    """Whether a fit is refused without any odd column."""
    try:
        clone(model).fit(X, y)
    except inputs.DOCUMENTED:
        return True
    return False
