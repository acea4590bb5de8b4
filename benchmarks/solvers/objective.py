"""Multiple kernel learning, and how far from its optimum a model provably is.

A sum of losses plus alpha times the sum of norms ("l1"), or plus alpha/2 times a
squared norm of norms ("lp", kernel weights with p = 2), and an intercept.
"""

import numpy as np
from benchmark_utils import problem_of
from benchopt import BaseObjective

from multikernel.certificates import alpha_max, primal_value
from multikernel.solvers import InterleavedNewton, SpicyMKL

SHARE = 0.1
"""Of the largest strength, for "l1"."""


class Objective(BaseObjective):
    """The objective on precomputed kernels of trace n."""

    name = "Multiple kernel learning"
    parameters = {
        "penalty, loss": [
            ("l1", "log_loss"),
            ("l1", "squared_error"),
            ("l1", "hinge"),
            ("lp", "hinge"),
        ]
    }
    sampling_strategy = "tolerance"

    def set_data(self, kernels, y, K_test, y_test):
        self.kernels, self.y = kernels, y
        self.K_test, self.y_test = K_test, y_test
        self.alpha = 0.5 * np.sqrt(
            len(kernels.K)
        )  # what C="scale" stands for with p = 2
        if self.penalty == "l1":
            one = problem_of(kernels, y, self.loss, self.penalty, 1.0)
            self.alpha = SHARE * alpha_max(one)
        self.problem = problem_of(kernels, y, self.loss, self.penalty, self.alpha)
        solver = SpicyMKL if self.penalty == "l1" else InterleavedNewton
        found = solver(tol=1e-7).solve(self.problem)
        self.bound = found.objective - found.duality_gap * abs(found.objective)

    def get_objective(self):
        return {
            "kernels": self.kernels,
            "y": self.y,
            "K_test": self.K_test,
            "loss": self.loss,
            "penalty": self.penalty,
            "alpha": self.alpha,
        }

    def evaluate_result(self, values=None, norms=None, test=None):
        """Return the distance to the optimum at most, as a share; and the accuracy.

        No lower bound of a solver's own is believed: the objective is computed from
        decision values and norms, the bound is one dual point's for all.
        """
        found = {"value": np.nan, "accuracy": np.nan}
        if values is not None:
            primal = primal_value(self.problem, norms, values)
            found["value"] = (primal - self.bound) / abs(primal)
        if test is not None and len(test):
            found["accuracy"] = float(np.mean(np.sign(test) == self.y_test))
        return found

    def get_one_result(self):
        n = len(self.y)
        return {"values": np.zeros(n), "norms": np.zeros(len(self.kernels.K))}
