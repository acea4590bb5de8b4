"""Choosing C, or C and p together: a grid of warm-started solves."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.grams.method import fitted_attributes, solved
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.lp.method import MarginMethod
from multikernel.estimators.method import Refit, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.attributes import single
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.search.path import RegularizationPath, path_arrays
from multikernel.estimators.search.search import Search
from multikernel.losses import Loss, SmoothConjugateLoss
from multikernel.problem import Solution, Status
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import follow

C_MULTIPLES = (1 / 32, 1 / 8, 1 / 2, 2.0, 8.0, 32.0, 128.0)
"""Values of C for a kernel of unit variance. ``benchmarks/defaults`` (grids), 222
searches with p > 1: an end of the grid beat its neighbor in 16, of which 11 had the
logistic loss and not yet its factor of four; of the fixed grid of Kloft et al. (2009)
in 49."""

DEFAULT_PS = (1.0, 4 / 3, 2.0, 4.0, float("inf"))


def default_margins(loss: Loss, training: Training, ps: Array) -> Array:
    """Return the values of C to try where none are given.

    What C does depends on the size of the kernel that the machine learns with, the
    combination of all: of M kernels with equal weights of p-norm one it is M^(1 - 1/p)
    times the mean kernel. The grid is for C times its variance in feature space, as an
    intercept takes what is constant, and in units of `loss_unit`.

    Parameters
    ----------
    loss : Loss
        The loss of a sample.
    training : Training
        Samples and Gram matrices.
    ps : ndarray of shape (n_ps,)
        Norms of the kernel weights.

    Returns
    -------
    Cs : ndarray of shape (n_Cs, n_ps)
        Ascending in every column.
    """
    stack, weights = training.stack, training.samples.weights
    shares = np.ones(stack.shape[1]) if weights is None else weights
    shares = shares / shares.sum()
    sizes = stack.diagonals() @ shares - stack.quadratic_forms(shares)
    size, unit = float(sizes.mean()), loss_unit(loss, training.samples, shares)
    if not (unit > 0.0 and size > 0.0):
        # Constant targets or kernels: nothing to learn, whatever C.
        unit = size = 1.0
    return np.outer(C_MULTIPLES, unit / (size * stack.shape[0] ** (1.0 - 1.0 / ps)))


def loss_unit(loss: Loss, samples: Samples, shares: Array) -> float:
    """Return the C that a loss asks for, next to that of the squared error.

    A step of Newton's method from a constant model is as long as the kernel times C
    times the curvature: one that is a quarter, as that of the logistic loss is in the
    middle of its slopes, needs four times the C. A piecewise linear loss has bounded
    slopes, and needs a C in units of the targets, which of classes are one.

    Parameters
    ----------
    loss : Loss
        The loss of a sample.
    samples : Samples
        Its targets.
    shares : ndarray of shape (n_samples,)
        Their weights, with a sum of one.

    Returns
    -------
    unit : float
    """
    y = samples.targets
    if isinstance(loss, SmoothConjugateLoss):
        lower, upper = loss.dual_bounds(y[0])
        ends = np.stack([lower, upper])
        # The middle of an unbounded interval is zero, where there is no loss.
        middle = np.where(np.isfinite(ends).all(axis=0), ends, 0.0).mean(axis=0)
        return float(loss.conjugate_hessian(y[0], middle).mean())
    if samples.classes is None:
        return float(np.sqrt(((y - (y @ shares)[:, None]) ** 2 @ shares).mean()))
    return 1.0


@dataclass(frozen=True, eq=False)
class MarginCandidates:
    """All pairs of C and p; in a list of them C rises slower than p.

    Parameters
    ----------
    method : MarginMethod
        Gives loss and solver.
    Cs : ndarray of shape (n_Cs, n_ps)
        Ascending in every column.
    ps : ndarray of shape (n_ps,)
        Ascending.
    with_p : bool
        Whether p is a parameter of the estimator.
    """

    method: MarginMethod
    Cs: Array
    ps: Array
    with_p: bool

    def columns(self, most: int | None = None) -> dict[str, Array]:
        """Return C of every pair, and p."""
        columns = {"C": self.Cs.ravel()}
        if self.with_p:
            columns["p"] = np.tile(self.ps, len(self.Cs))
        return columns

    def edges(self, chosen: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the values of C beside the choice; p has natural ends."""
        column = np.searchsorted(self.ps, chosen["p"]) if self.with_p else 0
        return {"C": self.Cs[:, column]}

    def solve(self, training: Training, watch: Watch) -> Iterator[Solved]:
        """Yield the models of all pairs, each solved from a neighbour's solution."""
        recipe = self.method.problem(training)
        for (i, j), found in self._solutions(recipe, training, watch):
            own = scaled_recipe(recipe, float(self.Cs[i, j]))
            yield solved(i * self.ps.size + j, own, training, found)

    def refit(self, training: Training, watch: Watch) -> Refit:
        """Solve nothing yet: everything depends on the choice."""
        return partial(self._chosen, training, watch)

    def _chosen(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the attributes for one pair, and the path of all C for its p."""
        recipe = self.method.problem(training)
        i, j = divmod(best, self.ps.size)
        column = replace(self, Cs=self.Cs[:, [j]], ps=self.ps[[j]])
        found: list[list[Solution]] = []
        built = None
        # Solutions before matrices were refined are of the coarser ones.
        while built is not training.grams.built:
            built = training.grams.built
            found = [each for _, each in column._solutions(recipe, training, watch)]
        Cs = self.Cs[:, j]
        if len(found) <= i:
            # Once stopped, no path leads to the choice: one iteration is made there.
            alone = replace(column, Cs=self.Cs[[i]][:, [j]])
            found, Cs, i = [alone._start(recipe, training, watch)], Cs[[i]], 0
        own = scaled_recipe(recipe, float(Cs[i]))
        attributes = fitted_attributes(own, training, found[i])
        paths = list(zip(*found, strict=True))
        made = [[solution.n_iter for solution in path] for path in paths]
        attributes["n_iter_"] = single(np.sum(made, axis=1))
        attributes["path_"] = margin_path(Cs[: len(found)], paths)
        attributes["Cs_"] = self.Cs[:, j]
        if self.with_p:
            attributes["ps_"] = self.ps
        return attributes

    def _solutions(
        self, recipe: Recipe, training: Training, watch: Watch
    ) -> Iterator[tuple[tuple[int, int], list[Solution]]]:
        """Yield which C and which p, and the solutions of all outputs.

        The largest p comes first: there every kernel has a weight. For every p the
        smallest C starts from that of the next larger p, and each other C from the
        one before it. On 155 samples and 70 kernels that takes 2 steps a solve, where
        starts from the same C and the next larger p take 5: past some C the data are
        separated, and the optimum only changes with p.
        """
        order = [(i, j) for j in range(self.ps.size)[::-1] for i in range(len(self.Cs))]
        for place, found in zip(
            order, self._followed(order, recipe, training, watch), strict=False
        ):
            if any(solution.status is Status.STOPPED for solution in found):
                return
            yield place, found

    def _start(
        self, recipe: Recipe, training: Training, watch: Watch
    ) -> list[Solution]:
        """Return the solutions for the first pair, however far they come."""
        return next(self._followed([(0, 0)], recipe, training, watch))

    def _followed(
        self,
        places: Sequence[tuple[int, int]],
        recipe: Recipe,
        training: Training,
        watch: Watch,
    ) -> Iterator[list[Solution]]:
        """Yield the solutions of all outputs for pairs in turn."""
        penalties = [
            SquaredBlockNorm(1.0 / float(self.Cs[i, j]), float(self.ps[j]))
            for i, j in places
        ]
        starts: list[Solution | None] = [None] * len(training.problems(recipe))
        done = 0
        while done < len(penalties):
            outputs = [
                follow(recipe.solver, problem, penalties[done:], start, watch)
                for problem, start in zip(
                    training.problems(recipe), starts, strict=True
                )
            ]
            for found in zip(*outputs, strict=False):
                starts = list(found)
                if training.grams.refine(found):
                    break  # and begin here again, on the finer matrices
                yield list(found)
                done += 1
            else:
                return


def scaled_recipe(recipe: Recipe, C: float) -> Recipe:
    """Return the recipe whose objective is in the scale of C times the losses."""
    return replace(recipe, objective_scale=C, dual_scale=C)


def margin_search(
    model: Any, method: MarginMethod, ps: Sequence[float], *, with_p: bool
) -> Search[Training, Recipe, list[Solution]]:
    """Return the search of an estimator among C, and among p where it has one.

    Parameters
    ----------
    model : SearchCV
        Has ``Cs``.
    method : MarginMethod
        Its method, whose C and p do not matter.
    ps : sequence of float
        All p to try.
    with_p : bool
        Whether p is a parameter of the estimator.

    Returns
    -------
    search : Search
    """
    exponents = np.unique(np.asarray(ps, dtype=np.float64))

    def candidates(whole: Training) -> MarginCandidates:
        if model.Cs is None:
            Cs = default_margins(method.loss, whole, exponents)
        else:
            given = np.unique(np.asarray(model.Cs, dtype=np.float64))
            Cs = np.repeat(given[:, None], exponents.size, axis=1)
        return MarginCandidates(method, Cs, exponents, with_p)

    return Search(model, method, candidates)


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
