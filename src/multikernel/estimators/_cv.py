"""Choosing alpha by cross-validation along warm-started paths."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import COUNT, POSITIVE, Check, Number
from multikernel.estimators._base import Recipe, single
from multikernel.estimators._copies import MergesInFolds, made_one
from multikernel.estimators._fold_cv import FOLD_CHECKS, FoldCV
from multikernel.estimators._folds import make_fold
from multikernel.estimators._grams import Grams
from multikernel.estimators._one_vs_rest import merge
from multikernel.estimators._path import path_arrays, strength_grid
from multikernel.estimators._samples import Samples
from multikernel.estimators._scores import FoldScores, cv_results
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


CV_CHECKS: Mapping[str, Check] = {
    "alphas": strengths,
    "n_alphas": COUNT,
    "alpha_min_ratio": Number(0.0, 1.0, above=True),
    **FOLD_CHECKS,
}


class PathCV(MergesInFolds, FoldCV):
    """Adds the choice of ``alpha`` to a model; goes first among the bases."""

    alphas: Any
    n_alphas: int
    alpha_min_ratio: float

    def _fit_samples(
        self, samples: Samples, grams: Grams, callback: Callback | None
    ) -> dict[str, Any]:
        """Score the path of every fold, choose, and solve the path of all samples."""
        total = self._total_weight(samples)
        recipe = self._build(total)
        distinct, whole = self._distinct(samples, grams)
        problems = self._problems(recipe, whole.stack, distinct)
        alphas = self._grid(problems, total)
        watch = self._watch(recipe, callback)
        folds = self._fold_scores(samples, grams, alphas, watch)
        results = cv_results({"alpha": alphas}, folds)
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
            attributes |= self._fitted(recipe, distinct, whole, chosen)
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
        train, inside = made_one(samples, train)
        outside = samples.subset(test)
        total = self._total_weight(inside)
        recipe = self._build(total)
        fold = make_fold(grams, train, test, self._weights(inside))
        problems = self._problems(recipe, fold.stack, inside)
        paths = [complete_path(recipe, p, alphas * total, watch) for p in problems]
        score = self._score(samples, outside)
        scores, n_active = [], []
        for solutions in zip(*paths, strict=True):
            expansion = merge(solutions)
            scores.append(score(fold.model(expansion).decision_values(fold.inputs)))
            n_active.append(expansion.active.size)
        gaps = np.array([[s.duality_gap for s in path] for path in paths])
        return FoldScores(np.array(scores), np.array(n_active, dtype=float), gaps)


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
