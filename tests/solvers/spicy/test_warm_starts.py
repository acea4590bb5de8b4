"""A warm start from other samples must save steps."""

from dataclasses import replace

import numpy as np
import pytest

from multikernel.gram import build_stack
from multikernel.kernels import GaussianKernel, ParameterGrid
from multikernel.losses import LogisticLoss
from multikernel.problem import Problem
from multikernel.regularizers import BlockL1
from multikernel.solvers import SpicyMKL


@pytest.mark.parametrize("seed", range(3))
def test_paths_of_separable_classes_take_few_steps(seed):
    # Decision values that belong to dual points were far too large, so that Newton's
    # method took up to eleven steps, or failed.
    random = np.random.default_rng(seed)
    X = random.standard_normal((300, 4))
    y = np.where(X[:, 0] + np.sin(2.0 * X[:, 1]) > 1.2, 1.0, -1.0)
    kernels = ParameterGrid([GaussianKernel(0.5), GaussianKernel(2.0)], range(4))
    stack = build_stack(kernels, X, normalize="variance").stack
    solution = None
    for alpha in np.geomspace(30.0, 0.05, 12):
        problem = Problem(stack, y, LogisticLoss(), BlockL1(alpha))
        solution = SpicyMKL(tol=3e-2).solve(problem, solution)
        assert solution.duality_gap <= 3e-2
        assert solution.steps == ("newton_in_weights",)
        assert solution.n_iter <= 3


def test_the_model_of_all_samples_is_a_good_start_on_half_of_them():
    # Most samples are fitted well, so their dual variables are near the domain's end,
    # where the conjugate is steep: steps from there were short.
    random = np.random.default_rng(0)
    X = random.standard_normal((200, 8))
    y = np.where(X[:, 0] + np.sin(2.0 * X[:, 1]) + X[:, 2] ** 2 > 0.8, 1.0, -1.0)
    kernels = ParameterGrid([GaussianKernel(0.5), GaussianKernel(2.0)], range(8))
    solver = SpicyMKL(tol=1e-3)

    def problem(rows):
        stack = build_stack(kernels, X[rows], normalize="variance").stack
        return Problem(stack, y[rows], LogisticLoss(), BlockL1(0.03 * rows.size))

    whole = solver.solve(problem(np.arange(200)))
    warm_steps = cold_steps = 0
    for _ in range(4):
        half = random.permutation(200)[:100]
        start = replace(whole, dual=whole.dual[half], coefs=2.0 * whole.coefs[:, half])
        cold, warm = (solver.solve(problem(half), init) for init in (None, start))
        assert warm.duality_gap <= 1e-3
        cold_steps += cold.history[-1].inner_steps
        warm_steps += warm.history[-1].inner_steps
    assert warm_steps <= cold_steps, (warm_steps, cold_steps)
