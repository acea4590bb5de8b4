"""Newton's method for smooth losses with unpenalized parameters.

This is a proximal Newton method (Lee, Sun, Saunders 2014, SIAM Journal on Optimization
24, 1420-1443). Let s be the gradient of the loss at the decision values F_0 of a model,
w a vector of positive weights near its second derivatives, and W = diag(w). A
projection P (`multikernel.gram.projected`) eliminates the parameters; the Hessian then
is P^T W P. A solver for the squared loss minimizes the sum of the penalty and sum_i w_i
(P F - P t)_i^2 / 2 with respect to F. Targets t satisfy P^T W P (F_0 - t) = s. A line
search on the true objective may shorten the step. The duality gap is that of the true
loss.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import (
    DualCertificate,
    Terms,
    check_gap,
    evaluate,
    evaluate_terms,
    gap_of,
)
from multikernel.certificates.columns import (
    LINEAR_FACTOR,
    SHORTEST,
    SUFFICIENT,
    next_linear_factor,
)
from multikernel.certificates.progress import Patience, Recorder
from multikernel.certificates.rounding import Worth, is_rounding
from multikernel.gram.projected import ProjectedStack, Projection
from multikernel.linalg import TINY
from multikernel.linalg.tables import per_kernel
from multikernel.losses import SquaredLoss, weighted
from multikernel.problem import Problem, Solution, Status
from multikernel.regularizers.base import kernel_weights
from multikernel.solvers.base import Solver

INNER_SHARE = 0.05
"""Share of the true problem's gap to which a least-squares problem is solved."""

STALL_STEPS, STALL_SHARE = 3, 0.1
"""If rounding stalls the least-squares problems, a fit stops after STALL_STEPS steps
that together reduce the gap by less than STALL_SHARE. Of 120 badly scaled ordinal
problems 102 converge (103 without this rule), in at most 5 s instead of 10 s."""

LOOSEST, TIGHTEST = 1e-2, 1e-13
"""Bounds of the relative tolerance of a least-squares problem."""


@dataclass(frozen=True)
class BySquares:
    """Base of solvers for unpenalized parameters; `solver` computes Newton steps."""

    solver: Solver  # for the squared loss; a dataclass with a field `tol`
    tol: float = 1e-3
    max_iter: int = 100  # Newton steps


@dataclass(frozen=True, eq=False)
class Squares:
    """Weighted least-squares problem that approximates a loss at a model."""

    # The problem is to minimize sum_i w_i (P F - P t)_i^2 / 2 plus the penalty over F.
    projection: Projection  # P, which removes the unpenalized parameters
    targets: Array  # t
    weights: Array  # w
    slopes: Array  # the slopes of the loss, P^T W P (F_0 - t) at the model F_0


@dataclass(frozen=True, eq=False)
class Point:
    """Evaluated model: expansions of its kernels, and unpenalized parameters."""

    active: Indices
    coefs: Array
    parameters: Array
    terms: Terms  # decision values of the kernels
    worth: Worth  # block norms and objective


class FreeParameters(Protocol):
    """Unpenalized parameters; methods get the kernels' decision values as `f`."""

    @property
    def problem(self) -> Problem:
        """The problem; `problem_at` replaces the parameters of its loss, if any."""

    def null_parameters(self) -> Array:
        """Return the best parameters of a model without kernels."""

    def warm_parameters(self, init: Solution, f: Array) -> Array | None:
        """Return the parameters of a warm start at f; None if it has none."""

    def problem_at(self, parameters: Array) -> Problem:
        """Return the problem, with the loss for the given parameters."""

    def linear(self, parameters: Array) -> Array:
        """Return the part of the decision values that the parameters determine."""

    def sizes(self, parameters: Array) -> Array:
        """Return each sample's sum of absolute terms of `linear`, to bound rounding."""

    def squares(self, f: Array, parameters: Array, linear_factor: float) -> Squares:
        """Return the least-squares model of the loss for f and the parameters."""
        # `linear_factor` multiplies the weights of samples where the loss is linear.

    def after_full_step(self, squares: Squares, f: Array, parameters: Array) -> Array:
        """Return the parameters after a full step to decision values f."""

    def after_short_step(self, f: Array, parameters: Array) -> Array:
        """Return the parameters at the decision values f after a shortened step."""
        # The given `parameters` are interpolated between those before the step and
        # those after a full step.

    def proofs(self, point: Point, inner: Array | None) -> Iterable[DualCertificate]:
        """Yield certificates at feasible dual points, one near `inner` if given."""
        # Rounding must not overstate their values (see `rounding_safe`).

    def solution_fields(self, parameters: Array) -> dict[str, Array]:
        """Return the fields of a `Solution` that the parameters determine."""


@dataclass(eq=False)
class SquaresSearch:
    """State of Newton's method on one problem."""

    settings: BySquares
    free: FreeParameters  # the problem, and the rules for its parameters
    recorder: Recorder
    certificate: DualCertificate | None = None  # the best one so far
    squares: Solution | None = None  # of the last least-squares problem
    # Dual point of the least-squares problem, without the projection of `squares`.
    inner_dual: Array | None = None
    linear_factor: float = LINEAR_FACTOR  # see `FreeParameters.squares`
    inner_share: float = INNER_SHARE
    inner_tol: float = LOOSEST  # of the last least-squares problem
    stalls: Patience = field(default_factory=lambda: Patience(STALL_STEPS, STALL_SHARE))

    def run(self, init: Solution | None) -> Solution:
        """Take Newton steps until a stopping rule applies; return the solution."""
        point, last_gap, can_move = self._start(init), np.inf, True
        lowest = np.inf
        while True:
            gap = self._certify(point)
            # If the gap did not halve, a step may gain far less than the gap, so the
            # next least-squares problem is solved to a smaller share of it.
            has_halved = gap <= 0.5 * last_gap
            self.inner_share = INNER_SHARE if has_halved else 0.01 * self.inner_share
            last_gap = gap
            n_active = int(np.count_nonzero(point.worth.norms))
            self.recorder.patience.note(gap)
            has_decreased = point.worth.objective < (1.0 - 1e-6) * lowest
            lowest = min(lowest, point.worth.objective)
            status = None if self.squares is None else self.squares.status
            if has_decreased or status is not Status.STALLED:
                self.stalls.restart()
            self.stalls.note(gap)
            self.recorder.add(point.worth.objective, gap, n_active)
            is_stalled = not can_move or self.stalls.exhausted
            tol, max_iter = self.settings.tol, self.settings.max_iter
            status = self.recorder.ended(gap, tol, max_iter, is_stalled=is_stalled)
            if status is not None:
                return self._solution(point, gap, status)
            next_point = self._step(point, gap)
            # If a step gains nothing, repeat it with more exact least squares.
            can_move = next_point is not None or self.inner_tol > TIGHTEST
            point = point if next_point is None else next_point

    def _start(self, init: Solution | None) -> Point:
        """Return the model without kernels, or the warm start if that is better."""
        n_samples = len(self.free.problem.y)
        no_kernels, no_coefs = np.empty(0, dtype=np.intp), np.zeros((0, n_samples))
        point = self._point(no_kernels, no_coefs, self.free.null_parameters())
        if init is None:
            return point
        terms = self._terms(init.active, init.coefs)
        parameters = self.free.warm_parameters(init, terms.f)
        if parameters is None:
            return point
        start = self._point(init.active, init.coefs, parameters, terms)
        return min(point, start, key=lambda candidate: candidate.worth.objective)

    def _terms(self, active: Indices, coefs: Array) -> Terms:
        """Return the decision values of a model, and the norms of its terms."""
        return evaluate_terms(
            self.free.problem.gram, active, coefs, np.ones(active.size)
        )

    def _point(
        self,
        active: Indices,
        coefs: Array,
        parameters: Array,
        terms: Terms | None = None,
    ) -> Point:
        """Evaluate the model with these expansions and parameters."""
        values = self._terms(active, coefs) if terms is None else terms
        free = self.free
        linear = free.linear(parameters)
        sizes = free.sizes(parameters)
        worth = evaluate(free.problem_at(parameters), active, values, linear, sizes)
        return Point(active, coefs, parameters, values, worth)

    def _certify(self, point: Point) -> float:
        """Update the best dual point; return the relative gap of `point` to it."""
        for proof in self.free.proofs(point, self.inner_dual):
            if self.certificate is None or proof.value > self.certificate.value:
                self.certificate = proof
        assert self.certificate is not None
        gap = float(gap_of(point.worth, self.certificate))
        check_gap(gap)
        # Only rounding can make the dual value exceed the objective, and the gap
        # includes a bound on rounding: a negative gap counts as zero.
        return 0.0 if self._is_exact(point) else max(gap, 0.0)

    def _is_exact(self, point: Point) -> bool:
        """Return whether the objective is zero up to rounding of decision values."""
        problem = self.free.problem_at(point.parameters)
        f = point.terms.f + self.free.linear(point.parameters)
        sizes = np.abs(point.terms.f) + self.free.sizes(point.parameters)
        return is_rounding(problem, f, sizes, point.worth.objective)

    def _step(self, point: Point, gap: float) -> Point | None:
        """Return the model after a Newton step; None if none lowers the objective."""
        free, problem = self.free, self.free.problem
        squares = free.squares(point.terms.f, point.parameters, self.linear_factor)
        inner = self._solve_squares(squares, gap * point.worth.objective)
        # Coefficients c for the projected kernels P K_m P^T are P^T c for the K_m.
        coefs = squares.projection.project_each(inner.coefs, transposed=True)
        values = np.zeros_like(problem.y)
        if inner.active.size:
            values = problem.gram.once(inner.active).block_matvec(coefs).sum(axis=0)
        parameters = free.after_full_step(squares, values, point.parameters)
        before, after = point.worth.norms, inner.norms
        penalty = problem.regularizer.value
        step = values - point.terms.f
        change = step + free.linear(parameters) - free.linear(point.parameters)
        # Armijo's rule: the step is halved until the objective decreases by at least
        # the share SUFFICIENT of the predicted change, `slope` times the length.
        slope = float(squares.slopes @ change) + penalty(after) - penalty(before)
        length, objective = 1.0, point.worth.objective
        while length > SHORTEST:
            mixture = _interpolate(point.parameters, parameters, length)
            f = point.terms.f + length * step + free.linear(mixture)
            norms = _interpolate(before, after, length)
            loss = float(free.problem_at(mixture).loss.value(problem.y, f).sum())
            allowed = objective + SUFFICIENT * length * min(slope, 0.0)
            if loss + penalty(norms) <= allowed:
                self.linear_factor = next_linear_factor(self.linear_factor, length)
                return self._mix(point, inner.active, coefs, parameters, length)
            length *= 0.5
        return None

    def _solve_squares(self, squares: Squares, excess: float) -> Solution:
        """Solve `squares` until its absolute gap is a small share of `excess`."""
        # `excess` is the absolute gap of the problem that `squares` approximates.
        projection, weights = squares.projection, squares.weights
        problem = self.free.problem
        inner = replace(
            problem,
            gram=ProjectedStack(problem.gram, projection),
            y=projection.residual(squares.targets),
            loss=weighted(SquaredLoss(), weights),
            fit_intercept=False,
            offset=0.0,
            columns=None,
        )
        size = 0.5 * float(weights @ inner.y**2)
        tol = self.inner_share * excess / max(size, TINY)
        self.inner_tol = float(np.clip(tol, TIGHTEST, LOOSEST))
        solver = replace(cast(Any, self.settings.solver), tol=self.inner_tol)
        solution: Solution = solver.solve(inner, self.squares)
        self.recorder.inner_steps += solution.n_iter
        refinement = solution.refinement
        if refinement is not None:
            expanded = replace(refinement, dual=projection.transposed(refinement.dual))
            solution = replace(solution, refinement=expanded)
        self.squares = solution
        self.inner_dual = projection.transposed(solution.dual)
        return solution

    def _mix(
        self,
        point: Point,
        active: Indices,
        coefs: Array,
        parameters: Array,
        length: float,
    ) -> Point:
        """Return a point between `point` and a new one, at the fraction `length`."""
        # `active`, `coefs` and `parameters` are those of the new point.
        if length == 1.0:
            return self._point(active, coefs, parameters)
        union = np.union1d(point.active, active).astype(np.intp)
        mixed = np.zeros((union.size, coefs.shape[1]))
        for kernels, expansions, factor in (
            (point.active, point.coefs, 1.0 - length),
            (active, coefs, length),
        ):
            rows = np.searchsorted(union, kernels)
            mixed[rows] += per_kernel(np.full(kernels.size, factor), expansions)
        terms = self._terms(union, mixed)
        mixture = _interpolate(point.parameters, parameters, length)
        after_short_step = self.free.after_short_step(terms.f, mixture)
        return self._point(union, mixed, after_short_step, terms)

    def _solution(self, point: Point, gap: float, status: Status) -> Solution:
        """Return the solution with this model and the best dual point so far."""
        norms = point.worth.norms
        is_active = norms[point.active] > 0.0
        self.recorder.close(point.worth.objective, gap, int(np.count_nonzero(norms)))
        inner_steps = () if self.squares is None else self.squares.steps
        assert self.certificate is not None
        return Solution(
            kernel_weights=kernel_weights(self.free.problem.regularizer, norms),
            norms=norms,
            active=point.active[is_active],
            coefs=point.coefs[is_active],
            dual=self.certificate.dual,
            objective=point.worth.objective,
            duality_gap=gap,
            n_iter=len(self.recorder.history) - 1,
            status=status,
            history=tuple(self.recorder.history),
            refinement=None if self.squares is None else self.squares.refinement,
            steps=(type(self.settings).__name__, *inner_steps),
            **self.free.solution_fields(point.parameters),
        )


def _interpolate(start: Array, end: Array, length: float) -> Array:
    """Return the point between start and end, `length` (0 to 1) of the way."""
    return np.asarray((1.0 - length) * start + length * end)
