from benchmark_utils import problem_of, result
from benchopt import BaseSolver

from multikernel.gram import LowRankStack
from multikernel.solvers import SpicyMKL


class Solver(BaseSolver):
    """On the matrices as they are, or on the exact factors that group lassos read."""

    name = "multikernel SpicyMKL"
    parameters = {"held": ["matrices", "factors"]}

    def skip(self, penalty, **others):
        return penalty != "l1", "SpicyMKL needs a penalty with a prox."

    def set_objective(self, kernels, y, K_test, loss, penalty, alpha, **others):
        self.K_test, stack = K_test, None
        if self.held == "factors":
            self.features = kernels.features
            stack = LowRankStack(self.features.matrix, self.features.offsets)
        self.problem = problem_of(kernels, y, loss, penalty, alpha, stack)

    def run(self, tolerance):
        self.solution = SpicyMKL(tol=tolerance).solve(self.problem)

    def get_result(self):
        return result(self.problem, self.solution, self.K_test)
