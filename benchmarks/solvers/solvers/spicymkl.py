from benchmark_utils import problem_of, result
from benchopt import BaseSolver

from multikernel.solvers import SpicyMKL


class Solver(BaseSolver):
    name = "multikernel SpicyMKL"

    def skip(self, penalty, **others):
        return penalty != "l1", "SpicyMKL needs a penalty with a prox."

    def set_objective(self, kernels, y, K_test, loss, penalty, alpha):
        self.K_test = K_test
        self.problem = problem_of(kernels, y, loss, penalty, alpha)

    def run(self, tolerance):
        self.solution = SpicyMKL(tol=tolerance).solve(self.problem)

    def get_result(self):
        return result(self.problem, self.solution, self.K_test)
