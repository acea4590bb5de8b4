"""How the products of many nodes of a grid share their factors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from multikernel._typing import Indices

if TYPE_CHECKING:
    from multikernel.kernels.graph.grid import GridNode


@dataclass(frozen=True, eq=False)
class ProductPlan:
    """Which products yield which nodes: indices of factors, of prefixes, of pairs."""

    factors: list[tuple[int, int]]
    prefixes: Indices
    pairs: Indices


def plan_products(nodes: Sequence["GridNode"]) -> ProductPlan:
    """Split nodes other than the root into prefixes that many share and factors."""
    factors = sorted({factor for node in nodes for factor in node})
    position = {factor: k for k, factor in enumerate(factors)}
    prefixes_of: dict[GridNode, int] = {(): -1}
    steps: list[tuple[int, int]] = []

    def prefix_of(prefix: "GridNode") -> int:
        if prefix not in prefixes_of:
            shorter = prefix_of(prefix[:-1])
            prefixes_of[prefix] = len(steps)
            steps.append((shorter, position[prefix[-1]]))
        return prefixes_of[prefix]

    pairs = [(prefix_of(node[:-1]), position[node[-1]]) for node in nodes]
    as_array = np.array(steps, dtype=np.intp).reshape(-1, 2)
    return ProductPlan(factors, as_array, np.array(pairs, dtype=np.intp))
