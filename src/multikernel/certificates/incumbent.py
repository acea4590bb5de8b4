"""The best model and the best dual point so far, while a solver runs."""

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
from multikernel.certificates.rounding import prove
from multikernel.gram.refine import Refinement
from multikernel.linalg import EPS
from multikernel.problem import Problem, Solution, Status
from multikernel.regularizers.base import kernel_weights


@dataclass
class Incumbent:
    """The best model and dual point of a problem so far, with the stopping rule."""

    problem: Problem  # with centered targets
    recorder: Recorder
    steps: tuple[str, ...] = ()  # the algorithms that are used, in order
    model: Model = field(init=False)  # the best model
    last: Model = field(init=False)  # the model of the last offer
    # The best dual points: for the full kernels, and for the matrices of the stack,
    # which may approximate the kernels by low-rank matrices.
    certificate: DualCertificate = field(init=False)
    over_factors: DualCertificate = field(init=False)
    refinement: Refinement | None = None
    _proved: Model | None = None  # the best evaluated model
    bound: float = -np.inf  # a lower bound on the optimum that has no dual point
    _last_gap: float = np.inf

    # Of 800 random problems, 7 ended with rounding errors above the tolerance; 6 to 44
    # further steps lowered the gap by 0 to 7 %.
    stalled_ratio: ClassVar[float] = 0.9
    """Ratio of successive gaps above which a step has not reduced rounding errors."""

    # The proof bounds the gap for the full kernels, which the stack may approximate by
    # low-rank matrices.
    solved: ClassVar[float] = 0.5
    """Gap over the low-rank matrices, as a share of tol, at which a proof is tried."""

    # Kernels with larger residuals of their low-rank matrices get more landmarks.
    residual: ClassVar[float] = 0.25
    """Largest share of the tolerance by which residuals may enlarge a gap."""

    def __post_init__(self) -> None:
        y, zeros = self.problem.y, np.zeros(self.problem.gram.shape[0])
        no_kernels, no_dual = np.empty(0, dtype=np.intp), np.zeros_like(y)
        b = np.zeros(1 if y.ndim == 1 else y.shape[1])
        self.model = Model(no_kernels, zeros, b, np.inf, np.empty(0), no_dual[None])
        self.last = self.model
        self.certificate = DualCertificate(no_dual, zeros, -np.inf)
        self.over_factors = self.certificate

    def start(self, init: Solution | None) -> Expansion | None:
        """Store the model and the dual point of `init`; return this point, rescaled."""
        # Without `init`, the best constant model is stored, and the result is None.
        n_kernels = self.problem.gram.shape[0]
        expansion = None
        if init is None:
            zeros, no_dual = np.zeros(n_kernels), np.zeros_like(self.problem.y)
            self.offer(model_of_multiples(self.problem, no_dual, zeros, zeros, no_dual))
            self.offer_dual(no_dual, zeros)
        else:
            rho = project_dual(self.problem, init.dual)
            point = expand(self.problem.gram, rho)
            self.offer(model_of_expansions(self.problem, init.active, init.coefs))
            expansion = best_multiple(self.problem, point, self.model.norms)
            self.offer_dual(expansion.rho, expansion.forms)
        self.record()
        return expansion

    def carry(self, model: Model, point: Expansion) -> Expansion:
        """Offer model and dual point of another alpha; return the rescaled point."""
        self.offer(evaluated(self.problem, replace(model, worth=None)))
        best = best_multiple(self.problem, point, self.model.norms)
        self.offer_dual(best.rho, best.forms)
        return best if best.forms.any() else point

    def exchange(self, tol: float) -> bool:
        """Make the last model the best if its gap is at most tol; return True if so."""
        model = evaluated(self.problem, self.last)
        is_proved = self._proof(model)[0] <= tol
        if is_proved:
            self.model = self._proved = model
        return is_proved

    def offer(self, model: Model) -> float:
        """Store a model as last, and as best if it is better; return its objective."""
        # The solver's norms and objective may be inexact; `evaluated` recomputes them
        # before the model is returned.
        self.last = model
        if not model.objective >= self.model.objective:
            self.model = model
        return model.objective

    def offer_dual(self, rho: Array, forms: Array) -> float:
        """Store a feasible dual point if it is the best; return its dual value."""
        # `forms` may be upper bounds. The certificate is for the full kernels and
        # includes bounds on residuals; the returned value is for the stack.
        problem, norms = self.problem, self.model.norms
        stack_proof = proof = certify(problem, rho, norms, np.sqrt(forms))
        residual = problem.gram.residual_bounds(rho)
        if residual.any():
            proof = certify(problem, rho, norms, np.sqrt(forms + residual))
        if stack_proof.value > self.over_factors.value:
            self.over_factors = stack_proof
        if proof.value > self.certificate.value:
            self.certificate = proof
        return float(stack_proof.value)

    @property
    def gap(self) -> float:
        """Relative gap of the best model and dual point for the stack's matrices."""
        # Rounding errors, and residuals of approximate matrices (`certified_gap`), are
        # excluded, because a solver cannot reduce these.
        return self._gap_to(self.over_factors.value)

    @property
    def certified_gap(self) -> float:
        """Relative gap of the best model and dual point for the full kernels."""
        return self._gap_to(self.certificate.value)

    @property
    def bounded_gap(self) -> float:
        """Relative gap to the larger lower bound: the dual value or `bound`."""
        return min(self.gap, self._gap_to(self.bound))

    def _gap_to(self, bound: float) -> float:
        return max(float(relative_gap(self.model.objective, bound)), EPS)

    @property
    def _visible_gap(self) -> float:
        """Certified gap without bounds on rounding errors; it may be negative."""
        return float(relative_gap(self.model.objective, self.certificate.value))

    def record(self) -> None:
        """Add a line to the history, and call the callback."""
        model = self.model
        self.recorder.patience.note(self.bounded_gap)
        self.recorder.add(model.objective, self.certified_gap, model.active.size)

    def status(self, tol: float, max_iter: int) -> Status | None:
        """Return the reason to stop, or None to continue."""
        # A model converges only if the gap of its evaluation, with rounding errors, is
        # at most tol. Steps cannot reduce these errors: if they alone exceed tol, and
        # the last step hardly changed them, the solve has stalled.
        is_stalled = False
        if self._visible_gap <= tol:
            (gap, _), last_gap = self._publish(), self._last_gap
            check_gap(gap)
            if gap <= tol:
                return Status.CONVERGED
            hidden = gap - self._visible_gap
            is_stalled = hidden > tol and gap > self.stalled_ratio * last_gap
            self._last_gap = gap
        elif self.gap <= self.solved * tol:
            ended = self._certify_over_full_kernels(tol)
            if ended is not None:
                return ended
        return self.recorder.ended(np.inf, tol, max_iter, is_stalled=is_stalled)

    def proves(self, tol: float) -> bool:
        """Return whether the best model has a gap of at most tol, rounding included."""
        # The evaluation by `_publish` takes time, so the visible gap is checked first.
        return self._visible_gap <= tol and self._publish()[0] <= tol

    def _certify_over_full_kernels(self, tol: float) -> Status | None:
        """Return the status after a proof over the full kernels; None to continue."""
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
        if self._publish()[0] <= tol:
            return Status.CONVERGED
        # `refinement` names the factors to refine.
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
        """Call `step` until it or a stopping rule gives a status; return a solution."""
        # With `resumes`, the previous run reached its maximum number of steps, so a
        # step precedes the first check of the stopping rules.
        max_lines = len(self.recorder.history) - 1 + max_iter
        status = None if resumes else self.status(tol, max_lines)
        while status is None:
            reason = step()
            self.record()
            status = self.status(tol, max_lines)
            if status in (None, Status.MAX_ITER):
                status = reason or status
        return self.solution(status)

    def _proof(self, model: Model) -> tuple[float, Array]:
        """Return the gap of an evaluated model despite rounding, and its dual point."""
        assert model.worth is not None
        return prove(self.problem, model.worth, self.certificate)

    def _publish(self) -> tuple[float, Array]:
        """Evaluate the best model from its expansions; return the result of `prove`."""
        # Offered objectives have rounding errors, so an offered model may have replaced
        # a better one. If the previously evaluated model has the lower objective, it is
        # kept.
        self.model = evaluated(self.problem, self.model)
        if self._proved is not None and self._proved.objective < self.model.objective:
            self.model = self._proved
        self._proved = self.model
        return self._proof(self.model)

    def solution(self, status: Status) -> Solution:
        """Return the best model and dual point; recompute the norms and the gap."""
        # A negative gap is a rounding error, so it counts as zero.
        proved_gap, dual = self._publish()
        gap, model = max(float(proved_gap), 0.0), self.model
        self.recorder.close(model.objective, gap, model.active.size)
        return Solution(
            kernel_weights=kernel_weights(self.problem.regularizer, model.norms),
            norms=model.norms,
            active=model.active,
            coefs=model.coefs,
            intercept=model.intercept + self.problem.offset,
            dual=dual,
            objective=model.objective,
            duality_gap=gap,
            n_iter=len(self.recorder.history) - 1,
            status=status,
            history=tuple(self.recorder.history),
            refinement=self.refinement,
            steps=self.steps,
        )
