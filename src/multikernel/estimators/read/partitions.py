"""Read Dask collections as blocks of rows, and make predictions for them lazy."""

from collections.abc import Callable, Hashable, Sequence
from copy import copy
from functools import partial, wraps
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from multikernel._typing import Array
from multikernel.estimators.read import numbers, tables
from multikernel.estimators.read.kinds import kinds_of, names_of, refuse_kinds
from multikernel.estimators.read.targets import read_targets
from multikernel.gram.factors import row_blocks
from multikernel.gram.temporary import PathLike, TemporaryFolder, create_folder
from multikernel.kernels import Views
from multikernel.kernels.columns import Features
from multikernel.kernels.sequence.tables import (
    CATEGORIES,
    SEQUENCES,
    Layout,
    any_kernel_supports,
)
from multikernel.linalg.tables import is_dask

PER_SAMPLE = ("dual_coef_", "support_", "history_")
"""Fitted attributes that predictions do not require, and that may be large."""

Method = TypeVar("Method", bound=Callable[..., Array])


def check_partitions(
    estimator: BaseEstimator, kernels: object, X: object, y: Any
) -> tables.TrainingTable:
    """Return validated training data of a Dask collection, as `check_fit_data` does."""
    owner = type(estimator).__name__
    check_collection(X)
    numbers.require_table(X, "X")
    kernels, interactions = tables.standard_kernels(kernels)
    text = any(any_kernel_supports(kernels, kind) for kind in (SEQUENCES, CATEGORIES))
    if text or tables.is_precomputed(kernels) or isinstance(kernels, Views):
        raise ValueError(
            f"{owner} supports Dask collections of numbers, but not together with "
            "precomputed kernels, views, or kernels for text: pass data in memory, for "
            "example X.compute()."
        )
    # Targets are loaded into memory, but rows are not.
    targets = read_targets(estimator, y.compute() if is_dask(y) else y)
    folder = getattr(estimator.storage, "folder", None)
    rows, columns = read_partitions(owner, X, folder)
    check_consistent_length(np.broadcast_to(0.0, rows.shape[:1]), targets)
    layout = Layout(Features(columns.n_features_in_, columns.names), ())
    return tables.TrainingTable(
        cast(Array, rows), targets, columns, X, layout, kernels, interactions
    )


def read_partitions(
    owner: str, X: object, folder: PathLike | None
) -> tuple[row_blocks.SampledRows, tables.Columns]:
    """Return the rows of a Dask collection in blocks, and the names of its columns."""
    names = names_of(numbers.with_text_names(X, fit_had_names=True))
    # Dask workers store the rows in memory, or in a `folder`.
    spill = None if folder is None else TemporaryFolder(create_folder(folder))
    # The numbers of rows are unknown until the partitions are read: `resize` sets them.
    parts = row_blocks.partitions(X)
    raw = row_blocks.RowBlocks.of(parts, np.zeros(len(parts) + 1, dtype=np.intp), spill)
    blocks = raw.apply(
        _as_array, [*range(len(parts))], owner=owner, names=names
    ).store()
    shapes = np.array(blocks.map(np.shape), dtype=np.intp)
    nonempty = np.flatnonzero(shapes[:, 0])
    if not nonempty.size:
        raise ValueError(
            f"X has no rows, but {owner} requires at least two samples: pass a "
            "collection with rows."
        )
    widths = shapes[nonempty, 1]
    different = np.flatnonzero(widths != widths[0])
    if different.size:
        raise ValueError(
            f"Partition {nonempty[different[0]]} of X has {widths[different[0]]} "
            f"columns, but partition {nonempty[0]} has {widths[0]}: all partitions "
            "must have the same columns."
        )
    # New data are compared to the number and names of these columns.
    columns = tables.Columns()
    columns.n_features_in_ = int(widths[0])
    if names is not None:
        columns.feature_names_in_ = np.array(names, dtype=object)
    return row_blocks.SampledRows.with_sample(blocks.resize(shapes[:, 0])), columns


def check_collection(X: object) -> None:
    """Raise for Dask collections that are not tables."""
    shape = getattr(X, "shape", None)
    if not isinstance(shape, tuple):  # also for dask.delayed objects
        raise ValueError(
            f"X is a Dask {type(X).__name__}, which has no rows and columns: pass a "
            "Dask array or data frame, for example from dask.array.from_delayed, or "
            "X.compute()."
        )
    if len(shape) != 2:
        raise ValueError(
            f"Expected 2D array, got X of shape {shape}: X must have shape (n_samples, "
            "n_features)."
        )
    # Columns of objects are checked when the partitions are read.
    refuse_kinds(names_of(X) or range(shape[1]), kinds_of(X, look=False))


def _as_array(
    rows: Any, index: int, owner: str, names: Sequence[Hashable] | None
) -> Array:
    """Return a partition as an array of finite numbers; errors name its `index`."""
    columns = tables.Columns()
    try:
        rows = _open_partition(rows, names)
        if not len(rows) and rows.ndim == 2:
            return np.empty(rows.shape)
        values = numbers.read_numbers(
            columns, owner, rows, reset=True, only_numbers=True
        )
        numbers.check_finite_table(
            values, Layout(Features(rows.shape[1], columns.names), ())
        )
        return values
    except ValueError as error:
        raise ValueError(f"Partition {index} of X: {error}") from error


def _open_partition(rows: object, names: Sequence[Hashable] | None) -> Any:
    """Return the data of a partition; raise unless it has the collection's columns."""
    rows = numbers.with_text_names(numbers.open_data(rows, "X"), fit_had_names=True)
    columns = names_of(rows)
    if columns is not None and names is not None and columns != names:
        raise ValueError(
            f"Every partition must have the columns {names}, but this one has "
            f"{columns}: pass partitions with the same columns in the same order."
        )
    return rows


def lazy(method: Method) -> Method:
    """Make a method return a lazy Dask array if X is a Dask collection."""

    @wraps(method)
    def wrapper(self: BaseEstimator, X: object, offset: object = None) -> object:
        offset_args = () if offset is None else (offset,)
        if not is_dask(X):
            return method(self, X, *offset_args)
        if offset_args:
            raise ValueError(
                "offset is not supported for a Dask collection: add the offsets to the "
                "lazy result of decision_function."
            )
        check_is_fitted(self)
        check_collection(X)
        # Send the workers a copy without attributes that grow with the samples.
        small_model = copy(self)
        for name in PER_SAMPLE:
            vars(small_model).pop(name, None)
        # Predict for a row of zeros, without column names, to get shape and type.
        unnamed_model = copy(small_model)
        vars(unnamed_model).pop("feature_names_in_", None)
        example = method(unnamed_model, np.zeros((1, self.n_features_in_)))
        names = names_of(numbers.with_text_names(X, fit_had_names=True))
        arguments = small_model, method.__name__, example[:0], names
        return row_blocks.mapped(X, partial(_predict_partition, *arguments), example)

    return cast(Method, wrapper)


def _predict_partition(
    estimator: BaseEstimator,
    method: str,
    empty: Array,
    names: Sequence[Hashable] | None,
    rows: Any,
) -> Array:
    """Call a method on the rows of a partition; return `empty` if it has no rows."""
    try:
        _open_partition(rows, names)
    except ValueError as error:
        raise ValueError(f"A partition of X cannot be read. {error}") from error
    return getattr(estimator, method)(rows) if len(rows) else empty
