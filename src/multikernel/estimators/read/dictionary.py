"""Choose the kernels: the requested ones, or default kernels for the data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from multikernel._typing import Array
from multikernel._validation import DAMAGED_FIT, shown
from multikernel.estimators.read import defaults
from multikernel.estimators.read.defaults import ChosenKernels
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
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    Kernel,
    KernelDictionary,
    ListDictionary,
    Views,
    interactions,
    kernel_name,
    kernel_names,
    resolve_columns,
)
from multikernel.kernels.columns import select_columns
from multikernel.kernels.dictionary import unique_names
from multikernel.kernels.expected import fill_gaps
from multikernel.kernels.sequence.tables import Layout
from multikernel.kernels.views import View, ViewDictionary
from multikernel.linalg.tables import evenly_spaced, find_memmap

LEARNT_ROWS = 100_000
"""Maximum number of rows to which kernels are fitted, if the table is in a file."""


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

    def __getstate__(self) -> dict[str, object]:
        # Model files do not store the cached names.
        return {k: v for k, v in vars(self).items() if k != "everything"}


def choose_kernels(
    samples: Samples, *, bounded: bool = False, paired: bool = False
) -> ChosenKernels:
    """Return the kernels that an estimator's ``kernels`` means for the samples."""
    # The widths and landmarks of kernels are fitted to the samples, without labels. If
    # `paired`, default kernels have interactions, and integers are also compared for
    # equality. If `bounded`, as for novelty detection, default kernels are not linear.
    table, X = samples.table, samples.seen
    if is_precomputed(table.kernels):
        return ChosenKernels(None)
    # Of a Dask collection, `seen` is a random sample of the rows, without weights.
    weights = samples.sample_weight if X is samples.X else None
    if find_memmap(X) is not None:
        # Widths and landmarks of kernels are computed from evenly spaced rows.
        rows = evenly_spaced(X.shape[0], LEARNT_ROWS)
        X, weights = X[rows], None if weights is None else weights[rows]
    views = None
    if table.kernels is None:
        dictionary = defaults.default_kernels(
            samples, X, weights, bounded=bounded, paired=paired
        )
    else:
        dictionary, views = _requested_kernels(samples, X, weights, bounded=bounded)
    dictionary = _fitted(samples, dictionary, X, weights, bounded=bounded)
    if table.interactions is not None:
        left_out = defaults.approximated(dictionary) if table.kernels is None else ""
        dictionary = _with_interactions(samples, dictionary, X, weights, views)
        return ChosenKernels(dictionary, left_out=left_out)
    if table.kernels is None:
        return defaults.with_pairs(samples, dictionary, X, weights, paired=paired)
    if views is not None:
        assert isinstance(dictionary, ListDictionary)
        dictionary = ViewDictionary(dictionary.kernels, dictionary.names, views)
    return ChosenKernels(dictionary)


def _fitted(
    samples: Samples,
    dictionary: KernelDictionary,
    X: Array,
    weights: Array | None,
    *,
    bounded: bool,
) -> KernelDictionary:
    """Return the kernels with indices of columns, fitted to the rows `X`."""
    table = samples.table
    if table.has_text:
        dictionary = table.layout.resolve(dictionary)
        table.layout.check(dictionary, table.X)
    elif table.kernels is not None or table.columns.names is not None:
        dictionary = resolve_columns(dictionary, X.shape[1], table.columns.names)
    if table.kernels is not None or table.has_text:
        _refuse_identifier_columns(dictionary, samples)
    elif not bounded and not defaults.needs_landmarks(dictionary, X):
        # The widths of exact default kernels of numbers are known.
        return dictionary
    return learnt_dictionary(dictionary, X, weights)


def _requested_kernels(
    samples: Samples, X: Array, weights: Array | None, *, bounded: bool
) -> tuple[KernelDictionary, list[str] | None]:
    """Return the requested kernels, and the view of each; None without views."""
    kernels = samples.table.kernels
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


def _with_interactions(
    samples: Samples,
    mains: KernelDictionary,
    X: Array,
    weights: Array | None,
    views: Sequence[str] | None,
) -> KernelDictionary:
    """Add the requested interactions to the kernels; warn if no pair allows one."""
    spec = samples.table.interactions
    assert spec is not None
    result = defaults.with_products(samples, spec, mains, X, weights)
    if not result.has_products:
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
        return defaults.default_dictionary(
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
    """Raise if a view requires values of a column that has missing values only."""
    # "error" raises for any missing value elsewhere (`check_values`). With "zero",
    # given kernels are zero for all samples, but default kernels are computed from
    # values.
    if view.missing == "error" or (view.missing == "zero" and view.kernels is not None):
        return
    for column in view.columns:
        if column in table_index and np.isnan(X[:, table_index[column]]).all():
            raise ValueError(
                f"View {view.name!r}: no sample has a value in column "
                f"{layout.label(column)}, but missing={view.missing!r} requires at "
                "least one value: remove the column from the view."
            )
