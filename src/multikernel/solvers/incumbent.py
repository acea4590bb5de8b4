"""What all certified solvers share: the best model, the best proof, and the end."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import (
    DualCertificate,
    Terms,
    Worth,
    best_intercepts,
    centred,
    certify,
    check_forms,
    check_gap,
    enlarged_gap,
    evaluate,
    evaluate_terms,
    primal_value,
    project_dual,
    prove_over_full_kernels,
    published_intercept,
    relative_gap,
    safely_feasible,
    scaled_dual_value,
)
from multikernel.gram.base import GramStack, Refinement
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers.base import BlockRegularizer, VariationalRegularizer
from multikernel.solvers.base import Solver, check_supported
from multikernel.solvers.recorder import Recorder, metered

PATIENCE = 10
"""Iterations without progress before giving up: a solver that is about to converge
gains in every one, and one that rounding holds gains in none."""

PROGRESS = 1e-6
"""Share of the gap that counts as progress in that many iterations. Slow methods, of
closed-form weights for p near 1, gain some 1e-4; what rounding does is far less."""

SETTLED = 0.9
"""Ratio of one gap to the one before above which a step has not lessened what rounding
hides. Of 800 random problems 7 ended with more than their tolerance hidden: 6 to 44
further steps had lowered the gap by 0 to 7 %."""

EPS = float(np.finfo(np.float64).eps)

SOLVED = 0.5
"""The matrices of a stack count as solved for at this share of the tolerance, where
what they leave of the kernels makes up the rest of the gap."""

RESIDUAL = 0.25
"""What they leave may then cost this share of the tolerance: kernels beyond get more
landmarks."""

SMALLEST = 1e-100
"""Relative size of a weight that counts: squares of smaller ones underflow, and their
norms could not be checked."""


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
class Incumbent:
    """Keeps the best primal and the best dual point, and the convergence history.

    Models are offered with what the solver believes of them, which is cheap. Before
    one is published, or counts as converged, it is evaluated from its own expansions,
    and objective and gap are those of the model that is handed out.

    Parameters
    ----------
    problem : Problem
        What is solved, with `centred` targets.
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
    over_factors: DualCertificate = field(init=False)
    _last: Model = field(init=False)
    _proved: Model | None = None
    _gap_of: tuple[tuple[Model, DualCertificate], float] | None = None
    _bound: float = -np.inf
    _in_vain: int = -1
    _milestone: float = np.inf
    _stopped: bool = False
    _refinement: Refinement | None = None
    _blurred: float = np.inf

    def __post_init__(self) -> None:
        y, zero = self.problem.y, np.zeros(self.problem.gram.shape[0])
        none, nothing = np.empty(0, dtype=np.intp), np.zeros_like(y)
        b = np.zeros(1 if y.ndim == 1 else y.shape[1])
        self.model = Model(none, zero, b, np.inf, np.empty(0), nothing[None])
        self._last = self.model
        self.certificate = DualCertificate(nothing, zero, -np.inf)
        self.over_factors = self.certificate

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
            self.offer(self.refreshed(init.active, init.coefs))
            rho = project_dual(self.problem, init.dual)
            expansion = self._best_multiple(expand(self.problem.gram, rho))
            self.offer_dual(expansion.rho, expansion.forms)
        self.record()
        return expansion

    def carry(self, model: Model, point: Expansion) -> Expansion:
        """Offer an evaluated model and a dual point that are for another penalty.

        Returns the best multiple of the point, or the point where that is zero.
        """
        self.offer(evaluated(self.problem, replace(model, worth=None)))
        best = self._best_multiple(point)
        self.offer_dual(best.rho, best.forms)
        return best if best.forms.any() else point

    def _best_multiple(self, point: Expansion) -> Expansion:
        """Return the multiple with the best dual value.

        At a weaker penalty the same dual point stands for a model many times as large.
        """
        sizes = np.sqrt(point.forms)
        scale, _ = scaled_dual_value(self.problem, point.rho, self.model.norms, sizes)
        return Expansion(
            scale * point.rho, scale * point.images, scale**2 * point.forms
        )

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
        weights = np.where(weights > SMALLEST * weights.max(initial=0.0), weights, 0.0)
        norms = weights * np.sqrt(forms)
        b = self._intercept(f)
        objective = primal_value(self.problem, norms, f + b)
        # A norm may have been lost to rounding; what its kernel adds to f has not.
        kernels = np.flatnonzero(weights)
        model = Model(kernels, norms, b, objective, weights[kernels], rho[None])
        self.offer(model)
        return objective

    def offer(self, model: Model) -> None:
        """Keep a model if it is the best."""
        self._last = model
        if not model.objective >= self.model.objective:
            self.model = model

    def exchange(self, tol: float) -> bool:
        """Take the model offered last, not the best one, where its gap is at most tol.

        Returns whether it was taken.
        """
        last = evaluated(self.problem, self._last)
        good = self._enlarged_gap(last) <= tol
        if good:
            self.model = self._proved = last
        return good

    def offer_dual(self, rho: Array, forms: Array) -> float:
        """Return the dual value of a feasible point; keep it if it is best.

        Its quadratic forms may be upper bounds. Where the stack leaves a residual of
        the kernels, the proof is for these, with what the residual adds at most, and
        the value that is returned is that for the stack.
        """
        problem, norms = self.problem, self.model.norms
        own = proof = certify(problem, rho, norms, np.sqrt(forms))
        residual = problem.gram.residual_bounds(rho)
        if residual.any():
            proof = certify(problem, rho, norms, np.sqrt(forms + residual))
        if own.value > self.over_factors.value:
            self.over_factors = own
        if proof.value > self.certificate.value:
            self.certificate = proof
        return own.value

    def _relative(self, bound: float) -> float:
        return relative_gap(self.model.objective, bound)

    @property
    def gap(self) -> float:
        """Return the relative gap between the best primal and the best dual point.

        As far as the solver knows: it is not enlarged, never below rounding, and over
        the matrices of the stack, which are all that a solver can do something about.
        """
        return max(self._relative(self.over_factors.value), EPS)

    @property
    def certified_gap(self) -> float:
        """Return the relative gap to the optimum over the kernels of the stack."""
        return max(self._relative(self.certificate.value), EPS)

    def raise_bound(self, value: float) -> None:
        """Take note of a lower bound on the optimum without a dual point of its own."""
        self._bound = max(self._bound, value)

    @property
    def bounded_gap(self) -> float:
        """Return the relative gap to the best lower bound known, proved or not."""
        return min(self.gap, max(self._relative(self._bound), EPS))

    def record(self, afresh: bool = False) -> None:
        """Add a line to the history, and ask the callback.

        Parameters
        ----------
        afresh : bool, default=False
            Whether patience starts again, as the solver has something new to try.
        """
        gap = self.bounded_gap
        if afresh or not gap >= (1.0 - self.progress) * self._milestone:
            self._milestone, self._in_vain = gap, -1
        self._in_vain += 1
        self._stopped = self.recorder.add(
            self.model.objective, self.certified_gap, self.model.active.size
        )

    def status(self, tol: float, max_iter: int) -> Status | None:
        """Return why to stop, or None to go on.

        Steps can close a gap, but not what rounding hides of it: where that alone is
        above the tolerance, and a step has hardly changed it, none will help.
        """
        in_vain = self._in_vain >= self.patience
        if self._seems_below(tol):
            gap, before = self._publish(), self._blurred
            check_gap(gap)
            if gap <= tol:
                return Status.CONVERGED
            hidden = gap - self._relative(self.certificate.value)
            in_vain |= hidden > tol and gap > SETTLED * before
            self._blurred = gap
        elif self.gap <= SOLVED * tol:
            ended = self._solved_over_factors(tol)
            if ended is not None:
                return ended
        if self._stopped:
            return Status.STOPPED
        if len(self.recorder.history) > max_iter:
            return Status.MAX_ITER
        return Status.STALLED if in_vain else None

    def _seems_below(self, tol: float) -> bool:
        return self._relative(self.certificate.value) <= tol

    def proves(self, tol: float) -> bool:
        """Return whether the best model, evaluated, has a gap of at most tol."""
        return self._seems_below(tol) and self._publish() <= tol

    def _solved_over_factors(self, tol: float) -> Status | None:
        """Prove the model over the full kernels, or say what keeps that from being."""
        self._publish()
        if not self.gap <= SOLVED * tol:
            return None
        problem, own = self.problem, self.over_factors
        proof = prove_over_full_kernels(
            problem,
            own.dual,
            own.dual_norms**2,
            self.model.norms,
            RESIDUAL * tol * abs(self.model.objective),
        )
        if proof.certificate.value > self.certificate.value:
            self.certificate = proof.certificate
        if self._publish() <= tol:
            return Status.CONVERGED
        self._refinement = problem.gram.refinement(own.dual, proof.goals)
        return Status.LIMITED

    def run(
        self, step: Callable[[], Status | None], tol: float, max_iter: int
    ) -> Solution:
        """Take steps, and record them, until there is a reason to stop.

        Parameters
        ----------
        step : callable
            Takes a step; returns a reason of the solver's own to end, or None.
        tol : float
            Relative duality gap at which to stop.
        max_iter : int
            Steps at most.

        Returns
        -------
        solution : Solution
        """
        status = self.status(tol, max_iter)
        while status is None:
            own = step()
            self.record()
            status = self.status(tol, max_iter) or own
        return self.solution(status)

    def _enlarged_gap(self, model: Model) -> float:
        """Return the gap of an evaluated model, rounding included."""
        assert model.worth is not None
        key = model, self.certificate
        if self._gap_of is None or self._gap_of[0] != key:
            gap = enlarged_gap(self.problem, model.worth, self.certificate, model.norms)
            self._gap_of = key, gap
        return self._gap_of[1]

    def _publish(self) -> float:
        """Evaluate the best model from its expansions, and return its gap.

        One that was better by rounding only gives way to the best one that is sure.
        """
        self.model = evaluated(self.problem, self.model)
        if self._proved is not None and self._proved.objective < self.model.objective:
            self.model = self._proved
        self._proved = self.model
        return self._enlarged_gap(self.model)

    def solution(self, status: Status) -> Solution:
        """Return the best points found, evaluated."""
        # Rounding may leave the dual value above the objective; that proves them equal.
        gap = max(self._publish(), 0.0)
        model = self.model
        self.recorder.close(model.objective, gap, model.active.size)
        return Solution(
            kernel_weights=kernel_weights(self.problem.regularizer, model.norms),
            norms=model.norms,
            active=model.active,
            coefs=model.coefs,
            intercept=model.intercept + self.problem.offset,
            dual=safely_feasible(self.problem, self.certificate),
            objective=model.objective,
            duality_gap=gap,
            n_iter=len(self.recorder.history) - 1,
            status=status,
            history=tuple(self.recorder.history),
            refinement=self._refinement,
        )


def incumbents(
    solver: Solver,
    problem: Problem,
    regularizers: Iterable[BlockRegularizer],
    callback: Callback | None,
    patience: int = PATIENCE,
    progress: float = PROGRESS,
) -> Iterator[Incumbent]:
    """Yield an incumbent for every penalty in turn, all on one metered stack.

    Parameters
    ----------
    solver : Solver
        What is to solve for each penalty.
    problem : Problem
        Its regulariser is not used.
    regularizers : iterable of BlockRegularizer
        The penalties.
    callback : Callback or None
        Called with every line of every history.
    patience, progress : int and float
        Of every incumbent.

    Yields
    ------
    incumbent : Incumbent
        Without any point yet.

    Raises
    ------
    UnsupportedProblemError
        If the solver gives a reason against a penalty.
    """
    problem, recorder = metered(centred(problem), callback)
    for regularizer in regularizers:
        step = replace(problem, regularizer=regularizer)
        check_supported(solver, step)
        yield Incumbent(step, recorder, patience, progress)
        recorder = Recorder(callback, recorder.meter)


def kernel_weights(regularizer: BlockRegularizer, norms: Array) -> Array:
    """Return weights in closed form of the norms: shares where no other is known."""
    if isinstance(regularizer, VariationalRegularizer):
        return regularizer.kernel_weights(norms)
    total = float(norms.sum())
    return norms / total if total > 0.0 else norms.copy()
