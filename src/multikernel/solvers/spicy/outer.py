"""SpicyMKL's outer loop: a working set of kernels, and proofs for all of them."""

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import cast

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import constant_model, project_dual
from multikernel.gram.base import GramStack
from multikernel.linalg.threads import with_one_blas_thread
from multikernel.losses import is_coupled
from multikernel.losses.base import SmoothConjugateLoss
from multikernel.losses.coupled.domain import centre_of_simplices
from multikernel.problem import Problem, Solution
from multikernel.regularizers.base import ProximableRegularizer
from multikernel.solvers.incumbent import Incumbent, Model, evaluated
from multikernel.solvers.spicy.inner import AugmentedLagrangian
from multikernel.solvers.spicy.screening import DualNorms
from multikernel.solvers.spicy.sides import DualSide, dual_side
from multikernel.solvers.spicy.tuning import (
    COPY_BYTES,
    COPY_SHARE,
    NEAR,
    NEW_KERNELS,
    NEW_POWER,
    NEW_TOGETHER,
    ONE_THREAD_BYTES,
    SHRINK,
    SUPERLINEAR,
    TARGET_SHARE,
)


@dataclass
class WorkingSet:
    """The state of the outer loop.

    Parameters
    ----------
    incumbent : Incumbent
        The whole problem, and the best that is known of it.
    bounds : DualNorms
        Screens kernels; may be shared between problems on the same stack.
    """

    incumbent: Incumbent
    bounds: DualNorms
    working: Model = field(init=False)  # the last one
    rho: Array = field(init=False)
    sizes: Array = field(init=False)  # dual norms of rho, or bounds below threshold
    side: DualSide | None = None
    gamma: float = np.inf
    _held: tuple[Indices, GramStack] | None = None

    @property
    def problem(self) -> Problem:
        """Return the whole problem."""
        return self.incumbent.problem

    @cached_property
    def numbers(self) -> Array:
        """Return how many numbers every kernel is in memory, shape (n_kernels,)."""
        return self.problem.gram.held_numbers()

    def start(self, init: Solution | None) -> None:
        """Begin at the best constant model, or at a solution."""
        if init is None:
            self.rho = constant_model(self.problem).dual
            nothing = np.empty(0, dtype=np.intp)
            self._certify(nothing, self._zeros(0))
        else:
            self.rho = init.dual
            part = self._part(init.active)
            self._certify(init.active, part.own_expansions(init.coefs))

    def follow(self, last: "WorkingSet") -> None:
        """Begin where the search for another regulariser has ended."""
        old, new = last._regularizer.alpha, self._regularizer.alpha
        # Dual norms of active kernels equal the threshold, so the dual point scales
        # with it; inside the loss's domain whatever the ratio. What is known of dual
        # norms scales as well, and nothing has to be looked at.
        ratio = min(new / old, 1.0)
        self.rho, self.sizes = ratio * last.rho, ratio * last.sizes
        self.gamma = last.gamma * old / new
        self.side = None if last.side is None else last.side.again()
        self._held = last._held
        self._offer(evaluated(self.problem, replace(last.working, worth=None)))

    @property
    def _regularizer(self) -> ProximableRegularizer:
        # `unsupported` has checked it; a run-time check of a protocol is slow.
        return cast(ProximableRegularizer, self.problem.regularizer)

    def _zeros(self, n_kernels: int) -> Array:
        """Return expansions of so many functions that are zero."""
        length = self.problem.gram.expansion_length
        return np.zeros((n_kernels, length, *self.problem.y.shape[1:]))

    @property
    def _joint(self) -> bool:
        """Return whether there are several outputs."""
        return self.problem.y.size > self.problem.gram.shape[1]

    def step(self, tol: float) -> None:
        """Solve on a new working set, then certify with one pass."""
        gap, before = self.incumbent.gap, self.working.kernels
        target = TARGET_SHARE * gap * min(1.0, gap) ** SUPERLINEAR
        inner = self._inner()
        small = 8 * self.numbers[inner.kernels].sum() <= ONE_THREAD_BYTES
        solve = partial(
            inner.solve, max(target, 0.3 * tol), gap, self.incumbent.model.objective
        )
        with_one_blas_thread(solve) if small else solve()
        self.gamma, self.side, self.rho = inner.gamma, inner.side, inner.side.rho
        self.incumbent.recorder.inner_steps += inner.newton_steps
        grown = np.setdiff1d(inner.kernels, before).size > 0
        self._certify(inner.kernels, inner.coefs, afresh=grown)

    def _certify(self, kernels: Indices, coefs: Array, afresh: bool = False) -> None:
        """Evaluate a model from its expansions, and the dual norms of the dual point.

        What the inner iteration updates step by step carries its rounding errors.
        """
        model = self.incumbent.refreshed(kernels, coefs, self._part(kernels))
        self.rho = project_dual(self.problem, self.rho)
        self.sizes = self.bounds(self.rho, self._regularizer.threshold)
        self._offer(model, afresh)

    def _offer(self, model: Model, afresh: bool = False) -> None:
        """Offer the working model and the dual point, and record."""
        self.working = model
        self.incumbent.offer(model)
        self.incumbent.offer_dual(self.rho, self.sizes**2)
        self.incumbent.record(afresh)

    def _inner(self) -> AugmentedLagrangian:
        """Set up the augmented Lagrangian on the next working set."""
        problem, kernels = self.problem, self._next_kernels()
        coefs = self._zeros(kernels.size)
        kept = np.isin(self.working.kernels, kernels)
        place = np.searchsorted(kernels, self.working.kernels[kept])
        coefs[place] = self.working.expansions[kept]
        gap, model = self.incumbent.gap, self.incumbent.model
        absolute = gap * abs(model.objective)
        if self.side is None:
            rho = self._inside()
            self.side = dual_side(problem.loss, problem.y, rho, absolute)
        # New kernels may be violated by much: the penalty must suit the gap of the
        # whole problem, not the one that the last working set was solved to.
        suited = max(1.0, 1.0 / gap) / problem.regularizer.alpha
        small = Problem(
            self._part(kernels),
            problem.y,
            problem.loss,
            problem.regularizer,
            problem.fit_intercept,
        )
        return AugmentedLagrangian(
            small,
            kernels,
            self.side,
            coefs,
            self.working.intercept,
            min(self.gamma, suited),
        )

    def _part(self, kernels: Indices) -> GramStack:
        """Return the stack of some kernels, the one at hand if it is of the same."""
        if self._held is None or not np.array_equal(self._held[0], kernels):
            self._held = None  # so that never two of them are held
            self._held = kernels, self.problem.gram.view(kernels)
        return self._held[1]

    def _inside(self) -> Array:
        """Return a dual point strictly inside the loss's domain, near the last one.

        A smooth conjugate is steep at the ends of its domain as well: from a warm
        start there Newton's steps were as short as from a corner.
        """
        problem = self.problem
        if is_coupled(problem.loss):
            middle = centre_of_simplices(problem.loss, problem.y, problem.fit_intercept)
        else:
            middle = constant_model(problem).dual
            if not isinstance(problem.loss, SmoothConjugateLoss):
                middle *= 0.5
        share = min(SHRINK, self.incumbent.gap)
        return (1.0 - share) * project_dual(problem, self.rho) + share * middle

    def _next_kernels(self) -> Indices:
        """Return the active, the nearly active and the most violated kernels."""
        level, sizes = self._regularizer.threshold, self.sizes
        kernels = self.working.kernels
        near = sizes[kernels] > NEAR * level
        active = kernels[(self.working.norms[kernels] > 0.0) | near]
        outside = np.setdiff1d(np.flatnonzero(sizes > level), active)
        # The dearer a pass, the more kernels it may bring in.
        least = NEW_TOGETHER if self._joint else NEW_KERNELS
        n_new = max(least, round(self.problem.gram.shape[0] ** NEW_POWER))
        room = max(n_new, active.size // 2)
        if outside.size > room:
            worst = np.argpartition(-sizes[outside], room - 1)[:room]
            outside = outside[worst]
        chosen = np.union1d(active, outside)
        if not self._joint and self._too_large(chosen):
            return np.arange(self.numbers.size)  # the whole stack is no copy at all
        return chosen

    def _too_large(self, kernels: Indices) -> bool:
        """Return whether some kernels' factors are too much memory for a copy of them.

        Whole matrices are not copied.
        """
        n_kernels, n_samples, _ = self.problem.gram.shape
        copied, all_bytes = 8 * self.numbers[kernels].sum(), 8 * self.numbers.sum()
        if all_bytes >= 8.0 * n_samples**2 * n_kernels:
            return False
        return bool(copied > max(COPY_BYTES, COPY_SHARE * all_bytes))
