"""Bounds on p-values of nodes of one or two inputs, computed for each node alone."""

from typing import TYPE_CHECKING

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.kernels.graph.base import Evidence

if TYPE_CHECKING:
    from multikernel.kernels.graph.grid import GridNode
    from multikernel.kernels.graph.grid_samples import GridSamples

# 1024 features are about 200 inputs of a PolynomialGrid(4), with five features each.
MOST = 1024
"""Largest number of features for which pairs are computed."""


def evidence_of_pairs(samples: "GridSamples", dual: Array, ceiling: float) -> Evidence:
    """Return a function that maps nodes to -log of bounds on their p-values."""
    # `GraphSamples.evidence` defines the bounds. Here, only descendants on one or two
    # inputs count, so nodes on more inputs get -inf. If there are more than `MOST`
    # features, all nodes get -inf. The evidence of a node is the largest of its
    # descendants, because a single strong descendant can disappear in a sum.
    highest = samples.graph.highest
    shape = (len(highest), max(highest))
    singles, pairs = np.full(shape, -np.inf), np.full((*shape, *shape), -np.inf)
    if sum(z.shape[1] for z in samples.columns) <= MOST:
        values = _evidence_of_all(samples, dual, ceiling)
        i = np.repeat(np.arange(len(highest)), highest)
        a = np.concatenate([np.arange(most) for most in highest])
        singles[i, a] = values[0, 1:]
        apart = i[:, None] != i
        pairs[i[:, None], a[:, None], i, a] = np.where(apart, values[1:, 1:], -np.inf)
        pairs = _largest_from(_largest_from(pairs, 1), 3)
        singles = np.maximum(_largest_from(singles, 1), pairs.max(axis=(2, 3)))

    def of_node(node: "GridNode") -> float:
        """Return a node's entry of `singles` or `pairs`; -inf for other nodes."""
        levels = [(i, level - 1) for i, level in node]
        if len(levels) == 1:
            return float(singles[levels[0]])
        return float(pairs[levels[0] + levels[1]]) if len(levels) == 2 else -np.inf

    return lambda nodes: np.array([of_node(node) for node in nodes])


def _largest_from(values: Array, axis: int) -> Array:
    """Return the maximum of each entry and all later ones along an axis."""
    turned = np.flip(values, axis)
    return np.flip(np.maximum.accumulate(turned, axis=axis), axis)


def _evidence_of_all(samples: "GridSamples", dual: Array, ceiling: float) -> Array:
    """Return -log of a bound on each node's p-value, arranged as in `pair_forms`."""
    # The p-value is the probability that random signs of `dual` give the node's kernel
    # at least its form; descendants do not count. Nodes whose form is at most `ceiling`
    # times their squared weight get -inf.
    graph = samples.graph
    base, levels = graph.weight_base, [0.0]
    for most in graph.highest:
        levels += range(1, most + 1)
    weights = base ** np.add.outer(levels, levels)
    # NumPy's warnings are ignored: features may overflow, and they are divided by level
    # zero of the input, which may be zero. Ratios that are not finite do not count.
    with np.errstate(all="ignore"):
        forms, noise = pair_forms(samples, dual)
        ratios = forms / noise
        counts = np.isfinite(ratios) & (forms > ceiling * weights**2)
    n_nodes = len(levels) * (len(levels) + 1) // 2
    return np.where(counts, evidence(ratios, n_nodes), -np.inf)


def pair_forms(samples: "GridSamples", dual: Array) -> tuple[Array, Array]:
    """Return a^T K a of nodes on up to two inputs, and its mean over signs of a."""
    # The vector a is `dual`; the mean is over random signs of its entries. Both results
    # have shape (1 + n_levels, 1 + n_levels), with the levels above zero of all inputs.
    # Entry (j, k) is the node with the levels j and k; index 0 means no level. Entries
    # for two levels of the same input are meaningless. Features are centered, because
    # products of uncentered features also contain multiples of each of the two, which
    # are features of the ancestors.
    features, squares, begins, root = samples.level_features
    vector = root * dual
    # All products of two levels with the dual vector a are one matrix, Z^T diag(a) Z.
    products = (features * vector[:, None]).T @ features
    rows = np.add.reduceat(products**2, begins, axis=0)
    forms = np.add.reduceat(rows, begins, axis=1)
    return forms, (squares * vector[:, None] ** 2).T @ squares


def level_features(samples: "GridSamples") -> tuple[Array, Array, Indices, Array]:
    """Return the features of all levels, and the other arrays of `pair_forms`."""
    # The result is (`features`, `squares`, `begins`, `root`). `features`, (n_samples,
    # n_features), are a column of ones, and the features of all levels above zero,
    # divided by level zero of the same input and then centered. `squares`, (n_samples,
    # 1 + n_levels), are the squared features, summed over each level. `begins` has the
    # first column of each level, and `root`, (n_samples,), is the feature of the root
    # node: the product over inputs of level zero.
    sizes, blocks = [1], [np.ones((samples.n_samples, 1))]
    root = np.ones(samples.n_samples)
    for z, levels in zip(samples.columns, samples.graph.levels, strict=True):
        first = levels.sizes[0]
        # The kernel of a node also contains level zero of every other input.
        zero = z[:, :1] if first == 1 else np.full((len(z), 1), np.nan)
        root = root * zero[:, 0]
        levels_above = z[:, first:] / zero
        blocks.append(levels_above - levels_above.mean(axis=0))
        sizes += levels.sizes[1:]
    features = np.concatenate(blocks, axis=1)
    begins = np.cumsum([0, *sizes[:-1]])
    return features, np.add.reduceat(features**2, begins, axis=1), begins, root


def evidence(ratios: Array, n_nodes: int) -> Array:
    """Return -log of an upper bound on each ratio's p-value in `n_nodes` tests."""
    # `ratios` are forms a^T K a, divided by their mean sum_i a_i^2 K_ii for random
    # signs of a. For any kernel, random signs give a ratio above t with probability at
    # most sqrt(t) e^((1 - t) / 2) (Chernoff). For any of `n_nodes` nodes, the
    # probability is at most `n_nodes` times as large.
    t = np.maximum(ratios, 1.0)
    return np.asarray(0.5 * (t - 1.0 - np.log(t)) - np.log(n_nodes))
