r"""Directed grids: products over the inputs of levels of a kernel of one input.

.. math:: V = \prod_i \{0, \dots, q\}, \qquad K_v = K_{1, v_1} \circ \dots \circ
    K_{d, v_d}

so that the sum of all kernels is the product over the inputs of sums over the levels.
With weights :math:`d_v = \prod_i \beta^{v_i}` so are the sums over descendants that
bound the duality gap [1]_.

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
"""The inputs with a level above zero, in ascending order, each with its level."""


@dataclass(frozen=True)
class DirectedGrid(ABC):
    r"""A grid with the weight :math:`d_v = \beta^{|v|}`; the base of all grids.

    Parameters
    ----------
    weight_base : float, default=4.0
        The factor beta of the weight per level; a certificate needs weights that
        outgrow the kernels.
    root_weight : float, default=0.1
        The weight of the root.

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
        """Learn the levels of every input.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Samples; their columns should be standardised.
        """
        samples = check_inputs(type(self).__name__, X)
        levels = tuple(self._levels(column) for column in samples.T)
        return FittedGrid(levels, self.weight_base, self.root_weight, self._style())

    @abstractmethod
    def _levels(self, x: Array) -> Levels:
        """Return the levels of an input with these values."""
        ...

    def _style(self) -> str:
        """Return how a level above one is written: x^2, or x[2]."""
        return "{name}[{level}]"


@dataclass(frozen=True, eq=False)
class FittedGrid:
    """A grid over inputs whose levels are known, one `Levels` for each input.

    `weight_base` is the factor of the weight per level, and `style` how a level is
    written in a name.
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
        """Return the number of features of the root, the product of its levels'."""
        return prod(levels.sizes[0] for levels in self.levels)

    @cached_property
    def starts(self) -> tuple[tuple[int, ...], ...]:
        """Return where the features of the levels of every input begin, and end."""
        return tuple(
            tuple(accumulate(levels.sizes, initial=0)) for levels in self.levels
        )

    def __len__(self) -> int:
        """Return the number of nodes, which may be astronomical."""
        total = 1
        for level in self.highest:
            total *= level + 1
        return total

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes, of any size."""
        return self.__len__()

    def roots(self) -> list[GridNode]:
        """Return the one root: level zero of every input."""
        return [()]

    def children(self, node: GridNode) -> list[GridNode]:
        """Return the nodes with one level more."""
        children, position = [], 0
        for k, highest in enumerate(self.highest):
            # Where input k stands in the node, or would.
            inside = position < len(node) and node[position][0] == k
            level = node[position][1] if inside else 0
            if level < highest:
                rest = node[position + inside :]
                children.append((*node[:position], (k, level + 1), *rest))
            position += inside
        return children

    def parents(self, node: GridNode) -> list[GridNode]:
        """Return the nodes with one level less."""
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
        """Return the levels above zero, falling."""
        return tuple(sorted((level for _, level in node), reverse=True))

    def name(self, node: GridNode, columns: Sequence[str] | None = None) -> str:
        """Return for example ``x3^2 * x7``; the root is ``1``."""
        names = input_names(self.n_features, columns)
        return " * ".join(self._factor_name(names[i], i, k) for i, k in node) or "1"

    def _factor_name(self, name: str, i: int, level: int) -> str:
        """Return the name of one level of input i, which is called `name`.

        Level 1 is ``x3`` if it is the only level, or if levels are powers. A highest
        level with several features holds the remainder, ``x3[rest]``. All others are
        in the style of the grid, ``x3^2`` or ``x3[2]``.
        """
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
        """Return the product of the numbers of features of its levels."""
        # A search asks this of thousands of nodes a round, and few inputs are in each.
        width = self.root_width
        for i, level in node:
            sizes = self.levels[i].sizes
            width = width // sizes[0] * sizes[level]
        return width

    def features(
        self, node: GridNode, X: Array, basis: NodeBasis | None = None
    ) -> Array:
        """Return the features of samples, shape (n_samples, n_columns).

        `basis` is the node's basis on the training samples, where it has one.
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
        """Return the plain sum of the kernels of all nodes, by its factors."""
        ones = [np.ones(sum(levels.sizes)) for levels in self.levels]
        return GridKernel(self, "all nodes", ones)

    def descendant_kernel(self, node: GridNode) -> "GridKernel | WeightedSum":
        r"""Return the weighted sum of the kernels of all descendants, by its factors.

        .. math::
            \sum_{w \in D(t)} \frac{k_w}{(\sum_{v \in A(w) \cap D(t)} d_v)^2}
            = \prod_i \sum_{w_i \ge t_i} \frac{k_{i, w_i}}
            {(\sum_{j = t_i}^{w_i} \beta^j)^2}

        For the root, whose own weight is no product, it is an upper bound.
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

        There is one number for each feature of levels t, t + 1, ...
        """
        sizes = self.levels[i].sizes
        sums = np.cumsum(self.weight_base ** np.arange(start, len(sizes), dtype=float))
        return np.asarray(np.repeat(1.0 / sums**2, sizes[start:]))

    def first_column(self, i: int, level: int) -> int:
        """Return where the features of a level begin."""
        return self.starts[i][level]


@dataclass(frozen=True, eq=False)
class GridKernel:
    """A kernel that is a product over the inputs of sums over their features.

    `shares` has the factor of every feature in the sum of its input.
    """

    graph: FittedGrid
    name: str
    shares: list[Array]

    def _scaled(self, X: Array) -> list[Array]:
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
    """Return what bounds the descendant sum of the root by sums of products.

    The root's weight r stands where a product of weights has one. So the root's own
    share is 1 / r^2, and the sum of weights of any other node, at least 1 + beta, falls
    or grows by 1 - r. The factors multiply the closed form and the root's kernel:
    their sum is the bound.
    """
    base, r = graph.weight_base, graph.root_weight
    below = max((1.0 + base) / (r + base), 1.0) ** 2
    return below, max(1.0 / r**2 - below, 0.0)
