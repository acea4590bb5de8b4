"""What HKL learns from: a graph of kernels on the training samples, in place of stacks.

It stands where `Grams` stands in a fit and in the folds of a search.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import check_places, check_shapes
from multikernel.estimators.data.dictionary import KernelNames
from multikernel.estimators.data.finite import all_finite
from multikernel.estimators.fit.one_vs_rest import Expansion
from multikernel.estimators.fit.predict import Rows, row_chunks
from multikernel.estimators.search.folds import Fold
from multikernel.gram.normalization import Normalization
from multikernel.kernels.graph.base import FittedGraph, GraphSamples, KernelGraph
from multikernel.solvers.hkl import HullSolution


@dataclass(frozen=True, eq=False)
class Scaler:
    """Means and deviations of the columns.

    Parameters
    ----------
    mean, scale : ndarray of shape (n_features,)
        What is subtracted, and what is divided by.
    """

    mean: Array
    scale: Array

    def __post_init__(self) -> None:
        mean, scale = (self.mean, ("n_features",)), (self.scale, ("n_features",))
        check_shapes("Scaler", mean=mean, scale=scale)

    def __call__(self, X: Rows) -> Array:
        """Return the scaled columns."""
        return np.asarray((X - self.mean) / self.scale)


def make_scaler(X: Array, weights: Array | None, standardize: bool) -> Scaler:
    """Return what standardises columns, or what leaves them as they are.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The training samples.
    weights : ndarray of shape (n_samples,) or None
        Their weights.
    standardize : bool
        Whether to do anything.

    Returns
    -------
    scaler : Scaler
        A constant column is centred only.
    """
    if not standardize:
        return Scaler(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    largest = np.abs(X).max(axis=0)
    unit = np.where(largest > 0.0, largest, 1.0)
    mean = np.average(X / unit, axis=0, weights=weights)
    scale = np.sqrt(np.average((X / unit - mean) ** 2, axis=0, weights=weights))
    # The deviation of a constant column is rounding.
    scale = np.where(scale > 1e-12 * np.maximum(np.abs(mean), 1e-300), scale, 1.0)
    return Scaler(mean * unit, scale * unit)


@dataclass(frozen=True)
class HullNames(KernelNames):
    """Names of the nodes of a hull.

    Parameters
    ----------
    dictionary, n_kernels
        None, and how many there are.
    names : tuple of str
        The names.
    """

    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.names) != self.n_kernels:
            raise ValueError(
                f"HullNames: {len(self.names)} names for {self.n_kernels} nodes."
            )

    def __call__(self, indices: Sequence[int] | None = None) -> list[str]:
        """Return the names of the chosen nodes, of all by default."""
        chosen = range(len(self.names)) if indices is None else indices
        return [self.names[k] for k in chosen]


@dataclass(frozen=True)
class _Built:
    """Says that no kernel is left out beforehand, nor normalised."""

    degenerate: Indices
    normalization: Normalization = field(default_factory=Normalization)


@dataclass(frozen=True, eq=False)
class HullGrams:
    """A graph of kernels on training samples.

    Parameters
    ----------
    spec : KernelGraph
        The graph as it was given.
    X : ndarray of shape (n_samples, n_features)
        The training samples, not scaled.
    standardize : bool
        Whether columns are standardised first.
    columns : tuple of str or None
        Names of the columns.
    scaler : Scaler
        Learnt on the samples.
    samples : GraphSamples
        The graph on the scaled samples.
    """

    spec: KernelGraph
    X: Array
    standardize: bool
    columns: tuple[str, ...] | None
    scaler: Scaler
    samples: GraphSamples

    # What a fit asks stacks of matrices: there are none.
    stack = None
    built = _Built(np.zeros(0, dtype=np.intp))
    names = HullNames(None, 0)

    @property
    def dictionary(self) -> FittedGraph:
        """Return the graph, which is no stack of precomputed matrices."""
        return self.samples.graph

    def part(
        self, chosen: Indices, weights: Array | None, n_copies: int = 1
    ) -> "HullGrams":
        """Return the graph on some of the samples, as if bound to them alone."""
        return hull_grams(
            self.spec, self.X[chosen], weights, self.standardize, self.columns
        )

    anew = part


def hull_grams(
    spec: KernelGraph,
    X: Array,
    weights: Array | None,
    standardize: bool,
    columns: Sequence[str] | None,
) -> HullGrams:
    """Bind a graph to samples.

    Parameters
    ----------
    spec : KernelGraph
        The graph.
    X : ndarray of shape (n_samples, n_features)
        The samples.
    weights : ndarray of shape (n_samples,) or None
        Their weights.
    standardize : bool
        Whether columns are standardised first.
    columns : sequence of str or None
        Names of the columns.

    Returns
    -------
    grams : HullGrams
    """
    scaler = make_scaler(X, weights, standardize)
    scaled = scaler(X)
    with np.errstate(over="ignore"):  # features that are no numbers are refused
        samples = spec.bind(scaled).sample(scaled)
    names = None if columns is None else tuple(str(name) for name in columns)
    return HullGrams(spec, X, standardize, names, scaler, samples)


@dataclass(frozen=True, eq=False)
class HullModel:
    """Functions of the nodes of a hull, and an intercept per output.

    Parameters
    ----------
    graph : FittedGraph
        The graph.
    scaler : Scaler
        Of the columns.
    nodes : tuple of nodes
        The hull.
    coefs : tuple of ndarray of shape (n_columns, n_outputs)
        Coefficients of the centred features of every node.
    means : tuple of ndarray of shape (n_columns,)
        What centres them.
    bases : tuple
        What their features rest on beside the graph, None for most. Outputs that
        share a node have the same one, of the same samples.
    active : ndarray of shape (n_active,)
        The nodes that have a function of their own.
    intercept : ndarray of shape (n_outputs,)
        The intercepts.
    """

    graph: FittedGraph
    scaler: Scaler
    nodes: tuple[Any, ...]
    coefs: tuple[Array, ...]
    means: tuple[Array, ...]
    bases: tuple[Any, ...]
    active: Indices
    intercept: Array

    def __post_init__(self) -> None:
        check_shapes("HullModel", intercept=(self.intercept, ("n_outputs",)))
        check_places("HullModel", "active", self.active, len(self.nodes))
        if self.graph.n_features != self.scaler.mean.size:
            raise ValueError(
                f"HullModel: a graph over {self.graph.n_features} inputs, and "
                f"{self.scaler.mean.size} columns are scaled."
            )
        if len(self.bases) != len(self.nodes):
            raise ValueError(
                f"HullModel: {len(self.nodes)} nodes, and {len(self.bases)} bases."
            )
        for _, coefs, mean in zip(self.nodes, self.coefs, self.means, strict=True):
            check_shapes(
                "HullModel",
                mean=(mean, ("n_columns",)),
                coefs=(coefs, ("n_columns", self.n_outputs)),
            )

    @property
    def n_outputs(self) -> int:
        """Return the number of outputs."""
        return self.intercept.size

    @property
    def n_active(self) -> int:
        """Return the number of nodes that it adds up."""
        return self.active.size

    def check_columns(self, n_kernels: int, n_features: int, packed: bool) -> None:
        """Raise unless nodes have their features on a sample of such data."""
        check_shapes("HullModel", mean=(self.scaler.mean, (n_features,)))
        sample = self.graph.sample(np.zeros((1, n_features)))
        for k in self.active:
            found = sample.features(self.nodes[k], self.bases[k])
            check_shapes("HullModel", features=(found, (1, self.means[k].size)))

    @np.errstate(over="ignore", invalid="ignore")
    def contributions(self, X: Rows) -> Array:
        """Return every term, shape (n_samples, n_outputs, n_active)."""
        terms = np.empty((X.shape[0], self.intercept.size, self.active.size))
        for rows in row_chunks(X.shape[0], 8 * max(1, X.shape[1])):
            samples = self.graph.sample(self.scaler(X[rows]))
            for place, k in enumerate(self.active):
                terms[rows, :, place] = self.centred(samples, k) @ self.coefs[k]
        return _finite(terms)

    @np.errstate(over="ignore", invalid="ignore")
    def decision_values(self, X: Rows) -> Array:
        """Return the sum of all terms and the intercept, (n_samples, n_outputs)."""
        f = np.tile(self.intercept, (X.shape[0], 1))
        for rows in row_chunks(X.shape[0], 8 * max(1, X.shape[1])):
            samples = self.graph.sample(self.scaler(X[rows]))
            for k in self.active:
                f[rows] += self.centred(samples, k) @ self.coefs[k]
        return _finite(f)

    def centred(self, samples: GraphSamples, k: int) -> Array:
        """Return the centred features of a node of the hull on samples."""
        return samples.features(self.nodes[k], self.bases[k]) - self.means[k]


def _finite(values: Array, where: str = "X") -> Array:
    """Return predictions, or refuse samples that features overflow on."""
    if all_finite(values):
        return values
    row = int(np.argwhere(~np.isfinite(values))[0][0])
    raise ValueError(
        f"The features of row {row} of {where} are too large for floating-point "
        "numbers: its values lie too far from those of the training samples. Leave it "
        "out, or clip it; PolynomialGrid(extrapolation='constant') clips by itself."
    )


def hull_model(grams: HullGrams, solutions: Sequence[HullSolution]) -> HullModel:
    """Return the model of the solutions of all outputs, over the union of their hulls.

    Parameters
    ----------
    grams : HullGrams
        What they were fitted on.
    solutions : sequence of HullSolution
        One per output.

    Returns
    -------
    model : HullModel
    """
    means, bases = (
        {
            node: value
            for solution in solutions
            for node, value in zip(solution.nodes, getattr(solution, what), strict=True)
        }
        for what in ("means", "bases")
    )
    coefs = {
        node: np.zeros((mean.size, len(solutions))) for node, mean in means.items()
    }
    for k, solution in enumerate(solutions):
        for node, coef in zip(solution.nodes, solution.coefs, strict=True):
            coefs[node][:, k] = coef
    active = [k for k, node in enumerate(means) if coefs[node].any()]
    return HullModel(
        grams.samples.graph,
        grams.scaler,
        tuple(means),
        tuple(coefs.values()),
        tuple(means.values()),
        tuple(bases.values()),
        np.array(active, dtype=np.intp),
        np.array([solution.intercept for solution in solutions]),
    )


@dataclass(frozen=True, eq=False)
class HullExpansion(Expansion):
    """A model where a search expects coefficients over the training samples.

    Parameters
    ----------
    active : ndarray of shape (n_active,)
        Its nodes with a function of their own.
    coefs : ndarray of shape (0, 0, n_outputs)
        None.
    intercept : ndarray of shape (n_outputs,)
        The intercepts.
    model : HullModel
        The model.
    """

    model: HullModel


def hull_expansion(model: HullModel) -> HullExpansion:
    """Return a model as a search takes it."""
    nothing = np.zeros((0, 0, model.intercept.size))
    return HullExpansion(model.active, nothing, model.intercept, model)


@dataclass(frozen=True, eq=False)
class HullFold(Fold):
    """A fold whose models predict by themselves.

    Parameters
    ----------
    training, outside
        As in `Fold`.
    X : ndarray of shape (n_test, n_features)
        The validation samples.
    """

    X: Array

    @np.errstate(over="ignore", invalid="ignore")
    def decision_values(self, expansions: Sequence[Expansion]) -> Array:
        """Return the decision values of several models on the validation samples."""
        models = [e.model for e in expansions if isinstance(e, HullExpansion)]
        samples = models[0].graph.sample(models[0].scaler(self.X))
        known: dict[Any, Array] = {}
        f = np.stack([np.tile(m.intercept, (self.X.shape[0], 1)) for m in models])
        for values, model in zip(f, models, strict=True):
            for k in model.active:
                node = model.nodes[k]
                if node not in known:
                    known[node] = model.centred(samples, k)
                values += known[node] @ model.coefs[k]
        _finite(np.moveaxis(f, 1, 0), "the validation samples of a fold")
        return f
