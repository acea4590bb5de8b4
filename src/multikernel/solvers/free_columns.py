r"""Columns without a penalty beside any smooth loss: Newton steps of weighted squares.

At decision values F the loss is touched by squares with weights :math:`w_i = \ell''`
and targets :math:`F_i - \ell'_i / w_i`. The problem of these squares has the same
penalty; columns are projected out of it (`multikernel.gram.projected`), and any solver
takes what is left. Its model is the end of a step, which a line search on the true
objective may shorten: a proximal Newton method [1]_, quadratically convergent near the
solution. The gap is for the true loss, at a dual point orthogonal to the columns.

References
----------
.. [1] Lee, Sun, Saunders (2014). Proximal Newton-type methods for minimizing composite
   functions. SIAM Journal on Optimization 24, 1420-1443. doi:10.1137/130921428
"""

from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import (
    DualCertificate,
    Terms,
    certify,
    check_gap,
    constant_model,
    dual_norms,
    enlarged_gap,
    evaluate,
    evaluate_terms,
    safely_feasible,
)
from multikernel.certificates.columns import (
    LINE_WEIGHT,
    SHORTEST,
    SUFFICIENT,
    best_columns,
    next_line_weight,
    orthogonal_dual,
    orthonormal_basis,
    weighted_targets,
)
from multikernel.certificates.progress import Patience, Recorder, metered
from multikernel.certificates.rounding import Worth
from multikernel.gram.projected import LeastSquares, ProjectedStack
from multikernel.linalg import EPS, TINY
from multikernel.linalg.tables import per_kernel
from multikernel.losses import SquaredLoss, is_coupled, weighted
from multikernel.losses.base import is_smooth
from multikernel.problem import Callback, Problem, Solution, Status, centred
from multikernel.regularizers.base import kernel_weights
from multikernel.solvers.base import Solver

INNER_SHARE = 0.05
"""The problem of squares is solved to this share of the gap of the true one."""

LOOSEST, TIGHTEST = 1e-2, 1e-10
"""Relative gaps between which that is kept."""


@dataclass(frozen=True)
class FreeColumns:
    """Solve problems with columns without a penalty, by a solver for those without.

    Parameters
    ----------
    solver : Solver
        A dataclass with a ``tol``, which takes the squared loss.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Newton steps at most.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack
    >>> from multikernel.losses import LogisticLoss
    >>> from multikernel.problem import Problem
    >>> from multikernel.regularizers import BlockL1
    >>> from multikernel.solvers import FreeColumns, SpicyMKL
    >>> x = np.linspace(-1, 1, 20)
    >>> y = np.where(np.sin(7 * x) > 0.2, 1.0, -1.0)
    >>> problem = Problem(
    ...     DenseStack(np.outer(x, x)[None]), y, LogisticLoss(), BlockL1(0.1),
    ...     columns=x[:, None] ** 2,
    ... )
    >>> FreeColumns(SpicyMKL(), tol=1e-6).solve(problem).duality_gap < 1e-6
    True
    """

    solver: Solver
    tol: float = 1e-3
    max_iter: int = 100

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        if problem.columns is None:
            return self.solver.unsupported(problem)
        loss = problem.loss
        if is_coupled(loss) or problem.y.ndim > 1:
            return (
                "Columns without a penalty need one output for each problem with this "
                "loss: use selection='separate'."
            )
        if not is_smooth(loss):
            inner = getattr(loss, "loss", loss)
            return (
                "Columns without a penalty need a smooth loss, such as 'log_loss' or "
                f"'squared_hinge' in place of 'hinge', got {type(inner).__name__}."
            )
        squares = replace(problem, loss=SquaredLoss(), columns=None)
        return self.solver.unsupported(squares)

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem, from the warm start `init` where one is given."""
        if problem.columns is None:
            return self.solver.solve(problem, init, callback)
        whole, recorder = metered(centred(problem), callback)
        return _SquaresSearch(self, whole, recorder).run(init)


@dataclass(frozen=True, eq=False)
class _Point:
    """A model: expansions of its kernels, intercept and coefficients of columns."""

    active: Indices
    coefs: Array
    intercept: float
    effects: Array
    terms: Terms
    worth: Worth

    def linear(self, columns: Array) -> Array:
        """Return what intercept and columns add to decision values."""
        return np.asarray(self.intercept + columns @ self.effects)


@dataclass(eq=False)
class _SquaresSearch:
    """The state of the method on one problem."""

    settings: FreeColumns
    problem: Problem
    recorder: Recorder
    certificate: DualCertificate = field(init=False)
    squares: Solution | None = None  # of the last problem of squares
    line_weight: float = LINE_WEIGHT
    inner_dual: Array | None = None  # of it, as a point of the true problem
    patience: Patience = field(default_factory=Patience)

    def __post_init__(self) -> None:
        problem = self.problem
        zero = np.zeros(problem.gram.shape[0])
        self.certificate = DualCertificate(np.zeros_like(problem.y), zero, -np.inf)
        assert problem.columns is not None
        self.columns = problem.columns
        self.basis = orthonormal_basis(problem)
        constant = constant_model(replace(problem, columns=None))
        self.constant = float((constant.intercept - problem.offset)[0])

    def run(self, init: Solution | None) -> Solution:
        """Take Newton steps until there is a reason to stop."""
        settings, problem = self.settings, self.problem
        null = best_columns(problem, self.constant)
        none = np.empty(0, dtype=np.intp)
        empty = np.zeros((0, len(problem.y)))
        point = self._point(none, empty, null.intercept, null.effects)
        if init is not None and init.effects is not None:
            b = float(init.intercept[0] - np.ravel(problem.offset)[0])
            start = self._point(init.active, init.coefs, b, init.effects)
            point = min(point, start, key=lambda each: each.worth.objective)
        status: Status | None = None
        while True:
            gap = self._certify(point)
            stopped = self._record(point, gap)
            if gap <= settings.tol:
                status = Status.CONVERGED
            elif status is None and stopped:
                status = Status.STOPPED
            elif status is None and len(self.recorder.history) > settings.max_iter:
                status = Status.MAX_ITER
            elif status is None and self.patience.exhausted:
                status = Status.STALLED
            if status is not None:
                return self._solution(point, gap, status)
            further = self._step(point, gap)
            if further is None:
                status = Status.STALLED
            else:
                point = further

    def _point(
        self, active: Indices, coefs: Array, intercept: float, effects: Array
    ) -> _Point:
        """Return an evaluated model."""
        problem, ones = self.problem, np.ones(active.size)
        terms = evaluate_terms(problem.gram, active, coefs, ones)
        linear = intercept + self.columns @ effects
        worth = evaluate(problem, active, terms, linear)
        return _Point(active, coefs, intercept, effects, terms, worth)

    def _certify(self, point: _Point) -> float:
        """Offer the dual point of a model, and return the model's gap."""
        problem = self.problem
        f = point.terms.f + point.linear(self.columns)
        candidates = [-problem.loss.gradient(problem.y, f)]
        if self.inner_dual is not None:
            candidates.append(self.inner_dual)
        for candidate in candidates:
            rho = orthogonal_dual(problem, candidate, self.basis)
            sizes = dual_norms(problem.gram, rho)
            found = certify(problem, rho, point.worth.norms, sizes)
            if found.value > self.certificate.value:
                self.certificate = found
        gap = enlarged_gap(problem, point.worth, self.certificate)
        check_gap(gap)
        # A dual value above the objective is rounding, which the gap is enlarged by.
        return 0.0 if self._is_exact(point, f) else max(gap, 0.0)

    def _is_exact(self, point: _Point, f: Array) -> bool:
        """Return whether an objective is nothing but the rounding of decision values.

        Columns may fit without an error, and nothing is a share of zero.
        """
        loss, y = self.problem.loss, self.problem.y
        sizes = np.abs(point.terms.f) + abs(point.intercept)
        rounding = 4.0 * EPS * (sizes + np.abs(self.columns) @ np.abs(point.effects))
        values = loss.value(y, f)
        moved = np.maximum(loss.value(y, f + rounding), loss.value(y, f - rounding))
        return point.worth.objective <= float((moved - values).sum())

    def _record(self, point: _Point, gap: float) -> bool:
        """Add a line to the history; return whether the callback asks to stop."""
        active = int(np.count_nonzero(point.worth.norms))
        self.patience.note(gap)
        return self.recorder.add(point.worth.objective, gap, active)

    def _step(self, point: _Point, gap: float) -> _Point | None:
        """Return a better model, None where there is none but for rounding."""
        problem = self.problem
        loss, y = problem.loss, problem.y
        assert is_smooth(loss)
        f = point.terms.f + point.linear(self.columns)
        targets, weights, slopes = weighted_targets(loss, y, f, self.line_weight)
        fit = LeastSquares(self.columns, weights, problem.fit_intercept)
        found = self._solve_squares(fit, targets, weights, gap * point.worth.objective)
        coefs = fit.projection.of_each(found.coefs, transposed=True)
        values = np.zeros_like(y)
        if found.active.size:
            values = problem.gram.once(found.active).block_matvec(coefs).sum(axis=0)
        b, effects = fit.coefficients((targets - values)[:, None])
        step = values + float(b[0]) + self.columns @ effects[:, 0] - f
        end = found.active, coefs, float(b[0]), effects[:, 0]
        penalty = problem.regularizer.value
        before, after = point.worth.norms, found.norms
        slope = float(slopes @ step) + penalty(after) - penalty(before)
        length, start = 1.0, point.worth.objective
        while length > SHORTEST:
            mixed = (1.0 - length) * before + length * after
            objective = float(loss.value(y, f + length * step).sum()) + penalty(mixed)
            if objective <= start + SUFFICIENT * length * min(slope, 0.0):
                self.line_weight = next_line_weight(self.line_weight, length)
                return self._between(point, end, length)
            length *= 0.5
        return None

    def _solve_squares(
        self, fit: LeastSquares, targets: Array, weights: Array, excess: float
    ) -> Solution:
        """Return the solution of the problem of squares, to a share of an excess."""
        problem = self.problem
        inner = replace(
            problem,
            gram=ProjectedStack(problem.gram, fit.projection),
            y=fit.projection.residual(targets),
            loss=weighted(SquaredLoss(), weights),
            fit_intercept=False,
            offset=0.0,
            columns=None,
        )
        size = 0.5 * float(weights @ inner.y**2)
        tol = float(np.clip(INNER_SHARE * excess / max(size, TINY), TIGHTEST, LOOSEST))
        solver = replace(cast(Any, self.settings.solver), tol=tol)
        found: Solution = solver.solve(inner, self.squares)
        self.recorder.inner_steps += found.n_iter
        if found.refinement is not None:
            whole = fit.projection.transposed(found.refinement.dual)
            found = replace(found, refinement=replace(found.refinement, dual=whole))
        self.squares = found
        self.inner_dual = fit.projection.transposed(found.dual)
        return found

    def _between(
        self, point: _Point, end: tuple[Indices, Array, float, Array], length: float
    ) -> _Point:
        """Return the model at a share of a step."""
        active, coefs, intercept, effects = end
        if length == 1.0:
            return self._point(active, coefs, intercept, effects)
        union = np.union1d(point.active, active).astype(np.intp)
        mixed = np.zeros((union.size, coefs.shape[1]))
        for own, expansions, share in (
            (point.active, point.coefs, 1.0 - length),
            (active, coefs, length),
        ):
            places = np.searchsorted(union, own)
            mixed[places] += per_kernel(np.full(own.size, share), expansions)
        b = (1.0 - length) * point.intercept + length * intercept
        return self._point(
            union, mixed, b, (1.0 - length) * point.effects + length * effects
        )

    def _solution(self, point: _Point, gap: float, status: Status) -> Solution:
        """Return the last model with the best proof."""
        problem, norms = self.problem, point.worth.norms
        kept = norms[point.active] > 0.0
        self.recorder.close(point.worth.objective, gap, int(np.count_nonzero(norms)))
        inside = () if self.squares is None else self.squares.steps
        return Solution(
            kernel_weights=kernel_weights(problem.regularizer, norms),
            norms=norms,
            active=point.active[kept],
            coefs=point.coefs[kept],
            intercept=np.array([point.intercept]) + problem.offset,
            dual=safely_feasible(problem, self.certificate, point.worth),
            objective=point.worth.objective,
            duality_gap=gap,
            n_iter=len(self.recorder.history) - 1,
            status=status,
            history=tuple(self.recorder.history),
            refinement=None if self.squares is None else self.squares.refinement,
            effects=point.effects,
            steps=("FreeColumns", *inside),
        )
