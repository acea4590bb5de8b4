"""lp-norm multiple kernel learning by Newton steps, interleaved with a machine."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import Expansion, expand, model_of_multiples
from multikernel.certificates.incumbent import Incumbent
from multikernel.machines import MachineFit
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers.base import BlockRegularizer
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm, p_norm
from multikernel.solvers.base import PathSolver, incumbents
from multikernel.solvers.lp.inner_ball import InnerBall, best_share, between
from multikernel.solvers.lp.thinning import thin
from multikernel.solvers.machine_runs import (
    CACHE_BYTES,
    FIRST_GAP,
    FLOOR,
    changing_samples,
    feasible,
    fit_machine,
    machine_for_gap,
    problem_on,
    reason_against,
)


@dataclass(frozen=True)
class Settings:
    """Tuning constants of Newton steps, and of the `InnerBall` of each step."""

    smoothest: float = 0.6
    sharpest: float = 1e-9
    """Largest and smallest P - 1 for the exponent P of a ball, if p - 1 is smaller. A
    cold start uses the largest value, a warm start its gap."""

    sharpening: float = 0.5
    softening: float = 5.0
    """Factors of P - 1 after a long and a short step. After a long step, P - 1 is at
    least `sharpening` times the gap."""

    short: float = 0.5
    """A step below this share of the full step shows that the quadratic model fails."""

    most_steps: tuple[int, int, int] = (500, 100, 200_000)
    """SMO on n samples makes at most 500 n or 100 n + 200 000 steps, whichever is less:
    it needs more only if the ball is unsuitable or the kernels' scales differ a lot."""

    vanished: float = 1e-10
    """Share of the largest weight below which the quadratic model ignores a weight."""

    failures: int = 2
    in_vain: float = 0.99
    """A step is progress if it multiplies the gap by at most `in_vain`. After
    `failures` short steps in a row without progress, steps use no quadratic model."""

    quick: float = 0.5
    """Steps without the model continue while the gap falls to this share in each."""

    patience: int = 20
    progress: float = 0.01
    """The solver stops after `patience` steps that reduce the gap by less than the
    share `progress`: the ball may have to change several times before the gap falls."""


SETTINGS = Settings()


@dataclass(frozen=True)
class InterleavedNewton(PathSolver):
    r"""lp-norm multiple kernel learning: Newton steps interleaved with a machine.

    For strength alpha, maximizes over dual points rho :math:`-\sum_i \ell^*(y_i,
    -\rho_i) - \frac{1}{2 \alpha} \max_{\theta \ge 0, \|\theta\|_p \le 1} \sum_m
    \theta_m \rho^\top K_m \rho`. The maximum over the kernel weights theta is
    homogeneous of degree two, so its quadratic model at rho is that of a machine with
    one kernel: the combined kernel plus a low-rank term for the response of theta.
    After a short run of the machine and an exact line search along :math:`\delta\rho`,
    :math:`\log \theta_m` grows by :math:`\frac{1}{p - 1} (2 \rho^\top K_m \delta\rho /
    \rho^\top K_m \rho - c)`, where c normalizes theta. Kloft et al. (NIPS 22, 2009,
    section 2.4.1) take this step at fixed block norms and converge linearly; this
    method converges quadratically. For p near 1, smooth balls inside the p-ball take
    the place of the p-ball (`inner_ball`). A step costs at most two passes and
    certifies the relative duality gap.
    """

    tol: float = 1e-3
    max_iter: int = 100
    cache_bytes: int = CACHE_BYTES  # limit for combined kernels that are not arrays

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
        return reason_against(problem, "InterleavedNewton")

    def follow(
        self,
        problem: Problem,
        regularizers: Iterable[BlockRegularizer],
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Iterator[Solution]:
        """Yield the solution for each penalty; see `PathSolver.follow`.

        A search starts at the previous result or, with another p, at the first result
        with the previous p. Penalties of equal p should be in a row, by falling alpha.
        """
        first: _NewtonState | None = None
        last: _NewtonState | None = None
        for incumbent in incumbents(
            self, problem, regularizers, callback, SETTINGS.patience, SETTINGS.progress
        ):
            search = _NewtonState(incumbent, self)
            if first is None or last is None:
                first = search
                search.start(init, incumbent.start(init))
            elif search.regularizer.p != last.regularizer.p:
                search.start_from_state(first)
                first = search
            else:
                search.start_from_state(last)
            last = search
            solution = incumbent.run(search.step, self.tol, self.max_iter)
            yield solution
            if solution.status is Status.STOPPED:
                return


@dataclass
class _NewtonState:
    """State of the solver for one penalty: dual point and center of an `InnerBall`."""

    incumbent: Incumbent
    settings: InterleavedNewton
    point: Expansion = field(init=False)  # the dual point, with all K_m rho
    center: Array = field(init=False)  # kernel weights of p-norm one, all positive
    excess: float = SETTINGS.smoothest  # balls have the exponent max(p, 1 + excess)
    solved: bool = True  # whether the last run of the machine converged
    failed: int = 0  # number of consecutive short steps without progress
    made_no_progress: bool = False  # whether the last step hardly reduced the gap

    @property
    def problem(self) -> Problem:
        """The problem, with the penalty of this state."""
        return self.incumbent.problem

    @property
    def regularizer(self) -> SquaredBlockNorm:
        """The penalty, whose type `unsupported` has checked."""
        regularizer = self.problem.regularizer
        assert isinstance(regularizer, SquaredBlockNorm)
        return regularizer

    def start(self, init: Solution | None, expansion: Expansion | None) -> None:
        """Start at zero with equal weights, or at a solution and its dual point."""
        y, n_kernels = self.problem.y, self.problem.gram.shape[0]
        weights = np.ones(n_kernels)
        if expansion is None:
            images = np.zeros((n_kernels, y.size))
            expansion = Expansion(np.zeros_like(y), images, np.zeros(n_kernels))
        elif init is not None and init.kernel_weights.any():
            weights = init.kernel_weights
            self.excess = min(self.excess, self.incumbent.gap)
        self.point = expansion
        self._center_at(weights)

    def start_from_state(self, other: "_NewtonState") -> None:
        """Start at the last point of `other`, the state for another penalty."""
        if not other.point.forms.any():
            self.start(None, self.incumbent.start(None))
            return
        # `carry` offers the last model and rescales the dual point for this penalty.
        incumbent, p = self.incumbent, self.regularizer.p
        self.point = incumbent.carry(other.incumbent.model, other.point)
        self._center_at(other.center)
        if self.point.forms.any():
            ball = InnerBall(self.regularizer, self.center, max(p, 1.0 + self.excess))
            self._offer([self.center, ball.respond(self.point.forms)])
        incumbent.record()
        self.excess = min(self.excess, incumbent.gap)

    def _center_at(self, weights: Array) -> None:
        """Move the center of the ball to some weights, scaled to p-norm one."""
        # Weights stay positive, so that a kernel can return.
        floored = np.maximum(weights, 1e-12 * weights.max())
        self.center = floored / p_norm(floored, self.regularizer.p)

    def step(self) -> None:
        """Make one Newton step, and certify the new point."""
        if self.failed >= SETTINGS.failures:
            self._step_at_center()
            return
        incumbent, old, p = self.incumbent, self.point, self.regularizer.p
        ball = InnerBall(self.regularizer, self.center, max(p, 1.0 + self.excess))
        weights = ball.respond(old.forms) if old.forms.any() else self.center
        new = self._solve_model(ball, weights)
        share = best_share(self.problem, ball, old, new)
        self.point = between(self.problem, old, new, share)
        gap = incumbent.gap
        best = self._offer(self._candidates(ball, old, weights))
        # If rho is far from the optimum over this ball, the ball's response gives
        # extreme weights. A short step therefore moves rho only, and keeps the center.
        if share >= SETTINGS.short:
            self._center_at(best)
        if ball.exponent > p:
            self._raise_small_weights(0.1 * incumbent.gap)
        incumbent.offer_dual(self.point.rho, self.point.forms)
        if p == 1.0:
            thin(incumbent, self.settings.tol)
        factor = incumbent.gap / gap
        self.made_no_progress = factor > SETTINGS.in_vain
        in_vain = share < SETTINGS.short and self.made_no_progress
        self.failed = self.failed + 1 if in_vain else 0
        self._adapt(share)

    def _step_at_center(self) -> None:
        """Solve for rho at the center, then move the center to the best weights."""
        # Solving for rho and moving the center each decrease the objective, as in
        # `Alternating`, and need no quadratic model. The model of `step` may be
        # inaccurate, as for kernels of very different scales. These two moves then lead
        # to points at which the model is accurate again.
        incumbent, center, gap = self.incumbent, self.center, self.incumbent.gap
        self.point = point = self._solve_model(None, center)
        scaled = center / self.regularizer.alpha
        self._offer_multiples(scaled)
        if point.forms.any():
            # The block norm of a kernel of weight w is w * sqrt(form). Weights decrease
            # at most to `FLOOR` times the old ones, because zero weights stay zero.
            weights = self.regularizer.kernel_weights(scaled * np.sqrt(point.forms))
            self._center_at(np.maximum(weights, FLOOR * center))
        incumbent.offer_dual(point.rho, point.forms)
        factor = incumbent.gap / gap
        self.made_no_progress = factor > SETTINGS.in_vain
        self.failed = SETTINGS.failures if factor <= SETTINGS.quick else 0

    def _raise_small_weights(self, mass: float) -> None:
        """Raise the weights of kernels with large quadratic forms to a lower limit."""
        # Steps multiply weights, so a tiny weight would grow slowly. The lower limit is
        # the share `mass` of the sum of all weights, divided by the number of kernels
        # with large forms.
        forms, center = self.point.forms, self.center
        has_large_form = forms > float(center @ forms) / float(center.sum())
        if has_large_form.any():
            least = mass * float(center.sum()) / np.count_nonzero(has_large_form)
            self._center_at(np.where(has_large_form, np.maximum(center, least), center))

    def _adapt(self, share: float) -> None:
        """Increase the ball's exponent after a failed or short step, else reduce it."""
        # The exponent is max(p, 1 + excess); a larger one makes the ball smoother.
        # `share` is the accepted share of the step.
        if share < SETTINGS.short or not self.solved:
            softer = SETTINGS.softening * self.excess
            self.excess = min(SETTINGS.smoothest, softer)
        else:
            sharper = SETTINGS.sharpening * max(self.excess, self.incumbent.gap)
            self.excess = min(self.excess, max(sharper, SETTINGS.sharpest))

    def _solve_model(self, ball: InnerBall | None, weights: Array) -> Expansion:
        """Return the quadratic model's maximizer; without a ball, weights are fixed."""
        problem, incumbent, point = self.problem, self.incumbent, self.point
        # Kernels with vanishing weights would cost a pass and hardly change the model.
        weights = np.where(weights > SETTINGS.vanished * weights.max(), weights, 0.0)
        alpha, b = self.regularizer.alpha, incumbent.model.intercept
        f = point.decision_values(weights / alpha) + b
        gap, objective = min(incumbent.gap, FIRST_GAP), incumbent.model.objective
        few, many, fixed = SETTINGS.most_steps
        most = min(few * f.size, many * f.size + fixed)
        cache_bytes = self.settings.cache_bytes
        machine = machine_for_gap(problem, gap, objective, cache_bytes, most)
        # The selection of samples depends on the intercept, which is that of the best
        # model. After a step without progress, all samples are used.
        samples = np.arange(f.size)
        if not self.made_no_progress:
            samples = changing_samples(problem, point.rho, f)
        part = problem_on(problem, samples)
        matrix = part.gram.combine(weights / alpha)
        # The quadratic model of the dual belongs to a machine with the combined kernel
        # plus U U^T / alpha, where U is the response of the kernel weights to rho.
        if ball is not None:
            images = point.images[:, samples]
            factor = ball.curvature_factor(images, point.forms, weights)
            matrix = matrix.plus(factor / np.sqrt(alpha))
        start = MachineFit(point.rho[samples], b, f[samples], np.nan, 0, False)
        fit = fit_machine(machine, part, matrix, start)
        self.solved = fit.converged
        incumbent.recorder.inner_steps += fit.n_steps
        rho = np.zeros_like(point.rho)
        rho[samples] = feasible(part, matrix, fit)[0]
        return expand(problem.gram, rho)

    def _candidates(
        self, ball: InnerBall, old: Expansion, weights: Array
    ) -> list[Array]:
        """Return candidates for kernel weights at `self.point`, before scaling."""
        # The candidates are the Newton step on log(weights), exact to second order, and
        # the weights that maximize weights^T forms. Zero forms determine no weights.
        point = self.point
        candidates = [ball.follow(old, point, weights)] if old.forms.any() else []
        if point.forms.any() or not candidates:
            answer = ball.respond(point.forms) if point.forms.any() else self.center
            candidates.append(answer)
        return candidates

    def _offer(self, candidates: Sequence[Array]) -> Array:
        """Offer a model for each candidate; return the one of the lowest objective."""
        # Models are offered to the incumbent. They have the weights of the candidates,
        # scaled to p-norm one.
        p, alpha = self.regularizer.p, self.regularizer.alpha
        best, lowest = self.center, np.inf
        for candidate in candidates:
            weights = candidate / p_norm(candidate, p)
            if p == 1.0:
                least = SETTINGS.vanished * weights.max()
                weights = np.where(weights > least, weights, 0.0)
            objective = self._offer_multiples(weights / alpha)
            if objective < lowest:
                best, lowest = candidate, objective
        return best

    def _offer_multiples(self, weights: Array) -> float:
        """Offer the model with the terms weights[m] K_m rho; return its objective."""
        point, f = self.point, self.point.decision_values(weights)
        model = model_of_multiples(self.problem, point.rho, weights, point.forms, f)
        return self.incumbent.offer(model)
