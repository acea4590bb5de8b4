"""What comes in: arrays, data frames and precomputed Gram matrices, checked."""

from collections.abc import Sequence
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
from multikernel.estimators.data.batches import Spooled, is_stream, spool
from multikernel.estimators.data.finite import (
    check_finite_grams,
    check_finite_table,
    check_finite_targets,
    number_targets,
)
from multikernel.estimators.data.precomputed import opened
from multikernel.estimators.data.sequences import is_text, read_mixed
from multikernel.kernels.sequence.tables import Layout, takes_sequences


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
        Which columns hold sequences, where kernels take them.
    """

    X: Array
    y: Array
    columns: "Columns"
    given: Any
    layout: Layout | None = None

    @property
    def feature_names(self) -> Array | None:
        """Return the names of the columns, where X was a data frame."""
        names: Array | None = vars(self.columns).get("feature_names_in_")
        return names


class Columns(BaseEstimator):
    """Receives ``n_features_in_`` and ``feature_names_in_`` while data are checked.

    The estimator itself gets them at the end of its fit, with everything else.
    """


def check_fit_data(estimator: BaseEstimator, X: Any, y: Any) -> Table:
    """Check training data.

    Parameters
    ----------
    estimator : estimator
        Its tags and its ``kernels`` say what data must look like; not changed.
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
    columns, owner = Columns(), type(estimator).__name__
    precomputed = is_precomputed(estimator.kernels)
    X = opened(X) if precomputed else X
    layout = None
    if takes_sequences(estimator.kernels):
        checked, layout = read_mixed(columns, owner, X, reset=True)
    else:
        checked = _check_samples(columns, owner, X, precomputed, reset=True)
    if names is not None:
        columns.feature_names_in_ = np.array(names, dtype=object)
    if precomputed:
        _check_square(checked)
        columns.n_features_in_ = checked.shape[1]
    targets = _target_columns(estimator, y)
    check_finite_targets(targets)
    if is_regressor(estimator):
        targets = number_targets(targets)
    check_consistent_length(checked, targets)
    # What turns into an array, and is none, cannot be cut into folds.
    given = X if hasattr(X, "__getitem__") else checked
    return Table(checked, targets, columns, given, layout)


def _target_columns(estimator: BaseEstimator, y: Any) -> Array:
    """Return the targets as a vector, or as a matrix of at least two columns."""
    _refuse_other_arrays(y, "y")
    if get_tags(estimator).target_tags.multi_output:
        several = check_array(
            y,
            dtype=None,
            ensure_2d=False,
            ensure_all_finite=False,
            input_name="y",
        )
        if several.ndim == 2 and several.shape[1] > 1:
            return np.asarray(several)
    return np.asarray(column_or_1d(y, warn=True))


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
    if is_stream(X):
        return _check_spooled(estimator, owner, spool(X))
    if "sequence_features_" in vars(estimator):
        return read_mixed(estimator, owner, X, reset=False)[0]
    X = opened(X) if precomputed else X
    checked = _check_samples(estimator, owner, X, precomputed, reset=False)
    expected = (estimator.n_features_in_, estimator.kernel_weights_.shape[-1])
    if precomputed and checked.shape[1:] != expected:
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


def _check_samples(
    estimator: BaseEstimator, owner: str, X: Any, precomputed: bool, *, reset: bool
) -> Array:
    """Return samples as finite numbers; Gram matrices without a copy."""
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
        check_finite_table(checked, vars(estimator).get("feature_names_in_"))
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
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with masked values: fill them, for example with "
            "SimpleImputer, or leave these samples out."
        )
    if name == "X" and is_text(values):
        raise ValueError(
            "X is a list of strings: numbers are needed, or kernels that take "
            "sequences, for example kernels=[SpectrumKernel(3)] of "
            "multikernel.kernels.sequence."
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
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    wrong = [name for name in X.columns if not _is_numeric(np.asarray(X[name]))]
    if wrong:
        raise ValueError(
            f"Columns without numbers in X: {listed(wrong)}. Encode them first, for "
            "example with OneHotEncoder in a ColumnTransformer, leave them out, or "
            "name kernels of multikernel.kernels.sequence for sequences."
        )


def _is_numeric(column: Any) -> bool:
    if column.dtype.kind == "O":
        # None is a missing value: the check for NaN has a message of its own.
        return all(value is None or isinstance(value, Number) for value in column.flat)
    return column.dtype.kind in "biufc"


def listed(names: Sequence[object], n_names: int | None = None) -> str:
    """Return the first few names, and how many more there are.

    Parameters
    ----------
    names : sequence
        The names, or the first few of them.
    n_names : int, optional
        How many there are in all; as many as given when left out.

    Returns
    -------
    text : str
    """
    shown = names[:5]
    more = (len(names) if n_names is None else n_names) - len(shown)
    text = ", ".join(repr(name) for name in shown)
    return f"{text} and {more} more" if more > 0 else text
