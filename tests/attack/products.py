"""Solve random problems of all products of some matrices, and recompute every gap.

The products are written down in extended precision; the solver sees the mains alone,
in half of the problems with single precision for its first looks.
"""

import warnings
from unittest.mock import patch

import numpy as np
from attack.cases import decades, make_grams
from reference.toys import LOSSES

from multikernel.exceptions import ConvergenceWarning
from multikernel.gram import DenseStack, ProductStack, ScaledStack
from multikernel.problem import Problem
from multikernel.regularizers import BlockElasticNet, BlockL1
from multikernel.solvers import SpicyMKL

WIDE = np.longdouble
SLACK = 1e-9


def make_problem(seed):
    """A problem on products of mains of all kinds and scales, and its matrices."""
    random = np.random.default_rng([seed, 25])
    hostile = bool(random.random() < 0.5)
    n, n_mains = int(random.integers(5, 31)), int(random.integers(2, 9))
    mains = make_grams(random, random.standard_normal((n, 4)), n_mains, hostile)
    mains = mains.astype(random.choice([np.float64, np.float32]))
    terms = np.column_stack(np.triu_indices(n_mains, random.integers(2)))
    alone = np.column_stack([np.arange(n_mains), np.full(n_mains, -1)])
    terms = np.vstack([alone, terms])
    K = mains.astype(WIDE)[terms[:, 0]]
    K[terms[:, 1] >= 0] *= mains.astype(WIDE)[terms[terms[:, 1] >= 0, 1]]
    traces = np.einsum("mii->m", K)
    factors = np.where(traces > 0.0, n / np.where(traces > 0.0, traces, 1.0), 0.0)
    scales = factors.astype(float)
    stack = ScaledStack(ProductStack(DenseStack(mains), terms), scales)
    name = str(random.choice(list(LOSSES)))
    y = random.standard_normal((n, 2) if name == "squared_error" else n)
    if name in ("hinge", "log_loss"):
        y = np.where(y > 0.0, 1.0, -1.0)
        y[:2] = -1.0, 1.0
    share = float(random.choice([1.0, 1.0, 0.5]))
    alpha = decades(random, -2.0, 1.0)
    penalty = BlockL1(alpha) if share == 1.0 else BlockElasticNet(alpha, share)
    problem = Problem(stack, y, LOSSES[name](), penalty, bool(random.random() < 0.8))
    return name, problem, K * scales.astype(WIDE)[:, None, None], alpha, share


def values(name, y, f, rho):
    """The loss, and the conjugate at minus the dual point, of every number."""
    if name == "squared_error":
        return (y - f) ** 2 / 2, rho * (rho / 2 - y)
    if name == "hinge":
        return np.maximum(0.0, 1.0 - y * f), -y * rho
    if name == "log_loss":
        p = np.clip(y * rho, 0.0, 1.0)
        # The larger half of the entropy by its small argument.
        entropy = p * np.log(np.where(p > 0.0, p, 1.0))
        entropy += (1.0 - p) * np.log1p(-np.where(p < 1.0, p, 0.0))
        return np.logaddexp(WIDE(0.0), -y * f), entropy
    width = WIDE(LOSSES[name]().epsilon)
    return np.maximum(0.0, np.abs(y - f) - width), width * np.abs(rho) - y * rho


def recompute(name, problem, K, alpha, share, solution):
    """Primal and dual value, and how far the dual point is outside its domain."""
    n = len(problem.y)
    y, rho = (a.reshape(n, -1).astype(WIDE) for a in (problem.y, solution.dual))
    coefs = solution.coefs.reshape(-1, n, y.shape[1]).astype(WIDE)
    images = np.einsum("mij,mjc->mic", K[solution.active], coefs)
    norms = np.sqrt(np.maximum(np.einsum("mic,mic->m", images, coefs), 0.0))
    sizes = np.sqrt(np.maximum(np.einsum("ic,mij,jc->m", rho, K, rho), 0.0))
    losses, conjugates = values(name, y, images.sum(axis=0) + solution.intercept, rho)
    primal = losses.sum()
    primal += alpha * (share * norms.sum() + (1.0 - share) / 2 * (norms @ norms))
    excess = np.maximum(sizes - alpha * share, 0.0)
    dual, outside = -conjugates.sum(), 0.0
    if share < 1.0:
        dual -= (excess @ excess) / (2 * alpha * (1.0 - share))
    else:
        outside = float(excess.max() / alpha)
    if problem.fit_intercept:
        outside = max(outside, float(np.abs(rho.sum(axis=0)).max()))
    low = {"squared_error": -np.inf, "epsilon_insensitive": -1.0}.get(name, 0.0)
    signed = rho * (y if name in ("hinge", "log_loss") else 1.0)
    high = np.inf if name == "squared_error" else 1.0
    outside = max(outside, float((low - signed).max()), float((signed - high).max()))
    return float(primal), float(dual), outside


def run_one(seed):
    """Return the findings of one problem, as pairs of a category and a sentence."""
    name, problem, K, alpha, share = make_problem(seed)
    random = np.random.default_rng([seed, 26])
    module = "multikernel.gram.products"
    n_entries = random.choice([100, 2**18])
    with (
        patch(f"{module}.ENTRIES_AT_ONCE", int(n_entries)),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            found = SpicyMKL(tol=float(10.0 ** random.uniform(-6, -2))).solve(problem)
        except Exception as error:
            return [("exceptions", f"{type(error).__name__}: {error}")]
    primal, dual, outside = recompute(name, problem, K, alpha, share, found)
    true = (primal - dual) / primal if primal else 0.0
    findings = []
    if outside > 1e-8:
        findings.append(("inconsistent", f"dual point outside by {outside:.2g}"))
    if abs(found.objective - primal) > (SLACK + found.duality_gap) * abs(primal):
        text = f"objective {found.objective:.12g} published, {primal:.12g} true"
        findings.append(("inconsistent", text))
    if not found.duality_gap >= true - SLACK:
        text = f"gap {found.duality_gap:.3g} published, {true:.9g} true"
        findings.append(("below", text))
    return findings
