"""Which kernels need more landmarks, so that a duality gap closes over full kernels."""

import numpy as np

from multikernel._typing import Array
from multikernel.certificates.forms import TINY, factor_norms
from multikernel.certificates.gap import scaled_dual_value
from multikernel.gram.products import residual_bounds
from multikernel.problem import Problem, Solution
from multikernel.regularizers.base import ProximableRegularizer

SHARE = 0.25
"""Of the tolerance, that residuals may cost once they are refined."""

MARGIN = 0.5
"""Of what a bound may be, that is asked for: the next dual point is another one."""


def refinement_goals(
    problem: Problem, solution: Solution, tol: float
) -> dict[int, float]:
    """Return what the residual bounds of some kernels must become.

    At a dual point that is feasible over the factors, these kernels' bounds keep it
    from being feasible over the full kernels. Bounds are cut at a common level: the
    highest one at which what they cost is below a share of the tolerance.

    Parameters
    ----------
    problem : Problem
        The problem over the factors.
    solution : Solution
        Its solution, with a dual point over them.
    tol : float
        Relative duality gap that is asked for.

    Returns
    -------
    goals : dict of int to float
        For the dual point ``solution.factor_dual``; empty where nothing is left to do.
    """
    rho = solution.factor_dual
    if rho is None:
        return {}
    forms = factor_norms(problem.gram, rho) ** 2
    residual = residual_bounds(problem.gram, rho)
    bounds, regularizer = forms + residual, problem.regularizer
    # Below its threshold a penalty does not see a kernel.
    level = 0.0
    if isinstance(regularizer, ProximableRegularizer):
        level = regularizer.threshold**2

    def allowed(cut: float) -> Array:
        return np.maximum(forms + cut, level)

    def value(cut: float) -> float:
        norms = np.sqrt(np.minimum(bounds, allowed(cut)))
        return scaled_dual_value(problem, rho, solution.norms, norms)[1]

    least = value(0.0) - SHARE * tol * abs(solution.objective)
    low, high = np.log(max(float(residual.max()), TINY)) - np.array([40.0, 0.0])
    if value(float(np.exp(high))) >= least:
        return {}
    while high - low > 0.1:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if value(np.exp(middle)) >= least else (low, middle)
    cut = float(np.exp(low))
    goals = MARGIN * np.maximum(cut, level - forms)
    return {int(m): goals[m] for m in np.flatnonzero(bounds > allowed(cut))}
