"""From a dictionary and data to a stack of Gram matrices."""

from functools import partial

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import (
    BYTES,
    AnyOf,
    InstanceOf,
    OneOf,
    check_parameter,
    check_table,
    check_weights,
)
from multikernel.exceptions import StackTooLargeError
from multikernel.gram.base import GramStack
from multikernel.gram.blocked.build import build_blocked
from multikernel.gram.blocked.files import rows_for_files
from multikernel.gram.choice import choose_storage
from multikernel.gram.dense import DenseStack, Stored
from multikernel.gram.factorise import build_low_rank, cut_low_rank
from multikernel.gram.factors import known_ranks
from multikernel.gram.files import MemoryMapped, Storage
from multikernel.gram.landmarks import LowRank
from multikernel.gram.lazy.evaluate import make_samples, write_matrices
from multikernel.gram.lazy.plan import make_plan
from multikernel.gram.lazy.stack import DENSE_BYTES, lazy_stack, normalize_lazily
from multikernel.gram.low_rank import LowRankStack
from multikernel.gram.memory import byte_limit, readable_bytes
from multikernel.gram.normalization import (
    BuiltStack,
    CenterStep,
    Normalization,
    Steps,
    empty_normalization,
)
from multikernel.gram.part import PartStack
from multikernel.gram.scaled import ScaledStack
from multikernel.gram.written import map_kernels
from multikernel.kernels.base import KernelDictionary, check_dictionary
from multikernel.linalg.threads import run_blocks

STORAGE = ("auto", "dense", "dense32", "lazy", "low_rank", "memmap")

STORED = AnyOf(
    (OneOf(STORAGE), InstanceOf((LowRank, MemoryMapped), "LowRank or MemoryMapped"))
)

COPIED_BYTES = 2**26
"""Parts of a stack are copied where all that is held stays below: BLAS is faster there.

Their products do not depend on what they were cut from, to the last digit.
"""


def build_stack(
    dictionary: KernelDictionary,
    X: Array,
    *,
    normalize: Steps = None,
    sample_weight: Array | None = None,
    storage: Storage = "auto",
    max_bytes: int | None = None,
) -> BuiltStack:
    """Compute and normalise every Gram matrix of a dictionary.

    Kernels are computed on all threads that BLAS may use, and Gaussian kernels on the
    same columns share their distances. Peak memory is that of the stack and a few
    matrices per thread.

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
    storage : {"auto", "dense", "dense32", "lazy", "low_rank", "memmap"}, LowRank or \
            MemoryMapped, default="auto"
        "dense" holds float64, "dense32" float32; "lazy" recomputes kernels in blocks
        whenever they are needed; "low_rank" holds factors of kernels: their features
        where they have few (`kernel_features`), and otherwise their values at
        landmarks, with bounds on what these leave (`LowRank` says how many there may
        be); "memmap" writes whole kernels to a file (`MemoryMapped` says where).
        "auto" takes what is predicted to be quickest of those that fit, see
        `choose_storage`.
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
    check_parameter("build_stack", "storage", storage, STORED)
    check_parameter("build_stack", "max_bytes", max_bytes, BYTES)
    check_dictionary("build_stack", dictionary)
    X = check_table("build_stack", X)
    n_kernels, n_samples = len(dictionary), X.shape[0]
    sample_weight = check_weights(sample_weight, n_samples)
    shape = n_kernels, n_samples, n_samples
    normalization = partial(
        empty_normalization, normalize, n_kernels, n_samples, sample_weight
    )
    if storage == "auto":
        storage = choose_storage(dictionary, X, normalize, storage, max_bytes).storage
    if isinstance(storage, LowRank) and storage.folder is not None:
        return build_blocked(
            dictionary,
            rows_for_files(X, storage),
            normalize=normalize,
            sample_weight=sample_weight,
            options=storage,
            max_bytes=max_bytes,
        )
    if isinstance(storage, LowRank) or storage == "low_rank":
        _check_factors(dictionary, X, max_bytes)
        return build_low_rank(
            dictionary,
            X,
            normalize=normalize,
            sample_weight=sample_weight,
            options=None if isinstance(storage, str) else storage,
            max_bytes=max_bytes,
        )
    if storage == "lazy":
        return _build_lazy(dictionary, X, normalization(), max_bytes)
    if isinstance(storage, MemoryMapped) or storage == "memmap":
        options = MemoryMapped() if isinstance(storage, str) else storage
        mapped, learnt = map_kernels(dictionary, X, normalize, sample_weight, options)
        return BuiltStack(mapped, learnt, degenerate_kernels(mapped))
    dtype = np.dtype(np.float32 if storage == "dense32" else np.float64)
    check_size(shape, dtype.itemsize, max_bytes)
    array: Stored = np.empty(shape, dtype)
    learnt = normalization()
    write_matrices(array, make_plan(dictionary, X.shape[1]), make_samples(X), learnt)
    stack = DenseStack(array)
    return BuiltStack(stack, learnt, degenerate_kernels(stack))


def build_part(
    whole: GramStack,
    samples: Indices,
    *,
    normalize: Steps = None,
    sample_weight: Array | None = None,
    max_bytes: int | None = None,
    n_copies: int = 1,
) -> BuiltStack | None:
    """Normalise some samples of a stack in memory by what these say alone.

    That is what `build_stack` gives for these samples.

    Parameters
    ----------
    whole : GramStack
        The matrices of all samples, not normalised.
    samples : ndarray of shape (n_chosen,)
        The samples, ascending.
    normalize : {"trace", "variance", "cosine", "center"}, sequence of these, or None
        As in `build_stack`.
    sample_weight : ndarray of shape (n_chosen,), optional
        Weights of the statistics that normalisation learns.
    max_bytes : int, optional
        Limit on the bytes of the stack and of all copies; half of the memory that is
        available now when left out, for copies alone.
    n_copies : int, default=1
        How many parts are held at a time.

    Returns
    -------
    built : BuiltStack or None
        A view where kernels are at most scaled, unless the stack is small, and a copy
        where they are centred or divided. None where the stack is not in memory, so
        that kernels must be computed anew, by `build_stack`.

    Raises
    ------
    StackTooLargeError
        If the copies would not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack, build_part
    >>> whole = DenseStack(np.diag([1.0, 2.0, 4.0])[None])
    >>> part = build_part(whole, np.array([0, 2]), normalize="trace")
    >>> part.stack.diagonals()
    array([[0.4, 1.6]])
    """
    if whole.landmarks is not None:
        assert isinstance(whole, LowRankStack)
        return cut_low_rank(
            whole,
            samples,
            normalize=normalize,
            sample_weight=sample_weight,
            max_bytes=max_bytes,
        )
    if not isinstance(whole, DenseStack):
        return None
    n_kernels, n_all, _ = whole.shape
    learnt = empty_normalization(normalize, n_kernels, samples.size, sample_weight)
    if learnt.only_scales:
        part: GramStack = whole
        if samples.size < n_all:
            shape = n_kernels, samples.size, samples.size
            needed = n_copies * stack_bytes(shape, whole.array.itemsize)
            small = whole.array.nbytes + needed <= min(
                COPIED_BYTES, byte_limit(max_bytes)
            )
            everything = np.arange(n_kernels)
            part = (
                whole.copied(everything, samples, samples)
                if small
                else PartStack(whole, samples)
            )
        stack = learnt.learn_scales(part)
    else:
        _check_copies(whole, samples.size, max_bytes, n_copies)
        copy = whole.copied(np.arange(n_kernels), samples, samples)
        normalize_in_place(copy.array, learnt)
        stack = copy
    return BuiltStack(stack, learnt, degenerate_kernels(stack))


def _check_copies(
    held: DenseStack, n_samples: int, max_bytes: int | None, n_copies: int
) -> None:
    """Raise if copies of a part would pass the limit, together with the whole."""
    shape = held.shape[0], n_samples, n_samples
    copies = n_copies * stack_bytes(shape, held.array.itemsize)
    needed = copies + (0 if max_bytes is None else held.array.nbytes)
    limit = byte_limit(max_bytes)
    if needed > limit:
        raise StackTooLargeError(
            f"Centring or dividing {shape[0]} kernels in every fold needs {n_copies} "
            f"copies of {readable_bytes(copies // n_copies)} at a time"
            f"{' beside the stack' * (max_bytes is not None)}, in all "
            f"{readable_bytes(needed)}, and the limit is {readable_bytes(limit)}. Use "
            "normalize='trace', 'variance' or None, which need no copy, fewer jobs, or "
            "raise max_bytes."
        )


def normalize_in_place(array: Stored, normalization: Normalization) -> None:
    """Learn a normalisation from Gram matrices, and apply it to them.

    Parameters
    ----------
    array : ndarray of shape (n_kernels, n_samples, n_samples)
        The matrices; overwritten.
    normalization : Normalization
        Empty steps; they are filled.
    """

    def treat(m: int) -> None:
        K = array[m].astype(np.float64, copy=False)
        normalization.learn(m, K)
        if K.dtype != array.dtype:
            array[m] = K

    if normalization.steps:
        run_blocks(treat, range(array.shape[0]))


def _check_factors(
    dictionary: KernelDictionary, X: Array, max_bytes: int | None
) -> None:
    """Raise if the factors of all kernels would pass a limit."""
    ranks = known_ranks(dictionary, X)
    if ranks is None:
        return
    limit, needed = byte_limit(max_bytes), 8 * X.shape[0] * int(ranks.sum())
    if needed > limit:
        raise StackTooLargeError(
            f"The factors of {ranks.size} kernels on {X.shape[0]} samples take "
            f"{readable_bytes(needed)}, and the limit is {readable_bytes(limit)}. Use "
            "fewer kernels, or raise max_bytes."
        )


def _build_lazy(
    dictionary: KernelDictionary,
    X: Array,
    normalization: Normalization,
    max_bytes: int | None,
) -> BuiltStack:
    """Return a stack that computes its matrices when they are needed."""
    limit = byte_limit(max_bytes)
    means = sum(step.means.nbytes for step in _centerings(normalization))
    if means > limit:
        raise StackTooLargeError(
            f"Centring {len(dictionary)} lazy kernels on {X.shape[0]} samples takes "
            f"{readable_bytes(means)} for their means, and the limit is "
            f"{readable_bytes(limit)}. Use normalize='trace' or 'variance', fewer "
            "kernels, or raise max_bytes."
        )
    stack = lazy_stack(dictionary, X, min(DENSE_BYTES, limit // 4))
    if stack.block_bytes > limit:
        raise StackTooLargeError(
            f"One block of the lazy kernels on {X.shape[0]} samples takes "
            f"{readable_bytes(stack.block_bytes)}, and the limit is "
            f"{readable_bytes(limit)}: no storage of whole kernels needs less. Raise "
            "max_bytes, or use fewer samples."
        )
    normalized = normalize_lazily(stack, normalization)
    return BuiltStack(normalized, normalization, degenerate_kernels(normalized))


def _centerings(normalization: Normalization) -> list[CenterStep]:
    """Return the steps that hold a number per kernel and sample."""
    return [step for step in normalization.steps if isinstance(step, CenterStep)]


def stack_bytes(shape: tuple[int, int, int], item_bytes: int) -> int:
    """Return the bytes of a dense stack."""
    return shape[0] * shape[1] * shape[2] * item_bytes


def check_size(
    shape: tuple[int, int, int],
    item_bytes: int,
    max_bytes: int | None,
    alternatives: str | None = None,
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
    alternatives : str, optional
        What else to use; other storage when left out.

    Raises
    ------
    StackTooLargeError
        With the bytes and what can be done.
    """
    limit, needed = byte_limit(max_bytes), stack_bytes(shape, item_bytes)
    if needed > limit:
        if alternatives is None:
            half = " storage='dense32' to halve it (float32)," * (item_bytes == 8)
            alternatives = (
                "storage='low_rank' to hold factors, storage='lazy' to recompute "
                f"kernels in blocks, storage='memmap' to keep them in a file,{half}"
            )
        raise StackTooLargeError(
            f"{shape[0]} Gram matrices of {shape[1]} x {shape[2]} numbers take "
            f"{readable_bytes(needed)}, and the limit is {readable_bytes(limit)}. Use "
            f"{alternatives} fewer kernels, or raise max_bytes."
        )


def degenerate_kernels(stack: GramStack) -> Indices:
    """Return the kernels whose matrix is zero: those with a zero diagonal."""
    if isinstance(stack, ScaledStack):
        # Without the product of scales and diagonals, which may be a large array.
        zero = np.flatnonzero(stack.scales == 0.0)
        return np.union1d(zero, degenerate_kernels(stack.stack))
    return np.flatnonzero(~np.any(stack.diagonals() > 0.0, axis=1))
