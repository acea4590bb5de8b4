r"""What SpicyMKL's inner iteration makes of vectors: their images under every kernel.

A kernel in memory makes K v of a vector v, of n_samples numbers. One that is held as a
factor, :math:`K = Z Z^\top`, makes :math:`Z^\top v`, of as many numbers as its rank:
norms are those of these numbers, and with total active rank R a system

.. math:: \Bigl(\sum_m Z_m B_m Z_m^\top + D\Bigr) x = r, \qquad
    B_m = w_m I + u_m u_m^\top,

costs :math:`n R^2` by the Woodbury identity, or the cube of n where n is less than R.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramMatrix, GramStack
from multikernel.gram.factors import low_rank_form
from multikernel.gram.low_rank import LowRankStack
from multikernel.gram.metered import MeteredStack
from multikernel.gram.products import combined_rows, images_of_sparse
from multikernel.linalg.shifted import solve_shifted
from multikernel.linalg.weighted import gathered, weighted_gram
from multikernel.solvers.spicy.quadratic_model import Hessian
from multikernel.solvers.spicy.tuning import FEW_IN_STEP, KEPT


class KernelSpaces(Protocol):
    """The spaces of some kernels; images are arrays that only they understand."""

    def images(self, v: Array) -> Array:
        """Return what every kernel makes of one vector, shape (n_samples,)."""
        ...

    def images_of_each(self, coefs: Array) -> Array:
        """Return what every kernel makes of its own row."""
        ...

    def inner(self, images: Array, v: Array, v_images: Array) -> Array:
        """Return inner products with v, one for all kernels or a row for each.

        Images must be those of one row for each, or `v` one vector for all.
        """
        ...

    def scaled(self, images: Array, factors: Array) -> Array:
        """Return images, those of every kernel multiplied by a factor."""
        ...

    def values(self, images: Array, shares: Array) -> Array:
        """Return the decision values of shares of what the images stand for."""
        ...

    def hessian(self, weights: Array, bends: Array, images: Array) -> Hessian:
        r"""Return :math:`\sum_m w_m K_m + b_m^2 (K_m v_m) (K_m v_m)^\top`.

        Parameters
        ----------
        weights, bends : ndarray of shape (n_kernels,)
            The weights w, and the multiples b; these are zero where w is.
        images : ndarray
            Of a vector v for each kernel.
        """
        ...


def kernel_spaces(gram: GramStack) -> KernelSpaces:
    """Return the spaces of the kernels of a stack.

    Parameters
    ----------
    gram : GramStack
        Few kernels, of which much is asked.

    Returns
    -------
    spaces : KernelSpaces
        By ranks where the stack holds factors.
    """
    factors = low_rank_form(gram.stack if isinstance(gram, MeteredStack) else gram)
    return ImageSpaces(gram) if factors is None else FactorSpaces(gram, factors)


@dataclass(frozen=True, eq=False)
class ImageSpaces:
    """Spaces that are met through images K_m v, shape (n_kernels, n_samples).

    Parameters
    ----------
    gram : GramStack
        The kernels.
    """

    gram: GramStack

    def images(self, v: Array) -> Array:
        """Return K_m v; only some columns are looked at if v has few entries."""
        entries = np.flatnonzero(v)
        if entries.size <= FEW_IN_STEP * v.size:
            return images_of_sparse(self.gram, entries, v[entries])
        return self.gram.matvec(v)

    def images_of_each(self, coefs: Array) -> Array:
        """Return K_m coefs[m]."""
        return self.gram.block_matvec(coefs)

    def inner(self, images: Array, v: Array, v_images: Array) -> Array:
        """Return v^T K_m v' from the images K_m v'."""
        if v.ndim == 1:
            return np.asarray(images @ v)
        return np.asarray(np.einsum("mi,mi->m", images, v))

    def scaled(self, images: Array, factors: Array) -> Array:
        """Multiply the rows."""
        return factors[:, None] * images

    def values(self, images: Array, shares: Array) -> Array:
        """Add up the rows."""
        return np.asarray(shares @ images)

    def hessian(self, weights: Array, bends: Array, images: Array) -> Hessian:
        """Return the weighted sum of the kernels; it is added up where it is used."""
        bent = np.flatnonzero(weights)
        low_rank = (bends[bent, None] * images[bent]).T if bent.size else None
        return SummedHessian(self.gram, weights, low_rank)


@dataclass(frozen=True, eq=False)
class SummedHessian:
    """A weighted sum of kernels, and a product U U^T.

    Parameters
    ----------
    gram : GramStack
        The kernels.
    weights : ndarray of shape (n_kernels,)
        Their weights.
    low_rank : ndarray of shape (n_samples, rank) or None
        The factor U.
    """

    gram: GramStack
    weights: Array
    low_rank: Array | None

    @property
    def cost(self) -> float:
        """Return the cube of the number of samples."""
        return float(self.gram.shape[1]) ** 3

    @cached_property
    def _matrix(self) -> GramMatrix:
        return self.gram.combine(self.weights)

    def solve(self, rhs: Array, shift: Array) -> Array:
        """Solve (H + diag(shift)) x = rhs."""
        return self._matrix.solve(rhs, shift=shift, low_rank=self.low_rank)

    def rows(self, indices: Indices) -> Array:
        """Return some rows of H."""
        rows = combined_rows(self.gram, self.weights, indices)
        if self.low_rank is not None:
            rows += self.low_rank[indices] @ self.low_rank.T
        return rows


@dataclass(frozen=True, eq=False)
class FactorSpaces:
    """Spaces that are met through coordinates Z_m^T v, all in one row.

    Parameters
    ----------
    gram : GramStack
        The kernels; if it is metered it counts what is read.
    factors : LowRankStack
        The same kernels.
    """

    gram: GramStack
    factors: LowRankStack

    @cached_property
    def _products(self) -> "ColumnProducts":
        return ColumnProducts(self.factors.left)

    def images(self, v: Array) -> Array:
        """Return Z^T v."""
        self._count()
        return np.asarray(v @ self.factors.left)

    def images_of_each(self, coefs: Array) -> Array:
        """Return Z_m^T coefs[m], one after another."""
        self._count()
        images, ends = np.zeros(self.factors.left.shape[1]), self.factors.offsets
        for m in np.flatnonzero(coefs.any(axis=1)):
            part = slice(ends[m], ends[m + 1])
            images[part] = coefs[m] @ self.factors.left[:, part]
        return images

    def inner(self, images: Array, v: Array, v_images: Array) -> Array:
        """Return sums of products over the columns of every kernel."""
        return self._sums(images * v_images)

    def scaled(self, images: Array, factors: Array) -> Array:
        """Multiply the entries of every kernel."""
        return self._repeated(factors) * images

    def values(self, images: Array, shares: Array) -> Array:
        """Return Z times the coordinates."""
        return np.asarray(self.factors.left @ self.scaled(images, shares))

    def hessian(self, weights: Array, bends: Array, images: Array) -> Hessian:
        """Return the sum as a product of the active columns with themselves."""
        ranks = self.factors.ranks
        self._count(int(np.count_nonzero(weights)))
        columns = np.flatnonzero(self._repeated(weights))
        active = np.flatnonzero(weights)
        roots, bent = np.sqrt(weights[active]), self._repeated(bends) * images
        squares = self._sums(bent * bent)[active]
        # The root of w I + u u^T is r I + t u u^T with r = w^(1/2) and
        # t = 1 / ((w + |u|^2)^(1/2) + r).
        extra = 1.0 / (np.sqrt(weights[active] + squares) + roots)
        offsets = np.concatenate([[0], np.cumsum(ranks[active])])
        root = _BlockRoot(
            np.repeat(roots, ranks[active]),
            bent[columns],
            np.repeat(extra, ranks[active]),
            offsets[:-1],
            ranks[active],
        )
        return ProductHessian(self._products, columns, root)

    def _count(self, kernels: int | None = None) -> None:
        """Count a product with some kernels, of which Z^T v is the dear half."""
        if isinstance(self.gram, MeteredStack):
            n_kernels, n_samples, _ = self.gram.shape
            self.gram.count(n_kernels if kernels is None else kernels, n_samples)

    def _sums(self, values: Array) -> Array:
        return np.asarray(np.add.reduceat(values, self.factors.offsets[:-1]))

    def _repeated(self, values: Array) -> Array:
        return np.asarray(np.repeat(values, self.factors.ranks))


@dataclass(frozen=True, eq=False)
class _BlockRoot:
    """A symmetric matrix of blocks a I + t u u^T, the root of the B_m."""

    scale: Array  # a, for every column
    bend: Array  # u
    extra: Array  # t, for every column
    starts: Indices
    ranks: Indices

    def times(self, matrix: Array) -> Array:
        """Return the product with a matrix of as many rows as there are columns."""
        inner = np.add.reduceat(self.bend[:, None] * matrix, self.starts, axis=0)
        along = np.repeat(inner, self.ranks, axis=0)
        along *= (self.extra * self.bend)[:, None]
        return np.asarray(self.scale[:, None] * matrix + along)


@dataclass(frozen=True, eq=False)
class ProductHessian:
    """A matrix A T T A^T, where A is some columns of a tall Z and T of small blocks.

    Parameters
    ----------
    products : ColumnProducts
        Of the columns of all kernels.
    columns : ndarray of shape (rank,)
        Those of active ones.
    root : _BlockRoot
        The matrix T.
    """

    products: "ColumnProducts"
    columns: Indices
    root: _BlockRoot

    @property
    def cost(self) -> float:
        """Return what the smaller of the two systems costs."""
        n_samples, rank = self.products.Z.shape[0], self.columns.size
        return float(n_samples * rank * min(n_samples, rank))

    def solve(self, rhs: Array, shift: Array) -> Array:
        """Solve (H + diag(shift)) x = rhs by the smaller system."""
        n_samples, rank = self.products.Z.shape[0], self.columns.size
        if rank >= n_samples or not np.all(shift > 0.0):
            product = self._factor @ self._factor.T
            return solve_shifted(product, rhs, shift, None)
        sides = rhs if rhs.ndim == 2 else rhs[:, None]
        weights = 1.0 / shift
        G, inner = self.products(weights, self.columns, sides)
        # T G T is symmetric, so either side may come first.
        system = self.root.times(self.root.times(G).T)
        ones = np.ones(rank)
        solved = solve_shifted(system, self.root.times(inner), ones, None)
        x = sides - self._expanded(self.root.times(solved))
        x *= weights[:, None]
        return np.asarray(x.reshape(rhs.shape))

    def rows(self, indices: Indices) -> Array:
        """Return some rows of H."""
        some = gathered(self.products.Z[indices], self.columns)
        return self._expanded(self.root.times(self.root.times(some.T))).T

    @cached_property
    def _factor(self) -> Array:
        """Return A T, no larger than A."""
        return np.ascontiguousarray(
            self.root.times(gathered(self.products.Z, self.columns).T).T
        )

    def _expanded(self, coordinates: Array) -> Array:
        """Return A times a matrix."""
        every = np.zeros((self.products.Z.shape[1], coordinates.shape[1]))
        every[self.columns] = coordinates
        return np.asarray(self.products.Z @ every)


@dataclass(eq=False)
class ColumnProducts:
    """Products of columns under weights, kept while the weights stay the same.

    Those of the squared loss always do: then all columns are multiplied once.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_columns)
        The columns.
    """

    Z: Array
    _last: Array = field(init=False)  # weights, the largest of which is one
    _kept: Array | None = None

    def __post_init__(self) -> None:
        self._last = np.ones(self.Z.shape[0])

    def __call__(
        self, weights: Array, columns: Indices, sides: Array
    ) -> tuple[Array, Array]:
        """Return A^T diag(w) A and A^T diag(w) B for some columns A of Z.

        Parameters
        ----------
        weights : ndarray of shape (n_samples,)
            The weights w.
        columns : ndarray of shape (rank,)
            The columns of A.
        sides : ndarray of shape (n_samples, n_sides)
            The matrix B.
        """
        largest = float(weights.max())
        scaled = weights / largest
        if not np.array_equal(scaled, self._last):
            self._last, self._kept = scaled, None
            return weighted_gram(self.Z, weights, columns, sides)
        every = np.arange(self.Z.shape[1])
        if every.size > KEPT * columns.size:
            return weighted_gram(self.Z, weights, columns, sides)
        if self._kept is None:
            self._kept, _ = weighted_gram(self.Z, scaled, every, sides)
        inner = (self.Z.T @ (weights[:, None] * sides))[columns]
        return largest * self._kept[np.ix_(columns, columns)], inner
