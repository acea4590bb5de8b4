"""Displays of fitted models, alone and inside pipelines and searches."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import (
    GroupOMPRegressor,
    GroupOMPRegressorCV,
    LpMKLRegressor,
    LpMKLRegressorCV,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    regularization_path,
)
from multikernel.datasets import make_additive_regression
from multikernel.display import (
    ConvergenceDisplay,
    KernelWeightsDisplay,
    RegularizationPathDisplay,
    SparsityPathDisplay,
)
from multikernel.kernels import GaussianKernel, per_column

KERNELS = per_column(GaussianKernel(0.5), 4)


@pytest.fixture(scope="module")
def data():
    return make_additive_regression(60, n_features=4, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    return SpicyMKLRegressor(KERNELS, alpha=0.05, tol=1e-5).fit(*data)


@pytest.fixture(scope="module")
def three_classes(data):
    X, y = data
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])]
    return SpicyMKLClassifier(KERNELS, alpha=0.03).fit(X, labels)


def widths(bars):
    return [bar.get_width() for bar in bars]


def test_weights_of_a_model(model):
    display = KernelWeightsDisplay.from_estimator(model, color="red", max_kernels=2)
    weights = np.sort(model.kernel_weights_)[::-1]
    np.testing.assert_array_equal(widths(display.bars_[0]), weights[:2])
    names = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    largest = np.argsort(-model.kernel_weights_)[:2]
    assert names == [f"x{kernel}, width 0.5" for kernel in largest]


def test_weights_of_several_classes(three_classes):
    display = KernelWeightsDisplay.from_estimator(three_classes)
    assert display.group_names == ("class high", "class low", "class middle")
    for bars, weights in zip(display.bars_, three_classes.kernel_weights_, strict=True):
        positive = np.sort(weights[weights > 0])[::-1]
        np.testing.assert_array_equal(widths(bars), positive)


def test_convergence_of_a_model(model):
    display = ConvergenceDisplay.from_estimator(model, x="passes")
    np.testing.assert_array_equal(
        display.line_[0].get_xdata(), model.history_["passes"]
    )
    assert display.tol == 1e-5
    assert display.output_names is None


def test_convergence_of_several_classes(three_classes):
    display = ConvergenceDisplay.from_estimator(three_classes)
    labels = [line.get_label() for line in display.line_]
    assert labels == ["high", "low", "middle"]


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_path_with_scores(data):
    model = SpicyMKLRegressorCV(KERNELS, n_alphas=6, cv=3).fit(*data)
    display = RegularizationPathDisplay.from_estimator(model)
    assert display.best_alpha == model.best_params_["alpha"]
    curve = display.score_ax_.lines[0]
    np.testing.assert_allclose(curve.get_ydata(), model.cv_results_["mean_test_score"])
    np.testing.assert_allclose(curve.get_xdata(), model.alphas_)
    names = {line.get_label() for line in display.line_}
    assert names <= set(model.kernel_names_)


def test_path_without_scores(data):
    found = regularization_path(SpicyMKLRegressor(KERNELS), *data, n_alphas=4)
    display = RegularizationPathDisplay.from_path(found, best_alpha=0.1)
    np.testing.assert_array_equal(display.values, found.norms())
    assert display.plot().score_ax_ is None


def test_models_without_a_path_are_refused(model):
    with pytest.raises(TypeError, match=r"SpicyMKLRegressor has no scores for values"):
        RegularizationPathDisplay.from_estimator(model)


def test_models_inside_pipelines_and_searches(data):
    pipeline = make_pipeline(StandardScaler(), SpicyMKLRegressor(KERNELS))
    grid = {"spicymklregressor__alpha": [0.05, 0.1]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(*data)
    display = KernelWeightsDisplay.from_estimator(search)
    alone = KernelWeightsDisplay.from_estimator(search.best_estimator_[-1])
    np.testing.assert_array_equal(widths(display.bars_[0]), widths(alone.bars_[0]))
    assert sum(widths(display.bars_[0])) == pytest.approx(1.0)


def test_unfitted_and_foreign_models_are_refused(data):
    with pytest.raises(NotFittedError):
        KernelWeightsDisplay.from_estimator(SpicyMKLRegressor())
    with pytest.raises(TypeError, match="LinearRegression is not a fitted model"):
        KernelWeightsDisplay.from_estimator(LinearRegression().fit(*data))


@pytest.mark.parametrize(
    ("kind", "make", "wanted"),
    [
        (KernelWeightsDisplay, lambda: 3, "matplotlib Axes, got 3"),
        (KernelWeightsDisplay, lambda: plt.subplots(1, 2)[1], "matplotlib Axes, got"),
        (ConvergenceDisplay, lambda: plt.subplots(3)[1], "2 matplotlib Axes, got"),
    ],
)
def test_axes_of_another_number_are_refused(model, kind, make, wanted):
    with pytest.raises(TypeError, match=f"ax must be {wanted}"):
        kind.from_estimator(model, ax=make())


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_scores_alone_of_searches_that_kept_no_model(data):
    model = SpicyMKLRegressorCV(KERNELS, n_alphas=4, cv=3, refit=False).fit(*data)
    display = RegularizationPathDisplay.from_estimator(model)
    assert display.ax_ is display.score_ax_
    results = model.cv_results_
    curve = display.ax_.lines[0]
    np.testing.assert_allclose(curve.get_ydata(), results["mean_test_score"])
    np.testing.assert_allclose(curve.get_xdata(), results["param_alpha"])
    assert display.best_alpha == model.best_params_["alpha"]
    with pytest.raises(TypeError, match=r"SpicyMKLRegressorCV was .* refit=False"):
        KernelWeightsDisplay.from_estimator(model)


def test_scores_of_a_grid_search_and_of_margin_models(data):
    pipeline = make_pipeline(StandardScaler(), LpMKLRegressor(KERNELS, p=2.0))
    grid = {"lpmklregressor__C": [0.1, 1.0, 10.0]}
    search = GridSearchCV(pipeline, grid, cv=2, refit=False).fit(*data)
    display = RegularizationPathDisplay.from_estimator(search)
    np.testing.assert_allclose(display.alphas, [10.0, 1.0, 0.1])
    assert display.ax_.get_xlabel().startswith("1 / C")
    mean = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), mean)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize(
    ("kind", "grid", "number", "label"),
    [
        (SpicyMKLRegressorCV, "alphas", "alpha_", "alpha"),
        (LpMKLRegressorCV, "Cs", "C_", "1 / C"),
    ],
)
def test_paths_are_drawn_over_the_parameter(data, kind, grid, number, label):
    X, y = data
    values = [0.001, 0.01, 0.1, 0.5]
    given = {grid: values}
    model = kind(KERNELS, **given, cv=2).fit(X, 50.0 * y)
    display = RegularizationPathDisplay.from_estimator(model)
    assert display.alpha_name == label
    assert sorted(display.alphas) == pytest.approx(
        sorted(np.array(values) ** (1.0 if grid == "alphas" else -1.0))
    )
    place = np.flatnonzero(display.alphas == display.best_alpha)[0]
    np.testing.assert_array_equal(display.values[place], model.path_.norms[0, -1])
    assert np.isfinite(display.values).all(axis=1).sum() == len(model.path_.alphas)
    given |= {"cv": 2, "selection": "separate", "loss": "squared_error"}
    several = kind(KERNELS, **given).fit(X, np.column_stack([y, 50.0 * X[:, 0]]))
    display = RegularizationPathDisplay.from_estimator(several)
    assert np.ndim(getattr(several, number)) == 1
    place = np.flatnonzero(display.alphas == display.best_alpha)[0]
    norms = np.sqrt((several.path_.norms[:, -1] ** 2).sum(axis=0))
    np.testing.assert_allclose(display.values[place], norms)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_scores_of_a_greedy_search_are_drawn_over_the_parameter(data):
    alphas = [0.01, 1.0]
    model = GroupOMPRegressorCV(KERNELS, alphas=alphas, max_kernels=2, cv=2).fit(*data)
    display = SparsityPathDisplay.from_estimator(model)
    assert set(display.alphas) == {0.01, 1.0}
    labels = [text.get_text() for text in display.ax_.texts]
    assert set(labels) == {"alpha = 0.01", "alpha = 1"}


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_infinite_scores_are_not_drawn(data):
    def score(model, X, y):
        return -np.inf if model.alpha_ > 0.05 * data[1].std() else -1.0

    search = SpicyMKLRegressorCV(KERNELS, alphas=[0.1, 0.03, 0.01], scoring=score, cv=2)
    display = RegularizationPathDisplay.from_estimator(search.fit(*data))
    drawn = display.score_ax_.lines[0].get_ydata()
    np.testing.assert_array_equal(drawn, [np.nan, -1.0, -1.0])


def test_a_greedy_fit_has_an_objective_in_place_of_a_gap(data):
    model = GroupOMPRegressor(KERNELS, max_kernels=3).fit(*data)
    display = ConvergenceDisplay.from_estimator(model, x="iteration")
    np.testing.assert_array_equal(
        display.line_[0].get_ydata(), model.history_["objective"]
    )
    assert display.ax_[0].get_ylabel() == "objective"
    assert display.ax_[0].get_yscale() == "linear"
    assert np.isfinite(display.ax_[0].dataLim.get_points()).all()


@pytest.mark.parametrize("foreign", [{"a": 1}, [1, 2], None, "model"])
@pytest.mark.parametrize(
    "kind",
    [
        KernelWeightsDisplay,
        ConvergenceDisplay,
        RegularizationPathDisplay,
        SparsityPathDisplay,
    ],
)
def test_what_is_no_model_is_refused_in_a_sentence(kind, foreign):
    name = type(foreign).__name__
    with pytest.raises(TypeError, match=f"{name} (has no|is not a) .* (expected|pass)"):
        kind.from_estimator(foreign)
