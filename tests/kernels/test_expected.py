"""Kernels in expectation over missing values: by quadrature, definite, through fits."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from multikernel import SpicyMKLRegressor, SpicyMKLRegressorCV, load, save
from multikernel.kernels import (
    CategoryKernel,
    ExpectedKernel,
    GaussianKernel,
    LinearKernel,
    PolynomialKernel,
    Views,
)
from multikernel.kernels.expected import fill_gaps
from multikernel.testing import check_kernel

KERNELS = [GaussianKernel(0.8), LinearKernel(), CategoryKernel()]


def holed(n=30, d=4, seed=0, share=0.3):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, d)).astype(float)
    gaps = X.copy()
    gaps[rng.random((n, d)) < share] = np.nan
    gaps[:2] = [X[0], np.full(d, np.nan)]
    return X, gaps


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("seed", range(4))
def test_they_are_kernels(kernel, share, seed):
    X, gaps = holed(share=share, seed=seed)
    expected = ExpectedKernel(kernel).learnt_from(gaps)
    check_kernel(expected, gaps)
    # A sample that lacks everything, and another that does, are no copies.
    np.testing.assert_allclose(expected.diag(gaps), np.diagonal(expected(gaps)))
    plain = ExpectedKernel(kernel).learnt_from(X)
    np.testing.assert_allclose(plain(X), kernel(X), atol=1e-12)
    np.testing.assert_allclose(plain(X[:9], X[9:]), kernel(X[:9], X[9:]), atol=1e-12)


def test_gaussian_expectations_are_those_of_quadrature():
    rng = np.random.default_rng(0)
    gaps = rng.standard_normal((12, 2)) * [1.0, 3.0] + [0.0, 5.0]
    gaps[:4, 0] = gaps[3:7, 1] = np.nan
    w = rng.uniform(0.5, 2.0, 12)
    sigma = 1.3
    K = ExpectedKernel(GaussianKernel(sigma)).learnt_from(gaps, w)(gaps)
    nodes, masses = np.polynomial.hermite_e.hermegauss(80)
    masses = masses / masses.sum()
    product = np.ones_like(K)
    for column in gaps.T:
        known = ~np.isnan(column)
        mean = np.average(column[known], weights=w[known])
        deviation = np.average((column[known] - mean) ** 2, weights=w[known]) ** 0.5
        drawn = mean + deviation * nodes
        for i, j in np.ndindex(K.shape):
            a = (column[[i]], [1.0]) if known[i] else (drawn, masses)
            b = (column[[j]], [1.0]) if known[j] else (drawn, masses)
            values = np.exp(-((a[0][:, None] - b[0]) ** 2) / (2 * sigma**2))
            product[i, j] *= a[1] @ values @ b[1]
    np.testing.assert_allclose(K, product, rtol=1e-8)


def test_category_expectations_are_averages_over_the_categories():
    _, gaps = holed(d=1)
    K = ExpectedKernel(CategoryKernel()).learnt_from(gaps)(gaps)
    codes = gaps[:, 0]
    known = codes[~np.isnan(codes)]
    each = [known if np.isnan(code) else np.array([code]) for code in codes]
    means = [[np.mean(a[:, None] == b) for b in each] for a in each]
    np.testing.assert_allclose(K, means)
    # A category that was not met agrees with nothing.
    learnt = ExpectedKernel(CategoryKernel()).learnt_from(gaps)
    assert not learnt(np.array([[7.0], [-1.0]]), gaps).any()


def test_gaps_are_filled_alike_in_any_order():
    _, gaps = holed(n=60)
    filled = fill_gaps(gaps)
    order = np.random.default_rng(1).permutation(60)
    again = fill_gaps(gaps[order])
    assert sorted(map(tuple, again)) == sorted(map(tuple, filled))
    known = ~np.isnan(gaps)
    np.testing.assert_array_equal(filled[known], gaps[known])
    for j in range(4):
        assert set(filled[:, j]) <= set(gaps[known[:, j], j])


def frame(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    X["site"] = rng.choice(["colon", "lung", "skin"], n)
    y = np.sin(2 * X["a"]) + (X["site"] == "lung") + 0.1 * rng.standard_normal(n)
    X.loc[X.index % 5 == 0, "a"] = np.nan
    X.loc[X.index % 7 == 0, ["b", "c"]] = np.nan
    X.loc[X.index % 11 == 0, "site"] = None
    return X, y.to_numpy()


VIEWS = {"wave": ["a", "d"], "pair": ["b", "c"], "site": "site"}


def test_gaps_of_all_kinds_go_through_folds_and_files(tmp_path):
    X, y = frame()
    missing = {"wave": "expected", "pair": "zero", "site": "expected"}
    for choice in ("expected", missing):
        views = Views(VIEWS, missing=choice)
        model = SpicyMKLRegressor(views, alpha=0.02, tol=1e-6).fit(X, y)
        assert model.duality_gap_ <= 1e-6
        assert model.score(X, y) > 0.6
        assert cross_val_score(model, X, y, cv=3).mean() > 0.4
        save(model, tmp_path / "model.skops")
        again = load(tmp_path / "model.skops")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    own = SpicyMKLRegressorCV(Views(VIEWS, missing="expected"), n_alphas=5, cv=3)
    assert own.fit(X, y).score(X, y) > 0.6
    low_rank = SpicyMKLRegressor(views, alpha=0.02, tol=1e-6, storage="low_rank")
    np.testing.assert_allclose(
        low_rank.fit(X, y).predict(X), model.predict(X), atol=1e-2
    )


def test_without_gaps_it_is_the_plain_model():
    X, y = frame()
    X = X.dropna()
    y = y[X.index]
    plain = SpicyMKLRegressor(VIEWS, alpha=0.02, tol=1e-8).fit(X, y)
    taken = SpicyMKLRegressor(Views(VIEWS, "expected"), alpha=0.02, tol=1e-8).fit(X, y)
    assert taken.kernel_names_ == plain.kernel_names_
    np.testing.assert_allclose(taken.predict(X), plain.predict(X), atol=1e-5)


@pytest.mark.parametrize(
    ("views", "missing", "message"),
    [
        (VIEWS, "error", r"missing='expected'\), which accepts missing values"),
        (VIEWS, {"pair": "expected"}, r"contains NaN at row 0, column 'a'"),
        (VIEWS, "zero", r"Row 0 has missing .* view 'wave'.*missing='expected'\) i"),
        ({"p": (["a"], PolynomialKernel(2))}, "expected", "View 'p': polynomial.*use"),
        ({"w": "a", "v": "a"}, {"w": "expected"}, "contains NaN at row 0, column 'a'"),
    ],
)
def test_gaps_that_nothing_bears_are_refused(views, missing, message):
    X, y = frame()
    with pytest.raises((ValueError, TypeError), match=message):
        SpicyMKLRegressor(Views(views, missing)).fit(X, y)


def test_what_missing_may_be():
    with pytest.raises(ValueError, match="missing must be one of 'error', 'zero', 'ex"):
        Views(VIEWS, "mean")
    with pytest.raises(
        ValueError, match="missing contains 'sight', which is not one of"
    ):
        Views(VIEWS, {"sight": "zero"})
    empty = np.full((5, 1), np.nan)
    with pytest.raises(ValueError, match="no sample has a value in column"):
        ExpectedKernel(LinearKernel()).learnt_from(empty)
    with pytest.raises(
        ValueError, match="has not learned the distribution of missing values"
    ):
        ExpectedKernel(GaussianKernel(1.0))(np.zeros((2, 1)))
