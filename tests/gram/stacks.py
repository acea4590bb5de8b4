"""Every storage policy, as a function of the matrices it shall hold.

Tests read the tuple: one more policy is one more line.
"""

import tempfile
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from multikernel.gram import (
    ByKernelStack,
    DenseStack,
    Device,
    DeviceProducts,
    GramStack,
    LowRank,
    LowRankStack,
    PartStack,
    ProductStack,
    ScaledStack,
    build_stack,
    device_stack,
    lazy_stack,
)
from multikernel.kernels import ListDictionary
from multikernel.kernels.grams import SampleKernel

Array = NDArray[np.float64]


def dense(array: Array) -> GramStack:
    """Hold the matrices in float64."""
    return DenseStack(np.ascontiguousarray(array))


def dense_single(array: Array) -> GramStack:
    """Hold the matrices in float32, rounded to seven digits."""
    return DenseStack(np.ascontiguousarray(array, dtype=np.float32))


def scaled(array: Array) -> GramStack:
    """Hold half of the matrices, and double them."""
    return ScaledStack(dense(0.5 * array), np.full(len(array), 2.0))


def part(array: Array) -> GramStack:
    """Hold the matrices of twice as many samples, and look at some of them."""
    size = array.shape[1]
    samples = np.arange(size) + np.arange(size) // 2 + 1
    whole = np.full((len(array), 2 * size + 1, 2 * size + 1), 7.0)
    whole[:, samples[:, None], samples] = array
    return PartStack(DenseStack(whole), samples)


def products(array: Array) -> GramStack:
    """Hold the matrices as products with ones, which are one more main."""
    n = len(array)
    mains = np.concatenate([array, np.ones((1, *array.shape[1:]))])
    return ProductStack(DenseStack(mains), np.array([(m, n) for m in range(n)]))


def lazy(array: Array) -> GramStack:
    """Show the matrices block by block; keep what is small."""
    return lazy_stack(_precomputed(array), _numbers(array))


def lazy_always(array: Array) -> GramStack:
    """Show the matrices block by block; keep nothing."""
    return lazy_stack(_precomputed(array), _numbers(array), dense_bytes=0)


def mapped(array: Array) -> GramStack:
    """Map the matrices from a file of the user's."""
    with tempfile.TemporaryFile() as file:
        np.save(file, array)
        offset = file.tell() - array.nbytes
        return DenseStack(np.memmap(file, array.dtype, "r", offset, array.shape))


def low_rank(array: Array) -> LowRankStack:
    """Hold a factor of every matrix, from its eigendecomposition."""
    eigenvalues, vectors = np.linalg.eigh(array)
    factors = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))[:, None, :]
    left = np.concatenate(list(factors), axis=1)
    n_samples = array.shape[1]
    return LowRankStack(left, np.arange(len(array) + 1) * n_samples)


def landmarks(array: Array) -> GramStack:
    """Hold a factor of every matrix, by its columns at landmarks."""
    options = LowRank(tol=0.0, first=array.shape[1])
    return build_stack(_precomputed(array), _numbers(array), storage=options).stack


def by_kernel(array: Array) -> GramStack:
    """Hold every second matrix whole, and factors of the others."""
    is_whole = np.arange(len(array)) % 2 == 1
    return ByKernelStack(dense(array[is_whole]), low_rank(array[~is_whole]), is_whole)


def device(array: Array) -> GramStack:
    """Hold the matrices on a device that exchanges no array with another one."""
    return device_stack(array, Device("array_api_strict", "device1"))


def device_single(array: Array) -> GramStack:
    """Hold the matrices on a device in float32."""
    return device_stack(array, Device("array_api_strict", precision="float32"))


def device_products(array: Array) -> GramStack:
    """Hold the matrices on a device as products with ones, which are one more main."""
    n = len(array)
    mains = np.concatenate([array, np.ones((1, *array.shape[1:]))])
    stack = device_stack(mains, Device("array_api_strict", "device1"))
    return DeviceProducts(stack, np.array([(m, n) for m in range(n)]))


def device_factors(array: Array) -> GramStack:
    """Hold a factor of every matrix, by its columns at landmarks, on a device."""
    settings = Device("array_api_strict", "device1", factors=True)
    return build_stack(_precomputed(array), _numbers(array), storage=settings).stack


STACKS: tuple[Callable[[Array], GramStack], ...] = (
    dense,
    dense_single,
    scaled,
    part,
    products,
    lazy,
    lazy_always,
    mapped,
    low_rank,
    landmarks,
    by_kernel,
    device,
    device_single,
    device_products,
    device_factors,
)
"""Every policy, as a function of an array (n_kernels, n_samples, n_samples)."""


def _precomputed(array: Array) -> ListDictionary:
    return ListDictionary([SampleKernel(K, np.arange(len(K)), "given") for K in array])


def _numbers(array: Array) -> Array:
    return np.arange(float(array.shape[1]))[:, None]
