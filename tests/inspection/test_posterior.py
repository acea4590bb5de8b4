"""Posteriors of terms against Gaussian processes and the dense formula."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import (
    FixedWeightsMKLRegressor,
    GroupOMPRegressor,
    HKLRegressor,
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
)
from multikernel.display import ContributionDisplay, ExplanationDisplay
from multikernel.inspection import bootstrap, term_posterior
from multikernel.kernels import GaussianKernel, LinearKernel, Unpenalized, per_column

SQUARED = "squared_error"
KERNELS = per_column(GaussianKernel(1.0), 3)


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = random.uniform(-2.0, 2.0, size=(60, 3))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + random.normal(0.0, 0.3, 60)
    return X, y, random.uniform(-2.0, 2.0, size=(20, 3)), random.uniform(0.5, 2.0, 60)


def dense(X, y, X_new, theta, weights, B, m):
    """Return the mean and the deviation of term m by the formula, from the targets."""
    grams = [np.exp(-((X[:, [j]] - X[:, j]) ** 2) / 2.0) for j in range(3)]
    cross = theta[m] * np.exp(-((X_new[:, [m]] - X[:, m]) ** 2) / 2.0)
    A = np.tensordot(theta, grams, 1) + np.diag(1.0 / weights)
    inverse = np.linalg.inv(A)
    P = inverse
    if B.shape[1]:
        P = inverse - inverse @ B @ np.linalg.inv(B.T @ inverse @ B) @ B.T @ inverse
    residuals = P @ y / weights
    noise = residuals @ (weights * residuals) / np.trace(P / weights[:, None])
    return cross @ P @ y, np.sqrt(
        noise * (theta[m] - np.einsum("ij,jk,ik->i", cross, P, cross))
    )


def test_one_kernel_is_the_gaussian_process_of_scikit_learn(data):
    X, y, X_new, _ = data
    model = FixedWeightsMKLRegressor(
        [GaussianKernel(1.0)],
        C=4.0,
        loss=SQUARED,
        normalize=None,
        fit_intercept=False,
    ).fit(X, y)
    posterior = term_posterior(model, X, y)
    noise = float(posterior.noise_variance[0])
    kernel = ConstantKernel(4.0 * noise) * RBF(1.0)
    process = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, y)
    mean, deviation = process.predict(X_new, return_std=True)
    low, high = posterior.band(X_new, [0], 0.9)
    np.testing.assert_allclose((low + high)[:, 0] / 2.0, mean, atol=1e-6)
    half = norm.ppf(0.95) * deviation
    np.testing.assert_allclose((high - low)[:, 0] / 2.0, half, rtol=1e-5)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLRegressor(KERNELS, 0.01, tol=1e-8),
        LpMKLRegressor(KERNELS, C=5.0, loss=SQUARED, tol=1e-10),
        LpMKLRegressor(KERNELS, C=5.0, p=1.0, loss=SQUARED, tol=1e-10),
        GroupOMPRegressor(KERNELS, alpha=0.01),
        FixedWeightsMKLRegressor(KERNELS, C=5.0, loss=SQUARED, tol=1e-10),
    ],
    ids=["SpicyMKL", "lp", "l1", "Group-OMP", "fixed"],
)
def test_every_method_has_the_posterior_of_its_weights(
    data, model, weighted, fit_intercept
):
    X, y, X_new, sample_weight = data
    given = sample_weight if weighted else None
    model.set_params(fit_intercept=fit_intercept, normalize=None)
    model.fit(X, y, sample_weight=given)
    posterior = term_posterior(model, X, y, sample_weight=given)
    # All methods publish what is a multiple of the prior weights.
    active = model.active_kernels_
    ratios = posterior.prior_weights[0] / model.kernel_weights_[active]
    np.testing.assert_allclose(ratios, ratios[0], rtol=2e-3)
    theta = np.zeros(3)
    theta[active] = posterior.prior_weights[0]
    weights = sample_weight if weighted else np.ones(60)
    B = np.ones((60, int(fit_intercept)))
    terms = model.contributions(X_new)
    for position, m in enumerate(active):
        mean, deviation = dense(X, y, X_new, theta, weights, B, m)
        np.testing.assert_allclose(mean, terms[:, position], atol=2e-3)
        low, high = posterior.band(X_new, [m], 0.9)
        half = norm.ppf(0.95) * deviation
        np.testing.assert_allclose((high - low)[:, 0] / 2.0, half, rtol=1e-4)


def test_a_band_of_a_centered_sum_is_that_of_the_linear_map_of_it(data):
    X, y, X_new, _ = data
    model = SpicyMKLRegressor(KERNELS, 0.01, normalize=None).fit(X, y)
    posterior = term_posterior(model, X, y)
    theta = np.zeros(3)
    theta[model.active_kernels_] = posterior.prior_weights[0]
    points = np.concatenate([X_new, X])
    prior = sum(
        theta[m] * np.exp(-((points[:, [m]] - points[:, m]) ** 2) / 2.0)
        for m in range(2)
    )
    inverse = np.linalg.inv(posterior.factor[0])
    basis = posterior.free[0]
    precision = inverse.T @ (inverse - basis @ (basis.T @ inverse))
    C = prior - prior[:, 20:] @ precision @ prior[20:]
    L = np.eye(20, 80)
    L[:, 20:] -= 1.0 / 60.0
    expected = posterior.noise_variance[0] * np.diag(L @ C @ L.T)
    low, high = posterior.band(X_new, [0, 1], 0.9, X)
    half = norm.ppf(0.95) * np.sqrt(expected)
    np.testing.assert_allclose((high - low)[:, 0] / 2.0, half, rtol=1e-6)
    terms = model.contributions(X_new)[:, :2] - model.contributions(X)[:, :2].mean(0)
    np.testing.assert_allclose((high + low)[:, 0] / 2.0, terms.sum(1), atol=1e-10)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("strength", [1e5, 1e6, 1e8, 1e12])
def test_bands_at_large_strengths_are_those_of_a_regression_or_refused(strength):
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 1))
    y = 2 * X[:, 0] + 0.3 * random.normal(size=40)
    line = [LinearKernel()]
    residual = y - np.polyval(np.polyfit(X[:, 0], y, 1), X[:, 0])
    slope = np.sqrt(residual @ residual / 38 / np.sum((X - X.mean()) ** 2))
    for model in (
        FixedWeightsMKLRegressor(line, loss=SQUARED, C=strength),
        GroupOMPRegressor(line, alpha=1.0 / strength),
    ):
        posterior = term_posterior(model.fit(X, y), X, y)
        if strength > 1e9:
            with pytest.raises(ValueError, match=r"rounding errors hide.*larger alpha"):
                posterior.band(X, [0])
            continue
        for center, at in ((None, X[:, 0]), (X, X[:, 0] - X.mean())):
            low, high = posterior.band(X, [0], 0.9, center)
            half = norm.ppf(0.95) * slope * np.abs(at)
            np.testing.assert_allclose((high - low)[:, 0] / 2.0, half, rtol=3e-4)


def test_bands_of_data_frames_are_those_of_their_arrays(data):
    X, y, X_new, _ = data
    table, new = (pd.DataFrame(each, columns=list("abc")) for each in (X, X_new))
    scaled = make_pipeline(StandardScaler(), SpicyMKLRegressor(KERNELS, alpha=0.01))
    scaled.fit(table, y)
    posterior = term_posterior(scaled, table, y)
    arrays = posterior.band(
        scaled[0].transform(new), [0, 1], 0.9, scaled[0].transform(table)
    )
    np.testing.assert_array_equal(posterior.band(new, [0, 1], 0.9, table), arrays)
    levels = table.assign(c=np.resize(["u", "v"], 60))
    model = SpicyMKLRegressor(alpha=0.01).fit(levels, y)
    bands = term_posterior(model, levels, y).band(levels[:5], model.active_kernels_)
    assert np.all(bands[0] < bands[1])
    fits = bootstrap(
        SpicyMKLRegressor(KERNELS, alpha=0.01), table, y, 3, random_state=0
    )
    np.testing.assert_array_equal(fits.band(new, [0]), fits.band(X_new, [0]))
    with pytest.raises(ValueError, match="X has columns that are not numeric"):
        fits.band(levels, [0])


def test_weights_of_zero_are_no_samples_and_targets_have_their_own(data):
    X, y, X_new, sample_weight = data
    weights = np.where(np.arange(60) < 40, sample_weight, 0.0)
    model = SpicyMKLRegressor(KERNELS, 0.01).fit(X, y, sample_weight=weights)
    posterior = term_posterior(model, X, y, sample_weight=weights)
    assert len(posterior.X) == 40
    both = np.column_stack([y, np.cos(X[:, 2])])
    exact = {"normalize": None, "tol": 1e-6}
    several = SpicyMKLRegressor(KERNELS, 0.01, **exact).fit(X, both)
    posterior = term_posterior(several, X, both)
    ones = np.ones(60)
    for k, theta in enumerate(posterior.prior_weights):
        assert posterior.active_kernels.tolist() == [0, 1, 2]
        system = X, both[:, k], X_new, theta, ones, ones[:, None]
        for m in range(3):
            low, high = posterior.band(X_new, [m])
            _, deviation = dense(*system, m)
            half = norm.ppf(0.95) * deviation
            np.testing.assert_allclose((high - low)[:, k] / 2.0, half, rtol=1e-2)


def test_columns_without_a_penalty_have_a_flat_prior(data):
    X, y, X_new, _ = data
    views = {"f": ([0], GaussianKernel(1.0)), "free": Unpenalized([1, 2])}
    model = SpicyMKLRegressor(views, 0.01, tol=1e-8, normalize=None).fit(X, y)
    posterior = term_posterior(model, X, y)
    theta = np.array([posterior.prior_weights[0, 0], 0.0, 0.0])
    B = np.column_stack([np.ones(60), X[:, 1:]])
    mean, deviation = dense(X, y, X_new, theta, np.ones(60), B, 0)
    np.testing.assert_allclose(mean, model.contributions(X_new)[:, 0], atol=1e-3)
    low, high = posterior.band(X_new, [0], 0.9)
    half = norm.ppf(0.95) * deviation
    np.testing.assert_allclose((high - low)[:, 0] / 2.0, half, rtol=1e-4)


def test_pictures_have_bands_also_behind_a_scaler(data):
    X, y, _, _ = data
    model = make_pipeline(StandardScaler(), SpicyMKLRegressor(KERNELS, 0.01))
    posterior = term_posterior(model.fit(X, y), X, y)
    drawn = ContributionDisplay.from_estimator(model, X, 0, posterior=posterior)
    assert (drawn.band[0] < drawn.values).all()
    assert (drawn.values < drawn.band[1]).all()
    assert drawn.band_name == "90% given the kernel weights"
    bars = ExplanationDisplay.from_estimator(model, X, 3, posterior=posterior)
    scaled = model[:-1].transform(X)
    for position, m in enumerate(model[-1].active_kernels_):
        low, high = posterior.band(scaled[3:4], [m], 0.9, scaled)
        half = (high - low)[0, 0] / 2.0
        assert bars.errors[position] == pytest.approx(half)
    with pytest.raises(ValueError, match="not both"):
        ContributionDisplay.from_estimator(
            model,
            X,
            0,
            posterior=posterior,
            bootstrap=bootstrap(model, X, y, 2, random_state=0),
        )
    with pytest.raises(ValueError, match="errors must have shape"):
        ExplanationDisplay([0.1], ["age"], 0.0, errors=[0.1, 0.2])
    plt.close("all")


def test_what_has_no_such_posterior_gets_a_sentence(data):
    X, y, X_new, _ = data
    model = SpicyMKLRegressor(KERNELS, 0.01).fit(X, y)
    for wrong in ((X[::-1], y), (X, y[::-1]), (X, y + 5.0)):
        with pytest.raises(ValueError, match="offset of the fit"):
            term_posterior(model, *wrong)
    with pytest.raises(
        ValueError, match="60 samples of the fit, but X has 20 rows and y has 60"
    ):
        term_posterior(model, X_new, y)
    with pytest.raises(ValueError, match="'epsilon_insensitive'"):
        term_posterior(LpMKLRegressor(KERNELS).fit(X, y), X, y)
    with pytest.raises(TypeError, match="requires a regressor"):
        term_posterior(SpicyMKLClassifier(KERNELS).fit(X, y > 1.0), X, y > 1.0)
    with pytest.raises(ValueError, match="nodes of a graph"):
        term_posterior(HKLRegressor().fit(X, y), X, y)
    K = np.exp(-((X[:, None] - X) ** 2))
    grams = SpicyMKLRegressor("precomputed", 0.01).fit(K, y)
    with pytest.raises(ValueError, match="not defined for precomputed matrices"):
        term_posterior(grams, K, y)
    centered = SpicyMKLRegressor(KERNELS, 0.01, normalize="center").fit(X, y)
    with pytest.raises(ValueError, match="centered kernel"):
        term_posterior(centered, X, y)
