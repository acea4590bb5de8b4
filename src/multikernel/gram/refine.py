"""Matrices that approximate kernels, and how to refine them.

If residuals prevent a small duality gap, the certificate states how small they must be
(`Refinement`), `refined` returns better matrices, and the fit solves again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import singledispatch

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack


@dataclass(frozen=True, eq=False)
class Refinement:
    """The precision of matrices that a certificate requires.

    Parameters
    ----------
    dual : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A dual point.
    goals : mapping of int to float
        Required upper bounds on the forms of residuals at this point, by kernel.
    """

    dual: Array
    goals: Mapping[int, float]

    def for_full_stack(self, kernels: Indices, scales: Array) -> "Refinement":
        """Return the refinement for the full stack, before kernels were scaled.

        Parameters
        ----------
        kernels : ndarray of shape (n_chosen,)
            Indices of this stack's kernels in the full stack.
        scales : ndarray of shape (n_chosen,)
            Factors of these kernels; a kernel of scale zero has no residual.
        """
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
    """Return a better approximation of the kernels of a stack, None if impossible."""
    return None
