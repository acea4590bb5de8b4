"""SpicyMKL's algorithm: Table 1 of the paper, on the kernels of a working set.

The paper is Suzuki, Tomioka (2009), METR 2009-45. In its symbols, alpha_m are the
coefficients of f_m = K_m alpha_m, b is the intercept, rho the dual point, Omega the
penalty, l* the conjugate of the loss, gamma the parameter of the augmented Lagrangian,
v_m = alpha_m + gamma rho, and ST(v_m) = v_m t_m / |v_m| with t_m = prox_{gamma
Omega}(|v_m|), in the norm of K_m (soft threshold for the block 1-norm). Then

1. choose a gamma, and let it grow, which makes convergence super-linear;
2. minimize over rho with sum zero, by Newton's method (eqs. 7 to 9),
   phi(rho) = sum_i l*(y_i, -rho_i)
   + sum_m ((|v_m| t_m - t_m^2 / 2) / gamma - Omega(t_m)), eq. 7 for any separable prox;
3. update alpha_m to ST(v_m) (eq. 5). The intercept b, the multiplier of the constraint
   on the sum of rho, is part of each Newton step (limit gamma_b -> infinity of eq. 6);
4. repeat 2 and 3 until the duality gap is small enough.

Module `sides` represents the first sum of phi, module `kernels` the second.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import check_forms, scaled_dual_value
from multikernel.linalg import EPS, TINY
from multikernel.linalg.tables import per_kernel
from multikernel.problem import Problem
from multikernel.regularizers.base import ProximableRegularizer
from multikernel.solvers.spicy.kernels import (
    KernelSpaces,
    QuadraticModel,
    kernel_spaces,
)
from multikernel.solvers.spicy.settings import SETTINGS
from multikernel.solvers.spicy.sides import Side


class Measure(NamedTuple):
    """Objective and gap of an iterate on its working set."""

    primal: float
    gap: float  # relative, with the dual point scaled to feasibility
    # The part of the relative gap that comes from rho alone: the sum of
    # l(f) + l*(-rho) + rho f, which is zero where rho minimizes phi.
    fenchel: float


@dataclass
class AugmentedLagrangian:
    """State of the algorithm on the kernels of a working set."""

    problem: Problem
    kernels: Indices  # indices among all kernels, for messages
    side: Side  # the loss in Newton's method, with the dual point rho
    alpha: Array  # expansions, (n_kernels, expansion_length(gram)[, n_outputs])
    b: Array  # the intercept
    gamma: float  # the penalty parameter
    newton_steps: int = 0
    # Whether Newton's method has failed for every gamma large enough to change v.
    stuck: bool = False
    _spaces: KernelSpaces = field(init=False)
    _alpha_images: Array = field(init=False)
    _rho_images: Array = field(init=False)
    # All v_m, their images K_m v_m and their norms; the norms of ST(v_m), their ratios
    # to the norms of v_m, and the decision values without the intercept.
    _v: Array = field(init=False)
    _v_images: Array = field(init=False)
    _sizes: Array = field(init=False)
    _norms: Array = field(init=False)
    _shares: Array = field(init=False)
    _values: Array = field(init=False)

    def __post_init__(self) -> None:
        self._spaces = kernel_spaces(self.problem.gram)
        self._alpha_images = self._spaces.images_of_each(self.alpha)
        self._rho_images = self._spaces.images(self.side.rho)
        self._compute_threshold()

    @property
    def _regularizer(self) -> ProximableRegularizer:
        """The penalty, cast to the type that `unsupported` has checked."""
        return cast(ProximableRegularizer, self.problem.regularizer)

    # Steps and trial lengths that overflow are abandoned.
    @np.errstate(over="ignore", invalid="ignore")
    def solve(self, target: float, gap: float, primal: float) -> None:
        """Minimize over rho and update expansions until the gap is at most `target`."""
        # A round minimizes phi over rho (`_minimize`), sets the expansions to the soft
        # threshold of alpha + gamma rho (`_update`), and increases gamma. If Newton's
        # method fails, `_recover` continues with a more robust side or a smaller gamma.
        # `gap` and `primal` are the duality gap and the objective at the start. All
        # gaps are relative. The final gap is above `target` only if rounding prevents a
        # smaller gap.
        retreats, growth = 0, SETTINGS.growth
        while retreats <= 6:  # limits the decrease of gamma
            self.side.lower_barrier(SETTINGS.inner_share * gap * primal)
            start = copy(self.side), self.b
            measure = self._minimize(target)
            if measure is None:
                retreats += 1
                growth **= 0.5  # otherwise the next gamma may equal the failed one
                self._recover(start, primal)
                if self.stuck:
                    return
                continue
            self._update()
            if measure.gap <= target:
                return
            self.gamma *= growth
            gap, primal = min(gap, measure.gap), measure.primal
            self._compute_threshold()

    def _minimize(self, target: float) -> Measure | None:
        """Minimize phi over rho by Newton's method; return None if it fails."""
        # Stop early if the relative gap of the working set is at most `target`.
        for _ in range(30):  # A good run takes up to ten steps.
            try:
                self._newton_step()
            except np.linalg.LinAlgError:
                return None
            measure = self.measure()
            allowed = max(
                SETTINGS.inner_share * measure.gap,
                1.5 * self.side.slack() / max(abs(measure.primal), TINY),
            )
            if measure.gap <= target or measure.fenchel <= allowed:
                return measure
        return None

    def _update(self) -> None:
        """Set each alpha_m to ST(v_m) = share_m v_m, the soft threshold (eq. 5)."""
        self.alpha = per_kernel(self._shares, self._v)
        self._alpha_images = self._spaces.scaled(self._v_images, self._shares)

    def _newton_step(self) -> None:
        """Take a Newton step in rho (eqs. 8 and 9), with a line search along it."""
        self.newton_steps += 1
        # The Hessian of the kernels' term of phi is sum_m w_m K_m + b_m^2 (K_m v_m)
        # (K_m v_m)^T, with w_m = gamma |ST(v_m)| / |v_m| (`_shares`).
        hessian = self._spaces.hessian(
            self.gamma * self._shares, self._bends(), self._v_images
        )
        excess = self.side.rho.sum(axis=0) if self.problem.fit_intercept else None
        model = QuadraticModel(hessian, self.decision_values(), excess)
        step, shift = self.side.newton(model)
        step_images = self._spaces.images(step)
        forms = self._spaces.inner(step_images, step, step_images)
        if not np.isfinite(forms).all():
            raise np.linalg.LinAlgError(
                "Newton's step is not finite: scale the Gram matrices down."
            )
        self._search(step, step_images, forms)
        self.b = self.b + shift
        self._compute_threshold()

    def _bends(self) -> Array:
        """Return the factors b_m of the rank-one terms of the Hessian (eq. 9)."""
        bends, active = np.zeros_like(self._shares), self._shares > 0.0
        sizes, shares = self._sizes[active], self._shares[active]
        slopes = self._regularizer.prox_derivative(sizes, self.gamma)
        bends[active] = np.sqrt(self.gamma * np.maximum(slopes - shares, 0.0)) / sizes
        return bends

    def _search(self, step: Array, step_images: Array, forms: Array) -> None:
        """Move rho along a step to a point where the objective has a small slope."""
        # Norms along the line are roots of quadratics, so a trial costs O(n_samples +
        # n_kernels). Slopes are compared because differences of values are only
        # rounding near the solution.
        gamma = self.gamma
        constant = self._sizes**2
        # |v_m|^2 at the length t is constant + gamma t (2 linear + t square). `linear`
        # and `square` omit the common factor gamma, which may be too small to divide by
        # if targets are small.
        linear = self._spaces.inner(self._v_images, step, step_images)
        square = gamma * np.maximum(forms, 0.0)
        offset = float(np.sum(self.b * step.sum(axis=0)))

        def slope(length: float) -> float:
            """Return the derivative of phi after a step of this length."""
            # With v_m after the step and t_m = prox(|v_m|), it is the slope of the side
            # plus sum_m (t_m / |v_m|) <v_m, step> in K_m plus b sum_i step_i (offset).
            forms = constant + gamma * length * (2.0 * linear + length * square)
            sizes = np.sqrt(np.maximum(forms, TINY))
            shrunk = self._regularizer.prox(sizes, gamma)
            kernel_slope = shrunk / sizes @ (linear + length * square)
            return self.side.slope(length) + float(kernel_slope) + offset

        length = find_length(slope, self.side.aim(step))
        self.side.move(length)
        self._rho_images = self._rho_images + length * step_images

    def _compute_threshold(self) -> None:
        """Compute v = alpha + gamma rho, its soft threshold, and decision values."""
        step = self.gamma * self.side.rho
        self._v_images = self._alpha_images + self.gamma * self._rho_images
        self._v = self._spaces.expansions(self.alpha, step, self._v_images)
        forms = self._spaces.inner(self._v_images, self._v, self._v_images)
        if forms.size and forms.min() < 0.0:
            self._check(int(np.argmin(forms)))
        self._sizes = np.sqrt(np.maximum(forms, 0.0))  # |v_m| in the norm of K_m
        self._norms = self._regularizer.prox(self._sizes, self.gamma)  # |ST(v_m)|
        self._shares = self._norms / np.maximum(self._sizes, TINY)
        self._values = self._spaces.values(self._v_images, self._shares)

    def _check(self, worst: int) -> None:
        """Raise an IndefiniteKernelError if the form of kernel `worst` is negative."""
        # Recompute the form first, because the images may differ from K_m v_m. Rounding
        # errors of their many updates add up if the penalty is negligible in comparison
        # with the targets.
        suspect = self.problem.gram.take(np.array([worst]))
        forms = suspect.quadratic_forms(self._v[worst])
        check_forms(suspect, forms, self._v[worst], self.kernels[[worst]])

    def _recover(self, start: tuple[Side, Array], primal: float) -> None:
        """Switch to a more robust `Side` if there is one, otherwise reduce gamma."""
        more_robust = self.side.more_robust()
        step = self.gamma * np.abs(self._rho_images).max(initial=0.0)
        if more_robust is not None:
            self.side = more_robust
            self._rho_images = self._spaces.images(more_robust.rho)
        elif step <= EPS * np.abs(self._alpha_images).max(initial=0.0):
            # gamma is too small for rho to change alpha + gamma rho.
            self.stuck = True
        else:
            self.gamma /= 16.0
            # The first step for a much too large gamma may be so long that no later
            # step leads back, unless a barrier keeps it short.
            if self.side.walls is None and not self.measure().primal <= primal:
                self.side, self.b = start
                self._rho_images = self._spaces.images(self.side.rho)
        self._compute_threshold()

    def decision_values(self) -> Array:
        """Return the decision values of the model, intercept included."""
        return self._values + self.b

    def measure(self) -> Measure:
        """Return the objective and the gap of the iterate from cached products."""
        loss, y, rho = self.problem.loss, self.problem.y, self.side.rho
        f = self.decision_values()
        losses = float(loss.value(y, f).sum())
        primal = losses + self._regularizer.value(self._norms)
        forms = self._spaces.inner(self._rho_images, rho, self._rho_images)
        dual_norms = np.sqrt(np.maximum(forms, 0.0))
        _, dual = scaled_dual_value(self.problem, rho, self._norms, dual_norms)
        fenchel = losses + float(loss.conjugate(y, -rho).sum() + np.vdot(rho, f))
        size = max(abs(primal), TINY)
        return Measure(primal, (primal - dual) / size, fenchel / size)


def find_length(slope: Callable[[float], float], longest: float) -> float:
    """Return a length in [0, longest] at which an increasing slope is nearly zero."""
    # The slope is the derivative of a convex function along a descent direction.
    start, end = slope(0.0), slope(longest)
    if start >= 0.0 or end <= 0.1 * abs(start):
        return longest  # rounding hides the descent, or the longest step is short
    low, high = 0.0, longest
    for _ in range(30):
        length = 0.5 * (low + high)
        value = slope(length)
        if value > 0.1 * abs(start):
            high = length
        elif value < 0.5 * start:
            low = length
        else:
            break
    return length
