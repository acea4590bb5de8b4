from benchmark_utils import LOSSES, problem_of, result
from benchopt import BaseSolver

from multikernel.gram import DenseStack
from multikernel.problem import Problem
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers import (
    Alternating,
    CuttingPlane,
    HessianMKL,
    InterleavedNewton,
    SimpleMKL,
)

SUITED = {
    InterleavedNewton: ("lp", "l1"),
    Alternating: ("lp",),
    CuttingPlane: ("lp",),
    HessianMKL: ("l1",),
    SimpleMKL: ("l1",),
}
KINDS = {kind.__name__: kind for kind in SUITED}
MOST = 100
"""Kernels for SimpleMKL, which takes minutes with more."""


class Solver(BaseSolver):
    """Solvers by kernel weights; "l1" is half a squared sum of norms to them."""

    name = "multikernel"
    parameters = {"kind": list(KINDS)}

    def skip(self, penalty, loss, kernels, **others):
        if penalty not in SUITED[KINDS[self.kind]] or loss != "hinge":
            return True, "It is for other penalties, or losses."
        large = self.kind == "SimpleMKL" and len(kernels.K) > MOST
        return large, "It takes minutes."

    def set_objective(self, kernels, y, K_test, loss, penalty, alpha, squared):
        self.K_test = K_test
        if penalty == "l1":
            norm = SquaredBlockNorm(squared, 1.0)
            self.problem = Problem(DenseStack(kernels.K), y, LOSSES[loss], norm)
        else:
            self.problem = problem_of(kernels, y, loss, penalty, alpha)

    def run(self, tolerance):
        self.solution = KINDS[self.kind](tol=tolerance).solve(self.problem)

    def get_result(self):
        return result(self.problem, self.solution, self.K_test)
