"""What a fit is said to take beforehand."""

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import (
    HKLRegressor,
    LpMKLClassifier,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLOrdinal,
    SpicyMKLRegressor,
    SpicyMKLSurvival,
    SpicyMKLSurvivalCV,
    estimate_cost,
    stack_grams,
)
from multikernel.estimators import FitCost
from multikernel.exceptions import LongFitWarning, StackTooLargeError
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Interactions,
)

pd = pytest.importorskip("pandas")


def samples(n, d=4):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] ** 2 + X[:, 1]


@pytest.mark.parametrize("storage", ["auto", "dense", "low_rank", "lazy"])
@pytest.mark.parametrize("kind", [SpicyMKLClassifier, LpMKLClassifier])
def test_the_fit_holds_what_was_said(kind, storage):
    X, y = samples(200)
    model = kind(storage=storage, max_bytes=10**9)
    cost = estimate_cost(model, X, y > 0.5)
    model.fit(X, y > 0.5)
    assert (cost.storage, cost.reason) == (
        model.fit_info_["storage"],
        model.fit_info_["storage_reason"],
    )
    assert cost.n_kernels == len(model.kernel_weights_)
    assert cost.n_samples == 200
    assert cost.seconds > 0.0


def test_targets_left_out_are_one_problem_and_others_are_counted():
    X, y = samples(100)
    model = SpicyMKLRegressor(selection="separate")
    one = estimate_cost(model, X)
    assert estimate_cost(model, X, y) == one
    three = estimate_cost(model, X, np.stack([y, -y, y**2], axis=1))
    assert three.seconds == pytest.approx(3.0 * one.seconds)
    assert estimate_cost(SpicyMKLClassifierCV(), X).n_kernels == one.n_kernels


def test_time_grows_with_samples_and_with_kernels_in_use():
    few, many = samples(2000, 20)[0], samples(9000, 20)[0]
    for kind in (SpicyMKLClassifier, LpMKLClassifier):
        assert estimate_cost(kind(), few).seconds < estimate_cost(kind(), many).seconds
    sparse = estimate_cost(SpicyMKLClassifier(storage="dense"), few)
    every = estimate_cost(LpMKLClassifier(storage="dense"), few)
    assert every.seconds > sparse.seconds


def test_factors_are_named_where_they_help_and_only_there():
    X, _ = samples(9000, 20)
    wide = [GaussianKernel(s / 10) for s in range(2, 32)]
    cost = estimate_cost(SpicyMKLClassifier(kernels=wide, max_bytes=10**9), X)
    assert cost.storage == "lazy"
    assert "storage='low_rank'" in cost.advice
    assert str(cost).endswith(cost.advice)
    small = estimate_cost(SpicyMKLClassifier(), X[:300])
    assert not small.advice
    assert "low_rank" not in str(small)


def test_the_warning_of_a_long_fit_names_factors():
    X, y = samples(9000, 20)
    wide = [GaussianKernel(s / 20) for s in range(2, 62)]
    model = SpicyMKLClassifier(kernels=wide, max_bytes=2 * 10**9)
    assert estimate_cost(model, X).seconds > 120.0
    with warnings.catch_warnings():
        warnings.simplefilter("error", LongFitWarning)  # which ends the fit
        with pytest.raises(LongFitWarning, match="storage='low_rank' may take"):
            model.fit(X, y > 0.0)


def test_given_matrices_are_their_own_size():
    X, _ = samples(30)
    grams = stack_grams([X @ X.T, np.eye(30)])
    cost = estimate_cost(SpicyMKLClassifier(kernels="precomputed"), grams)
    assert (cost.storage, cost.n_kernels, cost.n_bytes) == ("precomputed", 2, 14400)


def test_what_has_no_forecast_says_why():
    X, y = samples(30)
    with pytest.raises(TypeError, match="graph of kernels"):
        estimate_cost(HKLRegressor(), X, y)
    pipe = make_pipeline(StandardScaler(), SpicyMKLRegressor())
    with pytest.raises(TypeError, match="for a pipeline or a search, pass"):
        estimate_cost(pipe, X, y)
    with pytest.raises(ValueError, match="alpha"):
        estimate_cost(SpicyMKLRegressor(alpha=-1.0), X, y)


def table_of_categories(n_samples, n_columns, n_values):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_values, (n_samples, n_columns))
    X = pd.DataFrame(codes, columns=[f"c{c}" for c in range(n_columns)]).astype(str)
    X = "v" + X
    return X, (codes[:, 0] == 1) + 0.5 * rng.standard_normal(n_samples)


def test_columns_that_hardly_repeat_are_no_categories():
    X, y = table_of_categories(60, 2, 3)
    X["id"] = pd.Categorical([f"p{i}" for i in range(60)])
    kernels = [ColumnKernel(CategoryKernel(), "id")]
    for model in (SpicyMKLRegressor(), SpicyMKLRegressor(kernels)):
        with pytest.raises(ValueError, match="60 different values in 60 samples"):
            model.fit(X, y)


@pytest.mark.parametrize("kind", [int, "category"])
@pytest.mark.parametrize("n_values", [30, 31])
def test_numbers_that_hardly_repeat_are_no_categories(kind, n_values):
    a = np.random.default_rng(0).standard_normal(60)
    X = pd.DataFrame({"id": np.arange(60) % n_values, "a": a})
    X = X.astype({"id": kind})
    kernels = [
        ColumnKernel(CategoryKernel(), "id"),
        ColumnKernel(GaussianKernel(1.0), "a"),
    ]
    model = SpicyMKLRegressor(kernels)
    if n_values == 30:
        assert estimate_cost(model, X).n_kernels == len(model.fit(X, a).kernel_weights_)
        return
    sentence = "Column 'id' holds 31 different values in 60 samples"
    for call in (estimate_cost, SpicyMKLRegressor.fit):
        with pytest.raises(ValueError, match=sentence):
            call(model, X, a)


@pytest.mark.parametrize("n_values", [3, 200])
def test_factors_of_few_values_are_chosen_and_agree(n_values):
    X, y = table_of_categories(800, 4, n_values)
    kernels = Interactions([ColumnKernel(CategoryKernel(), c) for c in X])
    one, other = (
        SpicyMKLRegressor(kernels, storage=storage).fit(X, y)
        for storage in ("low_rank", "dense")
    )
    gap = one.duality_gap_ + other.duality_gap_
    assert one.objective_ == pytest.approx(other.objective_, rel=gap + 1e-9)


def test_the_limit_holds_for_the_work_of_a_fit():
    X, y = samples(1000)
    kernels = [GaussianKernel(0.1)]
    with pytest.raises(StackTooLargeError, match="the fit of 1 kernel on"):
        SpicyMKLRegressor(kernels, storage="dense", max_bytes=10**7).fit(X, y)


def test_joint_kernels_of_moderate_rank_do_not_make_products_whole():
    X, _ = samples(4000, 3)
    assert estimate_cost(SpicyMKLRegressor(), X).storage == "low_rank"


def test_a_cost_is_printed_as_a_sentence():
    cost = FitCost("dense", "it was asked for", 3, 1000, 24_000_000, 0.4, "")
    assert str(cost) == (
        "3 kernels on 1000 samples, storage 'dense', as it was asked for: 24 MB, "
        "seconds."
    )


def test_times_and_ordered_classes_are_read_as_by_fit():
    X, y = samples(100)
    times = pd.DataFrame({"event": np.arange(100) % 4 > 0, "time": np.exp(y)})
    for targets in (times, times.to_records(index=False), times.to_numpy(dtype=float)):
        for model in (SpicyMKLSurvival(), SpicyMKLSurvivalCV()):
            assert estimate_cost(model, X, targets) == estimate_cost(model, X)
    assert estimate_cost(SpicyMKLOrdinal(), X, y > 0.0).n_samples == 100
    with pytest.raises(ValueError, match="times must be positive"):
        estimate_cost(SpicyMKLSurvival(), X, times.assign(time=-1.0))
    with pytest.raises(ValueError, match="does not support offset"):
        estimate_cost(SpicyMKLSurvival(), X, times, offset=y)
