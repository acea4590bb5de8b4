"""Fits on a short list of kernels: the same model, with the gap over all kernels."""

import numpy as np
import pytest

from multikernel import SpicyMKLClassifier, SpicyMKLRegressor
from multikernel.datasets import make_epistasis
from multikernel.estimators.grams import listed
from multikernel.kernels import GaussianKernel, Interactions, per_column
from multikernel.persistence import load, save

X, y, _ = make_epistasis(300, n_markers=15, random_state=2)
X[:, 2] = X[:, 2] > 0
KERNELS = Interactions(per_column(GaussianKernel("median"), 15))
N_KERNELS = 15 + 15 * 14 // 2
COMMON = {"kernels": KERNELS, "storage": "low_rank", "tol": 1e-6}


def with_and_without_list(model, target, monkeypatch):
    whole = model().fit(X, target)
    monkeypatch.setattr(listed, "MANY", 10)
    monkeypatch.setattr(listed, "FIRST", 2)
    monkeypatch.setattr(listed, "MOST", 3)
    return whole, model().fit(X, target)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("kind", ["regression", "classes", "several"])
def test_the_model_is_that_over_all_kernels(kind, l1_ratio, monkeypatch):
    common = {**COMMON, "alpha": 0.02, "l1_ratio": l1_ratio}
    model, target = lambda: SpicyMKLRegressor(**common), y + X[:, 4]
    if kind == "classes":
        model, target = lambda: SpicyMKLClassifier(**common), y + (X[:, 3] > 0)
    if kind == "several":
        target = np.column_stack([target, X[:, 5] - X[:, 6]])
    whole, short = with_and_without_list(model, target, monkeypatch)
    np.testing.assert_allclose(short.objective_, whole.objective_, rtol=3e-6)
    assert np.max(short.duality_gap_) <= 1e-6
    assert len(short.kernel_names_) == np.shape(short.kernel_weights_)[-1] < N_KERNELS
    assert short.n_kernels_ == whole.n_kernels_ == N_KERNELS
    predict = [
        getattr(m, "decision_function", m.predict)(X[:50]) for m in (short, whole)
    ]
    np.testing.assert_allclose(*predict, atol=5e-3)


def test_the_gap_is_over_all_kernels(monkeypatch):
    monkeypatch.setattr(listed, "ROUNDS", 1)
    model = lambda: SpicyMKLRegressor(**COMMON, alpha=0.005)  # noqa: E731
    whole, short = with_and_without_list(model, y, monkeypatch)
    excess = short.objective_ / whole.objective_ - 1.0
    assert 1e-3 < excess <= short.duality_gap_


def test_lists_are_saved_and_summed_up(tmp_path, monkeypatch):
    model = lambda: SpicyMKLRegressor(**COMMON, alpha=0.05)  # noqa: E731
    whole, short = with_and_without_list(model, y, monkeypatch)
    assert short.summary()["kernel"].tolist() == whole.summary()["kernel"].tolist()
    assert short.summary().attrs["n_kernels"] == N_KERNELS
    save(short, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), short.predict(X))
