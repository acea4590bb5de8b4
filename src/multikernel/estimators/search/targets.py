"""Searches in which each target chooses its own strength of the penalty."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.grams.recipe import GramFit, Recipe
from multikernel.estimators.grams.solving import follow_outputs, follow_path
from multikernel.estimators.grams.training import Training
from multikernel.estimators.method import Fold, Solved
from multikernel.estimators.parameters import loss_of
from multikernel.estimators.progress import Watch
from multikernel.estimators.search.choice import (
    SearchOutcome,
    best_candidate,
    grid_advice,
    no_kernel_reason,
    simplest_candidate,
)
from multikernel.estimators.search.scores import FoldScorer, Scores, fold_means
from multikernel.exceptions import SearchWarning, warn_user
from multikernel.problem import Solution

BLOCK_BYTES = 2.0**25
"""Bytes for the solves of a block of targets on a fold, without the kernels."""


def target_blocks(model: BaseMKL, data: Training) -> list[Indices] | None:
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
    # refined, because residual traces are not zero, all targets form one block, so that
    # they have the same factors.
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


# With these limits, the mean R^2 on new samples is 0.4160 for data with similar
# targets, 0.1854 for data with noisy targets and 0.1713 for data of tumors. If each
# target chooses its strength alone, the mean R^2 is 0.4054, 0.1809 and 0.1660.
ERRORS, ALIKE = 3.0, 3.0
"""Limits in standard errors over folds, see `best_of_targets`, `_similar_medians`."""


class TargetScorer(FoldScorer):
    """Scores the targets of a fold separately, or at once if the metric supports it."""

    # A `TargetScorer` requires that ``scoring`` of the search is a name or None.

    def __init__(self, search: BaseMKL, fold: Fold) -> None:
        super().__init__(search, fold)
        self.y = fold.validation.targets.T
        name = search.scoring
        if name is None and not hasattr(loss_of(search).unit, "deviance"):
            name = "r2"
        # scikit-learn computes these scores for all targets at once. They require
        # predictions, which equal the decision values if the link is the identity.
        is_identity = self.link == "identity"
        self.metric = name if is_identity and name in TARGET_METRICS else None
        # Scorers of single targets, by target, for scores other than `metric`'s.
        self._alone: dict[int, FoldScorer] = {}

    def score_and_loss(self, solved: Solved, f: Array) -> tuple[Array, Array]:
        """Return scores and mean losses of the targets of a model, (n_chosen,) each."""
        targets, offset = np.asarray(solved.targets), self.fold.validation.offset
        # The decision values, (n_test, n_chosen), do not include offsets.
        f = f if offset is None else f + offset[:, targets]
        return self._scores(f, targets), self._mean_losses(f, targets)

    def _scores(self, f: Array, targets: Indices) -> Array:
        """Return scores of some targets; `f` has the shape (n_test, n_chosen)."""
        samples = self.fold.validation
        if self.metric is not None:
            y, offset = self.y[:, targets], samples.offset
            if offset is not None and self.search.scoring is None:
                y, f = y - offset[:, targets], f - offset[:, targets]
            return score_targets(self.metric, y, f, samples.sample_weight)
        scores = []
        for t, values in zip(targets.tolist(), f.T, strict=True):
            if t not in self._alone:
                target_fold = fold_of_targets(self.fold, np.array([t]))
                self._alone[t] = FoldScorer(self.search, target_fold)
            # `dict` returns no fitted attributes: scorers given by name need none.
            scores.append(self._alone[t](dict, values[:, None]))
        return np.array(scores)

    def _mean_losses(self, f: Array, targets: Indices) -> Array:
        """Return mean losses of some targets; `f` has the shape (n_test, n_chosen)."""
        weights = self.fold.validation.sample_weight
        columns = zip(targets, f.T, strict=True)
        with np.errstate(over="ignore", invalid="ignore"):
            values = [self.losses[t].value(self.y[:, t], g) for t, g in columns]
            return np.asarray(np.average(values, axis=1, weights=weights))


TARGET_METRICS = {
    "r2": "r2_score",
    "explained_variance": "explained_variance_score",
    "neg_mean_squared_error": "mean_squared_error",
    "neg_root_mean_squared_error": "root_mean_squared_error",
    "neg_mean_absolute_error": "mean_absolute_error",
    "neg_median_absolute_error": "median_absolute_error",
}
"""Functions of sklearn.metrics that score many targets at once, by scorer name."""


def score_targets(name: str, y: Array, f: Array, weights: Array | None) -> Array:
    """Return the score of every target, (n_targets,), by a name in `TARGET_METRICS`."""
    from sklearn import metrics

    metric: Callable[..., Array] = getattr(metrics, TARGET_METRICS[name])
    values = metric(y, f, sample_weight=weights, multioutput="raw_values")
    return np.asarray(-values if name.startswith("neg_") else values, dtype=np.float64)


def mean_over_choices(scores: Scores) -> Scores:
    """Return the scores averaged over targets, with losses summed over targets."""
    # The arrays of the result have shape (n_folds, n_candidates, 1). Targets without
    # any solve, which exist if a callback stopped the search, are ignored.
    solved = scores.done.any(axis=(0, 1)) | ~scores.done.any()
    return replace(
        scores,
        scores=scores.scores[:, :, solved].mean(axis=2, keepdims=True),
        losses=scores.losses[:, :, solved].sum(axis=2, keepdims=True),
        n_active=scores.n_active[:, :, solved].mean(axis=2, keepdims=True),
        done=np.asarray(scores.done[:, :, solved].all(axis=2, keepdims=True)),
    )


def target_means(scores: Scores) -> dict[str, Array]:
    """Return the `fold_means` of all targets, (n_candidates, n_targets) each."""
    # If a callback stopped the search before any solve for a target, this target gets
    # the mean of the other targets.
    means, is_solved = fold_means(scores), scores.done.any(axis=(0, 1))
    if not is_solved.all():
        for values in means.values():
            values[:, ~is_solved] = values[:, is_solved].mean(axis=1, keepdims=True)
    return means


def best_of_targets(means: Mapping[str, Array], scores: Scores) -> Indices:
    """Return, for each target, the index of its chosen candidate, (n_targets,)."""
    # The scores of one target on a few folds hardly distinguish neighboring candidates,
    # so use the best candidates of similar targets, see `_similar_medians`, as well.
    # From their median to the target's own best, choose the first candidate whose score
    # is at most ERRORS standard errors below the best score of the target.
    best = _best_candidates(means)
    choices, medians = best.copy(), _similar_medians(best, scores.losses)
    for t in np.flatnonzero(best != medians).tolist():
        between = np.arange(medians[t], best[t], 1 if best[t] > medians[t] else -1)
        deficits = scores.scores[:, best[t], t, None] - scores.scores[:, between, t]
        # Candidates that were skipped for a target are not compared.
        has_score = np.isfinite(means["mean_test_score"][between, t])
        has_score &= means["mean_n_active"][between, t] > 0.0
        if not has_score.any() or len(deficits) < 2:
            continue
        errors = deficits.std(axis=0, ddof=1) / np.sqrt(len(deficits))
        is_close = has_score & (deficits.mean(axis=0) <= ERRORS * errors)
        if is_close.any():
            choices[t] = between[np.argmax(is_close)]
    return choices


def simplest_of_targets(means: Mapping[str, Array], scores: Scores) -> Indices:
    """Return, for each target, the index of its `simplest_candidate`, (n_targets,)."""
    best = _best_candidates(means)
    for t in range(best.size):
        results = {name: values[:, t] for name, values in means.items()}
        best[t] = simplest_candidate(results, scores.scores[:, :, t], int(best[t]))
    return best


def _similar_medians(best: Indices, losses: Array) -> Indices:
    """Return for each target the median of `best` over similar targets."""
    # A target that kernels explain well requires another strength than a target that is
    # mostly noise. Targets are similar if kernels reduce their losses similarly. The
    # share of the loss that remains is a target's loss at the median of `best`, divided
    # by its loss at the first strength. The shares of two similar targets differ by at
    # most ALIKE standard errors of a difference between shares. This standard error is
    # the same for all targets. `losses` have shape (n_folds, n_candidates, n_targets).
    median, n_folds = int(np.median(best)), len(losses)
    # If the median choice was skipped for a target, use its best candidate.
    has_median = np.isfinite(losses[:, median]).all(axis=0)
    indices = np.where(has_median, median, best)
    with np.errstate(divide="ignore", invalid="ignore"):
        loss_shares = losses[:, indices, np.arange(best.size)] / losses[:, 0]
    mean_shares = loss_shares.mean(axis=0)
    is_finite = np.isfinite(mean_shares)
    medians = np.full(best.size, median)
    if n_folds < 2 or not is_finite.any():
        return medians
    error = np.sqrt(loss_shares[:, is_finite].var(axis=0, ddof=1).mean() / n_folds)
    max_difference = ALIKE * np.sqrt(2.0) * error
    order = np.flatnonzero(is_finite)[np.argsort(mean_shares[is_finite])]
    ascending = mean_shares[order]
    starts = np.searchsorted(ascending, ascending - max_difference, side="left")
    stops = np.searchsorted(ascending, ascending + max_difference, side="right")
    for t, start, stop in zip(order, starts, stops, strict=True):
        medians[t] = int(np.median(best[order[start:stop]]))
    return medians


def _best_candidates(means: Mapping[str, Array]) -> Indices:
    """Return the index of each target's `best_candidate`; raise if one has no score."""
    scores = means["mean_test_score"]
    unscored = np.flatnonzero(~np.isfinite(scores).any(axis=0))
    if unscored.size:
        raise ValueError(
            f"No alpha has a finite score in every fold for target {unscored[0]} "
            "(counted from 0): pass another scoring. The default, scoring='r2', "
            "requires a cv with at least two samples in every validation set."
        )
    return np.array(
        [
            best_candidate({name: values[:, t] for name, values in means.items()})
            for t in range(scores.shape[1])
        ]
    )


def warn_choices(fit: SearchOutcome, means: Mapping[str, Array], best: Indices) -> None:
    """Warn about targets whose models are constant, or at an end of the grid."""
    # Arrays in `means` have shape (n_candidates, n_targets), see `target_means`.
    owner, parameters, candidates = fit.owner, fit.parameters, fit.candidates
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
    strengths = next(iter(candidates.grid().values()))
    for outermost, neighbor in ((0, 1), (len(scores) - 1, len(scores) - 2)):
        grids = candidates.open_grids({"alpha": strengths[outermost]})
        is_chosen = (best == outermost) & ~is_empty
        # A skipped neighbor has no score to compare.
        is_chosen &= scores[outermost] > scores[neighbor]
        if len(scores) < 3 or not grids or not is_chosen.any():
            continue
        name, grid = next(iter(grids.items()))
        end = "smallest" if strengths[outermost] == grid.min() else "largest"
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
        # Parameters other than alpha do not depend on the choice, so numbers remain.
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
) -> tuple[GramFit, Sequence[Sequence[Solution]]]:
    """Return the models of all targets, and the path of each to its model."""
    # If a callback has stopped the fit, paths have the model only.
    # `recipes` are for all strengths down to the smallest chosen one, `best` contains
    # the index of each target's choice, and `final_recipe` has the model's tolerance.
    solutions: list[Solution] = []
    paths: list[list[Solution]] = []
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
    final_fit = GramFit(final_recipe, training, solutions)
    last_points = list(map(_without_coefs, solutions))
    if watch.stopped:
        return final_fit, [[point] for point in last_points]
    watch.note = f"{best.size} of {best.size} targets have a model"
    for path, choice, point in zip(paths, best.tolist(), last_points, strict=True):
        # A path has one point per strength. Above the chosen strength, the point is the
        # solution at its own strength. At the chosen strength and all smaller ones, the
        # point is the final model. The point at the chosen strength has the iterations
        # of all solves at it; points at smaller strengths have zero iterations.
        path[choice] = replace(point, n_iter=point.n_iter + path[choice].n_iter)
        path += [replace(point, n_iter=0)] * (len(recipes) - len(path))
    return final_fit, paths


def _without_coefs(solution: Solution) -> Solution:
    """Return a solution with only the arrays that a path stores."""
    nothing = np.empty(0)
    bare = replace(solution, coefs=nothing, dual=nothing, effects=None, history=())
    return replace(bare, refinement=None)


def _paths_to_choices(
    recipes: Sequence[Recipe], training: Training, watch: Watch, choices: Indices
) -> tuple[list[Solution | None], list[list[Solution]], Training]:
    """Return the solution and path of each target up to its choice, and final data."""
    # `choices` has the index of each target's last recipe. The final data have the
    # factors that were refined along the paths. Solutions may be None if a callback
    # stops the fit.
    starts: list[Solution | None] = [None] * choices.size
    paths: list[list[Solution]] = [[] for _ in starts]
    # If a path has refined the factors, follow all paths again with the refined ones.
    while not watch.stopped:
        paths, start_data = [[] for _ in starts], training
        for k, fit in enumerate(follow_path(recipes, start_data, watch, choices)):
            training = fit.training
            for t, solution in enumerate(fit.solutions):
                if solution is None or k > choices[t]:
                    continue
                paths[t].append(_without_coefs(solution))
                if k == choices[t]:
                    starts[t] = solution
            watch.advance(1)
        if training is start_data:
            break
    return starts, paths, training
