r"""Many targets with the squared loss, each with a selection of its own, side by side.

A block 1-norm is the smallest of weighted sums of squares,
:math:`\alpha \sum_m \|f_m\| = \min_{\eta \ge 0} \frac{1}{2} \sum_m \bigl( \|f_m\|^2
/ \eta_m + \alpha^2 \eta_m \bigr)`, and for given weights the model of a target is that
of kernel ridge regression,

.. math:: \rho = A^{-1} (y - b), \qquad A = D + \sum_m \eta_m K_m, \qquad
    f_m = \eta_m K_m \rho, \qquad q_m = \rho^\top K_m \rho,

with one over the weights of the samples in the diagonal D. At the optimum
:math:`\sqrt{q_m} = \alpha` where :math:`\eta_m > 0`, and no more elsewhere. For a
single kernel :math:`1 / \sqrt{q}` is nearly a straight line over :math:`\eta`, so
Newton's method is applied to :math:`1 / \sqrt{q_m} = 1 / \alpha`, as to the secular
equation of trust regions [1]_. With :math:`H_{lm} = \rho^\top K_l A^{-1} K_m \rho`,
less what an intercept takes up, a step is

.. math:: H d = q \, (\sqrt{q} / \alpha - 1), \qquad \eta + d \ge 0.

The step from the optimum for one strength leads next to that for a lower one, so most
strengths of a path cost one factorisation a target. Whatever else there is to do,
products with the kernels and certificates, is done for all targets at once.

References
----------
.. [1] Conn, Gould, Toint (2000). Trust Region Methods. SIAM, section 7.3.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.certificates import ORDINARY, centred, rounding_unit
from multikernel.gram.base import GramStack
from multikernel.linalg import EPS, TINY
from multikernel.linalg.shifted import ShiftedRoot, shifted_root
from multikernel.losses import SquaredLoss
from multikernel.losses.weighted import WeightedLoss
from multikernel.problem import Callback, Problem, Progress, Solution, Status
from multikernel.regularizers.base import BlockRegularizer, kernel_weights
from multikernel.regularizers.block_l1 import BlockL1
from multikernel.solvers.base import continued
from multikernel.solvers.spicy.settings import SETTINGS


def side_by_side(
    problems: Sequence[Problem], penalties: Sequence[BlockRegularizer]
) -> bool:
    """Return whether problems can be solved side by side.

    They are several on one stack of few whole matrices, with the squared loss, the same
    weights of samples, and a block 1-norm each.
    """
    gram, weights = problems[0].gram, [_sample_weights(p) for p in problems]
    known = [each for each in weights if each is not None]
    if not 1 < len(problems) == len(known) or not gram.in_memory:
        return False
    return (
        all(isinstance(penalty, BlockL1) for penalty in penalties)
        and all(p.y.ndim == 1 and p.gram is gram for p in problems)
        and all(np.array_equal(each, known[0]) for each in known)
        and gram.shape[0] <= SETTINGS.new_kernels
        and gram.tall_form() is None
    )


def _sample_weights(problem: Problem) -> Array | None:
    """Return the weights of the samples, None where the loss is not the squared one."""
    loss = problem.loss
    if isinstance(loss, WeightedLoss):
        return loss.weights if isinstance(loss.loss, SquaredLoss) else None
    return np.ones(len(problem.y)) if isinstance(loss, SquaredLoss) else None


@dataclass
class ManyTargets:
    """What is known of every target.

    Parameters
    ----------
    problems : sequence of Problem
        Those for which `side_by_side` holds, `centred`; penalties are not used.
    """

    problems: Sequence[Problem]
    eta: Array = field(init=False)  # (n_kernels, n_targets), as the next two
    forms: Array = field(init=False)
    norms: Array = field(init=False)
    rho: Array = field(init=False)  # (n_samples, n_targets)
    f: Array = field(init=False)  # (n_samples, n_targets), without intercepts
    curvature: Array = field(init=False)  # (n_targets, n_kernels, n_kernels)
    intercept: Array = field(init=False)  # (n_targets,), as the next four
    objective: Array = field(init=False)
    gap: Array = field(init=False)
    scale: Array = field(init=False)  # that makes rho feasible
    failed: Mask = field(init=False)

    def __post_init__(self) -> None:
        first = self.problems[0]
        self.gram: GramStack = first.gram
        self.centres = first.fit_intercept
        n_kernels, n_samples, _ = self.gram.shape
        size = len(self.problems)
        weights = _sample_weights(first)
        assert weights is not None
        self.weights = weights
        self.y = np.stack([problem.y for problem in self.problems], axis=1)
        self.offset = np.array([float(np.sum(p.offset)) for p in self.problems])
        self.traces = np.abs(self.gram.traces())
        self.roots = np.sqrt(np.maximum(self.gram.diagonals(), 0.0))
        self.eta, self.forms, self.norms = np.zeros((3, n_kernels, size))
        self.rho, self.f = np.zeros((2, n_samples, size))
        self.curvature = np.zeros((size, n_kernels, n_kernels))
        self.intercept, self.objective, self.gap, self.scale = np.zeros((4, size))
        self.failed = np.zeros(size, dtype=bool)

    def evaluate(self, targets: Indices) -> None:
        """Solve for the dual points of some targets, with what kernels make of them."""
        step = max(1, SETTINGS.roots_bytes // (8 * len(self.y) ** 2))
        for start in range(0, targets.size, step):
            chosen = targets[start : start + step]
            roots = [self._solve(t) for t in chosen]
            rho = self.rho[:, chosen]
            if self.centres:
                rho -= rho.mean(axis=0)
            images = self.gram.matvec(rho)
            self.rho[:, chosen] = rho
            self.f[:, chosen] = np.einsum("mit,mt->it", images, self.eta[:, chosen])
            self.forms[:, chosen] = np.einsum("mit,it->mt", images, rho)
            for place, (t, known) in enumerate(zip(chosen, roots, strict=True)):
                if known is not None:
                    self._bend(t, *known, images[:, :, place])

    def _solve(self, t: int) -> tuple[ShiftedRoot, Array] | None:
        """Solve for the dual point of a target.

        Returns the root of A, and half the solution for ones, of length one. None where
        rounding leaves no root: that is for other steps to deal with.
        """
        total = self.gram.combine(self.eta[:, t]).array
        root = None if total is None else shifted_root(total, 1.0 / self.weights)
        if root is None:
            self.failed[t] = True
            return None
        half, one = root.half(np.stack([self.y[:, t], np.ones(len(self.y))], axis=1)).T
        one = one / np.sqrt(one @ one)
        if self.centres:
            half = half - (one @ half) * one
        self.rho[:, t] = root.rest(half[:, None])[:, 0]
        return root, one

    def _bend(self, t: int, root: ShiftedRoot, one: Array, images: Array) -> None:
        """Compute the matrix H of a target from the images of its dual point."""
        halves = root.half(images.T)
        if self.centres:
            halves = halves - np.outer(one, one @ halves)
        self.curvature[t] = halves.T @ halves

    @np.errstate(all="ignore")  # What is no number has no certificate.
    def measure(self, targets: Indices, alphas: Array) -> None:
        """Certify some targets, with all that rounding may hide; see `evaluation`."""
        rho, eta, f = self.rho[:, targets], self.eta[:, targets], self.f[:, targets]
        y, w, offset = self.y[:, targets], self.weights[:, None], self.offset[targets]
        alphas, forms = alphas[targets], self.forms[:, targets]
        b = np.zeros(targets.size)
        if self.centres:
            b = (self.weights @ (y - f)) / self.weights.sum()
            b = (b + offset) - offset  # as it is published
        unit, sizes = rounding_unit(len(y)), np.einsum("it,it->t", rho, rho)
        rounding = unit * sizes * self.traces[:, None]
        used = eta > 0.0
        vague = (~np.isfinite(forms) | (used & (forms <= rounding))).any(axis=0)
        norms = eta * np.sqrt(np.maximum(forms, 0.0))
        largest = np.sqrt(np.maximum(forms, 0.0) + rounding)  # dual norms at most
        spread = self.roots.T @ (eta * np.sqrt(unit * rounding))
        spread += EPS * np.abs(f + b)
        residual = np.abs(y - f - b)
        losses = 0.5 * (w * residual**2).sum(axis=0)
        objective = losses + alphas * norms.sum(axis=0)
        hidden = 0.5 * (w * (residual + spread) ** 2).sum(axis=0) - losses
        hidden += alphas * (eta * largest - norms).sum(axis=0)
        linear, square = np.einsum("it,it->t", rho, y), (rho**2 / w).sum(axis=0)
        scale = np.fmin(alphas / largest.max(axis=0), linear / square)
        scale = np.where(square > 0.0, np.maximum(scale, 0.0), 0.0)
        sums = np.abs(rho * y).sum(axis=0) * scale + 0.5 * scale**2 * square
        dual = scale * linear - 0.5 * scale**2 * square - 4.0 * EPS * sums
        size = np.maximum(objective, TINY)
        gap = (objective - dual) / size + np.maximum(hidden / size - ORDINARY, 0.0)
        self.norms[:, targets], self.objective[targets] = norms, objective
        self.intercept[targets], self.scale[targets] = b, scale
        self.failed[targets] |= vague | ~(gap > -ORDINARY)
        self.gap[targets] = np.maximum(gap, 0.0)

    @np.errstate(all="ignore")
    def step(self, targets: Indices, alphas: Array) -> None:
        """Take the step of Newton's method in the weights of some targets."""
        eta, q = self.eta[:, targets].T, np.maximum(self.forms[:, targets].T, 0.0)
        size = np.einsum("tmm->tm", self.curvature[targets]).max(axis=1)
        size = np.where(size > 0.0, size, 1.0)
        # Kernels that are alike, or nothing, leave no curvature along some directions.
        H = self.curvature[targets] / size[:, None, None]
        H += SETTINGS.ridge * np.eye(q.shape[1])
        pull = q / size[:, None] * (np.sqrt(q) / alphas[targets, None] - 1.0)
        fixed = (eta <= 0.0) & (pull <= 0.0)
        step: Array = np.zeros_like(eta)
        for _ in range(q.shape[1] + 1):
            # Weights that would fall below zero end there, and the others follow.
            step = np.where(fixed, -eta, 0.0)
            sides = pull - np.einsum("tml,tl->tm", H, step)
            free = ~fixed
            system = H * (free[:, :, None] & free[:, None, :])
            system += fixed[:, :, None] * np.eye(q.shape[1])
            solved = np.linalg.solve(system, np.where(free, sides, step)[:, :, None])
            step = np.asarray(solved[:, :, 0], dtype=np.float64)
            below = free & (eta + step < 0.0)
            if not below.any():
                break
            fixed |= below
        self.eta[:, targets] = np.maximum(eta + step, 0.0).T

    def solution(
        self, t: int, penalty: BlockRegularizer, status: Status, history: list[Progress]
    ) -> Solution:
        """Return what is published of a target."""
        norms = self.norms[:, t].copy()
        active = np.flatnonzero(norms)
        return Solution(
            kernel_weights=kernel_weights(penalty, norms),
            norms=norms,
            active=active,
            coefs=self.eta[active, t, None] * self.rho[:, t],
            intercept=self.intercept[t : t + 1] + self.problems[t].offset,
            dual=self.scale[t] * self.rho[:, t],
            objective=float(self.objective[t]),
            duality_gap=float(self.gap[t]),
            n_iter=len(history) - 1,
            status=status,
            history=tuple(history),
        )


class PathOfMany:
    """Solves for all targets, strength after strength.

    Parameters
    ----------
    problems : sequence of Problem
        Those for which `side_by_side` holds.
    tol, max_iter : float and int
        As those of `SpicyMKL`.
    callback : callable or None
        Called with every line of every history.
    """

    def __init__(
        self,
        problems: Sequence[Problem],
        tol: float,
        max_iter: int,
        callback: Callback | None,
    ) -> None:
        self.many = ManyTargets([centred(problem) for problem in problems])
        self.tol, self.max_iter, self.callback = tol, max_iter, callback
        self.everyone = np.arange(len(problems))
        self.stopped = False

    def begin(
        self,
        starts: Sequence[Solution | None],
        penalties: Sequence[BlockRegularizer],
    ) -> None:
        """Begin at solutions for such penalties, or at models without kernels."""
        for t, (start, penalty) in enumerate(zip(starts, penalties, strict=True)):
            if start is not None:
                self.many.eta[:, t] = start.norms / penalty.alpha
        self.many.evaluate(self.everyone)

    def solve(
        self, penalties: Sequence[BlockRegularizer]
    ) -> tuple[list[Solution], Indices]:
        """Return the solutions for a penalty of each target.

        Those whose numbers are returned beside them are not solved for, and not at the
        limit either: steps of another kind are called for.
        """
        many, start = self.many, time.perf_counter()
        alphas = np.array([penalty.alpha for penalty in penalties])
        histories: list[list[Progress]] = [[] for _ in penalties]
        passes, rounds = np.zeros(len(penalties)), 0
        many.failed[:] = False
        going = self.everyone
        while True:
            many.measure(going, alphas)
            for t in going.tolist():
                line = Progress(
                    iteration=rounds,
                    seconds=time.perf_counter() - start,
                    objective=float(many.objective[t]),
                    duality_gap=float(many.gap[t]),
                    n_active=int(np.count_nonzero(many.norms[:, t])),
                    passes=float(passes[t]),
                    inner_steps=rounds,
                )
                histories[t].append(line)
                if self.callback is not None and self.callback(line):
                    self.stopped = True
            solved = many.gap[going] <= self.tol
            going = going[~solved & ~many.failed[going]]
            most = min(self.max_iter, SETTINGS.most_together)
            if self.stopped or not going.size or rounds == most:
                break
            many.step(going, alphas)
            many.evaluate(going)
            rounds += 1
            used = np.count_nonzero(many.eta[:, going], axis=0)
            passes[going] += 1.0 + used / len(many.eta)
        done = (many.gap <= self.tol) & ~many.failed
        early = Status.STOPPED if self.stopped else Status.MAX_ITER
        solutions = [
            many.solution(
                t, penalty, Status.CONVERGED if done[t] else early, histories[t]
            )
            for t, penalty in enumerate(penalties)
        ]
        limited = many.failed | (rounds < self.max_iter)
        return solutions, np.flatnonzero(~done & limited & (not self.stopped))

    def go_on(
        self,
        solve: Callable[[Problem, Solution | None, Callback | None], Solution],
        t: int,
        penalty: BlockRegularizer,
        found: Solution,
    ) -> Solution:
        """Return the solution for a target by steps of another kind, from where it is.

        The path goes on from there.
        """
        known = found if np.isfinite(found.norms).all() else None
        problem = replace(self.many.problems[t], regularizer=penalty)
        found = continued(found, solve(problem, known, self.callback))
        self.many.eta[:, t] = found.norms / penalty.alpha
        self.many.evaluate(np.array([t]))
        self.stopped |= found.status is Status.STOPPED
        return found
