"""Shares of held-out variance sum to R²; intervals are those of resampled samples."""

import io
from contextlib import redirect_stdout

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import SpicyMKLClassifier, SpicyMKLRegressor, report
from multikernel.display import VarianceSplitDisplay
from multikernel.exceptions import DictionaryWarning
from multikernel.inspection import (
    SobolIndices,
    VarianceSplit,
    bootstrap,
    contributions,
    group_permutation_importance,
    stability_selection,
    variance_split,
)

VIEWS = {"wave": [0], "rest": [1, 2]}


def data(n=90, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) * [1.0, 3.0, 0.5]
    y = np.column_stack([np.sin(X[:, 0] + k) + 0.1 * X[:, 1] for k in range(2)])
    y = y + 0.1 * rng.standard_normal((n, 2)) + 5.0
    return X, y if n_outputs == 2 else y[:, 0]


@pytest.mark.parametrize("weighted", [False, True])
def test_shares_are_the_product_measure(weighted):
    X, y = data(60, 2)
    w = np.random.default_rng(1).integers(0, 3, 60).astype(float) if weighted else None
    model = SpicyMKLRegressor(VIEWS, alpha=0.01).fit(X[:30], y[:30])
    shares = variance_split(model, X, y, n_resamples=2, sample_weight=w).shares
    terms = contributions(model, X).terms
    for target, terms_of, found in zip(
        y.T, np.moveaxis(terms, 1, 0), shares, strict=True
    ):
        rest = 2.0 * target - terms_of.sum(axis=1)
        table = np.column_stack([terms_of, rest, target])
        covariances = np.cov(table.T, ddof=0, aweights=w)
        expected = covariances[:-2, -2] / covariances[-1, -1]
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    if weighted:  # weights are copies
        copies = np.repeat(np.arange(60), w.astype(int))
        again = variance_split(model, X[copies], y[copies], n_resamples=2).shares
        np.testing.assert_allclose(again, shares, rtol=1e-10)


def test_one_column_is_one_target():
    X, y = data(60)
    model = SpicyMKLRegressor(VIEWS, alpha=0.01).fit(X, y)
    one = variance_split(model, X, y, n_resamples=2)
    column = variance_split(model, X, y[:, None], n_resamples=2)
    np.testing.assert_array_equal(one.shares, column.shares)


def test_targets_are_known_by_name():
    X, y = data(n_outputs=2)
    Y = pd.DataFrame(y, columns=["a", "b"])
    model = SpicyMKLRegressor(VIEWS, alpha=0.01).fit(X, Y)
    split = variance_split(model, X, Y, n_resamples=5, random_state=0)
    assert split.output_names == ("a", "b")
    unnamed = variance_split(model, X, y, n_resamples=5, random_state=0)
    np.testing.assert_allclose(unnamed.shares, split.shares, rtol=1e-9)
    turned = Y[["b", "a"]]
    message = "y has the columns 'b', 'a', but .* was fitted on 'a', 'b'"
    for ask in (variance_split, report, group_permutation_importance):
        with pytest.raises(ValueError, match=message):
            ask(model, X, turned)
    # A model that was given no names knows none.
    model.fit(X, y)
    assert variance_split(model, X, Y, n_resamples=5).shares.shape == split.shares.shape


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full((60, 2), 0.1), "column 0 of y is constant"),
        (data(60, 2)[1] * [1, 0], "column 1 of y is constant"),
        (data(59, 2)[1], "inconsistent numbers of samples"),
    ],
)
def test_what_cannot_be_split(y, message):
    X, targets = data(60, 2)
    model = SpicyMKLRegressor(VIEWS, alpha=0.01).fit(X, targets)
    with pytest.raises(ValueError, match=message):
        variance_split(model, X, y)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_a_model_is_split_by_view_wherever_it_is(n_outputs):
    X, y = data(n_outputs=n_outputs)
    model = SpicyMKLRegressor(VIEWS, alpha=0.01).fit(X[:60], y[:60])
    split = variance_split(model, X[60:], y[60:], "view", random_state=0)
    assert split.names == ("wave", "rest")
    offset = (y[60:].mean(0) - model.predict(X[60:]).mean(0)) ** 2 / y[60:].var(0)
    np.testing.assert_allclose(split.shares.sum(-1) - offset, split.r2, rtol=1e-10)
    expected = r2_score(y[60:], model.predict(X[60:]), multioutput="raw_values")
    np.testing.assert_allclose(np.ravel(split.r2), expected, rtol=1e-10)
    by_kernel = variance_split(model, X[60:], y[60:], random_state=0)
    np.testing.assert_allclose(by_kernel.shares.sum(-1), split.shares.sum(-1))
    assert len(by_kernel.names) == model.active_kernels_.size
    low, high = split.interval()
    assert low.shape == split.shares.shape
    assert np.all((low <= split.shares) & (split.shares <= high))
    narrow = split.interval(0.5)
    assert np.all(narrow[1] - narrow[0] < high - low)
    display = VarianceSplitDisplay.from_estimator(
        model, X[60:], y[60:], "view", random_state=0, n_resamples=20
    )
    assert len(display.bars_) == n_outputs
    assert len(repr(split)) < 400


def test_intervals_are_those_of_shares_on_resamples():
    X, y = data()
    model = SpicyMKLRegressor(VIEWS, alpha=0.01).fit(X[:40], y[:40])
    split = variance_split(
        model, X[40:], y[40:], n_resamples=70, random_state=np.random.RandomState(3)
    )
    random = np.random.RandomState(3)
    each = np.full(50, 1.0 / 50)
    counts = np.concatenate([random.multinomial(50, each, size=s) for s in (64, 6)])
    expected = [
        variance_split(model, X[40:], y[40:], n_resamples=2, sample_weight=c).shares
        for c in counts
    ]
    np.testing.assert_allclose(split.resampled, expected, rtol=1e-9)


def test_resamples_of_constant_targets_have_no_shares():
    X, y = data()
    model = SpicyMKLRegressor(VIEWS, alpha=0.01).fit(X, y)
    split = variance_split(model, X, 1.0 * (np.arange(90) == 7), random_state=0)
    undrawn = np.isnan(split.resampled).all(axis=1)
    assert 0.3 < undrawn.mean() < 0.45
    assert np.abs(split.resampled[~undrawn]).max() < 1e3


def test_many_targets_are_drawn_as_their_mean():
    rng = np.random.default_rng(2)
    r2, drawn = rng.uniform(size=22), rng.uniform(size=(9, 22, 2))
    outputs = tuple(f"voxel {k}" for k in range(22))
    split = VarianceSplit(("a", "b"), drawn.mean(axis=0), r2, drawn, outputs)
    display = VarianceSplitDisplay(split).plot()
    (bars,) = display.bars_
    shown = sorted(bar.get_width() for bar in bars)
    np.testing.assert_allclose(shown, np.sort(split.shares.mean(axis=0)))
    low, high = split.mean().interval()
    np.testing.assert_allclose(
        np.stack([low, high]),
        np.quantile(drawn.mean(axis=1), [0.05, 0.95], axis=0),
    )
    title = display.ax_.get_title(loc="left") or display.ax_.get_title()
    assert f"R² {r2.mean():.2f}, mean of 22 targets, on held-out" in title
    height = display.figure_.get_size_inches()[1]
    assert height < 3.0
    every = VarianceSplitDisplay(split).plot(max_targets=22)
    assert len(every.bars_) == 22
    assert repr(split).startswith("Mean of 22 targets: R²")
    assert split.mean().mean().names == split.names
    with pytest.raises(ValueError, match="max_targets must be"):
        VarianceSplitDisplay(split).plot(max_targets=0)


def test_pipelines_and_searches_nested_either_way():
    X, y = data()
    inner = make_pipeline(StandardScaler(), SpicyMKLRegressor(VIEWS, alpha=0.01))
    outside = GridSearchCV(inner, {"spicymklregressor__alpha": [0.01]}, cv=2)
    within = make_pipeline(
        StandardScaler(),
        make_pipeline(
            StandardScaler(),
            GridSearchCV(SpicyMKLRegressor(VIEWS), {"alpha": [0.01]}, cv=2),
        ),
    )
    plain = SpicyMKLRegressor(VIEWS, alpha=0.01)
    plain.fit(StandardScaler().fit_transform(X), y)
    expected = plain.contributions(StandardScaler().fit(X).transform(X))
    for estimator in (outside, within):
        found = contributions(estimator.fit(X, y), X)
        np.testing.assert_allclose(found.terms, expected, atol=1e-6)
        assert variance_split(estimator, X, y, "view").names == ("wave", "rest")
        assert "Shape functions" in report(estimator, X, y)


def test_resampling_leaves_the_steps_of_a_pipeline_as_they_are():
    X, y = data()
    model = make_pipeline(StandardScaler(), SpicyMKLRegressor(VIEWS, alpha=0.05))
    model.fit(X[:50], y[:50])
    mean = model[0].mean_.copy()
    bootstrap(model, X, y, 2, random_state=0)
    stability_selection(model, X, y, 2, random_state=0)
    np.testing.assert_array_equal(model[0].mean_, mean)


def test_what_is_no_regressor_or_has_no_views():
    X, y = data()
    with pytest.raises(TypeError, match="requires a regressor, got SpicyMKLClassifier"):
        variance_split(SpicyMKLClassifier().fit(X, y > 5.0), X, y)
    model = SpicyMKLRegressor(alpha=0.05).fit(X, y)
    with pytest.raises(ValueError, match="fitted without views"):
        variance_split(model, X, y, "view")
    with pytest.raises(
        ValueError, match="by must be one of 'kernel', 'view', 'column', got 'c"
    ):
        contributions(model, X, "columns")
    with pytest.raises(
        TypeError, match="contributions requires a multiple kernel model"
    ):
        contributions(StandardScaler().fit(X), X)


def test_a_bootstrap_says_how_far_views_move(monkeypatch):
    X, y = data()
    model = SpicyMKLRegressor(VIEWS, alpha=0.05).fit(X, y)
    fits = bootstrap(model, X, y, 8, random_state=0)
    low, high = fits.interval("view_shares")
    assert fits.view_names == ("wave", "rest")
    of_wave = [view == "wave" for view in model.kernel_views_]
    sums = fits.variance_shares[:, of_wave].sum(axis=1)
    assert (low[0], high[0]) == tuple(np.quantile(sums, [0.05, 0.95]))
    np.testing.assert_allclose(low[0] + high[1], 1.0)
    assert len(repr(fits)) < 300
    assert "wave" in repr(fits)
    page = report(model, X, y, bootstrap=fits)
    assert page.count("from (90 %)") == 2
    assert f"{low[0]:.3g}" in page
    plain = bootstrap(SpicyMKLRegressor(alpha=0.05), X, y, 3, random_state=0)
    assert len(repr(plain)) < 1200
    with pytest.raises(ValueError, match="require a model with views"):
        plain.interval("view_shares")
    with pytest.raises(ValueError, match="for other kernels"):
        report(model, X, y, bootstrap=plain)


def test_a_bootstrap_of_several_targets_and_its_report():
    X, y = data(n_outputs=2)
    model = SpicyMKLRegressor(VIEWS, alpha=0.05).fit(X, y)
    fits = bootstrap(model, X, y, 3, random_state=0)
    assert fits.interval("view_shares")[0].shape == (2, 2)
    assert {"y0:", "y1:"} < {*repr(fits).splitlines()}
    assert "from (90 %)" in report(model, X, y, bootstrap=fits)


def test_samples_without_weight_make_no_interval_narrower():
    X, y = data(90)
    model = SpicyMKLRegressor(VIEWS).fit(X[:30], y[:30])
    w = np.r_[np.ones(15), np.zeros(45)]
    X, y, own = X[30:], y[30:], {"random_state": 0, "n_resamples": 2000}
    split = variance_split(model, X, y, "view", sample_weight=w, **own)
    left = variance_split(model, X[:15], y[:15], "view", **own)
    np.testing.assert_allclose(split.shares, left.shares, rtol=1e-10)
    # With four times as many draws the first would be half the second.
    np.testing.assert_allclose(
        split.resampled.std(axis=0), left.resampled.std(axis=0), rtol=0.2
    )


def test_another_order_of_targets_is_refused_whatever_they_are_called():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((40, 2)), columns=["a", "b"])
    Y = pd.DataFrame({"y0": np.sin(X["a"]), "y1": X["b"]})
    model = SpicyMKLRegressor().fit(X, Y)
    with pytest.raises(ValueError, match="in the same order"):
        variance_split(model, X, Y[["y1", "y0"]])


def test_a_model_without_kernels_has_a_split_that_reads_and_is_drawn():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 2)), rng.standard_normal((40, 2))
    with pytest.warns(DictionaryWarning, match="no active kernel"):
        model = SpicyMKLRegressor(alpha=1e6).fit(X, Y)
    split = variance_split(model, X, Y, n_resamples=5)
    assert [len(end) for end in split.mean().interval()] == [0, 0]
    assert "split among 0 terms" in repr(split)
    VarianceSplitDisplay(split).plot()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1", "cp437", "utf-8"])
def test_tables_are_printed_whatever_standard_output_encodes(encoding):
    drawn = np.array([[0.5, 0.1], [0.7, 0.3]])
    split = VarianceSplit(("größe × dosis", "b"), drawn[0], 0.8, drawn)
    indices = SobolIndices(("a",), drawn[0, :1], drawn[0, :1], ("a × b",), drawn[0, :1])
    with io.TextIOWrapper(io.BytesIO(), encoding=encoding) as out, redirect_stdout(out):
        for table in (split, indices):
            out.write(repr(table))
        out.seek(0)
        text = out.read()
    plain = encoding in ("ascii", "cp437")
    assert text.startswith("R2 0.8" if plain else "R² 0.8")
    assert ("a x b" if plain else "a × b") in text
