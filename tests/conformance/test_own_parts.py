"""Kernels and penalties of users are checked, and what cannot work is said."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from multikernel import SpicyMKLRegressor
from multikernel.gram import DenseStack, ScaledStack
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    FunctionKernel,
    GaussianKernel,
    LinearKernel,
    OptionalKernel,
    PolynomialKernel,
)
from multikernel.kernels.sequence import SpectrumKernel, StringKernel
from multikernel.losses import SquaredLoss
from multikernel.problem import Problem
from multikernel.regularizers import BlockL1
from multikernel.solvers import IterativeShrinkage, SpicyMKL
from multikernel.testing import check_kernel, check_regularizer

WORDS = ["GATTACA", "TACAGA", "CCGGA", "GGCC", "AATT", "GAGAGA"]


@dataclass(frozen=True)
class WeightedL1:
    """The block l1-norm with a weight for each kernel, as a user would write it."""

    alpha: float
    weights: tuple[float, ...]

    def with_alpha(self, alpha):
        return replace(self, alpha=alpha)

    @property
    def levels(self):
        return self.alpha * np.array(self.weights)

    @property
    def threshold(self):
        return float(self.levels.min())

    def value(self, norms):
        return float(self.levels @ norms)

    def conjugate(self, dual_norms, at):
        inside = dual_norms <= self.levels * (1 + 1e-15)
        return 0.0 if inside.all() else np.inf

    def feasible_scale(self, dual_norms):
        return float(1.0 / max(1.0, (dual_norms / self.levels).max()))

    def prox(self, norms, step):
        return np.maximum(norms - step * self.levels, 0.0)

    def prox_derivative(self, norms, step):
        return (norms > step * self.levels).astype(float)


def test_weights_in_a_penalty_are_refused_and_in_kernels_are_the_same():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 3))
    y = np.sin(2 * x[:, 0]) + 0.3 * x[:, 1]
    gram = DenseStack(np.stack([GaussianKernel(1.0)(x[:, [k]]) for k in range(3)]))
    w = np.array([1.0, 2.0, 0.5])
    penalty = WeightedL1(0.5, tuple(w))
    problem = Problem(gram, y, SquaredLoss(), penalty)
    assert "divide its matrix by w**2" in SpicyMKL().unsupported(problem)
    with pytest.raises(AssertionError, match="norms of any number of kernels"):
        check_regularizer(penalty, 3)
    scaled = Problem(ScaledStack(gram, 1.0 / w**2), y, SquaredLoss(), BlockL1(0.5))
    direct = IterativeShrinkage(tol=1e-6, max_iter=20_000).solve(problem)
    moved = SpicyMKL(tol=1e-6).solve(scaled)
    assert moved.objective == pytest.approx(direct.objective, rel=3e-6)
    np.testing.assert_array_equal(moved.active, direct.active)


@pytest.mark.parametrize(
    "kernel",
    [
        LinearKernel(),
        PolynomialKernel(3),
        GaussianKernel(0.5),
        RBF(0.7),
        CategoryKernel(),
        ColumnKernel(GaussianKernel(2.0), [0, 2]),
        FunctionKernel("laplacian"),
        OptionalKernel(GaussianKernel(1.0)),
    ],
    ids=str,
)
def test_kernels_of_this_library_pass(kernel):
    X = np.random.default_rng(0).integers(-2, 3, (25, 3)).astype(float)
    check_kernel(kernel, X)


def shared(a, b, scale=1.0):
    return scale * len(set(a) & set(b))


def test_kernels_on_strings_pass():
    check_kernel(SpectrumKernel(2), WORDS)
    check_kernel(StringKernel(shared, {"scale": 0.5}, cosine=True), WORDS)


class Bad(GaussianKernel):
    """A kernel with one mistake."""

    def __init__(self, mistake):
        object.__setattr__(self, "mistake", mistake)
        object.__setattr__(self, "sigma", 1.0)
        object.__setattr__(self, "multiple", 1.0)

    name = "bad"

    def __call__(self, X, Y=None):
        K = GaussianKernel(1.0)(X, Y)
        other = X if Y is None else Y
        if self.mistake == "changes":
            X += 1.0
        return {
            "shape": lambda: K[:2],
            "finite": lambda: np.where(K > 0.99, np.nan, K),
            "symmetric": lambda: K + 0.1 * (X[:, :1] > other[None, :, 0]),
            "two": lambda: K + 0.1 * (Y is None),
            "else": lambda: K / len(other),
            "semidefinite": lambda: K - 0.5,
            "real": lambda: K.astype(complex),
        }.get(self.mistake, lambda: K)()

    def diag(self, X):
        return np.full(len(X), 0.5 if self.mistake in ("diag", "semidefinite") else 1.0)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ("shape", r"kernel\(X\) has shape \(2, 12\), expected \(12, 12\)"),
        ("finite", "values that are not finite"),
        ("symmetric", "not symmetric"),
        ("two", r"kernel\(X, X\) is not kernel\(X\)"),
        ("else", "depends on what else is in the call"),
        ("semidefinite", "not positive semidefinite"),
        ("diag", r"diag\(X\) is not the diagonal"),
        ("changes", "changes the samples"),
        ("real", "not of real numbers"),
    ],
)
def test_every_mistake_is_named(mistake, message):
    X = np.random.default_rng(0).standard_normal((12, 2))
    with pytest.raises(AssertionError, match=message):
        check_kernel(Bad(mistake), X)


def test_what_is_no_kernel_and_too_few_samples():
    with pytest.raises(AssertionError, match="is no kernel: that is callable"):
        check_kernel(np.ones((4, 4)), np.ones((4, 2)))
    with pytest.raises(AssertionError, match="four samples at least, got 3"):
        check_kernel(LinearKernel(), np.ones((3, 2)))


def test_a_function_of_two_strings_is_a_kernel_of_an_estimator():
    calls = []

    def counted(a, b):
        calls.append((a, b))
        return shared(a, b)

    kernel = StringKernel(counted)
    K = kernel(WORDS)
    assert len(calls) == 21
    assert K.tolist() == [[shared(a, b) for b in WORDS] for a in WORDS]
    assert kernel(WORDS[:2], WORDS[2:]).tolist() == K[:2, 2:].tolist()
    assert kernel.diag(WORDS).tolist() == np.diagonal(K).tolist()
    cosine = StringKernel(shared, cosine=True)
    np.testing.assert_allclose(cosine.diag(WORDS), 1.0)
    assert StringKernel(shared, {"scale": 2.0}).name == "shared(scale=2.0)"
    X = [a + b for a in WORDS for b in WORDS]
    y = np.array([shared(a, "GC") for a in X]) + 0.01 * np.arange(36)
    model = SpicyMKLRegressor([cosine, SpectrumKernel(2)], alpha=0.001).fit(X, y)
    assert model.kernel_names_ == ["shared()", "spectrum(k=2)"]
    assert model.predict(["GATTACA", *X])[1:] == pytest.approx(model.predict(X))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(("abc",), "function must be a function of two"), ((shared, {}, 1), "cosine")],
)
def test_what_is_no_function_of_strings(arguments, message):
    with pytest.raises(ValueError, match=message):
        StringKernel(*arguments)
