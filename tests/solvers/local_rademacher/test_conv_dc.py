"""conv against conic programming; dc against its own definition, spelled out anew."""

from itertools import pairwise

import numpy as np
import pytest
from reference.conic import reference_lp_optimum
from reference.toys import toy_grams, toy_targets

from multikernel.gram import DenseStack
from multikernel.losses import HingeLoss, SquaredLoss, weighted
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockL1, SquaredBlockNorm
from multikernel.solvers import InterleavedNewton, TailConv, TailDC

EXACT = InterleavedNewton(tol=1e-8)


def unit_grams(n_samples=24, n_kernels=4, seed=0):
    # Without the linear kernels, whose rank a cut-off may reach.
    grams = toy_grams(n_samples, n_kernels + 2, seed)
    grams = grams[[m for m in range(len(grams)) if m % 4 != 3]][:n_kernels]
    return grams / np.trace(grams, axis1=1, axis2=2)[:, None, None] * n_samples


def tail(K, theta):
    """Return the tail sum over n by all eigenvalues."""
    return np.linalg.eigvalsh(K)[::-1][theta:].sum() / len(K)


def problem_of(grams, y, p, C=1.0, loss=None):
    penalty = SquaredBlockNorm(1.0 / C, p)
    return Problem(DenseStack(grams), y, loss or HingeLoss(), penalty)


GRAMS = unit_grams()
Y = toy_targets("hinge", 24)


@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
@pytest.mark.parametrize("theta", [0, 1, 3])
def test_conv_is_the_conic_optimum_over_normalized_kernels(theta, p):
    tails = np.array([tail(K, theta) for K in GRAMS])
    optimum = reference_lp_optimum(GRAMS / tails[:, None, None], Y, "hinge", 1.5, p)
    found = TailConv(EXACT, theta).solve(problem_of(GRAMS, Y, p, 1.5))
    assert 1.5 * found.objective == pytest.approx(optimum.objective, rel=1e-5)
    assert found.duality_gap <= 1e-6
    # Published are expansions and weights over the kernels as they are.
    f = np.einsum("mij,mj->i", GRAMS[found.active], found.coefs) + found.intercept
    assert f == pytest.approx(optimum.f, abs=2e-3)
    norm = np.linalg.norm(found.kernel_weights * tails, p)
    assert norm == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("method", [TailConv, TailDC])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_no_free_eigenvalues_are_plain_lp_learning(method, p):
    problem = problem_of(GRAMS, Y, p)
    plain = EXACT.solve(problem)
    found = method(EXACT, 0).solve(problem)
    assert found.objective == pytest.approx(plain.objective, rel=1e-7)
    assert found.kernel_weights == pytest.approx(plain.kernel_weights, abs=1e-4)


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("theta", [1, 4])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_dc_never_rises_and_ends_stationary_on_the_constraint(theta, p, seed):
    grams, y = unit_grams(40, 5, seed), toy_targets("hinge", 40, seed)
    problem, lines = problem_of(grams, y, p), []
    dc = TailDC(EXACT, theta, tol=1e-7, n_starts=1, max_iter=200)
    found = dc.solve(problem, callback=lambda line: lines.append(line))
    objectives = [line.objective for line in lines]
    assert len(lines) == found.n_iter > 1
    assert all(b <= a * (1 + 1e-9) for a, b in pairwise(objectives))
    assert found.status is Status.STATIONARY
    assert np.isnan(found.duality_gap)
    assert found.subproblem_gap <= 1e-7

    mu, v = found.kernel_weights, found.derivatives
    assert np.linalg.norm(mu * v, p) == pytest.approx(1.0, rel=1e-6)
    combined = np.tensordot(mu, grams, axes=1)
    if p == 1.0:
        assert tail(combined, theta) == pytest.approx(1.0, rel=1e-5)
        vectors = np.linalg.eigh(combined)[1][:, ::-1][:, :theta]
        held = np.einsum("ij,mik,kj->m", vectors, grams, vectors)
        assert v == pytest.approx(
            (np.trace(grams, axis1=1, axis2=2) - held) / 40, rel=1e-4
        )

    # Given v the weights are the best ones: those of the norms in closed form.
    norms = np.zeros(5)
    forms = np.einsum("mi,mij,mj->m", found.coefs, grams[found.active], found.coefs)
    norms[found.active] = np.sqrt(forms)
    theta_m = SquaredBlockNorm(1.0, p).kernel_weights(norms * np.sqrt(v))
    assert mu * v == pytest.approx(theta_m, abs=2e-3)
    # And the objective is the one at these functions and weights.
    f = np.einsum("mij,mj->i", grams[found.active], found.coefs) + found.intercept
    used = norms > 0
    value = np.maximum(1 - y * f, 0).sum() + 0.5 * (norms[used] ** 2 / mu[used]).sum()
    assert found.objective == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize("theta", [1, 3])
def test_dc_finds_the_best_weights_of_a_grid(theta):
    grams, y = unit_grams(24, 2, 5), toy_targets("hinge", 24, 5)
    best = np.inf
    for share in np.linspace(0.0, 1.0, 101):
        K = (1 - share) * grams[0] + share * grams[1]
        one = problem_of((K / tail(K, theta))[None], y, 1.0)
        best = min(best, EXACT.solve(one).objective)
    found = TailDC(EXACT, theta, tol=1e-7).solve(problem_of(grams, y, 1.0))
    # The grid is coarse, so that it may end above; never below beyond rounding.
    assert found.objective <= best * (1 + 1e-6)
    assert found.objective >= best * (1 - 5e-3)
    assert found.start_objectives.shape == (3,)
    assert found.start_objectives[0] == found.objective


def test_starts_that_come_next_to_a_known_point_end_there(monkeypatch):
    dc, problem = TailDC(EXACT, 2, tol=1e-7, n_starts=6), problem_of(GRAMS, Y, 2.0)
    short = dc.solve(problem)
    monkeypatch.setattr("multikernel.solvers.local_rademacher.NEAR", -1.0)
    whole = dc.solve(problem)
    assert short.n_iter < whole.n_iter
    assert short.start_objectives.shape == (6,)
    assert short.objective == pytest.approx(whole.objective, rel=1e-6)


def test_dc_lies_above_conv_whose_constraint_is_weaker():
    for p in (1.0, 2.0):
        problem = problem_of(GRAMS, Y, p)
        conv = TailConv(EXACT, 2).solve(problem)
        assert TailDC(EXACT, 2).solve(problem).objective >= conv.objective * (1 - 1e-6)


@pytest.mark.parametrize("method", [TailConv, TailDC])
def test_weights_are_repeated_samples(method):
    counts = np.random.default_rng(0).integers(1, 4, 24)
    rows = np.repeat(np.arange(24), counts)
    solver = method(EXACT, 2)
    many = problem_of(
        GRAMS[:, rows][:, :, rows].copy(), Y[rows], 1.0, loss=SquaredLoss()
    )
    few = problem_of(GRAMS, Y, 1.0, loss=weighted(SquaredLoss(), counts.astype(float)))
    a, b = solver.solve(many), solver.solve(few)
    assert a.objective == pytest.approx(b.objective, rel=1e-5)
    assert a.kernel_weights == pytest.approx(b.kernel_weights, abs=2e-3)


def test_a_kernel_without_a_tail_is_nearly_free():
    x = np.random.default_rng(0).standard_normal(24)
    line = np.outer(x, x)
    grams = np.stack([line / np.trace(line) * 24, GRAMS[0]])
    y = np.where(x > 0, 1.0, -1.0)
    for method in (TailConv, TailDC):
        found = method(InterleavedNewton(tol=1e-4), 1).solve(problem_of(grams, y, 1.0))
        assert np.isfinite(found.objective)
        assert found.kernel_weights[0] > 1.0


def test_a_callback_stops_dc():
    lines = []

    def stop(line):
        lines.append(line)
        return len(lines) == 2

    found = TailDC(EXACT, 2, tol=1e-9).solve(problem_of(GRAMS, Y, 1.0), callback=stop)
    assert found.status is Status.STOPPED
    assert len(lines) == found.n_iter == 2
    assert np.isfinite(found.objective)


def test_other_penalties_and_infinite_p_are_refused():
    other = Problem(DenseStack(GRAMS), Y, HingeLoss(), BlockL1(1.0))
    for method in (TailConv, TailDC):
        assert "SquaredBlockNorm" in method(EXACT).unsupported(other)
    assert "finite p" in TailDC(EXACT).unsupported(problem_of(GRAMS, Y, np.inf))
