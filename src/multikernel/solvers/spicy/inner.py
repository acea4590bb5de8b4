r"""SpicyMKL's inner loops: the dual augmented Lagrangian on a small stack.

Notation of [1]_: :math:`v_m = \alpha_m + \gamma \rho`; the shrunk norm
:math:`t_m = \mathrm{prox}_{\gamma \Omega}(\|v_m\|_{K_m})` (eq. 5 with the soft
threshold for block l1); share :math:`t_m / \|v_m\|`. The minimised function is eq. 7,

.. math:: \sum_i \ell^*(y_i, -\rho_i)
    + \sum_m \Bigl( \frac{\|v_m\| t_m - t_m^2 / 2}{\gamma} - \Omega(t_m) \Bigr),

over :math:`\sum_i \rho_i = 0` where there is an intercept: its multiplier b is
eliminated exactly, the limit :math:`\gamma_b \to \infty` of eq. 6. Gradient and
Hessian (eqs. 8 and 9) touch only kernels with :math:`t_m > 0`.

References
----------
.. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import TINY, check_forms, scaled_dual_value
from multikernel.problem import Problem
from multikernel.regularizers.base import ProximableRegularizer
from multikernel.solvers.spicy.quadratic_model import QuadraticModel
from multikernel.solvers.spicy.sides import DualSide
from multikernel.solvers.spicy.spaces import KernelSpaces, kernel_spaces, per_kernel
from multikernel.solvers.spicy.tuning import (
    BARRIER_SHARE,
    GAIN,
    GROWTH,
    INNER_SHARE,
    MAX_NEWTON,
    MAX_RETREATS,
    RETREAT,
)


@dataclass(frozen=True)
class Measure:
    """Where an inner iterate stands, on the small stack.

    Parameters
    ----------
    primal : float
        Primal objective of the model that the iterate implies.
    gap : float
        Its relative duality gap, with the dual point scaled to feasibility.
    fenchel : float
        The part of the gap (relative) that is not the outer iteration's:
        sum of l(z) + l*(-rho) + rho z, zero when the inner problem is solved.
    """

    primal: float
    gap: float
    fenchel: float


@dataclass
class AugmentedLagrangian:
    """The state of the method on one (small) problem.

    Parameters
    ----------
    problem : Problem
        The problem on a stack of few kernels.
    kernels : ndarray of shape (n_kernels,)
        Their indices in the whole dictionary, for messages.
    side : DualSide
        The loss's side; holds rho.
    coefs : ndarray of shape (n_kernels, expansion_length(gram)[, n_outputs])
        The multipliers alpha_m, which are the expansions of the model.
    intercept : ndarray of shape (n_outputs,)
        The multiplier b.
    gamma : float
        Penalty parameter.
    """

    problem: Problem
    kernels: Indices
    side: DualSide
    coefs: Array
    intercept: Array
    gamma: float
    newton_steps: int = 0
    _spaces: KernelSpaces = field(init=False)
    _images: Array = field(init=False)
    _rho_images: Array = field(init=False)

    def __post_init__(self) -> None:
        self._spaces = kernel_spaces(self.problem.gram)
        self._images = self._spaces.images_of_each(self.coefs)
        self._rho_images = self._spaces.images(self.side.rho)
        self._refresh()

    @property
    def _regularizer(self) -> ProximableRegularizer:
        # `unsupported` has checked it; a run-time check of a protocol is slow.
        return cast(ProximableRegularizer, self.problem.regularizer)

    def _refresh(self) -> None:
        """Recompute v_m, its image and norm, the shrunk norms and decision values."""
        step = self.gamma * self.side.rho
        self._v_images = self._images + self.gamma * self._rho_images
        self._v = self._spaces.expansions(self.coefs, step, self._v_images)
        forms = self._spaces.inner(self._v_images, self._v, self._v_images)
        if forms.size and forms.min() < 0.0:
            self._check(int(np.argmin(forms)))
        self._sizes = np.sqrt(np.maximum(forms, 0.0))
        self.norms = self._regularizer.prox(self._sizes, self.gamma)
        self._shares = self.norms / np.maximum(self._sizes, TINY)
        self._values = self._spaces.values(self._v_images, self._shares)

    def _check(self, worst: int) -> None:
        """Name a kernel if its form at its v_m is negative.

        It is computed anew: where the penalty vanishes beside the targets, images that
        were updated many times are no longer those of v_m.
        """
        chosen = self.problem.gram.take(np.array([worst]))
        forms = chosen.quadratic_forms(self._v[worst])
        check_forms(chosen, forms, self._v[worst], self.kernels[[worst]])

    def decision_values(self) -> Array:
        """Return the decision values of the implied model, intercept included."""
        return self._values + self.intercept

    def measure(self) -> Measure:
        """Return objective and gap of the iterate, from what is cached."""
        loss, y, rho = self.problem.loss, self.problem.y, self.side.rho
        f = self.decision_values()
        losses = float(loss.value(y, f).sum())
        primal = losses + self._regularizer.value(self.norms)
        forms = self._spaces.inner(self._rho_images, rho, self._rho_images)
        dual_norms = np.sqrt(np.maximum(forms, 0.0))
        _, dual = scaled_dual_value(self.problem, rho, self.norms, dual_norms)
        fenchel = losses + float(loss.conjugate(y, -rho).sum() + np.vdot(rho, f))
        size = max(abs(primal), TINY)
        return Measure(primal, (primal - dual) / size, fenchel / size)

    # Steps that lead beyond all numbers, and trials of such lengths, are given up.
    @np.errstate(over="ignore", invalid="ignore")
    def solve(self, target: float, gap: float, primal: float) -> Measure:
        """Iterate until the relative gap of this problem is at most `target`.

        Parameters
        ----------
        target : float
            Relative duality gap to reach.
        gap, primal : float
            Relative gap and objective of the starting point.

        Returns
        -------
        measure : Measure
            The state reached; above `target` only when rounding forbids more.
        """
        retreats = 0
        while retreats <= MAX_RETREATS:
            self.side.center(BARRIER_SHARE * gap * primal)
            measure = self._minimize(target)
            if measure is None:
                retreats += 1
                self._retreat()
                continue
            self._update_multipliers()
            if measure.gap <= target:
                return measure
            if measure.gap > GAIN * gap:
                self.gamma *= GROWTH
            gap, primal = min(gap, measure.gap), measure.primal
            self._refresh()
        return self.measure()

    def _retreat(self) -> None:
        """Take a sturdier side if there is one, and smaller steps if not."""
        sturdier = self.side.sturdier()
        if sturdier is None:
            self.gamma *= RETREAT
        else:
            self.side = sturdier
            self._rho_images = self._spaces.images(sturdier.rho)
        self._refresh()

    def _update_multipliers(self) -> None:
        """Take the outer step: alpha_m becomes the shrunk v_m (eq. 5)."""
        self.coefs = per_kernel(self._shares, self._v)
        self._images = self._spaces.scaled(self._v_images, self._shares)

    def _minimize(self, target: float) -> Measure | None:
        """Run Newton's method on the inner problem; None where it fails."""
        for _ in range(MAX_NEWTON):
            try:
                self._newton_step()
            except np.linalg.LinAlgError:
                return None
            measure = self.measure()
            allowed = max(
                INNER_SHARE * measure.gap,
                1.5 * self.side.slack() / max(abs(measure.primal), TINY),
            )
            if measure.gap <= target or measure.fenchel <= allowed:
                return measure
        return None

    def _newton_step(self) -> None:
        """Take one Newton step (eqs. 8 and 9) with a line search."""
        self.newton_steps += 1
        hessian = self._spaces.hessian(
            self.gamma * self._shares, self._bends(), self._v_images
        )
        excess = self.side.rho.sum(axis=0) if self.problem.fit_intercept else None
        model = QuadraticModel(hessian, self.decision_values(), excess)
        step, shift = self.side.newton(model)
        step_images = self._spaces.images(step)
        forms = self._spaces.inner(step_images, step, step_images)
        if not np.isfinite(forms).all():
            raise np.linalg.LinAlgError("A step leads beyond all numbers.")
        self._search(step, step_images, forms)
        self.intercept = self.intercept + shift
        self._refresh()

    def _bends(self) -> Array:
        """Return by what K_m v_m is multiplied in the Hessian's own directions."""
        bends, active = np.zeros_like(self._shares), self._shares > 0.0
        sizes, shares = self._sizes[active], self._shares[active]
        slopes = self._regularizer.prox_derivative(sizes, self.gamma)
        bends[active] = np.sqrt(self.gamma * np.maximum(slopes - shares, 0.0)) / sizes
        return bends

    def _search(self, step: Array, step_images: Array, forms: Array) -> None:
        """Move along `step` to where the slope has mostly vanished.

        Norms along the line are square roots of quadratics whose coefficients are
        cached, so a trial costs O(n_samples + n_kernels). Slopes rather than values
        are compared: they do not drown in rounding close to the solution.
        """
        gamma = self.gamma
        constant = self._sizes**2
        linear = gamma * self._spaces.inner(self._v_images, step, step_images)
        square = gamma * gamma * np.maximum(forms, 0.0)
        offset = float(np.sum(self.intercept * step.sum(axis=0)))

        def slope(length: float) -> float:
            forms = constant + length * (2.0 * linear + length * square)
            sizes = np.sqrt(np.maximum(forms, TINY))
            shrunk = self._regularizer.prox(sizes, gamma)
            kernels = shrunk / (gamma * sizes) @ (linear + length * square)
            return self.side.slope(length) + float(kernels) + offset

        length = find_length(slope, self.side.aim(step))
        self.side.move(length)
        self._rho_images = self._rho_images + length * step_images


def find_length(slope: Callable[[float], float], longest: float) -> float:
    """Return a step length at which an increasing slope is nearly zero.

    Parameters
    ----------
    slope : callable
        Derivative of a convex function along a descent direction.
    longest : float
        The longest step allowed; taken unless it overshoots.

    Returns
    -------
    length : float
    """
    start, end = slope(0.0), slope(longest)
    if start >= 0.0 or end <= 0.1 * abs(start):
        return longest  # no descent left but rounding, or no overshoot
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
