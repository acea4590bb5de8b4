"""From a dictionary of kernels of low rank to their exact factors."""

from functools import singledispatch

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.low_rank import LowRankStack
from multikernel.gram.normalization import BuiltStack, Steps, empty_normalization
from multikernel.gram.scaled import ScaledStack
from multikernel.kernels.base import Kernel, KernelDictionary, kernel_name
from multikernel.kernels.columns import ColumnKernel, select_columns
from multikernel.kernels.linear import LinearKernel


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
def _(kernel: ColumnKernel, X: Array) -> Array | None:
    if type(kernel) is not ColumnKernel:
        return None
    return kernel_features(kernel.kernel, select_columns(X, kernel.columns))


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


def build_low_rank(
    dictionary: KernelDictionary,
    X: Array,
    *,
    normalize: Steps = None,
    sample_weight: Array | None = None,
) -> BuiltStack:
    """Factorise and normalise every kernel of a dictionary, exactly.

    Memory is one number per sample and feature of a kernel; no Gram matrix is formed.

    Parameters
    ----------
    dictionary : KernelDictionary
        Kernels with known features (`kernel_features`): linear kernels, on all or
        on chosen columns.
    X : ndarray of shape (n_samples, n_features)
        Training samples, float64.
    normalize : {"trace", "variance", "cosine", "center"}, sequence of these, or None
        As in `build_stack`.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the statistics that normalisation learns.

    Returns
    -------
    built : BuiltStack
        Its stack is a `LowRankStack`.

    Raises
    ------
    ValueError
        If a kernel has no known features.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import build_low_rank
    >>> from multikernel.kernels import LinearKernel, ParameterGrid
    >>> X = np.array([[1.0, 0.0], [3.0, 1.0]])
    >>> built = build_low_rank(ParameterGrid([LinearKernel()], [0, 1]), X)
    >>> built.stack.quadratic_forms(np.array([1.0, 1.0]))
    array([16.,  1.])
    """
    n_kernels, n_samples = len(dictionary), X.shape[0]
    normalization = empty_normalization(normalize, n_kernels, n_samples, sample_weight)
    factors = [_features(dictionary[m], m, X) for m in range(n_kernels)]
    ranks = np.array([factor.shape[1] for factor in factors], dtype=np.intp)
    offsets = np.concatenate([[0], np.cumsum(ranks)])
    array = np.empty((n_samples, int(offsets[-1])))
    for m, factor in enumerate(factors):
        array[:, offsets[m] : offsets[m + 1]] = normalization.learn_factor(m, factor)
    stack = LowRankStack(array, array, offsets)
    zero = np.add.reduceat(~np.any(array, axis=0), offsets[:-1]) == ranks
    return BuiltStack(stack, normalization, np.flatnonzero(zero))


def low_rank_form(stack: GramStack) -> LowRankStack | None:
    """Return a stack as factors of low rank, or None where it holds none.

    Parameters
    ----------
    stack : GramStack
        A `LowRankStack`, a `ScaledStack` of one, or any other stack.

    Returns
    -------
    factors : LowRankStack or None
        The same matrices; scaled factors are a copy.
    """
    if isinstance(stack, LowRankStack):
        return stack
    inner = low_rank_form(stack.stack) if isinstance(stack, ScaledStack) else None
    if inner is None or not isinstance(stack, ScaledStack):
        return None
    roots = np.repeat(np.sqrt(stack.scales), inner.ranks)
    left = inner.left * roots
    right = left if inner.right is inner.left else inner.right * roots
    return LowRankStack(left, right, inner.offsets)


def _features(kernel: Kernel, m: int, X: Array) -> Array:
    """Return the factor of one kernel, or say that it has none."""
    features = kernel_features(kernel, X)
    if features is None:
        raise ValueError(
            f"Kernel {m} ({kernel_name(kernel)}) has no known exact factor of low "
            "rank: use dense or lazy storage, or register its features with "
            "kernel_features."
        )
    return features
