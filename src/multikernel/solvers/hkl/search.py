"""HullSearch: an active set over a graph of kernels that is too large to enumerate."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.certificates import relative_gap, with_rounding
from multikernel.certificates.progress import Recorder
from multikernel.exceptions import UnsupportedProblemError
from multikernel.kernels.graph.base import Evidence, of_more
from multikernel.losses.base import is_polyhedral, is_smooth
from multikernel.problem import (
    Callback,
    Status,
    centered_targets,
    published_intercept,
)
from multikernel.solvers.hkl.active import ActiveSet
from multikernel.solvers.hkl.certificate import (
    ReducedPoint,
    needed_nodes,
    objective,
    rounding_error_bound,
)
from multikernel.solvers.hkl.problem import HullProblem, HullSolution
from multikernel.solvers.hkl.reduced import solve_reduced


@dataclass(frozen=True)
class Settings:
    """Tuning constants of the search over the graph."""

    necessary: int = 10
    """Maximum number of nodes that join per round by the necessary condition. This
    number and the next two are from the published code of the paper's author."""

    sufficient: int = 40
    """Maximum number of nodes that join per round by the sufficient condition."""

    inactive: int = 80
    """If the visited nodes outside the pruned model, plus the nodes that would join (at
    most `sufficient`), are more than this, only nodes that stand out from noise join.
    With a count of all violators, a search took four fifths of the time, but had a
    test error of 8.4 instead of 6.1 (alpha = 1e-4, pumadyn-32nm)."""

    exhaustive: int = 600
    """Maximum number of nodes that join per round with `certify`."""

    outstanding: float = 5.0
    """Robust z-score, or number from `Evidence`, above which a node stands out from
    noise. True interactions had 8 to 74; noise reaches 5 in one of 150 evaluations.
    Without `Evidence`, z-scores missed x5^2 x16 (pumadyn-32nm, n = 300) on 2 of 50
    draws, with R^2 of -0.7 and -0.2 instead of 0.92."""

    step: float = 10.0**0.5
    """Ratio of successive strengths before the first one of a path: small strengths
    select noise. Without these strengths, test errors at alpha = 1e-4 and n = 1024 were
    96 instead of 6 (pumadyn-32nm) and 101 instead of 39 (pumadyn-32nh)."""

    share: float = 0.125
    """Share of `tol` for the gap on the active set; pruning may use as much again."""


SETTINGS = Settings()


@dataclass(frozen=True)
class HullSearch:
    """Active-set solver for a graph of kernels, with a gap over all its nodes.

    Solves `HullProblem` (Bach, NIPS 21, 2008). Nodes that violate the necessary
    condition (Prop. 2) join the active set. If no node violates it, nodes join that
    violate the sufficient condition (Prop. 3), which bounds a sum over descendants. The
    search stops if the relative gap over all nodes of the graph, visited or not, is at
    most `tol`, or at `max_kernels` nodes (None: 300, or 1000 with `certify`). Without
    `certify`, it also stops if the gap on the active set is at most `tol` and no other
    node stands out from noise. `certify` does not change the meaning of the gap.
    """

    tol: float = 1e-3
    max_kernels: int | None = None
    certify: bool = False
    max_iter: int = 1000  # rounds

    def unsupported(self, problem: HullProblem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
        if problem.y.ndim != 1:
            return (
                f"HullSearch needs targets of one column, got {problem.y.shape[1]}: "
                "fit one model per column."
            )
        if is_polyhedral(problem.loss) or is_smooth(problem.loss):
            return None
        return (
            "HullSearch needs a loss that is piecewise linear or has a smooth "
            f"conjugate, got {type(problem.loss).__name__}: use another loss, for "
            "example SquaredLoss or HingeLoss."
        )

    def solve(
        self, problem: HullProblem, callback: Callback | None = None
    ) -> HullSolution:
        """Return the solution for one strength, by a path from larger strengths."""
        return next(self.path(problem, [problem.alpha], callback))

    def path(
        self,
        problem: HullProblem,
        alphas: Sequence[float],
        callback: Callback | None = None,
        tols: Sequence[float] | None = None,
    ) -> Iterator[HullSolution]:
        """Yield the solution for each strength of a decreasing sequence.

        Each search starts from the previous solution; if the first strength is small,
        searches at larger strengths lead to it. The ``alpha`` of the problem is not
        used. `callback` is called once per round; True ends the path. `tols` has a
        tolerance for each strength in place of `tol`.
        """
        reason = self.unsupported(problem)
        if reason is not None:
            raise UnsupportedProblemError(reason)
        y, offset = centered_targets(problem)
        problem = replace(problem, y=y, offset=offset)
        run = _HullRun(self, problem, callback)
        alpha = run.first_strength()
        while alpha > alphas[0] and not run.recorder.stopped:
            run.solve(replace(problem, alpha=alpha))
            alpha /= SETTINGS.step
        for alpha, tol in zip_longest(alphas, tols or [], fillvalue=self.tol):
            run.settings = replace(self, tol=tol)
            yield run.solve(replace(problem, alpha=alpha))
            if run.recorder.stopped:
                return


class _HullRun:
    """State of the search along a path of strengths."""

    def __init__(
        self, settings: HullSearch, problem: HullProblem, callback: Callback | None
    ) -> None:
        self.settings = settings
        self.callback = callback
        self.active = ActiveSet(problem)
        self.beta = np.zeros(self.active.features.shape[0])
        self.intercept = 0.0
        self.recorder = Recorder(callback)
        # For each node, nan until they are computed for the current point: its form,
        # the sum over its descendants, the mean of this sum for noise, and evidence.
        self.values: Array = np.zeros((0, 4))
        self.evidence: Evidence | None = None
        """Function for p-value bounds at the current point, None until it is needed."""
        self.needed: Mask | None = None
        """Mask of the nodes that the model requires, None until it is computed."""
        self.limit = settings.max_kernels or (1000 if settings.certify else 300)

    def first_strength(self) -> float:
        """Return a strength that shrinks functions on the frontier by half or more."""
        # The function of node v shrinks by half if alpha d_v^2 is the mean diagonal of
        # its kernel.
        sources = self.active.frontier
        scales = [
            np.einsum("ij,ij->", rows, rows) / rows.shape[1]
            for rows in self.active.rows(sources)
        ]
        weights = self.active.known.weights[sources]
        return float(np.max(scales / weights**2, initial=0.0))

    def solve(self, problem: HullProblem) -> HullSolution:
        """Return the solution for one strength, started from the last point."""
        stopped = self.recorder.stopped
        callback = None if stopped else self.callback
        self.recorder = Recorder(callback, stopped=stopped, first=1)
        point = self._reduced(problem)
        while True:
            # Quadratic forms up to the ceiling are not violations: the gap has a term
            # alpha / 2 times the largest form, which may use half of the tolerance.
            share = self.settings.tol * abs(point.primal) / problem.alpha
            ceiling = point.dual.bound + share
            idle_bound, violators = self._necessary(point, ceiling)
            sources, outside_bound, status, gap = violators[:0], None, None, np.nan
            if not violators.size:
                outside_bound, sources = self._sufficient(problem, point, ceiling)
                dual = point.dual.value(problem, max(idle_bound, outside_bound))
                gap = relative_gap(point.primal, dual)
                status = self._status(point, gap, sources)
            summed = point.primal * problem.total_weight
            if self.recorder.add(summed, gap, self.active.n_inside):
                status = status or Status.STOPPED
            elif len(self.recorder.history) >= self.settings.max_iter:
                status = status or Status.MAX_ITER
            if status is not None:
                if outside_bound is None:
                    outside_bound, _ = self._sufficient(problem, point, np.inf)
                return self._finish(problem, point, status, idle_bound, outside_bound)
            # The nodes of `sources` join the active set as idle nodes, with a function
            # of zero, so the point does not change. Violators join the reduced problem,
            # which then has a new solution.
            before = len(self.active)
            self.active.visit(sources)
            self.active.add(violators)
            if len(self.active) > before:
                point = self._reduced(problem)

    @property
    def _n_nodes_allowed(self) -> int:
        """The number of nodes that may still be visited under the limit."""
        return max(self.limit - self.active.n_inside, 0)

    def _reduced(self, problem: HullProblem) -> ReducedPoint:
        """Return the solution on the active set, started from the last point."""
        beta = np.zeros(self.active.features.shape[0])
        beta[: self.beta.size] = self.beta
        tol = SETTINGS.share * self.settings.tol
        point = solve_reduced(problem, self.active, beta, self.intercept, tol)
        self.beta, self.intercept = point.beta, point.intercept
        self.recorder.inner_steps += point.steps
        self.active.release(int(np.count_nonzero(~np.isnan(self.values[:, 0]))))
        self.values.fill(np.nan)
        self.evidence = None
        self.needed = None
        return point

    def _necessary(self, point: ReducedPoint, ceiling: float) -> tuple[float, Indices]:
        """Return the largest scaled quadratic form of idle nodes, and nodes to add."""
        # Bach (2008), Prop. 2: idle nodes with a^T K_v a / d_v^2 above the ceiling join
        # the reduced problem. Nodes of the frontier (see `ActiveSet`) above the ceiling
        # join, too, while the number of visited nodes is below its limit.
        active, n_allowed = self.active, self._n_nodes_allowed
        sources = np.append(active.idle, active.frontier) if n_allowed else active.idle
        new = self._missing(sources, 0)
        self.values[new, 0] = active.forms(new, point.dual.vector)
        values = self.values[sources, 0] / active.known.weights[sources] ** 2
        violating = np.flatnonzero(values > ceiling)
        worst = violating[np.argsort(-values[violating], kind="stable")]
        most = SETTINGS.exhaustive if self.settings.certify else SETTINGS.necessary
        worst_first = worst[:most]
        # `sources` contains the idle nodes, then the frontier. At most `n_allowed`
        # nodes of the frontier may join.
        surplus = np.flatnonzero(worst_first >= active.idle.size)[n_allowed:]
        idle_bound = float(values[: active.idle.size].max(initial=0.0))
        return idle_bound, sources[np.delete(worst_first, surplus)]

    def _sufficient(
        self, problem: HullProblem, point: ReducedPoint, ceiling: float
    ) -> tuple[float, Indices]:
        """Return the largest sum over descendants, and the frontier nodes to add."""
        # The sufficient condition (Bach 2008, Prop. 3) has one sum for each node of the
        # frontier (see `ActiveSet`), here called a source: the scaled quadratic forms
        # of the source and its descendants. No sum may exceed `ceiling`. Of the sources
        # that violate this, those with the largest scores come first. A score is the
        # deviation of the sum from noise, or the value of `Evidence` if it is larger.
        active, sources = self.active, self.active.frontier
        if not sources.size:
            return 0.0, sources
        new = self._missing(sources, 1)
        self.values[new, 1:] = self._sums(active.known.named(new), point, ceiling)
        forms, noise, evidence = self.values[sources, 1:].T
        largest = float(forms.max())
        violators = np.flatnonzero(~(forms <= ceiling))
        scores = robust_z_scores(forms, noise, active.known.kinds[sources])
        scores = np.maximum(scores, evidence)
        violators = violators[np.argsort(-scores[violators], kind="stable")]
        most = SETTINGS.exhaustive
        if not self.settings.certify:
            most = SETTINGS.sufficient
            needed = int(np.count_nonzero(self._needed(problem, point)))
            idle = self.active.n_inside - needed
            if idle + min(violators.size, most) > SETTINGS.inactive:
                violators = violators[scores[violators] > SETTINGS.outstanding]
        return largest, sources[violators[: min(most, self._n_nodes_allowed)]]

    def _missing(self, nodes: Indices, column: int) -> Indices:
        """Return the nodes for which a column of `values` is not computed yet."""
        self.values = of_more(self.values, len(self.active.known), np.nan)
        return np.asarray(nodes[np.isnan(self.values[nodes, column])])

    def _sums(self, nodes: list[Any], point: ReducedPoint, ceiling: float) -> Array:
        """Return sums, means and evidence of nodes; evidence if above a ceiling."""
        vector = point.dual.vector
        forms, noise = self.active.samples.descendant_forms(nodes, vector)
        evidence = np.full(len(nodes), -np.inf)
        above = np.flatnonzero(~(forms <= ceiling))
        if above.size:
            if self.evidence is None:
                self.evidence = self.active.samples.evidence(vector, ceiling)
            evidence[above] = self.evidence([nodes[k] for k in above.tolist()])
        return np.column_stack([forms, noise, evidence])

    def _status(
        self, point: ReducedPoint, gap: float, sources: Indices
    ) -> Status | None:
        """Return the status if the search must stop at this point, otherwise None."""
        if gap <= self.settings.tol:
            return Status.CONVERGED
        if not self._n_nodes_allowed:
            return Status.MAX_KERNELS
        if sources.size:
            return None
        if point.gap > 2.0 * SETTINGS.share * self.settings.tol:
            return Status.STALLED
        return Status.NOISE_LIMITED

    def _needed(self, problem: HullProblem, point: ReducedPoint) -> Mask:
        """Return a mask of the nodes of the pruned model at the current point."""
        if self.needed is None:
            # Pruning may add as much to the gap as the solve was allowed.
            allowed = max(2.0 * SETTINGS.share * self.settings.tol, point.gap)
            self.needed = needed_nodes(problem, self.active, point, allowed)
        return self.needed

    def _finish(
        self,
        problem: HullProblem,
        point: ReducedPoint,
        status: Status,
        idle_bound: float,
        outside_bound: float,
    ) -> HullSolution:
        """Return the certified, pruned model; keep its hull for the next strength."""
        # `idle_bound` is from `_necessary`, and `outside_bound` from `_sufficient`.
        active, lines = self.active, tuple(self.recorder.history)
        is_used = self._needed(problem, point)
        beta = np.where(is_used[active.owner], point.beta, 0.0)
        # Rounding errors of steps accumulate in the decision values: evaluate these for
        # the returned model.
        b = published_intercept(problem, np.array([point.intercept]))
        f = beta @ active.features + b
        primal = objective(problem, active, beta, f)
        scale, below = point.dual.scaled(problem, max(idle_bound, outside_bound))
        hidden = rounding_error_bound(problem, active, beta, f, point.dual)
        reduced, gap = (
            max(with_rounding(relative_gap(primal, bound), hidden, primal), 0.0)
            for bound in (point.dual.value(problem, idle_bound), below)
        )
        reached = {Status.CONVERGED: gap, Status.NOISE_LIMITED: reduced}
        failed = reached.get(status, 0.0) > self.settings.tol
        places = np.flatnonzero(is_used)
        solution = HullSolution(
            nodes=tuple(active.known.named(active.nodes[places])),
            coefs=tuple(active.coefs(int(k), beta) for k in places),
            means=tuple(active.maps[k].means for k in places),
            bases=tuple(active.maps[k].basis for k in places),
            intercept=float((b + problem.offset)[0]),
            dual=scale * point.dual.rho,
            objective=primal,
            duality_gap=gap,
            reduced_gap=reduced,
            n_searched=active.n_inside,
            n_iter=len(lines),
            status=Status.STALLED if failed else status,
            history=lines,
        )
        if not self.settings.certify:  # reduce the active nodes to the hull
            stays = is_used | (active.known.n_parents[active.nodes] == 0)
            self.beta = beta[stays[active.owner]]
            active.keep(stays)
        return solution


def robust_z_scores(forms: Array, noise: Array, kinds: Array) -> Array:
    """Return robust z-scores of nodes' forms / noise, among the nodes of each kind."""
    # `forms` are sums over descendants, and `noise` is their expectation for noise
    # alone.
    tiny = np.finfo(np.float64).tiny
    with np.errstate(invalid="ignore", over="ignore"):
        ratios = np.nan_to_num(forms / np.maximum(noise, tiny), posinf=1e300)
    z = np.empty(len(ratios))
    of_all = _middle_and_spread(ratios)
    order = np.argsort(kinds, kind="stable")
    starts = np.flatnonzero(np.diff(kinds[order], prepend=-1))
    # A node is compared with the nodes of its kind (those of the same `degrees`), or
    # with all nodes if its kind has few.
    for members in np.split(order, starts[1:]):
        among = ratios[members]
        few = among.size < 8
        middle, spread = of_all if few else _middle_and_spread(among)
        z[members] = (among - middle) / max(spread, 1e-9 * middle, tiny)
    return z


def _middle_and_spread(values: Array) -> tuple[float, float]:
    """Return the median and the scaled median absolute deviation."""
    middle = _median(values)
    return middle, 1.4826 * _median(np.abs(values - middle))


def _median(values: Array) -> float:
    """Return the median; on small arrays, `numpy.median` takes four times as long."""
    ordered, half = np.sort(values), values.size // 2
    return 0.5 * float(ordered[half] + ordered[(values.size - 1) // 2])
