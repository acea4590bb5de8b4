"""Choosing the number of kernels and alpha together, from greedy paths."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.fit.one_vs_rest import Expansion
from multikernel.estimators.fit.progress import Watch
from multikernel.estimators.fit.solve import Recipe, Training
from multikernel.estimators.fit.stages import make_stages
from multikernel.estimators.greedy.base import (
    GreedyMethod,
    joint_problem,
    warn_interrupted,
)
from multikernel.estimators.method import Refit, Solved
from multikernel.estimators.search.base import Search
from multikernel.problem import Status
from multikernel.solvers import GreedyPath


@dataclass(frozen=True, eq=False)
class PrefixCandidates:
    """All pairs of a number of kernels and a strength, the simplest first.

    Fewer kernels come before more, and stronger penalties before weaker ones.

    Parameters
    ----------
    method : GreedyMethod
        The method for alpha one.
    alphas : ndarray of shape (n_alphas,)
        Strengths, descending.
    most : int
        The largest number of kernels; the smallest is zero.
    open_end : bool
        Whether there are more kernels than that.
    """

    method: GreedyMethod
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
        edges: dict[str, Array] = {"alpha": self.alphas}
        if self.open_end and chosen["max_kernels"] > 0:
            edges["max_kernels"] = np.arange(self.most + 1.0)
        return edges

    def solve(self, training: Training, watch: Watch) -> Iterator[Solved]:
        """Yield the models of all prefixes; a path's last stands for larger ones."""
        recipe = self.method.problem(training)
        for a, path in enumerate(self._paths(recipe, training, self.alphas, watch)):
            if path.status is Status.STOPPED:
                continue
            for k in range(len(path) + 1):
                last = self.most if k == len(path) else k
                places = range(
                    k * self.alphas.size + a,
                    (last + 1) * self.alphas.size,
                    self.alphas.size,
                )
                attributes = partial(_attributes, path, k, recipe, training)
                # All kernels of a model share one expansion, which takes no memory.
                yield Solved(places, _expansion(path, k), k, 0, np.empty(0), attributes)

    def refit(self, training: Training, watch: Watch) -> Refit:
        """Solve nothing yet: everything depends on the choice."""
        return partial(self._chosen, training, watch)

    def _chosen(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the attributes for one pair."""
        recipe = self.method.problem(training)
        chosen, a = divmod(best, self.alphas.size)
        # The solver selects at least one kernel, and a choice may be none.
        solver = replace(self.method.solver, max_kernels=max(chosen, 1))
        alone = replace(self, method=replace(self.method, solver=solver))
        (path,) = alone._paths(recipe, training, self.alphas[[a]], watch)
        warn_interrupted(self.method.source.owner, path)
        attributes = _attributes(path, min(chosen, len(path)), recipe, training)
        return attributes | {"alphas_": self.alphas}

    def _paths(
        self, recipe: Recipe, training: Training, alphas: Array, watch: Watch
    ) -> list[GreedyPath]:
        """Return the paths of some strengths, grown side by side."""
        strengths = alphas * training.samples.total_weight
        problem = joint_problem(recipe, training)
        return self.method.solver.paths(problem, strengths, watch)


def _attributes(
    path: GreedyPath, k: int, recipe: Recipe, training: Training
) -> dict[str, Any]:
    """Return the fitted attributes of the model with k kernels."""
    stages = make_stages(path.prefix(k), training, recipe.objective_scale)
    return stages.attributes()


def _expansion(path: GreedyPath, k: int) -> Expansion:
    """Return the model with k kernels, which share its coefficients."""
    coefs = path.coefs[k].reshape(path.coefs.shape[1], -1)
    shared = np.broadcast_to(coefs, (k, *coefs.shape))
    return Expansion(np.sort(path.order[:k]), shared, path.intercepts[k])


def prefix_search(
    model: Any, method: GreedyMethod
) -> Search[Training, Recipe, GreedyPath]:
    """Return the search of an estimator among sparsities and strengths.

    Parameters
    ----------
    model : SearchCV
        Has ``alphas`` and ``max_kernels``.
    method : GreedyMethod
        Its method, with an alpha of one.

    Returns
    -------
    search : Search
    """

    def candidates(whole: Training) -> PrefixCandidates:
        alphas = np.unique(np.asarray(model.alphas, dtype=np.float64))[::-1]
        n_kernels = whole.stack.shape[0]
        most = n_kernels if model.max_kernels is None else model.max_kernels
        return PrefixCandidates(
            method, alphas, most=min(most, n_kernels), open_end=most < n_kernels
        )

    return Search(model, method, candidates)
