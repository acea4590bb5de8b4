"""More targets than samples: an equivalent problem with n_samples targets.

Let the targets be Y = L Q^T, with orthonormal columns in Q. The squared loss and norms
over all outputs are invariant under rotations, and best functions for targets
orthogonal to Q are zero. So the problem with targets L has the same norms, objective
and gap. Its functions and intercepts times Q^T are those for Y.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import with_rounding
from multikernel.linalg import EPS
from multikernel.losses.weighted import is_squared, weights_of
from multikernel.problem import Problem, Solution, Status, center_targets


def has_redundant_outputs(problem: Problem) -> bool:
    """Return whether a problem of the squared loss has more outputs than samples."""
    y = problem.y
    return y.ndim == 2 and y.shape[1] > y.shape[0] and is_squared(problem.loss)


@dataclass(frozen=True, eq=False)
class RotatedOutputs:
    """Equivalent problem with fewer outputs, and maps between the solutions."""

    problem: Problem
    # Q with targets Y = L Q^T, (n_outputs, n_samples) with n_outputs > n_samples; its
    # columns are orthonormal.
    rotation: Array
    offset: Array | float  # added to Q times the intercepts of the smaller problem
    doubt: float  # bound on the norm of the rounding errors of all residuals

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return the smaller equivalent of a problem that `has_redundant_outputs`."""
        problem = center_targets(problem)
        y, loss = problem.y, problem.loss
        rotation, triangle = np.linalg.qr(y.T)
        heaviest = float(weights_of(loss, len(y)).max())
        # Rounding errors of the factorization, and of intercepts to which large offsets
        # are added.
        rounded = len(y) * np.linalg.norm(y)
        rounded += np.sqrt(len(y)) * np.linalg.norm(problem.offset)
        small = replace(problem, y=np.ascontiguousarray(triangle.T), offset=0.0)
        doubt = float(EPS * np.sqrt(heaviest) * rounded)
        return cls(small, rotation, problem.offset, doubt)

    def to_rotated(self, solution: Solution | None) -> Solution | None:
        """Map a solution of the original problem, or None, to the smaller problem."""
        if solution is None:
            return None
        return replace(
            solution,
            coefs=solution.coefs @ self.rotation,
            intercept=(solution.intercept - self.offset) @ self.rotation,
            dual=solution.dual @ self.rotation,
        )

    def from_rotated(self, solution: Solution, tol: float) -> Solution:
        """Map a solution of the smaller problem to one of the original problem."""
        # The gap is enlarged by the largest effect (`hidden`) of rounded residuals on
        # the loss, which is half of their squared norm.
        hidden = self.doubt * (np.sqrt(2.0 * solution.objective) + 0.5 * self.doubt)
        gap = with_rounding(solution.duality_gap, float(hidden), solution.objective)
        unproved = solution.status is Status.CONVERGED and gap > tol
        return replace(
            solution,
            coefs=solution.coefs @ self.rotation.T,
            intercept=self.rotation @ solution.intercept + self.offset,
            dual=solution.dual @ self.rotation.T,
            duality_gap=gap,
            status=Status.STALLED if unproved else solution.status,
        )
