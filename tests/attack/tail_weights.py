"""Local Rademacher complexity on small problems, against sums of kernels and libsvm.

Gram matrices are definite, so norms are read off the published terms. Learning with
fixed weights is a support vector machine, whose norms say which weights are better.
"""

import numpy as np
from attack.certificate import fitted_and_warned
from sklearn.svm import SVC, SVR

from multikernel.estimators import (
    LocalRademacherMKLClassifier,
    LocalRademacherMKLRegressor,
)
from multikernel.kernels import GaussianKernel

SLACK = 1e-7
ROUNDS = 40
"""Machines of the rival, with new weights after each."""


class Problem:
    """Definite Gram matrices with a mean diagonal of one, targets, and settings."""

    def __init__(self, random):
        n, size = int(random.integers(12, 31)), int(random.integers(1, 6))
        X = random.standard_normal((n, int(random.integers(1, 4))))
        widths = 10.0 ** random.uniform(-0.5, 1.0, size)
        self.grams = np.stack([GaussianKernel(width)(X) for width in widths])
        self.grams = (self.grams + 0.02 * np.eye(n)) / 1.02
        z = np.sin(2.0 * X[:, 0]) + random.choice([0.1, 0.5]) * random.standard_normal(
            n
        )
        self.classifies = bool(random.random() < 0.5)
        self.y = np.where(z > np.median(z), 1.0, -1.0) if self.classifies else z
        self.s = random.uniform(0.2, 3.0, n) if random.random() < 0.3 else np.ones(n)
        self.p = float(random.choice([1.0, 4.0 / 3.0, 2.0, 4.0]))
        self.theta = int(random.integers(0, 6))
        self.settings = {
            "C": float(10.0 ** random.uniform(-1.5, 1.5)),
            "method": str(random.choice(["conv", "dc"])),
            "tol": float(random.choice([1e-2, 1e-3, 1e-5])),
        }

    def fit(self):
        """Return the fitted model; C and epsilon are those that were used."""
        kind = LocalRademacherMKLRegressor
        kind = LocalRademacherMKLClassifier if self.classifies else kind
        model = kind("precomputed", p=self.p, theta=self.theta, **self.settings)
        model.fit(self.grams.transpose(1, 2, 0), self.y, self.s)
        self.C = float(model.C_) * self.s
        self.epsilon = float(getattr(model, "epsilon_", 0.0))
        return model

    def loss(self, f):
        """Return the loss, times C."""
        if self.classifies:
            return self.C @ np.maximum(1.0 - self.y * f, 0.0)
        return self.C @ np.maximum(np.abs(self.y - f) - self.epsilon, 0.0)

    def square(self, K):
        """Return matrices between the roots of the samples' shares."""
        roots = np.sqrt(self.s / self.s.sum())
        return K * roots * roots[:, None]

    def tails(self, grams):
        """Return the sums of all but the leading eigenvalues."""
        values = np.linalg.eigvalsh(self.square(grams))[..., ::-1]
        return values[..., self.theta :].sum(axis=-1)

    def tangent(self, mu):
        """Return the tails of kernels beside the leading directions of their sum."""
        _, vectors = np.linalg.eigh(self.square(np.tensordot(mu, self.grams, 1)))
        rest = vectors[:, : max(len(self.y) - self.theta, 0)]
        return np.einsum("ij,mik,kj->m", rest, self.square(self.grams), rest)

    def rival(self, tails):
        """Return the best value that machines and weights in turn come to."""
        mu = np.ones(len(tails))
        mu /= np.linalg.norm(mu * tails, self.p)
        best = np.inf
        for _ in range(ROUNDS):
            K = np.tensordot(mu, self.grams, 1)
            settings = {"kernel": "precomputed", "C": 1.0, "tol": 1e-9}
            machine = SVC(**settings)
            if not self.classifies:
                machine = SVR(epsilon=self.epsilon, **settings)
            machine.fit(K, self.y, sample_weight=self.C)
            a = np.zeros(len(K))
            a[machine.support_] = machine.dual_coef_[0]
            forms = np.maximum(np.einsum("i,mij,j->m", a, self.grams, a), 0.0)
            loss = self.loss(K @ a + machine.intercept_[0])
            best = min(best, mu @ forms / 2.0 + loss)
            sizes = mu * np.sqrt(forms * tails)
            if not sizes.any():
                break
            mu = sizes ** (2.0 / (self.p + 1.0))
            mu = mu / np.linalg.norm(mu, self.p) / tails
        return best


def run_one(seed):
    """Return what is wrong with the fit of one problem."""
    problem = Problem(np.random.default_rng([seed, 56]))
    return inspect_tails(problem, *fitted_and_warned(problem.fit))


def inspect_tails(problem, model, warned):
    """Compare what is published with what it is, and with the rival."""
    X, mu = problem.grams.transpose(1, 2, 0), model.kernel_weights_
    terms, penalty = model.contributions(X), 0.0
    for k, m in enumerate(model.active_kernels_):
        square = terms[:, k] @ np.linalg.solve(problem.grams[m], terms[:, k])
        penalty += square / mu[m] / 2.0
    f = model.decision_function(X) if problem.classifies else model.predict(X)
    true, found = penalty + problem.loss(f), []
    if abs(model.objective_ - true) > SLACK * true:
        text = f"objective {model.objective_:.9g}, its model has {true:.9g}"
        found.append(("inconsistent", text))
    convex = model.method == "conv"
    tails = problem.tails(problem.grams) if convex else problem.tangent(mu)
    bound = np.linalg.norm(mu * tails, problem.p)
    # For other p the norm is the least over all frames, which nobody computes here.
    exact = convex or problem.p == 1.0
    if mu.any() and (bound < 1.0 - 1e-6 or (exact and bound > 1.0 + 1e-6)):
        found.append(("inconsistent", f"weights have a norm of {bound:.9g}"))
    gap = float(model.duality_gap_ if convex else model.subproblem_gap_)
    best = problem.rival(tails) if exact else true
    # A step that gains less than the tolerance ends the descent of "dc".
    allowed = gap + SLACK if convex else gap + 3.0 * model.tol
    if (true - best) / true > allowed and (convex or not warned):
        text = f"gap {gap:.3g}, a model is better by {(true - best) / true:.9g}"
        found.append(("below", text))
    if gap > model.tol and not warned:
        found.append(("unwarned", f"gap {gap:.3g}, and no warning"))
    starts = () if convex else np.ravel(model.start_objectives_)
    if len(starts) and abs(starts[0] - model.objective_) > SLACK * true:
        found.append(("inconsistent", f"starts led to {starts}, not {true:.9g}"))
    return found
