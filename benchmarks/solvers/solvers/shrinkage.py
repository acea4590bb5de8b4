from benchmark_utils import problem_of, result
from benchopt import BaseSolver

from multikernel.solvers import IterativeShrinkage

MOST = 50_000_000
"""Numbers in all matrices, which it reads in every step."""


class Solver(BaseSolver):
    name = "multikernel IterativeShrinkage"

    def skip(self, penalty, loss, kernels, **others):
        if penalty != "l1" or loss == "hinge":
            return True, "It needs a prox and a smooth loss."
        return kernels.K.size > MOST, "It takes minutes."

    def set_objective(self, kernels, y, K_test, loss, penalty, alpha, **others):
        self.K_test = K_test
        self.problem = problem_of(kernels, y, loss, penalty, alpha)

    def run(self, tolerance):
        self.solution = IterativeShrinkage(tol=tolerance).solve(self.problem)

    def get_result(self):
        return result(self.problem, self.solution, self.K_test)
