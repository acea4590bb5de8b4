"""Protocols of directed acyclic graphs of kernels, and functions on them."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices, Mask

Node = Hashable
"""Key of a node. Grids of 5^32 nodes are never enumerated, so keys are not numbers."""


Evidence = Callable[[Sequence[Any]], Array]
"""Function from nodes to -log of p-value bounds; see `GraphSamples.evidence`."""


class GraphSamples(Protocol):
    """A fitted graph on samples, with the features and quadratic forms of its nodes.

    The kernel matrix of a node v is K_v = Z Z^T plus a diagonal residual, where Z has
    one row of features per sample.
    """

    @property
    def graph(self) -> "FittedGraph":
        """Return the graph."""

    @property
    def n_samples(self) -> int:
        """Return the number of samples."""

    def basis(self, node: Any) -> Any:
        """Return landmarks for a node's features, or None if the features need none."""

    def features(self, node: Any, basis: Any = None) -> Array:
        """Return the features Z of a node, shape (n_samples, n_columns)."""

    def residual(self, node: Any, basis: Any = None) -> Array | None:
        """Return diag(K_v - Z Z^T) for v = `node`, or None if it is zero."""
        # Z is the result of `features` for the same `basis`.

    def form(self, node: Any, dual: Array) -> float:
        """Return a^T K_v a, with a = `dual` and the kernel matrix K_v of the node."""

    def descendant_forms(
        self, nodes: Sequence[Any], dual: Array
    ) -> tuple[Array, Array]:
        r"""Return two weighted sums over each node t's descendants D(t), (n_nodes,).

        :math:`\sum_{w \in D(t)} a^T K_w a / (\sum_{v \in A(w) \cap D(t)} d_v)^2` or an
        upper bound on it, with a = `dual`, ancestors A(w) and node weights d_v; and the
        same sum with only the diagonal of K_w.
        """
        # The second sum is the expectation of the first one over random signs of the
        # entries of a.

    def evidence(self, dual: Array, ceiling: float) -> Evidence:
        """Return a function that maps nodes to -log of bounds on their p-values.

        The p-value of a node is the probability that noise e gives some descendant w a
        form e^T K_w e of at least a^T K_w a, with a = `dual`. Only descendants with
        a^T K_w a / d_w^2 > `ceiling` count, where d_w is the weight of node w. Nodes
        without such descendants get -inf.
        """

    def take(self, rows: Indices) -> "GraphSamples":
        """Return the graph on a subset of the samples."""


class FittedGraph(Protocol):
    """A graph of kernels that is fitted to samples, for example with landmarks.

    Descendants and ancestors of a node include the node itself.
    """

    @property
    def n_features(self) -> int:
        """Return the number of inputs."""

    def roots(self) -> list[Any]:
        """Return the nodes without parents."""

    def children(self, node: Any) -> list[Any]:
        """Return the children of a node."""

    def parents(self, node: Any) -> list[Any]:
        """Return the parents of a node."""

    def weight(self, node: Any) -> float:
        """Return the positive weight of a node in the penalty."""

    def name(self, node: Any, columns: Sequence[str] | None = None) -> str:
        """Return a readable name of a node, made from the names of the columns."""

    def degrees(self, node: Any) -> tuple[int, ...]:
        """Return levels in decreasing order; comparable nodes have equal levels."""

    def width(self, node: Any) -> int:
        """Return the number of features of the node if no landmarks are used."""

    def sample(self, X: Array) -> GraphSamples:
        """Return the graph on samples X, shape (n_samples, n_features)."""


@runtime_checkable
class KernelGraph(Protocol):
    """A directed acyclic graph of kernels, before it is fitted to samples."""

    def bind(self, X: Array) -> FittedGraph:
        """Return the graph fitted to samples X, shape (n_samples, n_features)."""


def hull(graph: FittedGraph, nodes: Iterable[Node]) -> set[Node]:
    """Return the union of the ancestors of some nodes, including these nodes."""
    closed: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in closed:
            closed.add(node)
            waiting.extend(graph.parents(node))
    return closed


def descendants(graph: FittedGraph, node: Node) -> Iterator[Node]:
    """Yield a node and its descendants in breadth-first order."""
    level, seen = [node], {node}
    while level:
        yield from level
        following: list[Node] = []
        for parent in level:
            for child in graph.children(parent):
                if child not in seen:
                    seen.add(child)
                    following.append(child)
        level = following


class KnownNodes:
    """Numbers and cached properties of the nodes that a search has encountered."""

    def __init__(self, graph: FittedGraph) -> None:
        self.graph = graph
        self.keys: list[Any] = []
        # Columns: number of parents, weight, width (number of features) and kind (a
        # number for each distinct `degrees`). All but the first are NaN before `ask`,
        # which a search calls for a node once all its parents are visited.
        self._facts: Array = np.zeros((0, 4))
        self.n_parents, self.weights, self.widths, self.kinds = self._facts.T
        # Number of each key, and kind of each tuple of `degrees`.
        self._numbers: dict[Any, int] = {}
        self._kinds: dict[tuple[int, ...], int] = {}
        self._children: dict[int, Indices] = {}

    def __len__(self) -> int:
        return len(self.keys)

    def numbers(self, nodes: Iterable[Any]) -> Indices:
        """Return the number of each node key; new keys get the next numbers."""
        numbers = self._numbers
        result = [numbers.setdefault(node, len(numbers)) for node in nodes]
        # Dictionaries preserve insertion order, so new keys are last.
        first = len(self)
        new = list(islice(reversed(numbers), len(numbers) - first))[::-1]
        if new:
            # Users' graphs may return a parent twice.
            parents = [len({*self.graph.parents(node)}) for node in new]
            self.keys += new
            self._facts = of_more(self._facts, len(self), np.nan)
            self._facts[first : len(self), 0] = parents
            self.n_parents, self.weights, self.widths, self.kinds = self._facts.T
        return np.array(result, dtype=np.intp)

    def ask(self, nodes: Indices) -> Indices:
        """Look up and store the weight, width and kind of `nodes`; return `nodes`."""
        # Nodes whose kind is already stored are skipped.
        graph, kinds = self.graph, self._kinds
        for k in nodes[np.isnan(self.kinds[nodes])].tolist():
            node = self.keys[k]
            kind = kinds.setdefault(graph.degrees(node), len(kinds))
            self._facts[k, 1:] = graph.weight(node), graph.width(node), kind
        return nodes

    def children(self, nodes: Indices) -> Indices:
        """Return the children of all `nodes` as node numbers, concatenated."""
        new = [k for k in nodes.tolist() if k not in self._children]
        if new:
            children = [dict.fromkeys(self.graph.children(self.keys[k])) for k in new]
            ends = np.cumsum([len(keys) for keys in children])[:-1]
            parts = np.split(self.numbers(chain.from_iterable(children)), ends)
            self._children.update(zip(new, parts, strict=True))
        return np.concatenate([nodes[:0], *(self._children[k] for k in nodes.tolist())])

    def named(self, nodes: Indices) -> list[Any]:
        """Return the keys of the nodes with these numbers."""
        return [self.keys[k] for k in nodes.tolist()]

    def among(self, nodes: Indices, others: Indices) -> Mask:
        """Return a mask, (n_nodes,): True for nodes that are also in `others`."""
        mask = np.zeros(len(self), dtype=bool)
        mask[others] = True
        return mask[nodes]


def of_more(values: NDArray[Any], size: int, fill: Any) -> NDArray[Any]:
    """Return values extended to at least `size` entries; new ones are `fill`."""
    if len(values) >= size:
        return values
    # Doubling amortizes the copies.
    shape = (max(size, 2 * len(values)) - len(values), *values.shape[1:])
    return np.concatenate([values, np.full(shape, fill, dtype=values.dtype)])


def check_inputs(owner: str, X: object, n_features: int | None = None) -> Array:
    """Return finite float64 samples with the right number of inputs, or raise."""
    samples = np.asarray(X, dtype=np.float64)
    if samples.ndim != 2 or not samples.shape[0]:
        raise ValueError(
            f"{owner}: X must have shape (n_samples, n_features) with at least one "
            f"sample; got shape {samples.shape}."
        )
    if not np.isfinite(samples).all():
        raise ValueError(
            f"{owner}: X must be finite, but has NaN or infinite values: impute "
            "missing values, and replace infinite values."
        )
    if n_features is not None and samples.shape[1] != n_features:
        raise ValueError(
            f"{owner}: X must have the {n_features} columns of the fit, got "
            f"{samples.shape[1]}: pass the same columns."
        )
    return samples
