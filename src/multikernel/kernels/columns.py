"""A kernel on chosen columns of the data, by index, slice or name."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TypeGuard

import numpy as np

from multikernel._typing import Array
from multikernel.kernels.base import (
    Kernel,
    check_kernel,
    kernel_diagonal,
    kernel_name,
)

Columns = int | slice | str | Sequence[int] | Sequence[str]
"""Columns of a table: an index or a name, several of one sort, or a slice."""

LONGEST_LABEL = 4
"""Columns that a label spells out; of more it gives the first ones and the number."""


@dataclass(frozen=True)
class ColumnKernel:
    """A kernel that sees only some columns.

    Parameters
    ----------
    kernel : Kernel
        The kernel on the chosen columns.
    columns : int, slice, str, or sequence of int or of str
        The columns; a slice by names includes its end. Names need data in a data
        frame: `resolve_columns` turns them into indices.
    label : str, optional
        What stands in brackets in the name; made from the columns when left out.

    Raises
    ------
    ValueError
        If there are no columns, or names and indices are mixed.
    TypeError
        If `kernel` is no kernel.

    Examples
    --------
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> ColumnKernel(GaussianKernel(sigma=2.0), "worst radius").name
    'gaussian(sigma=2)[worst radius]'
    >>> ColumnKernel(GaussianKernel(sigma=0.5), 3).name
    'gaussian(sigma=0.5)[x3]'
    """

    kernel: Kernel
    columns: Columns
    label: str | None = None

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "The kernel of a ColumnKernel")
        object.__setattr__(self, "columns", _normal_form(self.columns))

    @property
    def name(self) -> str:
        """Return the name of the kernel with the columns in brackets."""
        label = self.label if self.label is not None else _default_label(self.columns)
        return f"{kernel_name(self.kernel)}[{label}]"

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix of the chosen columns.

        Parameters
        ----------
        X : ndarray of shape (n_samples_X, n_features)
            Rows.
        Y : ndarray of shape (n_samples_Y, n_features), optional
            Rows of the second set, `X` when left out.

        Returns
        -------
        K : ndarray of shape (n_samples_X, n_samples_Y)
        """
        chosen = select_columns(X, self.columns)
        if Y is None:
            return self.kernel(chosen)
        return self.kernel(chosen, select_columns(Y, self.columns))

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples,)."""
        return kernel_diagonal(self.kernel, select_columns(X, self.columns))


def select_columns(X: Array, columns: Columns) -> Array:
    """Return the chosen columns of an array, two-dimensional.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Rows.
    columns : int, slice or sequence of int
        Columns by position.

    Returns
    -------
    chosen : ndarray of shape (n_samples, n_chosen)
        A view for an index or a slice.

    Raises
    ------
    ValueError
        If the columns are names, which an array does not have.
    """
    chosen = _normal_form(columns)
    ends = (chosen.start, chosen.stop) if isinstance(chosen, slice) else chosen
    if any(isinstance(end, str) for end in ends):
        raise ValueError(
            f"The columns {_shortened(tuple(map(repr, ends)))} are names, but an "
            "array has none: fit on a data frame, or give column indices."
        )
    if isinstance(chosen, slice):
        return X[:, chosen]
    if len(chosen) == 1:
        return X[:, int(chosen[0])][:, None]
    return X[:, np.array(chosen, dtype=np.intp)]


def resolve_kernel(
    kernel: Kernel, n_features: int, feature_names: Sequence[str] | None = None
) -> Kernel:
    """Return the kernel with column names replaced by indices.

    Parameters
    ----------
    kernel : Kernel
        Anything but a `ColumnKernel` is returned as it is.
    n_features : int
        Number of columns of the data.
    feature_names : sequence of str, optional
        Their names, where the data has names.

    Returns
    -------
    kernel : Kernel
        A `ColumnKernel` holds a tuple of non-negative indices, and its label gives
        the names where they are known.

    Raises
    ------
    ValueError
        If a name is not among the columns, if names are used and the data has none,
        or if an index is out of range.
    """
    if not isinstance(kernel, ColumnKernel):
        return kernel
    indices = resolve_indices(kernel.columns, n_features, feature_names)
    label = kernel.label
    if label is None:
        label = _label(kernel.columns, indices, feature_names)
    return replace(kernel, columns=indices, label=label)


def _label(
    columns: Columns, indices: tuple[int, ...], feature_names: Sequence[str] | None
) -> str | None:
    """Return the text for the brackets, by names where the data has them."""
    if feature_names is None:
        return _default_label(columns) if isinstance(columns, slice) else None
    names = tuple(feature_names[i] for i in indices)
    run = isinstance(columns, slice) and columns.step in (None, 1)
    if run and len(names) > LONGEST_LABEL:
        # Neighbors are told by their ends, in the order of the data.
        return f"{names[0]} ... {names[-1]}"
    return _default_label(names)


def resolve_indices(
    columns: Columns, n_features: int, feature_names: Sequence[str] | None = None
) -> tuple[int, ...]:
    """Return columns as non-negative indices; see `resolve_kernel`."""
    columns = _normal_form(columns)
    if isinstance(columns, slice):
        columns = _numbered(columns, n_features, feature_names)
        indices = tuple(range(n_features))[columns]
        if not indices:
            raise ValueError(
                f"The slice {columns} selects no column: the data has {n_features} "
                "columns."
            )
        return indices
    return tuple(_resolve_one(c, n_features, feature_names) for c in columns)


def _numbered(
    columns: slice, n_features: int, feature_names: Sequence[str] | None
) -> slice:
    """Return a slice by positions; one by names includes its end, as in pandas."""
    start, stop = columns.start, columns.stop
    if isinstance(start, str):
        start = _resolve_one(start, n_features, feature_names)
    if isinstance(stop, str):
        stop = _resolve_one(stop, n_features, feature_names) + 1
    return slice(start, stop, columns.step)


def _resolve_one(
    column: int | str, n_features: int, feature_names: Sequence[str] | None
) -> int:
    """Return one column's index."""
    if isinstance(column, str):
        if feature_names is None:
            raise ValueError(
                f"A kernel is on the column {column!r}, but the data has no column "
                "names: pass a data frame, or give the column's index."
            )
        names = list(feature_names)
        if column not in names:
            near = difflib.get_close_matches(column, names, n=3)
            hint = (
                f"Did you mean {' or '.join(repr(name) for name in near)}?"
                if near
                else f"The columns are {_shortened(tuple(map(repr, names)))}."
            )
            raise ValueError(
                f"A kernel is on the column {column!r}, which the data does not have. "
                f"{hint}"
            )
        return names.index(column)
    if not -n_features <= column < n_features:
        raise ValueError(
            f"A kernel is on the column with index {column}, but the data has "
            f"{n_features} columns (indices 0 to {n_features - 1})."
        )
    return column % n_features


def _normal_form(columns: Columns) -> slice | tuple[int, ...] | tuple[str, ...]:
    """Return columns as a slice, a tuple of ints or a tuple of names."""
    if isinstance(columns, slice):
        _check_ends(columns)
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
        raise ValueError("A ColumnKernel needs at least one column, got none.")
    names = tuple(c for c in members if isinstance(c, str))
    if len(names) == len(members):
        return names
    indices = tuple(int(c) for c in members if _is_index(c))
    if len(indices) == len(members):
        return indices
    raise ValueError(
        "Columns must be all indices (int) or all names (str), got "
        f"{_shortened(tuple(map(repr, members)))}. np.flatnonzero turns truth values "
        "into indices."
    )


def _check_ends(columns: slice) -> None:
    """Raise unless a slice is by indices or, in steps of one, by names."""
    ends = [end for end in (columns.start, columns.stop) if end is not None]
    by_names = bool(ends) and all(isinstance(end, str) for end in ends)
    if by_names and columns.step in (None, 1):
        return
    steps = ends if columns.step is None else [*ends, columns.step]
    if columns.step == 0 or not all(_is_index(step) for step in steps):
        raise ValueError(
            "A slice of columns must have indices, or names without a step, got "
            f"{columns}."
        )


def _is_index(column: object) -> TypeGuard[int]:
    """Return whether a column is given by position; True and False are no numbers."""
    return isinstance(column, Integral) and not isinstance(column, bool | np.bool_)


def _default_label(columns: Columns) -> str:
    """Return the text for the brackets."""
    members = _normal_form(columns)
    if isinstance(members, slice):
        start = "" if members.start is None else members.start
        stop = "" if members.stop is None else members.stop
        step = "" if members.step is None else f":{members.step}"
        return f"x{start}:{stop}{step}"
    return _shortened(tuple(c if isinstance(c, str) else f"x{c}" for c in members))


def _shortened(names: tuple[str, ...]) -> str:
    """Join names, only the first of a long list."""
    if len(names) <= LONGEST_LABEL:
        return ", ".join(names)
    shown = ", ".join(names[: LONGEST_LABEL - 1])
    return f"{shown}, ... ({len(names)} columns)"
