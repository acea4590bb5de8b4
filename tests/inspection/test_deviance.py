"""The split of explained deviance: it sums to D², and is that of R² for squares."""

import numpy as np
import pytest
from sklearn.metrics import d2_log_loss_score, d2_tweedie_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import (
    SpicyMKLClassifier,
    SpicyMKLOrdinal,
    SpicyMKLRegressor,
    SpicyMKLSurvival,
)
from multikernel.display import VarianceSplitDisplay
from multikernel.inspection import deviance_split, variance_split

VIEWS = {"signal": [0, 1], "noise": [2]}


def sample(seed=0, n=160):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, X[:, 0] + X[:, 1] ** 2 + 0.5 * random.normal(size=n), random


def test_it_is_the_split_of_r2_for_squares():
    X, y, random = sample()
    model = SpicyMKLRegressor(VIEWS).fit(X[:100], y[:100])
    weights = random.uniform(0.5, 2.0, size=60)
    split = deviance_split(model, X[100:], y[100:], sample_weight=weights)
    expected = variance_split(model, X[100:], y[100:], sample_weight=weights).shares
    # Without the level of predictions: its slope is the same for all samples.
    np.testing.assert_allclose(split.shares, expected, atol=1e-12)


def test_two_classes_sum_to_d2():
    X, y, _ = sample(1)
    labels = np.where(y > 0.6, "ill", "well")
    model = make_pipeline(StandardScaler(), SpicyMKLClassifier(VIEWS))
    model.fit(X[:100], labels[:100])
    split = deviance_split(model, X[100:], labels[100:], by="view", random_state=0)
    d2 = d2_log_loss_score(labels[100:], model.predict_proba(X[100:]))
    assert split.r2 == pytest.approx(d2, abs=1e-9)
    assert split.score == "D²"
    assert split.names == ("signal", "noise")
    assert split.shares[0] > 10.0 * abs(split.shares[1])
    low, high = split.interval()
    assert np.all((low <= split.shares) & (split.shares <= high))
    assert "D² 0." in repr(split)


def test_shares_are_slopes_on_the_way():
    """Beside a sum over 20 000 steps, with the level of predictions as a term."""
    X, y, _ = sample(2)
    labels = y > 0.6
    model = SpicyMKLClassifier(VIEWS).fit(X[:100], labels[:100])
    X, labels = X[100:], labels[100:]
    split = deviance_split(model, X, labels)
    terms = model.contributions(X)
    f = model.decision_function(X)
    chance = labels.mean()
    constant = np.log(chance / (1.0 - chance))
    t = (np.arange(20_000) + 0.5) / 20_000
    between = constant + np.multiply.outer(t, f - constant)
    slopes = (1.0 / (1.0 + np.exp(-between)) - labels).mean(axis=0)
    before = -np.mean(np.log(np.where(labels, chance, 1.0 - chance)))
    centered = terms - terms.mean(axis=0)
    np.testing.assert_allclose(
        split.shares, -slopes @ centered / len(f) / before, atol=1e-7
    )
    of_level = -slopes.mean() * (f.mean() - constant) / before
    assert split.shares.sum() + of_level == pytest.approx(split.r2, abs=1e-9)


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_counts_and_amounts(loss):
    X, y, random = sample(3)
    mean = np.exp(0.5 * X[:, 0])
    y = random.poisson(mean) if loss == "poisson" else random.gamma(3.0, mean)
    model = SpicyMKLRegressor(VIEWS, loss=loss, alpha=0.02).fit(X[:100], y[:100])
    split = deviance_split(model, X[100:], y[100:], by="view")
    power = 1 if loss == "poisson" else 2
    expected = d2_tweedie_score(y[100:], model.predict(X[100:]), power=power)
    assert split.r2 == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("selection", ["separate", "shared"])
def test_three_classes(selection):
    X, y, _ = sample(4)
    labels = np.digitize(y, [0.2, 1.2])
    model = SpicyMKLClassifier(VIEWS, selection=selection).fit(X[:100], labels[:100])
    split = deviance_split(model, X[100:], labels[100:], by="view", n_resamples=50)
    if selection == "shared":
        expected = d2_log_loss_score(labels[100:], model.predict_proba(X[100:]))
        assert split.r2 == pytest.approx(expected, abs=1e-9)
        assert split.shares.shape == (2,)
    else:
        assert split.shares.shape == (3, 2)
        assert split.output_names == ("0", "1", "2")
    assert split.shares[..., 0].min() > split.shares[..., 1].max()
    assert VarianceSplitDisplay(split).plot().ax_.get_title(loc="left").startswith("D²")


def test_sentences():
    X, y, _ = sample(5)
    corners = SpicyMKLClassifier(VIEWS, loss="hinge").fit(X, y > 0.6)
    with pytest.raises(ValueError, match="such as 'squared_error'"):
        deviance_split(corners, X, y > 0.6)
    model = SpicyMKLClassifier(VIEWS).fit(X, y > 0.6)
    with pytest.raises(ValueError, match="no row of y has the class False"):
        deviance_split(model, X[:3], np.ones(3, dtype=bool))
    with pytest.raises(ValueError, match="row 1 of y has the class 'c'"):
        deviance_split(
            SpicyMKLClassifier(VIEWS).fit(X, np.where(y > 0.6, "a", "b")),
            X[:2],
            ["a", "c"],
        )
    regression = SpicyMKLRegressor(VIEWS).fit(X, y)
    with pytest.raises(ValueError, match="y is constant"):
        deviance_split(regression, X[:3], np.ones(3))
    with pytest.raises(ValueError, match="y is explained by offset and a constant"):
        deviance_split(regression, X[:3], np.arange(3.0), offset=np.arange(3.0))
    counts = SpicyMKLRegressor(VIEWS, loss="poisson").fit(X, np.exp(y).round())
    for level, said in ((3.0, "y is constant"), (0.0, "a count above 0")):
        with pytest.raises(ValueError, match=said):
            deviance_split(counts, X, np.full(160, level))
    times = np.column_stack([np.ones(160), np.exp(y)])
    for model, targets in (
        (SpicyMKLSurvival(VIEWS), times),
        (SpicyMKLOrdinal(VIEWS), np.digitize(y, [0.2, 1.2])),
    ):
        name = type(model).__name__
        with pytest.raises(
            ValueError, match=f"survival, ordinal and one-class .* {name}"
        ):
            deviance_split(model.fit(X, targets), X, targets)


def test_samples_without_weight_have_no_part():
    X, y, random = sample(6)
    model = SpicyMKLClassifier(VIEWS).fit(X[:80], y[:80] > 0.6)
    weights = random.integers(0, 2, 80).astype(float)
    split = deviance_split(model, X[80:], y[80:] > 0.6, sample_weight=weights)
    used = 80 + np.flatnonzero(weights)
    expected = deviance_split(model, X[used], y[used] > 0.6)
    np.testing.assert_allclose(split.shares, expected.shares)
