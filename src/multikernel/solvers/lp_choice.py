"""Solvers for lp-norm learning by name, and the automatic choice of a solver."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, tee

from multikernel.problem import Callback, Problem, Solution, Status
from multikernel.regularizers import BlockRegularizer
from multikernel.solvers.base import PathSolver, Solver, exponent_of, follow
from multikernel.solvers.comparison import HessianMKL, SimpleMKL
from multikernel.solvers.lp import (
    SILP,
    Alternating,
    CuttingPlane,
    InterleavedNewton,
    SquaredForm,
)
from multikernel.solvers.spicy import SpicyMKL

LP_SOLVERS: dict[str, Callable[..., Solver]] = {
    "newton": InterleavedNewton,
    "squared_form": partial(SquaredForm, SpicyMKL),
    "cutting_plane": CuttingPlane,
    "alternating": Alternating,
    "silp": SILP,
    "simple": SimpleMKL,
    "hessian": HessianMKL,
}
"""Solvers for `SquaredBlockNorm`, created with keywords ``tol`` and ``max_iter``."""

SPARSE_ONLY = ("squared_form", "silp", "simple", "hessian")
"""Solvers for p = 1 only."""

PER_SAMPLE = 6
"""Kernels per sample above which p = 1 uses `SquaredForm` (benchmarks/ablation)."""


def choose_lp_solver(
    p: float, n_samples: int, n_kernels: int, n_outputs: int = 1
) -> str:
    """Return the name of the lp-norm solver that ``solver="auto"`` selects."""
    # The interleaved Newton solver needs the fewest passes for every p above 1 and
    # every loss: some 3 to 5 steps to a relative gap of 1e-4, and 8 or so for p near 1,
    # while other solvers need 6 (p = 4) to several dozen. It supports one output.
    if n_outputs > 1:
        return "squared_form" if p == 1.0 else "alternating"
    # The Newton solver stores the images K_m rho of two points, which exceed two
    # gigabytes for a million kernels on 200 samples. Other solvers store a few numbers
    # per kernel.
    is_large = 2 * 8 * n_samples * n_kernels > 2**31
    # With many more kernels than samples, `SquaredForm` needs a third of the passes of
    # the Newton solver.
    if p == 1.0 and (is_large or n_kernels > PER_SAMPLE * n_samples):
        return "squared_form"
    if not is_large:
        return "newton"
    # `Alternating` sets weights in closed form, which converges slowly for p near 1.
    return "cutting_plane" if p <= 1.1 else "alternating"


@dataclass(frozen=True)
class AutoLpSolver(PathSolver):
    """Solver that runs the solver of `choose_lp_solver` for each problem."""

    tol: float
    max_iter: int | None  # None: the default of the chosen solver

    def _choose(self, problem: Problem, penalty: BlockRegularizer) -> Solver:
        """Return the chosen solver for the problem with this penalty."""
        p, (n_kernels, n_samples, _) = exponent_of(penalty), problem.gram.shape
        n_outputs = problem.y[0].size
        name = choose_lp_solver(p, n_samples, n_kernels, n_outputs)
        solver = lp_solver(name, self.tol, self.max_iter)
        penalized = replace(problem, regularizer=penalty)
        if name == "squared_form" and solver.unsupported(penalized) is not None:
            # Unlike `SquaredForm`, `InterleavedNewton` supports every loss that has a
            # machine.
            return lp_solver("newton", self.tol, self.max_iter)
        return solver

    def unsupported(self, problem: Problem) -> str | None:
        """Return why the chosen solver cannot solve the problem, or None if it can."""
        return self._choose(problem, problem.regularizer).unsupported(problem)

    def follow(
        self,
        problem: Problem,
        regularizers: Iterable[BlockRegularizer],
        init: Solution | None = None,
        callback: Callback | None = None,
    ) -> Iterator[Solution]:
        """Yield the solution for each penalty; see `PathSolver.follow`."""
        solver_for = partial(self._choose, problem)
        for solver, group in groupby(regularizers, solver_for):
            penalties, path_penalties = tee(group)
            path = follow(solver, problem, path_penalties, init, callback)
            pairs = zip(penalties, path, strict=False)
            for k, (penalty, solution) in enumerate(pairs):
                step = replace(problem, regularizer=penalty)
                solution = self._with_second_solver(step, solver, solution, callback)
                init = solution if k == 0 else init
                yield solution
                if solution.status is Status.STOPPED:
                    return

    def _with_second_solver(
        self,
        problem: Problem,
        solver: Solver,
        solution: Solution,
        callback: Callback | None,
    ) -> Solution:
        """For p = 1, retry a stalled solve by another solver; return the better one."""
        p = exponent_of(problem.regularizer)
        if solution.status is not Status.STALLED or p != 1.0:
            return solution
        # Where Newton steps on kernel weights are stuck, a working set usually makes
        # progress, and vice versa.
        name = "newton" if isinstance(solver, SquaredForm) else "squared_form"
        second_solver = lp_solver(name, self.tol, self.max_iter)
        if second_solver.unsupported(problem) is not None:
            return solution
        result = second_solver.solve(problem, solution, callback)
        return result if result.duality_gap < solution.duality_gap else solution


def lp_solver(name: str, tol: float, max_iter: int | None) -> Solver:
    """Return a solver by its name: "auto", or a key of `LP_SOLVERS`."""
    tol = float(tol)
    if name == "auto":
        return AutoLpSolver(tol, max_iter)
    solver_class = LP_SOLVERS[name]
    settings = {} if max_iter is None else {"max_iter": max_iter}
    return solver_class(tol=tol, **settings)
