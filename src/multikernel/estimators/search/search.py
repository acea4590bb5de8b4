"""Choosing parameters by cross-validation: a method, its candidates, and folds."""

import difflib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Generic, Self

import numpy as np
from joblib import effective_n_jobs

from multikernel._typing import Array
from multikernel._validation import Check
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.fit import fitted, publish
from multikernel.estimators.method import (
    Candidates,
    D,
    Method,
    P,
    Refit,
    S,
    Solved,
    Source,
)
from multikernel.estimators.progress import Watch
from multikernel.estimators.scale import Grid
from multikernel.estimators.search.folds import Split, make_splits
from multikernel.estimators.search.scores import (
    FoldScorer,
    FoldScores,
    best_candidate,
    cv_results,
    takes,
)
from multikernel.exceptions import ConvergenceWarning, SearchWarning
from multikernel.linalg.threads import run_blocks
from multikernel.problem import Callback

BATCH_BYTES = 2**26
"""Bytes of the coefficients that wait until the kernels are read for all of them."""


@dataclass(frozen=True, eq=False)
class Trial(Generic[D]):
    """What a search has to do, once the samples are known.

    Parameters
    ----------
    whole : Data
        All samples, as a fit has them.
    candidates : Candidates
        What is chosen among.
    objective_scale : float or ndarray of shape (n_problems,)
        What turns objectives of the method's problems into those of the estimator.
    """

    whole: D
    candidates: Candidates[D]
    objective_scale: float | Array


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a search has computed before it chooses.

    Parameters
    ----------
    folds : list of FoldScores
        The scores of all candidates.
    refit : callable or None
        Gives the model on all samples; None where there is to be none.
    """

    folds: list[FoldScores]
    refit: Refit | None


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
    candidates: Callable[[D], Candidates[D]]

    why_no_path: ClassVar[str] = (
        "chooses among strengths by itself: take the estimator without a search."
    )

    @property
    def source(self) -> Source[D]:
        """Return what prepares data that folds are cut from."""
        return self.method.source.for_parts()

    def problem(self, data: D) -> Trial[D]:
        """Return all samples, and what to choose among."""
        whole = data.whole()
        scale = self.method.problem(whole).objective_scale
        return Trial(whole, self.candidates(whole), scale)

    def solve(self, problem: Trial[D], data: D, watch: Watch) -> Outcome:
        """Return the scores of all folds, and what gives the model on all samples."""
        model = self.model
        splits = make_splits(model.cv, data.samples)
        size = len(next(iter(problem.candidates.columns().values())))
        n_outputs = len(data.samples.targets)
        watch.expect(size * (len(splits) + bool(model.refit)), n_outputs)
        jobs = min(effective_n_jobs(model.n_jobs), len(splits))
        scores: dict[int, FoldScores] = {}
        refits: list[Refit] = []

        def score(fold: int) -> None:
            scores[fold] = self._score_fold(problem, data, splits[fold], watch, jobs)

        def refit() -> None:
            refits.append(problem.candidates.refit(problem.whole, watch))

        tasks: list[Callable[[], None]] = [
            partial(score, fold) for fold in range(len(splits))
        ]
        last: list[Callable[[], None]] = [refit] if model.refit else []
        if jobs > 1:
            # They share the cores; each gets one for BLAS. An interrupt stops them all.
            # What takes longest comes first, so that nothing is left to run alone.
            run_blocks(lambda task: task(), [*last, *tasks], jobs, watch.stop)
        else:
            for task in [*tasks, *last]:
                task()
        folds = [scores[fold] for fold in range(len(splits))]
        return Outcome(folds, refits[0] if refits else None)

    def _score_fold(
        self, problem: Trial[D], data: D, split: Split, watch: Watch, jobs: int
    ) -> FoldScores:
        """Solve for all candidates on one side of a split, and score on the other."""
        candidates = problem.candidates
        size = len(next(iter(candidates.columns().values())))
        scores, n_active = np.full(size, np.nan), np.zeros(size)
        done, gaps = np.zeros(size, dtype=bool), [np.empty(0)]
        if not watch.stopped:
            fold = data.fold(*split, jobs)
            score = FoldScorer(self.model, self.model.scoring, fold)
            solved = _counted(candidates.solve(fold.training, watch), watch)
            for batch in _batches(solved):
                values = fold.decision_values([found.model for found in batch])
                for found, f in zip(batch, values, strict=True):
                    places = np.asarray(found.places, dtype=np.intp)
                    scores[places] = score(found.attributes, f)
                    n_active[places] = found.n_active
                    done[places] = True
                    gaps.append(found.gaps)
        return FoldScores(scores, n_active, done, np.concatenate(gaps))

    def publish(self, problem: Trial[D], data: D, solution: Outcome) -> dict[str, Any]:
        """Choose a candidate, and return its model on all samples with the scores."""
        folds, candidates = solution.folds, problem.candidates
        reached = int(max(fold.n_active.max() for fold in folds))
        results = cv_results(candidates.columns(reached), folds)
        best = best_candidate(results)
        attributes: dict[str, Any] = {
            "cv_results_": results,
            "best_index_": best,
            "best_params_": results["params"][best],
            "best_score_": float(results["mean_test_score"][best]),
            "n_splits_": len(folds),
        }
        gaps = [fold.gaps for fold in folds]
        attributes |= {
            f"{name}_": value for name, value in results["params"][best].items()
        }
        if solution.refit is not None:
            # A multiple of "scale" becomes the number that was used.
            attributes |= solution.refit(best)
            path = attributes.get("path_")
            gaps += [] if path is None else [path.duality_gaps.ravel()]
        self._warn_unsolved(np.concatenate(gaps))
        self._warn_choice(candidates, results, best)
        return attributes

    def _warn_unsolved(self, gaps: Array) -> None:
        """Say how many solves of the folds ended above the tolerance, if any did."""
        unsolved = int(np.count_nonzero(~(gaps <= self.model.tol)))
        if unsolved:
            warnings.warn(
                f"{unsolved} of {gaps.size} solves along the paths of "
                f"{self.source.owner} stopped above tol={self.model.tol:g}; the "
                f"largest relative duality gap is {gaps.max():.2e}. Raise max_iter or "
                "loosen tol.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _warn_choice(
        self, candidates: Candidates[D], results: Mapping[str, Any], best: int
    ) -> None:
        """Say so where the choice has no kernel, or lies at an end of its grid."""
        owner, chosen = self.source.owner, results["params"][best]
        if results["mean_n_active"][best] == 0.0:
            warnings.warn(
                f"{owner} chose {_said(chosen)}, a model without any kernel: none "
                "scored better than the constant.",
                SearchWarning,
                stacklevel=5,
            )
            return
        for name, grid in candidates.edges(chosen).items():
            end = _end(results, best, name, grid)
            if end is not None:
                warnings.warn(
                    f"{owner} chose {_said({name: chosen[name]})}, the {end} of those "
                    f"tried: a wider grid may hold a better one.",
                    SearchWarning,
                    stacklevel=5,
                )


def scoring_choice(value: Any) -> str | None:
    """Check a ``scoring`` parameter: one score, by name or as a function."""
    if value is None or (callable(value) and takes(value, 3)):
        return None
    # Imported here: it takes a fifth of the time of importing this package.
    from sklearn.metrics import get_scorer_names

    names = get_scorer_names()
    if isinstance(value, str) and value in names:
        return None
    near = difflib.get_close_matches(value, names) if isinstance(value, str) else []
    known = f" ({', '.join(map(repr, near))})" if near else ""
    return (
        "None, a callable with arguments (model, X, y), or a name of "
        f"sklearn.metrics.get_scorer_names(){known}"
    )


class SearchCV(BaseMKL):
    """Chooses parameters by cross-validation; goes first among the bases."""

    _checks: ClassVar[Mapping[str, Check]] = {"scoring": scoring_choice}

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
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
        self._check_parameters()
        attributes = fitted(self, self._method(), X, y, sample_weight, callback, groups)
        publish(self, attributes)
        return self


def _counted(models: Iterator[Solved], watch: Watch) -> Iterator[Solved]:
    """Yield models, and tell the watch of the candidates that are done."""
    for model in models:
        watch.advance(len(model.places))
        yield model


def _batches(models: Iterator[Solved]) -> Iterator[list[Solved]]:
    """Yield models in lists whose coefficients fill a limited memory."""
    batch: list[Solved] = []
    held = 0
    for model in models:
        held += model.n_bytes
        batch.append(model)
        if held > BATCH_BYTES:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _said(params: Mapping[str, Any]) -> str:
    """Return parameters as a message writes them."""
    texts = {
        name: repr(value) if isinstance(value, str) else f"{value:.3g}"
        for name, value in params.items()
    }
    return ", ".join(f"{name}={text}" for name, text in texts.items())


def _end(results: Mapping[str, Any], best: int, name: str, grid: Grid) -> str | None:
    """Return which end of a grid the choice is at, if it beats its neighbor inside."""
    value, labels = results["params"][best][name], grid.labels()
    if labels.size < 3 or value not in (labels[0], labels[-1]):
        return None
    first = value == labels[0]
    column = results[f"param_{name}"]
    alike = column == labels[1 if first else -2]
    for other, wanted in results["params"][best].items():
        if other != name:
            alike &= results[f"param_{other}"] == wanted
    mean = results["mean_test_score"]
    if alike.any() and not mean[best] > np.nanmax(mean[alike]):
        return None
    ascending = grid.values[0] < grid.values[-1]
    return "smallest" if first == ascending else "largest"
