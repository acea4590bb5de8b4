"""Directed grids: a node is a product of kernels, one level for each input."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import prod
from typing import ClassVar

import numpy as np

from multikernel._typing import Array
from multikernel._validation import POSITIVE, check_parameter
from multikernel.kernels.graph.base import check_inputs
from multikernel.kernels.graph.grid_samples import GridSamples
from multikernel.kernels.graph.levels import Levels

GridNode = tuple[tuple[int, int], ...]
"""Pairs (input, level) of the inputs whose level is above zero, ascending."""


@dataclass(frozen=True)
class DirectedGrid(ABC):
    """Base class of grids, whose nodes choose a level for each input.

    Subclasses provide `_levels(x)`, the levels of an input with values x. The root has
    the weight `root_weight`, other nodes `weight_base` to the power of the sum of their
    levels. The duality gap is only small if the weights of nodes grow with the level
    faster than their kernel values.
    """

    _style: ClassVar[str] = "{name}[{level}]"
    """Format of a level above zero: x[2], or x^2 for powers."""

    weight_base: float = field(default=4.0, kw_only=True)
    root_weight: float = field(default=0.1, kw_only=True)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_parameter(owner, "weight_base", self.weight_base, POSITIVE)
        check_parameter(owner, "root_weight", self.root_weight, POSITIVE)

    def bind(self, X: Array) -> "FittedGrid":
        """Return the grid with the levels of each column of X."""
        samples = check_inputs(type(self).__name__, X)
        levels = tuple(self._levels(column) for column in samples.T)
        return FittedGrid(levels, self.weight_base, self.root_weight, self._style)

    @abstractmethod
    def _levels(self, x: Array) -> Levels:
        """Return the levels of an input whose values on the samples are x."""


# The nodes v of {0, ..., q}^d have K_v = K_{1,v_1} o ... o K_{d,v_d} (entrywise).
# The sum of all kernels is a product over inputs of sums over levels. With weights
# d_v = prod_i beta^(v_i), the descendant sums that bound the duality gap are such
# products too (Bach 2008, Exploring large feature spaces with hierarchical multiple
# kernel learning, NeurIPS).
@dataclass(frozen=True, eq=False)
class FittedGrid:
    """A grid with the `Levels` of each input; `style` formats levels in names."""

    levels: tuple[Levels, ...]
    weight_base: float
    root_weight: float
    style: str

    @property
    def n_features(self) -> int:
        """Return the number of inputs."""
        return len(self.levels)

    @cached_property
    def highest(self) -> tuple[int, ...]:
        """Return the highest level of every input."""
        return tuple(len(levels.sizes) - 1 for levels in self.levels)

    @cached_property
    def root_width(self) -> int:
        """Return the number of features of the root."""
        return prod(levels.sizes[0] for levels in self.levels)

    @cached_property
    def starts(self) -> tuple[tuple[int, ...], ...]:
        """Return, per input, every level's first column, and the number of columns."""
        return tuple(tuple(accumulate(x.sizes, initial=0)) for x in self.levels)

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes, which may be too large for `len`."""
        return prod(level + 1 for level in self.highest)

    def roots(self) -> list[GridNode]:
        """Return the root: level zero of every input."""
        return [()]

    def children(self, node: GridNode) -> list[GridNode]:
        """Return the nodes whose level is higher by one in one input."""
        highest, children = self.highest, list[GridNode]()
        # Inputs at level zero are inserted before each input of the node, and at last.
        ends = [i for i, _ in node] + [len(highest)]
        starts = [0] + [i + 1 for i, _ in node]
        for k, (start, end) in enumerate(zip(starts, ends, strict=True)):
            left, right = node[:k], node[k:]
            added = [((i, 1),) for i in range(start, end) if highest[i] > 0]
            children += [left + factor + right for factor in added]
            if right and right[0][1] < highest[end]:
                raised = ((end, right[0][1] + 1),)
                children.append(left + raised + right[1:])
        return children

    def parents(self, node: GridNode) -> list[GridNode]:
        """Return the nodes whose level is lower by one in one input."""
        parents = []
        for k, (i, level) in enumerate(node):
            lowered = ((i, level - 1),) if level > 1 else ()
            parents.append(node[:k] + lowered + node[k + 1 :])
        return parents

    def weight(self, node: GridNode) -> float:
        """Return `root_weight` for the root, else weight_base ** (sum of levels)."""
        if not node:
            return self.root_weight
        return float(self.weight_base ** sum(level for _, level in node))

    def degrees(self, node: GridNode) -> tuple[int, ...]:
        """Return the levels above zero, decreasing."""
        return tuple(sorted((level for _, level in node), reverse=True))

    def name(self, node: GridNode, columns: Sequence[str] | None = None) -> str:
        """Return a name such as ``x3^2 * x7``; the root is ``1``."""
        if columns is None:
            columns = [f"x{k + 1}" for k in range(self.n_features)]
        factors = (self._factor_name(str(columns[i]), i, level) for i, level in node)
        return " * ".join(factors) or "1"

    def _factor_name(self, name: str, i: int, level: int) -> str:
        """Return the name of a level of input i: ``x3``, ``x3^2`` or ``x3[rest]``."""
        if level == 1 and self.highest[i] == 1:
            return name
        if level == 1 and "^" in self.style:
            return name
        if level == self.highest[i] and self.levels[i].sizes[level] != 1:
            return f"{name}[rest]"
        return self.style.format(name=name, level=level)

    def sample(self, X: Array) -> GridSamples:
        """Return the samples X with their features at all levels of the inputs."""
        checked = check_inputs("FittedGrid", X, self.n_features)
        columns = [
            levels.columns(x) for levels, x in zip(self.levels, checked.T, strict=True)
        ]
        return GridSamples(self, columns)

    def width(self, node: GridNode) -> int:
        """Return a node's number of features, the product of its levels' sizes."""
        # The factor of every input at level zero is in `root_width`, so the loop visits
        # only the few inputs above level zero: searches call this for many nodes.
        width = self.root_width
        for i, level in node:
            sizes = self.levels[i].sizes
            width = width // sizes[0] * sizes[level]
        return width

    def shares(self, i: int, start: int) -> Array:
        """Return the weight of each feature of input i, from level `start` on."""
        sizes = self.levels[i].sizes
        # `GridSamples` needs the weights for sums over descendants. Features of level w
        # have the weight 1 / (beta^start + ... + beta^w)^2, with beta = weight_base.
        sums = np.cumsum(self.weight_base ** np.arange(start, len(sizes), dtype=float))
        return np.asarray(np.repeat(1.0 / sums**2, sizes[start:]))
