"""Problems whose kernels, targets and C differ by eight decades each."""

import numpy as np
import pytest
from reference.toys import CLASSIFICATION, LOSSES, toy_loss

from multikernel.gram import DenseStack
from multikernel.machines import Newton
from multikernel.problem import Problem, Status
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers.lp_choice import LP_SOLVERS

N_SAMPLES, N_KERNELS = 40, 12


def scaled_grams(rng, X):
    """Linear, Gaussian and quadratic kernels on a few columns, of random scales."""
    D = (X[:, None] - X) ** 2
    grams = []
    for _ in range(N_KERNELS):
        columns = rng.integers(0, 6, size=rng.integers(1, 4))
        product, kind = X[:, columns] @ X[:, columns].T, rng.integers(3)
        if kind == 1:
            product = np.exp(-D[:, :, columns].sum(2) / 10.0 ** rng.uniform(-1, 3))
        grams.append((1.0 + product) ** 2 if kind == 2 else product)
    mode, common = rng.integers(3), 10.0 ** rng.uniform(-4, 4)
    scales = 10.0 ** rng.uniform(-4, 4, N_KERNELS) if mode else np.ones(N_KERNELS)
    scales = scales if mode == 2 else common * scales
    return np.stack(grams) * scales[:, None, None]


def scaled_problem(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_SAMPLES, 6))
    grams = scaled_grams(rng, X)
    loss = list(LOSSES)[rng.integers(len(LOSSES))]
    signal = X[:, 0] + 0.7 * X[:, 1] ** 2 + 0.5 * rng.normal(size=N_SAMPLES)
    if loss in CLASSIFICATION:
        y = np.where(signal > np.median(signal), 1.0, -1.0)
    else:
        y = (signal - signal.mean()) * 10.0 ** rng.uniform(-4, 4)
    C = 10.0 ** rng.uniform(-4, 4)
    p = [1.0, 1.0, 1.0, 1.01, 4 / 3, 2.0, np.inf][rng.integers(7)]
    penalty = SquaredBlockNorm(1.0 / C, p)
    return Problem(DenseStack(grams), y, toy_loss(loss), penalty, bool(rng.integers(2)))


SOLVED = [
    (37, "squared_form"),
    (45, "squared_form"),
    (120, "newton"),
    (120, "alternating"),
    (181, "newton"),
    (181, "cutting_plane"),
    (181, "alternating"),
]


@pytest.mark.filterwarnings("ignore:SMO reached its limit")  # in single rounds
@pytest.mark.parametrize(("seed", "name"), SOLVED)
def test_solved_whatever_the_scales(seed, name):
    solution = LP_SOLVERS[name](tol=1e-3).solve(scaled_problem(seed))
    assert solution.status is Status.CONVERGED
    assert solution.duality_gap <= 1e-3


def test_a_descent_takes_few_steps_of_machines():
    # Golden sections to a precision that the gap did not call for took 2 million.
    solution = LP_SOLVERS["simple"](tol=1e-3).solve(scaled_problem(299))
    assert solution.status is Status.CONVERGED
    assert solution.history[-1].inner_steps <= 200_000


def test_a_logistic_machine_stops_where_its_dual_variables_are_feasible():
    problem = scaled_problem(181)
    gram = problem.gram.combine(np.ones(N_KERNELS) / problem.regularizer.alpha)
    fit = Newton(tol=1e-3).fit(gram, problem.y, problem.loss, fit_intercept=False)
    lower, upper = problem.loss.dual_bounds(problem.y)
    rho = np.clip(fit.dual, -upper, -lower)
    f = gram.matvec(rho)
    primal = float(problem.loss.value(problem.y, f).sum()) + 0.5 * float(rho @ f)
    dual = -float(problem.loss.conjugate(problem.y, -rho).sum()) - 0.5 * float(rho @ f)
    assert primal - dual <= 1e-3 * primal
