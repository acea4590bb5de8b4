"""Solvers "conv" and "dc", which bound kernel weights by the tail of the spectrum."""

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
from multikernel.problem import Callback, Problem, Solution, Status, center_targets
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
    r"""Solver "conv": lp-norm learning with every kernel divided by its tail sum.

    Minimizes the lp-norm objective over kernel weights mu with :math:`\|(\mu_m
    t_m)_m\|_p \le 1`, where :math:`t_m = \frac1n \sum_{j > \theta} \lambda_j(K_m)` sums
    all but the theta largest eigenvalues, by `solver` on the kernels :math:`K_m / t_m`
    (Cortes, Kloft and Mohri, NIPS 26, 2013). The problem is convex, and the duality gap
    is for the whole problem. Solutions have weights of the kernels :math:`K_m`.
    `tails`, (n_kernels,), are the sums t if known.
    """

    solver: Solver
    theta: int = 1  # number of leading eigenvalues that tail sums exclude
    tails: Array | None = None

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
        reason = reason_against_penalty(problem, type(self).__name__)
        return reason or self.solver.unsupported(problem)

    def follow(
        self,
        problem: Problem,
        regularizers: Iterable[BlockRegularizer],
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Iterator[Solution]:
        """Yield the solution for each regularizer; see `PathSolver.follow`."""
        scales = self._scales(problem)
        inner = scaled_problem(problem, scales)
        p = exponent_of(problem.regularizer)
        start = None if init is None else to_scaled(init, scales, p)
        for inner_solution in follow(self.solver, inner, regularizers, start, callback):
            yield from_scaled(inner_solution, scales)

    def _scales(self, problem: Problem) -> Array:
        """Return the inverse tail sums of the kernels, shape (n_kernels,)."""
        if self.tails is not None:
            return inverse_sizes(self.tails)
        sums = tail_sums(problem.gram, self.theta, shares_of(problem))
        return inverse_sizes(sums.bounded(self.theta))


@dataclass(frozen=True, eq=False)
class DCSolution(Solution):
    """Stationary point of the problem of `TailDC`; its ``duality_gap`` is nan.

    `subproblem_gap` is the relative gap of the last convex problem. `start_objectives`,
    (n_starts,), are the objectives reached from all starts, best first. `derivatives`,
    (n_kernels,), are the entries v_m of the last v of `TailDC`. The kernel weights mu_m
    are scaled so that the vector of all mu_m v_m has p-norm one.
    """

    subproblem_gap: float = np.nan
    start_objectives: Array = field(default_factory=lambda: np.empty(0))
    derivatives: Array = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, eq=False)
class TailDC:
    r"""Solver "dc": kernel weights under a bound on the combined kernel's tail sum.

    Minimizes :math:`\sum_i \ell(y_i, f(x_i) + b) + \frac{\alpha}{2} \sum_m \|f_m\|^2 /
    \mu_m` over functions and kernel weights mu with :math:`\|(\mu_m v_m)_m\|_p \le 1`
    for some v; p is the exponent of the penalty. Any theta orthonormal vectors u_j
    define a v with the entries :math:`v_m = \frac1n (\operatorname{tr} K_m - \sum_j
    u_j^\top K_m u_j)`; averages of such v are allowed too. For p = 1, the smallest such
    norm is the tail sum :math:`\frac1n \sum_{j > \theta} \lambda_j(\sum_m \mu_m K_m)`,
    which Cortes, Kloft and Mohri (NIPS 26, 2013) limit. Each step solves the problem
    for a fixed v by `solver`, replaces v by one with a smaller norm, and scales mu up
    to the norm one. Steps end when the objective decreases by at most the share `tol`;
    it never increases. The problem is not convex: the result is the best stationary
    point of `n_starts` starts, and its ``duality_gap`` is nan.
    """

    solver: Solver
    theta: int = 1  # number of leading eigenvalues that tail sums exclude
    tol: float = 1e-3
    max_iter: int = 50  # convex problems for each start
    # The starts are the solution of `TailConv`, the weights that give all kernels equal
    # traces, then random weights.
    n_starts: int = 3
    seed: int = 0
    tails: Array | None = None

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
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
        """Return the best stationary point of all starts; `init` is the first start.

        `callback` is called with the true objective and the gap of each convex problem.
        """
        check_supported(self, problem)
        problem, recorder = metered(center_targets(problem), callback)
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
        """Return starting weights: `first`, weights of equal traces, random weights."""
        scales = inverse_sizes(totals)
        rng = np.random.default_rng(self.seed)
        starts = [first, scales]
        while len(starts) < self.n_starts:
            starts.append(scales * rng.dirichlet(np.ones(scales.size)))
        return starts[: self.n_starts]


NEAR = 0.01
"""Relative difference of kernel weights below which `TailDC` expects two descents to
reach the same point. Five Gaussian kernels, n = 1000, theta = 4: three starts take 3.5
(p = 1) and 6.9 (p = 2) plain fits with this rule, 4.4 and 7.8 without it."""


@dataclass(frozen=True, eq=False)
class _Descent:
    """A descent of `TailDC`, which replaces the vector v after each convex problem."""

    settings: TailDC
    problem: Problem
    recorder: Recorder

    @cached_property
    def shares(self) -> Array:
        """The sample weights, scaled to a sum of one."""
        return shares_of(self.problem)

    @cached_property
    def totals(self) -> Array:
        """Each kernel's mean diagonal: v_m of `TailDC` if theta were zero."""
        return self.problem.gram.traces(self.shares)

    def run(
        self, weights: Array, init: Solution, ends: Sequence[DCSolution]
    ) -> DCSolution:
        """Return the last point of a descent from `weights`, warm-started at `init`."""
        settings = self.settings
        best = self._step(self._derivatives(weights, self.totals), init)
        status = self._record(best)
        for _ in range(1, settings.max_iter):
            # Stop near one of `ends`, the results of earlier descents, unless this
            # descent is better.
            if status is None and any(_repeats(best, other) for other in ends):
                status = Status.STATIONARY
            if status is not None:
                break
            candidate = self._step(best.derivatives, best)
            gain = best.objective - candidate.objective
            # Only rounding can make a convex solve end above its start.
            best = candidate if gain >= 0.0 else best
            status = self._record(best)
            if status is None and gain <= settings.tol * abs(best.objective):
                status = Status.STATIONARY
        return replace(best, status=status or Status.MAX_ITER, duality_gap=np.nan)

    def _step(self, v: Array, init: Solution) -> DCSolution:
        """Solve the problem of `TailDC` for a fixed v; also compute the next v."""
        # The kernel weights mu_m satisfy |(mu_m v_m)_m|_p <= 1. So the problem is the
        # lp-norm problem with the kernels K_m / v_m.
        penalty = self.problem.regularizer
        assert isinstance(penalty, SquaredBlockNorm)
        scales = inverse_sizes(v)
        inner = scaled_problem(self.problem, scales)
        inner_solution = self.settings.solver.solve(
            inner, to_scaled(init, scales, penalty.p)
        )
        weights = penalty.kernel_weights(inner_solution.norms) * scales
        next_v = self._derivatives(weights, v)
        # For the next v, `size` is the norm of the vector of all mu_m v_m, at most one.
        # Weights divided by it have the norm one, and with them, the same functions
        # have a lower objective.
        size = p_norm(weights * next_v, penalty.p) if weights.any() else 1.0
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
            derivatives=next_v,
        )

    def _derivatives(self, weights: Array, v: Array) -> Array:
        """Return the next vector v of `TailDC` at `weights`; `v` is the last vector."""
        p = exponent_of(self.problem.regularizer)
        theta, gram = self.settings.theta, self.problem.gram
        if theta == 0 or not weights.any():
            return v
        # Any theta orthonormal directions define a vector v (see `TailDC`). The
        # constraint is that the norm of (mu_m v_m)_m is at most one for some v, or for
        # an average of several v. So this method reduces the norm. The directions used
        # here are those of its steepest decrease; the eigenvectors of sum_m mu_m K_m
        # may increase it for p > 1.
        # `tails` is these directions' vector v.
        slopes = (weights * v) ** (p - 1.0) * weights
        directions = leading_spectrum(gram.combine(slopes), theta, self.shares)
        tails = frame_tails(gram, directions.vectors, self.shares)
        towards = np.maximum(tails, VANISHES * self.totals)

        def norm(step: float) -> float:
            """Return the constraint's norm after a step from `v` to `towards`."""
            return p_norm(weights * (v + step * (towards - v)), p)

        # The result is the point between `v` and `towards` with the least norm, which
        # for p = 1 is one of the two.
        steps = [0.0, 1.0]
        if p > 1.0:
            steps += [float(minimize_scalar(norm, bounds=(0, 1), method="bounded").x)]
        return np.asarray(v + min(steps, key=norm) * (towards - v))

    def _record(self, best: DCSolution) -> Status | None:
        """Add a line to the history; return STOPPED if the callback stops the fit."""
        self.recorder.inner_steps += best.n_iter
        figures = best.objective, best.subproblem_gap, int(best.active.size)
        return Status.STOPPED if self.recorder.add(*figures) else None


def _repeats(point: DCSolution, earlier: DCSolution) -> bool:
    """Return whether a point's weights are close to those of a better earlier point."""
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
