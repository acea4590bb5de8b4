"""Solves that refine the Gram matrices, and continue on the refined matrices.

A solution requests finer factors for kernels whose approximation keeps its gap open,
and `refined` computes them. Then a single solve is repeated and a path continues at its
current strength. A path that only leads to one solution is restarted.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np

from multikernel._typing import Indices, Mask
from multikernel.estimators.grams.recipe import GramFit, Recipe, problems_of
from multikernel.estimators.grams.shortlist import follow_shortlist, is_shortened
from multikernel.estimators.grams.training import Training
from multikernel.estimators.progress import Watch
from multikernel.gram import refine
from multikernel.problem import Solution
from multikernel.regularizers import BlockRegularizer
from multikernel.solvers.base import continued, follow_some


def refined(training: Training, solutions: Sequence[Solution | None]) -> Training:
    """Return data with finer factors of the kernels that keep a gap open.

    `solutions` were computed on the matrices of `training`, which is returned unchanged
    if no factors can be refined.
    """
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
    finer = refine.refined(training.stack, refinement, training.options.max_bytes)
    if finer is None:
        return training
    return replace(training, built=replace(training.built, stack=finer))


def solve_held(
    recipe: Recipe,
    training: Training,
    watch: Watch | None,
    starts: Sequence[Solution | None] = (),
) -> GramFit:
    """Return the solutions of all problems over the kernels of `training`.

    Each solve begins at a warm start. If the tolerance requires it, matrices are
    refined and the problems are solved again; all solutions refer to the same matrices.
    """
    problems, solver = problems_of(recipe, training)
    before: Sequence[Solution | None] = [None] * len(problems)
    starts = starts or before
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


def follow_outputs(
    recipes: Sequence[Recipe],
    training: Training,
    watch: Watch | None,
    starts: Sequence[Solution | None] = (),
    ends: Indices | None = None,
) -> Iterator[GramFit]:
    """Yield the solutions of problems for recipes in turn, None for finished problems.

    Recipes differ in their penalties. Each solve starts from the previous solution,
    when the next fit is requested. `ends`, (n_problems,), contains the last recipe of
    each problem, by default the last of all. It is read before every recipe, so callers
    may lower it meanwhile. If a solution makes the matrices refined, it is dropped and
    its recipe is solved again.
    """
    ends, done = np.array(len(recipes)) if ends is None else ends, 0
    while done < len(recipes):
        problems, solver = problems_of(recipes[0], training)
        starts = starts or [None] * len(problems)
        steps = (
            _of_those(recipe, ends >= number)
            for number, recipe in enumerate(recipes[done:], start=done)
        )
        for solved_now in follow_some(solver, problems, steps, starts, watch):
            starts = [now or last for now, last in zip(solved_now, starts, strict=True)]
            finer = refined(training, solved_now)
            if finer is not training:
                training = finer
                break  # the same recipe is solved again
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
    """Yield as `follow_outputs`, on short lists if kernels are very many.

    On short lists all problems continue, since the passes dominate the cost.
    """
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
    """Return the solutions of all problems along a path, and for one last recipe.

    `way` contains the recipes of the path, which `follow` solves. The `last` recipe is
    the end of the path with another tolerance. If a callback has stopped the fit, the
    path is skipped and one iteration is made for the last recipe.
    """
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
    else:
        path = []
    return [*path, next(follow_outputs([last], training, watch, starts))]


def until_stopped(path: Iterator[GramFit]) -> Iterator[GramFit]:
    """Yield fits in turn, until a callback has stopped one."""
    return takewhile(lambda fit: not fit.stopped, path)
