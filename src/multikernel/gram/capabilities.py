"""What some storages do in a way of their own, and what is done with the others.

A function for each, which any stack may be given; a class for each kind of storage that
has something better than the function's default. Stacks around other stacks hand on
what these have.
"""

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import Counts, GramStack, inside
from multikernel.gram.matrix import (
    IMAGE_BYTES,
    ImageProducts,
    Products,
    TermProducts,
    padded_to,
    products_of_arrays,
)
from multikernel.linalg.tall import TallMatrix, covariances_with_sum

if TYPE_CHECKING:
    from multikernel.gram.factors.low_rank import LowRankStack

HELD_NUMBERS = 2**26
"""Entries of Gram matrices that a thread may hold; above, products recompute them."""


# Factors.


class HasFactors(GramStack):
    """A stack of factors side by side, or one around it."""

    @abstractmethod
    def tall_form(self) -> tuple[TallMatrix, Indices] | None:
        """Return what `tall_form` does."""

    def low_rank_form(self) -> "LowRankStack | None":
        """Return what `low_rank_form` does."""
        return None


def tall_form(stack: GramStack) -> tuple[TallMatrix, Indices] | None:
    """Return a stack as one tall matrix Z, K_m = Z_m Z_m^T; None if it has no factors.

    Returns
    -------
    Z : TallMatrix
        The factors, side by side.
    offsets : ndarray of shape (n_kernels + 1,)
        The first column of every kernel, and the end.
    """
    held = inside(stack)
    return held.tall_form() if isinstance(held, HasFactors) else None


def low_rank_form(stack: GramStack) -> "LowRankStack | None":
    """Return the same matrices as factors in memory; None where there are none."""
    held = inside(stack)
    return held.low_rank_form() if isinstance(held, HasFactors) else None


# First looks.


class HasRoughForms(GramStack):
    """A stack whose forms cost less where they may be off by a little."""

    @abstractmethod
    def rough_forms(self, v: Array) -> tuple[Array, Array]:
        """Return what `rough_forms` does."""


def rough_forms(stack: GramStack, v: Array) -> tuple[Array, Array]:
    """Return `GramStack.quadratic_forms` as a first look gives them, and their errors.

    Returns
    -------
    forms, errors : ndarray of shape (n_kernels,)
        Forms that are off by these at most, double precision's rounding aside;
        errors are zero where there is no quicker way than `quadratic_forms`.
    """
    if isinstance(stack, HasRoughForms):
        return stack.rough_forms(v)
    return stack.quadratic_forms(v), np.zeros(stack.shape[0])


# Products with a few kernels, again and again.


class HasProducts(GramStack):
    """A stack that multiplies by a few of its kernels without a copy of them."""

    @abstractmethod
    def resident_products(self, kernels: Indices) -> Products:
        """Return what `resident_products` does."""


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
    if isinstance(stack, HasProducts):
        return stack.resident_products(kernels)
    n_samples = stack.shape[2]
    if kernels.size * n_samples**2 <= HELD_NUMBERS:
        matrices = stack.take(kernels).columns(np.arange(n_samples))
        return products_of_arrays(list(matrices))

    def products(positions: Indices, rows: Array) -> Array:
        vectors = np.ascontiguousarray(rows.transpose(0, 2, 1))
        images = stack.take(kernels[positions]).block_matvec(vectors)
        return np.ascontiguousarray(images.transpose(0, 2, 1))

    return products


# The terms of a model, f_m = K_m c_m.


class TakesCoordinates(GramStack):
    """A stack that takes a function f = Z u by u, where others take c of f = K c."""

    @property
    @abstractmethod
    def expansion_length(self) -> int:
        """Return what `expansion_length` does."""

    @abstractmethod
    def own_expansions(self, coefs: Array) -> Array:
        """Return what `own_expansions` does."""

    @abstractmethod
    def term_products(self, coefs: Array) -> TermProducts:
        """Return what `term_products` does."""

    @abstractmethod
    def term_covariances(
        self, kernels: Indices, coefs: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return what `term_covariances` does."""


def expansion_length(stack: GramStack) -> int:
    """Return how many numbers give a function in the space of a kernel.

    The number of samples, where it is c of f = K c; another one where the stack
    holds K = Z Z^T and takes u of f = Z u, of as many numbers as Z has columns,
    rows filled up with zeros. It is never n_samples then: so they are told apart.
    """
    held = inside(stack)
    if isinstance(held, TakesCoordinates):
        return held.expansion_length
    return held.shape[1]


def own_expansions(stack: GramStack, coefs: Array) -> Array:
    """Return functions in the spaces of all kernels as the stack takes them.

    What gives them, (n_kernels, n_samples or length[, n_outputs]), becomes
    (n_kernels, expansion_length[, n_outputs]).
    """
    held = inside(stack)
    return held.own_expansions(coefs) if isinstance(held, TakesCoordinates) else coefs


def term_products(stack: GramStack, coefs: Array) -> TermProducts:
    """Return the images K_m a_m of all kernels, for sums and forms of them.

    Stacks of factors do not write the images down.

    The vectors are what `GramStack.block_matvec` takes, or what `own_expansions`
    returns.
    """
    if isinstance(stack, TakesCoordinates):
        return stack.term_products(coefs)
    return ImageProducts(coefs, stack.block_matvec(coefs), stack.diagonals())


TERM_BYTES = 2**23
"""Bytes of the values of all terms that are held at a time. Of 2000 outputs (600
samples, five terms) all at once took 92 MB."""


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
    held = inside(stack)
    if isinstance(held, TakesCoordinates) and kernels.size:
        return held.term_covariances(kernels, coefs, weights)
    n_terms, n_samples, n_outputs = coefs.shape
    squares, covariances = np.empty((2, n_outputs, n_terms))
    step = max(1, TERM_BYTES // (8 * max(1, n_terms * n_samples)))
    # Kernels that are not held are computed once, whatever their images take.
    step = step if held.in_memory else max(1, n_outputs)
    for start in range(0, n_outputs, step):
        outputs = slice(start, start + step)
        some = coefs[:, :, outputs]
        images = _images_of_some(held, kernels, some)
        squares[outputs] = np.einsum("mik,mik->km", some, images)
        values = np.moveaxis(images, 0, 2)
        covariances[outputs] = covariances_with_sum(values, weights)
    return squares, covariances


def _images_of_some(stack: GramStack, kernels: Indices, coefs: Array) -> Array:
    """Return K_m c_m of some kernels, (n_terms, n_samples, n_outputs)."""
    images = np.empty(coefs.shape)
    step = max(1, IMAGE_BYTES // (8 * max(1, coefs[:1].size)))
    for start in range(0, kernels.size, step):
        part = slice(start, start + step)
        images[part] = stack.once(kernels[part]).block_matvec(coefs[part])
    return images


# Kernels that are products of a few matrices.


class MadeOfMains(GramStack):
    """A stack whose kernels are made of a few main ones, which it holds."""

    makes_factors: bool = False
    """Whether kernels get factors once they are taken, which costs more than a pass."""

    @abstractmethod
    def pass_numbers(self) -> float:
        """Return what `pass_numbers` does."""

    @abstractmethod
    def zero_kernels(self) -> Indices:
        """Return what `zero_kernels` does."""


def makes_factors(stack: GramStack) -> bool:
    """Return whether kernels get factors once they are taken, for more than a pass."""
    held = inside(stack)
    return isinstance(held, MadeOfMains) and held.makes_factors


def pass_numbers(stack: GramStack) -> float:
    """Return how many numbers one quadratic form of every kernel reads."""
    held = inside(stack)
    if isinstance(held, MadeOfMains):
        return held.pass_numbers()
    return float(held.held_numbers().sum())


def zero_kernels(stack: GramStack) -> Indices:
    """Return the kernels whose matrix is zero: those with a zero diagonal."""
    held = inside(stack)
    if isinstance(held, MadeOfMains):
        return held.zero_kernels()
    return np.flatnonzero(~np.any(stack.diagonals() > 0.0, axis=1))


class ProductsOfMains(MadeOfMains):
    """A stack of main kernels and products of two of them, by their numbers."""

    terms: Indices
    """The two mains of every kernel, (n_kernels, 2), -1 beside one that is alone."""

    @cached_property
    def alone(self) -> Indices:
        """Return the kernels that are mains."""
        return np.flatnonzero(self.terms[:, 1] < 0)

    @cached_property
    def _pairs(self) -> Indices:
        """Return the kernels that are products."""
        return np.flatnonzero(self.terms[:, 1] >= 0)

    @cached_property
    def _used(self) -> tuple[Indices, Indices]:
        """Return the mains in any product, and both factors as positions among them."""
        used, places = np.unique(self.terms[self._pairs], return_inverse=True)
        return used, places.reshape(-1, 2)

    def sparse_matvec(self, support: Indices, values: Array) -> Array:
        """Return K_m v for every m and a v with few entries other than zero."""
        return self.matvec(padded_to(values, support, self.shape[1]))

    def zero_kernels(self) -> Indices:
        """Return the kernels whose matrix is zero: those with a zero diagonal."""
        return np.flatnonzero(self.traces() <= 0.0)


# Counting what is read.


class ReadsRows(GramStack):
    """A stack that may look at whole rows where a part of them is wanted."""

    @abstractmethod
    def row_length(self, wanted: int) -> int:
        """Return what `row_length` does."""


def row_length(stack: GramStack, wanted: int) -> int:
    """Return how many entries of a row are read for `wanted` entries."""
    held = inside(stack)
    return held.row_length(wanted) if isinstance(held, ReadsRows) else wanted


class AroundOther(HasProducts, HasRoughForms, MadeOfMains, ReadsRows):
    """A stack around another one that takes as much room, and as many reads."""

    stack: GramStack
    """The stack inside."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return self.stack.shape

    @property
    def in_memory(self) -> bool:  # type: ignore[override]
        """Return whether entries are read, not computed."""
        return self.stack.in_memory

    def held_numbers(self) -> Array:
        """Return how many numbers each kernel is once it is held, (n_kernels,)."""
        return self.stack.held_numbers()

    def pass_numbers(self) -> float:
        """Return how many numbers one quadratic form of every kernel reads."""
        return pass_numbers(self.stack)

    def row_length(self, wanted: int) -> int:
        """Return how many entries of a row are read for `wanted` entries."""
        return row_length(self.stack, wanted)


def count(stack: GramStack, kernels: int, rows: int, vectors: int = 1) -> None:
    """Note products that are made with what `tall_form` gave; a meter does."""
    if isinstance(stack, Counts):
        stack.count(kernels, rows, vectors)
