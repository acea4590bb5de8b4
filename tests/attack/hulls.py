"""HKL on small graphs, against weights of all nodes that descend by hand.

The squared norm is a minimum over weights eta of the nodes, for which the functions are
those of one machine on a sum of all kernels. Alternating both ends at a point whose
value no optimum exceeds, and at a dual point that no value is below.
"""

import numpy as np
from attack.certificate import fitted_and_warned
from reference.hull import reachable
from scipy.linalg import solve
from scipy.optimize import minimize_scalar
from scipy.special import expit, xlogy

from multikernel.estimators import HKLClassifier, HKLRegressor
from multikernel.kernels.graph import (
    AnovaGrid,
    EmpiricalGrid,
    HermiteGrid,
    PolynomialGrid,
)

GRAPHS = (
    PolynomialGrid(1),
    PolynomialGrid(2, weight_base=2.0),
    AnovaGrid(),
    HermiteGrid(3, bandwidth=0.3),
    EmpiricalGrid(n_components=3),
)
SLACK = 1e-7
ROUNDS = 150
"""Descents of the weights, which end some 1e-9 above the optimum."""


class Problem:
    """All nodes of a bound graph, samples, and the numbers of a fit."""

    def __init__(self, random):
        graph = GRAPHS[random.integers(len(GRAPHS))]
        n, d = int(random.integers(15, 41)), int(random.integers(2, 4))
        self.X = random.standard_normal((n, d))
        z = self.X[:, 0] * self.X[:, 1] + self.X[:, 0]
        z = z + random.choice([0.1, 0.5, 1.0]) * random.standard_normal(n)
        self.classifies = bool(random.random() < 0.4)
        self.y = np.where(z > np.median(z), 1.0, -1.0) if self.classifies else z
        weighted = random.random() < 0.4
        self.s = random.uniform(0.2, 3.0, n) if weighted else np.ones(n)
        self.alpha = float(10.0 ** random.uniform(-3.5, -0.5))
        self.intercept = bool(random.random() < 0.8)
        self.settings = {
            "tol": float(random.choice([1e-2, 1e-3, 1e-5])),
            "certify": bool(random.random() < 0.5),
            "max_kernels": [None, int(random.integers(1, 8))][random.integers(2)],
        }
        self.graph = graph
        bound = graph.bind(self.X)
        self.nodes = reachable(bound, bound.roots())
        place = {node: k for k, node in enumerate(self.nodes)}
        self.prefers_descent = np.zeros((len(place), len(place)))
        for v, node in enumerate(self.nodes):
            self.prefers_descent[v, [place[w] for w in reachable(bound, [node])]] = 1.0
        self.d = np.array([bound.weight(node) for node in self.nodes])
        features = [bound.sample(self.X).features(node) for node in self.nodes]
        self.grams = np.stack([Z @ Z.T for Z in features])

    def fit(self):
        """Return the fitted model; its strength is that of the problem from now on."""
        kind = HKLClassifier if self.classifies else HKLRegressor
        model = kind(
            self.graph,
            alpha=self.alpha,
            standardize=False,
            fit_intercept=self.intercept,
            **self.settings,
        )
        model.fit(self.X, self.y, self.s)
        self.alpha = float(getattr(model, "alpha_", self.alpha))
        return model

    def loss(self, f):
        """Return the mean loss."""
        each = np.logaddexp(0.0, -self.y * f) if self.classifies else (self.y - f) ** 2
        return self.s @ each / self.s.sum() / (1.0 if self.classifies else 2.0)

    def norm(self, squares):
        """Return the norm of functions with these squared norms."""
        return float(self.d @ np.sqrt(self.prefers_descent @ squares))

    def machine(self, K, c, b):
        """Return the coefficients and the intercept that are best for one kernel."""
        n, ridge = len(self.y), self.s.sum() * self.alpha
        for _ in range(6 if self.classifies else 1):
            target, curvature = self.y, self.s
            if self.classifies:
                f = K @ c + b
                p = expit(self.y * f)
                curvature = self.s * np.maximum(p * (1.0 - p), 1e-9)
                target = f + self.s * self.y * (1.0 - p) / curvature
            system = np.ones((n + 1, n + 1))
            system[:n, :n] = K + np.diag(ridge / curvature)
            system[n, n] = 0.0
            size = n + self.intercept
            rows = solve(system[:size, :size], np.append(target, 0.0)[:size])
            c, b = rows[:n], rows[n] if self.intercept else 0.0
        return c, b

    def bounds(self):
        """Return a value that no optimum exceeds, and one that none is below."""
        eta, above = self.d / self.d.sum(), self.prefers_descent.T
        c, b = np.zeros(len(self.y)), 0.0
        best = self.loss(np.zeros(len(self.y)))
        least = 0.0
        for _ in range(ROUNDS):
            zeta = 1.0 / (above @ (self.d**2 / eta))
            c, b = self.machine(np.tensordot(zeta, self.grams, 1), c, b)
            forms = np.maximum(np.einsum("i,mij,j->m", c, self.grams, c), 0.0)
            norm = self.norm(zeta**2 * forms)
            f = np.tensordot(zeta, self.grams, 1) @ c + b
            best = min(best, self.loss(f) + self.alpha / 2.0 * norm**2)
            # Shares of a node's form for its ancestors bound the dual norm.
            shares = (zeta * (self.d**2 / eta)[:, None]) * self.prefers_descent
            dual_norm = np.max(shares**2 @ forms / self.d**2)
            least = max(least, self.dual(c, dual_norm))
            eta = self.d * np.sqrt(self.prefers_descent @ (zeta**2 * forms)) + 1e-300
            eta = np.maximum(eta / eta.sum(), 1e-9)
        return best, least

    def dual(self, c, dual_norm):
        """Return the value of the best multiple of a dual point."""
        rho, total = self.s.sum() * self.alpha * c, self.s.sum()
        if self.intercept and abs(rho.sum()) > 1e-9 * np.abs(rho).sum():
            return 0.0
        if self.classifies and (rho * self.y > self.s).any():
            return 0.0

        def minus(t):
            if self.classifies:
                q = np.clip(t * rho * self.y / self.s, 0.0, 1.0)
                value = -self.s @ (xlogy(q, q) + xlogy(1.0 - q, 1.0 - q))
            else:
                value = t * rho @ self.y - t**2 * (rho**2 / self.s).sum() / 2.0
            return self.alpha / 2.0 * t**2 * dual_norm - value / total

        return -minimize_scalar(minus, bounds=(0.0, 1.0), method="bounded").fun


def run_one(seed):
    """Return what is wrong with the fit of one problem."""
    problem = Problem(np.random.default_rng([seed, 53]))
    return inspect_hull(problem, *fitted_and_warned(problem.fit))


def inspect_hull(problem, model, warned):
    """Compare what is published with what it is, and with bounds on the optimum."""
    place = {node: k for k, node in enumerate(problem.nodes)}
    squares = np.zeros(len(problem.nodes))
    squares[[place[node] for node in model.hull_]] = model.node_norms_**2
    answer = model.decision_function if problem.classifies else model.predict
    true = problem.loss(answer(problem.X))
    true += problem.alpha / 2.0 * problem.norm(squares) ** 2
    found = []
    if abs(model.objective_ - true) > SLACK * true:
        text = f"objective {model.objective_:.9g}, its model has {true:.9g}"
        found.append(("inconsistent", text))
    best, least = problem.bounds()
    off = (true - best) / true
    if off > model.duality_gap_ + SLACK:
        text = f"gap {model.duality_gap_:.3g}, a model is better by {off:.9g}"
        found.append(("below", text))
    if least > true * (1.0 + SLACK):
        text = f"objective {true:.9g}, the optimum is {least:.9g} at least"
        found.append(("inconsistent", text))
    if model.duality_gap_ > model.tol and model.certify and not warned:
        found.append(("unwarned", f"gap {model.duality_gap_:.3g}, and no warning"))
    return found
