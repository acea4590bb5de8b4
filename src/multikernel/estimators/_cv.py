"""Choosing alpha by cross-validation along warm-started paths."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from threadpoolctl import threadpool_limits

from multikernel._typing import Array, Indices
from multikernel._validation import (
    COUNT,
    FLAG,
    NOTHING,
    POSITIVE,
    AnyOf,
    Check,
    Number,
)
from multikernel.estimators._base import BaseMKL, Recipe, Samples, single
from multikernel.estimators._folds import make_fold
from multikernel.estimators._grams import Grams
from multikernel.estimators._one_vs_rest import merge
from multikernel.estimators._path import path_arrays, strength_grid
from multikernel.estimators._predict import AdditiveModel
from multikernel.estimators._scores import FoldScores, cv_results, make_score
from multikernel.exceptions import ConvergenceWarning
from multikernel.problem import Callback, Problem, Solution
from multikernel.solvers.path import solve_path


def strengths(value: Any) -> str | None:
    """Check an ``alphas`` parameter: None, or positive numbers."""
    if value is None:
        return None
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        given = list(value)
        if given and all(POSITIVE(alpha) is None for alpha in given):
            return None
    return "None, or a sequence of finite numbers above 0"


def scoring_choice(value: Any) -> str | None:
    """Check a ``scoring`` parameter: one score, by name or as a function."""
    if value is None or isinstance(value, str) or callable(value):
        return None
    return "None, the name of a score, or a callable"


CV_CHECKS: Mapping[str, Check] = {
    "alphas": strengths,
    "n_alphas": COUNT,
    "alpha_min_ratio": Number(0.0, 1.0, above=True),
    "scoring": scoring_choice,
    "n_jobs": AnyOf((NOTHING, Number(1, integer=True), Number(high=-1, integer=True))),
    "refit": FLAG,
}


class PathCV(BaseMKL):
    """Adds the choice of ``alpha`` to a model; goes first among the bases."""

    loss: str
    alphas: Any
    n_alphas: int
    alpha_min_ratio: float
    cv: Any
    scoring: Any
    n_jobs: int | None
    refit: bool

    def _fit_samples(
        self, samples: Samples, grams: Grams, callback: Callback | None
    ) -> dict[str, Any]:
        """Score the path of every fold, choose, and solve the path of all samples."""
        total = self._total_weight(samples)
        recipe = self._build(total)
        problems = self._problems(recipe, grams.stack, samples)
        alphas = self._grid(problems, total)
        watch = self._watch(recipe, callback)
        folds = self._fold_scores(samples, grams, alphas, watch)
        results = cv_results(alphas, folds)
        best = int(np.nanargmax(results["mean_test_score"]))
        attributes: dict[str, Any] = {
            "alphas_": alphas,
            "alpha_": float(alphas[best]),
            "best_score_": float(results["mean_test_score"][best]),
            "cv_results_": results,
            "n_splits_": len(folds),
        }
        gaps = [fold.gaps for fold in folds]
        if self.refit:
            paths = [complete_path(recipe, p, alphas * total, watch) for p in problems]
            path = path_arrays(alphas, paths, recipe.objective_scale)
            gaps.append(path.duality_gaps)
            chosen = [solutions[best] for solutions in paths]
            attributes |= self._fitted(recipe, samples, grams, chosen)
            made = [[s.n_iter for s in solutions] for solutions in paths]
            attributes["n_iter_"] = single(np.sum(made, axis=1))
            attributes["path_"] = path
        self._warn_unsolved(np.concatenate([g.ravel() for g in gaps]))
        return attributes

    def _grid(self, problems: Sequence[Problem], total: float) -> Array:
        """Return the strengths in the scale of the estimator, descending."""
        if self.alphas is not None:
            return np.unique(np.asarray(self.alphas, dtype=np.float64))[::-1]
        grid = strength_grid(problems, self.n_alphas, self.alpha_min_ratio)
        return np.asarray(grid / total)

    def _splits(self, samples: Samples) -> list[tuple[Indices, Indices]]:
        """Return the folds as positions among the samples of non-zero weight."""
        y = samples.y
        splitter = check_cv(self.cv, y, classifier=is_classifier(self))
        place = np.full(y.shape[0], -1)
        place[samples.rows] = np.arange(samples.rows.size)
        splits = []
        for number, sides in enumerate(splitter.split(np.zeros((y.shape[0], 1)), y)):
            train, test = (place[side][place[side] >= 0] for side in sides)
            if not (train.size and test.size):
                raise ValueError(f"Fold {number} of cv has an empty side.")
            self._check_fold(samples, train, number)
            splits.append((train, test))
        return splits

    def _check_fold(self, samples: Samples, train: Indices, number: int) -> None:
        """Raise if a fold's training samples lack a class."""
        if samples.classes is None:
            return
        codes = np.arange(samples.classes.size)
        missing = samples.classes[~np.isin(codes, samples.labels[train])]
        if missing.size:
            raise ValueError(
                f"The training side of fold {number} of cv holds no sample of class "
                f"{missing.tolist()[0]!r}: use fewer or stratified folds."
            )

    def _fold_scores(
        self,
        samples: Samples,
        grams: Grams,
        alphas: Array,
        watch: Callback | None,
    ) -> list[FoldScores]:
        """Return the scores of all folds, several of them at a time if asked to."""
        splits = self._splits(samples)
        jobs = min(effective_n_jobs(self.n_jobs), len(splits))
        # Folds that run at the same time share the cores; each gets one for BLAS.
        limit = threadpool_limits(1, user_api="blas") if jobs > 1 else nullcontext()
        with limit:
            scores: list[FoldScores] = Parallel(jobs, require="sharedmem")(
                delayed(self._score_fold)(samples, grams, split, alphas, watch)
                for split in splits
            )
        return scores

    def _score_fold(
        self,
        samples: Samples,
        grams: Grams,
        split: tuple[Indices, Indices],
        alphas: Array,
        watch: Callback | None,
    ) -> FoldScores:
        """Solve the path of one fold and score every solution on its other samples."""
        train, test = split
        inside, outside = samples.subset(train), samples.subset(test)
        total = self._total_weight(inside)
        recipe = self._build(total)
        fold = make_fold(grams, train, test, self._weights(inside))
        problems = self._problems(recipe, fold.stack, inside)
        paths = [complete_path(recipe, p, alphas * total, watch) for p in problems]
        y = samples.y[outside.rows]
        scorer = check_scoring(self, scoring=self.scoring)
        score = make_score(scorer, self.loss, samples.classes, y, outside.weights)
        scores, n_active = [], []
        for solutions in zip(*paths, strict=True):
            expansion = merge(solutions)
            scores.append(score(fold.model(expansion).decision_values(fold.inputs)))
            n_active.append(expansion.active.size)
        gaps = np.array([[s.duality_gap for s in path] for path in paths])
        return FoldScores(np.array(scores), np.array(n_active, dtype=float), gaps)

    def _warn_unsolved(self, gaps: Array) -> None:
        """Say how many solves of paths ended above the tolerance, if any did."""
        unsolved = int(np.count_nonzero(~(gaps <= self.tol)))
        if unsolved:
            warnings.warn(
                f"{unsolved} of {gaps.size} solves along the paths of "
                f"{type(self).__name__} stopped above tol={self.tol:g}; the largest "
                f"relative duality gap is {gaps.max():.2e}. Raise max_iter or loosen "
                "tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _fitted_model(self) -> AdditiveModel:
        if not self.refit:
            raise NotFittedError(
                f"{type(self).__name__} has refit=False: it chooses alpha_ and fits no "
                "model on all samples."
            )
        return super()._fitted_model()


def complete_path(
    recipe: Recipe, problem: Problem, alphas: Array, watch: Callback | None
) -> list[Solution]:
    """Return the solutions for all strengths.

    Parameters
    ----------
    recipe : Recipe
        Gives the solver.
    problem : Problem
        The problem.
    alphas : ndarray of shape (n_alphas,)
        Strengths in the summed scale.
    watch : callable or None
        The callback.

    Returns
    -------
    solutions : list of Solution

    Raises
    ------
    RuntimeError
        If the callback stopped the path: there is nothing to choose from.
    """
    solutions = solve_path(problem, recipe.solver, alphas, watch)
    if len(solutions) < len(alphas):
        raise RuntimeError(
            "A callback stopped the path before its end, so alpha cannot be chosen."
        )
    return solutions
