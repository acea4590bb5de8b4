"""SpicyMKL's outer loop: a working set of kernels, and proofs for all of them."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import (
    DualCertificate,
    best_intercept,
    certify,
    check_gap,
    constant_model,
    primal_value,
    project_dual,
    relative_gap,
    rounding_floor,
)
from multikernel.gram.base import GramStack
from multikernel.linalg.threads import with_one_blas_thread
from multikernel.losses.base import SmoothConjugateLoss
from multikernel.problem import Problem, Solution, Status
from multikernel.regularizers.base import ProximableRegularizer
from multikernel.solvers.recorder import Recorder
from multikernel.solvers.spicy.inner import AugmentedLagrangian
from multikernel.solvers.spicy.screening import DualNorms
from multikernel.solvers.spicy.sides import DualSide, dual_side

TARGET_SHARE = 0.1  # of the whole gap, to which the working set is solved next
SUPERLINEAR = 0.3  # extra power of the gap in that target
NEW_KERNELS = 30  # violators that join the working set at a time, at least
NEW_POWER = 0.35  # or this power of the number of kernels, if that is more
NEAR = 0.95  # of the threshold: idle kernels this close stay in the working set
SHRINK = 0.1  # towards the inside, of a dual point that may lie on the boundary
COPY_BYTES = 2**27  # of the working set's matrices, which are a copy
COPY_SHARE = 0.1  # of the stack, likewise, where that is more
ONE_THREAD_BYTES = 2**27  # of a working set: waking threads for it costs more
PATIENCE = 3  # passes without progress before giving up


@dataclass
class Model:
    """A primal point: expansions of a few kernels."""

    kernels: Indices
    coefs: Array
    intercept: float
    norms: Array = field(default_factory=lambda: np.empty(0))  # of those kernels
    values: Array = field(default_factory=lambda: np.empty(0))  # decision values
    objective: float = np.inf


@dataclass
class WorkingSet:
    """The state of the outer loop.

    Parameters
    ----------
    problem : Problem
        The whole problem.
    recorder : Recorder
        Keeps the history.
    bounds : DualNorms
        Screens kernels; may be shared between problems on the same stack.
    """

    problem: Problem
    recorder: Recorder
    bounds: DualNorms
    model: Model = field(init=False)  # the best one
    working: Model = field(init=False)  # the last one
    certificate: DualCertificate = field(init=False)
    rho: Array = field(init=False)
    sizes: Array = field(init=False)  # dual norms of rho, or bounds below threshold
    side: DualSide | None = None
    gamma: float = np.inf
    stalls: int = 0
    _stopped: bool = False
    _floor: float = field(init=False)
    _held: tuple[Indices, GramStack] | None = None

    def __post_init__(self) -> None:
        self._floor = rounding_floor(self.problem)

    def start(self, init: Solution | None) -> None:
        """Begin at the best constant model, or at a solution."""
        if init is None:
            null = constant_model(self.problem)
            self.rho = null.dual
            nothing = np.empty(0, dtype=np.intp)
            coefs = np.empty((0, self.problem.y.size))
            self.working = Model(nothing, coefs, float(null.intercept[0]))
        else:
            self.rho = init.dual
            self.working = Model(init.active, init.coefs, float(init.intercept[0]))
        self.model = self.working
        self._certify(self._part(self.working.kernels))

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
        self.model = self.working = replace(last.working)
        self._record()

    @property
    def _regularizer(self) -> ProximableRegularizer:
        # `unsupported` has checked it; a run-time check of a protocol is slow.
        return cast(ProximableRegularizer, self.problem.regularizer)

    @property
    def gap(self) -> float:
        """Return the relative gap between the best primal and the best dual point."""
        return relative_gap(self.model.objective, self.certificate.value, self._floor)

    def status(self, tol: float, max_iter: int) -> Status | None:
        """Return why to stop, or None to go on."""
        check_gap(self.gap)
        if self.gap <= tol:
            return Status.CONVERGED
        if self._stopped:
            return Status.STOPPED
        if len(self.recorder.history) > max_iter:
            return Status.MAX_ITER
        return Status.STALLED if self.stalls >= PATIENCE else None

    def step(self, tol: float) -> None:
        """Solve on a new working set, then certify with one pass."""
        gap, before = self.gap, self.working.kernels
        target = TARGET_SHARE * gap * min(1.0, gap) ** SUPERLINEAR
        inner = self._inner()
        small = 8 * inner.kernels.size * self.problem.y.size**2 <= ONE_THREAD_BYTES
        solve = partial(inner.solve, max(target, 0.3 * tol), gap, self.model.objective)
        with_one_blas_thread(solve) if small else solve()
        self.gamma, self.side, self.rho = inner.gamma, inner.side, inner.side.rho
        self.recorder.inner_steps += inner.newton_steps
        self.working = Model(inner.kernels, inner.coefs, inner.intercept)
        self._certify(inner.problem.gram)
        grown = np.setdiff1d(inner.kernels, before).size > 0
        self.stalls = 0 if grown or self.gap < 0.9 * gap else self.stalls + 1

    def _certify(self, gram: GramStack) -> None:
        """Certify the working model.

        Parameters
        ----------
        gram : GramStack
            The kernels of the working model.
        """
        problem, working = self.problem, self.working
        # Norms and decision values are taken afresh from the expansions: what the
        # inner iteration updates step by step carries its rounding errors.
        images = gram.block_matvec(working.coefs)
        forms = np.einsum("mi,mi->m", working.coefs, images)
        working.norms = np.sqrt(np.maximum(forms, 0.0))
        working.values = images.sum(axis=0) + working.intercept
        if problem.fit_intercept:
            shift, _ = best_intercept(problem.loss, problem.y, working.values)
            working.intercept += shift
            working.values = working.values + shift
        self.rho = project_dual(problem, self.rho)
        before = self.bounds.passes
        self.sizes = self.bounds(self.rho, self._regularizer.threshold)
        self.recorder.passes += self.bounds.passes - before
        self._record()

    def _record(self) -> None:
        """Keep the best primal and the best dual point."""
        problem, working = self.problem, self.working
        norms = np.zeros(problem.gram.shape[0])
        norms[working.kernels] = working.norms
        working.objective = primal_value(problem, norms, working.values)
        certificate = certify(problem, self.rho, norms, self.sizes)
        if not self.recorder.history or certificate.value > self.certificate.value:
            self.certificate = certificate
        if not working.objective >= self.model.objective:
            self.model = working
        self._stopped = self.recorder.add(
            self.model.objective, self.gap, int(np.count_nonzero(self.model.norms))
        )

    def _inner(self) -> AugmentedLagrangian:
        """Set up the augmented Lagrangian on the next working set."""
        problem, kernels = self.problem, self._next_kernels()
        coefs = np.zeros((kernels.size, problem.gram.shape[1]))
        kept = np.isin(self.working.kernels, kernels)
        place = np.searchsorted(kernels, self.working.kernels[kept])
        coefs[place] = self.working.coefs[kept]
        absolute = self.gap * abs(self.model.objective)
        if self.side is None:
            rho = self._inside()
            self.side = dual_side(problem.loss, problem.y, rho, absolute)
        # New kernels may be violated by much: the penalty must suit the gap of the
        # whole problem, not the one that the last working set was solved to.
        suited = max(1.0, 1.0 / self.gap) / problem.regularizer.alpha
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
            self._held = kernels, self.problem.gram.take(kernels)
        return self._held[1]

    def _inside(self) -> Array:
        """Return a dual point strictly inside the loss's domain, near the last one."""
        problem = self.problem
        if isinstance(problem.loss, SmoothConjugateLoss):
            return self.rho
        middle = 0.5 * constant_model(problem).dual
        share = min(SHRINK, self.gap)
        return (1.0 - share) * project_dual(problem, self.rho) + share * middle

    def _next_kernels(self) -> Indices:
        """Return the active, the nearly active and the most violated kernels."""
        level, sizes = self._regularizer.threshold, self.sizes
        active = self.working.kernels[
            (self.working.norms > 0.0) | (sizes[self.working.kernels] > NEAR * level)
        ]
        outside = np.setdiff1d(np.flatnonzero(sizes > level), active)
        # The dearer a pass, the more kernels it may bring in.
        n_new = max(NEW_KERNELS, round(self.problem.gram.shape[0] ** NEW_POWER))
        room = max(n_new, active.size // 2)
        if outside.size > room:
            worst = np.argpartition(-sizes[outside], room - 1)[:room]
            outside = outside[worst]
        chosen = np.union1d(active, outside)
        n_kernels, n_samples, _ = self.problem.gram.shape
        copied = 8 * chosen.size * n_samples**2
        if copied > max(COPY_BYTES, COPY_SHARE * 8 * n_kernels * n_samples**2):
            return np.arange(n_kernels)  # the whole stack is no copy at all
        return chosen

    def solution(self, status: Status) -> Solution:
        """Return the best point found."""
        model = self.model
        norms = np.zeros(self.problem.gram.shape[0])
        norms[model.kernels] = model.norms
        used = model.norms > 0.0
        total = float(norms.sum())
        return Solution(
            kernel_weights=norms / total if total > 0.0 else norms.copy(),
            norms=norms,
            active=model.kernels[used],
            coefs=model.coefs[used],
            intercept=np.array([model.intercept]),
            dual=self.certificate.dual,
            objective=model.objective,
            duality_gap=self.gap,
            n_iter=len(self.recorder.history) - 1,
            status=status,
            history=tuple(self.recorder.history),
        )
