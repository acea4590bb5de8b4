"""Choosing parameters by cross-validation: a method, its candidates, and folds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, Self

import numpy as np
from joblib import effective_n_jobs

from multikernel._typing import Array, Indices
from multikernel._validation import Check
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.fit import find_link
from multikernel.estimators.method import (
    Candidates,
    D,
    Method,
    P,
    S,
    Solved,
    Source,
)
from multikernel.estimators.parameters import loss_of
from multikernel.estimators.progress import Watch
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.search.choice import (
    against_one_class,
    best_candidate,
    predicted_alike,
    warn_choice,
    warn_unscored,
)
from multikernel.estimators.search.folds import (
    Folds,
    Keeper,
    cut_fold,
    keeping_folds,
    quiet_metrics,
)
from multikernel.estimators.search.scores import (
    FoldScorer,
    Scores,
    cv_results,
    scored_folds,
    scoring_choice,
)
from multikernel.estimators.search.splits import make_splits
from multikernel.exceptions import ConvergenceWarning, warn_user
from multikernel.linalg.tables import CHUNK_BYTES
from multikernel.problem import Callback

LOOSER, LOOSEST = 10.0, 1e-2
"""How many times the tolerance of the model folds are solved to, up to this gap where
that is not the tolerance itself. Scores on a hundred samples differ by more than models
at gaps of a hundredth and of a thousandth do."""


@dataclass(frozen=True, eq=False)
class Trial(Generic[D]):
    """What a search has to do, once the samples are known.

    `whole` are all samples as a fit has them, and the scale turns objectives of the
    method's problems into the estimator's, one for all or one for each.
    """

    whole: D
    candidates: Candidates[Any, D]
    objective_scale: float | Array


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """What a search has computed before it chooses.

    `refit` leads from the candidate chosen, or from the choice of every target, to the
    attributes of its model on all samples, and `keeper` to its models on the folds;
    each is None where there is to be none.
    """

    scores: Scores
    refit: Callable[..., dict[str, Any]] | None
    keeper: Keeper | None = None


@dataclass(frozen=True, eq=False)
class Search(Generic[D, P, S]):
    """A method that chooses the parameters of another one on folds.

    Parameters
    ----------
    model : SearchCV
        The estimator: its ``cv``, ``scoring``, ``n_jobs`` and ``refit``, and what
        scorers see a copy of.
    method : Method
        The method, at a strength of one where that is what is chosen.
    candidates : callable
        From all samples to what is chosen among.
    """

    model: Any
    method: Method[D, P, S]
    candidates: Callable[[D], Candidates[Any, D]]

    why_no_path: ClassVar[str] = (
        "chooses among strengths by itself: take the estimator without a search."
    )

    @property
    def cv_tol(self) -> float:
        """Return the relative duality gap that folds are solved to."""
        return loosened(float(self.model.tol))

    @property
    def source(self) -> Source[D]:
        """Return what prepares data that folds are cut from."""
        return self.method.source.for_parts()

    def recipe(self, data: D) -> Trial[D]:
        """Return all samples, and what to choose among."""
        whole = data.whole()
        scale = self.method.recipe(whole).objective_scale
        return Trial(whole, self.candidates(whole), scale)

    def solve(self, problem: Trial[D], data: D, watch: Watch) -> SearchOutcome:
        """Return the scores of all folds, and what gives the model on all samples."""
        splits = make_splits(self.source.owner, self.model, data.samples)
        candidates = problem.candidates.with_tol(self.cv_tol)
        jobs = min(effective_n_jobs(self.model.n_jobs), len(splits))
        return self._on_folds(
            problem, Folds(self.model, data, splits, candidates, watch, jobs)
        )

    def _on_folds(self, problem: Trial[D], folds: Folds[D]) -> SearchOutcome:
        """Return the scores of the folds, on which each candidate is solved for."""
        n_folds, samples, watch = len(folds.splits), folds.data.samples, folds.watch
        keeper = self._expect(
            folds,
            folds.candidates.refit,
            n_outputs=1 if samples.shared else len(samples.targets),
        )
        scores = Scores.empty(n_folds, len(folds.candidates))
        runs: dict[int, FoldRun[D]] = {}

        def begin(number: int) -> None:
            runs[number] = FoldRun(folds, number, scores)

        def step(means: Array | None, number: int) -> None:
            runs[number].step(means)

        def finish(number: int) -> None:
            begin(number)
            while not runs[number].ended:
                step(None, number)
            # With its kernels: there may be room for one fold's alone.
            runs.pop(number)

        with quiet_metrics(samples, folds.splits):
            if folds.together:
                folds.each(begin)
                while not all(run.ended for run in runs.values()):
                    folds.each(partial(step, mean_scores(scores)))
            else:
                folds.each(finish)
        refit = partial(problem.candidates.refit, problem.whole, watch)
        return SearchOutcome(scores, refit if self.model.refit else None, keeper)

    def _expect(
        self,
        folds: Folds[D],
        fit: Callable[..., dict[str, Any]],
        *,
        n_outputs: int,
        n_blocks: int = 1,
    ) -> Keeper | None:
        """Say what is to be done, and return what keeps the models of the folds."""
        refit, keeper = bool(self.model.refit), keeping_folds(folds, fit)
        rounds = len(folds.splits) * (2 if keeper else 1) + refit
        n_solves = len(folds.candidates) * rounds * n_blocks
        n_bytes = (1 + folds.n_copies) * folds.data.n_bytes
        folds.watch.expect(n_solves, n_outputs, self.source.owner, n_bytes)
        return keeper

    def publish(
        self, problem: Trial[D], data: D, solution: SearchOutcome
    ) -> dict[str, Any]:
        """Choose a candidate, and return its model on all samples with the scores."""
        scores, candidates = solution.scores, problem.candidates
        results = cv_results(candidates.columns(int(scores.n_active.max())), scores)
        best = best_candidate(results)
        params = results["params"][best]
        attributes = self._chosen(
            candidates,
            solution,
            best,
            {
                "cv_results_": results,
                "best_index_": best,
                "best_params_": params,
                "best_score_": float(results["mean_test_score"][best]),
            },
        )
        alike = predicted_alike(scores, best, data.samples)
        grids, parameters = candidates.edges(params), self.model.get_params(deep=False)
        advice = against_one_class(parameters, data.samples, scores)
        warn_unscored(self.source.owner, scores)
        args = parameters, grids, results, best, alike, advice
        warn_choice(self.source.owner, *args)
        return attributes | {"predicted_alike_": alike}

    def _chosen(
        self,
        candidates: Candidates[Any, D],
        solution: SearchOutcome,
        best: Any,
        attributes: dict[str, Any],
    ) -> dict[str, Any]:
        """Return the attributes with those of the model at a choice on all samples."""
        scores, tol = solution.scores, self.cv_tol
        attributes["n_splits_"] = len(scores.scores)
        if candidates.method.with_tol(tol) is not candidates.method:
            attributes["cv_tol_"] = tol
        gaps = [np.empty(0), *scores.gaps]
        if solution.refit is not None:
            params = attributes["best_params_"]
            attributes |= {f"{name}_": value for name, value in params.items()}
            # Strengths become what they are in the units of the targets.
            attributes |= solution.refit(best)
            if solution.keeper is not None:
                attributes["_folds"] = solution.keeper(best)
            path = attributes.get("path_")
            if path is not None:
                gaps.append(path.duality_gaps[~np.isnan(path.duality_gaps)])
        every = np.concatenate(gaps)
        unsolved = int(np.count_nonzero(~(every <= tol)))
        if unsolved:
            warn_user(
                f"{unsolved} of {every.size} solves along the paths of "
                f"{self.source.owner} stopped above cv_tol_={tol:g}; the largest "
                f"relative duality gap is {every.max():.2e}. Raise max_iter or loosen "
                "tol.",
                ConvergenceWarning,
            )
        return attributes


class FoldRun(Generic[D]):
    """One side of a split that is solved on, candidate by candidate, and scored."""

    def __init__(self, folds: Folds[D], number: int, scores: Scores) -> None:
        self.number, self.scores, self.watch = number, scores, folds.watch
        self.chain: Sequence[int] = ()
        self.ended = self.watch.stopped
        if self.ended:
            return
        model, split = folds.model, folds.splits[number]
        link = find_link(model.loss, folds.data.samples)
        self._fold = cut_fold(folds.data, split, folds.n_copies, link)
        self._scorer = FoldScorer(model, model.scoring, self._fold)
        self._solved = folds.candidates.solve(self._fold.training, self.watch)
        scores.lacks_class[number] = self._scorer.lacks_class

    def step(self, means: Array | None) -> None:
        """Take the next solved candidates, and score them on the validation side.

        A chain of candidates that are solved together comes at once. The mean scores
        so far say which of the candidates may be left out.
        """
        batch: list[Solved] = []
        self.ended |= self.watch.stopped
        while not self.ended:
            try:
                models = self._solved.send(means)
            except StopIteration:
                self._go_on_to(())
                self.ended = True
                break
            means = None
            self._go_on_to(models.chain)
            self.watch.advance(len(models.places))
            batch.append(models)
            # One reading of the kernels serves all models of a batch, which ends when
            # their coefficients take CHUNK_BYTES.
            if models.chain or sum(each.n_bytes for each in batch) > CHUNK_BYTES:
                break
        if not batch:
            return
        scores = self.scores
        values = self._fold.decision_values([models.model for models in batch])
        for models, f in zip(batch, values, strict=True):
            places = self.number, np.asarray(models.places, dtype=np.intp)
            scores.scores[places] = self._scorer(models.attributes, f)
            scores.losses[places] = self._scorer.loss(f)
            answers = dict.fromkeys(models.places, self._scorer.predicted(f))
            scores.predicted[self.number].update(answers)
            scores.n_active[places] = models.n_active
            scores.done[places] = True
            scores.gaps.append(models.gaps)
        scores.refusals[self.number] = self._scorer.refusal

    def _go_on_to(self, chain: Sequence[int]) -> None:
        """Count the candidates left out of the last chain as done, if it has ended."""
        if chain != self.chain:
            left_out = np.asarray(self.chain, dtype=np.intp)
            done = self.scores.done[self.number, left_out]
            self.watch.advance(int(np.count_nonzero(~done)))
            self.chain = chain


def loosened(tol: float) -> float:
    """Return what folds are solved to, and the way to the choice, by the tolerance.

    Examples
    --------
    >>> loosened(5e-4), loosened(5e-3), loosened(0.1)
    (0.005, 0.01, 0.1)
    """
    return max(tol, min(LOOSER * tol, LOOSEST))


def mean_scores(scores: Scores) -> Array | None:
    """Return the mean scores of all folds, nan where one is missing; None at first."""
    done = scores.done.all(axis=0)
    if not done.any():
        return None
    used = scored_folds(scores.scores, scores.done)
    return np.where(done, np.mean(scores.scores[used], axis=0), np.nan)


@dataclass(eq=False, repr=False, kw_only=True)
class SearchCV(BaseMKL):
    """Chooses parameters by cross-validation; goes first among the bases.

    The fields are parameters of every search, whose class adds its own.
    """

    _checks: ClassVar[Mapping[str, Check]] = {"scoring": scoring_choice}

    cv: Any = None
    scoring: Any = None
    n_jobs: int | None = None
    refit: bool = True

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        offset: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Choose the parameters, and fit the model that they give.

        An exception on the way, such as an interrupt from the keyboard, leaves the
        estimator as it was.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training data; with ``kernels="precomputed"`` Gram matrices of shape
            (n_samples, n_samples, n_kernels), see `stack_grams`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, times to an event or classes, as in ``fit`` of the estimator
            without a search.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the samples. An integer weight does what as many
            copies of the sample would do, a weight of zero what leaving it out would.
        groups : array-like of shape (n_samples,), default=None
            Group labels. Folds keep each group together if ``cv`` is None, a number, or
            a splitter that uses groups, such as `sklearn.model_selection.GroupKFold`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), \
                default=None
            Known parts of the decision values, which kernels, columns and intercept
            are added to, such as log(exposure) with loss="poisson" or the decision
            values of an earlier model. Predictions take the offsets of their samples.
            Not for times to an event, nor for ordered classes.
        callback : callable, default=None
            Called with a `Progress` once per outer iteration, its objective in the
            summed scale of `Problem`. Where it returns True the search stops and
            keeps what is done: the choice is made among the candidates that are
            scored, on the folds that are finished if there are any, and the model on
            all samples ends after its first iteration, with its gap.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are wrong; the message says which and how.
        RuntimeError
            If the callback stopped the search before any candidate was scored.
        multikernel.exceptions.StackTooLargeError
            If the Gram matrices would need more than ``max_bytes``.

        Warns
        -----
        ConvergenceWarning
            If solves stopped above the tolerance; the message says how many.
        multikernel.exceptions.SearchWarning
            If the choice lies at an end of its grid, or has no kernel.
        """
        return self._learn(X, y, sample_weight, offset, callback, groups)

    def _unscored(self, samples: Samples, test: Indices) -> str | None:
        """Return the reason why a validation side has no score, or None."""
        if samples.classes is not None or self.scoring not in (None, "r2"):
            return None
        if test.size > 1 or loss_of(self).deviance() is not None:
            return None
        return (
            "has one sample, and R^2 requires two (scoring='neg_mean_squared_error' "
            "requires one)"
        )
