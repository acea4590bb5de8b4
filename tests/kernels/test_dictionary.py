"""Dictionaries, ready-made ones, and the resolution of column names."""

import sys
import tracemalloc

import numpy as np
import pytest

from multikernel.gram import lazy_stack
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
    ParameterGrid,
    PolynomialKernel,
    kernel_name,
    kernel_names,
    per_column,
    per_group,
    random_subset_gaussians,
    resolve_columns,
    spicy_dictionary,
)

NAMES = ["a", "b", "c"]


def test_spicy_dictionary_is_the_papers():
    dictionary = spicy_dictionary(NAMES)
    assert len(dictionary) == 27 * 4
    names = kernel_names(resolve_columns(dictionary, 3, NAMES))
    assert names[:2] == ["gaussian(sigma=0.1)", "gaussian(sigma=0.25)"]
    assert names[23:28] == [
        "gaussian(sigma=20)",
        "polynomial(degree=1)",
        "polynomial(degree=2)",
        "polynomial(degree=3)",
        "gaussian(sigma=0.1)[a]",
    ]
    assert len(set(names)) == len(names)
    by_number = kernel_names(spicy_dictionary(3))
    assert by_number[27] == "gaussian(sigma=0.1)[x0]"


def test_grid_indexing():
    grid = ParameterGrid([GaussianKernel(1.0), LinearKernel()], [slice(None), 1])
    assert [grid[i] for i in range(4)] == [
        GaussianKernel(1.0),
        LinearKernel(),
        ColumnKernel(GaussianKernel(1.0), 1),
        ColumnKernel(LinearKernel(), 1),
    ]
    assert grid[-1] == grid[3]
    with pytest.raises(IndexError):
        grid[4]
    assert len(list(grid)) == 4


def test_a_grid_is_never_written_out():
    widths = [GaussianKernel(float(w)) for w in range(1, 1001)]
    tracemalloc.start()
    grid = ParameterGrid(widths, range(1000))
    assert len(grid) == 1_000_000
    assert grid[999_999].name == "gaussian(sigma=1000)[x999]"
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def test_builders():
    assert kernel_names(per_column(LinearKernel(), 2)) == [
        "linear()[x0]",
        "linear()[x1]",
    ]
    groups = per_group({"first": ["a", "c"], "second": "b"}, PolynomialKernel(2))
    resolved = resolve_columns(groups, 3, NAMES)
    assert kernel_names(resolved) == [
        "polynomial(degree=2)[first]",
        "polynomial(degree=2)[second]",
    ]
    assert resolved[0].columns == (0, 2)


def test_random_subsets():
    dictionary = random_subset_gaussians(3000, 20, random_state=0)
    again = random_subset_gaussians(3000, 20, random_state=0)
    other = random_subset_gaussians(3000, 20, random_state=1)
    assert dictionary[17] == again[17] != other[17]
    sizes = np.array([len(kernel.columns) for kernel in dictionary])
    sigmas = np.array([kernel.kernel.sigma for kernel in dictionary])
    assert sizes.min() >= 1
    assert abs(sizes.mean() - 10.0) < 5 * np.sqrt(5.0 / 3000)
    assert sigmas.min() > 0.1
    # The mean of a chi-squared variable with two degrees of freedom is 2, its
    # standard deviation 2.
    assert abs(sigmas.mean() - 10.1) < 5 * 10.0 / np.sqrt(3000)


def test_random_subsets_of_one_feature_are_not_empty():
    dictionary = random_subset_gaussians(50, 1, random_state=0)
    assert {kernel.columns for kernel in dictionary} == {(0,)}


def test_the_table_of_random_subsets_is_the_kernels():
    dictionary = random_subset_gaussians(300, 11, random_state=0)
    X, every = np.random.default_rng(0).normal(size=(4, 11)), np.arange(4)
    fast = lazy_stack(dictionary, X).columns(every)
    slow = lazy_stack(ListDictionary(list(dictionary)), X).columns(every)
    np.testing.assert_allclose(fast, slow, rtol=1e-12)
    for m in (0, 150, 299):
        np.testing.assert_allclose(fast[m], dictionary[m](X), rtol=1e-12)


def test_random_subsets_take_the_names_of_columns():
    dictionary = random_subset_gaussians(4, 3, random_state=0)
    resolved = resolve_columns(dictionary, 3, NAMES)
    label = ", ".join(NAMES[c] for c in dictionary[0].columns)
    assert resolved[0].name.endswith(f"[{label}]")
    with pytest.raises(ValueError, match="data with 3 columns, but the data has 4"):
        resolve_columns(dictionary, 4)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: ListDictionary([]), ValueError, "at least one kernel"),
        (lambda: ParameterGrid([], [0]), ValueError, "at least one kernel"),
        (lambda: ParameterGrid([LinearKernel()], []), ValueError, "one set of columns"),
        (lambda: per_group(LinearKernel(), {}), ValueError, "groups must be a mapping"),
        (lambda: per_group({}, LinearKernel()), ValueError, "at least one kernel"),
        (
            lambda: ListDictionary(["rbf"]),
            TypeError,
            r"Kernel 0 must be callable as kernel\(X, Y\) .* got 'rbf'",
        ),
        (
            lambda: ListDictionary([np.eye(3)]),
            TypeError,
            r"Kernel 0 is an array of shape \(3, 3\): pass a Gram matrix",
        ),
        (
            lambda: ParameterGrid([LinearKernel], [0]),
            TypeError,
            "Kernel 0 is the class LinearKernel: pass an object",
        ),
        (
            lambda: ListDictionary([LinearKernel()] * 2, names=["a", "a"]),
            ValueError,
            "2 kernels are named 'a'",
        ),
        (
            lambda: ListDictionary([LinearKernel()], names=["a", "b"]),
            ValueError,
            "2 names for 1 kernels",
        ),
        (
            lambda: ListDictionary(
                [ColumnKernel(LinearKernel(), c, "size") for c in (0, 1)]
            ),
            ValueError,
            r"2 kernels are named 'linear\(\)\[size\]'",
        ),
        (lambda: random_subset_gaussians(0, 3, 0), ValueError, "n_kernels must be"),
        (lambda: spicy_dictionary(0), ValueError, "features must be"),
    ],
)
def test_bad_dictionaries(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_kernels_that_share_a_name_are_numbered():
    dictionary = ListDictionary(
        [
            ColumnKernel(LinearKernel(), "a"),
            LinearKernel(),
            ColumnKernel(LinearKernel(), 0),
        ]
    )
    assert kernel_names(dictionary) == ["linear()[a]", "linear()", "linear()[x0]"]
    assert kernel_names(resolve_columns(dictionary, 3, NAMES)) == [
        "linear()[a] #0",
        "linear()",
        "linear()[a] #2",
    ]


def test_given_names_survive_resolution():
    dictionary = ListDictionary([LinearKernel()], names=["lines"])
    assert kernel_names(resolve_columns(dictionary, 3)) == ["lines"]


@pytest.mark.parametrize(
    "dictionary",
    [
        ListDictionary([LinearKernel(), ColumnKernel(LinearKernel(), "d")]),
        ParameterGrid([LinearKernel()], ["a", "d"]),
    ],
    ids=["list", "grid"],
)
def test_unknown_columns_are_found_at_once(dictionary):
    with pytest.raises(ValueError, match="'d', which the data does not have"):
        resolve_columns(dictionary, 3, NAMES)


def test_an_unknown_dictionary_is_resolved_as_it_is_read():
    class Own:
        def __len__(self):
            return 1

        def __getitem__(self, index):
            return ColumnKernel(LinearKernel(), "b")

    assert resolve_columns(Own(), 3, NAMES)[0].columns == (1,)


@pytest.mark.parametrize("number", [np.int64(3), np.int32(3), np.uint8(3)])
def test_numbers_of_columns_may_be_numpys(number):
    assert len(per_column(LinearKernel(), number)) == 3
    assert len(spicy_dictionary(number)) == 27 * 4
    assert per_column(LinearKernel(), number)[2].name == "linear()[x2]"


def many_dictionaries(count, features):
    widths = [GaussianKernel(float(width)) for width in range(1, 11)]
    subsets = random_subset_gaussians(count, len(features), random_state=0)
    every = [slice(None), slice(features[0], None), *features]
    listed = [ColumnKernel(LinearKernel(), name) for name in features]
    return {
        "grid": ParameterGrid(widths, every[: count // 10]),
        "subsets": subsets,
        "list": ListDictionary(listed[:count]),
    }


@pytest.mark.parametrize("kind", ["grid", "subsets", "list"])
def test_names_without_kernels_are_those_of_the_kernels(kind):
    features = [f"feature {i}" for i in range(40)]
    dictionary = many_dictionaries(30, features)[kind]
    resolved = resolve_columns(dictionary, 40, features)
    expected = [kernel_name(resolved[m]) for m in range(len(resolved))]
    assert kernel_names(resolved) == expected
    assert kernel_names(resolved, [7, -1, 0]) == [expected[m] for m in (7, -1, 0)]
    assert kernel_names(resolved, np.array([2])) == [expected[2]]
    assert kernel_names(resolved, []) == []
    with pytest.raises(IndexError):
        kernel_names(resolved, [len(resolved)])


def calls_for_names(kind, count):
    """Return how many calls, of Python and of C, the names of kernels take."""
    features = [f"feature {i}" for i in range(20 if kind == "subsets" else count)]
    dictionary = many_dictionaries(count, features)[kind]
    calls = 0

    def note(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        names = kernel_names(resolve_columns(dictionary, len(features), features))
    finally:
        sys.setprofile(before)
    assert len(names) == len(dictionary) == count
    return calls


@pytest.mark.parametrize("kind", ["grid", "subsets", "list"])
def test_the_work_for_names_grows_as_their_number(kind):
    # With the square of it, it would be 64 times as much.
    assert calls_for_names(kind, 8000) < 16 * calls_for_names(kind, 1000)


def test_a_grid_needs_as_many_labels_as_column_sets():
    grid = ParameterGrid([LinearKernel()], [0, [1, 2]], ["first", "rest"])
    assert kernel_names(grid) == ["linear()[first]", "linear()[rest]"]
    with pytest.raises(ValueError, match="1 labels for 2 column sets"):
        ParameterGrid([LinearKernel()], [0, 1], ["first"])
