r"""Directed grids: products over inputs of levels of a one-dimensional kernel.

.. math:: V = \prod_i \{0, \dots, q\}, \qquad K_v = K_{1, v_1} \circ \dots \circ
    K_{d, v_d}

The sum of all kernels is a product over inputs of sums over levels. With weights
:math:`d_v = \prod_i \beta^{v_i}`, so are the descendant sums that bound the duality gap
[1]_.

References
----------
.. [1] Bach (2008). Exploring large feature spaces with hierarchical multiple kernel
   learning. NeurIPS.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import prod

import numpy as np

from multikernel._typing import Array
from multikernel._validation import POSITIVE, check_parameter
from multikernel.kernels.graph.base import WeightedSum, check_inputs, input_names
from multikernel.kernels.graph.grid_samples import GridSamples, NodeBasis
from multikernel.kernels.graph.levels import Levels

GridNode = tuple[tuple[int, int], ...]
"""The inputs with a level above zero, ascending, each with its level."""


@dataclass(frozen=True)
class DirectedGrid(ABC):
    r"""Base class of grids with the weight :math:`d_v = \beta^{|v|}`.

    Parameters
    ----------
    weight_base : float, default=4.0
        Factor beta of the weight per level. A certificate requires weights that grow
        faster than the kernels.
    root_weight : float, default=0.1
        Weight of the root.

    Raises
    ------
    ValueError
        If a weight is not positive.
    """

    weight_base: float = field(default=4.0, kw_only=True)
    root_weight: float = field(default=0.1, kw_only=True)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        check_parameter(owner, "weight_base", self.weight_base, POSITIVE)
        check_parameter(owner, "root_weight", self.root_weight, POSITIVE)

    def bind(self, X: Array) -> "FittedGrid":
        """Return the grid with the levels of every input.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Samples with standardized columns.
        """
        samples = check_inputs(type(self).__name__, X)
        levels = tuple(self._levels(column) for column in samples.T)
        return FittedGrid(levels, self.weight_base, self.root_weight, self._style())

    @abstractmethod
    def _levels(self, x: Array) -> Levels:
        """Return the levels of an input with these values."""

    def _style(self) -> str:
        """Return the format of a level above one: x^2 or x[2]."""
        return "{name}[{level}]"


@dataclass(frozen=True, eq=False)
class FittedGrid:
    """A grid with the `Levels` of each input.

    `weight_base` is the factor of the weight per level, and `style` the format of
    levels in names.
    """

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
        """Return the boundaries of the features of each level, per input."""
        return tuple(
            tuple(accumulate(levels.sizes, initial=0)) for levels in self.levels
        )

    def __len__(self) -> int:
        """Return the number of nodes, which may be too large for `len`."""
        total = 1
        for level in self.highest:
            total *= level + 1
        return total

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes; unlike `len`, it supports any number."""
        return self.__len__()

    def roots(self) -> list[GridNode]:
        """Return the root: level zero of every input."""
        return [()]

    def children(self, node: GridNode) -> list[GridNode]:
        """Return the nodes whose level is higher by one in one input."""
        children, position = [], 0
        for k, highest in enumerate(self.highest):
            # `position` is the index of input k in the node, or where to insert it.
            inside = position < len(node) and node[position][0] == k
            level = node[position][1] if inside else 0
            if level < highest:
                rest = node[position + inside :]
                children.append((*node[:position], (k, level + 1), *rest))
            position += inside
        return children

    def parents(self, node: GridNode) -> list[GridNode]:
        """Return the nodes whose level is lower by one in one input."""
        return [
            (
                (*node[:k], (i, level - 1), *node[k + 1 :])
                if level > 1
                else node[:k] + node[k + 1 :]
            )
            for k, (i, level) in enumerate(node)
        ]

    def weight(self, node: GridNode) -> float:
        """Return the base to the power of the sum of the levels."""
        if not node:
            return self.root_weight
        return float(self.weight_base ** sum(level for _, level in node))

    def degrees(self, node: GridNode) -> tuple[int, ...]:
        """Return the levels above zero, decreasing."""
        return tuple(sorted((level for _, level in node), reverse=True))

    def name(self, node: GridNode, columns: Sequence[str] | None = None) -> str:
        """Return a name such as ``x3^2 * x7``; the root is ``1``."""
        names = input_names(self.n_features, columns)
        return " * ".join(self._factor_name(names[i], i, k) for i, k in node) or "1"

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
        """Return the grid on samples."""
        checked = check_inputs("FittedGrid", X, self.n_features)
        columns = [
            levels.columns(x) for levels, x in zip(self.levels, checked.T, strict=True)
        ]
        return GridSamples(self, columns)

    def width(self, node: GridNode) -> int:
        """Return the number of features, the product over levels."""
        # Searches call this for thousands of nodes with few inputs each.
        width = self.root_width
        for i, level in node:
            sizes = self.levels[i].sizes
            width = width // sizes[0] * sizes[level]
        return width

    def features(
        self, node: GridNode, X: Array, basis: NodeBasis | None = None
    ) -> Array:
        """Return the features of samples, shape (n_samples, n_columns).

        `basis` is the node's basis on the training samples, if it has one.
        """
        return self.sample(X).features(node, basis)

    def kernel(self, node: GridNode) -> "GridKernel":
        """Return the kernel of a node."""
        levels = dict(node)
        shares = [
            np.repeat(
                np.arange(len(input_levels.sizes)) == levels.get(i, 0),
                input_levels.sizes,
            )
            * 1.0
            for i, input_levels in enumerate(self.levels)
        ]
        return GridKernel(self, self.name(node), shares)

    def full_kernel(self) -> "GridKernel":
        """Return the sum of all kernels, as a product over inputs."""
        ones = [np.ones(sum(levels.sizes)) for levels in self.levels]
        return GridKernel(self, "all nodes", ones)

    def descendant_kernel(self, node: GridNode) -> "GridKernel | WeightedSum":
        r"""Return the weighted sum of the kernels of all descendants, as a product.

        .. math::

            \sum_{w \in D(t)} \frac{k_w}{(\sum_{v \in A(w) \cap D(t)} d_v)^2}
            = \prod_i \sum_{w_i \ge t_i} \frac{k_{i, w_i}}
            {(\sum_{j = t_i}^{w_i} \beta^j)^2}

        For the root, whose weight is not a product, it is an upper bound.
        """
        levels = dict(node)
        shares = []
        for i in range(self.n_features):
            start = levels.get(i, 0)
            below = np.zeros(self.first_column(i, start))
            shares.append(np.append(below, self.shares(i, start)))
        kernel = GridKernel(self, f"descendants of {self.name(node)}", shares)
        if node:
            return kernel
        return WeightedSum((kernel, self.kernel(())), np.array(root_factors(self)))

    def shares(self, i: int, start: int) -> Array:
        r"""Return :math:`1 / (\sum_{j=t}^{w} \beta^j)^2` of input i for levels w >= t.

        The array has one entry per feature of the levels t, t + 1, ...
        """
        sizes = self.levels[i].sizes
        sums = np.cumsum(self.weight_base ** np.arange(start, len(sizes), dtype=float))
        return np.asarray(np.repeat(1.0 / sums**2, sizes[start:]))

    def first_column(self, i: int, level: int) -> int:
        """Return the position of a level's first feature."""
        return self.starts[i][level]


@dataclass(frozen=True, eq=False)
class GridKernel:
    """A product over inputs of weighted sums over features.

    `shares` are the weights of the features of each input.
    """

    graph: FittedGrid
    name: str
    shares: list[Array]

    def _scaled(self, X: Array) -> list[Array]:
        """Return the features of each input times the roots of their weights."""
        columns = self.graph.sample(X).columns
        return [
            z * np.sqrt(shares) for z, shares in zip(columns, self.shares, strict=True)
        ]

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        scaled = self._scaled(X)
        right = scaled if Y is None else self._scaled(Y)
        product = scaled[0] @ right[0].T
        for z, other in zip(scaled[1:], right[1:], strict=True):
            product *= z @ other.T
        return np.asarray(product)

    def diag(self, X: Array) -> Array:
        """Return the diagonal, shape (n_samples,)."""
        sums = np.stack([np.einsum("ij,ij->i", z, z) for z in self._scaled(X)])
        return np.asarray(np.prod(sums, axis=0))


def root_factors(graph: FittedGrid) -> tuple[float, float]:
    """Return the factors of two kernels whose sum bounds the root's descendant sum.

    The kernels are the closed form and the kernel of the root. The closed form assumes
    that the root has weight 1, but its weight is r. Therefore the root's share is 1 /
    r^2, and the weight sum of every other node, at least 1 + beta, decreases by 1 - r.
    """
    base, r = graph.weight_base, graph.root_weight
    below = max((1.0 + base) / (r + base), 1.0) ** 2
    return below, max(1.0 / r**2 - below, 0.0)
