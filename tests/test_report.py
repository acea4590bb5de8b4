"""Reports: one page, with everything inside."""

import re

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import multikernel
from multikernel import (
    GroupOMPRegressor,
    HKLRegressor,
    LpMKLClassifierCV,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    report,
)

pytest.importorskip("matplotlib", reason="reports have pictures")
pd = pytest.importorskip("pandas", reason="reports have tables")

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.standard_normal((60, 3)), columns=["age", "<dose>", "height"])
Y = np.sin(2 * X["<dose>"].to_numpy())


def headings(page):
    return re.findall(r"<h2>(.*?)</h2>", page)


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
        "Kernels",
        "Weights",
        "Regularization",
        "Shape functions",
        "Convergence",
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


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_classes_and_several_targets():
    classes = np.digitize(Y, [-0.5, 0.5])
    page = report(LpMKLClassifierCV(Cs=(1.0,), cv=2).fit(X, classes), X, classes)
    assert "accuracy" in page
    two = np.c_[Y, X["age"]]
    assert "R²" in report(SpicyMKLRegressor(alpha=0.1).fit(X, two), X, two)
    binary = SpicyMKLClassifier(alpha=0.05).fit(X, Y > 0)
    assert "area under the ROC curve" in report(binary, X, Y > 0)
    assert "Scores" not in headings(report(binary, X))


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
        model = SpicyMKLRegressor(alpha=0.001, tol=1e-9, max_iter=1).fit(X, Y)
    assert "iteration limit" in report(model, X, Y).split("Warnings")[1]
