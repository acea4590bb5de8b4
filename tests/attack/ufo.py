"""Solve random problems by UFO-MKL, and hold every gap against its recomputation."""

import warnings

import numpy as np
from attack.cases import decades, make_grams

from multikernel.gram import DenseStack
from multikernel.losses import CrammerSingerLoss, HingeLoss, weighted
from multikernel.problem import Problem, Status
from multikernel.regularizers import SparseBlockNorm, SquaredBlockNorm
from multikernel.solvers import UFOMKL, ufo_exponent

WIDE = np.longdouble
SLACK = 1e-9


def make_problem(seed):
    """A problem of two or three classes with kernels of all kinds and scales."""
    random = np.random.default_rng([seed, 21])
    hostile = bool(random.random() < 0.8)
    n, n_kernels = int(random.integers(6, 31)), int(random.integers(1, 9))
    X = random.standard_normal((n, 4))
    grams = make_grams(random, X, n_kernels, hostile)
    places = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0.0)
    several = bool(random.random() < 0.4)
    y = np.eye(3)[places] if several else np.where(places > 0, 1.0, -1.0)
    weights = 10.0 ** random.uniform(-4, 4, n) if random.random() < 0.3 else None
    alpha = decades(random) if hostile else decades(random, -1.0, 2.0)
    p = float(random.choice([1.01, 1.5, 2.0, 100.0, np.inf, ufo_exponent(n_kernels)]))
    penalty = SquaredBlockNorm(alpha, p)
    if random.random() < 0.6:
        penalty = SparseBlockNorm(alpha, float(random.uniform(0.0, 0.99)), p)
    loss = weighted(CrammerSingerLoss() if several else HingeLoss(), weights)
    problem = Problem(DenseStack(grams), y, loss, penalty, fit_intercept=False)
    return problem, np.ones(n) if weights is None else weights


def q_norm(values, q):
    """The q-norm in extended precision, of numbers of any scale."""
    top = values.max(initial=WIDE(0.0))
    if top == 0.0 or np.isinf(q):
        return top
    return top * ((values / top) ** WIDE(q)).sum() ** (1 / WIDE(q))


def recompute(problem, weights, solution):
    """Primal value, dual value, and how far the dual point is outside its domain."""
    n = len(weights)
    y, rho = (a.reshape(n, -1).astype(WIDE) for a in (problem.y, solution.dual))
    grams, weights = problem.gram.array.astype(WIDE), weights.astype(WIDE)
    coefs = solution.coefs.reshape(-1, n, y.shape[1]).astype(WIDE)
    images = np.einsum("mij,mjc->mic", grams[solution.active], coefs)
    norms = np.sqrt(np.maximum(np.einsum("mic,mic->m", images, coefs), 0.0))
    sizes = np.sqrt(np.maximum(np.einsum("ic,mij,jc->m", rho, grams, rho), 0.0))
    f = images.sum(axis=0) + np.zeros_like(y)
    if y.shape[1] == 1:
        losses, share = np.maximum(0.0, 1.0 - y * f)[:, 0], (y * rho)[:, 0] / weights
        outside = max(float((-share).max()), float((share - 1.0).max()))
    else:
        own = (y * f).sum(axis=1, keepdims=True)
        losses = np.max(1.0 - y + f - own, axis=1)
        p = y - rho / weights[:, None]
        outside = max(float((-p).max()), float(np.abs(p.sum(axis=1) - 1.0).max()))
    penalty = problem.regularizer
    split = getattr(penalty, "threshold", WIDE(0.0))
    strength, exponent = penalty.alpha - WIDE(split), penalty.p
    q = 2.0 if np.isinf(exponent) else 2.0 * exponent / (exponent + 1.0)
    primal = (weights * losses).sum() + split * norms.sum()
    primal += strength * q_norm(norms, q) ** 2 / 2
    excess = np.maximum(sizes - split, 0.0)
    dual = (y * rho).sum() - q_norm(excess, q / (q - 1.0)) ** 2 / (2 * strength)
    return float(primal), float(dual), outside


def run_one(seed):
    """Return the findings of one problem, as pairs of a category and a sentence."""
    problem, weights = make_problem(seed)
    solver = UFOMKL(tol=1e-2, max_iter=30, random_state=seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = solver.solve(problem)
        except Exception as error:
            return [("exceptions", f"{type(error).__name__}: {error}")]
    findings = [("unwarned", f"{w.filename}:{w.lineno}: {w.message}") for w in caught]
    primal, dual, outside = recompute(problem, weights, found)
    true = (primal - dual) / primal if primal else 0.0
    if outside > 1e-8:
        findings.append(("inconsistent", f"dual point outside by {outside:.2g}"))
    if abs(found.objective - primal) > (SLACK + found.duality_gap) * abs(primal):
        text = f"objective {found.objective:.12g} published, {primal:.12g} true"
        findings.append(("inconsistent", text))
    if not found.duality_gap >= true - SLACK:
        text = f"gap {found.duality_gap:.3g} published, {true:.9g} true"
        findings.append(("below", text))
    if (found.duality_gap <= solver.tol) is not (found.status is Status.CONVERGED):
        text = f"{found.status.name} at a gap of {found.duality_gap:.3g}"
        findings.append(("inconsistent", text))
    return findings
