r"""Sequential minimal optimization: support vector machines on one Gram matrix.

The dual of a piecewise linear loss is a quadratic program in a box,

.. math::
    \min_\rho \; \tfrac12 \rho^\top K \rho + \sum_i c_i(\rho_i)
    \quad \text{subject to } L \le \rho \le U, \; \textstyle\sum_i \rho_i = 0,

with c_i linear on either side of zero. For the hinge, c is -y rho between 0 and y;
for the epsilon-insensitive loss, -y rho + epsilon |rho| on [-1, 1], whose kink is kept
as it is, so that the problem has n variables and not 2 n.
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
    minimise_on_face,
    set_slopes,
)


@dataclass(frozen=True)
class Settings:
    """Settings of the machine."""

    visits: int = 10_000_000
    """Number of sample visits between two checks for interrupts: 30 ms, as a step takes
    3 ns a sample where rows come from memory."""

    steps_per_sample: int = 2000
    """The default limit. Gaussian kernels on 1000 samples take up to 3 steps a sample
    with C = 1 and 390 with C = 1000, to a violation of 1e-6."""

    face_after: int = 10
    """Steps for each sample before a Newton step on the free samples is tried, and
    between two of them. Most fits end before the first."""

    rounding: float = 1e-8
    """Relative size of rounding errors in a start or a quadratic form."""


SETTINGS = Settings()


BAD_SCALES = (
    f"SMO reached its limit of {SETTINGS.steps_per_sample} steps for each sample. The "
    "usual cause is the scales of the kernels, which are too far apart from each other "
    'or from 1 / C: bring them to one scale (normalize="trace" or "variance"), or '
    "lower C."
)


@dataclass(frozen=True)
class SMO(KernelMachine):
    """Pairs of dual variables, chosen by second order information.

    Parameters
    ----------
    tol : float, default=1e-3
        Largest violation of the optimality conditions allowed, in units of f, as in
        LIBSVM: with an intercept the largest difference between the derivatives of
        two samples that could move against each other, without one the largest
        derivative of a sample that could move. Loose values stop early.
    max_steps : int or None, default=None
        Steps at most, 2000 for each sample if None; a fit that needs more
        comes back with ``converged=False``.
    cache_bytes : int, default=200_000_000
        Memory for entries of a Gram matrix that is not stored as an array.

    Notes
    -----
    Working sets follow WSS 2 of [1]_. A step reads two rows of the Gram matrix,
    O(n_samples). A matrix whose entries do not fit, or whose products with vectors are
    quick, is read a block of samples at a time (`blocks`). Without an intercept a
    sample moves against another one, or alone, whichever gains most.

    References
    ----------
    .. [1] Fan, Chen, Lin (2005). Working set selection using second order information
       for training support vector machines. JMLR 6, 1889-1918.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseMatrix
    >>> from multikernel.losses import HingeLoss
    >>> gram = DenseMatrix(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> fit = SMO().fit(gram, np.array([1.0, -1.0]), HingeLoss(), fit_intercept=True)
    >>> fit.dual
    array([ 1., -1.])
    """

    tol: float = 1e-3
    max_steps: int | None = None
    cache_bytes: int = 200_000_000

    def unsupported(self, loss: Loss) -> str | None:
        """Return why this machine cannot treat the loss, or None if it can."""
        if is_polyhedral(loss):
            return None
        return (
            "SMO needs a piecewise linear loss (hinge, epsilon_insensitive): the dual "
            "of this one is no quadratic program in a box."
        )

    def _solve(self, task: Task[Any], init: MachineFit | None) -> MachineFit:
        """Solve for every output; raise a ValueError for an infeasible start."""
        return fit_outputs(self._fit_one, task, init)

    def _fit_one(
        self, task: Task[PolyhedralLoss], start: MachineFit | None
    ) -> MachineFit:
        """Solve for one output."""
        gram, paired = task.gram, task.fit_intercept
        v = _first_state(task)
        if start is not None:
            _go_to_start(v, gram, start, paired=paired)
        set_slopes(v)
        outcome = self._run(v, gram, paired=paired)
        if outcome.code == STEPS_DONE and self.max_steps is None:
            warn_user(BAD_SCALES, ConvergenceWarning)
        return _checked_fit(v, gram, outcome, paired=paired, tol=self.tol)

    def _run(self, v: Array, gram: GramMatrix, *, paired: bool) -> Outcome:
        """Solve for `v` in place."""
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
        """Solve for `v` in place, with Newton steps on free samples between."""
        loop, n = compiled(LOOPS, "solve_pairs"), v.shape[1]
        # Zero, but for a diagonal that is not finite, which f shows then.
        rows, nothing = read_only(K), read_only(0.0 * v[DIAGONAL])
        lanes = np.empty((3, LANES))
        outcome = Outcome(STEPS_DONE, 0, np.inf)
        newton, stalled = SETTINGS.face_after * n, -1
        while True:
            first = outcome.step
            last = min(newton, most, first + max(1, SETTINGS.visits // n))
            least = max(tol, _rounding_of_f(v))
            task = first, last
            outcome = Outcome(*loop(v, rows, nothing, lanes, least, paired, task))
            step, code = outcome.step, outcome.code
            if code == STEPS_DONE and step < newton and step < most:
                continue  # An interrupt is noticed here.
            if code not in (STEPS_DONE, STALLED) or not stalled < step < most:
                return outcome
            newton = step + SETTINGS.face_after * n
            newton += self._newton_step(v, K, paired=paired)
            stalled = step if code == STALLED else -1

    def _newton_step(self, v: Array, K: Array, *, paired: bool) -> int:
        """Try one on the free samples; return how many pair steps take as long."""
        free, n = free_samples(v), v.shape[1]
        # The factorization then takes a tenth of a second.
        if free.size > 1500:
            return 0
        systems = minimise_on_face(v, free, K[free], paired=paired)
        # A multiplication of a system takes a 50th of the visit of a sample.
        return int((systems * free.size**3 / 50 + 50_000) // n)


def _rounding_of_f(v: Array) -> float:
    """Return the size of the rounding errors of f: no violation means more below it."""
    size = np.sqrt(np.abs(v[DIAGONAL]))
    return EPS * float(size.max() * (size @ np.abs(v[RHO])))


def _first_state(task: Task[PolyhedralLoss]) -> Array:
    """Return the state at rho = 0 but for its slopes, from the pieces of the loss."""
    v = np.zeros((DIAGONAL + 1, task.y.size))
    v[DIAGONAL] = task.gram.diagonal()
    signs, costs, sizes = task.loss.dual_pieces(task.y)
    if max(np.sum(signs < 0.0, axis=0).max(), np.sum(signs > 0.0, axis=0).max()) > 1:
        raise UnsupportedProblemError(
            "SMO needs a loss whose conjugate is linear on either side of zero; this "
            "one has further kinks."
        )
    for sign, cost, size in zip(signs, costs, sizes, strict=True):
        above, below = sign < 0.0, sign > 0.0  # rho = -sign u
        v[UPPER, above], v[RIGHT, above] = size[above], cost[above]
        v[LOWER, below], v[LEFT, below] = -size[below], -cost[below]
    # A missing side gets the slope of the other side, so there is no kink.
    v[RIGHT] = np.where(v[UPPER] > 0.0, v[RIGHT], v[LEFT])
    v[LEFT] = np.where(v[LOWER] < 0.0, v[LEFT], v[RIGHT])
    return v


def _go_to_start(
    v: Array, gram: GramMatrix, start: MachineFit, *, paired: bool
) -> None:
    """Go to a given start, after checking that it is one."""
    rho, b = start.dual, float(start.intercept[0])
    excess = float(np.max(np.maximum(rho - v[UPPER], v[LOWER] - rho)))
    if not excess <= SETTINGS.rounding * float(np.max(v[UPPER] - v[LOWER])):
        raise ValueError(
            f"The start is infeasible: a dual variable lies {excess:.3g} outside the "
            "box of its loss and weight. Clip or scale it."
        )
    total, size = float(rho.sum()), float(np.abs(rho).sum())
    # Small variables keep the rounding of steps between the ends of their boxes.
    rounding = SETTINGS.rounding * size + EPS * float(np.sum(v[UPPER] - v[LOWER]))
    if paired and abs(total) > rounding:
        raise ValueError(
            f"The start is infeasible: with an intercept its dual must sum to zero, "
            f"but the sum is {total:.3g}."
        )
    worst = int(np.argmax(np.abs(rho)))
    row = gram.columns(np.array([worst]))[:, 0]
    value, given = float(row @ rho), float(start.f[worst]) - b
    size = float(np.abs(row) @ np.abs(rho)) + abs(b)
    # Single precision errs by less.
    if abs(value - given) > 1e-5 * size:
        raise ValueError(
            f"The start's f is not that of this Gram matrix: at sample {worst} it is "
            f"{given:.6g} without the intercept, expected {value:.6g}. Make the start "
            "with warm_start(gram, dual)."
        )
    v[RHO] = np.clip(rho, v[LOWER], v[UPPER])
    v[F] = start.f - b


def _checked_fit(
    v: Array, gram: GramMatrix, outcome: Outcome, *, paired: bool, tol: float
) -> MachineFit:
    """Check the end of a run, and put the fit together."""
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
    """Return minus the derivative that all samples free to move agree on."""
    up, down = v[F] + v[UP], v[F] + v[DOWN]
    free = v[UP] == v[DOWN]
    if free.any():
        return -float(np.mean(up[free]))
    ends = np.array([np.min(up), np.max(down)])
    ends = ends[np.isfinite(ends)]
    return -float(ends.mean()) if ends.size else 0.0
