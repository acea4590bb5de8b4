"""Choosing alpha along warm-started paths."""

from collections.abc import Callable, Iterator, Mapping, Sequence
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
)
from multikernel.estimators.search.base import (
    Candidates,
    Refit,
    SearchCV,
    Solved,
    solved,
)
from multikernel.estimators.search.path import path_arrays, strength_grid
from multikernel.problem import Solution, Status


@dataclass(frozen=True, eq=False)
class AlphaCandidates:
    """Strengths, the largest first: there models are simplest.

    Parameters
    ----------
    build : callable
        From the total weight of the samples to the recipe for alpha one.
    alphas : ndarray of shape (n_alphas,)
        In the scale of the estimator, descending.
    open_ends : bool
        Whether the grid could go on at both ends, as one that the user gave;
        otherwise it starts where no kernel enters.
    """

    build: Callable[[float], Recipe]
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
        recipe = self.build(training.samples.total_weight)
        paths = self._paths(recipe, training, self.alphas, watch)
        for place, found in enumerate(zip(*paths, strict=False)):
            if all(solution.status is not Status.STOPPED for solution in found):
                yield solved(place, recipe, training, found)

    def refit(self, training: Training, watch: Watch) -> Refit:
        """Solve for all strengths: the path is published whichever is chosen."""
        recipe = self.build(training.samples.total_weight)
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


class AlphaSearchCV(SearchCV):
    """Adds the choice of ``alpha`` to a model; goes first among the bases."""

    alphas: Sequence[float] | None
    n_alphas: int
    alpha_min_ratio: float

    def _candidates(self, recipe: Recipe, training: Training) -> Candidates:
        """Return the strengths to try."""
        if self.alphas is not None:
            alphas = np.unique(np.asarray(self.alphas, dtype=np.float64))[::-1]
            return AlphaCandidates(self._build, alphas, open_ends=True)
        problems = training.problems(recipe)
        grid = strength_grid(problems, self.n_alphas, self.alpha_min_ratio)
        alphas = np.asarray(grid / training.samples.total_weight)
        return AlphaCandidates(self._build, alphas, open_ends=False)
