"""Bounds on p-values of nodes of one or two inputs, computed for each node alone."""

from collections.abc import Callable, Sequence
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
    shape = (len(highest), max(highest) + 1)
    # Entry (i, a, j, b) is for the node with level a of input i and level b of input j.
    pairs = np.full((*shape, *shape), -np.inf)
    if sum(z.shape[1] for z in samples.columns) <= MOST:
        places, values = _evidence_of_strong(samples, dual, ceiling)
        pairs[places] = values
    for level in reversed(range(max(highest))):
        np.maximum(pairs[:, level], pairs[:, level + 1], out=pairs[:, level])
        lower, upper = pairs[..., level], pairs[..., level + 1]
        np.maximum(lower, upper, out=lower)
    singles = pairs[..., 0].max(axis=2)

    def of_nodes(nodes: Sequence["GridNode"]) -> Array:
        """Return the entries of `singles` or `pairs`; -inf for other nodes."""
        values = np.full(len(nodes), -np.inf)
        for n_inputs, table in enumerate((singles, pairs), start=1):
            of_size = [k for k, node in enumerate(nodes) if len(node) == n_inputs]
            entries = np.array([nodes[k] for k in of_size], dtype=np.intp)
            values[of_size] = table[tuple(entries.reshape(-1, 2 * n_inputs).T)]
        return values

    return of_nodes


def _evidence_of_strong(
    samples: "GridSamples", dual: Array, ceiling: float
) -> tuple[tuple[Indices, ...], Array]:
    """Return -log of bounds on p-values of strong nodes, with their inputs and levels.

    Strong nodes have a form above `ceiling` times their squared weight.
    """
    # The p-value is the probability that random signs of `dual` give the node's kernel
    # at least its form; descendants do not count. The places are arrays (i, a, j, b) as
    # in `evidence_of_pairs`. A node on one input has the place (i, a, i, 0).
    graph = samples.graph
    inputs = np.repeat(np.arange(len(graph.highest)), graph.highest)
    levels = np.concatenate([np.arange(most) + 1 for most in graph.highest])
    weights = graph.weight_base ** np.append(0.0, levels)
    # NumPy's warnings are ignored: features may overflow, and they are divided by level
    # zero of the input, which may be zero. Ratios that are not finite do not count.
    with np.errstate(all="ignore"):
        forms, noise = pair_forms(samples, dual)
        strong = forms > np.multiply.outer(ceiling * weights**2, weights**2)
        # Row 0 has the nodes on one input again. A pair is in both triangles.
        first, second = np.nonzero(strong[1:])
        ratios = forms[first + 1, second] / noise(first + 1, second)
    i, is_pair = inputs[first], second > 0
    j = np.where(is_pair, inputs[second - 1], i)
    counts = np.isfinite(ratios) & ((i != j) | ~is_pair)
    places = (i, levels[first], j, np.where(is_pair, levels[second - 1], 0))
    n_nodes = weights.size * (weights.size + 1) // 2
    values = evidence(ratios[counts], n_nodes)
    return tuple(place[counts] for place in places), values


def pair_forms(
    samples: "GridSamples", dual: Array
) -> tuple[Array, Callable[[Indices, Indices], Array]]:
    """Return a^T K a of nodes on up to two inputs, and its mean over signs of a."""
    # The vector a is `dual`; the mean is over random signs of its entries, and a
    # function of the rows and columns of some nodes. The forms have shape (1 +
    # n_levels, 1 + n_levels), with the levels above zero of all inputs. Entry (j, k) is
    # the node with the levels j and k; index 0 means no level. Entries for two levels
    # of the same input are meaningless. Features are centered, because products of
    # uncentered features also contain multiples of each of the two, which are features
    # of the ancestors.
    features, squares, begins, root = samples.level_features
    vector = root * dual
    # All products of two levels with the dual vector a are one matrix, Z^T diag(a) Z.
    forms = ((features * vector[:, None]).T @ features) ** 2
    if begins.size < len(forms):
        rows = np.add.reduceat(forms, begins, axis=0)
        forms = np.add.reduceat(rows, begins, axis=1)

    def noise(rows: Indices, columns: Indices) -> Array:
        products = squares[:, rows] * squares[:, columns]
        return np.asarray(vector**2 @ products)

    return forms, noise


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
