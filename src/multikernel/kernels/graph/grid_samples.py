"""Directed grids on samples: features of nodes, and descendant sums."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel._validation import check_shapes
from multikernel.kernels.graph.base import Evidence
from multikernel.kernels.graph.grid_pairs import evidence_of_pairs, level_features
from multikernel.kernels.graph.levels import TOLERANCE
from multikernel.linalg.landmarks import landmark_factor
from multikernel.linalg.tables import row_chunks
from multikernel.linalg.threads import add_blocks, compiled

if TYPE_CHECKING:
    from multikernel.kernels.graph.grid import FittedGrid, GridNode

Single = NDArray[np.float32]

LOOPS = "multikernel.kernels.graph.grid_loops"

# This is the rounding error of single precision for unit diagonals.
SMALLEST = np.float32(1e-6)
"""Smallest absolute entry of a divisor F_{i,0}; see the comment on `GridSamples`."""

BLOCK_NUMBERS = 2**21
"""Number of array entries of a block of rows, which should stay in the cache."""

# With stored factors, a search of seven classes on 400 rows takes half as long.
STORED_NUMBERS = 2**26
"""Maximum number of entries of stored factors: 128 MB of upper triangles if all are
used. Factors that no node uses take no memory."""

# In tests with up to 1000 samples, the rounding errors of `descendant_forms` were below
# 1.2e-6 of the sum of its two results.
ROUNDING = 1e-5
"""Relative increase of sums that covers errors of single precision."""


@dataclass(frozen=True, eq=False)
class NodeBasis:
    """Landmarks of a node whose levels have several features."""

    # Product of the levels with one feature, at the landmarks, (rank,).
    single: Array
    # Features of each level with several features, at the landmarks, (rank, size).
    rows: list[Array]
    # ``kernel(X, landmarks) @ mixing`` are the features of the node.
    mixing: Array

    def __post_init__(self) -> None:
        check_shapes(
            "NodeBasis",
            single=(self.single, ("n_landmarks",)),
            mixing=(self.mixing, ("n_landmarks", "n_columns")),
        )
        for rows in self.rows:
            check_shapes("NodeBasis", rows=(rows, (self.single.size, "n_columns")))


# Let F_{i,l} be the weighted sum of the kernel matrices of the levels l, l + 1, ... of
# input i. The descendant sum of a node with the levels l_1, ..., l_k above zero at the
# inputs i_1, ..., i_k is P_0 o R_{i_1,l_1} o ... o R_{i_k,l_k} (entrywise), with
# P_0 = F_{1,0} o ... o F_{d,0} and R_{i,l} = F_{i,l} / F_{i,0}: a prefix times the last
# factor. `product_sums` computes the sums of all nodes for a block of rows.
class GridSamples:
    """Samples of a fitted grid; `columns` has an array of features for each input."""

    def __init__(self, graph: "FittedGrid", columns: list[Array]) -> None:
        self.graph = graph
        self.columns = columns

    @cached_property
    def _rooted(self) -> list[int]:
        """Return the inputs whose feature at level zero is not just the number 1."""
        # At level zero, the other inputs multiply a node's features by 1, so `factors`
        # skips them.
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
        """Return the factors of a node's features: a vector, and a list of blocks."""
        # The vector, (n_samples,), is the product of the features of those levels of
        # the node that have one feature. Each level with several features has a block,
        # (n_samples, n_level_features).
        levels = node
        if self._rooted:
            above_root = dict.fromkeys(self._rooted, 0) | dict(node)
            levels = tuple(sorted(above_root.items()))
        single = np.ones(self.n_samples)
        blocks: list[Array] = []
        for i, level in levels:
            first, end = self.graph.starts[i][level : level + 2]
            if end == first + 1:
                single *= self.columns[i][:, first]
            else:
                blocks.append(self.columns[i][:, first:end])
        return single, blocks

    def basis(self, node: "GridNode") -> NodeBasis | None:
        """Return landmarks if a product of levels has over 64 features, else None."""
        # Three inputs of an AnovaGrid give 8000 features, but rank 500 on 500 samples.
        if self.graph.width(node) <= 64:
            return None
        single, blocks = self.factors(node)
        if len(blocks) < 2:
            return None
        diagonal = _diagonal(single, blocks)
        factor, pivots = landmark_factor(
            lambda pivot: single * single[pivot] * _product(blocks, [pivot])[:, 0],
            diagonal,
            TOLERANCE * float(diagonal.max()),
        )
        rows = [block[pivots] for block in blocks]
        return NodeBasis(single[pivots], rows, np.linalg.inv(factor[pivots]).T)

    def features(self, node: "GridNode", basis: NodeBasis | None = None) -> Array:
        """Return the features of a node, shape (n_samples, n_columns)."""
        single, blocks = self.factors(node)
        if basis is None:
            return _columnwise(single[:, None], blocks)
        values = np.outer(single, basis.single)
        for block, rows in zip(blocks, basis.rows, strict=True):
            values *= block @ rows.T
        return values @ basis.mixing

    def residual(
        self, node: "GridNode", basis: NodeBasis | None = None
    ) -> Array | None:
        """Return diag(K - Z Z^T) of a node with features Z, or None if it is zero."""
        if basis is None:  # the features reproduce the kernel exactly
            return None
        diagonal, features = _diagonal(*self.factors(node)), self.features(node, basis)
        # The difference has a rounding error of about four eps.
        residual = diagonal - np.einsum("ij,ij->i", features, features)
        return np.asarray(
            np.maximum(residual, 4.0 * np.finfo(np.float64).eps * diagonal)
        )

    def form(self, node: "GridNode", dual: Array) -> float:
        """Return a^T K a with a = `dual` and the kernel matrix K of the node."""
        single, blocks = self.factors(node)
        weighted = single * dual
        if self.graph.width(node) <= self.n_samples:
            half = len(blocks) // 2
            products = _columnwise(weighted[:, None], blocks[:half])
            right = _columnwise(np.ones((self.n_samples, 1)), blocks[half:])
            return float(np.sum((products.T @ right) ** 2))
        return sum(
            float(weighted @ _product(blocks, rows) @ weighted[rows])
            for rows in row_chunks(self.n_samples, self.n_samples)
        )

    def descendant_forms(
        self, nodes: Sequence["GridNode"], dual: Array
    ) -> tuple[Array, Array]:
        """Return two sums over descendants; see `GraphSamples.descendant_forms`."""
        if () in nodes:
            raise ValueError(
                "descendant_forms: nodes must not contain the root (), because "
                "searches always select the root: remove () from nodes."
            )
        # Every F_{i,0} is scaled to a unit diagonal, because products of d of these
        # matrices overflow for outliers; the dual vector absorbs the scale.
        with np.errstate(divide="ignore"):
            magnitude = np.log(np.abs(dual)) + self._log_length
        largest = float(magnitude.max())
        if not nodes or not np.isfinite(largest):
            return np.zeros(len(nodes)), np.zeros(len(nodes))
        vector = np.sign(dual) * np.exp(magnitude - largest)
        used = sorted({factor for node in nodes for factor in node})
        places = {factor: k for k, factor in enumerate(used)}
        plan = _plan_products(nodes, self._places if self._is_small else places)
        product_sums = compiled(LOOPS, "product_sums")
        forms, single = np.zeros(len(nodes)), vector.astype(np.float32)

        def add(part: Array) -> None:
            forms[:] += part

        def sums(block: Any) -> Array:
            """Return the contribution of `block` to the descendant sum of each node."""
            block = block if self._is_small else self._make_block(block, places)
            self._fill(block, used)
            rows = block.rows
            weights = np.outer(2.0 * single[rows], single[rows.start :])
            weights *= block.base
            entries, ratios = weights.reshape(-1), block.ratios
            return np.asarray(product_sums(entries, ratios, plan.prefixes, plan.ends))

        size = BLOCK_NUMBERS // (len(used) + len(plan.prefixes))
        rows = _triangle_rows(self.n_samples, size)
        add_blocks(sums, self._stored_blocks if self._is_small else rows, add)
        ratios = self._diagonal_ratios
        if not self._is_small:
            ratios = ratios[[self._places[factor] for factor in used]]
        with np.errstate(over="ignore"):
            scale = float(np.exp(2.0 * largest))
            noise = _noise(plan, vector * vector, ratios)
            # Forms are increased by a bound on their rounding errors.
            forms = np.maximum(forms, 0.0) * (1.0 + ROUNDING) + ROUNDING * noise
            return scale * forms, scale * noise

    def evidence(self, dual: Array, ceiling: float) -> Evidence:
        """Return a function that maps nodes to -log of bounds on their p-values."""
        # `GraphSamples.evidence` describes it.
        return evidence_of_pairs(self, dual, ceiling)

    @cached_property
    def level_features(self) -> tuple[Array, Array, Indices, Array]:
        """Return the cached result of `grid_pairs.level_features` for this grid."""
        with np.errstate(all="ignore"):
            return level_features(self)

    @cached_property
    def _places(self) -> dict[tuple[int, int], int]:
        """Number the pairs (input, level) of all factors R_{i,l} of descendant sums."""
        highest = enumerate(self.graph.highest)
        factors = [(i, level) for i, most in highest for level in range(1, most + 1)]
        return {factor: k for k, factor in enumerate(factors)}

    @property
    def _is_small(self) -> bool:
        """Whether the entries of factors are stored once they are used."""
        return len(self._places) * self.n_samples**2 <= STORED_NUMBERS

    @cached_property
    def _stored_blocks(self) -> list["_Block"]:
        """Blocks of all rows of the upper triangle, which `_fill` fills when needed."""
        size = BLOCK_NUMBERS // len(self._places)
        blocks = _triangle_rows(self.n_samples, size)
        return [self._make_block(rows, self._places) for rows in blocks]

    @cached_property
    def _shares(self) -> dict[tuple[int, int], Array]:
        """Return, by (input, level), the weights of features from this level on."""
        # The value for input i and level l has one weight for each feature of input i
        # at the levels l, l + 1, ... The comment on `GridSamples` defines the sum
        # F_{i,l}, which has these weights.
        roots = [(i, 0) for i in range(len(self.columns))]
        factors = [*roots, *self._places]
        return {factor: self.graph.shares(*factor) for factor in factors}

    @cached_property
    def _lengths(self) -> Array:
        """Return weighted norms of each input's features, (n_inputs, n_samples)."""
        # The squares of the norms are the diagonals of F_{i,0}; see `GridSamples`.
        each = enumerate(self.columns)
        return np.sqrt(
            [np.einsum("ij,ij,j->i", z, z, self._shares[i, 0]) for i, z in each]
        )

    @cached_property
    def _log_length(self) -> Array:
        """Return the logarithm of the product of the `_lengths` of all inputs."""
        return np.asarray(np.log(self._lengths).sum(axis=0))

    @cached_property
    def _units(self) -> list[Single]:
        """Return each input's transposed features, divided by its `_lengths`."""
        pairs = zip(self.columns, self._lengths, strict=True)
        return [np.asarray(z.T / length, np.float32, order="C") for z, length in pairs]

    @cached_property
    def _diagonal_ratios(self) -> Array:
        """Return the diagonals of all R_{i,l}, (n_factors, n_samples), by `_places`."""
        ratios = np.empty((len(self._places), self.n_samples))
        for (i, level), k in self._places.items():
            z = self.columns[i][:, self.graph.starts[i][level] :]
            squares = np.einsum("ij,ij,j->i", z, z, self._shares[i, level])
            ratios[k] = squares / self._lengths[i] ** 2
        return ratios

    def _make_block(self, rows: slice, places: dict[tuple[int, int], int]) -> "_Block":
        """Return rows of P_0, and space for rows of R_{i,l}; see `GridSamples`."""
        # P_0 is zero below the diagonal and has half of the diagonal, so that twice its
        # sum is the sum over the symmetric matrix.
        shape = (rows.stop - rows.start, self.n_samples - rows.start)
        base = np.triu(np.ones(shape, np.float32))
        base[np.diag_indices(shape[0])] = np.float32(0.5)
        for i in range(len(self.columns)):
            base *= self._divisor(i, rows)
        ratios = np.empty((len(places), base.size), np.float32)
        return _Block(rows, base, ratios, places)

    def _fill(self, block: "_Block", factors: Sequence[tuple[int, int]]) -> None:
        """Compute the entries of R_{i,l} that a block lacks; (i, l) are ascending."""
        missing = [factor for factor in factors if factor not in block.filled]
        for i, of_input in groupby(missing, key=itemgetter(0)):
            divisor = self._divisor(i, block.rows)
            for factor in of_input:
                ratios = self._level_sum(*factor, block.rows)
                ratios /= divisor
                block.ratios[block.places[factor]] = ratios.reshape(-1)
        block.filled.update(missing)

    def _divisor(self, i: int, rows: slice) -> Single:
        """Return these rows of F_{i,0}, without entries near zero."""
        divisor = self._level_sum(i, 0, rows)
        if np.abs(divisor).min() < SMALLEST:
            divisor[np.abs(divisor) < SMALLEST] = SMALLEST
        return divisor

    def _level_sum(self, i: int, level: int, rows: slice) -> Single:
        """Return these rows of F_{i,level}, from the first row's diagonal entry on."""
        # The comment on `GridSamples` defines F. With `_units`, F_{i,0} has a unit
        # diagonal.
        units = self._units[i][self.graph.starts[i][level] :]
        shares = self._shares[i, level].astype(np.float32)
        product = (units[:, rows].T * shares) @ units[:, rows.start :]
        return np.asarray(product, np.float32)


@dataclass(frozen=True, eq=False)
class _Block:
    """Rows of the factors of descendant sums; see `GridSamples`."""

    rows: slice
    base: Single  # these rows of P_0, from the diagonal entry of the first row on
    ratios: Single  # (n_factors, base.size), the same entries of each R_{i,l}
    places: dict[tuple[int, int], int]  # row of `ratios` of each pair (i, l)
    filled: set[tuple[int, int]] = field(default_factory=set)


def _columnwise(product: Array, blocks: Sequence[Array]) -> Array:
    """Return all products of one column of `product` and one column of each block."""
    for block in blocks:
        product = (product[:, :, None] * block[:, None, :]).reshape(len(block), -1)
    return product


def _product(blocks: Sequence[Array], rows: Any) -> Array:
    """Return K[:, rows], for the entrywise product K of the blocks' Gram matrices."""
    # Each block contains the features of one level, (n_samples, n_level_features).
    product: Array = blocks[0] @ blocks[0][rows].T
    for block in blocks[1:]:
        product *= block @ block[rows].T
    return product


def _diagonal(single: Array, blocks: Sequence[Array]) -> Array:
    """Return the diagonal of a node's kernel from the result of `factors`."""
    diagonal = single**2
    for block in blocks:
        diagonal = diagonal * np.einsum("ij,ij->i", block, block)
    return diagonal


def _triangle_rows(n: int, size: int) -> list[slice]:
    """Return slices of rows of the upper triangle with about `size` entries each."""
    ends = [0]
    while ends[-1] < n:
        ends.append(min(n, ends[-1] + max(1, size // (n - ends[-1]))))
    return [slice(start, end) for start, end in pairwise(ends)]


@dataclass(frozen=True, eq=False)
class _ProductPlan:
    """Order of multiplications: each node is a prefix (a shorter node) and a factor."""

    prefixes: Indices  # the parent and the last factor of each prefix; row 0: no factor
    ends: Indices  # prefix and last factor of each node


def _plan_products(
    nodes: Sequence["GridNode"], column: dict[tuple[int, int], int]
) -> _ProductPlan:
    """Return the plan that multiplies prefixes shared by nodes only once."""
    every = {node[:k] for node in nodes for k in range(len(node))}
    row = {prefix: k for k, prefix in enumerate(sorted(every, key=len))}
    steps = [(row[prefix[:-1]], column[prefix[-1]]) for prefix in [*row][1:]]
    ends = [(row[node[:-1]], column[node[-1]]) for node in nodes]
    return _ProductPlan(np.array([(0, 0), *steps]), np.array(ends))


def _noise(plan: _ProductPlan, squares: Array, ratios: Array) -> Array:
    """Return the mean of each node's descendant sum over random signs of the dual."""
    # The comment on `GridSamples` defines the matrices P_0 and R_{i,l}. `squares` are
    # the squares of the dual vector times the diagonal of P_0, up to a constant factor.
    # `ratios`, (n_factors, n_samples), are the diagonals of R_{i,l} for the factors of
    # the plan.
    products = np.empty((len(plan.prefixes), squares.size))
    products[0] = squares
    for k, (shorter, factor) in enumerate(plan.prefixes[1:], start=1):
        np.multiply(products[shorter], ratios[factor], out=products[k])
    sums: Array = products @ ratios.T
    return sums[plan.ends[:, 0], plan.ends[:, 1]]
