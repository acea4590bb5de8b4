"""Many targets with selections of their own: every path ends on its own."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from multikernel._typing import Indices, Mask
from multikernel.estimators.grams.shortlist import follow_shortlist, is_shortened
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.progress import Watch
from multikernel.problem import Solution
from multikernel.regularizers import BlockRegularizer
from multikernel.solvers.base import follow_some


def recipe_of_targets(recipe: Recipe, chosen: Indices) -> Recipe:
    """Return the recipe of some of the problems; its numbers are still for all."""
    return replace(
        recipe,
        losses=[recipe.losses[t] for t in chosen.tolist()],
        penalties=[recipe.penalties[t] for t in chosen.tolist()],
    )


def follow_targets(
    recipes: Sequence[Recipe],
    training: Training,
    watch: Watch | None,
    ends: Indices,
) -> Iterator[list[Solution | None]]:
    """Yield the solutions of all targets for recipes in turn, None for those left out.

    The `ends`, (n_targets,), are the places of the last recipes that targets are solved
    for. They are looked at before every recipe, and may be brought forward meanwhile.
    Over short lists of kernels all targets go on: what costs there are the passes.
    Solutions are over the matrices that `training` holds now.
    """
    if is_shortened(training) and watch is not None:
        for models in follow_shortlist(recipes, training, watch):
            yield list(models)
        return
    starts: list[Solution | None] = [None] * len(recipes[0].penalties)
    done = 0
    while done < len(recipes):
        problems = training.problems(recipes[0]).each
        solver = recipes[0].solver
        steps = (
            _of_those(recipe, ends >= number)
            for number, recipe in enumerate(recipes[done:], start=done)
        )
        for solved_now in follow_some(solver, problems, steps, starts, watch):
            starts = [now or last for now, last in zip(solved_now, starts, strict=True)]
            if training.refine([each for each in solved_now if each is not None]):
                break  # and begin here again, on the finer matrices
            yield solved_now
            done += 1
        else:
            return


def _of_those(recipe: Recipe, going: Mask) -> list[BlockRegularizer | None]:
    """Return the penalties of the targets that go on, None for the others."""
    pairs = zip(recipe.penalties, going.tolist(), strict=True)
    return [penalty if on else None for penalty, on in pairs]


def target_blocks(n_targets: int, bytes_each: float, most: float) -> list[Indices]:
    """Return targets in blocks of about equal size, within so many bytes each."""
    size = max(1, int(most // bytes_each))
    everyone = np.arange(n_targets)
    return np.array_split(everyone, -(-n_targets // size))
