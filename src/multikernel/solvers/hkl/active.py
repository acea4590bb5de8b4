"""The active set: features of its nodes and those outside, and who is whose descendant.

Features are centred on the samples, and held for nodes outside the hull.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.kernels.graph.base import FittedGraph, GraphSamples, hull
from multikernel.solvers.hkl.problem import HullProblem

LARGEST = 1e60
"""Size of features whose quadratic forms are still numbers."""

NEGLIGIBLE = 1e-7
"""Share of the largest singular value below which a direction is rounding."""

HELD = 2
"""Nodes that are held, over those ever asked for at once: what is pruned comes back at
the next strength, but all that is held is multiplied."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Centred features as rows, what centred and mixed them, and what they rest on."""

    rows: Array
    means: Array
    mixer: Array | None
    basis: Any


def prepare(
    samples: GraphSamples, nodes: Sequence[Any], shares: Array | None
) -> list[Prepared]:
    """Return the centred features of nodes, and how they come about.

    Parameters
    ----------
    samples : GraphSamples
        The graph on the samples.
    nodes : sequence of nodes
        They are centred together: most have one feature each.
    shares : ndarray of shape (n_samples,) or None
        Shares of the samples in the means; None where nothing is centred.

    Returns
    -------
    prepared : list of Prepared

    Raises
    ------
    ValueError
        If features are too large.
    """
    if not nodes:
        return []
    bases = [samples.basis(node) for node in nodes]
    pairs = zip(nodes, bases, strict=True)
    with np.errstate(over="ignore", invalid="ignore"):
        blocks = [samples.features(node, basis).T for node, basis in pairs]
        rows = np.concatenate(blocks)
    ends = np.cumsum([len(block) for block in blocks])
    # Their products are squared; nan fails as well.
    wrong = np.flatnonzero(~(_sizes(rows) < LARGEST))
    if wrong.size:
        first = nodes[int(np.searchsorted(ends, wrong[0], side="right"))]
        raise ValueError(
            f"The features of {samples.graph.name(first)} are too large for "
            "floating-point numbers: standardize the inputs, or clip outliers."
        )
    means = np.zeros(rows.shape[0])
    if shares is not None:
        means = rows @ shares
        rows -= means[:, None]
        # What is left of a constant is rounding, and no feature.
        rows[_sizes(rows) <= 1e-12 * np.abs(means)] = 0.0
    found = []
    for own, mean, basis in zip(
        _cut(rows, ends), _cut(means, ends), bases, strict=True
    ):
        # Those of landmarks are independent.
        mixer = None if len(own) < 2 or basis is not None else _mixer(own)
        mixed = own if mixer is None else mixer.T @ own
        found.append(Prepared(mixed, mean, mixer, basis))
    return found


def _cut(rows: Array, ends: Indices) -> list[Array]:
    """Return the parts of an array that end at some places."""
    return [rows[a:b] for a, b in pairwise([0, *ends.tolist()])]


def _sizes(rows: Array) -> Array:
    """Return the largest absolute value of every row."""
    largest, least = rows.max(axis=1, initial=0.0), rows.min(axis=1, initial=0.0)
    return np.asarray(np.maximum(largest, -least))


def _mixer(rows: Array) -> Array | None:
    """Return the directions that features span, None where they are independent.

    Products of blocks have many columns and few directions.
    """
    directions, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    kept = sizes > NEGLIGIBLE * sizes.max(initial=0.0)
    return None if kept.sum() == rows.shape[0] else np.asarray(directions[:, kept])


class Held:
    """Features of nodes, side by side: a form of all is one product.

    Parameters
    ----------
    samples : GraphSamples
        The graph on the samples.
    shares : ndarray of shape (n_samples,) or None
        As in `prepare`.
    """

    def __init__(self, samples: GraphSamples, shares: Array | None) -> None:
        self.samples, self.shares = samples, shares
        self._most = 0
        self._forget()

    def _forget(self) -> None:
        self.known: dict[Any, Prepared] = {}
        self._places: dict[Any, int] = {}
        self._chunks: list[tuple[Array, Indices]] = []

    def _hold(self, nodes: Sequence[Any], found: Sequence[Prepared]) -> None:
        """Put features side by side, those of one call in one block."""
        if not nodes:
            return
        rows = np.concatenate([each.rows for each in found])
        sizes = [len(each.rows) for each in found]
        first = len(self._places)
        owners = np.repeat(np.arange(first, first + len(nodes)), sizes)
        self._chunks.append((rows, owners))
        for place, own in enumerate(_cut(rows, np.cumsum(sizes))):
            node, one = nodes[place], found[place]
            self._places[node] = first + place
            self.known[node] = Prepared(own, one.means, one.mixer, one.basis)

    def of(self, nodes: Iterable[Any]) -> list[Prepared]:
        """Return the features of nodes; what is not known is computed, not held."""
        listed = list(nodes)
        new = [node for node in listed if node not in self.known]
        made = dict(zip(new, prepare(self.samples, new, self.shares), strict=True))
        return [made[node] if node in made else self.known[node] for node in listed]

    def forms(self, nodes: Sequence[Any], vector: Array) -> Array:
        """Return ||Z_v^T a||^2 of nodes, whose features are held from now on."""
        if not nodes:
            return np.zeros(0)
        self._most = max(self._most, len(nodes))
        if len(self.known) > HELD * self._most:
            kept = [node for node in nodes if node in self.known]
            found = self.of(kept)
            self._forget()
            self._hold(kept, found)
        new = [node for node in nodes if node not in self.known]
        self._hold(new, self.of(new))
        products = np.concatenate([rows @ vector for rows, _ in self._chunks])
        owners = np.concatenate([owners for _, owners in self._chunks])
        forms = np.bincount(owners, products**2, minlength=len(self._places))
        return np.asarray(forms[[self._places[node] for node in nodes]])


MANY = 64
"""Features of a node outside from which on its quadratic form is computed without
them, and they only if it joins."""


@dataclass(frozen=True)
class Source:
    """What a search asks of a node that has no function: weight, width and degrees."""

    weight: float
    wide: bool
    degrees: tuple[int, ...]


def source_of(graph: FittedGraph, node: Any) -> Source:
    """Return what is asked of a node."""
    return Source(graph.weight(node), graph.width(node) > MANY, graph.degrees(node))


class ActiveSet:
    """The nodes J that a search has looked at, closed under ancestors.

    Those whose own kernel violates the necessary condition, and all their ancestors,
    have a part in the reduced problem: nodes, features and all that is said of both are
    theirs. The others are idle: zero is a solution for them, so that they cost nothing.
    The frontier are the sources of what is outside.

    Parameters
    ----------
    problem : HullProblem
        Gives the graph on the samples.
    """

    def __init__(self, problem: HullProblem) -> None:
        self.samples = problem.samples
        total = problem.total_weight
        n = problem.samples.n_samples
        self._shares = (
            np.full(n, 1.0 / n) if problem.weights is None else problem.weights / total
        )
        self.nodes: list[Any] = []
        self.place: dict[Any, int] = {}
        self.means: list[Array] = []
        self.bases: list[Any] = []
        self._mixers: list[Array | None] = []
        self.owner: Indices = np.zeros(0, dtype=np.intp)
        self.weights: Array = np.zeros(0)
        self.relation: Array = np.zeros((0, 0))
        self._residuals: dict[int, Array] = {}
        self.features: Array = np.empty((0, n))
        self.gram: Array = np.empty((0, 0))
        """Weighted means of the products of all features."""
        roots = self.samples.graph.roots()
        # What is pruned comes back at the next strength.
        self._source = cache(partial(source_of, self.samples.graph))
        self.inside: set[Any] = set()
        self.idle: dict[Any, Source] = {}
        self.frontier = {root: self._source(root) for root in roots}
        self._held = Held(self.samples, self._shares if problem.fit_intercept else None)
        self.add(roots)

    def __len__(self) -> int:
        """Return the number of nodes with a part in the reduced problem."""
        return len(self.nodes)

    def rows(self, nodes: Iterable[Any]) -> list[Array]:
        """Return the centred features of nodes as rows."""
        return [each.rows for each in self._held.of(nodes)]

    def forms(self, sources: Mapping[Any, Source], vector: Array) -> Array:
        """Return a^T K_v a of nodes, as if the features of all were centred.

        Those of many are not, and the sum of a is zero where there is an intercept.
        """
        wide = np.array([source.wide for source in sources.values()], dtype=bool)
        narrow = [node for node, own in sources.items() if not own.wide]
        forms = np.empty(len(wide))
        forms[~wide] = self._held.forms(narrow, vector)
        forms[wide] = [
            self.samples.form(node, vector) for node, own in sources.items() if own.wide
        ]
        return forms

    def coefs(self, k: int, beta: Array) -> Array:
        """Return coefficients of the graph's own features of a node from those here."""
        own, mixer = beta[self.owner == k], self._mixers[k]
        return own if mixer is None else np.asarray(mixer @ own)

    def look_at(self, nodes: Sequence[Any]) -> None:
        """Move nodes of the frontier into J; those of many features are never idle."""
        graph = self.samples.graph
        inside = self.inside
        for node in nodes:
            self.idle[node] = self.frontier.pop(node)
        inside.update(nodes)
        for node in nodes:
            for child in graph.children(node):
                if child in inside or child in self.frontier:
                    continue
                if inside.issuperset(graph.parents(child)):
                    self.frontier[child] = self._source(child)
        wide = [node for node in nodes if self.idle[node].wide]
        if wide:
            self.add(wide)

    def add(self, nodes: Sequence[Any]) -> None:
        """Give nodes and all their ancestors a part in the reduced problem."""
        self.look_at([node for node in nodes if node in self.frontier])
        wanted = hull(self.samples.graph, nodes)
        # A node was looked at after its parents.
        new = [node for node in self.idle if node in wanted]
        if not new:
            return
        self.idle = {v: own for v, own in self.idle.items() if v not in wanted}
        graph = self.samples.graph
        blocks = []
        m = len(self.nodes)
        relation = np.zeros((m + len(new), m + len(new)))
        relation[:m, :m] = self.relation
        owners = [self.owner]
        prepared = self._held.of(new)
        for k, (node, found) in enumerate(zip(new, prepared, strict=True), start=m):
            self._mixers.append(found.mixer)
            self.bases.append(found.basis)
            self.nodes.append(node)
            self.place[node] = k
            self.means.append(found.means)
            blocks.append(found.rows)
            owners.append(np.full(found.rows.shape[0], k, dtype=np.intp))
            for parent in graph.parents(node):
                relation[:, k] = np.maximum(
                    relation[:, k], relation[:, self.place[parent]]
                )
            relation[k, k] = 1.0
            residual = self.samples.residual(node, found.basis)
            if residual is not None:
                self._residuals[k] = np.sqrt(residual)
        self.relation = relation
        self.owner = np.concatenate(owners)
        own = np.array([graph.weight(node) for node in new])
        self.weights = np.append(self.weights, own)
        old = self.features.shape[0]
        self.features = np.concatenate([self.features, *blocks])
        self._grow_gram(old)

    def _grow_gram(self, old: int) -> None:
        """Add the products of the features that are new with all."""
        size = self.features.shape[0]
        gram = np.empty((size, size))
        gram[:old, :old] = self.gram
        weighted = self.features[old:] * self._shares
        gram[old:] = weighted @ self.features.T
        gram[:, old:] = gram[old:].T
        self.gram = gram

    def slack_norms(self, vector: Array) -> Array:
        """Return bounds on the norms of what features leave out of each kernel.

        They are sum_i |a_i| sqrt(e_i), with e the diagonal of what is left out.
        """
        bounds = np.zeros(len(self))
        for k, roots in self._residuals.items():
            bounds[k] = np.abs(vector) @ roots
        return bounds

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop all nodes but some that are closed under ancestors."""
        columns = kept[self.owner]
        new_place = np.cumsum(kept) - 1
        self.owner = new_place[self.owner[columns]]
        self.features = self.features[columns]
        self.gram = self.gram[np.ix_(columns, columns)]
        self.relation = self.relation[np.ix_(kept, kept)]
        self.weights = self.weights[kept]
        dropped = [self.nodes[k] for k in np.flatnonzero(~kept)]
        chosen = np.flatnonzero(kept)
        self.nodes = [self.nodes[k] for k in chosen]
        self.means = [self.means[k] for k in chosen]
        self._mixers = [self._mixers[k] for k in chosen]
        self.bases = [self.bases[k] for k in chosen]
        self._residuals = {
            int(new_place[k]): roots for k, roots in self._residuals.items() if kept[k]
        }
        self.place = {node: k for k, node in enumerate(self.nodes)}
        # What has all its parents inside had them inside before.
        parents = self.samples.graph.parents
        known = self.frontier | self.idle | {v: self._source(v) for v in dropped}
        self.idle, self.inside = {}, {*self.nodes}
        self.frontier = {
            node: source
            for node, source in known.items()
            if self.inside.issuperset(parents(node))
        }
