"""Open the user's arrays and data frames, and read and check their numbers."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from multikernel._typing import Array
from multikernel._validation import LARGEST_VALUE, listed, shown
from multikernel.estimators.read import kinds
from multikernel.kernels.sequence.builders import LEAST_LETTERS
from multikernel.kernels.sequence.tables import NUMBERS, Layout

IMPUTE = "Impute them, for example with SimpleImputer, or remove these rows."
IMPUTE_OR_VIEWS = (
    "Pass kernels=Views({'a name': columns, ...}, missing='expected'), which accepts "
    "missing values; impute them, for example with SimpleImputer; or remove these rows."
)
OF_A_FOLD = "the validation samples of a fold"
LEAVE_OUT = "Correct these values, or remove the samples."


def open_data(data: object, name: str) -> Any:
    """Return data frames and sparse matrices unchanged, other data as an array."""
    if type(data) is np.ndarray and data.dtype.kind in "biuf":
        return data
    require_table(data, name)
    if isinstance(data, list | tuple) and any(map(np.ma.is_masked, data)):
        data = np.ma.array(data)  # `np.asarray` would ignore the masks
    array = isinstance(data, np.ndarray) and data.dtype.kind != "T"
    if not (array or kinds.names_of(data) is not None or issparse(data)):
        data = kinds.as_array(data, name)
    _refuse_arrays(data, name)
    return data


def require_table(values: object, name: str) -> None:
    """Raise for data that are not a table, and for columns that share a name."""
    what = f"{name} is a {type(values).__name__}"
    if values is None:
        raise ValueError(f"{name} is None: pass an array or a data frame.")
    if hasattr(values, "collect_schema") and not hasattr(values, "__len__"):
        raise ValueError(f"{what}, which is not computed: call {name}.collect() first.")
    columns = kinds.names_of(values)
    if hasattr(values, "obs_names") and columns is None:
        advice = f"pass {name}.to_df(), or {name}.to_df(layer=...) for a layer"
        if hasattr(values, "mod"):
            tables = f"[part.to_df() for part in {name}.mod.values()]"
            advice = f"pass pandas.concat({tables}, axis=1), or the table of a modality"
        raise TypeError(f"{what}, not a table: {advice}.")
    yields_batches = hasattr(values, "to_batches") and not hasattr(values, "__len__")
    if hasattr(values, "__next__") or yields_batches:
        raise ValueError(
            f"{what}, which yields its rows in several parts: pass a Dask data frame, "
            "for example from dask.dataframe.from_map, or one table."
        )
    if isinstance(values, list) and values and isinstance(values[0], dict):
        raise ValueError(f"{name} is a list of dicts: pass pandas.DataFrame({name}).")
    # The DOK format of sparse matrices is a mapping in SciPy 1.14.
    if isinstance(values, Mapping) and not issparse(values):
        grams = "for Gram matrices, pass stack_grams(X) and kernels='precomputed'; "
        raise ValueError(
            f"{name} must be an array or a data frame, but is a mapping with the keys "
            f"[{listed(list(values))}]: {grams * (name == 'X')}for columns, pass "
            f"pandas.DataFrame({name})."
        )
    if columns is not None and not len(columns):
        raise ValueError(f"{what} without columns: pass at least one column.")
    refuse_shared_names(columns or (), name)


def refuse_shared_names(columns: Iterable[object], name: str) -> None:
    """Raise if two columns have the same name; the message calls the table `name`."""
    counts = Counter(map(str, columns))
    repeated = [column for column, count in counts.items() if count > 1]
    if repeated:
        raise ValueError(
            f"Several columns of {name} have the same name: {listed(repeated)}. Rename "
            "them, or keep only one of them."
        )


def _refuse_arrays(values: Any, name: str) -> None:
    """Raise for complex, structured and masked arrays, and for sparse columns."""
    dtype_kind = getattr(getattr(values, "dtype", None), "kind", "")
    if dtype_kind == "O" and values.ndim == 0:
        element = values[()]
        type_name = "None" if element is None else f"a {type(element).__name__}"
        raise ValueError(
            f"{name} must be an array of numbers, but is one object, {type_name}: pass "
            "an array or a data frame."
        )
    if dtype_kind == "V":
        raise ValueError(
            f"{name} is a structured array: pass an array of numbers or a data frame."
        )
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array with masked values: fill them, for example "
            "with SimpleImputer, or remove these samples."
        )
    if dtype_kind == "c":
        raise ValueError(
            f"Complex data not supported: {name} must hold real numbers, such as the "
            "real and the imaginary parts as columns."
        )
    if {str(dtype)[:6] for dtype in set(getattr(values, "dtypes", ()))} == {"Sparse"}:
        raise ValueError(
            f"{name} is a data frame of sparse columns: pass {name}.sparse.to_dense(), "
            f"or scipy.sparse.csr_array({name}.sparse.to_coo()) for kernels that "
            "support sparse tables, such as kernels='tanimoto'."
        )


def with_text_names(X: Any, *, fit_had_names: bool | None = None) -> Any:
    """Return X, with column names converted to text if none of them is text."""
    # scikit-learn ignores names that are not text. `fit_had_names` says whether the
    # model was fitted with column names; it is None during a fit. The default names of
    # pandas (0, 1, ...) are converted only if it is True.
    names = kinds.names_of(X) or []
    positions = list(range(len(names)))
    # scikit-learn raises for names of mixed types.
    if not names or any(isinstance(name, str) for name in names):
        return X
    if names == positions and not fit_had_names:
        return X
    if fit_had_names is False and set(names) == set(positions):
        raise ValueError(
            f"X has the columns {listed(names)}, but in fit their order was "
            f"{listed(positions)}: pass X[sorted(X.columns)]."
        )
    renamed = X.copy(deep=False)
    renamed.columns = [str(name) for name in names]
    return renamed


BY_DEFAULT = (
    "(kernels=None reads text as sequences if all values have at least "
    f"{LEAST_LETTERS} capital letters of DNA, RNA or proteins, and more than half of "
    "the values differ. In a data frame, it reads other text as categories if at most "
    "half of the values differ.)"
)


def read_numbers(
    estimator: BaseEstimator,
    owner: str,
    X: Any,
    *,
    reset: bool,
    only_numbers: bool = False,
) -> Array:
    """Return X as float64, finite or not; store its column names if `reset`."""
    # In a fit (`reset`), the number and names of the columns are stored on the
    # `estimator`; otherwise X is compared with these. Messages do not advise kernels
    # for text if `only_numbers`.
    attributes = vars(estimator)
    if is_plain(X) and "feature_names_in_" not in attributes:
        # A plain array needs no full check, which takes a sixth of a millisecond.
        if reset:
            attributes["n_features_in_"] = X.shape[1]
        if attributes.get("n_features_in_") == X.shape[1]:
            return np.ascontiguousarray(X, dtype=np.float64)
    if kinds.names_of(X) is None:
        _refuse_unsupported_arrays(X, only_numbers=only_numbers)
    else:
        _refuse_text_columns(X, fitting=reset, only_numbers=only_numbers)
    settings = {"reset": reset, "dtype": np.float64, "order": "C"}
    return np.asarray(read_array(estimator, owner, X, **settings))


def is_plain(X: object) -> bool:
    """Return whether X is a nonempty NumPy array of numbers with two axes."""
    if type(X) is not np.ndarray or X.ndim != 2:
        return False
    return X.dtype.kind in "biuf" and bool(X.size)


def read_array(estimator: BaseEstimator, owner: str, X: Any, **settings: object) -> Any:
    """Return an array of floats, validated by scikit-learn's `validate_data`."""
    settings |= {"estimator": owner, "ensure_all_finite": False}
    try:
        return validate_data(estimator, X, **settings)
    except OverflowError as error:
        raise ValueError(
            "X holds an integer that is too large for a floating-point number"
            f"{cell_of_large_integer(X)}: use a larger unit for this column."
        ) from error
    except (TypeError, ValueError) as error:
        raise type(error)(_clearer_message(np.shape(X), str(error))) from error


def cell_of_large_integer(X: object) -> str:
    """Return " (row ..., column ...)" of the first integer that no float can store."""
    names = kinds.names_of(X)
    for (row, *columns), value in np.ndenumerate(np.asarray(X, dtype=object)):
        if isinstance(value, int) and abs(value) > sys.float_info.max:
            cell = [f"row {row}"]
            cell += [f"column {shown(names[k] if names else k)}" for k in columns]
            return f" ({', '.join(cell)})"
    return ""


def _clearer_message(shape: tuple[int, ...], text: str) -> str:
    """Return an error message of scikit-learn or NumPy about X in clearer words."""
    if text.startswith(("Expected 2D array", "Found array with dim")):
        advice = (
            "Reshape your data: X.reshape(-1, 1) makes one feature of them, and "
            "X.reshape(1, -1) one sample."
        )
        if len(shape) > 2:
            advice = (
                "For Gram matrices, of shape (n_samples, n_samples, n_kernels), pass "
                "kernels='precomputed' to the estimator (see stack_grams)."
            )
        requirement = "X must have shape (n_samples, n_features)"
        return f"{requirement}, but has shape {shape}. {advice}"
    if text.startswith(("could not convert", "float() arg", "setting an array")):
        advice = "Encode values that are not numbers, for example with OneHotEncoder"
        return f"X must be a table of numbers: {text.rstrip('.')}. {advice}."
    return text


def _refuse_text_columns(X: object, *, fitting: bool, only_numbers: bool) -> None:
    """Raise for columns that are not numbers; the flags change only the advice."""
    names, column_kinds = list(kinds.names_of(X) or ()), kinds.kinds_of(X)
    kinds.refuse_kinds(names, column_kinds)
    pairs = zip(names, column_kinds, strict=True)
    not_numeric = [name for name, kind in pairs if kind != NUMBERS]
    if not_numeric and not fitting:
        raise ValueError(
            "The columns of X must be numeric, as in fit, but these are not: "
            f"{listed(not_numeric)}. Convert them, for example with astype(float)."
        )
    if not_numeric:
        advice = (
            f" Views, such as kernels={{'a name': [{not_numeric[0]!r}]}}, read text as "
            "categories, and kernels of multikernel.kernels.sequence read it as "
            f"sequences. {BY_DEFAULT}"
        )
        raise ValueError(
            f"X has columns that are not numeric: {listed(not_numeric)}. Encode them, "
            "for example with OneHotEncoder in a ColumnTransformer, or remove them."
            f"{'' if only_numbers else advice}"
        )


def _refuse_unsupported_arrays(X: Array, *, only_numbers: bool) -> None:
    """Raise for dates and the like, and for one-dimensional text or objects."""
    # `only_numbers` changes only the message.
    if X.ndim not in (1, 2) or X.dtype.kind not in "OUSMm":
        return
    column_kinds = kinds.kinds_of(X[:, None] if X.ndim == 1 else X)
    if X.ndim == 1 and column_kinds[0] in kinds.TEXTS:
        _refuse_texts(X.tolist(), only_numbers=only_numbers)
    if X.ndim == 1 and column_kinds[0] in kinds.LEFT_TO_NUMPY:
        raise ValueError(
            f"X holds one object per sample, of type {type(X[0]).__name__}, but "
            "each sample must be a row of numbers, or a string. Compute the Gram "
            "matrix K of all n objects, and pass it in one of two ways: "
            "X=stack_grams([K]) with kernels='precomputed', or "
            "kernels={'objects': Grams(K, 0)} with X=np.arange(n)[:, None], the "
            "positions of the objects in K."
        )
    # NumPy later rejects the kinds `LEFT_TO_NUMPY` in two-dimensional arrays, with the
    # TypeError that scikit-learn's checks require.
    numpy_kinds = kinds.LEFT_TO_NUMPY
    checked_kinds = [NUMBERS if kind in numpy_kinds else kind for kind in column_kinds]
    kinds.refuse_kinds(range(len(checked_kinds)), checked_kinds)


def _refuse_texts(values: list[object], *, only_numbers: bool) -> None:
    """Raise for a list of strings that kernels do not read as sequences."""
    row = next(
        (i for i, v in enumerate(values) if not isinstance(v, str | bytes)), None
    )
    if row is not None:
        raise ValueError(
            f"X holds {shown(values[row])} at row {row}, and strings in other rows: "
            "pass strings only, and remove samples without a string."
        )
    if only_numbers:
        raise ValueError("X is a list of strings: pass a table of numbers.")
    reason = kinds.why_no_text_sequences(values)
    raise ValueError(
        "X is a list of strings: pass numbers, or kernels for sequences, such as "
        "kernels=[SpectrumKernel(3)] of multikernel.kernels.sequence. "
        f"{BY_DEFAULT}{'' if reason is None else f' In X, {reason}.'}"
    )


def check_values(
    estimator: BaseEstimator,
    table: Array,
    layout: Layout,
    *,
    only_numbers: bool = False,
) -> None:
    """Raise for values that are too large, or missing where NaN is not supported."""
    # Messages do not advise views if `only_numbers`.
    if is_bounded(table):
        return
    numbers = table[:, : len(layout.numeric)]
    if hasattr(estimator, "view_columns_"):
        numbers = _used_values(estimator, numbers, layout)
    check_finite_table(numbers, layout, IMPUTE if only_numbers else IMPUTE_OR_VIEWS)


def _used_values(estimator: BaseEstimator, numbers: Array, layout: Layout) -> Array:
    """Return `numbers`, with zeros for unused columns and for supported NaN values."""
    # NaN remains in the columns of views with missing="error", so that a later check
    # raises.
    filled, columns = np.zeros(numbers.shape), layout.numeric
    table_index = {column: index for index, column in enumerate(columns)}
    options = estimator.missing_views_
    # Views with missing="error" come last in the loop. If they share a column with
    # another view, they overwrite its zeros with NaN again.
    for view in sorted(options, key=lambda view: options[view] == "error"):
        view_columns = estimator.view_columns_[view].tolist()
        indices = [table_index[c] for c in view_columns if c in table_index]
        values = numbers[:, indices]
        is_gap = np.isnan(values)
        partial_rows = np.flatnonzero(is_gap.any(axis=1) & ~is_gap.all(axis=1))
        if options[view] == "zero" and partial_rows.size:
            column = columns[indices[int(np.argmax(is_gap[partial_rows[0]]))]]
            raise ValueError(
                f"Row {partial_rows[0]} has missing values in some columns of view "
                f"{view!r}, first in column {layout.label(column)}, but not in all: "
                "missing='zero' requires that a row has all values of the view, or "
                "none. Use Views(..., missing='expected') instead."
            )
        filled[:, indices] = (
            values if options[view] == "error" else np.where(is_gap, 0.0, values)
        )
    return filled


def check_finite_table(X: Array, layout: Layout, missing_advice: str = IMPUTE) -> None:
    """Raise if a value is infinite, nan or too large; the message names its cell."""
    # The columns of X are the numeric columns of the layout.
    columns = layout.numeric
    check_limits(
        "X",
        X,
        lambda index: f"row {index[0]}, column {layout.label(columns[index[1]])}",
        "Scale this column, for example with StandardScaler.",
        missing_advice,
    )


def is_bounded(values: Array) -> bool:
    """Return whether all values are so small that products of a few are finite."""
    # Convert to Python floats: in single precision the limit would be infinite.
    extremes = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    return extremes[0] >= -LARGEST_VALUE and extremes[1] <= LARGEST_VALUE


def check_limits(
    name: str,
    values: Array,
    cell_name: Callable[[list[int]], str],
    scale_advice: str,
    missing_advice: str = LEAVE_OUT,
) -> None:
    """Raise for the first value that is not finite, or too large to be squared."""
    # The message names a value's place by `cell_name(index)`, and ends with
    # `scale_advice` for large values, or `missing_advice` for NaN.
    if is_bounded(values):
        return
    nonfinite = np.argwhere(~np.isfinite(values)).tolist()
    if nonfinite:
        is_nan = np.isnan(values[tuple(nonfinite[0])])
        kind, advice = ("NaN", missing_advice) if is_nan else ("infinity", LEAVE_OUT)
        count_text = f", the first of {len(nonfinite)} values that are not finite"
        raise ValueError(
            f"Input {name} contains {kind} at {cell_name(nonfinite[0])}"
            f"{count_text * (len(nonfinite) > 1)}. {advice}"
        )
    largest = np.argwhere(np.abs(values) > LARGEST_VALUE).tolist()[0]
    raise ValueError(
        f"{name} holds {values[tuple(largest)]:.3g} at {cell_name(largest)}, too "
        "large for sums of squares: absolute values must be at most "
        f"{LARGEST_VALUE:g}. {scale_advice}"
    )


def finite_predictions(values: Array, where: str = "X", advice: str = "") -> Array:
    """Return predictions; raise for the first sample on which they overflow."""
    if np.isfinite(values).all():
        return values
    row = np.argwhere(~np.isfinite(values))[0, 0]
    raise ValueError(
        f"The prediction for row {row} of {where} is too large for floating-point "
        "numbers, because its values are too far from the training samples. Remove "
        f"or clip the row.{advice}"
    )
