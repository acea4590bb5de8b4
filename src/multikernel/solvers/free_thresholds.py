r"""Ordered classes, one function, and thresholds without a penalty.

.. math:: \min_{f, \theta} \sum_i \ell(y_i, f(x_i); \theta) + \Omega(\|f_1\|, \dots)

with the loss of `CumulativeLogitLoss`, which is convex in f and the thresholds
together. For fixed thresholds any solver takes the problem in f, and for fixed f the
best thresholds are a few Newton steps: in turn they are descent on a convex function,
and Anderson's mixing [1]_ of the last few thresholds makes it fast.

The gap is one of the whole problem. At the best thresholds beside f the slopes of the
loss in every threshold sum to zero, so that the slopes in f and thresholds are a
feasible dual point but for the dual norms. A multiple s of it in [0, 1] is one: the
conjugate of the loss in f and thresholds is convex and zero at zero, so that at s times
a point it is at most s times the value there. That value is known by Fenchel's
equality: with :math:`\rho = -\ell'` the dual value is at least

.. math:: s \sum_i (\ell_i + \rho_i f_i) - \Omega^*(s \|\rho\|_{K_1}, \dots).

References
----------
.. [1] Walker, H. F. and Ni, P. (2011). Anderson acceleration for fixed-point
   iterations. SIAM Journal on Numerical Analysis 49, 1715-1735. doi:10.1137/10078356X
"""

from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from scipy.optimize import minimize_scalar

from multikernel._typing import Array, Indices
from multikernel.certificates import (
    DualCertificate,
    Terms,
    check_gap,
    dual_norms,
    enlarged_gap,
    evaluate,
    evaluate_terms,
    rounding_unit,
)
from multikernel.certificates.gap import NUDGE
from multikernel.certificates.progress import Patience, Recorder, metered
from multikernel.certificates.rounding import Worth, largest_dual_norms
from multikernel.losses.cumulative import CumulativeLogitLoss
from multikernel.losses.weighted import WeightedLoss, weighted
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers.base import kernel_weights
from multikernel.solvers.base import Solver

INNER_SHARE = 0.1
"""A problem with fixed thresholds is solved to this share of the gap of the whole."""

HALVED = 0.5
"""A gap that is more than this share of the one before asks for a smaller share."""

LOOSEST, TIGHTEST = 1e-2, 1e-10
"""Relative gaps between which that is kept."""

MEMORY = 5
"""Earlier thresholds that are mixed."""

CLOSED = 1e-10
"""Slopes in a threshold sum to zero at a dual point, to this share of the weights.
Where Newton's method has not come so far, there is none."""

CLOSE = 1e-10
"""How exactly the best multiple of a dual point is sought."""


def has_free_thresholds(loss: Any) -> bool:
    """Return whether a loss, weighted or not, has thresholds."""
    return isinstance(getattr(loss, "loss", loss), CumulativeLogitLoss)


@dataclass(frozen=True)
class FreeThresholds:
    """Solve problems of ordered classes, by a solver for fixed thresholds.

    Thresholds of the problem's loss are where it starts: solutions have the best ones
    beside them, which `CumulativeLogitLoss.fitted` gives, and no intercept.

    Parameters
    ----------
    solver : Solver
        A dataclass with a ``tol``.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Problems with fixed thresholds at most.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack
    >>> from multikernel.losses import CumulativeLogitLoss
    >>> from multikernel.problem import Problem
    >>> from multikernel.regularizers import BlockL1
    >>> from multikernel.solvers import FreeThresholds, SpicyMKL
    >>> x = np.linspace(-1, 1, 30)
    >>> grades = np.floor(1.5 * (x + 1 + 0.2 * np.sin(40 * x))).clip(0.0, 2.0)
    >>> problem = Problem(
    ...     DenseStack(np.outer(x, x)[None]), grades,
    ...     CumulativeLogitLoss(np.array([-1.0, 1.0])), BlockL1(1.0),
    ... )
    >>> FreeThresholds(SpicyMKL(), tol=1e-6).solve(problem).duality_gap < 1e-6
    True
    """

    solver: Solver
    tol: float = 1e-3
    max_iter: int = 100

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        if not has_free_thresholds(problem.loss):
            return self.solver.unsupported(problem)
        if problem.columns is not None:
            return "Ordered classes have no columns without a penalty: give a kernel."
        return self.solver.unsupported(problem)

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem, from the warm start `init` where one is given."""
        if not has_free_thresholds(problem.loss):
            return self.solver.solve(problem, init, callback)
        # A class without a sample here has no threshold of its own.
        grades = np.unique(problem.y, return_inverse=True)[1].astype(np.float64)
        whole, recorder = metered(replace(problem, y=grades), callback)
        return _ThresholdSearch(self, whole, recorder).run(init)


@dataclass(frozen=True, eq=False)
class _Point:
    """A model: expansions of its kernels, the best thresholds beside, what both are."""

    active: Indices
    coefs: Array
    problem: Problem
    terms: Terms
    worth: Worth

    @property
    def thresholds(self) -> Array:
        """Return its thresholds."""
        return _plain(self.problem.loss).thresholds


def _plain(loss: Any) -> CumulativeLogitLoss:
    """Return the loss of one sample."""
    return cast(CumulativeLogitLoss, getattr(loss, "loss", loss))


def _weighted(problem: Problem, loss: CumulativeLogitLoss) -> Any:
    """Return a loss with the weights of a problem's, if that has any."""
    given = problem.loss
    return weighted(loss, given.weights) if isinstance(given, WeightedLoss) else loss


def _fitted(problem: Problem, f: Array, weights: Array) -> Any:
    """Return a problem's loss with the best thresholds beside decision values."""
    return _weighted(problem, CumulativeLogitLoss.fitted(problem.y, f, weights))


@dataclass(eq=False)
class _ThresholdSearch:
    """The state of the method on one problem."""

    settings: FreeThresholds
    problem: Problem
    recorder: Recorder
    certificate: DualCertificate = field(init=False)
    inner: Solution | None = None  # of the last problem with fixed thresholds
    inner_values: Array | None = None  # the decision values of its dual point
    patience: Patience = field(default_factory=Patience)
    share: float = INNER_SHARE
    last_gap: float = np.inf
    starts: list[Array] = field(default_factory=list)
    ends: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        problem = self.problem
        zero = np.zeros(problem.gram.shape[0])
        self.certificate = DualCertificate(np.zeros_like(problem.y), zero, 0.0)
        loss = problem.loss
        plain = not isinstance(loss, WeightedLoss)
        self.weights = np.ones_like(problem.y) if plain else cast(Any, loss).weights

    def run(self, init: Solution | None) -> Solution:
        """Solve for f and for thresholds in turn until there is a reason to stop."""
        settings = self.settings
        length = len(self.problem.y) if init is None else init.coefs.shape[1]
        point = self._point(np.empty(0, dtype=np.intp), np.zeros((0, length)))
        if init is not None:
            self.inner = init
            start = self._point(init.active, init.coefs)
            point = min(point, start, key=lambda each: each.worth.objective)
        thresholds, best, status = point.thresholds, (np.inf, point), None
        while True:
            gap = self._certify(point)
            best = min(best, (gap, point), key=lambda pair: pair[0])
            self.patience.note(gap)
            active = int(np.count_nonzero(point.worth.norms))
            stopped = self.recorder.add(point.worth.objective, gap, active)
            if gap <= settings.tol:
                status = Status.CONVERGED
            elif stopped:
                status = Status.STOPPED
            elif len(self.recorder.history) > settings.max_iter:
                status = Status.MAX_ITER
            elif self.patience.exhausted:
                status = Status.STALLED
            if status is not None:
                return self._solution(best[1], best[0], status)
            point = self._model_at(thresholds, gap)
            thresholds = self._mixed(thresholds, point.thresholds)

    def _point(self, active: Indices, coefs: Array) -> _Point:
        """Return an evaluated model with the best thresholds beside it."""
        problem = self.problem
        terms = evaluate_terms(problem.gram, active, coefs, np.ones(active.size))
        loss = _fitted(problem, terms.f, self.weights)
        here = replace(problem, loss=loss, fit_intercept=False)
        return _Point(
            active, coefs, here, terms, evaluate(here, active, terms, np.zeros(1))
        )

    def _certify(self, point: _Point) -> float:
        """Return the duality gap of a model, never negative.

        The best of three lower bounds is used: the best one so far, the dual point from
        the model's slopes, and the dual point of the last solver at fixed thresholds.
        """
        problem = point.problem
        self._offer(point.terms.f, problem.loss, point.worth.norms)
        if self.inner_values is not None:
            # At these decision values the slopes of the loss are the solver's dual
            # point; the best thresholds beside them make it feasible here.
            loss = _fitted(problem, self.inner_values, self.weights)
            self._offer(self.inner_values, loss, point.worth.norms)
        gap = enlarged_gap(problem, point.worth, self.certificate)
        check_gap(gap)
        return max(gap, 0.0)

    def _offer(self, f: Array, loss: Any, norms: Array) -> None:
        """Offer the slopes at decision values, beside which thresholds are best."""
        y, penalty = self.problem.y, self.problem.regularizer
        codes = y.astype(np.intp)
        slopes, _ = _plain(loss).by_thresholds(codes, f, self.weights)
        if not np.abs(slopes).max() <= CLOSED * self.weights.sum():
            return
        rho = -loss.gradient(y, f)
        sizes = dual_norms(self.problem.gram, rho)
        total = float(loss.value(y, f).sum()) + float(rho @ f)

        def below(scale: float) -> float:
            return penalty.conjugate(scale * sizes, norms) - scale * total

        scale = penalty.feasible_scale(sizes)
        if below(NUDGE * scale) < below(scale):
            # A penalty that is finite, but steep: the best multiple is a smaller one.
            best = minimize_scalar(
                below, bounds=(0.0, scale), method="bounded", options={"xatol": CLOSE}
            )
            scale = float(best.x)
        if -below(scale) > self.certificate.value:
            values = scale * rho, scale * sizes, -below(scale)
            self.certificate = DualCertificate(*values)

    def _model_at(self, thresholds: Array, gap: float) -> _Point:
        """Return the model for fixed thresholds, and the best thresholds beside it."""
        loss = _weighted(self.problem, CumulativeLogitLoss(thresholds))
        inner = replace(self.problem, loss=loss, fit_intercept=False)
        # Slopes at decision values prove less than the solver's own dual point: where
        # nothing else is left to gain, it must come nearer.
        share = INNER_SHARE if gap <= HALVED * self.last_gap else self.share
        self.share, self.last_gap = INNER_SHARE * share, gap
        tol = float(np.clip(share * gap, TIGHTEST, LOOSEST))
        solver = replace(cast(Any, self.settings.solver), tol=tol)
        solution: Solution = solver.solve(inner, self.inner)
        self.recorder.inner_steps += solution.n_iter
        self.inner = solution
        with np.errstate(divide="ignore", invalid="ignore"):
            f = loss.conjugate_gradient(self.problem.y, -solution.dual)
        self.inner_values = f if np.isfinite(f).all() else None
        return self._point(solution.active, solution.coefs)

    def _mixed(self, start: Array, end: Array) -> Array:
        """Return the thresholds to try next: a mixture of those that came out."""
        self.starts, self.ends = (
            [*kept[-MEMORY:], new]
            for kept, new in ((self.starts, start), (self.ends, end))
        )
        ends = np.array(self.ends)
        moves = ends - np.array(self.starts)
        if len(ends) == 1:
            return end
        shares = np.linalg.lstsq(np.diff(moves, axis=0).T, moves[-1], rcond=1e-6)[0]
        mixed: Array = end - np.diff(ends, axis=0).T @ shares
        return mixed if np.all(np.diff(mixed) > 0.0) else end

    def _safe_dual(self) -> Array:
        """Return the certified dual point, scaled down by what rounding may hide.

        Its dual norms are replaced by upper bounds, so that it is feasible for certain.
        It is not scaled up: `_offer` has chosen the multiple with the best proof.
        """
        dual = self.certificate.dual
        unit = rounding_unit(len(dual))
        largest = largest_dual_norms(self.problem, self.certificate, unit)
        scale = self.problem.regularizer.feasible_scale(largest)
        return np.asarray(min(1.0, scale) * dual)

    def _solution(self, point: _Point, gap: float, status: Status) -> Solution:
        """Return the best model with the best proof."""
        problem, norms = point.problem, point.worth.norms
        used = norms[point.active] > 0.0
        self.recorder.close(point.worth.objective, gap, int(np.count_nonzero(norms)))
        inside = () if self.inner is None else self.inner.steps
        return Solution(
            kernel_weights=kernel_weights(problem.regularizer, norms),
            norms=norms,
            active=point.active[used],
            coefs=point.coefs[used],
            intercept=np.zeros(1),
            dual=self._safe_dual(),
            objective=point.worth.objective,
            duality_gap=gap,
            n_iter=len(self.recorder.history) - 1,
            status=status,
            history=tuple(self.recorder.history),
            refinement=None if self.inner is None else self.inner.refinement,
            steps=("FreeThresholds", *inside),
        )
