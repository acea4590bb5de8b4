r"""Sparse MKL with the hinge of all classes at once: Newton steps on kernel weights.

A norm is the least of its quadratic bounds, :math:`\lambda \|f\| = \min_d \tfrac12
(\|f\|^2 / d + \lambda^2 d)`. So with :math:`e(d) = d / (1 + c d)`, where c is the
curvature of the penalty beyond its threshold :math:`\lambda` (zero for block l1),

.. math:: \min_{d \ge 0} \; \frac{\lambda^2}{2} \sum_m d_m + \max_\rho \Bigl(
    -\sum_i \ell^*(y_i, -\rho_i) - \tfrac12 \sum_m e(d_m) \rho^\top K_m \rho \Bigr)

is the problem: a smooth and convex function of few weights. A machine finds rho for
given ones. On the face of the simplices where it ends, rho responds to the weights by a
linear system, which gives second derivatives; a quadratic program in the weights is the
next step. Where that does not lead down, the closed form :math:`d_m = \|f_m\| /
\lambda` does.

SpicyMKL's own inner iteration needs a conjugate that is smooth, or separable.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import lsq_linear

from multikernel._typing import Array, Indices
from multikernel.certificates import TINY, check_forms, constant_model, project_dual
from multikernel.losses.base import Loss
from multikernel.losses.coupled import is_coupled
from multikernel.machines import CrammerSinger, MachineFit, warm_start
from multikernel.machines.crammer_singer.face import respond
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers.base import BlockRegularizer, ProximableRegularizer
from multikernel.solvers.incumbent import Incumbent, incumbents
from multikernel.solvers.recorder import Recorder

SHARE = 0.1
"""The machine may leave this share of the gap."""

SHARPENING, IN_VAIN = 0.3, 0.9
"""The machine's share is multiplied by the first number after an iteration that left
the second share of the gap, or more."""

NEWCOMERS = 30
"""Violators that join at a time."""

MOST_TORN = 1500
"""Samples of a Newton step, whose system takes a tenth of a second."""

FARTHEST, SMALLEST = 10.0, 1e-3
"""Times a weight, or a tenth of the largest one: how far a Newton step may go. Below
the second, weights in closed form are the better step."""

SHORTER, LONGER = 0.25, 2.0
"""By what that changes after a step that led up, and after one that led down."""

TORN = 1e-10
"""A mass that counts as positive: rounding of a projection leaves smaller ones."""

PATIENCE, PROGRESS = 40, 0.01
"""Iterations that together gain less than that share, before giving up: where weights
come and go the gap may wait for ten of them."""

LEFT, BISECTIONS = 0.2, 20
"""Of the sum of the weights, at least, after a step; and halvings to find how."""

DAMPING = 1e-8
"""This share of the largest curvature is added to all, as kernels that tie leave
directions flat."""


def is_joint_hinge(loss: Loss) -> bool:
    """Return whether a loss is Crammer and Singer's hinge, weighted or not."""
    return CrammerSinger().unsupported(loss) is None


@dataclass(frozen=True)
class JointWeights:
    """Newton's method on the weights of the kernels.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Runs of the machine at most.
    """

    tol: float = 1e-3
    max_iter: int = 100

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        regularizer = problem.regularizer
        if not isinstance(regularizer, ProximableRegularizer):
            return "JointWeights needs a regulariser with a separable prox."
        if not regularizer.threshold > 0.0:
            return (
                "The hinge of all classes at once needs a penalty with a threshold: "
                "an l1_ratio above 0."
            )
        return CrammerSinger().unsupported(problem.loss)

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem; see `Solver.solve`."""
        one = [problem.regularizer]
        return self.solve_path(problem, one, callback, init)[0]

    def solve_path(
        self,
        problem: Problem,
        regularizers: Sequence[BlockRegularizer],
        callback: Callback | None = None,
        init: Solution | None = None,
    ) -> list[Solution]:
        """Solve for penalties in turn; see `PathSolver.solve_path`."""
        solutions: list[Solution] = []
        patience = PATIENCE, PROGRESS
        for tracker in incumbents(self, problem, regularizers, callback, *patience):
            search = JointSearch(tracker)
            search.start(solutions[-1] if solutions else init)
            solutions.append(tracker.run(search.step, self.tol, self.max_iter))
            if solutions[-1].status is Status.STOPPED:
                break
        return solutions


@dataclass
class JointWalk:
    """Steps for a regulariser that changes on the way; see `Walk`.

    Parameters
    ----------
    problem : Problem
        Its regulariser is not used.
    init : Solution or None
        A warm start.
    """

    problem: Problem
    init: Solution | None
    _search: "JointSearch | None" = None

    def step(self, regularizer: BlockRegularizer, tol: float) -> Solution:
        """Take one step; see `multikernel.solvers.base.Walk`."""
        last = self._search
        if last is None or last.problem.regularizer != regularizer:
            problem = replace(self.problem, regularizer=regularizer)
            recorder = Recorder(None) if last is None else last.tracker.recorder
            init = self.init
            if last is not None:
                init = last.tracker.solution(Status.MAX_ITER)
            own = Incumbent(problem, recorder, PATIENCE, PROGRESS)
            self._search = JointSearch(own)
            self._search.start(init)
        search = self._search
        assert search is not None
        if search.tracker.gap > tol:
            search.step()
            search.tracker.record()
        return search.tracker.solution(Status.MAX_ITER)


@dataclass(frozen=True, eq=False)
class _Point:
    """What is known at some weights d."""

    weights: Array
    fit: MachineFit
    forms: Array
    value: float


@dataclass
class JointSearch:
    """The state of the iteration.

    Parameters
    ----------
    tracker : Incumbent
        Keeps the best points.
    """

    tracker: Incumbent
    weights: Array = field(init=False)
    _rho: Array = field(init=False)
    _best: _Point | None = None
    _share: float = 1.0
    _reach: float = FARTHEST
    _hold: float = 1.0

    @property
    def problem(self) -> Problem:
        """Return the problem."""
        return self.tracker.problem

    def __post_init__(self) -> None:
        regularizer = self.problem.regularizer
        assert isinstance(regularizer, ProximableRegularizer)
        self._level = regularizer.threshold
        # The slope of the shrinkage above its threshold is 1 / (1 + c).
        far = np.array([4.0 * self._level])
        slope = float(regularizer.prox_derivative(far, 1.0)[0])
        self._curvature = 1.0 / slope - 1.0

    def start(self, init: Solution | None) -> None:
        """Begin at the best constant model, or at a solution."""
        problem, tracker = self.problem, self.tracker
        self.weights = np.zeros(problem.gram.shape[0])
        tracker.start(init)
        self._rho = constant_model(problem).dual
        if init is not None and init.active.size:
            self._rho = project_dual(problem, init.dual)
            # d / (1 + c d) = |f| / |rho|, with |rho| about the threshold and c |f|.
            self.weights = init.norms / self._level
            return
        forms = self._forms(self._rho)
        tracker.offer_dual(self._rho, forms)
        self._admit(forms)

    def _forms(self, rho: Array) -> Array:
        forms = self.problem.gram.quadratic_forms(rho)
        check_forms(self.problem.gram, forms, rho)
        return np.maximum(forms, 0.0)

    def _effective(self, weights: Array) -> Array:
        """Return e(d), by what the kernels are multiplied."""
        return np.asarray(weights / (1.0 + self._curvature * weights))

    def _newcomers(self, forms: Array) -> Indices:
        """Return the worst violators that have no weight."""
        idle = np.flatnonzero((self.weights == 0.0) & (forms > self._level**2))
        return idle[np.argsort(-forms[idle])[:NEWCOMERS]]

    def _admit(self, forms: Array) -> None:
        """Give violators without a weight a small one."""
        new = self._newcomers(forms)
        if new.size:
            # Of such weights the penalty is a tenth of the objective.
            most = 0.2 * self.tracker.model.objective / self._level**2
            self.weights[new] = most / (new.size + np.count_nonzero(self.weights))

    def step(self) -> None:
        """Run the machine at the weights, and find the next ones."""
        if not self.weights.any():
            return
        before = self.tracker.gap
        point = self._evaluate(before)
        best = self._best
        failed = best is not None and point.value > best.value + self._allowed(before)
        if failed and best is not None:
            point, self._reach = best, SHORTER * self._reach
        else:
            self._best, self._reach = point, min(LONGER * self._reach, FARTHEST)
        if self.tracker.gap > IN_VAIN * before:
            self._share *= SHARPENING
            self._hold = 1.0 - self._hold
        self.weights = point.weights.copy()
        if self._reach < SMALLEST or not self._newton(point):
            self._closed_form(point)
            self._reach, self._best = max(self._reach, SMALLEST), None

    def _allowed(self, gap: float) -> float:
        """Return what the machine may have left of a value."""
        return SHARE * self._precision(gap) * abs(self.tracker.model.objective)

    def _precision(self, gap: float) -> float:
        return max(self._share, min(gap, 1.0)) * min(gap, 0.1)

    def _evaluate(self, gap: float) -> _Point:
        """Run the machine: one weighted sum, and one pass."""
        problem, tracker, weights = self.problem, self.tracker, self.weights
        own = self._effective(weights)
        matrix = problem.gram.combine(own)
        machine = CrammerSinger(tol=max(SHARE * self._precision(gap), 1e-12))
        start = warm_start(matrix, self._rho, intercept=tracker.model.intercept)
        fit = machine.fit(
            matrix,
            problem.y,
            problem.loss,
            fit_intercept=problem.fit_intercept,
            init=start,
        )
        self._rho = fit.dual
        forms = self._forms(fit.dual)
        tracker.recorder.inner_steps += fit.n_steps
        tracker.offer_model(fit.dual, own, forms, fit.f - fit.intercept)
        tracker.offer_dual(fit.dual, forms)
        value = fit.objective + 0.5 * self._level**2 * float(weights.sum())
        return _Point(weights.copy(), fit, forms, value)

    def _closed_form(self, point: _Point) -> None:
        """Take the weights that are best for the model: the value never rises."""
        norms = self._effective(point.weights) * np.sqrt(point.forms)
        self.weights = norms / self._level
        self._admit(point.forms)

    def _newton(self, point: _Point) -> bool:
        """Step to the minimum of the quadratic model; False if there is none."""
        weights = self.weights
        new = self._newcomers(point.forms)
        chosen = np.union1d(np.flatnonzero(weights), new)
        response = self._response(point.fit.dual, chosen)
        if response is None:
            return False
        d, forms, c = weights[chosen], point.forms[chosen], self._curvature
        slopes = 1.0 / (1.0 + c * d) ** 2
        gradient = 0.5 * (self._level**2 - slopes * forms)
        hessian = np.outer(slopes, slopes) * response
        hessian[np.diag_indices_from(hessian)] += c * forms * slopes / (1.0 + c * d)
        largest = float(hessian.diagonal().max(initial=0.0))
        if not largest > 0.0:
            return False
        hessian[np.diag_indices_from(hessian)] += DAMPING * largest
        most = max(float(d.max()), TINY)
        room = self._reach * np.maximum(d, 0.1 * most)
        bounds = np.maximum(d - room, 0.0), d + room
        root = np.linalg.cholesky(hessian).T

        def minimiser(lift: float) -> Array:
            side = np.linalg.solve(root.T, hessian @ d - gradient + lift)
            return np.asarray(lsq_linear(root, side, bounds=bounds, tol=1e-12).x)

        found = minimiser(0.0)
        if found.sum() < LEFT * d.sum():
            # Where no kernel is of use weights go to zero, but their ratios count: they
            # are those of the most that the penalty may be lowered by.
            high = float(np.abs(gradient).max() + (hessian @ d).max())
            low = 0.0
            for _ in range(BISECTIONS):
                middle = 0.5 * (low + high)
                found = minimiser(middle)
                enough = found.sum() >= LEFT * d.sum()
                low, high = (low, middle) if enough else (middle, high)
            found = minimiser(high)
        self.weights = np.zeros_like(weights)
        self.weights[chosen] = np.where(found > 1e-9 * most, found, 0.0)
        return bool(self.weights.any())

    def _response(self, rho: Array, chosen: Indices) -> Array | None:
        """Return the derivatives of half the forms by the weights, times minus one."""
        problem = self.problem
        assert is_coupled(problem.loss)
        masses = problem.loss.masses(problem.y)[:, None] * problem.y - rho
        torn = np.flatnonzero(np.count_nonzero(masses > TORN, axis=1) > 1)
        if not 0 < torn.size <= MOST_TORN:
            return None
        images = problem.gram.take(chosen).matvec(rho)[:, torn].transpose(0, 2, 1)
        matrix = problem.gram.take(chosen).combine(
            np.maximum(self._effective(self.weights[chosen]), 0.0)
        )
        K = matrix.columns(torn)[torn]
        # Where samples are nearly alike rho responds strongly, but not far: masses
        # soon vanish. The farther the way, the more the response is held back. (Wine,
        # 17 kernels: without it a path stopped at gaps of 0.05 after 100 iterations.)
        held = self._hold * self.tracker.gap * float(K.diagonal().mean())
        K[np.diag_indices_from(K)] += held
        free = masses[torn].T > TORN
        width = problem.y.shape[1] if problem.fit_intercept else 0
        try:
            changes, _ = respond(K, images, free, np.zeros((chosen.size, width)))
        except np.linalg.LinAlgError:
            return None
        images = np.where(free, images, 0.0)
        flat = images.reshape(chosen.size, -1) @ changes.reshape(chosen.size, -1).T
        return np.asarray(0.5 * (flat + flat.T))
