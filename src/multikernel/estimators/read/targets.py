"""Read and validate targets, groups and other arguments with one value per sample."""

from collections.abc import Hashable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_array, column_or_1d

from multikernel._typing import Array
from multikernel._validation import SMALLEST_STRENGTH, check_weights, listed, shown
from multikernel.estimators.read import kinds, numbers
from multikernel.estimators.read.doubts import (
    label_doubts,
    merges_integers,
    warn_doubts,
    warn_order,
)
from multikernel.exceptions import DataWarning, warn_user
from multikernel.kernels.sequence.tables import NUMBERS
from multikernel.linalg import EPS


def read_targets(estimator: BaseEstimator, y: object, *, fitting: bool = True) -> Array:
    """Return valid targets or class labels; if `fitting`, warn of likely errors."""
    owner = type(estimator).__name__
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    tags = get_tags(estimator)
    targets = _target_columns(owner, tags, y)
    if not len(targets):
        raise ValueError("y holds 0 samples: pass one target for each row of X.")
    if tags.estimator_type == "regressor":
        return _check_target_size(read_columns(targets, "y", kinds.names_of(y)))
    if targets.dtype.kind in "biu":
        return targets
    targets = _read_labels(targets, y)
    if fitting and targets.ndim == 1 and targets.dtype.kind in "UO":
        labels = set(targets.tolist())
        warn_doubts(owner, label_doubts("y", single_column(y), labels))
    return targets


def _target_columns(owner: str, tags: Tags, y: Any) -> Array:
    """Return the targets as a vector, or as a matrix of at least two columns."""
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biufU":
        return np.ascontiguousarray(y)
    refuse_column_name("y", y)
    y = y if issparse(y) else as_table(y, "y")
    has_labels = tags.classifier_tags is not None and tags.classifier_tags.multi_label
    if y.ndim > 1 and (tags.target_tags.multi_output or has_labels):
        target_matrix = check_array(
            y, dtype=None, ensure_2d=False, ensure_all_finite=False, input_name="y"
        )
        if target_matrix.ndim == 2 and target_matrix.shape[1] > 1:
            return np.asarray(target_matrix)
    if y.ndim == 2 and y.shape[1] > 1:
        kind = "Regressor" if tags.estimator_type == "regressor" else "Classifier"
        raise ValueError(
            f"{owner} supports one output, and y should be a 1d array but has shape "
            f"{y.shape}: fit one model per output with "
            f"sklearn.multioutput.MultiOutput{kind}({owner}(...))."
        )
    return np.asarray(column_or_1d(y, warn=True))


def single_column(y: Any) -> Any:
    """Return the only column of a data frame y; return any other y unchanged."""
    names = kinds.names_of(y)
    return y if names is None else y[names[0]]


def category_order(column: Any) -> list[Hashable] | None:
    """Return the categories of an ordered categorical column, lowest first, or None."""
    # A pandas series may contain an Arrow array.
    array = getattr(getattr(column, "array", None), "_pa_array", column)
    if hasattr(array, "unify_dictionaries"):  # a chunked array of Arrow
        array = array.unify_dictionaries().chunk(0) if array.num_chunks else array
    dtype: Any = getattr(array, "dtype", getattr(array, "type", None))
    # Enums of polars are always ordered.
    if not (getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum"):
        return None
    if hasattr(array, "dictionary"):
        return list(array.dictionary.to_pylist())
    return list(dtype.categories)


def target_names(y: object, targets: Array) -> tuple[str, ...] | None:
    """Return the names of the columns of y, or of a series; None if y has no names."""
    if targets.ndim == 2 and hasattr(y, "columns"):
        return tuple(str(name) for name in y.columns)
    name = getattr(y, "name", None)
    return None if targets.ndim == 2 or name is None else (str(name),)


def scored_targets(
    model: BaseEstimator, X: object, y: object, sample_weight: object
) -> tuple[Array, Array | None]:
    """Return validated targets for a score, and weights or None without weights."""
    owner, classes = type(model).__name__, getattr(model, "classes_", None)
    if not (type(y) is np.ndarray and y.ndim and y.dtype.kind in "biuf"):
        y = check_target_names(model, X, y, sample_weight)
    if y.ndim == 1 and isinstance(classes, np.ndarray):
        _warn_unseen_labels(owner, y, classes)
    return y, check_weights(sample_weight, len(y))


def _warn_unseen_labels(owner: str, y: Array, classes: Array) -> None:
    """Warn of labels not seen in fit; raise if text is compared with numbers."""
    fit_labels, labels = set(classes.tolist()), y.tolist()
    unseen = [label for label in labels if label not in fit_labels]
    if not unseen:
        return
    are_text = [isinstance(g[0], str | bytes) for g in (unseen, classes.tolist())]
    if are_text[0] != are_text[1]:
        before, now = ("text", "numbers") if are_text[1] else ("numbers", "text")
        raise ValueError(
            f"y holds {now}, such as {unseen[0]!r}, but the classes in fit were "
            f"{before}: convert y to {before}."
        )
    distinct_labels = list(dict.fromkeys(unseen))
    sentence = (
        f"y holds classes not seen in fit, which count as wrong, in {len(unseen)} of "
        f"{len(labels)} rows: {listed(distinct_labels)}"
    )
    warn_doubts(owner, [sentence])


def check_target_names(
    model: BaseEstimator, X: object, y: object, sample_weight: object = None
) -> Array:
    """Return validated targets; raise unless their names are those of the fit."""
    warn_order(type(model).__name__, X, y=y, sample_weight=sample_weight)
    targets = read_targets(model, y, fitting=False)
    names = target_names(y, targets)
    if targets.ndim == 1 or names is None:
        return targets
    fit_names = tuple(model.output_names_)
    # If the targets of the fit were an array, its columns have the names y0, y1, and so
    # on. In this case new targets may have any other names. If they have these names,
    # the order must be the same.
    are_default_names = fit_names == tuple(f"y{k}" for k in range(len(fit_names)))
    must_match = not are_default_names or {*names} == {*fit_names}
    if names != fit_names and must_match:
        raise ValueError(
            f"y has the columns {listed(names)}, but {type(model).__name__} was fitted "
            f"on {listed(fit_names)}: pass the same columns in the same order."
        )
    return targets


def check_groups(groups: object, n_samples: int) -> Array:
    """Return the groups for the folds; raise unless each sample has one label."""
    refuse_column_name("groups", groups)
    labels = kinds.as_array(numbers.open_data(groups, "groups"), "groups")
    if labels.shape != (n_samples,):
        raise ValueError(
            f"groups must hold one label per sample, shape ({n_samples},), got shape "
            f"{labels.shape}."
        )
    _check_labels(labels, "groups")
    return labels


def refuse_column_name(argument: str, value: object) -> None:
    """Raise if an argument is the name of a column instead of its values."""
    if isinstance(value, str):
        raise ValueError(
            f"{argument}={value!r} must be one value per sample, not the name of a "
            f"column: pass the column, for example {argument}=X[{value!r}]."
        )


def _check_finite(values: Array) -> None:
    """Raise for targets that are not finite, or too large to be squared."""
    numbers.check_limits(
        "y",
        values,
        lambda index: f"row {index[0]}" + "".join(f", column {k}" for k in index[1:]),
        "Use other units for y, or sklearn.compose.TransformedTargetRegressor.",
    )


TIME_ADVICE = {
    **dict.fromkeys(
        (kinds.DATES, "periods"),
        "pass numbers, for example the days since a reference date",
    ),
    "durations": "pass numbers, for example days, in NumPy and pandas by "
    "values / numpy.timedelta64(1, 'D')",
}
"""How to convert targets, times and offsets of these kinds."""


def read_exactly(column: object, name: str) -> Array:
    """Return a column of numbers as float64; warn if different integers are equal."""
    values = kinds.column_values(column)
    quantities = read_quantity(values, name)
    if values.dtype.kind not in "bf" and values.size:
        is_large = (
            np.fmax.reduce(np.abs(quantities), axis=None) >= kinds.LARGEST_INTEGER
        )
        if is_large and merges_integers(values.ravel().tolist(), quantities):
            warn_user(
                f"{name} holds different integers above 2**53 that are equal as "
                "float64: subtract a constant from them.",
                DataWarning,
            )
    return quantities


def read_quantity(column: object, name: str) -> Array:
    """Return a column of numbers as float64, nan if missing; raise for other values."""
    values = kinds.column_values(column)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64, copy=False)
    kind = kinds.column_kind(values)
    if kind in kinds.ADVICE:
        advice = TIME_ADVICE.get(kind, kinds.ADVICE[kind])
        raise ValueError(f"{name} must hold numbers, but holds {kind}: {advice}.")
    cells = values.tolist()
    if kind != NUMBERS:
        odd_cell = kinds.first_odd_cell(values)
        texts = ((row, v) for row, v in enumerate(cells) if isinstance(v, str | bytes))
        row, text = next(texts) if odd_cell is None else odd_cell
        if odd_cell is not None:
            raise ValueError(
                f"{name} must hold numbers, but it holds {str(text)!r} at row {row}, "
                "and numbers in most other rows: correct this cell."
            )
        raise ValueError(
            f"{name} must hold numbers, but it holds {str(text)!r} at row {row}: "
            "convert text to numbers, for example with astype(float)."
        )
    try:
        return np.array([np.nan if kinds.is_missing(v) else float(v) for v in cells])
    except OverflowError as error:
        raise ValueError(
            f"{name} holds an integer that is too large for a floating-point number"
            f"{numbers.cell_of_large_integer(values)}: use other units."
        ) from error


def read_columns(
    data: object, name: str, labels: Sequence[Hashable] | None = None
) -> Array:
    """Return a column or table of numbers as float64; see `read_exactly`."""
    # `labels` are the names of the columns in messages; the default is their positions.
    values = as_table(data, name)
    if values.ndim == 0 and values.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold one number per sample, got {shown(data)}.")
    if values.ndim == 1 or values.dtype.kind in "biuf":
        return read_exactly(values, name)
    columns = values.reshape(len(values), -1).T
    arrays = [
        read_exactly(column, f"{name}, column {label!r},")
        for label, column in zip(labels or range(len(columns)), columns, strict=True)
    ]
    return np.column_stack(arrays)


def as_table(data: Any, name: str) -> Array:
    """Return data as an array, of type object if a column of a frame is not numeric."""
    data = numbers.open_data(data, name)
    if (names := kinds.names_of(data)) is None:
        return kinds.as_array(data, name)
    columns = [kinds.column_values(data[column]) for column in names]
    if not all(column.dtype.kind in "biuf" for column in columns):
        columns = [column.astype(object) for column in columns]
    return np.column_stack(columns)


def _check_target_size(targets: Array) -> Array:
    """Return the targets of a regression; raise if they are too large or too small."""
    _check_finite(targets)
    sizes = np.atleast_1d(np.abs(targets).max(axis=0))
    # Targets that are constant up to rounding may have any size: the model without
    # kernels is then optimal, and no sum of squares is needed.
    varies = np.ptp(targets, axis=0) > np.sqrt(EPS) * sizes
    is_small = varies & (sizes < SMALLEST_STRENGTH)
    if is_small.any():
        column = int(np.argmax(is_small))
        where = f"column {column} of y" if is_small.size > 1 else "y"
        raise ValueError(
            f"The largest absolute value of {where} is {sizes[column]:.3g}, too "
            f"small for sums of squares: it must be at least {SMALLEST_STRENGTH:g}. "
            "Use other units for y, or sklearn.compose.TransformedTargetRegressor."
        )
    return targets


def _read_labels(values: Array, y: object) -> Array:
    """Return the labels in y as text, numbers or NumPy dates; raise for others."""
    # `values` are the labels as an array.
    if values.dtype.kind in "fc":
        _check_finite(values)
    labels = _check_labels(values, "Input y")
    if values.dtype.kind == "O" and not isinstance(labels[0], str | bytes):
        to_text = "y.astype(str)"
        if category_order(single_column(y)) is not None:  # `astype` loses the order
            to_text = "pandas.Series(y).cat.rename_categories(str)"
        values = _read_numbers(values, labels, to_text)
        _refuse_rounded(values, "y")
    return values


def _read_numbers(y: Array, labels: list[Any], to_text: str) -> Array:
    """Return objects as an array of numbers; raise if some are no real numbers."""
    kind = kinds.column_kind(y.ravel())
    if kind != NUMBERS:
        odd = [kinds.column_kind(np.array([v], dtype=object)) for v in labels]
        j = odd.index(kind)
        raise ValueError(
            f"y holds {kind}, such as {labels[j]!r} at {_cell_of(j, y)}, but classes "
            f"must be numbers or text: convert them, for example with {to_text}."
        )
    # Equal numbers of different types, such as 1 and True, are one class.
    numeric = np.array([v if isinstance(v, Integral) else float(v) for v in labels])
    if numeric.dtype.kind == "f":
        _check_finite(numeric.reshape(y.shape))
    if numeric.dtype.kind == "O":
        raise ValueError(
            f"y holds {shown(max(labels, key=abs))}, which is too large for a class "
            "label, because integers must have at most 64 bits: convert all labels to "
            f"text, for example with {to_text}."
        )
    return numeric.reshape(y.shape)


def _check_labels(values: Array, name: str) -> list[Any]:
    """Raise for missing or mixed labels; return the checked labels as a list."""
    if values.dtype.kind not in "OMmfc":
        return []
    _refuse_rounded(values, name)
    labels = values.ravel().tolist() if values.dtype.kind == "O" else [*values.ravel()]
    gap = next((row for row, v in enumerate(labels) if kinds.is_missing(v)), None)
    if gap is not None:
        raise ValueError(
            f"{name} contains NaN at {_cell_of(gap, values)}, a missing label "
            f"({labels[gap]}). {numbers.LEAVE_OUT}"
        )
    ends = [isinstance(v, str | bytes) and v[-1:] in ("\0", b"\0") for v in labels]
    if any(ends):
        row = ends.index(True)
        raise ValueError(
            f"{name} holds {labels[row]!r} at {_cell_of(row, values)}, but NumPy "
            "removes NUL characters at the end of text: correct this label."
        )
    text_types = [2 * isinstance(v, str) + isinstance(v, bytes) for v in labels]
    if len(set(text_types)) > 1:
        _refuse_mixed_labels(labels, text_types, name, values)
    return labels


def _refuse_rounded(labels: Array, name: str) -> None:
    """Raise for floating-point labels that may be rounded integers."""
    if kinds.has_large_floats(labels):
        raise ValueError(
            f"{name} holds {labels.flat[np.nanargmax(np.abs(labels))]}, but floats as "
            "labels must be finite and below 2**53, because larger integers are "
            "rounded: convert integers to text before they become floats."
        )


def _cell_of(index: int, values: Array) -> str:
    # `index` counts the labels of all columns, row by row.
    row, *columns = (int(k) for k in np.unravel_index(index, values.shape))
    return f"row {row}" + "".join(f", column {k}" for k in columns)


def _refuse_mixed_labels(
    labels: Sequence[Hashable], types: list[int], name: str, values: Array
) -> None:
    j = next(row for row, text in enumerate(types) if text != types[0])
    cells = _cell_of(0, values), _cell_of(j, values)
    detail = f"{labels[0]!r} at {cells[0]} and {labels[j]!r} at {cells[1]}"
    if (odd := kinds.first_odd_cell(np.array(labels, dtype=object))) is not None:
        unit = "rows" if values.ndim == 1 else "cells"
        place = _cell_of(odd[0], values)
        detail = f"{odd[1]!r} at {place}, and numbers in most other {unit}"
    raise ValueError(
        f"{name} mixes text and other labels: {detail}. Correct the wrong labels, "
        "or convert all labels to text."
    )
