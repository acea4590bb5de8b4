"""Fit random problems of ordered classes, and hold every certificate anew.

The dual value is that of functions and thresholds together. For given slopes rho that
sum to zero it is the least of sum_i w_i l_i(f_i; theta) + rho_i f_i, in f by a
quadratic equation, and in the distances of neighbouring thresholds one by one.
"""

from dataclasses import dataclass

import numpy as np
from attack.cases import TOLERANCES, Case, decades, make_grams, make_weights
from attack.certificate import EPS, WIDE, Recomputed, centered, scales, terms
from attack.problems import (
    SLACK,
    inspect_gaps,
    inspect_values,
    inspect_weights,
    judge,
)

STORAGES = ("dense", "lazy", "low_rank")

ROUNDED = 1e-12
"""How far probabilities may be from those of the thresholds."""

STEPS = 150
"""Halvings of an interval of logarithms."""


@dataclass(frozen=True, eq=False)
class OrdinalCase(Case):
    """A problem of ordered classes."""

    # No loss is a parameter.
    times: tuple | None = ()

    @property
    def family(self):
        return "SpicyMKL"


def make_ordinal_case(seed):
    """The problem of a seed."""
    random = np.random.default_rng([seed, 37])
    hostile = bool(random.random() < 0.8)
    n, n_kernels = int(random.integers(10, 41)), int(random.integers(1, 9))
    X = random.standard_normal((n, int(random.integers(1, 5))))
    grams = make_grams(random, X, n_kernels, hostile)
    score = X[:, 0] + random.choice([0.0, 0.3, 3.0]) * random.standard_normal(n)
    size = int(random.integers(3, 7))
    cuts = np.sort(random.choice(np.arange(1, n), size - 1, replace=False))
    if random.random() < 0.3:
        cuts = np.arange(n - size + 1, n)  # all classes but one have one member
    y = np.empty(n, dtype=int)
    y[np.argsort(score)] = np.searchsorted(cuts, np.arange(n), side="right")
    weights = make_weights(random, n, hostile)
    if weights is not None:
        weights[:2] = np.maximum(weights[:2], 1.0)
        y[0], y[1] = 0, 1  # never one class alone
    settings = {
        "tol": float(random.choice(TOLERANCES)),
        "normalize": None,
        "alpha": 0.01 * decades(random) if hostile else decades(random, -3.0, -1.0),
        "l1_ratio": float(random.choice([1.0, 1.0, 0.9, 0.5, 0.0])),
    }
    form = str(random.choice(["precomputed", "table"]))
    if form == "table":
        settings["storage"] = str(random.choice(STORAGES))
        if random.random() < 0.2:
            settings["normalize"] = "trace"
    kind = "SpicyMKLOrdinal"
    if random.random() < 0.15:
        kind = "SpicyMKLOrdinalCV"
        alphas = settings["alpha"] * np.geomspace(100.0, 1.0, 4)
        settings |= {"alphas": alphas.tolist(), "cv": folds(random, y, weights)}
    return OrdinalCase(seed, kind, settings, "", form, grams, y, weights)


def folds(random, y, weights):
    """Two folds, whose training parts have two classes of samples with a weight."""
    counted = np.ones(len(y)) if weights is None else weights
    lowest, second = np.unique(y[counted > 0.0])[:2]
    both = [np.flatnonzero((y == c) & (counted > 0.0))[0] for c in (lowest, second)]
    rest = random.permutation(np.setdiff1d(np.arange(len(y)), both))
    halves = np.array_split(rest, 2)
    return [(np.concatenate([both, halves[k]]), halves[1 - k]) for k in range(2)]


def log_shares(f, thresholds, grades):
    """Logarithms of the probabilities of grades."""
    ends = np.concatenate([[-np.inf], thresholds, [np.inf]]).astype(WIDE)
    a, b = ends[grades], ends[grades + 1]
    late, early = -np.logaddexp(WIDE(0.0), f - b), -np.logaddexp(WIDE(0.0), a - f)
    return late + early + np.log(-np.expm1(a - b))


def least(c, rho, grades):
    """The least of sum_i w_i l_i + rho_i f_i over values and thresholds."""
    top, r = grades.max(), rho / c
    ends = (grades == 0) | (grades == top)
    p = np.clip(np.abs(r[ends]), WIDE(0.0), WIDE(1.0))
    parts = [
        np.where(x > 0.0, x * np.log(np.where(x > 0.0, x, 1.0)), 0.0)
        for x in (p, 1 - p)
    ]
    total = -(c[ends] * (parts[0] + parts[1])).sum()
    for grade in range(1, top):
        here = grades == grade
        slope = rho[here].sum() / 2.0 + rho[grades > grade].sum()
        low, high = WIDE(-60.0), WIDE(9.0)
        for _ in range(STEPS):
            middle = (low + high) / 2.0
            rise = bent(c[here], r[here], np.exp(middle))[1] + slope
            low, high = (low, middle) if rise > 0.0 else (middle, high)
        width = np.exp((low + high) / 2.0)
        total += bent(c[here], r[here], width)[0] + slope * width
    return total


def bent(c, r, width):
    """The least of losses between thresholds at -+width / 2, and its slope in width."""
    half = np.exp(width / 2.0)
    # Of s = exp f: (1 + r) s^2 + 2 q s = 1 - r.
    q = r * (half + 1.0 / half) / 2.0
    r = np.clip(r, WIDE(-1.0) + WIDE(1e-18), WIDE(1.0) - WIDE(1e-18))
    root = np.sqrt(q * q + (1.0 + r) * (1.0 - r))
    s = np.where(
        q > 0.0, (1.0 - r) / (root + np.abs(q)), (root + np.abs(q)) / (1.0 + r)
    )
    losses = np.log1p(1.0 / (half * s)) + np.log1p(s / half) - np.log(-np.expm1(-width))
    shares = 1.0 / (1.0 + half * s) + 1.0 / (1.0 + half / s)
    slopes = -shares / 2.0 - 1.0 / np.expm1(width)
    return (c * (losses + r * np.log(s))).sum(), (c * slopes).sum()


def recompute(case, model):
    """Return the `Recomputed` of the problem, and its decision values."""
    values, forms, _, sizes = terms(case, model)
    f, kept = values[0].sum(axis=0), case.kept
    factors, grams = scales(case, model)
    weights = np.ones(len(case.y)) if case.weights is None else case.weights
    c = weights[kept].astype(WIDE)
    grades = np.searchsorted(model.classes_, case.y[kept])
    strength, r = WIDE(model.alpha_) * c.sum(), WIDE(case.settings["l1_ratio"])
    norms = np.sqrt(forms[0])
    primal = -(c * log_shares(f[kept], model.thresholds_, grades)).sum()
    primal += strength * (r * norms.sum() + (1.0 - r) / 2.0 * (norms @ norms))
    rho = np.asarray(model.dual_coef_, WIDE)[kept]
    top = len(model.classes_) - 1
    low, high = np.where(grades == 0, -c, -c * (grades < top)), c * (grades > 0)
    low = np.where(grades == top, 0.0, low)
    near = centered(np.clip(rho, low, high), low, high)
    outside = float(np.abs(near - rho).sum() / c.sum())
    square = grams[:, kept[:, None], kept]
    duals = np.einsum("i,mij,j->m", near, square, near) * factors
    duals = np.sqrt(np.maximum(duals, 0.0))
    if r == 1.0:
        shrink = strength / max(strength, duals.max())
        outside = max(outside, float(1.0 - shrink))
        near, duals = shrink * near, shrink * duals
    dual = least(c, near, grades)
    if r < 1.0:
        excess = np.maximum(duals - strength * r, 0.0)
        dual -= (excess @ excess) / (2.0 * strength * (1.0 - r))
    gap = float((primal - dual) / primal)
    blur = float((c * sizes[0][kept]).sum() * EPS / primal)
    truth = float(primal / c.sum()), float(dual / c.sum())
    return Recomputed(*truth, gap, outside, blur, f[None], sizes)


def inspect_ordinal(case, model, warned):
    """Compare all that a fit publishes with what it truly is."""
    names = ("objective_", "thresholds_", "dual_coef_", "kernel_weights_")
    broken = [n for n in names if not np.isfinite(getattr(model, n)).all()]
    if broken or not np.all(np.diff(model.thresholds_) > 0.0):
        return [("inconsistent", f"not finite, or not increasing: {broken}")]
    weights = np.ones(len(case.y)) if case.weights is None else case.weights
    if not np.array_equal(model.classes_, np.unique(case.y[weights > 0.0])):
        return [("inconsistent", f"classes {model.classes_}")]
    outputs = [recompute(case, model)]
    return (
        inspect_gaps(case, model, outputs, warned, SLACK)
        + inspect_values(case, model, outputs)
        + inspect_weights(case, model)
        + inspect_probabilities(case, model)
    )


def inspect_probabilities(case, model):
    """Probabilities sum to one and are those of the thresholds; labels follow them."""
    X = case.inputs()[0]
    f, shares = model.linear_predictor(X).astype(WIDE), model.predict_proba(X)
    grades = np.arange(len(model.classes_))
    true = np.exp(log_shares(f[:, None], model.thresholds_, grades[None]))
    found = []
    if not np.abs(shares.sum(axis=1) - 1.0).max() <= ROUNDED or (shares < 0.0).any():
        found.append(("inconsistent", "probabilities do not sum to one"))
    if not np.abs(shares - true).max() <= ROUNDED:
        text = f"probabilities off by {float(np.abs(shares - true).max()):.2g}"
        found.append(("inconsistent", text))
    labels = model.classes_[shares.argmax(axis=1)]
    if not np.array_equal(model.predict(X), labels):
        found.append(("inconsistent", "labels are not the most probable classes"))
    return found


def run_one(seed):
    """Return the findings of one problem, as pairs of a category and a sentence."""
    return judge(make_ordinal_case(seed), inspect_ordinal)
