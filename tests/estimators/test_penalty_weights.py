"""Weights of penalties: a kernel divided by the square of its weight."""

import numpy as np
import pytest

from multikernel import load, save
from multikernel.estimators import (
    GroupOMPRegressor,
    LpMKLClassifier,
    OneClassMKL,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
)
from multikernel.exceptions import DictionaryWarning
from multikernel.kernels import GaussianKernel, Interactions

WIDTHS = [GaussianKernel(1.0), GaussianKernel(3.0)]
VIEWS = {"genes": ([0, 1], WIDTHS), "clinic": ([2, 3], WIDTHS)}
EACH = [2.0, 2.0, 0.5, 3.0]
NAMED = {"genes": 2.0, "gaussian(sigma=1)[clinic]": 0.5, "clinic": 3.0}


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    return X, np.sin(X[:, 0]) + X[:, 2] * X[:, 3] + 0.1 * rng.standard_normal(50)


def grams(X, weights):
    """Return kernels of unit variance over squared weights, samples first."""
    blocks = [k(X[:, columns]) for columns in ([0, 1], [2, 3]) for k in WIDTHS]
    sizes = [np.trace(K) / len(X) - K.mean() for K in blocks]
    scaled = [
        K / size / w**2 for K, size, w in zip(blocks, sizes, weights, strict=True)
    ]
    return np.stack(scaled, axis=2)


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (SpicyMKLRegressor, {"alpha": 0.05}),
        (SpicyMKLRegressor, {"alpha": 0.05, "l1_ratio": 0.5}),
        (SpicyMKLClassifier, {"alpha": 0.02}),
        (LpMKLClassifier, {"C": 2.0, "p": 1.5}),
        (GroupOMPRegressor, {"max_kernels": 2}),
    ],
)
def test_a_weight_divides_a_kernel_by_its_square(samples, model, settings):
    X, y = samples
    y = np.where(y > 0.0, "high", "low") if "Classifier" in model.__name__ else y
    K = grams(X, EACH)
    expected = model("precomputed", **(settings | {"normalize": None})).fit(K, y)
    for weights in (EACH, NAMED):
        fitted = model(VIEWS, penalty_weights=weights, **settings).fit(X, y)
        np.testing.assert_allclose(
            fitted.kernel_weights_, expected.kernel_weights_, rtol=2e-2, atol=2e-3
        )
        assert fitted.objective_ == pytest.approx(expected.objective_, rel=2e-3)


@pytest.mark.filterwarnings("ignore:.*smallest value in the grid")
def test_a_kernel_enters_as_late_as_its_weight_says(samples):
    X, y = samples
    X, y = X[:, :1], np.sin(X[:, 0])
    model = SpicyMKLRegressorCV(GaussianKernel(1.0), n_alphas=5)
    doubled = SpicyMKLRegressorCV(
        GaussianKernel(1.0), n_alphas=5, penalty_weights=[2.0]
    )
    one, two = model.fit(X, y), doubled.fit(X, y)
    np.testing.assert_allclose(one.alphas_, 2.0 * two.alphas_)
    np.testing.assert_allclose(one.predict(X), two.predict(X), atol=1e-2)


def test_weights_in_every_storage_and_from_a_file(samples, tmp_path):
    X, y = samples
    model = SpicyMKLRegressor(VIEWS, alpha=0.05, penalty_weights=NAMED, tol=1e-5)
    expected = model.fit(X, y).predict(X[:9])
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(
        load(tmp_path / "model.skops").predict(X[:9]), expected
    )
    for storage in ("lazy", "dense32", "low_rank"):
        other = SpicyMKLRegressor(
            VIEWS, alpha=0.05, penalty_weights=NAMED, tol=1e-5, storage=storage
        ).fit(X, y)
        np.testing.assert_allclose(other.predict(X[:9]), expected, atol=2e-3)


def test_interactions_have_weights_by_their_names(samples):
    X, y = samples
    X = X[:, 2:]
    plain = SpicyMKLRegressor(Interactions({"a": 0, "b": 1}), alpha=0.02).fit(X, y)
    name = plain.kernel_names_[np.argmax(plain.kernel_weights_)]
    with pytest.warns(DictionaryWarning):
        heavy = SpicyMKLRegressor(
            Interactions({"a": 0, "b": 1}),
            alpha=0.02,
            penalty_weights=dict.fromkeys(plain.kernel_names_, 1e3),
        ).fit(X, y)
    assert name in heavy.kernel_names_
    assert not heavy.active_kernels_.size


def test_a_light_view_is_taken_for_outliers(samples):
    X, _ = samples
    light = OneClassMKL(VIEWS, penalty_weights={"clinic": 0.1}).fit(X)
    assert light.kernel_weights_[2:].sum() > light.kernel_weights_[:2].sum()


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"gene": 2.0}, "contains 'gene', which is neither a kernel nor a view: use"),
        ([1.0, 2.0], "penalty_weights has length 2, but must have length 4"),
        ({"genes": 0.0}, "penalty_weights must be None, a dict"),
        ([1.0, np.nan, 1.0, 1.0], "penalty_weights must be None, a dict"),
        (2.0, "penalty_weights must be None, a dict"),
    ],
)
def test_sentences(samples, weights, message):
    with pytest.raises(ValueError, match=message):
        SpicyMKLRegressor(VIEWS, penalty_weights=weights).fit(*samples)
