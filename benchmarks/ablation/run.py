"""What each mechanism is worth: whole public calls with and without it.

Run ``python benchmarks/ablation/run.py``, or some mechanisms by name (``--page`` writes
the page alone). Each call runs in a process of its own, with the mechanism and without
it in turn. Seconds are of the processor, on one BLAS thread. Rows of mechanisms that
were deleted stay in results.json with the commit of their measurement.
"""

import os

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"))

import argparse
import json
import resource
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
from benchmarks.measure import Results, Row, cpu, in_child, limit_cpu, measured, read
from benchmarks.middle.run import problem as middle
from benchmarks.outputs.targets import SPACES, problem as targets
from benchmarks.tables.generated import adult
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

import multikernel as mk
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    FunctionKernel,
    GaussianKernel,
    Interactions,
    LinearKernel,
    PolynomialKernel,
    per_column,
    random_subset_gaussians,
)
from multikernel.kernels.graph import HermiteGrid, PolynomialGrid

HERE = Path(__file__).parent
KEY = ("mechanism", "call")
REPEATS = 3
LIMIT = 300
"""Processor seconds after which a call is ended."""
WORTH = 1.3
"""A mechanism stays if a call takes so many times the time or memory without it."""
SMALL = 60
"""Samples of the fit that compiles everything before a call is measured."""

REASONS = {
    "sample": " Fits of 1 000 000 rows and 20 kernels in benchmarks/scale took 151 s "
    "of the processor without it and 58 with it (single runs on a busy machine).",
    "sparse images": " Dense stacks keep a form of them in matvec, see rows of a small "
    "support.",
    "one look at given matrices": " It is kept because products in single precision "
    "read one triangle, so asymmetry needs its own check, and because arrays mapped "
    "from files are read once.",
    "faces of all classes": " They are kept for up to 200 samples with mass on several "
    "classes, and for more samples if sweeps make no progress: without them a problem "
    "with a kernel of rank one and of scale 1e6 does not converge "
    "(tests/machines/test_coupled.py).",
    "rows of a small support": " It is kept in dense stacks; other storages multiply "
    "by the whole vector.",
    "halved steps": " It is kept: earlier removals made that call 1.2 times as slow, "
    "and no call may become slower than 1.3 times by all removals together.",
    "look ahead": " It is kept: on 300 samples of pumadyn-32nm (30 draws, alpha = "
    "0.003), the mean R2 on new samples is 0.40 without it and 0.57 with it.",
    "race order": " It is kept: it has five lines and is close to the limit.",
    "kept ratios": " Compiled loops without unrolling took 1.15 times as long on 2000 "
    "rows, and were removed too.",
}
"""Reasons of decisions that do not follow from the ratios."""

Data = tuple[Any, Any]


@dataclass(frozen=True)
class Call:
    """A public call: the estimator, and its data for a number of samples."""

    make: Callable[[], Any]
    data: Callable[[int], Data]
    n_samples: int


def voxels(n_targets: int) -> Callable[[int], Data]:
    """Return the data of many targets, each of which depends on two feature spaces."""

    def draw(n_samples: int) -> Data:
        data = targets(n_targets, 20, n_samples)
        return data["X"], data["Y"]

    return draw


def spaces() -> dict[str, Any]:
    """Return one linear kernel for each feature space of `voxels`."""
    return {
        f"space {k}": (list(range(20 * k, 20 * (k + 1))), LinearKernel())
        for k in range(SPACES)
    }


def separate(**settings: Any) -> Any:
    """Return the search with a strength for every target."""
    return mk.SpicyMKLRegressorCV(
        spaces(), loss="squared_error", selection="separate", **settings
    )


def cancer(n_samples: int) -> Data:
    """Return standardized samples of breast cancer."""
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:n_samples], y[:n_samples]


def digits(n_samples: int) -> Data:
    """Return samples of the first six digits."""
    X, y = load_digits(n_class=6, return_X_y=True)
    return X[:n_samples] / 16.0, y[:n_samples]


def table(n_samples: int) -> Data:
    """Return a label that depends on five of twenty columns, two of them together."""
    return middle(n_samples, targets=False)


def numbers(n_samples: int) -> Data:
    """Return a number that depends on five of twenty columns, two of them together."""
    return middle(n_samples, targets=True)


def wide(n_samples: int) -> Data:
    """Return a number that depends on two of 200 columns, and on their product."""
    X = np.random.default_rng(0).standard_normal((n_samples, 200))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 0]


def grid(n_columns: int) -> Callable[[int], Data]:
    """Return the data of a number that depends on x1, x2^2 x3 and x4 x5 x6."""

    def draw(n_samples: int) -> Data:
        random = np.random.default_rng(0)
        X = random.standard_normal((n_samples, n_columns))
        y = X[:, 0] + X[:, 1] ** 2 * X[:, 2] + X[:, 3] * X[:, 4] * X[:, 5]
        return X, y + 0.5 * random.standard_normal(n_samples)

    return draw


def grid_classes(n_columns: int) -> Callable[[int], Data]:
    """Return the data of `grid` with the sign of its number as the class."""

    def draw(n_samples: int) -> Data:
        X, y = grid(n_columns)(n_samples)
        return X, (y > 0.0).astype(int)

    return draw


def bands() -> list[Any]:
    """Return 837 Gaussian kernels, the count of the SpicyMKL paper's ringnorm."""
    return [
        *per_column(GaussianKernel("median"), 30),
        *[GaussianKernel(s) for s in np.geomspace(0.1, 100.0, 807)],
    ]


def wider(n_samples: int) -> Data:
    """Return a number that depends on two of 1000 columns, and on their product."""
    X = np.random.default_rng(0).standard_normal((n_samples, 1000))
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 0]


def many_bands(n_kernels: int) -> list[Any]:
    """Return Gaussian kernels on all columns, from narrow to broad."""
    return [GaussianKernel(s) for s in np.geomspace(0.1, 100.0, n_kernels)]


class Predicting:
    """A model whose fit includes predictions for 20 000 rows."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> Any:
        """Fit, then predict."""
        self.model.fit(X, y).predict(np.tile(X, (-(-20_000 // len(X)), 1)))
        return self.model


LP_CALLS = {
    "lp, 5000 rows": Call(mk.LpMKLClassifier, table, 5000),
    "lp, p = 1, 20100 kernels": Call(
        lambda: mk.LpMKLRegressor(
            Interactions(per_column(GaussianKernel("median"), 200)), p=1.0
        ),
        wide,
        400,
    ),
    "lp, p = 1, 837 kernels, predictions": Call(
        lambda: Predicting(mk.LpMKLClassifier(bands(), p=1.0)), cancer, 100
    ),
}
"""Calls of lp-norm learning and its machines."""

CALLS = LP_CALLS | {
    "search, 2 targets": Call(separate, voxels(2), 200),
    "search, 40 targets": Call(separate, voxels(40), 200),
    "search, 200 targets": Call(separate, voxels(200), 300),
    "shared, 400 targets": Call(
        lambda: mk.SpicyMKLRegressor(spaces(), loss="squared_error"), voxels(400), 100
    ),
    "fit, 400 rows": Call(mk.SpicyMKLClassifier, table, 400),
    "fit, 5000 rows": Call(mk.SpicyMKLClassifier, table, 5000),
    "hinge, 400 rows": Call(lambda: mk.SpicyMKLClassifier(loss="hinge"), table, 400),
    "hinge, 2000 rows": Call(lambda: mk.SpicyMKLClassifier(loss="hinge"), table, 2000),
    "hinge, 837 kernels": Call(
        lambda: mk.SpicyMKLClassifier(bands(), loss="hinge"), cancer, 400
    ),
    "837 kernels": Call(lambda: mk.SpicyMKLClassifier(bands()), cancer, 400),
    "search, 400 rows": Call(mk.SpicyMKLClassifierCV, table, 400),
    "search, hinge": Call(lambda: mk.SpicyMKLClassifierCV(loss="hinge"), cancer, 400),
    "search, six classes": Call(mk.SpicyMKLClassifierCV, digits, 400),
    "20100 kernels": Call(
        lambda: mk.SpicyMKLRegressor(
            Interactions(per_column(GaussianKernel("median"), 200))
        ),
        wide,
        400,
    ),
    "hinge, 40 kernels, alpha 0.001": Call(
        lambda: mk.SpicyMKLClassifier(many_bands(40), loss="hinge", alpha=0.001),
        table,
        1500,
    ),
    "quantile, 40 kernels": Call(
        lambda: mk.SpicyMKLRegressor(
            many_bands(40), loss="quantile", quantile=0.9, alpha=0.01
        ),
        numbers,
        1000,
    ),
    "epsilon, 40 kernels": Call(
        lambda: mk.SpicyMKLRegressor(
            many_bands(40), loss="epsilon_insensitive", epsilon=0.3, alpha=0.01
        ),
        numbers,
        1000,
    ),
    "500500 kernels": Call(
        lambda: mk.SpicyMKLRegressor(
            Interactions(per_column(GaussianKernel("median"), 1000))
        ),
        wider,
        200,
    ),
    "837 kernels, lazy": Call(
        lambda: mk.SpicyMKLClassifier(bands(), storage="lazy"), cancer, 569
    ),
    "hinge of all classes": Call(
        lambda: mk.SpicyMKLClassifier(
            many_bands(20), loss="hinge", selection="shared", alpha=0.01
        ),
        digits,
        300,
    ),
    "shared, 100 targets": Call(
        lambda: mk.SpicyMKLRegressor(spaces(), loss="squared_error"), voxels(100), 500
    ),
    "shared, 100 targets, 50 kernels": Call(
        lambda: mk.SpicyMKLRegressor(many_bands(50), loss="squared_error"),
        voxels(100),
        500,
    ),
    "Group-OMP search": Call(mk.GroupOMPRegressorCV, numbers, 400),
    "lp, p = 1": Call(lambda: mk.LpMKLClassifier(p=1.0), cancer, 400),
    "lp, newton, p = 1": Call(
        lambda: mk.LpMKLClassifier(bands(), p=1.0, solver="newton"), cancer, 200
    ),
    "lp, p = 1, 837 kernels": Call(
        lambda: mk.LpMKLClassifier(bands(), p=1.0), cancer, 100
    ),
    "lp search": Call(mk.LpMKLClassifierCV, cancer, 400),
    "lp": Call(mk.LpMKLClassifier, table, 2000),
    "HKL search": Call(mk.HKLRegressorCV, numbers, 300),
    "Group-OMP": Call(mk.GroupOMPRegressor, numbers, 2000),
    "Group-OMP, 837 kernels": Call(
        lambda: mk.GroupOMPClassifier(bands(), max_kernels=10), cancer, 400
    ),
    "Group-OMP, 1830 kernels": Call(
        lambda: mk.GroupOMPRegressor(
            Interactions(per_column(GaussianKernel("median"), 60)), max_kernels=10
        ),
        grid(60),
        400,
    ),
    "Group-OMP, factors": Call(
        lambda: mk.GroupOMPRegressorCV(storage="low_rank"), numbers, 2000
    ),
    "Group-OMP search, log loss": Call(
        lambda: mk.GroupOMPClassifierCV(loss="log_loss"), table, 300
    ),
    "Group-OMP search, hinge": Call(
        lambda: mk.GroupOMPClassifierCV(loss="hinge", max_kernels=8), table, 300
    ),
    "HKL search, 30 columns": Call(mk.HKLRegressorCV, grid(30), 400),
    "HKL search, 100 columns": Call(mk.HKLRegressorCV, grid(100), 300),
    "HKL search, classes": Call(mk.HKLClassifierCV, grid_classes(30), 400),
    "HKL, 100 columns": Call(mk.HKLRegressor, grid(100), 300),
    "HKL, 2000 rows": Call(mk.HKLRegressor, grid(30), 2000),
    "HKL, certify": Call(
        lambda: mk.HKLRegressor(PolynomialGrid(2), certify=True), grid(30), 300
    ),
    "HKL, Hermite": Call(lambda: mk.HKLRegressor(HermiteGrid(4)), grid(8), 300),
    "HKL": Call(mk.HKLClassifier, cancer, 400),
}


@dataclass(frozen=True)
class Mechanism:
    """A mechanism, the code that only it uses, and the calls that it is there for.

    `disable` replaces it by what the library would do without it.
    """

    disable: Callable[[], None]
    files: tuple[str, ...]
    calls: tuple[str, ...]


def spans() -> None:
    """Solve targets of the squared loss by Newton's method alone."""
    from multikernel.solvers.spicy import solver

    solver.SpannedTargets = solver.NewtonState


def start_on_part() -> None:
    """Start on all samples."""
    from multikernel.solvers.spicy import solver

    solver.start_on_part = lambda problem, solve, tol: None


def block_descent() -> None:
    """Take Newton steps however many columns factors have."""
    from multikernel.solvers.spicy import working_set

    working_set.prefers_descent = lambda problem, n_numbers: False


def machines_first() -> None:
    """Start piecewise linear losses without machines."""
    from multikernel.solvers.spicy import working_set

    working_set.has_quick_machines = lambda problem: False


def turned_outputs() -> None:
    """Solve for more targets than samples as they are."""
    from multikernel.solvers.spicy import solver

    solver.has_redundant_outputs = lambda problem: False


def corners() -> None:
    """Leave piecewise linear losses to the barrier."""
    from multikernel.solvers.spicy import polyhedral

    polyhedral.BarrierSide.for_similar_problem = lambda self: None


def exact_preconditioner() -> None:
    """Precondition steps of joint losses by their diagonal alone."""
    from multikernel.solvers.spicy import coupled

    coupled._soft_entries = lambda softness, hessian: np.zeros(softness.shape, bool)


def halved_steps() -> None:
    """Solve for all outputs of a joint step as if their curvatures differed."""
    from multikernel.solvers.spicy import kernels

    kernels.SummedHessian.root = kernels.ProductHessian.root = lambda *arguments: None


def rough_forms() -> None:
    """Evaluate all forms in double precision."""
    from multikernel.gram.metered import MeteredStack

    def exact(stack: Any, v: Any) -> Any:
        return stack.quadratic_forms(v), np.zeros(stack.shape[0])

    MeteredStack.rough_forms = exact


def shortlist() -> None:
    """Solve the paths of folds over all kernels."""
    from multikernel.estimators.grams import solving
    from multikernel.estimators.group_omp import cv as group_omp
    from multikernel.estimators.spicy import cv as spicy

    for module in (solving, group_omp, spicy):
        module.is_shortened = lambda training: False


def squared_form() -> None:
    """Solve lp problems with p = 1 by Newton's method on the weights."""
    from multikernel.solvers import lp_choice

    lp_choice.PER_SAMPLE = np.inf


def thinning() -> None:
    """Keep kernels that rounding alone keeps in use."""
    from multikernel.solvers.lp import newton, squared_form

    newton.thin = squared_form.thin = lambda incumbent, tol: None


def smo_blocks() -> None:
    """Let SMO compute matrices with quick products whole."""
    from multikernel.gram.factors.low_rank import FactorMatrix

    FactorMatrix.quick_products = property(lambda self: False)


def look_ahead() -> None:
    """Let HKL search without a look at the children of its sources."""
    from multikernel.kernels.graph.grid_samples import GridSamples

    def no_evidence(self: Any, vector: Any, ceiling: float) -> Any:
        return lambda nodes: np.full(len(nodes), -np.inf)

    GridSamples.evidence = no_evidence


def held_nodes() -> None:
    """Compute the features of HKL's nodes whenever they are asked for."""
    from multikernel.solvers.hkl import active

    def forms(self: Any, nodes: Any, vector: Any) -> Any:
        found = active.prepare(self.samples, self.known.named(nodes), self.shares)
        return np.array([float(np.sum((rows @ vector) ** 2)) for rows, _ in found])

    active.StoredNodes.forms = forms


def shared_nodes() -> None:
    """Let every problem of HKL number the nodes of its graph anew."""
    from multikernel.estimators.hkl import method

    method.KnownNodes = lambda graph: None


def whole_paths() -> None:
    """Solve all strengths on the folds, although scores have gone down."""
    from multikernel.estimators.hkl import candidates as hkl
    from multikernel.estimators.lp import cv as lp
    from multikernel.estimators.spicy import cv as spicy

    for module in (hkl, lp, spicy):
        module.has_peaked = lambda *arguments: False


def side_by_side() -> None:
    """Solve on one fold after another, all strengths on each."""
    from multikernel.estimators.search import folds

    folds.ALL_FOLDS_BYTES = 0


def looser_folds() -> None:
    """Solve on the folds to the tolerance of the model."""
    from multikernel.estimators.search import search

    search.TOLERANCE_FACTOR = 1.0


def joint_targets() -> None:
    """Search for the strength of one target after another."""
    fit = mk.SpicyMKLRegressorCV.fit

    def each(self: Any, X: Any, Y: Any) -> Any:
        for y in Y.T:
            fit(self, X, y)
        return self

    mk.SpicyMKLRegressorCV.fit = each


def narrow_factors() -> None:
    """Bound the improvements of all kernels in memory."""
    from multikernel.solvers.group_omp import selection

    nothing = np.empty(0, dtype=np.intp), None, 0.0
    selection.narrow_factors = lambda stack: nothing


def race_order() -> None:
    """Bound the improvements of kernels in their own order."""
    from multikernel.solvers.group_omp.selection import BoundSelector

    best = BoundSelector.best

    def in_order(self: Any, query: Any) -> Any:
        self.order = np.arange(self.stack.shape[0])
        return best(self, query)

    BoundSelector.best = in_order


def side_by_side_paths() -> None:
    """Grow the greedy paths of several strengths one after another."""
    from multikernel.solvers import GroupOMP

    paths = GroupOMP.paths

    def one_by_one(self: Any, problem: Any, alphas: Any, callback: Any = None) -> Any:
        return [paths(self, problem, [alpha], callback)[0] for alpha in alphas]

    GroupOMP.paths = one_by_one


def factor_refits() -> None:
    """Refit on the sum of low-rank kernels by the machine of the loss."""
    from multikernel.solvers.group_omp import group_omp, refit

    group_omp.refit_for = refit.MachineRefit


WIDE_HKL = (
    "HKL search, 30 columns",
    "HKL search, 100 columns",
    "HKL search, classes",
    "HKL, 100 columns",
    "HKL, 2000 rows",
    "HKL, certify",
    "HKL, Hermite",
)
SPICY = "solvers/spicy"
MECHANISMS = {
    "spans": Mechanism(
        spans,
        (f"{SPICY}/spans.py", f"{SPICY}/span_loops.py"),
        ("search, 2 targets", "search, 40 targets", "search, 200 targets"),
    ),
    "sample": Mechanism(
        start_on_part,
        (f"{SPICY}/sampled_start.py",),
        ("20 Gaussians, 100000 rows", "20 Gaussians, 300000 rows"),
    ),
    "block descent": Mechanism(
        block_descent, (f"{SPICY}/descent.py",), ("adult, 20000 rows, alpha 0.0005",)
    ),
    "machines first": Mechanism(
        machines_first,
        (f"{SPICY}/machine_start.py",),
        (
            "hinge, 400 rows",
            "hinge, 2000 rows",
            "hinge, 837 kernels",
            "search, hinge",
            "hinge, 40 kernels, alpha 0.001",
            "quantile, 40 kernels",
            "epsilon, 40 kernels",
        ),
    ),
    "turned outputs": Mechanism(
        turned_outputs, (f"{SPICY}/outputs.py",), ("shared, 400 targets",)
    ),
    "exact preconditioner": Mechanism(
        exact_preconditioner,
        (),
        ("hinge of all classes",),
    ),
    "halved steps": Mechanism(
        halved_steps, (), ("shared, 100 targets", "shared, 100 targets, 50 kernels")
    ),
    "corners": Mechanism(
        corners,
        (),
        ("hinge, 400 rows", "hinge, 2000 rows", "hinge, 837 kernels", "search, hinge"),
    ),
    "rough forms": Mechanism(
        rough_forms,
        (),
        (
            "20100 kernels",
            "search, 400 rows",
            "fit, 5000 rows",
            "500500 kernels",
            "837 kernels, lazy",
        ),
    ),
    "short list": Mechanism(
        shortlist,
        ("estimators/grams/shortlist.py",),
        ("search, 400 rows", "search, six classes", "Group-OMP search"),
    ),
    "squared form": Mechanism(
        squared_form,
        ("solvers/lp/squared_form.py",),
        ("lp, p = 1, 837 kernels", "lp search", "lp, p = 1, 20100 kernels"),
    ),
    "thinning": Mechanism(
        thinning,
        ("solvers/lp/thinning.py",),
        ("lp, p = 1", "lp search", "lp, p = 1, 837 kernels, predictions"),
    ),
    "SMO in blocks": Mechanism(
        smo_blocks, ("machines/smo/blocks.py",), ("lp, 5000 rows",)
    ),
    "look ahead": Mechanism(
        look_ahead,
        ("kernels/graph/grid_pairs.py",),
        ("HKL search", "HKL", *WIDE_HKL),
    ),
    "held nodes": Mechanism(held_nodes, (), ("HKL search", "HKL", *WIDE_HKL)),
    "shared nodes": Mechanism(
        shared_nodes, (), ("HKL search", "HKL search, classes", "HKL, 100 columns")
    ),
    "whole paths": Mechanism(
        whole_paths,
        (),
        (
            "search, 400 rows",
            "search, hinge",
            "search, six classes",
            "search, 200 targets",
            "lp search",
            "HKL search",
        ),
    ),
    "side by side": Mechanism(
        side_by_side,
        (),
        ("search, 400 rows", "search, hinge", "search, 200 targets", "HKL search"),
    ),
    "looser folds": Mechanism(
        looser_folds,
        (),
        (
            "search, 400 rows",
            "search, hinge",
            "search, 200 targets",
            "lp search",
            "HKL search",
        ),
    ),
    "joint targets": Mechanism(
        joint_targets,
        ("estimators/search/targets.py",),
        ("search, 2 targets", "search, 40 targets", "search, 200 targets"),
    ),
    "narrow factors": Mechanism(
        narrow_factors,
        (),
        (
            "Group-OMP search",
            "Group-OMP",
            "Group-OMP, 837 kernels",
            "Group-OMP, 1830 kernels",
            "Group-OMP search, log loss",
        ),
    ),
    "race order": Mechanism(
        race_order,
        (),
        ("Group-OMP search", "Group-OMP", "Group-OMP, 837 kernels"),
    ),
    "paths side by side": Mechanism(
        side_by_side_paths,
        (),
        ("Group-OMP search", "Group-OMP, factors", "Group-OMP search, hinge"),
    ),
    "factor refits": Mechanism(factor_refits, (), ("Group-OMP, factors",)),
}


# Storages of Gram matrices.


def mixed(n_samples: int) -> Data:
    """Return a label that depends on two of four columns, and on all together."""
    X = np.random.default_rng(0).standard_normal((n_samples, 4))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] + np.prod(np.sin(3.0 * X), axis=1)
    return X, f > 0.0


def of_both_ranks() -> list[Any]:
    """Return 20 kernels of single columns, and three narrow ones of all columns."""
    widths = (0.5, 1.0, 2.0, 4.0, 8.0)
    each = [kernel for s in widths for kernel in per_column(GaussianKernel(s), 4)]
    return [*each, *[GaussianKernel(s) for s in (0.05, 0.1, 0.2)]]


def grades(n_samples: int) -> Data:
    """Return three ordered classes that depend on six columns."""
    X, y = numbers(n_samples)
    return X[:, :6], np.digitize(y, [-0.5, 0.5])


def given(n_samples: int) -> Data:
    """Return 60 precomputed matrices."""
    X, y = mixed(n_samples)
    kernels = [GaussianKernel(s) for s in np.geomspace(0.1, 30.0, 60)]
    return mk.stack_grams(np.stack([kernel(X) for kernel in kernels])), y


CALLS |= {
    **{
        f"20 Gaussians, {n_rows} rows": Call(
            lambda: mk.SpicyMKLClassifier(per_column(GaussianKernel(1.0), 20)),
            table,
            n_rows,
        )
        for n_rows in (100_000, 300_000)
    },
    "adult, 20000 rows, alpha 0.0005": Call(
        lambda: mk.SpicyMKLClassifier(alpha=0.0005), adult, 20_000
    ),
    "both ranks, lp": Call(lambda: mk.LpMKLClassifier(of_both_ranks()), mixed, 2000),
    "search, ordered classes": Call(
        lambda: mk.SpicyMKLOrdinalCV(cv=3, n_alphas=10), grades, 150
    ),
    "given, search": Call(lambda: mk.SpicyMKLClassifierCV("precomputed"), given, 400),
    "Group-OMP, products": Call(
        lambda: mk.GroupOMPRegressor(
            Interactions(per_column(GaussianKernel("median"), 10)), max_kernels=6
        ),
        lambda n_samples: (numbers(n_samples)[0][:, :10], numbers(n_samples)[1]),
        1000,
    ),
    "lazy, 4000 kernels": Call(
        lambda: mk.SpicyMKLClassifier(
            random_subset_gaussians(4000, 30, random_state=0),
            storage="lazy",
            normalize=None,
            alpha=0.02,
        ),
        cancer,
        300,
    ),
}


def by_kernel() -> None:
    """Hold the kernels of a dictionary in one way: as factors, or whole."""
    from multikernel.gram.costs import Costs

    Costs.by_kernel = lambda self, ranks: self.low_rank(ranks, "low_rank")


def dense_loops() -> None:
    """Multiply by parts of matrices in memory with NumPy alone."""
    from multikernel.gram import DenseMatrix, DenseStack, PartStack

    def matrix(stack: Any, k: int) -> Any:
        whole, some = stack.parent.array[stack.kernels[k]], stack.samples
        return whole if some.size == len(whole) else whole[np.ix_(some, some)]

    def forms(self: Any, v: Any) -> Any:
        columns = v.reshape(len(v), -1)
        matrices = (matrix(self, k) for k in range(self.shape[0]))
        return np.array([np.vdot(columns, K @ columns) for K in matrices])

    def images(self: Any, vectors: Any) -> Any:
        number = range(self.shape[0])
        return np.array([matrix(self, k) @ vectors[k % len(vectors)] for k in number])

    def combine(self: Any, weights: Any) -> Any:
        total = np.zeros(self.shape[1:])
        for k in np.flatnonzero(weights):
            total += weights[k] * matrix(self, k)
        return DenseMatrix(total)

    def sums(self: Any, places: Any, steps: Any, factors: Any) -> Any:
        rows, factors = self.array.reshape(-1, self.shape[2]), np.atleast_2d(factors)
        pairs = enumerate(places)
        return np.array([factors[i % len(factors)] @ rows[p + steps] for i, p in pairs])

    PartStack.quadratic_forms, PartStack._images = forms, images
    PartStack.combine, DenseStack._sums = combine, sums


def written_products() -> None:
    """Never write products down."""
    from multikernel.gram import costs

    costs.WRITTEN = 0


def lazy_in_single() -> None:
    """Evaluate all forms of lazy kernels in double precision."""
    from multikernel.gram.lazy import LazyStack

    def exact(self: Any, v: Any) -> Any:
        return self.quadratic_forms(v), np.zeros(self.shape[0])

    LazyStack.rough_forms = exact


def towns(n_samples: int) -> Data:
    """Return a number that depends on a category of 300 values, and on a column."""
    random = np.random.default_rng(0)
    n_towns = min(300, n_samples // 4)
    town, x = random.integers(0, n_towns, n_samples), random.standard_normal(n_samples)
    noise = 0.3 * random.standard_normal(n_samples)
    return np.column_stack([town, x]), np.sin(town) + np.sin(2.0 * x) + noise


CALLS |= {
    "lp, 300 towns": Call(
        lambda: mk.LpMKLRegressor(
            [
                ColumnKernel(CategoryKernel(), 0),
                ColumnKernel(GaussianKernel("median"), 1),
                ColumnKernel(GaussianKernel("median"), [0, 1]),
            ],
            storage="low_rank",
        ),
        towns,
        6000,
    ),
    "60 polynomials": Call(
        lambda: mk.SpicyMKLRegressor(
            [
                kernel
                for degree in (1, 2, 3)
                for kernel in per_column(PolynomialKernel(degree), 20)
            ]
        ),
        numbers,
        800,
    ),
    "8 Laplacians in factors": Call(
        lambda: mk.SpicyMKLClassifier(
            [
                FunctionKernel("laplacian", {"gamma": gamma})
                for gamma in np.geomspace(0.03, 3.0, 8)
            ],
            storage="low_rank",
        ),
        table,
        1000,
    ),
    "200 kernels in factors": Call(
        lambda: mk.SpicyMKLClassifier(many_bands(200), storage="low_rank"), cancer, 569
    ),
    "hinge, 200 kernels": Call(
        lambda: mk.SpicyMKLClassifier(many_bands(200), loss="hinge"), cancer, 569
    ),
}


def exact_factors() -> None:
    """Choose landmarks of kernels on few values as of any other."""
    from multikernel.gram.factors.growth import KernelColumns

    KernelColumns.distinct_groups = lambda self: None


def polynomial_features() -> None:
    """Hold polynomial kernels by landmarks, or whole."""
    from multikernel.gram.factors import landmarks

    landmarks.MOST_MONOMIALS = 0


def completed_factors() -> None:
    """Compute the columns of factors one by one to the last."""
    from multikernel.gram.factors import growth

    growth.COMPLETED = 0


def growth_loops() -> None:
    """Compute landmarks of Gaussian kernels as of any other."""
    from multikernel.gram.factors import growth

    growth.radial_form = lambda kernel: None


def sparse_rows() -> None:
    """Multiply matrices in memory by all of a vector that is mostly zero."""
    from multikernel.gram import dense

    dense.FEW = -1.0


def census() -> None:
    """Read given matrices once for each question."""
    from multikernel.estimators.read import precomputed
    from multikernel.gram.checks import Census

    def three_passes(stack: Any, weights: Any, random: Any) -> Any:
        u, v = random.standard_normal((2, stack.shape[1]))
        images = stack.matvec(v)
        asymmetry = images @ u - stack.matvec(u) @ v
        largest = np.abs(images).max(axis=1)
        return Census(largest, asymmetry, stack.quadratic_forms(weights))

    precomputed.take_census = three_passes


def lanczos() -> None:
    """Compute all eigenvalues of matrices for the sum of the smaller ones."""
    from multikernel.gram import spectra

    spectra.CROWDED = 10**9


GRAM: dict[str, tuple[Callable[[], None], tuple[str, ...], tuple[str, ...]]] = {
    "by kernel": (by_kernel, ("gram/by_kernel.py",), ("both ranks, lp",)),
    "loops over dense matrices": (
        dense_loops,
        ("gram/dense_loops.py",),
        ("given, search",),
    ),
    "exact factors of few values": (exact_factors, (), ("lp, 300 towns",)),
    "features of polynomials": (polynomial_features, (), ("60 polynomials",)),
    "factors completed by LAPACK": (
        completed_factors,
        (),
        ("8 Laplacians in factors",),
    ),
    "growth loops": (
        growth_loops,
        ("gram/factors/growth_loops.py",),
        ("200 kernels in factors",),
    ),
    "rows of a small support": (
        sparse_rows,
        (),
        ("hinge, six classes", "hinge, 200 kernels"),
    ),
    "one look at given matrices": (census, (), ("given, 1000 rows",)),
    "Lanczos": (lanczos, (), ("local Rademacher", "local Rademacher search")),
    "written products": (
        written_products,
        (),
        ("search, 400 rows", "search, ordered classes"),
    ),
    "lazy forms in single precision": (lazy_in_single, (), ("lazy, 4000 kernels",)),
}
MECHANISMS |= {name: Mechanism(*each) for name, each in GRAM.items()}


# Machines, and what lp-norm learning does with them.

CALLS |= {
    "hinge, six classes": Call(
        lambda: mk.SpicyMKLClassifier(loss="hinge"), digits, 400
    ),
    "given, 1000 rows": Call(lambda: mk.LpMKLClassifier("precomputed"), given, 1000),
    "local Rademacher": Call(mk.LocalRademacherMKLClassifier, table, 1000),
    "local Rademacher search": Call(mk.LocalRademacherMKLClassifierCV, cancer, 300),
    "lp, all classes": Call(
        lambda: mk.LpMKLClassifier(selection="shared"), digits, 600
    ),
    "lp, all classes, C = 100": Call(
        lambda: mk.LpMKLClassifier(C=100.0, selection="shared"), digits, 150
    ),
    "lp regressor": Call(mk.LpMKLRegressor, numbers, 2000),
}


def faces_of_classes() -> None:
    """Sweep over samples, without Newton steps on the faces of their simplices."""
    from multikernel.machines.crammer_singer import machine

    machine._Sweeps._face_step = lambda self: False


def libsvm() -> None:
    """Solve problems of one output with the hinge by scikit-learn's SVC."""
    from sklearn.svm import SVC

    from multikernel.losses import HingeLoss
    from multikernel.losses.weighted import without_weights
    from multikernel.machines import SMO, MachineFit

    own = SMO._fit_one

    def fit_one(self: Any, task: Any, start: Any) -> Any:
        if type(without_weights(task.loss)) is not HingeLoss or not task.fit_intercept:
            return own(self, task, start)
        y, n = task.y, len(task.y)
        lower, upper = task.loss.dual_bounds(y)
        K = task.gram.columns(np.arange(n))
        machine = SVC(kernel="precomputed", tol=self.tol, cache_size=1000)
        machine.fit(K, y, sample_weight=upper - lower)
        dual = np.zeros(n)
        dual[machine.support_] = machine.dual_coef_[0]
        f = K @ dual
        objective = float(-task.loss.conjugate(y, -dual).sum() - 0.5 * dual @ f)
        steps = int(machine.n_iter_.sum())
        b = machine.intercept_
        return MachineFit(dual, b, f + b, objective, steps, True)

    SMO._fit_one = fit_one


def shares_of_steps() -> None:
    """Take Newton steps of lp-norm learning whole."""
    from multikernel.solvers.lp import newton

    newton.best_share = lambda problem, ball, old, new: 1.0


def inner_balls() -> None:
    """Take Newton steps of lp-norm learning over the p-ball itself."""
    from multikernel.solvers.lp import newton
    from multikernel.solvers.lp.inner_ball import InnerBall

    def nearly_whole(penalty: Any, center: Any, exponent: float) -> InnerBall:
        return InnerBall(penalty, center, max(penalty.p, 1.001))

    newton.InnerBall = nearly_whole


MACHINES: dict[str, tuple[Callable[[], None], tuple[str, ...], tuple[str, ...]]] = {
    "faces of all classes": (
        faces_of_classes,
        ("machines/crammer_singer/face.py",),
        ("lp, all classes", "lp, all classes, C = 100"),
    ),
    "inner balls": (
        inner_balls,
        ("solvers/lp/inner_ball.py",),
        ("lp", "lp, newton, p = 1"),
    ),
    "own SMO": (
        libsvm,
        ("machines/smo/machine.py", "machines/smo/loops.py", "machines/smo/state.py"),
        ("lp", "lp, 5000 rows"),
    ),
    "shares of steps": (
        shares_of_steps,
        (),
        ("lp", "lp, p = 1", "lp regressor"),
    ),
}
MECHANISMS |= {name: Mechanism(*each) for name, each in MACHINES.items()}


def run_once(mechanism: str, call: str) -> dict[str, float]:
    """Fit once to compile everything, then once to be measured, in this process."""
    if mechanism:
        MECHANISMS[mechanism].disable()
    what = CALLS[call]
    what.make().fit(*what.data(SMALL))
    limit_cpu(LIMIT)
    X, y = what.data(what.n_samples)
    model, seconds = cpu(lambda: what.make().fit(X, y))
    return {
        "seconds": seconds,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "gap": float(np.max(getattr(model, "duality_gap_", np.nan))),
    }


ENDED = {"seconds": np.inf, "megabytes": np.nan, "gap": np.nan}
"""The figures of a process that the system ended at its limit."""


def compare(mechanism: str, call: str) -> Row:
    """Return the medians of a call with a mechanism and without it."""
    runs: dict[str, list[dict[str, float]]] = {"": [], mechanism: []}
    for _ in range(REPEATS):
        for disabled, found in runs.items():
            found.append(in_child(__file__, disabled, call) or ENDED)

    def middle_of(disabled: str, figure: str) -> float:
        return float(median(run[figure] for run in runs[disabled]))

    return {
        f"{figure}{suffix}": middle_of(disabled, figure)
        for figure in ("seconds", "megabytes", "gap")
        for disabled, suffix in (("", ""), (mechanism, " without"))
    }


def code_lines(files: tuple[str, ...]) -> int:
    """Return the lines of the files that only a mechanism uses."""
    root = HERE.parents[1] / "src" / "multikernel"
    return sum(len((root / file).read_text("utf-8").splitlines()) for file in files)


def worth(row: Row) -> float:
    """Return the larger of the ratios of time and memory without to with."""
    return max(
        row[f"{figure} without"] / row[figure] for figure in ("seconds", "megabytes")
    )


def page(path: Path) -> str:
    """Return the page of results."""
    rows = read(path)
    parts = [
        "# What each mechanism is worth\n",
        "This page measures public calls with and without each mechanism of the "
        "solvers and storages. A mechanism remains in the library if some call needs "
        f"{WORTH} times the time or the memory without it. Figures are medians of "
        f"{REPEATS} alternating runs; `run.py` defines the calls. *lines* are the "
        "lines, with docstrings, of the files that only the mechanism uses. `python "
        "benchmarks/ablation/run.py` repeats it.\n",
        "Some rows have fewer runs. Rows of HKL, Group-OMP and the mechanisms of "
        "searches are the faster of two runs, those of look ahead and joint targets "
        "are single runs; all their calls ran in one process, so their peaks of memory "
        "include earlier calls, and their gaps are those with the mechanism. Rows of "
        "faces, Lanczos, one look, rows of a small support, and shares of steps of the "
        "regressor are single runs.\n",
        measured(path),
        "| mechanism | lines | call | s | s without | MB | MB without | gap without |"
        " ratio |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in sorted(rows, key=lambda row: (row["mechanism"], row["call"])):
        figures = (
            f"{row['seconds']:.2f} | {row['seconds without']:.2f} | "
            f"{row['megabytes']:.0f} | {row['megabytes without']:.0f} | "
            f"{row['gap without']:.1e} | {worth(row):.2f}"
        )
        parts.append(
            f"| {row['mechanism']} | {row['lines']} | {row['call']} | {figures} |"
        )
    parts.append("\n## Verdicts\n")
    for name in sorted({row["mechanism"] for row in rows}):
        best = max((r for r in rows if r["mechanism"] == name), key=worth)
        verdict = "kept" if worth(best) >= WORTH else "below the limit in these calls"
        verdict = verdict if name in MECHANISMS else "removed"
        parts.append(
            f"- {name}: {verdict}. The largest ratio is {worth(best):.2f}, in "
            f"{best['call']!r}.{REASONS.get(name, '')}"
        )
    return "\n".join(parts) + "\n"


def main() -> None:
    """Measure the mechanisms that are asked for, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mechanisms", nargs="*", choices=[[], *MECHANISMS])
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        warnings.simplefilter("ignore")
        print(json.dumps(run_once(*json.loads(asked.child))))
        return
    path = HERE / "results.json"
    if not asked.page:
        results = Results(path, KEY)
        for name in asked.mechanisms or MECHANISMS:
            mechanism = MECHANISMS[name]
            for call in mechanism.calls:
                if not results.known(mechanism=name, call=call):
                    lines = code_lines(mechanism.files)
                    figures = compare(name, call)
                    results.add(mechanism=name, call=call, lines=lines, **figures)
    (HERE / "RESULTS.md").write_text(page(path), encoding="utf-8")


if __name__ == "__main__":
    main()
