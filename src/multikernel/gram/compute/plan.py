"""Plans that say which kernels of a dictionary are computed together.

A Gaussian kernel takes about fifty bytes, so a plan can contain a million kernels.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.kernels.base import KernelDictionary
from multikernel.kernels.builders import RandomSubsetGaussians
from multikernel.kernels.gaussian import radial_form
from multikernel.linalg.tall import slices


@dataclass(frozen=True, eq=False)
class RadialPlan:
    """Gaussian kernels as flat arrays, sorted by the set of columns that they use."""

    kernels: Indices  # (n_radial,), positions in the stack
    exponents: Array  # (n_radial,), negative factors of the squared distance
    sets: Indices  # (n_radial,), index of the column set of each kernel, ascending
    column_starts: Indices  # (n_sets + 1,), start of each set in `columns`
    columns: NDArray[np.signedinteger[Any]]  # columns of all sets

    def batches(self, size: int) -> Iterator["RadialPlan"]:
        """Yield plans of at most `size` consecutive kernels."""
        for start in range(0, self.kernels.size, size):
            yield self.part(slice(start, start + size))

    def part(self, kernels: slice | Indices) -> "RadialPlan":
        """Return the plan of some kernels, given by their positions in this plan."""
        return RadialPlan(
            self.kernels[kernels],
            self.exponents[kernels],
            self.sets[kernels],
            self.column_starts,
            self.columns,
        )

    @cached_property
    def layout(self) -> "BatchLayout":
        """Return the column sets of the plan's kernels, each once."""
        column_sets, first = np.unique(self.sets, return_index=True)
        begins = self.column_starts[column_sets]
        ends = self.column_starts[column_sets + 1]
        columns = np.concatenate([self.columns[part] for part in slices(begins, ends)])
        used, members = np.unique(columns, return_inverse=True)
        used = used.astype(np.intp, copy=False)
        starts = np.concatenate([[0], np.cumsum(ends - begins)])
        return BatchLayout(used, starts, members, np.append(first, self.sets.size))


class BatchLayout(NamedTuple):
    """The column sets of a few kernels, in the form that the compiled loops read."""

    used: Indices  # all columns of these sets
    set_starts: Indices  # set s is used[members[set_starts[s] : set_starts[s + 1]]]
    members: Indices
    kernel_starts: Indices  # kernels on set s start at kernel_starts[s]


@dataclass(frozen=True, eq=False)
class Plan:
    """A plan to compute all kernels of a stack: Gaussian kernels in batches."""

    n_kernels: int
    radial: RadialPlan
    others: Indices  # (n_others,), positions of all other kernels in the stack
    sources: Indices  # (n_others,), indices of these kernels in `dictionary`
    dictionary: KernelDictionary

    def take(self, kernels: Indices) -> "Plan":
        """Return the plan of the chosen kernels, which may repeat, in their order."""
        rank = np.empty(self.n_kernels, dtype=np.intp)
        n_radial = self.radial.kernels.size
        rank[self.radial.kernels] = np.arange(n_radial)
        rank[self.others] = n_radial + np.arange(self.others.size)
        places = rank[kernels]
        order = np.argsort(places, kind="stable")
        radial = order[places[order] < n_radial]
        others = order[places[order] >= n_radial]
        part = self.radial.part(places[radial])
        return Plan(
            kernels.size,
            RadialPlan(
                radial, part.exponents, part.sets, part.column_starts, part.columns
            ),
            others,
            self.sources[places[others] - n_radial],
            self.dictionary,
        )


def make_plan(dictionary: KernelDictionary, n_features: int) -> Plan:
    """Return the plan of a dictionary on data with `n_features` columns."""
    # A subclass may return kernels that its table does not describe.
    if type(dictionary) is RandomSubsetGaussians:
        return _table_plan(dictionary)
    sets: dict[tuple[int, ...], int] = {}
    kernels, numbers, others = list[int](), list[int](), list[int]()
    exponents = list[float]()
    for m in range(len(dictionary)):
        form = radial_form(dictionary[m])
        if form is None:
            others.append(m)
            continue
        columns = form.columns or tuple(range(n_features))
        kernels.append(m)
        numbers.append(sets.setdefault(columns, len(sets)))
        exponents.append(form.exponent)
    order = np.argsort(numbers, kind="stable")
    radial = RadialPlan(
        np.array(kernels, dtype=np.intp)[order],
        np.array(exponents)[order],
        np.array(numbers, dtype=np.intp)[order],
        np.cumsum([0, *map(len, sets)]),
        np.array([column for columns in sets for column in columns], dtype=np.intp),
    )
    alone = np.array(others, dtype=np.intp)
    return Plan(len(dictionary), radial, alone, alone, dictionary)


def _table_plan(dictionary: RandomSubsetGaussians) -> Plan:
    """Return the plan of Gaussian kernels on random columns: all are radial."""
    table, n_kernels = dictionary.radial_table(), len(dictionary)
    everyone, nobody = np.arange(n_kernels), np.empty(0, dtype=np.intp)
    radial = RadialPlan(
        everyone, table.exponents, everyone, table.column_starts, table.columns
    )
    return Plan(n_kernels, radial, nobody, nobody, dictionary)
