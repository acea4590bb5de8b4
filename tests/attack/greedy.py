"""Group-OMP with the squared loss, step by step, by its definition.

Every prefix is a ridge regression on the sum of its kernels, which one linear system
solves; the next kernel is the one whose fit of the residual improves most.
"""

import warnings

import numpy as np
from scipy.linalg import solve

from multikernel.estimators import GroupOMPClassifier, GroupOMPRegressor
from multikernel.kernels import GaussianKernel, LinearKernel, per_column

SLACK = 1e-8


class Problem:
    """Kernels of columns, samples, and the numbers of a fit."""

    def __init__(self, random):
        n, d = int(random.integers(15, 61)), int(random.integers(2, 7))
        self.X = random.standard_normal((n, d))
        widths = 10.0 ** random.uniform(-0.5, 0.8, int(random.integers(1, 4)))
        inner = [LinearKernel(), *(GaussianKernel(width) for width in widths)]
        self.kernels = [kernel for each in inner for kernel in per_column(each, d)]
        z = np.column_stack([np.sin(2.0 * self.X[:, 0]) + self.X[:, 1], self.X[:, -1]])
        z += random.choice([0.1, 1.0]) * random.standard_normal(z.shape)
        self.classifies = bool(random.random() < 0.3)
        several = not self.classifies and random.random() < 0.3
        self.y = z if several else z[:, 0]
        if self.classifies:
            self.y = np.where(self.y > np.median(self.y), 1.0, -1.0)
        weighted = random.random() < 0.4
        self.s = random.uniform(0.2, 3.0, n) if weighted else np.ones(n)
        size = len(self.kernels)
        penalties = random.uniform(0.5, 2.0, size) if random.random() < 0.3 else None
        self.settings = {
            "alpha": float(10.0 ** random.uniform(-4.0, 0.5)),
            "tol": float(random.choice([1e-2, 1e-3, 1e-5])),
            "max_kernels": [None, int(random.integers(1, size + 1))][
                random.integers(2)
            ],
            "penalty_weights": None if penalties is None else penalties.tolist(),
            "normalize": None,
            "fit_intercept": bool(random.random() < 0.8),
            "storage": str(random.choice(["auto", "dense", "lazy"])),
        }
        scale = 1.0 if penalties is None else penalties[:, None, None] ** 2
        self.grams = np.stack([k(self.X) for k in self.kernels]) / scale

    @property
    def targets(self):
        """Return targets of shape (n_samples, n_outputs)."""
        return self.y.reshape(len(self.y), -1)

    def fit(self):
        """Return the fitted model."""
        kind = GroupOMPClassifier if self.classifies else GroupOMPRegressor
        return kind(self.kernels, **self.settings).fit(self.X, self.y, self.s)

    def ridge(self, alpha, K, rows):
        """Return values and the objective of the ridge regression of rows on K."""
        n, intercept = len(K), self.settings["fit_intercept"]
        system = np.ones((n + 1, n + 1))
        system[:n, :n] = K + np.diag(self.s.sum() * alpha / self.s)
        system[n, n] = 0.0
        size = n + intercept
        padded = np.vstack([rows, np.zeros((1, rows.shape[1]))])
        c = solve(system[:size, :size], padded[:size])
        f = K @ c[:n] + (c[n] if intercept else 0.0)
        value = self.s @ (rows - f) ** 2 / self.s.sum() / 2.0
        value += alpha / 2.0 * np.einsum("ik,ij,jk->k", c[:n], K, c[:n])
        return f, float(value.sum())

    def improvements(self, alpha, residual):
        """Return what every kernel improves a fit of the residual by."""
        # A kernel of zero leaves the residual, or that about its mean.
        nothing = self.ridge(alpha, np.zeros_like(self.grams[0]), residual)[1]
        fits = [self.ridge(alpha, K, residual)[1] for K in self.grams]
        return nothing - np.array(fits), nothing


def run_one(seed):
    """Return what is wrong with the fit of one problem."""
    problem = Problem(np.random.default_rng([seed, 54]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return inspect_greedy(problem, problem.fit())


def inspect_greedy(problem, model):
    """Grow the model again along its own order, and compare every step."""
    alpha = float(getattr(model, "alpha_", problem.settings["alpha"]))
    stages = model.staged_decision_function if problem.classifies else None
    stages = list((stages or model.staged_predict)(problem.X))
    order, n_stages = model.selection_order_, len(model.selection_order_)
    if len(set(order)) < n_stages or len(stages) not in (n_stages, n_stages + 1):
        return [("inconsistent", f"order {order}, {len(stages)} stages")]
    found = []
    K = np.zeros_like(problem.grams[0])
    f, value = problem.ridge(alpha, K, problem.targets)
    _, start = problem.improvements(alpha, problem.targets - f)
    for step, m in enumerate([*order, None]):
        scores, _ = problem.improvements(alpha, problem.targets - f)
        left = np.delete(np.arange(len(scores)), order[:step])
        best = scores[left].max(initial=0.0)
        if m is None:
            full = len(order) == (model.max_kernels or len(scores))
            if not full and best > model.tol * start * (1.0 + 1e-6) + SLACK * start:
                text = f"stopped, and a kernel improves by {best / start:.3g}"
                found.append(("unsolved", text))
            break
        if scores[m] < best - SLACK * start:
            text = f"step {step} takes {m} for {scores[m]:.9g}, best is {best:.9g}"
            found.append(("inconsistent", text))
        if abs(model.improvements_[step] - scores[m]) > SLACK * start:
            text = f"improvement {model.improvements_[step]:.9g}, true {scores[m]:.9g}"
            found.append(("inconsistent", text))
        K, before = K + problem.grams[m], value
        f, value = problem.ridge(alpha, K, problem.targets)
        if value > before - scores[m] + SLACK * start:
            text = f"step {step} gains {before - value:.9g}, not {scores[m]:.9g}"
            found.append(("inconsistent", text))
        off = np.abs(stages[step - n_stages].reshape(f.shape) - f).max()
        if off > 1e-6 * np.abs(problem.targets).max():
            found.append(("inconsistent", f"stage {step} predicts {off:.3g} beside"))
    if abs(model.objective_ - value) > SLACK * max(value, start):
        text = f"objective {model.objective_:.9g}, ridge regression {value:.9g}"
        found.append(("inconsistent", text))
    return found
