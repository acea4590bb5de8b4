"""The main-effect kernels that each kernel of a dictionary of interactions multiplies.

A main-effect kernel, in short a main, is on its own columns; an interaction is the
product of two mains.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.linalg.computed import ComputedRows

PLACES: Any = np.int32
"""Type of the numbers of mains, which are millions of pairs."""

MANY = 10**6
"""Kernels above which no array of all of them is held."""


@dataclass(frozen=True, eq=False)
class EveryPair(ComputedRows):
    """The mains of kernels: some alone, then all pairs of some.

    Parameters
    ----------
    alone : ndarray of shape (n_alone,)
        The mains that stand alone.
    members : ndarray of shape (n_members,)
        The mains whose pairs there are, ascending.
    """

    alone: Indices
    members: Indices

    @cached_property
    def starts(self) -> Indices:
        """Return the number of the first pair of every member, and the end."""
        sizes = np.arange(self.members.size)[::-1]
        return self.alone.size + np.concatenate([[0], np.cumsum(sizes)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def rows(self, numbers: Indices) -> Indices:
        """Return both mains of kernels, (n, 2); the second is -1 for a main alone."""
        terms = np.full((numbers.size, 2), -1, dtype=PLACES)
        is_pair = numbers >= self.alone.size
        terms[~is_pair, 0] = self.alone[numbers[~is_pair]]
        pairs = numbers[is_pair]
        first = np.searchsorted(self.starts, pairs, side="right") - 1
        terms[is_pair, 0] = self.members[first]
        terms[is_pair, 1] = self.members[first + 1 + pairs - self.starts[first]]
        return terms


Terms = Indices | EveryPair
"""The numbers of both mains of every kernel, held or computed."""


def paired_mains(terms: Terms) -> Indices:
    """Return the main-effect kernels in at least one product, ascending."""
    if isinstance(terms, EveryPair):
        return terms.members if terms.members.size > 1 else terms.members[:0]
    return np.unique(terms[terms[:, 1] >= 0])


@dataclass(frozen=True, eq=False)
class TermWeights(ComputedRows):
    """One for kernels alone, and a weight for products.

    Parameters
    ----------
    terms : ndarray of shape (n_kernels, 2) or EveryPair
        The numbers of the two mains of every kernel.
    weight : float
        The weight.
    """

    terms: Terms
    weight: float

    def __len__(self) -> int:
        return len(self.terms)

    def rows(self, numbers: Indices) -> Array:
        """Return the weights of some kernels: 1 for mains, `weight` for products."""
        return np.where(self.terms[numbers][:, 1] < 0, 1.0, self.weight)
