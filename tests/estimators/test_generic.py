"""Any loss, penalty and solver in scikit-learn's contract."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from multikernel import report
from multikernel.estimators import (
    GroupOMPRegressor,
    HKLRegressor,
    LpMKLClassifier,
    LpMKLRegressor,
    MKLClassifier,
    MKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
)
from multikernel.exceptions import UnsupportedProblemError
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ParameterGrid,
)
from multikernel.losses import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    LogisticLoss,
    SquaredLoss,
)
from multikernel.regularizers import BlockElasticNet, BlockL1, SquaredBlockNorm
from multikernel.solvers import Alternating, CuttingPlane, InterleavedNewton, SpicyMKL
from multikernel.testing import check_loss

KERNELS = ParameterGrid([GaussianKernel(1.0), LinearKernel()], [0, 1])


@dataclass(frozen=True)
class DoubleLoss:
    """A loss of one's own: |y - f|^2, twice that of the squared error."""

    degree = 2

    def value(self, y, f):
        return (y - f) ** 2

    def gradient(self, y, f):
        return 2.0 * (f - y)

    def conjugate(self, y, u):
        return 0.25 * u**2 + u * y

    def dual_bounds(self, y):
        return np.full(y.shape, -np.inf), np.full(y.shape, np.inf)

    def conjugate_gradient(self, y, u):
        return 0.5 * u + y

    def conjugate_hessian(self, y, u):
        return np.full(y.shape, 0.5)


def data(n=50):
    X = np.random.default_rng(0).standard_normal((n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * X[:, 1]


def test_it_is_spicymkl_with_its_parts():
    X, y = data()
    labels = y > 0
    parts = MKLClassifier(
        KERNELS, regularizer=BlockElasticNet(0.02, 0.7), solver=SpicyMKL(tol=1e-6)
    ).fit(X, labels)
    whole = SpicyMKLClassifier(KERNELS, 0.02, l1_ratio=0.7, tol=1e-6).fit(X, labels)
    np.testing.assert_array_equal(
        parts.decision_function(X), whole.decision_function(X)
    )
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    assert parts.objective_ == whole.objective_


def test_its_tolerance_is_that_of_the_solver():
    X, y = data()
    model = MKLRegressor(KERNELS, regularizer=BlockL1(0.02)).fit(X, y)
    assert model.tol == SpicyMKL().tol
    assert model.set_params(solver=SpicyMKL(tol=0.5)).tol == 0.5
    model.fit(X, y)
    assert len(model.summary()) == model.active_kernels_.size
    assert "0.5" in model._repr_html_()
    page = report(model, X, y)
    assert "the tolerance is 0.5" in page
    assert "tol" not in model.get_params()


def test_it_is_lp_norm_learning_with_a_mean_loss():
    X, y = data()
    C = 2.0
    penalty = SquaredBlockNorm(1.0 / (C * len(y)), p=1.5)
    parts = MKLRegressor(
        KERNELS,
        EpsilonInsensitiveLoss(0.05),
        regularizer=penalty,
        solver=InterleavedNewton(tol=1e-8),
    ).fit(X, y)
    s = y.std()
    whole = LpMKLRegressor(KERNELS, C / s, 1.5, epsilon=0.05 / s, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(parts.predict(X), whole.predict(X), atol=1e-3)
    assert parts.objective_ * C * len(y) == pytest.approx(whole.objective_, rel=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLRegressor(KERNELS, 0.02, tol=1e-8),
        LpMKLRegressor(KERNELS, 3.0, tol=1e-8),
        MKLRegressor(KERNELS, regularizer=BlockL1(0.01), solver=SpicyMKL(tol=1e-8)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_loss_of_ones_own(model):
    X, y = data()
    check_loss(DoubleLoss(), y)
    half = clone(model).set_params(loss=DoubleLoss()).fit(X, y)
    assert half.duality_gap_ <= 1e-8
    change = {"loss": "squared_error"}
    for name, factor in {"alpha": 0.5, "C": 2.0}.items():
        if name in model.get_params():
            change[name] = factor * model.get_params()[name]
    if "regularizer" in model.get_params():
        change["regularizer"] = BlockL1(0.005)
    same = clone(model).set_params(**change).fit(X, y)
    np.testing.assert_allclose(half.predict(X), same.predict(X), atol=1e-4)


WRONG = {
    "nan": (lambda answer: np.full_like(answer, np.nan), "returned nan"),
    "one nan": (
        lambda answer: np.where(np.arange(len(answer)) == 3, np.nan, answer),
        "returned nan, first for sample 3",
    ),
    "short": (lambda answer: answer[:-1], r"returned an array of shape \(49,\)"),
    "column": (lambda answer: answer[:, None], r"returned an array of shape \(50, 1\)"),
    "sum": (lambda answer: answer.sum(), "returned float64"),
    "list": (lambda answer: answer.tolist(), "returned list"),
}
METHODS = ("value", "gradient", "conjugate", "conjugate_gradient", "conjugate_hessian")


def spoilt_loss(method, spoil):
    """DoubleLoss with one method whose answers are changed."""
    own = getattr(DoubleLoss, method)

    def answer(self, y, at):
        return spoil(own(self, y, at))

    return type("Spoilt", (DoubleLoss,), {method: answer})()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_answers_of_a_loss_of_ones_own_are_named(method, wrong):
    X, y = data()
    spoil, text = WRONG[wrong]
    model = SpicyMKLRegressor(KERNELS, 0.02, loss=spoilt_loss(method, spoil))
    with pytest.raises(ValueError, match=rf"Regressor: Spoilt\.{method} {text}"):
        model.fit(X, y)


@pytest.mark.parametrize("kind", [HKLRegressor, GroupOMPRegressor])
def test_every_method_names_them(kind):
    X, y = data()
    model = kind(alpha=0.1, loss=spoilt_loss("gradient", lambda answer: answer[:-1]))
    with pytest.raises(ValueError, match=r"Spoilt\.gradient returned an array"):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        ((np.nan, np.nan), r"lower = nan and upper = nan for sample 0\."),
        ((np.zeros(3), np.ones(3)), r"\(an array of shape \(3,\), an array of shape"),
        (None, "NoneType"),
    ],
)
def test_a_domain_that_is_none_is_named(bounds, found):
    X, y = data()
    spoilt = type("Spoilt", (DoubleLoss,), {"dual_bounds": lambda self, y: bounds})()
    message = rf"Spoilt\.dual_bounds must return .* returned {found}"
    with pytest.raises(ValueError, match=message):
        SpicyMKLRegressor(KERNELS, 0.02, loss=spoilt).fit(X, y)


@pytest.mark.parametrize("method", ["value", "gradient"])
@pytest.mark.parametrize(
    "solver", [SpicyMKL(), InterleavedNewton(), Alternating(), CuttingPlane()]
)
def test_nan_on_the_way_is_named(method, solver):
    """Far from zero, so that it is met by the solver alone; one went on for ever."""
    X, y = data()
    own = getattr(DoubleLoss, method)

    def answer(self, y, f):
        return own(self, y, f) if np.abs(f).max() < 2.0 else np.full_like(f, np.nan)

    loss = type("Spoilt", (DoubleLoss,), {method: answer})()
    penalty = None if isinstance(solver, SpicyMKL) else SquaredBlockNorm(0.001, p=1.5)
    penalty = penalty or BlockL1(0.001)
    model = MKLRegressor(KERNELS, loss=loss, regularizer=penalty, solver=solver)
    with pytest.raises(ValueError, match=rf"Spoilt\.{method} returned nan for finite"):
        model.fit(X, 10.0 * y)


def test_a_loss_object_has_the_probabilities_of_its_name():
    X, y = data()
    named = LpMKLClassifier(KERNELS, loss="log_loss").fit(X, y > 0)
    given = LpMKLClassifier(KERNELS, loss=LogisticLoss()).fit(X, y > 0)
    np.testing.assert_array_equal(given.predict_proba(X), named.predict_proba(X))
    assert not hasattr(LpMKLClassifier(loss=SquaredLoss()), "predict_proba")


def test_parts_are_searched_as_any_parameter():
    X, y = data()
    grid = {"regularizer": [BlockL1(0.3), BlockL1(0.003)], "solver": [SpicyMKL()]}
    search = GridSearchCV(MKLRegressor(KERNELS), grid, cv=3).fit(X, y)
    assert search.best_params_["regularizer"] == BlockL1(0.003)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"loss": SquaredLoss}, ValueError, "or a loss object, got <class"),
        ({"loss": "absolute"}, ValueError, "loss must be one of 'squared_error'"),
        ({"regularizer": 0.1}, ValueError, "regularizer must be None, or a penalty"),
        ({"solver": "spicy"}, ValueError, "solver must be None, or a solver object"),
        (
            {"solver": Alternating(), "regularizer": BlockL1(0.1)},
            UnsupportedProblemError,
            "Alternating",
        ),
    ],
)
def test_wrong_parts_get_a_sentence(settings, error, message):
    X, y = data()
    with pytest.raises(error, match=message):
        MKLRegressor(KERNELS, **settings).fit(X, y)


def test_a_page_of_a_thousand_kernels_is_short():
    kernels = [GaussianKernel(0.1 * k) for k in range(1, 1001)]
    for given in (kernels, {f"v{k}": (0, kernel) for k, kernel in enumerate(kernels)}):
        assert len(SpicyMKLRegressor(given)._repr_html_()) < 100_000


def test_a_hinge_loss_with_an_lp_norm_finds_the_column_of_the_classes():
    X = np.random.default_rng(0).standard_normal((60, 4))
    y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    model = MKLClassifier(
        kernels,
        loss=HingeLoss(),
        regularizer=SquaredBlockNorm(0.01, p=1.5),
        solver=Alternating(tol=1e-4),
    ).fit(X, y)
    assert model.duality_gap_ <= 1e-4
    assert np.argmax(model.kernel_weights_) == 2
