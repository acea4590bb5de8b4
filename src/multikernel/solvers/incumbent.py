"""What solvers over kernel weights share: the best model, the best proof, the end."""

from dataclasses import dataclass, field

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import (
    DualCertificate,
    best_intercept,
    certify,
    check_forms,
    check_gap,
    primal_value,
    project_dual,
    relative_gap,
    scaled_dual_value,
)
from multikernel.gram.base import GramStack
from multikernel.problem import Problem, Solution, Status
from multikernel.regularizers.base import VariationalRegularizer
from multikernel.solvers.recorder import Recorder

PATIENCE = 10  # iterations without progress before giving up
SMALLEST = 1e-100  # relative size of a weight that counts
PROGRESS = 1e-6  # share of the gap, in that many iterations: less is rounding


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
    norms : ndarray of shape (n_kernels,)
        Block norms.
    intercept : ndarray of shape (n_outputs,)
        The intercept.
    objective : float
        Primal objective.
    weights : ndarray of shape (n_kernels,)
        By what the expansions are multiplied.
    expansions : ndarray of shape (n_active or 1, n_samples[, n_outputs])
        Of the active kernels, those with a non-zero norm, or one for all.
    """

    norms: Array
    intercept: Array
    objective: float
    weights: Array
    expansions: Array

    @property
    def active(self) -> Indices:
        """Return the kernels with a non-zero norm."""
        return np.flatnonzero(self.norms)

    @property
    def coefs(self) -> Array:
        """Return the expansions, shape (n_active, n_samples[, n_outputs])."""
        shape = (-1,) + (1,) * (self.expansions.ndim - 1)
        return np.asarray(self.weights[self.active].reshape(shape) * self.expansions)


@dataclass
class Tracker:
    """Keeps the best primal and the best dual point, and the convergence history.

    Parameters
    ----------
    problem : Problem
        What is solved.
    recorder : Recorder
        Takes the history.
    patience : int, default=10
        Iterations without progress before giving up.
    progress : float, default=1e-6
        Share of the gap that counts as progress. A slow method goes on until the
        iteration limit; one that always takes large steps may give up earlier.
    """

    problem: Problem
    recorder: Recorder
    patience: int = PATIENCE
    progress: float = PROGRESS
    model: Model = field(init=False)
    certificate: DualCertificate = field(init=False)
    _last: Model = field(init=False)
    _bound: float = -np.inf
    _bounded_gaps: list[float] = field(default_factory=list)
    _stopped: bool = False

    def __post_init__(self) -> None:
        y, zero = self.problem.y, np.zeros(self.problem.gram.shape[0])
        b = np.zeros(1 if y.ndim == 1 else y.shape[1])
        self.model = self._last = Model(zero, b, np.inf, zero, np.zeros_like(y)[None])
        self.certificate = DualCertificate(np.zeros_like(y), zero, -np.inf)

    def start(self, init: Solution | None) -> Expansion | None:
        """Begin at the best constant model, or at a solution, and record that.

        Returns the expansion of the dual point of `init`.
        """
        n_kernels = self.problem.gram.shape[0]
        expansion = None
        if init is None:
            zero, none = np.zeros(n_kernels), np.zeros_like(self.problem.y)
            self.offer_model(none, zero, zero, none)
            self.offer_dual(none, zero)
        else:
            self._adopt(init)
            rho = project_dual(self.problem, init.dual)
            expansion = self._best_multiple(expand(self.problem.gram, rho))
            self.recorder.passes += 1 + init.active.size / n_kernels
            self.offer_dual(expansion.rho, expansion.forms)
        self.record()
        return expansion

    def _best_multiple(self, point: Expansion) -> Expansion:
        """Return the multiple with the best dual value.

        At a weaker penalty the same dual point stands for a model many times as large.
        """
        sizes = np.sqrt(point.forms)
        scale, _ = scaled_dual_value(self.problem, point.rho, self.model.norms, sizes)
        return Expansion(
            scale * point.rho, scale * point.images, scale**2 * point.forms
        )

    def _adopt(self, init: Solution) -> None:
        """Take over the model of a solution, with the norms of its own expansions."""
        gram, y = self.problem.gram, self.problem.y
        norms, f = np.zeros(gram.shape[0]), np.zeros_like(y)
        if init.active.size:
            images = gram.take(init.active).block_matvec(init.coefs)
            axes = tuple(range(1, images.ndim))
            forms = np.sum(init.coefs * images, axis=axes)
            norms[init.active] = np.sqrt(np.maximum(forms, 0.0))
            f = images.sum(axis=0)
        b = self._intercept(f)
        objective = primal_value(self.problem, norms, f + b)
        kept = init.coefs[norms[init.active] > 0.0]
        self.model = Model(norms, b, objective, np.ones_like(norms), kept)

    def _intercept(self, f: Array) -> Array:
        """Return the best intercept of every output, zero without one."""
        y, loss = self.problem.y, self.problem.loss
        columns = y.reshape(y.shape[0], -1).T
        if not self.problem.fit_intercept:
            return np.zeros(len(columns))
        values = f.reshape(y.shape[0], -1).T
        pairs = zip(columns, values, strict=True)
        return np.array([best_intercept(loss, t, v)[0] for t, v in pairs])

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
        # Squares of smaller weights underflow, and their norms could not be checked.
        weights = np.where(weights > SMALLEST * weights.max(initial=0.0), weights, 0.0)
        norms = weights * np.sqrt(forms)
        b = self._intercept(f)
        objective = primal_value(self.problem, norms, f + b)
        self._last = Model(norms, b, objective, weights, rho[None])
        if objective < self.model.objective:
            self.model = self._last
        return objective

    def exchange(self, tol: float) -> bool:
        """Take the model offered last, not the best one, where its gap is at most tol.

        Returns whether it was taken.
        """
        good = relative_gap(self._last.objective, self.certificate.value) <= tol
        if good:
            self.model = self._last
        return good

    def offer_dual(self, rho: Array, forms: Array) -> float:
        """Return the dual value of a feasible point; keep it if it is best."""
        certificate = certify(self.problem, rho, self.model.norms, np.sqrt(forms))
        if certificate.value > self.certificate.value:
            self.certificate = certificate
        return certificate.value

    @property
    def gap(self) -> float:
        """Return the relative gap between the best primal and the best dual point."""
        return relative_gap(self.model.objective, self.certificate.value)

    def raise_bound(self, value: float) -> None:
        """Take note of a lower bound on the optimum without a dual point of its own."""
        self._bound = max(self._bound, value)

    @property
    def bounded_gap(self) -> float:
        """Return the relative gap to the best lower bound known, proved or not."""
        return min(self.gap, relative_gap(self.model.objective, self._bound))

    def record(self) -> None:
        """Add a line to the history, and ask the callback."""
        self._bounded_gaps.append(max(self.bounded_gap, 0.0))
        self._stopped = self.recorder.add(
            self.model.objective, self.gap, self.model.active.size
        )

    def status(self, tol: float, max_iter: int) -> Status | None:
        """Return why to stop, or None to go on."""
        check_gap(self.gap)
        if self.gap <= tol:
            return Status.CONVERGED
        if self._stopped:
            return Status.STOPPED
        if len(self.recorder.history) > max_iter:
            return Status.MAX_ITER
        return Status.STALLED if self._stalls() else None

    def _stalls(self) -> bool:
        """Return whether the last iterations were in vain."""
        gaps = self._bounded_gaps
        if len(gaps) <= self.patience:
            return False
        return gaps[-1] >= (1.0 - self.progress) * gaps[-1 - self.patience]

    def solution(self, status: Status) -> Solution:
        """Return the best points found; kernel weights in closed form of the norms."""
        model, regularizer = self.model, self.problem.regularizer
        assert isinstance(regularizer, VariationalRegularizer)
        return Solution(
            kernel_weights=regularizer.kernel_weights(model.norms),
            norms=model.norms,
            active=model.active,
            coefs=model.coefs,
            intercept=model.intercept,
            dual=self.certificate.dual,
            objective=model.objective,
            duality_gap=self.gap,
            n_iter=len(self.recorder.history) - 1,
            status=status,
            history=tuple(self.recorder.history),
        )
