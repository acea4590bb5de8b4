"""Pictures are in the user's units and words, and all outputs fit in one picture."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

from multikernel import SpicyMKLClassifier, report
from multikernel.display import (
    ContributionDisplay,
    ExplanationDisplay,
    HeatMapDisplay,
)
from multikernel.inspection import shapley_values
from multikernel.kernels import GaussianKernel

RNG = np.random.default_rng(0)
PAYMENTS = ["Electronic check", "Mailed check", "Bank transfer (automatic)", "Card"]
TABLE = pd.DataFrame(
    {
        "tenure": RNG.integers(1, 73, 150).astype(float),
        "charges": RNG.uniform(20.0, 120.0, 150),
        "paperless": RNG.choice(["no", "yes"], 150),
        "payment": RNG.choice(PAYMENTS, 150),
    }
)
SCORE = 2.0 * (TABLE.paperless == "yes") - 0.08 * TABLE.tenure
SCORE += TABLE.payment == "Electronic check"
LEFT = np.where(SCORE.median() < SCORE, "left", "stayed")
NUMBERS = ["tenure", "charges"]
FILLED = make_pipeline(SimpleImputer(), StandardScaler())
CODES = OneHotEncoder(drop="if_binary", sparse_output=False)
ENCODED = make_column_transformer(
    (FILLED, NUMBERS),
    (CODES, ["paperless", "payment"]),
    verbose_feature_names_out=False,
)
PASSED = make_column_transformer(
    (StandardScaler(), NUMBERS),
    remainder="passthrough",
    verbose_feature_names_out=False,
).set_output(transform="pandas")
VIEWS = {name: [name] for name in TABLE}
ONE_HOT = make_pipeline(ENCODED, StandardScaler(), SpicyMKLClassifier(alpha=0.01))
WORDS = make_pipeline(PASSED, SpicyMKLClassifier(VIEWS, alpha=0.01))


@pytest.mark.parametrize(
    ("model", "paperless"), [(ONE_HOT, "paperless_yes"), (WORDS, "paperless")]
)
def test_columns_are_as_before_the_scalers(model, paperless):
    model.fit(TABLE, LEFT)
    line = ContributionDisplay.from_estimator(model, TABLE, "tenure")
    np.testing.assert_allclose([line.grid[0][0], line.grid[0][-1]], [1.0, 72.0])
    np.testing.assert_allclose(np.sort(line.samples[:, 0]), np.sort(TABLE.tenure))
    points = ContributionDisplay.from_estimator(model, TABLE, paperless)
    labels = [label.get_text() for label in points.ax_.get_xticklabels()]
    assert labels == ["no", "yes"]
    np.testing.assert_allclose(points.grid[0], [0.0, 1.0], atol=1e-12)
    explained = ExplanationDisplay.from_estimator(model, TABLE, 3)
    texts = " ".join(label.get_text() for label in explained.ax_.get_yticklabels())
    assert f"({TABLE.tenure[3]:.4g})" in texts
    assert f"({TABLE.paperless[3]})" in texts
    data = shapley_values(model, TABLE[:4], TABLE).data
    np.testing.assert_allclose(data[:, 0].astype(float), TABLE.tenure[:4])


def test_steps_before_a_part_without_an_inverse_are_not_inverted():
    parts = make_column_transformer(
        (Normalizer(), NUMBERS), verbose_feature_names_out=False
    )
    steps = make_pipeline(StandardScaler().set_output(transform="pandas"), parts)
    model = make_pipeline(steps, SpicyMKLClassifier(alpha=0.01))
    model.fit(TABLE[NUMBERS], LEFT)
    data = shapley_values(model, TABLE[NUMBERS][:4], TABLE[NUMBERS]).data
    np.testing.assert_allclose(data, steps.transform(TABLE[NUMBERS][:4]))


def test_long_labels_do_not_overlap():
    model = WORDS.fit(TABLE, LEFT)
    for size in ((6.4, 4.0), (2.0, 3.0)):
        picture = ContributionDisplay.from_estimator(model, TABLE, "payment")
        figure = picture.figure_
        figure.set_size_inches(size)
        picture.plot(figure.axes[0])
        figure.draw_without_rendering()
        boxes = [x.get_window_extent() for x in picture.ax_.get_xticklabels()]
        pairs = pairwise(boxes)
        assert not any(one.overlaps(other) for one, other in pairs)


def test_all_classes_and_views_are_one_picture():
    kinds = np.repeat([f"cell type {k:02d}" for k in range(12)], 15)
    X = RNG.normal(size=(180, 24))
    X[np.arange(180), 2 * np.repeat(np.arange(12), 15)] += 3.0
    sets = {f"set {k}": ([2 * k, 2 * k + 1], GaussianKernel(2.0)) for k in range(12)}
    model = SpicyMKLClassifier(sets, alpha=0.02).fit(X, kinds)
    picture = HeatMapDisplay.from_estimator(model)
    assert picture.row_names == tuple(sets)
    expected = np.array([model.view_shares_[name] for name in sets])
    np.testing.assert_array_equal(picture.values, expected)
    # Each cell type lies in its own gene set.
    assert (picture.values.argmax(axis=0) == np.arange(12)).all()
    kernels = HeatMapDisplay.from_estimator(model, "kernel_weights", max_rows=5)
    assert len(kernels.row_names) == 5
    assert report(model, X, kinds).count("Shares by output") == 1
    with pytest.raises(ValueError, match="values must be one of"):
        HeatMapDisplay.from_estimator(model, "weights")


def test_a_class_without_kernels_is_named():
    X = np.random.default_rng(0).normal(size=(90, 2))
    other = np.where(np.arange(90) % 2, "b", "c")
    kinds = np.where(X[:, 0] > 0.5, "a", other)
    model = SpicyMKLClassifier({"x": [0], "y": [1]}, alpha=0.3)
    with pytest.warns(UserWarning, match="no kernel is active for classes 'b', 'c'"):
        model.fit(X, kinds)
    picture = HeatMapDisplay.from_estimator(model)
    assert "no kernel in use: b, c" in picture.ax_.get_title(loc="left")
