"""Multi-class support vector machines on one Gram matrix, by sweeps over samples.

Sample i has the class y_i, the weight w_i, and in the dual of Crammer and Singer's
hinge one mass p_ic >= 0 per class c, with the sum w_i. With rho_i = w_i e - p_i, where
e is the unit vector of class y_i, the dual maximizes sum_i (w_i - p_i,y_i) - tr(rho^T K
rho) / 2. With intercepts, the constraint sum_i rho_i = 0 is treated by an augmented
Lagrangian, whose multipliers are the intercepts. If other samples are fixed, the best
masses of a sample are a projection onto its simplex (Crammer, Singer 2001, JMLR 2).
"""

from dataclasses import dataclass, field

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.exceptions import IndefiniteKernelError
from multikernel.linalg import EPS, TINY
from multikernel.linalg.tables import read_only
from multikernel.linalg.threads import compiled
from multikernel.losses.base import Loss
from multikernel.losses.coupled import CoupledLoss, CrammerSingerLoss, project_coupled
from multikernel.losses.weighted import without_weights
from multikernel.machines.base import (
    NOT_A_KERNEL,
    NOT_FINITE,
    KernelMachine,
    MachineFit,
    Task,
    support_product,
    whole_array,
)
from multikernel.machines.crammer_singer.face import minimize_on_face

# Larger systems cost as much as hundreds of sweeps (see benchmarks/ablation).
MOST_SPLIT, STALLED_SPLIT = 200, 1500
"""Largest numbers of samples with several positive masses for which a Newton step is
made: the usual number, and the number after sweeps have stalled."""

SWEEP = "multikernel.machines.crammer_singer.loops", "sweep"


@dataclass(frozen=True)
class CrammerSinger(KernelMachine):
    """Solver of the Crammer-Singer SVM: sweeps over samples, and Newton steps.

    `tol` is the relative duality gap at which the machine stops, and `max_steps` the
    maximum number of rounds; a round has up to ten sweeps and one Newton step. A
    Gram matrix that is not an array is computed if it fits in `cache_bytes`.
    """

    tol: float = 1e-3
    max_steps: int = 1000
    cache_bytes: int = 200_000_000

    def unsupported(self, loss: Loss) -> str | None:
        """Return why this machine does not support a loss, or None if it does."""
        # A subclass of CrammerSingerLoss may be a different loss.
        if type(without_weights(loss)) is CrammerSingerLoss:
            return None
        return "CrammerSinger supports the multi-class hinge (CrammerSingerLoss) only."

    def _solve(self, task: Task[CoupledLoss], init: MachineFit | None) -> MachineFit:
        """Solve the problem for one-hot targets, from the projected `init` if given."""
        # Rounds of sweeps end at the tolerance, at the first certificate after
        # `max_steps` rounds, or after 20 certificates that reduce the gap by at most 1%
        # (6 if it may be rounding).
        search = _Sweeps(task, whole_array(task.gram, self.cache_bytes))
        search.start_from(init)
        best, n_futile = search.certify(), 0
        while best.gap > self.tol and search.rounds < self.max_steps:
            # If progress stalls, Newton steps for more samples are worth their cost.
            search.most_split = STALLED_SPLIT if n_futile else MOST_SPLIT
            search.improve(self.tol * max(abs(best.primal), TINY))
            proof = search.certify()
            n_futile = 0 if proof.gap < 0.99 * best.gap else n_futile + 1
            best = min(best, proof, key=lambda each: each.gap)
            is_rounding = best.primal - best.dual <= search.rounding
            if n_futile >= (6 if is_rounding else 20):
                break
        return MachineFit(
            dual=best.rho,
            intercept=best.b,
            f=best.f,
            objective=best.dual,
            n_steps=search.steps,
            converged=best.gap <= self.tol,
        )


def _best_share(linear: float, rho: Array, values: Array) -> float:
    """Return the t in [0, 1] that maximizes the dual value of t rho."""
    # The dual value is t `linear` - t^2 tr(rho^T `values`) / 2, with values = K rho. If
    # classes are separated and the kernel grows tenfold, the best dual point shrinks
    # tenfold. With unscaled dual points (t = 1), warm starts on a path over C took more
    # rounds than cold ones.
    form = float(np.sum(rho * values))
    return min(1.0, max(linear, 0.0) / form) if form > 0.0 else 1.0


@dataclass(frozen=True, eq=False)
class _Proof:
    """A feasible dual point with its model, and the objectives of both."""

    rho: Array
    b: Array
    f: Array  # intercept included
    primal: float
    dual: float

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.primal - self.dual) / max(abs(self.primal), TINY)


@dataclass(eq=False)
class _Sweeps:
    """Solver state of one task: dual variables (masses), scores and intercepts."""

    task: Task[CoupledLoss]
    K: Array | None  # the Gram matrix; None if `whole_array` returns no array
    most_split: int = 0  # see MOST_SPLIT
    rounds: int = 0
    steps: int = 0
    masses: Array = field(init=False)  # (n_classes, n_samples), like `scores`
    scores: Array = field(init=False)  # 1[c != y] + K rho, without intercepts
    shift: Array = field(init=False)  # the intercepts

    def __post_init__(self) -> None:
        task = self.task
        self.weights = task.loss.masses(task.y)
        self.targets = np.ascontiguousarray((self.weights[:, None] * task.y).T)
        self.diagonal = task.gram.diagonal()
        mean = float(np.abs(self.diagonal).mean())
        # The augmented Lagrangian adds penalty / 2 times the squared sums of rho.
        self.penalty = mean if task.fit_intercept else 0.0
        self.random = np.random.default_rng(0)
        self.mean_gap = 0.0  # mean gap of a sample in the last sweep

    @property
    def rounding(self) -> float:
        """Bound on the error of the objective that rounding of the masses causes."""
        # A dual point is weights minus masses, so its rounding error is relative to
        # the weights.
        total, largest = float(self.weights.sum()), float(np.abs(self.diagonal).max())
        return EPS * largest * total * float(np.sqrt(self.weights.size))

    @property
    def rho(self) -> Array:
        """The dual point; its sums over samples need not be zero."""
        return np.ascontiguousarray((self.targets - self.masses).T)

    def start_from(self, init: MachineFit | None) -> None:
        """Initialize the state from a warm start, or at rho = 0."""
        y, loss = self.task.y, self.task.loss
        self.masses, self.scores = self.targets.copy(), np.ascontiguousarray(1.0 - y.T)
        self.shift = np.zeros(y.shape[1])
        if init is not None:
            rho = -loss.project_rows(y, -init.dual)
            values = init.f - init.intercept
            if not np.array_equal(rho, init.dual):
                values = support_product(self.task.gram, rho)
            scale = _best_share(-float(loss.conjugate(y, -rho).sum()), rho, values)
            self.masses = np.ascontiguousarray(self.targets - scale * rho.T)
            self.scores += scale * values.T
            self.shift = init.intercept.copy()
        elif self.task.fit_intercept:
            self.shift = loss.constant_model(y)[0]

    def improve(self, max_gap: float) -> None:
        """Sweep until the samples' gaps sum to at most `max_gap`, in up to 8 rounds."""
        # Several rounds precede a certificate, which requires a linear program.
        for _ in range(8):
            has_converged = self._sweeps_and_face_step(max_gap)
            if has_converged or self.mean_gap * self.weights.size <= max_gap:
                break

    def _sweeps_and_face_step(self, max_gap: float) -> bool:
        """Sweep up to ten times; return whether a Newton step then was optimal."""
        self.rounds += 1
        n = self.weights.size
        for _ in range(10):
            # Samples with a gap far below the mean are skipped.
            gap = self._sweep(0.1 * max(self.mean_gap, max_gap / n))
            self.mean_gap = gap / n
            if gap <= 0.1 * max_gap:
                break
        return self._face_step()

    def _sweep(self, min_gap: float) -> float:
        """Optimize the masses, one sample at a time; return the sum of all gaps."""
        # Samples with a gap of at most `min_gap` keep their masses.
        order, excess = self.random.permutation(self.weights.size), self._excess()
        if self.K is not None:
            state = self.masses, self.scores, self.weights, self.diagonal, self.K
            total = self._visit(state, order, excess, min_gap)
        else:
            blocks = np.array_split(order, -(-order.size // 500))
            total = sum(self._visit_block(block, excess, min_gap) for block in blocks)
        if not np.isfinite(self.scores).all():
            raise ValueError(NOT_FINITE)
        # The multipliers of the augmented Lagrangian follow the sums of rho.
        self.shift = self.shift + self.penalty * self._excess()
        return total

    def _visit(
        self, state: tuple[Array, ...], order: Indices, excess: Array, min_gap: float
    ) -> float:
        """Optimize dual variables of samples in place; return the sum of their gaps."""
        # `state` contains the masses and scores, (n_classes, n_samples), that change,
        # then the sample weights, the diagonal of K, and K. `excess`, the sum of rho by
        # class, changes too. Samples with a gap of at most `min_gap` keep their masses.
        masses, scores, weights, diagonal, K = state
        settings = self.penalty, weights, diagonal, read_only(K), order, min_gap
        steps, total = compiled(*SWEEP)(masses, scores, self.shift, excess, *settings)
        self.steps += steps
        return float(total)

    def _visit_block(self, block: Indices, excess: Array, min_gap: float) -> float:
        """Optimize the masses of a block of samples; return the sum of their gaps."""
        # Steps need only the block's own Gram matrix. The scores of all samples are
        # updated after the last step. See `_visit` for `excess` and `min_gap`.
        gram, old_masses = self.task.gram, self.masses[:, block]
        masses = old_masses.copy()
        scores = np.ascontiguousarray(self.scores[:, block])
        sizes = self.weights[block], self.diagonal[block]
        state = masses, scores, *sizes, gram.within(block)
        total = self._visit(state, np.arange(block.size), excess, min_gap)
        change = np.zeros((self.weights.size, len(masses)))
        change[block] = (old_masses - masses).T
        self.masses[:, block] = masses
        self.scores += support_product(gram, change).T
        return total

    def _excess(self) -> Array:
        """Return the sum of rho for every class."""
        return np.asarray((self.targets - self.masses).sum(axis=1))

    def _face_step(self) -> bool:
        """Make a Newton step of all positive masses; return whether it was optimal."""
        # Only samples with positive masses on several classes may change.
        split = np.flatnonzero(np.count_nonzero(self.masses > 0.0, axis=0) > 1)
        if not 0 < split.size <= self.most_split:
            return False
        rows = self.task.gram.columns(split).T if self.K is None else self.K[split]
        excess = self._excess() if self.task.fit_intercept else np.zeros(0)
        old_masses = self.masses[:, split]
        masses, self.shift, has_converged = minimize_on_face(
            old_masses, self.scores[:, split], self.shift, excess, rows[:, split]
        )
        self.masses[:, split] = masses
        self.scores -= (masses - old_masses) @ rows
        return has_converged

    def certify(self) -> _Proof:
        """Return the feasible dual point nearest to rho, its model and objectives."""
        task = self.task
        y, loss = task.y, task.loss
        rho = project_coupled(loss, y, self.rho, center=task.fit_intercept)
        values = support_product(task.gram, rho)
        form = float(np.sum(rho * values))
        size = float(np.sum(rho * rho)) * float(np.abs(self.diagonal).sum())
        if not np.isfinite(form):
            raise ValueError(NOT_FINITE)
        if form < -1e-8 * size:
            raise IndefiniteKernelError(NOT_A_KERNEL)
        b = np.zeros(y.shape[1])
        if task.fit_intercept:
            b, _ = loss.best_intercept(y, values)
        f = values + b
        dual = -float(loss.conjugate(y, -rho).sum()) - 0.5 * form
        primal = float(loss.value(y, f).sum()) + 0.5 * form
        return _Proof(rho, b, f, primal, dual)
