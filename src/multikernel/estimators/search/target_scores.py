"""What folds say of every target, and which strength each of them chooses."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.fit import find_link
from multikernel.estimators.grams.training import Training
from multikernel.estimators.method import Fold
from multikernel.estimators.parameters import loss_of
from multikernel.estimators.search.choice import best_candidate
from multikernel.estimators.search.scores import FoldScorer, Scores, losses_of

ERRORS = 1.0
"""Standard errors over folds by which a target gives way to what others choose. Of 100
targets on 200 samples (see `OF_A_TARGET`) the mean R2 on new samples was 0.4008 with 0,
0.4045 with a half and 0.4064 with 1 where noise is alike; 0.1755, 0.1786 and 0.1769
where it is not. One strength for all gives 0.4048 and 0.1662."""


def fold_of_targets(fold: Fold[Training], block: Indices) -> Fold[Training]:
    """Return a fold of some of its targets."""
    training, outside = fold.training, fold.outside
    if block.size == len(outside.targets):
        return fold
    part = training.among(training.samples.of_targets(block))
    return Fold(part, outside.of_targets(block), fold.decision_values)


class TargetScorer:
    """Scores the targets of a fold one by one, all at once where a metric can.

    Parameters
    ----------
    search : SearchCV
        The search, with a name or None for ``scoring``.
    fold : Fold
        The fold, of some targets.
    """

    def __init__(self, search: Any, fold: Fold[Training]) -> None:
        self.search, self.fold = search, fold
        outside = fold.outside
        self.y, self.weights = outside.targets.T, outside.sample_weight
        self._losses = losses_of(search, fold.training.samples)
        name = search.scoring
        if name is None and loss_of(search).deviance() is None:
            name = "r2"
        straight = find_link(search.loss, outside) == "identity"
        self.metric = metrics_of_targets().get(name) if straight else None
        self._alone: dict[int, FoldScorer] = {}

    def scores(self, f: Array, targets: Indices) -> Array:
        """Return the scores of decision values of some targets, (n_test, n_chosen)."""
        if self.metric is not None:
            return self.metric(self.y[:, targets], f, self.weights)
        scores = []
        for t, values in zip(targets.tolist(), f.T, strict=True):
            if t not in self._alone:
                one = fold_of_targets(self.fold, np.array([t]))
                self._alone[t] = FoldScorer(self.search, self.search.scoring, one)
            scores.append(self._alone[t](dict, values[:, None]))
        return np.array(scores)

    def losses(self, f: Array, targets: Indices) -> Array:
        """Return the mean losses of decision values of some targets, (n_chosen,)."""
        losses = [self._losses[t] for t in targets.tolist()]
        with np.errstate(over="ignore", invalid="ignore"):
            if all(loss is losses[0] for loss in losses):
                each = losses[0].value(self.y[:, targets], f)
            else:
                columns = zip(losses, self.y[:, targets].T, f.T, strict=True)
                each = np.stack([loss.value(y, g) for loss, y, g in columns], axis=1)
            return np.asarray(np.average(each, axis=0, weights=self.weights))


Metric = Callable[[Array, Array, Array | None], Array]


def metrics_of_targets() -> dict[str | None, Metric]:
    """Return the scores by name that are of many targets at once, one number each."""
    from sklearn import metrics

    def of(function: Callable[..., Any], sign: float) -> Metric:
        def metric(y: Array, f: Array, weights: Array | None) -> Array:
            each = function(y, f, sample_weight=weights, multioutput="raw_values")
            return sign * np.asarray(each, dtype=np.float64)

        return metric

    return {
        "r2": of(metrics.r2_score, 1.0),
        "explained_variance": of(metrics.explained_variance_score, 1.0),
        "neg_mean_squared_error": of(metrics.mean_squared_error, -1.0),
        "neg_root_mean_squared_error": of(metrics.root_mean_squared_error, -1.0),
        "neg_mean_absolute_error": of(metrics.mean_absolute_error, -1.0),
        "neg_median_absolute_error": of(metrics.median_absolute_error, -1.0),
    }


def mean_over_targets(scores: Scores) -> Scores:
    """Return mean scores of all folds over targets, and summed losses.

    Targets that nothing was solved for, as a callback stopped the search before, have
    no part in them.
    """
    seen = scores.done.any(axis=(0, 1))
    if not seen.any():
        seen = np.ones_like(seen)
    return replace(
        scores,
        scores=scores.scores[:, :, seen].mean(axis=2),
        losses=scores.losses[:, :, seen].sum(axis=2),
        n_active=scores.n_active[:, :, seen].mean(axis=2),
        done=np.asarray(scores.done[:, :, seen].all(axis=2)),
    )


def target_means(scores: Scores) -> dict[str, Array]:
    """Return mean score, loss and number of kernels, (n_candidates, n_targets) each.

    They are over the folds that give a target any score. A target that a callback has
    kept from every candidate has the mean of the others.
    """
    done = scores.done
    whole = done.all(axis=0)
    # Without a candidate that all folds have, what there is of every one counts.
    counted = done & (whole | ~whole.any(axis=0))
    scored = (counted & ~np.isnan(scores.scores)).any(axis=1, keepdims=True)
    counted &= scored | ~scored.any(axis=0)
    by_name = {}
    columns = {
        "mean_test_score": scores.scores,
        "mean_test_loss": scores.losses,
        "mean_n_active": scores.n_active,
    }
    seen = done.any(axis=(0, 1))
    for name, values in columns.items():
        with np.errstate(invalid="ignore"):
            totals = np.where(counted, values, 0.0).sum(axis=0)
            means = totals / counted.sum(axis=0)
        if not seen.all():
            means[:, ~seen] = means[:, seen].mean(axis=1, keepdims=True)
        by_name[name] = means
    return by_name


def best_of_targets(means: Mapping[str, Array], scores: Array) -> Indices:
    """Return the choice of every target.

    That is the candidate nearest to the median of what is best for each target, among
    those up to its own best one whose scores on the folds, (n_folds, n_candidates,
    n_targets), are worse by a standard error at most: scores of a single target on a
    few folds say little of its neighbours, and scores of other targets something.
    """
    best = _best_alone(means)
    choices, middle = best.copy(), int(np.median(best))
    for t in np.flatnonzero(best != middle).tolist():
        way = np.arange(middle, best[t], 1 if best[t] > middle else -1)
        worse = scores[:, best[t], t, None] - scores[:, way, t]
        # Candidates that a target has left out are not compared.
        has_score = np.isfinite(means["mean_test_score"][way, t])
        has_score &= means["mean_n_active"][way, t] > 0.0
        if not has_score.any() or len(worse) < 2:
            continue
        errors = worse.std(axis=0, ddof=1) / np.sqrt(len(worse))
        near = has_score & (worse.mean(axis=0) <= ERRORS * errors)
        if near.any():
            choices[t] = way[np.argmax(near)]
    return choices


def _best_alone(means: Mapping[str, Array]) -> Indices:
    """Return the best candidate of every target, as `best_candidate` has it."""
    scores = means["mean_test_score"]
    lacking = np.flatnonzero(~np.isfinite(scores).any(axis=0))
    if lacking.size:
        raise ValueError(
            f"No alpha has a finite score in every fold for target {lacking[0]} "
            "(counted from 0): check scoring, and for r2, the default of a regression, "
            "that every fold holds at least two samples."
        )
    return np.array(
        [
            best_candidate({name: values[:, t] for name, values in means.items()})
            for t in range(scores.shape[1])
        ]
    )
