"""Matrices that approximate kernels, and how to refine them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import singledispatch

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack


@dataclass(frozen=True, eq=False)
class Refinement:
    """The precision of low-rank matrices that a small duality gap requires.

    goals[m] is the required upper bound on v^T E_m v for the dual point v = `dual`. The
    residual E_m is kernel m minus its low-rank approximation. `refined` returns more
    precise matrices, with which the fit is repeated.
    """

    dual: Array
    goals: Mapping[int, float]

    def for_full_stack(self, kernels: Indices, scales: Array) -> "Refinement":
        """Return this refinement in the indices and scales of the full stack."""
        # Kernel k of this stack is scales[k] times kernel kernels[k] of the full stack.
        # A kernel of scale zero has no residual.
        goals = {
            int(kernels[m]): goal / float(scales[m])
            for m, goal in self.goals.items()
            if scales[m] > 0.0
        }
        return replace(self, goals=goals)


@singledispatch
def refined(
    stack: GramStack, refinement: Refinement, max_bytes: int | None = None
) -> GramStack | None:
    """Return a better approximation of a stack's kernels; None if none is possible."""
    # `max_bytes` limits the memory of all factors; None allows the available memory.
    return None
