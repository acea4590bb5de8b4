"""One-class learning with lp-norm weights: problem, certificate and solver.

The problem is min sum_m |f_m|^2 / (2 theta_m) - b + sum_i s_i max(0, b - f(x_i)) / nu,
over kernel weights theta of p-norm at most one, functions f_m with sum f, and an offset
b. The sample weights s sum to one. The dual is max -|(a^T K_m a)_m|_{p/(p-1)} / 2 over
0 <= a_i <= s_i / nu with sum one. Each dual point gives a plane below the optimum as a
function of theta, and the next weights minimize the highest plane (`central_master`),
as in Sonnenburg et al. (2006, JMLR 7, 1531-1565).
"""

import math
from dataclasses import dataclass, field

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import check_forms
from multikernel.certificates.gap import clipped_to_sum
from multikernel.certificates.progress import Patience, Recorder
from multikernel.gram.base import GramStack
from multikernel.gram.matrix import DenseMatrix
from multikernel.gram.metered import Meter, MeteredStack
from multikernel.linalg import TINY
from multikernel.machines import SMO
from multikernel.machines.base import BoxCost
from multikernel.problem import Callback, Solution, Status
from multikernel.regularizers import SquaredBlockNorm
from multikernel.regularizers.squared_block_norm import p_norm, unit_weights
from multikernel.solvers.lp.cutting_plane import SETTINGS as PLANES, Planes
from multikernel.solvers.machine_runs import FIRST_GAP, SHARE, SMALLEST_GAP


@dataclass(frozen=True)
class OneClass:
    """Solver for one-class learning, by cutting planes over kernel weights."""

    nu: float = 0.5  # largest share of samples outside the region
    p: float = 2.0  # exponent of the norm of the kernel weights
    tol: float = 1e-3
    max_iter: int = 200  # machine runs; up to ten more for p = 1

    def solve(
        self, gram: GramStack, shares: Array, callback: Callback | None = None
    ) -> Solution:
        """Solve the one-class problem; `shares` are sample weights with sum one."""
        meter = Meter(math.prod(gram.shape))
        recorder = Recorder(callback, meter, Patience(share=0.0))
        search = _OneClassSearch(self, MeteredStack(gram, meter), shares, recorder)
        return search.run()


@dataclass(frozen=True, eq=False)
class OneClassPoint:
    """A primal and a dual point, with the primal objective."""

    theta: Array  # kernel weights
    a: Array  # dual feasible; f_m = theta_m K_m a
    forms: Array  # a^T K_m a
    b: float  # the offset
    objective: float

    def norms(self) -> Array:
        """Return the norms of the kernels' functions, shape (n_kernels,)."""
        return np.asarray(self.theta * np.sqrt(self.forms))


@dataclass
class _OneClassSearch:
    """State of the solver: the planes so far, and the best points."""

    settings: OneClass
    gram: GramStack
    shares: Array  # sample weights with sum one
    recorder: Recorder
    best: OneClassPoint = field(init=False)  # the model of lowest objective
    dual: Array = field(init=False)  # the dual point that gives `bound`
    planes: Planes = field(init=False)
    bound: float = -np.inf  # best lower bound on the optimum
    floor: float = TINY  # size of the objective's rounding error
    caps: Array = field(init=False)  # upper bounds of the dual variables
    last_a: Array = field(init=False)  # dual point of the last machine run

    def __post_init__(self) -> None:
        # No dual variable exceeds one, the sum of all, however small nu is.
        with np.errstate(over="ignore"):
            self.caps = np.minimum(self.shares / self.settings.nu, 1.0)
        self.last_a = self.shares
        zeros = np.zeros(self.gram.shape[0])
        self.dual = np.zeros_like(self.shares)
        self.best = OneClassPoint(zeros, self.dual, zeros, 0.0, 0.0)
        self.regularizer = SquaredBlockNorm(1.0, self.settings.p)
        self.planes = Planes(self.regularizer)
        # An objective below its rounding error is meaningless: the optimum is zero if
        # zero is a weighted mean of the samples within the bounds, for example for
        # linear kernels on samples around the origin.
        largest = p_norm(self.gram.traces(), self.regularizer.conjugate_p)
        self.floor = max(np.finfo(np.float64).eps * largest / self.shares.size, TINY)

    @property
    def gap(self) -> float:
        """The relative gap between the best model and the best lower bound."""
        return self._gap_of(self.best)

    def _gap_of(self, point: OneClassPoint) -> float:
        """Return the relative gap between a model and the best lower bound."""
        if self.bound >= -self.floor:
            return 0.0
        size = max(abs(point.objective), self.floor)
        return max((point.objective - self.bound) / size, 0.0)

    def run(self) -> Solution:
        """Add planes until a stopping rule applies; return the solution."""
        theta = unit_weights(np.ones(self.gram.shape[0]), 1.0, self.settings.p)
        status, tol = None, self.settings.tol
        while status is None:
            error = self._add_plane(theta)
            if self.gap > tol:
                theta = self._next_weights(error)
            n_active, gap = int(np.count_nonzero(self.best.theta)), self.gap
            self.recorder.add(self.best.objective, gap, n_active)
            self.recorder.patience.note(gap)
            # `ended` expects a history line for the start, which is missing here, so
            # the limit is smaller by one.
            status = self.recorder.ended(gap, tol, self.settings.max_iter - 1)
        if status is Status.CONVERGED:
            self._move_to_corner()
        return self._solution(status)

    def _add_plane(self, theta: Array) -> float:
        """Add the plane of a machine run; return its height above previous planes."""
        point = self._evaluate(theta)
        # Objectives above -floor count as zero, the objective of the zero model, with
        # which `best` starts.
        if point.objective < min(self.best.objective, -self.floor):
            self.best = point
        slope = 0.5 * point.forms
        error = -float(slope @ theta) - self.planes.highest(theta)
        self.planes.add(0.0, slope, point.a)
        self._offer_dual(point.a, point.forms)
        return error

    def _evaluate(self, theta: Array) -> OneClassPoint:
        """Run the machine at kernel weights `theta`, and evaluate its solution."""
        gram, shares, nu = self.gram, self.shares, self.settings.nu
        K = gram.combine(theta).columns(np.arange(shares.size))
        K = np.asarray(K, dtype=np.float64)
        a = self._run_machine(K)
        forms = gram.quadratic_forms(a)
        check_forms(gram, forms, a)
        forms = np.maximum(forms, 0.0)
        f = K @ a
        # Samples on the border count as inside, even if rounding later moves them.
        b = (1.0 - 1e-9) * _quantile(f, shares, nu)
        loss = -b + float(shares @ np.maximum(0.0, b - f)) / nu
        p = self.settings.p
        q = 2.0 if np.isinf(p) else 2.0 * p / (p + 1.0)
        objective = 0.5 * p_norm(theta * np.sqrt(forms), q) ** 2 + loss
        return OneClassPoint(theta, a, forms, b, objective)

    def _run_machine(self, K: Array) -> Array:
        """Return the machine's dual point for K, as exact as the gap requires."""
        # SMO optimizes the change from the last point, within bounds and with sum zero.
        start, tol = self.last_a, self.settings.tol
        gap = tol if np.isinf(self.settings.p) else np.clip(self.gap, tol, FIRST_GAP)
        f = K @ start
        # Both numbers are upper bounds on a^T K a at the solution.
        size = min(float(start @ f), -2.0 * self.bound)
        # SMO gets its default limit of steps, but does not warn: the gap shows errors.
        machine = SMO(SHARE * gap * size, 2000 * start.size)
        cost = BoxCost(-start, self.caps - start, f)
        fit = machine.fit(DenseMatrix(K), np.zeros_like(f), cost, fit_intercept=True)
        self.recorder.inner_steps += fit.n_steps
        self.last_a = capped_simplex(start + fit.dual, self.caps)
        return self.last_a

    def _offer_dual(self, a: Array, forms: Array) -> None:
        """Store the dual point `a` if its lower bound is the best so far."""
        # The bound must include the residuals of factors.
        bounds = forms + self.gram.residual_bounds(a)
        value = -0.5 * p_norm(bounds, self.regularizer.conjugate_p)
        if value > self.bound:
            self.bound, self.dual = value, a

    def _next_weights(self, error: float) -> Array:
        """Return the master's weights; store its dual point if the gap falls enough."""
        # The master problem minimizes the highest plane over the weights; `error` is
        # the result of `_add_plane`. The dual points of all planes, combined by the
        # master's multipliers, have a dual value of at least the master's lower bound.
        size = max(abs(self.best.objective), self.floor)
        max_error = max(self.gap, self.settings.tol, SMALLEST_GAP) * size
        master = self.planes.next_master(error, max_error)
        gap = (self.best.objective - master.lower_bound) / size
        if gap <= max(self.settings.tol, PLANES.proof * self.gap):
            a = capped_simplex(self.planes.mixed_point(master), self.caps)
            self._offer_dual(a, np.maximum(self.gram.quadratic_forms(a), 0.0))
        return master.weights

    def _move_to_corner(self) -> None:
        """For p = 1 replace the model by an equally good one on few kernels."""
        for _ in range(PLANES.corners if self.settings.p == 1.0 else 0):
            corner = self.planes.corner(int(np.count_nonzero(self.best.theta)))
            if corner is None:
                return
            point = self._evaluate(corner)
            self.planes.add(0.0, 0.5 * point.forms, point.a)
            self._offer_dual(point.a, point.forms)
            if self._gap_of(point) <= self.settings.tol:
                self.best = point

    def _solution(self, status: Status) -> Solution:
        """Return the best model with the best lower bound."""
        best, recorder = self.best, self.recorder
        norms = best.norms()
        active = np.flatnonzero(norms)
        recorder.close(best.objective, self.gap, active.size)
        history = tuple(recorder.history)
        return Solution(
            # These weights are optimal for the block norms of the best model, at which
            # the objective is evaluated. They differ from `best.theta`, the weights of
            # the machine's run.
            kernel_weights=self.regularizer.kernel_weights(norms),
            norms=norms,
            active=active,
            coefs=best.theta[active, None] * best.a,
            intercept=np.array([-best.b]),
            dual=self.dual,
            objective=best.objective,
            duality_gap=self.gap,
            n_iter=len(history),
            status=status,
            history=history,
            steps=("OneClass",),
        )


def capped_simplex(a: Array, caps: Array) -> Array:
    """Return the point nearest to `a` with a sum of one, between zero and `caps`."""
    # The sum of the caps must be at least one.
    point = clipped_to_sum(a, np.zeros_like(a), caps, 1.0)
    return np.asarray(point / max(1.0, float(point.sum())))


def _quantile(f: Array, shares: Array, nu: float) -> float:
    """Return the weighted nu-quantile: the least f with a share nu at or below it."""
    order = np.argsort(f, kind="stable")
    cumulative = np.cumsum(shares[order])
    position = int(np.searchsorted(cumulative, nu * (1.0 - 1e-12)))
    return float(f[order[min(position, f.size - 1)]])
