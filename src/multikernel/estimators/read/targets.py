"""Targets as they come in: columns of numbers, of classes, or of labels."""

from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_array, column_or_1d

from multikernel._typing import Array
from multikernel._validation import LARGEST_VALUE, listed
from multikernel.estimators.read import numbers


def read_targets(estimator: BaseEstimator, y: Any) -> Array:
    """Return the targets, checked: numbers of a regression, labels of a classifier.

    They are a vector, or a matrix of at least two columns where the tags of the
    estimator say that it takes several.
    """
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is "
            "None."
        )
    tags = get_tags(estimator)
    targets = _columns(type(estimator).__name__, tags, y)
    if not len(targets):
        raise ValueError("y holds 0 samples: one target is needed for each row of X.")
    _check_finite(targets)
    return _numbers(targets) if tags.estimator_type == "regressor" else targets


def _columns(owner: str, tags: Tags, y: Any) -> Array:
    """Return the targets as a vector, or as a matrix of at least two columns."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufU":
        return np.ascontiguousarray(y)
    numbers.refuse_frames(y, "y")
    numbers.refuse_other_arrays(y, "y")
    try:
        shape = getattr(y, "shape", None) or np.asarray(y).shape
    except ValueError as error:
        raise ValueError(
            "y must hold one target per sample, or rows of as many: its parts have "
            "different lengths."
        ) from error
    labels = tags.classifier_tags is not None and tags.classifier_tags.multi_label
    if len(shape) > 1 and (tags.target_tags.multi_output or labels):
        several = check_array(
            y, dtype=None, ensure_2d=False, ensure_all_finite=False, input_name="y"
        )
        if several.ndim == 2 and several.shape[1] > 1:
            return np.asarray(several)
    if len(shape) == 2 and shape[1] > 1:
        kind = "Regressor" if tags.estimator_type == "regressor" else "Classifier"
        raise ValueError(
            f"{owner} takes one output, and y should be a 1d array but has shape "
            f"{shape}: fit one model per output with "
            f"sklearn.multioutput.MultiOutput{kind}({owner}(...))."
        )
    return np.asarray(column_or_1d(y, warn=True))


def target_names(y: Any, targets: Array) -> tuple[str, ...] | None:
    """Return what the columns of a data frame of targets, or a series, are called."""
    if targets.ndim == 2 and hasattr(y, "columns"):
        return tuple(str(name) for name in y.columns)
    name = getattr(y, "name", None)
    return None if targets.ndim == 2 or name is None else (str(name),)


def known_targets(model: Any, y: Any) -> Array:
    """Return the targets of samples, by name where the model and they have names.

    Columns of a data frame that are not the fit's, in its order, are refused.
    """
    targets = read_targets(model, y)
    names, fitted = target_names(y, targets), tuple(model.output_names_)
    # Arrays have such names too: other ones tell nothing, and another order does.
    numbered = fitted == tuple(f"y{k}" for k in range(len(fitted)))
    has_names = not numbered or {*(names or ())} == {*fitted}
    if targets.ndim == 2 and names not in (None, fitted) and has_names:
        raise ValueError(
            f"y has the columns {listed(names)}, but {type(model).__name__} was fitted "
            f"on {listed(fitted)}: they must be the same, in the same order."
        )
    return targets


def check_groups(groups: Any, n_samples: int) -> Array:
    """Return the groups that folds keep together, if there is one for each sample."""
    labels = np.asarray(groups)
    if labels.shape != (n_samples,):
        raise ValueError(
            f"groups must hold one label per sample, shape ({n_samples},); got shape "
            f"{labels.shape}."
        )
    return labels


def _check_finite(y: Array) -> None:
    """Raise with the row of the first target that is not finite, or missing."""
    if y.dtype.kind == "O":
        _check_labels(y)
    if y.dtype.kind not in "fc" or numbers.all_finite(y):
        return
    wrong = numbers.first_not_finite(y)
    column = "" if y.ndim == 1 else f", column {wrong[1]}"
    numbers.refuse_not_finite(
        "Input y", y, wrong, f"row {wrong[0]}{column}", numbers.LEAVE_OUT
    )


def _numbers(y: Array) -> Array:
    """Return targets as float64 numbers, or say which one is none, or too large."""
    if y.dtype.kind not in "biuf":
        for row, values in enumerate(y.reshape(y.shape[0], -1)):
            wrong = [value for value in values if not isinstance(value, Real)]
            if wrong:
                raise ValueError(
                    f"A regression needs numbers as targets, but y holds {wrong[0]!r} "
                    f"at row {row}."
                )
    try:
        targets = np.asarray(y, dtype=np.float64)
    except OverflowError as error:
        raise ValueError(
            "y holds an integer that is too large for a floating-point number."
        ) from error
    row = int(np.argmax(np.abs(targets))) // max(targets[0].size, 1)
    largest = float(np.abs(targets[row]).max())
    if largest > LARGEST_VALUE:
        raise ValueError(
            f"The targets are too large for sums of their squares: y reaches "
            f"{largest:.3g} at row {row}, and at most {LARGEST_VALUE:g} is "
            "possible. Choose other units of y, for example by "
            "TransformedTargetRegressor."
        )
    return targets


def _check_labels(y: Array) -> None:
    """Raise if an array of objects holds a missing value, or mixes text and others."""
    for row, label in enumerate(y.ravel()):
        # What is missing does not equal itself; pandas' own NA gives no answer.
        if label is None or type(label).__name__ == "NAType" or label != label:
            raise ValueError(
                f"Input y contains NaN at row {row}, a missing label ({label!r}). "
                f"{numbers.LEAVE_OUT}"
            )
    kinds = [isinstance(label, str) for label in y.ravel()]
    if any(kinds) and not all(kinds):
        row = kinds.index(not kinds[0])
        raise ValueError(
            f"Input y mixes text and other labels: {y.flat[0]!r} at row 0 and "
            f"{y.flat[row]!r} at row {row}. Make all of them text, or none."
        )
