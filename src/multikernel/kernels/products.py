"""Centered kernels, and products of kernels for interactions."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import check_shapes, check_weights
from multikernel.kernels.base import (
    AroundKernel,
    Kernel,
    check_kernel,
    kernel_diagonal,
    kernel_name,
)
from multikernel.kernels.columns import ColumnKernel, Features, resolve_kernel
from multikernel.kernels.polynomial import LinearKernel
from multikernel.linalg.tables import equal_shares, evenly_spaced

CENTERING_ROWS = 2000
"""Maximum number of centering samples; a new sample is compared with all of them."""


@dataclass(frozen=True)
class CenteredKernel(AroundKernel):
    """A kernel whose functions have mean zero over some samples.

    `samples` have the kernel's columns, (n_samples, n_features); by default, estimators
    choose at most 2000 evenly spaced training samples. `weights` of the samples sum to
    one, (n_samples,); by default they are equal.
    """

    # Centered: k(x, z) - m(x) - m(z) + sum_i w_i m(x_i), m(x) = sum_i w_i k(x, x_i).

    kernel: Kernel
    samples: Array | None = field(default=None, repr=False, compare=False)
    weights: Array | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "The kernel of a CenteredKernel")
        if self.samples is None:
            return
        axes = "n_samples", "n_features"
        check_shapes("CenteredKernel", samples=(self.samples, axes))
        check_weights(self.weights, len(self.samples))

    def learnt(self, X: Array, sample_weight: Array | None = None) -> "CenteredKernel":
        """Return a copy centered on rows of X, or self if it has `samples` already."""
        if self.samples is not None:
            return self
        return centered(self.kernel, X, sample_weight)

    def means(self, X: Array) -> Array:
        """Return the weighted mean of k(x, x_i) over samples x_i, for every row x."""
        samples, weights = self._weighted_samples
        values = self.kernel(self._shift(X), self._shift(samples))
        return np.asarray(values @ weights)

    def _shift(self, X: Array) -> Array:
        """Return X minus the mean of `samples` for a linear kernel, else X itself."""
        # The shift avoids cancellation, and does not change the centered kernel.
        if not isinstance(self.kernel, LinearKernel):
            return X
        samples, weights = self._weighted_samples
        return np.asarray(X - weights @ samples)

    @cached_property
    def _sample_means(self) -> Array:
        """Return the result of `means` for the samples themselves, (n_samples,)."""
        return self.means(self._weighted_samples[0])

    @cached_property
    def grand_mean(self) -> float:
        """Return the weighted mean of kernel values between all samples."""
        return float(self._sample_means @ self._weighted_samples[1])

    @cached_property
    def _index(self) -> dict[bytes, int]:
        """Return the position of each sample, by the bytes of the sample."""
        return {row.tobytes(): i for i, row in enumerate(self._weighted_samples[0])}

    def _find_samples(self, X: Array) -> Indices | None:
        """Return the position of each row in `samples`; None if a row is not there."""
        indices = np.array([self._index.get(row.tobytes(), -1) for row in X], np.intp)
        return None if (indices < 0).any() else indices

    @property
    def _weighted_samples(self) -> tuple[Array, Array]:
        if self.samples is None:
            raise ValueError(
                f"CenteredKernel: {self.name} has no samples for centering yet. "
                "Estimators use the training samples. To call the kernel yourself, "
                "pass the argument samples, or use the copy that its method learnt(X) "
                "returns."
            )
        return self.samples, equal_shares(len(self.samples), self.weights)

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        indices = self._find_samples(X if Y is None else Y)
        if Y is None:
            values = self.kernel(self._shift(X))
            rows = self.means(X) if indices is None else self._sample_means[indices]
            cols = rows
        elif indices is None:
            values = self.kernel(self._shift(X), self._shift(Y))
            rows, cols = self.means(X), self.means(Y)
        else:
            # All rows of Y are among `samples`. So the kernel matrix of X and `samples`
            # contains the values k(x, y), and gives the means of the rows of X.
            samples, weights = self._weighted_samples
            all_values = self.kernel(self._shift(X), self._shift(samples))
            values, rows = all_values[:, indices], all_values @ weights
            cols = self._sample_means[indices]
        # Adding the means first preserves exact symmetry.
        return np.asarray(values - (rows[:, None] + cols) + self.grand_mean)

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples_X,)."""
        indices = self._find_samples(X)
        means = self.means(X) if indices is None else self._sample_means[indices]
        values = kernel_diagonal(self.kernel, self._shift(X)) - 2.0 * means
        return np.maximum(values + self.grand_mean, 0.0)

    def sizes(self, X: Array) -> Array:
        """Return upper bounds on the sum of absolute terms of k(x, x), (n_rows,)."""
        # Centering makes k(x, x) a sum of terms that cancel, so its rounding error is
        # relative to the sum of their absolute values. This sum is at most twice the
        # uncentered k(x, x), plus twice its mean over the samples.
        samples, weights = self._weighted_samples
        diagonal = kernel_diagonal(self.kernel, self._shift(X))
        mean = float(weights @ kernel_diagonal(self.kernel, self._shift(samples)))
        return np.asarray(2.0 * (diagonal + mean))

    def __getstate__(self) -> dict[str, object]:
        computed = "grand_mean", "_sample_means", "_index"
        return {k: v for k, v in vars(self).items() if k not in computed}


def centered(kernel: Kernel, X: Array, sample_weight: Array | None) -> CenteredKernel:
    """Return a kernel centered on at most `CENTERING_ROWS` evenly spaced rows of X."""
    # `sample_weight` has one weight for each row of X; None means equal weights.
    rows = evenly_spaced(X.shape[0], CENTERING_ROWS)
    weights = None if sample_weight is None else sample_weight[rows]
    return CenteredKernel(kernel, X[rows], equal_shares(rows.size, weights))


def uncenter(kernel: Kernel) -> Kernel:
    """Return `kernel` without centering if callers can center its matrix instead."""
    inner = deferred_centering(kernel)
    if inner is None:
        return kernel
    assert isinstance(kernel, ColumnKernel)
    return replace(kernel, kernel=inner.kernel)


def deferred_centering(kernel: Kernel) -> CenteredKernel | None:
    """Return the `CenteredKernel` inside a kernel on columns, or None."""
    inner = kernel.kernel if isinstance(kernel, ColumnKernel) else None
    # Centering the matrix of a linear kernel would lose digits.
    if not isinstance(inner, CenteredKernel) or isinstance(inner.kernel, LinearKernel):
        return None
    return inner


@dataclass(frozen=True)
class ProductKernel:
    """The product of at least two kernels.

    The product of centered kernels on different columns is the kernel of their pure
    interaction: its functions have mean zero over the columns of each factor. `label`
    is the name, by default the names of the factors, joined by ×.
    """

    kernels: Sequence[Kernel]
    label: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(self.kernels))
        if len(self.kernels) < 2:
            raise ValueError(
                "A ProductKernel requires at least two kernels, got "
                f"{len(self.kernels)}."
            )
        for position, kernel in enumerate(self.kernels):
            check_kernel(kernel, f"Kernel {position} of a ProductKernel")

    @property
    def name(self) -> str:
        """Return the label, or the names of the factors."""
        return self.label or " × ".join(kernel_name(kernel) for kernel in self.kernels)

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        first, *factors = self.kernels
        product = np.array(first(X) if Y is None else first(X, Y), dtype=np.float64)
        for kernel in factors:
            product *= kernel(X) if Y is None else kernel(X, Y)
        return product

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples_X,)."""
        diagonals = [kernel_diagonal(kernel, X) for kernel in self.kernels]
        return np.asarray(np.prod(diagonals, axis=0))


@resolve_kernel.register
def _resolve_centered(kernel: CenteredKernel, features: Features) -> Kernel:
    samples = kernel.samples
    if samples is not None and samples.shape[1] != features.number:
        raise ValueError(
            f"CenteredKernel: the argument samples has {samples.shape[1]} columns, but "
            f"the kernel is used on {features.number} columns: pass samples with these "
            "columns, or omit the argument."
        )
    return replace(kernel, kernel=resolve_kernel(kernel.kernel, features))


@resolve_kernel.register
def _resolve_factors(kernel: ProductKernel, features: Features) -> Kernel:
    factors = [resolve_kernel(factor, features) for factor in kernel.kernels]
    return replace(kernel, kernels=factors)


def factors_of(kernel: Kernel) -> tuple[Kernel, ...]:
    """Return the factors of a product, or the kernel alone."""
    return tuple(kernel.kernels) if isinstance(kernel, ProductKernel) else (kernel,)
