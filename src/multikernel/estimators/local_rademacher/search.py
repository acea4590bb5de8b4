"""Choosing C and theta together, from one spectrum a kernel and fold."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.fit.progress import Watch
from multikernel.estimators.fit.solve import (
    Recipe,
    Training,
    fitted_attributes,
    single,
    solved,
)
from multikernel.estimators.local_rademacher.base import (
    TailMethod,
    certified,
    method_attributes,
)
from multikernel.estimators.method import Refit, Solved
from multikernel.estimators.search.base import Search
from multikernel.estimators.search.margins import (
    default_margins,
    margin_path,
    scaled_recipe,
)
from multikernel.gram.spectra import TailSums, tail_sums
from multikernel.problem import Solution, Status
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import follow

DEFAULT_THETAS = (0, 1, 2, 4, 8, 16)
"""Those of the paper, and none: the plain lp-norm model is always a candidate."""


@dataclass(frozen=True, eq=False)
class TailCandidates:
    """All pairs of C and theta; in a list of them C rises slower than theta.

    Parameters
    ----------
    method : TailMethod
        The method, whose C and theta do not matter.
    Cs : ndarray of shape (n_Cs,)
        Ascending.
    thetas : ndarray of shape (n_thetas,)
        Ascending.
    p : float
        Norm of the kernel weights.
    """

    method: TailMethod
    Cs: Array
    thetas: Indices
    p: float

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return C and theta of every pair."""
        return {
            "C": np.repeat(self.Cs, self.thetas.size),
            "theta": np.tile(self.thetas, self.Cs.size),
        }

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the values of C; theta may well be zero."""
        return {"C": self.Cs}

    def solve(self, training: Training, watch: Watch) -> Iterator[Solved]:
        """Yield the models of all pairs, each solved from a neighbour's solution."""
        sums = self._sums(training)
        starts = self._no_starts(training, sums)
        for j, theta in enumerate(self.thetas.tolist()):
            known = self.method.with_tails(sums, theta)
            for i, found in enumerate(self._path(known, training, watch, starts)):
                # Smallest C and next theta: near, and far from separated data.
                starts = found if i == 0 else starts
                own = scaled_recipe(known, float(self.Cs[i]))
                model = solved(i * self.thetas.size + j, own, training, found)
                gaps = [solution.duality_gap for solution in certified(found)]
                yield replace(model, gaps=np.array(gaps))
            if watch.stopped:
                return

    def refit(self, training: Training, watch: Watch) -> Refit:
        """Solve nothing yet: everything depends on the choice."""
        return partial(self._chosen, training, watch)

    def _chosen(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the attributes for one pair, and the path of all C for its theta."""
        i, j = divmod(best, self.thetas.size)
        sums, theta = self._sums(training), int(self.thetas[j])
        recipe = self.method.with_tails(sums, theta)
        starts = self._no_starts(training, sums)
        found, Cs = list(self._path(recipe, training, watch, starts)), self.Cs
        if len(found) <= i:
            # Once stopped, no path leads to the choice: one iteration is made there.
            alone = replace(self, Cs=self.Cs[[i]])
            found, Cs = [alone._first(recipe, training, watch, starts)], Cs[[i]]
            i = 0
        own = scaled_recipe(recipe, float(Cs[i]))
        attributes = fitted_attributes(own, training, found[i])
        attributes |= method_attributes(own, found[i])
        paths = list(zip(*map(certified, found), strict=True))
        made = [[solution.n_iter for solution in path] for path in paths]
        return attributes | {
            "n_iter_": single(np.sum(made, axis=1)),
            "path_": margin_path(Cs[: len(found)], paths),
            "Cs_": self.Cs,
            "thetas_": self.thetas,
            "tail_sums_": sums.tails,
        }

    def _no_starts(
        self, training: Training, sums: TailSums
    ) -> Sequence[Solution | None]:
        """Return that the problem of no output has a start."""
        recipe = self.method.with_tails(sums, int(self.thetas[0]))
        return [None] * len(training.problems(recipe))

    def _sums(self, training: Training) -> TailSums:
        """Return the tail sums of all kernels on the samples of a fold."""
        largest = int(self.thetas[-1])
        return tail_sums(training.stack, largest, training.samples.weights)

    def _first(
        self,
        recipe: Recipe,
        training: Training,
        watch: Watch,
        starts: Sequence[Solution | None],
    ) -> list[Solution]:
        """Return the solutions for the first C, however far they come."""
        return next(self._followed(recipe, training, watch, starts))

    def _path(
        self,
        recipe: Recipe,
        training: Training,
        watch: Watch,
        starts: Sequence[Solution | None],
    ) -> Iterator[list[Solution]]:
        """Yield the solutions of all outputs for every C, until one is stopped."""
        for found in self._followed(recipe, training, watch, starts):
            if any(solution.status is Status.STOPPED for solution in found):
                return
            yield found

    def _followed(
        self,
        recipe: Recipe,
        training: Training,
        watch: Watch,
        starts: Sequence[Solution | None],
    ) -> Iterator[list[Solution]]:
        """Yield the solutions of all outputs for every C in turn."""
        penalties = [SquaredBlockNorm(1.0 / float(C), self.p) for C in self.Cs]
        outputs = [
            follow(recipe.solver, problem, penalties, start, watch)
            for problem, start in zip(training.problems(recipe), starts, strict=True)
        ]
        for found in zip(*outputs, strict=False):
            yield list(found)


def tail_search(
    model: Any, method: TailMethod
) -> Search[Training, Recipe, list[Solution]]:
    """Return the search of an estimator among C and theta.

    Parameters
    ----------
    model : SearchCV
        Has ``Cs`` and ``thetas``.
    method : TailMethod
        Its method, whose C and theta do not matter.

    Returns
    -------
    search : Search
    """

    def candidates(whole: Training) -> TailCandidates:
        if model.Cs is None:
            Cs = default_margins(method.loss, whole, np.array([method.p]))[:, 0]
        else:
            Cs = np.unique(np.asarray(model.Cs, dtype=np.float64))
        thetas = np.unique(np.asarray(model.thetas, dtype=np.intp))
        return TailCandidates(method, Cs, thetas, method.p)

    return Search(model, method, candidates)
