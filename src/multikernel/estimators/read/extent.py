"""Decide by the shape of the data which kernels the default dictionary contains.

Kernels on all columns are always included. Kernels on single columns, and interactions,
are included if they are few, or if a default fit is expected to take less than `LIMIT`
seconds.
"""

from enum import Enum

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.read.samples import Samples
from multikernel.gram.costs import SMALL, STEP
from multikernel.gram.factors.growth import MOST_VALUES
from multikernel.gram.memory import readable_seconds
from multikernel.kernels import ColumnKernel, KernelDictionary, NystroemKernel
from multikernel.linalg.tables import evenly_spaced

# For example, pairs are included for tables of 20 columns and up to 44 000 rows, of 100
# columns and up to 1700 rows, or of 200 columns and up to 400 rows.
FEW_KERNELS, FEW_NUMBERS = 300, 2**23
"""Limits for default interactions: number of column sets, and of pairs times rows."""

# For 400 rows, 57 to 76 columns and ten classes, this limit excludes pairs. Fits then
# took a third of the time and had the same accuracy (0.834, mean of five splits).
LIMIT = 30.0
"""Maximum expected seconds of a fit with kernels on single columns and pairs."""

# A fit needs about 19 passes to estimate the noise, and 11 to solve the problem. Fits
# of 1000 and 2000 genotypes of 1000 people took 0.6 of the expected time.
FIT_PASSES, COLUMN_SECONDS, RANK = 30, 4e-3, 20
"""Passes over all kernels in a fit; then, for the kernel on a single column, the
expected seconds of its factorization and the maximum rank of its factor."""

RANK_ROWS = 1000
"""Number of rows in which the distinct values of a column are counted."""


class Extent(Enum):
    """The sets of columns on which the kernels of a dictionary are."""

    REQUESTED = "the kernels are not the default kernels"
    ALL_COLUMNS = "each default kernel is on all columns, which are numbers"
    SINGLE_COLUMNS = "some default kernels are on single columns, none on pairs"
    FEW_PAIRS = "there are kernels on pairs of columns, which are few"
    MANY_PAIRS = "there are kernels on pairs of columns, which are quick to fit"


def extent_of_pairs(samples: Samples, mains: KernelDictionary) -> Extent:
    """Return which interactions the default kernels `mains` get."""
    size, n_rows = count_column_sets(mains), len(samples.table.y)
    has_few = size <= FEW_KERNELS and 0 < size * (size - 1) // 2 * n_rows <= FEW_NUMBERS
    if has_few and not samples.table.layout.sequences:
        # A fit with few pairs can be too slow only if each class is fitted separately.
        limit = seconds_limit(samples)
        if limit == LIMIT or fit_seconds(samples) <= limit:
            return Extent.FEW_PAIRS
    return Extent.MANY_PAIRS if is_affordable(samples) else Extent.SINGLE_COLUMNS


def extent_without_pairs(samples: Samples, dictionary: KernelDictionary) -> Extent:
    """Return the extent of default kernels without interactions."""
    is_numeric_table = not samples.table.has_text and samples.seen.shape[1] > 1
    if is_numeric_table and count_column_sets(dictionary) == 0:
        return Extent.ALL_COLUMNS
    return Extent.SINGLE_COLUMNS


def fit_seconds(samples: Samples) -> float:
    """Return the expected seconds of a default fit with all pairs of columns."""
    X, n_targets = samples.seen, 1 if samples.shared else len(samples.targets)
    n_rows, n_columns = len(samples.labels), X.shape[1]
    passes = 0.5e-9 * STEP * FIT_PASSES * n_targets * n_rows
    lower_bound = float(passes * n_columns**2 + COLUMN_SECONDS * n_columns)
    if lower_bound > LIMIT:
        return lower_bound
    return float(passes * _ranks(X).sum() ** 2 + COLUMN_SECONDS * n_columns)


def _ranks(X: Array) -> Array:
    """Return the approximate ranks of the factors of kernels on single columns."""
    sorted_columns = np.sort(X[evenly_spaced(len(X), RANK_ROWS)], axis=0)
    n_values = 1 + np.count_nonzero(sorted_columns[1:] > sorted_columns[:-1], axis=0)
    is_discrete = n_values <= min(MOST_VALUES, len(sorted_columns) // 2)
    return np.where(is_discrete, np.minimum(n_values - 1, RANK), RANK)


def is_affordable(samples: Samples) -> bool:
    """Return whether default kernels on single columns and pairs are quick to fit."""
    # Interactions are quick only if they are computed from the stored kernels on single
    # columns. This is not possible for text, or for rows of a Dask collection.
    uses_main_kernels = samples.seen is samples.X and not samples.table.layout.sequences
    return uses_main_kernels and fit_seconds(samples) <= seconds_limit(samples)


def seconds_limit(samples: Samples) -> float:
    """Return `LIMIT`, or its share for one class if classes are fitted separately."""
    separate_classes = samples.classes is not None and not samples.shared
    return LIMIT / len(samples.targets) if separate_classes else LIMIT


def count_column_sets(mains: KernelDictionary) -> int:
    """Return the number of different sets of columns on which there are kernels."""
    kernels = map(mains.__getitem__, range(len(mains)))
    return len({str(k.columns) for k in kernels if isinstance(k, ColumnKernel)})


def approximated(dictionary: KernelDictionary) -> str:
    """Return a phrase on default Gaussian kernels with landmarks; "" without any."""
    kernels = [dictionary[m] for m in range(len(dictionary))]
    inner = [k.kernel if isinstance(k, ColumnKernel) else k for k in kernels]
    counts = [k.n_components for k in inner if isinstance(k, NystroemKernel)]
    if not counts:
        return ""
    return (
        f"exact Gaussian kernels on all columns: {max(counts)} landmarks approximate "
        f"each, because n_kernels * n_samples**2 exceeds {SMALL}"
    )


def omitted(samples: Samples, dictionary: KernelDictionary, *, paired: bool) -> str:
    """Return which default kernels on columns or pairs are missing, and why, or ""."""
    # The text mentions pairs only if `paired`: a method whose models contain all
    # kernels does not support default interactions.
    n_columns = len(samples.table.layout.numeric)
    if n_columns < 2:
        return ""
    n_sets = count_column_sets(dictionary)
    if n_sets > 1 and not paired:
        return ""
    reason = f"the interactions of pairs of {n_columns} columns"
    if n_sets < 2:
        reason = f"kernels on each of {n_columns} columns" + f", and {reason}" * paired
    if not paired:
        return f"{reason}: the default dictionary has at most {FEW_KERNELS} kernels"
    seconds = readable_seconds(fit_seconds(samples))
    limit = f"{seconds_limit(samples):.2g} s"
    return f"{reason}: a fit with them would take {seconds}, and the limit is {limit}"
