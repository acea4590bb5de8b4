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
    r"""Solver for weights with :math:`\|(\mu_m t_m)_m\|_p \le 1`, for tail sums t.

    This is lp-norm learning with the kernels :math:`K_m / t_m`, where :math:`t_m =
    \frac1n \sum_{j > \theta} \lambda_j(K_m)`: "conv" of [1]_. It is convex, and the
    duality gap is for the whole problem. Kernel weights belong to the K_m themselves.
    With ``theta=0`` and kernels of trace n it is plain lp-norm learning.

    Parameters
    ----------
    solver : Solver
        Any solver for `SquaredBlockNorm`.
    theta : int, default=1
        Number of leading eigenvalues that the tail sums exclude.
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
        """Return why this solver does not support the problem, or None if it does."""
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
        """Return the inverse tail sum of every kernel."""
        if self.tails is not None:
            return inverse_sizes(self.tails)
        sums = tail_sums(problem.gram, self.theta, shares_of(problem))
        return inverse_sizes(sums.bounded(self.theta))


@dataclass(frozen=True, eq=False)
class DCSolution(Solution):
    """Stationary point of the problem of `TailDC`.

    The problem is not convex, so ``duality_gap`` is nan.

    Parameters
    ----------
    subproblem_gap : float
        Relative duality gap of the last convex problem.
    start_objectives : ndarray of shape (n_starts,)
        Objective reached from each of the starting weights, the best first.
    derivatives : ndarray of shape (n_kernels,)
        The numbers v_m of `TailDC` at the kernel weights mu: the mean diagonals of K_m
        without its excluded eigenvectors. The vector of all mu_m v_m has p-norm one.
    """

    subproblem_gap: float = np.nan
    start_objectives: Array = field(default_factory=lambda: np.empty(0))
    derivatives: Array = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, eq=False)
class TailDC:
    r"""Solver "dc" of [1]_, for weights whose combined kernel has a bounded tail sum.

    .. math::
        \min_{f, b, \mu \ge 0} \sum_i \ell(y_i, z_i) + \frac{\alpha}{2}
        \sum_m \frac{\|f_m\|^2}{\mu_m} \quad \text{subject to} \quad
        \frac1n \sum_{j > \theta} \lambda_j\Bigl(\sum_m \mu_m K_m\Bigr) \le 1

    The tail sum is concave in the weights. If :math:`u_j` are the leading eigenvectors
    of the combined kernel at some weights, it lies below :math:`\langle v, \mu \rangle`
    with :math:`v_m = \frac1n (\operatorname{tr} K_m - \sum_j u_j^\top K_m u_j)`, and is
    equal to it at these weights. So each iteration solves the convex problem with
    :math:`\langle v, \mu \rangle \le 1`, which is lp-norm learning with the kernels
    :math:`K_m / v_m`, scales the weights up to the true constraint, and linearizes
    again. The true objective decreases in every iteration.

    For p above 1 the constraint is :math:`\min_v \|(\mu_m v_m)_m\|_p \le 1`. Every set
    of theta orthonormal directions :math:`u_j` defines a vector v as above, and the
    minimum is over these vectors and their averages. For p = 1 the minimum is the tail
    sum. The directions that decrease the norm most are leading eigenvectors of
    :math:`\sum_m \mu_m^p v_m^{p-1} K_m`, and v moves toward the vector that they define
    while the norm decreases. With eigenvectors of :math:`\sum_m \mu_m K_m` the norm may
    increase.

    Parameters
    ----------
    solver : Solver
        Any solver for `SquaredBlockNorm`; it solves the convex problems.
    theta : int, default=1
        Number of leading eigenvalues that the tail sum excludes.
    tol : float, default=1e-3
        Stop when an iteration decreases the true objective by at most this share.
    max_iter : int, default=50
        Maximum number of convex problems for each start.
    n_starts : int, default=3
        Number of starting weights: the result of "conv", equal weights, then random
        weights. A descent stops early if it comes close to the end of an earlier one.
    seed : int, default=0
        Seed of the random starting weights.
    tails : ndarray of shape (n_kernels,), optional
        Tail sums of the kernels divided by n; computed if omitted.

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
        """Return why this solver does not support the problem, or None if it does."""
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
        """Return the starting weights of all descents."""
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
    """A descent: convex problems, each linearized at the solution of the last."""

    settings: TailDC
    problem: Problem
    recorder: Recorder

    @cached_property
    def shares(self) -> Array:
        """The sample weights, scaled to a sum of one."""
        return shares_of(self.problem)

    @cached_property
    def totals(self) -> Array:
        """Mean diagonals: the v_m of `TailDC` if no eigenvector is excluded."""
        return self.problem.gram.traces(self.shares)

    def run(
        self, weights: Array, init: Solution, ends: Sequence[DCSolution]
    ) -> DCSolution:
        """Return the last point of a descent from `weights`; `init` is a warm start."""
        settings = self.settings
        best = self._step(self._derivatives(weights, self.totals), init)
        status = self._record(best)
        for _ in range(1, settings.max_iter):
            # Stop near the end of an earlier descent, unless this one is better.
            if status is None and any(_repeats(best, other) for other in ends):
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
        """Solve the convex problem for coefficients `v`; linearize at its solution."""
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
        """Return the least-norm mixture of `v` and the coefficients at `weights`."""
        p = exponent_of(self.problem.regularizer)
        theta, gram = self.settings.theta, self.problem.gram
        if theta == 0 or not weights.any():
            return v
        slopes = (weights * v) ** (p - 1.0) * weights
        pairs = leading_spectrum(gram.combine(slopes), theta, self.shares)
        tails = frame_tails(gram, pairs.vectors, self.shares)
        towards = np.maximum(tails, VANISHES * self.totals)

        def norm(step: float) -> float:
            """Return the constraint's norm after a step from `v` to `towards`."""
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


def _repeats(point: DCSolution, earlier: DCSolution) -> bool:
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
