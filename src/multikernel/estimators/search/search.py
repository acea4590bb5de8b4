"""Choice of parameters by cross-validation: a method, its candidates, and folds."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning

from multikernel._typing import Array, Indices
from multikernel._validation import Check
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.method import Candidates, Data, Fold, Method, Solved, Source
from multikernel.estimators.parameters import SIMPLEST, loss_of
from multikernel.estimators.progress import Watch
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.search.choice import (
    SearchOutcome,
    best_candidate,
    constant_prediction,
    simplest_candidate,
    warn_choice,
    warn_unscored,
)
from multikernel.estimators.search.folds import (
    Folds,
    check_exchangeable,
    models_of_folds,
)
from multikernel.estimators.search.sample import growing_scores
from multikernel.estimators.search.scores import (
    FoldScorer,
    Scores,
    cv_results,
    scoring_choice,
)
from multikernel.estimators.search.splits import Split, Splitter, make_splits
from multikernel.estimators.search.targets import (
    TargetScorer,
    best_of_targets,
    fold_of_targets,
    mean_over_choices,
    simplest_of_targets,
    target_means,
    warn_choices,
)
from multikernel.exceptions import ConvergenceWarning, warn_user
from multikernel.linalg.tables import CHUNK_BYTES
from multikernel.problem import Callback

# With folds solved to a gap of 0.01, a search on seven classes took 1.3 times as long,
# and chose the same strengths.
TOLERANCE_FACTOR, MAX_TOLERANCE = 30.0, 3e-2
"""The tolerance of folds is ``tol`` times this factor, up to this maximum."""


@dataclass(frozen=True, eq=False)
class Search:
    """A method that chooses the parameters of another method by cross-validation."""

    model: BaseMKL  # the estimator, a `SearchCV`; scorers get copies of it
    method: Method  # candidates replace the parameters that the search chooses
    # Returns the candidates, given all samples.
    candidates: Callable[[Any], Candidates]

    @property
    def cv_tol(self) -> float:
        """The relative duality gap to which folds are solved."""
        return loosen_tol(float(self.model.tol))

    @property
    def source(self) -> Source:
        """The source of data from which folds can be cut, see `Source.parts`."""
        return replace(self.method.source, parts=True)

    @property
    def intervals(self) -> bool:
        """Whether to fit the models of the folds, for prediction intervals."""
        return bool(self.model.refit and getattr(self.model, "intervals", False))

    def learn(self, data: Data, watch: Watch) -> dict[str, object]:
        """Score candidates, choose one, and return the fitted attributes."""
        all_samples, model = data.on_all_samples(), self.model
        candidates = self.candidates(all_samples)
        splits = make_splits(self.source.owner, model, data.samples)
        if self.intervals:
            check_exchangeable(self.source.owner, data.samples, splits)
        n_threads = min(effective_n_jobs(model.n_jobs), len(splits))
        on_folds = candidates.with_tol(self.cv_tol)
        folds = Folds(model, data, splits, on_folds, watch, n_threads)
        n_final_solves = bool(model.refit) + len(splits) * self.intervals
        # Samples of `n_rows` rows grow until the scores are exact enough to choose.
        scores, n_rows = growing_scores(folds, _score_all, n_final_solves)
        if n_rows < data.samples.rows.size:
            # The path over all rows may not fit into memory: on 100 000 rows of 14
            # columns it needed more than 7 GB.
            candidates = candidates.without_path()
        columns = candidates.grid(int(scores.n_active.max()))
        results = cv_results(columns, mean_over_choices(scores))
        outcome = SearchOutcome(folds, candidates, all_samples, scores, results, n_rows)
        # With `blocks`, each target chooses its own candidate.
        return (self._publish_targets if candidates.blocks else self._publish)(outcome)

    def _publish(self, fit: SearchOutcome) -> dict[str, object]:
        """Choose a candidate, and return the fitted attributes."""
        scores, results = fit.scores, fit.results
        best = best_candidate(results)
        if self.model.refit == SIMPLEST:
            best = simplest_candidate(results, scores.scores[:, :, 0], best)
        params = results["params"][best]
        score = float(results["mean_test_score"][best])
        attributes = self._attributes(fit, best, params, score)
        warn_unscored(fit.owner, scores)
        warn_choice(fit, best, attributes["fit_info_"]["predicted_alike"])
        return attributes

    def _publish_targets(self, fit: SearchOutcome) -> dict[str, object]:
        """Choose a candidate for each target, and return the fitted attributes."""
        means = target_means(fit.scores)
        best = best_of_targets(means, fit.scores)
        if self.model.refit == SIMPLEST:
            best = simplest_of_targets(means, fit.scores)
        params = {name: values[best] for name, values in fit.candidates.grid().items()}
        best_scores = np.take_along_axis(means["mean_test_score"], best[None], axis=0)
        mean_score = float(best_scores.mean())
        attributes = self._attributes(fit, best, params, mean_score)
        warn_choices(fit, means, best)
        scores = np.ascontiguousarray(means["mean_test_score"].T)
        return attributes | {"target_scores_": scores}

    def _attributes(
        self, fit: SearchOutcome, best: Any, params: Mapping[str, object], score: float
    ) -> dict[str, Any]:
        """Return the fitted attributes of a choice, and of its model on all samples."""
        # The choice is the candidate with index `best`, parameters `params` and mean
        # score `score`. If targets choose separately, `best` has an index per target.
        folds, tol = fit.folds, self.cv_tol
        attributes: dict[str, Any] = {
            "cv_results_": fit.results,
            "best_index_": best,
            "best_params_": params,
            "best_score_": score,
            "n_splits_": len(folds.splits),
        }
        prediction = constant_prediction(fit.scores, best, folds.data.samples)
        search_info = {"search_rows": fit.n_rows, "predicted_alike": prediction}
        # Methods without a tolerance return themselves.
        if fit.candidates.method.with_tol(tol) is not fit.candidates.method:
            search_info = {"cv_tol": tol, **search_info}
        gaps = [np.empty(0), *fit.scores.gaps]
        if self.model.refit:
            attributes |= {f"{name}_": value for name, value in params.items()}
            # The refit replaces these strengths by strengths in the units of y.
            attributes |= fit.candidates.refit(fit.all_samples, folds.watch, best)
            if self.intervals:
                attributes["_folds"] = models_of_folds(folds, best)
            attributes |= self._further_attributes(folds, params)
            path = attributes.get("path_")
            if path is not None:
                gaps.append(path.duality_gaps[~np.isnan(path.duality_gaps)])
        fit_info = attributes.get("fit_info_", folds.data.fit_info)
        attributes["fit_info_"] = {**fit_info, **search_info}
        _warn_unsolved(self.source.owner, np.concatenate(gaps), tol)
        return attributes

    def _further_attributes(
        self, folds: Folds, params: Mapping[str, object]
    ) -> dict[str, object]:
        """Return attributes that a subclass adds for the chosen parameters `params`."""
        return {}


def _warn_unsolved(owner: str, gaps: Array, tol: float) -> None:
    """Warn if solves of a search stopped above their tolerance."""
    unsolved = int(np.count_nonzero(~(gaps <= tol)))
    if unsolved:
        warn_user(
            f"{unsolved} of {gaps.size} solves along the paths of {owner} stopped with "
            f"a relative duality gap above the tolerance of {tol:g}; the largest is "
            f"{gaps.max():.2e}. Raise max_iter or tol.",
            ConvergenceWarning,
        )


def _score_all(folds: Folds) -> Scores:
    """Return the scores of all candidates on all folds."""
    samples, candidates = folds.data.samples, folds.candidates
    n_choices = 1 if candidates.blocks is None else len(samples.targets)
    scores = Scores.empty(len(folds.splits), len(candidates), n_choices)
    with warnings.catch_warnings():
        # Scores such as precision are undefined for models of a path that predict one
        # class. The search itself warns of folds that lack a class, or have no score.
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        if folds.fit_in_memory:
            _score_together(folds, scores)
        else:
            folds.for_each(partial(_score_alone, folds, scores))
    return scores


def _score_together(folds: Folds, scores: Scores) -> None:
    """Fill `scores`; solve each candidate on all folds before the next candidate."""
    # So the means of the scores are available, and can end all paths early.
    cuts: dict[int, Fold | None] = {}

    def cut(fold_index: int) -> None:
        cuts[fold_index] = folds.cut(fold_index)

    folds.for_each(cut)
    for block in folds.blocks:
        if folds.candidates.blocks is not None:
            n_targets = scores.scores.shape[2]
            folds.watch.note = f"{block[0]} of {n_targets} targets have a strength"
        means = np.empty((len(folds.candidates), block.size))
        runs = {k: _score_fold(folds, k, cuts[k], block, scores, means) for k in cuts}
        while runs:
            # Between the batches, so that all folds read equal means, also in threads.
            means[:] = scores.means(block)
            folds.for_each(partial(_advance, runs))


def _advance(runs: dict[int, Iterator[bool]], fold_index: int) -> None:
    """Score a fold's next candidates; after its last ones, remove it from `runs`."""
    if fold_index in runs and not next(runs[fold_index], False):
        del runs[fold_index]


def _score_alone(folds: Folds, scores: Scores, fold_index: int) -> None:
    """Cut one fold, score all candidates on it, and discard its kernels."""
    fold = folds.cut(fold_index)
    for block in folds.blocks:
        unknown = np.full((len(folds.candidates), block.size), np.nan)
        for _ in _score_fold(folds, fold_index, fold, block, scores, unknown):
            pass


def _score_fold(
    folds: Folds,
    fold_index: int,
    fold: Fold | None,
    block: Indices,
    scores: Scores,
    means: Array,
) -> Iterator[bool]:
    """Score candidates on a fold in batches, and yield True after each batch."""
    # The fold is None if a callback has stopped the search. `block` has the indices of
    # the targets. `means` has the mean scores over folds, see `Scores.means`, by which
    # chains may end early; the caller keeps it up to date.
    candidates, watch = folds.candidates, folds.watch
    if fold is None or watch.stopped:
        return
    is_separate = candidates.blocks is not None
    fold = fold_of_targets(fold, block) if is_separate else fold
    scorer = (TargetScorer if is_separate else FoldScorer)(folds.model, fold)
    scores.lacks_class[fold_index] = scorer.lacks_class
    models = candidates.solve(fold.training, watch, lambda: means)
    n_left = len(candidates)
    while not watch.stopped:
        batch: list[Solved] = []
        for solved in models:
            batch.append(solved)
            watch.advance(len(solved.candidates))
            n_left -= len(solved.candidates)
            # One pass over the kernels evaluates all models of a batch. A batch ends if
            # its coefficients take more than CHUNK_BYTES, or if the scores are needed
            # to decide whether to continue the chain.
            if solved.chain or sum(model.n_bytes for model in batch) > CHUNK_BYTES:
                break
        if not batch:
            watch.advance(n_left)  # the candidates that were skipped
            return
        scorer.score_batch(batch, scores, fold_index, block)
        yield True


def loosen_tol(tol: float) -> float:
    """Return the tolerance for folds and for the path to the final model."""
    return max(tol, min(TOLERANCE_FACTOR * tol, MAX_TOLERANCE))


@dataclass(eq=False, repr=False, kw_only=True)
class SearchCV(BaseMKL):
    """Base class of estimators that choose parameters by cross-validation."""

    # Subclasses must list this class before other bases, so that its `fit` is used.

    _checks: ClassVar[Mapping[str, Check]] = {"scoring": scoring_choice}

    cv: int | Splitter | Iterable[Split] | None = None
    scoring: str | Callable[..., float] | None = None
    n_jobs: int | None = None
    refit: bool | str = True
    max_search_rows: int | str | None = "auto"
    random_state: int | np.random.RandomState | None = None

    def fit(
        self,
        X: object,
        y: "ArrayLike",
        sample_weight: "ArrayLike | None" = None,
        *,
        groups: object = None,
        offset: "ArrayLike | None" = None,
        callback: Callback | None = None,
    ) -> Self:
        """Choose parameters and fit; an exception leaves the estimator unchanged.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training data, or Gram matrices from `stack_grams`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, times to an event or classes, as in ``fit`` of the estimator
            without a search.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights; an integer weight acts as copies of the sample.
        groups : array-like of shape (n_samples,), default=None
            Group labels. Folds keep each group together if ``cv`` is None, a number, or
            a splitter that uses groups, such as `sklearn.model_selection.GroupKFold`.
            Metadata routing needs ``set_fit_request(groups=True)``.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Known parts of the decision values, such as log(exposure) for
            loss="poisson", to which the fitted terms are added. Predictions need the
            offsets of their samples. Not supported for times to an event or ordered
            classes.
        callback : callable, default=None
            Called with a `Progress` once per outer iteration. If it returns True, the
            search stops and chooses among the scored candidates; the final fit then
            stops after one iteration. The objective in `Progress` sums losses over the
            samples.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            If a parameter or the data are invalid.
        RuntimeError
            If the callback stopped the search before any candidate was scored.
        multikernel.exceptions.StackTooLargeError
            If the Gram matrices would require more than ``max_bytes``.

        Warns
        -----
        ConvergenceWarning
            If some solves stopped above the tolerance; the message says how many.
        multikernel.exceptions.SearchWarning
            If the choice lies at an end of its grid, or has no active kernel.
        """
        return self._learn(X, y, sample_weight, offset, callback, groups)

    def _why_unscored(self, samples: Samples, test: Indices) -> str | None:
        """Return why a validation set has no defined score, or None if it has one."""
        # R^2 of one sample is undefined. The default score of a loss with a deviance is
        # D^2, which is 0 or 1 for one sample; mean losses decide between equal scores.
        has_d2 = self.scoring is None and hasattr(loss_of(self).unit, "deviance")
        is_r2 = self.scoring in (None, "r2") and not has_d2
        if samples.classes is not None or test.size > 1 or not is_r2:
            return None
        return (
            "has one sample, and R^2 requires two (scoring='neg_mean_squared_error' "
            "requires one)"
        )
