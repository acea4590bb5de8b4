"""The start on a part of many samples is near the solution, or there is none."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from multikernel import SpicyMKLClassifier
from multikernel.certificates import alpha_max
from multikernel.gram import DenseStack, LowRankStack
from multikernel.kernels import ColumnKernel, LinearKernel
from multikernel.losses import (
    HingeLoss,
    HuberLoss,
    LogisticLoss,
    SquaredLoss,
    weighted,
)
from multikernel.losses.offset import OffsetLoss
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockElasticNet, BlockL1
from multikernel.solvers import SpicyMKL
from multikernel.solvers.spicy import sampled_start
from multikernel.solvers.spicy.sampled_start import start_on_part
from multikernel.solvers.spicy.settings import SETTINGS

N, M, RANK = 3200, 5, 3
TOL = 1e-3


def make_problem(loss, *, sorted_labels=False, **options):
    """Return a problem of five kernels of three columns, of which two matter."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(N, M * RANK)) / np.sqrt(RANK)
    f = 2.0 * Z[:, 0] + Z[:, 4] + 0.5 * rng.normal(size=N)
    y = f if isinstance(loss, SquaredLoss) else np.sign(f - 0.3)
    if sorted_labels:
        order = np.argsort(y, kind="stable")
        Z, y = Z[order], y[order]
    gram = LowRankStack(Z, np.arange(0, M * RANK + 1, RANK))
    return Problem(gram, y, loss, BlockL1(0.05 * N), **options)


def dense(problem):
    """Return the same problem on whole matrices, for which there is no such start."""
    Z = problem.gram.factors.reshape(N, M, RANK).transpose(1, 0, 2)
    return replace(problem, gram=DenseStack(Z @ Z.transpose(0, 2, 1)))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("sorted_labels", [True, False])
@pytest.mark.parametrize("loss", [LogisticLoss(), SquaredLoss()], ids=lambda x: str(x))
def test_the_solution_is_that_of_whole_matrices(loss, sorted_labels, fit_intercept):
    problem = make_problem(
        loss, sorted_labels=sorted_labels, fit_intercept=fit_intercept
    )
    solver = SpicyMKL(tol=TOL)
    start = start_on_part(problem, solver)
    assert start is not None
    found, whole = solver.solve(problem), SpicyMKL(tol=1e-7).solve(dense(problem))
    assert start_on_part(dense(problem), solver) is None
    assert found.status is Status.CONVERGED
    assert found.history[1].duality_gap <= 2.0 * SETTINGS.near
    lower = (1.0 - whole.duality_gap) * whole.objective
    assert lower <= found.objective * (1.0 + 1e-9)
    assert found.objective * (1.0 - found.duality_gap) <= whole.objective
    np.testing.assert_array_equal(found.active, whole.active)


def test_steps_end_where_a_block_is_zero():
    """Its norm has no slope there, and nothing is divided by it."""
    problem, solver = make_problem(SquaredLoss()), SpicyMKL(tol=TOL)
    factors, found = problem.gram.tall_form(), solver.solve(problem)
    u, b = factors[0].inner(found.dual), float(found.intercept[0])
    curvature = sampled_start.Curvature.of(problem, factors, u, b)
    u[:RANK] = 0.0
    start = sampled_start.Start(problem, *factors, u, b)
    with np.errstate(all="raise"):
        assert start.improve(curvature, 1.0, TOL) > SETTINGS.near


def test_steps_on_all_samples_take_less_than_newton_steps():
    problem, solver = make_problem(LogisticLoss()), SpicyMKL(tol=TOL)
    solution = solver.solve(problem)
    assert solution.history[-1].inner_steps == 0
    assert solution.steps == ("subsampled_newton",)
    paper = SpicyMKL(tol=TOL, algorithm="augmented_lagrangian").solve(problem)
    assert "subsampled_newton" not in paper.steps


@pytest.mark.parametrize(
    "change",
    [
        {"loss": HingeLoss()},
        {"loss": weighted(LogisticLoss(), np.linspace(0.5, 2.0, N))},
        {"loss": OffsetLoss(LogisticLoss(), np.linspace(0.5, 2.0, N))},
        {"loss": HuberLoss()},
        {"regularizer": BlockElasticNet(0.05 * N)},
        {"y": np.ones((N, 2)), "loss": SquaredLoss()},
    ],
    ids=["hinge", "weights", "offset", "huber", "elastic net", "outputs"],
)
def test_there_is_none_for_other_problems(change):
    problem = replace(make_problem(LogisticLoss()), **change)
    assert start_on_part(problem, Never()) is None


@dataclass(frozen=True)
class Never:
    """A solver that must not be asked."""

    tol: float = TOL

    def solve(self, problem):
        raise AssertionError("no sample was to be solved for")


def test_there_is_none_where_the_columns_are_many():
    problem = make_problem(LogisticLoss())
    few = np.arange(9 * SETTINGS.part_samples * M * RANK)
    less = replace(problem, gram=problem.gram.restrict(few), y=problem.y[few])
    assert start_on_part(less, Never()) is None


def test_a_class_that_the_sample_lacks_is_found_later():
    problem = make_problem(LogisticLoss())
    size = round(SETTINGS.part_share * N)
    some = np.random.default_rng(0).choice(N, size, replace=False)
    other = np.setdiff1d(np.arange(N), some)[0]
    y = np.where(np.arange(N) == other, 1.0, -1.0)
    rare = replace(problem, y=y, regularizer=BlockL1(0.1))
    assert start_on_part(rare, Never()) is None
    assert SpicyMKL(tol=TOL).solve(rare).status is Status.CONVERGED


def test_where_the_steps_lead_astray_there_is_no_start(monkeypatch):
    few = replace(SETTINGS, corrections=1, near=1e-9)
    monkeypatch.setattr(sampled_start, "SETTINGS", few)
    problem, solver = make_problem(LogisticLoss()), SpicyMKL(tol=TOL)
    assert start_on_part(problem, solver) is None
    assert solver.solve(problem).status is Status.CONVERGED


def test_a_sample_without_kernels_is_no_start():
    problem = replace(make_problem(LogisticLoss()), regularizer=BlockL1(10.0 * N))
    solver = SpicyMKL(tol=TOL)
    assert start_on_part(problem, solver) is None
    assert not solver.solve(problem).active.size


def test_a_constant_model_that_is_optimal_stays():
    problem = make_problem(LogisticLoss())
    strength = 1.001 * alpha_max(problem)
    solution = SpicyMKL(tol=TOL).solve(replace(problem, regularizer=BlockL1(strength)))
    assert not solution.active.size
    assert "subsampled_newton" not in solution.steps


def test_fits_with_offsets_on_many_rows():
    X = np.random.default_rng(0).normal(size=(1200, 2))
    kernels = [ColumnKernel(LinearKernel(), column) for column in range(2)]
    model = SpicyMKLClassifier(kernels, storage="low_rank")
    fit = model.fit(X, X[:, 0] > 0.0, offset=0.5 * X[:, 1])
    assert fit.status_ == "converged"
