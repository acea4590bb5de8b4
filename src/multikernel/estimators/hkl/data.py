"""Data of HKL, a graph of kernels on the training samples, and its models."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import check_places, check_shapes
from multikernel.estimators.method import Data, Fold, Source
from multikernel.estimators.publish.predict import Rows
from multikernel.estimators.read.dictionary import KernelNames
from multikernel.estimators.read.numbers import OF_A_FOLD, finite_predictions
from multikernel.estimators.read.samples import Samples, merge_equal
from multikernel.kernels.graph.base import FittedGraph, GraphSamples
from multikernel.linalg.tables import row_chunks
from multikernel.solvers.hkl import HullSolution

# The weight of a node grows by 4 per degree, as may powers of columns up to 4. Limits
# are compared in ``benchmarks/defaults`` (columns).
MAX_DEVIATIONS = 4.0
"""Largest absolute value in a standardized column of the training data."""

CLIP_ADVICE = " PolynomialGrid(extrapolation='constant') clips to the training range."


@dataclass(frozen=True, eq=False)
class Scaler:
    """A standardization of columns: subtract `mean`, and divide by `scale`."""

    mean: Array
    scale: Array

    def _check_fitted(self) -> None:
        """Raise unless the shapes of the arrays, which come from a file, agree."""
        mean, scale = (self.mean, ("n_features",)), (self.scale, ("n_features",))
        check_shapes("Scaler", mean=mean, scale=scale)

    def __call__(self, X: Rows) -> Array:
        """Return the scaled columns."""
        return np.asarray((X - self.mean) / self.scale)


def make_scaler(X: Array, weights: Array | None, *, standardize: bool) -> Scaler:
    """Return the standardization of the columns; the identity if not `standardize`."""
    if not standardize:
        return Scaler(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    max_abs = np.abs(X).max(axis=0)
    unit = np.where(max_abs > 0.0, max_abs, 1.0)
    mean = np.average(X / unit, axis=0, weights=weights)
    scale = np.sqrt(np.average((X / unit - mean) ** 2, axis=0, weights=weights))
    # A constant column is only centered, because its deviation is rounding.
    scale = np.where(scale > 1e-12 * np.maximum(np.abs(mean), 1e-300), scale, 1.0)
    # A column with outliers is scaled down, so that no value exceeds MAX_DEVIATIONS.
    scale = np.maximum(scale, np.abs(X / unit - mean).max(axis=0) / MAX_DEVIATIONS)
    return Scaler(mean * unit, scale * unit)


@dataclass(frozen=True)
class HullNames(KernelNames):
    """The names of the nodes of a hull, the active part of a graph of kernels."""

    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.names) != self.n_kernels:
            raise ValueError(
                f"Names of a hull: got {len(self.names)} names for {self.n_kernels} "
                "nodes."
            )

    def __call__(self, indices: Sequence[int] | None = None) -> list[str]:
        """Return the names of the nodes `indices`, by default of all nodes."""
        nodes = range(len(self.names)) if indices is None else indices
        return [self.names[k] for k in nodes]


@dataclass(frozen=True, eq=False)
class HullData(Data):
    """A graph of kernels on training samples."""

    samples: Samples
    X: Array  # not scaled
    source: "HullSource"
    scaler: Scaler
    graph: GraphSamples  # on the scaled samples
    # Empty, because there are no Gram matrices.
    fit_info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_bytes(self) -> float:
        """The bytes that a search over the graph needs: two matrices over samples."""
        return 16.0 * len(self.samples.rows) ** 2

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns, if they have names."""
        return self.samples.table.columns.names

    def part(self, indices: Indices, n_copies: int = 1) -> tuple["HullData", Indices]:
        """Return data and indices of some samples, after equal samples are merged."""
        indices, samples = merge_equal(self.samples, indices)
        return self.source.fit_graph(samples, self.X[indices]), indices

    def sample(self, rows: Indices) -> "HullData":
        """Return the data of the samples `rows`, with the graph fitted to them."""
        X = self.X[rows]
        return self.source.fit_graph(replace(self.samples.subset(rows), X=X), X)

    def on_all_samples(self) -> "HullData":
        """Return the data of all samples, after equal samples are merged."""
        return self.part(np.arange(self.samples.rows.size))[0]

    def fold(self, train: Indices, test: Indices, n_copies: int) -> Fold:
        """Return a fold that trains on `train` and evaluates the graph at `test`."""
        training, _ = self.part(train)
        values = partial(hull_values, self.X[test])
        return Fold(training, self.samples.subset(test), values)


@dataclass(frozen=True, eq=False)
class HullSource(Source):
    """The source of HKL's training data; `kernels` is a `KernelGraph`."""

    standardize: bool

    def prepare(
        self, samples: Samples, report: Callable[[float], None] | None = None
    ) -> HullData:
        """Return the graph of kernels on the samples, with its scaler."""
        return self.fit_graph(samples, samples.X)

    def fit_graph(self, samples: Samples, X: Array) -> HullData:
        """Return the training data, with column scales and graph fitted to X."""
        scaler = make_scaler(X, samples.weights, standardize=self.standardize)
        scaled = scaler(X)
        with np.errstate(over="ignore"):  # features that overflow are rejected
            graph = self.kernels.bind(scaled).sample(scaled)
        return HullData(samples, X, self, scaler, graph)


@dataclass(frozen=True, eq=False)
class HullModel:
    """The functions of the nodes of a hull, and an intercept per output."""

    graph: FittedGraph
    scaler: Scaler
    nodes: tuple[Any, ...]  # the hull
    # Coefficients of the centered features of each node, (n_columns, n_outputs).
    coefs: tuple[Array, ...]
    means: tuple[Array, ...]  # subtracted from the features of a node, (n_columns,)
    # Data besides the graph that define the features of a node, None for most nodes.
    # Outputs that share a node have the same data, of the same samples.
    bases: tuple[Any, ...]
    active: Indices  # the nodes with nonzero functions
    intercept: Array

    def _check_fitted(self) -> None:
        """Raise unless the shapes of the arrays, which come from a file, agree."""
        check_shapes("An HKL model", intercept=(self.intercept, ("n_outputs",)))
        check_places("An HKL model", "active", self.active, len(self.nodes))
        if self.graph.n_features != self.scaler.mean.size:
            raise ValueError(
                "An HKL model: the graph must have one input per column of the scaler, "
                f"got {self.graph.n_features} for {self.scaler.mean.size} columns."
            )
        if len(self.bases) != len(self.nodes):
            raise ValueError(
                f"An HKL model: there must be one basis per node, got "
                f"{len(self.bases)} for {len(self.nodes)} nodes."
            )
        for _, coefs, mean in zip(self.nodes, self.coefs, self.means, strict=True):
            check_shapes(
                "An HKL model",
                mean=(mean, ("n_columns",)),
                coefs=(coefs, ("n_columns", self.n_outputs)),
            )

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        return self.intercept.size

    @property
    def n_active(self) -> int:
        """The number of nodes with nonzero functions."""
        return self.active.size

    def check_columns(self, n_kernels: int, n_features: int, *, packed: bool) -> None:
        """Raise unless nodes can compute their features from `n_features` columns."""
        check_shapes("An HKL model", mean=(self.scaler.mean, (n_features,)))
        sample = self.graph.sample(np.zeros((1, n_features)))
        for k in self.active:
            features = sample.features(self.nodes[k], self.bases[k])
            check_shapes("An HKL model", features=(features, (1, self.means[k].size)))

    @np.errstate(over="ignore", invalid="ignore")
    def contributions(self, X: Rows) -> Array:
        """Return every term, shape (n_samples, n_outputs, n_active)."""
        terms = np.empty((X.shape[0], self.intercept.size, self.active.size))
        for rows in row_chunks(X.shape[0], 8 * max(1, X.shape[1])):
            samples = self.graph.sample(self.scaler(X[rows]))
            for position, k in enumerate(self.active):
                terms[rows, :, position] = self.centered(samples, k) @ self.coefs[k]
        return finite_predictions(terms, advice=CLIP_ADVICE)

    @np.errstate(over="ignore", invalid="ignore")
    def decision_values(self, X: Rows) -> Array:
        """Return the sum of all terms and the intercept, (n_samples, n_outputs)."""
        f = np.tile(self.intercept, (X.shape[0], 1))
        for rows in row_chunks(X.shape[0], 8 * max(1, X.shape[1])):
            samples = self.graph.sample(self.scaler(X[rows]))
            for k in self.active:
                f[rows] += self.centered(samples, k) @ self.coefs[k]
        return finite_predictions(f, advice=CLIP_ADVICE)

    def centered(self, samples: GraphSamples, k: int) -> Array:
        """Return the centered features of node k of the hull at the samples."""
        return samples.features(self.nodes[k], self.bases[k]) - self.means[k]


def hull_model(data: HullData, solutions: Sequence[HullSolution]) -> HullModel:
    """Return the model of all outputs, over the union of their hulls."""
    means, bases = (
        {
            node: value
            for solution in solutions
            for node, value in zip(solution.nodes, getattr(solution, name), strict=True)
        }
        for name in ("means", "bases")
    )
    coefs = {
        node: np.zeros((mean.size, len(solutions))) for node, mean in means.items()
    }
    for k, solution in enumerate(solutions):
        for node, coef in zip(solution.nodes, solution.coefs, strict=True):
            coefs[node][:, k] = coef
    active = [k for k, node in enumerate(means) if coefs[node].any()]
    return HullModel(
        data.graph.graph,
        data.scaler,
        tuple(means),
        tuple(coefs.values()),
        tuple(means.values()),
        tuple(bases.values()),
        np.array(active, dtype=np.intp),
        np.array([solution.intercept for solution in solutions]),
    )


@np.errstate(over="ignore", invalid="ignore")
def hull_values(X: Array, models: Sequence[HullModel]) -> Array:
    """Return the models' decision values, shape (n_models, n_test, n_outputs)."""
    samples = models[0].graph.sample(models[0].scaler(X))
    # The models of a fold share their training samples, so the features of new samples
    # are computed once.
    values_of_node: dict[Any, Array] = {}
    f = np.stack([np.tile(m.intercept, (X.shape[0], 1)) for m in models])
    for values, model in zip(f, models, strict=True):
        for k in model.active:
            node = model.nodes[k]
            if node not in values_of_node:
                values_of_node[node] = model.centered(samples, k)
            values += values_of_node[node] @ model.coefs[k]
    finite_predictions(np.moveaxis(f, 1, 0), OF_A_FOLD, CLIP_ADVICE)
    return f
