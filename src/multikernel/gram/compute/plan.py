"""Plans that say which kernels of a dictionary are computed together."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.kernels.base import KernelDictionary
from multikernel.kernels.builders import RandomSubsetGaussians
from multikernel.kernels.gaussian import radial_form


@dataclass(frozen=True, eq=False)
class RadialPlan:
    """Gaussian kernels as flat arrays, sorted by the set of columns that they use."""

    kernels: Indices  # (n_radial,), positions in the stack
    exponents: Array  # (n_radial,), negative factors of the squared distance
    sets: Indices  # (n_radial,), index of the column set of each kernel, ascending
    column_starts: Indices  # (n_sets + 1,), start of each set in `columns`
    columns: NDArray[np.integer]  # columns of all sets, set after set

    def batches(self, size: int) -> Iterator["RadialPlan"]:
        """Yield plans of at most `size` consecutive kernels."""
        for start in range(0, self.kernels.size, size):
            yield self.part(slice(start, start + size))

    def part(self, kernels: slice | Indices) -> "RadialPlan":
        """Return the plan of some kernels, given by their positions in this plan."""
        arrays = self.kernels[kernels], self.exponents[kernels], self.sets[kernels]
        return RadialPlan(*arrays, self.column_starts, self.columns)

    @cached_property
    def layout(self) -> "BatchLayout":
        """Return the column sets of the plan's kernels, each once."""
        column_sets, first_kernels = np.unique(self.sets, return_index=True)
        bounds = self.column_starts[np.stack([column_sets, column_sets + 1], axis=1)]
        columns = [self.columns[start:stop] for start, stop in bounds.tolist()]
        used, members = np.unique(np.concatenate(columns), return_inverse=True)
        used = used.astype(np.intp, copy=False)
        set_starts = np.cumsum([0, *map(len, columns)])
        kernel_starts = np.append(first_kernels, self.sets.size)
        return BatchLayout(used, set_starts, members, kernel_starts)


class BatchLayout(NamedTuple):
    """The column sets of a few kernels, in the form that the compiled loops read."""

    used: Indices  # all columns that occur in these sets, each once
    set_starts: Indices  # set s is used[members[set_starts[s] : set_starts[s + 1]]]
    members: Indices
    kernel_starts: Indices  # kernels on set s start at kernel_starts[s]


@dataclass(frozen=True, eq=False)
class Plan:
    """A plan to compute all kernels of a stack: Gaussian kernels in batches."""

    n_kernels: int
    radial: RadialPlan
    others: Indices  # (n_others,), positions of all other kernels in the stack
    sources: Indices  # (n_others,), indices of the other kernels in `dictionary`
    dictionary: KernelDictionary

    def take(self, kernels: Indices) -> "Plan":
        """Return the plan of the chosen kernels, which may repeat, in their order."""
        order_positions = np.empty(self.n_kernels, dtype=np.intp)
        n_radial = self.radial.kernels.size
        order_positions[self.radial.kernels] = np.arange(n_radial)
        order_positions[self.others] = n_radial + np.arange(self.others.size)
        positions = order_positions[kernels]
        order = np.argsort(positions, kind="stable")
        radial = order[positions[order] < n_radial]
        others = order[positions[order] >= n_radial]
        plan = replace(self.radial.part(positions[radial]), kernels=radial)
        sources = self.sources[positions[others] - n_radial]
        return Plan(kernels.size, plan, others, sources, self.dictionary)


def make_plan(dictionary: KernelDictionary, n_features: int) -> Plan:
    """Return the plan of a dictionary on data with `n_features` columns."""
    # `_table_plan` requires exactly this class: a subclass may return other kernels
    # than those in `radial_table`.
    if type(dictionary) is RandomSubsetGaussians:
        return _table_plan(dictionary)
    # The kernels on each set of columns, and their exponents.
    groups: dict[tuple[int, ...], list[tuple[int, float]]] = {}
    others = list[int]()
    for m in range(len(dictionary)):
        form = radial_form(dictionary[m])
        if form is None:
            others.append(m)
        else:
            columns = form.columns or tuple(range(n_features))
            groups.setdefault(columns, []).append((m, form.exponent))
    members = list(chain.from_iterable(groups.values()))
    radial = RadialPlan(
        np.array([m for m, _ in members], dtype=np.intp),
        np.array([exponent for _, exponent in members]),
        np.repeat(np.arange(len(groups)), list(map(len, groups.values()))),
        np.cumsum([0, *map(len, groups)]),
        np.array([*chain.from_iterable(groups)], dtype=np.intp),
    )
    other_kernels = np.array(others, dtype=np.intp)
    return Plan(len(dictionary), radial, other_kernels, other_kernels, dictionary)


def _table_plan(dictionary: RandomSubsetGaussians) -> Plan:
    """Return the plan of Gaussian kernels on random columns: all are radial."""
    exponents, column_starts, columns = dictionary.radial_table()
    kernels, no_kernels = np.arange(len(dictionary)), np.empty(0, dtype=np.intp)
    radial = RadialPlan(kernels, exponents, kernels, column_starts, columns)
    return Plan(kernels.size, radial, no_kernels, no_kernels, dictionary)
