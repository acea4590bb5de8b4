"""Searches in which each target chooses its own strength of the penalty."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.grams.recipe import GramFit, Recipe
from multikernel.estimators.grams.solving import follow_outputs, follow_path
from multikernel.estimators.grams.training import Training
from multikernel.estimators.method import Candidates, Fold
from multikernel.estimators.progress import Watch
from multikernel.estimators.search.choice import grid_advice, no_kernel_reason
from multikernel.estimators.search.path import PathPoint
from multikernel.exceptions import SearchWarning, warn_user
from multikernel.problem import Solution

BLOCK_BYTES = 2.0**25
"""Bytes for the solves of a block of targets on a fold, without the kernels."""


def target_blocks(model: Any, data: Training) -> list[Indices] | None:
    """Return blocks of targets that choose separately; None if all share a strength."""
    samples = data.samples
    is_multioutput = samples.classes is None and len(samples.targets) > 1
    # A function for ``scoring`` returns one number for all targets.
    if not is_multioutput or samples.shared or callable(model.scoring):
        return None
    n_kernels, n_samples, _ = data.stack.shape
    targets = np.arange(len(samples.targets))
    shares = np.full(n_samples, 1.0 / n_samples)
    # Refined low-rank factors are passed on to the next strength. If factors may be
    # refined, all targets form one block, so that they have the same factors.
    if not data.stack.in_memory or data.stack.residual_traces(shares).any():
        return [targets]
    # A target requires about 36 + n_kernels vectors of n_samples numbers.
    size = max(1, int(BLOCK_BYTES // (8.0 * n_samples * (36 + n_kernels))))
    return np.array_split(targets, -(-targets.size // size))


def fold_of_targets(fold: Fold, block: Indices) -> Fold:
    """Return a fold restricted to the targets of a block."""
    training, validation = fold.training, fold.validation
    if block.size == len(validation.targets):
        return fold
    part = training.relabel(training.samples.of_targets(block))
    return Fold(part, validation.of_targets(block), fold.decision_values)


def warn_choices(
    owner: str,
    parameters: Mapping[str, Any],
    candidates: Candidates,
    means: Mapping[str, Array],
    best: Indices,
) -> None:
    """Warn about targets whose models are constant, or at an end of the grid."""
    targets = np.arange(best.size)
    is_empty = means["mean_n_active"][best, targets] == 0.0
    if is_empty.any():
        has_others = (means["mean_n_active"][:, is_empty] > 0.0).any()
        names = list(candidates.grid())
        reason = no_kernel_reason(parameters, names, has_others=bool(has_others))
        warn_user(
            f"{owner} chose a model without active kernels for {is_empty.sum()} of "
            f"{best.size} targets, because {reason}",
            SearchWarning,
        )
    scores = means["mean_test_score"]
    labels = next(iter(candidates.grid().values()))
    for outermost, neighbor in ((0, 1), (len(scores) - 1, len(scores) - 2)):
        grids = candidates.open_grids({"alpha": labels[outermost]})
        is_chosen = (best == outermost) & ~is_empty
        # A skipped neighbor has no score to compare.
        is_chosen &= scores[outermost] > scores[neighbor]
        if len(scores) < 3 or not grids or not is_chosen.any():
            continue
        name, grid = next(iter(grids.items()))
        end = "smallest" if labels[outermost] == grid.min() else "largest"
        warn_user(
            f"{owner} chose the {end} {name} in the grid for {is_chosen.sum()} of "
            f"{best.size} targets; a wider grid may be better: pass "
            f"{grid_advice(parameters, name, end)}.",
            SearchWarning,
        )


def chosen_recipe(recipes: Sequence[Recipe], best: Indices) -> Recipe:
    """Return a recipe with the penalty of ``recipes[best[t]]`` for each target t."""
    penalties = [recipes[k].penalties[t] for t, k in enumerate(best.tolist())]
    params: dict[str, float | Array] = {}
    for name, value in recipes[0].params.items():
        values = [np.broadcast_to(r.params[name], best.size) for r in recipes]
        params[name] = np.array([values[k][t] for t, k in enumerate(best.tolist())])
        if name != "alpha" and np.ndim(value) == 0:
            params[name] = value
    return replace(recipes[0], penalties=penalties, params=params)


def recipe_of_targets(recipe: Recipe, targets: Indices) -> Recipe:
    """Return the recipe for some targets; `params` remains that of all targets."""
    return replace(
        recipe,
        losses=[recipe.losses[t] for t in targets.tolist()],
        penalties=[recipe.penalties[t] for t in targets.tolist()],
    )


def refit_targets(
    recipes: Sequence[Recipe],
    final_recipe: Recipe,
    training: Training,
    watch: Watch,
    best: Indices,
    blocks: Sequence[Indices],
) -> tuple[GramFit, list[list[PathPoint]]]:
    """Return the models of all targets, and the path of each to its model."""
    # `recipes` are for all strengths down to the smallest chosen one, `best` contains
    # the index of each target's choice, and `final_recipe` has the model's tolerance.
    solutions: list[Solution] = []
    paths: list[list[PathPoint]] = []
    for block in blocks:
        watch.note = f"{block[0]} of {best.size} targets have a model"
        data, choices = training, best[block]
        if block.size < best.size:
            data = training.relabel(training.samples.of_targets(block))
        steps = [recipe_of_targets(r, block) for r in recipes[: choices.max() + 1]]
        starts, block_paths, data = _paths_to_choices(steps, data, watch, choices)
        block_recipe = recipe_of_targets(final_recipe, block)
        fit = next(follow_outputs([block_recipe], data, watch, starts))
        # Factors may be refined only if one block has all targets, see `target_blocks`.
        # Continue with the refined factors.
        training = fit.training if block.size == best.size else training
        solutions += fit.solutions
        paths += block_paths
        watch.advance(len(recipes) - len(steps))
    if not watch.stopped:
        watch.note = f"{best.size} of {best.size} targets have a model"
    unsolved = PathPoint.unsolved(training.stack.shape[0])
    for path, choice, solution in zip(paths, best.tolist(), solutions, strict=True):
        # A path has one point per strength. Above the chosen strength, the point is the
        # solution at its own strength, or empty if a callback stopped the path before.
        # At the chosen strength and all smaller ones, the point is the final model. The
        # point at the chosen strength has the iterations of all solves at it; points at
        # smaller strengths have zero iterations.
        last_point = PathPoint.from_solution(solution)
        n_iter = last_point.n_iter + sum(point.n_iter for point in path[choice:])
        path[choice:] = [unsolved] * (choice - len(path))
        path.append(last_point._replace(n_iter=n_iter))
        path += [last_point._replace(n_iter=0)] * (len(recipes) - len(path))
    return GramFit(final_recipe, training, solutions), paths


def _paths_to_choices(
    recipes: Sequence[Recipe], training: Training, watch: Watch, choices: Indices
) -> tuple[list[Solution | None], list[list[PathPoint]], Training]:
    """Return the solution and path of each target up to its choice, and final data."""
    # `choices` has the index of each target's last recipe. The final data have the
    # factors that were refined along the paths. Solutions are None if a callback stops
    # the fit.
    starts: list[Solution | None] = [None] * choices.size
    paths: list[list[PathPoint]] = [[] for _ in starts]
    while not watch.stopped:
        paths, start_data = [[] for _ in starts], training
        for k, fit in enumerate(follow_path(recipes, start_data, watch, choices)):
            training = fit.training
            for t, solution in enumerate(fit.solutions):
                if solution is None or k > choices[t]:
                    continue
                paths[t].append(PathPoint.from_solution(solution))
                if k == choices[t]:
                    starts[t] = solution
            watch.advance(1)
        if training is start_data:
            break
    return [None] * choices.size if watch.stopped else starts, paths, training
