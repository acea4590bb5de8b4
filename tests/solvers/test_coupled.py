"""Multiple kernel learning for all classes at once, against conic programs."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, strategies as st
from reference.conic import reference_lp_optimum, reference_optimum
from reference.toys import toy_grams, toy_targets

from multikernel.certificates import alpha_max, duality_gap
from multikernel.gram import DenseStack
from multikernel.losses import (
    CrammerSingerLoss,
    EpsilonInsensitiveLoss,
    LogisticLoss,
    SoftmaxLoss,
    SquaredLoss,
    weighted,
)
from multikernel.problem import Problem, Solution, Status
from multikernel.regularizers import BlockElasticNet, BlockL1, SquaredBlockNorm
from multikernel.solvers import Alternating, SpicyMKL, SquaredForm

LOSSES = {"crammer_singer": CrammerSingerLoss(), "softmax": SoftmaxLoss()}
SEPARABLE = {
    "squared_error": SquaredLoss(),
    "epsilon_insensitive": EpsilonInsensitiveLoss(0.1),
}
names = pytest.mark.parametrize("name", LOSSES)
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])
GRAMS = toy_grams(n_samples=27, n_kernels=5)


@cache
def targets():
    X = np.random.default_rng(0).normal(size=(27, 4))
    return np.eye(3)[(X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.0)]


def the_problem(name, regularizer, fit_intercept=True, weights=None):
    y, loss = targets(), (LOSSES | SEPARABLE)[name]
    if name in SEPARABLE:
        y = toy_targets(name, n_samples=27, n_outputs=3)
    loss = weighted(loss, weights)
    return Problem(DenseStack(GRAMS), y, loss, regularizer, fit_intercept)


def check(problem, solution, best, tol):
    """Check a solution's gap, and its objective against a reference."""
    assert solution.status is Status.CONVERGED
    assert solution.objective == pytest.approx(best, rel=1e-6)
    gap = duality_gap(problem, solution)
    assert gap <= 1.01 * tol
    assert gap >= (solution.objective - best) / best - 1e-8


@names
@intercepts
@pytest.mark.parametrize(
    "share",
    [
        0.7,
        0.1,
        *(pytest.param(s, marks=pytest.mark.slow) for s in (0.9, 0.5, 0.3, 0.03, 0.01)),
    ],
)
def test_sparse_models_are_those_of_conic_programs(name, fit_intercept, share):
    shape = the_problem(name, BlockL1(1.0), fit_intercept)
    alpha = share * alpha_max(shape)
    problem = the_problem(name, BlockL1(alpha), fit_intercept)
    solution = SpicyMKL(tol=1e-7).solve(problem)
    best = reference_optimum(GRAMS, targets(), name, alpha, fit_intercept=fit_intercept)
    check(problem, solution, best.objective, 1e-7)
    # The hinge of two classes takes 3 to 5 of them on these kernels.
    assert solution.n_iter <= 6


@names
@intercepts
def test_elastic_nets_with_weights_are_those_of_conic_programs(name, fit_intercept):
    weights = np.random.default_rng(3).uniform(0.5, 2.0, 27)
    alpha = 0.2 * alpha_max(the_problem(name, BlockL1(1.0), fit_intercept, weights))
    penalty = BlockElasticNet(alpha, 0.6)
    problem = the_problem(name, penalty, fit_intercept, weights)
    solution = SpicyMKL(tol=1e-7).solve(problem)
    best = reference_optimum(
        GRAMS, targets(), name, alpha,
        l1_ratio=0.6, fit_intercept=fit_intercept, sample_weight=weights,
    )  # fmt: skip
    check(problem, solution, best.objective, 1e-7)


@intercepts
@pytest.mark.parametrize(
    "p",
    [1.0, 4.0 / 3.0, *(pytest.param(p, marks=pytest.mark.slow) for p in (2.0, np.inf))],
)
@pytest.mark.parametrize("name", [*LOSSES, *SEPARABLE])
def test_lp_models_are_those_of_conic_programs(name, fit_intercept, p):
    C = 2.0
    problem = the_problem(name, SquaredBlockNorm(1.0 / C, p), fit_intercept)
    solver = SquaredForm(SpicyMKL, 3e-7) if p == 1.0 else Alternating(3e-7)
    solution = solver.solve(problem)
    best = reference_lp_optimum(
        GRAMS, problem.y, name, C, p, fit_intercept=fit_intercept
    )
    check(problem, solution, best.objective / C, 3e-7)


@cache
def optimum(name, fit_intercept, l1_ratio):
    """Return the reference's objective at alpha = 1."""
    best = reference_optimum(
        GRAMS, targets(), name, 1.0, l1_ratio=l1_ratio, fit_intercept=fit_intercept
    )
    return best.objective


@names
@intercepts
@pytest.mark.parametrize("l1_ratio", [1.0, 0.6])
@given(seed=st.integers(0, 10**6), size=st.floats(-4.0, 1.0))
def test_gaps_of_any_points_are_never_below_the_true_ones(
    name, fit_intercept, l1_ratio, seed, size
):
    rng, scale = np.random.default_rng(seed), 10.0**size
    penalty = BlockL1(1.0) if l1_ratio == 1.0 else BlockElasticNet(1.0, l1_ratio)
    problem = the_problem(name, penalty, fit_intercept)
    coefs = scale * rng.normal(size=(5, *problem.y.shape))
    intercept = scale * rng.normal(size=3) * fit_intercept
    f = np.einsum("mij,mjc->ic", GRAMS, coefs) + intercept
    norms = np.sqrt(np.einsum("mic,mij,mjc->m", coefs, GRAMS, coefs))
    dual = scale * rng.normal(size=f.shape) - problem.loss.gradient(problem.y, f)
    nothing = np.zeros(5)
    solution = Solution(
        nothing, nothing, np.arange(5), coefs, intercept, dual,
        np.nan, np.nan, 0, Status.MAX_ITER,
    )  # fmt: skip
    objective = problem.loss.value(problem.y, f).sum() + penalty.value(norms)
    true = (objective - optimum(name, fit_intercept, l1_ratio)) / objective
    assert true >= -1e-8
    assert duality_gap(problem, solution) >= true - 1e-8


@names
def test_certificates_are_never_below_the_true_gap(name):
    alpha = 0.1 * alpha_max(the_problem(name, BlockL1(1.0)))
    problem = the_problem(name, BlockL1(alpha))
    best = SpicyMKL(tol=1e-7).solve(problem).objective
    seen = []
    SpicyMKL(tol=1e-4).solve(problem, callback=lambda line: bool(seen.append(line)))
    assert len(seen) > 2
    for line in seen:
        true = (line.objective - best) / line.objective
        assert line.duality_gap >= true - 2e-7


@names
@intercepts
def test_kernels_are_out_from_alpha_max_on(name, fit_intercept):
    shape = the_problem(name, BlockL1(1.0), fit_intercept)
    largest = alpha_max(shape)
    out = SpicyMKL().solve(the_problem(name, BlockL1(1.0001 * largest), fit_intercept))
    assert out.active.size == 0
    assert out.status is Status.CONVERGED
    # Of the hinge it is an upper bound only.
    inside = 0.99 if name == "softmax" else 0.2
    some = SpicyMKL(1e-6).solve(
        the_problem(name, BlockL1(inside * largest), fit_intercept)
    )
    assert some.active.size > 0


@intercepts
def test_two_classes_of_the_softmax_are_the_logistic_with_strength_over_root_two(
    fit_intercept,
):
    labels = targets()[:, 0] > 0.0
    y, alpha = np.where(labels, 1.0, -1.0), 0.9
    pair = np.stack([labels, ~labels], axis=1).astype(float)
    gram = DenseStack(GRAMS)
    both = Problem(gram, pair, SoftmaxLoss(), BlockL1(alpha), fit_intercept)
    one = Problem(gram, y, LogisticLoss(), BlockL1(alpha / np.sqrt(2.0)), fit_intercept)
    found, single = (SpicyMKL(tol=1e-9).solve(each) for each in (both, one))
    assert found.objective == pytest.approx(single.objective, rel=1e-8)
    np.testing.assert_array_equal(found.active, single.active)
    np.testing.assert_allclose(
        found.norms, single.norms / np.sqrt(2.0), rtol=1e-3, atol=1e-6
    )


@intercepts
@pytest.mark.parametrize("p", [4.0 / 3.0, np.inf])
def test_two_classes_of_lp_softmax_are_the_logistic_of_twice_the_strength(
    fit_intercept, p
):
    # With f_1 = -f_2 = g / 2 half the squared norm is a quarter of that of g.
    labels = targets()[:, 0] > 0.0
    pair, gram = np.stack([labels, ~labels], axis=1).astype(float), DenseStack(GRAMS)
    penalties = SquaredBlockNorm(1.0, p), SquaredBlockNorm(0.5, p)
    both = Problem(gram, pair, SoftmaxLoss(), penalties[0], fit_intercept)
    y = np.where(labels, 1.0, -1.0)
    one = Problem(gram, y, LogisticLoss(), penalties[1], fit_intercept)
    found, single = (Alternating(tol=1e-8).solve(each) for each in (both, one))
    assert found.objective == pytest.approx(single.objective, rel=3e-8)
    np.testing.assert_allclose(found.kernel_weights, single.kernel_weights, rtol=1e-3)


@names
def test_paths_end_where_single_solves_do(name):
    shape = the_problem(name, BlockL1(1.0))
    penalties = [BlockL1(share * alpha_max(shape)) for share in (1.0, 0.2, 0.1)]
    path = list(SpicyMKL(tol=1e-5).follow(shape, penalties))
    for solution, penalty in zip(path, penalties, strict=True):
        alone = SpicyMKL(tol=1e-5).solve(the_problem(name, penalty))
        assert solution.status is Status.CONVERGED
        assert solution.objective == pytest.approx(alone.objective, rel=2e-5)
