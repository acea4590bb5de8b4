"""Expectations of kernels over the missing values of columns."""

from dataclasses import dataclass, replace

import numpy as np

from multikernel._typing import Array
from multikernel.kernels.base import AroundKernel, Kernel, kernel_name
from multikernel.kernels.category import CategoryKernel
from multikernel.kernels.gaussian import GaussianKernel
from multikernel.kernels.polynomial import LinearKernel

KINDS = (GaussianKernel, LinearKernel, CategoryKernel)
"""Kernels whose expectations have a closed form."""


@dataclass(frozen=True)
class ExpectedKernel(AroundKernel):
    """The expectation of a kernel over the missing values (NaN) of both samples.

    Each missing value is drawn independently: from a normal distribution with the mean
    and variance of its column, or from the shares of the categories. `kernel` is a
    `GaussianKernel`, `LinearKernel` or `CategoryKernel`. Estimators set `learnt`, a
    tuple per column: its mean and variance, or the shares of its categories.
    """

    # In the Gaussian kernel of width s, column j with mean m and variance v has a
    # factor: exp(-(x - x')^2 / (2 s^2)) if both samples have a value, sqrt(s^2 / (s^2 +
    # v)) exp(-(x - m)^2 / (2 (s^2 + v))) if only one sample has a value x, and
    # sqrt(s^2 / (s^2 + 2 v)) if no sample has a value. This is the kernel of
    # Śmieja, Struski, Tabor, Marzec (2019, Knowledge-Based Systems 173, 150-162) before
    # normalization, with uncorrelated columns. The linear kernel replaces missing
    # values by m.

    kernel: Kernel
    learnt: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        if type(self.kernel) not in KINDS:
            raise TypeError(
                f"{kernel_name(self.kernel)} does not support missing values: use "
                "GaussianKernel, LinearKernel or CategoryKernel."
            )

    def learnt_from(
        self, X: Array, sample_weight: Array | None = None
    ) -> "ExpectedKernel":
        """Return the kernel after learning the distribution of each column from X.

        `X` has the kernel's columns, with NaN for missing values. `sample_weight` has
        shape (n_samples,). Raises ValueError for a column without values.
        """
        weights = np.ones(len(X)) if sample_weight is None else sample_weight
        moments: list[tuple[float, ...]] = []
        for column_index, column in enumerate(X.T):
            is_present = ~np.isnan(column)
            values, w = column[is_present], weights[is_present]
            if not values.size:
                raise ValueError(
                    f"{self.name}: no sample has a value in column {column_index} "
                    "(counted from 0 among the columns of the kernel): remove this "
                    "column from the kernel."
                )
            if isinstance(self.kernel, CategoryKernel):
                codes = np.maximum(values, 0.0).astype(np.intp)
                shares = np.bincount(codes, w * (values >= 0.0)) / w.sum()
                moments.append(tuple(shares.tolist()))
            else:
                mean = float(np.average(values, weights=w))
                variance = float(np.average((values - mean) ** 2, weights=w))
                moments.append((mean, variance))
        return replace(self, learnt=tuple(moments))

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        if isinstance(self.kernel, CategoryKernel):
            return self._category_gram(X, X if Y is None else Y)
        means, variances = np.array(self._moments()).T
        rows = _Centered(X, means)
        columns = rows if Y is None else _Centered(Y, means)
        if isinstance(self.kernel, LinearKernel):
            return self.kernel(rows.filled, None if Y is None else columns.filled)
        assert isinstance(self.kernel, GaussianKernel)
        K = self._log_gram(rows, columns, self.kernel.width**2, variances)
        if Y is None:
            np.fill_diagonal(K, self._log_diagonal(rows.missing, variances))
        return np.exp(K, out=K)

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples,)."""
        if isinstance(self.kernel, GaussianKernel):
            variances = np.array(self._moments())[:, 1]
            missing = np.isnan(X).astype(np.float64)
            return np.exp(self._log_diagonal(missing, variances))
        if isinstance(self.kernel, LinearKernel):
            means = np.array(self._moments())[:, 0]
            return self.kernel.diag(_Centered(X, means).filled)
        squares = np.array([np.square(shares).sum() for shares in self._moments()])
        return np.asarray(np.where(np.isnan(X), squares, 1.0).mean(axis=1))

    def _moments(self) -> tuple[tuple[float, ...], ...]:
        if self.learnt is None:
            raise ValueError(
                f"{self.name} has not learned the distribution of missing values. "
                "Estimators learn it from the training samples. To call the kernel "
                "yourself, use the copy that its method learnt_from(X) returns."
            )
        return self.learnt

    def _log_diagonal(self, missing: Array, variances: Array) -> Array:
        """Return log k(x, x) for every sample, shape (n_samples,)."""
        assert isinstance(self.kernel, GaussianKernel)
        squared_width = self.kernel.width**2
        return -0.5 * (missing @ np.log1p(2.0 * variances / squared_width))

    @staticmethod
    def _log_gram(
        rows: "_Centered", columns: "_Centered", squared_width: float, variances: Array
    ) -> Array:
        """Return log k for all pairs of samples, shape (n_rows, n_columns)."""

        def one_missing(present_in: "_Centered", missing_in: "_Centered") -> Array:
            """Return the part of -2 log k from columns that only `missing_in` lacks."""
            # The result has a row for each sample of `present_in`, and a column for
            # each sample of `missing_in`. A column adds log(1 + v / s^2) + (x - m)^2 /
            # (s^2 + v), as in the class; `values` are the differences x - m.
            wider = squared_width + variances
            terms = np.log1p(variances / squared_width) + present_in.values**2 / wider
            return np.asarray((present_in.present * terms) @ missing_in.missing.T)

        squares = (rows.values**2) @ columns.present.T
        squares += rows.present @ (columns.values**2).T
        squares -= 2.0 * (rows.values @ columns.values.T)
        K = np.maximum(squares, 0.0, out=squares)
        K /= squared_width
        if rows.missing.any() or columns.missing.any():
            K += one_missing(rows, columns) + one_missing(columns, rows).T
            # The product of both roots is the term of a column that both samples lack.
            roots = np.sqrt(np.log1p(2.0 * variances / squared_width))
            K += (rows.missing * roots) @ (columns.missing * roots).T
        K *= -0.5
        return K

    def _category_gram(self, X: Array, Y: Array) -> Array:
        """Return the expected share of equal columns for all pairs of samples."""
        K = np.zeros((X.shape[0], Y.shape[0]))
        for x, y, category_shares in zip(X.T, Y.T, self._moments(), strict=True):
            shares = np.array(category_shares)
            x_missing, y_missing = np.isnan(x), np.isnan(y)
            K += x[:, None] == y[None, :]
            K += np.outer(_category_shares(x, shares), y_missing)
            K += np.outer(x_missing, _category_shares(y, shares))
            K += np.outer(x_missing, y_missing) * np.square(shares).sum()
        K /= X.shape[1]
        return K


class _Centered:
    """Samples minus column means, with zeros and a mask for missing values."""

    def __init__(self, X: Array, means: Array) -> None:
        is_missing = np.isnan(X)
        self.values: Array = np.where(is_missing, 0.0, X - means)
        self.filled: Array = np.where(is_missing, means, X)
        self.missing: Array = is_missing.astype(np.float64)
        self.present: Array = 1.0 - self.missing


def _category_shares(codes: Array, shares: Array) -> Array:
    """Return the share of each sample's category; zero if it is unknown or missing."""
    is_known = (codes >= 0.0) & (codes < shares.size)
    indices = np.where(is_known, codes, 0.0).astype(np.intp)
    return np.asarray(np.where(is_known, shares[indices], 0.0))


def fill_gaps(X: Array) -> Array:
    """Return X with the NaN of a column replaced by quantiles of its other values."""
    # If several values are missing, the quantiles are evenly spaced and in random
    # order. Columns without any value get zeros.
    is_missing = np.isnan(X)
    if not is_missing.any():
        return X
    # Filling in sorted order makes the result independent of the samples' order.
    filled, order = X.copy(), np.lexsort(X.T[::-1])
    rng = np.random.default_rng(0)
    for column in np.flatnonzero(is_missing.any(axis=0)):
        rows = order[is_missing[order, column]]
        values = X[~is_missing[:, column], column]
        ranks = (rng.permutation(rows.size) + 0.5) / rows.size
        imputed = np.quantile(values, ranks, method="nearest") if values.size else 0.0
        filled[rows, column] = imputed
    return filled
