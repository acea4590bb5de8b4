"""What storages may do in a way of their own, with what is done for all others.

Each is a function of a stack. A storage registers its own version; stacks that count
what is read pass the question on to the stack inside, unless they register one too.
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
from multikernel.linalg.tall import TallMatrix, covariances_with_sum


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
def rough_forms(stack: GramStack, v: Array) -> tuple[Array, Array]:
    """Return `GramStack.quadratic_forms` as a first look gives them, and their errors.

    Returns
    -------
    forms, errors : ndarray of shape (n_kernels,)
        Forms that are off by these at most, double precision's rounding aside;
        errors are zero where there is no quicker way than `quadratic_forms`.
    """
    return stack.quadratic_forms(v), np.zeros(stack.shape[0])


@capability
def largest_forms(
    stack: GramStack, v: Array, level: float, most: int
) -> tuple[Indices, Array, float]:
    """Return the largest quadratic forms of v above a level, `most` of them at most.

    Returns
    -------
    kernels : ndarray of shape (n_chosen,)
        Their kernels, ascending.
    forms : ndarray of shape (n_chosen,)
        Forms, summed over outputs.
    rest : float
        The largest form of all other kernels, minus infinity where there is none.
    """
    largest = Largest(level, most)
    largest.add(slice(0, stack.shape[0]), stack.quadratic_forms(v))
    return largest.result()


@capability
def resident_products(stack: GramStack, kernels: Indices) -> Products:
    """Return a function that multiplies by a few kernels again and again.

    Parameters
    ----------
    stack : GramStack
        The stack.
    kernels : ndarray of shape (n_chosen,)
        The kernels; held as arrays from here on, unless they are very large.

    Returns
    -------
    products : callable
        Maps positions in `kernels` and one block of rows for each to the products.
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
    """Return how many numbers give a function in the space of a kernel.

    The number of samples, where it is c of f = K c; another one where the stack
    holds K = Z Z^T and takes u of f = Z u, of as many numbers as Z has columns,
    rows filled up with zeros. It is never n_samples then: so they are told apart.
    """
    return stack.shape[1]


@capability
def own_expansions(stack: GramStack, coefs: Array) -> Array:
    """Return functions in the spaces of all kernels as the stack takes them.

    What gives them, (n_kernels, n_samples or length[, n_outputs]), becomes
    (n_kernels, expansion_length[, n_outputs]).
    """
    return coefs


@capability
def term_products(stack: GramStack, coefs: Array) -> TermProducts:
    """Return the images K_m a_m of all kernels, for sums and forms of them.

    Stacks of factors do not write the images down.

    The vectors are what `GramStack.block_matvec` takes, or what `own_expansions`
    returns.
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
    """Return whether kernels get factors once they are taken, for more than a pass."""
    return False


@capability
def pass_numbers(stack: GramStack) -> float:
    """Return how many numbers one quadratic form of every kernel reads."""
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
    """Return stacks of some kernels each, all in turn; the stack itself by default."""
    return [stack]


@capability
def zero_kernels(stack: GramStack) -> Indices:
    """Return the kernels whose matrix is zero: those with a zero diagonal."""
    return np.flatnonzero(~np.any(stack.diagonals() > 0.0, axis=1))


@capability
def row_length(stack: GramStack, wanted: int) -> int:
    """Return how many entries of a row are read for `wanted` entries."""
    return wanted


def count(stack: GramStack, kernels: int, rows: int, vectors: int = 1) -> None:
    """Note products that are made with what `tall_form` gave; a meter does."""
    if isinstance(stack, Counts):
        stack.count(kernels, rows, vectors)
