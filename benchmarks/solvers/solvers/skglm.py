import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """Group lasso on exact features; losses are means."""

    name = "skglm"
    requirements = ["pip::skglm"]

    def skip(self, penalty, loss, **others):
        return penalty != "l1" or loss == "hinge", "It needs a prox and a smooth loss."

    def set_objective(self, kernels, y, K_test, loss, penalty, alpha, **others):
        from skglm.datafits.group import LogisticGroup, QuadraticGroup
        from skglm.penalties.block_separable import WeightedGroupL2
        from skglm.utils.data import grp_converter
        from skglm.utils.jit_compilation import compiled_clone

        self.y, self.features, self.loss = y, kernels.features, loss
        sizes = self.features.sizes
        indices, starts = grp_converter(sizes, self.features.matrix.shape[1])
        groups = starts, indices
        datafit = LogisticGroup if loss == "log_loss" else QuadraticGroup
        self.datafit = compiled_clone(datafit(*groups))
        self.penalty = compiled_clone(
            WeightedGroupL2(alpha / len(y), np.ones(len(sizes)), *groups)
        )

    def run(self, tolerance):
        from skglm.solvers import GroupBCD, GroupProxNewton

        settings = {"tol": tolerance, "fit_intercept": True}
        if self.loss == "log_loss":
            solver = GroupProxNewton(max_iter=200, **settings)
        else:
            solver = GroupBCD(**settings)
        X = self.features.matrix
        self.weights = solver.solve(X, self.y, self.datafit, self.penalty)[0]

    def get_result(self):
        return self.features.result(self.weights[:-1], self.weights[-1])
