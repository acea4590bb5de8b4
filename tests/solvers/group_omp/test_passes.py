"""Every read of a Gram matrix is booked, in one unit, on the path that made it."""

import numpy as np
import pytest
from reference.toys import toy_grams, toy_targets

from multikernel.gram import DenseStack
from multikernel.gram.metered import Meter, MeteredStack
from multikernel.losses import HingeLoss, SquaredLoss
from multikernel.problem import Problem
from multikernel.regularizers import BlockElasticNet
from multikernel.solvers import GroupOMP


def counted_problem(loss, fit_intercept, n_outputs=None):
    grams = toy_grams()
    stack = MeteredStack(DenseStack(grams), Meter(grams.size))
    name = "hinge" if isinstance(loss, HingeLoss) else "squared_error"
    y = toy_targets(name, n_outputs=n_outputs)
    return Problem(stack, y, loss, BlockElasticNet(1.0, 0.0), fit_intercept)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    ("loss", "n_outputs"),
    [(SquaredLoss(), None), (SquaredLoss(), 3), (HingeLoss(), None)],
)
def test_a_solution_counts_what_was_read(loss, n_outputs, fit_intercept):
    problem = counted_problem(loss, fit_intercept, n_outputs)
    solution = GroupOMP(max_kernels=4).solve(problem)
    assert solution.history[-1].passes == pytest.approx(problem.gram.meter.passes)
    assert solution.history[-1].passes > 1.0


def test_paths_side_by_side_share_what_they_read_together():
    problem = counted_problem(SquaredLoss(), True)
    paths = GroupOMP(max_kernels=3).paths(problem, [0.1, 1.0, 10.0])
    booked = np.sum([path.history[-1].passes for path in paths])
    assert booked == pytest.approx(problem.gram.meter.passes)
