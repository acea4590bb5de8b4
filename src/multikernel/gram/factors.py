"""Kernels that are features: their exact factors."""

import math
from functools import singledispatch
from itertools import combinations_with_replacement

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.kernels.base import Kernel, KernelDictionary
from multikernel.kernels.built_in import is_built_in
from multikernel.kernels.columns import ColumnKernel, select_columns
from multikernel.kernels.linear import LinearKernel
from multikernel.kernels.polynomial import PolynomialKernel
from multikernel.kernels.sampled import NystroemKernel, RandomFourierFeatures
from multikernel.kernels.sequence import SequenceKernel

MOST_MONOMIALS = 64
"""Features of a polynomial kernel that are taken as its factor; of more, landmarks."""


@singledispatch
def kernel_features(kernel: Kernel, X: Array) -> Array | None:
    """Return features Z with k(X, X) = Z Z^T exactly, or None where none are known.

    To give a kernel of yours a factor, register a function for its class.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    X : ndarray of shape (n_samples, n_features)
        Samples.

    Returns
    -------
    Z : ndarray of shape (n_samples, rank) or None

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram.factors import kernel_features
    >>> from multikernel.kernels import ColumnKernel, LinearKernel
    >>> kernel_features(ColumnKernel(LinearKernel(), 1), np.array([[1.0, 2.0]]))
    array([[2.]])
    """
    return None


@kernel_features.register
def _(kernel: LinearKernel, X: Array) -> Array | None:
    # A subclass may compute something else.
    return X if type(kernel) is LinearKernel else None


@kernel_features.register
def _(kernel: NystroemKernel, X: Array) -> Array | None:
    return kernel.features(X) if type(kernel) is NystroemKernel else None


@kernel_features.register
def _(kernel: RandomFourierFeatures, X: Array) -> Array | None:
    return kernel.features(X) if type(kernel) is RandomFourierFeatures else None


@kernel_features.register
def _(kernel: PolynomialKernel, X: Array) -> Array | None:
    if type(kernel) is not PolynomialKernel:
        return None
    n_features = X.shape[1]
    if math.comb(n_features + kernel.degree, kernel.degree) > MOST_MONOMIALS:
        return None
    # (s <x, x'> + c)^q is the q-th power of a linear kernel with a constant feature.
    base = np.column_stack([np.sqrt(kernel.scale) * X, np.ones(X.shape[0])])
    base[:, -1] *= np.sqrt(kernel.offset)
    columns = []
    places = range(n_features + (kernel.offset > 0.0))
    for chosen in combinations_with_replacement(places, kernel.degree):
        powers = np.bincount(chosen)
        count = math.factorial(kernel.degree)
        for power in powers.tolist():
            count //= math.factorial(power)
        columns.append(math.sqrt(count) * np.prod(base[:, chosen], axis=1))
    return np.column_stack(columns)


@kernel_features.register
def _(kernel: ColumnKernel, X: Array) -> Array | None:
    if type(kernel) is not ColumnKernel:
        return None
    return kernel_features(kernel.kernel, select_columns(X, kernel.columns))


@kernel_features.register
def _(kernel: SequenceKernel, X: Array) -> Array | None:
    return kernel.factor(X) if is_built_in(kernel) else None


def known_ranks(dictionary: KernelDictionary, X: Array) -> Indices | None:
    """Return how many features every kernel has, or None where one has none known.

    Parameters
    ----------
    dictionary : KernelDictionary
        The kernels.
    X : ndarray of shape (n_samples, n_features)
        Samples, of which only the first is looked at.

    Returns
    -------
    ranks : ndarray of shape (n_kernels,) or None
    """
    ranks = np.empty(len(dictionary), dtype=np.intp)
    for m in range(ranks.size):
        features = kernel_features(dictionary[m], X[:1])
        if features is None:
            return None
        ranks[m] = features.shape[1]
    return ranks
