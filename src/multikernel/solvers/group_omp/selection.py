"""Which selection suits which storage."""

from functools import singledispatch

from multikernel.gram.base import GramStack
from multikernel.gram.low_rank import LowRankStack
from multikernel.solvers.group_omp.bound_selection import BoundSelector
from multikernel.solvers.group_omp.factor_selection import FactorSelector
from multikernel.solvers.group_omp.improvement import Selector
from multikernel.solvers.group_omp.whitening import Whitening


@singledispatch
def selector_for(stack: GramStack, whitening: Whitening) -> Selector:
    """Return the selector that suits the storage.

    Parameters
    ----------
    stack : GramStack
        The kernels.
    whitening : Whitening
        The geometry of the fits.

    Returns
    -------
    selector : Selector
    """
    return BoundSelector(stack, whitening)


@selector_for.register
def _(stack: LowRankStack, whitening: Whitening) -> Selector:
    return FactorSelector(stack, whitening)
