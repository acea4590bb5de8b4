"""Solvers end where rounding, not what is left to do, keeps the gap above tol."""

import numpy as np
import pytest

from multikernel.gram import DenseStack
from multikernel.losses import HingeLoss, SquaredLoss
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockL1, SquaredBlockNorm
from multikernel.solvers import SpicyMKL
from multikernel.solvers.lp_choice import LP_SOLVERS, SPARSE_ONLY

TOL = 1e-8


def hopeless_problem(regularizer, loss):
    """Return a problem whose largest kernel rounds to more than `TOL` of the loss."""
    random = np.random.default_rng(0)
    X = random.standard_normal((24, 4))
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    grams = [np.exp(-squares / width) for width in (1.0, 8.0)]
    grams += [1e8 * X @ X.T, 1e6 * np.outer(X[:, 0], X[:, 0])]
    y = np.sign(random.standard_normal(24))
    return Problem(DenseStack(np.stack(grams)), y, loss, regularizer)


def solvers(p):
    chosen = [name for name in LP_SOLVERS if p == 1.0 or name not in SPARSE_ONLY]
    return [(name, LP_SOLVERS[name], p) for name in chosen]


@pytest.mark.parametrize("loss", [SquaredLoss(), HingeLoss()], ids=["squared", "hinge"])
@pytest.mark.parametrize(
    ("name", "solver", "p"),
    [*solvers(1.0), *solvers(2.0), ("spicy", SpicyMKL, None)],
)
def test_no_steps_are_made_that_cannot_close_the_gap(name, solver, p, loss):
    penalty = BlockL1(1e-3) if p is None else SquaredBlockNorm(1e-3, p)
    solution = solver(tol=TOL, max_iter=500).solve(hopeless_problem(penalty, loss))
    closed = [line.duality_gap <= TOL for line in solution.history[:-1]]
    assert closed.count(True) <= 3
    assert (solution.status is Status.STALLED) == (solution.duality_gap > TOL)
