"""Ready-made dictionaries."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from multikernel._validation import COUNT, InstanceOf, check_parameter, shown
from multikernel.kernels.base import Kernel
from multikernel.kernels.columns import ColumnKernel, Columns
from multikernel.kernels.dictionary import ALL_COLUMNS, ListDictionary, ParameterGrid
from multikernel.kernels.gaussian import GaussianKernel
from multikernel.kernels.polynomial import PolynomialKernel

SPICY_WIDTHS = (0.1, 0.25, 0.5, 0.75, *(float(width) for width in range(1, 21)))
"""The 24 widths of section 5.1 of Suzuki and Tomioka (2011)."""


def spicy_dictionary(features: int | Sequence[str]) -> ParameterGrid:
    """Return the dictionary of the SpicyMKL paper's UCI experiments.

    Gaussian kernels of 24 widths (0.1, 0.25, 0.5, 0.75, 1, 2, 3, ..., 20) and
    polynomial kernels of degree one to three, on all columns jointly and on each
    alone: 27 (n_features + 1) kernels. The widths suit standardised columns.

    Parameters
    ----------
    features : int or sequence of str
        Number of columns, or their names.

    Returns
    -------
    dictionary : ParameterGrid

    Raises
    ------
    ValueError
        If there is no column, or `features` is neither a number nor names.

    References
    ----------
    .. [1] Suzuki, T. and Tomioka, R. (2011). SpicyMKL: a fast algorithm for multiple
       kernel learning with thousands of kernels. Machine Learning 85, 77-108.
       https://doi.org/10.1007/s10994-011-5252-9

    Examples
    --------
    >>> from multikernel.kernels import spicy_dictionary
    >>> dictionary = spicy_dictionary(30)
    >>> len(dictionary), dictionary[0].name, dictionary[836].name
    (837, 'gaussian(sigma=0.1)', 'polynomial(degree=3)[x29]')
    """
    kernels: list[Kernel] = [GaussianKernel(width) for width in SPICY_WIDTHS]
    kernels += [PolynomialKernel(degree) for degree in (1, 2, 3)]
    return ParameterGrid(kernels, [ALL_COLUMNS, *_single_columns(features)])


def per_column(kernel: Kernel, features: int | Sequence[str]) -> ParameterGrid:
    """Return one kernel per column.

    Parameters
    ----------
    kernel : Kernel
        The kernel that each column gets.
    features : int or sequence of str
        Number of columns, or their names.

    Returns
    -------
    dictionary : ParameterGrid

    Raises
    ------
    ValueError
        If there is no column, or `features` is neither a number nor names.

    Examples
    --------
    >>> from multikernel.kernels import LinearKernel, per_column
    >>> [kernel.name for kernel in per_column(LinearKernel(), ["height", "age"])]
    ['linear()[height]', 'linear()[age]']
    """
    return ParameterGrid([kernel], _single_columns(features))


def per_group(groups: Mapping[str, Columns], kernel: Kernel) -> ListDictionary:
    """Return one kernel per named group of columns.

    Parameters
    ----------
    groups : mapping from str to columns
        The columns of each group, as in `ColumnKernel`.
    kernel : Kernel
        The kernel that each group gets.

    Returns
    -------
    dictionary : ListDictionary

    Raises
    ------
    ValueError
        If there is no group, or `groups` is no mapping.

    Examples
    --------
    >>> from multikernel.kernels import GaussianKernel, per_group
    >>> dictionary = per_group({"size": [0, 1], "shape": 2}, GaussianKernel(1.0))
    >>> [kernel.name for kernel in dictionary]
    ['gaussian(sigma=1)[size]', 'gaussian(sigma=1)[shape]']
    """
    named = InstanceOf(Mapping, "a mapping from names to columns")
    check_parameter("per_group", "groups", groups, named)
    return ListDictionary(
        [ColumnKernel(kernel, columns, label) for label, columns in groups.items()]
    )


def _single_columns(features: int | Sequence[str]) -> list[Columns]:
    """Return each column, by index or by name."""
    if isinstance(features, int | np.integer):
        check_parameter("A dictionary", "n_features", features, COUNT)
        return list(range(int(features)))
    # A text would be taken for the names of its letters.
    other = isinstance(features, str | bytes | Mapping)
    names: list[Columns] = []
    if isinstance(features, Iterable) and not other:
        names = list(features)
    if not names:
        raise ValueError(
            "A dictionary: features must be a number of columns, or a sequence of at "
            f"least one name, got {shown(features)}."
        )
    return names
