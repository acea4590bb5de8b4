"""Published dual points as they are, evaluated with 60 digits: each proves its gap.

Elsewhere a dual point is scaled before it is looked at, which hides one that proves
less than what is published. Here nothing is scaled or projected, and all sums are exact
but for the sixtieth digit.
"""

import warnings
from decimal import Decimal, localcontext

import numpy as np
from attack.cases import decades, make_grams

from multikernel.certificates import alpha_max
from multikernel.gram import DenseStack
from multikernel.losses import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    LogisticLoss,
    SquaredLoss,
    weighted,
)
from multikernel.problem import Problem, center_targets
from multikernel.regularizers import BlockElasticNet, BlockL1, SquaredBlockNorm
from multikernel.solvers import Alternating, CuttingPlane, InterleavedNewton, SpicyMKL

DIGITS = 60
SLACK = 1.1e-9
"""How far below the true gap a published one may be: `certificates.ORDINARY`."""

ROUNDED = 1e-12
"""Sums that are to be zero, over the sizes of their terms, and ends of boxes."""

EXPONENTS = (1.0, 4 / 3, 2.0, np.inf)


def make_problem(seed):
    """One to three outputs, kernels of 25 decades, weights of samples of six."""
    random = np.random.default_rng([seed, 36])
    n, size = int(random.integers(6, 20)), int(random.integers(1, 4))
    X = random.standard_normal((n, 3))
    grams = make_grams(random, X, int(random.integers(1, 6)), random.random() < 0.5)
    grams *= 10.0 ** random.uniform(-4.0, 14.0, (len(grams), 1, 1))
    Y = X[:, [0]] * random.standard_normal(size)
    Y = Y + random.choice([0.0, 0.3]) * random.standard_normal((n, size))
    kinds = SquaredLoss(), EpsilonInsensitiveLoss(0.1), HingeLoss(), LogisticLoss()
    loss = kinds[random.choice(4, p=[0.55, 0.15, 0.15, 0.15])]
    if isinstance(loss, HingeLoss | LogisticLoss):
        Y = np.where(np.median(Y, axis=0) < Y, 1.0, -1.0)
        Y[0], Y[1] = 1.0, -1.0
    else:
        Y = Y + random.choice([0.0, 1e3, 1e6])
    weights = np.ones(n)
    if random.random() < 0.5:
        weights = 10.0 ** random.uniform(-3.0, 3.0, n)
    intercept = bool(random.random() < 0.8)
    y = Y[:, 0].copy() if size == 1 else Y
    problem = Problem(
        DenseStack(grams), y, weighted(loss, weights), BlockL1(1.0), intercept
    )
    alpha = (alpha_max(problem) or 1.0) * decades(random, -5.0, 0.1)
    if random.random() < 0.5:
        alpha = n * decades(random, -5.0, 1.0)  # whatever the scales of the kernels
    tol = decades(random, -8.0, -2.0)
    if random.random() < 0.7:
        share = float(random.choice([0.0, 0.1, 0.5, 0.9, 0.99, 1.0]))
        penalty = BlockL1(alpha) if share == 1.0 else BlockElasticNet(alpha, share)
        solver = SpicyMKL(tol=tol)
    else:
        penalty = SquaredBlockNorm(alpha**2, float(random.choice(EXPONENTS)))
        kinds = Alternating, InterleavedNewton, CuttingPlane
        solver = kinds[random.integers(3) if size == 1 else 0](tol=tol)
    return Problem(problem.gram, y, problem.loss, penalty, intercept), weights, solver


def digits(values):
    """Arrays of floats as the decimal numbers that they are."""
    return np.vectorize(Decimal, otypes=[object])(np.asarray(values, dtype=float))


def roots(squares):
    """Square roots of forms; a matrix may be off a kernel by its own rounding."""
    return np.array([max(x, Decimal(0)).sqrt() for x in squares])


def power_norm(x, q):
    """The q-norm, the largest entry for an infinite q."""
    largest = max(x)
    if largest == 0 or np.isinf(q):
        return largest
    return largest * sum((e / largest) ** Decimal(q) for e in x) ** (1 / Decimal(q))


def penalty_value(penalty, norms):
    alpha = Decimal(penalty.alpha)
    if isinstance(penalty, SquaredBlockNorm):
        q = 2.0 / (1.0 + 1.0 / penalty.p)
        return alpha / 2 * power_norm(norms, q) ** 2
    share = Decimal(getattr(penalty, "l1_ratio", 1.0))
    return alpha * (share * sum(norms) + (1 - share) / 2 * (norms @ norms))


def penalty_conjugate(penalty, norms):
    """Omega*, and by how much the point is outside the dual ball, as a share."""
    alpha = Decimal(penalty.alpha)
    if isinstance(penalty, SquaredBlockNorm):
        q = np.inf if penalty.p == 1.0 else 2.0 / (1.0 - 1.0 / penalty.p)
        return power_norm(norms, q) ** 2 / (2 * alpha), Decimal(0)
    share = Decimal(getattr(penalty, "l1_ratio", 1.0))
    if share == 1:
        return Decimal(0), max(max(norms) / alpha - 1, Decimal(0))
    excess = np.maximum(norms - alpha * share, Decimal(0))
    return (excess @ excess) / (2 * alpha * (1 - share)), Decimal(0)


def loss_value(loss, y, f):
    """One loss of numbers."""
    if isinstance(loss, SquaredLoss):
        return (y - f) ** 2 / 2
    if isinstance(loss, EpsilonInsensitiveLoss):
        return max(abs(y - f) - Decimal(loss.epsilon), Decimal(0))
    if isinstance(loss, HingeLoss):
        return max(1 - y * f, Decimal(0))
    z = -y * f
    return max(z, Decimal(0)) + (1 + (-abs(z)).exp()).ln()


def loss_conjugate(loss, y, u):
    """The conjugate of numbers, and how far outside its domain they are."""
    if isinstance(loss, SquaredLoss):
        return u * (u / 2 + y), Decimal(0)
    if isinstance(loss, EpsilonInsensitiveLoss):
        return y * u + Decimal(loss.epsilon) * abs(u), max(abs(u) - 1, Decimal(0))
    a = -y * u
    outside = max(-a, a - 1, Decimal(0))
    if isinstance(loss, HingeLoss):
        return -a, outside
    parts = [p * p.ln() for p in (a, 1 - a) if p > 0]
    return sum(parts, Decimal(0)), outside


def recompute(problem, weights, solution):
    """The true gap of what is published, and how far the dual point is outside."""
    loss = getattr(problem.loss, "loss", problem.loss)
    penalty = problem.regularizer
    shape = (len(problem.y), -1)
    w, y = digits(weights)[:, None], digits(problem.y.reshape(shape))
    K = digits(problem.gram.array)
    coefs = digits(solution.coefs.reshape(len(solution.coefs), *y.shape))
    f, squares = y * 0 + digits(solution.intercept), np.full(len(K), Decimal(0))
    for m, c in zip(solution.active, coefs, strict=True):
        image = K[m] @ c
        squares[m] = (image * c).sum()
        f = f + image
    primal = (w * np.vectorize(loss_value, otypes=[object])(loss, y, f)).sum()
    primal += penalty_value(penalty, roots(squares))
    rho = digits(solution.dual.reshape(shape))
    outside = Decimal(0)
    if problem.fit_intercept:
        sums, sizes = rho.sum(axis=0), np.abs(rho).sum(axis=0)
        outside = max(abs(sums) / np.maximum(sizes, Decimal("1e-300")))
    if isinstance(loss, SquaredLoss | EpsilonInsensitiveLoss):
        # The sum is zero but for rounding, which offsets must not magnify.
        y = y - digits(center_targets(problem).offset)
    each = np.vectorize(loss_conjugate, otypes=[object, object])
    conjugates, beyond = each(loss, y, -rho / w)
    forms = [((k @ rho) * rho).sum() for k in K]
    value, over = penalty_conjugate(penalty, roots(forms))
    dual = -(w * conjugates).sum() - value
    gap = (primal - dual) / max(abs(primal), Decimal("1e-300"))
    return float(gap), float(max(outside, beyond.max(), over))


def run_one(seed):
    """Return the findings of one problem, as pairs of a category and a sentence."""
    problem, weights, solver = make_problem(seed)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        solution = solver.solve(problem)
    with localcontext(prec=DIGITS):
        gap, outside = recompute(problem, weights, solution)
    found = []
    if gap > solution.duality_gap + SLACK:
        text = f"gap {solution.duality_gap:.3g} published, {gap:.9g} proved by the dual"
        found.append(("below", text))
    if outside > ROUNDED:
        text = f"dual point outside its domain by {outside:.2g}"
        found.append(("inconsistent", text))
    return found
