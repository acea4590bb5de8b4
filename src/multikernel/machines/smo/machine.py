"""Sequential minimal optimization: support vector machines on one Gram matrix.

The dual of a piecewise linear loss minimizes rho^T K rho / 2 + sum_i c_i(rho_i) subject
to L <= rho <= U and, with an intercept, sum_i rho_i = 0; c_i is linear on each side of
zero. For the hinge, c is -y rho between 0 and y. For the epsilon-insensitive loss, c is
-y rho + epsilon |rho| on [-1, 1]. The kink at zero is treated directly, so the problem
has n variables instead of 2 n.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.exceptions import (
    ConvergenceWarning,
    IndefiniteKernelError,
    UnsupportedProblemError,
    warn_user,
)
from multikernel.gram.checks import ROUNDING
from multikernel.gram.matrix import GramMatrix
from multikernel.linalg import EPS
from multikernel.linalg.tables import read_only
from multikernel.linalg.threads import compiled
from multikernel.losses.base import Loss, PolyhedralLoss, is_polyhedral
from multikernel.machines.base import (
    NOT_A_KERNEL,
    NOT_FINITE,
    KernelMachine,
    MachineFit,
    Task,
    fit_outputs,
    support_product,
    whole_array,
)
from multikernel.machines.smo.blocks import run_in_blocks
from multikernel.machines.smo.state import (
    DIAGONAL,
    DOWN,
    INDEFINITE,
    LANES,
    LEFT,
    LOOPS,
    LOWER,
    RHO,
    RIGHT,
    STALLED,
    STEPS_DONE,
    UP,
    UPPER,
    F,
    Outcome,
    free_samples,
    minimize_on_face,
    set_slopes,
)


@dataclass(frozen=True)
class Settings:
    """Settings of the machine that are not parameters of `SMO`."""

    # All these visits take 30 ms: 3 ns each if the rows of K are in memory.
    visits: int = 10_000_000
    """Number of sample visits between two checks for interrupts."""

    # Gaussian kernels on 1000 samples require up to 3 steps per sample with C = 1, and
    # 390 with C = 1000, for a violation of 1e-6.
    steps_per_sample: int = 2000
    """Default of the maximum number of steps per sample."""

    # Most fits end before the first Newton step.
    face_after: int = 10
    """Number of pair steps per sample before each Newton step on the free samples."""

    rounding: float = 1e-8
    """Relative size of rounding errors in a warm start or a quadratic form."""


SETTINGS = Settings()


BAD_SCALES = (
    f"SMO reached its limit of {SETTINGS.steps_per_sample} steps per sample. Usually "
    "the scales of the kernels differ too much from each other or from 1 / C: scale "
    'the kernels (normalize="trace" or "variance"), or decrease C.'
)


@dataclass(frozen=True)
class SMO(KernelMachine):
    """Sequential minimal optimization: steps of two dual variables, for SVMs.

    `tol` limits violations of the optimality conditions (in decision values), as in
    LIBSVM. Pairs follow rule WSS 2 of Fan, Chen, Lin (2005), JMLR 6, 1889-1918. A fit
    that needs more than `max_steps` (None: 2000 per sample) has ``converged=False``.
    SMO runs on blocks if K exceeds `cache_bytes` or has quick products with vectors.
    """

    tol: float = 1e-3
    max_steps: int | None = None
    cache_bytes: int = 200_000_000

    def unsupported(self, loss: Loss) -> str | None:
        """Return why this machine does not support a loss, or None if it does."""
        if is_polyhedral(loss):
            return None
        return (
            "SMO requires a piecewise linear loss, such as hinge or "
            "epsilon_insensitive: the dual of other losses is not a quadratic program."
        )

    def _solve(self, task: Task[Any], init: MachineFit | None) -> MachineFit:
        """Solve the problem of every output; raise for an infeasible warm start."""
        return fit_outputs(self._fit_one, task, init)

    def _fit_one(
        self, task: Task[PolyhedralLoss], start: MachineFit | None
    ) -> MachineFit:
        # With an intercept, steps change two dual variables and keep their sum.
        gram, paired = task.gram, task.fit_intercept
        v = _first_state(task)
        if start is not None:
            _go_to_start(v, gram, start, paired=paired)
        set_slopes(v)
        outcome = self._run(v, gram, paired=paired)
        # The default number of steps suffices unless the scales are bad.
        if outcome.code == STEPS_DONE and self.max_steps is None:
            warn_user(BAD_SCALES, ConvergenceWarning)
        return _checked_fit(v, gram, outcome, paired=paired, tol=self.tol)

    def _run(self, v: Array, gram: GramMatrix, *, paired: bool) -> Outcome:
        """Solve for the state `v` in place; steps keep sum(rho) if `paired`."""
        most = self.max_steps
        most = SETTINGS.steps_per_sample * v.shape[1] if most is None else most
        run = partial(self._run_on_array, paired=paired)
        K = whole_array(gram, self.cache_bytes)
        if K is not None:
            return run(self.tol, most, v, K)
        tol = max(self.tol, _rounding_of_f(v))
        limits = tol, most, self.cache_bytes
        return run_in_blocks(v, gram, limits, run, paired=paired)

    def _run_on_array(
        self, tol: float, most: int, v: Array, K: Array, *, paired: bool
    ) -> Outcome:
        """Solve for the state `v` in place, by at most `most` pair steps."""
        # Newton steps on the free samples follow after many pair steps. If `paired`,
        # all steps keep sum(rho).
        loop, n = compiled(LOOPS, "solve_pairs"), v.shape[1]
        # `nothing` is zero, or NaN where the diagonal is not finite, which makes f NaN.
        rows, nothing = read_only(K), read_only(0.0 * v[DIAGONAL])
        lanes = np.empty((3, LANES))
        outcome = Outcome(STEPS_DONE, 0, np.inf)
        # Step numbers of the next Newton step, and of the last end of a loop by
        # STALLED.
        next_newton, stalled_at = SETTINGS.face_after * n, -1
        while True:
            first = outcome.step
            last = min(next_newton, most, first + max(1, SETTINGS.visits // n))
            least = max(tol, _rounding_of_f(v))
            task = first, last
            outcome = Outcome(*loop(v, rows, nothing, lanes, least, paired, task))
            step, code = outcome.step, outcome.code
            if code == STEPS_DONE and step < next_newton and step < most:
                continue  # An interrupt is noticed here.
            if code not in (STEPS_DONE, STALLED) or not stalled_at < step < most:
                return outcome
            next_newton = step + SETTINGS.face_after * n
            next_newton += self._newton_step(v, K, paired=paired)
            stalled_at = step if code == STALLED else -1

    def _newton_step(self, v: Array, K: Array, *, paired: bool) -> int:
        """Make a Newton step (of sum 0 if `paired`); return its cost in pair steps."""
        # The rows of the state `v` are listed in module `state`; `v` changes in place.
        free, n = free_samples(v), v.shape[1]
        # With 1500 free samples, the factorization takes a tenth of a second.
        if free.size > 1500:
            return 0
        systems = minimize_on_face(v, free, K[free], paired=paired)
        # One operation of the factorization takes 1/50 of the time that a pair step
        # takes for one sample.
        return int((systems * free.size**3 / 50 + 50_000) // n)


def _rounding_of_f(v: Array) -> float:
    """Return the size of the rounding errors of f, below which violations are noise."""
    size = np.sqrt(np.abs(v[DIAGONAL]))
    return EPS * float(size.max() * (size @ np.abs(v[RHO])))


def _first_state(task: Task[PolyhedralLoss]) -> Array:
    """Return the state at rho = 0, without the rows UP and DOWN (see `set_slopes`)."""
    v = np.zeros((DIAGONAL + 1, task.y.size))
    v[DIAGONAL] = task.gram.diagonal()
    signs, costs, sizes = task.loss.dual_pieces(task.y)
    if max(np.sum(signs < 0.0, axis=0).max(), np.sum(signs > 0.0, axis=0).max()) > 1:
        raise UnsupportedProblemError(
            "SMO requires a loss whose conjugate is linear on each side of zero, but "
            f"that of {type(task.loss).__name__} has more pieces: use another loss, "
            "such as hinge or epsilon_insensitive."
        )
    for sign, cost, size in zip(signs, costs, sizes, strict=True):
        above, below = sign < 0.0, sign > 0.0  # rho = -sign u
        v[UPPER, above], v[RIGHT, above] = size[above], cost[above]
        v[LOWER, below], v[LEFT, below] = -size[below], -cost[below]
    # If a sample's rho has one sign only, its slopes are set equal: it has no kink.
    v[RIGHT] = np.where(v[UPPER] > 0.0, v[RIGHT], v[LEFT])
    v[LEFT] = np.where(v[LOWER] < 0.0, v[LEFT], v[RIGHT])
    return v


def _go_to_start(
    v: Array, gram: GramMatrix, start: MachineFit, *, paired: bool
) -> None:
    """Set the state to a warm start; raise unless feasible (sum 0 if `paired`)."""
    rho, b = start.dual, float(start.intercept[0])
    excess = float(np.max(np.maximum(rho - v[UPPER], v[LOWER] - rho)))
    if not excess <= SETTINGS.rounding * float(np.max(v[UPPER] - v[LOWER])):
        raise ValueError(
            f"init is infeasible: a dual variable is {excess:.3g} outside the bounds "
            "that follow from the loss and the weights. Clip or scale init.dual."
        )
    total, size = float(rho.sum()), float(np.abs(rho).sum())
    # Even a small dual variable has a rounding error in proportion to the width of its
    # box.
    rounding = SETTINGS.rounding * size + EPS * float(np.sum(v[UPPER] - v[LOWER]))
    if paired and abs(total) > rounding:
        raise ValueError(
            "init is infeasible: with an intercept, init.dual must sum to zero, but "
            f"its sum is {total:.3g}. Change init.dual, or omit init."
        )
    worst = int(np.argmax(np.abs(rho)))
    row = gram.columns(np.array([worst]))[:, 0]
    value, given = float(row @ rho), float(start.f[worst]) - b
    size = float(np.abs(row) @ np.abs(rho)) + abs(b)
    # Smaller differences may be rounding errors of entries in single precision.
    if abs(value - given) > 1e-5 * size:
        raise ValueError(
            f"init.f does not match this Gram matrix: at sample {worst} it is "
            f"{given:.6g} without the intercept, expected {value:.6g}. Create init "
            "with warm_start(gram, dual)."
        )
    v[RHO] = np.clip(rho, v[LOWER], v[UPPER])
    v[F] = start.f - b


def _checked_fit(
    v: Array, gram: GramMatrix, outcome: Outcome, *, paired: bool, tol: float
) -> MachineFit:
    """Return the final fit, with an intercept if `paired`; raise if K is indefinite."""
    rho = v[RHO]
    if not np.isfinite(v[F]).all():
        raise ValueError(NOT_FINITE)
    size = float(rho @ rho) * float(np.abs(v[DIAGONAL]).sum())
    if float(rho @ v[F]) < -SETTINGS.rounding * size:
        # Rounding errors of the steps, and of the initial intercept, accumulate in f.
        # If rho is small, they exceed the quadratic form. A new product avoids them.
        v[F] = support_product(gram, rho)
    form = float(rho @ v[F])
    if outcome.code == INDEFINITE or form < -ROUNDING * size:
        raise IndefiniteKernelError(NOT_A_KERNEL)
    b = _intercept(v) if paired else 0.0
    cost = v[RIGHT] @ np.maximum(rho, 0.0) + v[LEFT] @ np.minimum(rho, 0.0)
    return MachineFit(
        dual=rho.copy(),
        intercept=np.array([b]),
        f=v[F] + b,
        objective=-float(cost) - 0.5 * form,
        n_steps=outcome.step,
        converged=outcome.violation <= tol,
    )


def _intercept(v: Array) -> float:
    """Return the intercept: minus the derivative that all free samples share."""
    # One-sided derivatives of the objective at each sample; they are equal for a free
    # sample, at no bound or kink.
    up, down = v[F] + v[UP], v[F] + v[DOWN]
    free = v[UP] == v[DOWN]
    if free.any():
        return -float(np.mean(up[free]))
    ends = np.array([np.min(up), np.max(down)])
    ends = ends[np.isfinite(ends)]
    return -float(ends.mean()) if ends.size else 0.0
