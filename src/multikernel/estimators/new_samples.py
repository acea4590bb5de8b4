"""Add new samples to the given Gram matrices of fitted models."""

from collections.abc import Hashable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from multikernel._typing import Array
from multikernel._validation import listed
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.read.tables import sample_kernels
from multikernel.kernels.grams import (
    CHANGE,
    SampleKernel,
    as_numbers,
    check_finite,
    validate_names,
)
from multikernel.kernels.interactions import mains_of


def with_samples(
    model: Any, rows: Mapping[str, object], *, names: Sequence[Hashable] | None = None
) -> Any:
    """Return a copy of a fitted model with rows of new samples in its Gram matrices.

    A row contains the values of a kernel between a new sample and all training samples.

    Parameters
    ----------
    model : estimator
        A fitted model with `multikernel.kernels.Grams` among its views, or a pipeline
        or search that ends in one. The model itself does not change.
    rows : mapping from str to data frame or array-like of shape (n_new, n_columns)
        The rows for each view, by the name of the view; they are optional for views
        without active kernels. A data frame has the names of new samples as index, and
        the names of training samples as columns. An array has a row for each of `names`
        and the columns of the matrix of the fit.
    names : sequence of str or of numbers, default=None
        The names of the new samples, required if rows are arrays.

    Returns
    -------
    model : estimator
        A copy with the same kernels, coefficients and parameters.

    Raises
    ------
    ValueError
        If a view has no matrix, a sample already has a row, or rows are invalid.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from multikernel import SpicyMKLRegressor, with_samples
    >>> from multikernel.kernels import Grams, LinearKernel
    >>> X = pd.DataFrame({"age": [3.0, 1.0, 2.0, 5.0]}, index=["a", "b", "c", "d"])
    >>> Z = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
    >>> K = pd.DataFrame(Z @ Z.T, X.index, X.index)
    >>> kernels = {"shape": Grams(K, "name"), "age": ("age", LinearKernel())}
    >>> X = X.rename_axis("name").reset_index()
    >>> model = SpicyMKLRegressor(kernels, alpha=0.01).fit(X, [1.0, 2.0, 1.0, 4.0])
    >>> new = pd.DataFrame([[3.0, 1.0, 4.0, 7.0]], index=["e"], columns=K.columns)
    >>> X_new = pd.DataFrame({"name": ["e"], "age": [2.0]})
    >>> with_samples(model, {"shape": new}).predict(X_new).shape
    (1,)
    """
    if hasattr(model, "best_estimator_"):
        search = copy(model)
        search.best_estimator_ = with_samples(model.best_estimator_, rows, names=names)
        return search
    if isinstance(getattr(model, "steps", None), list):
        pipeline, (*steps, (name, estimator)) = copy(model), model.steps
        pipeline.steps = [*steps, (name, with_samples(estimator, rows, names=names))]
        return pipeline
    if not isinstance(model, BaseMKL):
        raise TypeError(
            "with_samples requires a model of multikernel, or a fitted pipeline or "
            f"search that ends in one, got {type(model).__name__}."
        )
    if not isinstance(rows, Mapping):
        raise TypeError(
            "with_samples requires a mapping from views to rows, such as "
            f"{{'a view': rows}}, got {type(rows).__name__}."
        )
    check_is_fitted(model)
    return _extended_model(model, rows, names)


def _extended_model(model: Any, rows: Mapping[str, object], names: object) -> Any:
    """Return a copy of a fitted model whose matrices have additional rows."""
    kernels = _given_matrices(model)
    unknown = [view for view in rows if view not in kernels]
    if unknown or not rows:
        advice = "fit a model with such a view"
        if kernels:
            advice = f"pass rows for one of {listed(list(kernels))}"
        received = f"rows for {listed(unknown)}" if unknown else "no rows"
        raise ValueError(
            f"with_samples got {received}, but requires rows for views that are "
            f"precomputed Gram matrices (Grams): {advice}."
        )
    categories = list(model.categories_)
    # The index of each view's column of sample names among the category columns.
    indices = {
        view: model.category_features_.tolist().index(int(model.view_columns_[view][0]))
        for view in kernels
    }
    changed = {}
    for view, values in rows.items():
        kernel, old_names = kernels[view], categories[indices[view]]
        columns = _column_names(kernel, old_names)
        new_names, matrix = _aligned_rows(view, values, names, columns)
        _refuse_mixed_names(view, new_names, old_names)
        # Samples already added through another view of this column retain their number.
        all_names = dict.fromkeys([*old_names.tolist(), *new_names.tolist()])
        categories[indices[view]] = np.array(list(all_names))
        changed[view] = _extended_kernel(kernel, list(all_names), new_names, matrix)

    def change(kernel: SampleKernel) -> SampleKernel:
        return changed.get(kernel.view, kernel)

    # With this memo, `deepcopy` replaces each `SampleKernel` by the result of `change`.
    memo: dict[int, object] = {CHANGE: change}
    extended, parameters = copy(model), model.get_params(deep=False)
    state = {name: v for name, v in vars(model).items() if name not in parameters}
    # The training data and their cached predictions are omitted from the copy.
    state |= {"_state": replace(model._state, known=None), "categories_": categories}
    vars(extended).update(deepcopy(state, memo))
    return extended


def _refuse_mixed_names(view: str, new: Array, old: Array) -> None:
    """Raise unless the names of new and fitted samples are all text or all numbers."""
    kinds = {new.dtype.kind, old.dtype.kind}
    if len(kinds) > 1 and "U" in kinds and new.size:
        raise ValueError(
            f"View {view!r}: new samples have names such as {new.tolist()[0]!r}, but "
            f"samples of the fit have names such as {old.tolist()[0]!r}: use text "
            "for all, or numbers for all."
        )


def _given_matrices(model: BaseMKL) -> dict[str, SampleKernel]:
    """Return a model's precomputed kernels, as a mapping from view names."""
    dictionary = model._state.names.dictionary
    if dictionary is None:
        return {}
    main_kernels = mains_of(dictionary)
    pairs = sample_kernels(main_kernels[m] for m in range(len(main_kernels)))
    return {kernel.view: kernel for _, kernel in pairs}


def _column_names(kernel: SampleKernel, sample_names: Array) -> list[Hashable]:
    """Return the sample names of a matrix's columns, from the names of all samples."""
    # `places` has the row of each sample in the matrix, -1 for samples without a row.
    # The first rows, one per column, belong to the training samples.
    name_of_row = dict(zip(kernel.places.tolist(), sample_names.tolist(), strict=False))
    return [name_of_row[row] for row in range(kernel.K.shape[1])]


def _aligned_rows(
    view: str, values: Any, names: Any, columns: list[Hashable]
) -> tuple[Array, Array]:
    """Return the names of new samples, and their rows with the given `columns`."""
    # A matrix has a row for each new sample, and a column for each training sample.
    # `columns` are the names of the training samples. A column that is absent from a
    # data frame is filled with nan.
    is_frame = hasattr(values, "reindex") and hasattr(values, "columns")
    if is_frame:
        if not any(column in values.columns for column in columns):
            raise ValueError(
                f"View {view!r}: the columns of new rows must be names of training "
                f"samples, such as {columns[0]!r}, got "
                f"{listed(list(values.columns)) or 'no columns'}."
            )
        if not values.columns.is_unique:
            raise ValueError(
                f"View {view!r}: several columns of the new rows have the same name: "
                "rename or remove them."
            )
        check_finite(as_numbers(values))
        names, values = values.index, values.reindex(columns=columns)
    matrix = as_numbers(values)
    if matrix.ndim != 2 or matrix.shape[1] != len(columns) or names is None:
        raise ValueError(
            f"View {view!r}: got an array of shape {matrix.shape}"
            f"{' without names' * (names is None)}, but rows of new samples must be a "
            f"data frame, or an array of shape (n_new, {len(columns)}). For an array, "
            "pass the names of the new samples as names."
        )
    if not is_frame:
        check_finite(matrix)
    return validate_names(names, len(matrix)), matrix


def _extended_kernel(
    kernel: SampleKernel, all_names: list[Hashable], names: Array, matrix: Array
) -> SampleKernel:
    """Return `kernel` with the rows of `matrix` added for the new samples `names`."""
    # `all_names` has the names of old and new samples. The position of a name is its
    # code, and `rows` maps codes to rows of the matrix; -1 means no row.
    rows = np.full(len(all_names), -1, dtype=np.intp)
    rows[: kernel.places.size] = kernel.places
    codes = {name: code for code, name in enumerate(all_names)}
    new_codes = np.array([codes[name] for name in names.tolist()], dtype=np.intp)
    repeated = names[rows[new_codes] >= 0].tolist()
    if repeated:
        raise ValueError(
            f"View {kernel.view!r}: the matrix already has rows of {listed(repeated)}. "
            "Pass rows of new samples only."
        )
    rows[new_codes] = len(kernel.K) + np.arange(new_codes.size)
    return kernel.with_rows(matrix, rows)
