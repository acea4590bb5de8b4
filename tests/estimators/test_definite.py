"""The sum that a model uses is proven, or a sentence says which matrix is no kernel."""

import numpy as np
import pytest
from reference.estimators import ESTIMATORS

from multikernel.estimators import (
    FixedWeightsMKLClassifier,
    FixedWeightsMKLRegressor,
    GroupOMPRegressor,
    LpMKLClassifierCV,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    stack_grams,
)
from multikernel.exceptions import IndefiniteKernelError
from multikernel.kernels import GaussianKernel, LinearKernel


def similarity():
    """Return a raw similarity matrix with a clearly negative eigenvalue, and labels."""
    rng = np.random.default_rng(0)
    y = np.repeat([-1.0, 1.0], 15)
    noise = rng.uniform(-0.4, 0.4, size=(30, 30))
    K = 0.5 + 0.3 * np.outer(y, y) + 0.5 * (noise + noise.T)
    np.fill_diagonal(K, 1.0)
    assert np.linalg.eigvalsh(K)[0] < -0.3
    return K, y


def few(kind, **parameters):
    """Return an estimator on precomputed matrices that is quick to fit."""
    known = kind().get_params()
    quick = {"cv": 2, "alphas": [0.01], "Cs": [1.0], "max_kernels": 1, "tol": 1e-2}
    chosen = {name: value for name, value in quick.items() if name in known}
    return kind(**{**chosen, "kernels": "precomputed", **parameters})


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize(
    "kind",
    # A graph of kernels has no matrices that could be given.
    [kind for kind in ESTIMATORS if "HKL" not in kind.__name__],
    ids=lambda kind: kind.__name__,
)
def test_an_indefinite_matrix_is_found_whatever_the_method(kind):
    K, y = similarity()
    with pytest.raises(IndefiniteKernelError, match="not positive semidefinite"):
        few(kind).fit(stack_grams([K]), y)


@pytest.mark.filterwarnings("ignore::Warning")
def test_the_sum_of_the_model_is_proven():
    K, y = similarity()
    sound = np.outer(y, y) + np.eye(30)
    X = stack_grams([sound, 1e-3 * K])
    options = {"normalize": None, "alpha": 0.1}
    model = few(SpicyMKLClassifier, **options).fit(X, y)
    assert model.active_kernels_.tolist() == [0]
    nearly = K - 0.95 * np.linalg.eigvalsh(K)[0] * np.eye(30)
    slightly = {"C": 1e-3, "normalize": None}
    with pytest.raises(IndefiniteKernelError, match=r"Gram matrix 0 .*clip its neg"):
        few(FixedWeightsMKLRegressor, **slightly).fit(stack_grams([nearly]), y)
    # In a sum with others it is not seen, and need not be: the sum is a kernel.
    few(FixedWeightsMKLRegressor, **slightly).fit(stack_grams([nearly, sound]), y)


def test_what_a_solver_meets_is_named():
    y = np.repeat([-1.0, 1.0], 15)
    K = np.eye(30) - 3.0 * np.outer(y, y) / 30  # -2 along the labels
    X = stack_grams({"one": K, "other": 2.0 * K, "third": np.outer(y, y) + np.eye(30)})
    with pytest.raises(IndefiniteKernelError, match=r"^(one|other): "):
        few(FixedWeightsMKLClassifier).fit(X, y)


class Sigmoid(LinearKernel):
    def __call__(self, X, Y=None):
        return np.tanh(3.0 * super().__call__(X, Y) - 1.0)


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("kind", [SpicyMKLClassifierCV, LpMKLClassifierCV])
def test_a_users_kernel_is_named(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    y = np.sign(X[:, 0] * X[:, 1])
    with pytest.raises(IndefiniteKernelError, match=r"linear\(\): Gram matrix 0"):
        few(kind, kernels=[Sigmoid()]).fit(X, y)


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("kind", [SpicyMKLClassifier, SpicyMKLClassifierCV])
def test_what_centering_makes_a_kernel_is_one(kind):
    # Minus squared distances bend down along the constant vector alone.
    x = np.random.default_rng(2).normal(size=30)
    K = -((x[:, None] - x) ** 2)
    K += 0.0
    y = np.sign(x)
    model = few(kind, normalize="center").fit(stack_grams([K]), y)
    # Centered they are twice the products of centered values: a linear kernel's matrix.
    linear = 2.0 * np.outer(x - x.mean(), x - x.mean())
    same = few(kind, normalize="center").fit(stack_grams([linear]), y)
    np.testing.assert_allclose(model.objective_, same.objective_, rtol=1e-8)


def test_greedy_models_are_checked_kernel_by_kernel():
    K, y = similarity()
    sound = np.outer(y, y)
    model = few(GroupOMPRegressor, alpha=1.0).fit(stack_grams([K, sound]), y)
    # The indefinite one is never chosen, so nobody asked for its curvature.
    alone = few(GroupOMPRegressor, alpha=1.0).fit(stack_grams([sound]), y)
    assert model.active_kernels_.tolist() == [1]
    np.testing.assert_allclose(model.dual_coef_, alone.dual_coef_)


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("kind", [LpMKLClassifierCV, SpicyMKLClassifierCV])
def test_folds_inherit_the_proof_of_the_whole(kind, monkeypatch):
    K, y = similarity()
    seen = []

    def proven(total):
        seen.append(total.shape[0])
        return True

    monkeypatch.setattr("multikernel.estimators.grams.training.is_semidefinite", proven)
    sound = np.outer(y, y) + np.eye(30)
    few(kind).fit(stack_grams([sound]), y)
    assert seen == [30]
    monkeypatch.undo()
    with pytest.raises(IndefiniteKernelError, match="Gram matrix 0"):
        few(kind).fit(stack_grams([K]), y)


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("selection", ["shared", "separate"])
@pytest.mark.parametrize("n_targets", [2, 6])
def test_sums_of_every_target_are_proven(selection, n_targets, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = np.column_stack([np.sin((j + 1.0) * X[:, j % 3]) for j in range(n_targets)])
    K = [GaussianKernel(width)(X) for width in (0.5, 1.0, 2.0)]
    model = few(SpicyMKLRegressor, alpha=0.01, selection=selection)
    model.fit(stack_grams(K), Y)
    bent = np.eye(60) - 0.1
    with pytest.raises(IndefiniteKernelError):
        model.fit(stack_grams([bent]), Y)
    # Kernels of this library are not looked at.
    monkeypatch.setattr("multikernel.estimators.grams.training.is_semidefinite", None)
    own = SpicyMKLRegressor(GaussianKernel(1.0), alpha=0.01, selection=selection)
    own.fit(X, Y)
