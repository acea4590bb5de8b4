"""Choosing the alpha of HKL along warm-started paths, by the one search."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import check_shapes
from multikernel.estimators.fit.progress import Watch
from multikernel.estimators.fit.solve import Training, single
from multikernel.estimators.hkl.base import (
    BaseHKL,
    HullRecipe,
    hull_attributes,
    warn_unproven,
)
from multikernel.estimators.hkl.data import (
    HullFold,
    HullGrams,
    hull_expansion,
    hull_model,
)
from multikernel.estimators.search.base import (
    Candidates,
    Refit,
    SearchCV,
    Solved,
)
from multikernel.estimators.search.folds import Fold, Split, part_of
from multikernel.solvers.hkl import HullSolution, HullStatus

FIRST_ALPHA = 100.0
"""Where default paths start: that of the author's published code. The penalty is
squared, so no alpha is so large that the model is constant."""


@dataclass(frozen=True, eq=False)
class HullPath:
    """Solutions of HKL for a sequence of strengths on all training samples.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths, descending.
    names : tuple of str
        Names of the nodes that enter anywhere on the path.
    degrees : ndarray of shape (n_entered,)
        The sums of their levels.
    norms : ndarray of shape (n_outputs, n_alphas, n_entered)
        Norms of their functions.
    objectives : ndarray of shape (n_outputs, n_alphas)
        Objectives.
    duality_gaps, reduced_gaps : ndarray of shape (n_outputs, n_alphas)
        Relative duality gaps, over all nodes and over those looked at.
    """

    alphas: Array
    names: tuple[str, ...]
    degrees: Array
    norms: Array
    objectives: Array
    duality_gaps: Array
    reduced_gaps: Array

    def __post_init__(self) -> None:
        each = ("n_outputs", "n_alphas", len(self.names))
        check_shapes(
            "HullPath",
            alphas=(self.alphas, each[1:2]),
            degrees=(self.degrees, each[2:]),
            norms=(self.norms, each),
            objectives=(self.objectives, each[:2]),
            duality_gaps=(self.duality_gaps, each[:2]),
            reduced_gaps=(self.reduced_gaps, each[:2]),
        )


def hull_path(
    alphas: Array, paths: Sequence[Sequence[HullSolution]], grams: HullGrams
) -> HullPath:
    """Return the paths of all outputs as arrays.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Strengths.
    paths : sequence of sequence of HullSolution
        One path per output, with one solution per strength.
    grams : HullGrams
        What they were solved on.

    Returns
    -------
    path : HullPath
    """
    graph = grams.samples.graph
    entered = {node: None for path in paths for s in path for node in s.nodes}
    place = {node: k for k, node in enumerate(entered)}
    norms = np.zeros((len(paths), len(alphas), len(place)))
    for output, path in enumerate(paths):
        for row, solution in enumerate(path):
            for node, coef in zip(solution.nodes, solution.coefs, strict=True):
                norms[output, row, place[node]] = np.linalg.norm(coef)
    return HullPath(
        alphas,
        tuple(graph.name(node, grams.columns) for node in place),
        np.array([sum(graph.degrees(node)) for node in place], dtype=np.float64),
        norms,
        np.array([[s.objective for s in path] for path in paths]),
        np.array([[s.duality_gap for s in path] for path in paths]),
        np.array([[s.reduced_gap for s in path] for path in paths]),
    )


@dataclass(frozen=True, eq=False)
class HullCandidates:
    """Strengths, the largest first: there models are simplest.

    Parameters
    ----------
    owner : str
        The estimator.
    recipe : HullRecipe
        The method; its strength is not used.
    alphas : ndarray of shape (n_alphas,)
        Strengths, descending.
    """

    owner: str
    recipe: HullRecipe
    alphas: Array

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return the strengths."""
        return {"alpha": self.alphas}

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the grid."""
        return {"alpha": self.alphas}

    def solve(self, training: Training, watch: Watch) -> Iterator[Solved]:
        """Yield the models along the path; it ends where a callback stops it."""
        for place, found in enumerate(self._steps(training, self.alphas, watch)):
            if any(s.status is HullStatus.STOPPED for s in found):
                return
            yield self._solved(place, training, found)

    def _solved(
        self, place: int, training: Training, found: Sequence[HullSolution]
    ) -> Solved:
        assert isinstance(training.grams, HullGrams)
        expansion = hull_expansion(hull_model(training.grams, found))
        # Those of the nodes looked at say whether the solves ended; without certify
        # nobody expects the total ones to be small.
        certify = self.recipe.solver.certify
        gaps = [s.duality_gap if certify else s.reduced_gap for s in found]
        attributes = partial(hull_attributes, self.recipe, training, found)
        return Solved([place], expansion, np.array(gaps), attributes)

    def _steps(
        self, training: Training, alphas: Array, watch: Watch
    ) -> Iterator[tuple[HullSolution, ...]]:
        """Yield the solutions of all outputs, strength by strength."""
        search = self.recipe.solver
        paths = [
            search.path(problem, alphas.tolist(), watch)
            for problem in self.recipe.problems(training)
        ]
        for found in zip_longest(*paths):
            if any(solution is None for solution in found):
                return
            yield found

    def refit(self, training: Training, watch: Watch) -> Refit:
        """Solve for all strengths: the path is published whichever is chosen."""
        found: list[tuple[HullSolution, ...]] = []
        if not watch.stopped:
            found = list(self._steps(training, self.alphas, watch))
        return partial(self._chosen, training, watch, found)

    def _chosen(
        self,
        training: Training,
        watch: Watch,
        found: list[tuple[HullSolution, ...]],
        best: int,
    ) -> dict[str, Any]:
        """Return the attributes at one strength, and the path that leads there."""
        alphas = self.alphas
        if len(found) <= best:
            # Stopped before the choice: one round is made there.
            alphas = self.alphas[[best]]
            found = list(self._steps(training, alphas, watch))
        chosen = found[0 if alphas.size == 1 else best]
        assert isinstance(training.grams, HullGrams)
        paths = list(zip(*found, strict=True))
        attributes = hull_attributes(self.recipe, training, chosen)
        warn_unproven(self.owner, self.recipe.solver, chosen)
        attributes["n_iter_"] = single([sum(s.n_iter for s in path) for path in paths])
        attributes["alphas_"] = self.alphas
        attributes["hull_path_"] = hull_path(
            alphas[: len(found)], paths, training.grams
        )
        return attributes


class HullSearchCV(BaseHKL, SearchCV):
    """Adds the choice of ``alpha`` to HKL; goes first among the bases."""

    alphas: Sequence[float] | None
    n_alphas: int
    alpha_min_ratio: float

    _solve = SearchCV._solve

    def _candidates(self, recipe: Any, training: Training) -> Candidates:
        """Return the strengths to try."""
        if self.alphas is None:
            ratios = np.geomspace(1.0, self.alpha_min_ratio, self.n_alphas)
            given = FIRST_ALPHA * ratios
        else:
            given = np.asarray(self.alphas, dtype=np.float64)
        return HullCandidates(type(self).__name__, recipe, np.unique(given)[::-1])

    def _fold(self, training: Training, split: Split, jobs: int) -> Fold:
        """Return one side of a split to learn from, and the other to score on."""
        train, test = split
        part, _ = part_of(training, train, self._merges_copies)
        grams = training.grams
        assert isinstance(grams, HullGrams)
        return HullFold(part, training.samples.subset(test), grams.X[test])
