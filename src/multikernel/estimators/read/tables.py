"""What comes in: arrays, data frames and precomputed Gram matrices, checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from multikernel._typing import Array
from multikernel.estimators.read.batches import Spooled, is_stream, spool
from multikernel.estimators.read.finite import (
    check_finite_grams,
    check_finite_table,
    check_finite_targets,
    number_targets,
    seen_values,
)
from multikernel.estimators.read.mixed import (
    default_sequences,
    features_of,
    is_frame,
    is_text,
    known,
    listed,
    read_mixed,
    refuse_frames,
    text_columns,
)
from multikernel.estimators.read.precomputed import opened
from multikernel.kernels import KernelDictionary, ListDictionary, Views
from multikernel.kernels.columns import resolve_kernel
from multikernel.kernels.function import as_kernels
from multikernel.kernels.sequence.builders import LEAST_LETTERS
from multikernel.kernels.sequence.tables import (
    CATEGORIES,
    SEQUENCES,
    Layout,
    columns_of,
    takes,
)
from multikernel.kernels.views import View, find_views
from multikernel.linalg.tables import is_dask

BY_DEFAULT = (
    f"(kernels=None takes text for sequences where it is {LEAST_LETTERS} capital "
    "letters of DNA, RNA or proteins at least, and more than half of it differs.)"
)


@dataclass(frozen=True, eq=False)
class Table:
    """Training data as they came in, checked.

    Parameters
    ----------
    X : ndarray of shape (n_rows, ...)
        Float64, or float32 where precomputed matrices come so.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Targets; a single column is a vector.
    columns : Columns
        What predictions check new data against.
    given : array-like or data frame
        X as the user gave it.
    layout : Layout or None, default=None
        Which columns hold text, where some do.
    kernels : object, default=None
        The ``kernels`` of the estimator, see `settled_kernels`.
    views : tuple of View, default=()
        The views of the data, where there are any.
    target_names : tuple of str or None, default=None
        What a data frame calls the targets.
    """

    X: Array
    y: Array
    columns: "Columns"
    given: Any
    layout: Layout | None = None
    kernels: Any = None
    views: tuple[View, ...] = ()
    target_names: tuple[str, ...] | None = None

    @property
    def feature_names(self) -> Array | None:
        """Return the names of the columns, where X was a data frame."""
        names: Array | None = vars(self.columns).get("feature_names_in_")
        return names


class Columns(BaseEstimator):
    """Receives ``n_features_in_`` and ``feature_names_in_`` while data are checked.

    The estimator itself gets them at the end of its fit, with everything else.
    """


def check_fit_data(estimator: BaseEstimator, kernels: Any, X: Any, y: Any) -> Table:
    """Check training data.

    Parameters
    ----------
    estimator : estimator
        Its tags say what data must look like; not changed.
    kernels : object
        What its ``kernels`` stand for, which says what X must look like.
    X : array-like or data frame of shape (n_samples, n_features), iterator of batches \
            of rows, or ndarray of shape (n_samples, n_samples, n_kernels) for \
            precomputed kernels
        Training data.
    y : array-like of shape (n_samples,), or (n_samples, n_outputs) where the \
            estimator's tags say that it takes several targets; of batches their column
        Targets.

    Returns
    -------
    table : Table

    Raises
    ------
    ValueError
        With a sentence that says what is wrong.
    """
    names = None
    if is_stream(X):
        table = spool(X, y)
        X, y, names = table.X, table.y, table.names
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is "
            "None."
        )
    refuse_frames(X, "X")
    columns, owner = Columns(), type(estimator).__name__
    kernels = settled_kernels(kernels)
    precomputed, layout = is_precomputed(kernels), None
    X = opened(X) if precomputed else X
    views: tuple[View, ...] = ()
    texts = _read_as_text(kernels, X)
    if takes(kernels, SEQUENCES) and not texts:
        raise ValueError(
            "A kernel takes sequences, but X has no strings: give a list of strings, "
            "or a data frame with a column of them."
        )
    if texts:
        views = _find_views(columns, kernels, X, names)
        categories = _category_columns(kernels, views, texts, X)
        checked, layout = read_mixed(columns, owner, X, categories)
    else:
        checked = read_numbers(columns, owner, X, precomputed, reset=True)
        views = _find_views(columns, kernels, X if is_frame(X) else checked, names)
    if names is not None:
        columns.feature_names_in_ = np.array(names, dtype=object)
    if not precomputed:
        _check_values(columns, checked, layout)
    if precomputed:
        _check_square(checked)
        columns.n_features_in_ = checked.shape[1]
    targets = target_columns(estimator, y)
    check_finite_targets(targets)
    if is_regressor(estimator):
        targets = number_targets(targets)
    check_consistent_length(checked, targets)
    # What turns into an array, and is none, cannot be cut into folds.
    given = X if hasattr(X, "__getitem__") else checked
    names = _target_names(y, targets)
    return Table(checked, targets, columns, given, layout, kernels, views, names)


def settled_kernels(kernels: Any) -> Any:
    """Return a ``kernels`` parameter in one of a few forms.

    Parameters
    ----------
    kernels : object
        As the user gave it.

    Returns
    -------
    kernels : None, "precomputed", Views, KernelDictionary, or the object itself
        A kernel, and a list of kernels, become a `ListDictionary`; a mapping becomes
        `Views`. What is none of these stays as it is.

    Raises
    ------
    ValueError
        If it is empty, or names no kernel.
    """
    if isinstance(kernels, Mapping):
        return Views(kernels)
    if kernels is None or is_precomputed(kernels) or isinstance(kernels, np.ndarray):
        return kernels
    if isinstance(kernels, Sequence) and not kernels:
        raise ValueError("kernels is empty: at least one kernel is needed.")
    single = callable(kernels) and not isinstance(kernels, KernelDictionary)
    if single or isinstance(kernels, Sequence):
        return ListDictionary(as_kernels(kernels))
    return kernels


def _read_as_text(kernels: Any, X: Any) -> tuple[int, ...]:
    """Return the columns of text that kernels may see as text."""
    if kernels is None:
        return default_sequences(X)
    some = takes(kernels, SEQUENCES) or takes(kernels, CATEGORIES)
    return text_columns(X) if some or isinstance(kernels, Views) else ()


def _find_views(
    columns: "Columns", kernels: Any, X: Any, names: Sequence[str] | None
) -> tuple[View, ...]:
    """Return the views of data, and publish their columns."""
    if not isinstance(kernels, Views):
        return ()
    views = tuple(find_views(kernels, X, features_of(X, names)))
    columns.view_columns_ = {view.name: np.array(view.columns) for view in views}
    columns.missing_views_ = kernels.missing
    return views


def _category_columns(
    kernels: Any, views: Sequence[View], texts: Sequence[int], X: Any
) -> set[int]:
    """Return which columns of text hold categories, as kernels take them."""
    if isinstance(kernels, Views):
        # Text that no kernel sees is not looked at as sequences.
        found = [kernel for view in views for kernel in view.kernels or ()]
        return set(texts) - columns_of(found, SEQUENCES)
    if kernels is None:
        return set()
    if not takes(kernels, SEQUENCES):
        return set(texts)
    found = [resolve_kernel(kernel, features_of(X)) for kernel in kernels]
    return set(texts) & columns_of(found, CATEGORIES)


def _check_values(
    estimator: BaseEstimator, table: Array, layout: Layout | None
) -> None:
    """Raise for values that cannot be computed with, or are missing where none may."""
    names = vars(estimator).get("feature_names_in_")
    numeric = range(table.shape[1]) if layout is None else layout.numeric
    if layout is not None:
        names = [layout.name(column) for column in numeric]
    numbers = table[:, : len(numeric)]
    if hasattr(estimator, "view_columns_"):
        place = {column: at for at, column in enumerate(numeric)}
        views = {
            name: [place[c] for c in columns.tolist() if c in place]
            for name, columns in estimator.view_columns_.items()
        }
        may_miss = estimator.missing_views_ == "zero"
        seen = {column for own in views.values() for column in own}
        if may_miss or len(seen) < numbers.shape[1]:
            numbers = seen_values(numbers, views, names, may_miss)
    if numbers.size:
        check_finite_table(numbers, names)


def target_columns(estimator: BaseEstimator, y: Any) -> Array:
    """Return the targets as a vector, or as a matrix of at least two columns.

    Parameters
    ----------
    estimator : estimator
        Its tags say whether it takes several.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The targets.
    """
    refuse_frames(y, "y")
    _refuse_other_arrays(y, "y")
    tags = get_tags(estimator)
    labels = tags.classifier_tags is not None and tags.classifier_tags.multi_label
    if tags.target_tags.multi_output or labels:
        several = check_array(
            y,
            dtype=None,
            ensure_2d=False,
            ensure_all_finite=False,
            input_name="y",
        )
        if several.ndim == 2 and several.shape[1] > 1:
            return np.asarray(several)
    shape = getattr(y, "shape", None) or np.asarray(y).shape
    if len(shape) == 2 and shape[1] > 1:
        many = (
            "MultiOutputRegressor"
            if is_regressor(estimator)
            else ("MultiOutputClassifier")
        )
        raise ValueError(
            f"{type(estimator).__name__} takes one output, and y should be a 1d array "
            f"but has shape {shape}: fit one model per output with "
            f"sklearn.multioutput.{many}({type(estimator).__name__}(...))."
        )
    return np.asarray(column_or_1d(y, warn=True))


def _target_names(y: Any, targets: Array) -> tuple[str, ...] | None:
    """Return what the columns of a data frame of targets, or a series, are called."""
    if targets.ndim == 2 and hasattr(y, "columns"):
        return tuple(str(name) for name in y.columns)
    name = getattr(y, "name", None)
    return None if targets.ndim == 2 or name is None else (str(name),)


def check_groups(groups: Any, n_samples: int) -> Array:
    """Check the groups of the samples, which cross-validation keeps together.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        A label per sample.
    n_samples : int
        Number of samples.

    Returns
    -------
    groups : ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        If they are not one per sample.
    """
    labels = np.asarray(groups)
    if labels.shape != (n_samples,):
        raise ValueError(
            f"groups must hold one label per sample, shape ({n_samples},); got shape "
            f"{labels.shape}."
        )
    return labels


def check_predict_data(estimator: BaseEstimator, X: Any, precomputed: bool) -> Array:
    """Check data at prediction against what the estimator was fitted on.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator.
    X : array-like or data frame of shape (n_samples, n_features), or ndarray of shape \
            (n_samples, n_fit_samples, n_kernels) for precomputed kernels
        New data.
    precomputed : bool
        Whether it was fitted on precomputed kernels.

    Returns
    -------
    X : ndarray

    Raises
    ------
    ValueError
        With a sentence that says what is wrong.
    """
    owner = type(estimator).__name__
    layout = None
    if is_stream(X):
        return _check_spooled(estimator, owner, spool(X))
    refuse_frames(X, "X")
    X = opened(X) if precomputed else X
    if known(estimator, "sequence_features_") or known(estimator, "category_features_"):
        checked, layout = read_mixed(estimator, owner, X, None)
    else:
        checked = read_numbers(estimator, owner, X, precomputed, reset=False)
    if not precomputed:
        _check_values(estimator, checked, layout)
        return checked
    expected = (estimator.n_features_in_, estimator.kernel_weights_.shape[-1])
    if checked.shape[1:] != expected:
        raise ValueError(
            f"X holds kernels of shape {checked.shape[:2]} for {checked.shape[2]} "
            f"kernels, but {owner} was fitted on {expected[0]} samples and "
            f"{expected[1]} kernels: X must have shape (n_samples, {expected[0]}, "
            f"{expected[1]})."
        )
    return checked


def _check_spooled(estimator: BaseEstimator, owner: str, table: Spooled) -> Array:
    """Return a table that came in batches, if it has the columns of the fit."""
    known = vars(estimator).get("feature_names_in_")
    expected = estimator.n_features_in_ if known is None else tuple(known)
    found = table.X.shape[1] if known is None else table.names
    if found != expected:
        raise ValueError(
            f"The batches have other columns than {owner} was fitted on: {found} in "
            f"place of {expected}."
        )
    check_finite_table(table.X, table.names)
    return table.X


def is_precomputed(kernels: object) -> bool:
    """Return whether a ``kernels`` parameter announces Gram matrices."""
    return isinstance(kernels, str) and kernels == "precomputed"


def read_numbers(
    estimator: BaseEstimator, owner: str, X: Any, precomputed: bool, *, reset: bool
) -> Array:
    """Return samples as numbers; Gram matrices without a copy.

    Parameters
    ----------
    estimator : estimator
        Knows, or gets, number and names of the columns.
    owner : str
        What messages call it.
    X : array-like or data frame
        The samples.
    precomputed : bool
        Whether they are Gram matrices.
    reset : bool
        Whether they are those of a fit.
    """
    _refuse_other_arrays(X, "X")
    settings: dict[str, Any] = {"reset": reset, "ensure_all_finite": False}
    if precomputed:
        settings |= {"ensure_2d": False, "allow_nd": True}
        settings |= {"dtype": [np.float64, np.float32]}
    else:
        _refuse_other_columns(X)
        settings |= {"dtype": np.float64, "order": "C"}
    try:
        checked = np.asarray(validate_data(estimator, X, estimator=owner, **settings))
    except OverflowError as error:
        raise ValueError(
            "X holds an integer that is too large for a floating-point number."
        ) from error
    if not precomputed:
        return checked
    if checked.ndim != 3:
        raise ValueError(
            'With kernels="precomputed", X must have three dimensions, (n_samples, '
            f"n_fit_samples, n_kernels); got shape {checked.shape}. stack_grams makes "
            "such an X from a list of Gram matrices."
        )
    if not reset:
        # Those of a fit are read once for this and all else, by `precomputed_stack`.
        check_finite_grams(checked)
    return checked


def _check_square(grams: Array) -> None:
    if grams.shape[0] != grams.shape[1]:
        raise ValueError(
            "Precomputed training kernels must be square, (n_samples, n_samples, "
            f"n_kernels); got shape {grams.shape}. stack_grams makes such an X from a "
            "list of Gram matrices."
        )
    if grams.shape[2] == 0:
        raise ValueError("X holds no kernel: its last axis is empty.")


def _refuse_other_arrays(values: Any, name: str) -> None:
    """Raise for data that become other numbers when they are read as floats."""
    if values is None:
        raise ValueError(f"{name} is None: an array or a data frame is needed.")
    if isinstance(values, list | tuple) and any(map(is_dask, values[:1])):
        raise ValueError(
            f"{name} is a list of objects of Dask: make one array or data frame of "
            "them, for example with dask.array.concatenate."
        )
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with masked values: fill them, for example with "
            "SimpleImputer, or leave these samples out."
        )
    if name == "X" and is_text(values):
        raise ValueError(
            "X is a list of strings: numbers are needed, or kernels that take "
            "sequences, for example kernels=[SpectrumKernel(3)] of "
            f"multikernel.kernels.sequence. {BY_DEFAULT}"
        )
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind == "O" and getattr(values, "ndim", None) == 0:
        wrapped = type(values[()]).__name__
        raise ValueError(
            f"{name} is a NumPy array around one object, a {wrapped}: an array of "
            "numbers is needed."
        )
    if kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers.")
    if kind == "V":
        raise ValueError(
            f"{name} is a structured array: one array of numbers, or a data frame, is "
            "needed."
        )


def _refuse_other_columns(X: Any) -> None:
    """Name the columns of a data frame that hold no numbers."""
    if not is_frame(X):
        return
    wrong = [name for name in X.columns if not _is_numeric(np.asarray(X[name]))]
    if wrong:
        raise ValueError(
            f"Columns without numbers in X: {listed(wrong)}. Give views, such as "
            f"kernels={{'a name': [{wrong[0]!r}]}}, whose columns of text are compared "
            "as categories, encode them first, for example with OneHotEncoder in a "
            "ColumnTransformer, leave them out, or name kernels of "
            f"multikernel.kernels.sequence for sequences. {BY_DEFAULT}"
        )


def _is_numeric(column: Any) -> bool:
    if column.dtype.kind == "O":
        # None is a missing value: the check for NaN has a message of its own.
        return all(value is None or isinstance(value, Number) for value in column.flat)
    return column.dtype.kind in "biufc"
