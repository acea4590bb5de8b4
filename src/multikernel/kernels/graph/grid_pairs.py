"""Bounds on p-values of nodes of one or two inputs, computed for each node alone."""

from collections.abc import Sequence
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
    if sum(z.shape[1] for z in samples.columns) > MOST:
        return lambda nodes: np.full(len(nodes), -np.inf)
    highest = samples.graph.highest
    n_inputs, top = len(highest), max(highest)
    # Entry (a, b, i, j) is for the node with level a of input i and level b of input j.
    pairs = np.full((top + 1, top + 1, n_inputs, n_inputs), -np.inf)
    # The second level of nodes on one input is level zero of the last input.
    i = np.repeat(np.arange(-1, n_inputs), (1, *highest))
    a = np.concatenate([np.arange(1), *(1 + np.arange(most) for most in highest)])
    first, second, values = _evidence_of_strong(samples, dual, ceiling, i, a)
    pairs[a[first], a[second], i[first], i[second]] = values
    pairs = np.maximum.accumulate(pairs[::-1])[::-1]
    pairs = np.maximum.accumulate(pairs[:, ::-1], axis=1)[:, ::-1]
    # The entries (a, 0, i, j) for all j are for the node on input i alone.
    pairs[:, 0] = pairs[:, 0].max(axis=2, keepdims=True)

    def of_nodes(nodes: Sequence["GridNode"]) -> Array:
        """Return the entries of `pairs`; -inf for nodes on more inputs."""
        values = np.full(len(nodes), -np.inf)
        few = [k for k, node in enumerate(nodes) if len(node) <= 2]
        padded = [(*nodes[k], (0, 0))[:2] for k in few]
        i, a, j, b = np.array(padded, dtype=np.intp).reshape(-1, 4).T
        values[few] = pairs[a, b, i, j]
        return values

    return of_nodes


def _evidence_of_strong(
    samples: "GridSamples", dual: Array, ceiling: float, i: Indices, a: Indices
) -> tuple[Indices, Indices, Array]:
    """Return pairs of levels of strong nodes, and -log of bounds on their p-values."""
    # Strong nodes have a form above `ceiling` times their squared weight. Levels a of
    # inputs i, and first no level, are numbered by their places in these arrays.
    # The p-value is the probability that random signs of `dual` give the node's kernel
    # at least its form; descendants do not count.
    features, squares, begins, root = samples.level_features
    squared_weights = samples.graph.weight_base ** (2.0 * a)
    # NumPy's warnings are ignored: features may overflow, and they are divided by level
    # zero of the input, which may be zero. Ratios that are not finite do not count.
    with np.errstate(all="ignore"):
        vector = root * dual
        # The forms are a^T K a of nodes on up to two inputs, with a = `dual`. All
        # products of two levels with a are one matrix, Z^T diag(a) Z. Features are
        # centered, because products of uncentered features also contain multiples of
        # each of the two, which are features of the ancestors.
        forms = ((features * vector[:, None]).T @ features) ** 2
        if begins.size < len(forms):
            rows = np.add.reduceat(forms, begins, axis=0)
            forms = np.add.reduceat(rows, begins, axis=1)
        # Entries for two levels of the same input are meaningless.
        limits = np.multiply.outer(ceiling * squared_weights, squared_weights)
        strong = (forms > limits) & (i[:, None] != i)
        used = np.flatnonzero(strong.any(axis=0))
        # The mean of the form over random signs of the entries of a.
        noise = (squares[:, used] * vector[:, None] ** 2).T @ squares[:, used]
        ratios = forms[np.ix_(used, used)] / noise
        counts = np.isfinite(ratios) & strong[np.ix_(used, used)]
    first, second = np.nonzero(counts)
    n_nodes = i.size * (i.size + 1) // 2
    return used[first], used[second], evidence(ratios[counts], n_nodes)


def level_features(samples: "GridSamples") -> tuple[Array, Array, Indices, Array]:
    """Return features of all levels, and other arrays of `_evidence_of_strong`."""
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
        # The kernel of a node also contains level zero of every other input. If this
        # level has several features, forms have no such formula: NaN does not count.
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
