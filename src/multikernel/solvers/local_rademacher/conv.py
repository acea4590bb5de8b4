"""The convex algorithm: every kernel over its own tail, and any lp solver."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from multikernel._typing import Array
from multikernel.gram.spectra import tail_sums
from multikernel.problem import Callback, Problem, Solution
from multikernel.regularizers.base import BlockRegularizer
from multikernel.solvers.base import Solver, check_supported
from multikernel.solvers.path import follow
from multikernel.solvers.scaled import (
    exponent_of,
    from_scaled,
    inverse_sizes,
    reason_against,
    scaled_problem,
    shares_of,
    to_scaled,
)


@dataclass(frozen=True, eq=False)
class TailConv:
    r"""Learn weights with :math:`\|(\mu_m t_m)_m\|_p \le 1`, t the kernels' tail sums.

    That is lp-norm learning with the kernels :math:`K_m / t_m`, where
    :math:`t_m = \frac1n \sum_{j > \theta} \lambda_j(K_m)`: "conv" of [1]_. It is
    convex, and the duality gap is that of the whole problem. Kernel weights are those
    of the K_m themselves; with ``theta=0`` and kernels of trace n nothing is changed.

    Parameters
    ----------
    solver : Solver
        Any solver for `SquaredBlockNorm`.
    theta : int, default=1
        How many leading eigenvalues are free.
    tails : ndarray of shape (n_kernels,), optional
        The tail sums t, where they are known.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.
    """

    solver: Solver
    theta: int = 1
    tails: Array | None = None

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        reason = reason_against(problem, type(self).__name__)
        return reason or self.solver.unsupported(problem)

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem, from the warm start `init` where one is given."""
        check_supported(self, problem)
        scales = self._scales(problem)
        if init is not None:
            init = to_scaled(init, scales, exponent_of(problem))
        inner = scaled_problem(problem, scales)
        return from_scaled(self.solver.solve(inner, init, callback), scales)

    def follow(
        self,
        problem: Problem,
        regularizers: Iterable[BlockRegularizer],
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Iterator[Solution]:
        """Yield a solution for every regulariser in turn; a stopped one is the last."""
        scales = self._scales(problem)
        inner = scaled_problem(problem, scales)
        start = None if init is None else to_scaled(init, scales, exponent_of(problem))
        for found in follow(self.solver, inner, regularizers, start, callback):
            yield from_scaled(found, scales)

    def _scales(self, problem: Problem) -> Array:
        """Return one over the tail of every kernel."""
        if self.tails is not None:
            return inverse_sizes(self.tails)
        sums = tail_sums(problem.gram, self.theta, shares_of(problem))
        return inverse_sizes(sums.bounded(self.theta))
