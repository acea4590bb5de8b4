"""Graphs given explicitly by nodes, edges and kernels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import POSITIVE, check_parameter
from multikernel.kernels.base import Kernel, check_kernel
from multikernel.kernels.graph.base import Evidence, check_inputs
from multikernel.kernels.graph.levels import known_by_landmarks


class DictionaryGraph:
    """Any directed acyclic graph of kernels, for example a tree of groups of features.

    `kernels` maps node names to kernels, and `edges` are pairs (parent, child) of
    names; without edges, this is plain MKL with a squared penalty. `weights` are the
    positive weights of the nodes in the penalty, by name or one for all.
    """

    def __init__(
        self,
        kernels: Mapping[str, Kernel],
        edges: Iterable[tuple[str, str]] = (),
        weights: Mapping[str, float] | float = 1.0,
    ) -> None:
        if not kernels:
            raise ValueError(
                "DictionaryGraph: kernels must have at least one kernel, got none."
            )
        for name, kernel in kernels.items():
            check_kernel(kernel, f"DictionaryGraph: kernel {name!r}")
        above = _parents(kernels, edges)
        try:
            order = list(TopologicalSorter(above).static_order())
        except CycleError as error:
            cycle = " -> ".join(map(repr, error.args[1]))
            raise ValueError(
                f"DictionaryGraph: edges form a cycle, {cycle}: remove one of them."
            ) from error
        self.kernels = dict(kernels)
        self.edges = tuple((p, child) for child in above for p in above[child])
        self.weights = {
            name: weights.get(name) if isinstance(weights, Mapping) else weights
            for name in kernels
        }
        for name, weight in self.weights.items():
            owner = f"DictionaryGraph, weight of {name!r}"
            check_parameter(owner, "weights", weight, POSITIVE)
        self._order = tuple(order)

    def __repr__(self) -> str:
        return f"DictionaryGraph({len(self.kernels)} kernels, {len(self.edges)} edges)"

    def bind(self, X: Array) -> "FittedDictionary":
        """Return the graph with landmarks for the features of each kernel."""
        samples = check_inputs("DictionaryGraph", X)
        factors = [known_by_landmarks(self.kernels[v], samples) for v in self._order]
        pairs = [[self._order.index(name) for name in edge] for edge in self.edges]
        return FittedDictionary(
            self._order,
            tuple(self.kernels[name] for name in self._order),
            np.array(pairs, dtype=np.intp).reshape(-1, 2),
            np.array([self.weights[name] for name in self._order], dtype=np.float64),
            tuple(landmarks for _, landmarks, _ in factors),
            tuple(mixing for _, _, mixing in factors),
            samples.shape[1],
        )


def _parents(
    kernels: Mapping[str, Kernel], edges: Iterable[tuple[str, str]]
) -> dict[str, list[str]]:
    """Return the parents of every node; raise for an edge to an unknown node."""
    above: dict[str, list[str]] = {name: [] for name in kernels}
    for parent, child in edges:
        for name in (parent, child):
            if name not in above:
                raise ValueError(
                    f"DictionaryGraph: the edge {(parent, child)!r} contains "
                    f"{name!r}, which is not a kernel: add it to kernels, or remove "
                    "the edge."
                )
        if parent not in above[child]:
            above[child].append(parent)
    return above


@dataclass(frozen=True, eq=False)
class FittedDictionary:
    """An explicit graph with landmarks for the features of each node."""

    names: tuple[str, ...]  # of the nodes; parents before children
    kernels: tuple[Kernel, ...]
    edges: Indices  # positions of parent and child in names, (n_edges, 2)
    weights: Array
    landmarks: tuple[Array, ...]
    mixings: tuple[Array, ...]  # kernel(X, landmarks) @ mixing are the features
    n_features: int

    def _place(self, node: str) -> int:
        return self.names.index(node)

    @cached_property
    def relation(self) -> Array:
        """Return a matrix with entry (i, j) = 1 if i is node j or an ancestor of j."""
        # The entries of all other pairs of nodes are zero. The indices i and j are
        # positions in `names`.
        above = np.eye(len(self.names))
        for child in range(len(self.names)):
            for parent in self.edges[self.edges[:, 1] == child, 0]:
                above[:, child] = np.maximum(above[:, child], above[:, parent])
        return above

    def roots(self) -> list[str]:
        """Return the nodes without parents."""
        return [name for name in self.names if not self.parents(name)]

    def children(self, node: str) -> list[str]:
        """Return the children of a node."""
        return self._across(0, node)

    def parents(self, node: str) -> list[str]:
        """Return the parents of a node."""
        return self._across(1, node)

    def _across(self, end: int, node: str) -> list[str]:
        """Return the children (`end` 0) or parents (`end` 1) of a node."""
        others = self.edges[self.edges[:, end] == self._place(node), 1 - end]
        return [self.names[k] for k in others]

    def weight(self, node: str) -> float:
        """Return the positive weight of a node in the penalty."""
        return float(self.weights[self._place(node)])

    def name(self, node: str, columns: Sequence[str] | None = None) -> str:
        """Return the name of the node."""
        return node

    def degrees(self, node: str) -> tuple[int, ...]:
        """Return a tuple of one number, the number of ancestors, excluding the node."""
        return (int(self.relation[:, self._place(node)].sum()) - 1,)

    def shares(self, node: str) -> Array:
        """Return the factors of all kernels in the sum over descendants of `node`."""
        # `GraphSamples.descendant_forms` defines the sum. The result, (n_nodes,), has
        # one factor per node of the graph: zero for nodes that are not descendants.
        above = self.relation
        inside = above[self._place(node)]
        sums = (self.weights * inside) @ above
        return np.asarray(1.0 / np.where(inside > 0.0, sums, np.inf) ** 2)

    def width(self, node: str) -> int:
        """Return the number of features of a node."""
        return int(self.mixings[self._place(node)].shape[1])

    def sample(self, X: Array) -> "DictionarySamples":
        """Return the graph on the samples X, which computes features of its nodes."""
        return DictionarySamples(self, check_inputs("The graph", X, self.n_features))


class DictionarySamples:
    """An explicit graph on samples."""

    def __init__(self, graph: FittedDictionary, X: Array) -> None:
        self.graph = graph
        self.X = X
        self._known: dict[str, Array] = {}

    @property
    def n_samples(self) -> int:
        """Return the number of samples."""
        return int(self.X.shape[0])

    def take(self, rows: Indices) -> "DictionarySamples":
        """Return the graph on a subset of the samples."""
        return DictionarySamples(self.graph, self.X[rows])

    def basis(self, node: str) -> None:
        """Return None: the graph stores the landmarks."""

    def features(self, node: str, basis: None = None) -> Array:
        """Return the features of a node, shape (n_samples, n_columns)."""
        if node not in self._known:
            k = self.graph._place(node)
            values = self.graph.kernels[k](self.X, self.graph.landmarks[k])
            self._known[node] = np.asarray(values) @ self.graph.mixings[k]
        return self._known[node]

    def form(self, node: str, dual: Array) -> float:
        """Return an upper bound on a^T K_v a; see `GraphSamples.form`."""
        # The form is not known exactly, because the features omit a small residual.
        products = self.features(node).T @ dual
        bound = float(np.abs(dual) @ np.sqrt(self.residual(node)))
        return float(products @ products) + bound**2

    def residual(self, node: str, basis: None = None) -> Array:
        """Return upper bounds on k(x, x) minus the squared norms of the features."""
        diagonal = np.asarray(self.graph.kernels[self.graph._place(node)].diag(self.X))
        features = self.features(node)
        residual = diagonal - np.einsum("ij,ij->i", features, features)
        floor = 4.0 * np.finfo(np.float64).eps * diagonal
        return np.asarray(np.maximum(residual, floor))

    def evidence(self, dual: Array, ceiling: float) -> Evidence:
        """Return a function that returns minus infinity (no evidence) for each node."""
        return lambda nodes: np.full(len(nodes), -np.inf)

    def descendant_forms(
        self, nodes: Sequence[str], dual: Array
    ) -> tuple[Array, Array]:
        """Return two sums over descendants; see `GraphSamples.descendant_forms`."""
        nodes_of_graph = self.graph.names
        shares = np.array([self.graph.shares(node) for node in nodes])
        shares = shares.reshape(len(nodes), len(nodes_of_graph))
        forms, noise = np.zeros((2, len(nodes_of_graph)))
        for k in np.flatnonzero(shares.any(axis=0)):
            forms[k] = self.form(nodes_of_graph[k], dual)
            noise[k] = float(dual**2 @ np.asarray(self.graph.kernels[k].diag(self.X)))
        return shares @ forms, shares @ noise
