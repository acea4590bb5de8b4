"""Which algorithm takes a problem, and that its solution tells."""

import numpy as np
import pytest

from multikernel.certificates import duality_gap
from multikernel.estimators import MKLClassifier
from multikernel.gram import DenseStack
from multikernel.losses import HingeLoss, LogisticLoss
from multikernel.problem import Problem
from multikernel.regularizers import BlockElasticNet, BlockL1
from multikernel.solvers import SpicyMKL
from multikernel.solvers.spicy import newton


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def problem_of(rng, loss, penalty):
    X = rng.standard_normal((60, 4))
    grams = [np.exp(-((X[:, [c]] - X[:, c]) ** 2)) for c in range(4)]
    y = np.where(np.abs(X[:, 2]) > 0.7, 1.0, -1.0)
    return Problem(DenseStack(np.stack(grams)), y, loss, penalty)


@pytest.mark.parametrize(
    ("loss", "penalty", "steps"),
    [
        (LogisticLoss(), BlockL1(1.0), ("newton_in_weights",)),
        (LogisticLoss(), BlockElasticNet(1.0, 0.5), ("augmented_lagrangian",)),
        (HingeLoss(), BlockL1(1.0), ("machines",)),
    ],
    ids=["smooth", "elastic net", "hinge"],
)
def test_solutions_tell_their_steps(rng, loss, penalty, steps):
    problem = problem_of(rng, loss, penalty)
    solution = SpicyMKL(tol=1e-6).solve(problem)
    alone = SpicyMKL(tol=1e-6, algorithm="augmented_lagrangian").solve(problem)
    assert solution.steps == steps
    assert alone.steps == ("augmented_lagrangian",)
    assert duality_gap(problem, alone) <= 1e-6
    assert alone.objective == pytest.approx(solution.objective, rel=2e-6)


def test_what_newton_gives_up_is_told_as_both(rng, monkeypatch):
    problem = problem_of(rng, LogisticLoss(), BlockL1(1.0))
    monkeypatch.setattr(newton.NewtonState, "step", lambda self, targets, alphas: None)
    solution = SpicyMKL(tol=1e-6).solve(problem)
    assert solution.steps == ("newton_in_weights", "augmented_lagrangian")


def test_paths_by_the_paper_alone_take_no_other_step(rng):
    problem = problem_of(rng, LogisticLoss(), BlockL1(1.0))
    solver = SpicyMKL(tol=1e-6, algorithm="augmented_lagrangian")
    penalties = [BlockL1(alpha) for alpha in (3.0, 1.0, 0.3)]
    assert not solver.supports_many([problem], penalties[:1])
    found = list(solver.follow(problem, penalties))
    assert [s.steps for s in found] == [("augmented_lagrangian",)] * 3


def test_fitted_models_tell(rng):
    X = rng.standard_normal((60, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = MKLClassifier(solver=SpicyMKL(algorithm="augmented_lagrangian"))
    assert model.fit(X, y).fit_info_["solver"].tolist() == ["augmented_lagrangian"] * 3
    assert model.fit(X, y > 0).fit_info_["solver"] == "augmented_lagrangian"


def test_an_algorithm_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="algorithm must be one of 'auto'"):
        SpicyMKL(algorithm="newton")
