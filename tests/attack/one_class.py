"""One-class learning on small problems, against another machine for fixed weights.

Gram matrices are positive definite, so norms are read off the published terms.
"""

import numpy as np
from attack.certificate import fitted_and_warned
from sklearn.svm import OneClassSVM

from multikernel.estimators import OneClassMKL
from multikernel.kernels import GaussianKernel

SLACK = 1e-7
ROUNDS = 40
"""Machines of the rival, with new weights after each."""


def norm(x, p):
    """Return the p-norm of a non-negative vector."""
    return float(np.linalg.norm(x, p))


class Problem:
    """Definite Gram matrices, sample weights, and the numbers of a fit."""

    def __init__(self, random):
        n, size = int(random.integers(8, 31)), int(random.integers(1, 7))
        X = random.standard_normal((n, int(random.integers(1, 4))))
        widths = 10.0 ** random.uniform(-0.5, 1.0, size)
        scales = 10.0 ** random.uniform(-1.0, 1.0, size)
        self.grams = np.stack([GaussianKernel(width)(X) for width in widths])
        self.grams = (self.grams + 0.02 * np.eye(n)) * scales[:, None, None]
        whole = random.integers(1, 4, n).astype(float)
        self.s = [np.ones(n), whole, random.uniform(0.1, 3.0, n)][random.integers(3)]
        self.nu = float(random.choice([0.05, 0.1, 0.3, 0.5, 0.9, 1.0]))
        self.p = float(random.choice([1.0, 4.0 / 3.0, 2.0, 4.0, np.inf]))
        self.tol = float(random.choice([1e-2, 1e-3, 1e-5]))
        self.caps = self.s / self.s.sum() / self.nu

    def fit(self):
        """Return the fitted model."""
        settings = {"normalize": None, "tol": self.tol, "p": self.p}
        model = OneClassMKL("precomputed", self.nu, **settings)
        return model.fit(self.grams.transpose(1, 2, 0), sample_weight=self.s)

    def primal(self, theta, squares, f, b):
        """Return the objective of functions with these squared norms."""
        used = theta > 0.0
        penalty = (squares[used] / theta[used]).sum() / 2.0
        return penalty - b + self.caps @ np.maximum(b - f, 0.0)

    def dual(self, a):
        """Return the dual value of a feasible point."""
        forms = np.maximum(np.einsum("i,mij,j->m", a, self.grams, a), 0.0)
        q = (
            1.0
            if np.isinf(self.p)
            else np.inf
            if self.p == 1.0
            else 1.0 / (1.0 - 1.0 / self.p)
        )
        return -norm(forms, q) / 2.0

    def machine(self, K):
        """Return the coefficients that libsvm finds for one kernel."""
        machine = OneClassSVM(kernel="precomputed", nu=self.nu, tol=1e-9)
        machine.fit(K, sample_weight=self.s)
        a = np.zeros(len(K))
        a[machine.support_] = machine.dual_coef_[0]
        return a / a.sum()

    def rival(self):
        """Return the best value that machines and weights in turn come to."""
        theta = np.ones(len(self.grams))
        theta /= norm(theta, self.p)
        best = 0.0
        for _ in range(ROUNDS):
            K = np.tensordot(theta, self.grams, 1)
            a = self.caps if self.nu == 1.0 else self.machine(K)
            f = K @ a
            squares = theta**2 * np.einsum("i,mij,j->m", a, self.grams, a)
            value = min(self.primal(theta, squares, f, b) for b in f)
            best = min(best, value)
            if np.isinf(self.p):
                break
            theta = squares ** (1.0 / (self.p + 1.0))
            theta /= norm(theta, self.p)
        return best


def run_one(seed):
    """Return what is wrong with the fit of one problem."""
    problem = Problem(np.random.default_rng([seed, 55]))
    return inspect_one_class(problem, *fitted_and_warned(problem.fit))


def inspect_one_class(problem, model, warned):
    """Compare what is published with what it is, and with the rival."""
    X, theta = problem.grams.transpose(1, 2, 0), model.kernel_weights_
    squares = np.zeros(len(theta))
    terms = model.contributions(X)
    for k, m in enumerate(model.active_kernels_):
        squares[m] = terms[:, k] @ np.linalg.solve(problem.grams[m], terms[:, k])
    b = float(model.offset_)
    true = problem.primal(theta, squares, model.score_samples(X), b)
    size, gap = abs(true), float(model.duality_gap_)
    found = []
    if abs(model.objective_ - true) > SLACK * size:
        text = f"objective {model.objective_:.9g}, its model has {true:.9g}"
        found.append(("inconsistent", text))
    if abs(norm(theta, problem.p) - 1.0) > 1e-9 or (theta < 0.0).any():
        found.append(("inconsistent", f"weights {theta}"))
    a = model.dual_coef_
    outside = max(-a.min(), (a - problem.caps).max(), abs(a.sum() - 1.0))
    if outside > 1e-9:
        found.append(("infeasible", f"dual point outside by {outside:.3g}"))
    proved = (true - problem.dual(a)) / size
    if proved > gap + SLACK:
        found.append(("below", f"gap {gap:.3g}, its dual point proves {proved:.9g}"))
    best = problem.rival()
    if (true - best) / size > gap + SLACK:
        off = (true - best) / size
        found.append(("below", f"gap {gap:.3g}, a model is better by {off:.9g}"))
    if problem.dual(a) > best + SLACK * size:
        text = f"a dual value of {problem.dual(a):.9g}, and a model of {best:.9g}"
        found.append(("inconsistent", text))
    share = problem.s[model.decision_function(X) < 0.0].sum() / problem.s.sum()
    if share > problem.nu * (1.0 + 1e-9) and gap < 1e-4:
        found.append(("inconsistent", f"a share of {share:.3g} is outside"))
    if gap > problem.tol and not warned:
        found.append(("unwarned", f"gap {gap:.3g}, and no warning"))
    return found
