from benchmark_utils import problem_of, result
from benchopt import BaseSolver

from multikernel.solvers import Alternating, CuttingPlane, InterleavedNewton

KINDS = {kind.__name__: kind for kind in (InterleavedNewton, Alternating, CuttingPlane)}


class Solver(BaseSolver):
    name = "multikernel"
    parameters = {"kind": list(KINDS)}

    def skip(self, penalty, **others):
        return penalty != "lp", "These solvers are for lp-norm learning."

    def set_objective(self, kernels, y, K_test, loss, penalty, alpha):
        self.K_test = K_test
        self.problem = problem_of(kernels, y, loss, penalty, alpha)

    def run(self, tolerance):
        self.solution = KINDS[self.kind](tol=tolerance).solve(self.problem)

    def get_result(self):
        return result(self.problem, self.solution, self.K_test)
