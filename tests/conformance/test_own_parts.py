"""Parts of users are short, are checked and work, and what cannot work is said."""

import inspect
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process.kernels import RBF
from sklearn.preprocessing import StandardScaler, normalize

from multikernel import MKLRegressor, SpicyMKLRegressor
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
from multikernel.solvers import Alternating, IterativeShrinkage, SpicyMKL
from multikernel.testing import check_kernel, check_loss, check_regularizer

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
        ("else", "depends on other samples in the call"),
        ("semidefinite", "not positive semidefinite"),
        ("diag", r"diag\(X\) is not the diagonal"),
        ("changes", "changes the samples"),
        ("real", "must return real numbers"),
    ],
)
def test_every_mistake_is_named(mistake, message):
    X = np.random.default_rng(0).standard_normal((12, 2))
    with pytest.raises(AssertionError, match=message):
        check_kernel(Bad(mistake), X)


def test_what_is_no_kernel_and_too_few_samples():
    with pytest.raises(AssertionError, match="is not a kernel: a kernel is callable"):
        check_kernel(np.ones((4, 4)), np.ones((4, 2)))
    with pytest.raises(AssertionError, match="at least four samples, got 3"):
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


def own_loss(X, y):
    class Huber:  # an outlier pulls no harder than a residual of 30
        def value(self, y, f):
            return np.where(abs(f - y) < 30, (f - y) ** 2 / 2, 30 * abs(f - y) - 450)

        def gradient(self, y, f):
            return np.clip(f - y, -30, 30)

        def conjugate(self, y, u):
            return np.where(np.abs(u) <= 30, u**2 / 2 + y * u, np.inf)

        def dual_bounds(self, y):
            return np.full_like(y, -30), np.full_like(y, 30)

        def conjugate_gradient(self, y, u):
            return u + y

        def conjugate_hessian(self, y, u):
            return np.ones_like(u)

    check_loss(Huber(), y)
    return SpicyMKLRegressor(loss=Huber(), alpha=1.0).fit(X, y)


def test_a_researcher_has_a_loss_that_bears_outliers():
    X, y = load_diabetes(return_X_y=True)
    wrong = np.where(np.arange(300) % 20 == 0, 10.0 * y[:300], y[:300])
    model = own_loss(X[:300], wrong)
    assert model.status_ == "converged"
    squared = SpicyMKLRegressor().fit(X[:300], wrong)
    assert model.score(X[300:], y[300:]) > squared.score(X[300:], y[300:]) + 0.1


def own_penalty(kernels, X, y):
    class Pairs:  # chooses columns, and both kernels of a column with it
        def __init__(self, alpha):
            self.alpha = alpha

        def with_alpha(self, alpha):
            return Pairs(alpha)

        def value(self, t):
            return self.alpha / 2 * np.hypot(t[::2], t[1::2]).sum() ** 2

        def conjugate(self, s, at):
            return (s[::2] ** 2 + s[1::2] ** 2).max() / (2 * self.alpha)

        def feasible_scale(self, s):
            return 1.0

        def kernel_weights(self, t):
            return np.repeat(normalize([np.hypot(t[::2], t[1::2])], "l1")[0], 2)

    check_regularizer(Pairs(0.3))
    return MKLRegressor(kernels, regularizer=Pairs(0.1), solver=Alternating()).fit(X, y)


def test_a_researcher_has_a_penalty_that_chooses_pairs():
    X, y = load_diabetes(return_X_y=True)
    both = GaussianKernel("median"), LinearKernel()
    kernels = [ColumnKernel(kernel, column) for column in range(10) for kernel in both]
    model = own_penalty(kernels, X, (y - y.mean()) / y.std())
    assert model.duality_gap_ <= model.solver.tol
    pairs = model.kernel_weights_.reshape(10, 2)
    np.testing.assert_allclose(pairs[:, 0], pairs[:, 1])
    assert (pairs[:, 0] > 0.1).sum() <= 4  # most of the weight is on few columns
    assert pairs[[2, 8], 0].sum() > 0.5 * pairs[:, 0].sum()  # bmi and s5


def own_kernel(X, y):
    def laplacian(a, b):
        return np.exp(-np.abs(a[:, None] - b).sum(axis=2) / 10.0)

    check_kernel(FunctionKernel(laplacian), X[:20])
    return SpicyMKLRegressor([laplacian, LinearKernel()]).fit(X, y)


def test_a_researcher_has_a_kernel_that_is_a_function():
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = own_kernel(X[:300], y[:300])
    assert set(model.summary()["kernel"]) == {"laplacian()", "linear()"}
    alone = SpicyMKLRegressor(LinearKernel()).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > alone.score(X[300:], y[300:]) + 0.01


@pytest.mark.parametrize("task", [own_loss, own_penalty, own_kernel])
def test_an_own_part_is_short(task):
    lines = inspect.getsource(task).splitlines()[1:]
    assert len([line for line in lines if line.strip()]) <= 15
