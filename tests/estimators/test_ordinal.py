"""Ordered classes: thresholds, probabilities, the contract, and beside cones."""

import numpy as np
import pytest
from reference.sklearn_checks import each_check
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import (
    SpicyMKLClassifier,
    SpicyMKLOrdinal,
    SpicyMKLOrdinalCV,
    load,
    report,
    save,
)
from multikernel.kernels import (
    GaussianKernel,
    LinearKernel,
    ParameterGrid,
    PolynomialKernel,
    per_column,
)

rng = np.random.default_rng(0)
X = rng.standard_normal((120, 3))
LATENT = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.3 * rng.logistic(size=120)
Y = np.digitize(LATENT, np.quantile(LATENT, [0.2, 0.5, 0.8]))
FEW = ParameterGrid([GaussianKernel(1.0), PolynomialKernel(2)], [slice(None)])


@each_check(
    [
        SpicyMKLOrdinal(FEW),
        SpicyMKLOrdinalCV(FEW, n_alphas=2, alpha_min_ratio=1e-2, cv=2),
    ],
    (),
)
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.filterwarnings("ignore:.*order of the alphabet")
def test_sklearn_conformance(estimator, check):
    check(estimator)


def test_probabilities_are_differences_of_the_logits():
    model = SpicyMKLOrdinal().fit(X, Y)
    f = model.linear_predictor(X)
    below = expit(model.thresholds_ - f[:, None])
    ends = np.hstack([np.zeros((120, 1)), below, np.ones((120, 1))])
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities, np.diff(ends, axis=1), atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), probabilities.argmax(axis=1))
    median = (ends[:, 1:] < 0.5).sum(axis=1)
    np.testing.assert_array_equal(model.predict_median(X), median)
    assert model.score(X, Y) == np.mean(model.predict(X) == Y)
    assert model.score(X, Y) > 0.6


def test_the_objective_is_that_of_the_published_model():
    model = SpicyMKLOrdinal(alpha=0.05, tol=1e-6).fit(X, Y)
    likelihood = model.predict_proba(X)[np.arange(120), Y]
    penalty = model.alpha * model.block_norms_.sum()
    objective = penalty - np.log(likelihood).mean()
    assert model.objective_ == pytest.approx(objective, rel=1e-9)
    assert model.duality_gap_ <= 1e-6


def test_two_classes_are_logistic_regression():
    y = (Y > 1).astype(int)
    ordinal = SpicyMKLOrdinal(FEW, 0.05, tol=1e-8).fit(X, y)
    binary = SpicyMKLClassifier(FEW, 0.05, tol=1e-8).fit(X, y)
    expected = binary.predict_proba(X)
    np.testing.assert_allclose(ordinal.predict_proba(X), expected, atol=1e-3)
    assert ordinal.objective_ == pytest.approx(binary.objective_, rel=1e-7)


def test_reversed_classes_are_the_same_model():
    up = SpicyMKLOrdinal(tol=1e-7).fit(X, Y)
    down = SpicyMKLOrdinal(order=[3, 2, 1, 0], tol=1e-7).fit(X, Y)
    np.testing.assert_array_equal(down.classes_, [3, 2, 1, 0])
    turned = down.predict_proba(X)[:, ::-1]
    np.testing.assert_allclose(turned, up.predict_proba(X), atol=1e-3)


def test_words_need_an_order():
    pd = pytest.importorskip("pandas")
    order = ["low", "mid", "high", "top"]
    words = np.array(order)[Y]
    numbers = SpicyMKLOrdinal().fit(X, Y)
    named = SpicyMKLOrdinal(order=order).fit(X, words)
    np.testing.assert_array_equal(named.predict_proba(X), numbers.predict_proba(X))
    assert list(named.classes_) == order
    categories = pd.Series(pd.Categorical(words, categories=order, ordered=True))
    of_frame = SpicyMKLOrdinal().fit(X, categories)
    np.testing.assert_array_equal(of_frame.classes_, named.classes_)
    with pytest.warns(UserWarning, match="classes alphabetically, 'high', 'low'"):
        SpicyMKLOrdinal().fit(X, words)
    for other, labels in ((["1", "2"], [1, 2]), ([1, 2], ["1", "2"])):
        with pytest.raises(ValueError, match=r"has '?1'?: y holds .* so convert one"):
            SpicyMKLOrdinal(order=other).fit(X, np.resize(labels, len(X)))
    with pytest.raises(ValueError, match="y also has 'top'"):
        SpicyMKLOrdinal(order=order[:3]).fit(X, words)
    with pytest.raises(ValueError, match="order"):
        SpicyMKLOrdinal(order="low").fit(X, words)
    index = SpicyMKLOrdinal(order=pd.Index(order)).fit(X, words)
    assert list(index.classes_) == list(order)


def test_weights_are_copies_and_zero_is_none():
    weights = rng.integers(0, 3, 120).astype(float)
    weights[Y == 3] = 0.0
    model = SpicyMKLOrdinal(tol=1e-7).fit(X, Y, weights)
    times = weights.astype(int)
    copies = SpicyMKLOrdinal(tol=1e-7).fit(X.repeat(times, 0), Y.repeat(times))
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    np.testing.assert_allclose(
        model.predict_proba(X), copies.predict_proba(X), atol=1e-6
    )


def share_in_order(y, f):
    """Return the share of pairs of different classes that f has in their order."""
    rises = np.sign(np.subtract.outer(f, f))[np.less.outer(y, y).T]
    return (1.0 + rises.mean()) / 2.0


def test_a_search_takes_the_best_order_and_copes_with_classes_that_folds_lack():
    y = Y.copy()
    y[y == 3] = 2
    y[0] = 3  # one sample: on one side alone
    model = SpicyMKLOrdinalCV(FEW, n_alphas=4, cv=KFold(3)).fit(X, y)
    assert model.duality_gap_ <= model.tol
    assert model.thresholds_.shape == (3,)
    scores = []
    for train, test in KFold(3).split(X):
        fold = SpicyMKLOrdinal(FEW, model.alpha_, tol=1e-6).fit(X[train], y[train])
        f = fold.linear_predictor(X[test])
        scores.append(share_in_order(y[test], f))
    assert model.best_score_ == pytest.approx(np.mean(scores), abs=0.01)


def test_a_search_is_at_home_in_pipelines_files_and_pages(tmp_path):
    pytest.importorskip("matplotlib")
    search = SpicyMKLOrdinalCV(n_alphas=3, cv=2)
    model = make_pipeline(StandardScaler(), search)
    assert cross_val_score(clone(model), X, Y, cv=2).mean() > 0.45
    model.fit(X[:80], Y[:80])
    file = tmp_path / "model.skops"
    save(model, file)
    again = load(file)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert "Confusion matrix" in report(model, X[80:], Y[80:])
    two = SpicyMKLOrdinal().fit(X[:80], Y[:80] > 1)
    assert "Confusion matrix" in report(two, X[80:], Y[80:] > 1)
    grid = GridSearchCV(SpicyMKLOrdinal(FEW), {"alpha": [0.01, 0.1]}, cv=3)
    assert grid.fit(X, Y).best_params_["alpha"] in (0.01, 0.1)


def test_bad_input_is_a_sentence():
    with pytest.raises(ValueError, match="got one class only: '1"):
        SpicyMKLOrdinal().fit(X, np.ones(120))
    with pytest.raises(ValueError, match="does not support offset"):
        SpicyMKLOrdinal().fit(X, Y, offset=np.zeros(120))
    with pytest.raises(ValueError, match="Unknown label type"):
        SpicyMKLOrdinal().fit(X, LATENT)
    marks = np.resize([1.3, 2.0, 10.0], 120)
    with pytest.raises(ValueError, match=r"y holds 1\.3 at row 0"):
        SpicyMKLOrdinal().fit(X, marks)
    in_text = SpicyMKLOrdinal(FEW).fit(X, marks.astype(str))
    assert in_text.classes_.tolist() == ["1.3", "2.0", "10.0"]


def test_grades_count_from_the_lowest_class():
    labels = np.array(["b", "a"])[(Y > 1).astype(int)]
    named = SpicyMKLOrdinal(FEW, order=["b", "c", "a"]).fit(X, labels)
    assert named.classes_.tolist() == ["b", "a"]
    counted = SpicyMKLOrdinal(FEW).fit(X, Y > 1)
    np.testing.assert_array_equal(named.predict(X) == "a", counted.predict(X))


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_a_sample_far_from_its_class_stalls_no_fit(seed):
    # Its loss is nearly a line, so that the parabola with its curvature is very wide.
    random = np.random.default_rng(seed)
    X = random.standard_normal((90, 2))
    X[0, 0] = -4.0
    score = X[:, 0] + 0.3 * random.standard_normal(90)
    y = np.digitize(score, np.quantile(score, [1 / 3, 2 / 3]))
    y[0] = 2
    kernels = per_column(LinearKernel(), 2)
    model = SpicyMKLOrdinal(kernels, alpha=1e-3, tol=1e-6).fit(X, y)
    assert model.status_ == "converged"
