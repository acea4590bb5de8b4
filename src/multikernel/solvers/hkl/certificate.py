r"""The certificate: all its terms at one dual point, at its best scale.

.. math::
    \text{gap} = \text{primal} + \frac{1}{W} \sum_i \ell^*(y_i, -t \rho_i)
    + \frac{\alpha t^2}{2} \max\bigl(\bar\Omega^*_J(a)^2, B(a)\bigr),
    \qquad a = \frac{\rho}{W \alpha}

with B the largest sum over the descendants of a source of the complement (METHODS 4).
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from multikernel._typing import Array
from multikernel.certificates.gap import project_dual
from multikernel.solvers.hkl.active import ActiveSet
from multikernel.solvers.hkl.norm import SmoothedNorm
from multikernel.solvers.hkl.problem import HullProblem


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A centred point of the conjugate's domain.

    Parameters
    ----------
    rho : ndarray of shape (n_samples,)
        The point, minus a slope of the summed loss.
    bound : float
        Upper bound on the squared dual norm of a on the active set.
    """

    rho: Array
    bound: float

    def vector(self, problem: HullProblem) -> Array:
        """Return a, what quadratic forms are taken of."""
        return self.rho / (problem.total_weight * problem.alpha)

    def value(self, problem: HullProblem, outside: float) -> float:
        """Return the dual value at the best multiple of the point.

        Parameters
        ----------
        problem : HullProblem
            The problem.
        outside : float
            B(a), the bound for what is not in the active set.

        Returns
        -------
        value : float
            A lower bound on the optimum.
        """
        return self.scaled(problem, outside)[1]

    def scaled(self, problem: HullProblem, outside: float) -> tuple[float, float]:
        """Return the best multiple, and the dual value there."""
        ceiling = max(self.bound, outside)
        if not np.isfinite(ceiling):
            return 0.0, -self._loss(problem, 0.0, 0.0)
        half = 0.5 * problem.alpha * ceiling

        def loss(scale: float) -> float:
            return self._loss(problem, scale, half)

        scale, lowest = 1.0, loss(1.0)
        if loss(1.0 - 1e-6) < lowest:
            found = minimize_scalar(
                loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-10}
            )
            if found.fun < lowest:
                scale, lowest = float(found.x), float(found.fun)
        if loss(0.0) <= lowest:
            scale, lowest = 0.0, loss(0.0)
        return scale, -lowest

    def _loss(self, problem: HullProblem, scale: float, half: float) -> float:
        conjugate = problem.loss.conjugate(problem.y, -scale * self.rho).sum()
        return float(conjugate) / problem.total_weight + half * scale * scale


def dual_point(
    problem: HullProblem, active: ActiveSet, norm: SmoothedNorm, candidate: Array
) -> DualPoint:
    """Return the nearest feasible point to a candidate, with a bound on its norm.

    Parameters
    ----------
    problem : HullProblem
        The problem.
    active : ActiveSet
        The nodes.
    norm : SmoothedNorm
        At the model that the candidate belongs to.
    candidate : ndarray of shape (n_samples,)
        Minus the slopes of the loss.

    Returns
    -------
    point : DualPoint
    """
    rho = project_dual(problem, candidate)
    vector = rho / (problem.total_weight * problem.alpha)
    slack = active.slack_norms(vector)
    return DualPoint(rho, norm.dual_bound(active.features @ vector, slack))


def primal_value(problem: HullProblem, f: Array, omega: float) -> float:
    """Return the objective of a model.

    Parameters
    ----------
    problem : HullProblem
        The problem.
    f : ndarray of shape (n_samples,)
        Decision values.
    omega : float
        The norm.

    Returns
    -------
    objective : float
    """
    losses = float(problem.loss.value(problem.y, f).sum())
    return losses / problem.total_weight + 0.5 * problem.alpha * omega**2


def relative_gap(problem: HullProblem, primal: float, dual: float) -> float:
    """Return the gap relative to the objective, zero where both are rounding.

    Parameters
    ----------
    problem : HullProblem
        The problem.
    primal, dual : float
        The two values.

    Returns
    -------
    gap : float
    """
    zero = problem.loss.value(problem.y, np.zeros_like(problem.y)).sum()
    floor = np.finfo(np.float64).eps * float(zero) / problem.total_weight
    return (primal - dual) / max(abs(primal), floor, np.finfo(np.float64).tiny)
