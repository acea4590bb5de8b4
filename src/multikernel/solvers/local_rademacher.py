"""Weights bounded by the tail of the spectrum: the algorithms "conv" and "dc"."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize_scalar

from multikernel._typing import Array
from multikernel.certificates.progress import Recorder, metered
from multikernel.gram.spectra import VANISHES, frame_tails, leading_spectrum, tail_sums
from multikernel.linalg.tables import equal_shares
from multikernel.losses.weighted import weights_of
from multikernel.problem import Callback, Problem, Solution, Status, centred
from multikernel.regularizers.base import BlockRegularizer
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm, p_norm
from multikernel.solvers.base import (
    PathSolver,
    Solver,
    check_supported,
    exponent_of,
    follow,
    reason_against_penalty,
)
from multikernel.solvers.fixed_weights import (
    from_scaled,
    inverse_sizes,
    scaled_problem,
    to_scaled,
)


@dataclass(frozen=True, eq=False)
class TailConv(PathSolver):
    r"""Learn weights with :math:`\|(\mu_m t_m)_m\|_p \le 1` for tail sums t.

    This is lp-norm learning with the kernels :math:`K_m / t_m`, where :math:`t_m =
    \frac1n \sum_{j > \theta} \lambda_j(K_m)`: "conv" of [1]_. It is convex, and the
    duality gap is for the whole problem. Kernel weights belong to the K_m themselves.
    With ``theta=0`` and kernels of trace n it is plain lp-norm learning.

    Parameters
    ----------
    solver : Solver
        Any solver for `SquaredBlockNorm`.
    theta : int, default=1
        How many leading eigenvalues are free.
    tails : ndarray of shape (n_kernels,), optional
        The tail sums t, if they are known.

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
        reason = reason_against_penalty(problem, type(self).__name__)
        return reason or self.solver.unsupported(problem)

    def follow(
        self,
        problem: Problem,
        regularizers: Iterable[BlockRegularizer],
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Iterator[Solution]:
        """Yield a solution for every regularizer in turn; a stopped one is the last."""
        scales = self._scales(problem)
        inner = scaled_problem(problem, scales)
        p = exponent_of(problem.regularizer)
        start = None if init is None else to_scaled(init, scales, p)
        for inner_solution in follow(self.solver, inner, regularizers, start, callback):
            yield from_scaled(inner_solution, scales)

    def _scales(self, problem: Problem) -> Array:
        """Return one over the tail of every kernel."""
        if self.tails is not None:
            return inverse_sizes(self.tails)
        sums = tail_sums(problem.gram, self.theta, shares_of(problem))
        return inverse_sizes(sums.bounded(self.theta))


@dataclass(frozen=True, eq=False)
class DCSolution(Solution):
    """A stationary point with its derivatives.

    Its ``duality_gap`` is nan, as the problem is not convex.

    Parameters
    ----------
    subproblem_gap : float
        Relative duality gap of the last convex problem.
    start_objectives : ndarray of shape (n_starts,)
        Objective reached from each of the starting weights, the best first.
    derivatives : ndarray of shape (n_kernels,)
        The v of the constraint at the kernel weights: their product has p-norm one.
    """

    subproblem_gap: float = np.nan
    start_objectives: Array = field(default_factory=lambda: np.empty(0))
    derivatives: Array = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, eq=False)
class TailDC:
    r"""Learn weights whose combined kernel has a bounded tail sum: "dc" of [1]_.

    .. math::
        \min_{f, b, \mu \ge 0} \sum_i \ell(y_i, z_i) + \frac{\alpha}{2}
        \sum_m \frac{\|f_m\|^2}{\mu_m} \quad \text{subject to} \quad
        \frac1n \sum_{j > \theta} \lambda_j\Bigl(\sum_m \mu_m K_m\Bigr) \le 1

    The tail sum is concave in the weights. If :math:`u_j` are the leading eigenvectors
    of the combined kernel at some weights, it lies below :math:`\langle v, \mu \rangle`
    with :math:`v_m = \frac1n (\operatorname{tr} K_m - \sum_j u_j^\top K_m u_j)`, and
    touches it there. So one solves the convex problem with
    :math:`\langle v, \mu \rangle \le 1`, which is lp-norm learning with the kernels
    :math:`K_m / v_m`, scales its weights up to the true constraint, and linearizes
    anew. The true objective falls in every iteration.

    For p above 1 the constraint is :math:`\min_v \|(\mu_m v_m)_m\|_p \le 1`, over the
    v of all frames of theta directions and their averages; for p = 1 the minimum is the
    tail sum. The directions that lower it most are leading eigenvectors of
    :math:`\sum_m \mu_m^p v_m^{p-1} K_m`, and v moves towards theirs while the norm
    falls. With eigenvectors of :math:`\sum_m \mu_m K_m` in their place it may rise.

    Parameters
    ----------
    solver : Solver
        Any solver for `SquaredBlockNorm`; it solves the convex problems.
    theta : int, default=1
        How many leading eigenvalues are free.
    tol : float, default=1e-3
        Share of the true objective that an iteration must gain to be followed by
        another.
    max_iter : int, default=50
        Convex problems for one start at most.
    n_starts : int, default=3
        Starting weights: the result of "conv", equal ones, and then random ones. A
        start whose iterates come next to an earlier point ends there.
    seed : int, default=0
        Draws the random ones.
    tails : ndarray of shape (n_kernels,), optional
        Tail sums of the kernels over n, where they are known.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.
    """

    solver: Solver
    theta: int = 1
    tol: float = 1e-3
    max_iter: int = 50
    n_starts: int = 3
    seed: int = 0
    tails: Array | None = None

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        reason = reason_against_penalty(problem, type(self).__name__)
        if reason is None and np.isinf(exponent_of(problem.regularizer)):
            reason = f"{type(self).__name__} needs a finite p, got p = inf."
        return reason or self.solver.unsupported(problem)

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> DCSolution:
        """Solve from every start, and return the best stationary point.

        An initial solution replaces the first start. The callback is called with a
        `Progress` after each convex problem: the true objective, and the duality gap of
        the convex problem. True stops.
        """
        check_supported(self, problem)
        problem, recorder = metered(centred(problem), callback)
        descent = _Descent(self, problem, recorder)
        first = init
        if first is None:
            conv = TailConv(self.solver, self.theta, self.tails)
            first = conv.solve(problem)
        ends: list[DCSolution] = []
        for weights in self._starts(descent.totals, first.kernel_weights):
            ends.append(descent.run(weights, first, ends))
            if ends[-1].status is Status.STOPPED:
                break
        best = min(ends, key=lambda solution: solution.objective)
        return replace(
            best,
            start_objectives=np.sort([solution.objective for solution in ends]),
            history=tuple(recorder.history),
            n_iter=len(recorder.history),
        )

    def _starts(self, totals: Array, first: Array) -> list[Array]:
        """Return the weights to start from."""
        scales = inverse_sizes(totals)
        rng = np.random.default_rng(self.seed)
        starts = [first, scales]
        while len(starts) < self.n_starts:
            starts.append(scales * rng.dirichlet(np.ones(scales.size)))
        return starts[: self.n_starts]


NEAR = 0.01
"""Relative difference of kernel weights below which two iterates are assumed to lead to
the same point. On five Gaussian kernels, n = 1000 and theta = 4, three starts take 3.5
plain fits with p = 1 and 6.9 with p = 2, and 4.4 and 7.8 if all descents are completed.
"""


@dataclass(frozen=True, eq=False)
class _Descent:
    """A sequence of convex problems, each linearized at the previous solution."""

    settings: TailDC
    problem: Problem
    recorder: Recorder

    @cached_property
    def shares(self) -> Array:
        """Return the sample weights, which sum to one."""
        return shares_of(self.problem)

    @cached_property
    def totals(self) -> Array:
        """Return the mean diagonals: the derivatives if no eigenvector is excluded."""
        return self.problem.gram.traces(self.shares)

    def run(
        self, weights: Array, init: Solution, ends: Sequence[DCSolution]
    ) -> DCSolution:
        """Return the end of a descent; `init` is a solution of any problem.

        A descent next to an earlier end stops there unless it is better.
        """
        settings = self.settings
        best = self._step(self._derivatives(weights, self.totals), init)
        status = self._record(best)
        for _ in range(1, settings.max_iter):
            if status is None and any(_leads_to(best, other) for other in ends):
                status = Status.STATIONARY
            if status is not None:
                break
            candidate = self._step(best.derivatives, best)
            gain = best.objective - candidate.objective
            # A convex solve may end above its start only because of rounding.
            best = candidate if gain >= 0.0 else best
            status = self._record(best)
            if status is None and gain <= settings.tol * abs(best.objective):
                status = Status.STATIONARY
        return replace(best, status=status or Status.MAX_ITER, duality_gap=np.nan)

    def _step(self, v: Array, init: Solution) -> DCSolution:
        """Solve the convex problem of a v, and linearize at its solution."""
        penalty = self.problem.regularizer
        assert isinstance(penalty, SquaredBlockNorm)
        scales = inverse_sizes(v)
        inner = scaled_problem(self.problem, scales)
        inner_solution = self.settings.solver.solve(
            inner, to_scaled(init, scales, penalty.p)
        )
        weights = penalty.kernel_weights(inner_solution.norms) * scales
        nearer = self._derivatives(weights, v)
        # With weights scaled to the true constraint, the same functions have a lower
        # objective.
        size = p_norm(weights * nearer, penalty.p) if weights.any() else 1.0
        saved = (1.0 - size) * penalty.value(inner_solution.norms)
        plain = from_scaled(inner_solution, scales)
        fields_of_solution = {
            each.name: getattr(plain, each.name) for each in fields(Solution)
        }
        fields_of_solution |= {
            "kernel_weights": weights / size,
            "objective": inner_solution.objective - saved,
        }
        return DCSolution(
            **fields_of_solution,
            subproblem_gap=inner_solution.duality_gap,
            derivatives=nearer,
        )

    def _derivatives(self, weights: Array, v: Array) -> Array:
        """Return the v with the least norm at some weights, or one closer to it."""
        p = exponent_of(self.problem.regularizer)
        theta, gram = self.settings.theta, self.problem.gram
        if theta == 0 or not weights.any():
            return v
        slopes = (weights * v) ** (p - 1.0) * weights
        pairs = leading_spectrum(gram.combine(slopes), theta, self.shares)
        held = frame_tails(gram, pairs.vectors, self.shares)
        towards = np.maximum(held, VANISHES * self.totals)

        def norm(step: float) -> float:
            """Return the norm at a share of the way."""
            return p_norm(weights * (v + step * (towards - v)), p)

        steps = [0.0, 1.0]
        if p > 1.0:
            steps += [float(minimize_scalar(norm, bounds=(0, 1), method="bounded").x)]
        return np.asarray(v + min(steps, key=norm) * (towards - v))

    def _record(self, best: DCSolution) -> Status | None:
        """Add a line to the history; return a status if the callback stops."""
        self.recorder.inner_steps += best.n_iter
        figures = best.objective, best.subproblem_gap, int(best.active.size)
        return Status.STOPPED if self.recorder.add(*figures) else None


def _leads_to(point: DCSolution, earlier: DCSolution) -> bool:
    """Return whether weights are close to an earlier point that is not worse."""
    weights, earlier_weights = (
        each.kernel_weights / max(float(each.kernel_weights.sum()), VANISHES)
        for each in (point, earlier)
    )
    near = bool(np.abs(weights - earlier_weights).max() <= NEAR)
    return near and point.objective >= earlier.objective


def shares_of(problem: Problem) -> Array:
    """Return the sample weights of a problem's loss, scaled to a sum of one."""
    n_samples = problem.gram.shape[1]
    return equal_shares(n_samples, weights_of(problem.loss, n_samples))
