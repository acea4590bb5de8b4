"""Build the stack of Gram matrices of a dictionary on data."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from multikernel._typing import Array, Mask
from multikernel._validation import (
    BYTES,
    AnyOf,
    InstanceOf,
    OneOf,
    check_parameter,
    check_table,
    check_weights,
)
from multikernel.gram.base import GramStack
from multikernel.gram.by_kernel import join_parts, subset_options
from multikernel.gram.choice import choose_storage, only_scales_kernels
from multikernel.gram.compute.matrices import make_samples, write_matrices
from multikernel.gram.compute.plan import make_plan
from multikernel.gram.costs import STORAGE, Storage, stores_products
from multikernel.gram.dense import DenseStack
from multikernel.gram.device.build import build_matrices, fit_and_normalize
from multikernel.gram.device.factors import with_device
from multikernel.gram.device.space import Device, DeviceArray, Space, open_space
from multikernel.gram.device.stack import DeviceProducts
from multikernel.gram.factors.blocked_build import build_blocked
from multikernel.gram.factors.factorize import build_low_rank
from multikernel.gram.factors.landmarks import LowRank
from multikernel.gram.factors.product_build import build_products
from multikernel.gram.factors.ranks import estimated_ranks, is_high
from multikernel.gram.factors.row_blocks import rows_in_blocks
from multikernel.gram.lazy import lazy_stack, normalize_lazily
from multikernel.gram.matrix import HELD_BYTES, Stored
from multikernel.gram.memory import byte_limit, check_memory, check_size
from multikernel.gram.normalization import (
    BuildOptions,
    BuiltStack,
    Normalization,
    Steps,
)
from multikernel.gram.products import ProductStack
from multikernel.gram.steps import VANISHES, CenterStep
from multikernel.kernels.base import Kernel, KernelDictionary, check_dictionary
from multikernel.kernels.columns import ColumnKernel, select_columns
from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.interactions import InteractionDictionary
from multikernel.kernels.products import deferred_centering, uncenter
from multikernel.linalg.tables import equal_shares, row_chunks

STORED = AnyOf(
    (OneOf(STORAGE), InstanceOf(LowRank, "a LowRank"), InstanceOf(Device, "a Device"))
)


def build_stack(
    dictionary: KernelDictionary,
    X: Array,
    *,
    normalize: Steps = None,
    sample_weight: Array | None = None,
    storage: Storage = "auto",
    max_bytes: int | None = None,
) -> BuiltStack:
    """Compute and normalize every Gram matrix of a dictionary.

    Kernels must have indices of columns; `resolve_columns` converts names. Estimators
    have the same parameters ``normalize`` and ``storage``; "by_kernel" chooses matrices
    or factors for each kernel. By default `max_bytes` is half of the available memory.
    A stack that would not fit raises `StackTooLargeError` before it is allocated.
    """
    check_parameter("build_stack", "storage", storage, STORED)
    check_parameter("build_stack", "max_bytes", max_bytes, BYTES)
    check_dictionary("build_stack", dictionary)
    X = check_table("build_stack", X)
    weights = check_weights(sample_weight, X.shape[0])
    options = BuildOptions(normalize, weights, max_bytes)
    return build_checked(dictionary, X, storage, options)


def build_checked(
    dictionary: KernelDictionary, X: Array, storage: Storage, options: BuildOptions
) -> BuiltStack:
    """Return the result of `build_stack`, without validating the arguments."""
    if storage in ("auto", "device") or isinstance(storage, Device):
        normalize, max_bytes = options.normalize, options.max_bytes
        choice = choose_storage(dictionary, X, normalize, storage, max_bytes)
        storage = choice.storage
    if isinstance(storage, Device):
        return _build_on_device(dictionary, X, storage, options)
    if isinstance(storage, LowRank) or storage == "low_rank":
        settings = LowRank() if isinstance(storage, str) else storage
        return _build_factors(dictionary, X, settings, options)
    if storage == "by_kernel":
        return _build_by_kernel(dictionary, X, options)
    if storage == "lazy":
        return _build_lazy(dictionary, X, options)
    dtype = "float32" if storage == "dense32" else "float64"
    normalization = options.unfitted(len(dictionary), X.shape[0])
    if isinstance(dictionary, InteractionDictionary) and normalization.only_scales:
        return _build_products(dictionary, X, dtype, normalization, options.max_bytes)
    stack = _dense_stack(dictionary, X, normalization.learn, dtype, options.max_bytes)
    return BuiltStack(stack, normalization, stack.zero_kernels())


def _dense_stack(
    dictionary: KernelDictionary,
    X: Array,
    normalize: Callable[[int, Array], None],
    dtype: str,
    max_bytes: int | None,
) -> DenseStack:
    """Return the matrices of a dictionary, changed by `normalize`, in one array."""
    shape = len(dictionary), X.shape[0], X.shape[0]
    check_size(shape, np.dtype(dtype).itemsize, max_bytes)
    array: Stored = np.empty(shape, dtype)
    plan = make_plan(dictionary, X.shape[1])
    write_matrices(array, plan, make_samples(X), normalize)
    return DenseStack(array)


def _build_factors(
    dictionary: KernelDictionary, X: Array, storage: LowRank, options: BuildOptions
) -> BuiltStack:
    """Return the factors of kernels, in memory or in files."""
    if storage.folder is not None:
        return build_blocked(
            dictionary,
            rows_in_blocks(X, storage.folder),
            normalize=options.normalize,
            sample_weight=options.sample_weight,
            options=storage,
            max_bytes=options.max_bytes,
        )
    scaled = only_scales_kernels(options.normalize)
    if isinstance(dictionary, InteractionDictionary) and scaled:
        return build_products(dictionary, X, storage, options)
    return build_low_rank(dictionary, X, storage, options)


def _centering_means(
    kernel: Kernel, X: Array, multiply: Callable[[Array], Array]
) -> tuple[Array, float] | None:
    """Return row means and grand mean of a main kernel; None if it stays uncentered."""
    # `multiply` multiplies the uncentered matrix by a vector; the means center it on
    # the `samples` of the `CenteredKernel`.
    centered = deferred_centering(kernel)
    if centered is None:
        return None
    assert isinstance(kernel, ColumnKernel)
    X, samples = select_columns(X, kernel.columns), centered.samples
    if samples is not None and np.array_equal(samples, X, equal_nan=True):
        # The kernel is centered on the rows of its own matrix, so the means can be
        # computed from this matrix.
        shares = equal_shares(len(X), centered.weights)
        means = multiply(shares)
        return means, float(means @ shares)
    return centered.means(X), centered.grand_mean


def _center_mains(
    mains: Sequence[Kernel], X: Array, first_kernel: int, matrices: Array
) -> None:
    """Center uncentered matrices of main kernels, from `first_kernel` on, in place."""
    for m, K in enumerate(matrices, first_kernel):
        centering = _centering_means(mains[m], X, partial(np.matmul, K))
        if centering is None:
            continue
        means, grand_mean = centering
        mean_diagonal = float(K.diagonal().mean())
        for rows in row_chunks(len(K), len(K)):
            K[rows] -= means[rows, None] + means - grand_mean
        if float(K.diagonal().mean()) <= VANISHES * mean_diagonal:
            K[...] = 0.0  # only rounding errors remain


def _centered_on_device(
    mains: Sequence[Kernel], X: Array, space: Space, m: int, K: DeviceArray
) -> DeviceArray:
    """Return the centered matrix of main kernel m on a device."""
    centering = _centering_means(
        mains[m], X, lambda shares: space.get(K @ space.put(shares))
    )
    if centering is None:
        return K
    means, trace = space.put(centering[0]), space.xp.linalg.trace
    centered = K - (means[:, None] + means[None, :] - centering[1])
    vanishes = float(trace(centered)) <= VANISHES * float(trace(K))
    return 0.0 * centered if vanishes else centered


def _build_on_device(
    dictionary: KernelDictionary, X: Array, device: Device, options: BuildOptions
) -> BuiltStack:
    """Return factors, matrices or products of matrices on a device, normalized."""
    space = open_space(device)
    if device.factors:
        # Some training methods cannot refine factors, so factors start with the maximum
        # rank.
        max_rank_factors = LowRank(first=LowRank().max_rank)
        built = build_checked(dictionary, X, max_rank_factors, options)
        return with_device(built, space)
    normalization = options.unfitted(len(dictionary), X.shape[0])
    only_scales = normalization.only_scales
    steps = Normalization() if only_scales else normalization
    computed, normalize = dictionary, partial(fit_and_normalize, steps, space)
    terms = None
    if isinstance(dictionary, InteractionDictionary) and only_scales:
        terms, mains = np.asarray(dictionary.terms), dictionary.mains.kernels
        computed = ListDictionary([uncenter(kernel) for kernel in mains])
        normalize = partial(_centered_on_device, mains, X, space)
    if options.max_bytes is not None:
        shape = len(computed), X.shape[0], X.shape[0]
        alternatives = "Device(precision='float32'), storage='low_rank',"
        item_bytes = 8 if device.precision == "float64" else 4
        check_size(shape, item_bytes, options.max_bytes, alternatives)
    matrices = build_matrices(computed, X, normalize, space)
    stack: GramStack = matrices if terms is None else DeviceProducts(matrices, terms)
    if only_scales:
        stack = normalization.learn_scales(stack)
    return BuiltStack(stack, normalization, stack.zero_kernels())


def _build_products(
    dictionary: InteractionDictionary,
    X: Array,
    dtype: str,
    normalization: Normalization,
    max_bytes: int | None,
) -> BuiltStack:
    """Return the stack of interactions, with main kernels stored in type `dtype`."""
    mains = dictionary.mains.kernels
    uncentered = [uncenter(kernel) for kernel in mains]
    center = partial(_center_mains, mains, X)
    main_stack = _dense_stack(uncentered, X, center, dtype, max_bytes)
    terms = np.asarray(dictionary.terms)
    stack: GramStack
    if stores_products(len(dictionary), X.shape[0]) and dtype == "float64":
        matrices = main_stack.array[terms[:, 0]]
        for k in np.flatnonzero(terms[:, 1] >= 0).tolist():
            matrices[k] *= main_stack.array[terms[k, 1]]
        stack = DenseStack(matrices)
    else:
        stack = ProductStack(main_stack, terms)
    scaled = normalization.learn_scales(stack)
    return BuiltStack(scaled, normalization, scaled.zero_kernels())


def _build_by_kernel(
    dictionary: KernelDictionary, X: Array, options: BuildOptions
) -> BuiltStack:
    """Store kernels of high rank as matrices and all other kernels as factors."""
    ranks = estimated_ranks(dictionary, X, np.arange(len(dictionary)))
    is_dense = is_high(ranks, X.shape[0])

    def build(mask: Mask, storage: str) -> BuiltStack:
        kernels = [dictionary[m] for m in np.flatnonzero(mask).tolist()]
        return build_checked(
            ListDictionary(kernels), X, storage, subset_options(options, mask)
        )

    if is_dense.all() or not is_dense.any():
        return build(is_dense | True, "dense" if is_dense.all() else "low_rank")
    built_parts = build(is_dense, "dense"), build(~is_dense, "low_rank")
    return join_parts(*built_parts, is_dense, dictionary, options)


def _build_lazy(
    dictionary: KernelDictionary, X: Array, options: BuildOptions
) -> BuiltStack:
    """Return a normalized stack that computes its matrices in every pass."""
    limit = byte_limit(options.max_bytes)
    normalization = options.unfitted(len(dictionary), X.shape[0])
    steps = normalization.steps
    n_bytes = sum(step.means.nbytes for step in steps if isinstance(step, CenterStep))
    subject = (
        f"The row means that center {len(dictionary)} lazy kernels on {X.shape[0]} "
        "samples"
    )
    advice = "Use normalize='trace' or 'variance', fewer kernels, or raise max_bytes."
    check_memory(subject, n_bytes, limit, advice)
    stack = lazy_stack(dictionary, X, min(HELD_BYTES, limit // 4))
    subject = f"A weighted sum of lazy kernels on {X.shape[0]} samples"
    advice = "Use storage='low_rank', fewer samples, or raise max_bytes."
    check_memory(subject, 8 * X.shape[0] ** 2, limit, advice)
    normalized = normalize_lazily(stack, normalization)
    return BuiltStack(normalized, normalization, normalized.zero_kernels())
