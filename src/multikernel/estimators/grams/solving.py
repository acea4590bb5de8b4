"""Solving again, on matrices nearer to their kernels.

Solutions ask for finer factors of kernels where these keep a gap open, and
`Training.refine` makes them. Then a single solve is made again, a path goes on from
where it is, and a path that only leads to one solution starts again.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.estimators.grams.recipe import Recipe, problems_of
from multikernel.estimators.grams.shortlist import follow_shortlist, is_shortened
from multikernel.estimators.grams.training import Training
from multikernel.estimators.progress import Watch
from multikernel.problem import Solution
from multikernel.regularizers import BlockRegularizer
from multikernel.solvers.base import continued, follow_some, solve_path


def solve_outputs(
    recipe: Recipe,
    training: Training,
    watch: Watch | None,
    starts: Sequence[Solution | None] = (),
) -> list[Solution]:
    """Return the solutions of all problems, from one warm start each.

    All are over the same matrices, those that `training` holds in the end: they are
    refined where the tolerance asks for it, and the problems solved again from there.
    """
    problems, solver = problems_of(recipe, training)
    before: Sequence[Solution | None] = [None] * len(problems)
    starts = starts or before
    while True:
        pairs = zip(problems, starts, strict=True)
        ends = [solver.solve(problem, start, watch) for problem, start in pairs]
        solutions = [continued(*pair) for pair in zip(before, ends, strict=True)]
        if not training.refine(solutions):
            return solutions
        problems, solver = problems_of(recipe, training)
        before = starts = solutions


def solve_strengths(
    recipe: Recipe, training: Training, strengths: Array, watch: Watch
) -> list[list[Solution]]:
    """Return the solutions of all problems for strengths in turn, a path per output.

    Strengths are in the summed scale of `Problem`, best in descending order; of shape
    (n_strengths, n_problems) where problems have their own. A callback may end paths
    early. Where matrices are refined, all paths begin again.
    """
    while True:
        problems, solver = problems_of(recipe, training)
        each = np.broadcast_to(strengths.T, (len(problems), len(strengths)))
        paths = [
            solve_path(problem, solver, alphas, watch)
            for problem, alphas in zip(problems, each, strict=True)
        ]
        if not training.refine([s for path in paths for s in path]):
            return paths


def follow_outputs(
    recipes: Sequence[Recipe],
    training: Training,
    watch: Watch | None,
    starts: Sequence[Solution | None] = (),
    ends: Indices | None = None,
) -> Iterator[list[Any]]:
    """Yield the solutions of problems for recipes in turn, None for those left out.

    Recipes differ in their penalties, and each solve starts from the one before, when
    it is asked for. The `ends`, (n_problems,), are the places of the last recipes that
    problems are solved for, by default for all: they are looked at before every recipe,
    and may be brought forward meanwhile. If a solution has the matrices refined, it is
    dropped, and its recipe solved for again: a list that is yielded belongs to the
    matrices that `training` holds at that time.
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
            if training.refine([each for each in solved_now if each is not None]):
                break  # the same recipe is solved for again, on finer matrices
            yield solved_now
            done += 1
        else:
            return


def _of_those(recipe: Recipe, going: Mask) -> list[BlockRegularizer | None]:
    """Return the penalties of the problems that go on, None for the others."""
    penalties = recipe.penalties
    pairs = zip(penalties, np.broadcast_to(going, len(penalties)), strict=True)
    return [penalty if on else None for penalty, on in pairs]


def follow_listed(
    recipes: Sequence[Recipe],
    training: Training,
    watch: Watch,
    ends: Indices | None = None,
) -> Iterator[list[Any]]:
    """Yield as `follow_outputs`, or over short lists of kernels where these are many.

    There all targets go on: what costs are the passes.
    """
    if is_shortened(training):
        return follow_shortlist(recipes, training, watch)
    return follow_outputs(recipes, training, watch, ends=ends)


def follow_to(
    way: Sequence[Recipe],
    last: Recipe,
    training: Training,
    watch: Watch,
    follow: Callable[..., Iterator[list[Solution]]] = follow_outputs,
) -> list[list[Solution]]:
    """Return the solutions of all problems along a way, and for another recipe.

    The way is one to `follow`, and the `last` recipe what is asked for: the end of the
    way, solved for to another tolerance. Solutions are over the matrices that
    `training` holds now. Once stopped, no way leads to its end: one iteration is made
    there, and is all.
    """
    path = list[list[Solution]]()
    for _ in until_settled(training, watch):
        path = list(follow(way, training, watch))
    starts: Sequence[Solution | None] = ()
    if len(path) == len(way):
        starts = path.pop()
    else:
        path = []
    return [*path, next(follow_outputs([last], training, watch, starts))]


def until_settled(training: Training, watch: Watch) -> Iterator[None]:
    """Yield until nothing has refined the matrices meanwhile, or the fit is stopped.

    Solutions before matrices were refined are over the coarser ones.
    """
    built = None
    while built is not training.built and not watch.stopped:
        built = training.built
        yield
