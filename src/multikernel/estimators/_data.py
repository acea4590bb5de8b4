"""What comes in: arrays, data frames and precomputed Gram matrices, checked."""

from collections.abc import Sequence
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
from multikernel.estimators._finite import (
    check_finite_grams,
    check_finite_table,
    check_finite_targets,
    number_targets,
)


def check_fit_data(probe: BaseEstimator, X: Any, y: Any) -> tuple[Array, Array]:
    """Check training data, and note the features on `probe`.

    Parameters
    ----------
    probe : estimator
        A throw-away copy of the estimator: it receives ``n_features_in_`` and, for a
        data frame, ``feature_names_in_``.
    X : array-like or data frame of shape (n_samples, n_features), or ndarray of shape \
            (n_samples, n_samples, n_kernels) for precomputed kernels
        Training data.
    y : array-like of shape (n_samples,), or (n_samples, n_outputs) where the \
            estimator's tags say that it takes several targets
        Targets.

    Returns
    -------
    X : ndarray
        Float64, or float32 where precomputed matrices come so.
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A single column comes back as a vector.

    Raises
    ------
    ValueError
        With a sentence that says what is wrong.
    """
    if y is None:
        raise ValueError(
            f"{type(probe).__name__} requires y to be passed, but the target y is None."
        )
    checked = _check_samples(probe, X, reset=True)
    targets = _check_targets(probe, y)
    check_consistent_length(checked, targets)
    return checked, targets


def _check_targets(probe: BaseEstimator, y: Any) -> Array:
    """Return the targets, those of a regression as numbers."""
    targets = _target_columns(probe, y)
    check_finite_targets(targets)
    return number_targets(targets) if is_regressor(probe) else targets


def _target_columns(probe: BaseEstimator, y: Any) -> Array:
    """Return the targets as a vector, or as a matrix of at least two columns."""
    _refuse_other_arrays(y, "y")
    if get_tags(probe).target_tags.multi_output:
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


def check_predict_data(estimator: BaseEstimator, X: Any) -> Array:
    """Check data at prediction against what the estimator was fitted on.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator.
    X : array-like or data frame of shape (n_samples, n_features), or ndarray of shape \
            (n_samples, n_fit_samples, n_kernels) for precomputed kernels
        New data.

    Returns
    -------
    X : ndarray

    Raises
    ------
    ValueError
        With a sentence that says what is wrong.
    """
    return _check_samples(estimator, X, reset=False)


def is_precomputed(kernels: object) -> bool:
    """Return whether a ``kernels`` parameter announces Gram matrices."""
    return isinstance(kernels, str) and kernels == "precomputed"


def _check_samples(estimator: BaseEstimator, X: Any, *, reset: bool) -> Array:
    _refuse_other_arrays(X, "X")
    if is_precomputed(estimator.kernels):
        return _check_grams(estimator, X, reset=reset)
    _refuse_other_columns(X)
    table = np.asarray(
        validate_data(
            estimator,
            X,
            reset=reset,
            dtype=np.float64,
            order="C",
            ensure_all_finite=False,
        )
    )
    check_finite_table(table, getattr(estimator, "feature_names_in_", None))
    return table


def _check_grams(estimator: BaseEstimator, X: Any, *, reset: bool) -> Array:
    """Check a samples-first block of Gram matrices, without a copy."""
    grams = np.asarray(
        validate_data(
            estimator,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_2d=False,
            allow_nd=True,
            ensure_all_finite=False,
        )
    )
    if grams.ndim != 3:
        raise ValueError(
            'With kernels="precomputed", X must have three dimensions, (n_samples, '
            f"n_fit_samples, n_kernels); got shape {grams.shape}. stack_grams makes "
            "such an X from a list of Gram matrices."
        )
    check_finite_grams(grams)
    if reset:
        _check_square(grams)
        estimator.n_features_in_ = grams.shape[1]
        return grams
    expected = (estimator.n_features_in_, estimator.kernel_weights_.shape[-1])
    if grams.shape[1:] != expected:
        raise ValueError(
            f"X holds kernels of shape {grams.shape[:2]} for {grams.shape[2]} kernels, "
            f"but {type(estimator).__name__} was fitted on {expected[0]} samples and "
            f"{expected[1]} kernels: X must have shape (n_samples, {expected[0]}, "
            f"{expected[1]})."
        )
    return grams


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
    if getattr(getattr(values, "dtype", None), "kind", "") == "c":
        raise ValueError(f"Complex data not supported: {name} must hold real numbers.")


def _refuse_other_columns(X: Any) -> None:
    """Name the columns of a data frame that hold no numbers."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    wrong = [name for name in X.columns if not _is_numeric(np.asarray(X[name]))]
    if wrong:
        raise ValueError(
            f"Columns without numbers in X: {listed(wrong)}. Encode them first, for "
            "example with OneHotEncoder in a ColumnTransformer, or leave them out."
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
