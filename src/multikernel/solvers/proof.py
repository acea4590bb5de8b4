"""The best proof that a solver has found."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import (
    DualCertificate,
    certify,
    prove_over_full_kernels,
    relative_gap,
)
from multikernel.gram.base import Refinement
from multikernel.problem import Problem
from multikernel.solvers.best import Model

EPS = float(np.finfo(np.float64).eps)


@dataclass
class Proof:
    """Keeps the best dual points, for the kernels and for the matrices of the stack.

    The two differ where a stack leaves a residual of its kernels.

    Parameters
    ----------
    problem : Problem
        What is solved.
    """

    problem: Problem
    certificate: DualCertificate = field(init=False)
    over_factors: DualCertificate = field(init=False)
    refinement: Refinement | None = None
    _bound: float = -np.inf

    solved: ClassVar[float] = 0.5
    """The matrices of a stack count as solved for at this share of the tolerance, where
    what they leave of the kernels makes up the rest of the gap."""

    residual: ClassVar[float] = 0.25
    """What they leave may then cost this share of the tolerance: kernels beyond get
    more landmarks."""

    def __post_init__(self) -> None:
        zero = np.zeros(self.problem.gram.shape[0])
        nothing = np.zeros_like(self.problem.y)
        self.certificate = DualCertificate(nothing, zero, -np.inf)
        self.over_factors = self.certificate

    def offer(self, rho: Array, forms: Array, norms: Array) -> float:
        """Return the dual value of a feasible point; keep it if it is best.

        Where the stack leaves a residual of the kernels, the proof is for these, with
        what the residual adds at most, and the value that is returned is that for the
        stack.

        Parameters
        ----------
        rho : ndarray of the shape of the targets
            The point.
        forms : ndarray of shape (n_kernels,)
            Its quadratic forms, or upper bounds on them.
        norms : ndarray of shape (n_kernels,)
            Block norms of the best model.
        """
        problem = self.problem
        own = proof = certify(problem, rho, norms, np.sqrt(forms))
        residual = problem.gram.residual_bounds(rho)
        if residual.any():
            proof = certify(problem, rho, norms, np.sqrt(forms + residual))
        if own.value > self.over_factors.value:
            self.over_factors = own
        if proof.value > self.certificate.value:
            self.certificate = proof
        return own.value

    def raise_bound(self, value: float) -> None:
        """Take note of a lower bound on the optimum without a dual point of its own."""
        self._bound = max(self._bound, value)

    def gap(self, objective: float) -> float:
        """Return the relative gap of an objective over the matrices of the stack."""
        return max(relative_gap(objective, self.over_factors.value), EPS)

    def certified_gap(self, objective: float) -> float:
        """Return the relative gap of an objective over the kernels of the stack."""
        return max(relative_gap(objective, self.certificate.value), EPS)

    def bounded_gap(self, objective: float) -> float:
        """Return the relative gap to the best lower bound known, proved or not."""
        bounded = max(relative_gap(objective, self._bound), EPS)
        return min(self.gap(objective), bounded)

    def seems_below(self, objective: float, tol: float) -> bool:
        """Return whether the proof is good enough, but for what rounding hides."""
        return relative_gap(objective, self.certificate.value) <= tol

    def prove_over_kernels(self, model: Model, tol: float) -> Mapping[int, float]:
        """Look for a proof over the kernels, where the stack itself is solved for.

        Returns
        -------
        goals : mapping of int to float
            What bounds on the residuals of some kernels must become otherwise.
        """
        problem, own = self.problem, self.over_factors
        proof = prove_over_full_kernels(
            problem,
            own.dual,
            own.dual_norms**2,
            model.norms,
            self.residual * tol * abs(model.objective),
        )
        if proof.certificate.value > self.certificate.value:
            self.certificate = proof.certificate
        return proof.goals

    def ask_for(self, goals: Mapping[int, float]) -> None:
        """Note what a refinement of the stack has to reach."""
        gram = self.problem.gram
        self.refinement = gram.refinement(self.over_factors.dual, goals)
