"""Remove redundant and negligible kernels from a sparse model."""

from dataclasses import replace

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from multikernel._typing import Array
from multikernel.certificates import Model, best_intercepts, primal_value
from multikernel.certificates.incumbent import Incumbent
from multikernel.problem import Problem


def thin(incumbent: Incumbent, tol: float) -> None:
    """Replace a converged model by one with as few kernels as `tol` allows."""
    problem, model = incumbent.problem, incumbent.model
    active = model.active
    if incumbent.certified_gap > tol or active.size < 2:
        return
    # The model is a sum of functions g_m = f_m / |f_m| times their block norms. At the
    # optimum for p = 1, other norms with about the same sum and decision values give
    # about the same objective. Kernels are added one by one, first the one that
    # explains most of the remaining decision values. Nonnegative least squares then
    # gives the norms (Lawson, Hanson 1974, Solving least squares problems, chapter 23).
    # Only one of several equivalent kernels is added.
    norms, products = model.norms[active], model.products(problem.gram)
    unit = products / norms.reshape((-1,) + (1,) * (products.ndim - 1))
    rows = unit.reshape(active.size, -1)
    # `unit` has the values of the functions g_m; models[k] are the norms of a model,
    # and more kernels have a nonzero norm for larger k.
    models = _least_squares(rows, norms, problem.regularizer.alpha)
    # Use half of the remaining tolerance, as the exact gap may be slightly larger.
    most = incumbent.certificate.value / (1.0 - 0.5 * (incumbent.certified_gap + tol))
    low, high, thinned = 0, len(models), None
    while low < high:
        middle = (low + high) // 2
        fitted = _with_norms(problem, model, models[middle], unit)
        if fitted.objective <= most:
            high, thinned = middle, fitted
        else:
            low = middle + 1
    if thinned is not None:
        incumbent.offer(thinned)
        incumbent.exchange(tol)


def _least_squares(unit: Array, norms: Array, strength: float) -> list[Array]:
    """Return vectors x >= 0 with x @ unit near norms @ unit, the sparsest first."""
    # Each x minimizes |(x - norms) @ unit|^2 + strength * sum(x - norms)^2 over a set
    # of kernels, to which every step adds one kernel. Rows of `unit`, (n_active,
    # n_samples), are values of functions of norm one, so norms @ unit are the decision
    # values without intercept.
    products = unit @ unit.T + strength
    sizes = np.sqrt(np.diag(products))
    products /= np.outer(sizes, sizes)
    # Almost equivalent kernels make the least squares problem singular.
    products[np.diag_indices_from(products)] += 1e-10
    aims = products @ (sizes * norms)
    shares, used = np.zeros_like(norms), np.zeros(norms.size, dtype=bool)
    models: list[Array] = []
    # A smaller gain is only rounding.
    floor = 1e-12 * float(aims.max())
    # More functions than samples are always dependent.
    while len(models) < min(norms.size - 1, unit.shape[1]):
        gains = np.where(shares > 0.0, -np.inf, aims - products @ shares)
        best = int(np.argmax(gains))
        if gains[best] <= floor:
            break
        used[best] = True
        indices = np.flatnonzero(used)
        try:
            shares[indices] = _nonnegative_solution(
                products[np.ix_(indices, indices)], aims[indices]
            )
        except RuntimeError:  # limit of steps: keep the models so far
            break
        used = shares > 0.0
        models.append(shares / sizes)
    return models


def _nonnegative_solution(products: Array, aims: Array) -> Array:
    """Return the x >= 0 that minimizes x^T products x / 2 - x^T aims."""
    solved = np.linalg.solve(products, aims)
    if solved.min() > 0.0:
        return np.asarray(solved)
    root = np.linalg.cholesky(products)
    return np.asarray(nnls(root.T, solve_triangular(root, aims, lower=True))[0])


def _with_norms(problem: Problem, model: Model, norms: Array, unit: Array) -> Model:
    """Return the model with new norms; `unit` are its functions scaled to norm one."""
    f = np.tensordot(norms, unit, axes=1)
    b = np.zeros_like(model.intercept)
    if problem.fit_intercept:
        b = best_intercepts(problem.loss, problem.y, f)[0]
    places = np.flatnonzero(norms)
    active = model.active[places]
    all_norms = np.zeros_like(model.norms)
    all_norms[active] = norms[places]
    # The rows of `kernels`, `weights` and `expansions` that belong to the new model.
    terms = np.flatnonzero(model.norms[model.kernels])[places]
    expansions = model.expansions
    return replace(
        model,
        kernels=active,
        norms=all_norms,
        intercept=b,
        objective=primal_value(problem, all_norms, f + b),
        weights=model.weights[terms] * norms[places] / model.norms[active],
        expansions=expansions if len(expansions) == 1 else expansions[terms],
        terms=None,
        worth=None,
    )
