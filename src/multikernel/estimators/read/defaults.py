"""Choose the default kernels from the shape of the data alone.

Kernels on all columns are always included. Kernels on single columns, and interactions,
are included if they are few, or if a default fit is expected to take less than `LIMIT`
seconds.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.read.samples import Samples
from multikernel.gram.costs import SMALL, STEP
from multikernel.gram.factors.growth import MOST_VALUES
from multikernel.gram.memory import readable_seconds
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Interactions,
    Kernel,
    KernelDictionary,
    LinearKernel,
    ListDictionary,
    NystroemKernel,
    median,
)
from multikernel.kernels.columns import Features, resolve_indices, select_columns
from multikernel.kernels.gaussian import MEDIAN
from multikernel.kernels.interactions import InteractionDictionary, with_interactions
from multikernel.kernels.sequence import sequence_dictionary
from multikernel.kernels.sequence.tables import NUMBERS
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

# With 300 landmarks, held-out scores on six data sets differ by 0.002 from the scores
# of exact kernels.
COMPONENTS = 300
"""Number of landmarks of a default kernel on all columns."""

# Integers in a column may be codes of categories if 3 to 16 of them are different: see
# ``benchmarks/interactions/CODES.md``.
FEWEST_CODES, MOST_CODES = 3, 16
"""Limits on the number of distinct integers in a column of possible category codes."""


# Interactions have a larger penalty than main kernels, to suppress noise. With many
# pairs, the penalty of all kernels is already large enough.
DOWNWEIGHTED_PAIRS, FULL_WEIGHT_PAIRS = Interactions(), Interactions(weight=1.0)
"""Default interactions: products of kernels on all pairs of columns."""


@dataclass(frozen=True, eq=False)
class ChosenKernels:
    """The kernels of a fit; for default kernels, also what sparse methods need."""

    # The kernels refer to columns by indices. None for precomputed kernels.
    dictionary: KernelDictionary | None
    # Whether default interactions are many, but quick to fit.
    many_pairs: bool = False
    # Whether each default kernel is on all columns, which are numbers.
    all_columns: bool = False
    # The default kernels that are omitted or approximated, and the reasons, or "".
    left_out: str = ""


def default_kernels(
    samples: Samples, X: Array, weights: Array | None, *, bounded: bool, paired: bool
) -> KernelDictionary:
    """Return the default kernels on columns of numbers and on each text column."""
    # Interactions are added by `with_pairs`. `bounded` and `paired` are arguments
    # of `choose_kernels`.
    layout, limit, n_columns = samples.table.layout, FEW_KERNELS, X.shape[1]
    n_defaults = len(median.MULTIPLES) + 1 + n_columns * len(median.COLUMN_MULTIPLES)
    if paired and n_defaults > limit and is_affordable(samples):
        limit += n_columns
    build = partial(
        default_dictionary,
        sample_weight=weights,
        bounded=bounded,
        limit=limit,
        equality=paired,
    )
    if not samples.table.has_text:
        return build(X)
    table_index = {column: index for index, column in enumerate(layout.numeric)}
    numeric, sequences = layout.kinds[NUMBERS], layout.sequences
    kernels: list[Kernel] = []
    if numeric:
        among_numbers = Features(len(numeric))
        number_table = X[:, [table_index[c] for c in numeric]]
        for kernel in build(number_table).kernels:
            if isinstance(kernel, ColumnKernel):
                indices = resolve_indices(kernel.columns, among_numbers)
                kernel = ColumnKernel(kernel.kernel, [numeric[c] for c in indices])
            kernels.append(kernel)
    # A constant column of categories gets no kernel; nor does one of numbers.
    varying = [c for c in layout.categories if np.ptp(X[:, table_index[c]]) > 0.0]
    kernels += [ColumnKernel(CategoryKernel(), column) for column in varying]
    for index, column in enumerate(sequences):
        texts = X[:, len(layout.numeric) + index :: len(sequences)]
        for kernel in sequence_dictionary(texts).kernels:
            is_only_column = layout.features.number == 1
            kernels.append(kernel if is_only_column else ColumnKernel(kernel, column))
    if not kernels:
        raise ValueError(
            "No column of X varies between samples: pass at least one column with "
            "different values."
        )
    return ListDictionary(kernels)


def default_dictionary(
    X: Array,
    sample_weight: Array | None,
    *,
    bounded: bool = False,
    limit: int = FEW_KERNELS,
    equality: bool = False,
) -> ListDictionary:
    """Return at most `limit` default kernels for X; none is linear if `bounded`."""
    # If `equality`, add kernels that test whether values are equal, on columns with few
    # values, all integers. Novelty detection (`bounded`) has no kernels on single
    # columns of wide tables: such a kernel does not detect a row that is unusual in
    # another column.
    multiples = () if bounded and X.shape[1] > 8 else median.COLUMN_MULTIPLES
    rows = median.distinct_rows(X, sample_weight)
    dictionary = median.kernels_with_widths(*rows, median.MULTIPLES, multiples, limit)
    if bounded:
        kernels = [k for k in dictionary.kernels if not isinstance(k, LinearKernel)]
        # With thousands of columns all samples are far apart, and the list of Gaussian
        # kernels is sometimes empty. A fit requires at least one kernel.
        dictionary = ListDictionary(kernels or [GaussianKernel(MEDIAN)])
    if needs_landmarks(dictionary, X):
        dictionary = ListDictionary(
            [
                NystroemKernel(kernel, COMPONENTS)
                if isinstance(kernel, GaussianKernel)
                else kernel
                for kernel in dictionary.kernels
            ]
        )
    return with_category_kernels(dictionary, X) if equality else dictionary


def with_category_kernels(dictionary: ListDictionary, X: Array) -> ListDictionary:
    """Add a `CategoryKernel` for each column that has few values, all integers."""
    columns = [k.columns for k in dictionary.kernels if isinstance(k, ColumnKernel)]
    codes = [c for c in columns if _may_be_codes(select_columns(X, c))]
    kernels = (*dictionary.kernels, *(ColumnKernel(CategoryKernel(), c) for c in codes))
    is_small = codes and len(kernels) <= FEW_KERNELS
    return ListDictionary(kernels) if is_small else dictionary


def _may_be_codes(column: Array) -> bool:
    """Return whether the values of a column may be codes of categories."""
    if not np.all(column == np.rint(column)):
        return False
    return FEWEST_CODES <= np.unique(column).size <= min(MOST_CODES, column.size // 2)


def needs_landmarks(dictionary: KernelDictionary, X: Array) -> bool:
    """Return whether the matrices of a default dictionary would be large."""
    # Kernels on fewer than four columns have low rank, so they need no landmarks.
    return X.shape[1] >= 4 and len(dictionary) * len(X) ** 2 > SMALL


def with_pairs(
    samples: Samples,
    mains: KernelDictionary,
    X: Array,
    weights: Array | None,
    *,
    paired: bool,
) -> ChosenKernels:
    """Return default kernels, with interactions if these are few or quick to fit."""
    rough = samples.table.has_text or needs_landmarks(mains, X)
    left_out = approximated(mains) if rough else ""
    few = paired and _has_few_pairs(samples, mains)
    if few or (paired and is_affordable(samples)):
        spec = DOWNWEIGHTED_PAIRS if few else FULL_WEIGHT_PAIRS
        products = with_products(samples, spec, mains, X, weights)
        if products.has_products:
            return ChosenKernels(products, many_pairs=not few, left_out=left_out)
    reasons = filter(None, (omitted(samples, mains, paired=paired), left_out))
    is_numeric_table = not samples.table.has_text and X.shape[1] > 1
    all_columns = is_numeric_table and count_column_sets(mains) == 0
    return ChosenKernels(mains, all_columns=all_columns, left_out="; ".join(reasons))


def with_products(
    samples: Samples,
    spec: Interactions,
    mains: KernelDictionary,
    X: Array,
    weights: Array | None,
) -> InteractionDictionary:
    """Return the kernels with the interactions that `spec` describes."""
    table, layout = samples.table, samples.table.layout
    features, origins = Features(X.shape[1], table.columns.names), None
    if table.has_text:
        features, origins = layout.features, layout.origins(X.shape[1])
    return with_interactions(spec, mains, X, weights, features, origins)


def _has_few_pairs(samples: Samples, mains: KernelDictionary) -> bool:
    """Return whether the interactions of all pairs of columns are few."""
    size, n_rows = count_column_sets(mains), len(samples.table.y)
    n_numbers = size * (size - 1) // 2 * n_rows
    if size > FEW_KERNELS or not 0 < n_numbers <= FEW_NUMBERS:
        return False
    # A fit with few pairs can be too slow only if each class is fitted separately.
    limit = seconds_limit(samples)
    is_quick = limit == LIMIT or fit_seconds(samples) <= limit
    return is_quick and not samples.table.layout.sequences


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
    """Describe the default Gaussian kernels with landmarks; return "" without any."""
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
    """Explain which default kernels are left out, and why; "" if none is left out."""
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
