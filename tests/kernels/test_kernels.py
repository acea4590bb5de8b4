"""Kernels on vectors against their formulas, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.gaussian_process.kernels import RBF, DotProduct

from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    Kernel,
    LinearKernel,
    PolynomialKernel,
    kernel_name,
    resolve_columns,
)

KERNELS = (
    GaussianKernel(0.7),
    PolynomialKernel(1),
    PolynomialKernel(3, offset=0.5, scale=2.0),
    LinearKernel(),
    ColumnKernel(GaussianKernel(2.0), [0, 3]),
    ColumnKernel(PolynomialKernel(2), 1),
    ColumnKernel(LinearKernel(), slice(1, 4, 2)),
    RBF(0.5) + DotProduct(),
)


@pytest.fixture(name="X")
def samples():
    X = np.random.default_rng(3).normal(size=(11, 4))
    X.flags.writeable = False
    return X


def pairs(function, X, Y):
    return np.array([[function(x, y) for y in Y] for x in X])


@pytest.mark.parametrize("kernel", KERNELS, ids=kernel_name)
def test_protocol(kernel, X):
    assert isinstance(kernel, Kernel)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(kernel.diag(X), K.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(kernel(X, X[:5]), K[:, :5], rtol=1e-9)
    assert np.linalg.eigvalsh(K)[0] >= -1e-9 * np.trace(K)


@pytest.mark.parametrize("n_features", [1, 2, 3, 4])
def test_gaussian_formula(X, n_features):
    X = X[:, :n_features]
    expected = pairs(lambda x, y: np.exp(-np.sum((x - y) ** 2) / (2 * 0.7**2)), X, X)
    np.testing.assert_allclose(GaussianKernel(0.7)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(GaussianKernel(0.7)(X[:3], X), expected[:3], rtol=1e-12)


def test_gaussian_far_from_the_origin_loses_nothing(X):
    shifted = X + 1e6
    exact = X + 1e6 - 1e6
    np.testing.assert_allclose(
        GaussianKernel(1.0)(shifted), GaussianKernel(1.0)(exact), rtol=1e-9
    )


def test_gaussian_of_repeated_samples_is_one():
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 2, axis=0)
    np.testing.assert_array_equal(GaussianKernel(0.1)(X).diagonal(), 1.0)


def test_polynomial_formula(X):
    kernel = PolynomialKernel(3, offset=0.5, scale=2.0)
    expected = pairs(lambda x, y: (2.0 * x @ y + 0.5) ** 3, X, X)
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-11, atol=1e-12)


def test_column_kernel_sees_its_columns_only(X):
    kernel = ColumnKernel(GaussianKernel(1.0), [2, 0])
    np.testing.assert_array_equal(kernel(X), GaussianKernel(1.0)(X[:, [2, 0]]))
    changed = X.copy()
    changed[:, [1, 3]] = 99.0
    np.testing.assert_array_equal(kernel(changed, X), kernel(X, X))


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (GaussianKernel(2), "gaussian(sigma=2)"),
        (GaussianKernel(0.25), "gaussian(sigma=0.25)"),
        (PolynomialKernel(3), "polynomial(degree=3)"),
        (PolynomialKernel(2, 0.0), "polynomial(degree=2, offset=0)"),
        (ColumnKernel(LinearKernel(), "age"), "linear()[age]"),
        (ColumnKernel(GaussianKernel(0.5), 3), "gaussian(sigma=0.5)[x3]"),
        (ColumnKernel(LinearKernel(), ["a", "b"]), "linear()[a, b]"),
        (ColumnKernel(LinearKernel(), slice(0, 5)), "linear()[x0:5]"),
        (
            ColumnKernel(LinearKernel(), range(9)),
            "linear()[x0, x1, x2, ... (9 columns)]",
        ),
        (ColumnKernel(LinearKernel(), [0, 1], "size"), "linear()[size]"),
        (RBF(2.0), "RBF(length_scale=2)"),
    ],
)
def test_names(kernel, name):
    assert kernel_name(kernel) == name


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: GaussianKernel(0.0),
            "GaussianKernel: sigma must be .* above 0, .* got 0",
        ),
        (lambda: GaussianKernel(np.nan), "sigma must be"),
        (lambda: GaussianKernel(1e-200), r"sigma must be .* in \[1e-100, 1e\+100\]"),
        (lambda: GaussianKernel("wide"), "sigma must be .* got 'wide'"),
        (lambda: PolynomialKernel(0), "degree must be an integer"),
        (lambda: PolynomialKernel(1.5), "degree must be an integer"),
        (lambda: PolynomialKernel(2, -1.0), "offset must be"),
        (lambda: PolynomialKernel(2, scale=0.0), "scale must be"),
        (lambda: ColumnKernel(LinearKernel(), []), "at least one column"),
        (lambda: ColumnKernel(LinearKernel(), ["a", 1]), "all indices .* or all names"),
        (
            lambda: ColumnKernel(LinearKernel(), [True, False]),
            "pass np.flatnonzero",
        ),
        (lambda: ColumnKernel(LinearKernel(), slice("a", 3)), "slice of columns must"),
        (lambda: ColumnKernel(LinearKernel(), slice("a", "c", 2)), "names and no step"),
        (lambda: ColumnKernel(LinearKernel(), slice(0, 3, 0)), "slice of columns must"),
        (lambda: ColumnKernel(LinearKernel(), slice(0.0, 3)), "slice of columns must"),
        (lambda: ColumnKernel(LinearKernel(), 1.5), "Columns must be an index"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


NAMES = ["worst radius", "mean radius", "age"]


def resolved(kernel, n_features, names=None):
    """Return a kernel whose columns are indices of a table."""
    return resolve_columns([kernel], n_features, names)[0]


@pytest.mark.parametrize(
    ("columns", "names", "message"),
    [
        ("worst radios", NAMES, "'worst radios', which the data .*'worst radius'"),
        ("zzz", NAMES, "Use one of the columns 'worst radius', 'mean radius', 'age'"),
        ("age", None, "no column names: pass a data frame"),
        (3, None, "index 3, but the data has 3 columns: use an index from 0 to 2"),
        ([0, -4], NAMES, "index -4"),
        (slice("age", "worst radius"), NAMES, "selects no column"),
        (slice("age", "ago"), NAMES, "'ago', which the data does not have"),
        (slice("age", None), None, "no column names: pass a data frame"),
        (slice(5, 9), None, "selects no column"),
    ],
)
def test_unknown_columns(columns, names, message):
    kernel = ColumnKernel(LinearKernel(), columns)
    with pytest.raises(ValueError, match=message):
        resolved(kernel, 3, names)


def test_names_without_a_frame_are_refused_when_called(X):
    with pytest.raises(ValueError, match="'age' are names, but an array has no names"):
        ColumnKernel(LinearKernel(), "age")(X)
    with pytest.raises(ValueError, match="'age', 'dose' are names, but an array has"):
        ColumnKernel(LinearKernel(), slice("age", "dose"))(X)


def test_resolved_kernels_hold_indices_and_keep_names():
    kernel = resolved(ColumnKernel(LinearKernel(), ["age", "mean radius"]), 3, NAMES)
    assert kernel.columns == (2, 1)
    assert kernel.name == "linear()[age, mean radius]"
    last = resolved(ColumnKernel(LinearKernel(), -1), 3, NAMES)
    assert last.name.endswith("[age]")
    unnamed = resolved(ColumnKernel(LinearKernel(), 1), 3)
    assert unnamed.name == "linear()[x1]"
    labelled = resolved(ColumnKernel(LinearKernel(), [0, 1], "radii"), 3, NAMES)
    assert labelled.name == "linear()[radii]"
    plain = GaussianKernel(1.0)
    assert resolved(plain, 3, NAMES) is plain


@pytest.mark.parametrize(
    ("columns", "label"),
    [
        (slice(1, 3), "b, c"),
        (slice(1, 6), "b ... f"),
        (slice(None), "a ... f"),
        (slice(0, 6, 2), "a, c, e"),
        (slice("b", "d"), "b, c, d"),
        (slice("c", None), "c, d, e, f"),
        (slice(None, None, -1), "f, e, d, ... (6 columns)"),
    ],
)
def test_slices_get_the_names_of_columns(columns, label):
    kernel = resolved(ColumnKernel(LinearKernel(), columns), 6, tuple("abcdef"))
    assert kernel.name == f"linear()[{label}]"


@pytest.mark.parametrize("kernel", [LinearKernel, "linear", None])
def test_columns_of_no_kernel(kernel):
    with pytest.raises(TypeError, match=r"The kernel of a ColumnKernel (is|must)"):
        ColumnKernel(kernel, 0)


@given(st.integers(1, 9), st.data())
def test_slices_resolve_as_arrays_slice(n, data):
    ends = st.one_of(st.none(), st.integers(-n, n))
    chosen = slice(
        data.draw(ends), data.draw(ends), data.draw(st.sampled_from([None, 1, 2]))
    )
    expected = tuple(np.arange(n)[chosen].tolist())
    if expected:
        kernel = resolved(ColumnKernel(LinearKernel(), chosen), n)
        assert kernel.columns == expected
