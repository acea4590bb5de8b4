"""Choosing alpha along warm-started paths."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.fit.progress import Watch
from multikernel.estimators.fit.solve import (
    Recipe,
    Training,
    fitted_attributes,
    single,
    solve_strengths,
    solved,
)
from multikernel.estimators.gram_method import GramMethod
from multikernel.estimators.method import Refit, Solved
from multikernel.estimators.search.base import Search
from multikernel.estimators.search.path import path_arrays, strength_grid
from multikernel.problem import Solution, Status


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
