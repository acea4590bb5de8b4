"""Products with a few kernels of a stack, again and again."""

from collections.abc import Callable
from functools import singledispatch

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.dense import DenseStack
from multikernel.gram.scaled import ScaledStack

RESIDENT_NUMBERS = 2**26
"""Entries of Gram matrices that a thread may hold; above, products recompute them."""

Products = Callable[[Indices, Array], Array]
"""Maps positions and vectors (n_positions, n_rows, n_samples) to products K v."""


@singledispatch
def resident_products(stack: GramStack, kernels: Indices) -> Products:
    """Return a function that multiplies by a few kernels again and again.

    Parameters
    ----------
    stack : GramStack
        Square, symmetric matrices.
    kernels : ndarray of shape (n_chosen,)
        The kernels; held as arrays from here on, unless they are very large.

    Returns
    -------
    products : callable
        Maps positions in `kernels` and one block of rows for each to the products.
    """
    n_samples = stack.shape[2]
    if kernels.size * n_samples**2 <= RESIDENT_NUMBERS:
        matrices = stack.take(kernels).columns(np.arange(n_samples))
        return _array_products(list(matrices))

    def products(positions: Indices, rows: Array) -> Array:
        vectors = np.ascontiguousarray(rows.transpose(0, 2, 1))
        images = stack.take(kernels[positions]).block_matvec(vectors)
        return np.ascontiguousarray(images.transpose(0, 2, 1))

    return products


@resident_products.register
def _(stack: DenseStack, kernels: Indices) -> Products:
    chosen = [stack.array[m].astype(np.float64, copy=False) for m in kernels]
    return _array_products(chosen)


@resident_products.register
def _(stack: ScaledStack, kernels: Indices) -> Products:
    unscaled, scales = resident_products(stack.stack, kernels), stack.scales[kernels]

    def products(positions: Indices, rows: Array) -> Array:
        return unscaled(positions, rows * scales[positions, None, None])

    return products


def _array_products(matrices: list[Array]) -> Products:
    def products(positions: Indices, rows: Array) -> Array:
        images = np.empty_like(rows)
        for i, position in enumerate(positions):
            # Not `matmul`, which keeps NumPy's lock at 500 samples and one row: two
            # threads took as long as one.
            np.dot(rows[i], matrices[position], out=images[i])
        return images

    return products
