r"""Directed grids on samples: features of nodes, and descendant sums.

With F_{i,l} the sum over the levels of input i from l on, the descendant sum of t is

.. math:: P_0 \circ R_{i_1, l_1} \circ \dots \circ R_{i_k, l_k}, \qquad
    P_0 = F_{1,0} \circ \dots \circ F_{d,0}, \quad R_{i,l} = F_{i,l} / F_{i,0}

for a node with k levels above zero: a prefix times the last factor. One matrix product
per block of rows computes the sums of all nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel._validation import check_shapes
from multikernel.kernels.graph.base import Evidence
from multikernel.kernels.graph.grid_pairs import evidence_of_pairs
from multikernel.kernels.graph.levels import TOLERANCE
from multikernel.linalg.landmarks import landmark_factor
from multikernel.linalg.tables import row_chunks
from multikernel.linalg.threads import compiled, run_blocks

if TYPE_CHECKING:
    from multikernel.kernels.graph.grid import FittedGrid, GridNode

Single = NDArray[np.float32]

LOOPS = "multikernel.kernels.graph.grid_loops"

BLOCKS, LEAST_ROWS = 64, 64
"""Number of blocks of rows for threads, and fewest rows of a block (overhead: 20 us).
"""

ROUNDING = 1e-5
"""Relative increase of sums that covers errors of single precision, which were below
1.2e-6 in tests with up to 1000 samples."""


@dataclass(frozen=True, eq=False)
class _Base:
    """P_0 and its factors in single precision, and the scales of its rows."""

    triangle: Single
    units: Single
    firsts: Indices
    sizes: Indices
    below: Single
    lengths: Array
    shares: dict[tuple[int, int], Single]
    ratios: dict[tuple[int, int], Array]


@dataclass(frozen=True, eq=False)
class _ProductPlan:
    """Indices of the factors, prefixes and pairs whose products are the nodes."""

    factors: list[tuple[int, int]]
    prefixes: Indices
    pairs: Indices


@dataclass(frozen=True, eq=False)
class NodeBasis:
    """Landmarks of a node whose kernel is a product of blocks of features.

    At the landmarks, `single` is the product of single features, (rank,), and `rows`
    are the blocks, (rank, n_columns). `mixing` maps kernel values to features.
    """

    single: Array
    rows: list[Array]
    mixing: Array

    def __post_init__(self) -> None:
        check_shapes(
            "NodeBasis",
            single=(self.single, ("n_landmarks",)),
            mixing=(self.mixing, ("n_landmarks", "n_columns")),
        )
        for rows in self.rows:
            check_shapes("NodeBasis", rows=(rows, (self.single.size, "n_columns")))


def _columnwise(product: Array, blocks: Sequence[Array]) -> Array:
    """Return all products of one column from each block."""
    for block in blocks:
        product = (product[:, :, None] * block[:, None, :]).reshape(len(block), -1)
    return product


def _product(blocks: Sequence[Array], rows: Any) -> Array:
    """Return the product of the blocks' kernels between all and chosen samples."""
    product: Array = blocks[0] @ blocks[0][rows].T
    for block in blocks[1:]:
        product *= block @ block[rows].T
    return product


def _row_sums(single: Array, blocks: Sequence[Array]) -> Array:
    """Return the diagonal of a product of kernels."""
    diagonal = single**2
    for block in blocks:
        diagonal = diagonal * np.einsum("ij,ij->i", block, block)
    return diagonal


class GridSamples:
    """A fitted grid on samples; `columns` are the features of each input."""

    def __init__(self, graph: "FittedGrid", columns: list[Array]) -> None:
        self.graph = graph
        self.columns = columns

    @cached_property
    def _rooted(self) -> list[int]:
        """Return the inputs whose level zero is not the constant one."""
        ends = [starts[1] for starts in self.graph.starts]
        pairs = enumerate(zip(self.columns, ends, strict=True))
        return [i for i, (z, end) in pairs if end != 1 or (z[:, 0] != 1.0).any()]

    @property
    def n_samples(self) -> int:
        """Return the number of samples."""
        return int(self.columns[0].shape[0])

    def take(self, rows: Indices) -> "GridSamples":
        """Return the grid on a subset of the samples."""
        return GridSamples(self.graph, [z[rows] for z in self.columns])

    def factors(self, node: "GridNode") -> tuple[Array, list[Array]]:
        """Return the product of a node's single features, and its larger blocks."""
        levels = node
        if self._rooted:
            levels = tuple((dict.fromkeys(self._rooted, 0) | dict(node)).items())
        single = np.ones(self.n_samples)
        blocks: list[Array] = []
        for i, level in sorted(levels):
            first, end = self.graph.starts[i][level : level + 2]
            if end == first + 1:
                single *= self.columns[i][:, first]
            else:
                blocks.append(self.columns[i][:, first:end])
        return single, blocks

    def basis(self, node: "GridNode") -> "NodeBasis | None":
        """Return landmarks if the product of blocks has many features, else None."""
        # Three inputs of an AnovaGrid give 8000 features, but rank 500 on 500 samples.
        if self.graph.width(node) <= 64:
            return None
        single, blocks = self.factors(node)
        if len(blocks) < 2:
            return None
        diagonal = _row_sums(single, blocks)
        factor, pivots = landmark_factor(
            lambda pivot: single * single[pivot] * _product(blocks, [pivot])[:, 0],
            diagonal,
            TOLERANCE * float(diagonal.max()),
        )
        rows = [block[pivots] for block in blocks]
        return NodeBasis(single[pivots], rows, np.linalg.inv(factor[pivots]).T)

    def features(self, node: "GridNode", basis: "NodeBasis | None" = None) -> Array:
        """Return the features of a node, shape (n_samples, n_columns)."""
        single, blocks = self.factors(node)
        if basis is None:
            return _columnwise(single[:, None], blocks)
        values = np.outer(single, basis.single)
        for block, rows in zip(blocks, basis.rows, strict=True):
            values *= block @ rows.T
        return values @ basis.mixing

    def residual(
        self, node: "GridNode", basis: "NodeBasis | None" = None
    ) -> Array | None:
        """Return the diagonal of K_v - Z Z^T; None without landmarks."""
        if basis is None:
            return None
        diagonal, features = _row_sums(*self.factors(node)), self.features(node, basis)
        residual = diagonal - np.einsum("ij,ij->i", features, features)
        return np.asarray(
            np.maximum(residual, 4.0 * np.finfo(np.float64).eps * diagonal)
        )

    def form(self, node: "GridNode", dual: Array) -> float:
        """Return a^T K_v a, from features or, if these are many, from rows of K_v."""
        single, blocks = self.factors(node)
        weighted = single * dual
        if self.graph.width(node) <= self.n_samples:
            half = len(blocks) // 2
            products = _columnwise(weighted[:, None], blocks[:half])
            right = _columnwise(np.ones((self.n_samples, 1)), blocks[half:])
            return float(np.sum((products.T @ right) ** 2))
        total = 0.0
        all_rows = np.arange(self.n_samples)
        for rows in [
            all_rows[part] for part in row_chunks(all_rows.size, all_rows.size)
        ]:
            total += float(weighted @ _product(blocks, rows) @ weighted[rows])
        return total

    def descendant_forms(
        self, nodes: Sequence["GridNode"], dual: Array
    ) -> tuple[Array, Array]:
        """Return the descendant sums of quadratic forms, and of diagonals (noise).

        The forms are increased by a bound on their rounding errors. `nodes` must not
        contain the root; see `GraphSamples.descendant_forms`.
        """
        if () in nodes:
            raise ValueError("The root is in every hull, so it has no descendant sum.")
        if not nodes:
            return np.zeros(0), np.zeros(0)
        base = self._base
        # Rows are scaled to a unit diagonal, because products of d factors overflow
        # for outliers; their scale moves into the vector.
        with np.errstate(divide="ignore"):
            magnitude = np.log(np.abs(dual)) + np.log(base.lengths).sum(axis=0)
        largest = float(magnitude.max())
        if not np.isfinite(largest):
            return np.zeros(len(nodes)), np.zeros(len(nodes))
        vector = np.sign(dual) * np.exp(magnitude - largest)
        plan = _plan_products(nodes)
        forms = self._forms(plan, vector, base)
        with np.errstate(over="ignore"):
            scale = float(np.exp(2.0 * largest))
            noise = _noise(plan, vector, base)
            forms = np.maximum(forms, 0.0) * (1.0 + ROUNDING) + ROUNDING * noise
            return scale * forms, scale * noise

    def evidence(self, dual: Array, ceiling: float) -> Evidence:
        """Return the evidence of nodes of at most two inputs."""
        return evidence_of_pairs(self, dual, ceiling)

    def _rows(self) -> Indices:
        """Return blocks of rows of the upper triangle, of similar size."""
        n = self.n_samples
        n_blocks = min(BLOCKS, max(1, n // LEAST_ROWS))
        shares = np.arange(n_blocks + 1) / n_blocks
        ends = np.unique(np.round(n * (1.0 - np.sqrt(1.0 - shares))).astype(int))
        return np.column_stack([ends[:-1], ends[1:]])

    @cached_property
    def _base(self) -> _Base:
        """Return P_0 with a unit diagonal, and its scales."""
        d, n = len(self.columns), self.n_samples
        sizes = np.array([z.shape[1] for z in self.columns])
        firsts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        below = np.zeros((d, sizes.max()), np.float32)
        units = np.empty((sizes.sum(), n), np.float32)
        lengths = np.empty((d, n))
        inputs = zip(self.columns, firsts, sizes, strict=True)
        for i, (z, first, size) in enumerate(inputs):
            shares = self.graph.shares(i, 0)
            below[i, :size] = shares
            lengths[i] = np.sqrt(np.einsum("ij,ij,j->i", z, z, shares))
            units[first : first + size] = z.T / lengths[i]
        sums, ratios = self._shares_and_ratios(sizes, lengths)
        triangle = np.empty(n * (n + 1) // 2, np.float32)
        multiply = compiled(LOOPS, "product_rows")

        def fill(rows: Indices) -> None:
            multiply(rows, units, firsts, below, sizes, triangle)

        run_blocks(fill, self._rows())
        return _Base(triangle, units, firsts, sizes, below, lengths, sums, ratios)

    def _shares_and_ratios(
        self, sizes: Indices, lengths: Array
    ) -> tuple[dict[tuple[int, int], Single], dict[tuple[int, int], Array]]:
        """Return weights of features in F_{i,l} and diagonals of R_{i,l}, l above 0."""
        sums, ratios = {}, {}
        for i, highest in enumerate(self.graph.highest):
            for level in range(1, highest + 1):
                first = self.graph.first_column(i, level)
                shares = self.graph.shares(i, level)
                sums[i, level] = np.zeros(sizes.max(), np.float32)
                sums[i, level][first : sizes[i]] = shares
                z = self.columns[i][:, first:]
                squares = np.einsum("ij,ij,j->i", z, z, shares)
                ratios[i, level] = squares / lengths[i] ** 2
        return sums, ratios

    def _forms(self, plan: _ProductPlan, vector: Array, base: _Base) -> Array:
        """Return the quadratic forms of all nodes with a scaled vector."""
        inputs, shares = self._inputs(plan.factors, base)
        single = vector.astype(np.float32)
        rows = self._rows()
        parts = np.empty((len(rows), len(plan.pairs)))
        add = compiled(LOOPS, "descendant_rows")

        def sum_rows(k: int) -> None:
            """Store the forms that a block of rows contributes."""
            parts[k] = add(
                rows[k],
                base.triangle,
                single,
                base.units,
                inputs,
                shares,
                plan.prefixes,
                plan.pairs,
            )

        run_blocks(sum_rows, range(len(rows)))
        return np.asarray(parts.sum(axis=0))

    def _inputs(self, factors: list[tuple[int, int]], base: _Base) -> tuple[Any, Array]:
        """Return the arguments of the compiled loops: inputs, and shares of factors."""
        input_of_factor = np.array([i for i, _ in factors])
        begins = np.searchsorted(input_of_factor, np.arange(len(self.columns) + 1))
        shares = np.array([base.shares[factor] for factor in factors])
        return (base.firsts, base.sizes, base.below, begins), shares


def _plan_products(nodes: Sequence["GridNode"]) -> _ProductPlan:
    """Split nodes other than the root into shared prefixes and last factors."""
    factors = sorted({factor for node in nodes for factor in node})
    position = {factor: k for k, factor in enumerate(factors)}
    prefixes_of: dict[GridNode, int] = {(): -1}
    steps: list[tuple[int, int]] = []

    def prefix_of(prefix: "GridNode") -> int:
        """Return the index of a prefix in `steps`; add it, and shorter ones, first."""
        if prefix not in prefixes_of:
            shorter = prefix_of(prefix[:-1])
            prefixes_of[prefix] = len(steps)
            steps.append((shorter, position[prefix[-1]]))
        return prefixes_of[prefix]

    pairs = [(prefix_of(node[:-1]), position[node[-1]]) for node in nodes]
    as_array = np.array(steps, dtype=np.intp).reshape(-1, 2)
    return _ProductPlan(factors, as_array, np.array(pairs, dtype=np.intp))


def _noise(plan: _ProductPlan, vector: Array, base: _Base) -> Array:
    """Return the descendant sums of the kernels' diagonals times squared `vector`."""
    ratios = np.array([base.ratios[factor] for factor in plan.factors])
    prefixes = np.empty((len(plan.prefixes) + 1, vector.size))
    # The empty prefix has the index -1.
    prefixes[-1] = vector * vector
    for k, (shorter, factor) in enumerate(plan.prefixes):
        np.multiply(prefixes[shorter], ratios[factor], out=prefixes[k])
    products = prefixes @ ratios.T
    return np.asarray(products[plan.pairs[:, 0], plan.pairs[:, 1]])
