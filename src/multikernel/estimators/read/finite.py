"""Values that are not finite: which, and where they stand in the input."""

from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np

from multikernel._typing import Array

IMPUTE = "Impute missing values, for example with SimpleImputer, or leave rows out."
LARGEST_VALUE = 1e100
LEAVE_OUT = "Correct these values, or leave the samples out."


def check_finite_table(X: Array, names: Sequence[object] | None) -> None:
    """Raise with row and column of the first value that cannot be computed with.

    That is one which is not finite, or too large to be squared.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The table.
    names : sequence or None
        Names of the columns, where there are any.
    """
    if all_finite(X) and max(X.max(), -X.min()) <= LARGEST_VALUE:
        return
    row, column = _first(X) if not all_finite(X) else _largest(X)
    label = repr(column if names is None else str(names[column]))
    if np.isfinite(X[row, column]):
        raise ValueError(
            f"X is too large for sums of squares: it reaches {X[row, column]:.3g} at "
            f"row {row}, column {label}, and at most {LARGEST_VALUE:g} is possible. "
            "Scale this column, for example with StandardScaler."
        )
    advice = IMPUTE if np.isnan(X[row, column]) else LEAVE_OUT
    _refuse("Input X", X, (row, column), f"row {row}, column {label}", advice)


def seen_values(
    X: Array,
    views: Mapping[str, Sequence[int]],
    names: Sequence[object] | None,
    may_miss: bool,
) -> Array:
    """Return the values that views see, zeros elsewhere.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The table.
    views : mapping from str to sequence of int
        The columns of each view.
    names : sequence or None
        Names of the columns, where there are any.
    may_miss : bool
        Whether whole views of a sample may be nan, which become zeros.

    Returns
    -------
    seen : ndarray of shape (n_samples, n_features)

    Raises
    ------
    ValueError
        If a sample lacks a part of a view.
    """
    seen = np.zeros(X.shape)
    for view, columns in views.items():
        part = X[:, columns]
        missing = np.isnan(part)
        partly = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
        if may_miss and partly.size:
            column = columns[int(np.argmax(missing[partly[0]]))]
            label = repr(column if names is None else str(names[column]))
            raise ValueError(
                f"Row {partly[0]} lacks a part of view {view!r}, first column {label}: "
                "a sample may lack a view as a whole only. Impute the rest, for "
                "example with SimpleImputer."
            )
        seen[:, columns] = np.where(missing, 0.0, part) if may_miss else part
    return seen


def check_finite_targets(y: Array) -> None:
    """Raise with the row of the first target that is not finite, or missing.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Numbers or labels.
    """
    if y.dtype.kind == "O":
        _check_labels(y)
    if y.dtype.kind not in "fc" or all_finite(y):
        return
    place = _first(y)
    column = "" if y.ndim == 1 else f", column {place[1]}"
    _refuse("Input y", y, place, f"row {place[0]}{column}", LEAVE_OUT)


def number_targets(y: Array) -> Array:
    """Return targets as float64 numbers, or say which one is none.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Targets.

    Returns
    -------
    targets : ndarray of the same shape

    Raises
    ------
    ValueError
        Naming the first value that is no number, or too large to be squared.
    """
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


def check_finite_grams(X: Array) -> None:
    """Raise with the first place in Gram matrices that is not finite.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_fit_samples, n_kernels)
        The matrices, samples first.
    """
    # In the order in which they are held: the matrices may fill the memory.
    slowest = int(np.argmax(X.strides))
    for number, part in enumerate(np.moveaxis(X, slowest, 0)):
        if not all_finite(part):
            place = _first(part)
            i, j, m = np.insert(place, slowest, number).tolist()
            where = f"[{i}, {j}] of Gram matrix {m}"
            _refuse("Input X", part, place, where, LEAVE_OUT)


def _check_labels(y: Array) -> None:
    """Raise if an array of objects holds a missing value, or mixes text and others."""
    for row, label in enumerate(y.ravel()):
        # What is missing does not equal itself; pandas' own NA gives no answer.
        if label is None or type(label).__name__ == "NAType" or label != label:
            raise ValueError(
                f"Input y contains NaN at row {row}, a missing label ({label!r}). "
                f"{LEAVE_OUT}"
            )
    kinds = [isinstance(label, str) for label in y.ravel()]
    if any(kinds) and not all(kinds):
        row = kinds.index(not kinds[0])
        raise ValueError(
            f"Input y mixes text and other labels: {y.flat[0]!r} at row 0 and "
            f"{y.flat[row]!r} at row {row}. Make all of them text, or none."
        )


def all_finite(values: Array) -> bool:
    """Return whether all values are finite: their sum is, or each on its own.

    Parameters
    ----------
    values : ndarray
        Of any shape.

    Returns
    -------
    finite : bool
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum()
    return bool(np.isfinite(total)) or bool(np.isfinite(values).all())


def _first(values: Array) -> tuple[int, ...]:
    """Return the place of the first value that is not finite."""
    return tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])


def _largest(values: Array) -> tuple[int, ...]:
    """Return the place of the value of the largest size."""
    place = np.unravel_index(int(np.argmax(np.abs(values))), values.shape)
    return tuple(int(i) for i in place)


def _refuse(
    what: str, values: Array, place: tuple[int, ...], where: str, advice: str
) -> None:
    """Raise for the first value of an array that is not finite."""
    kind = "NaN" if np.isnan(values[place]) else "infinity"
    count = int(np.count_nonzero(~np.isfinite(values)))
    others = f", the first of {count} values that are not finite" if count > 1 else ""
    raise ValueError(f"{what} contains {kind} at {where}{others}. {advice}")
