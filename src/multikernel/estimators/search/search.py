"""Choosing parameters by cross-validation: a method, its candidates, and folds."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, Self

import numpy as np
from joblib import effective_n_jobs

from multikernel._typing import Array, Mask
from multikernel._validation import Check
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.fit import find_link, fit_estimator
from multikernel.estimators.forecast import Work
from multikernel.estimators.method import (
    Candidates,
    D,
    Fold,
    Method,
    P,
    S,
    Solved,
    Source,
)
from multikernel.estimators.progress import Watch
from multikernel.estimators.search.choice import (
    against_one_class,
    best_candidate,
    predicted_alike,
    warn_choice,
    warn_unscored,
)
from multikernel.estimators.search.fold_models import FoldKeeper, keeping_folds
from multikernel.estimators.search.folds import (
    Split,
    cut_fold,
    for_each,
    make_splits,
    quiet_metrics,
)
from multikernel.estimators.search.scores import (
    FoldScorer,
    FoldScores,
    cv_results,
    scored_folds,
    scoring_choice,
)
from multikernel.exceptions import ConvergenceWarning, warn_user
from multikernel.linalg.tables import CHUNK_BYTES
from multikernel.problem import Callback

LOOSER, LOOSEST = 10.0, 1e-2
"""How many times the tolerance of the model folds are solved to, up to this gap where
that is not the tolerance itself. Scores on a hundred samples differ by more than models
at gaps of a hundredth and of a thousandth do."""

TOGETHER_BYTES = 2**31
"""Folds are solved side by side, so that a path may end where their mean score has gone
down, where kernels for all of them take no more than that; else one after another."""


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

    `refit` leads from the candidate chosen to the attributes of its model on all
    samples, and `keeper` to its models on the folds; each is None where there is to be
    none.
    """

    folds: list[FoldScores]
    refit: Callable[[int], dict[str, Any]] | None
    keeper: FoldKeeper | None = None


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

    def problems(self, data: D) -> Trial[D]:
        """Return all samples, and what to choose among."""
        whole = data.whole()
        scale = self.method.problems(whole).objective_scale
        return Trial(whole, self.candidates(whole), scale)

    def solve(self, problem: Trial[D], data: D, watch: Watch) -> SearchOutcome:
        """Return the scores of all folds, and what gives the model on all samples."""
        model = self.model
        splits = make_splits(self.source.owner, model.cv, data.samples)
        size = len(problem.candidates)
        jobs = min(effective_n_jobs(model.n_jobs), len(splits))
        together = len(splits) * data.n_bytes <= TOGETHER_BYTES
        n_copies = len(splits) if together else jobs
        candidates = problem.candidates.with_tol(self.cv_tol)
        keeper = keeping_folds(model, data, splits, candidates.refit, watch, jobs)
        rounds = 2 if keeper else 1
        n_solves = size * (rounds * len(splits) + bool(model.refit))
        n_bytes = (1 + n_copies) * data.n_bytes
        work = Work(
            n_solves,
            1 if data.samples.shared else len(data.samples.targets),
            # Side by side they may end early, and all end together.
            n_folds=0 if together else len(splits),
            n_jobs=jobs,
            refit=bool(model.refit),
        )
        watch.expect(work, self.source.owner, n_bytes)
        runs: dict[int, FoldRun[D]] = {}
        folds: dict[int, FoldScores] = {}

        def begin(number: int) -> None:
            runs[number] = FoldRun(model, data, splits[number], candidates, watch)
            runs[number].begin(n_copies)

        def step(number: int, means: Array | None = None) -> None:
            runs[number].step(means)

        def end(number: int) -> None:
            # With its kernels: there may be room for one fold's alone.
            folds[number] = runs.pop(number).scores()

        def finish(number: int) -> None:
            watch.fold_begun(number)
            begin(number)
            while not runs[number].ended:
                step(number)
            end(number)
            watch.fold_ended(number)

        each = partial(for_each, len(splits), jobs, watch)
        with quiet_metrics(data.samples, splits):
            if together:
                each(begin)
                while not all(run.ended for run in runs.values()):
                    each(partial(step, means=mean_scores(list(runs.values()))))
                each(end)
            else:
                each(finish)
        refit = partial(problem.candidates.refit, problem.whole, watch)
        scores = [folds[number] for number in range(len(splits))]
        return SearchOutcome(scores, refit if model.refit else None, keeper)

    def publish(
        self, problem: Trial[D], data: D, solution: SearchOutcome
    ) -> dict[str, Any]:
        """Choose a candidate, and return its model on all samples with the scores."""
        folds, candidates = solution.folds, problem.candidates
        reached = int(max(fold.n_active.max() for fold in folds))
        results = cv_results(candidates.columns(reached), folds)
        best = best_candidate(results)
        params = results["params"][best]
        attributes: dict[str, Any] = {
            "cv_results_": results,
            "best_index_": best,
            "best_params_": params,
            "best_score_": float(results["mean_test_score"][best]),
            "n_splits_": len(folds),
        }
        if candidates.method.with_tol(self.cv_tol) is not candidates.method:
            attributes["cv_tol_"] = self.cv_tol
        gaps = [fold.gaps for fold in folds]
        if solution.refit is not None:
            attributes |= {f"{name}_": value for name, value in params.items()}
            # Strengths become what they are in the units of the targets.
            attributes |= solution.refit(best)
            if solution.keeper is not None:
                attributes["_folds"] = solution.keeper(best)
            path = attributes.get("path_")
            if path is not None:
                gaps.append(path.duality_gaps[~np.isnan(path.duality_gaps)])
        self._warn_unsolved(np.concatenate(gaps))
        alike = predicted_alike(folds, best, data.samples)
        attributes["predicted_alike_"] = alike
        grids, parameters = candidates.edges(params), self.model.get_params(deep=False)
        advice = against_one_class(parameters, data.samples, folds)
        warn_unscored(self.source.owner, folds)
        args = parameters, grids, results, best, alike, advice
        warn_choice(self.source.owner, *args)
        return attributes

    def _warn_unsolved(self, gaps: Array) -> None:
        """Say how many solves ended above the tolerance of folds, if any did."""
        unsolved = int(np.count_nonzero(~(gaps <= self.cv_tol)))
        if unsolved:
            warn_user(
                f"{unsolved} of {gaps.size} solves along the paths of "
                f"{self.source.owner} stopped above cv_tol_={self.cv_tol:g}; the "
                f"largest relative duality gap is {gaps.max():.2e}. Raise max_iter or "
                "loosen tol.",
                ConvergenceWarning,
            )


class FoldRun(Generic[D]):
    """One side of a split that is solved on, candidate by candidate, and scored.

    `model` is the search itself, and `data` what folds are cut from.
    """

    # What `begin` makes, which takes memory.
    _fold: Fold[D]
    _scorer: FoldScorer
    _solved: Generator[Solved, Array | None, None]

    def __init__(
        self,
        model: Any,
        data: D,
        split: Split,
        candidates: Candidates[Any, D],
        watch: Watch,
    ) -> None:
        self.model, self.data, self.split = model, data, split
        self.candidates, self.watch = candidates, watch
        size = len(candidates)
        self.score, self.n_active = np.full(size, np.nan), np.zeros(size)
        self.losses = np.full(size, np.nan)
        self.predicted: dict[int, Mask] = {}
        self.done = np.zeros(size, dtype=bool)
        self.chain: Sequence[int] = ()
        self.ended = watch.stopped
        self._gaps = [np.empty(0)]

    def begin(self, n_copies: int) -> None:
        """Cut the fold out of the data; `n_copies` folds are held at a time."""
        if not self.ended:
            link = find_link(self.model.loss, self.data.samples)
            self._fold = cut_fold(self.data, self.split, n_copies, link)
            self._scorer = FoldScorer(self.model, self.model.scoring, self._fold)
            self._solved = self.candidates.solve(self._fold.training, self.watch)

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
        values = self._fold.decision_values([models.model for models in batch])
        for models, f in zip(batch, values, strict=True):
            places = np.asarray(models.places, dtype=np.intp)
            self.score[places] = self._scorer(models.attributes, f)
            self.losses[places] = self._scorer.loss(f)
            self.predicted |= dict.fromkeys(models.places, self._scorer.predicted(f))
            self.n_active[places] = models.n_active
            self.done[places] = True
            self._gaps.append(models.gaps)

    def _go_on_to(self, chain: Sequence[int]) -> None:
        """Count the candidates left out of the last chain as done, if it has ended."""
        if chain != self.chain:
            left_out = np.asarray(self.chain, dtype=np.intp)
            self.watch.advance(int(np.count_nonzero(~self.done[left_out])))
            self.chain = chain

    def scores(self) -> FoldScores:
        """Return the scores of every candidate on this fold."""
        gaps = np.concatenate(self._gaps)
        return FoldScores(
            self.score,
            self.losses,
            self.predicted,
            self.n_active,
            self.done,
            gaps,
            self._scorer.lacks_class,
            self._scorer.refusal,
        )


def loosened(tol: float) -> float:
    """Return what folds are solved to, and the way to the choice, by the tolerance.

    Examples
    --------
    >>> loosened(5e-4), loosened(5e-3), loosened(0.1)
    (0.005, 0.01, 0.1)
    """
    return max(tol, min(LOOSER * tol, LOOSEST))


def mean_scores(runs: Sequence[FoldRun[Any]]) -> Array | None:
    """Return the mean scores of all folds, nan where one is missing; None at first."""
    done = np.all([run.done for run in runs], axis=0)
    if not done.any():
        return None
    scores = np.array([run.score for run in runs])
    used = scored_folds(scores, np.array([run.done for run in runs]))
    return np.where(done, np.mean(scores[used], axis=0), np.nan)


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
            Targets, as in ``fit`` of the estimator without a search.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the samples. An integer weight does what as many
            copies of the sample would do, a weight of zero what leaving it out would.
        groups : array-like of shape (n_samples,), default=None
            Labels of groups for splitters that ask for them, such as
            `sklearn.model_selection.GroupKFold`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), \
                default=None
            Known parts of the decision values, which kernels, columns and intercept
            are added to, such as log(exposure) with loss="poisson" or the decision
            values of an earlier model. Predictions take the offsets of their samples.
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
        fit_estimator(self, X, y, sample_weight, callback, groups, offset)
        return self
