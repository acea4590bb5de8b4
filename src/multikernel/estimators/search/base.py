"""Choosing parameters by cross-validation: one search for all methods."""

import difflib
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from joblib import effective_n_jobs

from multikernel._typing import Array
from multikernel._validation import Check
from multikernel.estimators.data.copies import in_order
from multikernel.estimators.data.grams import Grams, build_raw_grams
from multikernel.estimators.data.precomputed import GramOptions
from multikernel.estimators.data.samples import Samples
from multikernel.estimators.data.warned import warn_degenerate
from multikernel.estimators.fit.base import BaseMKL
from multikernel.estimators.fit.fitted import publish
from multikernel.estimators.fit.one_vs_rest import Expansion, merge
from multikernel.estimators.fit.progress import Watch
from multikernel.estimators.fit.solve import Recipe, Training, fitted_attributes
from multikernel.estimators.search.folds import (
    Fold,
    Split,
    make_fold,
    make_splits,
    whole_of,
)
from multikernel.estimators.search.scores import (
    FoldScorer,
    FoldScores,
    best_candidate,
    cv_results,
    takes,
)
from multikernel.exceptions import ConvergenceWarning, SearchWarning
from multikernel.kernels import KernelDictionary
from multikernel.linalg.threads import run_blocks
from multikernel.problem import Callback, Solution

BATCH_BYTES = 2**26
"""Bytes of the coefficients that wait until the kernels are read for all of them."""


Refit = Callable[[int], dict[str, Any]]
"""From the candidate chosen to the fitted attributes of its model on all samples."""


@dataclass(frozen=True, eq=False)
class Solved:
    """The model of one candidate on the training samples of a fold, or of several.

    Parameters
    ----------
    places : sequence of int
        The candidates that it is the model of.
    expansion : Expansion
        Its coefficients.
    gaps : ndarray of shape (n_solves,)
        Relative duality gaps; none for a greedy method.
    attributes : callable
        Returns the fitted attributes.
    """

    places: Sequence[int]
    expansion: Expansion
    gaps: Array
    attributes: Callable[[], dict[str, Any]]


class Candidates(Protocol):
    """What a search chooses among, the simplest first."""

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return the parameters that candidates differ in, one value for each.

        Parameters
        ----------
        most : int, optional
            The largest number of kernels in any fold: a method whose candidates are
            numbers of kernels leaves out larger ones.

        Returns
        -------
        columns : dict of ndarray of shape (n_candidates,)
        """
        ...

    def solve(self, training: Training, watch: Watch) -> Iterator[Solved]:
        """Yield the models of all candidates on one fold, in any order."""
        ...

    def refit(self, training: Training, watch: Watch) -> Refit:
        """Solve on all samples what is needed whichever candidate is chosen."""
        ...

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the grids whose ends are worth a warning beside a choice."""
        ...


def solved(
    place: int, recipe: Recipe, training: Training, found: Sequence[Solution]
) -> Solved:
    """Return the model of the solutions of all outputs.

    Parameters
    ----------
    place : int
        The candidate.
    recipe : Recipe
        The method.
    training : Training
        The fold's training samples.
    found : sequence of Solution
        One per output.

    Returns
    -------
    solved : Solved
    """
    gaps = np.array([solution.duality_gap for solution in found])
    attributes = partial(fitted_attributes, recipe, training, found)
    return Solved([place], merge(found), gaps, attributes)


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
    """Chooses parameters by cross-validation; goes first among the bases.

    A subclass implements `_candidates`.
    """

    _checks: ClassVar[Mapping[str, Check]] = {"scoring": scoring_choice}

    cv: Any
    scoring: Any
    tol: float
    n_jobs: int | None
    refit: bool

    @abstractmethod
    def _candidates(self, recipe: Recipe, training: Training) -> Candidates:
        """Return what to choose among, given all samples."""

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
        publish(self, self._learn(X, y, sample_weight, callback, groups))
        return self

    def _arrange(self, samples: Samples) -> Samples:
        """Return the samples in an order of their own; folds may tell copies apart."""
        return in_order(samples) if self._merges_copies else samples

    def _build_grams(
        self,
        dictionary: KernelDictionary | None,
        samples: Samples,
        options: GramOptions,
    ) -> Grams:
        """Return the matrices that folds and the final model are cut from."""
        return build_raw_grams(dictionary, samples, options)

    def _solve(
        self, recipe: Recipe, training: Training, watch: Watch
    ) -> dict[str, Any]:
        """Score all candidates on all folds, choose one, and fit it on all samples."""
        whole = whole_of(training, self._merges_copies)
        warn_degenerate(type(self).__name__, whole.grams)
        candidates = self._candidates(recipe, whole)
        folds, refits = self._run(candidates, training, whole, watch)
        reached = int(max(fold.n_active.max() for fold in folds))
        columns = candidates.columns(reached)
        results = cv_results(columns, folds)
        best = best_candidate(results)
        attributes: dict[str, Any] = {
            "cv_results_": results,
            "best_index_": best,
            "best_params_": results["params"][best],
            "best_score_": float(results["mean_test_score"][best]),
            "n_splits_": len(folds),
        }
        gaps = [fold.gaps for fold in folds]
        for refit in refits:  # none, or one
            attributes |= refit(best)
            path = attributes.get("path_")
            gaps += [] if path is None else [path.duality_gaps.ravel()]
        attributes |= {
            f"{name}_": value for name, value in results["params"][best].items()
        }
        self._warn_unsolved(np.concatenate(gaps), watch)
        self._warn_choice(candidates, results, best)
        return attributes

    def _fold(self, training: Training, split: Split, jobs: int) -> Fold:
        """Return one side of a split to learn from, and the other to score on."""
        return make_fold(training, *split, self._merges_copies, jobs)

    def _run(
        self, candidates: Candidates, raw: Training, whole: Training, watch: Watch
    ) -> tuple[list[FoldScores], list[Refit]]:
        """Return the scores of all folds, and what gives the model on all samples."""
        splits = make_splits(self.cv, raw.samples)
        size = len(next(iter(candidates.columns().values())))
        n_outputs = len(raw.samples.targets)
        watch.expect(size * (len(splits) + bool(self.refit)), n_outputs)
        jobs = min(effective_n_jobs(self.n_jobs), len(splits))
        scores: dict[int, FoldScores] = {}
        refits: list[Refit] = []

        def score(fold: int) -> None:
            scores[fold] = self._score_fold(candidates, raw, splits[fold], watch, jobs)

        def refit() -> None:
            refits.append(candidates.refit(whole, watch))

        tasks: list[Callable[[], None]] = [
            partial(score, fold) for fold in range(len(splits))
        ]
        last: list[Callable[[], None]] = [refit] if self.refit else []
        if jobs > 1:
            # They share the cores; each gets one for BLAS. An interrupt stops them all.
            # What takes longest comes first, so that nothing is left to run alone.
            run_blocks(lambda task: task(), [*last, *tasks], jobs, watch.stop)
        else:
            for task in [*tasks, *last]:
                task()
        return [scores[fold] for fold in range(len(splits))], refits

    def _score_fold(
        self,
        candidates: Candidates,
        training: Training,
        split: Split,
        watch: Watch,
        jobs: int,
    ) -> FoldScores:
        """Solve for all candidates on one side of a split, and score on the other."""
        size = len(next(iter(candidates.columns().values())))
        scores, n_active = np.full(size, np.nan), np.zeros(size)
        done, gaps = np.zeros(size, dtype=bool), [np.empty(0)]
        if not watch.stopped:
            fold = self._fold(training, split, jobs)
            score = FoldScorer(self, self.scoring, fold)
            solved = _counted(candidates.solve(fold.training, watch), watch)
            for batch in _batches(solved):
                values = fold.decision_values([model.expansion for model in batch])
                for model, f in zip(batch, values, strict=True):
                    places = np.asarray(model.places, dtype=np.intp)
                    scores[places] = score(model.attributes, f)
                    n_active[places] = model.expansion.active.size
                    done[places] = True
                    gaps.append(model.gaps)
        return FoldScores(scores, n_active, done, np.concatenate(gaps))

    def _warn_unsolved(self, gaps: Array, watch: Watch) -> None:
        """Say how many solves of the folds ended above the tolerance, if any did."""
        unsolved = int(np.count_nonzero(~(gaps <= self.tol)))
        if unsolved:
            warnings.warn(
                f"{unsolved} of {gaps.size} solves along the paths of "
                f"{type(self).__name__} stopped above tol={self.tol:g}; the largest "
                f"relative duality gap is {gaps.max():.2e}. Raise max_iter or loosen "
                "tol.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _warn_choice(
        self, candidates: Candidates, results: Mapping[str, Any], best: int
    ) -> None:
        """Say so where the choice has no kernel, or lies at an end of its grid."""
        owner, chosen = type(self).__name__, results["params"][best]
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
                    f"{owner} chose {name}={chosen[name]:.3g}, the {end} of those "
                    f"tried: a wider grid may hold a better one.",
                    SearchWarning,
                    stacklevel=5,
                )


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
        coefs = model.expansion.coefs
        # A greedy model's kernels share one expansion, which takes no memory.
        held += coefs.nbytes if all(coefs.strides) else 0
        batch.append(model)
        if held > BATCH_BYTES:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _said(params: Mapping[str, Any]) -> str:
    """Return parameters as a message writes them."""
    return ", ".join(f"{name}={value:.3g}" for name, value in params.items())


def _end(results: Mapping[str, Any], best: int, name: str, grid: Array) -> str | None:
    """Return which end of a grid the choice is at, if it beats its neighbor inside."""
    value = results["params"][best][name]
    if grid.size < 3 or value not in (grid[0], grid[-1]):
        return None
    inner = grid[1] if value == grid[0] else grid[-2]
    column = results[f"param_{name}"]
    alike = column == inner
    for other, wanted in results["params"][best].items():
        if other != name:
            alike &= results[f"param_{other}"] == wanted
    mean = results["mean_test_score"]
    if alike.any() and not mean[best] > np.nanmax(mean[alike]):
        return None
    return "smallest" if value == grid.min() else "largest"
