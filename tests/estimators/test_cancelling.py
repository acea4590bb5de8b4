"""Objective and gap are those of the model that predicts, where digits cancel."""

import numpy as np
import pandas as pd
import pytest

from multikernel import (
    FixedWeightsMKLClassifier,
    FixedWeightsMKLRegressor,
    GroupOMPRegressor,
    LocalRademacherMKLRegressor,
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    load,
    save,
)
from multikernel.exceptions import DegenerateKernelWarning
from multikernel.kernels import (
    CenteredKernel,
    GaussianKernel,
    Interactions,
    LinearKernel,
    PolynomialKernel,
    Unpenalized,
)

FREE = {"x": (["x"], GaussianKernel(0.7)), "u": Unpenalized(["start", "end"])}


@pytest.fixture(scope="module")
def near():
    """Two columns far from zero and near one another, and the same span about zero."""
    x, c, z = np.random.default_rng(2).standard_normal((3, 40))
    X = pd.DataFrame({"x": x, "start": 1e8 + c, "end": 1e8 + c + 5e-8 * z})
    even = X.assign(start=X.start - 1e8, end=(X.end - X.start) / 5e-8)
    return X, even, np.sin(3.0 * x) + 0.3 * c + 0.1 * z


@pytest.mark.parametrize(
    ("loss", "target"),
    [
        ("squared_error", lambda y: y),
        ("huber", lambda y: y),
        ("gamma", lambda y: np.exp(2.0 * y)),
        ("poisson", lambda y: np.rint(np.exp(2.0 * y))),
        ("log_loss", lambda y: y > 0.2),
    ],
)
def test_free_columns_far_from_zero_are_as_good_as_those_near_it(near, loss, target):
    y = near[2]
    kind = SpicyMKLClassifier if loss == "log_loss" else SpicyMKLRegressor
    fits = [
        kind(FREE, loss=loss, alpha=0.01, tol=1e-5).fit(A, target(y)) for A in near[:2]
    ]
    assert fits[0].status_ == "converged"
    assert fits[0].active_kernels_.tolist() == [0]
    objectives = [fit.objective_ for fit in fits]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-5)


@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLRegressor(FREE, alpha=0.01),
        LpMKLRegressor(FREE, loss="squared_error"),
        GroupOMPRegressor(FREE),
    ],
)
def test_intercept_and_coefficients_are_those_of_the_columns_as_they_are(model, near):
    X, _, y = near
    years = X.assign(start=2000.0 + X.start - 1e8, end=1900.0 + X.x**2)
    model.fit(years, y)
    by_hand = model.contributions(years).sum(axis=-1).ravel() + model.intercept_
    by_hand += years[["start", "end"]].to_numpy() @ model.unpenalized_coef_
    assert model.predict(years) == pytest.approx(by_hand)


def test_origins_of_free_columns_are_saved(near, tmp_path):
    X, _, y = near
    model = SpicyMKLRegressor(FREE, alpha=0.01).fit(X, y)
    save(model, tmp_path / "model.skops")
    assert np.array_equal(load(tmp_path / "model.skops").predict(X), model.predict(X))


def test_a_trend_of_free_columns_far_from_zero_leaves_one_model():
    rng = np.random.default_rng(0)
    x, c = rng.standard_normal((2, 30))
    t = 1e8 + c
    y = 1e6 * (t - 1e8) + np.sin(3.0 * x) + 0.1 * rng.standard_normal(30)
    k = {"x": (["x"], GaussianKernel(0.5)), "u": Unpenalized(["t"])}
    tables = [pd.DataFrame({"x": x, "t": t - shift}) for shift in (0.0, 1e8)]
    fits = [SpicyMKLRegressor(k, alpha=2e-8, tol=1e-6).fit(A, y) for A in tables]
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-6)
    f = fits[0].predict(tables[0])
    penalty = fits[0].alpha_ * fits[0].block_norms_.sum()
    true = ((y - f) ** 2).mean() / 2 + penalty
    assert fits[0].objective_ == pytest.approx(true, rel=1e-6)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
def test_huber_with_a_trend_far_larger_than_its_threshold_is_solved_for():
    x, c, noise = np.random.default_rng(1).standard_normal((3, 40))
    k = {"x": (["x"], GaussianKernel(0.7)), "u": Unpenalized(["c"])}
    X, y = pd.DataFrame({"x": x, "c": c}), 1e8 * c + noise
    fits = [
        SpicyMKLRegressor(k, loss=loss, tol=1e-6).fit(X, y)
        for loss in ("huber", "squared_error")
    ]
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=2e-6)


@pytest.fixture(scope="module")
def far():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((30, 2))
    y = np.where(np.sin(2.0 * x[:, 0]) + 0.5 * rng.standard_normal(30) > 0.0, 1, -1)
    return pd.DataFrame({"a": x[:, 0], "b": 30000.0 + x[:, 1]}), y


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("storage", ["dense", "by_kernel", "low_rank", "dense32"])
@pytest.mark.parametrize(
    ("degree", "normalize", "alpha"), [(2, None, 0.3), (3, "variance", 1e-5)]
)
def test_an_interaction_that_cancels_is_not_certified(
    far, storage, degree, normalize, alpha
):
    X, y = far
    kernels = {
        "A": (["a"], GaussianKernel(1.0)),
        "B": (["b"], PolynomialKernel(degree)),
    }
    model = SpicyMKLClassifier(
        Interactions(kernels),
        loss="hinge",
        alpha=alpha,
        normalize=normalize,
        storage=storage,
    ).fit(X, y)
    f = model.decision_function(X)
    true = np.maximum(0.0, 1.0 - y * f).mean() + model.alpha_ * model.block_norms_.sum()
    assert model.status_ != "converged"
    assert abs(model.objective_ - true) <= model.duality_gap_ * max(
        true, model.objective_
    )


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("storage", ["dense", "low_rank", "lazy", "dense32"])
@pytest.mark.parametrize("width", [1e3, 3e4])
def test_a_wide_gaussian_centered_has_the_objective_of_what_predicts(storage, width):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((30, 2))
    y = np.sin(2 * x[:, 0]) + 0.3 * x[:, 1] + 0.5 * rng.standard_normal(30)
    k = [GaussianKernel(width), GaussianKernel(2.0 * width)]
    model = SpicyMKLRegressor(
        k, alpha=1e-4, normalize=("center", "trace"), storage=storage
    ).fit(x, y)
    f = model.predict(x)
    true = ((y - f) ** 2).mean() / 2 + model.alpha_ * model.block_norms_.sum()
    assert abs(model.objective_ - true) <= (model.duality_gap_ + 1e-7) * true
    assert (model.status_ == "converged") is (width == 1e3 and storage != "dense32")


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_gaussian_that_centering_leaves_nothing_of_is_not_called_indefinite():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((30, 2))
    y = np.sin(2 * x[:, 0]) + 0.3 * x[:, 1] + 0.5 * rng.standard_normal(30)
    k = {"A": ([0], GaussianKernel(3e5)), "B": ([1], GaussianKernel(3e5))}
    model = SpicyMKLRegressor(k, alpha=1e-4, normalize=("center", "trace"))
    assert model.fit(x, y).status_ != "converged"


def test_the_diagonal_of_a_centered_kernel_is_that_of_its_matrix():
    X = np.random.default_rng(0).standard_normal((7, 2))
    kernel = CenteredKernel(GaussianKernel(1.0), X)
    assert kernel.diag(X) == pytest.approx(np.diag(kernel(X)))
    assert kernel.diag(X + 0.5) == pytest.approx(np.diag(kernel(X + 0.5)))


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
@pytest.mark.parametrize(
    "model",
    [
        FixedWeightsMKLRegressor(),
        LocalRademacherMKLRegressor(),
        SpicyMKLRegressor(LinearKernel(), normalize="trace"),
        FixedWeightsMKLClassifier(),
    ],
)
def test_a_constant_kernel_beside_an_intercept_is_left_out(model):
    X, y = np.full((22, 1), 3.0), np.arange(22.0)
    y = y > 5.0 if hasattr(model, "predict_proba") or "Classifier" in str(model) else y
    with pytest.warns(DegenerateKernelWarning, match="zero or constant"):
        model.fit(X, y)
    assert model.duality_gap_ <= 1e-12
    assert model.status_ == "converged"
    assert model.active_kernels_.size == 0
