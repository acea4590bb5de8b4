"""Sparse learning: a mean loss with a sum of block norms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import UNIT_INTERVAL, Check
from multikernel.estimators.grams.method import (
    GramMethod,
    fitted_attributes,
    solve_strengths,
    solved,
)
from multikernel.estimators.grams.source import gram_source
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.method import Refit, Solved
from multikernel.estimators.parameters import loss_of
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.attributes import single
from multikernel.estimators.search.path import path_arrays, strength_grid
from multikernel.estimators.search.search import Search
from multikernel.problem import Solution, Status
from multikernel.regularizers import BlockElasticNet, BlockL1, BlockRegularizer
from multikernel.solvers import SpicyMKL

SPARSE_CHECKS: Mapping[str, Check] = {"l1_ratio": UNIT_INTERVAL}


@dataclass(frozen=True, eq=False)
class SparseMethod(GramMethod):
    """A mean loss with a sum of block norms, and of their squares.

    Parameters
    ----------
    source, loss
        As in `GramMethod`.
    alpha, l1_ratio, tol, max_iter
        As in `SpicyMKLClassifier`.
    """

    alpha: float
    l1_ratio: float
    tol: float
    max_iter: int

    def problem(self, data: Training) -> Recipe:
        """Return the recipe; the mean loss of an alpha is the sum of total times it."""
        total = data.samples.total_weight
        penalty: BlockRegularizer = BlockL1(self.alpha * total)
        if self.l1_ratio != 1.0:
            penalty = BlockElasticNet(self.alpha * total, self.l1_ratio)
        solver = SpicyMKL(tol=self.tol, max_iter=self.max_iter)
        return Recipe(self.loss, penalty, solver, 1.0 / total)


def sparse_method(model: Any, alpha: float = 1.0, **source: Any) -> SparseMethod:
    """Return the method of an estimator, at a strength of one for a search."""
    return SparseMethod(
        gram_source(model, **source),
        loss_of(model),
        float(alpha),
        float(model.l1_ratio),
        float(model.tol),
        model.max_iter,
    )


def alpha_search(
    model: Any, method: GramMethod
) -> Search[Training, Recipe, list[Solution]]:
    """Return the search of an estimator among strengths.

    Parameters
    ----------
    model : SearchCV
        Has ``alphas``, or else ``n_alphas`` and ``alpha_min_ratio``.
    method : GramMethod
        Its method, with an alpha of one.

    Returns
    -------
    search : Search
    """

    def candidates(whole: Training) -> AlphaCandidates:
        if model.alphas is not None:
            alphas = np.unique(np.asarray(model.alphas, dtype=np.float64))[::-1]
            return AlphaCandidates(method, alphas, open_ends=True)
        problems = whole.problems(method.problem(whole))
        grid = strength_grid(problems, model.n_alphas, model.alpha_min_ratio)
        alphas = np.asarray(grid / whole.samples.total_weight)
        return AlphaCandidates(method, alphas, open_ends=False)

    return Search(model, method, candidates)


@dataclass(frozen=True, eq=False)
class AlphaCandidates:
    """Strengths, the largest first: there models are simplest.

    Parameters
    ----------
    method : GramMethod
        The method for alpha one.
    alphas : ndarray of shape (n_alphas,)
        In the scale of the estimator, descending.
    open_ends : bool
        Whether the grid could go on at both ends, as one that the user gave;
        otherwise it starts where no kernel enters.
    """

    method: GramMethod
    alphas: Array
    open_ends: bool

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return the strengths."""
        return {"alpha": self.alphas}

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the grid; none where the choice is at its closed end."""
        closed = not self.open_ends and chosen["alpha"] == self.alphas[0]
        return {} if closed else {"alpha": self.alphas}

    def solve(self, training: Training, watch: Watch) -> Iterator[Solved]:
        """Yield the models along the path; it ends where a callback stops it."""
        recipe = self.method.problem(training)
        paths = self._paths(recipe, training, self.alphas, watch)
        for place, found in enumerate(zip(*paths, strict=False)):
            if all(solution.status is not Status.STOPPED for solution in found):
                yield solved(place, recipe, training, found)

    def refit(self, training: Training, watch: Watch) -> Refit:
        """Solve for all strengths: the path is published whichever is chosen."""
        recipe = self.method.problem(training)
        paths: list[list[Solution]] = [[]]
        if not watch.stopped:
            paths = self._paths(recipe, training, self.alphas, watch)
        return partial(self._chosen, recipe, training, watch, paths)

    def _chosen(
        self,
        recipe: Recipe,
        training: Training,
        watch: Watch,
        paths: list[list[Solution]],
        best: int,
    ) -> dict[str, Any]:
        """Return the attributes at one strength, and the path that leads there."""
        alphas = self.alphas
        if min(map(len, paths)) <= best:
            # Stopped before the choice: one iteration is made there.
            alphas = self.alphas[[best]]
            paths = self._paths(recipe, training, alphas, watch)
        size = min(map(len, paths))
        paths = [path[:size] for path in paths]
        place = 0 if alphas.size == 1 else best
        found = [path[place] for path in paths]
        attributes = fitted_attributes(recipe, training, found)
        made = [[solution.n_iter for solution in path] for path in paths]
        attributes["n_iter_"] = single(np.sum(made, axis=1))
        attributes["alphas_"] = self.alphas
        attributes["path_"] = path_arrays(alphas[:size], paths, recipe.objective_scale)
        return attributes

    def _paths(
        self, recipe: Recipe, training: Training, alphas: Array, watch: Watch
    ) -> list[list[Solution]]:
        """Return the paths of all outputs."""
        strengths = alphas * training.samples.total_weight
        return solve_strengths(recipe, training, strengths, watch)
