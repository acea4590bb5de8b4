"""Choosing the number of kernels and alpha together, from greedy paths."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from multikernel._typing import Array
from multikernel._validation import Check
from multikernel.estimators.fit.one_vs_rest import Expansion
from multikernel.estimators.fit.parameters import POSITIVE_SEQUENCE
from multikernel.estimators.fit.progress import Watch
from multikernel.estimators.fit.solve import Recipe, Training
from multikernel.estimators.fit.stages import make_stages
from multikernel.estimators.greedy.base import (
    GreedyMKL,
    greedy_solver,
    joint_problem,
    warn_interrupted,
)
from multikernel.estimators.search.base import Candidates, Refit, SearchCV, Solved
from multikernel.problem import Status
from multikernel.solvers import GreedyPath


@dataclass(frozen=True, eq=False)
class PrefixCandidates:
    """All pairs of a number of kernels and a strength, the simplest first.

    Fewer kernels come before more, and stronger penalties before weaker ones.

    Parameters
    ----------
    owner : str
        The estimator.
    build : callable
        From the total weight of the samples to the recipe for alpha one.
    alphas : ndarray of shape (n_alphas,)
        Strengths, descending.
    most : int
        The largest number of kernels; the smallest is zero.
    open_end : bool
        Whether there are more kernels than that.
    """

    owner: str
    build: Callable[[float], Recipe]
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
        recipe = self.build(training.samples.total_weight)
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
                yield Solved(places, _expansion(path, k), np.empty(0), attributes)

    def refit(self, training: Training, watch: Watch) -> Refit:
        """Solve nothing yet: everything depends on the choice."""
        return partial(self._chosen, training, watch)

    def _chosen(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the attributes for one pair."""
        recipe = self.build(training.samples.total_weight)
        chosen, a = divmod(best, self.alphas.size)
        # The solver selects at least one kernel, and a choice may be none.
        solver = replace(greedy_solver(recipe), max_kernels=max(chosen, 1))
        recipe = replace(recipe, solver=solver)
        (path,) = self._paths(recipe, training, self.alphas[[a]], watch)
        warn_interrupted(self.owner, path)
        attributes = _attributes(path, min(chosen, len(path)), recipe, training)
        return attributes | {"alphas_": self.alphas}

    def _paths(
        self, recipe: Recipe, training: Training, alphas: Array, watch: Watch
    ) -> list[GreedyPath]:
        """Return the paths of some strengths, grown side by side."""
        strengths = alphas * training.samples.total_weight
        problem = joint_problem(recipe, training)
        return greedy_solver(recipe).paths(problem, strengths, watch)


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


class GreedySearchCV(SearchCV, GreedyMKL):
    """Adds the choice of sparsity and strength; goes first among the bases."""

    _checks: ClassVar[Mapping[str, Check]] = {"alphas": POSITIVE_SEQUENCE}

    alphas: Sequence[float]
    max_kernels: int | None

    def _candidates(self, recipe: Recipe, training: Training) -> Candidates:
        """Return the pairs to try."""
        alphas = np.unique(np.asarray(self.alphas, dtype=np.float64))[::-1]
        n_kernels = training.stack.shape[0]
        most = n_kernels if self.max_kernels is None else self.max_kernels
        return PrefixCandidates(
            owner=type(self).__name__,
            build=self._build,
            alphas=alphas,
            most=min(most, n_kernels),
            open_end=most < n_kernels,
        )
