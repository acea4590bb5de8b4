"""Random problems with hostile scales, each made from a seed alone."""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np

from multikernel import estimators, losses
from multikernel.estimators import stack_grams
from multikernel.kernels import ColumnKernel, LinearKernel, Unpenalized
from multikernel.regularizers import BlockElasticNet, BlockL1
from multikernel.solvers import SpicyMKL

EXPONENTS = (1.0, 1.0001, 1.1, 4 / 3, 2.0, 4.0, 1000.0, np.inf)
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-6, 1e-8)
LOSS_NAMES = {kind.__name__: name for name, kind in losses.LOSSES.items()}
CLASSIFICATION = ("HingeLoss", "LogisticLoss", "SquaredLoss")
REGRESSION = ("SquaredLoss", "EpsilonInsensitiveLoss")
MORE_LOSSES = (
    "SquaredHingeLoss",
    "PinballLoss",
    "HuberLoss",
    "PoissonLoss",
    "GammaLoss",
)
CENTERED = ("SquaredLoss", "EpsilonInsensitiveLoss", "PinballLoss", "HuberLoss")
"""Losses of y - f alone."""

FAMILIES = ("LpMKL", "SpicyMKL", "FixedWeightsMKL", "GroupOMP")
CONVEX = (
    "LpMKL",
    "SpicyMKL",
    "FixedWeightsMKL",
    "LocalRademacherMKL",
    "alignment",
    "single",
    "MKL",
)
"""Estimators of regression with a certificate, but for HKL, whose are no matrices."""

WEIGHTS = ("alignment", "single")
"""Kernel weights of `FixedWeightsMKL` that depend on the targets."""

SOLVERS = ("auto", "newton", "alternating", "cutting_plane")
SPARSE_SOLVERS = ("silp", "simple", "hessian")
GRADIENT_STEPS = 300
"""Of SimpleMKL at most: one descent in a hundred zigzags, for thousands of them."""
KINDS = ("gaussian", "linear", "factor", "rank one", "zero", "copy", "near", "unit")


class TableKernel:
    """A kernel given by its matrix, on rows that hold the number of a sample.

    Numbers from n on are probes: probe j has k(probe, x_j) = unit and k(probe, x) = 0
    for all other training samples, so a model's term there is a multiple of its
    coefficient j. The last number is a probe with k = 0 everywhere. So public methods
    tell the whole model.
    """

    def __init__(self, table, unit=1.0):
        n = len(table)
        self.table = np.zeros((2 * n + 1, 2 * n + 1))
        self.table[:n, :n] = table
        self.table[n : 2 * n, :n] = self.table[:n, n : 2 * n] = unit * np.eye(n)

    def __call__(self, X, Y=None):
        rows = X[:, 0].astype(int)
        columns = rows if Y is None else Y[:, 0].astype(int)
        return self.table[np.ix_(rows, columns)]

    def diag(self, X):
        rows = X[:, 0].astype(int)
        return self.table[rows, rows]


@dataclass(frozen=True, eq=False)
class Case:
    """One problem: an estimator by name, its parameters, and the data.

    ``form`` says how kernels are handed over: "precomputed", "table" (`TableKernel`)
    or "linear" (linear kernels on groups of columns of ``X``). ``offset`` is one of
    decision values, ``columns`` have no penalty, and ``times`` are the ends that the
    logarithms of times are between, see `attack.beside`.
    """

    seed: int
    kind: str
    settings: dict[str, Any]
    loss: str
    form: str
    grams: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    X: np.ndarray | None = None
    groups: tuple = ()
    offset: np.ndarray | None = None
    columns: np.ndarray | None = None
    times: tuple | None = None

    @property
    def family(self):
        kind = self.kind.removesuffix("CV").removesuffix("Survival")
        return kind.removesuffix("Classifier").removesuffix("Regressor")

    @property
    def regresses(self):
        """Whether targets are numbers, in a search too."""
        return self.kind.removesuffix("CV").endswith(("Regressor", "Survival"))

    @property
    def kept(self):
        """Rows of non-zero weight."""
        n = len(self.y)
        return np.arange(n) if self.weights is None else np.flatnonzero(self.weights)

    @property
    def units(self):
        """The values of each kernel at its probes: as large as its others.

        Centered, a small one would drown in the means of the rows. Powers of two do not
        round.
        """
        if self.form == "linear":
            return np.ones(len(self.grams))
        largest = np.abs(self.grams).max(axis=(1, 2)).astype(float)
        return 2.0 ** np.ceil(np.log2(np.where(largest > 0.0, largest, 1.0)))

    def estimator(self):
        """The estimator, not fitted."""
        if self.form == "precomputed":
            kernels = "precomputed"
        elif self.form == "table":
            pairs = zip(self.grams, self.units, strict=True)
            kernels = [TableKernel(gram, unit) for gram, unit in pairs]
        else:
            kernels = [
                ColumnKernel(LinearKernel(), list(group)) for group in self.groups
            ]
        if self.columns is not None:
            places = list(range(1, 1 + self.columns.shape[1]))
            kernels = {"tables": ([0], kernels), "columns": Unpenalized(places)}
        kind = getattr(estimators, self.kind)
        names = inspect.signature(kind).parameters
        settings = {k: v for k, v in self.settings.items() if k in names}
        if "Cs" in names:
            settings["Cs"] = [self.settings["C"]]
        if self.family == "MKL":
            alpha, share = self.settings["alpha"], self.settings["l1_ratio"]
            penalty = BlockL1(alpha) if share == 1.0 else BlockElasticNet(alpha, share)
            settings["regularizer"] = penalty
            settings["solver"] = SpicyMKL(tol=self.settings["tol"])
        if self.times is None:
            settings["loss"] = LOSS_NAMES[self.loss]
        return kind(kernels, **settings)

    def inputs(self):
        """X for the fit, X of the unit probes, and X of the zero probe."""
        n = len(self.y)
        if self.form == "precomputed":
            units = self.units * np.eye(n)[:, :, None]
            return stack_grams(self.grams), units, np.zeros_like(units[:1])
        if self.form == "table":
            numbers = np.arange(2 * n + 1.0)[:, None]
            if self.columns is not None:
                rest = np.zeros((n + 1, self.columns.shape[1]))
                numbers = np.hstack([numbers, np.vstack([self.columns, rest])])
            return numbers[:n], numbers[n:-1], numbers[-1:]
        d = self.X.shape[1]
        return self.X, np.eye(d), np.zeros((1, d))

    def __str__(self):
        n, m = self.grams.shape[1], len(self.grams)
        settings = ", ".join(f"{k}={v!r}" for k, v in self.settings.items())
        extras = ("weights", "offset", "columns", "times")
        given = [f", {name}" for name in extras if getattr(self, name) is not None]
        return (
            f"seed {self.seed}: {self.kind}({settings}, loss={self.loss}), "
            f"{n} x {m} {self.form}{''.join(given)}"
        )


def decades(random, low=-4.0, high=4.0):
    """A number whose decade is uniform."""
    return float(10.0 ** random.uniform(low, high))


def one_gram(random, kind, X, earlier):
    """One positive semidefinite matrix of a kind, before its scale."""
    n = len(X)
    if kind == "gaussian":
        columns = X[:, : random.integers(1, X.shape[1] + 1)]
        squares = ((columns[:, None] - columns[None]) ** 2).sum(axis=-1)
        return np.exp(-squares / (2.0 * decades(random, -1.0, 1.5) ** 2))
    if kind == "linear":
        return X @ X.T
    if kind == "factor":
        factor = random.standard_normal((n, random.integers(1, n + 1)))
        return factor @ factor.T
    if kind == "rank one":
        return np.outer(X[:, 0], X[:, 0])
    if kind in ("copy", "near") and earlier:
        chosen = earlier[random.integers(len(earlier))]
        shift = decades(random, -14.0, -4.0) if kind == "near" else 0.0
        return chosen + shift * np.trace(chosen) / n * np.eye(n)
    if kind == "unit":
        return np.eye(n) if random.random() < 0.5 else np.ones((n, n))
    return np.zeros((n, n))


def make_grams(random, X, n_kernels, hostile):
    """Matrices of all kinds, over eight decades where the problem is hostile."""
    kinds = random.choice(KINDS[: 3 if not hostile else None], n_kernels)
    grams = []
    for kind in kinds:
        gram = one_gram(random, kind, X, grams)
        if kind not in ("copy", "near") and hostile:
            gram = gram * decades(random)
        grams.append((gram + gram.T) / 2.0)
    return np.stack(grams)


def make_targets(random, X, loss, classifies, outputs, hostile):
    """Signs or classes, or numbers over eight decades."""
    score = X[:, 0] + random.choice([0.0, 0.3, 3.0]) * random.standard_normal(len(X))
    if classifies:
        if outputs > 1:
            y = np.digitize(score, np.quantile(score, [1 / 3, 2 / 3]))
        else:
            y = (score > np.quantile(score, random.choice([0.1, 0.5, 0.9]))).astype(int)
        y[:3] = np.arange(3) % (3 if outputs > 1 else 2)
        return y
    if loss in ("PoissonLoss", "GammaLoss"):
        mean = np.exp(score) * (decades(random, -1.0, 4.0) if hostile else 1.0)
        y = random.poisson(mean).astype(float) if loss == "PoissonLoss" else mean
        y[0] = max(y[0], 1.0)
        return y
    if hostile and random.random() < 0.05:
        return np.full(len(X), decades(random))
    scale, offset = (decades(random), decades(random)) if hostile else (1.0, 0.0)
    return scale * score + offset * random.integers(2)


def make_weights(random, n, hostile):
    """No weights, whole ones with zeros, or real ones over eight decades."""
    draw = random.random()
    if draw < 0.6:
        return None
    if draw < 0.8:
        weights = random.integers(0, 4, n).astype(float)
        weights[:3] = 1.0
        return weights
    return 10.0 ** random.uniform(-4, 4, n) if hostile else random.uniform(0.5, 2.0, n)


def make_settings(random, family, loss, classifies, y, hostile):
    """Parameters of an estimator of the family."""
    settings = {
        "tol": float(random.choice(TOLERANCES[: None if hostile else 3])),
        "fit_intercept": bool(random.random() < 0.7),
        "normalize": None,
    }
    strength = decades(random) if hostile else decades(random, -1.0, 1.0)
    if family in ("SpicyMKL", "MKL", "GroupOMP"):
        settings["alpha"] = 0.01 * strength
    else:
        settings["C"] = strength
    if family == "LpMKL":
        p = float(random.choice(EXPONENTS))
        solvers = SOLVERS + (SPARSE_SOLVERS if p == 1.0 else ())
        settings["p"], settings["solver"] = p, str(random.choice(solvers))
        if settings["solver"] == "simple":
            settings["max_iter"] = GRADIENT_STEPS
    if family == "SpicyMKL":
        settings["l1_ratio"] = float(random.choice([1.0, 1.0, 0.9, 0.5, 0.0]))
    if family == "GroupOMP":
        settings["tol"] = float(random.choice([0.0, 1e-6, 1e-3]))
    if loss == "EpsilonInsensitiveLoss":
        spread = float(np.abs(y).max()) or 1.0
        settings["epsilon"] = spread * float(random.choice([0.0, 0.01, 0.1, 0.6, 2.0]))
    if loss == "HuberLoss":
        spread = float(np.ptp(y)) or 1.0
        settings["epsilon"] = spread * float(random.choice([0.01, 0.1, 0.6, 2.0]))
    if loss == "PinballLoss" and family in ("SpicyMKL", "LpMKL"):
        settings["quantile"] = float(random.choice([0.01, 0.1, 0.5, 0.8]))
    if loss == "PinballLoss" and settings.get("solver") in ("simple", "hessian"):
        settings["solver"] = "auto"
    return settings


def make_loss_case(seed):
    """The problem of a seed, of a loss beside those of the papers."""
    loss = MORE_LOSSES[seed % len(MORE_LOSSES)]
    return make_case(seed, "SquaredHinge" in loss, (loss,), 25)


def make_case(seed, classifies=None, allowed=(), line=20):
    """The problem of a seed, of a loss of those allowed."""
    random = np.random.default_rng([seed, line])
    hostile = bool(random.random() < 0.8)
    family = str(random.choice(FAMILIES, p=[0.4, 0.3, 0.15, 0.15]))
    coin = bool(random.random() < 0.5)
    classifies = coin if classifies is None else classifies
    allowed = allowed or (CLASSIFICATION if classifies else REGRESSION)
    loss = str(random.choice(allowed))
    n, n_kernels = int(random.integers(10, 41)), int(random.integers(1, 13))
    X = random.standard_normal((n, int(random.integers(1, 7))))
    outputs = 3 if classifies and random.random() < 0.15 else 1
    y = make_targets(random, X, loss, classifies, outputs, hostile)
    settings = make_settings(random, family, loss, classifies, y, hostile)
    weights = make_weights(random, n, hostile)
    form = str(random.choice(["precomputed", "table", "linear"], p=[0.55, 0.3, 0.15]))
    groups = ()
    if form == "linear":
        settings["storage"] = "low_rank" if family == "GroupOMP" else "auto"
        if hostile:
            X = X * 10.0 ** random.uniform(-2, 2, X.shape[1])
        groups = tuple(
            tuple(
                int(i)
                for i in random.choice(
                    X.shape[1], random.integers(1, X.shape[1] + 1), replace=False
                )
            )
            for _ in range(n_kernels)
        )
        wide = X.astype(np.longdouble)
        grams = np.stack([wide[:, list(g)] @ wide[:, list(g)].T for g in groups])
    else:
        grams = make_grams(random, X, n_kernels, hostile)
        if form == "table":
            settings["storage"] = str(random.choice(["dense", "lazy", "dense32"]))
    if random.random() < 0.25 and settings.get("storage") != "dense32":
        name = str(random.choice(["trace", "variance", "center"]))
        if name == "trace" or well_spread(grams):
            settings["normalize"] = name
            # Without an intercept coefficients may have a mean, which centered kernels
            # do not see, and which hides the others from the probes.
            settings["fit_intercept"] |= name == "center"
    kind = family + ("Classifier" if classifies else "Regressor")
    return Case(seed, kind, settings, loss, form, grams, y, weights, X, groups)


def well_spread(grams):
    """Whether no matrix is nearly constant: its variance is known to many digits."""
    sizes = np.trace(grams, axis1=1, axis2=2) / grams.shape[1]
    return bool(np.all(sizes - grams.mean(axis=(1, 2)) > 1e-3 * sizes))


def make_offset_case(seed):
    """The problem of a seed, of regression about numbers far from zero.

    Targets have deviations from 1e-8 to 1e8, and means of up to 1e9 of these.
    """
    random = np.random.default_rng([seed, 23])
    family = str(random.choice(CONVEX, p=[0.3, 0.3, *[0.08] * 5]))
    loss = str(random.choice(REGRESSION))
    n, n_kernels = int(random.integers(10, 41)), int(random.integers(1, 9))
    X = random.standard_normal((n, int(random.integers(1, 7))))
    shared = family in ("LpMKL", "SpicyMKL") and random.random() < 0.2
    noise = random.choice([0.0, 0.1, 1.0]) * random.standard_normal((n, 2))
    y = np.sin(2.0 * X[:, [0, -1]]) + noise
    y = decades(random, -8.0, 8.0) * (y + random.choice([-1, 1]) * offsets(random))
    y = y if shared else y[:, 0]
    # A search among kernels would need samples in every fold.
    weights = None if family == "single" else make_weights(random, n, False)
    settings = make_settings(random, family, loss, False, y, False)
    settings["fit_intercept"] = bool(random.random() < 0.9)
    # Of models from nearly constant to nearly exact.
    degree = 1.0 if loss == "SquaredLoss" else 0.0
    deviation = float(np.ptp(y, axis=0).max()) or 1.0
    strength = decades(random, -3.0, 5.0)
    if "C" in settings:
        settings["C"] = strength * deviation ** (degree - 1.0)
    else:
        settings["alpha"] = deviation**degree / strength
        settings["l1_ratio"] = float(random.choice([1.0, 0.5]))
    if loss == "EpsilonInsensitiveLoss":
        settings["epsilon"] = deviation * float(random.choice([0.0, 0.01, 0.1]))
    grams = make_grams(random, X, n_kernels, False)
    if family == "LocalRademacherMKL":
        settings["theta"], settings["p"] = int(random.integers(0, 3)), 2.0
        # Beyond their rank matrices would have no tail.
        grams += 0.1 * np.einsum("mii->m", grams)[:, None, None] / n * np.eye(n)
    if shared:
        settings["selection"] = str(random.choice(["shared", "separate"]))
        settings.pop("solver", None)
    form = "precomputed"
    if random.random() < 0.4:
        form = "table"
        settings["storage"] = str(random.choice(["dense", "lazy"]))
    # The best single kernel is found by a search.
    ending = "Regressor" + "CV" * (family == "single")
    if family in WEIGHTS:
        settings["kernel_weights"], family = family, "FixedWeightsMKL"
    kind = family + ending
    return Case(seed, kind, settings, loss, form, grams, y, weights, X)


def offsets(random):
    """Means of the two outputs, in deviations."""
    return np.array([decades(random, 0.0, 9.0), decades(random, 0.0, 9.0)])
