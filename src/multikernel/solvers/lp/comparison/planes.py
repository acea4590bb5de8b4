"""Cutting planes over kernel weights: interleaved for any p, and the SILP for p = 1."""

from dataclasses import dataclass, field

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import TINY, check_forms, project_dual, relative_gap
from multikernel.exceptions import UnsupportedProblemError
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm, p_norm
from multikernel.solvers.incumbent import Incumbent
from multikernel.solvers.lp.comparison.corner_weights import corner_weights
from multikernel.solvers.lp.comparison.master import Master, central_master
from multikernel.solvers.lp.oracle import OraclePoint, WeightOracle
from multikernel.solvers.lp.weighted_machine import (
    CACHE_BYTES,
    SMALLEST_GAP,
    reason_against,
)
from multikernel.solvers.recorder import metered

FIRST_GAP = 0.1  # what the first, cold run of the machine is solved for
PROOF = 0.5  # of the gap: a lower one is worth the pass that proves it
LEAST_SLACK = 0.03  # share of the gap that masters leave open at least
DOUBT = 3.0  # slack of a master, in units of what its planes were wrong by
CORNERS = 10  # linear programs at most, to find a sparse model that is as good
PATIENCE = 40  # iterations without progress before giving up: planes help in the end


@dataclass(frozen=True)
class CuttingPlane:
    r"""lp-norm multiple kernel learning by cutting planes, interleaved with a machine.

    The optimal value as a function of the kernel weights is the maximum of one plane
    per dual point. Each short run of the machine adds a plane; a master problem then
    gives weights at which the highest one is low, in the p-ball [1]_, or in the simplex
    for p = 1 [2]_. It is solved no further than the planes can be trusted, by an
    interior point method that stays in the middle of the weights that may be optimal
    [3]_: exact minimisers jump from one corner to the next. A convex combination of the
    dual points, by the master's multipliers, proves the optimum. For p = 1 linear
    programs over the planes (HiGHS) then exchange the model for a sparse one.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=500
        Planes at most.
    cache_bytes : int, default=1_000_000_000
        Memory for rows of a combined kernel that is too large to be held.

    Notes
    -----
    An iteration costs one weighted sum of the kernels, one pass, and a second pass
    where the combination of dual points halves the gap.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and
       accurate lp-norm multiple kernel learning. NIPS 22, 997-1005, section 2.4.2.
    .. [2] Sonnenburg, Rätsch, Schäfer, Schölkopf (2006). Large scale multiple kernel
       learning. JMLR 7, 1531-1565.
    .. [3] Gondzio, González-Brevis, Munari (2013). New developments in the primal-dual
       column generation technique. EJOR 224, 41-51.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack
    >>> from multikernel.losses import HingeLoss
    >>> from multikernel.regularizers import SquaredBlockNorm
    >>> x = np.linspace(-1, 1, 20)
    >>> grams = DenseStack(np.stack([np.outer(x, x), np.outer(x**2, x**2)]))
    >>> problem = Problem(grams, np.sign(x), HingeLoss(), SquaredBlockNorm(0.1, 1.0))
    >>> CuttingPlane(tol=1e-6).solve(problem).kernel_weights
    array([1., 0.])
    """

    tol: float = 1e-3
    max_iter: int = 500
    cache_bytes: int = CACHE_BYTES

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        return reason_against(problem, "CuttingPlane")

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem.

        Parameters
        ----------
        problem : Problem
            With a `SquaredBlockNorm` and one-dimensional targets.
        init : Solution, optional
            A warm start, for example the solution for a near-by alpha or p.
        callback : callable, optional
            Called with a `Progress` after each plane; True stops.

        Returns
        -------
        solution : Solution

        Raises
        ------
        UnsupportedProblemError
            If `unsupported` gives a reason.
        IndefiniteKernelError
            If a kernel matrix is found to be not positive semidefinite.
        """
        reason = self.unsupported(problem)
        if reason is not None:
            raise UnsupportedProblemError(reason)
        tracker = Incumbent(*metered(problem, callback), PATIENCE)
        search = _Search(tracker, WeightOracle(tracker, self.cache_bytes), FIRST_GAP)
        return search.run(init, self.tol, self.max_iter)


@dataclass(frozen=True)
class SILP:
    """Sparse multiple kernel learning as a semi-infinite linear program.

    The wrapper of [1]_: every machine run goes to full precision before the next
    linear program. `CuttingPlane` with short runs reaches the same optimum sooner;
    this one is for comparison. Its linear programs are those of `CuttingPlane`, solved
    up to a share of the gap at first, as exact solutions often lead nowhere for
    hundreds of iterations, and by HiGHS at the end.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=500
        Linear programs at most.
    cache_bytes : int, default=1_000_000_000
        Memory for rows of a combined kernel that is too large to be held.

    References
    ----------
    .. [1] Sonnenburg, Rätsch, Schäfer, Schölkopf (2006). Large scale multiple kernel
       learning. JMLR 7, 1531-1565.
    """

    tol: float = 1e-3
    max_iter: int = 500
    cache_bytes: int = CACHE_BYTES

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        return reason_against(problem, "SILP") or reason_against_p(problem, "SILP")

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem; see `CuttingPlane.solve`.

        Parameters
        ----------
        problem : Problem
            With a `SquaredBlockNorm` of p = 1 and one-dimensional targets.
        init : Solution, optional
            A warm start.
        callback : callable, optional
            Called with a `Progress` after each linear program; True stops.

        Returns
        -------
        solution : Solution

        Raises
        ------
        UnsupportedProblemError
            If `unsupported` gives a reason.
        IndefiniteKernelError
            If a kernel matrix is found to be not positive semidefinite.
        """
        reason = self.unsupported(problem)
        if reason is not None:
            raise UnsupportedProblemError(reason)
        tracker = Incumbent(*metered(problem, callback), PATIENCE)
        search = _Search(tracker, WeightOracle(tracker, self.cache_bytes), self.tol)
        return search.run(init, self.tol, self.max_iter)


def reason_against_p(problem: Problem, name: str) -> str | None:
    """Return why a solver for p = 1 cannot treat a problem with `SquaredBlockNorm`."""
    regularizer = problem.regularizer
    p = regularizer.p if isinstance(regularizer, SquaredBlockNorm) else 1.0
    return None if p == 1.0 else f"{name} is for p = 1, got p = {p:g}."


@dataclass
class _Search:
    """The planes so far, and where to look next."""

    tracker: Incumbent
    oracle: WeightOracle
    precision: float
    heights: list[float] = field(default_factory=list)
    slopes: list[Array] = field(default_factory=list)
    points: list[Array] = field(default_factory=list)
    master: Master | None = None

    def run(self, init: Solution | None, tol: float, max_iter: int) -> Solution:
        """Add planes until there is a reason to stop."""
        tracker = self.tracker
        expansion = tracker.start(init)
        weights = np.ones(tracker.problem.gram.shape[0])
        if init is not None and expansion is not None and init.norms.any():
            weights = init.kernel_weights
            self.oracle.last_rho = expansion.rho
            self._add(expansion.rho, expansion.forms)
        weights = weights / p_norm(weights, self._regularizer.p)
        status = tracker.status(tol, max_iter)
        while status is None:
            gap = min(tracker.bounded_gap, self.precision)
            point = self.oracle.evaluate(weights, gap)
            error = self._model_error(point)
            self._add(point.rho, point.forms)
            master = self._next_master(error, tol)
            weights = master.weights
            self._prove(master, tol)
            tracker.record()
            status = tracker.status(tol, max_iter)
            if status is Status.CONVERGED and self._regularizer.p == 1.0:
                self._go_to_a_corner(tol, max_iter)
        return tracker.solution(status)

    @property
    def _regularizer(self) -> SquaredBlockNorm:
        regularizer = self.tracker.problem.regularizer
        assert isinstance(regularizer, SquaredBlockNorm)
        return regularizer

    def _add(self, rho: Array, forms: Array) -> None:
        """Add the plane of a dual point."""
        problem = self.tracker.problem
        conjugate = problem.loss.conjugate(problem.y, -rho)
        self.heights.append(-float(conjugate.sum()))
        self.slopes.append(forms / (2.0 * self._regularizer.alpha))
        self.points.append(rho)

    def _model_error(self, point: OraclePoint) -> float:
        """Return by how much the optimal value exceeds all planes at some weights."""
        pairs = zip(self.heights, self.slopes, strict=True)
        planes = (height - float(slope @ point.weights) for height, slope in pairs)
        return point.value - max(planes, default=-np.inf)

    def _next_master(self, error: float, tol: float) -> Master:
        """Solve the master problem, no further than its planes can be trusted.

        They were wrong by `error` at the last weights.
        """
        tracker = self.tracker
        gap = max(tracker.bounded_gap, tol, SMALLEST_GAP)
        most = gap * max(abs(tracker.model.objective), TINY)
        slack = float(np.clip(DOUBT * error, LEAST_SLACK * most, most))
        heights, slopes = np.array(self.heights), np.stack(self.slopes)
        master = central_master(heights, slopes, self._regularizer, slack, self.master)
        tracker.raise_bound(master.lower_bound)
        self.master = master
        return master

    def _go_to_a_corner(self, tol: float, max_iter: int) -> None:
        """Exchange the model, of all kernels, for one of few that is as good.

        Weights on the central path are positive. Those that solve the linear program
        are a corner of the simplex's face of minimisers.
        """
        tracker = self.tracker
        left = max_iter + 1 - len(tracker.recorder.history)
        for _ in range(min(CORNERS, left)):
            weights = corner_weights(np.array(self.heights), np.stack(self.slopes))
            few = tracker.model.active.size
            if weights is None or np.count_nonzero(weights) >= few:
                return
            point = self.oracle.evaluate(weights, tol)
            self._add(point.rho, point.forms)
            found = tracker.exchange(tol)
            tracker.record()
            if found:
                return

    def _prove(self, master: Master, tol: float) -> None:
        """Offer the combination of all dual points, if that lowers the gap by much.

        Its value is at least the master's lower bound, by convexity of the forms.
        """
        tracker = self.tracker
        gap = relative_gap(tracker.model.objective, master.lower_bound)
        if tracker.gap <= tol or gap > max(tol, PROOF * tracker.gap):
            return
        problem = tracker.problem
        rho = project_dual(problem, master.multipliers @ np.stack(self.points))
        forms = problem.gram.quadratic_forms(rho)
        check_forms(problem.gram, forms, rho)
        tracker.offer_dual(rho, np.maximum(forms, 0.0))
