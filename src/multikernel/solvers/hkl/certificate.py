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
from multikernel.certificates import largest_losses, project_dual, rounding_unit
from multikernel.linalg import EPS
from multikernel.solvers.hkl.active import ActiveSet
from multikernel.solvers.hkl.problem import HullProblem
from multikernel.solvers.hkl.smoothing import SmoothedNorm

WIDE = np.longdouble
"""Extended precision, where the machine has it."""

STEP, NEAR = 1e-3, 0.05
"""Between the multiples of a dual point that a parabola is laid through, and how far
from one its vertex is taken for the best multiple."""


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A centred point of the conjugate's domain.

    `rho` is minus a slope of the summed loss, and `bound` an upper bound on its squared
    dual norm on the active set.
    """

    rho: Array
    bound: float

    def vector(self, problem: HullProblem) -> Array:
        """Return a, what quadratic forms are taken of."""
        return self.rho / (problem.total_weight * problem.alpha)

    def value(self, problem: HullProblem, outside: float) -> float:
        """Return the dual value at the best multiple of the point, a bound.

        `outside` is B(a), the bound for what is not in the active set.
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

        # Where the point is nearly optimal the best multiple is near one: the vertex of
        # a parabola, whose error is of second order in what it gains.
        known = {scale: loss(scale) for scale in (1.0, 1.0 - STEP, 1.0 - 2.0 * STEP)}
        at, near, far = known.values()
        slope, bend = 1.5 * at - 2.0 * near + 0.5 * far, at - 2.0 * near + far
        if slope > 0.0:
            scale = 1.0 - STEP * slope / bend if STEP * slope < NEAR * bend else 0.0
            known[scale] = loss(scale)
            if scale == 0.0:
                found = minimize_scalar(
                    loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-7}
                )
                known[float(found.x)] = float(found.fun)
        scale = min(known, key=lambda each: known[each])
        return scale, -known[scale]

    def _loss(self, problem: HullProblem, scale: float, half: float) -> float:
        conjugate = problem.loss.conjugate(problem.y, -scale * self.rho).sum()
        return float(conjugate) / problem.total_weight + half * scale * scale


def dual_point(
    problem: HullProblem, active: ActiveSet, norm: SmoothedNorm, candidate: Array
) -> DualPoint:
    """Return the nearest feasible point to a candidate, with a bound on its norm.

    The candidate is minus the slopes of the loss, and `norm` is at the model that it
    belongs to.
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
    """
    losses = float(problem.loss.value(problem.y, f).sum())
    return losses / problem.total_weight + 0.5 * problem.alpha * omega**2


def hidden_by_rounding(
    problem: HullProblem, active: ActiveSet, beta: Array, f: Array, dual: DualPoint
) -> float:
    """Return by how much rounding may hide a larger gap.

    `beta` are the coefficients of the model, from which its decision values f were
    computed.
    """
    loss, y = problem.loss, problem.y
    spread = rounding_unit(beta.size) * (np.abs(beta) @ np.abs(active.features))
    spread += EPS * np.abs(f)
    excess = float((largest_losses(problem, f, spread) - loss.value(y, f)).sum())
    excess += 4.0 * EPS * float(np.abs(loss.conjugate(y, -dual.rho)).sum())
    # The split of products that are off is longer by as much. Products with an outlier
    # cancel, and a bound on what that costs would be a tenfold one: it is measured.
    a = dual.vector(problem)
    idle = active.rows(active.idle)
    features = np.concatenate([active.features, *idle])
    sizes = [len(rows) for rows in idle]
    owner = np.append(
        active.owner, len(active) + np.repeat(np.arange(len(idle)), sizes)
    )
    weights = np.append(active.weights, [own.weight for own in active.idle.values()])
    wide = a.astype(WIDE)
    exact = np.array([row @ wide for row in features], dtype=WIDE)
    errors = np.abs(exact - features @ a).astype(np.float64)
    unit = rounding_unit(a.size) * float(np.finfo(WIDE).eps) / EPS
    errors += unit * (np.abs(features) @ np.abs(a))
    lengths = np.sqrt(np.bincount(owner, errors**2, minlength=weights.size))
    error = float(np.max(lengths / weights, initial=0.0))
    grown = (2.0 * float(np.sqrt(dual.bound)) + error) * error
    return max(excess, 0.0) / problem.total_weight + 0.5 * problem.alpha * grown
