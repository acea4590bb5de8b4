import numpy as np
from benchopt import BaseSolver

MOST = 5_000
"""Features; a conic solver of more takes minutes."""


class Solver(BaseSolver):
    """The cones as a modelling language states them, on exact features."""

    name = "cvxpy"
    requirements = ["pip::cvxpy"]

    def skip(self, kernels, **others):
        return kernels.K.shape[0] * kernels.K.shape[
            1
        ] > MOST, "Conic solvers are for small problems."

    def set_objective(self, kernels, y, K_test, loss, penalty, alpha):
        import cvxpy as cp

        self.features = kernels.features
        blocks = np.split(self.features.matrix, self.features.starts[1:], axis=1)
        self.weights = [cp.Variable(size) for size in self.features.sizes]
        self.intercept = cp.Variable()
        pairs = zip(blocks, self.weights, strict=True)
        f = sum(Z @ w for Z, w in pairs) + self.intercept
        losses = {
            "log_loss": lambda: cp.sum(cp.logistic(cp.multiply(-y, f))),
            "hinge": lambda: cp.sum(cp.pos(1 - cp.multiply(y, f))),
            "squared_error": lambda: 0.5 * cp.sum_squares(y - f),
        }
        norms = cp.hstack([cp.norm(w) for w in self.weights])
        cost = alpha * cp.sum(norms)
        if penalty == "lp":
            cost = 0.5 * alpha * cp.square(cp.pnorm(norms, 4 / 3))
        self.problem = cp.Problem(cp.Minimize(losses[loss]() + cost))

    def run(self, tolerance):
        settings = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
        self.problem.solve(solver="CLARABEL", **dict.fromkeys(settings, tolerance))

    def get_result(self):
        weights = np.concatenate([w.value for w in self.weights])
        return self.features.result(weights, float(self.intercept.value))
