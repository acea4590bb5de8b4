"""Choosing the number of kernels and alpha together, from paths on folds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import COUNT, NOTHING, POSITIVE, AnyOf, Check
from multikernel.estimators._base import Recipe
from multikernel.estimators._fold_cv import FOLD_CHECKS, FoldCV
from multikernel.estimators._folds import make_fold
from multikernel.estimators._grams import Grams
from multikernel.estimators._greedy import GreedyMKL
from multikernel.estimators._samples import Samples
from multikernel.estimators._scores import FoldScores, cv_results
from multikernel.estimators._stages import make_stages, staged_model
from multikernel.problem import Callback, Problem, Status
from multikernel.solvers import GreedyPath, GroupOMP


def strengths(value: Any) -> str | None:
    """Check an ``alphas`` parameter: positive numbers."""
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        given = list(value)
        if given and all(POSITIVE(alpha) is None for alpha in given):
            return None
    return "a sequence of finite numbers above 0"


GREEDY_CV_CHECKS: Mapping[str, Check] = {
    "alphas": strengths,
    "max_kernels": AnyOf((NOTHING, COUNT)),
    **FOLD_CHECKS,
}


@dataclass(frozen=True, eq=False)
class Candidates:
    """All pairs of a number of kernels and a strength, the simplest first.

    Fewer kernels come before more, and stronger penalties before weaker ones.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths, descending.
    most : int
        The largest number of kernels; the smallest is zero.
    """

    alphas: Array
    most: int

    @property
    def alpha(self) -> Array:
        """Return the strength of every pair."""
        return np.tile(self.alphas, self.most + 1)

    @property
    def n_kernels(self) -> Indices:
        """Return the number of kernels of every pair."""
        return np.repeat(np.arange(self.most + 1), self.alphas.size)

    def spread(self, per_path: Sequence[Array]) -> Array:
        """Return values along the paths of all strengths as values of all pairs.

        Parameters
        ----------
        per_path : sequence of ndarray of shape (n_models,)
            One per strength, with a value for no kernel, one kernel, ... A path that
            ended early stays at its last value.

        Returns
        -------
        values : ndarray of shape (n_pairs,)
        """
        rows = [
            np.pad(values, (0, self.most + 1 - len(values)), mode="edge")
            for values in per_path
        ]
        return np.stack(rows, axis=1).ravel()


class GreedyCV(FoldCV, GreedyMKL):
    """Adds the choice of sparsity and strength; goes first among the bases."""

    alphas: Any
    max_kernels: int | None

    def _fit_samples(
        self, samples: Samples, grams: Grams, callback: Callback | None
    ) -> dict[str, Any]:
        """Score all prefixes on every fold, choose, and select on all samples."""
        total = self._total_weight(samples)
        recipe = self._build(total)
        alphas = np.unique(np.asarray(self.alphas, dtype=np.float64))[::-1]
        watch = self._watch(recipe, callback)
        folds = self._fold_scores(samples, grams, alphas, watch)
        reached = int(max(fold.n_active.max() for fold in folds))
        candidates = Candidates(alphas, reached)
        n_reached = candidates.alpha.size
        results: dict[str, Any] = cv_results(
            {"alpha": candidates.alpha}, [_head(f, n_reached) for f in folds]
        )
        results["n_kernels"] = np.asarray(candidates.n_kernels)
        best = int(np.nanargmax(results["mean_test_score"]))
        chosen = int(candidates.n_kernels[best])
        attributes: dict[str, Any] = {
            "alphas_": alphas,
            "alpha_": float(candidates.alpha[best]),
            "n_kernels_": chosen,
            "best_score_": float(results["mean_test_score"][best]),
            "cv_results_": results,
            "n_splits_": len(folds),
        }
        if self.refit:
            (problem,) = self._problems(recipe, grams.stack, samples)
            # The solver selects at least one kernel, and a choice may be none.
            solver = replace(_solver(recipe), max_kernels=max(chosen, 1))
            path = _grown(solver, problem, [attributes["alpha_"] * total], watch)[0]
            path = path.prefix(min(chosen, len(path)))
            stages = make_stages(path, grams.cross, samples, recipe.objective_scale)
            attributes |= stages.attributes() | {"_names": grams.names}
        return attributes

    def _score_fold(
        self,
        samples: Samples,
        grams: Grams,
        split: tuple[Indices, Indices],
        alphas: Array,
        watch: Callback | None,
    ) -> FoldScores:
        """Grow the paths of one fold and score every model on its other samples."""
        train, test = split
        inside, outside = samples.subset(train), samples.subset(test)
        total = self._total_weight(inside)
        recipe = self._build(total)
        fold = make_fold(grams, train, test, self._weights(inside))
        (problem,) = self._problems(recipe, fold.stack, inside)
        paths = _grown(_solver(recipe), problem, alphas * total, watch)
        score = self._score(samples, outside)
        scores = []
        for path in paths:
            model, _ = staged_model(path, fold.cross)
            values = model.decision_values(fold.inputs)
            scores.append(np.array([score(f) for f in values]))
        limit = problem.gram.shape[0]
        if self.max_kernels is not None:
            limit = min(limit, self.max_kernels)
        candidates = Candidates(alphas, limit)
        n_active = candidates.spread([np.arange(len(path) + 1.0) for path in paths])
        # There are no gaps: the selection is greedy.
        return FoldScores(candidates.spread(scores), n_active, np.empty((0, 0)))


def _solver(recipe: Recipe) -> GroupOMP:
    """Return the solver of a greedy recipe."""
    assert isinstance(recipe.solver, GroupOMP)
    return recipe.solver


def _grown(
    solver: GroupOMP,
    problem: Problem,
    alphas: Sequence[float] | Array,
    watch: Callback | None,
) -> list[GreedyPath]:
    """Return the paths of all strengths, or say that a callback stopped one."""
    paths = solver.paths(problem, alphas, watch)
    if any(path.status is Status.STOPPED for path in paths):
        raise RuntimeError(
            "A callback stopped a path before its end, so the number of kernels cannot "
            "be chosen."
        )
    return paths


def _head(fold: FoldScores, n_candidates: int) -> FoldScores:
    """Return the scores of the first candidates."""
    return replace(
        fold, scores=fold.scores[:n_candidates], n_active=fold.n_active[:n_candidates]
    )
