"""Random problems with what stands beside kernels: known parts, columns, times.

A problem of `attack.cases` gets an offset of its decision values, columns without a
penalty, weights of its penalties, kernels that are held in parts, or times to an event
for its targets, one or several of these.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
from attack.cases import MORE_LOSSES, decades, make_case, well_spread
from scipy.optimize import linprog

LOSSES = (
    "HingeLoss",
    "LogisticLoss",
    "SquaredLoss",
    "EpsilonInsensitiveLoss",
    *MORE_LOSSES,
)
CORNERS = ("HingeLoss", "EpsilonInsensitiveLoss", "PinballLoss")
"""Losses beside which no column is without a penalty."""

STORAGES = ("dense", "lazy", "dense32", "by_kernel", "low_rank")


def make_beside_case(seed):
    """The problem of a seed."""
    random = np.random.default_rng([seed, 27])
    loss = str(random.choice(LOSSES))
    squared = loss == "SquaredLoss"
    classifies = "Hinge" in loss or loss == "LogisticLoss"
    classifies |= squared and random.random() < 0.5
    case = make_case(seed, bool(classifies), (loss,), 28)
    settings = case.settings | {"normalize": None}
    case = replace(case, settings=settings)
    if case.form == "table":
        case = with_storage(random, case)
    if case.family == "SpicyMKL" and random.random() < 0.2:
        case = with_times(random, case)
    smooth = case.loss not in CORNERS and (squared or case.family != "GroupOMP")
    if case.form == "table" and smooth and random.random() < 0.6:
        case = with_columns(random, case)
    several = not case.regresses and len(np.unique(case.y)) > 2
    one_selection = several and squared and case.family in ("SpicyMKL", "LpMKL")
    if one_selection and case.columns is None and random.random() < 0.3:
        settings = case.settings | {"selection": "shared", "solver": "auto"}
        case = replace(case, settings=settings)
    if case.times is None and random.random() < 0.5:
        case = replace(case, offset=known_part(random, case))
    sparse = case.family in ("SpicyMKL", "GroupOMP") and case.times is None
    if sparse and random.random() < 0.5:
        weights = 10.0 ** random.uniform(-2.0, 2.0, len(case.grams))
        settings = case.settings | {"penalty_weights": weights.tolist()}
        case = replace(case, settings=settings)
    return case


def with_storage(random, case):
    """Kernels held in any way, and normalized where nothing hides from the probes."""
    settings = case.settings | {"storage": str(random.choice(STORAGES))}
    if random.random() < 0.3 and settings["storage"] != "dense32":
        name = str(random.choice(["trace", "variance"]))
        if name == "trace" or well_spread(case.grams):
            settings["normalize"] = name
    return replace(case, settings=settings)


def with_times(random, case):
    """Times in place of targets: events, censored on either side, and intervals."""
    n = len(case.y)
    spread = decades(random, -2.0, 1.0)
    logs = spread * random.standard_normal(n) + random.choice([0.0, 3.0, -20.0])
    longer = logs + decades(random, -3.0, 1.0) * random.exponential(size=n)
    kind = random.choice(4, n, p=random.dirichlet(np.full(4, 0.7)))
    kind[:2] = 0
    low = np.where(kind == 2, 0.0, np.exp(logs))
    high = np.where(kind == 1, np.inf, np.exp(np.where(kind == 3, longer, logs)))
    with np.errstate(divide="ignore"):
        times = tuple(np.log(end).astype(np.longdouble) for end in (low, high))
    names = ("tol", "fit_intercept", "normalize", "alpha", "l1_ratio", "storage")
    settings = {k: v for k, v in case.settings.items() if k in names}
    y = pd.DataFrame({"lower": low, "upper": high})
    kind = "SpicyMKLSurvival"
    loss = "LogLogisticLoss"
    return replace(case, kind=kind, settings=settings, loss=loss, y=y, times=times)


def with_columns(random, case):
    """One to three columns of any unit, and of any mean where there is an intercept."""
    n, size = len(case.y), int(random.integers(1, 4))
    columns = random.standard_normal((n, size))
    if case.settings["fit_intercept"]:
        columns += random.choice([0.0, 1.0, 100.0], size)
    case = replace(case, columns=columns * 10.0 ** random.uniform(-3.0, 3.0, size))
    if any(endless(case, columns, signs) for signs in open_ends(case)):
        return replace(case, columns=None)
    return case


def open_ends(case):
    """Signs of decision values that may grow for ever at no loss, zero where none may.

    One row for each output.
    """
    if case.loss == "LogisticLoss":
        classes = np.unique(case.y)
        ones = classes[: 1 if len(classes) == 2 else None]
        return [np.where(case.y == one, 1.0, -1.0) for one in ones]
    if case.loss == "PoissonLoss":
        return [np.where(case.y > 0.0, 0.0, -1.0)]
    if case.times is not None:
        low, high = (np.isinf(end).astype(float) for end in case.times)
        return [high - low]
    return []


def endless(case, columns, signs):
    """Whether columns have no best coefficients, as they tell classes apart."""
    columns, signs = columns[case.kept], signs[case.kept]
    if case.settings["fit_intercept"]:
        columns = np.column_stack([np.ones(len(columns)), columns])
    margins = signs[:, None] * columns
    best = linprog(
        -margins.sum(axis=0),
        -margins,
        np.zeros(len(columns)),
        columns[signs == 0.0],
        np.zeros(np.count_nonzero(signs == 0.0)),
        bounds=(-1.0, 1.0),
    )
    return best.fun < -1e-9


def known_part(random, case):
    """An offset of decision values, in their units, of any size."""
    unit = 1.0
    if case.regresses and case.loss not in ("PoissonLoss", "GammaLoss"):
        unit = float(np.ptp(case.y)) or 1.0
    size = unit * decades(random, -3.0, 0.5)
    several = not case.regresses and len(np.unique(case.y)) > 2
    shape = (len(case.y), 3) if several else len(case.y)
    return size * (random.standard_normal(shape) + random.choice([0.0, 1.0]))
