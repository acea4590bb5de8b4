"""The kernels in SpicyMKL's inner problem: images of vectors, and the Hessian.

The image of a vector v is K v for a kernel in memory, and Z^T v for a factored K = Z
Z^T. With v_m of module `algorithm` and numbers w_m and b_m from the penalty, the
Hessian (eq. 9 of METR 2009-45) is sum_m w_m K_m + b_m^2 (K_m v_m) (K_m v_m)^T.
"""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.matrix import GramMatrix
from multikernel.linalg.column_products import (
    BlockColumns,
    ColumnProducts,
    ProductHessian,
)
from multikernel.linalg.shifted import Root
from multikernel.linalg.tables import per_kernel
from multikernel.linalg.tall import TallMatrix, padded, unpadded


def _rows(values: Array) -> Array:
    """Return values of shape (n_kernels, ...) reshaped to one row for each kernel."""
    return values.reshape(len(values), prod(values.shape[1:]))


@dataclass(frozen=True, eq=False)
class SummedHessian:
    """Matrix H: weighted kernels plus U U^T, with U = `low_rank`, (n_samples, rank)."""

    gram: GramStack
    weights: Array
    low_rank: Array | None

    @property
    def cost(self) -> float:
        """The cost of a factorization: the cube of the number of samples."""
        return float(self.gram.shape[1]) ** 3

    @cached_property
    def _matrix(self) -> GramMatrix:
        """The weighted sum of the kernels, without the term U U^T."""
        return self.gram.combine(self.weights)

    def solve(self, rhs: Array, shift: Array) -> Array:
        """Solve (H + diag(shift)) x = rhs."""
        return self._matrix.solve(rhs, shift=shift, low_rank=self.low_rank)

    def root(self, shift: Array) -> Root | None:
        """Return a root of H + diag(shift); None if H is no array or shift not > 0."""
        return self._matrix.root(shift) if np.all(shift > 0.0) else None

    def rows(self, indices: Indices) -> Array:
        """Return the rows of H with the given indices."""
        rows = self.gram.combined_rows(self.weights, indices)
        if self.low_rank is not None:
            rows += self.low_rank[indices] @ self.low_rank.T
        return rows

    def times(self, x: Array) -> Array:
        """Return the product of the weighted kernels with x, without the term U U^T."""
        return self._matrix.matvec(x)


Hessian = SummedHessian | ProductHessian
"""A positive semidefinite matrix over samples, as a sum of kernels or a product."""


@dataclass(frozen=True, eq=False)
class JointHessian:
    """Matrix over samples and outputs: H for each output, plus sum_k u_k u_k^T."""

    each: Hessian  # H, the curvature of the active kernels
    # The u_k, (rank, n_samples, n_outputs), are the curvatures of the norms, one per
    # kernel, which couple the outputs.
    low_rank: Array

    @property
    def cost(self) -> float:
        """The cost of a factorization for one output."""
        return self.each.cost

    def times(self, x: Array) -> Array:
        """Return the product with an array of shape (n_samples, n_outputs)."""
        inner = np.tensordot(self.low_rank, x, axes=2)
        return self.each.times(x) + np.tensordot(inner, self.low_rank, axes=1)


@dataclass(frozen=True, eq=False)
class ImageSpaces:
    """Function spaces of kernels, with the images K_m v of a vector v."""

    # `FactorSpaces` has the same methods with images of another shape, so callers use
    # images only through these methods.

    gram: GramStack

    def images(self, v: Array) -> Array:
        """Return the image of v, (n_samples[, n_outputs]), under every kernel."""
        return self.gram.matvec(v)

    def images_of_each(self, coefs: Array) -> Array:
        """Return the image K_m coefs[m] of each kernel m."""
        return self.gram.block_matvec(coefs)

    def expansions(self, coefs: Array, v: Array, images: Array) -> Array:
        """Return the expansion coefficients of coefs + v, whose images are `images`."""
        # Here the result is coefs + v, and `images` are not used. `FactorSpaces` has
        # the same method, whose result may be the images.
        return coefs + v

    def inner(self, images: Array, v: Array, v_images: Array) -> Array:
        """Return x_m^T K_m v for the images K_m x_m of vectors x_m, (n_kernels,)."""
        # `v` is one vector for all kernels, or has a row for each kernel. Products are
        # summed over outputs. `v_images`, the images of v, are used by `FactorSpaces`.
        rows = _rows(images)
        if v.ndim < images.ndim:
            return np.asarray(rows @ v.reshape(-1))
        return np.asarray(np.einsum("mi,mi->m", rows, v.reshape(rows.shape)))

    def scaled(self, images: Array, factors: Array) -> Array:
        """Return the image of each kernel times its factor."""
        return per_kernel(factors, images)

    def values(self, images: Array, shares: Array) -> Array:
        """Return the decision values: the sum of all images, each times its share."""
        total = shares @ _rows(images)
        return np.asarray(total.reshape(images.shape[1:]))

    def hessian(
        self, weights: Array, bends: Array, images: Array
    ) -> Hessian | JointHessian:
        """Return the Hessian of the kernels' term; `images` are K_m v_m, see below."""
        # The Hessian is sum_m w_m K_m + b_m^2 (K_m v_m) (K_m v_m)^T; `weights` are w_m,
        # and `bends` are b_m, which is zero if w_m is zero.
        active = np.flatnonzero(weights)
        low_rank = per_kernel(bends[active], images[active])
        if images.ndim == 3:
            return JointHessian(SummedHessian(self.gram, weights, None), low_rank)
        return SummedHessian(self.gram, weights, low_rank.T if active.size else None)


@dataclass(frozen=True, eq=False)
class FactorSpaces:
    """Function spaces of factored kernels; the images of v are Z_m^T v for all m."""

    # The images of all kernels are concatenated.

    gram: GramStack  # counts the products
    Z: TallMatrix  # the factors, one kernel after another
    offsets: Indices  # the first column of every kernel, and the end

    @cached_property
    def _products(self) -> "ColumnProducts":
        """The inner products of columns of Z; each is computed once."""
        return ColumnProducts(self.Z)

    @cached_property
    def _ranks(self) -> Indices:
        """The number of columns of each kernel."""
        return np.diff(self.offsets)

    @cached_property
    def _parts(self) -> list[slice]:
        """The columns of each kernel in Z."""
        return [slice(a, b) for a, b in pairwise(self.offsets.tolist())]

    def images(self, v: Array) -> Array:
        """Return Z^T v for all factors, shape (total rank[, n_outputs])."""
        self._count(vectors=v.size // len(v))
        return self.Z.inner(v)

    def images_of_each(self, coefs: Array) -> Array:
        """Return the images Z_m^T coefs[m], one kernel after another."""
        if coefs.shape[1] != self.Z.shape[0]:
            return unpadded(coefs, self._ranks)
        self._count(vectors=coefs.shape[2] if coefs.ndim == 3 else 1)
        return self.Z.inner_of_each(coefs, self._parts)

    def expansions(self, coefs: Array, v: Array, images: Array) -> Array:
        """Return the expansion coefficients of coefs + v, whose images are `images`."""
        # If `GramStack.expansion_length` is not n_samples, models store one coefficient
        # for each column of a kernel's factor Z_m instead of one for each sample. For
        # a vector v, these are its image Z_m^T v, here padded to equal length.
        length = self.gram.expansion_length
        if length == self.Z.shape[0]:
            return coefs + v
        return padded(images, self._ranks, length)

    def inner(self, images: Array, v: Array, v_images: Array) -> Array:
        """Return v^T K_m x for each kernel m, from the images Z_m^T x of a vector x."""
        # The result is the product of `images` and `v_images`, the images Z_m^T v,
        # summed over a kernel's columns.
        products = images * v_images
        sums = products if products.ndim == 1 else products.sum(axis=1)
        return np.asarray(np.add.reduceat(sums, self.offsets[:-1]))

    def scaled(self, images: Array, factors: Array) -> Array:
        """Return the image of each kernel m, multiplied by the number factors[m]."""
        return per_kernel(self._repeated(factors), images)

    def values(self, images: Array, shares: Array) -> Array:
        """Return decision values: Z times images scaled by their kernels' shares."""
        return self.Z.times(self.scaled(images, shares))

    def hessian(
        self, weights: Array, bends: Array, images: Array
    ) -> Hessian | JointHessian:
        """Return the Hessian of the kernels' term in factored form."""
        # The Hessian is sum_m w_m K_m + b_m^2 (K_m v_m) (K_m v_m)^T with K_m = Z_m
        # Z_m^T; `weights` are w_m, `bends` are b_m, and `images` are Z_m^T v_m. Only
        # kernels with nonzero weights take part.
        self._count(int(np.count_nonzero(weights)))
        active = np.flatnonzero(self._repeated(weights))
        bent = self.scaled(images, bends)
        rank_one = bent[active] if images.ndim == 1 else np.zeros(active.size)
        columns = BlockColumns(
            np.repeat(np.arange(weights.size), self._ranks)[active],
            self._repeated(weights)[active],
            rank_one,
        )
        hessian = ProductHessian(self._products, active, columns)
        if images.ndim == 1:
            return hessian
        parts = [self._parts[m] for m in np.flatnonzero(weights)]
        return JointHessian(hessian, self.Z.images(bent, parts))

    def _count(self, kernels: int | None = None, vectors: int = 1) -> None:
        """Count products of `vectors` vectors with `kernels` kernels (None: all)."""
        n_kernels, n_samples, _ = self.gram.shape
        kernels = n_kernels if kernels is None else kernels
        self.gram.count(kernels, n_samples, vectors)

    def _repeated(self, values: Array) -> Array:
        """Return one value for each column of Z: the value of the column's kernel."""
        return np.asarray(np.repeat(values, self._ranks))


KernelSpaces = ImageSpaces | FactorSpaces


def kernel_spaces(gram: GramStack) -> KernelSpaces:
    """Return `FactorSpaces` if the stack stores factors, otherwise `ImageSpaces`."""
    factors = gram.tall_form()
    return ImageSpaces(gram) if factors is None else FactorSpaces(gram, *factors)


@dataclass(eq=False)
class QuadraticModel:
    """Gradient and Hessian of the kernels' term at a dual point."""

    hessian: Hessian | JointHessian  # joint for several outputs
    gradient: Array  # decision values, intercept included
    # The sum of the dual point's entries for every output, which must become zero; None
    # without an intercept.
    excess: Array | None
    _rows: Array = field(init=False)
    _places: Indices = field(init=False)  # row of each sample in `_rows`, or -1

    def __post_init__(self) -> None:
        self._rows = np.empty((0, len(self.gradient)))
        self._places = np.full(len(self.gradient), -1)

    def rows(self, indices: Indices) -> Array:
        """Return rows of the Hessian; each row is computed once."""
        assert not isinstance(self.hessian, JointHessian)
        new = indices[self._places[indices] < 0]
        if new.size:
            self._places[new] = self._rows.shape[0] + np.arange(new.size)
            self._rows = np.concatenate([self._rows, self.hessian.rows(new)])
        return np.asarray(self._rows[self._places[indices]])


def newton_step(
    model: QuadraticModel, pull: Array, curvature: Array
) -> tuple[Array, Array]:
    """Return Newton's step, and the changes of the intercepts, one for each output."""
    # The step minimizes the sum of `model` and a quadratic model of the loss's
    # conjugate, plus a barrier if there is one. `pull` and `curvature` are the first
    # and second derivatives of conjugate plus barrier. A LinAlgError is raised if there
    # is no step in double precision. The current intercept enters the gradient so that
    # the right-hand side, and with it the rounding error of the solve, vanishes at the
    # solution.
    residual, hessian = pull + model.gradient, model.hessian
    if isinstance(hessian, JointHessian):
        return _joint_step(hessian, residual, curvature, model.excess)
    if model.excess is None:
        return -hessian.solve(residual, curvature), np.zeros(())
    sides = np.column_stack([residual, np.ones_like(residual)])
    solved = hessian.solve(sides, curvature)
    drift = model.excess - solved[:, 0].sum()
    shift = drift / _pivot(solved[:, 1])
    return -solved[:, 0] - shift * solved[:, 1], np.asarray(shift)


def _joint_step(
    hessian: JointHessian, residual: Array, curvature: Array, excess: Array | None
) -> tuple[Array, Array]:
    """Return Newton's step of all outputs and the changes of their intercepts."""
    # `residual` is the whole gradient, and `excess` is that of `QuadraticModel`.
    # Woodbury: x = P r - P U (I + U^T P U)^-1 U^T P r, where P solves for each output
    # separately, with a prescribed sum if there is an intercept. `sides`, (n_samples,
    # n_outputs, 1 + rank), contains r and the columns u_k of U; `shifts` are the
    # changes of the intercepts that belong to each of them.
    low_rank = np.moveaxis(hessian.low_rank, 0, 2)
    sides = np.concatenate([residual[:, :, None], low_rank], axis=2)
    alike = bool((curvature == curvature[:, :1]).all())
    root = hessian.each.root(curvature[:, 0]) if alike else None
    if root is not None:
        return _halved_step(root, sides, excess)
    solved, ones = _solved_each(hessian.each, sides, curvature)
    shifts = np.zeros(solved.shape[1:])
    if excess is not None:
        sums = solved.sum(axis=0)
        sums[:, 0] -= excess
        shifts = sums / _pivot(ones)[:, None]
        solved -= ones[:, :, None] * shifts
    flat = solved.reshape(-1, solved.shape[2])
    inner = low_rank.reshape(len(flat), -1).T @ flat
    capacity = inner[:, 1:] + np.eye(len(inner))
    parts = np.concatenate([[1.0], -np.linalg.solve(capacity, inner[:, 0])])
    return -(solved @ parts), -(shifts @ parts)


def _pivot(ones: Array) -> Array:
    """Return 1^T A^-1 1 for each output from `ones`; raise unless it is positive."""
    # A is the positive definite matrix of Newton's step, and 1 a vector of ones. `ones`
    # is A^-1 1 for each output. Only rounding can make a sum negative or zero, for
    # example if kernels have values near 1e16.
    total = np.asarray(ones.sum(axis=0))
    if not (total > 0.0).all():
        raise np.linalg.LinAlgError(
            "Newton's method cannot compute the intercept, because rounding errors "
            "are too large: scale the Gram matrices down."
        )
    return total


def _halved_step(root: Root, sides: Array, excess: Array | None) -> tuple[Array, Array]:
    """Return the results of `_joint_step`, with one `root` for all outputs."""
    # The root R of the matrix of an output gives R^-1 (`halves`) of `sides`, the
    # residual r and the columns of U. Inner products b^T (R R^T)^-1 c in Woodbury's
    # formula need only R^-1 b and R^-1 c. With 100 outputs and 7 active kernels on 1000
    # samples this took 38 ms, full solutions 58 ms. With an intercept, R^-1 of each
    # side is projected orthogonally to `one`, R^-1 of a vector of ones, up to the
    # prescribed sum `excess`.
    n_samples, n_outputs, _ = sides.shape
    halves = root.half(sides.reshape(n_samples, -1)).reshape(sides.shape)
    shifts = np.zeros(sides.shape[1:])
    offset: Array | float = 0.0
    if excess is not None:
        one = root.half(np.ones((n_samples, 1)))[:, 0]
        sums = np.tensordot(one, halves, axes=1)
        offset = excess @ sums[:, 1:] / (one @ one)
        sums[:, 0] -= excess
        shifts = sums / (one @ one)
        halves -= one[:, None, None] * shifts
    flat = halves.reshape(n_samples * n_outputs, -1)
    inner = flat[:, 1:].T @ flat
    capacity = inner[:, 1:] + np.eye(len(inner))
    multipliers = np.linalg.solve(capacity, inner[:, 0] + offset)
    parts = np.concatenate([[1.0], -multipliers])
    return -root.rest(halves @ parts), -(shifts @ parts)


def _solved_each(hessian: Hessian, sides: Array, shift: Array) -> tuple[Array, Array]:
    """Return the solutions for `sides` and for a vector of ones, for each output."""
    # The matrix of output k is H + diag(shift[:, k]).
    n_samples, n_outputs, _ = sides.shape
    one = np.ones((n_samples, 1))
    if (shift == shift[:, :1]).all():
        flat = np.hstack([one, sides.reshape(n_samples, -1)])
        solved = hessian.solve(flat, shift[:, 0])
        ones = np.broadcast_to(solved[:, :1], shift.shape)
        return solved[:, 1:].reshape(sides.shape), ones
    solved, ones = np.empty_like(sides), np.empty_like(shift)
    for k in range(n_outputs):
        solution = hessian.solve(np.hstack([one, sides[:, k]]), shift[:, k])
        ones[:, k], solved[:, k] = solution[:, 0], solution[:, 1:]
    return solved, ones
