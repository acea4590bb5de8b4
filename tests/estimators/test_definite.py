"""After a fit every model's kernels are kernels, or a sentence says which is not."""

import numpy as np
import pytest
from reference.estimators import ESTIMATORS

from multikernel.estimators import (
    FixedWeightsMKLClassifier,
    FixedWeightsMKLRegressor,
    GroupOMPRegressor,
    LpMKLClassifier,
    LpMKLClassifierCV,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    stack_grams,
)
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram import DenseStack, check_definite, repair_gram
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
@pytest.mark.parametrize("how", ["clip", "shift", "flip"])
def test_a_repaired_one_is_fitted(how):
    K, y = similarity()
    model = few(SpicyMKLClassifier, alpha=0.01).fit(
        stack_grams([repair_gram(K, how)]), y
    )
    assert model.active_kernels_.tolist() == [0]


@pytest.mark.filterwarnings("ignore::Warning")
def test_what_check_psd_asks_for():
    K, y = similarity()
    sound = np.outer(y, y) + np.eye(30)
    X = stack_grams([sound, 1e-3 * K])
    options = {"normalize": None, "alpha": 0.1}
    model = few(SpicyMKLClassifier, **options).fit(X, y)
    assert model.active_kernels_.tolist() == [0]
    with pytest.raises(IndefiniteKernelError, match=r"Gram matrix 1 .*repair_gram"):
        few(SpicyMKLClassifier, check_psd="all", **options).fit(X, y)
    nearly = K - 0.95 * np.linalg.eigvalsh(K)[0] * np.eye(30)
    slightly = {"C": 1e-3, "normalize": None}
    with pytest.raises(IndefiniteKernelError, match=r"Gram matrix 0 .*repair_gram"):
        few(FixedWeightsMKLRegressor, **slightly).fit(stack_grams([nearly]), y)
    few(FixedWeightsMKLRegressor, check_psd="none", **slightly).fit(
        stack_grams([nearly]), y
    )
    with pytest.raises(
        ValueError, match="check_psd must be one of 'auto', 'active', 'all', 'n"
    ):
        few(SpicyMKLClassifier, check_psd="some").fit(X, y)


@pytest.mark.parametrize("how", ["auto", "none"])
def test_what_a_solver_meets_is_no_matter_of_checks(how):
    y = np.repeat([-1.0, 1.0], 15)
    K = np.eye(30) - 3.0 * np.outer(y, y) / 30  # -2 along the labels
    X = stack_grams({"one": K, "other": 2.0 * K, "third": np.outer(y, y) + np.eye(30)})
    with pytest.raises(IndefiniteKernelError, match=r"^one, other: ") as met:
        few(FixedWeightsMKLClassifier, check_psd=how).fit(X, y)
    assert "Nor are others: 1 (-4 of" in str(met.value)
    assert str(met.value).endswith("so that check_psd='none' is no way out.")


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
        few(kind, kernels=[Sigmoid(), GaussianKernel(1.0)], check_psd="all").fit(X, y)


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("kind", [SpicyMKLClassifier, SpicyMKLClassifierCV])
def test_what_centring_makes_a_kernel_is_one(kind):
    # Minus squared distances bend down along the constant vector alone.
    x = np.random.default_rng(2).normal(size=30)
    K = -((x[:, None] - x) ** 2)
    K += 0.0
    y = np.sign(x)
    model = few(kind, normalize="center").fit(stack_grams([K]), y)
    # Centred they are twice the products of centred values: a linear kernel's matrix.
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


@pytest.mark.parametrize("n", [40, 300])
def test_of_several_indefinite_matrices_the_first_is_named(n):
    """Matrices are looked at side by side, small ones by a factorisation first."""
    random = np.random.default_rng(0)
    factors = random.standard_normal((6, n, 3))
    stack = np.einsum("mir,mjr->mij", factors, factors)
    check_definite(DenseStack(stack), None, np.arange(6), "all")
    # Far below rounding is found, rounding is let pass.
    stack[1] -= 1e-8 * np.trace(stack[1]) * np.eye(n)
    stack[3] -= 1e-2 * np.trace(stack[3]) * np.eye(n)
    stack[5] -= 1e-1 * np.trace(stack[5]) * np.eye(n)
    for how in ("all", "active"):
        with pytest.raises(IndefiniteKernelError, match="Gram matrix 3 is not") as no:
            check_definite(DenseStack(stack), None, np.arange(6), how)
        assert no.value.kernel == 3
    check_definite(DenseStack(stack), None, np.array([0, 1, 2, 4]))


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("kind", [LpMKLClassifierCV, SpicyMKLClassifierCV])
def test_folds_inherit_the_check_of_the_whole(kind):
    K, y = similarity()
    seen = []

    def score(model, X, y):
        seen.append(model.psd_checked_)
        return model.score(X, y)

    sound = np.outer(y, y) + np.eye(30)
    model = few(kind, scoring=score).fit(stack_grams([sound]), y)
    assert set(seen) == {"none"}
    assert model.psd_checked_ == "full"
    with pytest.raises(IndefiniteKernelError, match="Gram matrix 0"):
        few(kind, scoring=score).fit(stack_grams([K]), y)


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("selection", ["shared", "separate"])
def test_sums_of_every_target_are_looked_at(selection):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = np.column_stack([X[:, 0], np.sin(2.0 * X[:, 1])])
    K = [GaussianKernel(width)(X) for width in (0.5, 1.0, 2.0)]
    model = few(SpicyMKLRegressor, alpha=0.01, selection=selection)
    assert model.fit(stack_grams(K), Y).psd_checked_ == "full"
    own = SpicyMKLRegressor(GaussianKernel(1.0), alpha=0.01, selection=selection)
    assert own.fit(X, Y).psd_checked_ == "formula"


@pytest.mark.filterwarnings("ignore::Warning")
def test_models_of_all_kernels_are_probed(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sign(X[:, 0])
    u = rng.normal(size=60)
    K = np.stack([GaussianKernel(width)(X) for width in (1.0, 2.0, 3.0, 4.0)])
    bent = K.copy()
    bent[2] -= 0.3 * np.outer(u, u) / (u @ u)
    # So few kernels of so few samples would be looked at in full.
    monkeypatch.setattr("multikernel.gram.definite.SMALL_ENTRIES", 0)
    for kind in (LpMKLClassifier, FixedWeightsMKLClassifier):
        assert few(kind).fit(stack_grams(K), y).psd_checked_ == "probe"
        assert few(kind, check_psd="none").fit(stack_grams(bent), y) is not None
        with pytest.raises(IndefiniteKernelError, match="Gram matrix 2 "):
            few(kind).fit(stack_grams(bent), y)
