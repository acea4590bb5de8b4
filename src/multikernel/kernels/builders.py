"""Functions that return dictionaries of kernels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel._validation import COUNT, InstanceOf, check_parameter, shown
from multikernel.kernels.base import Kernel, KernelDictionary
from multikernel.kernels.columns import ColumnKernel, Columns, Features, label_of
from multikernel.kernels.dictionary import (
    ALL_COLUMNS,
    ListDictionary,
    ParameterGrid,
    resolve,
)
from multikernel.kernels.gaussian import GaussianKernel
from multikernel.kernels.polynomial import PolynomialKernel
from multikernel.linalg.tables import row_chunks

SPICY_WIDTHS = (0.1, 0.25, 0.5, 0.75, *(float(width) for width in range(1, 21)))
"""The 24 widths of section 5.1 of Suzuki and Tomioka (2011)."""


def spicy_dictionary(features: int | Sequence[str]) -> ParameterGrid:
    """Return the dictionary of the UCI experiments of the SpicyMKL paper [1]_.

    It has Gaussian kernels of 24 widths and polynomial kernels of degree one to three,
    on all columns jointly and on each column: 27 (n_features + 1) kernels. The widths
    suit standardized columns.

    Parameters
    ----------
    features : int or sequence of str
        Number of columns, at least 1, or their names.

    Raises
    ------
    ValueError
        If `features` is neither a positive number nor a sequence of names.

    References
    ----------
    .. [1] Suzuki, T. and Tomioka, R. (2011). SpicyMKL. Machine Learning 85, 77-108.
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
    return ParameterGrid(
        kernels, [ALL_COLUMNS, *_single_columns("spicy_dictionary", features)]
    )


def per_column(kernel: Kernel, features: int | Sequence[str]) -> ParameterGrid:
    """Return one kernel per column.

    Parameters
    ----------
    kernel : Kernel
        The kernel for each column.
    features : int or sequence of str
        Number of columns, at least 1, or their names.

    Raises
    ------
    ValueError
        If `features` is neither a positive number nor a sequence of names.

    Examples
    --------
    >>> from multikernel.kernels import LinearKernel, per_column
    >>> [kernel.name for kernel in per_column(LinearKernel(), ["height", "age"])]
    ['linear()[height]', 'linear()[age]']
    """
    return ParameterGrid([kernel], _single_columns("per_column", features))


def per_group(groups: Mapping[str, Columns], kernel: Kernel) -> ListDictionary:
    """Return one kernel per named group of columns.

    Parameters
    ----------
    groups : mapping from str to columns
        Columns of each group, as in `ColumnKernel`; at least one group.
    kernel : Kernel
        The kernel for each group.

    Raises
    ------
    ValueError
        If `groups` is not a mapping or is empty.

    Examples
    --------
    >>> from multikernel.kernels import GaussianKernel, per_group
    >>> dictionary = per_group({"size": [0, 1], "shape": 2}, GaussianKernel(1.0))
    >>> [kernel.name for kernel in dictionary]
    ['gaussian(sigma=1)[size]', 'gaussian(sigma=1)[shape]']
    """
    expected = InstanceOf(Mapping, "a mapping from names to columns")
    check_parameter("per_group", "groups", groups, expected)
    return ListDictionary(
        [ColumnKernel(kernel, columns, label) for label, columns in groups.items()]
    )


def _single_columns(owner: str, features: int | Sequence[str]) -> list[Columns]:
    """Return the index of each column, or the names if `features` contains names."""
    if isinstance(features, int | np.integer):
        check_parameter(owner, "features", features, COUNT)
        return list(range(int(features)))
    # A string is a sequence, too, but its letters are not names of columns.
    is_invalid = isinstance(features, str | bytes | Mapping)
    names: list[Columns] = []
    if isinstance(features, Iterable) and not is_invalid:
        names = list(features)
    if not names:
        raise ValueError(
            f"{owner}: features must be a number of columns, or a sequence of at "
            f"least one name, got {shown(features)}."
        )
    return names


def random_subset_gaussians(
    n_kernels: int, n_features: int, random_state: int | np.random.Generator
) -> "RandomSubsetGaussians":
    """Return Gaussian kernels on random subsets of features, with random widths.

    All nonempty subsets are equally likely. Widths are 0.1 plus five times chi-squared
    variables of two degrees of freedom. Kernels are built on demand.
    """
    # These are the kernels of section 5.2 of Suzuki and Tomioka (2011).
    check_parameter("random_subset_gaussians", "n_kernels", n_kernels, COUNT)
    check_parameter("random_subset_gaussians", "n_features", n_features, COUNT)
    rng = np.random.default_rng(random_state)
    n_bytes = -(-n_features // 8)
    packed = np.empty((n_kernels, n_bytes), dtype=np.uint8)
    block_size = max(1, 2**22 // n_features)
    for start in range(0, n_kernels, block_size):
        subsets = rng.random((min(block_size, n_kernels - start), n_features)) < 0.5
        is_empty = ~subsets.any(axis=1)
        while is_empty.any():
            subsets[is_empty] = rng.random((int(is_empty.sum()), n_features)) < 0.5
            is_empty = ~subsets.any(axis=1)
        packed[start : start + block_size] = np.packbits(subsets, axis=1)
    sigmas = 5.0 * rng.chisquare(2, n_kernels) + 0.1
    return RandomSubsetGaussians(packed, sigmas, n_features)


@dataclass(frozen=True, eq=False)
class RandomSubsetGaussians:
    """Gaussian kernels on subsets of features, stored as bits and built on demand.

    A row of `packed` has the bits of one subset, packed by `numpy.packbits`: uint8,
    (n_kernels, ceil(n_features / 8)). `sigmas` are the widths, (n_kernels,). With
    `feature_names`, names of kernels contain these instead of x0, x1, ...
    """

    packed: NDArray[np.uint8]
    sigmas: Array
    n_features: int
    feature_names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return int(self.sigmas.size)

    def __getitem__(self, index: int, /) -> Kernel:
        bits = np.unpackbits(self.packed[index], count=self.n_features)
        columns = tuple(np.flatnonzero(bits).tolist())
        label = None
        if self.feature_names is not None:
            label = label_of(columns, self.feature_names)
        return ColumnKernel(GaussianKernel(float(self.sigmas[index])), columns, label)

    def radial_table(self) -> tuple[Array, Indices, NDArray[np.int32]]:
        """Return the exponents, column starts and columns of all kernels."""
        # Kernel m is on columns[starts[m] : starts[m + 1]].
        sizes = np.empty(len(self), dtype=np.intp)
        parts = [np.empty(0, dtype=np.int32)]
        for block in row_chunks(len(self), self.n_features):
            bits = np.unpackbits(self.packed[block], axis=1, count=self.n_features)
            sizes[block] = bits.sum(axis=1)
            parts.append(np.nonzero(bits)[1].astype(np.int32))
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return -0.5 / self.sigmas**2, starts, np.concatenate(parts)


@resolve.register
def _resolve_subsets(
    dictionary: RandomSubsetGaussians, features: Features
) -> KernelDictionary:
    if dictionary.n_features != features.number:
        raise ValueError(
            "The kernels of random_subset_gaussians were built for data with "
            f"{dictionary.n_features} columns, "
            f"but the data has {features.number}: pass "
            f"n_features={features.number} to random_subset_gaussians."
        )
    return replace(dictionary, feature_names=features.names)
