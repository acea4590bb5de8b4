"""Read and validate X: arrays, data frames, sparse tables and Gram matrices."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length

from multikernel._typing import Array
from multikernel._validation import LARGEST_VALUE, listed, shown
from multikernel.estimators.read import doubts, mixed, numbers
from multikernel.estimators.read.kinds import Sheet, checked_text_kinds
from multikernel.estimators.read.precomputed import (
    check_same_grams,
    check_same_samples,
    read_grams,
)
from multikernel.estimators.read.targets import read_targets, target_names
from multikernel.kernels import (
    ColumnKernel,
    Interactions,
    Kernel,
    KernelDictionary,
    ListDictionary,
    ProductKernel,
    Views,
)
from multikernel.kernels.base import kernel_name
from multikernel.kernels.columns import Features, resolve_indices, resolve_kernel
from multikernel.kernels.given import as_kernels
from multikernel.kernels.grams import Grams, SampleKernel
from multikernel.kernels.graph.base import KernelGraph
from multikernel.kernels.sequence.tables import (
    CATEGORIES,
    SEQUENCES,
    Layout,
    any_kernel_supports,
    columns_of_kind,
)
from multikernel.kernels.sparse import SparseKernel, pack, supports_sparse
from multikernel.kernels.views import Unpenalized, View, find_views, names_by_column


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """Validated training data as given by the user."""

    # Float64, or float32 if precomputed matrices are float32.
    X: Array
    # A single column becomes a vector.
    y: Array
    # Fitted attributes, such as names of columns, to which new data are compared.
    columns: "Columns"
    # X before validation; a list was converted to an array.
    given: object
    # Names of the columns, and positions of the text columns.
    layout: Layout
    # As returned by `standard_kernels`.
    kernels: object = None
    interactions: Interactions | None = None
    views: tuple[View, ...] = ()
    target_names: tuple[str, ...] | None = None

    @property
    def has_text(self) -> bool:
        """Whether some columns are sequences or categories."""
        return bool(self.layout.sequences or self.layout.categories)


TEXT_FEATURES = ("sequence_features_", "category_features_")
"""Fitted attributes with the positions of the text columns."""

CHECKED_BY = (
    "n_features_in_",
    "feature_names_in_",
    *TEXT_FEATURES,
    "categories_",
    "view_columns_",
    "missing_views_",
    "sparse_input_",
)
"""Attributes of a fitted model to which new data are compared."""


class Columns(BaseEstimator):
    """Attributes such as ``n_features_in_``, copied to an estimator after its fit."""

    @staticmethod
    def of_model(model: BaseEstimator) -> dict[str, object]:
        """Return the attributes of a fitted model to which new data are compared."""
        fitted = vars(model)
        return {name: fitted[name] for name in CHECKED_BY if name in fitted}

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns; None if X was not a data frame."""
        names = vars(self).get("feature_names_in_")
        return None if names is None else tuple(str(name) for name in names)


def check_fit_data(
    estimator: BaseEstimator, kernels: object, X: object, y: object
) -> TrainingTable:
    """Return validated training data, or raise an error that explains the problem."""
    # `columns` collects the attributes, so that a failed fit does not change the
    # estimator. The estimator's tags and `kernels` determine which data are accepted.
    columns, owner = Columns(), type(estimator).__name__
    kernels, interactions = standard_kernels(kernels)
    layout, views = None, tuple[View, ...]()
    data: Any = X if is_precomputed(kernels) else numbers.open_data(X, "X")
    if is_precomputed(kernels):
        checked = read_grams(columns, owner, X, reset=True)
    elif issparse(data):
        paired = interactions is not None
        kernels, views = sparse_kernels(kernels, data, interactions=paired)
        checked = read_sparse(columns, owner, data, reset=True)
        columns.sparse_input_ = True
    elif kernels is None and numbers.is_plain(data) and data.dtype.kind in "bf":
        # Of a plain table of floats, only the values need a check.
        columns.n_features_in_ = data.shape[1]
        checked = np.ascontiguousarray(data, dtype=np.float64)
        numbers.check_values(columns, checked, Layout(Features(checked.shape[1]), ()))
    else:
        sheet = Sheet(numbers.with_text_names(data))
        doubts.warn_doubts(owner, doubts.row_number_doubts(sheet))
        checked, layout, views = _read_columns(columns, owner, kernels, sheet)
    layout = layout or Layout(Features(checked.shape[1]), ())
    targets = read_targets(estimator, y)
    check_consistent_length(checked, targets)
    names = target_names(y, targets)
    return TrainingTable(
        checked, targets, columns, data, layout, kernels, interactions, views, names
    )


def _read_columns(
    columns: "Columns", owner: str, kernels: object, sheet: Sheet
) -> tuple[Array, Layout, tuple[View, ...]]:
    """Return a table of numbers, the layout of its columns, and its views."""
    views, sample_names = tuple[View, ...](), dict[int, Array]()
    if isinstance(kernels, Views):
        views = tuple(find_views(kernels, sheet.data, sheet.features))
        sample_names = names_by_column(kernels, sheet.features)
        columns.view_columns_ = {view.name: np.array(view.columns) for view in views}
        columns.missing_views_ = {view.name: view.missing for view in views}
    view_kernels = [kernel for view in views for kernel in view.kernels or ()]
    coded = _category_columns(kernels, view_kernels, sheet, sample_names)
    # Graphs of kernels accept neither text nor missing values.
    is_graph = isinstance(kernels, KernelGraph)
    if coded is None:
        checked = numbers.read_numbers(
            columns, owner, sheet.data, reset=True, only_numbers=is_graph
        )
        layout = Layout(sheet.features, ())
    else:
        checked, layout = mixed.read_mixed(columns, owner, sheet, coded, sample_names)
    if sample_names:
        pairs = sample_kernels(layout.resolve(ListDictionary(view_kernels)).kernels)
        check_samples(pairs, checked, layout, sheet, fitting=True)
    numbers.check_values(columns, checked, layout, only_numbers=is_graph)
    sentences = doubts.integer_doubts(sheet, checked, layout.numeric)
    if _reads_all_columns(kernels):
        sentences += doubts.identifier_doubts(sheet, checked, layout.numeric)
    for index, column in enumerate(layout.categories):
        if column not in sample_names:
            labels = columns.categories_[index].tolist()
            where = f"column {layout.label(column)}"
            sentences += doubts.label_doubts(where, sheet.column(column), labels)
    doubts.warn_doubts(owner, sentences)
    return checked, layout, views


def _reads_all_columns(kernels: object) -> bool:
    """Return whether no kernel chooses columns, as default kernels do not."""
    if not isinstance(kernels, ListDictionary):
        return kernels is None or isinstance(kernels, KernelGraph)
    # Kernels with columns are a `ColumnKernel`, or are made of such kernels.
    names = ("columns", "kernel", "kernels")
    return not any(hasattr(k, name) for k in kernels.kernels for name in names)


def _category_columns(
    kernels: Any, of_views: list[Kernel], sheet: Sheet, sample_names: Collection[int]
) -> set[int] | None:
    """Return the columns read as categories; None if X is read as numbers alone."""
    texts = {*sheet.texts, *sample_names}
    if kernels is None:
        kinds = checked_text_kinds(sheet)
        categories = {column for column, kind in kinds.items() if kind == CATEGORIES}
        return categories if kinds else None
    if any_kernel_supports(kernels, SEQUENCES):
        if not texts:
            raise ValueError(
                "One of the kernels requires sequences, but X has no strings: pass a "
                "list of strings, or a data frame with a column of strings."
            )
        resolved = [resolve_kernel(kernel, sheet.features) for kernel in kernels]
        return texts & columns_of_kind(resolved, CATEGORIES)
    if isinstance(kernels, Views) or any_kernel_supports(kernels, CATEGORIES):
        # Text that no kernel uses is read as categories.
        return texts - columns_of_kind(of_views, SEQUENCES) if texts else None
    return None


def standard_kernels(kernels: object) -> tuple[object, Interactions | None]:
    """Return `kernels` in a standard form, and any `Interactions`, or None."""
    # A mapping becomes `Views`, and kernels become a `ListDictionary`.
    if isinstance(kernels, Interactions):
        return standard_kernels(kernels.kernels)[0], kernels
    if isinstance(kernels, Mapping):
        return Views(kernels), None
    if kernels is None or is_precomputed(kernels) or isinstance(kernels, np.ndarray):
        return kernels, None
    if isinstance(kernels, Sequence) and not kernels:
        raise ValueError(NO_KERNEL)
    for kernel in kernels if isinstance(kernels, list | tuple) else [kernels]:
        if isinstance(kernel, Grams | Unpenalized):
            kind = type(kernel).__name__
            subject = kind if kind == "Grams" else "Unpenalized columns"
            raise ValueError(
                f"{subject} must be a named view: pass kernels={{'a name': "
                f"{kind}(...), 'others': (columns, kernels)}}."
            )
    is_kernel = callable(kernels) and not isinstance(kernels, KernelDictionary)
    if is_kernel or isinstance(kernels, Sequence):
        kernels = ListDictionary(as_kernels(kernels))
    return kernels, None


def check_predict_data(
    estimator: BaseEstimator, X: object, *, precomputed: bool
) -> Array:
    """Return validated data to predict: a table, or Gram matrices if `precomputed`."""
    owner, fitted = type(estimator).__name__, vars(estimator)
    if precomputed:
        return _read_new_grams(estimator, owner, X)
    X = numbers.open_data(X, "X")
    if "sparse_input_" in fitted:
        return read_sparse(estimator, owner, X, reset=False)
    if hasattr(X, "toarray"):
        X = X.toarray()  # the training table was dense
    names = fitted.get("feature_names_in_")
    X = numbers.with_text_names(X, fit_had_names=names is not None)
    # Tables with text are read as in `fit`; other tables must contain only numbers.
    if any(mixed.fitted_columns(estimator, name) for name in TEXT_FEATURES):
        sheet = Sheet(X)
        checked, layout = mixed.read_mixed(estimator, owner, sheet)
        pairs = _matrices_in_use(estimator)
        check_samples(pairs, checked, layout, sheet, fitting=False)
        doubts.warn_unseen(owner, len(checked), _unseen(checked, layout, sheet))
    else:
        checked = numbers.read_numbers(
            estimator, owner, X, reset=False, only_numbers=True
        )
        names = None if names is None else tuple(map(str, names))
        layout = Layout(Features(checked.shape[1], names), ())
    # HKL, which has `hull_`, supports no views, so messages do not advise them.
    is_graph = hasattr(estimator, "hull_")
    numbers.check_values(estimator, checked, layout, only_numbers=is_graph)
    return checked


def _read_new_grams(estimator: BaseEstimator, owner: str, X: object) -> Array:
    """Return Gram matrices of new samples; raise unless they match those of the fit."""
    checked = read_grams(estimator, owner, X, reset=False)
    expected = (estimator.n_features_in_, estimator.kernel_weights_.shape[-1])
    if checked.shape[1:] != expected:
        raise ValueError(
            f"X has shape {checked.shape}, but {owner} was fitted on Gram matrices of "
            f"shape {(expected[0], *expected)}: pass X of shape (n_samples, "
            f"{expected[0]}, {expected[1]})."
        )
    check_same_grams(owner, X, estimator._state.names.given)
    check_same_samples(owner, X, estimator._state.names.samples)
    return checked


def _unseen(table: Array, layout: Layout, sheet: Sheet) -> dict[str, list[Hashable]]:
    """Return the category values not seen in fit, by column."""
    unseen, numeric = {}, layout.numeric
    for column in layout.categories:
        rows = table[:, numeric.index(column)] == mixed.UNKNOWN
        if rows.any():
            unseen[layout.label(column)] = sheet.values(column)[rows].tolist()
    return unseen


def _matrices_in_use(estimator: BaseEstimator) -> list[tuple[int, SampleKernel]]:
    """Return (column of sample names, kernel) for each active `Grams`."""
    if "_state" not in vars(estimator):
        # In a CombinedKernel, `SampleKernel` itself raises for unknown samples.
        return []
    dictionary = estimator._state.names.dictionary
    return list(sample_kernels(dictionary[m] for m in estimator.active_kernels_))


def is_precomputed(kernels: object) -> bool:
    """Return whether a ``kernels`` parameter means precomputed Gram matrices."""
    return isinstance(kernels, str) and kernels == "precomputed"


def sample_kernels(kernels: Iterable[Kernel]) -> Iterator[tuple[int, SampleKernel]]:
    """Yield (column of sample names, kernel) for each `Grams`, also in products."""
    for kernel in kernels:
        if isinstance(kernel, ProductKernel):
            yield from sample_kernels(kernel.kernels)
        elif isinstance(kernel, ColumnKernel):
            inner = kernel.kernel
            while hasattr(inner, "kernel"):  # such as a CenteredKernel
                inner = inner.kernel
            if isinstance(inner, SampleKernel) and isinstance(kernel.columns, tuple):
                yield int(kernel.columns[0]), inner


def check_samples(
    kernels: Iterable[tuple[int, SampleKernel]],
    table: Array,
    layout: Layout,
    sheet: Sheet,
    *,
    fitting: bool,
) -> None:
    """Raise if a view's matrix lacks the row, or in a fit the column, of a sample."""
    # `kernels` yields pairs (column, kernel): the index of the column of `table` with
    # the codes of the samples, and the kernel of their matrix. In a fit, this matrix
    # must also have a column for each sample.
    for column, kernel in kernels:
        rows = kernel.rows_of(table[:, column])
        absent, axis = np.flatnonzero(rows < 0), "row"
        if fitting and not absent.size:
            absent, axis = (np.flatnonzero(rows >= kernel.K.shape[1]), "column")
        if not absent.size:
            continue
        values = sheet.values(layout.numeric[column])
        names = list(dict.fromkeys(values[absent].tolist()))
        advice = "Add them to the matrix, or remove their rows from X."
        if not fitting:
            call = f"multikernel.with_samples(model, {{{kernel.view!r}: rows}})"
            advice = f"Add their rows with {call}."
        raise ValueError(
            f"View {kernel.view!r}: the matrix of Grams has no {axis} for "
            f"{listed(names)}. Column {layout.label(layout.numeric[column])} contains "
            f"these names, first in row {absent[0]} of X. {advice}"
        )


EXPECTED_KERNELS = (
    "kernels must be None, 'precomputed', a kernel, a list of kernels, a mapping from "
    "names of views to columns, or a KernelDictionary, got {}."
)
"""Error for a ``kernels`` parameter of another type."""

NO_KERNEL = "kernels is empty: pass at least one kernel."


def is_dictionary(kernels: object) -> TypeGuard[KernelDictionary]:
    """Return whether `kernels` is a dictionary of kernels, and not an array."""
    # `isinstance` only checks that the methods __len__ and __getitem__ exist. An array
    # has both.
    return isinstance(kernels, KernelDictionary) and not isinstance(kernels, np.ndarray)


DENSE_ADVICE = "or pass a dense table, X.toarray(), if it fits into memory."
"""End of messages about sparse tables."""


def read_sparse(
    estimator: BaseEstimator, owner: str, X: object, *, reset: bool
) -> Array:
    """Return a table of numbers as packed rows, see `multikernel.kernels.sparse`."""
    # In a fit (`reset`), the number and names of the columns are stored.
    # A model fitted on a sparse table also predicts for dense tables.
    settings = {"accept_sparse": "csr", "dtype": np.float64, "copy": True}
    table = csr_array(numbers.read_array(estimator, owner, X, reset=reset, **settings))
    table.sum_duplicates()
    table.eliminate_zeros()
    table.sort_indices()
    if not numbers.is_bounded(table.data):
        is_valid = np.abs(table.data) <= LARGEST_VALUE  # False for NaN
        first = int(np.flatnonzero(~is_valid)[0])
        row = int(np.searchsorted(table.indptr, first, side="right")) - 1
        value = table.data[first]
        value_text = "NaN" if np.isnan(value) else f"{value:.3g}"
        raise ValueError(
            f"Input X, a sparse table, contains {value_text} at row {row}, "
            f"column {table.indices[first]} (counted from 0), but values must be "
            f"finite and between -{LARGEST_VALUE:g} and {LARGEST_VALUE:g}: replace "
            "such values, or remove these rows."
        )
    return pack(table)


def sparse_kernels(
    kernels: object, X: Any, *, interactions: bool
) -> tuple[Views | ListDictionary, tuple[View, ...]]:
    """Return kernels on packed sparse rows, and their views; refuse `interactions`."""
    features = Features(X.shape[1])
    if interactions:
        raise ValueError(
            "Interactions require kernels on single columns, which a sparse table X "
            f"does not support: remove Interactions, {DENSE_ADVICE}"
        )
    if isinstance(kernels, Views):
        views = [
            _packed_view(view, features) for view in find_views(kernels, X, features)
        ]
        return kernels, tuple(views)
    if isinstance(kernels, ListDictionary):
        packed = [_packed(kernel, features) for kernel in kernels.kernels]
        return ListDictionary(packed), ()
    if isinstance(kernels, KernelGraph):
        raise ValueError(
            "A graph of kernels does not support a sparse table X: pass a dense table, "
            "X.toarray()."
        )
    if kernels is not None and not is_dictionary(kernels):
        raise ValueError(EXPECTED_KERNELS.format(shown(kernels)))
    argument = f"kernels={shown(kernels)}"
    raise ValueError(
        f"{argument} has kernels on single columns, which a sparse table X does not "
        "support: pass kernels on all columns or on views, such as "
        "kernels=[LinearKernel(), GaussianKernel('median')] or kernels='tanimoto', "
        f"{DENSE_ADVICE}"
    )


def _packed_view(view: View, features: Features) -> View:
    """Return `view` with kernels for packed rows; raise if it is not supported."""
    subject = f"View {view.name!r} of a sparse table"
    if not view.penalized:
        raise ValueError(
            f"{subject} must not be Unpenalized: remove this view, {DENSE_ADVICE}"
        )
    if view.missing != "error":
        raise ValueError(
            f"{subject} has missing={view.missing!r}, but only missing='error' is "
            f"supported: pass missing='error' for this view, {DENSE_ADVICE}"
        )
    if view.kernels is None:
        raise ValueError(
            f"{subject} has no kernels, and default kernels do not support sparse "
            "tables: define the view as (columns, kernels), with kernels such as "
            f"LinearKernel() or TanimotoKernel(), {DENSE_ADVICE}"
        )
    kernels: Sequence[Kernel] = [_packed(kernel, features) for kernel in view.kernels]
    return replace(view, kernels=tuple(kernels))


def _packed(kernel: Kernel, features: Features) -> Kernel:
    """Return `kernel` for the packed rows of a sparse table; raise if unsupported."""
    # `features` has the number and names of the columns of the sparse table.
    columns, label, inner = None, None, kernel
    if isinstance(kernel, ColumnKernel):
        columns = resolve_indices(kernel.columns, features)
        label, inner = kernel.label, kernel.kernel
    if not supports_sparse(inner):
        raise ValueError(
            f"{kernel_name(kernel)} cannot be computed from a sparse table. Linear, "
            "polynomial, cosine, Gaussian and Tanimoto kernels can: choose one of "
            f"these, {DENSE_ADVICE}"
        )
    return SparseKernel(inner, features.number, columns, label)
