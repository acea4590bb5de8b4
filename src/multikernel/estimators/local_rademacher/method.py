"""Local Rademacher complexity: lp-norm weights, bounded by what the spectra leave."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from multikernel._typing import Array, Indices
from multikernel._validation import COUNT, Check, Number, OneOf
from multikernel.estimators.grams.method import (
    fitted_attributes,
    solve_outputs,
    solved,
    warn_unfinished,
)
from multikernel.estimators.grams.training import Recipe, Training
from multikernel.estimators.grams.useless import warn_short
from multikernel.estimators.lp.candidates import (
    default_margins,
    margin_path,
    scaled_recipe,
)
from multikernel.estimators.lp.method import LP_CHECKS, MarginMethod, lp_method
from multikernel.estimators.method import Refit, Solved
from multikernel.estimators.parameters import SequenceOf
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.attributes import single
from multikernel.estimators.search.search import Search
from multikernel.gram.normalization import check_steps
from multikernel.gram.spectra import TailSums, tail_sums
from multikernel.problem import Solution, Status
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import DCSolution, Solver, TailConv, TailDC, follow

THETA: Check = Number(0, integer=True)

TAIL_CHECKS: Mapping[str, Check] = {
    **LP_CHECKS,
    "method": OneOf(("conv", "dc")),
    "n_starts": COUNT,
    "theta": THETA,
    "thetas": SequenceOf(THETA, "a sequence of whole numbers of at least 0"),
}


@dataclass(frozen=True, eq=False)
class TailRecipe(Recipe):
    """A recipe whose solver knows the tails of the kernels' spectra.

    Parameters
    ----------
    loss, regularizer, solver, objective_scale, dual_scale
        As in `Recipe`.
    sums : TailSums
        What the spectra leave.
    """

    sums: TailSums = field(kw_only=True)


@dataclass(frozen=True, eq=False)
class TailMethod(MarginMethod):
    """A method whose kernel weights are bounded by what the spectra leave.

    Parameters
    ----------
    source, loss, C, p
        As in `MarginMethod`.
    solver : TailConv or TailDC
        The algorithm; tails are yet to be computed.
    theta : int
        How many leading eigenvalues are free.
    """

    theta: int

    def problem(self, data: Training) -> TailRecipe:
        """Compute the tails, and return the recipe with them."""
        sums = tail_sums(data.stack, self.theta, data.samples.weights)
        warn_short(self.source.owner, data.grams, sums.short, self.theta)
        return self.with_tails(sums, self.theta)

    def with_tails(self, sums: TailSums, theta: int) -> TailRecipe:
        """Return the recipe with another theta.

        Parameters
        ----------
        sums : TailSums
            Of the stack that it is for, up to theta at least.
        theta : int
            How many leading eigenvalues are free.

        Returns
        -------
        recipe : TailRecipe
        """
        solver = self.solver
        assert isinstance(solver, TailConv | TailDC)
        known = replace(solver, theta=theta, tails=sums.bounded(theta))
        own = replace(self, solver=known).recipe()
        return TailRecipe(
            own.loss,
            own.regularizer,
            known,
            own.objective_scale,
            own.dual_scale,
            sums=sums,
        )

    def solve(self, problem: Recipe, data: Training, watch: Watch) -> list[Solution]:
        """Return the solutions; "dc" has random starts, and no others."""
        solutions = solve_outputs(problem, replace(data, starts=()), watch)
        warn_unfinished(self.source.owner, data, certified(solutions))
        return solutions

    def publish(
        self, problem: Recipe, data: Training, solution: list[Solution]
    ) -> dict[str, Any]:
        """Return the fitted attributes, and what the method says of its solutions."""
        assert isinstance(problem, TailRecipe)
        return (
            super().publish(problem, data, solution)
            | method_attributes(problem, solution)
            | {"tail_sums_": problem.sums.tails}
        )


def tail_method(model: Any, theta: int, C: float = 1.0) -> TailMethod:
    """Return the method of an estimator.

    Parameters
    ----------
    model : BaseMKL
        The estimator.
    theta : int
        How many leading eigenvalues are free; that of a search is set by its
        candidates.
    C : float, default=1.0
        In front of the losses; that of a search is set by its candidates.

    Returns
    -------
    method : TailMethod

    Raises
    ------
    ValueError
        If the solver does not fit p, or p the method.
    """
    inner = lp_method(model, [model.p], C)
    if model.method == "dc" and np.isinf(model.p):
        raise ValueError(
            f"{type(model).__name__}: method='dc' needs a finite p, got p=inf."
        )
    # Kernels end at a trace of n: weights are comparable there.
    steps = (*check_steps(model.normalize), "trace")
    source = replace(
        inner.source, options=replace(inner.source.options, normalize=steps)
    )
    solver: Solver = TailConv(inner.solver, int(theta))
    if model.method == "dc":
        # An integer as it is: None stands for the same random starts in every fit.
        given = 0 if model.random_state is None else model.random_state
        solver = TailDC(
            inner.solver,
            int(theta),
            tol=float(model.tol),
            n_starts=int(model.n_starts),
            seed=int(check_random_state(given).randint(2**31 - 1)),
        )
    return TailMethod(source, inner.loss, inner.C, inner.p, solver, int(theta))


def method_attributes(recipe: Recipe, solutions: Sequence[Solution]) -> dict[str, Any]:
    """Return what "dc" has to say of its solutions, and "conv" need not.

    Parameters
    ----------
    recipe : Recipe
        Gives the scale of objectives.
    solutions : sequence of Solution
        One per output.

    Returns
    -------
    attributes : dict
    """
    found = [each for each in solutions if isinstance(each, DCSolution)]
    if not found:
        return {}
    scale = recipe.objective_scale
    return {
        "subproblem_gap_": single([each.subproblem_gap for each in found]),
        "start_objectives_": single([scale * each.start_objectives for each in found]),
    }


def certified(solutions: Sequence[Solution]) -> list[Solution]:
    """Return solutions with the gap of the last convex problem in place of none.

    Parameters
    ----------
    solutions : sequence of Solution
        One per output; those of `TailDC` have no gap of their own.

    Returns
    -------
    solutions : list of Solution
    """
    return [
        replace(solution, duality_gap=solution.subproblem_gap)
        if isinstance(solution, DCSolution)
        else solution
        for solution in solutions
    ]


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
