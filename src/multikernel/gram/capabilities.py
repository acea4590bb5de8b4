"""Functions of a stack that storages may implement in their own way, with defaults.

A storage registers its own version; stacks that count reads pass the call to the stack
inside, unless they register one too.
"""

from collections.abc import Iterable

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import Counts, GramStack, capability
from multikernel.gram.largest import Largest
from multikernel.gram.matrix import (
    HELD_BYTES,
    ImageProducts,
    Products,
    TermProducts,
    products_of_arrays,
)
from multikernel.linalg.tables import CHUNK_BYTES, row_chunks
from multikernel.linalg.tall import (
    GroupedFactor,
    TallArray,
    TallMatrix,
    covariances_with_sum,
    slices_between,
)


@capability
def tall_form(stack: GramStack) -> tuple[TallMatrix, Indices] | None:
    """Return a stack as one tall matrix Z, K_m = Z_m Z_m^T; None if it has no factors.

    Returns
    -------
    Z : TallMatrix
        The factors, side by side.
    offsets : ndarray of shape (n_kernels + 1,)
        The first column of every kernel, and the end.
    """
    return None


@capability
def own_factors(stack: GramStack, kernels: Indices) -> list[GroupedFactor] | None:
    """Return the factors of some kernels one by one, None if they are not in memory."""
    tall = tall_form(stack.take(kernels))
    if tall is None or not isinstance(tall[0], TallArray):
        return None
    rows = tall[0].Z.T
    return [GroupedFactor(rows[part]) for part in slices_between(tall[1])]


@capability
def rough_forms(stack: GramStack, v: Array) -> tuple[Array, Array]:
    """Return quadratic forms, possibly in single precision, and bounds on their errors.

    Returns
    -------
    forms, errors : ndarray of shape (n_kernels,)
        Errors exclude rounding in double precision; they are zero if there is no faster
        way than `GramStack.quadratic_forms`.
    """
    return stack.quadratic_forms(v), np.zeros(stack.shape[0])


@capability
def largest_forms(
    stack: GramStack, v: Array, level: float, most: int
) -> tuple[Indices, Array, float]:
    """Return the largest quadratic forms of v above a level, at most `most` of them.

    Returns
    -------
    kernels : ndarray of shape (n_chosen,)
        Their kernels, ascending.
    forms : ndarray of shape (n_chosen,)
        Forms, summed over outputs.
    rest : float
        Largest form of all other kernels, minus infinity if there are none.
    """
    largest = Largest(level, most)
    largest.add(slice(0, stack.shape[0]), stack.quadratic_forms(v))
    return largest.result()


@capability
def resident_products(stack: GramStack, kernels: Indices) -> Products:
    """Return a function for repeated products with a few kernels.

    Parameters
    ----------
    stack : GramStack
        The stack.
    kernels : ndarray of shape (n_chosen,)
        The kernels; stored as arrays unless they are very large.

    Returns
    -------
    products : callable
        Maps positions in `kernels`, and one block of rows for each, to the products.
    """
    n_samples = stack.shape[2]
    if 8 * kernels.size * n_samples**2 <= HELD_BYTES:
        matrices = stack.take(kernels).columns(np.arange(n_samples))
        return products_of_arrays(list(matrices))

    def products(positions: Indices, rows: Array) -> Array:
        vectors = np.ascontiguousarray(rows.transpose(0, 2, 1))
        images = stack.take(kernels[positions]).block_matvec(vectors)
        return np.ascontiguousarray(images.transpose(0, 2, 1))

    return products


@capability
def expansion_length(stack: GramStack) -> int:
    """Return the number of coefficients of a function in the space of a kernel.

    It is n_samples for f = K c, and the number of columns of Z for f = Z u with K = Z
    Z^T, which is never n_samples.
    """
    return stack.shape[1]


@capability
def own_expansions(stack: GramStack, coefs: Array) -> Array:
    """Return the functions in the form that the stack uses; see `expansion_length`."""
    return coefs


@capability
def term_products(stack: GramStack, coefs: Array) -> TermProducts:
    """Return the images K_m a_m of all kernels as `TermProducts`.

    The vectors are those of `GramStack.block_matvec`, or of `own_expansions`.
    """
    return ImageProducts(coefs, stack.block_matvec(coefs), stack.diagonals())


@capability
def term_covariances(
    stack: GramStack, kernels: Indices, coefs: Array, weights: Array
) -> tuple[Array, Array]:
    """Return squared norms of terms, and covariances with their sum.

    Parameters
    ----------
    stack : GramStack
        The stack.
    kernels : ndarray of shape (n_terms,)
        The kernels.
    coefs : ndarray of shape (n_terms, n_samples, n_outputs)
        Their expansions.
    weights : ndarray of shape (n_samples,)
        Weights of the samples.

    Returns
    -------
    squares, covariances : ndarray of shape (n_outputs, n_terms)
        Covariances are times the total weight.
    """
    n_terms, n_samples, n_outputs = coefs.shape
    squares, covariances = np.empty((2, n_outputs, n_terms))
    step = max(1, CHUNK_BYTES // (8 * max(1, n_terms * n_samples)))
    # Kernels that are not held are computed once, whatever their images take.
    step = step if stack.in_memory else max(1, n_outputs)
    for start in range(0, n_outputs, step):
        outputs = slice(start, start + step)
        some = coefs[:, :, outputs]
        images = _images_of_some(stack, kernels, some)
        squares[outputs] = np.einsum("mik,mik->km", some, images)
        values = np.moveaxis(images, 0, 2)
        covariances[outputs] = covariances_with_sum(values, weights)
    return squares, covariances


def _images_of_some(stack: GramStack, kernels: Indices, coefs: Array) -> Array:
    """Return K_m c_m of some kernels, (n_terms, n_samples, n_outputs)."""
    images = np.empty(coefs.shape)
    for part in row_chunks(kernels.size, coefs[:1].size):
        images[part] = stack.once(kernels[part]).block_matvec(coefs[part])
    return images


@capability
def makes_factors(stack: GramStack) -> bool:
    """Return whether `take` computes factors, for more than one pass."""
    return False


@capability
def pass_numbers(stack: GramStack) -> float:
    """Return how many numbers the quadratic forms of all kernels read."""
    return float(stack.held_numbers().sum())


@capability
def shares_work(stack: GramStack) -> bool:
    """Return whether a pass over all kernels reads much less than they are.

    Stacks of products share work between kernels: there all forms of one draw cost less
    than the matrices of the kernels one after another.
    """
    return bool(2.0 * pass_numbers(stack) <= stack.held_numbers().sum())


@capability
def parts_of(stack: GramStack) -> Iterable[GramStack]:
    """Return stacks of consecutive kernels; the stack itself by default."""
    return [stack]


@capability
def zero_kernels(stack: GramStack) -> Indices:
    """Return the kernels whose matrix is zero: those with a zero diagonal."""
    return np.flatnonzero(~np.any(stack.diagonals() > 0.0, axis=1))


@capability
def row_length(stack: GramStack, wanted: int) -> int:
    """Return how many entries of a row are read to get `wanted` of them."""
    return wanted


def count(stack: GramStack, kernels: int, rows: int, vectors: int = 1) -> None:
    """Count products computed with the result of `tall_form`."""
    if isinstance(stack, Counts):
        stack.count(kernels, rows, vectors)
