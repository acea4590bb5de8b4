"""What building a stack returns."""

from dataclasses import dataclass

from multikernel._typing import Indices
from multikernel.gram.base import GramStack
from multikernel.gram.normalization import Normalization


@dataclass(frozen=True, eq=False)
class BuiltStack:
    """A stack and what was learnt while it was built.

    Parameters
    ----------
    stack : GramStack
        The normalised Gram matrices on the training samples.
    normalization : Normalization
        What `cross_gram` needs to treat new samples alike.
    degenerate : ndarray of shape (n_degenerate,)
        Indices of kernels that are zero on the training data, or constant where
        kernels are centred or scaled to unit variance; their matrices are zero.
    """

    stack: GramStack
    normalization: Normalization
    degenerate: Indices
