"""Scaled intervals equal their definition, cover, and widen where data are few."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import SpicyMKLRegressor, SpicyMKLRegressorCV
from multikernel.inspection import scaled_intervals, term_posterior
from multikernel.kernels import GaussianKernel, LinearKernel


def table(n_samples, seed):
    """Return samples whose noise grows with their distance from the middle."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_samples, 2))
    noise = 0.1 + 0.2 * np.sum(X**2, axis=1)
    return X, np.sin(X[:, 0]) + X[:, 1] + noise * random.standard_normal(n_samples)


def test_the_definition():
    X, y = table(60, 0)
    model = SpicyMKLRegressorCV(GaussianKernel(2.0), cv=4, intervals=True).fit(X, y)
    found, new = scaled_intervals(model, X, y), table(7, 1)[0]
    low, high = found.predict_interval(new, coverage=0.8)
    folds, lower, upper = model._state.folds, [], []
    order = [np.flatnonzero((row == X).all(axis=1))[0] for row in X[np.lexsort(X.T)]]
    for row in order:
        predicted = [each.decision_values(X[[row]])[0, 0] for each in folds.models]
        # The fold of a sample is the one whose model has its residual.
        off = [abs(folds.residuals[:, 0] - abs(y[row] - f)).min() for f in predicted]
        k = int(np.argmin(off))
        posterior = found.posteriors[k]
        score = abs(y[row] - predicted[k]) / posterior.predict_deviation(X[[row]])[0, 0]
        f = folds.models[k].decision_values(new)[:, 0]
        deviation = posterior.predict_deviation(new)[:, 0]
        lower.append(f - score * deviation)
        upper.append(f + score * deviation)
    rank = math.ceil(0.8 * 61)
    np.testing.assert_allclose(high, np.sort(upper, axis=0)[rank - 1])
    np.testing.assert_allclose(low, np.sort(lower, axis=0)[60 - rank])


def test_coverage_and_widths_where_noise_grows_away_from_the_data():
    coverage, ranks = [], []
    for seed in range(4):
        X, y = table(150, seed)
        new, targets = table(1000, 100 + seed)
        kernels = [LinearKernel(), GaussianKernel("median")]
        model = SpicyMKLRegressorCV(kernels, intervals=True).fit(X, y)
        low, high = scaled_intervals(model, X, y).predict_interval(new)
        coverage.append(np.mean((low <= targets) & (targets <= high)))
        error = np.abs(targets - model.predict(new))
        ranks.append(spearmanr(high - low, error).statistic)
    assert abs(np.mean(coverage) - 0.9) < 0.03
    assert np.mean(ranks) > 0.25


def test_predict_deviation_is_that_of_a_linear_model():
    X, y = table(80, 3)
    model = SpicyMKLRegressor(LinearKernel(), alpha=1e-7).fit(X, y)
    found = term_posterior(model, X, y).predict_deviation([[0.0, 0.0], [3.0, -4.0]])
    residuals = y - LinearRegression().fit(X, y).predict(X)
    noise = residuals @ residuals / 77
    centered = X - X.mean(axis=0)
    apart = np.array([[0.0, 0.0], [3.0, -4.0]]) - X.mean(axis=0)
    inverse = np.linalg.inv(centered.T @ centered)
    expected = noise * (1.0 + np.einsum("ij,jk,ik->i", apart, inverse, apart))
    np.testing.assert_allclose(found[:, 0], np.sqrt(expected), rtol=1e-3)


def test_pipelines_and_frames():
    X, y = table(60, 4)
    frame = pd.DataFrame(10.0 + 3.0 * X, columns=["a", "b"])
    search = SpicyMKLRegressorCV(GaussianKernel(2.0), intervals=True)
    model = make_pipeline(StandardScaler(), search).fit(frame, y)
    low, high = scaled_intervals(model, frame, y).predict_interval(frame[:3])
    predicted = model.predict(frame[:3])
    assert ((low < predicted) & (predicted < high)).all()


def test_refusals():
    X, y = table(40, 5)
    model = SpicyMKLRegressor(GaussianKernel(2.0)).fit(X, y)
    with pytest.raises(ValueError, match="intervals=True"):
        scaled_intervals(model, X, y)
    search = SpicyMKLRegressorCV(GaussianKernel(2.0), intervals=True).fit(X, y)
    with pytest.raises(ValueError, match="pass the X and y of the fit"):
        scaled_intervals(search, X, y[::-1])
    search = SpicyMKLRegressorCV(GaussianKernel(2.0), loss="huber", intervals=True)
    with pytest.raises(ValueError, match="squared_error"):
        scaled_intervals(search.fit(X, y), X, y)


def test_predict_deviation_of_a_pipeline_and_of_a_sparse_table():
    X = 10.0 + 100.0 * np.random.default_rng(0).normal(size=(60, 2))
    y = np.sin(X[:, 0] / 100.0)
    pipeline = make_pipeline(StandardScaler(), SpicyMKLRegressor()).fit(X, y)
    scaled = pipeline[0].transform(X)
    behind = term_posterior(pipeline[-1], scaled, y).predict_deviation(scaled)
    found = term_posterior(pipeline, X, y).predict_deviation(X)
    np.testing.assert_allclose(found, behind)
    bits = (scaled > 0.5).astype(float)
    dense, packed = (
        term_posterior(SpicyMKLRegressor("tanimoto").fit(table, y), table, y)
        for table in (bits, sparse.csr_array(bits))
    )
    within = packed.predict_deviation(sparse.csr_array(bits))
    np.testing.assert_allclose(within, dense.predict_deviation(bits))
