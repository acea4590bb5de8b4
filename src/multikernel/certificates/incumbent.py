"""The best model and the best dual point of a problem while it is solved."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from multikernel._typing import Array
from multikernel.certificates.evaluation import (
    Model,
    evaluated,
    model_of_expansions,
    model_of_multiples,
)
from multikernel.certificates.forms import (
    Expansion,
    best_multiple,
    expand,
    prove_over_full_kernels,
)
from multikernel.certificates.gap import (
    DualCertificate,
    certify,
    check_gap,
    project_dual,
    relative_gap,
)
from multikernel.certificates.progress import Recorder
from multikernel.certificates.rounding import enlarged_gap, safely_feasible
from multikernel.gram.refine import Refinement
from multikernel.linalg import EPS
from multikernel.problem import Problem, Solution, Status
from multikernel.regularizers.base import kernel_weights


@dataclass
class Incumbent:
    """The best model and the best dual point so far, and when to stop.

    Models are evaluated from their own expansions before they count as converged, so
    objective and gap belong to the published model.

    Parameters
    ----------
    problem : Problem
        What is solved, with `centred` targets.
    recorder : Recorder
        Takes the history, and says when to give up.
    steps : tuple of str, default=()
        The algorithms that are used, in order.
    """

    problem: Problem
    recorder: Recorder
    steps: tuple[str, ...] = ()
    model: Model = field(init=False)  # the best one
    last: Model = field(init=False)  # the one offered last
    certificate: DualCertificate = field(init=False)  # the best one, for the kernels
    over_factors: DualCertificate = field(init=False)  # for the matrices of the stack
    refinement: Refinement | None = None
    _proved: Model | None = None  # the best of the models that were evaluated
    bound: float = -np.inf  # a lower bound on the optimum without a dual point
    _blurred: float = np.inf

    settled: ClassVar[float] = 0.9
    """Above this ratio of successive gaps, a step has not reduced the part of rounding.
    Of 800 random problems 7 ended with a part of rounding above the tolerance: 6 to 44
    further steps lowered the gap by 0 to 7 %."""

    solved: ClassVar[float] = 0.5
    """If residuals of the stack cause the rest of the gap, its matrices count as solved
    at this share of the tolerance."""

    residual: ClassVar[float] = 0.25
    """Residuals may then cost this share of the tolerance; kernels above it get more
    landmarks."""

    def __post_init__(self) -> None:
        y, zero = self.problem.y, np.zeros(self.problem.gram.shape[0])
        none, nothing = np.empty(0, dtype=np.intp), np.zeros_like(y)
        b = np.zeros(1 if y.ndim == 1 else y.shape[1])
        self.model = Model(none, zero, b, np.inf, np.empty(0), nothing[None])
        self.last = self.model
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
            self.offer(model_of_multiples(self.problem, none, zero, zero, none))
            self.offer_dual(none, zero)
        else:
            rho = project_dual(self.problem, init.dual)
            point = expand(self.problem.gram, rho)
            self.offer(model_of_expansions(self.problem, init.active, init.coefs))
            expansion = best_multiple(self.problem, point, self.model.norms)
            self.offer_dual(expansion.rho, expansion.forms)
        self.record()
        return expansion

    def carry(self, model: Model, point: Expansion) -> Expansion:
        """Offer an evaluated model and a dual point of another penalty.

        Returns the best multiple of the point, or the point where that is zero.
        """
        self.offer(evaluated(self.problem, replace(model, worth=None)))
        best = best_multiple(self.problem, point, self.model.norms)
        self.offer_dual(best.rho, best.forms)
        return best if best.forms.any() else point

    def exchange(self, tol: float) -> bool:
        """Take the model offered last, best or not, if its gap is at most tol.

        Returns whether it was taken.
        """
        last = evaluated(self.problem, self.last)
        is_proved = self._enlarged_gap(last) <= tol
        if is_proved:
            self.model = self._proved = last
        return is_proved

    def offer(self, model: Model) -> float:
        """Keep a model if it is the best; return its objective.

        It is offered with what the solver believes of it, which is cheap. Before it is
        published it is evaluated from its own expansions.
        """
        self.last = model
        if not model.objective >= self.model.objective:
            self.model = model
        return model.objective

    def offer_dual(self, rho: Array, forms: Array) -> float:
        """Return the dual value of a feasible point; keep it if it is best.

        Its quadratic forms, (n_kernels,), may be upper bounds. Where the stack leaves a
        residual of the kernels, the proof is for these, with what the residual adds at
        most, and the value that is returned is that for the stack.
        """
        problem, norms = self.problem, self.model.norms
        own_proof = proof = certify(problem, rho, norms, np.sqrt(forms))
        residual = problem.gram.residual_bounds(rho)
        if residual.any():
            proof = certify(problem, rho, norms, np.sqrt(forms + residual))
        if own_proof.value > self.over_factors.value:
            self.over_factors = own_proof
        if proof.value > self.certificate.value:
            self.certificate = proof
        return own_proof.value

    @property
    def gap(self) -> float:
        """Return the relative gap between the best primal and the best dual point.

        As far as the solver knows: it is not enlarged, never below rounding, and over
        the matrices of the stack, which are all that a solver can do something about.
        """
        return self._gap_to(self.over_factors.value)

    @property
    def certified_gap(self) -> float:
        """Return the relative gap to the optimum over the kernels of the stack."""
        return self._gap_to(self.certificate.value)

    @property
    def bounded_gap(self) -> float:
        """Return the relative gap to the best lower bound known, proved or not."""
        return min(self.gap, self._gap_to(self.bound))

    def _gap_to(self, bound: float) -> float:
        """Return the relative gap of the best model to a lower bound."""
        return max(relative_gap(self.model.objective, bound), EPS)

    @property
    def _visible_gap(self) -> float:
        """Return the certified gap, but for what rounding hides."""
        return relative_gap(self.model.objective, self.certificate.value)

    def record(self) -> None:
        """Add a line to the history, and ask the callback."""
        model = self.model
        self.recorder.patience.note(self.bounded_gap)
        self.recorder.add(model.objective, self.certified_gap, model.active.size)

    def status(self, tol: float, max_iter: int) -> Status | None:
        """Return why to stop, or None to go on.

        Steps can close a gap, but not what rounding hides of it: where that alone is
        above the tolerance, and a step has hardly changed it, none will help.
        """
        in_vain = False
        if self._visible_gap <= tol:
            gap, before = self._publish(), self._blurred
            check_gap(gap)
            if gap <= tol:
                return Status.CONVERGED
            hidden = gap - self._visible_gap
            in_vain = hidden > tol and gap > self.settled * before
            self._blurred = gap
        elif self.gap <= self.solved * tol:
            ended = self._certify_over_full_kernels(tol)
            if ended is not None:
                return ended
        return self.recorder.ended(np.inf, tol, max_iter, in_vain=in_vain)

    def proves(self, tol: float) -> bool:
        """Return whether the best model, evaluated, has a gap of at most tol."""
        return self._visible_gap <= tol and self._publish() <= tol

    def _certify_over_full_kernels(self, tol: float) -> Status | None:
        """Return the status of a proof over the full kernels; None to go on.

        With LIMITED the factors must be refined, see `refinement`.
        """
        self._publish()
        if not self.gap <= self.solved * tol:
            return None
        problem, inner, model = self.problem, self.over_factors, self.model
        excess = self.residual * tol * abs(model.objective)
        proof = prove_over_full_kernels(
            problem, inner.dual, inner.dual_norms**2, model.norms, excess
        )
        if proof.certificate.value > self.certificate.value:
            self.certificate = proof.certificate
        if self._publish() <= tol:
            return Status.CONVERGED
        if proof.goals:
            self.refinement = Refinement(self.over_factors.dual, proof.goals)
        return Status.LIMITED

    def run(
        self,
        step: Callable[[], Status | None],
        tol: float,
        max_iter: int,
        *,
        resumes: bool = False,
    ) -> Solution:
        """Take steps, and record them, until there is a reason to stop.

        Parameters
        ----------
        step : callable
            Takes a step. It returns a reason of the solver's own to end, or None.
        tol : float
            Relative duality gap at which to stop.
        max_iter : int
            Steps at most.
        resumes : bool, default=False
            Whether a run that ended at its limit of steps goes on.

        Returns
        -------
        solution : Solution
        """
        most = len(self.recorder.history) - 1 + max_iter
        status = None if resumes else self.status(tol, most)
        while status is None:
            reason = step()
            self.record()
            status = self.status(tol, most)
            if status in (None, Status.MAX_ITER):
                status = reason or status
        return self.solution(status)

    def _enlarged_gap(self, model: Model) -> float:
        """Return the gap of an evaluated model, rounding included."""
        assert model.worth is not None
        return enlarged_gap(self.problem, model.worth, self.certificate)

    def _publish(self) -> float:
        """Return the gap of the best model, evaluated from its expansions."""
        # A model that was better by rounding only is replaced by the best proved one.
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
        assert model.worth is not None
        self.recorder.close(model.objective, gap, model.active.size)
        return Solution(
            kernel_weights=kernel_weights(self.problem.regularizer, model.norms),
            norms=model.norms,
            active=model.active,
            coefs=model.coefs,
            intercept=model.intercept + self.problem.offset,
            dual=safely_feasible(self.problem, self.certificate, model.worth),
            objective=model.objective,
            duality_gap=gap,
            n_iter=len(self.recorder.history) - 1,
            status=status,
            history=tuple(self.recorder.history),
            refinement=self.refinement,
            steps=self.steps,
        )
