"""Targets in small spaces: each is solved for and certified as it is alone."""

from dataclasses import replace

import numpy as np
import pytest
from tests.solvers.spicy.test_newton import (
    along,
    assert_solved,
    followed,
    make_problems,
)

from multikernel.gram import DenseStack, LowRankStack, ScaledStack
from multikernel.linalg import shifted
from multikernel.losses import LogisticLoss, SquaredLoss, weighted
from multikernel.solvers import SpicyMKL
from multikernel.solvers.spicy import solver as openings, spans
from multikernel.solvers.spicy.newton import NewtonState
from multikernel.solvers.spicy.settings import SETTINGS


@pytest.fixture(autouse=True)
def always_in_spaces(monkeypatch):
    always = replace(SETTINGS, least_spanned=1, share_spanned=0.0)
    monkeypatch.setattr(spans, "SETTINGS", always)
    monkeypatch.setattr(openings, "SETTINGS", always)


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("tol", [1e-2, 1e-7])
def test_paths_are_those_of_every_target_alone(tol, intercept, weighed):
    weights = np.linspace(0.5, 2.0, 24) if weighed else None
    loss = weighted(SquaredLoss(), weights)
    problems = make_problems(12, loss=loss, intercept=intercept)
    assert openings.newton_for(problems) is spans.SpannedTargets
    penalties = along(problems)
    paths = followed(SpicyMKL(tol=tol), problems, penalties)
    for own, found in zip(penalties, paths, strict=True):
        for problem, penalty, solution in zip(problems, own, found, strict=True):
            assert_solved(replace(problem, regularizer=penalty), solution, tol)
    assert all(solution.active.size == 0 for solution in paths[0])
    assert any(solution.active.size > 1 for solution in paths[-1])


@pytest.mark.parametrize("tol", [1e-2, 1e-7])
@pytest.mark.parametrize("scaled", [False, True])
def test_factors_are_those_of_whole_matrices(tol, scaled):
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(24, 9))
    gram = LowRankStack(Z, np.array([0, 2, 5, 9]))
    if scaled:
        gram = ScaledStack(gram, np.array([0.5, 1.0, 3.0]))
    problems = [replace(problem, gram=gram) for problem in make_problems(12)]
    assert SpicyMKL().supports_many(problems, along(problems)[0])
    penalties = along(problems)
    paths = followed(SpicyMKL(tol=tol), problems, penalties)
    for own, found in zip(penalties, paths, strict=True):
        for problem, penalty, solution in zip(problems, own, found, strict=True):
            assert solution.steps == ("newton_in_weights",)
            assert_solved(replace(problem, regularizer=penalty), solution, tol)


def test_a_path_goes_on_from_solutions():
    problems = make_problems(12)
    penalties = along(problems)
    rough = followed(SpicyMKL(tol=1e-2), problems, penalties)[-1]
    solver, last = SpicyMKL(tol=1e-6), penalties[-1]
    found = next(iter(solver.follow_many(problems, [last], rough)))
    for problem, penalty, solution in zip(problems, last, found, strict=True):
        assert_solved(replace(problem, regularizer=penalty), solution, 1e-6)


def test_targets_share_factorisations(monkeypatch):
    problems = make_problems(1)
    rng = np.random.default_rng(1)
    alike = [
        replace(problems[0], y=problems[0].y + 0.01 * rng.standard_normal(24))
        for _ in range(30)
    ]
    roots, root = [], shifted._cholesky_solve
    monkeypatch.setattr(
        shifted, "_cholesky_solve", lambda *args: roots.append(1) or root(*args)
    )
    paths = followed(SpicyMKL(tol=1e-2), alike, along(alike))
    n_solves = sum(s.active.size > 0 for found in paths for s in found)
    assert 0 < len(roots) < 0.2 * n_solves


def test_little_memory_takes_batches(monkeypatch):
    problems = make_problems(12)
    plain = followed(SpicyMKL(tol=1e-4), problems, along(problems))
    monkeypatch.setattr(spans, "CHUNK_BYTES", 1)
    batches = followed(SpicyMKL(tol=1e-4), problems, along(problems))
    for one, other in zip(plain[-1], batches[-1], strict=True):
        # Two kernels that are nearly alike share their norm in any way.
        close = 1e-3 * other.norms.max()
        np.testing.assert_allclose(one.norms, other.norms, atol=close)


def test_what_is_no_kernel_is_left_to_other_steps():
    problems = make_problems(3)
    grams = problems[0].gram.array.copy()
    grams[0] -= 0.9 * np.eye(24)
    stack = DenseStack(grams)
    refused = [replace(problem, gram=stack) for problem in problems]
    many = spans.SpannedTargets(refused)
    everyone, alphas = np.arange(3), np.ones(3)
    many.solve_ridge(everyone, alphas)
    for _ in range(2):
        many.eta[:] = 100.0
        many.step(everyone, alphas)
    assert many.failed.any()


def test_other_losses_and_few_samples_have_no_spaces(monkeypatch):
    logistic = make_problems(3, loss=LogisticLoss())
    assert openings.newton_for(logistic) is NewtonState
    monkeypatch.setattr(openings, "SETTINGS", SETTINGS)
    assert openings.newton_for(make_problems()) is NewtonState
