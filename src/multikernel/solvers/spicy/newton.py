"""Newton's method in the weights, for one target or many with separate selections.

The penalty alpha |f_m| is the minimum of (|f_m|^2 / eta_m + alpha^2 eta_m) / 2 over
weights eta_m >= 0. So the second-order model of the problem of one target around
decision values F (`point`) is, for fixed weights, kernel ridge regression with
intercept b:

    rho = A^-1 (z - b),  A = D + sum_m eta_m K_m,  f_m = eta_m K_m rho,
    q_m = rho^T K_m rho,  z = F - D l'(F),  D the inverse curvatures of the loss at F.

At the optimum sqrt(q_m) = alpha if eta_m > 0, and at most alpha otherwise. Newton's
method is applied to 1 / sqrt(q_m) = 1 / alpha, nearly linear in eta, as in trust
regions (Conn, Gould, Toint 2000, Trust Region Methods, section 7.3). With H_lm = rho^T
K_l A^-1 K_m rho (projected for an intercept), a change d of the weights changes q by -2
H d. With row m multiplied by q_m^(3/2), a step solves the complementarity problem

    0 <= eta + d  and  H d - q (sqrt(q) / alpha - 1) >= 0,  one being zero,

in each row, and F becomes z - D (rho - A^-1 sum_m d_m K_m rho): weights and decision
values move together. Steps far from the optimum aim at strengths above alpha. Module
`spans` uses small spaces of dual points for the squared loss.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs
from scipy.optimize import nnls

from multikernel._typing import Array, Indices, Mask
from multikernel.certificates import (
    ORDINARY,
    best_intercepts,
    evaluate_multiples,
    gap_of,
)
from multikernel.certificates.evaluation import decision_values
from multikernel.certificates.progress import Patience, Recorder
from multikernel.gram.factors.low_rank import low_rank_form
from multikernel.linalg.shifted import DiagonalRoot, Root, factor_root
from multikernel.losses.base import SmoothConjugateLoss
from multikernel.losses.weighted import is_squared
from multikernel.problem import (
    Callback,
    Problem,
    Progress,
    Solution,
    Status,
    published_intercept,
)
from multikernel.regularizers.base import BlockRegularizer, kernel_weights
from multikernel.regularizers.block_l1 import BlockL1Each
from multikernel.solvers.base import continued
from multikernel.solvers.spicy.settings import SETTINGS


@dataclass(frozen=True, eq=False)
class Tangent:
    """Derivatives of a target's forms q and decision values F by kernel weights."""

    # The kernels with a positive weight or a dual norm near alpha; the next step
    # changes their weights.
    kernels: Indices
    curvature: Array  # H, with the entries rho^T K_l A^-1 K_m rho
    # The columns R^-1 K_m rho, minus the part that an intercept absorbs, if the root R
    # of A is stored; otherwise the derivatives of F by the weights, D A^-1 K_m rho.
    # None for the squared loss, because its second-order model is exact around any F.
    columns: Array | None
    root: Root | None

    def move(self, total: Array) -> Array:
        """Return the change of F, given the sum of `columns` times weight changes."""
        if self.root is None:
            return total
        return self.root.rest(total[:, None])[:, 0] / self.root.scale**2


class NewtonState:
    """State of many targets, with Newton's steps in their kernel weights."""

    # A fit of one problem has one target; paths of several problems share a state.
    def __init__(self, problems: Sequence[Problem]) -> None:
        # Callers have checked the problems by `newton_for` and centered their targets.
        # Penalties of the problems are not used: strengths are arguments of methods.
        first, n_targets = problems[0], len(problems)
        self.problems, self.gram = problems, first.gram
        self.has_intercept = first.fit_intercept
        self.loss = cast(SmoothConjugateLoss, first.loss)
        self.quadratic = is_squared(first.loss)
        self.y = np.stack([problem.y for problem in problems], axis=1)
        self.offset = np.array([float(np.sum(p.offset)) for p in problems])
        n_kernels, n_samples, _ = self.gram.shape
        # Kernel weights, quadratic forms of `rho`, and block norms.
        self.eta, self.forms, self.norms = np.zeros((3, n_kernels, n_targets))
        # Dual points `rho`, which sum to zero if there is an intercept; `dual`, the
        # certified dual points; decision values f without intercepts.
        self.rho, self.dual, self.f = np.zeros((3, n_samples, n_targets))
        self.intercept, self.objective, self.gap = np.zeros((3, n_targets))
        # True for targets without a reliable certificate or without a next step.
        self.failed = np.zeros(n_targets, dtype=bool)
        self.factors = low_rank_form(self.gram)
        self.point = np.zeros_like(self.y)
        """Decision values at which the loss is expanded; first, the best constants."""
        if self.has_intercept and not self.quadratic:
            self.point += best_intercepts(self.loss, self.y, self.f)[0]
        self.tangents: dict[int, Tangent] = {}

    def start(self, t: int, solution: Solution, alpha: float) -> None:
        """Start target t at the model of a solution, with weights for `alpha`."""
        # At the optimum the weight of a kernel is its norm divided by alpha. The loss
        # is expanded at the decision values of the model or of its dual point, for each
        # sample at those with the larger curvature. Those of the dual point are much
        # too large if classes are separable; those of a model of more samples differ a
        # lot from the optimum.
        self.eta[:, t] = solution.norms / alpha
        if self.quadratic:
            return
        y, f = self.y[:, t], decision_values(self.problems[t], solution)
        zeros = np.zeros_like(f)
        with np.errstate(all="ignore"):
            f_of_dual = self.loss.conjugate_gradient(y, -solution.dual)
            if not self.loss.value(y, f).sum() <= self.loss.value(y, zeros).sum():
                # A model of other targets may be too far from the optimum for any step.
                f = np.where(np.isfinite(f_of_dual), f_of_dual, zeros)
            D = self._inverse_curvatures(y, f)
            is_nearer = self._inverse_curvatures(y, f_of_dual) < D
        self.point[:, t] = np.where(is_nearer, f_of_dual, f)

    def solve_ridge(self, targets: Indices, alphas: Array) -> None:
        """Compute dual points, decision values and quadratic forms of targets."""
        # The loss is replaced by its second-order model at the decision values `point`,
        # with inverse curvatures D. Its solution for the weights eta is rho = A^-1 (z -
        # b) with A = D + sum_m eta_m K_m = R R^T. `_solve` sets rho and returns R, or
        # None; `_store_tangent` stores derivatives by eta for `step`. The model of the
        # squared loss is exact at any point.
        n_at_once = max(1, SETTINGS.roots_bytes // (8 * len(self.y) ** 2))
        for start in range(0, targets.size, n_at_once):
            part = targets[start : start + n_at_once]
            point, y = self.point[:, part], self.y[:, part]
            slopes = self.loss.gradient(y, point)
            D = self.loss.conjugate_hessian(y, slopes)
            z = point - D * slopes
            roots = [
                self._solve(t, D[:, number], z[:, number])
                for number, t in enumerate(part)
            ]
            rho = self.rho[:, part]
            if self.has_intercept:  # rho sums to zero but for rounding.
                rho -= rho.sum(axis=0) / len(rho)
            images = self.gram.matvec(rho)
            self.rho[:, part] = rho
            if not self.quadratic:
                self.point[:, part] = z - D * rho
            self.f[:, part] = np.einsum("mit,mt->it", images, self.eta[:, part])
            self.forms[:, part] = np.einsum("mit,it->mt", images, rho)
            for number, (t, root) in enumerate(zip(part, roots, strict=True)):
                if root is not None:
                    self._store_tangent(t, *root, images[:, :, number], alphas[t])

    def _solve(self, t: int, D: Array, z: Array) -> tuple[Root, Array] | None:
        """Set the dual point of target t; return the root R, and R^-1 e / |R^-1 e|."""
        # R R^T is A = D + sum_m eta_m K_m, and e is a vector of ones. The result is
        # None if A has no root in double precision.
        # The dual point is rho = A^-1 (z - b): the root's `half` multiplies by R^-1,
        # and `rest` by R^-T. With an intercept, the component of R^-1 z along the unit
        # vector is removed, which makes rho sum to zero. A target without a root counts
        # as failed, and `WorkingSet` continues it.
        finite = np.isfinite(D).all()
        root = self._root(self.eta[:, t], D) if finite else None
        if root is None:
            self.failed[t] = True
            return None
        half, one = root.half(np.array([z, np.ones(len(z))]).T).T
        length = np.sqrt(one @ one)
        one /= length
        if self.has_intercept:
            self.intercept[t] = (one @ half) / length
            half = half - (one @ half) * one
        self.rho[:, t] = root.rest(half[:, None])[:, 0]
        return root, one

    def _root(self, eta: Array, D: Array) -> Root | None:
        """Return a root of D + sum_m eta_m K_m, or None if rounding prevents it."""
        # D is stored as its diagonal, the inverse curvatures of the loss.
        if not eta.any():  # A is diagonal.
            return DiagonalRoot(1.0 / np.sqrt(D))
        if self.factors is None:
            return self.gram.root(eta, D)
        self.gram.count(int(np.count_nonzero(eta)), len(D))
        weights = np.repeat(eta, self.factors.ranks)
        return factor_root(self.factors.factors, weights, D)

    def _store_tangent(
        self, t: int, root: Root, one: Array, images: Array, alpha: float
    ) -> None:
        """Store the `Tangent` at the dual point of target t, from images K_m rho."""
        near = self.forms[:, t] > (SETTINGS.nearly * alpha) ** 2
        kernels = np.flatnonzero((self.eta[:, t] > 0.0) | near)
        # The matrix H of all rho^T K_l A^-1 K_m rho, with A = R R^T, needs R^-1 K_m rho
        # only.
        halves = root.half(images[kernels].T)
        if self.has_intercept:
            halves = halves - one[:, None] * (one @ halves)
        columns: Array | None = halves
        stored_root: Root | None = root
        if self.quadratic:
            columns, stored_root = None, None
        elif 8 * self.y.size * len(self.y) > SETTINGS.roots_bytes:
            # The roots of all targets would take too much memory.
            columns = root.rest(halves) / root.scale[:, None] ** 2
            stored_root = None
        self.tangents[t] = Tangent(kernels, halves.T @ halves, columns, stored_root)

    @np.errstate(all="ignore")
    def step(self, targets: Indices, alphas: Array) -> None:
        """Take a step of Newton's method in the weights for some targets."""
        # At the optimum sqrt(q_m) = alpha for the quadratic forms q_m of all kernels
        # with eta_m > 0, so their `pull` is zero. The change d of the weights minimizes
        # d^T H d / 2 - pull^T d with eta + d >= 0.
        moves = np.zeros((len(self.y), targets.size))
        # Far from the optimum, a step to the strength alpha often fails. So a step aims
        # at least at the share `stride` of the largest dual norm.
        largest = np.sqrt(np.maximum(self.forms.max(axis=0), 0.0))
        alphas = np.maximum(alphas, SETTINGS.stride * largest)
        for number, t in enumerate(targets):
            tangent = self.tangents[t]
            kernels = tangent.kernels
            eta, q = self.eta[kernels, t], np.maximum(self.forms[kernels, t], 0.0)
            pull = q * (np.sqrt(q) / alphas[t] - 1.0)
            try:
                change = nonnegative_step(tangent.curvature, pull, eta)
            except (RuntimeError, ValueError):
                self.failed[t] = True  # Rounding prevents any step
                continue
            self.eta[kernels, t] = np.maximum(eta + change, 0.0)
            if tangent.columns is not None:
                moves[:, number] = tangent.move(tangent.columns @ change)
        if not self.quadratic:
            self._move(targets, moves)

    def _move(self, targets: Indices, moves: Array) -> None:
        """Move the points of the loss's models, less if curvatures change a lot."""
        y, point = self.y[:, targets], self.point[:, targets]
        D, end = self._inverse_curvatures(y, point), point + moves
        for _ in range(50):
            ratios = np.abs(np.log(self._inverse_curvatures(y, end) / D))
            too_far = ratios > np.log(SETTINGS.bend)
            if not too_far.any():
                break
            end = np.where(too_far.any(axis=0), 0.5 * (point + end), end)
        self.point[:, targets] = end

    def _inverse_curvatures(self, y: Array, f: Array) -> Array:
        """Return the inverse curvatures of the loss at decision values."""
        return self.loss.conjugate_hessian(y, self.loss.gradient(y, f))

    def certify(self, targets: Indices, alphas: Array) -> None:
        """Store the objectives, gaps, certified dual points and intercepts."""
        # `alphas` has the penalty strengths of all problems, not only of `targets`.
        problem = replace(
            self.problems[0],
            y=self.y[:, targets],
            regularizer=BlockL1Each(alphas[targets]),
            offset=self.offset[targets],
        )
        f, b = self.f[:, targets], self.intercept[targets]
        # For the squared loss, the stored intercepts are the best ones. For other
        # losses, two Newton steps take half the time of `best_intercepts`.
        if self.has_intercept and not self.quadratic:
            for _ in range(2):
                slopes = self.loss.gradient(problem.y, f + b)
                curvatures = 1.0 / self.loss.conjugate_hessian(problem.y, slopes)
                b = b - slopes.sum(axis=0) / curvatures.sum(axis=0)
        b = np.where(np.isfinite(b), b, self.intercept[targets])
        b = published_intercept(problem, b)
        rho, eta, forms = (a[:, targets] for a in (self.rho, self.eta, self.forms))
        evaluation = evaluate_multiples(problem, rho, eta, forms, f, b)
        worth, certificate, is_reliable = evaluation
        gap = gap_of(worth, certificate)
        self.norms[:, targets], self.dual[:, targets] = worth.norms, certificate.dual
        self.intercept[targets], self.objective[targets] = b, worth.objective
        # The solver for one target continues a failed target. If a kernel is
        # indefinite, that solver raises an error with the kernel's name.
        self.failed[targets] |= ~(is_reliable & (gap > -ORDINARY))
        self.gap[targets] = np.maximum(gap, 0.0)

    def solution(
        self, t: int, penalty: BlockRegularizer, status: Status, history: list[Progress]
    ) -> Solution:
        """Return the solution of target t, with this status and history."""
        norms = self.norms[:, t].copy()
        active = np.flatnonzero(norms)
        return Solution(
            kernel_weights=kernel_weights(penalty, norms),
            norms=norms,
            active=active,
            coefs=self.eta[active, t, None] * self.rho[:, t],
            intercept=self.intercept[t : t + 1] + self.problems[t].offset,
            dual=self.dual[:, t].copy(),
            objective=float(self.objective[t]),
            duality_gap=float(self.gap[t]),
            n_iter=len(history) - 1,
            status=status,
            history=tuple(history),
            steps=("newton_in_weights",),
        )


def nonnegative_step(H: Array, pull: Array, eta: Array) -> Array:
    """Return the d with eta + d >= 0 that minimizes d^T H d / 2 - pull^T d."""
    # With a root of H, this is nonnegative least squares in eta + d. A ValueError or a
    # RuntimeError means that rounding prevents any step.
    if not eta.size:
        return eta
    size = float(H.diagonal().max()) or 1.0
    # Equal kernels and zero kernels give no curvature along some directions.
    system = H / size
    system.ravel("K")[:: eta.size + 1] += SETTINGS.ridge
    root, info = dpotrf(system, lower=1)
    if info:
        raise np.linalg.LinAlgError(
            "The Hessian of Newton's step is not positive definite, because of "
            "rounding errors: scale the Gram matrices down."
        )
    # With H / size = R R^T, x = eta + d minimizes |R^T x - aims|^2 over x >= 0.
    aims = root.T @ eta + dtrtrs(root, pull / size, lower=1)[0]
    unit = float(np.abs(aims).max()) or 1.0
    return np.asarray(unit * nnls(root.T, aims / unit)[0] - eta)


@dataclass(eq=False)
class NewtonPath:
    """Path of strengths along which all targets are solved together."""

    state: NewtonState
    tol: float
    max_iter: int
    callback: Callback | None
    # The last solution of each target; before the first solve, its start.
    solved: list[Solution | None] = field(default_factory=list)
    stopped: bool = False
    _recorders: list[Recorder] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Targets whose point has not been evaluated yet.
        self.unevaluated = np.arange(len(self.state.problems))

    def begin(
        self,
        starts: Sequence[Solution | None],
        penalties: Sequence[BlockRegularizer | None],
    ) -> None:
        """Start each target at its entry of `starts`, or without kernels if None."""
        # `penalties` are those of the first step; None skips a target.
        self.solved = list(starts)
        for t, (start, penalty) in enumerate(zip(starts, penalties, strict=True)):
            if start is not None and penalty is not None:
                self.state.start(t, start, penalty.alpha)

    def solve(
        self, penalties: Sequence[BlockRegularizer | None]
    ) -> tuple[list[Solution | None], Indices]:
        """Return each target's solution, and the targets left to working sets.

        The solution is None for a target without a penalty. Working sets continue from
        the solutions of the targets that are left to them.
        """
        state = self.state
        alphas = np.array([1.0 if each is None else each.alpha for each in penalties])
        wanted = np.array([each is not None for each in penalties])
        going = np.flatnonzero(wanted)
        unevaluated = self.unevaluated[wanted[self.unevaluated]]
        self._recorders = [
            Recorder(self.callback, patience=Patience(SETTINGS.in_vain, share=0.0))
            for _ in penalties
        ]
        state.failed[:] = False
        most, rounds = min(self.max_iter, SETTINGS.most_together), 0
        # A round is `solve_ridge`, `certify`, `step`. A target ends when its gap is at
        # most `tol`, or when it fails: rounding prevents any step, or its gap has not
        # decreased for some rounds (`patience`).
        while True:
            with np.errstate(all="ignore"):  # A gap of NaN counts as not solved.
                state.solve_ridge(unevaluated, alphas)
                state.certify(going, alphas)
            for t in unevaluated:
                active = np.count_nonzero(state.eta[:, t])
                self._recorders[t].meter.add(1.0 + active / len(state.eta))
            self._record(going, rounds)
            going = going[(state.gap[going] > self.tol) & ~state.failed[going]]
            if self.stopped or not going.size or rounds == most:
                break
            state.step(going, alphas)
            unevaluated, rounds = going, rounds + 1
        self.unevaluated = np.empty(0, dtype=np.intp)
        done = wanted & (state.gap <= self.tol) & ~state.failed
        may_go_on = state.failed | ((rounds < self.max_iter) & (not self.stopped))
        # The caller continues targets with working sets if they are not solved, and if
        # they have failed or have iterations left.
        unsolved = np.flatnonzero(wanted & ~done & may_go_on)
        return self._solutions(penalties, done), unsolved

    def _record(self, unsolved: Indices, rounds: int) -> None:
        """Add a line to each history; set `failed` for targets without progress."""
        state = self.state
        for t in unsolved.tolist():
            recorder, gap = self._recorders[t], float(state.gap[t])
            recorder.inner_steps = rounds
            n_active = int(np.count_nonzero(state.norms[:, t]))
            self.stopped |= recorder.add(float(state.objective[t]), gap, n_active)
            recorder.patience.note(gap)
            state.failed[t] |= gap > self.tol and recorder.patience.exhausted

    def _solutions(
        self, penalties: Sequence[BlockRegularizer | None], done: Mask
    ) -> list[Solution | None]:
        """Return each target's solution, None for targets without a penalty."""
        # Targets in the mask `done` have converged. Their solutions are also stored in
        # `solved`, where later solves start.
        early = Status.STOPPED if self.stopped else Status.MAX_ITER
        solutions: list[Solution | None] = [None] * len(penalties)
        for t, penalty in enumerate(penalties):
            if penalty is None:
                continue
            status = Status.CONVERGED if done[t] else early
            history = self._recorders[t].history
            solutions[t] = self.state.solution(t, penalty, status, history)
            if done[t]:
                self.solved[t] = solutions[t]
        return solutions

    def finish_target(
        self,
        follow: Callable[..., Iterator[Solution]],
        t: int,
        penalty: BlockRegularizer,
        solution: Solution,
    ) -> Solution:
        """Return the solution for target t by `follow`, the working-set solver."""
        # Start at the target's own solution, or where that solution started if the gap
        # was smaller there.
        nearer = solution.duality_gap < solution.history[0].duality_gap
        start = solution if nearer else self.solved[t]
        # A failed target has no model yet, and needs one even if the callback has
        # stopped the path. In this case, `follow` still runs until it first reports a
        # model to `watch`, which stops it.
        watch = (lambda _: True) if self.stopped else self.callback
        problem = self.state.problems[t]
        solution = continued(solution, next(follow(problem, [penalty], start, watch)))
        # The path continues from the new solution.
        self.state.start(t, solution, penalty.alpha)
        self.unevaluated = np.append(self.unevaluated, t)
        self.stopped |= solution.status is Status.STOPPED
        self.solved[t] = solution
        return solution
