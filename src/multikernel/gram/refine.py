"""Matrices that stand for kernels they are near to, and how they come nearer.

A fit solves over the matrices. Where what they leave of the kernels hides the rest of a
gap, the proof says what their residuals may be (`Refinement`), the storage makes finer
matrices (`refined`), and the fit solves again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.gram.base import GramStack, RestrictedStack, capability


@dataclass(frozen=True, eq=False)
class Refinement:
    """What matrices lack of their kernels for a proof.

    Parameters
    ----------
    dual : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A dual point.
    goals : mapping of int to float
        What upper bounds on the residuals' forms of it must become, by kernel.
    """

    dual: Array
    goals: Mapping[int, float]

    def of_all(self, kernels: Indices, scales: Array) -> "Refinement":
        """Return the same for the stack whose kernels, scaled, are this one's.

        Parameters
        ----------
        kernels : ndarray of shape (n_chosen,)
            The kernels K in the stack.
        scales : ndarray of shape (n_chosen,)
            What they are multiplied by here; a kernel of scale zero leaves nothing.
        """
        goals = {
            int(kernels[m]): goal / float(scales[m])
            for m, goal in self.goals.items()
            if scales[m] > 0.0
        }
        return replace(self, goals=goals)


@capability
def residual_traces(stack: GramStack, shares: Array) -> Array:
    """Return tr(D R_m), R_m what factors leave of kernel m, shape (n_kernels,).

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
    """Return v^T K_m v of the kernels that some matrices stand for.

    It costs n^2 values of each where the stack holds less. For v of shape
    (n_samples,) or (n_samples, n_outputs) the forms, (n_chosen,) as the kernels
    are, are summed over outputs; not a number where they cannot be computed.
    """
    return np.full(kernels.size, np.nan)


@capability
def refined(
    stack: GramStack, refinement: Refinement, max_bytes: int | None = None
) -> GramStack | None:
    """Return a stack nearer to its kernels, None where there is none.

    Parameters
    ----------
    stack : GramStack
        The stack that the refinement is for.
    refinement : Refinement
        What its matrices lack.
    max_bytes : int, optional
        Limit on the bytes of the stack; half of the memory that is available now
        when left out.

    Returns
    -------
    finer : GramStack or None
    """
    return None


@residual_traces.register
def _residual_traces_of_some(stack: RestrictedStack, shares: Array) -> Array:
    """Return those of all samples, with no share of the others."""
    return residual_traces(stack.whole, stack.padded(shares))


@full_forms.register
def _full_forms_of_some(stack: RestrictedStack, kernels: Indices, v: Array) -> Array:
    """Return those of all samples, with a coefficient of zero for the others."""
    return full_forms(stack.whole, kernels, stack.padded(v))
