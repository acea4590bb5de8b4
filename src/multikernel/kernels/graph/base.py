"""Directed acyclic graphs of kernels, and what is asked of them.

Nodes are keys, never numbers: a grid of 5^32 nodes is never enumerated. A graph as a
user writes it down is a `KernelGraph`; what it has learnt from data (scales, landmarks,
the number of inputs) is a `FittedGraph`, which stays with a model; and `GraphSamples`
is a fitted graph on certain samples, what a solver works with.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices, Mask
from multikernel.kernels.base import Kernel

Node = Hashable
"""A key of a node."""


Evidence = Callable[[Sequence[Any]], Array]
"""Returns the evidence of nodes, see `GraphSamples.evidence`."""


class GraphSamples(Protocol):
    """A fitted graph on certain samples."""

    @property
    def graph(self) -> "FittedGraph":
        """Return the graph."""
        ...

    @property
    def n_samples(self) -> int:
        """Return the number of samples."""
        ...

    def basis(self, node: Any) -> Any:
        """Return what the features of a node rest on beside the graph.

        None where the graph alone knows them. Kernels whose features are too many to
        be written down have fewer ones that these samples determine.
        """
        ...

    def features(self, node: Any, basis: Any = None) -> Array:
        """Return Z of shape (n_samples, n_columns) with K_v = Z Z^T."""
        ...

    def residual(self, node: Any, basis: Any = None) -> Array | None:
        """Return the diagonal of K_v - Z Z^T, None where it is zero."""
        ...

    def form(self, node: Any, dual: Array) -> float:
        """Return a^T K_v a, without forming many features."""
        ...

    def descendant_forms(
        self, nodes: Sequence[Any], dual: Array
    ) -> tuple[Array, Array]:
        r"""Return the weighted sums of quadratic forms over all descendants.

        Parameters
        ----------
        nodes : sequence of nodes
            The nodes t.
        dual : ndarray of shape (n_samples,)
            The vector a.

        Returns
        -------
        forms : ndarray of shape (n_nodes,)
            :math:`\sum_{w \in D(t)} a^T K_w a / (\sum_{v \in A(w) \cap D(t)} d_v)^2`,
            or upper bounds on it.
        noise : ndarray of shape (n_nodes,)
            What the diagonals of the same matrices alone give: the expectation for
            entries of random signs.
        """
        ...

    def evidence(self, dual: Array, ceiling: float) -> Evidence:
        """Return how sure it is that a descendant of a node is more than noise.

        The function returned accepts nodes. Its values are minus the logarithm of a
        bound on the probability of the forms a^T K_w a under noise, minus infinity for
        nodes without evidence. Only nodes w with a^T K_w a / d_w^2 above the ceiling
        count.
        """
        ...

    def take(self, rows: Indices) -> "GraphSamples":
        """Return the graph on some of the samples."""
        ...


class FittedGraph(Protocol):
    """A graph that knows its inputs."""

    @property
    def n_features(self) -> int:
        """Return the number of inputs."""
        ...

    def roots(self) -> list[Any]:
        """Return the nodes without parents."""
        ...

    def children(self, node: Any) -> list[Any]:
        """Return the nodes that edges lead to."""
        ...

    def parents(self, node: Any) -> list[Any]:
        """Return the nodes that edges come from."""
        ...

    def weight(self, node: Any) -> float:
        """Return d_v, positive."""
        ...

    def name(self, node: Any, columns: Sequence[str] | None = None) -> str:
        """Return a readable name."""
        ...

    def degrees(self, node: Any) -> tuple[int, ...]:
        """Return what kind of node it is: the degrees of its factors, falling."""
        ...

    def kernel(self, node: Any) -> Kernel:
        """Return the kernel of the node."""
        ...

    def descendant_kernel(self, node: Any) -> Kernel:
        r"""Return :math:`\sum_w k_w / (\sum_{v \in A(w) \cap D(t)} d_v)^2` over D(t).

        An upper bound is allowed: the sufficient condition stays valid.
        """
        ...

    def width(self, node: Any) -> int:
        """Return the number of features of the node that the graph knows by itself."""
        ...

    def features(self, node: Any, X: Array, basis: Any = None) -> Array:
        """Return the features of new samples, shape (n_samples, n_columns)."""
        ...

    def sample(self, X: Array) -> GraphSamples:
        """Return the graph on samples."""
        ...


@runtime_checkable
class KernelGraph(Protocol):
    """A graph as a user writes it down."""

    def bind(self, X: Array) -> FittedGraph:
        """Learn what the kernels need from samples."""
        ...


def ancestors(graph: FittedGraph, node: Node) -> set[Node]:
    """Return the ancestors of a node, itself among them.

    Parameters
    ----------
    graph : FittedGraph
        The graph.
    node : node
        Any node.
    """
    return hull(graph, [node])


def hull(graph: FittedGraph, nodes: Iterable[Node]) -> set[Node]:
    """Return the union of the ancestors of some nodes.

    Parameters
    ----------
    graph : FittedGraph
        The graph.
    nodes : iterable of nodes
        Any nodes.
    """
    closed: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in closed:
            closed.add(node)
            waiting.extend(graph.parents(node))
    return closed


def descendants(graph: FittedGraph, node: Node) -> Iterator[Node]:
    """Yield the descendants of a node, itself first, nearer ones before others.

    Parameters
    ----------
    graph : FittedGraph
        The graph. That of a grid may be huge: stop in time.
    node : node
        Any node.

    Yields
    ------
    node : node
    """
    level, seen = [node], {node}
    while level:
        yield from level
        following: list[Node] = []
        for one in level:
            for child in graph.children(one):
                if child not in seen:
                    seen.add(child)
                    following.append(child)
        level = following


def frontier(graph: FittedGraph, inside: set[Node]) -> list[Node]:
    """Return the sources of what lies outside a hull: all their parents are inside.

    Parameters
    ----------
    graph : FittedGraph
        The graph.
    inside : set of nodes
        Closed under ancestors.
    """
    sources: dict[Node, None] = {
        root: None for root in graph.roots() if root not in inside
    }
    for node in inside:
        for child in graph.children(node):
            if child in inside or child in sources:
                continue
            if all(parent in inside for parent in graph.parents(child)):
                sources[child] = None
    return list(sources)


class KnownNodes:
    """The nodes that searches on a graph have met, by number, and what they are asked.

    What is outside changes every round by many nodes: numbers make arrays of it. Only
    of those whose parents are inside more is asked than how many parents there are.

    Parameters
    ----------
    graph : FittedGraph
        The graph.
    """

    def __init__(self, graph: FittedGraph) -> None:
        self.graph = graph
        self.keys: list[Any] = []
        self.n_parents: Indices = np.zeros(0, dtype=np.intp)
        self.weights: Array = np.zeros(0)
        self.widths: Array = np.zeros(0)
        self.kinds: Indices = np.zeros(0, dtype=np.intp)
        """Nodes of the same degrees are of one kind; of none as long as not asked."""
        self._numbers: dict[Any, int] = {}
        self._kinds: dict[tuple[int, ...], int] = {}
        self._children: dict[int, Indices] = {}

    def __len__(self) -> int:
        """Return the number of nodes met."""
        return len(self.keys)

    def numbers(self, nodes: Iterable[Any]) -> Indices:
        """Return the numbers of nodes; those that are new get the next ones."""
        numbers = self._numbers
        result = [numbers.setdefault(node, len(numbers)) for node in nodes]
        # A dictionary keeps the order in which keys came.
        first = len(self)
        new = list(islice(reversed(numbers), len(numbers) - first))[::-1]
        if new:
            # Graphs of users may name a node twice.
            parents = [len({*self.graph.parents(node)}) for node in new]
            self.keys += new
            self.n_parents = of_more(self.n_parents, len(self), 0)
            self.n_parents[first : len(self)] = parents
            self.weights = of_more(self.weights, len(self), np.nan)
            self.widths = of_more(self.widths, len(self), np.nan)
            self.kinds = of_more(self.kinds, len(self), -1)
        return np.array(result, dtype=np.intp)

    def ask(self, nodes: Indices) -> Indices:
        """Return nodes whose weights, widths and kinds are known from now on."""
        graph, kinds = self.graph, self._kinds
        for k in nodes[self.kinds[nodes] < 0].tolist():
            node = self.keys[k]
            self.weights[k] = graph.weight(node)
            self.widths[k] = graph.width(node)
            self.kinds[k] = kinds.setdefault(graph.degrees(node), len(kinds))
        return nodes

    def children(self, nodes: Indices) -> Indices:
        """Return the children of nodes, one after the other."""
        new = [k for k in nodes.tolist() if k not in self._children]
        if new:
            children = [dict.fromkeys(self.graph.children(self.keys[k])) for k in new]
            ends = np.cumsum([len(each) for each in children])[:-1]
            parts = np.split(self.numbers(chain.from_iterable(children)), ends)
            self._children.update(zip(new, parts, strict=True))
        return np.concatenate([nodes[:0], *(self._children[k] for k in nodes.tolist())])

    def named(self, nodes: Indices) -> list[Any]:
        """Return the nodes themselves."""
        return [self.keys[k] for k in nodes.tolist()]

    def among(self, nodes: Indices, others: Indices) -> Mask:
        """Return which nodes are among some others."""
        mask = np.zeros(len(self), dtype=bool)
        mask[others] = True
        return mask[nodes]


def of_more(values: NDArray[Any], size: int, fill: Any) -> NDArray[Any]:
    """Return values by number for at least as many nodes, of new ones the same."""
    if len(values) >= size:
        return values
    # Nodes come by the dozen.
    shape = (max(size, 2 * len(values)) - len(values), *values.shape[1:])
    return np.concatenate([values, np.full(shape, fill, dtype=values.dtype)])


def input_names(n_features: int, columns: Sequence[str] | None) -> list[str]:
    """Return the names of columns, or x1, x2, ... where there are none."""
    if columns is not None:
        return [str(column) for column in columns]
    return [f"x{k + 1}" for k in range(n_features)]


def check_inputs(owner: str, X: object, n_features: int | None = None) -> Array:
    """Return finite float64 samples of the right number of inputs, or raise."""
    samples = np.asarray(X, dtype=np.float64)
    if samples.ndim != 2 or not samples.shape[0]:
        raise ValueError(
            f"{owner}: X must have shape (n_samples, n_features) with at least one "
            f"sample; got shape {samples.shape}."
        )
    if not np.isfinite(samples).all():
        raise ValueError(f"{owner}: X must be finite.")
    if n_features is not None and samples.shape[1] != n_features:
        raise ValueError(
            f"{owner} was fitted on {n_features} inputs; X has {samples.shape[1]}."
        )
    return samples


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """A weighted sum of kernels."""

    kernels: tuple[Kernel, ...]
    shares: Array

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        total = np.zeros((X.shape[0], X.shape[0] if Y is None else Y.shape[0]))
        for k in np.flatnonzero(self.shares):
            total += self.shares[k] * self.kernels[k](X, Y)
        return total

    def diag(self, X: Array) -> Array:
        """Return the diagonal, shape (n_samples,)."""
        used = np.flatnonzero(self.shares)
        parts = [self.shares[k] * self.kernels[k].diag(X) for k in used]
        return np.asarray(np.sum(parts, axis=0))
