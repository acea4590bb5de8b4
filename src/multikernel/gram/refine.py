"""Matrices that approximate kernels, and how to refine them.

A fit solves over the matrices. If their residuals prevent a small gap, the certificate
states how small residuals must be (`Refinement`), the storage computes finer matrices
(`refined`), and the fit solves again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.gram.base import GramStack, RestrictedStack, capability


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

    def of_all(self, kernels: Indices, scales: Array) -> "Refinement":
        """Return the refinement for the stack from which these kernels were scaled.

        Parameters
        ----------
        kernels : ndarray of shape (n_chosen,)
            Their indices in the stack.
        scales : ndarray of shape (n_chosen,)
            Their factors; a kernel of scale zero has no residual.
        """
        goals = {
            int(kernels[m]): goal / float(scales[m])
            for m, goal in self.goals.items()
            if scales[m] > 0.0
        }
        return replace(self, goals=goals)


@capability
def residual_traces(stack: GramStack, shares: Array) -> Array:
    """Return tr(D R_m), R_m the residual of kernel m, shape (n_kernels,).

    D has the shares on its diagonal, (n_samples,), sample weights that sum to one.
    """
    return np.zeros(stack.shape[0])


@capability
def has_features(stack: GramStack) -> Mask:
    """Return a mask of kernels stored as their own features, shape (n_kernels,).

    Features have relative rounding errors. Landmark factors and centered factors are
    differences, which cancel.
    """
    return np.zeros(stack.shape[0], dtype=bool)


@capability
def full_forms(stack: GramStack, kernels: Indices, v: Array) -> Array:
    """Return v^T K_m v of kernels, not of the factors that approximate them.

    For v of shape (n_samples,) or (n_samples, n_outputs) the forms, (n_chosen,), are
    summed over outputs; nan if they cannot be computed. It computes n^2 values of each
    kernel.
    """
    return np.full(kernels.size, np.nan)


@capability
def refined(
    stack: GramStack, refinement: Refinement, max_bytes: int | None = None
) -> GramStack | None:
    """Return a stack closer to its kernels, or None.

    Parameters
    ----------
    stack : GramStack
        The stack to refine.
    refinement : Refinement
        The required precision.
    max_bytes : int, optional
        Limit on the bytes of the stack, by default half of the available memory.

    Returns
    -------
    finer : GramStack or None
    """
    return None


@residual_traces.register
def _residual_traces_of_some(stack: RestrictedStack, shares: Array) -> Array:
    """Return traces of residuals for some samples: the others have no share."""
    return residual_traces(stack.whole, stack.padded(shares))


@full_forms.register
def _full_forms_of_some(stack: RestrictedStack, kernels: Indices, v: Array) -> Array:
    """Return forms of kernels for some samples: others have coefficient zero."""
    return full_forms(stack.whole, kernels, stack.padded(v))
