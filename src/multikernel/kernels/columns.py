"""Kernels on chosen columns, given by index, slice or name."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, singledispatch
from numbers import Integral
from typing import Any, TypeGuard

import numpy as np

from multikernel._typing import Array
from multikernel._validation import listed
from multikernel.kernels.base import Kernel, check_kernel, kernel_diagonal, kernel_name

Columns = int | slice | str | Sequence[int] | Sequence[str]
"""Columns of a table: an index, a name, a sequence of either, or a slice."""

LONGEST_LABEL = 4
"""Largest number of columns that a label lists in full."""


@dataclass(frozen=True)
class Features:
    """The number of columns of the data, and the column names if there are any."""

    number: int
    names: tuple[str, ...] | None = None

    @cached_property
    def places(self) -> dict[str, int]:
        """Return the first position of every column name."""
        last_first = reversed(list(enumerate(self.names or ())))
        return {name: position for position, name in last_first}


@dataclass(frozen=True)
class ColumnKernel:
    """A kernel on some columns.

    Parameters
    ----------
    kernel : Kernel
        The kernel on the chosen columns.
    columns : int, slice, str, or sequence of int or of str
        At least one column, all by index or all by name; a slice by names includes its
        end. Names require a data frame at `fit`.
    label : str, optional
        Text in the brackets of the name. Default: the columns.

    Raises
    ------
    ValueError, TypeError
        If `columns` is empty or mixes names and indices; if `kernel` is not a kernel.

    Examples
    --------
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> ColumnKernel(GaussianKernel(sigma=2.0), "worst radius").name
    'gaussian(sigma=2)[worst radius]'
    """

    kernel: Kernel
    columns: Columns
    label: str | None = None

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "The kernel of a ColumnKernel")
        object.__setattr__(self, "columns", _normalized(self.columns))

    @property
    def name(self) -> str:
        """Return the name of the kernel with the columns in brackets."""
        label = self.label if self.label is not None else default_label(self.columns)
        return f"{kernel_name(self.kernel)}[{label}]"

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix of the chosen columns."""
        X_columns = select_columns(X, self.columns)
        if Y is None:
            return self.kernel(X_columns)
        return self.kernel(X_columns, select_columns(Y, self.columns))

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples,)."""
        return kernel_diagonal(self.kernel, select_columns(X, self.columns))


def select_columns(X: Array, columns: Columns) -> Array:
    """Return columns of X, as stored by a `ColumnKernel`; raise if they are names."""
    keys: Any = (columns.start, columns.stop) if isinstance(columns, slice) else columns
    # Columns are all indices or all names; one end of a slice may be None.
    if isinstance(keys[0], str) or isinstance(keys[-1], str):
        raise ValueError(
            f"The columns {label_of(tuple(map(repr, keys)))} are names, but an array "
            "has no names: fit on a data frame, or use column indices."
        )
    if isinstance(columns, slice):
        return X[:, columns]
    if len(keys) == 1:
        return X[:, int(keys[0])][:, None]
    return X[:, np.array(keys, dtype=np.intp)]


@singledispatch
def resolve_kernel(kernel: Kernel, features: Features) -> Kernel:
    """Return a kernel with indices instead of column names; raise for unknown names."""
    # This is the default for kernels without columns. Column kernels, products and
    # centered kernels register other functions with `resolve_kernel.register`.
    return kernel


@resolve_kernel.register
def _resolve_column_kernel(kernel: ColumnKernel, features: Features) -> Kernel:
    indices = resolve_indices(kernel.columns, features)
    label = kernel.label
    if label is None:
        label = resolved_label(kernel.columns, indices, features)
    return replace(kernel, columns=indices, label=label)


def resolved_label(
    columns: Columns, indices: tuple[int, ...], features: Features
) -> str:
    """Return a label for columns: their names if the data has names, else "x0", ..."""
    if features.names is None:
        return default_label(columns if isinstance(columns, slice) else indices)
    is_run = isinstance(columns, slice) and columns.step in (None, 1)
    if is_run and len(indices) > LONGEST_LABEL:
        # A run of columns is labeled by its first and last name.
        return f"{features.names[indices[0]]} ... {features.names[indices[-1]]}"
    return label_of(indices, features.names)


def resolve_indices(columns: object, features: Features) -> tuple[int, ...]:
    """Return columns as nonnegative indices; raise for unknown names and indices."""
    columns = _normalized(columns)
    if isinstance(columns, slice):
        columns = _positional_slice(columns, features)
        indices = tuple(range(features.number))[columns]
        if not indices:
            raise ValueError(
                f"The slice {columns} selects no column: choose from the "
                f"{features.number} columns of the data."
            )
        return indices
    return tuple(_resolve_column(c, features) for c in columns)


def selected_indices(columns: object, features: Features) -> tuple[int, ...]:
    """Return the user's columns as indices; raise if integers may also be names."""
    # A pandas Index, such as ``X.columns[:2]``, contains names, but a RangeIndex may
    # contain positions.
    if hasattr(columns, "get_indexer_for") and features.names is not None:
        names = [str(name) for name in np.asarray(columns)]
        columns = names if features.places.keys() >= {*names} else columns
    members = columns if isinstance(columns, list | tuple | np.ndarray) else [columns]
    positions = [features.places.get(str(c)) for c in members if _is_index(c)]
    indices = resolve_indices(columns, features)
    if positions and None not in positions and tuple(positions) != indices:
        raise ValueError(
            f"The columns {listed(indices)} may be positions or names, because X has "
            f"columns with these names at the positions {listed(positions)}. For "
            f"names, pass text, such as {str(indices[0])!r}; for positions, pass a "
            "slice or range."
        )
    return indices


def _positional_slice(columns: slice, features: Features) -> slice:
    """Return a slice by positions; a slice by names includes its end, as in pandas."""
    start, stop = columns.start, columns.stop
    if isinstance(start, str):
        start = _resolve_column(start, features)
    if isinstance(stop, str):
        stop = _resolve_column(stop, features) + 1
    return slice(start, stop, columns.step)


def _resolve_column(column: int | str, features: Features) -> int:
    n_features = features.number
    if isinstance(column, str):
        if column in features.places:
            return features.places[column]
        raise ValueError(_unknown_name(column, features.names))
    if not -n_features <= column < n_features:
        raise ValueError(
            f"A kernel uses the column with index {column}, but the data has "
            f"{n_features} columns: use an index from 0 to {n_features - 1}."
        )
    return column % n_features


def _unknown_name(column: str, names: tuple[str, ...] | None) -> str:
    """Return the error message for an unknown column name."""
    if names is None:
        return (
            f"A kernel is on the column {column!r}, but the data has no column "
            "names: pass a data frame, or use the column's index."
        )
    similar = difflib.get_close_matches(column, names, n=3)
    hint = (
        f"Did you mean {' or '.join(repr(name) for name in similar)}?"
        if similar
        else f"Use one of the columns {label_of(tuple(map(repr, names)))}."
    )
    return f"A kernel is on the column {column!r}, which the data does not have. {hint}"


def _normalized(columns: object) -> slice | tuple[int, ...] | tuple[str, ...]:
    """Return columns as a slice, a tuple of ints or a tuple of names."""
    # Columns that are already resolved are tuples of ints. This case comes first
    # because it is the most frequent.
    if type(columns) is tuple and columns and all(type(c) is int for c in columns):
        return columns
    if isinstance(columns, slice):
        _check_slice(columns)
        return columns
    if isinstance(columns, str):
        return (columns,)
    if _is_index(columns):
        return (int(columns),)
    if not isinstance(columns, Iterable):
        raise ValueError(
            "Columns must be an index, a name, a slice, or a sequence of indices or "
            f"of names, got {columns!r}."
        )
    members: list[object] = list(columns)
    if not members:
        raise ValueError("A ColumnKernel requires at least one column, got none.")
    names = tuple(c for c in members if isinstance(c, str))
    if len(names) == len(members):
        return names
    indices = tuple(int(c) for c in members if _is_index(c))
    if len(indices) == len(members):
        return indices
    raise ValueError(
        "Columns must be all indices (int) or all names (str), got "
        f"{label_of(tuple(map(repr, members)))}. For a boolean mask, pass "
        "np.flatnonzero(mask), or the names mask.index[mask] of a pandas Series."
    )


def _check_slice(columns: slice) -> None:
    """Raise unless a slice has indices as bounds, or has names and no step."""
    ends = [end for end in (columns.start, columns.stop) if end is not None]
    by_names = bool(ends) and all(isinstance(end, str) for end in ends)
    if by_names and columns.step in (None, 1):
        return
    steps = ends if columns.step is None else [*ends, columns.step]
    if columns.step == 0 or not all(_is_index(step) for step in steps):
        raise ValueError(
            "A slice of columns must have indices and a nonzero integer step, or "
            f"names and no step, got {columns}."
        )


def _is_index(column: object) -> TypeGuard[int]:
    """Return whether a column is an index; booleans are not indices."""
    return isinstance(column, Integral) and not isinstance(column, bool | np.bool_)


def default_label(columns: Any) -> str:
    """Return the text for columns in a kernel's name; index 3 becomes "x3"."""
    if isinstance(columns, slice):
        start = "" if columns.start is None else columns.start
        stop = "" if columns.stop is None else columns.stop
        step = "" if columns.step is None else f":{columns.step}"
        return f"x{start}:{stop}{step}"
    return label_of(columns)


def label_of(columns: Sequence[int | str], names: Sequence[str] | None = None) -> str:
    """Return the names of columns as text; only the first ones if there are many."""
    head = columns if len(columns) <= LONGEST_LABEL else columns[: LONGEST_LABEL - 1]
    if names is None:
        labels = [c if isinstance(c, str) else f"x{c}" for c in head]
    else:
        labels = [c if isinstance(c, str) else names[c] for c in head]
    if len(head) < len(columns):
        labels.append(f"... ({len(columns)} columns)")
    return ", ".join(labels)
