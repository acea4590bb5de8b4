"""SpicyMKL: the choice of the algorithm for a problem."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np

from multikernel._validation import OneOf, check_parameter
from multikernel.gram.base import GramStack
from multikernel.gram.factors.low_rank import low_rank_form
from multikernel.linalg.threads import with_one_blas_thread
from multikernel.losses import PolyhedralCoupledLoss, SmoothCoupledLoss, is_coupled
from multikernel.losses.base import Loss, is_polyhedral, is_smooth
from multikernel.losses.weighted import WeightedLoss, finite_ends, is_squared
from multikernel.problem import Callback, Problem, Solution, Status, center_targets
from multikernel.regularizers.base import (
    BlockRegularizer,
    ProximableRegularizer,
    treats_kernels_alike,
)
from multikernel.regularizers.block_l1 import BlockL1
from multikernel.solvers.base import incumbents
from multikernel.solvers.spicy.newton import NewtonPath, NewtonState
from multikernel.solvers.spicy.outputs import (
    RotatedOutputs,
    has_redundant_outputs,
)
from multikernel.solvers.spicy.sampled_start import start_on_part
from multikernel.solvers.spicy.settings import SETTINGS
from multikernel.solvers.spicy.spans import SpannedTargets
from multikernel.solvers.spicy.working_set import WorkingSet

ALGORITHMS = ("auto", "augmented_lagrangian")

PATIENCE = 3, 0.1
"""A fit stops if 3 passes together reduce the gap by less than a tenth."""


@dataclass(frozen=True)
class SpicyMKL:
    r"""Sparse MKL by Newton's method in the weights, or by SpicyMKL on working sets.

    Minimizes :math:`\sum_i \ell(y_i, f(x_i)) + \Omega(\|f_1\|, \dots, \|f_M\|)` for a
    regularizer with a separable prox (`BlockL1`, `BlockElasticNet`) and any loss whose
    conjugate is twice differentiable or piecewise linear. An outer step (at most
    `max_iter`) reads all kernels once, certifies the relative duality gap of the whole
    problem (`tol`) and adds the kernels that violate optimality most to the working
    set, on which the dual augmented Lagrangian of Suzuki and Tomioka (METR 2009-45,
    Table 1) converges super-linearly. The `algorithm` "auto" may start with faster
    algorithms, such as Newton's method in the weights for the 1-norm, a smooth loss and
    at most 128 kernels; "augmented_lagrangian" uses the paper's algorithm alone. A
    Newton step costs n_samples^3 / 3 flops, or n_samples R^2 on factors of rank R.
    """

    tol: float = 1e-3
    max_iter: int = 100
    algorithm: str = "auto"

    def __post_init__(self) -> None:
        check_parameter("SpicyMKL", "algorithm", self.algorithm, OneOf(ALGORITHMS))

    def unsupported(self, problem: Problem) -> str | None:
        """Return why this solver cannot solve the problem, or None if it can."""
        if not isinstance(problem.regularizer, ProximableRegularizer):
            return (
                "SpicyMKL needs a regularizer with a separable prox, got "
                f"{type(problem.regularizer).__name__}: use BlockL1 or BlockElasticNet."
            )
        if not treats_kernels_alike(problem.regularizer):
            return (
                "SpicyMKL needs a penalty that accepts any number of kernels, but this "
                f"{type(problem.regularizer).__name__} is for a fixed number. To "
                "weight the penalty of a kernel by w, divide its matrix by w**2 "
                "(ScaledStack)."
            )
        loss = problem.loss
        treated = is_smooth(loss) or is_polyhedral(loss)
        if is_coupled(loss):
            treated = isinstance(loss, SmoothCoupledLoss | PolyhedralCoupledLoss)
        if not treated:
            return (
                "SpicyMKL needs a loss whose conjugate is twice differentiable or "
                f"piecewise linear, got {type(loss).__name__}: use another loss, for "
                "example SquaredLoss or HingeLoss."
            )
        return None

    def solve(
        self,
        problem: Problem,
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Solution:
        """Solve the problem; see `Solver.solve`."""
        penalty = problem.regularizer
        if self.supports_many([problem], [penalty]):
            path = self.follow_many([problem], [[penalty]], [init], callback)
            return cast(Solution, next(path)[0])
        return next(self.follow(problem, [penalty], init, callback))

    def follow(
        self,
        problem: Problem,
        regularizers: Iterable[BlockRegularizer],
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Iterator[Solution]:
        """Yield the solution for each regularizer by working sets.

        Each solve starts from the model, dual point and penalty parameter of the
        previous solve. A solve that ended at `max_iter` continues if the next
        regularizer is equal.
        """
        if has_redundant_outputs(problem):
            rotated = RotatedOutputs.of(problem)
            start = rotated.to_rotated(init)
            for inner in self.follow(rotated.problem, regularizers, start, callback):
                yield rotated.from_rotated(inner, self.tol)
            return
        search, is_auto = None, self.algorithm == "auto"
        for incumbent in incumbents(self, problem, regularizers, callback, *PATIENCE):
            if search is None:
                search = WorkingSet(incumbent, machines=is_auto)
                search.start(init)
                if init is None and is_auto and incumbent.gap > SETTINGS.near:
                    start = start_on_part(incumbent.problem, self)
                    if start is not None:
                        search.note_step("subsampled_newton")
                        search.start(start)
            elif not search.unfinished(incumbent.problem.regularizer):
                last, search = search, WorkingSet(incumbent, machines=is_auto)
                search.start_from(last)
            solution = search.run(self.tol, self.max_iter)
            search.free_matrices()
            yield solution
            if solution.status is Status.STOPPED:
                return

    def supports_many(
        self, problems: Sequence[Problem], penalties: Sequence[BlockRegularizer]
    ) -> bool:
        """Return whether `follow_many` supports these problems; see `newton_for`."""
        sparse = all(isinstance(penalty, BlockL1) for penalty in penalties)
        return self.algorithm == "auto" and sparse and newton_for(problems) is not None

    def follow_many(
        self,
        problems: Sequence[Problem],
        penalties: Iterable[Sequence[BlockRegularizer | None]],
        starts: Sequence[Solution | None],
        callback: Callback | None = None,
    ) -> Iterator[list[Solution | None]]:
        """Yield solutions, None for skipped problems; see `follow_problems`."""
        # `supports_many` must return True.
        newton = newton_for(problems)
        assert newton is not None
        state = newton([center_targets(problem) for problem in problems])
        path = NewtonPath(state, self.tol, self.max_iter, callback)
        numbers = problems[0].gram.held_numbers()
        small = bool(8 * numbers.sum() <= SETTINGS.one_thread_bytes)
        for step, current in enumerate(penalties):
            if step == 0:
                path.begin(starts, current)
            solved, unsolved = with_one_blas_thread(
                partial(path.solve, current), small=small
            )
            for t in unsolved.tolist():
                last_solution, penalty = solved[t], current[t]
                assert last_solution is not None
                assert penalty is not None
                alone = replace(self, max_iter=self.max_iter - last_solution.n_iter)
                solved[t] = path.finish_target(alone.follow, t, penalty, last_solution)
            yield solved
            if path.stopped:
                return


def newton_for(problems: Sequence[Problem]) -> type[NewtonState] | None:
    """Return the class for Newton's method in the weights, or None for working sets."""
    first, n_targets = problems[0], len(problems)
    n_kernels, n_samples, _ = first.gram.shape
    few = n_kernels <= min(SETTINGS.most_kernels, n_samples)
    if not (few and _on_one_stack(problems) and _is_steep(first)):
        return None
    if is_squared(first.loss) and _has_small_spaces(first.gram, n_targets):
        return SpannedTargets
    return NewtonState if _newton_steps_are_cheap(first, n_targets) else None


def _has_small_spaces(gram: GramStack, n_targets: int) -> bool:
    """Return whether `SpannedTargets` should solve targets of the squared loss."""
    # It reads each matrix once for all targets, but stores a small space per target.
    if gram.tall_form() is not None:
        return n_targets > 1 and _is_exact(gram)
    n_kernels, n_samples, _ = gram.shape
    has_few_kernels = SETTINGS.share_spanned * (n_kernels + 1) <= n_samples
    return has_few_kernels and n_targets >= SETTINGS.least_spanned and gram.in_memory


def _newton_steps_are_cheap(problem: Problem, n_targets: int) -> bool:
    """Return whether steps for all targets are cheap and their arrays fit in memory."""
    # With fewer than one factor column per eight samples, working sets cost less than
    # Newton steps. Unless the loss is squared, Newton steps need a root and the
    # derivatives of decision values by the weights, which must fit into 64 MB.
    gram, squared = problem.gram, is_squared(problem.loss)
    n_kernels, n_samples, _ = gram.shape
    if gram.tall_form() is not None:
        most = SETTINGS.samples_a_column * float(gram.held_numbers().sum())
        has_many_columns = low_rank_form(gram) is not None and n_samples**2 <= most
        return has_many_columns and (n_targets == 1 or not squared)
    n_bytes = 0 if squared else 8 * n_samples * (n_samples + n_targets * n_kernels)
    return gram.in_memory and n_bytes <= SETTINGS.roots_bytes


def _on_one_stack(problems: Sequence[Problem]) -> bool:
    """Return whether problems have one output and differ in targets only."""
    first = problems[0]
    return all(
        p.y.ndim == 1
        and p.columns is None
        and p.gram is first.gram
        and _equal_losses(p.loss, first.loss)
        for p in problems
    )


def _is_steep(problem: Problem) -> bool:
    """Return whether the loss's conjugate is smooth, and steep at all its bounds."""
    # Steep means that the slope diverges at the bound, which keeps dual points inside.
    loss = problem.loss
    return is_smooth(loss) and not np.isfinite(finite_ends(loss, problem.y)).any()


def _is_exact(gram: GramStack) -> bool:
    """Return whether factors in memory represent the kernels exactly."""
    n_samples = gram.shape[1]
    shares = np.full(n_samples, 1.0 / n_samples)
    return low_rank_form(gram) is not None and not gram.residual_traces(shares).any()


def _equal_losses(loss: Loss, other: Loss) -> bool:
    """Return whether two losses are equal and have equal sample weights."""
    if isinstance(loss, WeightedLoss) and isinstance(other, WeightedLoss):
        same = loss.loss == other.loss
        return bool(same and np.array_equal(loss.weights, other.weights))
    return bool(loss == other)
