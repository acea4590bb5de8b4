"""SpicyMKL's outer steps one at a time, for a regulariser that changes on the way."""

import sys
from dataclasses import dataclass, field, replace

import numpy as np

from multikernel.problem import Problem, Solution, Status
from multikernel.regularizers.base import BlockRegularizer
from multikernel.solvers.incumbent import Incumbent
from multikernel.solvers.recorder import Recorder
from multikernel.solvers.spicy.outer import WorkingSet
from multikernel.solvers.spicy.screening import DualNorms, screening
from multikernel.solvers.spicy.tuning import PATIENCE, PROGRESS


@dataclass
class StepByStep:
    """A walk: the working set, penalty parameter and images last from step to step.

    Parameters
    ----------
    problem : Problem
        The problem; its own regulariser is not used.
    init : Solution or None
        A warm start.
    """

    problem: Problem
    init: Solution | None
    _bounds: DualNorms = field(init=False)
    _recorder: Recorder = field(init=False)
    _search: WorkingSet | None = None

    def __post_init__(self) -> None:
        self._bounds = screening(self.problem)
        self._recorder = Recorder(None)
        if self.problem.fit_intercept:
            self._bounds.remember(np.ones(self.problem.gram.shape[1]))

    def step(self, regularizer: BlockRegularizer, tol: float) -> Solution:
        """Take one outer step; see `multikernel.solvers.base.Walk`."""
        search = self._at(regularizer)
        if search.incumbent.gap > tol:
            search.step(tol)
        incumbent = search.incumbent
        status = incumbent.status(tol, sys.maxsize)
        solution = incumbent.solution(status or Status.MAX_ITER)
        own = incumbent.over_factors
        if own is incumbent.certificate:
            return solution
        return replace(solution, dual=own.dual, duality_gap=incumbent.gap)

    def _at(self, regularizer: BlockRegularizer) -> WorkingSet:
        """Return the search for a regulariser, which follows the one before it."""
        last = self._search
        if last is not None and last.problem.regularizer == regularizer:
            return last
        problem = replace(self.problem, regularizer=regularizer)
        incumbent = Incumbent(problem, self._recorder, PATIENCE, PROGRESS)
        self._search = WorkingSet(incumbent, self._bounds)
        if last is None:
            self._search.start(self.init)
        else:
            self._search.follow(last)
        return self._search
