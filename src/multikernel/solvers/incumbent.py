"""What all certified solvers share: history, best model, best proof, and the end."""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from multikernel._typing import Array
from multikernel.certificates import (
    DualCertificate,
    centred,
    check_gap,
    enlarged_gap,
    project_dual,
    relative_gap,
    safely_feasible,
    scaled_dual_value,
)
from multikernel.gram.metered import Meter, MeteredStack
from multikernel.problem import Callback, Problem, Progress, Solution, Status
from multikernel.regularizers.base import BlockRegularizer, is_variational
from multikernel.solvers.base import Solver, check_supported
from multikernel.solvers.best import Best, Expansion, Model, Proof, evaluated, expand


@dataclass
class Recorder:
    """Collects the convergence history and asks the callback whether to stop.

    Parameters
    ----------
    callback : Callback or None
        Called with every new line.
    meter : Meter, optional
        Counts what is read of the Gram matrices; see `metered`.
    """

    callback: Callback | None
    meter: Meter = field(default_factory=lambda: Meter(1))
    inner_steps: int = 0
    history: list[Progress] = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)
    _passes: float = field(init=False)

    def __post_init__(self) -> None:
        self._passes = self.meter.passes

    def _line(self, objective: float, duality_gap: float, n_active: int) -> Progress:
        return Progress(
            iteration=len(self.history),
            seconds=time.perf_counter() - self._start,
            objective=objective,
            duality_gap=duality_gap,
            n_active=n_active,
            passes=self.meter.passes - self._passes,
            inner_steps=self.inner_steps,
        )

    def add(self, objective: float, duality_gap: float, n_active: int) -> bool:
        """Append a line; return whether the callback asks to stop."""
        line = self._line(objective, duality_gap, n_active)
        self.history.append(line)
        return self.callback is not None and bool(self.callback(line))

    def close(self, objective: float, duality_gap: float, n_active: int) -> None:
        """Put what is published in place of the figures of the last line."""
        last = self.history.pop()
        line = self._line(objective, duality_gap, n_active)
        self.history.append(replace(line, iteration=last.iteration))


@dataclass
class Patience:
    """Counts iterations that gain nothing.

    A slow method goes on until the iteration limit; one that always takes large steps
    may give up earlier.

    Parameters
    ----------
    limit : int, default=10
        Iterations without progress before giving up: a solver that is about to
        converge gains in every one, and one that rounding holds gains in none.
    share : float, default=1e-6
        Share of the gap that counts as progress in that many iterations. Slow methods,
        of closed-form weights for p near 1, gain some 1e-4; what rounding does is far
        less.
    """

    limit: int = 10
    share: float = 1e-6
    _in_vain: int = -1
    _milestone: float = np.inf

    def note(self, gap: float, afresh: bool = False) -> None:
        """Take note of the gap after an iteration; it may count as a first one."""
        if afresh or not gap >= (1.0 - self.share) * self._milestone:
            self._milestone, self._in_vain = gap, -1
        self._in_vain += 1

    @property
    def exhausted(self) -> bool:
        """Return whether it is time to give up."""
        return self._in_vain >= self.limit


def metered(problem: Problem, callback: Callback | None) -> tuple[Problem, Recorder]:
    """Return the problem on a stack that counts what is read of it, and a recorder.

    All parts of the stack count as well; the recorder's passes are what they count.
    """
    meter = Meter(math.prod(problem.gram.shape))
    watched = replace(problem, gram=MeteredStack(problem.gram, meter))
    return watched, Recorder(callback, meter)


@dataclass
class Incumbent:
    """What is known of a problem while it is solved, and when that is enough.

    Models count as converged, and are published, as they are evaluated from their own
    expansions: objective and gap are those of the model that is handed out.

    Parameters
    ----------
    problem : Problem
        What is solved, with `centred` targets.
    recorder : Recorder
        Takes the history.
    patience : Patience, optional
        When to give up.
    """

    problem: Problem
    recorder: Recorder
    patience: Patience = field(default_factory=Patience)
    best: Best = field(init=False)
    proof: Proof = field(init=False)
    _gap_of: tuple[tuple[Model, DualCertificate], float] | None = None
    _stopped: bool = False
    _blurred: float = np.inf

    settled: ClassVar[float] = 0.9
    """Ratio of one gap to the one before above which a step has not lessened what
    rounding hides. Of 800 random problems 7 ended with more than their tolerance
    hidden: 6 to 44 further steps had lowered the gap by 0 to 7 %."""

    def __post_init__(self) -> None:
        self.best, self.proof = Best(self.problem), Proof(self.problem)

    @property
    def model(self) -> Model:
        """Return the best model."""
        return self.best.model

    def start(self, init: Solution | None) -> Expansion | None:
        """Begin at the best constant model, or at a solution, and record that.

        Returns the expansion of the dual point of `init`.
        """
        n_kernels = self.problem.gram.shape[0]
        expansion = None
        if init is None:
            zero, none = np.zeros(n_kernels), np.zeros_like(self.problem.y)
            self.best.offer_model(none, zero, zero, none)
            self.offer_dual(none, zero)
        else:
            self.best.offer(self.best.refreshed(init.active, init.coefs))
            rho = project_dual(self.problem, init.dual)
            expansion = self._best_multiple(expand(self.problem.gram, rho))
            self.offer_dual(expansion.rho, expansion.forms)
        self.record()
        return expansion

    def carry(self, model: Model, point: Expansion) -> Expansion:
        """Offer an evaluated model and a dual point that are for another penalty.

        Returns the best multiple of the point, or the point where that is zero.
        """
        self.best.offer(evaluated(self.problem, replace(model, worth=None)))
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

    def exchange(self, tol: float) -> bool:
        """Take the model offered last, not the best one, where its gap is at most tol.

        Returns whether it was taken.
        """
        last = evaluated(self.problem, self.best.last)
        good = self._enlarged_gap(last) <= tol
        if good:
            self.best.take(last)
        return good

    def offer_dual(self, rho: Array, forms: Array) -> float:
        """Return the dual value of a feasible point over the stack; see `Proof`."""
        return self.proof.offer(rho, forms, self.model.norms)

    @property
    def gap(self) -> float:
        """Return the relative gap between the best primal and the best dual point.

        As far as the solver knows: it is not enlarged, never below rounding, and over
        the matrices of the stack, which are all that a solver can do something about.
        """
        return self.proof.gap(self.model.objective)

    @property
    def certified_gap(self) -> float:
        """Return the relative gap to the optimum over the kernels of the stack."""
        return self.proof.certified_gap(self.model.objective)

    @property
    def bounded_gap(self) -> float:
        """Return the relative gap to the best lower bound known, proved or not."""
        return self.proof.bounded_gap(self.model.objective)

    def record(self, afresh: bool = False) -> None:
        """Add a line to the history, and ask the callback.

        Parameters
        ----------
        afresh : bool, default=False
            Whether patience starts again, as the solver has something new to try.
        """
        self.patience.note(self.bounded_gap, afresh)
        self._stopped = self.recorder.add(
            self.model.objective, self.certified_gap, self.model.active.size
        )

    def status(self, tol: float, max_iter: int) -> Status | None:
        """Return why to stop, or None to go on.

        Steps can close a gap, but not what rounding hides of it: where that alone is
        above the tolerance, and a step has hardly changed it, none will help.
        """
        in_vain = self.patience.exhausted
        if self.proof.seems_below(self.model.objective, tol):
            gap, before = self._publish(), self._blurred
            check_gap(gap)
            if gap <= tol:
                return Status.CONVERGED
            hidden = gap - relative_gap(
                self.model.objective, self.proof.certificate.value
            )
            in_vain |= hidden > tol and gap > self.settled * before
            self._blurred = gap
        elif self.gap <= self.proof.solved * tol:
            ended = self._solved_over_factors(tol)
            if ended is not None:
                return ended
        if self._stopped:
            return Status.STOPPED
        if len(self.recorder.history) > max_iter:
            return Status.MAX_ITER
        return Status.STALLED if in_vain else None

    def proves(self, tol: float) -> bool:
        """Return whether the best model, evaluated, has a gap of at most tol."""
        below = self.proof.seems_below(self.model.objective, tol)
        return below and self._publish() <= tol

    def _solved_over_factors(self, tol: float) -> Status | None:
        """Prove the model over the full kernels, or say what keeps that from being."""
        self._publish()
        if not self.gap <= self.proof.solved * tol:
            return None
        goals = self.proof.prove_over_kernels(self.model, tol)
        if self._publish() <= tol:
            return Status.CONVERGED
        self.proof.ask_for(goals)
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
        certificate = self.proof.certificate
        assert model.worth is not None
        key = model, certificate
        if self._gap_of is None or self._gap_of[0] != key:
            gap = enlarged_gap(self.problem, model.worth, certificate, model.norms)
            self._gap_of = key, gap
        return self._gap_of[1]

    def _publish(self) -> float:
        """Evaluate the best model from its expansions, and return its gap."""
        return self._enlarged_gap(self.best.evaluate())

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
            dual=safely_feasible(self.problem, self.proof.certificate),
            objective=model.objective,
            duality_gap=gap,
            n_iter=len(self.recorder.history) - 1,
            status=status,
            history=tuple(self.recorder.history),
            refinement=self.proof.refinement,
        )


def incumbents(
    solver: Solver,
    problem: Problem,
    regularizers: Iterable[BlockRegularizer],
    callback: Callback | None,
    limit: int = Patience.limit,
    share: float = Patience.share,
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
    limit, share : int and float
        Of the patience of every incumbent, see `Patience`.

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
        yield Incumbent(step, recorder, Patience(limit, share))
        recorder = Recorder(callback, recorder.meter)


def kernel_weights(regularizer: BlockRegularizer, norms: Array) -> Array:
    """Return weights in closed form of the norms: shares where no other is known."""
    if is_variational(regularizer):
        return regularizer.kernel_weights(norms)
    total = float(norms.sum())
    return norms / total if total > 0.0 else norms.copy()
