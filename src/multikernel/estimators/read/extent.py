"""Decide by the shape of the data which kernels the default dictionary contains.

Kernels on all columns are always included. Kernels on single columns, and interactions,
are included if they are few, or if a default fit is expected to take less than `LIMIT`
seconds.
"""

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.read.samples import Samples
from multikernel.gram.costs import SMALL, STEP
from multikernel.gram.factors.growth import MOST_VALUES
from multikernel.gram.memory import readable_seconds
from multikernel.kernels import ColumnKernel, KernelDictionary, NystroemKernel
from multikernel.kernels.interactions import InteractionDictionary, mains_of
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


def can_have_pairs(samples: Samples, mains: KernelDictionary) -> bool:
    """Return whether pairs of columns are few, and a model with them quick to fit."""
    # With few pairs, a fit can be too slow only if each class is fitted separately.
    if not are_few(mains, len(samples.table.y)):
        return False
    limit = seconds_limit(samples)
    return limit == LIMIT or fit_seconds(samples) <= limit


def are_few(mains: KernelDictionary, n_rows: int) -> bool:
    """Return whether the pairs of column sets are few, for a table of `n_rows` rows."""
    # If pairs are not few, default kernels include them only if `is_affordable`.
    size = count_column_sets(mains)
    return size <= FEW_KERNELS and 0 < size * (size - 1) // 2 * n_rows <= FEW_NUMBERS


def count_column_sets(mains: KernelDictionary) -> int:
    """Return the number of different sets of columns on which there are kernels."""
    kernels = map(mains.__getitem__, range(len(mains)))
    return len({str(k.columns) for k in kernels if isinstance(k, ColumnKernel)})


def has_many_pairs(dictionary: KernelDictionary | None, n_rows: int) -> bool:
    """Return whether a default dictionary has more pairs than `are_few` allows."""
    if not isinstance(dictionary, InteractionDictionary):
        return False
    return not are_few(dictionary.mains, n_rows)


def is_on_all_columns(samples: Samples, dictionary: KernelDictionary | None) -> bool:
    """Return whether there are several columns, all numeric, each in every kernel."""
    # Precomputed kernels (None) have no columns. With interactions, there are kernels
    # on single columns and pairs.
    if dictionary is None or isinstance(dictionary, InteractionDictionary):
        return False
    is_numeric_table = not samples.table.has_text and samples.seen.shape[1] > 1
    return is_numeric_table and count_column_sets(dictionary) == 0


def left_out(
    samples: Samples, dictionary: KernelDictionary | None, *, paired: bool
) -> str:
    """Return ``fit_info_["left_out"]``: omitted default kernels and reason, or ""."""
    if samples.table.kernels is not None or dictionary is None:
        return ""
    # `paired` says whether the method supports default interactions. A method whose
    # models contain all kernels does not.
    parts = (
        _omitted_columns(samples, dictionary, paired=paired),
        _landmarks(dictionary),
    )
    return "; ".join(filter(None, parts))


def _landmarks(dictionary: KernelDictionary) -> str:
    """Return the part of `left_out` on Gaussian kernels with landmarks, or ""."""
    mains = mains_of(dictionary)
    kernels = [mains[m] for m in range(len(mains))]
    inner = [k.kernel if isinstance(k, ColumnKernel) else k for k in kernels]
    counts = [k.n_components for k in inner if isinstance(k, NystroemKernel)]
    if not counts:
        return ""
    return (
        f"exact Gaussian kernels on all columns: {max(counts)} landmarks approximate "
        f"each, because n_kernels * n_samples**2 exceeds {SMALL}"
    )


def _omitted_columns(
    samples: Samples, dictionary: KernelDictionary, *, paired: bool
) -> str:
    """Return the part of `left_out` on missing kernels on columns, or ""."""
    # The text says which kernels on single columns or pairs of columns are missing, and
    # why. It mentions pairs only if `paired`, see `left_out`.
    n_columns = len(samples.table.layout.numeric)
    if isinstance(dictionary, InteractionDictionary) or n_columns < 2:
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
