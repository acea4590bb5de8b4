"""Reports: one page, with everything inside."""

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import multikernel
from multikernel import (
    GroupOMPRegressor,
    HKLRegressor,
    LpMKLClassifierCV,
    OneClassMKL,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    bootstrap,
    report,
    variance_split,
)

pytest.importorskip("matplotlib", reason="reports have pictures")
pd = pytest.importorskip("pandas", reason="reports have tables")

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.standard_normal((60, 3)), columns=["age", "<dose>", "height"])
Y = np.sin(2 * X["<dose>"].to_numpy())


def headings(page):
    return re.findall(r"<h2>(.*?)</h2>", page)


def body(page, heading):
    return page.split(f"<h2>{heading}</h2>")[1].split("</section>")[0]


def counts(page):
    """Return the confusion matrix of a page, its last column the sums of rows."""
    rows = body(page, "Confusion matrix").split("<tr>")[2:]
    return [[int(n) for n in re.findall(r"<td[^>]*>(\d+)", row)] for row in rows]


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_a_report_holds_everything_and_needs_no_network():
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


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_classes_and_several_targets(monkeypatch):
    classes = np.digitize(Y, [-0.5, 0.5])
    names = np.array(["<low>", "middle", "high"])[classes]
    model = LpMKLClassifierCV(Cs=(1.0,), cv=2).fit(X, names)
    page = report(model, X, names)
    assert "accuracy" in page
    expected = confusion_matrix(names, model.predict(X))
    assert counts(page) == np.c_[expected, expected.sum(axis=1)].tolist()
    heads = re.findall(r"<th>(.*?)</th>", body(page, "Confusion matrix"))
    assert heads == ["", *(labels := ["&lt;low&gt;", "high", "middle"]), "all", *labels]
    monkeypatch.setattr("multikernel._outcomes.MOST_CLASSES", 2)
    few = np.sort(np.argsort(-expected.sum(axis=1), kind="stable")[:2])
    kept = np.c_[expected[np.ix_(few, few)], expected.sum(axis=1)[few]]
    page = report(model, X, names)
    assert counts(page) == kept.tolist()
    assert "the 2 most frequent of 3 classes" in page
    monkeypatch.undo()
    # A class that the model never saw has a row as well.
    assert counts(report(model, X[:3], ["new", "high", "new"]))[3][-1] == 2
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
def test_novelty_detection():
    model = OneClassMKL(nu=0.2).fit(X)
    inside = model.predict(X)
    assert f"{np.mean(inside == 1):.3g}" in body(report(model, X), "Scores")
    expected = np.diag([np.sum(inside == 1), np.sum(inside == -1)])
    assert counts(report(model, X, inside)) == np.c_[expected, expected.sum(1)].tolist()
    with pytest.raises(ValueError, match="1 for what is usual"):
        report(model, X, Y)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_intervals_and_views_are_drawn_where_they_are_given():
    views = {"body": ["age", "height"], "drug": ["<dose>"]}
    model = SpicyMKLRegressor(views, alpha=0.1).fit(X[:40], Y[:40])
    fits = bootstrap(model, X[:40], Y[:40], n_resamples=3, random_state=0)
    split = variance_split(model, X[40:], Y[40:], by="view", n_resamples=9)
    plain, drawn = report(model, X), report(model, X, bootstrap=fits, split=split)
    assert set(headings(drawn)) - set(headings(plain)) == {"Held-out variance"}
    for changed in ("Weights", "Shares by view", "Shape functions", "Views"):
        assert body(plain, changed) != body(drawn, changed)
    other = SpicyMKLRegressor({"else": ["age", "height"]}, alpha=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="bootstrap holds fits of other kernels"):
        report(other, X, bootstrap=fits)
    with pytest.raises(ValueError, match="split is among other kernels or views"):
        report(other, X, split=split)
    with pytest.raises(ValueError, match="there is no X"):
        report(model, y=Y)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_search_over_a_pipeline():
    steps = make_pipeline(StandardScaler(), SpicyMKLClassifier())
    grid = {"spicymklclassifier__alpha": [0.05, 0.1]}
    search = GridSearchCV(steps, grid, cv=2).fit(X, Y > 0)
    page = report(search, X, Y > 0)
    expected = confusion_matrix(Y > 0, search.predict(X))
    assert counts(page) == np.c_[expected, expected.sum(axis=1)].tolist()


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
    with pytest.raises(TypeError, match="kernel_weights_"):
        report(Ridge().fit(X, Y), X, Y)


def test_an_iteration_limit_is_among_the_warnings():
    with pytest.warns(multikernel.exceptions.ConvergenceWarning):
        model = SpicyMKLRegressor(alpha=0.001, tol=1e-9, max_iter=2).fit(X, Y)
    page = report(model, X, Y)
    assert "iteration limit" in page.split("Warnings")[1]
    assert "Convergence" in headings(page)


@pytest.mark.parametrize(
    "kind", ["SingleKernelClassifierCV", "SingleKernelRegressorCV"]
)
def test_a_search_among_kernels_has_no_path_of_strengths(kind):
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = X[:, 0] > 0.0 if "Classifier" in kind else X[:, 0]
    model = getattr(multikernel, kind)(cv=2).fit(X, y)
    assert "<h2>Regularization" not in multikernel.report(model, X, y)
