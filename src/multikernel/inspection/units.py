"""Values and category names of columns as they were before a pipeline's steps."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from multikernel._typing import Array
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish.columns import names_out, table_column_order


def in_original_units(before: BaseEstimator | None, X: Array) -> Array:
    """Return X in original units: invert the pipeline's steps before the model."""
    # `before` contains the steps before the model, such as a scaler, or is None. The
    # steps are inverted in reverse order, up to the first step that changes the columns
    # or has no inverse.
    return _inverted(before, X)[0]


def samples_in_original_units(
    model: BaseMKL, before: BaseEstimator | None, rows: object, table: Array
) -> NDArray[np.generic]:
    """Return samples in the units of a pipeline's input; `rows` are a model's input."""
    # `before` contains the steps of the pipeline before the model, which are inverted.
    # `table` contains the same samples as `rows`, encoded as numbers by the model. Text
    # columns of `rows` are not changed.
    restored = in_original_units(before, table)
    data = rows.to_numpy() if hasattr(rows, "to_numpy") else np.asarray(rows)
    is_numeric = data.dtype.kind in "biuf"
    data = np.array(data, dtype=np.float64 if is_numeric else object)
    data = data.reshape(len(restored), -1)
    texts = {
        *getattr(model, "sequence_features_", ()),
        *getattr(model, "category_features_", ()),
    }
    for position, column in enumerate(table_column_order(model).tolist()):
        if column not in texts:
            data[:, column] = restored[:, position]
    return data


def _inverted(step: BaseEstimator | str | None, X: Array) -> tuple[Array, bool]:
    """Return X with a fitted step inverted, and whether the inversion is complete."""
    if step is None or isinstance(step, str):
        return X, True
    if hasattr(step, "steps"):
        for _, inner in reversed(step.steps):
            X, is_complete = _inverted(inner, X)
            if not is_complete:
                return X, False
        return X, True
    if hasattr(step, "output_indices_"):
        return _parts_inverted(step, X)
    if not _keeps_columns(step):
        return X, False
    if isinstance(step, SimpleImputer):
        return X, True
    if not hasattr(step, "inverse_transform"):
        return X, False
    return np.asarray(step.inverse_transform(X), dtype=np.float64), True


def _parts_inverted(step: BaseEstimator, X: Array) -> tuple[Array, bool]:
    """Return X with a `ColumnTransformer` inverted, and whether that is complete."""
    if len(names_out(step)) != X.shape[1]:
        return X, False
    restored, is_complete = np.array(X), _keeps_columns(step)
    for inner, columns in _transformers(step):
        restored[:, columns], is_inverted = _inverted(inner, X[:, columns])
        is_complete = is_complete and is_inverted
    return restored, is_complete


def _transformers(
    step: BaseEstimator,
) -> Iterator[tuple[BaseEstimator | str, slice]]:
    """Yield the transformers of a `ColumnTransformer`, and the columns they return."""
    for name, inner, _ in step.transformers_:
        columns = step.output_indices_[name]
        if columns.stop > columns.start:
            yield inner, columns


def _keeps_columns(step: BaseEstimator) -> bool:
    """Return whether a fitted step returns the columns that it receives."""
    defaults = [f"x{column}" for column in range(getattr(step, "n_features_in_", 0))]
    return names_out(step) == list(getattr(step, "feature_names_in_", defaults))


def indicator_texts(before: object) -> dict[int, tuple[str, str]]:
    """Return for each one-hot column the category names of its values 0 and 1."""
    if hasattr(before, "steps"):
        changing = [inner for _, inner in before.steps if not _keeps_columns(inner)]
        return indicator_texts(changing[-1]) if changing else {}
    if hasattr(before, "output_indices_"):
        return {
            columns.start + column: texts
            for inner, columns in _transformers(before)
            for column, texts in indicator_texts(inner).items()
        }
    if not isinstance(before, OneHotEncoder):
        return {}
    texts = []
    for j, values in enumerate(before.categories_):
        dropped = None if before.drop_idx_ is None else before.drop_idx_[j]
        zero_text = "other"
        if dropped is not None and len(values) == 2:
            zero_text = str(values[dropped])
        ones = [str(v) for index, v in enumerate(values) if index != dropped]
        texts += [(zero_text, text) for text in ones]
    # If infrequent categories share a column, columns and texts do not correspond.
    return dict(enumerate(texts)) if len(texts) == len(names_out(before)) else {}
