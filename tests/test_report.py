"""Reports: one page, with everything inside."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.calibration import CalibrationDisplay, calibration_curve
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import ConfusionMatrixDisplay, confusion_matrix, log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import multikernel
from multikernel import (
    FixedWeightsMKLRegressorCV,
    GroupOMPRegressor,
    HKLRegressor,
    LpMKLClassifierCV,
    LpMKLRegressor,
    OneClassMKL,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    report,
    stack_grams,
)
from multikernel.display import ContributionDisplay
from multikernel.inspection import bootstrap, variance_split
from multikernel.kernels import (
    GaussianKernel,
    Interactions,
)

plt = pytest.importorskip("matplotlib.pyplot", reason="reports have pictures")
pd = pytest.importorskip("pandas", reason="reports have tables")

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.standard_normal((60, 3)), columns=["age", "<dose>", "height"])
Y = np.sin(2 * X["<dose>"].to_numpy())


def headings(page):
    return re.findall(r"<h2>(.*?)</h2>", page)


def body(page, heading):
    return page.split(f"<h2>{heading}</h2>")[1].split("</section>")[0]


@pytest.fixture
def matrices(monkeypatch):
    """Return the confusion matrices that are drawn, as they come."""
    drawn, plot = [], ConfusionMatrixDisplay.plot

    def keeping(display, **settings):
        drawn.append(display)
        return plot(display, **settings)

    monkeypatch.setattr(ConfusionMatrixDisplay, "plot", keeping)
    return drawn


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_a_report_holds_everything_and_needs_no_network(rendered):
    model = make_pipeline(
        StandardScaler().set_output(transform="pandas"),
        SpicyMKLRegressorCV(n_alphas=5, cv=3),
    ).fit(X, Y)
    page = report(model, X, Y)
    assert headings(page) == [
        "Certificate",
        "Scores",
        "Predictions",
        "Kernels",
        "Weights",
        "Regularization",
        "Shape functions",
        "What was fitted",
        "Warnings",
    ]
    assert not re.search(r"https?://|<script|src=\"(?!data:)", page)
    assert "&lt;dose&gt;" in page
    assert "<dose>" not in page
    assert f"{model.score(X, Y):.3g}" in page
    assert f"{model[-1].duality_gap_:.2g}" in page
    assert "n_alphas=5" in page


@pytest.mark.parametrize(
    "model",
    [
        GroupOMPRegressor(max_kernels=2),
        HKLRegressor(alpha=0.1),
        SpicyMKLRegressor({"body": ["age", "height"], "drug": ["<dose>"]}, alpha=0.1),
        SpicyMKLRegressor(alpha=100.0),
    ],
    ids=["no certificate", "hull", "views", "empty"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_kind_of_model_has_one(model):
    page = report(model.fit(X, Y), X, Y)
    assert type(model).__name__ in page
    assert ("Views" in headings(page)) == isinstance(
        model.get_params(deep=False).get("kernels"), dict
    )
    assert ("carries no certificate" in page) == isinstance(model, GroupOMPRegressor)
    # The objective of a greedy fit is all that its steps can show.
    assert ("Convergence" in headings(page)) == isinstance(model, GroupOMPRegressor)
    assert "Predictions" in headings(page)
    without = headings(report(model))
    assert not {"Scores", "Predictions", "Shape functions"} & set(without)


def test_probabilities_are_drawn_against_what_happens(monkeypatch):
    drawn, plot = [], CalibrationDisplay.plot

    def keeping(display, **settings):
        drawn.append(display)
        return plot(display, **settings)

    monkeypatch.setattr(CalibrationDisplay, "plot", keeping)
    model = SpicyMKLClassifier(alpha=0.05).fit(X, Y > 0)
    page = report(model, X, Y > 0)
    chances = model.predict_proba(X)
    curve = calibration_curve(Y > 0, chances[:, 1], n_bins=3, strategy="quantile")
    np.testing.assert_allclose((drawn[0].prob_true, drawn[0].prob_pred), curve)
    assert f"{log_loss(Y > 0, chances):.3g}" in body(page, "Scores")
    classes = np.digitize(Y, [-0.5, 0.5])
    several = SpicyMKLClassifier(alpha=0.05).fit(X, classes)
    report(several, X, classes)
    right, sure = several.predict(X) == classes, several.predict_proba(X).max(axis=1)
    curve = calibration_curve(right, sure, n_bins=3, strategy="quantile")
    np.testing.assert_allclose((drawn[1].prob_true, drawn[1].prob_pred), curve)
    assert "Calibration" not in headings(report(model, X[:30], Y[:30] > 0))
    without = SpicyMKLClassifier(alpha=0.05, loss="hinge").fit(X, Y > 0)
    assert "Calibration" not in headings(report(without, X, Y > 0))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_classes_and_several_targets(monkeypatch, matrices):
    classes = np.digitize(Y, [-0.5, 0.5])
    names = np.array(["$low$", "middle", "high"])[classes]
    model = LpMKLClassifierCV(Cs=(1.0,), cv=2).fit(X, names)
    page = report(model, X, names)
    assert "accuracy" in page
    expected = confusion_matrix(names, model.predict(X))
    np.testing.assert_array_equal(matrices[-1].confusion_matrix, expected)
    assert list(matrices[-1].display_labels) == [r"\$low\$", "high", "middle"]
    assert "<img" in body(page, "Confusion matrix")
    monkeypatch.setattr("multikernel._report.outcomes.MOST_CLASSES", 2)
    few = np.sort(np.argsort(-expected.sum(axis=1), kind="stable")[:2])
    page = report(model, X, names)
    drawn = matrices[-1].confusion_matrix
    np.testing.assert_array_equal(drawn, expected[np.ix_(few, few)])
    assert "the 2 most frequent of 3 classes" in page
    monkeypatch.setattr("multikernel._report.outcomes.MOST_CLASSES", 30)
    # A class that the model never saw has a row as well.
    report(model, X[:3], ["new", "high", "new"])
    assert matrices[-1].confusion_matrix[3].sum() == 2
    two = np.c_[Y, X["age"]]
    page = report(SpicyMKLRegressor(alpha=0.1).fit(X, two), X, two)
    assert "R²" in page
    assert body(page, "Predictions").count("<img") == 2
    labels = SpicyMKLClassifier(alpha=0.05).fit(X, two > 0)
    cells = re.findall(r">(\d+)</td>", body(report(labels, X, two > 0), "Labels"))
    assert np.sum(np.reshape(cells, (2, 4)).astype(int), axis=1).tolist() == [60, 60]
    binary = SpicyMKLClassifier(alpha=0.05).fit(X, Y > 0)
    assert "area under the ROC curve" in report(binary, X, Y > 0)
    assert "Scores" not in headings(report(binary, X))


def test_many_targets_have_no_picture_each():
    many = np.sin(np.outer(Y, np.arange(1, 25)))
    model = SpicyMKLRegressor({"age": ["age"]}, alpha=0.01).fit(X, many)
    page = report(model, X, many)
    assert "Weights" in headings(page)  # one selection has one group of bars
    assert "Shares by view" not in headings(page)
    assert "and 4 more" in body(page, "Predictions")
    assert "summary()" not in body(page, "Predictions")
    assert "more" not in body(page, "Views")  # over all targets
    model.set_params(selection="separate").fit(X, many)
    page = report(model, X, many)
    assert "summary() has all" in body(page, "Views")
    assert "Weights" not in headings(page)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_novelty_detection(matrices):
    model = OneClassMKL(nu=0.2).fit(X)
    inside = model.predict(X)
    assert f"{np.mean(inside == 1):.3g}" in body(report(model, X), "Scores")
    expected = np.diag([np.sum(inside == 1), np.sum(inside == -1)])
    report(model, X, inside)
    np.testing.assert_array_equal(matrices[-1].confusion_matrix, expected)
    with pytest.raises(ValueError, match="1 for usual"):
        report(model, X, Y)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_intervals_and_views_are_drawn_where_they_are_given(rendered):
    views = {"body": ["age", "height"], "drug": ["<dose>"]}
    model = SpicyMKLRegressor(views, alpha=0.1).fit(X[:40], Y[:40])
    fits = bootstrap(model, X[:40], Y[:40], n_resamples=3, random_state=0)
    split = variance_split(model, X[40:], Y[40:], by="view", n_resamples=9)
    plain, drawn = report(model, X), report(model, X, bootstrap=fits, split=split)
    assert set(headings(drawn)) - set(headings(plain)) == {"Held-out variance"}
    for changed in ("Weights", "Shares by view", "Shape functions", "Views"):
        assert body(plain, changed) != body(drawn, changed)
    other = SpicyMKLRegressor({"else": ["age", "height"]}, alpha=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="bootstrap was computed for other kernels"):
        report(other, X, bootstrap=fits)
    with pytest.raises(
        ValueError, match="split was computed for other kernels, views or columns"
    ):
        report(other, X, split=split)
    with pytest.raises(ValueError, match="y was passed without X"):
        report(model, y=Y)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_interactions_are_drawn_beside_the_mains(monkeypatch):
    drawn = []

    def keep(draw, *_):
        drawn.append(draw())
        plt.close(drawn[-1].figure_)
        return "<img>"

    monkeypatch.setattr("multikernel._report.pictures.html_image", keep)
    kernels = Interactions({name: [name] for name in X.columns})
    y = X["age"] * X["height"] / X["age"].std() / X["height"].std()
    model = SpicyMKLRegressor(kernels, alpha=0.05).fit(X, y)
    split = variance_split(model, X, y, by="column", n_resamples=3)
    page = report(model, X, y, split=split)
    assert "<img>" in body(page, "Interactions of columns")
    titles = [d.title for d in drawn if isinstance(d, ContributionDisplay)]
    pairs = [title for title in titles if "×" in title]
    assert pairs[0] == "age × height"
    assert titles[-len(pairs) :] == pairs
    other = SpicyMKLRegressor({"age": ["age"]}, alpha=0.05).fit(X, y)
    with pytest.raises(ValueError, match="views or columns"):
        report(other, X, split=split)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_search_over_a_pipeline(matrices):
    steps = make_pipeline(StandardScaler(), SpicyMKLClassifier())
    grid = {"spicymklclassifier__alpha": [0.05, 0.1]}
    search = GridSearchCV(steps, grid, cv=2).fit(X, Y > 0)
    report(search, X, Y > 0)
    expected = confusion_matrix(Y > 0, search.predict(X))
    np.testing.assert_array_equal(matrices[-1].confusion_matrix, expected)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    model = SpicyMKLRegressor(alpha=0.1).fit(X, Y)
    place = tmp_path / "report.html"
    assert place.exists() is False
    page = report(model, X, Y, place)
    assert place.read_text(encoding="utf-8") == page
    with pytest.raises(FileNotFoundError, match="does not exist"):
        report(model, X, Y, tmp_path / "nowhere" / "report.html")


def test_what_is_no_fitted_model_is_refused():
    with pytest.raises(NotFittedError):
        report(SpicyMKLRegressor(), X, Y)
    with pytest.raises(TypeError, match="Ridge is not a fitted model of multikernel"):
        report(Ridge().fit(X, Y), X, Y)


def test_results_of_another_type_are_refused():
    with pytest.raises(TypeError, match=r"result of .*nested_cross_validate, got 3"):
        report(SpicyMKLRegressor(alpha=0.1).fit(X, Y), nested=3)


def test_an_iteration_limit_is_among_the_warnings():
    with pytest.warns(multikernel.exceptions.ConvergenceWarning):
        model = SpicyMKLRegressor(alpha=0.001, tol=1e-9, max_iter=2).fit(X, Y)
    page = report(model, X, Y)
    assert "iteration limit" in page.split("Warnings")[1]
    assert "Convergence" in headings(page)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_a_search_among_kernels_shows_the_path_of_the_one_that_was_chosen():
    X = np.random.default_rng(0).standard_normal((30, 2))
    model = FixedWeightsMKLRegressorCV(kernel_weights="single", cv=2).fit(X, X[:, 0])
    assert "<h2>Regularization" in multikernel.report(model, X, X[:, 0])


@pytest.fixture
def no_pictures(monkeypatch):
    """Pictures take most of the time of a report."""
    monkeypatch.setattr("multikernel._report.page.pictures_of", lambda *_: [])


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_parameters_of_a_model_are_on_the_page(no_pictures):
    model = make_pipeline(
        StandardScaler(), SpicyMKLRegressor([GaussianKernel(0.5 + k) for k in range(9)])
    )
    said = html.unescape(body(report(model.fit(X, Y)), "What was fitted"))
    assert "SpicyMKLRegressor(kernels=[GaussianKernel(sigma=0.5" in said
    assert "GaussianKernel(sigma=8.5" in said


def warned(page):
    return html.unescape(body(page, "Warnings"))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLRegressor(alpha=0.1),
        SpicyMKLRegressor(alpha=0.1, storage="low_rank"),
        GroupOMPRegressor(max_kernels=2),
        HKLRegressor(alpha=0.1),
        make_pipeline(StandardScaler(), LpMKLRegressor(C=1.0)),
    ],
    ids=["kernels", "landmarks", "selected", "hull", "pipeline"],
)
def test_training_rows_are_told_from_new_ones(model, no_pictures):
    model.fit(X[:40], Y[:40])
    said = "samples that the model was fitted on"
    assert said in warned(report(model, X[:40], Y[:40]))
    assert said not in warned(report(model, X[40:], Y[40:]))
    assert said not in warned(report(model, X[:40]))
    if "HKL" not in repr(model) and "low_rank" not in repr(model):
        most = re.search(r"At least (\d+) of the 60", warned(report(model, X, Y)))
        assert 10 <= int(most[1]) <= 40


def test_given_matrices_of_the_fit_are_told_from_others(no_pictures):
    K = stack_grams([GaussianKernel(1.0)(X.to_numpy())])
    model = SpicyMKLRegressor("precomputed", alpha=0.05).fit(K[:40, :40], Y[:40])
    said = "At least 40 of the 40 rows"
    assert said in warned(report(model, K[:40, :40], Y[:40]))
    assert "fitted on" not in warned(report(model, K[20:, :40], Y[20:]))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_share_outside_its_own_interval_is_a_warning(no_pictures):
    model = SpicyMKLRegressor({"body": ["age"], "drug": ["<dose>"]}, alpha=0.1)
    fits = bootstrap(model.fit(X, Y), X, Y, n_resamples=9, random_state=0)
    split = variance_split(model, X, Y, by="view", n_resamples=9)
    inside = model.variance_shares_ + np.linspace(-0.1, 0.1, 9)[:, None]
    fits = replace(fits, variance_shares=inside)
    held = split.shares + np.linspace(-0.1, 0.1, 9)[:, None]
    split = replace(split, resampled=held)
    assert "outside" not in warned(report(model, bootstrap=fits, split=split))
    fits = replace(fits, variance_shares=inside + 0.2)
    split = replace(split, resampled=held + 0.2)
    said = warned(report(model, bootstrap=fits, split=split))
    assert f"share of '{model.kernel_names_[0]}'" in said
    assert "The variance share of 'body', 'drug' is outside" in said
    assert "The held-out share of 'body', 'drug' is outside" in said


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_model_that_predicts_one_class_is_a_warning(no_pictures):
    rare = np.where(np.argsort(np.argsort(X["height"])) < 8, "yes", "no")
    model = SpicyMKLClassifierCV([GaussianKernel(1.0)], alphas=[0.14, 0.13], cv=2)
    model.fit(X[["height"]], rare)
    assert model.active_kernels_.size
    assert "predicts class 'no' for all 60 rows" in warned(report(model, X[["height"]]))
    assert "predicts class 'no' for all validation" in warned(report(model))
    labels = np.column_stack([rare == "yes", X["age"] > 0.0]).astype(int)
    model = SpicyMKLClassifier([GaussianKernel(1.0)], 0.1).fit(X[["height"]], labels)
    assert "the same for label 'y1' for all 60" in warned(report(model, X[["height"]]))
    assert "predicts" not in warned(report(SpicyMKLClassifier().fit(X, Y > 0), X))
