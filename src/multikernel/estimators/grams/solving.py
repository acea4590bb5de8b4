"""Solve the problems of a fit; refine matrices or add kernels if the gap needs it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.certificates import constant_model
from multikernel.certificates.gap import scaled_dual_value
from multikernel.estimators.grams.recipe import GramFit, Recipe, problems_of
from multikernel.estimators.grams.shortlist import follow_shortlist, is_shortened
from multikernel.estimators.grams.training import Training
from multikernel.estimators.progress import Watch
from multikernel.gram import BuiltStack, GramStack, refine
from multikernel.gram.factors.products import FactoredProducts
from multikernel.gram.projected import ProjectedStack
from multikernel.kernels.terms import MANY
from multikernel.linalg import TINY
from multikernel.losses.weighted import is_squared
from multikernel.problem import Problem, Solution, center_targets
from multikernel.regularizers import BlockL1, BlockRegularizer
from multikernel.regularizers.base import ProximableRegularizer
from multikernel.solvers.base import continued, follow_problems, tolerance_of
from multikernel.solvers.fixed_weights import on_all_kernels

N_FIRST, MAX_ADDED = 100, 1000
"""Kernels per problem on the first short list, and maximum number added per pass."""

# Two passes were enough to find planted pairs among two million kernels.
MAX_ROUNDS = 50
"""Maximum number of passes over all kernels."""


def refine_data(training: Training, solutions: Sequence[Solution | None]) -> Training:
    """Return data with finer factors if the gap requires them, else `training`."""
    # The solutions were computed on the matrices of `training`. Callers compare the
    # result with `training` by identity, and solve again if it differs.
    refinable = [s for s in solutions if s is not None and s.refinement is not None]
    if not refinable:
        return training
    worst = max(refinable, key=lambda solution: solution.duality_gap)
    refinement = worst.refinement
    assert refinement is not None
    if training.least_squares is not None and worst.effects is None:
        # The dual point refers to kernels from which unpenalized columns are projected
        # out. Convert it, because the factors approximate the kernels themselves.
        dual = training.least_squares.projection.transposed(refinement.dual)
        refinement = replace(refinement, dual=dual)
    max_bytes = training.source.options.max_bytes
    finer_stack = refine.refined(training.stack, refinement, max_bytes)
    if finer_stack is None:
        return training
    return replace(training, built=replace(training.built, stack=finer_stack))


def solve_problems(
    recipe: Recipe,
    training: Training,
    watch: Watch | None,
    starts: Sequence[Solution | None] = (),
) -> GramFit:
    """Return the solutions of all problems, with refined matrices if required."""
    previous: Sequence[Solution] = ()
    # If the tolerance requires it, matrices are refined and the problems are solved
    # again, so that all solutions refer to the same matrices.
    while True:
        problems, solver = problems_of(recipe, training)
        pairs = zip(problems, starts or [None] * len(problems), strict=True)
        solutions = [solver.solve(problem, start, watch) for problem, start in pairs]
        if previous:
            solutions = list(map(continued, previous, solutions))
        finer = refine_data(training, solutions)
        if finer is training:
            return GramFit(recipe, training, solutions)
        training, previous, starts = finer, solutions, solutions


def solve_outputs(
    recipe: Recipe,
    training: Training,
    watch: Watch | None,
    starts: Sequence[Solution | None] = (),
) -> GramFit:
    """Return the solutions of all problems; `starts` are warm starts, or empty."""
    # With very many kernels, `starts` are ignored, and the returned fit contains only a
    # short list of kernels.
    if _uses_shortlist(recipe, training):
        return _solve_short(recipe, training, watch)
    return solve_problems(recipe, training, watch, starts)


def _solve_short(recipe: Recipe, training: Training, watch: Watch | None) -> GramFit:
    """Return the solutions of all problems by growing a short list of kernels."""
    # The first list has the kernels of largest dual norm. After each solve, one pass
    # computes the dual norms of all kernels. Kernels with norms above the penalty's
    # threshold join the list, and the gap includes the largest of the other norms.
    stack, tol = training.stack, tolerance_of(recipe.solver)
    n_kernels = stack.shape[0]
    # The constant model does not depend on the kernels, so one kernel suffices.
    small_problems = problems_of(recipe, _on_kernels(training, np.arange(1)))[0]
    columns = training.least_squares
    # For the squared loss, unpenalized columns are projected out of all kernels.
    if columns is not None and is_squared(small_problems[0].loss):
        stack = ProjectedStack(stack, columns.projection)
    duals = [constant_model(problem).dual for problem in small_problems]
    largest = [stack.largest_forms(v, -np.inf, N_FIRST)[0] for v in duals]
    listed = np.unique(np.concatenate(largest))
    solutions, starts = list[Solution](), list[Solution | None]()
    for _ in range(MAX_ROUNDS):
        shorter = _on_kernels(training, listed)
        share = listed.size / n_kernels
        fit = solve_problems(recipe, shorter, watch, starts)
        latest = [_with_scaled_passes(s, share) for s in fit.solutions]
        if solutions:
            latest = [continued(*pair) for pair in zip(solutions, latest, strict=True)]
        problems = map(center_targets, problems_of(recipe, shorter)[0])
        certified = [
            _certify_over_all(stack, problem, solution, listed)
            for problem, solution in zip(problems, latest, strict=True)
        ]
        solutions = [solution for solution, _ in certified]
        wider = np.unique(np.concatenate([listed, *(added for _, added in certified)]))
        converged = all(solution.duality_gap <= tol for solution in solutions)
        if converged or wider.size == listed.size:
            break
        new_indices = np.searchsorted(wider, listed)
        starts = [on_all_kernels(s, new_indices, wider.size) for s in solutions]
        listed = wider
    return GramFit(recipe, shorter, solutions)


def _uses_shortlist(recipe: Recipe, training: Training) -> bool:
    """Return whether a fit of very many products should grow a list of kernels."""
    # Kernels that are not listed must have the weight zero, as kernels with dual norms
    # below the penalty's threshold have. So this threshold must be positive. Products
    # must be exact, because a fit with a list cannot refine matrices. Folds and
    # resamples use no list, because they start from solutions over all kernels.
    stack, penalty = training.stack, recipe.penalties[0]
    return (
        stack.shape[0] > MANY
        and isinstance(stack, FactoredProducts)
        and stack.all_exact
        and not training.is_part
        and isinstance(penalty, ProximableRegularizer)
        and penalty.threshold > 0.0
    )


def _on_kernels(training: Training, kernels: Indices) -> Training:
    """Return the training data with some of the product kernels only."""
    built = training.built
    assert isinstance(built.stack, FactoredProducts)
    stack = built.stack.subset(kernels)
    degenerate = np.flatnonzero(np.isin(kernels, built.degenerate))
    assert stack.landmarks is not None
    return replace(
        training,
        built=BuiltStack(stack, built.normalization.take(kernels), degenerate),
        kernels=replace(training.kernels, dictionary=stack.landmarks.dictionary),
    )


def _certify_over_all(
    stack: GramStack, problem: Problem, solution: Solution, listed: Indices
) -> tuple[Solution, Indices]:
    """Return the solution with its gap over all kernels, and new kernels to list."""
    # Kernels whose dual norm is below the penalty's threshold do not change the dual
    # value.
    penalty, dual = problem.regularizer, solution.dual
    assert isinstance(penalty, ProximableRegularizer)
    level, max_above = penalty.threshold**2, MAX_ADDED + listed.size
    above, forms, largest_other = stack.largest_forms(dual, level, max_above)
    is_new = ~np.isin(above, listed)
    listed_forms = problem.gram.quadratic_forms(dual)

    def dual_value(others: Array) -> float:
        sizes = np.sqrt(np.maximum(np.append(listed_forms, others), 0.0))
        norms = np.append(solution.norms, np.zeros(others.size))
        return float(scaled_dual_value(problem, dual, norms, sizes)[1])

    other_forms = np.append(forms[is_new], largest_other)
    lost = dual_value(np.empty(0)) - dual_value(other_forms)
    gap = solution.duality_gap + max(lost, 0.0) / max(abs(solution.objective), TINY)
    if largest_other > level and not isinstance(penalty, BlockL1):
        # Some quadratic forms above `level` are not in `forms`. The dual value of
        # BlockL1 depends only on the largest form, but other penalties require all.
        gap = np.inf
    last_line = solution.history[-1]
    last_line = replace(last_line, duality_gap=gap, passes=last_line.passes + 1.0)
    history = (*solution.history[:-1], last_line)
    return replace(solution, duality_gap=gap, history=history), above[is_new]


def _with_scaled_passes(solution: Solution, share: float) -> Solution:
    """Return `solution`, with each number of passes in its history times `share`."""
    # A pass over the listed kernels reads this share of all kernels.
    lines = [replace(line, passes=share * line.passes) for line in solution.history]
    return replace(solution, history=tuple(lines))


def follow_outputs(
    recipes: Sequence[Recipe],
    training: Training,
    watch: Watch | None,
    starts: Sequence[Solution | None] = (),
    last_steps: Indices | None = None,
) -> Iterator[GramFit]:
    """Yield a fit for each recipe in turn, with the solutions of all its problems."""
    # Recipes differ in their penalties. The first solve of a problem starts from its
    # entry of `starts`, every other solve from the previous solution. `last_steps`,
    # (n_problems,), contains the index of the last recipe of each problem; None means
    # the last recipe for all. After its last recipe, the solution of a problem is None.
    # `last_steps` is read before every recipe, so callers may lower it meanwhile.
    last_steps, n_done = np.array(len(recipes)) if last_steps is None else last_steps, 0
    while n_done < len(recipes):
        problems, solver = problems_of(recipes[0], training)
        starts = starts or [None] * len(problems)
        penalties = (
            _unfinished(recipe, last_steps >= step)
            for step, recipe in enumerate(recipes[n_done:], start=n_done)
        )
        for solved_now in follow_problems(solver, problems, penalties, starts, watch):
            starts = [new or old for new, old in zip(solved_now, starts, strict=True)]
            finer = refine_data(training, solved_now)
            if finer is not training:
                training = finer
                break  # solve the same recipe again on the refined matrices
            yield GramFit(recipes[n_done], training, solved_now)
            n_done += 1
        else:
            return


def _unfinished(recipe: Recipe, is_unfinished: Mask) -> list[BlockRegularizer | None]:
    """Return the penalty of each unfinished problem, None for a finished problem."""
    penalties = recipe.penalties
    pairs = zip(penalties, np.broadcast_to(is_unfinished, len(penalties)), strict=True)
    return [penalty if is_used else None for penalty, is_used in pairs]


def follow_path(
    recipes: Sequence[Recipe],
    training: Training,
    watch: Watch,
    last_steps: Indices | None = None,
) -> Iterator[GramFit]:
    """Yield fits as `follow_outputs` does, on short lists of kernels if possible."""
    # `last_steps` is that of `follow_outputs`. On short lists it has no effect: every
    # problem is solved for every recipe, which costs little more, because the passes
    # over all kernels, shared by the problems, dominate the cost.
    if is_shortened(training):
        return follow_shortlist(recipes, training, watch)
    return follow_outputs(recipes, training, watch, last_steps=last_steps)


def fits_of_path(
    recipes: Sequence[Recipe],
    end: Recipe,
    training: Training,
    watch: Watch,
    follow: Callable[..., Iterator[GramFit]] = follow_outputs,
) -> list[GramFit]:
    """Return the fits of a path; the last recipe is solved with the settings `end`."""
    # `end` is the last recipe with another tolerance. If a callback stops the fit, the
    # path is discarded, and `end` gets one iteration. `follow` may refine the matrices.
    # Then its last fit has another `training`, and the path is solved again, because
    # earlier fits refer to the coarser matrices.
    path = list[GramFit]()
    while not watch.stopped:
        path = list(follow(recipes, training, watch))
        if not path or path[-1].training is training:
            break
        training = path[-1].training
    starts: Sequence[Solution | None] = ()
    if len(path) == len(recipes):
        starts = path.pop().solutions
        if is_shortened(training) and not watch.stopped:
            # First solve all problems on a short list of kernels. The certified solves
            # over all kernels, one problem at a time, then start from these solutions.
            starts = next(follow_shortlist([end], training, watch, starts)).solutions
    else:
        path = []
    return [*path, next(follow_outputs([end], training, watch, starts))]


def until_stopped(path: Iterator[GramFit]) -> Iterator[GramFit]:
    """Yield fits until a callback has stopped one; omit the stopped fit."""
    return takewhile(lambda fit: not fit.stopped, path)
