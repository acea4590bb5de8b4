"""The best model that a solver has found, and the best proof."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import (
    DualCertificate,
    Terms,
    Worth,
    best_intercepts,
    certify,
    check_forms,
    evaluate,
    evaluate_terms,
    primal_value,
    prove_over_full_kernels,
    published_intercept,
    relative_gap,
)
from multikernel.gram.base import GramStack, Refinement
from multikernel.linalg import EPS
from multikernel.problem import Problem


@dataclass(frozen=True, eq=False)
class Expansion:
    """A dual point, and what every kernel makes of it.

    Parameters
    ----------
    rho : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The dual point.
    images : ndarray of shape (n_kernels, n_samples[, n_outputs])
        K_m rho.
    forms : ndarray of shape (n_kernels,)
        rho^T K_m rho, summed over outputs.
    """

    rho: Array
    images: Array
    forms: Array

    def decision_values(self, weights: Array) -> Array:
        """Return sum_m weights[m] K_m rho."""
        return np.asarray(np.tensordot(weights, self.images, axes=1))


def expand(gram: GramStack, rho: Array) -> Expansion:
    """Multiply every kernel by a dual point: one pass.

    Raises
    ------
    IndefiniteKernelError
        If a quadratic form is negative beyond rounding.
    """
    images = gram.matvec(rho)
    forms = images.reshape(images.shape[0], -1) @ rho.reshape(-1)
    check_forms(gram, forms, rho)
    return Expansion(rho, images, np.maximum(forms, 0.0))


@dataclass(frozen=True, eq=False)
class Model:
    """A primal point.

    Parameters
    ----------
    kernels : ndarray of shape (n_terms,)
        The kernels of its terms, ascending.
    norms : ndarray of shape (n_kernels,)
        Block norms of all kernels.
    intercept : ndarray of shape (n_outputs,)
        The intercept, without the offset of the problem.
    objective : float
        Primal objective.
    weights : ndarray of shape (n_terms,)
        By what the expansions are multiplied.
    expansions : ndarray of shape (n_terms or 1, n_samples[, n_outputs])
        Of the terms, or one for all.
    terms : Terms, optional
        The terms as `evaluate_terms` finds them.
    worth : Worth, optional
        What they are worth; norms and objective are theirs then.
    """

    kernels: Indices
    norms: Array
    intercept: Array
    objective: float
    weights: Array
    expansions: Array
    terms: Terms | None = None
    worth: Worth | None = None

    @property
    def active(self) -> Indices:
        """Return the kernels with a non-zero norm."""
        return np.flatnonzero(self.norms)

    @property
    def coefs(self) -> Array:
        """Return those of the active kernels, shape (n_active, n_samples[, ...])."""
        active = self.norms[self.kernels] > 0.0
        weights = self.weights[active]
        chosen = (
            self.expansions if len(self.expansions) == 1 else self.expansions[active]
        )
        return np.asarray(weights.reshape((-1,) + (1,) * (chosen.ndim - 1)) * chosen)


def evaluated(problem: Problem, model: Model) -> Model:
    """Return a model with norms and objective of its own expansions.

    Parameters
    ----------
    problem : Problem
        The problem.
    model : Model
        What a solver believes in; or one with its terms, for another penalty.

    Returns
    -------
    model : Model
    """
    if model.worth is not None:
        return model
    terms = model.terms
    if terms is None:
        terms = evaluate_terms(
            problem.gram, model.kernels, model.expansions, model.weights
        )
    norms = np.zeros(problem.gram.shape[0])
    norms[model.kernels] = terms.norms
    b = published_intercept(problem, model.intercept)
    worth = evaluate(problem, model.kernels, terms, b)
    return replace(
        model,
        norms=norms,
        intercept=b,
        terms=terms,
        worth=worth,
        objective=worth.objective,
    )


@dataclass
class Best:
    """Keeps the best of the models that are offered.

    They are offered with what the solver believes of them, which is cheap. Before one
    is published it is evaluated from its own expansions.

    Parameters
    ----------
    problem : Problem
        What is solved.
    """

    problem: Problem
    model: Model = field(init=False)
    last: Model = field(init=False)  # the model offered last
    _proved: Model | None = None

    smallest: ClassVar[float] = 1e-100
    """Relative size of a weight that counts: squares of smaller ones underflow, and
    their norms could not be checked."""

    def __post_init__(self) -> None:
        y, zero = self.problem.y, np.zeros(self.problem.gram.shape[0])
        none, nothing = np.empty(0, dtype=np.intp), np.zeros_like(y)
        b = np.zeros(1 if y.ndim == 1 else y.shape[1])
        self.model = Model(none, zero, b, np.inf, np.empty(0), nothing[None])
        self.last = self.model

    def offer(self, model: Model) -> None:
        """Keep a model if it is the best."""
        self.last = model
        if not model.objective >= self.model.objective:
            self.model = model

    def offer_model(self, rho: Array, weights: Array, forms: Array, f: Array) -> float:
        """Return the objective of f_m = weights[m] K_m rho; keep it if it is best.

        Parameters
        ----------
        rho : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The common expansion.
        weights, forms : ndarray of shape (n_kernels,)
            Its multiples, and its quadratic forms.
        f : ndarray of the shape of `rho`
            Decision values without intercept.

        Returns
        -------
        objective : float
        """
        weights = np.where(
            weights > self.smallest * weights.max(initial=0.0), weights, 0.0
        )
        norms = weights * np.sqrt(forms)
        b = self._intercept(f)
        objective = primal_value(self.problem, norms, f + b)
        # A norm may have been lost to rounding; what its kernel adds to f has not.
        kernels = np.flatnonzero(weights)
        model = Model(kernels, norms, b, objective, weights[kernels], rho[None])
        self.offer(model)
        return objective

    def refreshed(
        self, kernels: Indices, coefs: Array, held: GramStack | None = None
    ) -> Model:
        """Return the model of some expansions, evaluated, with its best intercept."""
        ones, norms = np.ones(kernels.size), np.zeros(0)
        terms = evaluate_terms(self.problem.gram, kernels, coefs, ones, held)
        b = self._intercept(terms.f)
        return evaluated(
            self.problem, Model(kernels, norms, b, np.nan, ones, coefs, terms)
        )

    def _intercept(self, f: Array) -> Array:
        """Return the best intercept of every output, zero without one."""
        y = self.problem.y
        if not self.problem.fit_intercept:
            return np.zeros(1 if y.ndim == 1 else y.shape[1])
        b, _ = best_intercepts(self.problem.loss, y, f)
        return published_intercept(self.problem, b)

    def evaluate(self) -> Model:
        """Evaluate the best model from its expansions, and return it.

        One that was better by rounding only gives way to the best one that is sure.
        """
        self.model = evaluated(self.problem, self.model)
        if self._proved is not None and self._proved.objective < self.model.objective:
            self.model = self._proved
        self._proved = self.model
        return self.model

    def take(self, model: Model) -> None:
        """Make an evaluated model the one to publish, whether it is best or not."""
        self.model = self._proved = model


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
