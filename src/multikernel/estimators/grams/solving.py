"""Solve the problems of a fit; refine matrices, or list more kernels, if required."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.certificates import constant_model
from multikernel.certificates.gap import scaled_dual_value
from multikernel.estimators.grams.recipe import GramFit, Recipe, problems_of
from multikernel.estimators.grams.shortlist import (
    follow_shortlist,
    is_shortened,
    renumbered,
)
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

FIRST, MOST = 100, 1000
"""Initial number of listed kernels per problem, and maximum number added per pass."""

ROUNDS = 50
"""Maximum number of passes over all kernels; two sufficed for planted pairs among two
million kernels."""


def refined(training: Training, solutions: Sequence[Solution | None]) -> Training:
    """Return data with finer factors of the kernels that keep a solution's gap open."""
    # The solutions were computed on the matrices of `training`.
    open_gaps = [s for s in solutions if s is not None and s.refinement is not None]
    if not open_gaps:
        return training
    worst = max(open_gaps, key=lambda solution: solution.duality_gap)
    refinement = worst.refinement
    assert refinement is not None
    if training.least_squares is not None and worst.effects is None:
        # The problem was stated in projected kernels.
        dual = training.least_squares.projection.transposed(refinement.dual)
        refinement = replace(refinement, dual=dual)
    max_bytes = training.source.options.max_bytes
    finer = refine.refined(training.stack, refinement, max_bytes)
    if finer is None:
        return training
    return replace(training, built=replace(training.built, stack=finer))


def solve_held(
    recipe: Recipe,
    training: Training,
    watch: Watch | None,
    starts: Sequence[Solution | None] = (),
) -> GramFit:
    """Return the solutions of all problems over the kernels of `training`."""
    problems, solver = problems_of(recipe, training)
    before: Sequence[Solution | None] = [None] * len(problems)
    starts = starts or before
    # If the tolerance requires it, matrices are refined and the problems are solved
    # again, so that all solutions refer to the same matrices.
    while True:
        pairs = zip(problems, starts, strict=True)
        ends = [solver.solve(problem, start, watch) for problem, start in pairs]
        solutions = [continued(*pair) for pair in zip(before, ends, strict=True)]
        finer = refined(training, solutions)
        if finer is training:
            return GramFit(recipe, training, solutions)
        training = finer
        problems, solver = problems_of(recipe, training)
        before = starts = solutions


def solve_outputs(
    recipe: Recipe,
    training: Training,
    watch: Watch | None,
    starts: Sequence[Solution | None] = (),
) -> GramFit:
    """Return the solutions of all problems, each from a warm start."""
    # With very many kernels, the returned fit has only those of a short list.
    if _is_listed(recipe, training):
        return _solve_listed(recipe, training, watch)
    return solve_held(recipe, training, watch, starts)


def _solve_listed(recipe: Recipe, training: Training, watch: Watch | None) -> GramFit:
    """Return the solutions of all problems, restricted to the listed kernels."""
    # The first list has the kernels of largest dual norm. After each solve, one pass
    # evaluates all kernels at the dual point. Those above the threshold join the list,
    # and the gap includes the largest quadratic form of all others.
    stack, tol = training.stack, tolerance_of(recipe.solver)
    n_kernels = stack.shape[0]
    one_kernel = problems_of(recipe, _among(training, np.arange(1)))[0]
    columns = training.least_squares
    if columns is not None and is_squared(one_kernel[0].loss):
        stack = ProjectedStack(stack, columns.projection)
    duals = [constant_model(problem).dual for problem in one_kernel]
    nearest = [stack.largest_forms(v, -np.inf, FIRST)[0] for v in duals]
    listed = np.unique(np.concatenate(nearest))
    solutions, starts = list[Solution](), list[Solution | None]()
    for _ in range(ROUNDS):
        shorter = _among(training, listed)
        share = listed.size / n_kernels
        fit = solve_held(recipe, shorter, watch, starts)
        ends = [_in_passes(one, share) for one in fit.solutions]
        if solutions:
            ends = [continued(*pair) for pair in zip(solutions, ends, strict=True)]
        problems = map(center_targets, problems_of(recipe, shorter)[0])
        looks = [
            _proved(stack, problem, solution, listed)
            for problem, solution in zip(problems, ends, strict=True)
        ]
        solutions = [solution for solution, _ in looks]
        wider = np.unique(np.concatenate([listed, *(new for _, new in looks)]))
        proved = all(solution.duality_gap <= tol for solution in solutions)
        if proved or wider.size == listed.size:
            break
        places = np.searchsorted(wider, listed)
        starts = [renumbered(one, places, wider.size) for one in solutions]
        listed = wider
    return GramFit(recipe, shorter, solutions)


def _is_listed(recipe: Recipe, training: Training) -> bool:
    """Return whether a fit uses a short list of kernels."""
    # Exact products need no refinement, and a positive threshold gives other kernels
    # the weight zero. Parts, in searches and resamples, start from solutions over all
    # kernels.
    stack, penalty = training.stack, recipe.penalties[0]
    return (
        stack.shape[0] > MANY
        and isinstance(stack, FactoredProducts)
        and stack.all_exact
        and not training.is_part
        and isinstance(penalty, ProximableRegularizer)
        and penalty.threshold > 0.0
    )


def _among(training: Training, kernels: Indices) -> Training:
    """Return the data restricted to some kernels of a stack of products."""
    built = training.built
    assert isinstance(built.stack, FactoredProducts)
    stack = built.stack.among(kernels)
    degenerate = np.flatnonzero(np.isin(kernels, built.degenerate))
    assert stack.landmarks is not None
    return replace(
        training,
        built=BuiltStack(stack, built.normalization.take(kernels), degenerate),
        dictionary=stack.landmarks.dictionary,
    )


def _proved(
    stack: GramStack, problem: Problem, solution: Solution, listed: Indices
) -> tuple[Solution, Indices]:
    """Return a solution with a gap over all kernels, and kernels to add to the list."""
    # Kernels below the threshold of the penalty do not change the dual value.
    penalty, dual = problem.regularizer, solution.dual
    assert isinstance(penalty, ProximableRegularizer)
    level, max_above = penalty.threshold**2, MOST + listed.size
    above, forms, largest_other = stack.largest_forms(dual, level, max_above)
    new = ~np.isin(above, listed)
    own_forms = problem.gram.quadratic_forms(dual)

    def value(others: Array) -> float:
        sizes = np.sqrt(np.maximum(np.append(own_forms, others), 0.0))
        norms = np.append(solution.norms, np.zeros(others.size))
        return scaled_dual_value(problem, dual, norms, sizes)[1]

    lost = value(np.empty(0)) - value(np.append(forms[new], largest_other))
    gap = solution.duality_gap + max(lost, 0.0) / max(abs(solution.objective), TINY)
    if largest_other > level and not isinstance(penalty, BlockL1):
        gap = np.inf  # other penalties need every kernel above the threshold
    last = solution.history[-1]
    last = replace(last, duality_gap=gap, passes=last.passes + 1.0)
    history = (*solution.history[:-1], last)
    return replace(solution, duality_gap=gap, history=history), above[new]


def _in_passes(solution: Solution, share: float) -> Solution:
    """Convert passes in the history from a `share` of the kernels to all kernels."""
    lines = [replace(line, passes=share * line.passes) for line in solution.history]
    return replace(solution, history=tuple(lines))


def follow_outputs(
    recipes: Sequence[Recipe],
    training: Training,
    watch: Watch | None,
    starts: Sequence[Solution | None] = (),
    ends: Indices | None = None,
) -> Iterator[GramFit]:
    """Yield the solutions of all problems per recipe, None for finished problems."""
    # Recipes differ in their penalties. Each solve starts from the previous solution.
    # `ends`, (n_problems,), contains the index of the last recipe of each problem. It
    # is read before every recipe, so callers may lower it meanwhile.
    ends, done = np.array(len(recipes)) if ends is None else ends, 0
    while done < len(recipes):
        problems, solver = problems_of(recipes[0], training)
        starts = starts or [None] * len(problems)
        steps = (
            _of_those(recipe, ends >= number)
            for number, recipe in enumerate(recipes[done:], start=done)
        )
        for solved_now in follow_problems(solver, problems, steps, starts, watch):
            starts = [now or last for now, last in zip(solved_now, starts, strict=True)]
            finer = refined(training, solved_now)
            if finer is not training:
                training = finer
                break  # solve the same recipe again on the refined matrices
            yield GramFit(recipes[done], training, solved_now)
            done += 1
        else:
            return


def _of_those(recipe: Recipe, going: Mask) -> list[BlockRegularizer | None]:
    """Return the penalties of the unfinished problems, None for the others."""
    penalties = recipe.penalties
    pairs = zip(penalties, np.broadcast_to(going, len(penalties)), strict=True)
    return [penalty if on else None for penalty, on in pairs]


def follow_listed(
    recipes: Sequence[Recipe],
    training: Training,
    watch: Watch,
    ends: Indices | None = None,
) -> Iterator[GramFit]:
    """Yield fits as `follow_outputs` does, on short lists if kernels are very many."""
    # On short lists all problems continue, because the passes dominate the cost.
    if is_shortened(training):
        return follow_shortlist(recipes, training, watch)
    return follow_outputs(recipes, training, watch, ends=ends)


def follow_to(
    way: Sequence[Recipe],
    last: Recipe,
    training: Training,
    watch: Watch,
    follow: Callable[..., Iterator[GramFit]] = follow_outputs,
) -> list[GramFit]:
    """Return the fits of the recipes in `way`, a path, and of the `last` recipe."""
    # The `last` recipe is the end of the path with another tolerance. If a callback has
    # stopped the fit, skip the path, and make one iteration for the last recipe.
    path = list[GramFit]()
    while not watch.stopped:
        path = list(follow(way, training, watch))
        if not path or path[-1].training is training:
            break
        # Earlier solutions refer to the coarser matrices, so the path is solved again.
        training = path[-1].training
    starts: Sequence[Solution | None] = ()
    if len(path) == len(way):
        starts = path.pop().solutions
        if is_shortened(training) and not watch.stopped:
            # Solve all problems together before each is certified over all kernels.
            starts = next(follow_shortlist([last], training, watch, starts)).solutions
    else:
        path = []
    return [*path, next(follow_outputs([last], training, watch, starts))]


def until_stopped(path: Iterator[GramFit]) -> Iterator[GramFit]:
    """Yield fits in turn, until a callback has stopped one."""
    return takewhile(lambda fit: not fit.stopped, path)
