"""From a dictionary and data to a stack of Gram matrices."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.exceptions import StackTooLargeError
from multikernel.gram.base import GramStack
from multikernel.gram.dense import DenseStack, Stored
from multikernel.gram.fill import fill
from multikernel.gram.memory import available_bytes, readable_bytes
from multikernel.gram.normalize import Normalization, empty_normalization
from multikernel.gram.plan import make_plan
from multikernel.gram.radial import make_samples
from multikernel.kernels.base import KernelDictionary

STORAGE = ("auto", "dense", "dense32", "lazy")


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


def build_stack(
    dictionary: KernelDictionary,
    X: Array,
    *,
    normalize: str | Sequence[str] | None = None,
    sample_weight: Array | None = None,
    storage: str = "auto",
    max_bytes: int | None = None,
) -> BuiltStack:
    """Compute and normalise every Gram matrix of a dictionary.

    Kernels are computed on all threads that BLAS may use, and Gaussian kernels on the
    same columns share one matrix of distances. Peak memory is that of the stack and
    a few matrices per thread.

    Parameters
    ----------
    dictionary : KernelDictionary
        The kernels, their columns given by indices (`resolve_columns`).
    X : ndarray of shape (n_samples, n_features)
        Training samples, float64.
    normalize : {"trace", "variance", "cosine", "center"}, sequence of these, or None
        Steps applied in order: mean diagonal one, unit variance in feature space,
        cosine similarity, centring.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the statistics that normalisation learns.
    storage : {"auto", "dense", "dense32", "lazy"}, default="auto"
        "dense" holds float64, "dense32" float32; "lazy" recomputes kernels in blocks
        whenever they are needed; "auto" is dense where that fits, else lazy.
    max_bytes : int, optional
        Limit on the bytes of the stack; half of the memory that is available now
        when left out.

    Returns
    -------
    built : BuiltStack

    Raises
    ------
    StackTooLargeError
        If the stack would not fit, before it is allocated.
    ValueError
        If an argument is wrong, or if a kernel has values that are not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import build_stack
    >>> from multikernel.kernels import GaussianKernel, LinearKernel, ListDictionary
    >>> dictionary = ListDictionary([GaussianKernel(1.0), LinearKernel()])
    >>> X = np.array([[0.0], [2.0]])
    >>> built = build_stack(dictionary, X, normalize="trace")
    >>> built.stack.diagonals()
    array([[1., 1.],
           [0., 2.]])
    """
    if storage not in STORAGE:
        raise ValueError(
            f"storage must be one of {', '.join(map(repr, STORAGE))}, got {storage!r}."
        )
    n_kernels, n_samples = len(dictionary), X.shape[0]
    if n_kernels == 0:
        raise ValueError("A dictionary needs at least one kernel, got none.")
    dtype = np.dtype(np.float32 if storage == "dense32" else np.float64)
    check_size((n_kernels, n_samples, n_samples), dtype.itemsize, max_bytes)
    normalization = empty_normalization(normalize, n_kernels, n_samples, sample_weight)
    array: Stored = np.empty((n_kernels, n_samples, n_samples), dtype)
    fill(array, make_plan(dictionary, X.shape[1]), make_samples(X), normalization)
    stack = DenseStack(array)
    return BuiltStack(stack, normalization, degenerate_kernels(stack))


def check_size(
    shape: tuple[int, int, int], item_bytes: int, max_bytes: int | None
) -> None:
    """Raise if a dense stack would pass a limit.

    Parameters
    ----------
    shape : tuple of int
        (n_kernels, n_rows, n_cols).
    item_bytes : int
        Bytes of a number.
    max_bytes : int or None
        The limit; half of the memory that is available now where it is None.

    Raises
    ------
    StackTooLargeError
        With the bytes and what can be done.
    """
    limit = available_bytes() // 2 if max_bytes is None else max_bytes
    needed = shape[0] * shape[1] * shape[2] * item_bytes
    if needed > limit:
        half = " storage='dense32' to halve it (float32)," if item_bytes == 8 else ""
        raise StackTooLargeError(
            f"{shape[0]} Gram matrices of {shape[1]} x {shape[2]} numbers take "
            f"{readable_bytes(needed)}, and the limit is {readable_bytes(limit)}. Use "
            f"storage='lazy' to recompute kernels in blocks,{half} fewer kernels, or "
            "raise max_bytes."
        )


def degenerate_kernels(stack: GramStack) -> Indices:
    """Return the kernels whose matrix is zero: those with a zero diagonal."""
    return np.flatnonzero(~np.any(stack.diagonals() > 0.0, axis=1))
