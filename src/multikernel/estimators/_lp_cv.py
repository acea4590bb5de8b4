"""Choosing C and p together: a grid of warm-started solves on every fold."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import POSITIVE, Check
from multikernel.estimators._base import Recipe, single
from multikernel.estimators._copies import MergesInFolds, made_one
from multikernel.estimators._fold_cv import FOLD_CHECKS, FoldCV
from multikernel.estimators._folds import make_fold
from multikernel.estimators._grams import Grams
from multikernel.estimators._lp_base import LpMKL
from multikernel.estimators._lp_solvers import exponent
from multikernel.estimators._one_vs_rest import merge
from multikernel.estimators._path import RegularizationPath, path_arrays
from multikernel.estimators._samples import Samples
from multikernel.estimators._scores import FoldScores, cv_results
from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import Solver

DEFAULT_CS = (1 / 32, 1 / 8, 1 / 2, 1.0, 2.0, 4.0, 8.0, 32.0, 128.0)
DEFAULT_PS = (1.0, 4 / 3, 2.0, 4.0, float("inf"))


@dataclass(frozen=True)
class SequenceOf:
    """A sequence of at least one value, each of which passes a check.

    Parameters
    ----------
    check : Check
        What every value must pass.
    description : str
        What to call the sequence in a message.
    """

    check: Check
    description: str

    def __call__(self, value: object) -> str | None:
        """Return what was expected, or None."""
        if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
            given = list(value)
            if given and all(self.check(item) is None for item in given):
                return None
        return self.description


GRID_CHECKS: Mapping[str, Check] = {
    "Cs": SequenceOf(POSITIVE, "a sequence of finite numbers above 0"),
    "ps": SequenceOf(exponent, "a sequence of numbers of at least 1 (or infinity)"),
    **FOLD_CHECKS,
}


@dataclass(frozen=True, eq=False)
class Grid:
    """All pairs of C and p; in a list of them C rises slower than p.

    Parameters
    ----------
    Cs : ndarray of shape (n_Cs,)
        Ascending.
    ps : ndarray of shape (n_ps,)
        Ascending.
    """

    Cs: Array
    ps: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Return how many values of C and of p there are."""
        return self.Cs.size, self.ps.size

    def columns(self) -> dict[str, Array]:
        """Return C and p of every pair."""
        return {
            "C": np.repeat(self.Cs, self.ps.size),
            "p": np.tile(self.ps, self.Cs.size),
        }

    def solutions(
        self, problems: Sequence[Problem], solver: Solver, watch: Callback | None
    ) -> Iterator[tuple[tuple[int, int], list[Solution]]]:
        """Solve for all pairs, each from a neighbour's solution.

        The largest p comes first, along C: there every kernel has a weight. Each other
        p starts from the next larger one with the same C.

        Parameters
        ----------
        problems : sequence of Problem
            The problems of all outputs.
        solver : Solver
            The algorithm.
        watch : callable or None
            The callback.

        Yields
        ------
        place : (int, int)
            Which C and which p.
        solutions : list of Solution
            One per output.
        """
        larger: list[list[Solution]] = []
        for j in range(self.ps.size)[::-1]:
            column: list[list[Solution]] = []
            starts: list[Solution] = []
            for i, C in enumerate(self.Cs):
                if larger:
                    starts = larger[i]
                penalty = SquaredBlockNorm(1.0 / float(C), float(self.ps[j]))
                solved = [
                    completed(
                        replace(problem, regularizer=penalty),
                        solver,
                        starts[k] if starts else None,
                        watch,
                    )
                    for k, problem in enumerate(problems)
                ]
                column.append(solved)
                starts = solved
                yield (i, j), solved
            larger = column


def completed(
    problem: Problem, solver: Solver, init: Solution | None, watch: Callback | None
) -> Solution:
    """Return the solution of one problem of a grid.

    Raises
    ------
    RuntimeError
        If the callback stopped it: there is nothing to choose from.
    """
    solution = solver.solve(problem, init, watch)
    if solution.status is Status.STOPPED:
        raise RuntimeError(
            "A callback stopped the grid before its end, so C and p cannot be chosen."
        )
    return solution


class LpCV(MergesInFolds, FoldCV, LpMKL):
    """Adds the choice of C and p to a model; goes first among the bases."""

    Cs: Any
    ps: Any

    def _exponents(self) -> Sequence[float]:
        return [float(p) for p in self.ps]

    def _grid(self) -> Grid:
        Cs, ps = (np.asarray(v, dtype=np.float64) for v in (self.Cs, self.ps))
        return Grid(np.unique(Cs), np.unique(ps))

    def _fit_samples(
        self, samples: Samples, grams: Grams, callback: Callback | None
    ) -> dict[str, Any]:
        """Score all pairs on every fold, choose, and solve for all samples."""
        recipe, grid = self._build(self._total_weight(samples)), self._grid()
        watch = self._watch(recipe, callback)
        folds = self._fold_scores(samples, grams, 1.0 / grid.Cs, watch)
        results = cv_results(grid.columns(), folds)
        best = int(np.nanargmax(results["mean_test_score"]))
        attributes: dict[str, Any] = {
            "Cs_": grid.Cs,
            "ps_": grid.ps,
            "C_": float(results["C"][best]),
            "p_": float(results["p"][best]),
            "best_score_": float(results["mean_test_score"][best]),
            "cv_results_": results,
            "n_splits_": len(folds),
        }
        gaps = [fold.gaps for fold in folds]
        if self.refit:
            distinct, grams = self._distinct(samples, grams)
            problems = self._problems(recipe, grams.stack, distinct)
            chosen = Grid(grid.Cs, np.array([attributes["p_"]]))
            found = [s for _, s in chosen.solutions(problems, recipe.solver, watch)]
            C = attributes["C_"]
            own = replace(recipe, objective_scale=C, dual_scale=C)
            at = int(np.searchsorted(grid.Cs, C))
            attributes |= self._fitted(own, distinct, grams, found[at])
            paths = list(zip(*found, strict=True))
            made = [[s.n_iter for s in path] for path in paths]
            attributes["n_iter_"] = single(np.sum(made, axis=1))
            attributes["path_"] = margin_path(grid.Cs, paths)
            gaps.append(attributes["path_"].duality_gaps)
        self._warn_unsolved(np.concatenate([g.ravel() for g in gaps]))
        return attributes

    def _score_fold(
        self,
        samples: Samples,
        grams: Grams,
        split: tuple[Indices, Indices],
        alphas: Array,
        watch: Callback | None,
    ) -> FoldScores:
        """Solve for all pairs on one fold, and score them on its other samples."""
        train, test = split
        train, inside = made_one(samples, train)
        outside = samples.subset(test)
        recipe: Recipe = self._build(self._total_weight(inside))
        fold = make_fold(grams, train, test, self._weights(inside))
        problems = self._problems(recipe, fold.stack, inside)
        score, grid = self._score(samples, outside), self._grid()
        scores, n_active = np.empty(grid.shape), np.empty(grid.shape)
        gaps = np.empty((len(problems), *grid.shape))
        for place, solutions in grid.solutions(problems, recipe.solver, watch):
            expansion = merge(solutions)
            scores[place] = score(fold.model(expansion).decision_values(fold.inputs))
            n_active[place] = expansion.active.size
            gaps[:, *place] = [s.duality_gap for s in solutions]
        flat = gaps.reshape(len(problems), -1)
        return FoldScores(scores.ravel(), n_active.ravel(), flat)


def margin_path(Cs: Array, paths: Sequence[Sequence[Solution]]) -> RegularizationPath:
    """Return the solutions for all C as a path over the strengths 1 / C.

    Parameters
    ----------
    Cs : ndarray of shape (n_Cs,)
        Ascending.
    paths : sequence of sequence of Solution
        One per output, with one solution per C.

    Returns
    -------
    path : RegularizationPath
        With objectives in the scale of C times the losses.
    """
    path = path_arrays(1.0 / Cs, paths, 1.0)
    return replace(path, objectives=path.objectives * Cs)
