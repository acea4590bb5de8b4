"""Normalization steps, which map each kernel K to L K L^T, and their fit."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import check_shapes
from multikernel.gram.base import GramStack
from multikernel.linalg import TINY

VANISHES = 1e-12
"""Share of a kernel's trace below which a remainder is only rounding errors."""


@dataclass(frozen=True, eq=False)
class Step:
    """One normalization step for every kernel; the base class has nothing to fit."""

    per_kernel: ClassVar[tuple[str, ...]] = ()
    """Names of the arrays with one entry for each kernel."""

    def learn(
        self, kernels: slice, stack: GramStack, forms: Array | None = None
    ) -> None:
        """Fit the step to the kernels in the slice `kernels`, which form `stack`."""
        # `forms` are w^T K_m w of the kernels in `stack` for the sample weights w, or
        # None if they are not computed yet.

    def take(self, kernels: Indices) -> Self:
        """Return the step of the chosen kernels."""
        arrays = {name: getattr(self, name)[kernels] for name in self.per_kernel}
        return replace(self, **arrays)

    def check(self, n_kernels: int, n_train: int) -> None:
        """Raise a ValueError unless the step's arrays have these sizes."""

    def apply(self, m: int, K: Array, row_diagonal: Array, diagonal: Array) -> None:
        """Normalize a matrix between new (rows) and training samples, in place."""
        # K, (n_new, n_train), and the diagonals k(x, x) of new and training samples are
        # those after the previous steps; all three change.
        raise NotImplementedError

    def learn_moments(self, m: int, moments: "Moments") -> None:
        """Fit the step to the low-rank factor of kernel m, and normalize `moments`."""


@dataclass(eq=False)
class Moments:
    """Moments of the low-rank factor Z of a training matrix, after some steps."""

    # K = Z Z^T + E with residual E, of which only the mean diagonal is known.

    rows: Array  # (rank, n_train), Z^T after the previous steps
    mean: Array  # (rank,), weighted mean of the columns of `rows`
    size: float  # weighted mean of K's diagonal
    scale: float = 1.0  # product of the scale factors
    shift: Array | None = None  # (rank,), the mean subtracted from the unscaled factor

    def multiply(self, factor: float) -> None:
        """Multiply K by a number, and Z by the square root of this number."""
        self.scale *= factor
        self.size *= factor
        if factor != 1.0:
            self.rows *= np.sqrt(factor)
            self.mean *= np.sqrt(factor)

    def center(self) -> None:
        """Subtract the mean from Z."""
        self.size -= float(self.mean @ self.mean)
        self.rows -= self.mean[:, None]
        root = np.sqrt(self.scale) if self.scale > 0.0 else 1.0
        shift = self.mean / root
        self.shift = shift if self.shift is None else self.shift + shift
        self.mean = np.zeros_like(self.mean)


@dataclass(frozen=True, eq=False)
class ScaleStep(Step):
    """A step that multiplies every kernel by a number."""

    weights: Array  # (n_train,), sample weights that sum to one
    factors: Array  # (n_kernels,), zero for a kernel that is zero
    per_kernel: ClassVar[tuple[str, ...]] = ("factors",)

    @classmethod
    def empty(cls, weights: Array, n_kernels: int) -> Self:
        """Return an unfitted step for sample weights and a number of kernels."""
        return cls(weights, np.zeros(n_kernels))

    def _check_fitted(self) -> None:
        """Raise unless the shapes of the arrays, which come from a file, agree."""
        owner, factors = type(self).__name__, (self.factors, ("n_kernels",))
        check_shapes(owner, weights=(self.weights, ("n_train",)), factors=factors)

    def check(self, n_kernels: int, n_train: int) -> None:
        """Raise unless there is a factor for every kernel."""
        check_shapes(type(self).__name__, factors=(self.factors, (n_kernels,)))

    def store(self, kernels: slice, sizes: Array) -> None:
        """Store 1 / size as the scaling factor of a kernel, or 0 if size is tiny."""
        is_invertible = sizes >= TINY  # smaller sizes have no finite inverse
        factors = self.factors[kernels]
        factors[:] = 0.0
        np.divide(1.0, sizes, out=factors, where=is_invertible)

    def apply(self, m: int, K: Array, row_diagonal: Array, diagonal: Array) -> None:
        """Multiply a matrix in place; see `Step.apply`."""
        _scale(self.factors[m], K, row_diagonal, diagonal)


class GivenScaleStep(ScaleStep):
    """Scaling by given factors, not learned from the training samples."""

    def learn_moments(self, m: int, moments: Moments) -> None:
        """Scale `moments` by the given factor of kernel m; see `Step.learn_moments`."""
        moments.multiply(float(self.factors[m]))


class MomentStep(ScaleStep, ABC):
    """Scaling by a number that is computed from a kernel's diagonal and mean entry."""

    @abstractmethod
    def sizes(self, means: Array, forms: Callable[[], Array]) -> Array:
        """Return the number by which each kernel is divided."""
        # `means` are weighted means of diagonals; `forms` returns w^T K w for sample
        # weights w.

    def learn(
        self, kernels: slice, stack: GramStack, forms: Array | None = None
    ) -> None:
        """Fit and store the scale `factors` of the chosen kernels; see `Step.learn`."""

        def known_forms() -> Array:
            return stack.quadratic_forms(self.weights) if forms is None else forms

        self.store(kernels, self.sizes(stack.traces(self.weights), known_forms))

    def learn_moments(self, m: int, moments: Moments) -> None:
        """Fit the scale of kernel m and scale `moments`; see `Step.learn_moments`."""
        mean = moments.mean
        sizes = np.array([moments.size])
        self.store(slice(m, m + 1), self.sizes(sizes, lambda: np.array([mean @ mean])))
        moments.multiply(float(self.factors[m]))


class TraceStep(MomentStep):
    """Scaling to a (weighted) mean diagonal of one: tr K = n."""

    def sizes(self, means: Array, forms: Callable[[], Array]) -> Array:
        """Return the mean diagonals."""
        return means


class VarianceStep(MomentStep):
    """Scaling to unit variance in feature space: tr K / n - 1'K1 / n^2 = 1."""

    def sizes(self, means: Array, forms: Callable[[], Array]) -> Array:
        """Return the variances, zero for a kernel that is constant."""
        variances = means - forms()
        variances[~(variances > VANISHES * means)] = 0.0
        return variances


@dataclass(frozen=True)
class CosineStep(Step):
    """Division by sqrt(k(x, x) k(x', x')); a sample with k(x, x) = 0 remains zero."""

    @classmethod
    def empty(cls, weights: Array, n_kernels: int) -> Self:
        """Return the step, which has nothing to fit."""
        return cls()

    def apply(self, m: int, K: Array, row_diagonal: Array, diagonal: Array) -> None:
        """Divide a matrix by the roots of both diagonals in place; see `Step.apply`."""
        K *= inverse_roots(diagonal)
        K *= inverse_roots(row_diagonal)[:, None]
        for values in (row_diagonal, diagonal):
            values[...] = values >= TINY


@dataclass(frozen=True, eq=False)
class CenterStep(Step):
    """A step that moves the (weighted) mean of the training samples to the origin."""

    weights: Array  # (n_train,), sample weights that sum to one
    means: Array  # (n_kernels, n_train), weighted means of the rows
    grand_means: Array  # (n_kernels,), weighted mean of `means`
    kept: Array  # (n_kernels,), zero for a constant kernel, otherwise one
    per_kernel = ("means", "grand_means", "kept")

    @classmethod
    def empty(cls, weights: Array, n_kernels: int) -> Self:
        """Return an unfitted step for sample weights and a number of kernels."""
        means = np.zeros((n_kernels, weights.size))
        return cls(weights, means, np.zeros(n_kernels), np.zeros(n_kernels))

    def _check_fitted(self) -> None:
        """Raise unless the shapes of the arrays, which come from a file, agree."""
        check_shapes(
            "CenterStep",
            weights=(self.weights, ("n_train",)),
            means=(self.means, ("n_kernels", "n_train")),
            grand_means=(self.grand_means, ("n_kernels",)),
            kept=(self.kept, ("n_kernels",)),
        )

    def check(self, n_kernels: int, n_train: int) -> None:
        """Raise unless `means` has shape (n_kernels, n_train)."""
        check_shapes("CenterStep", means=(self.means, (n_kernels, n_train)))

    def learn(
        self, kernels: slice, stack: GramStack, forms: Array | None = None
    ) -> None:
        """Store the means of some kernels; see `Step.learn`."""
        means = stack.matvec(self.weights)
        grand_means = means @ self.weights
        sizes = stack.traces(self.weights)
        self.means[kernels], self.grand_means[kernels] = means, grand_means
        self.kept[kernels] = sizes - grand_means > VANISHES * sizes

    def apply(self, m: int, K: Array, row_diagonal: Array, diagonal: Array) -> None:
        """Center a matrix in place; see `Step.apply`."""
        means = K @ self.weights
        K -= self.means[m] - self.grand_means[m]
        K -= means[:, None]
        row_diagonal += self.grand_means[m] - 2.0 * means
        diagonal += self.grand_means[m] - 2.0 * self.means[m]
        _scale(self.kept[m], K, row_diagonal, diagonal)

    def learn_moments(self, m: int, moments: Moments) -> None:
        """Fit the means of kernel m and center `moments`; see `Step.learn_moments`."""
        mean, size = moments.mean, moments.size
        self.means[m], self.grand_means[m] = mean @ moments.rows, mean @ mean
        self.kept[m] = size - self.grand_means[m] > VANISHES * size
        moments.center()
        moments.multiply(float(self.kept[m]))


def inverse_roots(diagonal: Array) -> Array:
    """Return 1 / sqrt(diagonal), zero for zero or subnormal entries; raise for nan."""
    if np.isnan(diagonal).any():
        raise ValueError(
            "normalize='cosine' requires k(x, x) of new samples, which rows of a Gram "
            "matrix do not contain. Remove 'cosine' from normalize, and divide each "
            "k(x, z) by sqrt(k(x, x) * k(z, z)) before fit and predict."
        )
    is_normal = diagonal >= float(np.finfo(np.float64).tiny)
    roots = np.sqrt(diagonal, where=is_normal, out=np.ones_like(diagonal))
    return np.where(is_normal, 1.0 / roots, 0.0)


def _scale(factor: float, *arrays: Array) -> None:
    """Multiply arrays in place unless the factor is one."""
    if factor == 1.0:
        return
    for values in arrays:
        values *= factor
