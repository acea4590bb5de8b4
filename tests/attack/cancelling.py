"""Fit inputs whose digits cancel, and hold the objective to what predicts.

Columns without a penalty far from zero and near one another, and centered kernels that
are small differences of large numbers. The objective is computed once more from
``decision_function``, and compared with that of the same problem in columns that are
well conditioned.
"""

import warnings

import numpy as np
import pandas as pd
from attack.cases import decades
from scipy.special import xlogy

from multikernel import (
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
)
from multikernel.kernels import (
    CenteredKernel,
    ColumnKernel,
    GaussianKernel,
    Interactions,
    PolynomialKernel,
    ProductKernel,
    Unpenalized,
)

SLACK = 1e-7

CLASSES = ("log_loss", "squared_hinge")
LOSSES = ("squared_error", "squared_error", *CLASSES, "poisson", "gamma")
REFUSED = (
    "yields rounding errors",
    "collinear",
    "the same for all samples",
    "coefficients may be infinite",
)
"""Sentences about inputs without a solution, or whose difference is rounding."""


def loss_values(name, y, f):
    """The losses of samples, written down anew."""
    match name:
        case "squared_error":
            return (y - f) ** 2 / 2
        case "log_loss":
            return np.logaddexp(0.0, -y * f)
        case "squared_hinge":
            return np.maximum(0.0, 1.0 - y * f) ** 2 / 2
        case "hinge":
            return np.maximum(0.0, 1.0 - y * f)
        case "poisson":
            return np.exp(f) - y * f + xlogy(y, y) - y
        case "gamma":
            return f + y * np.exp(-f) - 1.0 - np.log(y)
    raise ValueError(name)


def objective(model, loss, X, y, offset=None):
    """The objective of what predicts, from decision values and published norms."""
    f = model.decision_function(X) if hasattr(model, "decision_function") else None
    if f is None:
        f = model.predict(X)
        f = np.log(f) if loss in ("poisson", "gamma") else f
    f = f if offset is None else f + offset
    losses = loss_values(loss, y, f)
    if hasattr(model, "alpha_"):
        return float(losses.mean() + model.alpha_ * model.block_norms_.sum())
    q = 2.0 * model.p / (model.p + 1.0) if hasattr(model, "p") else 2.0
    norm = np.sum(model.block_norms_**q) ** (2.0 / q)
    return float(model.C_ * losses.sum() + norm / 2)


def findings_of(model, true, best=None):
    """What is wrong with an objective: another one predicts, or a small gap."""
    size, gap = abs(model.objective_), float(model.duality_gap_)
    found = []
    if abs(model.objective_ - true) > (gap + SLACK) * max(size, abs(true)):
        text = f"{model.status_}, gap {gap:.3g}: objective {model.objective_:.9g}"
        found.append(("inconsistent", f"{text}, of what predicts {true:.9g}"))
    if best is not None and true - best > (gap + SLACK) * max(size, abs(true)):
        text = f"{model.status_}, gap {gap:.3g}: objective {true:.9g}"
        found.append(("below", f"{text}, a better one is {best:.9g}"))
    return found


def fitted(model, *args, **more):
    """The fitted model, or the sentence that refused its input."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return model.fit(*args, **more), []
        except ValueError as error:
            known = any(each in str(error) for each in REFUSED)
            text = f"{type(error).__name__}: {error}"
            return None, [] if known else [("sentences", text)]
        except Exception as error:
            return None, [("exceptions", f"{type(error).__name__}: {error}")]


def free_columns(random, n):
    """Columns without a penalty, and well-conditioned ones of the same span."""
    q = int(random.integers(1, 4))
    base = random.standard_normal((n, q)) * decades(random, -2.0, 2.0)
    for column in range(1, q):
        if random.random() < 0.6:
            base[:, column] = base[:, 0] + decades(random, -8.0, 0.0) * base[:, column]
    far = random.choice([0.0, 2000.0, 1e5, 1e8, 1e12, 1e18]) * np.abs(base).max()
    columns = far + base
    if random.random() < 0.2 and far > 1e3:
        columns = np.rint(columns)
    wide = columns.astype(np.longdouble)
    wide = wide - wide.mean(axis=0)
    for column in range(q):
        for _ in range(2):
            for other in range(column):
                wide[:, column] -= (wide[:, other] @ wide[:, column]) * wide[:, other]
            wide[:, column] -= wide[:, column].mean()
        length = np.sqrt(wide[:, column] @ wide[:, column])
        wide[:, column] /= length if length else 1.0
    return columns, wide.astype(float) * np.sqrt(n)


def targets_of(random, loss, signal, even):
    """Targets of a loss, and an offset or None."""
    noise = random.standard_normal(len(signal))
    if loss in CLASSES:
        return np.where(signal + noise > 0.0, 1, -1), None
    if loss == "gamma":
        return np.exp(signal + 0.3 * noise), None
    if loss == "poisson":
        offset = random.standard_normal(len(signal)) * (random.random() < 0.5)
        y = random.poisson(np.exp(signal + offset)) * 1.0
        y[0] += 1.0
        return y, offset
    trend = decades(random, 0.0, 6.0) * even[:, 0] * (random.random() < 0.5)
    return signal + 0.1 * noise + trend, None


def method_of(random, loss):
    """An estimator for a loss, and its strength."""
    kind = SpicyMKLClassifier if loss in CLASSES else SpicyMKLRegressor
    if loss == "squared_error":
        kinds = [kind, LpMKLRegressor, SpicyMKLRegressorCV]
        kind = kinds[random.choice(3, p=[0.7, 0.2, 0.1])]
    if kind is LpMKLRegressor:
        return kind, {"C": decades(random, -1.0, 3.0)}
    if kind is SpicyMKLRegressorCV:
        return kind, {"cv": 3, "alphas": [1e-2, 1e-3]}
    return kind, {"alpha": decades(random, -4.0, -1.0)}


def run_columns(seed):
    """Return the findings of one problem with free columns far from zero."""
    random = np.random.default_rng([seed, 71])
    n = int(random.integers(20, 60))
    x = random.standard_normal(n)
    columns, even = free_columns(random, n)
    names = [f"u{k}" for k in range(columns.shape[1])]
    kernels = {"x": (["x"], GaussianKernel(0.7)), "u": Unpenalized(names)}
    loss = str(random.choice(list(LOSSES)))
    signal = np.sin(3 * x) + 0.3 * even @ random.standard_normal(len(names))
    y, offset = targets_of(random, loss, signal, even)
    more = {} if offset is None else {"offset": offset}
    kind, strength = method_of(random, loss)
    storage = str(random.choice(["auto", "dense", "low_rank", "lazy"]))

    def make(tol):
        return kind(kernels, loss=loss, tol=tol, storage=storage, **strength)

    def table(free):
        return pd.DataFrame({"x": x} | dict(zip(names, free.T, strict=True)))

    X, X0 = table(columns), table(even)
    model, found = fitted(make(float(10.0 ** random.uniform(-6, -2))), X, y, **more)
    if model is None:
        return found
    best = None
    if kind is not SpicyMKLRegressorCV:
        other, found = fitted(make(1e-7), X0, y, **more)
        best = None if other is None else objective(other, loss, X0, y, offset)
    return found + findings_of(model, objective(model, loss, X, y, offset), best)


def cancelling_kernel(random):
    """A kernel that is nearly a constant on columns far from zero, or very wide."""
    if random.random() < 0.5:
        return GaussianKernel(decades(random, 1.0, 5.5))
    return PolynomialKernel(int(random.integers(2, 4)))


def run_kernels(seed):
    """Return the findings of one problem whose centered kernels cancel."""
    random = np.random.default_rng([seed, 72])
    n = int(random.integers(15, 45))
    x = random.standard_normal((n, 3))
    far = np.where(random.random(3) < 0.5, 0.0, decades(random, 1.0, 5.0))
    X = pd.DataFrame(x + far, columns=list("abc"))
    if random.random() < 0.15:
        X = X.astype(np.float32)
    parts = {name: cancelling_kernel(random) for name in "abc"}
    near = next(iter(parts))
    parts[near] = GaussianKernel(1.0)
    form = str(random.choice(["interactions", "center", "direct", "precomputed"]))
    normalize = random.choice([None, "trace", "variance"])
    storages = ["auto", "dense", "by_kernel", "low_rank", "lazy", "dense32"]
    storage = str(random.choice(storages))
    if form == "interactions":
        kernels = Interactions({k: ([k], v) for k, v in parts.items()})
    elif form == "direct":
        values = X.to_numpy(float)
        centered = [
            ColumnKernel(CenteredKernel(v, values[:, [i]]), [i])
            for i, v in enumerate(parts.values())
        ]
        kernels = [*centered, ProductKernel(centered[:2])]
        X = values
    else:
        kernels = {k: ([k], v) for k, v in parts.items()}
        normalize = ["center", normalize] if normalize else ["center"]
        storage = "auto" if storage == "by_kernel" else storage
    if form == "precomputed":
        matrices = [v(X[[k]].to_numpy(float)) for k, v in parts.items()]
        kernels, X = "precomputed", np.stack(matrices, axis=2)
        X = X + (random.random() < 0.5) * decades(random, 3.0, 9.0)
        storage = "auto"
    classify = bool(random.random() < 0.5)
    loss = str(random.choice(["hinge", "log_loss"])) if classify else "squared_error"
    y = np.sin(2 * x[:, 0]) + 0.3 * x[:, 1] + 0.4 * random.standard_normal(n)
    y = np.where(y > 0.0, 1, -1) if classify else y
    kind = SpicyMKLClassifier if classify else SpicyMKLRegressor
    model, found = fitted(
        kind(
            kernels,
            loss=loss,
            alpha=decades(random, -5.0, -1.0),
            storage=storage,
            normalize=normalize,
            tol=float(10.0 ** random.uniform(-5, -2)),
        ),
        X,
        y,
    )
    if model is None:
        return found
    return found + findings_of(model, objective(model, loss, X, y))
