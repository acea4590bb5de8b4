r"""The optimal value as a function of the kernel weights, with its derivatives.

.. math:: J(\theta) = \max_\rho \; -\sum_i \ell^*(y_i, -\rho_i)
    - \frac{1}{2 \alpha} \sum_m \theta_m \rho^\top K_m \rho

is convex, and by the envelope theorem it has the gradient of the bracket at the
maximising rho. Solvers that search over kernel weights are built on it.
"""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import check_forms, model_of_multiples
from multikernel.certificates.incumbent import Incumbent
from multikernel.gram.matrix import GramMatrix
from multikernel.machines import warm_start
from multikernel.problem import Problem
from multikernel.solvers.machine_runs import (
    feasible,
    fit_machine,
    machine_within,
    weight_hessian,
)


@dataclass(frozen=True, eq=False)
class OraclePoint:
    """What is known at some kernel weights.

    Parameters
    ----------
    weights : ndarray of shape (n_kernels,)
        The kernel weights theta.
    matrix : GramMatrix
        sum_m theta_m K_m / alpha.
    rho : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The dual point, feasible.
    forms : ndarray of shape (n_kernels,)
        rho^T K_m rho.
    conjugate : float
        -sum_i l*(y_i, -rho_i).
    alpha : float
        Of the regulariser.
    """

    weights: Array
    matrix: GramMatrix
    rho: Array
    forms: Array
    conjugate: float
    alpha: float

    @property
    def value(self) -> float:
        """Return J, from below: the bracket at rho."""
        return self.conjugate + float(self.weights @ self.gradient)

    @property
    def gradient(self) -> Array:
        """Return the derivatives of J, shape (n_kernels,)."""
        return self.forms / (-2.0 * self.alpha)


@dataclass
class WeightOracle:
    """Evaluates J with a machine that starts from its last point.

    Every evaluation is offered to the tracker, as a model and as a dual point.

    Parameters
    ----------
    tracker : Incumbent
        Keeps the best points, and counts passes and steps.
    cache_bytes : int
        Memory of machines for entries of a combined kernel that is not held.
    """

    tracker: Incumbent
    cache_bytes: int
    last_rho: Array | None = None

    @property
    def problem(self) -> Problem:
        """Return the problem."""
        return self.tracker.problem

    def evaluate(self, weights: Array, gap: float) -> OraclePoint:
        """Run the machine for some weights: one weighted sum, and one pass.

        The machine's error should be far below the `gap`, which is a relative one.
        """
        problem, tracker = self.problem, self.tracker
        alpha, recorder = problem.regularizer.alpha, tracker.recorder
        matrix = problem.gram.combine(weights / alpha)
        machine = machine_within(
            problem, gap, tracker.model.objective, self.cache_bytes
        )
        b = tracker.model.intercept
        start = None
        if self.last_rho is not None:
            start = warm_start(matrix, self.last_rho, intercept=b)
        fit = fit_machine(machine, problem, matrix, start)
        rho, f = feasible(problem, matrix, fit)
        forms = problem.gram.quadratic_forms(rho)
        check_forms(problem.gram, forms, rho)
        forms = np.maximum(forms, 0.0)
        recorder.inner_steps += fit.n_steps
        self.last_rho = rho
        tracker.offer(model_of_multiples(problem, rho, weights / alpha, forms, f))
        tracker.offer_dual(rho, forms)
        conjugate = -float(problem.loss.conjugate(problem.y, -rho).sum())
        return OraclePoint(weights, matrix, rho, forms, conjugate, alpha)

    def hessian(self, point: OraclePoint) -> Array:
        """Return the second derivatives of J at a point: one pass, one factorisation.

        `weight_hessian` gives them, over alpha squared; rho has one dimension.
        """
        images = self.problem.gram.matvec(point.rho)
        hessian = weight_hessian(self.problem, point.matrix, point.rho, images)
        return hessian / point.alpha**2
