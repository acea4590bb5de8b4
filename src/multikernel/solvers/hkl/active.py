"""The active set: features of its nodes and those outside, and who is whose descendant.

Features are centred on the samples, and held for nodes outside the hull.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.kernels.graph.base import GraphSamples
from multikernel.solvers.hkl.problem import HullProblem

LARGEST = 1e60
"""Size of features whose quadratic forms are still numbers."""

NEGLIGIBLE = 1e-7
"""Share of the largest singular value below which a direction is rounding."""

HELD = 2
"""Features that are held, over those that are asked for: nodes that are pruned often
come back at the next strength, but all that is held is multiplied."""


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
    parts = zip(
        np.split(rows, ends[:-1]), np.split(means, ends[:-1]), bases, strict=True
    )
    found = []
    for own, mean, basis in parts:
        # Those of landmarks are independent.
        mixer = None if len(own) < 2 or basis is not None else _mixer(own)
        mixed = own if mixer is None else mixer.T @ own
        found.append(Prepared(mixed, mean, mixer, basis))
    return found


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
        self._forget()

    def _forget(self) -> None:
        self.known: dict[Any, Prepared] = {}
        self._places: dict[Any, int] = {}
        self._chunks: list[tuple[Array, Indices]] = []

    def _hold(self, nodes: Sequence[Any], found: Sequence[Prepared]) -> None:
        """Put features side by side, those of one call in one block."""
        rows = np.concatenate([each.rows for each in found])
        sizes = [len(each.rows) for each in found]
        first = len(self._places)
        owners = np.repeat(np.arange(first, first + len(nodes)), sizes)
        self._chunks.append((rows, owners))
        own = np.split(rows, np.cumsum(sizes)[:-1])
        for place, node in enumerate(nodes):
            self._places[node] = first + place
            self.known[node] = replace(found[place], rows=own[place])

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
        found = self.of(nodes)
        asked = sum(len(each.rows) for each in found)
        if sum(len(rows) for rows, _ in self._chunks) > HELD * asked:
            self._forget()
        new = [k for k, node in enumerate(nodes) if node not in self.known]
        if new:
            self._hold([nodes[k] for k in new], [found[k] for k in new])
        products = np.concatenate([rows @ vector for rows, _ in self._chunks])
        owners = np.concatenate([owners for _, owners in self._chunks])
        forms = np.bincount(owners, products**2, minlength=len(self._places))
        return np.asarray(forms[[self._places[node] for node in nodes]])


MANY = 64
"""Features of a node outside from which on its quadratic form is computed without
them, and they only if it joins."""


@dataclass(frozen=True)
class Source:
    """What a round of a search asks of a node outside: weight, width and degrees."""

    weight: float
    wide: bool
    degrees: tuple[int, ...]


class ActiveSet:
    """Nodes closed under ancestors, with their centred features on the samples.

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
        self._features: Array = np.empty((0, n))
        self._gram: Array = np.empty((0, 0))
        self._frontier: dict[Any, Source] = {}
        self._held = Held(self.samples, self._shares if problem.fit_intercept else None)

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    @property
    def features(self) -> Array:
        """Return the features, shape (n_columns, n_samples)."""
        return self._features

    @property
    def frontier(self) -> list[Any]:
        """Return the nodes outside whose parents are all inside."""
        return list(self._frontier)

    @property
    def sources(self) -> list[Source]:
        """Return what is known of the nodes of the frontier."""
        return list(self._frontier.values())

    def outside(self) -> tuple[list[Any], list[Array]]:
        """Return the nodes of the frontier, and their centred features as rows."""
        nodes = self.frontier
        return nodes, [each.rows for each in self._held.of(nodes)]

    def forms(self, vector: Array) -> Array:
        """Return a^T K_v a of the frontier, as if the features of all were centred.

        Those of many are not, and the sum of a is zero where there is an intercept.
        """
        wide = np.array([source.wide for source in self.sources], dtype=bool)
        narrow = [node for node, own in self._frontier.items() if not own.wide]
        forms = np.empty(len(wide))
        forms[~wide] = self._held.forms(narrow, vector)
        forms[wide] = [
            self.samples.form(node, vector)
            for node, own in self._frontier.items()
            if own.wide
        ]
        return forms

    def coefs(self, k: int, beta: Array) -> Array:
        """Return coefficients of the graph's own features of a node from those here."""
        own, mixer = beta[self.owner == k], self._mixers[k]
        return own if mixer is None else np.asarray(mixer @ own)

    def add(self, nodes: Iterable[Any]) -> None:
        """Add nodes whose parents are in the set, or among those before them."""
        new = [node for node in nodes if node not in self.place]
        if not new:
            return
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
        old = self._features.shape[0]
        self._features = np.concatenate([self._features, *blocks])
        self._grow_gram(old)
        self._grow_frontier(new)

    def _grow_gram(self, old: int) -> None:
        """Add the products of the features that are new with all."""
        size = self._features.shape[0]
        gram = np.empty((size, size))
        gram[:old, :old] = self._gram
        weighted = self._features[old:] * self._shares
        gram[old:] = weighted @ self._features.T
        gram[:, old:] = gram[old:].T
        self._gram = gram

    @property
    def gram(self) -> Array:
        """Return the weighted means of the products of all features."""
        return self._gram

    def _grow_frontier(self, new: Iterable[Any]) -> None:
        graph = self.samples.graph
        for node in new:
            self._frontier.pop(node, None)
            for child in graph.children(node):
                inside = child in self.place or child in self._frontier
                if not inside and all(p in self.place for p in graph.parents(child)):
                    self._frontier[child] = self._source(child)
        for root in graph.roots():
            if root not in self.place:
                self._frontier[root] = self._source(root)

    def _source(self, node: Any) -> Source:
        graph = self.samples.graph
        return Source(graph.weight(node), graph.width(node) > MANY, graph.degrees(node))

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
        self._features = self._features[columns]
        self._gram = self._gram[np.ix_(columns, columns)]
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
        known = self._frontier | {node: self._source(node) for node in dropped}
        self._frontier = {
            node: source
            for node, source in known.items()
            if all(parent in self.place for parent in parents(node))
        }
