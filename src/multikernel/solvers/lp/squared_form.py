"""Sparse multiple kernel learning (p = 1) by a solver for the block 1-norm.

For p = 1 and strength alpha, the penalty is alpha S^2 / 2 with S = sum_m |f_m|. It is
the maximum of lambda S - lambda^2 / (2 alpha) over lambda >= 0. So the problem has the
same minimizers as with the penalty lambda S (the block 1-norm) for lambda = alpha S,
with S at the optimum (Suzuki, Tomioka 2009, METR 2009-45, section 5). If lambda grows,
the optimal S decreases, so there is one such lambda. A model and a dual point of gap g
at a strength lambda have the gap g + (alpha S - lambda)^2 / (2 alpha) for this problem:
the error of the strength enters squared.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import (
    Model,
    constant_model,
    factor_norms,
    model_of_expansions,
)
from multikernel.certificates.incumbent import Incumbent
from multikernel.gram.metered import Meter, MeteredStack
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers.base import BlockRegularizer
from multikernel.regularizers.block_l1 import BlockL1
from multikernel.solvers.base import PathSolver, incumbents, reason_against_penalty
from multikernel.solvers.lp.thinning import thin
from multikernel.solvers.lp.weight_solver import reason_against_p


@dataclass(frozen=True)
class SquaredForm(PathSolver):
    r"""Solver for p = 1 that searches for the strength of an equivalent block 1-norm.

    The problem with the penalty :math:`\frac{\alpha}{2} S^2`, :math:`S = \sum_m
    \|f_m\|`, has the solutions of the block 1-norm :math:`\lambda S` at :math:`\lambda
    = \alpha S` (Suzuki and Tomioka, METR 2009-45, section 5). `solver`, such as
    ``SpicyMKL``, is called with keywords ``tol`` and ``max_iter``, and must return a
    `PathSolver` for `BlockL1`. This inner solver makes one outer step at a time, and
    the strength changes once its error causes most of the certified duality gap, so the
    search costs a few solves. Redundant kernels are removed from the final model.
    """

    solver: Callable[..., PathSolver]
    tol: float = 1e-3
    max_iter: int = 200  # outer steps, for all strengths together

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
        block = replace(problem, regularizer=BlockL1(1.0))
        return (
            reason_against_penalty(problem, "SquaredForm")
            or reason_against_p(problem, "SquaredForm")
            or self.one_step_solver.unsupported(block)
        )

    @property
    def one_step_solver(self) -> PathSolver:
        """The solver for the block 1-norm, limited to one outer step per solve."""
        return self.solver(tol=SETTINGS.inner * self.tol, max_iter=1)

    def follow(
        self,
        problem: Problem,
        regularizers: Iterable[BlockRegularizer],
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Iterator[Solution]:
        """Yield the solution for each penalty; see `PathSolver.follow`.

        Each solve searches for a strength of the block 1-norm (see `SquaredForm`). The
        sums of norms at earlier strengths are stored, so the search for the next
        penalty starts near its result.
        """
        search: _StrengthSearch | None = None
        for incumbent in incumbents(
            self, problem, regularizers, callback, SETTINGS.patience, SETTINGS.progress
        ):
            first = search is None
            search = search or _StrengthSearch(incumbent.problem, self, init)
            search.switch_to(incumbent, init if first else None)
            solution = incumbent.run(search.step, self.tol, self.max_iter)
            yield solution
            if solution.status is Status.STOPPED:
                return


@dataclass(frozen=True)
class Settings:
    """Tuning constants of the search for a strength."""

    first: float = 0.5
    """First strength of a cold start, as a share of the largest possible strength; 0.5
    came closest to the final sum of norms on six data sets."""

    patience: int = 20
    progress: float = 0.01
    """The solver stops after `patience` steps that reduce the gap by less than the
    share `progress`; equal kernels have needed 17 (tests/solvers/lp/test_sparse.py)."""

    inner: float = 0.3
    """Share of the tolerance for the solve at one strength; the rest is for errors of
    the strength."""


SETTINGS = Settings()


@dataclass
class _Strengths:
    """Finds the strength at which the sum of norms has a given value."""

    largest: float  # from this strength on, all norms are zero
    seen: list[tuple[float, float]] = field(default_factory=list)

    def note(self, strength: float, total: float) -> None:
        """Store the sum of norms for a strength."""
        # Older sums of norms belong to less exact models.
        self.seen = [*self.seen, (strength, total)][-4:]

    def next(self, alpha: float) -> float:
        """Return the next guess of the strength s = alpha * (sum of norms at s)."""
        pairs = [(alpha * total - strength, strength) for strength, total in self.seen]
        high = min((s for excess, s in pairs if excess < 0.0), default=self.largest)
        low = max((s for e, s in pairs if e >= 0.0 and s < high), default=0.0)
        # Approximate the sum of norms at s by the line through the two stored points
        # with the smallest errors |alpha * total - strength|, and solve for s. Bisect
        # if the solution is outside the bracket.
        near = sorted(
            (abs(alpha * total - strength), strength, total)
            for strength, total in self.seen
            if total > 0.0
        )
        if not near:
            return 0.5 * (low + high)
        _, strength, total = near[0]
        _, other, other_total = near[1] if len(near) > 1 else (0.0, self.largest, 0.0)
        slope = (total - other_total) / (strength - other) if strength != other else 0.0
        slope = min(slope, 0.0)
        strength_at_root = alpha * (total - slope * strength) / (1.0 - alpha * slope)
        return strength_at_root if low < strength_at_root < high else 0.5 * (low + high)


class _MatricesAlone(MeteredStack):
    """A stack that is treated as exact: the residuals of its factors are ignored."""

    def residual_bounds(self, v: Array) -> Array:
        """Return zero bounds for all kernels."""
        return np.zeros(self.shape[0])


class _StrengthSearch:
    """Search for a strength at which the block 1-norm has a squared norm's solution."""

    incumbent: Incumbent  # of the last penalty passed to `switch_to`

    def __init__(
        self, problem: Problem, settings: SquaredForm, init: Solution | None
    ) -> None:
        self.settings = settings
        # The block 1-norm solver ignores the residuals of factors, which matter only
        # for the certificate of this problem.
        alone = replace(problem, gram=_MatricesAlone(problem.gram, Meter(1)))
        self.steps = settings.one_step_solver.follow(alone, self._penalties(), init)
        self.null_dual = constant_model(problem).dual
        self.sizes = factor_norms(problem.gram, self.null_dual)  # its dual norms
        self.strengths = _Strengths(float(self.sizes.max()))
        self.last: Solution | None = None  # of the inner solver
        self.of_last = np.nan  # the strength of `last`
        # The last model on each side of the solution, with its loss. The key is whether
        # alpha * (sum of the model's norms) >= strength.
        self.sides: dict[bool, tuple[Model, float]] = {}
        self.strength = np.nan  # of the block 1-norm in the next step
        self.stuck_at = np.inf  # gap at the last strength that was not solved

    def _penalties(self) -> Iterator[BlockRegularizer]:
        """Yield, without end, the penalty with the current strength."""
        while True:
            yield BlockL1(self.strength)

    def switch_to(self, incumbent: Incumbent, init: Solution | None) -> None:
        """Switch to the problem of `incumbent`, which differs only in its penalty."""
        self.incumbent, last, self.stuck_at = incumbent, self.last, np.inf
        # At the largest strength, the sum of norms may jump from zero to a value above
        # strength / alpha. The solution is then a mixture of two models: the constant
        # model and the model after the jump.
        nothing = np.empty((0, *incumbent.problem.y.shape))
        null = model_of_expansions(
            incumbent.problem, np.empty(0, dtype=np.intp), nothing
        )
        self.sides = {False: (null, null.objective)}
        incumbent.offer_dual(self.null_dual, self.sizes**2)
        if last is not None:
            self._offer(last, self.of_last)
        expansion = incumbent.start(init)
        alpha = incumbent.problem.regularizer.alpha
        if init is not None and expansion is not None and init.active.size:
            largest = float(np.sqrt(expansion.forms.max()))
            self.strengths.note(largest, float(init.norms.sum()))
        if self.strengths.seen:
            self.strength = self.strengths.next(alpha)
        else:
            # The penalty at the optimum is at most the objective of the null model.
            most = float(np.sqrt(2.0 * alpha * abs(incumbent.model.objective)))
            self.strength = SETTINGS.first * min(most, self.strengths.largest)
        self._certify_converged()

    def step(self) -> Status | None:
        """Take one outer step; return STALLED if two strengths in a row fail."""
        # The strength of the block 1-norm is correct if it is alpha times the sum of
        # the block norms. The strength changes if its error adds at least as much to
        # the gap (`misfit`) as the inexact solution does (`wrong`), if `wrong` is
        # within the tolerance, or if the inner solver has stalled.
        incumbent, tol = self.incumbent, SETTINGS.inner * self.settings.tol
        solution = next(self.steps)
        last, before = self.last, 0
        if last and last.status is Status.MAX_ITER and self.strength == self.of_last:
            before = last.history[-1].inner_steps  # this solve continues the last one
        incumbent.recorder.inner_steps += solution.history[-1].inner_steps - before
        self._offer(solution, self.strength)
        alpha, total = incumbent.problem.regularizer.alpha, float(solution.norms.sum())
        misfit = (alpha * total - self.strength) ** 2 / (2.0 * alpha)
        wrong = solution.duality_gap * abs(solution.objective)
        solved = wrong <= max(misfit, tol * abs(solution.objective))
        if solved or solution.status is Status.STALLED:
            self.strengths.note(self.strength, total)
            self.strength = self.strengths.next(alpha)
        self._certify_converged()
        if solved:
            self.stuck_at = np.inf
        elif solution.status is Status.STALLED:
            # If rounding prevents a solution at one strength, a similar strength may
            # still be solved. Two such strengths in a row end the search.
            in_vain = incumbent.gap > (1.0 - SETTINGS.progress) * self.stuck_at
            self.stuck_at = incumbent.gap
            return Status.STALLED if in_vain else None
        return None

    def _certify_converged(self) -> None:
        """Certify a converged model by exact dual norms; remove redundant kernels."""
        incumbent, tol = self.incumbent, self.settings.tol
        if incumbent.gap <= tol:
            # The strength only bounds the dual norms; the returned certificate has
            # exact norms.
            rho = incumbent.over_factors.dual
            incumbent.offer_dual(rho, factor_norms(incumbent.problem.gram, rho) ** 2)
            thin(incumbent, tol)

    def _offer(self, solution: Solution, strength: float) -> None:
        """Offer the incumbent the model and dual point of a block 1-norm solution."""
        self.last, self.of_last, incumbent = solution, strength, self.incumbent
        total = float(solution.norms.sum())
        losses = solution.objective - strength * total
        penalty = incumbent.problem.regularizer
        model = Model(
            kernels=solution.active,
            norms=solution.norms,
            intercept=solution.intercept - incumbent.problem.offset,
            objective=losses + penalty.value(solution.norms),
            weights=np.ones(solution.active.size),
            expansions=solution.coefs,
        )
        incumbent.offer(model)
        # The dual point is feasible for the block 1-norm: no dual norm exceeds the
        # strength.
        incumbent.offer_dual(solution.dual, np.full(solution.norms.size, strength**2))
        # The solution of this problem is at the strength that equals alpha times the
        # sum of norms. At lower strengths, this product is larger; at higher ones, it
        # is smaller. A mixture of the last models on both sides may be better.
        side = penalty.alpha * total >= strength
        self.sides[side] = model, losses
        if len(self.sides) == 2:
            self._offer_between()

    def _offer_between(self) -> None:
        """Offer the incumbent a mixture of the two models in `sides`."""
        # Sums of norms jump for piecewise linear losses: mixtures of models at the ends
        # of the jump are optimal too. By convexity the objective is an upper bound.
        # The mixture (1 - t) small + t large has at most the same mixture of the
        # losses, and of the sums of norms: `best` is the sum that minimizes this bound.
        (small, loss_low), (large, loss_high) = self.sides[False], self.sides[True]
        low, high = float(small.norms.sum()), float(large.norms.sum())
        if not low < high:
            return
        penalty = self.incumbent.problem.regularizer
        best = (loss_low - loss_high) / (high - low) / penalty.alpha
        share = float(np.clip((best - low) / (high - low), 0.0, 1.0))
        norms = (1.0 - share) * small.norms + share * large.norms
        objective = (1.0 - share) * loss_low + share * loss_high + penalty.value(norms)
        if not objective < self.incumbent.model.objective:
            return
        kernels = np.union1d(small.kernels, large.kernels)
        coefs = np.zeros((kernels.size, *small.expansions.shape[1:]))
        for model, weight in ((small, 1.0 - share), (large, share)):
            places = np.searchsorted(kernels, model.kernels)
            coefs[places] += weight * model.expansions
        self.incumbent.offer(
            model_of_expansions(self.incumbent.problem, kernels, coefs)
        )
