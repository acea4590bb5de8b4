"""Start for piecewise linear losses: Newton's method in the weights, with a machine.

A machine is a learner for one kernel. With the kernel sum_m eta_m K_m, for weights eta,
it gives a dual point rho and f_m = eta_m K_m rho. Let q_m = rho^T K_m rho. At the
optimum, the dual norm sqrt(q_m) is the slope of the penalty if eta_m > 0. The elastic
net l |f_m| + c |f_m|^2 / 2 has the slope l / (1 - c eta_m) there, whose inverse is
linear in eta_m. As in `newton`, a step d solves the complementarity problem

    0 <= eta + d  and  (l H + diag(c q^(3/2))) d - q (sqrt(q) (1 - c eta) - l) >= 0,

one being zero for each kernel. H is the matrix of `newton` on the samples at no bound
or kink.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import (
    Expansion,
    Model,
    expand,
    model_of_multiples,
    relative_gap,
    scaled_dual_value,
)
from multikernel.linalg import TINY
from multikernel.losses.base import is_polyhedral
from multikernel.machines import MachineFit
from multikernel.problem import Problem, half_range
from multikernel.regularizers.base import ProximableRegularizer
from multikernel.solvers.machine_runs import (
    FIRST_GAP,
    changing_samples,
    fit_machine,
    machine_for_gap,
    problem_on,
    weight_hessian,
)
from multikernel.solvers.spicy.newton import nonnegative_step
from multikernel.solvers.spicy.settings import SETTINGS


def has_quick_machines(problem: Problem) -> bool:
    """Return whether support vector machines find a start faster than a barrier."""
    # Machines are faster if kernels are stored as arrays, there is one output, and the
    # conjugate is linear on either side of zero. For the hinge and the
    # epsilon-insensitive loss, machines reach a gap of 1e-3 in 0.23 to 0.5 of the
    # barrier's time with 30 to 600 samples and 5 to 60 kernels, and in 0.74 to 0.82 of
    # it for three other sizes.
    gram, y, loss = problem.gram, problem.y, problem.loss
    has_arrays = gram.in_memory and gram.tall_form() is None
    if not (has_arrays and y.ndim == 1 and is_polyhedral(loss)):
        return False
    signs = loss.dual_pieces(y)[0]  # (n_pieces, n_samples), of u on each piece
    n_per_side = np.maximum((signs > 0.0).sum(axis=0), (signs < 0.0).sum(axis=0))
    return int(n_per_side.max()) <= 1


def weighted_sums(
    problem: Problem, regularizer: ProximableRegularizer, kernels: Indices, tol: float
) -> tuple[Array, Array, int]:
    """Run machines on weighted sums of the kernels, and improve the weights.

    Return the best dual point rho, the weights of the terms K_m rho, and the number of
    machines that ran.
    """
    # After each run of a machine, the weights of the kernels change, until the gap is
    # at most `tol` or three runs in a row make no progress. No kernel of the problem is
    # zero; `kernels` are the original indices of these kernels, for error messages. The
    # best rho is feasible for the loss and the intercept.
    gram, y, (n_kernels, n_samples, _) = problem.gram, problem.y, problem.gram.shape
    search = WeightSearch(regularizer, gram.traces())
    # With these weights, the mean diagonal entry of the weighted sum of the kernels is
    # half the range of the targets, unless `largest` limits the weights.
    weights = half_range(y) * n_samples / (n_kernels * search.traces)
    weights = np.minimum(weights, search.largest)
    rho, f, no_weights = np.zeros_like(y), np.zeros_like(y), np.zeros(n_kernels)
    model = model_of_multiples(problem, rho, no_weights, no_weights, f)
    best, lowest, in_vain, count = (rho, weights), 1.0, 0, 0
    # Machines reach this limit if few dual variables are at bounds or kinks.
    max_steps = 20 * n_samples
    while in_vain < 3:
        f, b = f + model.intercept, model.intercept
        samples = np.arange(n_samples) if in_vain else changing_samples(problem, rho, f)
        part = problem_on(problem, samples)
        matrix = part.gram.combine(weights)
        machine = machine_for_gap(
            problem, min(lowest, FIRST_GAP), model.objective, max_steps=max_steps
        )
        start = MachineFit(rho[samples], b, f[samples], np.nan, 0, False)
        fit = fit_machine(machine, part, matrix, start, kernels)
        rho, count = np.zeros_like(y), count + 1
        rho[samples] = fit.dual
        point, model, gap = _evaluated(problem, rho, weights, kernels)
        # Far from the optimum all gaps are near one, so gap / (1 - gap) is compared.
        goal = gap * (1.0 - lowest)
        gained = fit.converged and goal < 0.9 * lowest * (1.0 - gap)
        in_vain = 0 if gained else in_vain + 1
        if gap < lowest:
            best, lowest = (rho, weights), gap
        if gap <= tol:
            break
        images = point.images[:, samples]
        hessian = partial(weight_hessian, part, matrix, fit.dual, images)
        try:
            weights = search.moved(weights, np.sqrt(point.forms), hessian)
        except (RuntimeError, ValueError):
            break  # Rounding prevents any step
        f = point.decision_values(weights)
    return *best, count


def _evaluated(
    problem: Problem, rho: Array, weights: Array, kernels: Indices
) -> tuple[Expansion, Model, float]:
    """Return the expansion of a dual point, the model for weights, and its gap."""
    point = expand(problem.gram, rho, kernels)
    f = point.decision_values(weights)
    model = model_of_multiples(problem, rho, weights, point.forms, f)
    sizes = np.sqrt(point.forms)
    _, dual = scaled_dual_value(problem, rho, model.norms, sizes)
    return point, model, relative_gap(model.objective, dual)


@dataclass(frozen=True, eq=False)
class WeightStep:
    """Step in the weights: a `change` from a `start`."""

    # From these fields and the next dual norms, `WeightSearch.moved` computes whether
    # the step was too long.

    start: Array
    change: Array
    cubes: Array  # cubes of the dual norms at the start
    level: float  # the threshold l for which the change was computed
    slope: float  # change @ right-hand side of Newton's equations, positive


@dataclass
class WeightSearch:
    """Newton's method in kernel weights; a step that is far too long is shortened."""

    regularizer: ProximableRegularizer  # elastic net or block 1-norm
    traces: Array  # of the kernels
    _last: WeightStep | None = None

    @property
    def bend(self) -> float:
        """The constant c of the penalty l |f_m| + c |f_m|^2 / 2 of a kernel."""
        return self.regularizer.alpha - self.regularizer.threshold

    @property
    def largest(self) -> float:
        """The weight at which the slope of the penalty becomes infinite."""
        return 1.0 / self.bend if self.bend > 0.0 else np.inf

    # Steps that overflow are abandoned.
    @np.errstate(all="ignore")
    def moved(
        self, weights: Array, sizes: Array, hessian: Callable[[], Array]
    ) -> Array:
        """Return the next weights; `sizes` are the dual norms at `weights`."""
        # `hessian` computes the matrix H at `weights`, which are eta. The penalty of a
        # kernel is l |f_m| + c |f_m|^2 / 2, where c is `bend`. At the optimum, sizes *
        # room = l if eta > 0, with `room` = 1 - c eta.
        room = 1.0 - self.bend * weights
        # `end_slope` estimates the slope of the objective along the last step, at its
        # end; at its start the slope was -`last.slope`.
        last, end_slope = self._last, 0.0
        if last is not None:
            excess = last.level / np.maximum(sizes, TINY) - room
            end_slope = float((last.cubes * last.change) @ excess)
        if last is not None and end_slope > last.slope:
            # The step was more than twice as long as the best one: interpolate, since
            # slopes are nearly linear.
            share = last.slope / (last.slope + end_slope)
            self._last = step = replace(last, change=share * last.change)
        else:
            self._last = step = self._newton(weights, sizes, room, hessian())
        moved = np.clip(step.start + step.change, 0.0, self.largest)
        if not np.isfinite(moved).all():
            raise np.linalg.LinAlgError(
                "Newton's step is not finite: scale the Gram matrices down."
            )
        return moved

    def _newton(
        self, weights: Array, sizes: Array, room: Array, hessian: Array
    ) -> WeightStep:
        """Return Newton's step from `weights`; `sizes` are the dual norms there."""
        # The penalty is l |f_m| + c |f_m|^2 / 2, and q_m = rho^T K_m rho. For weights
        # eta, `sizes` are sqrt(q), `room` is 1 - c eta, and `level` is l. At the
        # optimum, sizes * room = l if eta > 0. The step d solves (l H + diag(c
        # q^(3/2))) d = pull with eta + d >= 0, in the sense of complementarity. Far
        # from the optimum, a step to the penalty's threshold often fails. So `level` is
        # at least the share `stride` of the largest entry of sizes * room.
        nearest = SETTINGS.stride * float((sizes * room).max())
        level = max(self.regularizer.threshold, nearest)
        pull = sizes**2 * (sizes * room - level)
        # Scale the weights so that kernels of all scales are comparable.
        units = self.traces
        shares = weights * units
        system = level * hessian + np.diag(self.bend * sizes**3)
        system /= np.outer(units, units)
        # If a kernel were alone and no sample at a bound or kink, its curvature would
        # be q / eta. If almost all samples are at bounds or kinks, H has almost no
        # curvature, but this holds for very short steps only. So the curvature is set
        # to at least 0.03 q / eta.
        lone_curvature = level * sizes**2 / (units * (shares + shares.mean()))
        diagonal = np.maximum(system.diagonal(), 0.03 * lone_curvature)
        np.fill_diagonal(system, diagonal)
        change = nonnegative_step(system, pull / units, shares)
        # The step multiplies the sum of the scaled weights by at most 11 and at least
        # one tenth.
        total = float(change.sum())
        most = (10.0 if total > 0.0 else 0.9) * float(shares.sum())
        change *= min(1.0, most / max(abs(total), TINY)) / units
        return WeightStep(weights, change, sizes**3, level, float(pull @ change))
