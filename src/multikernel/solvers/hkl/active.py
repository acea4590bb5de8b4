"""The active set of a search, and centered features of nodes inside and outside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.kernels.graph.base import GraphSamples, KnownNodes, hull, of_more
from multikernel.solvers.hkl.problem import HullProblem


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """How the centered features of a node are computed from its own features."""

    means: Array  # subtracted from the features
    # If the node's features are linearly dependent, its centered features are
    # `mixer.T` times their differences from the means; otherwise `mixer` is None.
    mixer: Array | None
    basis: Any  # see `GraphSamples.basis`
    roots: Array | None  # square roots of `GraphSamples.residual`, if there is one


Prepared = tuple[Array, FeatureMap]
"""Centered features of a node, one per row, and their map."""


def prepare(
    samples: GraphSamples, nodes: Sequence[Any], shares: Array | None
) -> list[Prepared]:
    """Return the features of each node, centered with the sample weights `shares`."""
    if not nodes:
        return []
    # All features are centered together, because most nodes have a single feature.
    bases = [samples.basis(node) for node in nodes]
    pairs = zip(nodes, bases, strict=True)
    with np.errstate(over="ignore", invalid="ignore"):
        blocks = [samples.features(node, basis).T for node, basis in pairs]
        rows = np.concatenate(blocks)
    ends = np.cumsum([len(block) for block in blocks])
    # Larger features overflow in quadratic forms, which square their products. NaN
    # fails this check as well.
    too_large = np.flatnonzero(~(_sizes(rows) < 1e60))
    if too_large.size:
        first = nodes[int(np.searchsorted(ends, too_large[0], side="right"))]
        raise ValueError(
            f"The features of {samples.graph.name(first)} are too large for "
            "floating-point numbers: standardize the inputs, or clip outliers."
        )
    means = np.zeros(rows.shape[0])
    # The means are those of the samples with weights `shares`, which sum to one. None
    # means no centering.
    if shares is not None:
        means = rows @ shares
        rows -= means[:, None]
        # Centering a constant feature leaves only rounding errors: set it to zero.
        rows[_sizes(rows) <= 1e-12 * np.abs(means)] = 0.0
    parts = zip(nodes, bases, _cut(rows, ends), _cut(means, ends), strict=True)
    return [_mixed(samples, *part) for part in parts]


def _mixed(
    samples: GraphSamples, node: Any, basis: Any, rows: Array, means: Array
) -> Prepared:
    """Return a node's features, replaced by independent combinations if necessary."""
    # `basis` contains the landmarks of the features, or is None. Features of landmarks
    # are already linearly independent.
    mixer = None if len(rows) < 2 or basis is not None else _mixer(rows)
    residual = samples.residual(node, basis)
    roots = None if residual is None else np.sqrt(residual)
    mixed = rows if mixer is None else mixer.T @ rows
    return mixed, FeatureMap(means, mixer, basis, roots)


def _cut(rows: Array, ends: Indices) -> list[Array]:
    """Split an array into blocks of rows; block k ends before row ends[k]."""
    return [rows[a:b] for a, b in pairwise([0, *ends.tolist()])]


def _sizes(rows: Array) -> Array:
    """Return the largest absolute value of every row."""
    largest, least = rows.max(axis=1, initial=0.0), rows.min(axis=1, initial=0.0)
    return np.asarray(np.maximum(largest, -least))


def _mixer(rows: Array) -> Array | None:
    """Return M such that M^T `rows` has independent rows, or None for M = I."""
    # If the rows themselves are linearly independent, the result is None.
    directions, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    # Smaller singular values are rounding errors.
    positive = sizes > 1e-7 * sizes.max(initial=0.0)
    if np.count_nonzero(positive) == len(rows):
        return None
    return np.asarray(directions[:, positive])


MANY = 64
"""Maximum number of features of a node outside the active set whose quadratic form is
computed from them. More features are computed only when the node joins the set."""


class StoredNodes:
    """Cache of the nodes' features, as rows of a few large matrices (the chunks)."""

    # One product per chunk then gives the quadratic forms of all its nodes. A node is
    # stored when its form is first needed.

    _prepared: list[Prepared]  # one for each stored node; its rows are part of a chunk
    _places: Indices  # index of each node in `_prepared`; -1 if not stored
    # For each chunk: its first node, its rows of features, and the node of each row.
    _chunks: list[tuple[int, Array, Indices]]

    def __init__(
        self, samples: GraphSamples, known: KnownNodes, shares: Array | None
    ) -> None:
        self.samples, self.known, self.shares = samples, known, shares
        self._most = 0
        self._clear()

    def _clear(self) -> None:
        self._prepared, self._chunks = [], []
        self._places = np.zeros(0, dtype=np.intp)

    def _store_chunk(self, nodes: Indices, made: Sequence[Prepared]) -> None:
        """Store the prepared features of nodes as a new chunk."""
        if not nodes.size:
            return
        rows = np.concatenate([rows for rows, _ in made])
        sizes = [len(rows) for rows, _ in made]
        places = len(self._prepared) + np.arange(nodes.size)
        self._chunks.append((int(places[0]), rows, np.repeat(places, sizes)))
        self._places = of_more(self._places, len(self.known), -1)
        self._places[nodes] = places
        maps = [of_node for _, of_node in made]
        self._prepared += zip(_cut(rows, np.cumsum(sizes)), maps, strict=True)

    def _split(self, nodes: Indices) -> tuple[Indices, Indices]:
        """Split nodes into those with stored features and those without."""
        self._places = of_more(self._places, len(self.known), -1)
        stored = self._places[nodes] >= 0
        return nodes[stored], nodes[~stored]

    def features_of(self, nodes: Indices) -> list[Prepared]:
        """Return the features of nodes; missing ones are computed but not stored."""
        stored, new = self._split(nodes)
        prepared = prepare(self.samples, self.known.named(new), self.shares)
        made = dict(zip(new.tolist(), prepared, strict=True))
        made |= {k: self._prepared[self._places[k]] for k in stored.tolist()}
        return [made[k] for k in nodes.tolist()]

    def release(self, nodes: Indices, n_asked: int) -> None:
        """Free all features but those of `nodes` if too many nodes are stored."""
        # `n_asked` is the number of nodes whose quadratic forms were computed for the
        # last dual point. `_most` is the largest value so far of `n_asked` and of the
        # number of `nodes`. More than twice as many stored nodes are too many.
        self._most = max(self._most, nodes.size, n_asked)
        if len(self._prepared) > 2 * self._most:
            stored, _ = self._split(nodes)
            prepared = self.features_of(stored)
            self._clear()
            self._store_chunk(stored, prepared)

    def forms(self, nodes: Indices, vector: Array) -> Array:
        """Return ||Z_v^T vector||^2 of each node v; store its features Z_v."""
        if not nodes.size:
            return np.zeros(0)
        _, new = self._split(nodes)
        self._store_chunk(new, self.features_of(new))
        places = self._places[nodes]
        # A chunk is the first place in it, its rows of features, and the place of each
        # row's node (`owners`). Each chunk of the nodes is multiplied by the vector
        # once.
        firsts = [first for first, _, _ in self._chunks]
        used_chunks = np.unique(np.searchsorted(firsts, places, side="right")) - 1
        chunks = [self._chunks[k] for k in used_chunks.tolist()]
        products = np.concatenate([rows @ vector for _, rows, _ in chunks])
        owners = np.concatenate([owners for _, _, owners in chunks])
        forms = np.bincount(owners, products**2, minlength=len(self._prepared))
        return np.asarray(forms[places])


class ActiveSet:
    """Nodes that a search has visited (the set J), closed under ancestors."""

    # Nodes whose own kernel violates the necessary condition, and all their ancestors,
    # take part in the reduced problem; arrays of nodes and features refer to these. The
    # other visited nodes are idle: zero is a solution for them, so they cost nothing.
    # The frontier contains the nodes outside the active set whose parents are all in
    # it. Nodes are given by their numbers in `known`.

    def __init__(self, problem: HullProblem) -> None:
        self.samples = problem.samples
        graph, known = self.samples.graph, problem.known
        self.known = KnownNodes(graph) if known is None else known
        total = problem.total_weight
        n = problem.samples.n_samples
        self._shares = (
            np.full(n, 1.0 / n) if problem.weights is None else problem.weights / total
        )
        # Nodes of the reduced problem: their numbers, the factors d_v of their norms,
        # and the maps of their features.
        self.nodes: Indices = np.zeros(0, dtype=np.intp)
        self.weights: Array = np.zeros(0)
        self.maps: list[FeatureMap] = []
        # `owner` is the position in `nodes` of each feature's node. relation[u, v] is 1
        # if u is v or an ancestor of v, else 0. `features` has one feature per row.
        self.owner: Indices = np.zeros(0, dtype=np.intp)
        self.relation: Array = np.zeros((0, 0))
        self.features: Array = np.empty((0, n))
        self.gram: Array = np.empty((0, 0))
        """Weighted means of the products of all pairs of features."""
        self.idle: Indices = np.zeros(0, dtype=np.intp)
        roots = self.known.numbers(dict.fromkeys(graph.roots()))
        self.frontier = self.known.ask(roots)
        self._n_visited_parents: Indices = np.zeros(0, dtype=np.intp)
        """Number of visited parents of each node."""
        shares = self._shares if problem.fit_intercept else None
        self._stored = StoredNodes(self.samples, self.known, shares)
        self.add(self.frontier)

    def __len__(self) -> int:
        return self.nodes.size

    @property
    def n_inside(self) -> int:
        """Return the number of visited nodes."""
        return self.nodes.size + self.idle.size

    def rows(self, nodes: Indices) -> list[Array]:
        """Return the centered features of each node, one feature per row."""
        return [rows for rows, _ in self._stored.features_of(nodes)]

    def forms(self, nodes: Indices, vector: Array) -> Array:
        """Return a^T K_v a of each node v, for a = `vector` and centered features."""
        forms, is_wide = np.empty(nodes.size), self.known.widths[nodes] > MANY
        forms[~is_wide] = self._stored.forms(nodes[~is_wide], vector)
        # The features of wide nodes are not centered, but with an intercept the sum of
        # a is zero, so centering would not change the form.
        wide = self.known.named(nodes[is_wide])
        forms[is_wide] = [self.samples.form(node, vector) for node in wide]
        return forms

    def release(self, n_asked: int) -> None:
        """Free stored features that the next forms of idle nodes and frontier omit."""
        nodes = np.append(self.idle, self.frontier)
        self._stored.release(nodes[self.known.widths[nodes] <= MANY], n_asked)

    def coefs(self, position: int, beta: Array) -> Array:
        """Return the coefficients of the original features of node k."""
        # If the node has a mixer M, its entries of `beta` are the coefficients of M^T
        # times its original features.
        of_node, mixer = beta[self.owner == position], self.maps[position].mixer
        return of_node if mixer is None else np.asarray(mixer @ of_node)

    def visit(self, nodes: Indices) -> None:
        """Make frontier nodes idle, and `add` those of more than `MANY` features."""
        # Children of these nodes whose parents are all visited join the frontier.
        self.idle = np.append(self.idle, nodes)
        children = self._count(nodes, 1)
        remaining = self.frontier[~self.known.among(self.frontier, nodes)]
        self.frontier = np.append(remaining, self._ready(children))
        wide = nodes[self.known.widths[nodes] > MANY]
        if wide.size:
            self.add(wide)

    def _count(self, nodes: Indices, change: int) -> Indices:
        """Add `change` to every child's number of visited parents; return children."""
        children = self.known.children(nodes)
        self._n_visited_parents = of_more(self._n_visited_parents, len(self.known), 0)
        np.add.at(self._n_visited_parents, children, change)
        return children

    def _ready(self, nodes: Indices) -> Indices:
        """Return the distinct nodes among `nodes` whose parents are all visited."""
        ready = nodes[self._n_visited_parents[nodes] == self.known.n_parents[nodes]]
        firsts = np.sort(np.unique(ready, return_index=True)[1])
        return self.known.ask(ready[firsts])

    def add(self, nodes: Indices) -> None:
        """Make nodes and all their ancestors part of the reduced problem."""
        # `known` converts nodes to numbers and back; `among` is a mask of common
        # numbers.
        self.visit(nodes[self.known.among(nodes, self.frontier)])
        wanted = self.known.numbers(hull(self.samples.graph, self.known.named(nodes)))
        # Idle nodes are in the order of visits, so parents precede their children.
        joins = self.known.among(self.idle, wanted)
        new, self.idle = self.idle[joins], self.idle[~joins]
        if not new.size:
            return
        prepared = self._stored.features_of(new)
        sizes = [len(rows) for rows, _ in prepared]
        owner = len(self) + np.repeat(np.arange(new.size), sizes)
        self.owner = np.append(self.owner, owner)
        self.nodes = np.append(self.nodes, new)
        self.weights = self.known.weights[self.nodes]
        self._relate(new)
        self.maps += [of_node for _, of_node in prepared]
        self.features = np.concatenate([self.features, *[rows for rows, _ in prepared]])
        self._grow_gram()

    def _relate(self, new: Indices) -> None:
        """Extend the matrix of ancestors by one column for each new node."""
        # Column k of the matrix is the mask of the ancestors of node k.
        relation, m = np.eye(len(self)), len(self) - new.size
        relation[:m, :m] = self.relation
        row_of = {k: row for row, k in enumerate(self.nodes.tolist())}
        for k, node in enumerate(self.known.named(new), start=m):
            ancestors = self.known.numbers(hull(self.samples.graph, [node]))
            relation[[row_of[ancestor] for ancestor in ancestors.tolist()], k] = 1.0
        self.relation = relation

    def _grow_gram(self) -> None:
        """Extend `gram` by the products of the new features with all features."""
        old, size = len(self.gram), len(self.features)
        gram = np.empty((size, size))
        gram[:old, :old] = self.gram
        weighted = self.features[old:] * self._shares
        gram[old:] = weighted @ self.features.T
        gram[:, old:] = gram[old:].T
        self.gram = gram

    def slack_norms(self, vector: Array) -> Array:
        """Return upper bounds on the dual norms of the nodes' residuals, (n_nodes,).

        A node's residual is the part of its kernel that its low-rank features omit.
        """
        # The bounds are sum_i |a_i| sqrt(e_i) for a = `vector`, with e the diagonal of
        # the residual.
        bounds = np.zeros(len(self))
        for k, of_node in enumerate(self.maps):
            if of_node.roots is not None:
                bounds[k] = np.abs(vector) @ of_node.roots
        return bounds

    def keep(self, stays: NDArray[np.bool_]) -> None:
        """Keep only the active nodes in the mask, which is closed under ancestors."""
        columns = stays[self.owner]
        self.owner = (np.cumsum(stays) - 1)[self.owner[columns]]
        self.features = self.features[columns]
        self.gram = self.gram[np.ix_(columns, columns)]
        self.relation = self.relation[np.ix_(stays, stays)]
        dropped, self.nodes = self.nodes[~stays], self.nodes[stays]
        self.weights = self.weights[stays]
        self.maps = [self.maps[k] for k in np.flatnonzero(stays)]
        # A node whose parents are all in J now had them in J before as well. So the new
        # frontier is among the old frontier and the nodes that leave J.
        idle, self.idle = self.idle, dropped[:0]
        leaving = np.append(idle, dropped)
        self._count(leaving, -1)
        self.frontier = self._ready(np.append(self.frontier, leaving))
        # Idle nodes stay if all their parents do.
        while (visited := idle[self.known.among(idle, self.frontier)]).size:
            self.visit(visited)
