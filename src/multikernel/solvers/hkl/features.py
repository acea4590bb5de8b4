"""Features of nodes on the samples: centred, and held for those outside the hull."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.kernels.graph.base import GraphSamples

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
