"""Numbers of kernels and strengths, the simplest first, and the search among them."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.grams.shortlist import greedy_list, is_shortened
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.group_omp.method import (
    GreedyMethod,
    joint_problem,
    prefix_attributes,
    warn_interrupted,
)
from multikernel.estimators.group_omp.stages import PublishedPath, published_path
from multikernel.estimators.method import Candidates, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import BlockFunctions
from multikernel.problem import Problem, Status
from multikernel.solvers import GreedyPath

RIDGES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
"""The strengths that are tried by default."""


@dataclass(frozen=True, eq=False)
class PrefixCandidates(Candidates[GreedyMethod, Training]):
    """All pairs of a number of kernels and a strength, the simplest first.

    Fewer kernels come before more, and stronger penalties before weaker ones.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths, descending.
    most : int
        The largest number of kernels; the smallest is zero.
    open_end : bool
        Whether there are more kernels than that.
    """

    alphas: Array
    most: int
    open_end: bool

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return the number of kernels and the strength of every pair."""
        counts = np.arange((self.most if most is None else most) + 1)
        return {
            "max_kernels": np.repeat(counts, self.alphas.size),
            "alpha": np.tile(self.alphas, counts.size),
        }

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the strengths, and the numbers of kernels where there are more."""
        edges = {"alpha": self.alphas}
        if self.open_end and chosen["max_kernels"] > 0:
            edges["max_kernels"] = np.arange(self.most + 1.0)
        return edges

    def solve(
        self, training: Training, watch: Watch
    ) -> Generator[Solved, Array | None, None]:
        """Yield the models of all prefixes; a path's last stands for larger ones."""
        recipes = self._recipes(training)
        problem = joint_problem(recipes[0], training)
        listed = greedy_list(problem) if is_shortened(training) else None
        for a, path in enumerate(self._paths(recipes, problem, watch, listed)):
            if path.status is Status.STOPPED:
                continue
            published = published_path(path, training)
            for k in range(len(path) + 1):
                last = self.most if k == len(path) else k
                places = range(
                    k * len(recipes) + a, (last + 1) * len(recipes), len(recipes)
                )
                attributes = partial(prefix_attributes, path, k, recipes[a], training)
                # All kernels of a model share one expansion, which takes no memory.
                model = _expansion(published, k)
                yield Solved(places, model, k, 0, np.empty(0), attributes)

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the attributes for one pair."""
        recipes = self._recipes(training)
        n_selected, a = divmod(best, len(recipes))
        # The solver selects at least one kernel, and a choice may be none.
        solver = replace(self.method.solver, max_kernels=max(n_selected, 1))
        alone = replace(self, method=replace(self.method, solver=solver))
        problem = joint_problem(recipes[a], training)
        (path,) = alone._paths([recipes[a]], problem, watch)
        warn_interrupted(self.method.source.owner, path)
        attributes = prefix_attributes(
            path, min(n_selected, len(path)), recipes[a], training
        )
        return attributes | {"alphas_": self.alphas}

    def _recipes(self, training: Training) -> list[Recipe]:
        """Return the recipes of all strengths."""
        return [
            replace(self.method, alpha=alpha).recipe(training)
            for alpha in self.alphas.tolist()
        ]

    def _paths(
        self,
        recipes: Sequence[Recipe],
        problem: Problem,
        watch: Watch,
        listed: Indices | None = None,
    ) -> list[GreedyPath]:
        """Return the paths of some strengths, grown side by side.

        They select from all kernels, or from those that are `listed`.
        """
        strengths = np.array([recipe.penalties[0].alpha for recipe in recipes])
        if listed is None:
            return self.method.solver.paths(problem, strengths, watch)
        short = replace(problem, gram=problem.gram.take(listed))
        return [
            replace(path, problem=problem, order=listed[path.order])
            for path in self.method.solver.paths(short, strengths, watch)
        ]


def _expansion(path: PublishedPath, k: int) -> BlockFunctions:
    """Return the model with k kernels, which share its coefficients."""
    shared = np.broadcast_to(path.coefs[k], (k, *path.coefs.shape[1:]))
    effects = None if path.effects is None else path.effects[k]
    return BlockFunctions(np.sort(path.order[:k]), shared, path.intercepts[k], effects)
