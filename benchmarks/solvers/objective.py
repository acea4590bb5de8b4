"""Multiple kernel learning, and how far from its optimum a model provably is.

A sum of losses and an intercept, plus alpha times the sum of norms ("l1"), or plus
alpha/2 times a squared norm of norms ("lp", kernel weights with p = 2); a mean of
losses plus alpha/2 times the squared norm of a graph ("hkl"). With many targets there
is no common problem: every package searches weights of kernels by folds in its own way
("targets").
"""

import numpy as np
from benchmark_utils import LOSSES, Graph, problem_of
from benchopt import BaseObjective
from sklearn.metrics import r2_score

from multikernel.certificates import alpha_max, primal_value
from multikernel.solvers import InterleavedNewton, SpicyMKL
from multikernel.solvers.hkl import HullProblem, HullSearch

SHARE = 0.1
"""Of the largest strength, for "l1"."""
STRENGTH = 1e-4
"""That of "hkl", for targets of variance one."""
CLOSE = 1e-7
"""Relative gap of the solution whose dual point is the bound for all."""


class Objective(BaseObjective):
    """The objective on precomputed kernels of trace n, or on a graph of kernels."""

    name = "Multiple kernel learning"
    parameters = {
        "penalty, loss": [
            ("l1", "log_loss"),
            ("l1", "squared_error"),
            ("l1", "hinge"),
            ("lp", "hinge"),
            ("targets", "squared_error"),
            ("hkl", "squared_error"),
        ]
    }
    sampling_strategy = "tolerance"

    def skip(self, kernels, y, **others):
        fitting = ("targets",) if np.ndim(y) == 2 else ("l1", "lp")
        if isinstance(kernels, Graph):
            fitting = ("hkl",)
        return self.penalty not in fitting, "The data are of another kind."

    def set_data(self, kernels, y, K_test, y_test):
        self.kernels, self.y = kernels, y
        self.K_test, self.y_test = K_test, y_test
        self.alpha, self.squared = STRENGTH, None
        if self.penalty == "targets":
            return
        if self.penalty == "hkl":
            found = HullSearch(tol=CLOSE, certify=True).solve(self.hull_problem())
        elif self.penalty == "lp":
            # What C=None stands for with p = 2.
            self.alpha = 0.5 * np.sqrt(len(kernels.K))
            found = InterleavedNewton(tol=CLOSE).solve(self.problem())
        else:
            self.alpha = 1.0
            self.alpha = SHARE * alpha_max(self.problem())
            found = SpicyMKL(tol=CLOSE).solve(self.problem())
            # Half a squared sum of norms has its optimum where the sum itself has.
            self.squared = self.alpha / float(found.norms.sum())
        self.bound = found.objective - found.duality_gap * abs(found.objective)

    def problem(self):
        return problem_of(self.kernels, self.y, self.loss, self.penalty, self.alpha)

    def hull_problem(self):
        loss, n = LOSSES[self.loss], len(self.y)
        return HullProblem(self.kernels.samples, self.y, loss, self.alpha, float(n))

    def get_objective(self):
        return {
            "kernels": self.kernels,
            "y": self.y,
            "K_test": self.K_test,
            "loss": self.loss,
            "penalty": self.penalty,
            "alpha": self.alpha,
            "squared": self.squared,
        }

    def primal(self, values, norms):
        """Return the objective of decision values and norms."""
        if self.penalty != "hkl":
            return primal_value(self.problem(), norms, values)
        losses = LOSSES[self.loss].value(self.y, values)
        return losses.mean() + self.alpha / 2.0 * self.kernels.norm(norms) ** 2

    def evaluate_result(self, values=None, norms=None, test=None):
        """Return the distance to the optimum at most, as a share; and the score.

        No lower bound of a solver's own is believed: the objective is computed from
        decision values and norms, the bound is one dual point's for all. The score is
        the accuracy, or the mean R2 of the targets.
        """
        found = {"value": np.nan, "score": np.nan}
        if values is not None:
            primal = self.primal(values, norms)
            found["value"] = (primal - self.bound) / abs(primal)
        if test is not None and len(test):
            found["score"] = (
                r2_score(self.y_test, test)
                if self.penalty == "targets"
                else float(np.mean(np.sign(test) == self.y_test))
            )
        return found

    def get_one_result(self):
        return {"values": None, "test": np.zeros(np.shape(self.y_test))}
