"""What Gaussian kernels on the same columns share: one matrix of squared distances."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.kernels.base import Kernel
from multikernel.kernels.columns import ColumnKernel
from multikernel.kernels.gaussian import GaussianKernel


@dataclass(frozen=True)
class RadialForm:
    r"""A kernel written as :math:`\exp(c \|x_S - x'_S\|^2)`.

    Parameters
    ----------
    columns : tuple of int or None
        The set S; None for all columns.
    exponent : float
        The factor c, negative.
    """

    columns: tuple[int, ...] | None
    exponent: float


def radial_form(kernel: Kernel) -> RadialForm | None:
    """Return the radial form of a kernel, None if it has none.

    Parameters
    ----------
    kernel : Kernel
        Any kernel, its columns given by indices.

    Returns
    -------
    form : RadialForm or None
        Of a `GaussianKernel`, alone or in a `ColumnKernel`; None for a subclass.

    Examples
    --------
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> radial_form(ColumnKernel(GaussianKernel(1.0), [2, 3]))
    RadialForm(columns=(2, 3), exponent=-0.5)
    """
    # A subclass may compute something else, so types are compared exactly.
    if type(kernel) is GaussianKernel:
        return RadialForm(None, kernel.exponent)
    if type(kernel) is ColumnKernel and type(kernel.kernel) is GaussianKernel:
        columns = kernel.columns
        if isinstance(columns, tuple) and all(isinstance(c, int) for c in columns):
            return RadialForm(tuple(int(c) for c in columns), kernel.kernel.exponent)
    return None


@dataclass(frozen=True, eq=False)
class RadialTable:
    """Many kernels in radial form, in flat arrays.

    Parameters
    ----------
    exponents : ndarray of shape (n_kernels,)
        Factors of the squared distance, negative.
    column_starts : ndarray of shape (n_kernels + 1,)
        Where the columns of each kernel start in `columns`.
    columns : ndarray of int
        The columns of every kernel, one kernel's after the other's.
    """

    exponents: Array
    column_starts: Indices
    columns: NDArray[np.signedinteger[Any]]


@runtime_checkable
class RadialDictionary(Protocol):
    """A dictionary that tells all of its kernels at once, for it may have millions."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Kernel: ...

    def radial_table(self) -> RadialTable:
        """Return every kernel of the dictionary in radial form."""
        ...
