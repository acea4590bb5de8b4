r"""One-class learning with lp-norm weights: the problem, its certificate, a solver.

Primal, over weights of p-norm at most one, functions and an offset b [1]_:

.. math::
    \min \tfrac12 \sum_m \frac{\|f_m\|^2}{\theta_m} - b + \frac{1}{\nu} \sum_i s_i
    \max\bigl(0, b - \textstyle\sum_m f_m(x_i)\bigr)

with shares s of the samples that sum to one. The dual is over
:math:`0 \le a_i \le s_i / \nu, \sum_i a_i = 1`:

.. math:: \max_a - \tfrac12 \bigl\| (a^\top K_m a)_m \bigr\|_{p/(p-1)}

For fixed weights it is the one-class machine of Schölkopf et al. on their sum.

References
----------
.. [1] Sonnenburg, Rätsch, Schäfer, Schölkopf (2006). Large scale multiple kernel
   learning. JMLR 7, 1531-1565.
"""

import math
from dataclasses import dataclass

import numpy as np
from sklearn.svm import OneClassSVM

from multikernel._typing import Array
from multikernel.certificates import TINY, check_forms
from multikernel.gram.base import GramStack
from multikernel.gram.metered import Meter, MeteredStack
from multikernel.gram.products import residual_bounds
from multikernel.problem import Callback, Solution, Status
from multikernel.regularizers.squared_block_norm import p_norm, unit_weights
from multikernel.solvers.recorder import Recorder

FINEST = 1e-10
"""The machine is not asked for more: below its rounding LIBSVM goes on for ever, and
nothing interrupts it (a tolerance of 1e-300 ran for more than 40 seconds)."""

MACHINE_SHARE = 0.1
"""Of the tolerance, that the machine may be off in its gradient, in units of the
offset: ten problems of 100 samples and 12 kernels took as many iterations to a gap of
1e-6 (14 for p = 2) with a third, a tenth and a hundredth of it."""


ROUNDING = 1e-9
"""Of the offset, by which it is less than the value of a sample on the border: sums
over kernels differ by some 1e-15 of it with the samples beside."""


@dataclass(frozen=True)
class OneClass:
    """Alternates between a one-class machine and closed-form weights.

    Parameters
    ----------
    nu : float, default=0.5
        Share of the samples that may lie outside, in (0, 1].
    p : float, default=2.0
        Norm of the kernel weights, at least 1, maybe infinite.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=200
        Iterations at most.
    objective_scale, dual_scale : float, default=1.0
        What an estimator multiplies objectives and dual variables by, as of a recipe.
    """

    nu: float = 0.5
    p: float = 2.0
    tol: float = 1e-3
    max_iter: int = 200
    objective_scale: float = 1.0
    dual_scale: float = 1.0

    def solve(
        self, gram: GramStack, shares: Array, callback: Callback | None = None
    ) -> Solution:
        """Solve the problem.

        Parameters
        ----------
        gram : GramStack
            The kernels on the training samples.
        shares : ndarray of shape (n_samples,)
            Sample weights with a sum of one.
        callback : callable, optional
            Called with a `Progress` after each iteration; True stops.

        Returns
        -------
        solution : Solution
            Its intercept is minus the offset b, its dual variable is a; objective and
            gap are those above.

        Raises
        ------
        IndefiniteKernelError
            If a negative quadratic form is met.
        """
        meter = Meter(math.prod(gram.shape))
        recorder = Recorder(callback, meter)
        stack = MeteredStack(gram, meter)
        theta = unit_weights(np.ones(gram.shape[0]), 1.0, self.p)
        best: OneClassPoint | None = None
        bound, status = -np.inf, Status.MAX_ITER
        for _ in range(self.max_iter):
            point = self._point(stack, shares, theta, recorder)
            bound = max(bound, point.dual_value)
            if best is None or point.objective < best.objective:
                best = point
            gap = (best.objective - bound) / max(abs(best.objective), TINY)
            n_active = int(np.count_nonzero(best.theta))
            if recorder.add(best.objective, gap, n_active):
                status = Status.STOPPED
                break
            if gap <= self.tol:
                status = Status.CONVERGED
                break
            theta = unit_weights(point.norms(), 2.0 / (self.p + 1.0), self.p)
        assert best is not None
        return best.solution(bound, status, recorder)

    def _point(
        self, gram: GramStack, shares: Array, theta: Array, recorder: Recorder
    ) -> "OneClassPoint":
        """Run the machine for some weights, and evaluate what it finds."""
        K = gram.combine(theta).columns(np.arange(shares.size))
        K = np.asarray(K, dtype=np.float64)
        # The machine's variables are those of the problem times this.
        size = self.nu * shares.size
        offset = max(float(shares @ K @ shares), TINY)
        machine = OneClassSVM(
            kernel="precomputed",
            nu=self.nu,
            tol=max(MACHINE_SHARE * self.tol, FINEST) * size * offset,
        ).fit(K, sample_weight=shares * shares.size)
        recorder.inner_steps += int(machine.n_iter_)
        a = np.zeros(shares.size)
        a[machine.support_] = machine.dual_coef_[0]
        a = capped_simplex(a / size, shares / self.nu)
        forms = gram.quadratic_forms(a)
        check_forms(gram, forms, a)
        forms = np.maximum(forms, 0.0)
        f = K @ a
        # Samples on the border are inside, whatever their last digit is later.
        b = (1.0 - ROUNDING) * _quantile(f, shares, self.nu)
        loss = -b + float(shares @ np.maximum(0.0, b - f)) / self.nu
        q = 2.0 if np.isinf(self.p) else 2.0 * self.p / (self.p + 1.0)
        objective = 0.5 * p_norm(theta * np.sqrt(forms), q) ** 2 + loss
        dual = np.inf if self.p == 1.0 else 1.0
        if 1.0 < self.p < np.inf:
            dual = self.p / (self.p - 1.0)
        # What factors leave of the kernels counts as well.
        bounds = forms + residual_bounds(gram, a)
        return OneClassPoint(theta, a, forms, b, objective, -0.5 * p_norm(bounds, dual))


@dataclass(frozen=True, eq=False)
class OneClassPoint:
    """A primal and a dual point, and what they are worth.

    Parameters
    ----------
    theta : ndarray of shape (n_kernels,)
        Weights.
    a : ndarray of shape (n_samples,)
        A feasible dual point; f_m = theta_m K_m a.
    forms : ndarray of shape (n_kernels,)
        Its quadratic forms.
    b : float
        The offset.
    objective, dual_value : float
        Of the primal and the dual problem.
    """

    theta: Array
    a: Array
    forms: Array
    b: float
    objective: float
    dual_value: float

    def norms(self) -> Array:
        """Return the norms of the functions."""
        return np.asarray(self.theta * np.sqrt(self.forms))

    def solution(self, bound: float, status: Status, recorder: Recorder) -> Solution:
        """Return what is published, with the best lower bound."""
        active = np.flatnonzero(self.norms())
        gap = (self.objective - bound) / max(abs(self.objective), TINY)
        history = tuple(recorder.history)
        return Solution(
            kernel_weights=self.theta,
            norms=self.norms(),
            active=active,
            coefs=self.theta[active, None] * self.a,
            intercept=np.array([-self.b]),
            dual=self.a,
            objective=self.objective,
            duality_gap=gap,
            n_iter=len(history),
            status=status,
            history=history,
        )


def capped_simplex(a: Array, caps: Array) -> Array:
    """Return the nearest point with a sum of one between zero and the caps.

    Parameters
    ----------
    a : ndarray of shape (n,)
        Any point.
    caps : ndarray of shape (n,)
        Upper bounds; their sum is one at least.

    Returns
    -------
    point : ndarray of shape (n,)
    """
    low, high = -float(a.max()), 1.0 + float((caps - a).max())
    for _ in range(100):
        middle = 0.5 * (low + high)
        if np.clip(a + middle, 0.0, caps).sum() < 1.0:
            low = middle
        else:
            high = middle
    point = np.clip(a + high, 0.0, caps)
    return np.asarray(point / max(1.0, float(point.sum())))


def _quantile(f: Array, shares: Array, nu: float) -> float:
    """Return the smallest value that the share nu of the samples does not exceed."""
    order = np.argsort(f, kind="stable")
    reached = np.cumsum(shares[order])
    place = int(np.searchsorted(reached, nu * (1.0 - 1e-12)))
    return float(f[order[min(place, f.size - 1)]])
