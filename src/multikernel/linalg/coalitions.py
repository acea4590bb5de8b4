"""Compiled loop: Shapley values of products with one factor per player."""

import numpy as np

from multikernel._typing import Array
from multikernel.linalg.jit import loop


@loop()
def add_product_games(
    present: Array,
    absent: Array,
    coefs: Array,
    nodes: Array,
    shares: Array,
    values: Array,
) -> None:
    """Add the Shapley values of games that are sums of products over the players."""
    # The Shapley values of the players are added to `values`, (n_players, n_rows,
    # n_outputs). The value of a coalition is a sum of products over points, weighted by
    # `coefs`, (n_points, n_outputs), and averaged over the background samples. A player
    # in the coalition has the factor `present`, (n_players, n_rows, n_points), and any
    # other player has the factor `absent`, (n_players, n_points, n_background). `nodes`
    # and `shares` are the nodes and weights of a quadrature rule on [0, 1].
    n_players, n_rows, n_points = present.shape
    n_background, n_outputs = absent.shape[2], coefs.shape[1]
    factors = np.empty(n_players)
    slopes = np.empty(n_players)
    for row in range(n_rows):
        for point in range(n_points):
            slopes[:] = 0.0
            for background in range(n_background):
                for node in range(nodes.size):
                    u = nodes[node]
                    before = shares[node] / n_background
                    for i in range(n_players):
                        p, q = present[i, row, point], absent[i, point, background]
                        factors[i] = u * p + (1.0 - u) * q
                    # Products of all factors but one, without division by zero.
                    after = 1.0
                    for i in range(n_players - 1, -1, -1):
                        factors[i], after = after, after * factors[i]
                    for i in range(n_players):
                        p, q = present[i, row, point], absent[i, point, background]
                        slopes[i] += (p - q) * before * factors[i]
                        before *= u * p + (1.0 - u) * q
            for i in range(n_players):
                for output in range(n_outputs):
                    values[i, row, output] += slopes[i] * coefs[point, output]
