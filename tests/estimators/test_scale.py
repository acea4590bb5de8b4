"""Strengths of regressors are for targets with a deviation of one."""

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
from multikernel.kernels import GaussianKernel, LinearKernel, ParameterGrid
from multikernel.kernels.graph import PolynomialGrid
from multikernel.regularizers import BlockL1

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
    SpicyMKLRegressor(KERNELS, 0.05, loss="huber", epsilon=0.3),
    SpicyMKLRegressor(KERNELS, 0.05, loss="quantile"),
    MKLRegressor(KERNELS),
    MKLRegressor(KERNELS, **INSENSITIVE),
    LpMKLRegressor(KERNELS),
    LpMKLRegressor(KERNELS, 0.3, epsilon=0.3),
    LpMKLRegressor(KERNELS, **SQUARED),
    FixedWeightsMKLRegressor(KERNELS),
    FixedWeightsMKLRegressor(KERNELS, **SQUARED),
    FixedWeightsMKLRegressor(KERNELS, kernel_weights="alignment"),
    LocalRademacherMKLRegressor(GAUSSIANS),
    LocalRademacherMKLRegressor(GAUSSIANS, method="dc"),
    GroupOMPRegressor(KERNELS),
    GroupOMPRegressor(KERNELS, 0.05, **INSENSITIVE),
    HKLRegressor(PolynomialGrid(2)),
    HKLRegressor(PolynomialGrid(2), 0.01, **INSENSITIVE),
]
SEARCHES = [
    SpicyMKLRegressorCV(KERNELS, **SIX, cv=3),
    SpicyMKLRegressorCV(KERNELS, **SIX, cv=3, l1_ratio=0.5),
    SpicyMKLRegressorCV(KERNELS, **SIX, cv=3, **INSENSITIVE),
    SpicyMKLRegressorCV(KERNELS, alphas=[0.06, 0.02, 0.006], cv=3),
    LpMKLRegressorCV(KERNELS, ps=[1.5, 4.0], cv=3),
    LpMKLRegressorCV(KERNELS, Cs=[0.1, 0.3, 1.0], ps=[2.0], cv=3),
    FixedWeightsMKLRegressorCV(KERNELS, cv=3),
    FixedWeightsMKLRegressorCV(KERNELS, kernel_weights="single", Cs=[0.3, 3.0], cv=2),
    LocalRademacherMKLRegressorCV(GAUSSIANS, thetas=[2], cv=2),
    GroupOMPRegressorCV(KERNELS, cv=3),
    GroupOMPRegressorCV(KERNELS, cv=3, **INSENSITIVE),
    HKLRegressorCV(PolynomialGrid(1), n_alphas=4, cv=2),
    pytest.param(
        HKLRegressorCV(PolynomialGrid(1), n_alphas=3, cv=2, **INSENSITIVE),
        marks=pytest.mark.slow,
    ),
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
def test_a_model_is_that_of_any_unit_of_the_targets(model, halves):
    X, y, *_ = halves
    plain = clone(model).fit(X, y)
    # A power of two leaves every digit as it is.
    assert_same_choices(plain, clone(model).fit(X, 1024.0 * y))
    assert_same_score(plain, halves, 1e-6, 1e6)


def assert_same_choices(plain, scaled):
    weights = [
        {fit.kernel_names_[m]: fit.kernel_weights_[m] for m in fit.active_kernels_}
        for fit in (plain, scaled)
    ]
    # The two strengths of an elastic net are published as one and a share, which rounds
    # them: a solver that ends within `tol` may end elsewhere.
    exact = getattr(plain, "l1_ratio", 1.0) == 1.0
    assert weights[1] == pytest.approx(weights[0], abs=1e-6 if exact else 1e-4)
    if hasattr(plain, "cv"):
        assert scaled.best_params_ == plain.best_params_
        for name in {"alphas_", "Cs_"} & vars(plain).keys():
            expected = getattr(plain, name)
            np.testing.assert_allclose(getattr(scaled, name), expected, rtol=1e-12)


def assert_same_score(plain, halves, factor, shift):
    X, y, X_new, y_new = halves
    expected = plain.score(X_new, y_new)
    assert expected > 0.2
    fitted = clone(plain).fit(X, factor * y + shift)
    score = fitted.score(X_new, factor * y_new + shift)
    assert score == pytest.approx(expected, abs=0.01 if hasattr(plain, "cv") else 0.001)


def test_extreme_units_of_the_targets_change_no_prediction(halves):
    X, y = halves[0][:40], halves[1][:40] - 150.0
    net = SpicyMKLRegressor(KERNELS, l1_ratio=0.5, tol=1e-6, **INSENSITIVE)
    robust = LpMKLRegressor(KERNELS, 1e3, loss="huber", epsilon=0.03)
    for model, unit in ((net, 2.0**300), (robust, 2.0**-300)):
        plain, scaled = clone(model).fit(X, y), clone(model).fit(X, unit * y)
        assert max(plain.duality_gap_, scaled.duality_gap_) <= model.tol
        difference = scaled.predict(X) / unit - plain.predict(X)
        assert np.abs(difference).max() <= 1e-2 * np.ptp(plain.predict(X))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize("change", [(1e6, 0.0), (1e-6, 0.0), (1.0, 1e6)])
@pytest.mark.parametrize("model", MODELS + SEARCHES, ids=named)
def test_no_unit_of_the_targets_changes_a_score(model, change, halves):
    assert_same_score(clone(model).fit(*halves[:2]), halves, *change)


@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive", "huber"])
def test_regularization_paths_have_the_strengths_of_any_unit(loss, halves):
    X, y, *_ = halves
    for model in (SpicyMKLRegressor(KERNELS, loss=loss), MKLRegressor(KERNELS, loss)):
        plain, scaled = (
            regularization_path(model, X, factor * y, n_alphas=4).path
            for factor in (1.0, 1024.0)
        )
        np.testing.assert_allclose(scaled.alphas, plain.alphas, rtol=1e-9)
        np.testing.assert_array_equal(scaled.kernels, plain.kernels)
        np.testing.assert_allclose(scaled.norms, 1024.0 * plain.norms, rtol=1e-3)
    spicy = SpicyMKLRegressor(KERNELS, plain.alphas[2], loss=loss).fit(X, y)
    assert spicy.objective_ == pytest.approx(plain.objectives[0, 2], rel=2e-3)


@pytest.mark.parametrize("split", range(5))
def test_sparse_learning_of_raw_targets(split):
    X, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(split).permutation(y.size)
    half = order[: y.size // 2], order[y.size // 2 :]
    model = SpicyMKLRegressor().fit(X[half[0]], y[half[0]])
    assert model.score(X[half[1]], y[half[1]]) >= 0.3


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
def test_deviations_are_weighted_pooled_and_never_zero():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 2))

    def found(y, weights=None, selection="separate"):
        settings = {"alpha": 1e3, "epsilon": 1.0, "selection": selection}
        model = SpicyMKLRegressor([LinearKernel()], **settings, **INSENSITIVE)
        return model.fit(X, y.T, weights).epsilon_

    y = rng.standard_normal((3, 50)) * np.array([[1.0], [1e-140], [1e90]])
    each = [y[0].std(), (1e140 * y[1]).std() * 1e-140, y[2].std()]
    np.testing.assert_allclose(found(y), each)
    pooled = found(y[[0, 0]] * [[3.0], [4.0]], selection="shared")
    assert pooled == pytest.approx(y[0].std() * np.sqrt(12.5))
    counts = rng.integers(1, 4, 50)
    expected = np.repeat(y[0], counts).std()
    assert found(y[0], counts.astype(float)) == pytest.approx(expected, rel=1e-12)
    constants = np.array([np.full(50, 0.1), np.zeros(50), 1e9 + 1e-9 * np.arange(50)])
    np.testing.assert_array_equal(found(constants), 1.0)
    np.testing.assert_array_equal(found(constants[:2], selection="shared"), 1.0)


def test_values_in_the_units_of_the_targets_are_published(halves):
    X, y, *_ = halves
    s = y.std()
    model = SpicyMKLRegressor(KERNELS, 0.06, epsilon=0.2, **INSENSITIVE).fit(X, y)
    assert model.epsilon_ == pytest.approx(0.2 * s)
    assert model.alpha_ == pytest.approx(0.06)  # of degree one: no unit at all
    squared = SpicyMKLRegressor(KERNELS).fit(X, y)
    assert squared.alpha_ == pytest.approx(0.02 * s)
    assert not hasattr(squared, "epsilon_")
    margins = LpMKLRegressor(KERNELS, 0.5, epsilon=0.2).fit(X, y)
    assert pytest.approx(0.5 * s) == margins.C_
    assert LpMKLRegressor(KERNELS, 0.5, **SQUARED).fit(X, y).C_ == 0.5
    greedy = GroupOMPRegressor(KERNELS, 0.5, **INSENSITIVE).fit(X, y)
    assert greedy.alpha_ == pytest.approx(0.5 / s)
    # The same fit where targets have a deviation of one.
    unit = clone(margins).fit(X, y / s)
    assert pytest.approx(0.5) == unit.C_
    np.testing.assert_allclose(s * unit.predict(X), margins.predict(X), rtol=1e-4)


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


def test_folds_have_the_scale_of_their_training_part(halves):
    X, y, *_ = halves
    cv, alphas = KFold(4), [0.04, 0.02, 0.01]
    search = SpicyMKLRegressorCV(KERNELS, alphas=alphas, cv=cv, tol=1e-7)
    with pytest.warns(UserWarning, match="chose alpha=0.04, the largest"):
        search.fit(X, y)
    assert search.cv_results_["param_alpha"].tolist() == alphas
    model = SpicyMKLRegressor(KERNELS, tol=1e-7)
    scores = [
        cross_val_score(clone(model).set_params(alpha=alpha), X, y, cv=cv).mean()
        for alpha in alphas
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, atol=1e-4)
    best = clone(model).set_params(**search.best_params_)
    assert search.alpha_ == best.fit(X, y).alpha_ == pytest.approx(0.04 * y.std())
    assert search.alphas_.tolist() == alphas
    others = GridSearchCV(model, {"alpha": alphas}, cv=cv)
    assert others.fit(X, y).best_params_ == search.best_params_


def test_an_end_of_a_grid_is_named(halves):
    X, y, *_ = halves
    search = LpMKLRegressorCV(KERNELS, Cs=[1e-5, 1e-6, 1e-4], ps=[2.0], cv=3)
    with pytest.warns(UserWarning, match="chose C=0.0001, the largest"):
        search.fit(X, y)


def test_classes_have_no_scale(halves):
    X, y, *_ = halves
    labels = y > np.median(y)
    assert SpicyMKLClassifier(KERNELS, 0.02).fit(X, labels).alpha_ == 0.02
    # By the kernels, and not by how many samples a class has.
    Cs = [LpMKLClassifier(KERNELS, None).fit(X, y > t).C_ for t in (100, 200)]
    assert Cs[0] == Cs[1] == pytest.approx(2.0 / np.sqrt(len(KERNELS)))


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_a_loss_with_a_link_takes_strengths_as_they_are(loss, halves):
    X, y, *_ = halves
    model = SpicyMKLRegressor(KERNELS, 0.05, loss=loss, l1_ratio=0.5).fit(X, y)
    assert (model.alpha_, model.l1_ratio_) == (0.05, 0.5)
    assert LpMKLRegressor(KERNELS, 0.5, loss=loss).fit(X, y).C_ == 0.5


class DeclaredSquare(QuarterSquare):
    """A quarter of the squared error, and says how it grows."""

    degree = 2


class Undeclared(DeclaredSquare):
    """A subclass may be another loss: it inherits no degree."""


def test_a_loss_of_ones_own_has_a_scale_if_it_declares_a_degree(halves):
    X, y, *_ = halves
    for loss in (QuarterSquare(), Undeclared()):
        assert SpicyMKLRegressor(KERNELS, 0.5, loss=loss).fit(X, y).alpha_ == 0.5
        assert GroupOMPRegressor(KERNELS, 0.5, loss=loss).fit(X, y).alpha_ == 0.5
        assert LpMKLRegressor(KERNELS, 0.5, loss=loss).fit(X, y).C_ == 0.5
        three = {"n_alphas": 3, "alpha_min_ratio": 1e-2}
        search = SpicyMKLRegressorCV(KERNELS, loss=loss, **three, cv=2)
        assert search.fit(X, y).best_score_ > 0.1
    declared = SpicyMKLRegressor(KERNELS, loss=DeclaredSquare()).fit(X, y)
    assert declared.alpha_ == pytest.approx(0.02 * y.std())


def test_a_penalty_object_is_taken_as_it_is(halves):
    X, y, *_ = halves
    fits = [MKLRegressor(KERNELS, regularizer=BlockL1(3.0)).fit(X, y)]
    path = regularization_path(fits[0], X, y, n_alphas=3).path
    penalty = BlockL1(path.alphas[1])
    again = MKLRegressor(KERNELS, regularizer=penalty).fit(X, y)
    assert again.objective_ == pytest.approx(path.objectives[0, 1], rel=2e-3)


def test_constant_targets_are_learnt_as_such(halves):
    X, *_ = halves
    for model in (SpicyMKLRegressor(KERNELS), LpMKLRegressor(KERNELS)):
        with pytest.warns(UserWarning, match="no active kernel"):
            fitted = clone(model).fit(X, np.full(100, 5.0))
        np.testing.assert_allclose(fitted.predict(X), 5.0)
        name = "alpha_" if hasattr(fitted, "alpha_") else "C_"
        unit = clone(model).fit(X, X[:, 2] / X[:, 2].std())
        assert getattr(fitted, name) == pytest.approx(getattr(unit, name))


@pytest.mark.parametrize(
    ("parameters", "scale", "said"),
    [
        (
            {"alpha": 1e101},
            1.0,
            r"alpha is 1e\+101, which is .*, but must be at most 1e\+100",
        ),
        (
            {"alpha": 1e99},
            1e50,
            r"alpha is 1e\+99, which is .*e\+1.* but must be at most",
        ),
        (
            {"alpha": 1e-320},
            1.0,
            "alpha is 1e-320, which is .*, but must be at least 1e-150",
        ),
        (
            {"alpha": 1e-200},
            1e-150,
            "1e-200, which is 0 in the units of y, but must be at",
        ),
        (
            {"alpha": 1e-140},
            1e-50,
            "1e-140, which is .*e-189 in the units of y.*at least",
        ),
        ({"epsilon": 1e99}, 1e50, r"epsilon is 1e\+99, which is .*e\+1.*, but must"),
    ],
)
def test_what_cannot_be_computed_with_is_refused(halves, parameters, scale, said):
    X, y, *_ = halves
    loss = "epsilon_insensitive" if "epsilon" in parameters else "squared_error"
    model = SpicyMKLRegressor(KERNELS, loss=loss, **parameters)
    with pytest.raises(ValueError, match=said):
        model.fit(X, scale * y)
