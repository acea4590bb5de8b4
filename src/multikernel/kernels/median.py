"""Median distances, and the default dictionary."""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import islice

import numpy as np
from scipy.spatial.distance import pdist

from multikernel._typing import Array
from multikernel._validation import (
    COUNT,
    POSITIVE,
    check_parameter,
    check_table,
    check_weights,
)
from multikernel.exceptions import DictionaryWarning, warn_user
from multikernel.kernels.base import MEMORIZES, Kernel, off_diagonal_ratio
from multikernel.kernels.columns import ColumnKernel
from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.gaussian import WIDTHS, GaussianKernel
from multikernel.kernels.polynomial import LinearKernel
from multikernel.linalg.tables import evenly_spaced

MULTIPLES = (0.5, 1.0, 2.0)
"""Widths on all columns jointly, in median distances."""

# With one width, mean scores on 14 data sets were higher by 0.011 than without kernels
# on single columns, and by 0.003 than with three widths (``benchmarks/defaults``,
# "Dictionaries").
COLUMN_MULTIPLES = (1.0,)
"""Widths on each column, in median distances."""

ROUNDING = 1e-12
"""Relative difference up to which distances are considered equal."""


def _expect_widths(value: object) -> str | None:
    """Return a description of valid widths, or None if the value is valid."""
    if (
        isinstance(value, Sequence)
        or (isinstance(value, np.ndarray) and value.ndim == 1)
    ) and all(POSITIVE(multiple) is None for multiple in value):
        return None
    return "a sequence of positive numbers"


def median_dictionary(
    X: Array,
    *,
    sample_weight: Array | None = None,
    multiples: Sequence[float] = MULTIPLES,
    column_multiples: Sequence[float] = COLUMN_MULTIPLES,
    max_kernels: int = 300,
) -> ListDictionary:
    """Return the default kernels (``kernels=None``), without interactions.

    These are a linear kernel, and Gaussian kernels on all columns jointly and on each
    column, whose widths are multiples of the median distance between different samples.
    Constant columns, and copies of other columns up to sign, scale and shift, get no
    kernel; columns of two values get one kernel each. Kernels that only memorize the
    samples (`off_diagonal_ratio`) are omitted.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Training samples. Standardize columns of different scales.
    sample_weight : ndarray of shape (n_samples,), optional
        Weights of the samples in the medians.
    multiples, column_multiples : sequence of float, default=(0.5, 1.0, 2.0), (1.0,)
        Widths on all columns jointly and on each column, in median distances.
    max_kernels : int, default=300
        Maximum number of kernels. Above it, each column keeps only the width nearest to
        its median distance, or no kernel if there are still too many.

    Warns
    -----
    DictionaryWarning
        If kernels were omitted because of `max_kernels`.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels import kernel_names, median_dictionary
    >>> X = np.column_stack([np.arange(4.0), [0.0, 1.0, 0.0, 1.0]])
    >>> kernel_names(median_dictionary(X, multiples=[1.0]))[1:]
    ['gaussian(sigma=1.71)', 'gaussian(sigma=1.5)[x0]', 'gaussian(sigma=1)[x1]']
    """
    owner = "median_dictionary"
    check_parameter(owner, "multiples", multiples, _expect_widths)
    check_parameter(owner, "column_multiples", column_multiples, _expect_widths)
    check_parameter(owner, "max_kernels", max_kernels, COUNT)
    table = _checked_rows(owner, X, sample_weight)
    return kernels_with_widths(*table, multiples, column_multiples, max_kernels)


def kernels_with_widths(
    rows: Array,
    weights: Array,
    n_rows: int,
    multiples: Sequence[float],
    column_multiples: Sequence[float],
    max_kernels: int,
) -> ListDictionary:
    """Return default kernels; warn if `max_kernels` limits those on single columns."""
    # `rows`, `weights` and `n_rows` are the results of `distinct_rows`.
    shares = _pair_shares(weights)
    joint = [LinearKernel(), *_gaussians(rows, weights, shares, multiples, n_rows)]
    columns = distinct_columns(rows)
    if len(columns) == 1:
        # With one varying column, `joint` already contains its kernels.
        return ListDictionary(joint)
    max_on_columns = max(max_kernels - len(joint), 0)
    nearest = sorted(column_multiples, key=lambda multiple: abs(np.log(multiple)))[:1]
    for widths in dict.fromkeys((tuple(column_multiples), tuple(nearest), ())):
        generated = (
            ColumnKernel(kernel, (column,))
            for column in (columns if widths else ())
            for kernel in _gaussians(rows[:, [column]], weights, shares, widths, n_rows)
        )
        # Stop at the first kernel above the limit, because tables may have so many
        # columns that computing all kernels would take long.
        column_kernels = list(islice(generated, max_on_columns + 1))
        if len(column_kernels) <= max_on_columns:
            break
    if len(widths) < len(column_multiples):
        scope = "one width each" if column_kernels else "no kernel of their own"
        noun = "width" if len(column_multiples) == 1 else "widths"
        warn_user(
            f"The default dictionary would have more than max_kernels={max_kernels} "
            f"kernels, with {len(column_multiples)} {noun} on each of {len(columns)} "
            f"columns, so the columns got {scope}. Pass other kernels if needed, "
            "such as per_column(kernel, n_features).",
            DictionaryWarning,
        )
    return ListDictionary([*joint, *column_kernels])


def median_distance(X: Array, sample_weight: Array | None = None) -> float:
    """Return the median distance between samples that differ, or 1 if all are equal.

    `X` has shape (n_samples, n_features) and `sample_weight` (n_samples,). By default,
    all weights are one; a sample of weight 2 counts as two equal samples. If more than
    200 samples differ, 200 of them are used, at equal intervals in the order of the
    first column.
    """
    rows, weights, _ = _checked_rows("median_distance", X, sample_weight)
    return median_row_distance(rows, weights)


def _checked_rows(
    owner: str, X: object, sample_weight: object
) -> tuple[Array, Array, int]:
    """Validate samples, and return the results of `distinct_rows`."""
    table = check_table(owner, X)
    weights = check_weights(sample_weight, table.shape[0])
    used = np.ones(len(table), dtype=bool) if weights is None else weights > 0.0
    wrong = np.argwhere(~np.isfinite(table) & used[:, None])
    if wrong.size:
        row, column = wrong[0].tolist()
        raise ValueError(
            f"{owner}: X must be finite, but is {table[row, column]} at "
            f"[{row}, {column}]: impute missing values, and replace infinite values."
        )
    if weights is not None:
        table, weights = table[used], weights[used]
    return distinct_rows(table, weights)


def median_row_distance(rows: Array, weights: Array) -> float:
    """Return the median distance between weighted rows; one if all are equal."""
    distances, shares = _distances(rows, weights, _pair_shares(weights))
    return _median(distances, shares) if distances.any() else 1.0


def _median(distances: Array, shares: Array) -> float:
    """Return the weighted median of the nonzero distances."""
    # The last entry belongs to pairs of equal samples, whose distance is zero.
    nonzero = distances[distances > 0.0]
    if np.all(shares[:-1] == shares[0]):
        # Equal weights need no sorting.
        middle = nonzero.size // 2
        values = np.partition(nonzero, middle)
        lower = values[middle] if nonzero.size % 2 else values[:middle].max()
        return 0.5 * float(lower + values[middle])
    order = np.argsort(distances)[-nonzero.size :]
    total = np.cumsum(shares[order])
    # If half of the weight ends between two distances, return their mean, as rounding
    # would choose one of them arbitrarily.
    ends = 0.5 * total[-1] * np.array([1.0 - ROUNDING, 1.0 + ROUNDING])
    return float(distances[order[np.searchsorted(total, ends)]].mean())


def rounded_width(width: float) -> float:
    """Return a width computed from distances, rounded; raise if it is out of range."""
    if WIDTHS(width) is not None:
        size = "small" if width < 1.0 else "large"
        raise ValueError(
            f"The width {width:.3g}, a multiple of the median distance between "
            f"samples, is too {size} for a Gaussian kernel: standardize the columns of "
            "X, for example with StandardScaler, or use another multiple."
        )
    # Rounded, so that the width in a kernel's name is exact.
    return float(f"{width:.3g}")


def _pair_shares(weights: Array) -> Array:
    """Return the weight of each pair of rows, divided by the weight of all pairs."""
    # A row of weight w represents w equal samples. The last entry is the total share of
    # pairs of equal samples, whose distance is zero.
    equal_pairs = 0.5 * float(weights @ (weights - 1.0))
    is_pair = ~np.tri(len(weights), dtype=bool)
    pairs = np.append(np.outer(weights, weights)[is_pair], equal_pairs)
    # The weight of all pairs is zero for a single row of weight one; otherwise it is at
    # least one.
    return np.asarray(pairs / max(pairs.sum(), 1.0))


def _distances(rows: Array, weights: Array, shares: Array) -> tuple[Array, Array]:
    """Return the distances between rows, and the shares of their pairs."""
    # `shares` are the `_pair_shares` of `weights`. Equal values of a single column with
    # many ties are merged, which changes the pairs.
    if rows.shape[1] == 1:
        values, groups = np.unique(rows[:, 0], return_inverse=True)
        if 2 * values.size <= len(rows):
            totals = np.bincount(groups, weights).astype(np.float64)
            rows, shares = values[:, None], _pair_shares(totals)
    # Divide first, because squares of large numbers overflow.
    size = float(np.abs(rows).max()) or 1.0
    distances = np.zeros(shares.size)  # the last entry: distance of equal samples
    distances[:-1] = size * pdist(rows / size)
    return distances, shares


def _gaussians(
    rows: Array,
    weights: Array,
    shares: Array,
    multiples: Sequence[float],
    n_rows: int,
) -> list[Kernel]:
    """Return Gaussian kernels whose widths are multiples of the median row distance."""
    # `shares` are the `_pair_shares` of `weights`, the weights of the rows.
    distances, shares = _distances(rows, weights, shares)
    largest = distances.max()
    if not (largest and len(multiples)):
        return []
    if largest - distances[distances > 0.0].min() <= ROUNDING * largest:
        # With a single nonzero distance, all widths give equivalent kernels.
        multiples = [1.0]
    median = _median(distances, shares)
    kernels = [GaussianKernel(rounded_width(median * m)) for m in multiples]
    # Each kernel is k(x, y) = exp(exponent |x - y|^2), with k(x, x) = 1: `values` are
    # its values at all pairs of rows, with their weighted means and deviations.
    exponents = np.array([kernel.exponent for kernel in kernels])
    values = np.exp(np.outer(exponents, distances**2))
    means = values @ shares
    spreads = np.sqrt((values - means[:, None]) ** 2 @ shares)
    ratios = off_diagonal_ratio(1.0 - means, spreads, n_rows)
    # Kernels with ratios below MEMORIZES only memorize the samples.
    return [kernels[i] for i in np.flatnonzero(ratios >= MEMORIZES)]


def distinct_columns(rows: Array) -> list[int]:
    """Return indices of columns, without constant ones and copies of earlier ones."""
    distinct, seen = [], set()
    # Columns are read in blocks, because a copy of all could exceed memory.
    for start in range(0, rows.shape[1], 1000):
        block = rows[:, start : start + 1000]
        # The difference is exact for integers, also if they are far from zero.
        shifted = (block - block.min(axis=0)).T
        varying = np.flatnonzero(shifted.any(axis=1))
        scaled = np.round(shifted[varying] / shifted[varying].max(axis=1)[:, None], 10)
        mirrored = np.round(1.0 - scaled, 10)
        for column, *variants in zip(varying.tolist(), scaled, mirrored, strict=True):
            # Columns that differ only in sign, scale and shift have the same digest.
            digest = blake2b(min(variant.tobytes() for variant in variants)).digest()
            if digest not in seen:
                seen.add(digest)
                distinct.append(start + column)
    return distinct


def distinct_rows(X: Array, sample_weight: Array | None) -> tuple[Array, Array, int]:
    """Return up to 200 distinct rows, their weights, and the count of distinct rows."""
    order = np.argsort(X[:, 0])
    first_column = X[order, 0]
    if (first_column[1:] > first_column[:-1]).all():
        # If the first column has no ties, all rows are distinct.
        weights = np.ones(len(X)) if sample_weight is None else sample_weight
    else:
        X, groups = np.unique(X, axis=0, return_inverse=True)
        weights = np.bincount(groups.ravel(), sample_weight).astype(np.float64)
        order = np.arange(len(X))
    n_rows = order.size
    # Rows are sorted by their first column, so evenly spaced rows cover its range.
    order = order[evenly_spaced(n_rows, 200)]
    weights = weights[order]
    # Dividing makes weights at least one and independent of their scale. A weight of
    # two is equivalent to two copies.
    return X[order], weights / weights.min(), n_rows
