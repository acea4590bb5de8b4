r"""Sparse multiple kernel learning (p = 1) by a solver for the block 1-norm.

With :math:`S = \sum_m \|f_m\|`, half the squared sum is the largest of its tangents,

.. math:: \frac{\alpha}{2} S^2 = \max_{\lambda \ge 0} \; \lambda S
    - \frac{\lambda^2}{2 \alpha},

so the problem has the minimisers of the block 1-norm with strength
:math:`\lambda = \alpha S`, taken at its own optimum [1]_. S falls as lambda rises, so
there is one such strength. A model and a dual point whose duality gap at a strength
lambda is g have the gap

.. math:: g + \frac{(\alpha S - \lambda)^2}{2 \alpha}

here: what is wrong with the strength enters squared, and need not be known to more
than the square root of the tolerance.

References
----------
.. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo, section 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import (
    alpha_max,
    check_gap,
    constant_model,
    dual_norms,
    relative_gap,
    rounding_floor,
    scaled_dual_value,
)
from multikernel.exceptions import UnsupportedProblemError
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers.base import BlockRegularizer
from multikernel.regularizers.block_l1 import BlockL1
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm
from multikernel.solvers.base import SteppingSolver, Walk
from multikernel.solvers.lp.thinning import thinned, worth
from multikernel.solvers.recorder import Recorder


@dataclass(frozen=True)
class SquaredForm:
    r"""Sparse lp-norm learning (p = 1): a search for the strength of a block 1-norm.

    A solver for the block 1-norm is led along strengths until the model's sum of norms
    belongs to its strength, see the module. It makes one outer step at a time, and the
    strength moves as soon as it is what the duality gap is mostly made of. So the cost
    is that of few solves with that solver, SpicyMKL for instance, which looks at most
    kernels a handful of times and ends with exact zeros.

    Of the model that it finds, kernels that tie are merged, and those that the
    tolerance does not need are left out.

    Parameters
    ----------
    solver : SteppingSolver
        Solves for `BlockL1`, such as ``SpicyMKL()``.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=200
        Outer steps of `solver` at most, for all strengths together.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack
    >>> from multikernel.losses import HingeLoss
    >>> from multikernel.regularizers import SquaredBlockNorm
    >>> from multikernel.solvers import SpicyMKL
    >>> x = np.linspace(-1, 1, 20)
    >>> grams = DenseStack(np.stack([np.outer(x, x), np.outer(x**2, x**2)]))
    >>> problem = Problem(grams, np.sign(x), HingeLoss(), SquaredBlockNorm(0.1, 1.0))
    >>> SquaredForm(SpicyMKL(), tol=1e-6).solve(problem).kernel_weights
    array([1., 0.])
    """

    solver: SteppingSolver
    tol: float = 1e-3
    max_iter: int = 200

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot treat the problem, or None if it can."""
        penalty = problem.regularizer
        if not isinstance(penalty, SquaredBlockNorm):
            kind = type(penalty).__name__
            return f"SquaredForm needs the regulariser SquaredBlockNorm, got {kind}."
        if penalty.p != 1.0:
            return f"SquaredForm is for p = 1, got p = {penalty.p:g}."
        return self.solver.unsupported(replace(problem, regularizer=BlockL1(1.0)))

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem; see `Solver.solve`."""
        return self._run(_Search(problem, self, init), problem, callback)

    def solve_path(
        self,
        problem: Problem,
        regularizers: Sequence[BlockRegularizer],
        callback: Callback | None = None,
    ) -> list[Solution]:
        """Solve for penalties in turn; see `PathSolver.solve_path`.

        Sums of norms for a strength do not depend on alpha, so that each solve begins
        next to the strength that it looks for.
        """
        search = _Search(problem, self, None)
        solutions: list[Solution] = []
        for regularizer in regularizers:
            step = replace(problem, regularizer=regularizer)
            solutions.append(self._run(search, step, callback))
            if solutions[-1].status is Status.STOPPED:
                break
        return solutions

    def _run(
        self, search: "_Search", problem: Problem, callback: Callback | None
    ) -> Solution:
        """Step until there is a reason to stop."""
        reason = self.unsupported(problem)
        if reason is not None:
            raise UnsupportedProblemError(reason)
        search.turn_to(problem, callback)
        status = search.status()
        while status is None:
            search.step()
            status = search.status()
        return search.solution(status)


FIRST = 0.5
"""Share of the largest strength there can be at which a cold search begins: with half
of it the first sum of norms was nearest to the last one on six data sets."""

INNER = 0.3
"""Share of the tolerance that is asked of the solver for a strength; the rest is for
what the strength itself is wrong by."""

PATIENCE, PROGRESS = 20, 0.01
"""Steps in vain before giving up, and the share of the gap that is not in vain."""

REMEMBERED = 4
"""Strengths to interpolate between: older sums of norms were those of rough models."""


@dataclass
class _Strengths:
    """Which strength to try next, from sums of norms for those already tried.

    Parameters
    ----------
    largest : float
        At and above this strength all norms are zero.
    """

    largest: float
    seen: list[tuple[float, float]] = field(default_factory=list)

    def note(self, strength: float, total: float) -> None:
        """Remember the sum of norms for a strength."""
        self.seen = [*self.seen, (strength, total)][-REMEMBERED:]

    def next(self, alpha: float) -> float:
        """Return where alpha times the sum of norms should equal the strength.

        That is on a straight line through the two sums that are nearest to it, or in
        the middle of the bracket where the line leaves it. Sums are inexact, and so
        are brackets: what was wrong is forgotten after a while.
        """
        pairs = [(alpha * total - strength, strength) for strength, total in self.seen]
        high = min((s for excess, s in pairs if excess < 0.0), default=self.largest)
        low = max((s for e, s in pairs if e >= 0.0 and s < high), default=0.0)
        near = sorted(
            (abs(alpha * total - strength), strength, total)
            for strength, total in self.seen
            if total > 0.0
        )
        if not near:
            return 0.5 * (low + high)
        _, strength, total = near[0]
        _, other, rest = near[1] if len(near) > 1 else (0.0, self.largest, 0.0)
        slope = (total - rest) / (strength - other) if strength != other else 0.0
        slope = min(slope, 0.0)
        found = alpha * (total - slope * strength) / (1.0 - alpha * slope)
        return found if low < found < high else 0.5 * (low + high)


@dataclass(frozen=True, eq=False)
class _Model:
    """A primal point; what is left of a `Solution` for some strength."""

    active: Indices
    coefs: Array
    norms: Array  # of all kernels
    intercept: Array
    losses: float

    @property
    def total(self) -> float:
        """Return the sum of norms."""
        return float(self.norms.sum())


@dataclass(frozen=True, eq=False)
class _DualPoint:
    """A dual point and its largest dual norm, or an upper bound on that."""

    rho: Array
    largest: float


class _Search:
    """The best points so far, and where the walk is heading.

    Parameters
    ----------
    problem : Problem
        The problem; its penalty may change.
    settings : SquaredForm
        The solver.
    init : Solution or None
        A warm start.
    """

    def __init__(
        self, problem: Problem, settings: SquaredForm, init: Solution | None
    ) -> None:
        one = replace(problem, regularizer=BlockL1(1.0))
        null = constant_model(problem)
        largest = alpha_max(one)
        self.settings, self.walk = settings, settings.solver.walk(one, init)
        self.strengths = _Strengths(largest)
        self.point = _DualPoint(null.dual, largest)
        f = np.zeros_like(problem.y) + null.intercept
        self.model = _Model(
            active=np.empty(0, dtype=np.intp),
            coefs=np.empty((0, problem.y.size)),
            norms=np.zeros(problem.gram.shape[0]),
            intercept=null.intercept,
            losses=float(problem.loss.value(problem.y, f).sum()),
        )
        self._spent, self._floor = (0.0, 0), rounding_floor(problem)
        if init is not None and init.active.size:
            norm = float(dual_norms(problem.gram, init.dual).max())
            self.strengths.note(norm, float(init.norms.sum()))

    def turn_to(self, problem: Problem, callback: Callback | None) -> None:
        """Take up a problem that differs in its penalty from the one before."""
        self.problem, self.recorder = problem, Recorder(callback)
        self.objective = self._objective(self.model)
        self.bound = self._dual_value(self.point)
        self._alpha = problem.regularizer.alpha
        self._record()
        if self.strengths.seen:
            self.strength = self.strengths.next(self._alpha)
        else:
            # Half the squared sum of norms costs at most what the null model does.
            most = np.sqrt(2.0 * self._alpha * abs(self.objective))
            self.strength = FIRST * min(most, self.strengths.largest)

    def _objective(self, model: _Model) -> float:
        return model.losses + self.problem.regularizer.value(model.norms)

    def _dual_value(self, point: _DualPoint) -> float:
        """Return the dual value of the best multiple of a point."""
        sizes, norms = np.array([point.largest]), self.model.norms
        return scaled_dual_value(self.problem, point.rho, norms, sizes)[1]

    @property
    def gap(self) -> float:
        """Return the relative gap between the best primal and the best dual point."""
        return relative_gap(self.objective, self.bound, self._floor)

    def _record(self) -> None:
        self._stopped = self.recorder.add(
            self.objective, self.gap, self.model.active.size
        )

    def status(self) -> Status | None:
        """Return why to stop, or None to go on."""
        check_gap(self.gap)
        if self.gap <= self.settings.tol:
            return Status.CONVERGED
        if self._stopped:
            return Status.STOPPED
        history = self.recorder.history
        if len(history) > self.settings.max_iter:
            return Status.MAX_ITER
        if len(history) <= PATIENCE:
            return None
        before = history[-1 - PATIENCE].duality_gap
        return Status.STALLED if self.gap > (1.0 - PROGRESS) * before else None

    def step(self) -> None:
        """Take one outer step, and move on where the strength is what is wrong."""
        tol = INNER * self.settings.tol
        found = self.walk.step(BlockL1(self.strength), tol)
        self._offer(found)
        total = float(found.norms.sum())
        misfit = (self._alpha * total - self.strength) ** 2 / (2.0 * self._alpha)
        wrong = found.duality_gap * abs(found.objective)
        solved = wrong <= max(misfit, tol * abs(found.objective))
        if solved or found.status is Status.STALLED:
            self.strengths.note(self.strength, total)
            self.strength = self.strengths.next(self._alpha)
        if self.gap <= self.settings.tol:
            self._thin()
        self._record()

    def _thin(self) -> None:
        """Exchange the model for one of fewer kernels that the tolerance allows."""
        kernels = self.problem.gram.take(self.model.active)
        images = kernels.block_matvec(self.model.coefs)
        most = worth(self.gap, self.settings.tol, self.bound)
        found = thinned(self.problem, self.solution(Status.CONVERGED), images, most)
        losses = found.objective - self.problem.regularizer.value(found.norms)
        self.model = _Model(
            found.active, found.coefs, found.norms, found.intercept, losses
        )
        self.objective = found.objective

    def _offer(self, found: Solution) -> None:
        """Keep the points of a step where they are best."""
        last, (passes, steps) = found.history[-1], self._spent
        self._spent = last.passes, last.inner_steps
        self.recorder.passes += last.passes - passes
        self.recorder.inner_steps += last.inner_steps - steps
        losses = found.objective - self.strength * float(found.norms.sum())
        model = _Model(found.active, found.coefs, found.norms, found.intercept, losses)
        point = _DualPoint(found.dual, self.strength)
        objective, bound = self._objective(model), self._dual_value(point)
        if objective < self.objective:
            self.model, self.objective = model, objective
        if bound > self.bound:
            self.point, self.bound = point, bound

    def solution(self, status: Status) -> Solution:
        """Return the best points found; kernel weights in closed form of the norms."""
        model = self.model
        return Solution(
            kernel_weights=self.problem.regularizer.kernel_weights(model.norms),
            norms=model.norms,
            active=model.active,
            coefs=model.coefs,
            intercept=model.intercept,
            dual=self.point.rho,
            objective=self.objective,
            duality_gap=self.gap,
            n_iter=len(self.recorder.history) - 1,
            status=status,
            history=tuple(self.recorder.history),
        )
