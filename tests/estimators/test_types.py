"""Types of columns: each is read alike by every entry, from every library."""

from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from attack.column_types import (
    EQUAL,
    LIBRARIES,
    NO_NUMBERS,
    REFUSED,
    columns,
    common,
)
from pyarrow import parquet

from multikernel.cli._columns import ColumnChoice
from multikernel.cli._large import read_partitions
from multikernel.cli._tables import read_table
from multikernel.estimators import SpicyMKLRegressor, SpicyMKLRegressorCV
from multikernel.kernels import LinearKernel

TARGET = ColumnChoice(target=("y",))
N = 8
VALUES = common(N)
BASE = {"a": np.sin(np.arange(N)), "s": ["x", "y"] * (N // 2)}
Y = np.cos(np.arange(N)) + 0.1 * np.arange(N)
PLAIN = [LinearKernel()]
VIEWS = {"numbers": (["a", "c"], LinearKernel()), "text": ["s"]}


def frame(library, column, names=("a",), **more):
    columns = {name: BASE[name] for name in names} | {"c": column} | more
    return LIBRARIES[library](columns)


def model(kernels=PLAIN):
    return SpicyMKLRegressor(kernels, alpha=1e-3)


@cache
def fitted(library, *names):
    """A model of numbers in a column, among others."""
    X = frame(library, np.arange(float(N)), names)
    return model(VIEWS if "s" in names else PLAIN).fit(X, Y)


def fit(library, column, tmp_path):
    X = frame(library, column)
    return model().fit(X, Y).predict(X)


def fit_beside_text(library, column, tmp_path):
    X = frame(library, column, ("a", "s"))
    return model(VIEWS).fit(X, Y).predict(X)


def predict(library, column, tmp_path):
    return fitted(library, "a").predict(frame(library, column))


def predict_beside_text(library, column, tmp_path):
    X = frame(library, column, ("a", "s"))
    return fitted(library, "a", "s").predict(X)


def search(library, column, tmp_path):
    X = frame(library, column)
    return SpicyMKLRegressorCV(PLAIN, alphas=[1e-3], cv=2).fit(X, Y).predict(X)


def dask(library, column, tmp_path):
    collection = pytest.importorskip("dask.dataframe")
    X = collection.from_pandas(frame(library, column), npartitions=1)
    found = model().set_params(storage="low_rank").fit(X, Y)
    return found.predict(X).compute(scheduler="synchronous")


def saved(library, column, tmp_path):
    """A Parquet file with the targets."""
    X, path = frame(library, column, y=Y), tmp_path / "data.parquet"
    if library == "arrow":
        parquet.write_table(X, path)
    else:
        (X.to_parquet if library == "pandas" else X.write_parquet)(path)
    return path


def file_of_the_command_line(library, column, tmp_path):
    table = read_table(saved(library, column, tmp_path), TARGET)
    if table.categories:
        raise ValueError("It holds no numbers, and is compared as categories.")
    return model().fit(table.X, table.y).predict(table.X)


def partitions_of_the_command_line(library, column, tmp_path):
    table = read_partitions(saved(library, column, tmp_path), TARGET)
    return model().fit(table.X, table.y).predict(table.X).compute()


FILES = {file_of_the_command_line: fit, partitions_of_the_command_line: dask}
ENTRIES = [
    fit,
    fit_beside_text,
    predict,
    predict_beside_text,
    search,
    dask,
    *FILES,
]
NO_FILE = {"complex", "complex objects", "sparse", "object", "category of numbers"}


def cases():
    for library in LIBRARIES:
        for kind, column in columns(library, N).items():
            for entry in ENTRIES:
                # It takes frames of pandas, and fails by itself on intervals.
                if entry is dask and (library != "pandas" or kind == "interval"):
                    continue
                if entry in FILES and kind in NO_FILE:
                    continue
                # A search reads frames as its fits do.
                marks = [pytest.mark.slow] if entry is search else []
                name = f"{library}-{kind}-{entry.__name__}"
                yield pytest.param(library, kind, column, entry, id=name, marks=marks)


@cache
def expected(entry, kind):
    """What is predicted from a frame of floats, as an entry does it."""
    like = FILES.get(entry, entry)
    return like("pandas", np.array(VALUES[kind], dtype=float), None)


@pytest.mark.parametrize(("library", "kind", "column", "entry"), list(cases()))
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.filterwarnings("ignore:pandas.DataFrame with sparse:UserWarning")
def test_a_type_is_read_alike_everywhere(library, kind, column, entry, tmp_path):
    # Dask makes text of objects.
    text = entry is dask and pd.Series(column).dtype == object
    if kind in EQUAL and not text:
        found = entry(library, column, tmp_path)
        np.testing.assert_array_equal(found, expected(entry, EQUAL[kind]))
        return
    error = NO_NUMBERS if text else REFUSED[kind]
    if entry is fit_beside_text and error == NO_NUMBERS:
        error = "requires numbers, but column 'c' contains categories"
    if entry in FILES and "holds dates" in error:
        error = "Column 'c' of .* holds dates: use them with --date 'c'"
    with pytest.raises(ValueError, match=error):
        entry(library, column, tmp_path)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("datetime64[s]", "holds dates"),
        ("timedelta64[s]", "holds durations"),
        (complex, "Complex data not supported|holds complex numbers"),
        (object, "holds dates"),
    ],
)
def test_arrays_are_read_alike(kind, message):
    X = np.column_stack([BASE["a"], np.arange(N)])
    reference = model().fit(X, Y)
    X = X.astype(kind)
    if kind is object:
        X[:, 1] = VALUES["naive datetime"]
    with pytest.raises(ValueError, match=message):
        model().fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model().fit(X.tolist() if kind in (complex, object) else list(X), Y)
    with pytest.raises(ValueError, match=message):
        reference.predict(X)


def test_objects_get_a_sentence_that_names_a_way_in():
    baskets = [{"bread", number} for number in range(N)]
    for X in (baskets, np.array(baskets), [object()] * N):
        with pytest.raises(ValueError, match=r"one object per sample, .* Grams"):
            model().fit(X, Y)


@pytest.mark.parametrize("library", LIBRARIES)
def test_text_of_every_library_is_compared_as_categories(library):
    X = LIBRARIES[library](BASE)
    found = SpicyMKLRegressor(alpha=1e-3).fit(X, Y)
    same = SpicyMKLRegressor(alpha=1e-3).fit(pd.DataFrame(BASE), Y)
    assert found.kernel_names_ == same.kernel_names_
    np.testing.assert_array_equal(found.predict(X), same.predict(pd.DataFrame(BASE)))


@pytest.mark.parametrize("kind", ["Int128", "UInt128"])
def test_wide_integers_are_numbers(kind):
    polars = pytest.importorskip("polars")
    wide = getattr(polars, kind, None)
    if wide is None:
        pytest.skip(f"this polars has no {kind}")
    table = {"s": BASE["s"], "c": polars.Series(range(N), dtype=wide)}
    X = polars.DataFrame(table)
    same = polars.DataFrame(table | {"c": [float(n) for n in range(N)]})
    views = {"numbers": (["c"], LinearKernel()), "text": ["s"]}
    a, b = (model(views).fit(each, Y).predict(each) for each in (X, same))
    np.testing.assert_array_equal(a, b)


def test_fractions_of_python_are_numbers():
    thirds = [Fraction(k, 3) for k in range(N)]
    plain = SpicyMKLRegressor(PLAIN).fit(np.c_[Y], [float(v) for v in thirds])
    exact = SpicyMKLRegressor(PLAIN).fit(np.c_[Y], thirds)
    np.testing.assert_array_equal(exact.predict(np.c_[Y]), plain.predict(np.c_[Y]))
