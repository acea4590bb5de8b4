"""Kernels, columns and grids of a function that is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator

from multikernel._typing import Array, Indices
from multikernel.display import _style
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish.columns import (
    has_columns,
    table_column_order,
    term_names,
    terms_by_columns,
)
from multikernel.estimators.read.tables import sample_kernels
from multikernel.inspection import pipelines
from multikernel.inspection.units import in_original_units, indicator_texts
from multikernel.kernels.columns import label_of
from multikernel.kernels.interactions import SEPARATOR

KernelChoice = int | np.intp | str | Sequence[int | str] | Indices
"""One or several kernels, by index, by name, or by the names of their columns."""

N_POINTS = {1: 200, 2: 60}
"""Grid points per column: 200 for a line, 60 x 60 for a heat map."""


MOST_LINES = len(_style.PALETTE)
"""Maximum number of distinct values for which a column gets a line for each value."""


def titles_of(
    model: BaseMKL, kernel: KernelChoice, kernels: list[int], columns: Sequence[str]
) -> list[str]:
    """Return the names of the drawn kernels, or one name for all of them together."""
    # `kernel` is the user's choice (index, name, columns, or a list of them), and
    # `kernels` are the indices that `requested_kernels` returned for it.
    names = model.kernel_names_
    if isinstance(kernel, str) and kernel not in names:
        return [kernel]
    # All terms on the same columns, or products, are named by their columns.
    terms_by_set = terms_by_columns(model) if has_columns(model) else {}
    texts = term_names(terms_by_set, columns)
    for text, (column_set, terms) in zip(texts, terms_by_set.items(), strict=True):
        is_group = len(terms) > 1 or len(column_set) > 1
        if is_group and kernels == model.active_kernels_[terms].tolist():
            return [text]
    return [names[m] for m in kernels]


def requested_kernels(
    model: BaseMKL, kernel: KernelChoice, columns: Sequence[str]
) -> list[int]:
    """Return the indices of kernels given by index, by name, or by their columns."""
    keys: list[object] = [kernel]
    if isinstance(kernel, Sequence | np.ndarray) and not isinstance(kernel, str):
        keys = list(kernel)
    n_kernels = len(model.kernel_names_)
    indices: list[int] = []
    for key in keys:
        if isinstance(key, str):
            indices += _kernels_named(model, key, columns)
        elif isinstance(key, Integral) and 0 <= int(key) < n_kernels:
            indices.append(int(key))
        else:
            raise ValueError(
                f"kernel={key!r} does not exist: pass an integer from 0 to "
                f"{n_kernels - 1}, or a name in kernel_names_."
            )
    if not indices:
        raise ValueError("kernel is empty: pass at least one kernel.")
    return indices


def _kernels_named(model: BaseMKL, name: str, columns: Sequence[str]) -> list[int]:
    """Return the kernel with a name, or the active kernels on the columns it names."""
    # `terms_by_set` maps the columns of each factor to positions of active kernels. A
    # column has priority over a pair of columns with the same name.
    terms_by_set = terms_by_columns(model) if has_columns(model) else {}
    if name in columns and ((columns.index(name),),) in terms_by_set:
        terms = terms_by_set[((columns.index(name),),)]
        return [int(m) for m in model.active_kernels_[terms]]
    for names in (model.kernel_names_, model._state.names.plain()):
        if name in names and not (SEPARATOR in name and name in columns):
            return [names.index(name)]
    # "age x dose" and "age * dose" are accepted as well.
    accepted = [sorted(name.split(sign)) for sign in (SEPARATOR, " x ", " * ")]
    for (column_set, terms), text in zip(
        terms_by_set.items(), term_names(terms_by_set, columns), strict=True
    ):
        labels = sorted(label_of(part, columns) for part in column_set)
        if name not in columns and (name == text or labels in accepted):
            return [int(m) for m in model.active_kernels_[terms]]
    raise ValueError(
        f"The model has no kernel named {name!r}, and no active kernel on columns "
        "with this name: pass the name of an active kernel, or of columns that an "
        "active kernel uses."
    )


def shared_columns(model: BaseMKL, kernels: list[int]) -> list[int]:
    """Return the one or two columns of the kernels; raise if their columns differ."""
    columns_of_kernels: list[list[int]] = [
        pipelines.kernel_columns(model, kernel).tolist() for kernel in kernels
    ]
    if any(columns != columns_of_kernels[0] for columns in columns_of_kernels):
        raise ValueError(
            f"kernel: {len(kernels)} kernels use different columns, so their sum "
            "cannot be drawn: select kernels on the same columns."
        )
    dictionary = model._state.names.dictionary
    assert dictionary is not None
    columns, content = columns_of_kernels[0], None
    if set(columns) & set(getattr(model, "sequence_features_", ())):
        content = "sequences"
    elif any(sample_kernels([dictionary[m] for m in kernels])):
        content = "a precomputed matrix"
    elif len(columns) not in N_POINTS:
        content = f"{len(columns)} columns"
    if content is not None:
        names = ", ".join(model.kernel_names_[m] for m in kernels)
        raise ValueError(
            f"The term of {names} uses {content}, which cannot be drawn: "
            "select kernels on one or two columns of numbers or categories."
        )
    return columns


def category_labels(
    model: BaseMKL,
    before: BaseEstimator | None,
    columns: Sequence[int],
    values_before: Array,
) -> list[list[str] | None]:
    """Return the names of the categories of each column, or None if it is numeric."""
    # `before` contains the pipeline steps before the model, or is None. The array
    # `values_before`, (n_samples, n_columns), contains the values of `columns` before
    # these steps, as `in_original_units` returns them. A column that is one entry of a
    # one-hot code has two categories.
    category_columns = list(getattr(model, "category_features_", ()))
    indicators = indicator_texts(before)
    labels: list[list[str] | None] = []
    for column, values in zip(columns, values_before.T, strict=True):
        texts = None
        if column in category_columns:
            categories = model.categories_[category_columns.index(column)]
            texts = [str(name) for name in categories]
        elif column in indicators:
            is_binary = np.unique(np.round(values, 6)).tolist() == [0.0, 1.0]
            texts = list(indicators[column]) if is_binary else None
        labels.append(texts)
    return labels


@dataclass(frozen=True, eq=False)
class Grid:
    """Rows on a grid over one or two columns, with medians in all other columns."""

    # The rows, in the encoded form in which the model evaluates them: shape
    # (n_points, n_features).
    rows: Array
    # Values of each drawn column, in the units before the steps of a pipeline.
    axes: list[Array]
    # Values of the data's samples in the drawn columns, in the same units.
    samples: Array
    # Names of the categories of each column; None for numbers.
    labels: list[list[str] | None]


def grid_over(
    model: BaseMKL, before: BaseEstimator | None, data: Array, columns: list[int]
) -> Grid:
    """Return the grid on which the model's function of `columns` is drawn."""
    # `before` contains the transformers before the model in a pipeline. `data` is their
    # encoded output: text columns come last, unlike in the user's X.
    order = table_column_order(model).tolist()
    indices = [order.index(column) for column in columns]
    samples = in_original_units(before, data)[:, indices]
    labels = category_labels(model, before, columns, samples)
    category_columns = set(getattr(model, "category_features_", ()))
    values = [
        np.arange(float(len(label or ())))
        if column in category_columns
        else _axis_values(data[:, index], len(columns), label)
        for column, index, label in zip(columns, indices, labels, strict=True)
    ]
    grid = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1)
    rows = np.tile(np.median(data, axis=0), (grid[..., 0].size, 1))
    rows[:, indices] = grid.reshape(-1, len(columns))
    # Invert the steps for the whole grid. In axis k of the result, column k varies.
    in_units = in_original_units(before, rows)[:, indices].reshape(grid.shape)
    axes = [np.moveaxis(in_units[..., k], k, 0) for k in range(len(columns))]
    axes = [axis.reshape(len(axis), -1)[:, 0] for axis in axes]
    return Grid(rows, axes, samples, labels)


def _axis_values(values: Array, n_columns: int, categories: list[str] | None) -> Array:
    """Return the values of a column at which its function is drawn."""
    values = values[~np.isnan(values)]
    distinct = np.unique(values)
    if categories is not None or (n_columns > 1 and distinct.size <= MOST_LINES):
        return distinct
    return np.linspace(values.min(), values.max(), N_POINTS[n_columns])
