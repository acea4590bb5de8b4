"""Search for alpha of HKL; each fit starts from the solution for a larger alpha."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest

import numpy as np

from multikernel._typing import Array
from multikernel._validation import check_shapes
from multikernel.estimators.hkl.data import HullData, hull_model
from multikernel.estimators.hkl.method import (
    HullMethod,
    HullTask,
    hull_attributes,
    warn_uncertified,
)
from multikernel.estimators.method import Means, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import iterations, was_stopped
from multikernel.estimators.search.choice import StrengthCandidates, has_peaked
from multikernel.estimators.search.search import loosen_tol
from multikernel.solvers.hkl import HullSolution


@dataclass(frozen=True, eq=False)
class HullPath:
    """Solutions of HKL for a sequence of strengths on all training samples."""

    alphas: Array  # descending
    # Names of the nodes that enter the hull at any of the strengths.
    names: tuple[str, ...]
    degrees: Array  # sum of the degrees of each node's factors
    norms: Array  # of the nodes' functions, (n_outputs, n_alphas, n_entered)
    objectives: Array  # (n_outputs, n_alphas), as `objective_` of the estimator
    duality_gaps: Array  # relative, over all nodes
    reduced_gaps: Array  # relative, over the visited nodes

    def __post_init__(self) -> None:
        shape = ("n_outputs", "n_alphas", len(self.names))
        check_shapes(
            "HullPath",
            alphas=(self.alphas, shape[1:2]),
            degrees=(self.degrees, shape[2:]),
            norms=(self.norms, shape),
            objectives=(self.objectives, shape[:2]),
            duality_gaps=(self.duality_gaps, shape[:2]),
            reduced_gaps=(self.reduced_gaps, shape[:2]),
        )


def make_hull_path(
    alphas: Array, paths: Sequence[Sequence[HullSolution]], data: HullData
) -> HullPath:
    """Return the paths of all outputs, with one solution per strength, as arrays."""
    graph = data.graph.graph
    nodes = {node: None for path in paths for s in path for node in s.nodes}
    row_of = {node: k for k, node in enumerate(nodes)}
    norms = np.zeros((len(paths), len(alphas), len(row_of)))
    for output, path in enumerate(paths):
        for row, solution in enumerate(path):
            for node, coef in zip(solution.nodes, solution.coefs, strict=True):
                norms[output, row, row_of[node]] = np.linalg.norm(coef)
    return HullPath(
        alphas,
        tuple(graph.name(node, data.columns) for node in row_of),
        np.array([sum(graph.degrees(node)) for node in row_of], dtype=np.float64),
        norms,
        np.array([[s.objective for s in path] for path in paths]),
        np.array([[s.duality_gap for s in path] for path in paths]),
        np.array([[s.reduced_gap for s in path] for path in paths]),
    )


@dataclass(frozen=True, eq=False)
class HullCandidates(StrengthCandidates):
    """The strengths that a search for HKL compares, from the simplest model on."""

    method: HullMethod

    def solve(self, data: HullData, watch: Watch, means: Means) -> Iterator[Solved]:
        """Yield the models for decreasing strengths, until the mean score falls."""
        tasks, certify = self.recipes(data), self.method.solver.certify
        for index, solutions in enumerate(self._steps(tasks, watch)):
            if was_stopped(solutions):
                return
            model = hull_model(data, solutions)
            gaps = np.array(
                [s.duality_gap if certify else s.reduced_gap for s in solutions]
            )
            attributes = partial(hull_attributes, tasks[index], data, solutions)
            size, chain = model.active.size, range(self.alphas.size)
            yield Solved([index], model, size, 0, gaps, attributes, chain)
            if has_peaked(means(), chain):
                return

    def _steps(
        self,
        tasks: Sequence[HullTask],
        watch: Watch,
        tols: Sequence[float] | None = None,
    ) -> Iterator[tuple[HullSolution, ...]]:
        """Yield the solutions of all outputs at each strength, until a path ends."""
        # tasks[k].problems has one problem per output at strength k. A callback may end
        # one path before the others.
        paths = [
            self.method.solver.path(
                problems[0], [problem.alpha for problem in problems], watch, tols
            )
            for problems in zip(*(task.problems for task in tasks), strict=True)
        ]
        for solutions in zip_longest(*paths):
            if any(solution is None for solution in solutions):
                return
            yield solutions

    def refit(self, data: HullData, watch: Watch, best: int) -> dict[str, object]:
        """Return the fitted attributes of candidate `best`, with the path to it."""
        tasks, tol = self.recipes(data), self.method.solver.tol
        tasks, alphas = tasks[: best + 1], self.alphas[: best + 1]
        task, path = tasks[-1], list[tuple[HullSolution, ...]]()
        if not watch.stopped:
            # Only the last fit needs the estimator's tol; others use the tol of folds.
            path = list(self._steps(tasks, watch, [*[loosen_tol(tol)] * best, tol]))
        if len(path) <= best:
            # A callback stopped the search, but a fitted model is still required: make
            # one round at the chosen strength.
            alphas = alphas[-1:]
            path = list(self._steps([task], watch))
        final = path[-1]
        paths = list(zip(*path, strict=True))
        attributes = hull_attributes(task, data, final)
        warn_uncertified(self.method.source.owner, self.method.solver, final)
        attributes["n_iter_"] = iterations(paths)
        attributes["alphas_"] = self.alphas
        attributes["hull_path_"] = make_hull_path(alphas, paths, data)
        return attributes
