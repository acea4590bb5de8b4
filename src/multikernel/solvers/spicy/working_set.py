"""The outer loop of SpicyMKL: passes over all kernels, solves on a working set."""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import cast

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import (
    Model,
    check_forms,
    constant_model,
    evaluated,
    model_of_expansions,
    project_dual,
)
from multikernel.certificates.incumbent import Incumbent
from multikernel.gram.base import GramStack
from multikernel.linalg import EPS
from multikernel.linalg.tables import per_kernel
from multikernel.linalg.threads import with_one_blas_thread
from multikernel.losses import PolyhedralCoupledLoss, SmoothCoupledLoss, is_coupled
from multikernel.losses.base import Loss, PolyhedralLoss, is_smooth, link_of
from multikernel.losses.coupled.simplex import center_of_simplices
from multikernel.problem import Problem, Solution, Status, half_range
from multikernel.regularizers.base import BlockRegularizer, ProximableRegularizer
from multikernel.solvers.spicy.algorithm import AugmentedLagrangian
from multikernel.solvers.spicy.coupled import BarrierSimplexSide, SmoothSimplexSide
from multikernel.solvers.spicy.descent import BlockDescent, prefers_descent
from multikernel.solvers.spicy.machine_start import has_quick_machines, weighted_sums
from multikernel.solvers.spicy.polyhedral import BarrierSide, CornerSide
from multikernel.solvers.spicy.settings import SETTINGS
from multikernel.solvers.spicy.sides import Side, SmoothSide


@dataclass
class WorkingSet:
    """Outer loop of SpicyMKL on one problem; `step` performs one iteration."""

    incumbent: Incumbent  # the whole problem, with its best points
    # Whether the first step may use machines on weighted sums of kernels.
    machines: bool = field(default=False, kw_only=True)
    working: Model = field(init=False)  # the last model
    rho: Array = field(init=False)  # the last dual point
    sizes: Array = field(init=False)  # dual norms; upper bounds if below the threshold
    side: Side | None = None  # the loss in Newton's method, at the last dual point
    gamma: float = np.inf  # the penalty parameter of the augmented Lagrangian
    status: Status | None = None  # reason why the last run ended
    nearly: float = 1.0  # share of the threshold from which kernels may join
    _last_stack: tuple[Indices, GramStack] | None = None  # cache of `_stack_of`
    # Kernels that were in a working set at some time since the gap last fell by 10 %.
    _tried: Indices = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    _lowest: float = np.inf  # the gap at that time
    _descent: BlockDescent | None = None  # the last one, whose factors are reused
    _descent_failed: bool = False

    def __post_init__(self) -> None:
        self.incumbent.steps = ()

    @property
    def problem(self) -> Problem:
        """The problem with all kernels, which the working set restricts."""
        return self.incumbent.problem

    @property
    def _regularizer(self) -> ProximableRegularizer:
        """The penalty, cast to the type that `unsupported` has checked."""
        return cast(ProximableRegularizer, self.problem.regularizer)

    @cached_property
    def numbers(self) -> Array:
        """Number of array entries of every kernel in memory, shape (n_kernels,)."""
        return self.problem.gram.held_numbers()

    def start(self, init: Solution | None) -> None:
        """Start at the best constant model, or at a solution."""
        if init is None:
            self.rho = constant_model(self.problem).dual
            nothing = np.empty(0, dtype=np.intp)
            self._certify(nothing, self._zeros(0), self._stack_of(nothing))
        else:
            self.rho = init.dual
            stack = self._stack_of(init.active)
            self._certify(init.active, stack.own_expansions(init.coefs), stack)
        self.incumbent.record()

    def start_from(self, last: "WorkingSet") -> None:
        """Start where the search for another regularizer ended."""
        old, new = last._regularizer.alpha, self._regularizer.alpha
        # Dual norms of active kernels equal the threshold, so the dual point scales
        # with it. It stays inside the domain of the loss's conjugate for any ratio.
        # Stored dual norms scale as well, so no kernel is read. The best gamma is
        # proportional to 1 / alpha. `nearly` is the level 2 new - old of the sequential
        # strong rule, divided by `new`. The old `worth` contains the old penalty.
        ratio = min(new / old, 1.0)
        self.rho, self.sizes = ratio * last.rho, ratio * last.sizes
        if last.status is not Status.STALLED:
            self.gamma = last.gamma * old / new
        # At the first step, kernels near the threshold join, see `SETTINGS.nearly`.
        self.nearly = max(2.0 - 1.0 / ratio, SETTINGS.nearly)
        self.side = None if last.side is None else last.side.for_similar_problem()
        self._last_stack = last._last_stack
        self._offer(evaluated(self.problem, replace(last.working, worth=None)))
        self.incumbent.record()

    def unfinished(self, regularizer: BlockRegularizer) -> bool:
        """Return whether the last run had this regularizer and ended at `max_iter`."""
        limited = self.status is Status.MAX_ITER
        return limited and self.problem.regularizer == regularizer

    def run(self, tol: float, max_iter: int) -> Solution:
        """Take outer steps until a stopping rule applies; return the best solution."""
        resumes, step = self.status is Status.MAX_ITER, partial(self.step, tol)
        solution = self.incumbent.run(step, tol, max_iter, resumes=resumes)
        self.status = solution.status
        # If the first point is optimal, no algorithm has run.
        steps = solution.steps or ("augmented_lagrangian",)
        return replace(solution, steps=steps)

    def note_step(self, algorithm: str) -> None:
        """Add an algorithm to the steps of the solution, unless it is one of them."""
        if algorithm not in self.incumbent.steps:
            self.incumbent.steps += (algorithm,)

    def step(self, tol: float) -> Status | None:
        """Solve on a working set, certify with all kernels; return STALLED if stuck."""
        gap, kernels = self.incumbent.gap, self._next_kernels()
        is_first = self.side is None and not self.working.kernels.size
        may_use_machines = self.machines and is_first and kernels.size
        if may_use_machines and has_quick_machines(self.problem):
            self.note_step("machines")
            self._begin_with_machines(kernels, 0.5 * tol)
            return None
        target = max(SETTINGS.target_share * gap, 0.5 * tol)
        if self._descend(kernels, target):
            return None
        self.note_step("augmented_lagrangian")
        lagrangian = self._lagrangian(kernels)
        objective = self.incumbent.model.objective
        solve = partial(lagrangian.solve, target, gap, objective)
        small = 8 * self.numbers[kernels].sum() <= SETTINGS.one_thread_bytes
        with_one_blas_thread(solve, small=bool(small))
        self.gamma, self.side = lagrangian.gamma, lagrangian.side
        self.rho = self.side.rho
        self.incumbent.recorder.inner_steps += lagrangian.newton_steps
        has_new = self._has_new_kernels(kernels, gap)
        self._certify(kernels, lagrangian.alpha, self._stack_of(kernels))
        if has_new:
            self.incumbent.recorder.patience.restart()
            return None
        # If Newton's method is stuck, no further step can change anything.
        return Status.STALLED if lagrangian.stuck else None

    def _may_descend(self, kernels: Indices) -> bool:
        """Return whether block coordinate descent is faster and has not failed yet."""
        n_numbers = float(self.numbers[kernels].sum())
        return not self._descent_failed and prefers_descent(self.problem, n_numbers)

    def _descend(self, kernels: Indices, target: float) -> bool:
        """Run block coordinate descent if it is faster; return whether it ran."""
        if not self._may_descend(kernels):
            return False
        cached = {} if self._descent is None else self._descent.factors
        new = np.array([m for m in kernels.tolist() if m not in cached], dtype=np.intp)
        new_factors = self.problem.gram.own_factors(new)
        if new_factors is None:
            return False
        cached = {**cached, **dict(zip(new.tolist(), new_factors, strict=True))}
        factors = {m: cached[m] for m in kernels.tolist()}
        self._last_stack = None
        coefs = self._coefs_of(kernels)
        descent = BlockDescent(self.problem, factors, coefs, self._descent)
        self._descent = descent
        descent.solve(target)
        # If the descent hardly reduces the gap, later steps use Newton's method.
        self._descent_failed = descent.gap > max(target, 0.5 * descent.first_gap)
        self.note_step("block_descent")
        self.incumbent.recorder.inner_steps += descent.rounds
        self.rho, self.side = descent.rho, None
        has_new = self._has_new_kernels(kernels, self.incumbent.gap)
        self._certify(kernels, descent.alpha, None)
        # Newton's method may reduce a gap that descent cannot, so failed descent is no
        # reason to stop.
        if has_new or self._descent_failed:
            self.incumbent.recorder.patience.restart()
        return True

    def _begin_with_machines(self, kernels: Indices, tol: float) -> None:
        """Take the first, long step: run machines on weighted sums of the kernels."""
        # The runs of the machines end when the gap on `kernels` is `tol`, or without
        # progress. Newton's method continues from the result of the runs: with active
        # sets, or with a barrier if many samples are at no bound or kink.
        problem = self.problem
        # `_next_kernels` may return the whole stack. On the samples of a fold, some of
        # its kernels may be zero, which `weighted_sums` does not support.
        kernels = kernels[problem.gram.traces()[kernels] > 0.0]
        problem_on_set = replace(problem, gram=self._stack_of(kernels))
        result = weighted_sums(problem_on_set, self._regularizer, kernels, tol)
        self.rho, weights, count = result
        self.incumbent.recorder.inner_steps += count
        side = CornerSide(cast(PolyhedralLoss, problem.loss), problem.y, self.rho)
        if side.free_share() <= SETTINGS.mostly:
            self.side = side
        used = np.flatnonzero(weights)
        multiples = per_kernel(weights[used], self.rho[None])
        self._certify(kernels[used], multiples, self._stack_of(kernels[used]))

    def _certify(self, kernels: Indices, coefs: Array, stack: GramStack | None) -> None:
        """Offer the model of `coefs` and the projected dual point to the incumbent."""
        model = model_of_expansions(self.problem, kernels, coefs, stack)
        self.rho = project_dual(self.problem, self.rho)
        self.sizes = dual_norms_above(
            self.problem.gram, self.rho, self._regularizer.threshold
        )
        self._offer(model)

    def _offer(self, model: Model) -> None:
        """Offer a model and the dual point to the incumbent, which stores the best."""
        self.working = model
        self.incumbent.offer(model)
        self.incumbent.offer_dual(self.rho, self.sizes**2)

    def _has_new_kernels(self, kernels: Indices, gap: float) -> bool:
        """Return whether some of `kernels` are new since the gap last decreased."""
        # `gap` is the current gap. A kernel is new if it was in no working set since
        # the gap last decreased by at least a tenth. After the call, `kernels` are no
        # longer new, until the next such decrease. Kernels that return to the working
        # set are not new: if rounding limits the gap, the same kernels would leave and
        # return until the iteration limit.
        if gap < 0.9 * self._lowest:
            self._lowest, self._tried = gap, self.working.kernels
        before, self._tried = self._tried, np.union1d(self._tried, kernels)
        return self._tried.size > before.size

    def _lagrangian(self, kernels: Indices) -> AugmentedLagrangian:
        """Return the augmented Lagrangian on the next working set."""
        problem, gap = self.problem, self.incumbent.gap
        problem_on_set = replace(problem, gram=self._stack_of(kernels))
        coefs = self._coefs_of(kernels)
        if self.side is None:
            absolute = gap * abs(self.incumbent.model.objective)
            self.side = first_side(
                problem.loss, problem.y, self._interior_point(), absolute
            )
        # New kernels may have large violations: the penalty must suit the gap of the
        # whole problem, not the last working set's.
        gamma = min(self.gamma, first_gamma(problem_on_set, self.side.rho, gap))
        b = self.working.intercept
        return AugmentedLagrangian(problem_on_set, kernels, self.side, coefs, b, gamma)

    def _coefs_of(self, kernels: Indices) -> Array:
        """Return expansions for `kernels`: the working model's, otherwise zero."""
        coefs = self._zeros(kernels.size)
        stays = np.isin(self.working.kernels, kernels)
        position = np.searchsorted(kernels, self.working.kernels[stays])
        coefs[position] = self.working.expansions[stays]
        return coefs

    def _zeros(self, n_kernels: int) -> Array:
        """Return zero expansions, one for each kernel."""
        length = self.problem.gram.expansion_length
        return np.zeros((n_kernels, length, *self.problem.y.shape[1:]))

    def _stack_of(self, kernels: Indices) -> GramStack:
        """Return the stack of the given kernels; the most recent stack is cached."""
        if self._last_stack is None or not np.array_equal(self._last_stack[0], kernels):
            self._last_stack = None  # frees the last stack before the next one is made
            self._last_stack = kernels, self.problem.gram.take(kernels)
        return self._last_stack[1]

    def free_matrices(self) -> None:
        """Free matrices that one pass can recompute, until the next solve."""
        # For seven classes, five folds and 1540 samples, these matrices took 8 of the
        # 11 GB of memory in use.
        gram = self.problem.gram
        if gram.pass_numbers() < gram.held_numbers().sum():
            self._last_stack = None

    def _interior_point(self) -> Array:
        """Return a dual point near the last one, strictly inside its domain."""
        # After a warm start at an end of the domain, Newton's steps are short for
        # smooth conjugates too.
        problem = self.problem
        if is_coupled(problem.loss):
            middle = center_of_simplices(
                problem.loss, problem.y, center=problem.fit_intercept
            )
        else:
            middle = constant_model(problem).dual
            if not is_smooth(problem.loss):
                middle *= 0.5
        share = min(0.5, self.incumbent.gap)
        return (1.0 - share) * project_dual(problem, self.rho) + share * middle

    def _next_kernels(self) -> Indices:
        """Return the active and the most violated kernels."""
        # In the first step at a new strength, `nearly` may be below one: kernels with
        # dual norms just below the threshold join, too. Fewer kernels join if each
        # costs more.
        level, sizes = self.nearly * self._regularizer.threshold, self.sizes
        self.nearly = 1.0
        kernels = self.working.kernels
        active = kernels[self.working.norms[kernels] > 0.0]
        violators = np.setdiff1d(np.flatnonzero(sizes > level), active)
        makes_factors = self.problem.gram.makes_factors
        several_outputs = self.problem.y.size > self.problem.gram.shape[1]
        n_new = SETTINGS.new_joint if several_outputs else SETTINGS.new_kernels
        if makes_factors and not self._may_descend(np.union1d(active, violators)):
            n_new = SETTINGS.new_made
        most_new = max(n_new, active.size // 2)
        if violators.size > most_new:
            worst = np.argpartition(-sizes[violators], most_new - 1)[:most_new]
            violators = violators[worst]
        union = np.union1d(active, violators)
        if not (several_outputs or makes_factors) and self._too_large(union):
            return np.arange(self.numbers.size)  # the whole stack needs no copy
        return union

    def _too_large(self, kernels: Indices) -> bool:
        """Return whether a copy of some kernels' factors takes too much memory."""
        n_kernels, n_samples, _ = self.problem.gram.shape
        copied, all_bytes = 8 * self.numbers[kernels].sum(), 8 * self.numbers.sum()
        # Kernels that are whole matrices, not factors, are used without a copy.
        if all_bytes >= 8.0 * n_samples**2 * n_kernels:
            return False
        return bool(copied > 0.5 * all_bytes)


def dual_norms_above(gram: GramStack, rho: Array, level: float) -> Array:
    """Return upper bounds on dual norms, (n_kernels,), refined above a level."""
    # The first pass may be in single precision. Up to 10 000 kernels whose bounds
    # exceed `level` are evaluated again in double precision.
    forms, errors = gram.rough_forms(rho)
    forms += errors
    check_forms(gram, forms, rho)
    doubtful = np.flatnonzero((errors > 0.0) & (forms > level**2))
    # With half a million products of kernels, more than 10 000 kernels are often above
    # `level` in the first pass. Exact norms of so many kernels would take too long, so
    # all of them keep their upper bounds.
    if 0 < doubtful.size <= 10_000:
        exact = gram.once(doubtful).quadratic_forms(rho)
        if exact.min() < 0.0:
            check_forms(gram.take(doubtful), exact, rho, doubtful)
        forms[doubtful] = exact
    return np.sqrt(np.maximum(forms, 0.0))


def first_gamma(problem: Problem, rho: Array, gap: float) -> float:
    """Return the first penalty parameter on a working set, for a relative gap."""
    # gamma times a slope of the loss is a decision value. Decision values are of the
    # size `unit`: half the range of the targets, or 1 if the loss is coupled or has a
    # link. So gamma is a multiple of `unit` / `strength`, where `strength` is the slope
    # of the penalty at a norm of `unit`.
    loss, regularizer = problem.loss, cast(ProximableRegularizer, problem.regularizer)
    linked = is_coupled(loss) or link_of(loss) is not None
    unit = 1.0 if linked else half_range(problem.y)
    level = regularizer.threshold
    strength = level + (regularizer.alpha - level) * unit
    # Differences 16 digits below the dual norms are rounding: a smaller strength would
    # not help, and gamma would overflow.
    traces = problem.gram.traces()
    largest = np.linalg.norm(rho) * np.sqrt(traces.max(initial=0.0))
    strength = max(strength, EPS * float(largest))
    return float(max(1.0, SETTINGS.suited / gap) * unit / strength)


def first_side(loss: Loss, y: Array, rho: Array, gap: float) -> Side:
    """Return the loss's `Side` that starts at the interior dual point `rho`."""
    # `gap`, the absolute duality gap at `rho`, determines the first size of a barrier.
    if is_coupled(loss):
        if isinstance(loss, SmoothCoupledLoss):
            return SmoothSimplexSide(loss, y, rho)
        return BarrierSimplexSide(cast(PolyhedralCoupledLoss, loss), y, rho, gap)
    if is_smooth(loss):
        return SmoothSide(loss, y, rho, gap)
    return BarrierSide(cast(PolyhedralLoss, loss), y, rho, gap)
