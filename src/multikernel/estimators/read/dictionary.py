"""Choose the kernels: those of ``kernels``, or default kernels for the data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import DAMAGED_FIT, shown
from multikernel.estimators.read import extent
from multikernel.estimators.read.extent import Extent
from multikernel.estimators.read.kinds import refuse_identifiers
from multikernel.estimators.read.learnt import learnt_dictionary
from multikernel.estimators.read.precomputed import check_gram_names
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.read.tables import (
    EXPECTED_KERNELS,
    NO_KERNEL,
    is_dictionary,
    is_precomputed,
)
from multikernel.exceptions import DictionaryWarning, warn_user
from multikernel.gram.costs import SMALL
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Kernel,
    KernelDictionary,
    LinearKernel,
    ListDictionary,
    NystroemKernel,
    Views,
    interactions,
    kernel_name,
    kernel_names,
    median,
    resolve_columns,
)
from multikernel.kernels.columns import Features, resolve_indices, select_columns
from multikernel.kernels.dictionary import unique_names
from multikernel.kernels.expected import fill_gaps
from multikernel.kernels.gaussian import MEDIAN
from multikernel.kernels.sequence import sequence_dictionary
from multikernel.kernels.sequence.tables import NUMBERS, Layout
from multikernel.kernels.views import View, ViewDictionary
from multikernel.linalg.tables import evenly_spaced, find_memmap

# With 300 landmarks, held-out scores on six data sets differ by 0.002 from those of
# exact kernels.
COMPONENTS = 300
"""Number of landmarks of a default kernel on all columns."""

# Integers in a column may be codes of categories if 3 to 16 of them are different: see
# ``benchmarks/interactions/CODES.md``.
FEWEST_CODES, MOST_CODES = 3, 16
"""Limits on the number of distinct integers in a column of possible category codes."""

LEARNT_ROWS = 100_000
"""Maximum number of rows to which kernels are fitted, if the table is in a file."""


# Interactions have a larger penalty than main kernels, to suppress noise. With many
# pairs, the penalty of all kernels is already large enough.
PAIRS: Mapping[Extent, interactions.Interactions] = {
    Extent.FEW_PAIRS: interactions.Interactions(),
    Extent.MANY_PAIRS: interactions.Interactions(weight=1.0),
}
"""Default interactions: products of kernels on all pairs of columns."""


@dataclass(frozen=True, eq=False)
class ChosenKernels:
    """The kernels of a fit, and what the default kernels contain."""

    # The kernels refer to columns by indices. None for precomputed kernels.
    dictionary: KernelDictionary | None
    extent: Extent = Extent.REQUESTED
    # The default kernels that are omitted or approximated, and the reasons, or "".
    left_out: str = ""


@dataclass(frozen=True)
class KernelNames:
    """The names of all kernels, computed on request."""

    # None for precomputed matrices.
    dictionary: KernelDictionary | None
    n_kernels: int
    # Names of precomputed matrices; None to number them.
    given: tuple[str, ...] | None = None
    # Labels of the samples of precomputed matrices; None if they have none.
    samples: tuple[str, ...] | None = None

    def _check_fitted(self) -> None:
        """Raise unless the numbers of kernels and names, read from a file, agree."""
        dictionary = self.dictionary
        if dictionary is not None and len(dictionary) != self.n_kernels:
            raise ValueError(
                f"KernelNames: n_kernels is {self.n_kernels}, but the dictionary has "
                f"{len(dictionary)} kernels. {DAMAGED_FIT}"
            )
        if self.given is not None:
            check_gram_names(self.given, self.n_kernels)

    def __call__(self, indices: Sequence[int] | None = None) -> list[str]:
        """Return the names of the kernels at `indices`, by default of all kernels."""
        if self.dictionary is not None:
            return kernel_names(self.dictionary, indices)
        kernel_indices = range(self.n_kernels) if indices is None else indices
        if self.given is not None:
            return [self.given[index] for index in kernel_indices]
        return [f"gram {index}" for index in kernel_indices]

    def plain(self) -> list[str]:
        """Return all names, with x0, x1, ... for columns that pipeline steps return."""
        return self()

    @property
    def views(self) -> tuple[str, ...] | None:
        """The name of every kernel's view; None if there are no views."""
        views: Sequence[str] | None = getattr(self.dictionary, "views", None)
        return None if views is None else tuple(views)

    @cached_property
    def everything(self) -> tuple[str, ...]:
        """The names of all kernels, cached."""
        return tuple(self())

    def __getstate__(self) -> dict[str, Any]:
        # Model files do not store the cached names.
        return {k: v for k, v in vars(self).items() if k != "everything"}


def default_dictionary(
    X: Array,
    sample_weight: Array | None,
    *,
    bounded: bool = False,
    limit: int = extent.FEW_KERNELS,
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
    if _needs_landmarks(dictionary, X):
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
    is_small = codes and len(kernels) <= extent.FEW_KERNELS
    return ListDictionary(kernels) if is_small else dictionary


def _may_be_codes(column: Array) -> bool:
    """Return whether the values of a column may be codes of categories."""
    if not np.all(column == np.rint(column)):
        return False
    return FEWEST_CODES <= np.unique(column).size <= min(MOST_CODES, column.size // 2)


def _needs_landmarks(dictionary: KernelDictionary, X: Array) -> bool:
    """Return whether the matrices of a default dictionary would be large."""
    # Kernels on fewer than four columns have low rank, so they need no landmarks.
    return X.shape[1] >= 4 and len(dictionary) * len(X) ** 2 > SMALL


def choose_kernels(
    samples: Samples, *, bounded: bool = False, paired: bool = False
) -> ChosenKernels:
    """Return the kernels that an estimator's ``kernels`` means for the samples."""
    # The widths and landmarks of kernels are fitted to the samples, without labels. If
    # `paired`, default kernels have interactions, and integers are also compared for
    # equality. If `bounded`, as for novelty detection, default kernels are not linear.
    table, X, weights = samples.table, samples.seen, samples.sample_weight
    if is_precomputed(table.kernels):
        return ChosenKernels(None)
    # Of a Dask collection, `seen` is a random sample of the rows, without weights.
    weights = weights if X is samples.X else None
    if find_memmap(X) is not None:
        # Widths and landmarks of kernels are computed from evenly spaced rows.
        rows = evenly_spaced(X.shape[0], LEARNT_ROWS)
        X, weights = X[rows], None if weights is None else weights[rows]
    is_default = table.kernels is None
    dictionary, views = _requested_kernels(
        samples, X, weights, bounded=bounded, paired=paired
    )
    if table.has_text:
        dictionary = table.layout.resolve(dictionary)
        table.layout.check(dictionary, table.X)
    elif not is_default or table.columns.names is not None:
        dictionary = resolve_columns(dictionary, X.shape[1], table.columns.names)
    is_plain = is_default and not table.has_text
    if not is_plain:
        _refuse_identifier_columns(dictionary, samples)
    # `default_dictionary` computes the widths of exact kernels, unless `bounded`. Other
    # widths, and landmarks, are computed here.
    approximated = ""
    if bounded or not is_plain or _needs_landmarks(dictionary, X):
        dictionary = learnt_dictionary(dictionary, X, weights)
        approximated = extent.approximated(dictionary) if is_default else ""
    if table.interactions is not None:
        dictionary = _with_interactions(samples, dictionary, X, weights, views)
        return ChosenKernels(dictionary, left_out=approximated)
    if is_default:
        choice = _default_choice(samples, dictionary, X, weights, paired=paired)
        reasons = filter(None, (choice.left_out, approximated))
        return replace(choice, left_out="; ".join(reasons))
    if views is not None:
        assert isinstance(dictionary, ListDictionary)
        dictionary = ViewDictionary(dictionary.kernels, dictionary.names, views)
    return ChosenKernels(dictionary)


def _default_choice(
    samples: Samples,
    mains: KernelDictionary,
    X: Array,
    weights: Array | None,
    *,
    paired: bool,
) -> ChosenKernels:
    """Return default kernels, with interactions if these are few or quick to fit."""
    pairs = extent.extent_of_pairs(samples, mains) if paired else Extent.REQUESTED
    if pairs in PAIRS:
        products = _with_products(samples, PAIRS[pairs], mains, X, weights)
        if products.n_products:
            return ChosenKernels(products, pairs)
    left_out = extent.omitted(samples, mains, paired=paired)
    return ChosenKernels(mains, extent.extent_without_pairs(samples, mains), left_out)


def _requested_kernels(
    samples: Samples, X: Array, weights: Array | None, *, bounded: bool, paired: bool
) -> tuple[KernelDictionary, list[str] | None]:
    """Return requested or default kernels, and the view of each; None without views."""
    # `bounded` and `paired` are those of `choose_kernels`.
    kernels = samples.table.kernels
    if kernels is None:
        limit, n_columns = extent.FEW_KERNELS, X.shape[1]
        n_on_columns = n_columns * len(median.COLUMN_MULTIPLES)
        n_defaults = len(median.MULTIPLES) + 1 + n_on_columns
        if paired and n_defaults > limit and extent.is_affordable(samples):
            limit += n_columns
        default = partial(
            default_dictionary, bounded=bounded, limit=limit, equality=paired
        )
        if samples.table.has_text:
            return _default_kernels(samples.table.layout, X, weights, default), None
        return default(X, weights), None
    if isinstance(kernels, Views):
        return _view_kernels(samples, X, weights, bounded=bounded)
    if is_dictionary(kernels):
        if not len(kernels):
            raise ValueError(NO_KERNEL)
        return kernels, None
    raise ValueError(EXPECTED_KERNELS.format(shown(kernels)))


def _refuse_identifier_columns(dictionary: KernelDictionary, samples: Samples) -> None:
    """Raise if a column with a `CategoryKernel` holds mostly distinct values."""
    layout, X = samples.table.layout, samples.seen
    kernels = getattr(dictionary, "kernels", ())
    # Of a Dask collection, only a random sample of the rows is in memory. Fewer values
    # repeat in a sample, so categories could look like identifiers.
    if X is not samples.X or not any(map(_compares_categories, kernels)):
        return
    column_numbers, category_columns = np.arange(float(X.shape[1]))[None, :], set[int]()
    all_kernels = map(dictionary.__getitem__, range(len(dictionary)))
    for kernel in filter(_compares_categories, all_kernels):
        columns = getattr(kernel, "columns", slice(None))
        category_columns.update(map(int, select_columns(column_numbers, columns)[0]))
    origins = layout.origins(X.shape[1])
    for column in sorted(category_columns):
        values = X[~np.isnan(X[:, column]), column]
        label = layout.label(origins[column])
        refuse_identifiers(label, np.unique(values).size, values.size)


def _compares_categories(kernel: Kernel) -> bool:
    """Return whether a kernel is a `CategoryKernel`, on all columns or on some."""
    inner = kernel.kernel if isinstance(kernel, ColumnKernel) else kernel
    return isinstance(inner, CategoryKernel)


def _with_products(
    samples: Samples,
    spec: interactions.Interactions,
    mains: KernelDictionary,
    X: Array,
    weights: Array | None,
) -> interactions.InteractionDictionary:
    """Return the kernels with the interactions that `spec` describes."""
    table, layout = samples.table, samples.table.layout
    features, origins = Features(X.shape[1], table.columns.names), None
    if table.has_text:
        features, origins = layout.features, layout.origins(X.shape[1])
    return interactions.with_interactions(spec, mains, X, weights, features, origins)


def _with_interactions(
    samples: Samples,
    mains: KernelDictionary,
    X: Array,
    weights: Array | None,
    views: Sequence[str] | None,
) -> KernelDictionary:
    """Return the kernels with the requested interactions; warn if there are none."""
    spec = samples.table.interactions
    assert spec is not None
    result = _with_products(samples, spec, mains, X, weights)
    if not result.n_products:
        warn_user(
            "Interactions: the model contains no interactions, because "
            f"{interactions.why_no_product(spec)}: pass kernels on different columns, "
            "or remove Interactions.",
            DictionaryWarning,
        )
    if views is None:
        return result
    sign = interactions.SEPARATOR
    invalid = [view for view in views if sign in view]
    if invalid:
        raise ValueError(
            f"Interactions: the view name {invalid[0]!r} contains {sign!r}, which "
            "separates the names of two views in the name of an interaction: rename "
            "the view."
        )
    return replace(result, main_views=tuple(views))


def _default_kernels(
    layout: Layout,
    X: Array,
    weights: Array | None,
    default: Callable[[Array, Array | None], ListDictionary],
) -> KernelDictionary:
    """Return the default kernels on columns of numbers and on each text column."""
    table_index = {column: index for index, column in enumerate(layout.numeric)}
    numeric, sequences = layout.kinds[NUMBERS], layout.sequences
    kernels: list[Kernel] = []
    if numeric:
        among_numbers = Features(len(numeric))
        number_table = X[:, [table_index[c] for c in numeric]]
        for kernel in default(number_table, weights).kernels:
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


def _view_kernels(
    samples: Samples, X: Array, weights: Array | None, *, bounded: bool
) -> tuple[ListDictionary, list[str]]:
    """Return the kernels of all views, and the name of each kernel's view."""
    # Default kernels are those of novelty detection if `bounded`.
    table, layout = samples.table, samples.table.layout
    table_index = {column: index for index, column in enumerate(layout.numeric)}

    def default(columns: tuple[int, ...]) -> Sequence[Kernel]:
        view_table = X[:, [table_index[c] for c in columns]]
        has_value = ~np.isnan(view_table).all(axis=1)
        row_weights = None if weights is None else weights[has_value]
        return default_dictionary(
            fill_gaps(view_table[has_value]), row_weights, bounded=bounded
        ).kernels

    categories, features = set(layout.categories), layout.features
    for view in table.views:
        _check_view_has_values(view, X, table_index, layout)
    kernel_views = [
        (kernel, view.name)
        for view in table.views
        for kernel in view.all_kernels(default, categories, features)
    ]
    kernels = [kernel for kernel, _ in kernel_views]
    if not kernels:
        raise ValueError(
            "All views in kernels= are Unpenalized, but at least one must have "
            "kernels: add a view with kernels, or use a linear model of "
            "sklearn.linear_model."
        )
    labels = unique_names([kernel_name(kernel) for kernel in kernels])
    return ListDictionary(kernels, labels), [view for _, view in kernel_views]


def _check_view_has_values(
    view: View, X: Array, table_index: Mapping[int, int], layout: Layout
) -> None:
    """Raise if a view cannot be fitted, because a column has missing values only."""
    if view.missing == "error" or (view.missing == "zero" and view.kernels is not None):
        return
    for column in view.columns:
        if column in table_index and np.isnan(X[:, table_index[column]]).all():
            raise ValueError(
                f"View {view.name!r}: no sample has a value in column "
                f"{layout.label(column)}, but missing={view.missing!r} requires at "
                "least one value: remove the column from the view."
            )
