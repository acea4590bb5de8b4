"""Training data of HKL, which include a graph of kernels, and the fitted models."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import DAMAGED_FIT, check_places, check_shapes
from multikernel.estimators.method import Data, Fold, Source
from multikernel.estimators.publish.predict import Rows
from multikernel.estimators.read.dictionary import KernelNames
from multikernel.estimators.read.numbers import OF_A_FOLD, finite_predictions
from multikernel.estimators.read.samples import Samples, merge_equal
from multikernel.kernels.graph.base import FittedGraph, GraphSamples, KernelGraph
from multikernel.linalg.tables import equal_shares, row_chunks
from multikernel.problem import rounded_centers
from multikernel.solvers.hkl import HullSolution

# The weight of a node is multiplied by 4 per degree. The powers of a column with values
# of at most 4 grow at most as fast. ``benchmarks/defaults`` (columns) compares limits.
MAX_DEVIATIONS = 4.0
"""Largest absolute value in a standardized column of the training data."""

CLIP_ADVICE = " PolynomialGrid(extrapolation='constant') clips to the training range."


@dataclass(frozen=True, eq=False)
class Scaler:
    """A function that subtracts `mean` from columns, and divides them by `scale`."""

    mean: Array
    scale: Array
    # The exact mean minus `mean`, which is rounded to float64: nonzero only for columns
    # with values far from zero. Files of earlier releases do not contain it.
    remainder: Array | float = 0.0

    def _check_fitted(self) -> None:
        mean, scale = (self.mean, ("n_features",)), (self.scale, ("n_features",))
        remainder = np.broadcast_to(self.remainder, np.shape(self.mean))
        remainders = (remainder, ("n_features",))
        check_shapes("Scaler", mean=mean, scale=scale, remainder=remainders)

    def __call__(self, X: Rows) -> Array:
        """Return the scaled columns of X."""
        # Differences of values that are far from zero and close together are exact.
        return np.asarray((X - self.mean - self.remainder) / self.scale)


def make_scaler(X: Array, weights: Array | None, *, standardize: bool) -> Scaler:
    """Return the scaler of X; it does not change columns if not `standardize`."""
    if not standardize:
        return Scaler(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    max_abs = np.abs(X).max(axis=0)
    unit = np.where(max_abs > 0.0, max_abs, 1.0)
    shares = equal_shares(len(X), weights)
    origins, is_constant = rounded_centers(X, shares)
    X = X - origins
    mean = np.average(X / unit, axis=0, weights=weights)
    scale = np.sqrt(np.average((X / unit - mean) ** 2, axis=0, weights=weights))
    scale = np.where(is_constant, 1.0, scale)  # a constant column is only centered
    # A column with outliers is scaled down, so that no value exceeds MAX_DEVIATIONS.
    scale = np.maximum(scale, np.abs(X / unit - mean).max(axis=0) / MAX_DEVIATIONS)
    rounded_mean = origins + mean * unit
    return Scaler(rounded_mean, scale * unit, origins - rounded_mean + mean * unit)


@dataclass(frozen=True)
class HullNames(KernelNames):
    """The names of the nodes in ``hull_``."""

    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.names) != self.n_kernels:
            raise ValueError(
                f"HullNames: names must have one name for each of {self.n_kernels} "
                f"nodes, got {len(self.names)}. {DAMAGED_FIT}"
            )

    def __call__(self, indices: Sequence[int] | None = None) -> list[str]:
        """Return the names of the nodes at positions `indices`; None means all."""
        nodes = range(len(self.names)) if indices is None else indices
        return [self.names[k] for k in nodes]


@dataclass(frozen=True, eq=False)
class HullData(Data):
    """Training data of HKL: the samples, and a graph of kernels on them."""

    samples: Samples
    X: Array  # not scaled
    source: "HullSource"
    scaler: Scaler
    graph: GraphSamples  # on the scaled samples
    # Facts about the storage of Gram matrices; always empty, because HKL stores none.
    fit_info: Mapping[str, object] = field(default_factory=dict)

    @property
    def none_varies(self) -> bool:
        """Whether all columns of X are constant."""
        return bool((self.X[0] == self.X).all())

    @property
    def n_bytes(self) -> float:
        """The bytes that a fit needs: two matrices of shape (n_samples, n_samples)."""
        return 16.0 * len(self.samples.rows) ** 2

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of the columns of X; None if they have no names."""
        return self.samples.table.columns.names

    def part(
        self, indices: Indices, n_in_memory: int = 1
    ) -> tuple["HullData", Indices]:
        """Return the data of the samples `indices`, and indices that merging keeps."""
        # `Data.part` describes merging. `n_in_memory` is not used, because HKL stores
        # no Gram matrices.
        indices, samples = merge_equal(self.samples, indices)
        return self.source.fit_graph(samples, self.X[indices]), indices

    def sample(self, rows: Indices) -> "HullData":
        """Return the data of some samples, with scaler and graph fitted to them."""
        X = self.X[rows]
        return self.source.fit_graph(replace(self.samples.subset(rows), X=X), X)

    def fold(self, train: Indices, test: Indices, n_in_memory: int) -> Fold:
        """Return a fold with the training samples `train` and validation set `test`."""
        # `n_in_memory` is not used, because HKL stores no Gram matrices.
        training, _ = self.part(train)
        values = partial(hull_values, self.X[test])
        return Fold(training, self.samples.subset(test), values)


@dataclass(frozen=True, eq=False)
class HullSource(Source):
    """The source of HKL's training data."""

    kernels: KernelGraph
    standardize: bool

    def prepare(
        self, samples: Samples, report: Callable[[float], None] | None = None
    ) -> HullData:
        """Return the training data, with scaler and graph fitted to the samples."""
        return self.fit_graph(samples, samples.X)

    def fit_graph(self, samples: Samples, X: Array) -> HullData:
        """Return the training data, with scaler and graph fitted to X."""
        scaler = make_scaler(X, samples.weights, standardize=self.standardize)
        scaled = scaler(X)
        with np.errstate(over="ignore"):  # infinite features raise an error
            graph = self.kernels.bind(scaled).sample(scaled)
        return HullData(samples, X, self, scaler, graph)


@dataclass(frozen=True, eq=False)
class HullModel:
    """The functions of the nodes of a hull, and an intercept per output."""

    graph: FittedGraph
    scaler: Scaler
    nodes: tuple[Hashable, ...]  # the hull
    # Coefficients of each node's centered features, (n_columns, n_outputs).
    coefs: tuple[Array, ...]
    means: tuple[Array, ...]  # means of each node's features, (n_columns,)
    # Data from the training samples that a node's features require besides the graph;
    # None for most nodes. All outputs have the same samples, and thus the same data.
    bases: tuple[Array | None, ...]
    active: Indices  # the nodes with nonzero functions
    intercept: Array

    def _check_fitted(self) -> None:
        check_shapes(
            "HullModel",
            intercept=(self.intercept, ("n_outputs",)),
            scaler=(self.scaler.mean, (self.graph.n_features,)),
            bases=(self.bases, (len(self.nodes),)),
        )
        check_places("HullModel", "active", self.active, len(self.nodes))
        for _, coefs, mean in zip(self.nodes, self.coefs, self.means, strict=True):
            check_shapes(
                "HullModel",
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
        """Raise unless the model can read tables with `n_features` columns."""
        # The features of the active nodes must exist in such a table. `n_kernels` and
        # `packed` are not used.
        check_shapes("HullModel", mean=(self.scaler.mean, (n_features,)))
        sample = self.graph.sample(np.zeros((1, n_features)))
        for k in self.active:
            features = sample.features(self.nodes[k], self.bases[k])
            check_shapes("HullModel", features=(features, (1, self.means[k].size)))

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
    means, bases = dict[Hashable, Array](), dict[Hashable, Array | None]()
    for solution in solutions:
        means |= zip(solution.nodes, solution.means, strict=True)
        bases |= zip(solution.nodes, solution.bases, strict=True)
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
    # All models have the same training samples, and thus the same features of a node:
    # compute them once.
    values_of_node: dict[Hashable, Array] = {}
    f = np.stack([np.tile(m.intercept, (X.shape[0], 1)) for m in models])
    for values, model in zip(f, models, strict=True):
        for k in model.active:
            node = model.nodes[k]
            if node not in values_of_node:
                values_of_node[node] = model.centered(samples, k)
            values += values_of_node[node] @ model.coefs[k]
    finite_predictions(np.moveaxis(f, 1, 0), OF_A_FOLD, CLIP_ADVICE)
    return f
