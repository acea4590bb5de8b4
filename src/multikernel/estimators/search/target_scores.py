"""Scores of separate targets on folds, and the strength that each target chooses."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.estimators.fit import find_link
from multikernel.estimators.method import Fold, Solved
from multikernel.estimators.parameters import loss_of
from multikernel.estimators.search.choice import best_candidate, simplest_candidate
from multikernel.estimators.search.scores import FoldScorer, Scores, scaled_losses
from multikernel.estimators.search.targets import fold_of_targets

# With these limits, the mean R^2 on new samples is 0.4160 for data with similar
# targets, 0.1854 for data with noisy targets and 0.1713 for data of tumors. If each
# target chooses its strength alone, the mean R^2 is 0.4054, 0.1809 and 0.1660.
ERRORS, ALIKE = 3.0, 3.0
"""Limits in standard errors over folds, see `best_of_targets`, `_similar_medians`."""


class TargetScorer:
    """Scores the targets of a fold separately, or at once if the metric supports it."""

    # A `TargetScorer` has the methods of `FoldScorer`, but requires that ``scoring`` of
    # the search is a name or None.
    lacks_class, refusal = False, ""

    def __init__(self, search: Any, fold: Fold) -> None:
        self.search, self.fold = search, fold
        validation = fold.validation
        self.y, self.weights = validation.targets.T, validation.sample_weight
        self._losses = scaled_losses(search, fold.training.samples)
        name = search.scoring
        if name is None and not hasattr(loss_of(search).unit, "deviance"):
            name = "r2"
        is_identity = find_link(search.loss, validation) == "identity"
        self.metric = name if is_identity and name in TARGET_METRICS else None
        self._alone: dict[int, FoldScorer] = {}

    def score_and_loss(self, solved: Solved, f: Array) -> tuple[Array, Array]:
        """Return scores and mean losses of the targets of a model, (n_chosen,) each."""
        targets, offset = np.asarray(solved.targets), self.fold.validation.offset
        # The decision values, (n_test, n_chosen), do not include offsets.
        f = f if offset is None else f + offset[:, targets]
        return self.scores(f, targets), self.losses(f, targets)

    def predicted(self, f: Array) -> Mask:
        """Return an empty mask, because a regression has no classes."""
        return np.zeros(0, dtype=bool)

    def scores(self, f: Array, targets: Indices) -> Array:
        """Return scores of some targets; `f` has the shape (n_test, n_chosen)."""
        if self.metric is not None:
            y, offset = self.y[:, targets], self.fold.validation.offset
            if offset is not None and self.search.scoring is None:
                y, f = y - offset[:, targets], f - offset[:, targets]
            return score_targets(self.metric, y, f, self.weights)
        scores = []
        for t, values in zip(targets.tolist(), f.T, strict=True):
            if t not in self._alone:
                target_fold = fold_of_targets(self.fold, np.array([t]))
                self._alone[t] = FoldScorer(self.search, target_fold)
            scores.append(self._alone[t](dict, values[:, None]))
        return np.array(scores)

    def losses(self, f: Array, targets: Indices) -> Array:
        """Return mean losses of some targets; `f` has the shape (n_test, n_chosen)."""
        losses = [self._losses[t] for t in targets.tolist()]
        with np.errstate(over="ignore", invalid="ignore"):
            if all(loss is losses[0] for loss in losses):
                values = losses[0].value(self.y[:, targets], f)
            else:
                columns = zip(losses, self.y[:, targets].T, f.T, strict=True)
                values = np.stack([loss.value(y, g) for loss, y, g in columns], axis=1)
            return np.asarray(np.average(values, axis=0, weights=self.weights))


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

    metric: Any = getattr(metrics, TARGET_METRICS[name])
    values = metric(y, f, sample_weight=weights, multioutput="raw_values")
    return np.asarray(-values if name.startswith("neg_") else values, dtype=np.float64)


def mean_over_choices(scores: Scores) -> Scores:
    """Return the scores averaged over targets, with losses summed over targets."""
    # Ignore targets without any solve, which exist if a callback stopped the search.
    is_solved = scores.done.any(axis=(0, 1))
    if not is_solved.any():
        is_solved = np.ones_like(is_solved)
    return replace(
        scores,
        scores=scores.scores[:, :, is_solved].mean(axis=2),
        losses=scores.losses[:, :, is_solved].sum(axis=2),
        n_active=scores.n_active[:, :, is_solved].mean(axis=2),
        done=np.asarray(scores.done[:, :, is_solved].all(axis=2)),
    )


def target_means(scores: Scores) -> dict[str, Array]:
    """Return mean score, loss and number of kernels, (n_candidates, n_targets) each."""
    done = scores.done
    on_all_folds = done.all(axis=0)
    # If no candidate is solved on all folds, use all available scores.
    is_counted = done & (on_all_folds | ~on_all_folds.any(axis=0))
    # Means are over the folds that score a target.
    has_score = (is_counted & ~np.isnan(scores.scores)).any(axis=1, keepdims=True)
    is_counted &= has_score | ~has_score.any(axis=0)
    by_name = {}
    columns = {
        "mean_test_score": scores.scores,
        "mean_test_loss": scores.losses,
        "mean_n_active": scores.n_active,
    }
    is_solved = done.any(axis=(0, 1))
    for name, values in columns.items():
        with np.errstate(invalid="ignore"):
            totals = np.where(is_counted, values, 0.0).sum(axis=0)
            means = totals / is_counted.sum(axis=0)
        # If a callback stopped the search before any solve for a target, this target
        # gets the mean of the other targets.
        if not is_solved.all():
            means[:, ~is_solved] = means[:, is_solved].mean(axis=1, keepdims=True)
        by_name[name] = means
    return by_name


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
    deviations = np.nanstd(scores.scores, axis=0)
    for t in range(best.size):
        folds = scores.scores[:, :, t]
        results = {name: values[:, t] for name, values in means.items()}
        results |= {f"split{k}_test_score": row for k, row in enumerate(folds)}
        results["std_test_score"] = deviations[:, t]
        best[t] = simplest_candidate(results, int(best[t]))
    return best


def _similar_medians(best: Indices, losses: Array) -> Indices:
    """Return for each target the median of `best` over similar targets."""
    # A target that kernels explain well requires another strength than a target that is
    # mostly noise. Targets are similar if kernels reduce their losses similarly. The
    # share of the loss that remains is a target's loss at the median of `best`, divided
    # by its loss at the first strength. The shares of two similar targets differ by at
    # most ALIKE standard errors of a difference between shares. This standard error is
    # the same for all targets.
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
    reach = ALIKE * np.sqrt(2.0) * error
    order = np.flatnonzero(is_finite)[np.argsort(mean_shares[is_finite])]
    ascending = mean_shares[order]
    starts = np.searchsorted(ascending, ascending - reach, side="left")
    stops = np.searchsorted(ascending, ascending + reach, side="right")
    for t, start, stop in zip(order, starts, stops, strict=True):
        medians[t] = int(np.median(best[order[start:stop]]))
    return medians


def _best_candidates(means: Mapping[str, Array]) -> Indices:
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
