"""Models on all samples with a strength for every target, and the paths to them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.grams.recipe import Recipe
from multikernel.estimators.grams.solving import (
    follow_listed,
    follow_outputs,
    until_settled,
)
from multikernel.estimators.grams.training import Training
from multikernel.estimators.progress import Watch
from multikernel.estimators.search.path import RegularizationPath
from multikernel.problem import Solution


def chosen_recipe(recipes: Sequence[Recipe], best: Indices) -> Recipe:
    """Return the recipe with the penalties and numbers that targets have chosen."""
    penalties = [recipes[k].penalties[t] for t, k in enumerate(best.tolist())]
    numbers: dict[str, float | Array] = {}
    for name, first in recipes[0].numbers.items():
        each = [np.broadcast_to(r.numbers[name], best.size) for r in recipes]
        numbers[name] = np.array([each[k][t] for t, k in enumerate(best.tolist())])
        if name != "alpha" and np.ndim(first) == 0:
            numbers[name] = first
    return replace(recipes[0], penalties=penalties, numbers=numbers)


def recipe_of_targets(recipe: Recipe, targets: Indices) -> Recipe:
    """Return the recipe of some of the problems; its numbers are still for all."""
    return replace(
        recipe,
        losses=[recipe.losses[t] for t in targets.tolist()],
        penalties=[recipe.penalties[t] for t in targets.tolist()],
    )


@dataclass(frozen=True, eq=False)
class TargetPaths:
    """The models of all targets, and what is known of the way to them.

    Parameters
    ----------
    solutions : list of Solution
        The models, of length n_targets.
    n_iter : ndarray of shape (n_targets,)
        Iterations on the way and at its end.
    norms, weights : ndarray of shape (n_targets, n_alphas, n_kernels)
        Along the paths; from its choice on, a target's model.
    objectives, gaps : ndarray of shape (n_targets, n_alphas)
        The same, in the summed scale of `Problem`; nan where nothing was solved for.
    """

    solutions: list[Solution]
    n_iter: Indices
    norms: Array
    weights: Array
    objectives: Array
    gaps: Array

    @classmethod
    def empty(cls, n_targets: int, n_alphas: int, n_kernels: int) -> Self:
        """Return arrays for paths whose solutions are to be written into them."""
        norms, weights = np.zeros((2, n_targets, n_alphas, n_kernels))
        objectives, gaps = np.full((2, n_targets, n_alphas), np.nan)
        n_iter = np.zeros(n_targets, dtype=np.intp)
        return cls([], n_iter, norms, weights, objectives, gaps)

    def write(self, target: int, first: int, solution: Solution) -> None:
        """Write a solution to a path, from a strength on."""
        self.norms[target, first:] = solution.norms
        self.weights[target, first:] = solution.kernel_weights
        self.objectives[target, first:] = solution.objective
        self.gaps[target, first:] = solution.duality_gap
        self.n_iter[target] += solution.n_iter

    def path(self, alphas: Array, scale: float | Array) -> RegularizationPath:
        """Return the paths over the kernels that enter anywhere."""
        kernels = np.flatnonzero(self.norms.any(axis=(0, 1)))
        return RegularizationPath(
            alphas[: self.gaps.shape[1]],
            kernels,
            self.norms[:, :, kernels],
            self.weights[:, :, kernels],
            np.reshape(scale, (-1, 1)) * self.objectives,
            self.gaps,
        )


def refit_targets(
    way: Sequence[Recipe],
    last: Recipe,
    training: Training,
    watch: Watch,
    best: Indices,
    blocks: Sequence[Indices],
) -> TargetPaths:
    """Return the models of all targets, each at the end of its own path.

    Parameters
    ----------
    way : sequence of Recipe
        All strengths down to the lowest that is chosen.
    last : Recipe
        The problems at the choices, solved for to another tolerance.
    training, watch : Training and Watch
        All samples, and who looks on.
    best : ndarray of shape (n_targets,)
        The place of each choice on the way.
    blocks : sequence of ndarray
        Targets that are taken together.
    """
    paths = TargetPaths.empty(best.size, len(way), training.stack.shape[0])
    for block in blocks:
        watch.note = f"{block[0]} of {best.size} targets have a model"
        whole, places = training, best[block]
        if block.size < best.size:
            whole = training.among(training.samples.of_targets(block))
        steps = [recipe_of_targets(recipe, block) for recipe in way[: places.max() + 1]]
        starts = _follow_to_choices(steps, whole, watch, places, block, paths)
        ends = recipe_of_targets(last, block)
        for solution in next(follow_outputs([ends], whole, watch, starts)):
            target = int(block[len(paths.solutions) - block[0]])
            paths.write(target, int(best[target]), solution)
            paths.solutions.append(solution)
        watch.advance(len(way) - len(steps))
    if not watch.stopped:
        watch.note = f"{best.size} of {best.size} targets have a model"
    return paths


def _follow_to_choices(
    steps: Sequence[Recipe],
    training: Training,
    watch: Watch,
    places: Indices,
    block: Indices,
    paths: TargetPaths,
) -> list[Solution | None]:
    """Write the paths of a block, and return where they lead.

    Once stopped, no way leads there.
    """
    starts: list[Solution | None] = [None] * block.size
    for _ in until_settled(training, watch):
        paths.n_iter[block] = 0
        for number, solved_now in enumerate(
            follow_listed(steps, training, watch, places)
        ):
            for t, solution in enumerate(solved_now):
                if solution is None or number > places[t]:
                    continue
                paths.write(int(block[t]), number, solution)
                if number == places[t]:
                    starts[t] = solution
            watch.advance(1)
    return [None] * block.size if watch.stopped else starts
