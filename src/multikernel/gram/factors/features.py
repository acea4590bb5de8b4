"""Kernels at new samples, from the factors of single kernels and of their products."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from multikernel._typing import Array
from multikernel.gram.factors.growth import MOST_VALUES, kernel_columns
from multikernel.gram.factors.landmarks import kernel_features
from multikernel.kernels.base import AroundKernel, Kernel
from multikernel.kernels.columns import ColumnKernel
from multikernel.kernels.products import CenteredKernel
from multikernel.kernels.sampled import FeatureKernel
from multikernel.linalg import EPS
from multikernel.linalg.tables import equal_shares


@dataclass(frozen=True, eq=False)
class CenteredFeatures(AroundKernel, FeatureKernel):
    """A kernel projected on the span of its landmarks, and centered."""

    # The features of x are R^-T k(L, x) - shift, with R the Cholesky factor of the
    # kernel at the landmarks L. If the kernel has explicit features, the features of x
    # are the explicit ones minus `shift`. The class approximates the centered `kernel`:
    # this kernel minus the approximation is positive semidefinite.
    kernel: Kernel
    landmarks: Array  # (rank, n_columns); no rows if the kernel has features
    triangle: Array  # R transposed
    shift: Array  # (n_features_out,)

    def features(self, X: Array) -> Array:
        """Return features, shape (n_samples, n_features_out)."""
        if len(self.landmarks):
            values = np.asarray(self.kernel(X, self.landmarks))
            features = solve_triangular(self.triangle, values.T, lower=True).T
            return np.asarray(features - self.shift)
        features = np.zeros((len(X), self.shift.size))
        kernel_values = kernel_features(self.kernel, X)
        if kernel_values is not None:
            # Shorter sequences have fewer features; missing features are zero.
            width = min(kernel_values.shape[1], self.shift.size)
            features[:, :width] = kernel_values[:, :width]
        return features - self.shift


@dataclass(frozen=True, eq=False)
class ValueFeatures(AroundKernel, FeatureKernel):
    """A centered kernel of columns with few distinct values, as exact features."""

    # U Lambda U^T is the eigendecomposition of the centered kernel matrix of the c
    # distinct values v; its rank is at most c - 1. The features of x are the row of
    # values k(x, v) times U Lambda^-1/2.
    kernel: CenteredKernel  # centered over the distinct values, weighted by frequency
    roots: Array  # (n_values, rank), U Lambda^-1/2

    def features(self, X: Array) -> Array:
        """Return features, shape (n_samples, rank)."""
        assert self.kernel.samples is not None
        return np.asarray(self.kernel(X, self.kernel.samples) @ self.roots)


def exact_at_values(kernel: Kernel, X: Array) -> Kernel | None:
    """Return a centered kernel with features exact on X; None if this is impossible."""
    # This is possible for a centered kernel of columns that have at most `MOST_VALUES`
    # distinct rows in X, if these include all rows of the centering samples.
    inner = kernel.kernel if isinstance(kernel, ColumnKernel) else None
    if not isinstance(inner, CenteredKernel) or inner.samples is None:
        return None
    assert isinstance(kernel, ColumnKernel)
    uncentered = replace(kernel, kernel=inner.kernel)
    columns = kernel_columns(uncentered, X, "", cosine=False)
    groups = columns.distinct_groups()
    if groups is None or groups[0].size > MOST_VALUES:
        return None
    values = columns.X[groups[0]]
    members = (inner.samples[:, None] == values).all(axis=2)
    if not members.any(axis=1).all():
        return None
    # A value that does not occur in the centering samples gets weight zero.
    shares = equal_shares(len(members), inner.weights) @ members
    at_values = replace(inner, samples=values, weights=shares)
    eigenvalues, vectors = np.linalg.eigh(at_values(values))
    rounding = 4.0 * len(values) * EPS * float(at_values.sizes(values).max())
    is_large = eigenvalues > rounding
    roots = vectors[:, is_large] / np.sqrt(eigenvalues[is_large])
    if not is_large.any():
        roots = np.zeros((len(values), 1))
    return replace(kernel, kernel=ValueFeatures(at_values, roots))


@dataclass(frozen=True, eq=False)
class ProductFeatures(FeatureKernel):
    """The product of two kernels that are inner products of features."""

    first: Kernel
    second: Kernel
    label: str  # the name of the product

    @property
    def name(self) -> str:
        """Return the name of the product."""
        return self.label

    def features(self, X: Array) -> Array:
        """Return all products of a feature of `first` and a feature of `second`."""
        A, B = kernel_features(self.first, X), kernel_features(self.second, X)
        assert A is not None
        assert B is not None
        return np.asarray((A[:, :, None] * B[:, None, :]).reshape(len(X), -1))

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        others = () if Y is None else (Y,)
        return np.asarray(self.first(X, *others)) * np.asarray(self.second(X, *others))
