"""The active set: features of its nodes, and which node descends from which."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.solvers.hkl.features import Held
from multikernel.solvers.hkl.problem import HullProblem

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
