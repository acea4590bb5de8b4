"""Targets far from zero: with an intercept they are as near as any."""

import warnings

import numpy as np
import pytest
from reference.conic import reference_lp_optimum, reference_optimum
from reference.own_losses import Undeclared
from sklearn.base import clone

from multikernel.certificates import alpha_max, constant_model, duality_gap
from multikernel.estimators import (
    FixedWeightsMKLRegressor,
    FixedWeightsMKLRegressorCV,
    GroupOMPRegressor,
    HKLRegressor,
    HKLRegressorCV,
    LocalRademacherMKLRegressor,
    LpMKLRegressor,
    LpMKLRegressorCV,
    MKLRegressor,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
)
from multikernel.exceptions import ConvergenceWarning, DictionaryWarning
from multikernel.gram import DenseStack
from multikernel.kernels import GaussianKernel, LinearKernel
from multikernel.losses import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    SquaredLoss,
    weighted,
)
from multikernel.problem import Problem, center_targets
from multikernel.regularizers import BlockElasticNet, BlockL1, SquaredBlockNorm
from multikernel.solvers import (
    Alternating,
    GroupOMP,
    InterleavedNewton,
    SpicyMKL,
    SquaredForm,
    solve_path,
)

WIDTHS = (0.5, 1.0, 2.0)
KERNELS = [GaussianKernel(width) for width in WIDTHS]
FAR = 1.7e9


def example(n=30):
    """Deviations of 0.7, which an offset of 1.7e9 leaves six digits of."""
    random = np.random.default_rng(0)
    X = random.standard_normal((n, 3))
    return X, np.sin(2.0 * X[:, 0])


def gaussians(X):
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    return np.stack([np.exp(-squares / (2.0 * width**2)) for width in WIDTHS])


ESTIMATORS = {
    "spicy": SpicyMKLRegressor(KERNELS, alpha=1e-3),
    "spicy-absolute": SpicyMKLRegressor(
        KERNELS, alpha=1e-3, loss="epsilon_insensitive", epsilon=0.01
    ),
    "spicy-net": SpicyMKLRegressor(KERNELS, alpha=1e-3, l1_ratio=0.5),
    "spicy-cv": SpicyMKLRegressorCV(KERNELS, cv=3),
    "lp": LpMKLRegressor(KERNELS, C=10.0, loss="squared_error"),
    "lp-absolute": LpMKLRegressor(KERNELS, C=10.0),
    "lp-one": LpMKLRegressor(KERNELS, C=10.0, p=1.0, solver="squared_form"),
    "lp-planes": LpMKLRegressor(KERNELS, C=10.0, solver="cutting_plane"),
    "lp-cv": LpMKLRegressorCV(
        KERNELS, Cs=[1.0, 10.0, 1e9], ps=[2.0], cv=3, loss="squared_error"
    ),
    "uniform": FixedWeightsMKLRegressor(KERNELS, C=10.0, loss="squared_error"),
    "alignment": FixedWeightsMKLRegressor(KERNELS, C=10.0, kernel_weights="alignment"),
    "single": FixedWeightsMKLRegressorCV(
        KERNELS, kernel_weights="single", Cs=[10.0], cv=3, scoring="r2"
    ),
    "conv": LocalRademacherMKLRegressor(KERNELS, C=10.0),
    "dc": LocalRademacherMKLRegressor(KERNELS, C=10.0, method="dc", tol=1e-4),
    "own": MKLRegressor(KERNELS, regularizer=BlockL1(0.03)),
    "low-rank": SpicyMKLRegressor(KERNELS, alpha=1e-2, storage="low_rank"),
    "lazy": LpMKLRegressor(KERNELS, C=10.0, storage="lazy"),
    "hkl": HKLRegressor(alpha=1e-3),
    "hkl-absolute": HKLRegressor(alpha=1e-2, loss="epsilon_insensitive"),
    "hkl-cv": HKLRegressorCV(cv=3, alphas=[1e-1, 1e-2]),
    "greedy": GroupOMPRegressor(KERNELS, alpha=1e-3),
}


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize("weights", [None, "weighted"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_is_the_same_far_from_zero(name, weights):
    """The offset rounds targets by 1e-7 of their deviation, and so an objective."""
    X, z = example()
    if weights is not None:
        weights = np.random.default_rng(1).uniform(0.5, 2.0, len(z))
    y = z + FAR
    near = clone_fit(name, X, y - FAR, weights)
    far = clone_fit(name, X, y, weights)
    slack = 1e-5 + near.tol if name == "dc" else 1e-5
    for name in ("duality_gap_", "machine_gap_"):
        gaps = getattr(near, name, 0.0), getattr(far, name, 0.0)
        slack += sum(gap for gap in gaps if np.isfinite(gap))
    np.testing.assert_allclose(far.objective_, near.objective_, rtol=slack)
    assert abs(far.intercept_[0] - FAR - near.intercept_[0]) < 0.1
    off = far.predict(X) - FAR - near.predict(X)
    assert np.abs(off).max() < 0.2


def clone_fit(name, X, y, weights):
    model = clone(ESTIMATORS[name])
    return model.fit(X, y, weights)


@pytest.mark.parametrize("offset", [1e2, 1e5, FAR])
@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive"])
def test_gaps_hold_against_cones_on_centered_targets(loss, offset):
    X, z = example()
    grams, y = gaussians(X), z + offset
    center = y - offset
    # In the units of y.
    s = z.std()
    alpha, C = (1e-3 / s, 9.0) if loss == "squared_error" else (1e-3, 9.0 / s)
    settings = {"loss": loss, "epsilon": 0.1 / s, "normalize": None}
    for model, optimum in [
        (
            SpicyMKLRegressor("precomputed", alpha, **settings),
            reference_optimum(grams, center, loss, 30 * 1e-3).lower_bound / 30,
        ),
        (
            LpMKLRegressor("precomputed", C, **settings),
            reference_lp_optimum(grams, center, loss, 9.0, 2.0).lower_bound,
        ),
        (
            FixedWeightsMKLRegressor("precomputed", C, **settings),
            reference_lp_optimum(grams, center, loss, 9.0, np.inf).lower_bound,
        ),
    ]:
        model.fit(np.moveaxis(grams, 0, -1), y)
        truth = (model.objective_ - optimum) / model.objective_
        assert -1e-7 <= truth <= model.duality_gap_ + 1e-7
        assert model.duality_gap_ <= model.tol


@pytest.mark.parametrize("value", [0.0, 0.1, -3e9, 1e-200])
@pytest.mark.parametrize("name", ["spicy", "lp", "uniform", "conv", "hkl", "own"])
def test_constant_targets_are_the_null_model(name, value):
    X, _ = example()
    random = np.random.default_rng(2)
    # Sums of equal numbers differ by some units in the last place.
    y = value * (1.0 + np.finfo(float).eps * random.integers(-1, 2, 30))
    with pytest.warns(DictionaryWarning, match="no active kernel"):
        model = clone_fit(name, X, y, None)
    assert model.duality_gap_ == 0.0
    assert model.objective_ == 0.0
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-15)


SOLVERS = [
    (SpicyMKL(tol=1e-6), BlockL1(0.03)),
    (SpicyMKL(tol=1e-6), BlockElasticNet(0.03, 0.5)),
    (InterleavedNewton(tol=1e-6), SquaredBlockNorm(0.1, 2.0)),
    (Alternating(tol=1e-6), SquaredBlockNorm(0.1, 2.0)),
    (SquaredForm(SpicyMKL, tol=1e-5), SquaredBlockNorm(0.1, 1.0)),
]


@pytest.mark.parametrize(("solver", "penalty"), SOLVERS)
def test_problems_need_not_be_centered_beforehand(solver, penalty):
    X, z = example()
    gram, y = DenseStack(gaussians(X)), z + FAR
    problem = Problem(gram, y, SquaredLoss(), penalty)
    near = replace_targets(problem, y - FAR)
    solution, other = solver.solve(problem), solver.solve(near)
    assert solution.objective == pytest.approx(other.objective, rel=1e-5)
    assert duality_gap(problem, solution) <= 1.1 * solver.tol
    assert abs(solution.intercept[0] - FAR) < 2.0
    again = solver.solve(problem, init=solution)
    assert again.n_iter <= 2
    assert again.objective <= solution.objective * (1.0 + 1e-12)


def replace_targets(problem, y):
    return Problem(problem.gram, y, problem.loss, problem.regularizer)


def test_paths_and_their_ends_are_those_of_centered_targets():
    X, z = example()
    y = z + FAR
    problem = Problem(DenseStack(gaussians(X)), y, SquaredLoss(), BlockL1(1.0))
    near = replace_targets(problem, y - FAR)
    assert alpha_max(problem) == pytest.approx(alpha_max(near), rel=1e-12)
    b = constant_model(problem).intercept - FAR
    assert b == pytest.approx(z.mean(), abs=1e-6)
    alphas = alpha_max(near) * np.array([0.5, 0.1, 0.01])
    for one, other in zip(
        solve_path(problem, SpicyMKL(), alphas),
        solve_path(near, SpicyMKL(), alphas),
        strict=True,
    ):
        assert one.objective == pytest.approx(other.objective, rel=1e-6)


def test_greedy_paths_are_those_of_centered_targets():
    X, z = example()
    y = np.stack([z + FAR, z**2 - 1e6], axis=1)
    ridge = BlockElasticNet(0.1, 0.0)
    problem = Problem(DenseStack(gaussians(X)), y, SquaredLoss(), ridge)
    near = replace_targets(problem, y - [FAR, -1e6])
    far, path = (GroupOMP(max_kernels=2).path(each) for each in (problem, near))
    np.testing.assert_array_equal(far.order, path.order)
    np.testing.assert_allclose(far.objectives, path.objectives, rtol=1e-6)
    shift = far.intercepts - path.intercepts
    np.testing.assert_allclose(shift, np.tile([FAR, -1e6], (3, 1)), rtol=1e-12)


@pytest.mark.parametrize("selection", ["shared", "separate"])
def test_every_output_has_its_own_offset(selection):
    X, z = example()
    y = np.stack([1e-6 * (z + 1e8), 1e6 * (z**2 - 1e5), z], axis=1)
    model = SpicyMKLRegressor(KERNELS, alpha=1e-3, selection=selection).fit(X, y)
    center = y - y.mean(axis=0)
    near = SpicyMKLRegressor(KERNELS, alpha=1e-3, selection=selection).fit(X, center)
    np.testing.assert_allclose(model.objective_, near.objective_, rtol=1e-3)
    assert np.max(model.duality_gap_) <= model.tol


def test_targets_near_zero_stay_as_they_are():
    """Models of data without an offset are not changed in any digit."""
    _, z = example()
    for loss in (SquaredLoss(), weighted(EpsilonInsensitiveLoss(), np.arange(1.0, 31))):
        problem = Problem(None, z + 2.0, loss, None)
        assert center_targets(problem) is problem


def test_differences_from_offsets_are_exact():
    _, z = example()
    random = np.random.default_rng(3)
    for _ in range(200):
        mean, scale = 10.0 ** random.uniform([1.0, -8.0], [9.0, 8.0])
        y = scale * (z + mean)
        problem = center_targets(Problem(None, y, SquaredLoss(), None))
        exact = y.astype(np.longdouble) - np.longdouble(problem.offset[0])
        np.testing.assert_array_equal(problem.y, exact)
        assert abs(problem.y.mean()) <= 16.0 * scale
        assert center_targets(problem) is problem


class Scaled(SquaredLoss):
    """A subclass may be no function of y - f: it does not inherit that it is."""


def test_only_what_is_known_to_be_equivariant_is_centered():
    y = np.array([5.0, 6.0, 7.0]) * 1e6
    y[0] += 1.0
    same = [
        Problem(None, y, SquaredLoss(), None, fit_intercept=False),
        Problem(None, y, HingeLoss(), None),
        Problem(None, y, Undeclared(), None),
        Problem(None, y, Scaled(), None),
        Problem(None, y, weighted(Scaled(), np.array([1.0, 2.0, 3.0])), None),
    ]
    assert all(center_targets(problem) is problem for problem in same)


@pytest.mark.parametrize("free", [True, False])
def test_what_cannot_be_resolved_is_said(free):
    """A loss that declares nothing, or no intercept: digits are lost, and counted."""
    X, z = example()
    loss = Undeclared(1.0) if free else SquaredLoss()
    grams, y = np.moveaxis(gaussians(X), 0, -1), z + 1e12
    model = MKLRegressor(
        "precomputed",
        loss,
        regularizer=BlockL1(1e-9),
        solver=SpicyMKL(tol=1e-9),
        fit_intercept=free,
        normalize=None,
    )
    with pytest.warns(ConvergenceWarning, match="without an intercept"):
        model.fit(grams, y)
    assert model.duality_gap_ > 1e-9


def test_gaps_are_never_published_below_zero():
    """At optima of rounding the dual value may come out above the objective."""
    X, z = example()
    for seed in range(20):
        random = np.random.default_rng(seed)
        y = z * 10.0 ** random.uniform(-4, 4)
        for model in (
            FixedWeightsMKLRegressor([LinearKernel()], 1e-8, loss="squared_error"),
            HKLRegressor(alpha=1e6),
            SpicyMKLRegressor(KERNELS, alpha=1e9),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                warnings.simplefilter("ignore", DictionaryWarning)
                assert model.fit(X, y).duality_gap_ >= 0.0


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_log_links_are_solved_over_many_orders_of_magnitude(loss):
    """Decision values are logarithms: means of e^-80 and of e^80 are ordinary."""
    random = np.random.default_rng(0)
    X, spread = random.normal(size=(60, 3)), random.uniform(-80.0, 80.0, size=60)
    y = 1.0 + random.poisson(np.exp(X[:, 0]))
    y = y * np.exp(spread) if loss == "gamma" else y
    for moved in (0.0, -80.0):
        offset = moved + (0.0 if loss == "gamma" else 1.0) * spread
        model = SpicyMKLRegressor(KERNELS, loss=loss).fit(X, y, offset=offset)
        assert model.duality_gap_ <= model.tol
        if moved == 0.0:
            first = model
    assert model.objective_ == pytest.approx(first.objective_, rel=2e-3)
    assert model.intercept_ - first.intercept_ == pytest.approx(80.0, abs=0.5)
