"""Free functions on a stack of Gram matrices."""

from dataclasses import dataclass
from functools import singledispatch
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.dense import DenseStack
from multikernel.gram.lazy.stack import LazyStack
from multikernel.gram.low_rank import LowRankStack
from multikernel.gram.part import PartStack, viewed
from multikernel.gram.scaled import ScaledStack
from multikernel.linalg.threads import run_blocks


@singledispatch
def traces(stack: GramStack) -> Array:
    """Return the trace of every matrix, shape (n_kernels,).

    Parameters
    ----------
    stack : GramStack
        Square matrices.

    Returns
    -------
    traces : ndarray of shape (n_kernels,)
    """
    return np.asarray(stack.diagonals().sum(axis=1))


@traces.register
def _(stack: ScaledStack) -> Array:
    # The diagonals of a million lazy kernels are one number, their multiples are not.
    return stack.scales * traces(stack.stack)


@traces.register
def _(stack: LowRankStack) -> Array:
    # Column by column: diagonals are as many numbers again as one column per kernel.
    columns = np.einsum("ik,ik->k", stack.left, stack.right)
    return np.asarray(np.add.reduceat(columns, stack.offsets[:-1]))


@singledispatch
def held_numbers(stack: GramStack) -> Array:
    """Return how many numbers each kernel is, once it is in memory, (n_kernels,).

    Parameters
    ----------
    stack : GramStack
        The kernels.

    Returns
    -------
    numbers : ndarray of shape (n_kernels,)
    """
    n_kernels, n_rows, n_cols = stack.shape
    return np.full(n_kernels, float(n_rows) * n_cols)


@held_numbers.register
def _(stack: LowRankStack) -> Array:
    return np.asarray(float(stack.shape[1]) * stack.ranks)


@held_numbers.register
def _(stack: ScaledStack) -> Array:
    return held_numbers(stack.stack)


@singledispatch
def residual_bounds(stack: GramStack, v: Array) -> Array:
    r"""Return what a stack may leave of the quadratic forms of its kernels, at most.

    The forms of the stack plus these bounds are upper bounds on the forms of the
    kernels that it stands for: a dual point that is feasible with them is so for the
    problem over these kernels.

    Parameters
    ----------
    stack : GramStack
        Square matrices.
    v : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The vector; forms are summed over outputs.

    Returns
    -------
    bounds : ndarray of shape (n_kernels,)
        Zero where matrices are held whole.
    """
    return np.zeros(stack.shape[0])


@residual_bounds.register
def _(stack: LowRankStack, v: Array) -> Array:
    if stack.residual is None:
        return np.zeros(stack.shape[0])
    return stack.residual.bounds(v)


@residual_bounds.register
def _(stack: ScaledStack, v: Array) -> Array:
    return stack.scales * residual_bounds(stack.stack, v)


@singledispatch
def full_forms(stack: GramStack, kernels: Indices, v: Array) -> Array:
    """Return v^T K_m v of the kernels that a stack stands for.

    It costs n^2 values of each where the stack holds less.

    Parameters
    ----------
    stack : GramStack
        Square matrices.
    kernels : ndarray of shape (n_chosen,)
        Which kernels.
    v : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The vector; forms are summed over outputs.

    Returns
    -------
    forms : ndarray of shape (n_chosen,)
        Not a number where they cannot be computed.
    """
    return np.full(kernels.size, np.nan)


@full_forms.register
def _(stack: LowRankStack, kernels: Indices, v: Array) -> Array:
    if stack.full is None:
        return np.full(kernels.size, np.nan)
    return stack.full.forms(kernels, v)


@full_forms.register
def _(stack: ScaledStack, kernels: Indices, v: Array) -> Array:
    return stack.scales[kernels] * full_forms(stack.stack, kernels, v)


@singledispatch
def asked_once(stack: GramStack, kernels: Indices) -> GramStack:
    """Return the stack of the chosen kernels for a single product.

    Parameters
    ----------
    stack : GramStack
        The matrices, square and symmetric.
    kernels : ndarray of shape (n_chosen,)
        Which of them.

    Returns
    -------
    chosen : GramStack
        Without what only pays for several products: a copy, or whole matrices where
        forms need a triangle.
    """
    return stack.take(kernels)


@asked_once.register
def _(stack: DenseStack, kernels: Indices) -> GramStack:
    return viewed(stack, kernels)


@asked_once.register
def _(stack: LazyStack, kernels: Indices) -> GramStack:
    return stack.part(np.asarray(kernels))


@asked_once.register
def _(stack: ScaledStack, kernels: Indices) -> GramStack:
    return ScaledStack(asked_once(stack.stack, kernels), stack.scales[kernels])


class TermProducts(Protocol):
    """What the images K_m c_m of some kernels' own vectors say."""

    @property
    def forms(self) -> Array:
        """Return c_m^T K_m c_m, summed over outputs, shape (n_kernels,)."""
        ...

    @property
    def lengths(self) -> Array:
        """Return the squared lengths of the images, shape (n_kernels,)."""
        ...

    @property
    def traces(self) -> Array:
        """Return the traces of the kernels, shape (n_kernels,)."""
        ...

    def sums(self, used: NDArray[np.bool_], units: Array) -> tuple[Array, Array]:
        """Return sums over the kernels in use, of their images and of multiples.

        The multiples are those of the roots of their diagonals.

        Parameters
        ----------
        used : ndarray of bool of shape (n_kernels,)
            The kernels in use.
        units : ndarray of shape (n_kernels,)
            What the roots are multiplied by.

        Returns
        -------
        total : ndarray of shape (n_samples[, n_outputs])
        roots : ndarray of shape (n_samples,)
        """
        ...


@dataclass(frozen=True, eq=False)
class ImageProducts:
    """Images that are held, of the shape of the vectors.

    Parameters
    ----------
    coefs, images : ndarray of shape (n_kernels, n_samples[, n_outputs])
        The vectors, and their images.
    diagonals : ndarray of shape (n_kernels, n_samples)
        Those of the kernels.
    """

    coefs: Array
    images: Array
    diagonals: Array

    def _inner(self, vectors: Array) -> Array:
        shape = len(vectors), prod(vectors.shape[1:])
        flat, images = vectors.reshape(shape), self.images.reshape(shape)
        return np.asarray(np.einsum("mi,mi->m", flat, images))

    @property
    def forms(self) -> Array:
        """Return the inner products of vectors and images."""
        return self._inner(self.coefs)

    @property
    def lengths(self) -> Array:
        """Return the squared lengths of the images."""
        return self._inner(self.images)

    @property
    def traces(self) -> Array:
        """Return the sums of the diagonals."""
        return np.asarray(self.diagonals.sum(axis=1))

    def sums(self, used: NDArray[np.bool_], units: Array) -> tuple[Array, Array]:
        """Return sums over the kernels in use."""
        roots = np.sqrt(np.maximum(self.diagonals[used], 0.0))
        return self.images[used].sum(axis=0), np.asarray(units[used] @ roots)


@singledispatch
def term_products(
    stack: GramStack, kernels: Indices | None, coefs: Array
) -> TermProducts:
    """Multiply every kernel by a vector of its own, for what the images add up to.

    Parameters
    ----------
    stack : GramStack
        Square matrices.
    kernels : ndarray of shape (n_chosen,) or None
        Indices of kernels; None for all.
    coefs : ndarray of shape (n_chosen, n_samples[, n_outputs])
        The vectors.

    Returns
    -------
    products : TermProducts
    """
    if kernels is None:
        return ImageProducts(coefs, stack.block_matvec(coefs), stack.diagonals())
    return term_products(asked_once(stack, kernels), None, coefs)


@singledispatch
def images_of_sparse(stack: GramStack, support: Indices, values: Array) -> Array:
    """Return K_m v for every m and a vector v with few entries other than zero.

    It costs their share of a pass: only their columns are looked at.

    Parameters
    ----------
    stack : GramStack
        Square matrices.
    support : ndarray of shape (n_entries,)
        Where v is not zero.
    values : ndarray of shape (n_entries,)
        Its entries there.

    Returns
    -------
    images : ndarray of shape (n_kernels, n_samples)
    """
    every = np.arange(stack.shape[1])
    return stack.restrict(every, support).matvec(values)


@images_of_sparse.register
def _(stack: DenseStack, support: Indices, values: Array) -> Array:
    return _held_images(stack, np.arange(stack.shape[0]), support, values)


@images_of_sparse.register
def _(stack: PartStack, support: Indices, values: Array) -> Array:
    chosen = stack.samples[support]
    return _held_images(stack.whole, stack.kernels, chosen, values)[:, stack.samples]


def _held_images(
    stack: DenseStack, kernels: Indices, support: Indices, values: Array
) -> Array:
    """Return the images by the chosen kernels of a stack in memory."""
    # Rows stand for columns, as matrices are symmetric: rows are contiguous.
    images = np.empty((kernels.size, stack.shape[1]))

    def multiply(place: int) -> None:
        rows = stack.array[kernels[place], support]
        images[place] = np.dot(values, rows.astype(np.float64, copy=False))

    run_blocks(multiply, range(kernels.size))
    return images


@images_of_sparse.register
def _(stack: ScaledStack, support: Indices, values: Array) -> Array:
    return stack.scales[:, None] * images_of_sparse(stack.stack, support, values)


@singledispatch
def combined_rows(stack: GramStack, weights: Array, rows: Indices) -> Array:
    """Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples)."""
    every = np.arange(stack.shape[2])
    support = np.flatnonzero(weights)
    part = stack.take(support).restrict(rows, every)
    return part.combine(weights[support]).columns(every)


@combined_rows.register
def _(stack: DenseStack, weights: Array, rows: Indices) -> Array:
    total = np.zeros((rows.size, stack.shape[2]))
    for m in np.flatnonzero(weights):
        total += weights[m] * stack.array[m, rows]
    return total


@combined_rows.register
def _(stack: PartStack, weights: Array, rows: Indices) -> Array:
    every = np.zeros(stack.whole.shape[0])
    np.add.at(every, stack.kernels, weights)
    return combined_rows(stack.whole, every, stack.samples[rows])[:, stack.samples]
