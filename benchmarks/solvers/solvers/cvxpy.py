import numpy as np
from benchmark_utils import Graph
from benchopt import BaseSolver

MOST = 5_000
"""Features; a conic solver of more takes minutes."""


class Solver(BaseSolver):
    """The cones as a modelling language states them, on exact features."""

    name = "cvxpy"
    requirements = ["pip::cvxpy"]

    def skip(self, kernels, y, penalty, **others):
        if penalty == "targets":
            return True, "It searches no weights."
        graph = isinstance(kernels, Graph)
        # Nodes of a grid of powers are a column each, kernels as many as samples.
        n = kernels.samples.graph.n_nodes if graph else len(y) * len(kernels.K)
        return n > MOST, "Conic solvers are for small problems."

    def set_objective(self, kernels, y, K_test, loss, penalty, alpha, **others):
        import cvxpy as cp

        self.kernels, self.y, self.loss = kernels, y, loss
        self.intercept = cp.Variable()
        if isinstance(kernels, Graph):
            blocks = [kernels.samples.features(node) for node in kernels.nodes()]
        else:
            self.features = kernels.features
            blocks = np.split(self.features.matrix, self.features.offsets[1:-1], axis=1)
        self.weights = [cp.Variable(block.shape[1]) for block in blocks]
        pairs = zip(blocks, self.weights, strict=True)
        self.f = sum(Z @ w for Z, w in pairs) + self.intercept
        losses = {
            "log_loss": lambda: cp.sum(cp.logistic(cp.multiply(-y, self.f))),
            "hinge": lambda: cp.sum(cp.pos(1 - cp.multiply(y, self.f))),
            "squared_error": lambda: 0.5 * cp.sum_squares(y - self.f),
        }
        cost = losses[loss]()
        if penalty == "hkl":
            norm = sum(
                weight * cp.norm(cp.hstack([self.weights[k] for k in own]))
                for weight, own in kernels.terms(kernels.nodes())
            )
            cost = cost / len(y) + 0.5 * alpha * cp.square(norm)
        else:
            norms = cp.hstack([cp.norm(w) for w in self.weights])
            cost += (
                alpha * cp.sum(norms)
                if penalty == "l1"
                else 0.5 * alpha * cp.square(cp.pnorm(norms, 4 / 3))
            )
        self.problem = cp.Problem(cp.Minimize(cost))
        self.problem.get_problem_data("CLARABEL")  # made once, and kept

    def run(self, tolerance):
        settings = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
        self.problem.solve(solver="CLARABEL", **dict.fromkeys(settings, tolerance))

    def get_result(self):
        if not isinstance(self.kernels, Graph):
            weights = np.concatenate([w.value for w in self.weights])
            return self.features.result(weights, float(self.intercept.value))
        pairs = zip(self.kernels.nodes(), self.weights, strict=True)
        norms = {node: float(np.linalg.norm(w.value)) for node, w in pairs}
        return {"values": np.asarray(self.f.value).ravel(), "norms": norms}
