"""A problem with every kernel divided by a size, and its solutions with the old ones.

conv, dc and weights by a rule solve lp-norm problems with the kernels K_m / v_m.
Published are weights of the kernels K_m themselves: theta_m / v_m.
"""

from dataclasses import replace

import numpy as np

from multikernel._typing import Array
from multikernel.gram.scaled import ScaledStack
from multikernel.gram.spectra import equal_shares
from multikernel.losses.weighted import WeightedLoss
from multikernel.problem import Problem, Solution
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm, p_norm


def reason_against(problem: Problem, name: str) -> str | None:
    """Return why a problem is none for tail constraints, or None if it is one."""
    if isinstance(problem.regularizer, SquaredBlockNorm):
        return None
    found = type(problem.regularizer).__name__
    return f"{name} needs the penalty SquaredBlockNorm, got {found}."


def exponent_of(problem: Problem) -> float:
    """Return p of the problem's penalty."""
    assert isinstance(problem.regularizer, SquaredBlockNorm)
    return problem.regularizer.p


def shares_of(problem: Problem) -> Array:
    """Return the sample weights of a problem's loss, scaled to a sum of one."""
    loss = problem.loss
    weights = loss.weights if isinstance(loss, WeightedLoss) else None
    return equal_shares(problem.gram.shape[1], weights)


def inverse_sizes(sizes: Array) -> Array:
    """Return one over the sizes of kernels, zero for a kernel that has none."""
    positive = sizes > 0.0
    return np.where(positive, 1.0 / np.where(positive, sizes, 1.0), 0.0)


def scaled_problem(problem: Problem, scales: Array) -> Problem:
    """Return the problem with the kernels scales[m] K_m."""
    return replace(problem, gram=ScaledStack(problem.gram, scales))


def to_scaled(solution: Solution, scales: Array, p: float) -> Solution:
    """Return a solution as one over the kernels scales[m] K_m, the same functions.

    A function in the space of a kernel that has no size is left out.
    """
    inverse = inverse_sizes(scales)
    kept = scales[solution.active] > 0.0
    active = solution.active[kept]
    weights = solution.kernel_weights * inverse
    size = p_norm(weights, p)
    return replace(
        solution,
        active=active,
        coefs=_times(inverse[active], solution.coefs[kept]),
        norms=solution.norms * np.sqrt(inverse),
        kernel_weights=weights / size if size > 0.0 else weights,
    )


def from_scaled(solution: Solution, scales: Array) -> Solution:
    """Return a solution over the kernels scales[m] K_m as one over the K_m."""
    return replace(
        solution,
        coefs=_times(scales[solution.active], solution.coefs),
        norms=solution.norms * np.sqrt(scales),
        kernel_weights=solution.kernel_weights * scales,
    )


def _times(factors: Array, coefs: Array) -> Array:
    """Multiply the coefficients of each kernel by its factor."""
    return np.asarray(coefs * factors.reshape((-1,) + (1,) * (coefs.ndim - 1)))
