"""Kernel weights by a rule, and a machine on the sum that they give."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import centred
from multikernel.gram.base import GramStack
from multikernel.losses.weighted import WeightedLoss
from multikernel.problem import Callback, Problem, Solution
from multikernel.solvers.base import Solver, check_supported
from multikernel.solvers.scaled import (
    from_scaled,
    scaled_problem,
    to_scaled,
)

WeightRule = Callable[[GramStack, Array, Array], Array]
"""From the kernels, the targets, and the sample weights to the kernel weights."""


@dataclass(frozen=True, eq=False)
class FixedWeights:
    """Choose kernel weights by a rule, then solve for the functions alone.

    The duality gap is that of the machine for these weights; it says nothing about
    the weights.

    Parameters
    ----------
    rule : callable
        From a stack, targets of shape (n_samples,) and sample weights of shape
        (n_samples,) to weights of shape (n_kernels,), not negative.
    solver : Solver
        Any solver for `SquaredBlockNorm` with p = inf, under which the given weights
        are the kernels' weights.
    """

    rule: WeightRule
    solver: Solver

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        return self.solver.unsupported(problem)

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem, from the warm start `init` where one is given."""
        check_supported(self, problem)
        problem = centred(problem)
        loss, n_samples = problem.loss, problem.gram.shape[1]
        shares = loss.weights if isinstance(loss, WeightedLoss) else np.ones(n_samples)
        weights = self.rule(problem.gram, problem.y, shares)
        used = np.flatnonzero(weights > 0.0)
        if not used.size:
            # No kernel says anything about the targets; they share what is left.
            used = np.arange(weights.size)
            weights = np.full(weights.size, 1.0 / weights.size)
        part = replace(problem, gram=problem.gram.take(used))
        scales = weights[used]
        inner = scaled_problem(part, scales)
        start = None
        if init is not None:
            start = to_scaled(_part(init, used), scales, np.inf)
        found = from_scaled(self.solver.solve(inner, start, callback), scales)
        return _spread(found, used, weights.size)


def _part(solution: Solution, used: Indices) -> Solution:
    """Return a solution over all kernels as one over some of them."""
    kept = np.isin(solution.active, used)
    return replace(
        solution,
        active=np.searchsorted(used, solution.active[kept]),
        coefs=solution.coefs[kept],
        norms=solution.norms[used],
        kernel_weights=solution.kernel_weights[used],
    )


def _spread(solution: Solution, used: Indices, n_kernels: int) -> Solution:
    """Return a solution over some kernels as one over all of them."""
    norms, weights = np.zeros((2, n_kernels))
    norms[used], weights[used] = solution.norms, solution.kernel_weights
    return replace(
        solution, active=used[solution.active], norms=norms, kernel_weights=weights
    )
