"""Restrict stored Gram matrices to some samples, and normalize them on these alone."""

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.gram.base import GramStack
from multikernel.gram.by_kernel import ByKernelStack, join_parts, subset_options
from multikernel.gram.dense import DenseStack, PartStack
from multikernel.gram.device.build import part_on_device
from multikernel.gram.device.factors import DeviceFactors, with_device
from multikernel.gram.device.stack import OnDevice
from multikernel.gram.factors.factorize import cut_low_rank
from multikernel.gram.factors.low_rank import LowRankStack
from multikernel.gram.factors.product_build import cut_products
from multikernel.gram.factors.products import FactoredProducts
from multikernel.gram.matrix import Stored
from multikernel.gram.memory import byte_limit, check_memory, readable_bytes
from multikernel.gram.normalization import (
    BuildOptions,
    BuiltStack,
    Normalization,
    Steps,
)
from multikernel.gram.products import ProductStack
from multikernel.linalg.threads import run_blocks


def build_part(
    stack: GramStack,
    samples: Indices,
    *,
    normalize: Steps = None,
    sample_weight: Array | None = None,
    max_bytes: int | None = None,
    n_copies: int = 1,
) -> BuiltStack | None:
    """Return stored Gram matrices of some samples, normalized on these samples alone.

    The result equals that of `build_stack` on these samples. It is a view if kernels
    are at most scaled, otherwise a copy, and None if the stack stores no matrices.
    `n_copies` parts are in memory at the same time. `StackTooLargeError` is raised if
    they exceed `max_bytes`, by default half of the available memory.
    """
    options = BuildOptions(normalize, sample_weight, max_bytes)
    return _cut(stack, samples, options, n_copies)


def _cut(
    stack: GramStack, samples: Indices, options: BuildOptions, n_copies: int = 1
) -> BuiltStack | None:
    """Return a stack of some samples, normalized on these; None for other types."""
    # Kernels that are only scaled share the stored entries; other steps need a copy,
    # and `n_copies` copies are in memory at a time.
    if isinstance(stack, FactoredProducts):
        return cut_products(stack, samples, options)
    if isinstance(stack, ByKernelStack):
        return _cut_both(stack, samples, options)
    if isinstance(stack, LowRankStack) and stack.landmarks is not None:
        built = cut_low_rank(stack, samples, options)
        if isinstance(stack, DeviceFactors):
            return with_device(built, stack.space)
        return built
    normalization = options.unfitted(stack.shape[0], samples.size)
    is_scalable = isinstance(stack, DenseStack | ProductStack | OnDevice)
    cut: GramStack = stack
    if is_scalable and normalization.only_scales:
        if not np.array_equal(samples, np.arange(stack.shape[1])):
            if isinstance(stack, DenseStack):
                cut = PartStack(stack, samples)
            else:
                cut = stack.restrict(samples)
        cut = normalization.learn_scales(cut)
    elif isinstance(stack, OnDevice):
        cut = part_on_device(stack, samples, normalization)
    elif isinstance(stack, DenseStack):
        cut = _cut_dense(stack, samples, normalization, options.max_bytes, n_copies)
    else:
        return None
    return BuiltStack(cut, normalization, cut.zero_kernels())


def _cut_dense(
    stack: DenseStack,
    samples: Indices,
    normalization: Normalization,
    max_bytes: int | None,
    n_copies: int,
) -> GramStack:
    """Return a normalized copy of the matrices of `samples`; see `build_part`."""
    n_kernels = stack.shape[0]
    # The bytes of `stack` are added only if the user passed `max_bytes`. The default
    # limit is half of the memory that is still available beside `stack`.
    copies = n_copies * n_kernels * samples.size**2 * stack.array.itemsize
    needed = copies + (0 if max_bytes is None else stack.array.nbytes)
    check_memory(
        f"Normalizing {n_kernels} kernels in every fold requires a copy of "
        f"{readable_bytes(copies // n_copies)} per fold. Folds at the same time: "
        f"{n_copies}. Copies{' and the whole stack' * (max_bytes is not None)}",
        needed,
        byte_limit(max_bytes),
        "Use normalize='trace', 'variance' or None to avoid copies, use fewer jobs, or "
        "raise max_bytes.",
    )
    copy = stack.copied(np.arange(n_kernels), samples, samples)
    normalize_in_place(copy.array, normalization)
    return copy


def _cut_both(
    stack: ByKernelStack, samples: Indices, options: BuildOptions
) -> BuiltStack:
    """Return a `ByKernelStack` on some samples, normalized on these samples alone."""
    assert stack.dictionary is not None
    is_dense = stack.is_dense

    def cut(part_stack: GramStack, kernels: Mask) -> BuiltStack:
        built = _cut(part_stack, samples, subset_options(options, kernels))
        assert built is not None
        return built

    built_parts = cut(stack.dense, is_dense), cut(stack.factored, ~is_dense)
    return join_parts(*built_parts, is_dense, stack.dictionary, options)


def normalize_in_place(array: Stored, normalization: Normalization) -> None:
    """Fit normalization steps to Gram matrices, and normalize the matrices in place."""

    def normalize(m: int) -> None:
        K = array[m].astype(np.float64, copy=False)
        normalization.learn(m, K[None])
        if K.dtype != array.dtype:
            array[m] = K

    if normalization.steps:
        run_blocks(normalize, range(array.shape[0]))
