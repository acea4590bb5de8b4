import numpy as np
from benchmark_utils import LOSSES
from benchopt import BaseSolver

from multikernel.solvers.hkl import HullProblem, HullSearch


class Solver(BaseSolver):
    name = "multikernel HullSearch"

    def skip(self, penalty, **others):
        return penalty != "hkl", "It searches graphs of kernels."

    def set_objective(self, kernels, y, K_test, loss, penalty, alpha, **others):
        n = len(y)
        self.samples = kernels.samples
        self.problem = HullProblem(self.samples, y, LOSSES[loss], alpha, float(n))

    def run(self, tolerance):
        search = HullSearch(tol=tolerance, certify=True)
        self.solution = search.solve(self.problem)

    def get_result(self):
        found = self.solution
        values = np.full(len(self.problem.y), found.intercept)
        parts = zip(found.nodes, found.bases, found.means, found.coefs, strict=True)
        for node, basis, mean, coefs in parts:
            values += (self.samples.features(node, basis) - mean) @ coefs
        sizes = [float(np.linalg.norm(coefs)) for coefs in found.coefs]
        norms = dict(zip(found.nodes, sizes, strict=True))
        return {"values": values, "norms": norms}
