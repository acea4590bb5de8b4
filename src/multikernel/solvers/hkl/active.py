"""The active set: features of its nodes, and which node descends from which."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.solvers.hkl.problem import HullProblem


class ActiveSet:
    """Nodes closed under ancestors, with their centred features on the samples.

    Parameters
    ----------
    problem : HullProblem
        Gives the graph on the samples.
    """

    def __init__(self, problem: HullProblem) -> None:
        self.samples = problem.samples
        self._centring = problem.fit_intercept
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
        self._frontier: dict[Any, None] = {}
        self._known: dict[Any, _Prepared] = {}

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

    def form(self, node: Any, vector: Array) -> float:
        """Return a^T K_v a, the sum of a being zero where there is an intercept."""
        if self.samples.graph.width(node) > MANY:
            return self.samples.form(node, vector)
        products = self.centred(node) @ vector
        return float(products @ products)

    def centred(self, node: Any) -> Array:
        """Return the features of a node as rows, centred."""
        return self._centred_features(node).rows

    def _centred_features(self, node: Any) -> "_Prepared":
        """Return centred features, and how they come about."""
        known = self._known.get(node)
        if known is None:
            basis = self.samples.basis(node)
            with np.errstate(over="ignore", invalid="ignore"):
                rows = np.ascontiguousarray(self.samples.features(node, basis).T)
            # Their products are squared; nan fails as well.
            if not np.abs(rows).max(initial=0.0) < LARGEST:
                name = self.samples.graph.name(node)
                raise ValueError(
                    f"The features of {name} are too large for floating-point numbers: "
                    "standardize the inputs, or clip outliers."
                )
            means = np.zeros(rows.shape[0])
            if self._centring:
                means = rows @ self._shares
                rows = rows - means[:, None]
                # What is left of a constant is rounding, and no feature.
                largest = np.abs(rows).max(axis=1, initial=0.0)
                rows[largest <= 1e-12 * np.abs(means)] = 0.0
            # Those of landmarks are independent.
            mixer = None if rows.shape[0] < 2 or basis is not None else _mixer(rows)
            rows = rows if mixer is None else mixer.T @ rows
            known = self._known[node] = _Prepared(rows, means, mixer, basis)
        return known

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
        for k, node in enumerate(new, start=m):
            found = self._centred_features(node)
            del self._known[node]
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
        self.weights = np.array([graph.weight(node) for node in self.nodes])
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
                    self._frontier[child] = None
        for root in graph.roots():
            if root not in self.place:
                self._frontier[root] = None

    def slack_norms(self, vector: Array) -> Array:
        """Return bounds on the norms of what features leave out of each kernel.

        They are sum_i |a_i| sqrt(e_i), with e the diagonal of what is left out.
        """
        bounds = np.zeros(len(self))
        for k, roots in self._residuals.items():
            bounds[k] = np.abs(vector) @ roots
        return bounds

    def keep(self, kept: Array) -> None:
        """Drop all nodes but some that are closed under ancestors."""
        columns = kept[self.owner]
        new_place = np.cumsum(kept) - 1
        self.owner = new_place[self.owner[columns]]
        self._features = self._features[columns]
        self._gram = self._gram[np.ix_(columns, columns)]
        self.relation = self.relation[np.ix_(kept, kept)]
        self.weights = self.weights[kept]
        chosen = np.flatnonzero(kept)
        self.nodes = [self.nodes[k] for k in chosen]
        self.means = [self.means[k] for k in chosen]
        self._mixers = [self._mixers[k] for k in chosen]
        self.bases = [self.bases[k] for k in chosen]
        self._residuals = {
            int(new_place[k]): roots for k, roots in self._residuals.items() if kept[k]
        }
        self.place = {node: k for k, node in enumerate(self.nodes)}
        self._frontier = {}
        self._grow_frontier(self.nodes)
        self._known = {k: v for k, v in self._known.items() if k in self._frontier}


@dataclass(frozen=True, eq=False)
class _Prepared:
    """Centred features as rows, what centred and mixed them, and what they rest on."""

    rows: Array
    means: Array
    mixer: Array | None
    basis: Any


MANY = 64
"""Features of a node outside from which on its quadratic form is computed without
them, and they only if it joins."""

LARGEST = 1e60
"""Size of features whose quadratic forms are still numbers."""

NEGLIGIBLE = 1e-7
"""Share of the largest singular value below which a direction is rounding."""


def _mixer(rows: Array) -> Array | None:
    """Return the directions that features span, None where they are independent.

    Products of blocks have many columns and few directions.
    """
    directions, sizes, _ = np.linalg.svd(rows, full_matrices=False)
    kept = sizes > NEGLIGIBLE * sizes.max(initial=0.0)
    return None if kept.sum() == rows.shape[0] else np.asarray(directions[:, kept])
