"""What a storage is: a stack of Gram matrices, by its primitives.

The storage owns the linear algebra, so no solver ever asks how a stack is held. A new
one says four things of its matrices: products with vectors, weighted sums, columns, and
the stack of some kernels. All else has a default made of these, in place of which a
storage does what it can do faster. Arrays cross this boundary as float64 NumPy arrays.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import InstanceOf
from multikernel.gram.matrix import (
    IMAGE_BYTES,
    GramMatrix,
    ImageProducts,
    Products,
    TermProducts,
    column_runs,
    products_of_arrays,
    products_of_cuts,
)
from multikernel.linalg.tall import TallMatrix, covariances_with_sum

if TYPE_CHECKING:
    from multikernel.gram.factors.landmarks import Landmarks
    from multikernel.gram.factors.low_rank import LowRankStack

HELD_NUMBERS = 2**26
"""Entries of Gram matrices that a thread may hold; above, products recompute them."""

FEW = 0.5
"""Where no more than this share of a vector is not zero, reading their columns alone is
quicker than reading all, although there are gaps between them. With 0.3 sixteen
problems of SpicyMKL took as long."""


@dataclass(frozen=True, eq=False)
class Refinement:
    """What matrices lack of their kernels for a proof, as their storage takes it.

    Parameters
    ----------
    dual : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A dual point.
    goals : mapping of int to float
        What upper bounds on the residuals' forms of it must become, by kernel.
    """

    dual: Array
    goals: Mapping[int, float]


class GramStack(ABC):
    """The matrices K_1, ..., K_M behind one storage: square and symmetric."""

    in_memory: bool = False
    """Whether entries are read, not computed."""

    landmarks: "Landmarks | None" = None
    """What factors were made of, where new samples are compared with landmarks only."""

    # The primitives.

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""

    @abstractmethod
    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""

    @abstractmethod
    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m as one matrix."""

    @abstractmethod
    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""

    @abstractmethod
    def take(self, kernels: Indices) -> "GramStack":
        """Return the stack of the chosen kernels, for many products."""

    # Parts.

    def once(self, kernels: Indices) -> "GramStack":
        """Return the stack of the chosen kernels for a single product.

        It comes without what only pays for several: a copy, or whole matrices where
        forms need a triangle. In memory products with several outputs are as quick.
        """
        return self.take(kernels)

    def restrict(self, samples: Indices) -> "GramStack":
        """Return the stack on the chosen samples (a view where possible)."""
        from multikernel.gram.views import RestrictedStack

        return RestrictedStack(self, np.asarray(samples))

    def entries(self, kernel: int, rows: Indices, cols: Indices) -> Array:
        """Return some entries of one kernel, shape (n_rows, n_cols)."""
        return np.asarray(self.once(np.array([kernel])).columns(cols)[0][rows])

    # Products.

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v for every m, shape (n_kernels,).

        For v of shape (n_samples, n_outputs) the forms are summed over the outputs,
        tr(v^T K_m v). One call is one *pass*, the unit of cost of every solver.
        """
        images = self.matvec(v).reshape(self.shape[0], v.size)
        # Not BLAS, whose second thread spins for 30 ms beside what comes next.
        return np.asarray(np.einsum("mi,i->m", images, v.reshape(-1)))

    def rough_forms(self, v: Array) -> tuple[Array, Array]:
        """Return `quadratic_forms` as a first look gives them, and their errors.

        Returns
        -------
        forms, errors : ndarray of shape (n_kernels,)
            Forms that are off by these at most, double precision's rounding aside;
            errors are zero where there is no quicker way than `quadratic_forms`.
        """
        return self.quadratic_forms(v), np.zeros(self.shape[0])

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, (n_kernels, n_samples[, n_outputs])."""
        images = np.empty(coefs.shape)
        for m, own in enumerate(coefs):
            images[m] = self.once(np.array([m])).matvec(own)[0]
        return images

    def sparse_matvec(self, support: Indices, values: Array) -> Array:
        """Return K_m v for every m and a vector v with few entries other than zero.

        It costs their share of a pass: only the columns of the support, (n_entries,),
        where v has these values, (n_entries,), are looked at. The images are of shape
        (n_kernels, n_samples).
        """
        return np.asarray(self.columns(support) @ values)

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        """Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples)."""
        return self.combine(weights).columns(rows).T

    def resident_products(self, kernels: Indices) -> Products:
        """Return a function that multiplies by a few kernels again and again.

        Parameters
        ----------
        kernels : ndarray of shape (n_chosen,)
            The kernels; held as arrays from here on, unless they are very large.

        Returns
        -------
        products : callable
            Maps positions in `kernels` and one block of rows for each to the products.
        """
        n_samples = self.shape[2]
        if kernels.size * n_samples**2 <= HELD_NUMBERS:
            matrices = self.take(kernels).columns(np.arange(n_samples))
            return products_of_arrays(list(matrices))

        def products(positions: Indices, rows: Array) -> Array:
            vectors = np.ascontiguousarray(rows.transpose(0, 2, 1))
            images = self.take(kernels[positions]).block_matvec(vectors)
            return np.ascontiguousarray(images.transpose(0, 2, 1))

        return products

    def outside_products(self, rows: Indices, cols: Indices) -> Products:
        """Return a function that multiplies rows and columns of kernels by blocks.

        It maps kernels and a block for each, (n_chosen, n_cols, n_outputs), to the
        products K_m[rows, cols] blocks[m], again and again.
        """
        return products_of_cuts(lambda m: self.entries(m, rows, cols))

    # The terms of a model, f_m = K_m c_m.

    @property
    def expansion_length(self) -> int:
        """Return how many numbers give a function in the space of a kernel.

        The number of samples, where it is c of f = K c; another one where the stack
        holds K = Z Z^T and takes u of f = Z u, of as many numbers as Z has columns,
        rows filled up with zeros. It is never n_samples then: so they are told apart.
        """
        return self.shape[1]

    def own_expansions(self, coefs: Array) -> Array:
        """Return functions in the spaces of all kernels as the stack takes them.

        What gives them, (n_kernels, n_samples or length[, n_outputs]), becomes
        (n_kernels, expansion_length[, n_outputs]).
        """
        return coefs

    def term_products(self, coefs: Array) -> TermProducts:
        """Multiply every kernel by a vector of its own, for what the images add up to.

        The vectors are those of `block_matvec`, or what `own_expansions` returns.
        """
        return ImageProducts(coefs, self.block_matvec(coefs), self.diagonals())

    def term_covariances(
        self, kernels: Indices, coefs: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return squared norms of terms, and covariances with their sum.

        Parameters
        ----------
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
        images = np.empty(coefs.shape)
        step = max(1, IMAGE_BYTES // (8 * max(1, coefs[:1].size)))
        for start in range(0, kernels.size, step):
            part = slice(start, start + step)
            images[part] = self.once(kernels[part]).block_matvec(coefs[part])
        squares = np.einsum("mik,mik->km", coefs, images)
        return squares, covariances_with_sum(np.moveaxis(images, 0, 2), weights)

    # Sizes.

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        n_kernels, n_samples, _ = self.shape
        parts = column_runs(n_samples, n_kernels * n_samples)
        return np.concatenate(
            [self.columns(part)[:, part, np.arange(part.size)] for part in parts],
            axis=1,
        )

    def traces(self, shares: Array | None = None) -> Array:
        """Return the trace of every matrix, shape (n_kernels,).

        With shares of the samples, (n_samples,), it is the sum of the diagonal's
        entries times these.
        """
        diagonals = self.diagonals()
        if shares is None:
            return np.asarray(diagonals.sum(axis=1))
        return np.asarray(diagonals @ shares)

    def zero_kernels(self) -> Indices:
        """Return the kernels whose matrix is zero: those with a zero diagonal."""
        return np.flatnonzero(~np.any(self.diagonals() > 0.0, axis=1))

    def held_numbers(self) -> Array:
        """Return how many numbers each kernel is once it is held, (n_kernels,)."""
        n_kernels, n_rows, n_cols = self.shape
        return np.full(n_kernels, float(n_rows) * n_cols)

    def pass_numbers(self) -> float:
        """Return how many numbers one quadratic form of every kernel reads."""
        return float(self.held_numbers().sum())

    def row_length(self, wanted: int) -> int:
        """Return how many entries of a row are looked at where so many are wanted."""
        return wanted

    def count(  # noqa: B027 - nothing to note without a meter
        self, kernels: int, rows: int, vectors: int = 1
    ) -> None:
        """Note products that are made with what `tall_form` gave; a meter does."""

    # Factors.

    def tall_form(self) -> tuple[TallMatrix, Indices] | None:
        """Return the stack as one tall matrix Z, K_m = Z_m Z_m^T; None if it is none.

        Returns
        -------
        Z : TallMatrix
            The factors, side by side.
        offsets : ndarray of shape (n_kernels + 1,)
            The first column of every kernel, and the end.
        """
        return None

    def low_rank_form(self) -> "LowRankStack | None":
        """Return the same matrices as factors in memory; None where there are none."""
        return None

    # What the matrices leave of the kernels that they stand for.

    def residual_bounds(self, v: Array) -> Array:
        """Return what the matrices may leave of their kernels' quadratic forms at most.

        The forms of the stack plus these bounds are upper bounds on the forms of the
        kernels that it stands for: a dual point that is feasible with them is so for
        the problem over these kernels.

        Parameters
        ----------
        v : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The vector; forms are summed over outputs.

        Returns
        -------
        bounds : ndarray of shape (n_kernels,)
            Zero where matrices are held whole.
        """
        return np.zeros(self.shape[0])

    def residual_traces(self, shares: Array) -> Array:
        """Return the weighted traces of what the matrices leave, shape (n_kernels,).

        The shares, (n_samples,), are sample weights that sum to one.
        """
        return np.zeros(self.shape[0])

    def full_forms(self, kernels: Indices, v: Array) -> Array:
        """Return v^T K_m v of the kernels that some matrices stand for.

        It costs n^2 values of each where the stack holds less. For v of shape
        (n_samples,) or (n_samples, n_outputs) the forms, (n_chosen,) as the kernels
        are, are summed over outputs; not a number where they cannot be computed.
        """
        return np.full(kernels.size, np.nan)

    def refinement(self, dual: Array, goals: Mapping[int, float]) -> Refinement | None:
        """Return what to ask of `refine` so that a proof over the kernels can succeed.

        Parameters
        ----------
        dual : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            A dual point.
        goals : mapping of int to float
            For some kernels, what the bound on their residual's form of it may be.

        Returns
        -------
        refinement : Refinement or None
            In the numbers and scales of the stack that this one is a part of; None
            where matrices cannot come nearer to their kernels.
        """
        return None

    def refine(
        self, refinement: Refinement, max_bytes: int | None = None
    ) -> "GramStack | None":
        """Return a stack nearer to its kernels, None where there is none.

        Parameters
        ----------
        refinement : Refinement
            From a stack of these kernels, or of some of them.
        max_bytes : int, optional
            Limit on the bytes of the stack; half of the memory that is available now
            when left out.

        Returns
        -------
        finer : GramStack or None
        """
        return None


def support_images(gram: GramStack, v: Array) -> Array:
    """Return K_m v for every m, reading only the columns of the support of a small one.

    Parameters
    ----------
    gram : GramStack
        The kernels.
    v : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A vector; of several outputs all columns are read.

    Returns
    -------
    images : ndarray of shape (n_kernels, n_samples[, n_outputs])
    """
    support = np.flatnonzero(v) if v.ndim == 1 else np.arange(len(v))
    if support.size > FEW * len(v):
        return gram.matvec(v)
    return gram.sparse_matvec(support, v[support])


STACK = InstanceOf(GramStack, "a GramStack")
