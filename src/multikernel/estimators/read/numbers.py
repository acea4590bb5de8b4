"""Arrays and data frames as given by the user: their type, and their numbers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from multikernel._typing import Array
from multikernel._validation import LARGEST_VALUE, listed, shown
from multikernel.estimators.read.kinds import (
    LEFT_TO_NUMPY,
    column_values,
    is_frame,
    is_text,
    kinds_of,
    names_of,
    no_sequences_because,
    refuse_kinds,
)
from multikernel.kernels.sequence.builders import LEAST_LETTERS
from multikernel.kernels.sequence.tables import NUMBERS, Layout
from multikernel.linalg.tables import is_dask

IMPUTE = (
    "Pass kernels=Views({'a name': columns, ...}, missing='expected'), which accepts "
    "missing values, impute them, for example with SimpleImputer, or remove these rows."
)
OF_A_FOLD = "the validation samples of a fold"
LEAVE_OUT = "Correct these values, or remove the samples."


def refuse_frames(values: object, name: str) -> None:
    """Raise for lazy tables, tables without columns, and columns that share a name."""
    if hasattr(values, "collect") and hasattr(values, "collect_schema"):
        raise ValueError(
            f"{name} is a {type(values).__name__}, which is not computed yet: call "
            f"{name}.collect() first."
        )
    if hasattr(values, "obs_names") and not is_frame(values):
        _refuse_annotated(values, name)
    batches = hasattr(values, "to_batches") and not hasattr(values, "__len__")
    if hasattr(values, "__next__") or batches:
        raise ValueError(
            f"{name} is a {type(values).__name__}, which yields rows in batches: make "
            "a Dask data frame, for example with dask.dataframe.from_map, or one "
            "table."
        )
    columns = names_of(values)
    if columns is not None and not len(columns):
        raise ValueError(
            f"{name} is a {type(values).__name__} without columns: pass at least one."
        )
    refuse_shared_names(columns or (), name)


def _refuse_annotated(values: object, name: str) -> None:
    """Raise for an AnnData or MuData, whose table is one of several layers."""
    advice = f"pass {name}.to_df(), or {name}.to_df(layer=...) for a layer"
    if hasattr(values, "mod"):
        tables = f"[part.to_df() for part in {name}.mod.values()]"
        advice = f"pass pandas.concat({tables}, axis=1), or the table of a modality"
    raise TypeError(
        f"{name} is of the type {type(values).__name__}, not a table: {advice}."
    )


def refuse_shared_names(columns: Iterable[object], name: str) -> None:
    """Raise if several columns have one name."""
    seen = Counter(map(str, columns))
    shared = [column for column, times in seen.items() if times > 1]
    if shared:
        raise ValueError(
            f"Several columns of {name} have the same name: {listed(shared)}. Rename "
            "them, or keep only one."
        )


def with_text_names(X: Any, *, fit_had_names: bool | None = None) -> Any:
    """Return a frame whose column names are converted to text if none of them is text.

    scikit-learn ignores names that are not text. Default names of pandas (0, 1, ...)
    are converted only if the fit had names. If the fit had none, default names in
    another order raise. `fit_had_names` is None in a fit.
    """
    names = names_of(X) or []
    places = list(range(len(names)))
    # scikit-learn raises for names of mixed types.
    if not names or any(isinstance(name, str) for name in names):
        return X
    if names == places and not fit_had_names:
        return X
    if fit_had_names is False and set(names) == set(places):
        raise ValueError(
            f"X has the columns {listed(names)}, which are not in the same order as in "
            f"fit: reorder them as {listed(places)}."
        )
    named = X.copy(deep=False)
    named.columns = [str(name) for name in names]
    return named


BY_DEFAULT = (
    "(kernels=None reads text as sequences if all values have at least "
    f"{LEAST_LETTERS} capital letters of DNA, RNA or proteins, and more than half of "
    "the values differ. In a data frame, it reads other text as categories if at most "
    "half differ.)"
)


def read_numbers(estimator: BaseEstimator, owner: str, X: Any, *, reset: bool) -> Array:
    """Return a table as float64 numbers, which may not be finite.

    With `reset`, in a fit, the number and names of the columns are stored on the
    `estimator`; otherwise X is compared with these. Messages use the name `owner`.
    """
    attributes = vars(estimator)
    if is_plain(X) and "feature_names_in_" not in attributes:
        # A plain array needs no full check, which takes a sixth of a millisecond.
        if reset:
            attributes["n_features_in_"] = X.shape[1]
        if attributes.get("n_features_in_") == X.shape[1]:
            return np.ascontiguousarray(X, dtype=np.float64)
    refuse_other_arrays(X, "X")
    if is_frame(X):
        _refuse_other_columns(X, fitting=reset)
    else:
        X = _array_of_numbers(X)
    return read_array(estimator, owner, X, reset=reset, dtype=np.float64, order="C")


def is_plain(X: object) -> bool:
    """Return whether X is a nonempty NumPy array of numbers with two axes."""
    if type(X) is not np.ndarray or X.ndim != 2:
        return False
    return X.dtype.kind in "biuf" and bool(X.size)


def read_array(
    estimator: BaseEstimator, owner: str, X: object, **settings: Any
) -> Array:
    """Return an array of floating-point numbers, validated by scikit-learn.

    It supports the same data as `read_numbers`; `settings` are arguments of
    `sklearn.utils.validation.validate_data`.
    """
    refuse_other_arrays(X, "X")
    settings |= {"estimator": owner, "ensure_all_finite": False}
    try:
        return np.asarray(validate_data(estimator, X, **settings))
    except OverflowError as error:
        raise ValueError(
            "X holds an integer that is too large for a floating-point number: change "
            "its unit."
        ) from error
    except (TypeError, ValueError) as error:
        raise type(error)(_in_words("X", _shape_words(X, str(error)))) from error


def _shape_words(X: Any, text: str) -> str:
    """Return scikit-learn's message, or one with the shape if X has not two axes."""
    if not text.startswith(("Expected 2D array", "Found array with dim")):
        return text
    shape = np.shape(X)
    sentence = f"X must have shape (n_samples, n_features), and has shape {shape}."
    if len(shape) > 2:
        return (
            f"{sentence} Gram matrices, of shape (n_samples, n_samples, n_kernels), go "
            "with kernels='precomputed': see stack_grams."
        )
    return (
        f"{sentence} Reshape your data: X.reshape(-1, 1) makes one feature of them, "
        "and X.reshape(1, -1) one sample."
    )


def _in_words(name: str, text: str) -> str:
    """Return scikit-learn's message, or a sentence instead of NumPy's wording."""
    if "inhomogeneous" in text:
        return f"{name} must be a table of numbers: its rows have different lengths."
    if text.startswith(("could not convert", "float() argument")):
        return f"{name} must be a table of numbers: {text}."
    if text.startswith("setting an array element"):
        return f"{name} must be a table of numbers: it holds an array instead of one."
    return text


def refuse_other_arrays(values: object, name: str) -> None:
    """Raise for data that would become other numbers if converted to floats."""
    if values is None:
        raise ValueError(f"{name} is None: pass an array or a data frame.")
    if isinstance(values, Mapping):
        raise ValueError(
            f"{name} is a mapping of {listed(list(values))}: for Gram matrices use "
            "stack_grams with kernels='precomputed', for columns use "
            "pandas.DataFrame."
        )
    if isinstance(values, list | tuple) and any(map(is_dask, values[:1])):
        raise ValueError(
            f"{name} is a list of Dask objects: combine them into one array or data "
            "frame, for example with dask.array.concatenate."
        )
    if is_frame(values) and hasattr(values, "sparse"):
        raise ValueError(
            f"{name} is a data frame of sparse columns: pass {name}.sparse.to_dense(), "
            f"or scipy.sparse.csr_array({name}.sparse.to_coo()) for kernels that "
            "support sparse tables, such as kernels='tanimoto'."
        )
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with masked values: fill them, for example "
            "with SimpleImputer, or remove these samples."
        )
    if name == "X" and is_text(values):
        _refuse_gaps_in_text(np.ravel(np.asarray(values, dtype=object)).tolist())
        raise ValueError(
            "X is a list of strings: pass numbers, or kernels for sequences, such as "
            "kernels=[SpectrumKernel(3)] of multikernel.kernels.sequence. "
            f"{BY_DEFAULT}{_doubt(values)}"
        )
    _refuse_other_types(values, name)


def _refuse_other_types(values: Any, name: str) -> None:
    """Raise for arrays of one object, of complex numbers, or with fields."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    if kind == "O" and getattr(values, "ndim", None) == 0:
        wrapped = values[()]
        what = "None" if wrapped is None else f"a {type(wrapped).__name__}"
        raise ValueError(
            f"{name} is a NumPy array with one object, {what}: pass an array of "
            "numbers."
        )
    if kind == "c":
        raise ValueError(
            f"Complex data not supported: {name} must hold real numbers, such as the "
            "real and the imaginary parts as columns."
        )
    if kind == "V":
        raise ValueError(
            f"{name} is a structured array: pass an array of numbers or a data frame."
        )


def _refuse_gaps_in_text(values: list[Any]) -> None:
    """Raise for a list of strings that also contains other values."""
    texts = [isinstance(value, str | bytes) for value in values]
    if any(texts) and not all(texts):
        row = texts.index(False)
        raise ValueError(
            f"X holds {shown(values[row])} at row {row}, and strings in other rows: "
            "pass strings only, and remove samples without one."
        )


def _refuse_other_columns(X: object, *, fitting: bool) -> None:
    """Raise for a data frame with columns that are not numbers, and name them."""
    names, kinds = list(names_of(X) or ()), kinds_of(X)
    refuse_kinds(names, kinds)
    pairs = zip(names, kinds, strict=True)
    wrong = [name for name, kind in pairs if kind != NUMBERS]
    if wrong and not fitting:
        raise ValueError(
            f"Columns of X without numbers, which held numbers in fit: {listed(wrong)}."
            " Convert them, for example with astype(float)."
        )
    if wrong:
        raise ValueError(
            f"Columns without numbers in X: {listed(wrong)}. Pass views, such as "
            f"kernels={{'a name': [{wrong[0]!r}]}}, which compare text as categories; "
            "encode them, for example with OneHotEncoder in a ColumnTransformer; drop "
            f"them; or pass kernels of multikernel.kernels.sequence. {BY_DEFAULT}"
        )


def _doubt(values: object) -> str:
    """Return a sentence that says why kernels=None does not read text as sequences."""
    reason = no_sequences_because(column_values(values).tolist())
    return "" if reason is None else f" Here {reason}."


def _array_of_numbers(X: object) -> Any:
    """Return an array-like; raise if conversion would change its values."""
    if isinstance(X, list | tuple):
        _refuse_gaps_in_text(list(X))
        try:
            X = np.asarray(X)
        except TypeError:  # dates beside numbers, of NumPy's types
            X = np.asarray(X, dtype=object)
        except ValueError:  # rows of different lengths
            return X
    if isinstance(X, np.ndarray) and X.ndim in (1, 2) and X.dtype.kind in "OMm":
        _refuse_other_values(X)
    return X


def _refuse_other_values(X: Array) -> None:
    """Raise for dates and other types that are not numbers, and vectors of objects."""
    kinds = kinds_of(X.reshape(X.shape[0], -1))
    if X.ndim == 1 and kinds[0] in LEFT_TO_NUMPY:
        raise ValueError(
            f"X holds one object per sample, such as a {type(X[0]).__name__}, but "
            "kernels require rows of numbers, or text. Pass Gram matrices "
            "(kernels='precomputed', see stack_grams), or row numbers, X = "
            "np.arange(n)[:, None], with a PrecomputedKernel of the matrix of all "
            "objects."
        )
    # scikit-learn's checks require a TypeError for other objects, which comes later.
    kinds = [NUMBERS if kind in LEFT_TO_NUMPY else kind for kind in kinds]
    refuse_kinds(range(len(kinds)), kinds)


def check_values(
    estimator: BaseEstimator, table: Array, layout: Layout | None = None
) -> None:
    """Raise for values that overflow, or are missing where this is not supported."""
    if within_reach(table):
        return
    names = vars(estimator).get("feature_names_in_")
    numeric = range(table.shape[1]) if layout is None else layout.numeric
    if layout is not None:
        names = [layout.name(column) for column in numeric]
    numbers = table[:, : len(numeric)]
    if hasattr(estimator, "view_columns_"):
        position = {column: at for at, column in enumerate(numeric)}
        views = {
            name: [position[c] for c in columns.tolist() if c in position]
            for name, columns in estimator.view_columns_.items()
        }
        missing = estimator.missing_views_
        seen = {
            column for columns_of_view in views.values() for column in columns_of_view
        }
        if set(missing.values()) != {"error"} or len(seen) < numbers.shape[1]:
            numbers = seen_values(numbers, views, names, missing)
    if numbers.size:
        check_finite_table(numbers, names)


def check_finite_table(X: Array, names: Sequence[object] | None) -> None:
    """Raise for the first value that is not finite or overflows, with row and column.

    A value overflows if it is too large to be squared. The columns may have `names`.
    """
    if within_reach(X):
        return
    row, column = worst_place(X)
    where = f"row {row}, column {column if names is None else str(names[column])!r}"
    if np.isfinite(X[row, column]):
        scale = "Scale this column, for example with StandardScaler."
        raise ValueError(too_large(X[row, column], where, scale))
    advice = IMPUTE if np.isnan(X[row, column]) else LEAVE_OUT
    refuse_not_finite("Input X", X, (row, column), where, advice)


def seen_values(
    X: Array,
    views: Mapping[str, Sequence[int]],
    names: Sequence[object] | None,
    missing: Mapping[str, str],
) -> Array:
    """Return the values of a table that views use, zeros elsewhere.

    `views` maps names to positions of columns. `missing` maps names to the treatment of
    NaN: "zero" and "expected" replace it by zero. With "zero", a sample without some
    but not all values of a view raises.
    """
    seen = np.zeros(X.shape)
    # If a column is in several views, a view that does not support gaps decides.
    for view in sorted(views, key=lambda view: missing[view] == "error"):
        columns = views[view]
        part, how = X[:, columns], missing[view]
        gaps = np.isnan(part)
        partly = np.flatnonzero(gaps.any(axis=1) & ~gaps.all(axis=1))
        if how == "zero" and partly.size:
            column = columns[int(np.argmax(gaps[partly[0]]))]
            label = repr(column if names is None else str(names[column]))
            raise ValueError(
                f"Row {partly[0]} lacks a part of view {view!r}, first column "
                f"{label}: missing='zero' requires that a sample lacks the whole "
                "view. Use Views(..., missing='expected') for other missing values."
            )
        seen[:, columns] = part if how == "error" else np.where(gaps, 0.0, part)
    return seen


def within_reach(values: Array) -> bool:
    """Return whether values and products of a few of them are finite."""
    # Convert to Python floats: in single precision the limit would be infinite.
    ends = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    return ends[0] >= -LARGEST_VALUE and ends[1] <= LARGEST_VALUE


def first_not_finite(values: Array) -> tuple[int, ...]:
    """Return the index of the first value that is not finite."""
    return tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])


def finite_predictions(values: Array, where: str = "X", advice: str = "") -> Array:
    """Return predictions, (n_samples, ...); raise for a sample on which they overflow.

    `where` is the name of the samples in messages, which end with `advice`.
    """
    if np.isfinite(values).all():
        return values
    row = first_not_finite(values)[0]
    raise ValueError(
        f"The prediction for row {row} of {where} is too large for floating-point "
        "numbers, because its values are too far from the training samples. Remove "
        f"or clip the row.{advice}"
    )


def worst_place(values: Array) -> tuple[int, ...]:
    """Return the index of the first value that is not finite, else of the largest."""
    if not np.isfinite(values).all():
        return first_not_finite(values)
    row_and_column = np.unravel_index(int(np.argmax(np.abs(values))), values.shape)
    return tuple(int(i) for i in row_and_column)


def too_large(value: float, where: str, advice: str) -> str:
    """Return the error message for a value of X whose products overflow."""
    return (
        f"X holds {value:.3g} at {where}, too large for sums of squares: at most "
        f"{LARGEST_VALUE:g} is accepted. {advice}"
    )


def refuse_not_finite(
    what: str, values: Array, index: tuple[int, ...], where: str, advice: str
) -> None:
    """Raise for the first value of an array that is not finite."""
    kind = "NaN" if np.isnan(values[index]) else "infinity"
    count = int(np.count_nonzero(~np.isfinite(values)))
    others = f", the first of {count} values that are not finite" if count > 1 else ""
    raise ValueError(f"{what} contains {kind} at {where}{others}. {advice}")
