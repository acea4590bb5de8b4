"""Small problems of lp-norm learning for the tests of its solvers."""

import numpy as np
from reference.toys import toy_grams, toy_loss, toy_targets

from multikernel.gram import DenseStack
from multikernel.problem import Problem
from multikernel.regularizers import SquaredBlockNorm

P_VALUES = (1.0, 1.0001, 32 / 31, 4 / 3, 2.0, 4.0, 1000.0, np.inf)


def lp_problem(loss="hinge", p=2.0, C=1.5, fit_intercept=True, grams=None):
    """Return a problem on toy data; alpha = 1 / C."""
    grams = toy_grams() if grams is None else grams
    y = toy_targets(loss, n_samples=grams.shape[1])
    regularizer = SquaredBlockNorm(1.0 / C, p)
    return Problem(DenseStack(grams), y, toy_loss(loss), regularizer, fit_intercept)
