"""HKL on targets far from zero, against cones over the whole graph."""

import numpy as np
from attack.certificate import fitted_and_warned
from reference.hull import hull_optimum, whole_graph

from multikernel.estimators import HKLRegressor
from multikernel.kernels.graph import AnovaGrid, PolynomialGrid

SLACK = 1e-7
"""How far below the true gap, relative to the objective, a published one may be."""

CONES = 1e-6
"""What cones may leave of an objective that is a ten-thousandth of the targets' own."""


def run_hull(random):
    """Return the findings of one problem."""
    n = int(random.integers(15, 31))
    X = random.standard_normal((n, 2))
    z = X[:, 0] * X[:, 1] + X[:, 0]
    z = z + random.choice([0.0, 0.1, 1.0]) * random.standard_normal(n)
    scale, mean = 10.0 ** random.uniform([-8.0, 0.0], [8.0, 9.0])
    y = scale * (z + mean)
    loss = str(random.choice(["squared_error", "epsilon_insensitive"]))
    epsilon = float(random.choice([0.0, 0.01, 0.1]))
    alpha = float(10.0 ** random.uniform(-4.0, 0.0))
    # In units of the deviations the problem is one of scale one (METHODS 11).
    degree = 2 if loss == "squared_error" else 1
    graph = (PolynomialGrid(2, weight_base=2.0), AnovaGrid())[random.integers(2)]
    estimator = HKLRegressor(
        graph,
        alpha,
        loss=loss,
        epsilon=epsilon,
        standardize=False,
        tol=float(random.choice([1e-2, 1e-3, 1e-4])),
        certify=True,
    )
    model, warned = fitted_and_warned(lambda: estimator.fit(X, y))
    wide = y.astype(np.longdouble)
    centered = ((wide - wide.mean()) / scale).astype(np.float64)
    bound = graph.bind(X)
    # The numbers in use are in the units of y, those of the cones in units of `scale`.
    used = float(model.alpha_) / scale ** (degree - 2)
    corner = float(getattr(model, "epsilon_", 0.0)) / scale
    optimum = hull_optimum(
        *whole_graph(bound, bound.sample(X)), centered, loss, used, epsilon=corner
    )
    objective, gap = model.objective_ / scale**degree, model.duality_gap_
    shown = f"HKL, {loss}, alpha {alpha:.3g}, scale {scale:.3g}, mean {mean:.3g}"
    return judged(shown, objective, gap, optimum, model.tol, warned)


def judged(shown, objective, gap, optimum, tol, warned):
    """Compare what is published with the optimum."""
    truth = (objective - optimum) / abs(objective)
    found = []
    if truth > gap + SLACK:
        text = f"{shown}: gap {gap:.3g} published, {truth:.9g} true"
        found.append(("below", text))
    if truth < -CONES:
        text = f"{shown}: objective {objective:.9g}, optimum {optimum:.9g}"
        found.append(("inconsistent", text))
    if gap > tol and not warned:
        found.append(("unwarned", f"{shown}: gap {gap:.3g}, and no warning"))
    return found
