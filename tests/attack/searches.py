"""Hold paths against single fits, and the fits of folds against fits by hand."""

import inspect
import warnings
from dataclasses import replace

import numpy as np
from attack.cases import decades, make_grams
from reference.toys import LOSSES
from sklearn.model_selection import KFold

from multikernel import estimators
from multikernel.gram import DenseStack
from multikernel.kernels import GaussianKernel, LinearKernel
from multikernel.kernels.graph import AnovaGrid, PolynomialGrid
from multikernel.problem import Problem
from multikernel.regularizers import BlockElasticNet, BlockL1, SquaredBlockNorm
from multikernel.solvers import (
    Alternating,
    GroupOMP,
    InterleavedNewton,
    SpicyMKL,
    SquaredForm,
    solve_path,
)

SLACK = 1e-9
SCORES = 1e-3
"""Scores of two fits with gaps of 1e-8 may differ by this share of the targets'
variance: predictions differ by about the root of the gaps."""

GRIDS = {
    "SpicyMKL": {"alphas": [0.03, 0.1]},
    "LpMKL": {"Cs": [0.1, 1.0], "ps": [1.0, 2.0]},
    "FixedWeightsMKL": {"Cs": [0.1, 1.0]},
    "HKL": {"alphas": [0.03, 0.1]},
    "GroupOMP": {"alphas": [0.03, 0.3]},
    "LocalRademacherMKL": {"Cs": [0.1, 1.0], "thetas": [0, 2]},
}
"""Searches, and what they search over."""


def run_one(seed):
    """Return the findings of one path or search, by turns."""
    attacks = (attack_folds, attack_path, attack_folds, attack_other_paths)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return attacks[seed % 4](seed)
        except Exception as error:
            return [("exceptions", f"{type(error).__name__}: {error}")]


def sparse(tol):
    """SpicyMKL for the squared penalty with p = 1."""
    return SquaredForm(SpicyMKL, tol=tol)


def attack_path(seed):
    """A solution of a path and one by itself: their intervals have a common point."""
    random = np.random.default_rng([seed, 22])
    n = int(random.integers(6, 31))
    X = random.standard_normal((n, 3))
    hostile = bool(random.random() < 0.6)
    stack = DenseStack(make_grams(random, X, int(random.integers(1, 9)), hostile))
    name = str(random.choice(list(LOSSES)))
    y = X[:, 0] + random.standard_normal(n)
    if name in ("hinge", "log_loss"):
        y = np.where(y > 0.0, 1.0, -1.0)
        # Of one class alone the best constant model is infinite, as an error says.
        y[0] = np.where(np.all(y == y[0]), -y[0], y[0])
    p = float(random.choice([1.0, 1.1, 2.0, np.inf]))
    solver, penalty = [
        (SpicyMKL, BlockL1(1.0)),
        (SpicyMKL, BlockElasticNet(1.0, float(random.uniform(0.0, 1.0)))),
        (InterleavedNewton, SquaredBlockNorm(1.0, p)),
        (Alternating, SquaredBlockNorm(1.0, max(p, 1.1))),
        (sparse, SquaredBlockNorm(1.0, 1.0)),
    ][int(random.integers(5))]
    solver = solver(tol=float(random.choice([1e-2, 1e-4, 1e-6])))
    problem = Problem(stack, y, LOSSES[name](), penalty, bool(random.random() < 0.7))
    alphas = decades(random) * np.geomspace(1.0, 1e-3, 6)
    path = solve_path(problem, solver, alphas)
    found = []
    for alpha, passed in zip(alphas, path, strict=True):
        weaker = replace(problem, regularizer=penalty.with_alpha(float(alpha)))
        alone = solver.solve(weaker)
        pair = [(one.objective, one.duality_gap) for one in (passed, alone)]
        found += apart(f"{solver} at {alpha:.3g}", *pair)
    return found


def apart(name, *pair):
    """Yield where an objective is below what another one's gap leaves of it."""
    for (objective, gap), (other, _) in (pair, pair[::-1]):
        lower = objective - gap * abs(objective)
        if lower - other > SLACK * max(abs(lower), abs(other)):
            yield "below", f"{name}: bound {lower:.9g} above a model of {other:.9g}"


def attack_other_paths(seed):
    """Paths of HKL and Group-OMP against fits that begin anew at every strength."""
    random = np.random.default_rng([seed, 24])
    n = int(random.integers(12, 31))
    X = random.standard_normal((n, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * random.standard_normal(n)
    y = decades(random) * (y + random.choice([0.0, 1e3]))
    if random.random() < 0.5:
        graph = (PolynomialGrid(2), AnovaGrid())[int(random.integers(2))]
        alphas = 10.0 ** random.uniform(-1.0, 0.0) * 10.0 ** -np.arange(4.0)
        settings = {
            "tol": float(random.choice([1e-2, 1e-4])),
            "standardize": bool(random.random() < 0.7),
            "certify": True,
        }
        search = estimators.HKLRegressorCV(graph, alphas=alphas, cv=2, **settings)
        path, found = search.fit(X, y).hull_path_, []
        for place, alpha in enumerate(path.alphas):
            alone = estimators.HKLRegressor(graph, float(alpha), **settings).fit(X, y)
            passed = path.objectives[0, place], path.duality_gaps[0, place]
            own = alone.objective_, alone.duality_gap_
            found += apart(f"HKL at {alpha:.3g}", passed, own)
        return found
    stack = DenseStack(make_grams(random, X, int(random.integers(1, 9)), False))
    alphas, found = decades(random, -2.0, 2.0) * np.geomspace(1.0, 1e-2, 3), []
    problem = Problem(stack, y, LOSSES["squared_error"](), BlockElasticNet(1.0, 0.0))
    solver = GroupOMP(tol=float(random.choice([1e-2, 1e-4])))
    for alpha, passed in zip(alphas, solver.paths(problem, alphas), strict=True):
        weaker = replace(problem, regularizer=BlockElasticNet(float(alpha), 0.0))
        alone = solver.path(weaker)
        same = passed.objectives.shape == alone.objectives.shape
        if not same or not np.allclose(passed.objectives, alone.objectives, rtol=1e-7):
            text = f"{passed.objectives} beside others, {alone.objectives} alone"
            found.append(("inconsistent", f"{solver} at {alpha:.3g}: {text}"))
    return found


def attack_folds(seed):
    """Scores of a search's folds are those of fits on the folds' training parts."""
    random = np.random.default_rng([seed, 23])
    n = int(random.integers(15, 41))
    X = random.standard_normal((n, 3)) * 10.0 ** random.uniform(-1, 1, 3)
    family = str(random.choice(list(GRIDS)))
    task = str(random.choice(["Regressor", "Classifier"]))
    score = X[:, 0] / np.abs(X[:, 0]).max() + 0.3 * random.standard_normal(n)
    kernels = [GaussianKernel(decades(random, -0.5, 1.0)), LinearKernel()]
    settings = {
        "normalize": random.choice([None, "trace", "variance", "center"]),
        "fit_intercept": bool(random.random() < 0.8),
        "storage": str(random.choice(["auto", "dense", "lazy"])),
        "tol": 1e-8,
    }
    if task == "Regressor":
        y, settings["loss"], size = score, "squared_error", float(np.var(score))
    else:
        y, size = np.where(score > np.median(score), "yes", "no"), 1.0
        settings["loss"] = "log_loss"
    scoring = "neg_mean_squared_error" if task == "Regressor" else "neg_log_loss"
    grid = GRIDS[family]
    if family == "HKL":
        kernels = (PolynomialGrid(2), AnovaGrid())[int(random.integers(2))]
        settings["standardize"] = bool(random.random() < 0.7)
    if family == "GroupOMP":
        settings["tol"] = 1e-3  # of the selection; what is selected is solved for
    weights = random.integers(1, 4, n).astype(float) if random.random() < 0.4 else None
    # Every fold's training part has both classes.
    order = np.argsort(score)
    order = np.concatenate([order[k::3] for k in range(3)])
    splits = [(order[a], order[b]) for a, b in KFold(3).split(order)]
    name = f"{family}{task}CV"
    kind = getattr(estimators, name)
    known = inspect.signature(kind).parameters
    settings = {key: value for key, value in settings.items() if key in known}
    search = kind(kernels, **grid, **settings, cv=splits, scoring=scoring)
    search.fit(X, y, sample_weight=weights)
    found, table = [], search.cv_results_
    single = getattr(estimators, f"{family}{task}")
    for place, values in enumerate(table["params"]):
        if values.get("max_kernels") == 0:
            continue  # which no estimator of one model takes
        for fold, (train, test) in enumerate(splits):
            model = single(kernels, **values, **settings)
            own = None if weights is None else weights[train]
            model.fit(X[train], y[train], sample_weight=own)
            heavy = None if weights is None else weights[test]
            by_hand = scored(model, X[test], y[test], heavy)
            off = abs(table[f"split{fold}_test_score"][place] - by_hand)
            if off > SCORES * size:
                text = f"{name}, {values}, fold {fold}: score off by {off:.3g}"
                found.append(("inconsistent", text))
    if search.best_params_.get("max_kernels") == 0:
        return found
    model = single(kernels, **search.best_params_, **settings)
    model.fit(X, y, sample_weight=weights)
    off = abs(model.objective_ - search.objective_)
    if off > (2e-8 + SLACK) * abs(model.objective_):
        found.append(("inconsistent", f"{name}: refit's objective off by {off:.3g}"))
    return found


def scored(model, X, y, weights):
    """Minus the mean squared error, or minus the mean logarithmic loss."""
    if not hasattr(model, "classes_"):
        return -float(np.average((model.predict(X) - y) ** 2, weights=weights))
    places = np.searchsorted(model.classes_, y)
    chances = model.predict_proba(X)[np.arange(len(y)), places]
    return float(np.average(np.log(np.maximum(chances, 1e-15)), weights=weights))
