"""Estimators on factors by landmarks give what they give on whole matrices."""

import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from multikernel.estimators import (
    FixedWeightsMKLRegressor,
    GroupOMPClassifier,
    LpMKLClassifier,
    LpMKLClassifierCV,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    regularization_path,
)
from multikernel.estimators.grams.method import fitted_attributes
from multikernel.exceptions import DictionaryWarning
from multikernel.gram import LowRank
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
    PolynomialKernel,
)
from multikernel.persistence import load, save

KERNELS = ListDictionary(
    [ColumnKernel(GaussianKernel(s), c) for s in (0.5, 2.0) for c in range(3)]
    + [GaussianKernel(3.0), LinearKernel(), ColumnKernel(PolynomialKernel(2), 0)]
)
STEPS = ["variance", "trace", ("cosine", "center", "trace")]


def problem(n=80):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    y = np.sign(X[:, 0] ** 2 - 1.0 + X[:, 1] + 0.3 * rng.standard_normal(n))
    return X, y, rng.standard_normal((20, 3))


@pytest.mark.parametrize("normalize", STEPS)
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
def test_sparse_learning(loss, normalize):
    X, y, _ = problem()
    options = {"alpha": 0.01, "tol": 1e-6, "loss": loss, "normalize": normalize}
    thin = SpicyMKLClassifier(KERNELS, storage="low_rank", **options).fit(X, y)
    full = SpicyMKLClassifier(KERNELS, storage="dense", **options).fit(X, y)
    assert thin.duality_gap_ <= 1e-6
    assert thin.objective_ == pytest.approx(full.objective_, rel=3e-6)


@pytest.mark.parametrize("normalize", STEPS)
@pytest.mark.parametrize(
    "estimator",
    [
        SpicyMKLClassifier(KERNELS, alpha=0.01),
        LpMKLClassifier(KERNELS, p=1.5),
        GroupOMPClassifier(KERNELS, max_kernels=3),
        FixedWeightsMKLRegressor(KERNELS),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_landmarks_predict_what_the_factors_say(
    estimator, normalize, tmp_path, monkeypatch
):
    X, y, new = problem()
    estimator.set_params(normalize=normalize, storage=LowRank(first=30, max_rank=30))
    training, solutions = [], []

    def spy(fit):
        training.append(fit.training)
        solutions.extend(fit.solutions)
        return fitted_attributes(fit)

    monkeypatch.setattr("multikernel.estimators.grams.method.fitted_attributes", spy)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = estimator.fit(X, y)
    predict = fitted.predict
    if hasattr(fitted, "decision_function"):
        predict = fitted.decision_function
    if solutions:
        stack, found = training[0].stack, solutions[0]
        over_samples = stack.take(found.active).block_matvec(found.coefs).sum(axis=0)
        order = training[0].samples.rows
        np.testing.assert_allclose(
            predict(X[order]), over_samples + found.intercept, atol=1e-7
        )
    terms = fitted.contributions(X)
    assert terms.shape == (80, fitted.active_kernels_.size)
    np.testing.assert_allclose(
        terms.sum(axis=1) + fitted.intercept_, predict(X), atol=1e-9
    )
    save(fitted, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    same = again.predict
    if hasattr(again, "decision_function"):
        same = again.decision_function
    np.testing.assert_array_equal(same(new), predict(new))


def test_refinement_closes_the_gap():
    X, y, _ = problem()
    options = {"alpha": 0.01, "tol": 1e-4, "normalize": "trace"}
    full = SpicyMKLClassifier(KERNELS, storage="dense", **options).fit(X, y)
    coarse = SpicyMKLClassifier(KERNELS, storage=LowRank(first=2), **options)
    coarse.fit(X, y)
    assert coarse.duality_gap_ <= 1e-4
    assert coarse.objective_ == pytest.approx(full.objective_, rel=2e-4)
    # One history over all refinements.
    assert coarse.n_iter_ == len(coarse.history_) - 1
    assert np.all(np.diff(coarse.history_["seconds"]) >= 0.0)
    assert np.all(np.diff(coarse.history_["passes"]) >= 0.0)


def test_the_gap_to_full_kernels_is_told_where_ranks_are_limited():
    X, y, _ = problem()
    few = LowRank(first=2, max_rank=4)
    model = SpicyMKLClassifier(KERNELS, alpha=0.01, tol=1e-4, storage=few)
    with pytest.warns(ConvergenceWarning, match="optimal for the low-rank") as caught:
        model.fit(X, y)
    found = re.search(r"gap of (\S+)\. ", str(caught[0].message))
    certified = float(found.group(1))
    assert certified > 1e-4
    assert certified == pytest.approx(model.duality_gap_, rel=1e-2)
    assert "max_rank" in model.status_message_


@pytest.mark.parametrize("first", [2, 200])
def test_paths_and_searches(first):
    X, y, new = problem(60)
    thin, full = (
        SpicyMKLClassifierCV(
            KERNELS, n_alphas=6, cv=3, tol=1e-5, storage=storage, normalize="trace"
        )
        for storage in (LowRank(first=first), "dense")
    )
    thin.fit(X, y)
    full.fit(X, y)
    np.testing.assert_allclose(thin.alphas_, full.alphas_, rtol=1e-4)
    assert thin.best_params_["alpha"] == pytest.approx(full.best_params_["alpha"])
    np.testing.assert_allclose(
        # At the first one a kernel is about to enter: rounding decides.
        thin.cv_results_["mean_test_score"][1:],
        full.cv_results_["mean_test_score"][1:],
    )
    np.testing.assert_allclose(
        thin.decision_function(new), full.decision_function(new), atol=5e-3
    )
    found = regularization_path(
        SpicyMKLClassifier(KERNELS, storage=LowRank(first=first), tol=1e-5),
        X,
        y,
        n_alphas=6,
    )
    assert found.path.duality_gaps.max() <= 1e-5


def test_a_model_keeps_landmarks_only(tmp_path):
    X, y, _ = problem(2000)
    kernels = KERNELS.kernels[:6]
    model = SpicyMKLClassifier(kernels, alpha=0.05, storage="low_rank").fit(X, y)
    held = model._state.model
    sizes = [landmarks.size for landmarks in held.grams.landmarks]
    assert sum(sizes) < 6 * 80
    assert held.coefs.size < 6 * 80


@pytest.mark.parametrize("first", [5, 200])
def test_kernels_that_memorize_are_named(first):
    X, y, _ = problem(300)
    kernels = [GaussianKernel(0.02), GaussianKernel(3.0)]
    model = SpicyMKLClassifier(kernels, alpha=0.1, storage=LowRank(first=first))
    with pytest.warns(DictionaryWarning, match=r"1 of 2 kernels .* 'gaussian.sigma=0"):
        model.fit(X, y)


LIMITED = """
import resource
import numpy as np
from multikernel.estimators import SpicyMKLClassifier
from multikernel.kernels import GaussianKernel, ParameterGrid

rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 20))
y = np.sign(X[:, 0] + X[:, 1] ** 2 - 1.0)
model = SpicyMKLClassifier(
    ParameterGrid([GaussianKernel(1.0)], range(20)), alpha=0.05, storage="low_rank"
)
model.fit(X[:100], y[:100])  # compiles
# The matrices of 20 kernels take 64 GB, their factors 60 MB.
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + 600_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print(model.fit(X, y).duality_gap_)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_below_a_limit():
    ended = subprocess.run(
        [sys.executable, "-c", LIMITED], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert float(ended.stdout) <= 1e-3


def test_prefixes_over_landmarks_are_the_models_of_the_stages():
    X, y, new = problem()
    model = GroupOMPClassifier(KERNELS, max_kernels=3, storage=LowRank(first=30))
    model.fit(X, y)
    for k, staged in enumerate(model.staged_decision_function(new)):
        values = model.prefix(k).decision_function(new)
        np.testing.assert_allclose(values, staged, atol=1e-9)


class CountedKernel:
    """A Gaussian that lists how many rows it was evaluated for."""

    def __init__(self):
        self.kernel, self.rows = GaussianKernel(1.0), []

    def __call__(self, X, Y=None):
        self.rows.append(len(X))
        return self.kernel(X, Y)

    def diag(self, X):
        return self.kernel.diag(X)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_a_search_evaluates_kernels_of_a_fold_once():
    X, y, _ = problem()
    kernels = [CountedKernel(), CountedKernel()]
    options = {"Cs": [0.1, 1.0, 10.0], "ps": [2.0], "cv": 4, "refit": False}
    search = LpMKLClassifierCV(kernels, storage="low_rank", **options).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).sum() >= 2
    assert [kernel.rows.count(20) for kernel in search.kernels] == [4, 4]


def test_classes_on_factors_take_newton_steps_in_the_weights_together():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(150, 8)).astype(float)
    labels = (X[:, :3] + 0.5 * rng.normal(size=(150, 3))).argmax(axis=1)
    kernels = [ColumnKernel(GaussianKernel(2.0), column) for column in range(8)]
    factors, whole = (
        SpicyMKLClassifierCV(
            kernels, alphas=[0.05, 0.01], cv=2, tol=1e-6, storage=storage
        ).fit(X, labels)
        for storage in ("low_rank", "dense")
    )
    assert set(factors.fit_info_["solver"]) == {"newton_in_weights"}
    assert (factors.duality_gap_ <= 1e-6).all()
    np.testing.assert_allclose(factors.objective_, whole.objective_, rtol=2e-6)
