"""Regressors free of the unit of their targets: what "scale" is as a number."""

import numpy as np
import pytest
from reference.own_losses import QuarterSquare
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from multikernel.estimators import (
    FixedWeightsMKLRegressor,
    FixedWeightsMKLRegressorCV,
    GroupOMPRegressor,
    GroupOMPRegressorCV,
    HKLRegressor,
    HKLRegressorCV,
    LocalRademacherMKLRegressor,
    LocalRademacherMKLRegressorCV,
    LpMKLClassifier,
    LpMKLRegressor,
    LpMKLRegressorCV,
    MKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    regularization_path,
)
from multikernel.estimators.scale import deviations, multiple_of_scale
from multikernel.kernels import GaussianKernel, LinearKernel, ParameterGrid
from multikernel.kernels.graph import PolynomialGrid

KERNELS = ParameterGrid([GaussianKernel(2.0), LinearKernel()], [slice(None), 2, 3, 8])
GAUSSIANS = ParameterGrid([GaussianKernel(1.0)], [slice(None), 2, 3, 8])
SIX = {"n_alphas": 6, "alpha_min_ratio": 1e-2}
INSENSITIVE = {"loss": "epsilon_insensitive"}
SQUARED = {"loss": "squared_error"}
MODELS = [
    SpicyMKLRegressor(KERNELS),
    SpicyMKLRegressor(KERNELS, **INSENSITIVE),
    SpicyMKLRegressor(KERNELS, l1_ratio=0.5),
    SpicyMKLRegressor(KERNELS, l1_ratio=0.5, **INSENSITIVE),
    MKLRegressor(KERNELS),
    MKLRegressor(KERNELS, **INSENSITIVE),
    LpMKLRegressor(KERNELS),
    LpMKLRegressor(KERNELS, **SQUARED),
    FixedWeightsMKLRegressor(KERNELS),
    FixedWeightsMKLRegressor(KERNELS, **SQUARED),
    FixedWeightsMKLRegressor(KERNELS, kernel_weights="alignment"),
    LocalRademacherMKLRegressor(GAUSSIANS),
    LocalRademacherMKLRegressor(GAUSSIANS, method="dc"),
    GroupOMPRegressor(KERNELS),
    GroupOMPRegressor(KERNELS, **INSENSITIVE),
    HKLRegressor(PolynomialGrid(2)),
    HKLRegressor(PolynomialGrid(2), **INSENSITIVE),
]
SEARCHES = [
    SpicyMKLRegressorCV(KERNELS, **SIX, cv=3),
    SpicyMKLRegressorCV(KERNELS, **SIX, cv=3, l1_ratio=0.5),
    SpicyMKLRegressorCV(KERNELS, **SIX, cv=3, **INSENSITIVE),
    SpicyMKLRegressorCV(KERNELS, alphas=["3scale", "scale", "0.3scale"], cv=3),
    LpMKLRegressorCV(KERNELS, ps=[1.5, 4.0], cv=3),
    LpMKLRegressorCV(KERNELS, Cs=["0.3scale", "scale", "3scale"], ps=[2.0], cv=3),
    FixedWeightsMKLRegressorCV(KERNELS, cv=3),
    FixedWeightsMKLRegressorCV(KERNELS, kernel_weights="single", cv=3),
    LocalRademacherMKLRegressorCV(GAUSSIANS, thetas=[2], cv=2),
    GroupOMPRegressorCV(KERNELS, cv=3),
    GroupOMPRegressorCV(KERNELS, cv=3, **INSENSITIVE),
    HKLRegressorCV(PolynomialGrid(1), n_alphas=4, cv=2),
    HKLRegressorCV(PolynomialGrid(1), n_alphas=4, cv=2, **INSENSITIVE),
]


@pytest.fixture(scope="module")
def halves():
    """Return 100 samples to learn from, and 200 others."""
    X, y = load_diabetes(return_X_y=True)
    X = X / X.std(axis=0)
    return X[:100], y[:100], X[100:300], y[100:300]


def named(model):
    """Return a name for a case."""
    settings = ("loss", "l1_ratio", "method", "alphas", "Cs")
    parameters = model.get_params(deep=False)
    said = [str(parameters[name]) for name in settings if name in parameters]
    return "-".join([type(model).__name__, *said])


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize("model", MODELS + SEARCHES, ids=named)
@pytest.mark.parametrize(
    "changes",
    [
        ((1e6, 0.0), (1e-6, 1e6)),
        pytest.param(((1e-6, 0.0), (1.0, 1e6)), marks=pytest.mark.slow),
    ],
    ids=["strong", "weak"],
)
def test_no_unit_of_the_targets_changes_a_score(model, changes, halves):
    X, y, X_new, y_new = halves
    plain = clone(model).fit(X, y).score(X_new, y_new)
    assert plain > 0.2
    limit = 0.01 if model in SEARCHES else 0.001
    for factor, shift in changes:
        fitted = clone(model).fit(X, factor * y + shift)
        score = fitted.score(X_new, factor * y_new + shift)
        assert score == pytest.approx(plain, abs=limit), (factor, shift)


def test_every_default_of_a_regressor_is_in_units():
    for model in MODELS + SEARCHES:
        parameters = type(model)().get_params(deep=False)
        for name in {"alpha", "C", "epsilon"} & parameters.keys():
            assert parameters[name] == "scale", (type(model), name)


@pytest.mark.parametrize("split", range(5))
def test_sparse_learning_of_raw_targets(split):
    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(split).permutation(y.size)
    half = order[: y.size // 2], order[y.size // 2 :]
    model = SpicyMKLRegressor().fit(X[half[0]], y[half[0]])
    assert model.score(X[half[1]], y[half[1]]) >= 0.3


def test_deviations_are_weighted_pooled_and_never_zero():
    rng = np.random.default_rng(0)
    y = rng.standard_normal((3, 50)) * np.array([[1.0], [1e-200], [1e200]])
    each = [y[0].std(), (1e200 * y[1]).std() * 1e-200, (1e-200 * y[2]).std() * 1e200]
    np.testing.assert_allclose(deviations(y, None, pooled=False), each)
    pooled = deviations(y[[0, 0]] * [[3.0], [4.0]], None, pooled=True)
    assert pooled == pytest.approx(y[0].std() * np.sqrt(12.5))
    counts = rng.integers(1, 4, 50)
    expected = np.repeat(y[0], counts).std()
    found = deviations(y[:1], counts.astype(float), pooled=False)
    assert found == pytest.approx(expected, rel=1e-12)
    constants = np.array([np.full(5, 0.1), np.zeros(5), 1e9 + 1e-8 * np.arange(5)])
    np.testing.assert_array_equal(deviations(constants, None, pooled=False), 1.0)
    np.testing.assert_array_equal(deviations(constants[:2], None, pooled=True), 1.0)


def test_multiples_are_read():
    texts = ("scale", "0.1scale", "0.1 scale", "1e-3scale", "-2scale", "xscale", 0.5)
    found = [multiple_of_scale(text) for text in texts]
    assert found == [1.0, 0.1, 0.1, 1e-3, -2.0, None, None]


def test_the_numbers_that_were_used_are_published(halves):
    X, y, *_ = halves
    s = y.std()
    model = SpicyMKLRegressor(KERNELS, "3scale", epsilon="2scale", **INSENSITIVE)
    model.fit(X, y)
    assert model.epsilon_ == pytest.approx(0.2 * s)
    assert model.alpha_ == pytest.approx(0.06)  # of degree one: no unit at all
    squared = SpicyMKLRegressor(KERNELS).fit(X, y)
    assert squared.alpha_ == pytest.approx(0.02 * s)
    assert not hasattr(squared, "epsilon_")
    numbers = SpicyMKLRegressor(KERNELS, alpha=7.5).fit(X, y)
    assert numbers.alpha_ == 7.5
    # The same fit by the number that is published.
    margins = [LpMKLRegressor(KERNELS).fit(X, y)]
    plain = LpMKLRegressor(KERNELS, margins[0].C_, epsilon=margins[0].epsilon_)
    margins.append(plain.fit(X, y))
    np.testing.assert_array_equal(*(model.predict(X) for model in margins))
    mixed = SpicyMKLRegressor(KERNELS, l1_ratio=0.5).fit(X, y)
    plain = SpicyMKLRegressor(KERNELS, mixed.alpha_, l1_ratio=mixed.l1_ratio_)
    np.testing.assert_allclose(plain.fit(X, y).predict(X), mixed.predict(X))


def test_separate_targets_have_their_own_units(halves):
    X, y, *_ = halves
    Y = np.column_stack([y, 1e4 * X[:, 3] + y])
    for model in (
        SpicyMKLRegressor(KERNELS, **INSENSITIVE),
        SpicyMKLRegressor(KERNELS, l1_ratio=0.5),
        LpMKLRegressor(KERNELS, **INSENSITIVE),
    ):
        apart = clone(model).set_params(selection="separate").fit(X, Y)
        for k in range(2):
            alone = clone(model).fit(X, Y[:, k])
            np.testing.assert_allclose(apart.predict(X)[:, k], alone.predict(X))
            for name in ("alpha_", "C_", "epsilon_", "objective_"):
                if hasattr(alone, name):
                    found, expected = getattr(apart, name)[k], getattr(alone, name)
                    assert found == pytest.approx(expected, rel=1e-10)
        together = clone(model).set_params(selection="shared").fit(X, Y)
        pooled = np.sqrt(Y.var(axis=0).mean())
        if hasattr(together, "epsilon_"):
            assert together.epsilon_ == pytest.approx(0.1 * pooled)


def test_folds_have_the_units_of_their_training_part(halves):
    X, y, *_ = halves
    cv = KFold(4)
    labels = ["2.0scale", "1.0scale", "0.5scale"]
    search = SpicyMKLRegressorCV(KERNELS, alphas=labels, cv=cv, tol=1e-6)
    with pytest.warns(UserWarning, match="chose alpha='2.0scale', the largest"):
        search.fit(X, y)
    assert search.cv_results_["param_alpha"].tolist() == labels
    model = SpicyMKLRegressor(KERNELS, tol=1e-6)
    scores = [
        cross_val_score(clone(model).set_params(alpha=label), X, y, cv=cv).mean()
        for label in labels
    ]
    found = search.cv_results_["mean_test_score"]
    np.testing.assert_allclose(found, scores, atol=1e-4)
    best = clone(model).set_params(**search.best_params_)
    assert search.alpha_ == best.fit(X, y).alpha_
    np.testing.assert_allclose(search.alphas_, 0.02 * y.std() * np.array([2, 1, 0.5]))
    others = GridSearchCV(model, {"alpha": labels}, cv=cv)
    assert others.fit(X, y).best_params_ == search.best_params_


def test_an_end_of_a_grid_of_multiples_is_named(halves):
    X, y, *_ = halves
    multiples = ["0.0001scale", "0.00001scale", "0.000001scale"]
    search = LpMKLRegressorCV(KERNELS, Cs=multiples, ps=[2.0], cv=3)
    with pytest.warns(UserWarning, match="chose C='0.0001scale', the largest"):
        search.fit(X, y)


def test_classes_have_no_unit(halves):
    X, y, *_ = halves
    labels = y > np.median(y)
    model = SpicyMKLClassifier(KERNELS, "scale").fit(X, labels)
    assert model.alpha_ == SpicyMKLClassifier().alpha == 0.01
    # By the kernels, and not by how many samples a class has.
    Cs = [LpMKLClassifier(KERNELS, "scale").fit(X, y > t).C_ for t in (100, 200)]
    assert Cs[0] == Cs[1] == pytest.approx(2.0 / np.sqrt(len(KERNELS)))


class DeclaredSquare(QuarterSquare):
    """A quarter of the squared error, and says how it grows."""

    degree = 2


class Undeclared(DeclaredSquare):
    """A subclass may be another loss: it inherits no degree."""


def test_a_loss_of_ones_own_declares_its_degree_or_takes_numbers(halves):
    X, y, *_ = halves
    refused = "alpha is 'scale', which takes a loss that declares its degree"
    for loss in (QuarterSquare(), Undeclared()):
        for kind in (SpicyMKLRegressor, MKLRegressor, GroupOMPRegressor):
            with pytest.raises(ValueError, match=f"{kind.__name__}: {refused}"):
                kind(KERNELS, loss=loss).fit(X, y)
        with pytest.raises(ValueError, match="C is 'scale'"):
            LpMKLRegressor(KERNELS, loss=loss).fit(X, y)
        assert SpicyMKLRegressor(KERNELS, 0.5, loss=loss).fit(X, y).alpha_ == 0.5
        # A path, and a search by it, have no use for the strength.
        found = regularization_path(MKLRegressor(KERNELS, loss), X, y, n_alphas=3)
        assert found.norms()[-1].any()
        three = {"n_alphas": 3, "alpha_min_ratio": 1e-2}
        search = SpicyMKLRegressorCV(KERNELS, loss=loss, **three, cv=2)
        assert search.fit(X, y).best_score_ > 0.1
    declared = SpicyMKLRegressor(KERNELS, loss=DeclaredSquare()).fit(X, y)
    assert declared.alpha_ == pytest.approx(0.02 * y.std())


def test_constant_targets_are_learnt_as_such(halves):
    X, *_ = halves
    for model in (SpicyMKLRegressor(KERNELS), LpMKLRegressor(KERNELS)):
        with pytest.warns(UserWarning, match="no kernel in its model"):
            fitted = clone(model).fit(X, np.full(100, 5.0))
        np.testing.assert_allclose(fitted.predict(X), 5.0)
        name = "alpha_" if hasattr(fitted, "alpha_") else "C_"
        unit = clone(model).fit(X, X[:, 2] / X[:, 2].std())
        assert getattr(fitted, name) == pytest.approx(getattr(unit, name))


@pytest.mark.parametrize(
    ("parameters", "scale", "said"),
    [
        ({"alpha": 1e101}, 1.0, r"alpha is 1e\+101, and at most 1e\+100 is possible"),
        ({"alpha": "1e308scale"}, 1e50, "alpha is '1e308scale', here inf, and at most"),
        ({"alpha": 1e-320}, 1.0, r"alpha is 1e-320, and at least 1e-150 is possible"),
        ({"alpha": "1e-200scale"}, 1e-150, "'1e-200scale', here 0, and at least"),
        ({"alpha": "1e-140scale"}, 1e-50, r"'1e-140scale', here .*e-19.*at least"),
        ({"epsilon": "1e99scale"}, 1e50, r"epsilon is '1e99scale', here .*e\+1.*, and"),
    ],
)
def test_what_cannot_be_computed_with_is_refused(halves, parameters, scale, said):
    X, y, *_ = halves
    loss = "epsilon_insensitive" if "epsilon" in parameters else "squared_error"
    model = SpicyMKLRegressor(KERNELS, loss=loss, **parameters)
    with pytest.raises(ValueError, match=said):
        model.fit(X, scale * y)
