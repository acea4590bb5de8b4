"""Follow paths of many targets side by side, and compute every gap anew."""

import warnings

import numpy as np
from attack.cases import decades, make_grams, offsets

from multikernel.certificates import alpha_max
from multikernel.gram import DenseStack
from multikernel.losses import LogisticLoss, SquaredLoss, weighted
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockL1
from multikernel.solvers import SpicyMKL

WIDE = np.longdouble
SLACK = 1e-7
SHARES = 5
"""Strengths of a path."""


def make_problems(seed):
    """Problems on kernels of all scales, with a strength of each in turn, and a solver.

    Targets have deviations from 1e-8 to 1e8, means of up to 1e9 of these, may be
    constant, and may be there twice; or they are classes, which kernels may separate.
    """
    random = np.random.default_rng([seed, 29])
    n, size = int(random.integers(4, 41)), int(random.integers(2, 6))
    X = random.standard_normal((n, int(random.integers(1, 6))))
    hostile = bool(random.random() < 0.5)
    gram = DenseStack(make_grams(random, X, int(random.integers(1, 9)), hostile))
    Y = np.sin(2.0 * X[:, [0]]) * random.standard_normal(size)
    Y += random.choice([0.0, 0.1, 1.0]) * random.standard_normal((n, size))
    if random.random() < 0.1:
        Y[:, 0] = 1.0
    if random.random() < 0.1:
        Y[:, -1] = Y[:, 0]
    deviations = np.array([decades(random, -8.0, 8.0) for _ in range(size)])
    means = np.array([offsets(random)[0] for _ in range(size)])
    Y = deviations * (Y + means * (random.random(size) < 0.5))
    weights = np.ones(n)
    if random.random() < 0.5:
        weights = 10.0 ** random.uniform(-3.0, 3.0, n)
    intercept = bool(random.random() < 0.8)
    loss = weighted(SquaredLoss(), weights)
    if random.random() < 0.5:
        loss = weighted(LogisticLoss(), weights)
        Y = np.where(np.median(Y, axis=0) < Y, 1.0, -1.0)
        Y[0], Y[1] = 1.0, -1.0  # never one class alone
    problems = [Problem(gram, y.copy(), loss, BlockL1(1.0), intercept) for y in Y.T]
    tops = [alpha_max(problem) or 1.0 for problem in problems]
    shares = np.sort(10.0 ** random.uniform(-5.0, 0.1, SHARES))[::-1]
    strengths = [[BlockL1(float(top * share)) for top in tops] for share in shares]
    return problems, weights, strengths, SpicyMKL(tol=decades(random, -8.0, -2.0))


def _of_classes(problem):
    own = problem.loss
    return isinstance(getattr(own, "loss", own), LogisticLoss)


def _losses(problem, w, y, f):
    """The losses of the samples."""
    if _of_classes(problem):
        return w * np.logaddexp(WIDE(0.0), -y * f)
    return w * (y - f) ** 2 / 2


def recompute(problem, weights, alpha, solution):
    """The true objective and gap, and how far the dual point is outside its domain."""
    grams, y = problem.gram.array.astype(WIDE), problem.y.astype(WIDE)
    w, rho = weights.astype(WIDE), solution.dual.astype(WIDE)
    coefs = solution.coefs.astype(WIDE)
    images = np.einsum("mij,mj->mi", grams[solution.active], coefs)
    forms = np.einsum("mi,mi->m", images, coefs)
    norms = np.sqrt(np.maximum(forms, WIDE(0.0)))
    b = WIDE(solution.intercept[0]) if problem.fit_intercept else WIDE(0.0)
    f = b + images.sum(axis=0)
    primal = _losses(problem, w, y, f).sum() + WIDE(alpha) * norms.sum()
    outside = WIDE(0.0)
    if problem.fit_intercept:
        y = y if _of_classes(problem) else y - y.mean()
        outside = abs(rho.sum()) / max(np.abs(rho).sum(), WIDE(1e-300))
        rho = rho if _of_classes(problem) else rho - rho.mean()
    sizes = np.einsum("i,mij,j->m", rho, grams, rho)
    largest = np.sqrt(np.maximum(sizes, WIDE(0.0))).max() / WIDE(alpha)
    outside = max(float(outside), float(largest) - 1.0)
    rho = rho / max(largest, WIDE(1.0))
    if _of_classes(problem):
        outside = max(
            outside, float(-(y * rho / w).min()), float((y * rho / w).max()) - 1
        )
        a = np.clip(y * rho / w, WIDE(0.0), WIDE(1.0))
        parts = [
            np.where(p > 0.0, p * np.log(np.where(p > 0.0, p, 1.0)), 0.0)
            for p in (a, 1 - a)
        ]
        dual = -(w * (parts[0] + parts[1])).sum()
    else:
        dual = (rho * y).sum() - (rho**2 / w).sum() / 2
    return primal, float((primal - dual) / primal) if primal > 0.0 else 0.0, outside


def run_one(seed):
    """Return the findings of one path, as pairs of a category and a sentence."""
    problems, weights, strengths, solver = make_problems(seed)
    nothing = [None] * len(problems)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            path = list(solver.follow_many(problems, strengths, nothing))
        except Exception as error:
            return [("exceptions", f"{type(error).__name__}: {error}")]
    findings = [("unwarned", f"{w.filename}:{w.lineno}: {w.message}") for w in caught]
    for penalties, found in zip(strengths, path, strict=True):
        for problem, penalty, each in zip(problems, penalties, found, strict=True):
            primal, gap, outside = recompute(problem, weights, penalty.alpha, each)
            if not each.duality_gap >= gap - SLACK:
                text = f"gap {each.duality_gap:.3g} published, {gap:.9g} true"
                findings.append(("below", text))
            if abs(each.objective - primal) > (SLACK + each.duality_gap) * primal:
                text = f"objective {each.objective:.12g} published, {primal:.12g} true"
                findings.append(("inconsistent", text))
            if outside > SLACK:
                text = f"dual point outside its domain by {outside:.2g}"
                findings.append(("inconsistent", text))
            if (each.duality_gap <= solver.tol) is not (
                each.status is Status.CONVERGED
            ):
                text = f"{each.status.name} at a gap of {each.duality_gap:.3g}"
                findings.append(("inconsistent", text))
    return findings
