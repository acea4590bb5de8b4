"""Scores against the number of kernels: the values drawn are those of the search."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import GroupOMPRegressor, GroupOMPRegressorCV, SpicyMKLRegressor
from multikernel.datasets import make_additive_regression
from multikernel.display import SparsityPathDisplay
from multikernel.kernels import GaussianKernel, per_column

SCORES = np.random.default_rng(0).random((3, 5, 4))


@pytest.fixture(scope="module")
def search():
    X, y = make_additive_regression(60, n_features=4, random_state=0)
    model = GroupOMPRegressorCV(per_column(GaussianKernel(0.5), 4), cv=3)
    return make_pipeline(StandardScaler(), model).fit(X, y)


def test_lines_are_means_and_the_band_is_one_deviation():
    display = SparsityPathDisplay(
        SCORES, [1.0, 0.1, 0.01], best_alpha=0.1, best_n_kernels=3
    ).plot(color="red")
    mean, deviation = SCORES[1].mean(axis=1), SCORES[1].std(axis=1)
    np.testing.assert_allclose(display.line_.get_xdata(), np.arange(5))
    np.testing.assert_allclose(display.line_.get_ydata(), mean)
    assert display.line_.get_color() == "red"
    corners = display.band_.get_paths()[0].vertices
    for k in range(5):
        heights = corners[corners[:, 0] == k, 1]
        assert heights.min() == pytest.approx(mean[k] - deviation[k])
        assert heights.max() == pytest.approx(mean[k] + deviation[k])
    others = [line.get_ydata() for line in display.other_lines_]
    np.testing.assert_allclose(others, SCORES[[0, 2]].mean(axis=2))
    assert display.point_.get_xdata() == [3]
    np.testing.assert_allclose(display.point_.get_ydata(), mean[3])
    assert "chosen: 3 kernels" in [
        text.get_text() for text in display.ax_.get_legend().get_texts()
    ]


def test_one_strength_and_no_choice():
    ax = plt.subplots()[1]
    display = SparsityPathDisplay(SCORES[:1], [1.0]).plot(ax)
    assert display.ax_ is ax
    assert display.other_lines_ == []
    assert display.point_ is None


def test_scores_of_a_search(search):
    display = SparsityPathDisplay.from_estimator(search)
    model = search[-1]
    assert display.best_alpha == model.alpha_
    results = model.cv_results_
    own = results["param_alpha"] == model.alpha_
    np.testing.assert_array_equal(
        display.line_.get_xdata(), results["param_max_kernels"][own]
    )
    np.testing.assert_allclose(
        display.line_.get_ydata(), results["mean_test_score"][own]
    )
    assert display.point_.get_xdata() == [model.max_kernels_]
    assert display.point_.get_ydata() == pytest.approx(model.best_score_)
    for alpha, line in zip(
        model.alphas_[model.alphas_ != model.alpha_], display.other_lines_, strict=True
    ):
        np.testing.assert_allclose(
            line.get_ydata(),
            results["mean_test_score"][results["param_alpha"] == alpha],
        )


def test_models_without_a_choice_are_refused():
    X, y = make_additive_regression(40, n_features=4, random_state=0)
    model = SpicyMKLRegressor(per_column(GaussianKernel(0.5), 4)).fit(X, y)
    with pytest.raises(TypeError, match="SpicyMKLRegressor has no scores for values"):
        SparsityPathDisplay.from_estimator(model)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scores": SCORES[:2]}, r"scores must have .* n_alphas=3, .*\(2, 5, 4\)"),
        ({"scores": SCORES[0]}, r"scores must have .* got \(5, 4\)"),
        ({"best_alpha": 0.5}, r"best_alpha=0\.5 must be one"),
        ({"best_n_kernels": 5}, r"best_n_kernels=5 must be one of .*0, 1, 2, 3, 4"),
    ],
)
def test_wrong_arguments_get_a_sentence(arguments, message):
    given = {"scores": SCORES, "alphas": [1.0, 0.1, 0.01]} | arguments
    with pytest.raises(ValueError, match=message):
        SparsityPathDisplay(**given)


def test_scores_alone_of_a_search_without_a_model_and_of_a_grid_search():
    X, y = make_additive_regression(40, n_features=4, random_state=0)
    kernels = per_column(GaussianKernel(0.5), 4)
    own = GroupOMPRegressorCV(kernels, alphas=[1e-2, 1e-1], cv=2, refit=False)
    grid = {"alpha": [1e-2, 1e-1], "max_kernels": [1, 3]}
    other = GridSearchCV(GroupOMPRegressor(kernels), grid, cv=2)
    for search in (own.fit(X, y), other.fit(X, y)):
        display = SparsityPathDisplay.from_estimator(search)
        results, best = search.cv_results_, search.best_index_
        chosen = np.asarray(results["param_alpha"] == search.best_params_["alpha"])
        counts = np.asarray(results["param_max_kernels"], dtype=int)
        np.testing.assert_array_equal(display.line_.get_xdata(), counts[chosen])
        np.testing.assert_allclose(
            display.line_.get_ydata(), results["mean_test_score"][chosen]
        )
        assert display.point_.get_xdata() == counts[best]
        assert display.point_.get_ydata() == pytest.approx(search.best_score_)
