"""Named views of the data, with columns, kernels and missing values."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array
from multikernel._validation import OneOf, check_parameter, listed, shown
from multikernel.kernels.base import AroundKernel, Kernel, check_kernel, kernel_diagonal
from multikernel.kernels.category import CategoryKernel
from multikernel.kernels.columns import (
    ColumnKernel,
    Columns,
    Features,
    label_of,
    resolve_indices,
    resolved_label,
    selected_indices,
)
from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.expected import ExpectedKernel
from multikernel.kernels.given import as_kernels, pairwise_functions
from multikernel.kernels.grams import Grams, collect_names
from multikernel.kernels.sampled import NystroemKernel

MISSING = ("error", "zero", "expected")
"""Treatments of missing values in a view."""

Selector = Columns | Callable[..., object]
"""Columns, or a function that returns them for a data frame."""


@dataclass(frozen=True)
class Views:
    """Named views of the data: groups of columns with their own kernels.

    Estimators also accept a plain mapping as ``kernels``. Use this class if samples
    have missing views or values.

    Parameters
    ----------
    views : mapping from str to columns or (columns, kernels)
        At least one view. Columns are an index, a name, a slice (by names it includes
        its end), a list of these, or a function of the data frame, such as
        `sklearn.compose.make_column_selector`. Kernels are one or a list of kernels,
        names of `sklearn.metrics.pairwise` or functions; default: `median_dictionary`,
        and `CategoryKernel` for text. A `ColumnKernel` selects columns of the view, by
        name or position in it. A view may also be an `Unpenalized` or `Grams` object.
    missing : {"error", "zero", "expected"} or mapping, default="error"
        Treatment of NaN and None, for all views or by name of view (default: "error").
        "zero" is for samples that lack the whole view: its kernels are zero for them
        (`OptionalKernel`), and larger for the other samples if these are few, because
        kernels are normalized over all samples. "expected" is for any missing values:
        Gaussian, linear and category kernels are replaced by their expectation over the
        training values (`ExpectedKernel`).

    Raises
    ------
    ValueError
        If there is no view, a name is not text, or `missing` is invalid.

    Examples
    --------
    >>> from multikernel.kernels import GaussianKernel, Views
    >>> genes = slice(0, 5), GaussianKernel.grid(3)
    >>> views = Views({"genes": genes, "clinic": [5, 6]}, missing="zero")
    """

    views: Mapping[str, object]
    missing: str | Mapping[str, str] = "error"

    def __post_init__(self) -> None:
        missing = self.missing
        choices = list(missing.values()) if isinstance(missing, Mapping) else [missing]
        for treatment in choices:
            check_parameter("Views", "missing", treatment, OneOf(MISSING))
        if not isinstance(self.views, Mapping) or not self.views:
            raise ValueError(
                "Views require a mapping from at least one name to columns, or to "
                f"(columns, kernels), got {self.views!r}."
            )
        for name in self.views:
            if not isinstance(name, str):
                raise ValueError(
                    f"Views: the name of a view must be text, got {name!r}."
                )
        named = missing if isinstance(missing, Mapping) else ()
        unknown = [name for name in named if name not in self.views]
        if unknown:
            raise ValueError(
                f"Views: missing contains {unknown[0]!r}, which is not one of the "
                f"views: use one of {listed(list(self.views))}."
            )


@dataclass(frozen=True)
class Unpenalized:
    """Columns without a penalty, such as age, sex and batch, in a mapping of views.

    Each column gets a coefficient beside the intercept, and kernels explain the rest.
    Text columns and pandas categories get one coefficient per category except the
    first.

    Parameters
    ----------
    columns : columns
        An index, a name, a slice, a list of these, or a function of the data frame.

    Examples
    --------
    >>> from multikernel.kernels import GaussianKernel, Unpenalized
    >>> genes = slice(0, 5), GaussianKernel.grid(3)
    >>> kernels = {"genes": genes, "confounders": Unpenalized([5, 6])}
    """

    columns: Selector


@dataclass(frozen=True, eq=False)
class View:
    """A named view, with its columns, kernels and treatment of missing values."""

    name: str
    columns: tuple[int, ...]  # positions in the data
    # Kernels on columns by position; None: default kernels; empty: columns without
    # kernels (`Unpenalized`).
    kernels: tuple[Kernel, ...] | None
    missing: str
    penalized: bool = True

    def all_kernels(
        self,
        default: Callable[[tuple[int, ...]], Iterable[Kernel]],
        category_columns: set[int],
        features: Features,
    ) -> list[Kernel]:
        """Return the kernels of the view; their names contain the name of the view."""
        # The columns of these kernels are positions in the data. A view without kernels
        # of its own gets default kernels: those that `default` returns for columns of
        # numbers, and a `CategoryKernel` for the columns in `category_columns`.
        if self.kernels is not None:
            return [self._support_missing(kernel) for kernel in self.kernels]
        numeric = tuple(c for c in self.columns if c not in category_columns)
        categories = [c for c in self.columns if c in category_columns]
        defaults = list(default(numeric)) if numeric else []
        kernels = [view_kernel(k, self.name, numeric, features) for k in defaults]
        if categories:
            kernel: Kernel = CategoryKernel()
            kernels.append(view_kernel(kernel, self.name, tuple(categories), features))
        return [self._support_missing(kernel) for kernel in kernels]

    def _support_missing(self, kernel: Kernel) -> Kernel:
        """Return a kernel that supports the view's missing values."""
        if self.missing == "error":
            return kernel
        assert isinstance(kernel, ColumnKernel)
        inner = kernel.kernel
        if self.missing == "zero":
            return replace(kernel, kernel=OptionalKernel(inner))
        if isinstance(inner, ExpectedKernel):
            return kernel
        with _prefix_errors(self.name):
            if isinstance(inner, NystroemKernel):
                expected = ExpectedKernel(inner.kernel)
                return replace(kernel, kernel=replace(inner, kernel=expected))
            return replace(kernel, kernel=ExpectedKernel(inner))


def view_kernel(
    kernel: Kernel, view: str, columns: tuple[int, ...], features: Features
) -> Kernel:
    """Return a view's kernel on columns of the data, with the view in its name."""
    if not isinstance(kernel, ColumnKernel):
        return ColumnKernel(kernel, columns, view)
    # The columns of a `ColumnKernel` are names, or positions within the view.
    names = None if features.names is None else [features.names[c] for c in columns]
    view_features = Features(len(columns), None if names is None else tuple(names))
    view_indices = resolve_indices(kernel.columns, view_features)
    indices = tuple(columns[c] for c in view_indices)
    label = kernel.label or resolved_label(indices, indices, features)
    return ColumnKernel(kernel.kernel, indices, f"{view}: {label}")


@contextmanager
def _prefix_errors(view: str) -> Iterator[None]:
    """Return a context in which error messages begin with the name of a view."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"View {view!r}: {error}") from error


def find_views(views: Views, X: object, features: Features) -> list[View]:
    """Return the views of the data X; raise for unknown columns and invalid kernels."""
    names, resolved = names_by_column(views, features), []
    for name, spec in views.views.items():
        missing = views.missing
        if not isinstance(missing, str):
            missing = missing.get(name, "error")
        with _prefix_errors(name):
            if not isinstance(spec, Grams):
                resolved.append(_find_view(name, spec, missing, X, features))
                continue
            if missing != "error":
                raise ValueError(
                    f"missing={missing!r} is supported for columns only, not for "
                    "Grams: pass missing='error' for this view, and in the matrix set "
                    "the rows and columns of samples without values to zero."
                )
            column = _sample_name_column(spec, features)
            kernel = ColumnKernel(spec.kernel(name, names[column]), column, name)
            resolved.append(View(name, (column,), (kernel,), "error"))
    return resolved


def names_by_column(views: Views, features: Features) -> dict[int, Array]:
    """Return the sample names in all `Grams`, by the position of their column of X."""
    grams: dict[int, list[Grams]] = {}
    for name, spec in views.views.items():
        if isinstance(spec, Grams):
            with _prefix_errors(name):
                column = _sample_name_column(spec, features)
            grams.setdefault(column, []).append(spec)
    return collect_names(grams, lambda column: label_of([column], features.names))


def _sample_name_column(grams: Grams, features: Features) -> int:
    """Return the position of the column of X with the sample names of a matrix."""
    columns = resolve_indices(grams.samples, features)
    if len(columns) != 1:
        raise ValueError(
            "Grams: the argument samples must be one column of X, which contains the "
            f"sample names, got {len(columns)} columns: pass one column name or index."
        )
    return columns[0]


def _find_view(
    name: str, spec: object, missing: str, X: object, features: Features
) -> View:
    """Return a view of columns, with its kernels if `spec` contains kernels."""
    if hasattr(spec, "diag"):
        raise ValueError(
            "The view is a kernel without columns: pass (columns, kernel), with "
            "columns such as a list of column names."
        )
    if isinstance(spec, Unpenalized):
        columns = _selected_positions(spec.columns, X, features)
        return View(name, columns, (), "error", penalized=False)
    selector, kernels = spec, None
    if isinstance(spec, tuple):
        selector, kernels = _columns_and_kernels(spec, features)
    columns = _selected_positions(selector, X, features)
    if kernels is None:
        return View(name, columns, None, missing)
    # ListDictionary raises for invalid kernels and duplicate names.
    kernels = ListDictionary(as_kernels(kernels)).kernels
    column_kernels = tuple(view_kernel(k, name, columns, features) for k in kernels)
    return View(name, columns, column_kernels, missing)


def _columns_and_kernels(
    spec: tuple[object, ...], features: Features
) -> tuple[object, object]:
    """Return a view's columns and kernels; raise unless `spec` is a pair of these."""
    is_only_columns = bool(spec) and _is_only_columns(spec, features)
    if len(spec) != 2 or is_only_columns:
        hint = f" Did you mean the list {[*spec]!r}?" if is_only_columns else ""
        raise ValueError(
            f"The tuple {shown(spec)} is not a view.{hint} A tuple must have columns "
            "and kernels, such as (columns, kernel); pass several columns as a list."
        )
    if hasattr(spec[0], "diag"):
        raise ValueError(
            "The kernel of a view precedes its columns: pass (columns, kernel)."
        )
    return spec[0], spec[1]


def _is_only_columns(spec: tuple[object, ...], features: Features) -> bool:
    """Return whether a tuple contains only columns, without a kernel's name."""
    positions = features.places
    return all(
        item in positions if isinstance(item, str) else isinstance(item, Integral)
        for item in spec
    ) and not (isinstance(spec[-1], str) and spec[-1] in pairwise_functions())


def _selected_positions(
    selector: object, X: object, features: Features
) -> tuple[int, ...]:
    """Return the positions of selected columns."""
    selected: Any = selector(X) if callable(selector) else selector
    to_indices = selected_indices
    labels: Any = None
    if hasattr(selected, "iloc"):  # a Series of pandas
        labels, selected = selected.index, selected.to_numpy()
    if isinstance(selected, list):
        # Columns of several levels are named by the text of their tuples.
        selected = [str(c) if isinstance(c, tuple) else c for c in selected]
    if np.ndim(selected) > 1:
        raise ValueError(
            "The columns must be a list or a one-dimensional array, got an array of "
            f"shape {np.shape(selected)}. For a Gram matrix, pass "
            "multikernel.kernels.Grams."
        )
    if isinstance(selected, list | np.ndarray):
        selected = list(selected)
        if selected and all(isinstance(flag, bool | np.bool_) for flag in selected):
            if len(selected) != features.number:
                raise ValueError(
                    f"A mask of {len(selected)} values does not match "
                    f"{features.number} columns: pass one value per column."
                )
            positions = _mask_positions(labels, features)
            pairs = zip(positions, selected, strict=True)
            selected = sorted(position for position, flag in pairs if flag)
            to_indices = resolve_indices
        if not selected:
            raise ValueError("The view has no columns: select at least one.")
    columns = to_indices(selected, features)
    if len(set(columns)) < len(columns):
        repeated = next(column for column in columns if columns.count(column) > 1)
        label = repeated if features.names is None else features.names[repeated]
        raise ValueError(f"Column {label!r} is selected twice: select it once.")
    return columns


def _mask_positions(index: Any, features: Features) -> Sequence[int]:
    """Return the position of the column of each value of a mask with such an index."""
    names, by_position = features.names, range(features.number)
    if index is None or names is None:
        return by_position
    labels = tuple(map(str, index))
    if labels != names and sorted(labels) == sorted(features.places):
        return [features.places[label] for label in labels]
    if labels != names and list(index) != [*by_position]:
        raise ValueError(
            f"The labels of a mask must be the columns of X, {listed(names)}, got "
            f"{listed(labels)}: pass a Series with the columns as index, or an array "
            "to select by position."
        )
    return by_position


@dataclass(frozen=True)
class ViewDictionary(ListDictionary):
    """A list of kernels, with the view of each kernel."""

    views: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "views", tuple(self.views))


def present_rows(X: Array) -> NDArray[np.bool_]:
    """Return a mask, (n_samples,): True for samples that do not lack the view."""
    # All values of a sample that lacks the view are NaN, so the first one suffices.
    return ~np.isnan(X[:, 0]) if X.shape[1] else np.ones(X.shape[0], dtype=bool)


@dataclass(frozen=True)
class OptionalKernel(AroundKernel):
    """A kernel that is zero for samples that lack its columns.

    Samples whose values are all NaN get the value zero with every sample, so the
    kernel's term of the model is zero for them. `kernel` is the kernel between the
    other samples.
    """

    kernel: Kernel

    def __post_init__(self) -> None:
        check_kernel(self.kernel, "The kernel of an OptionalKernel")

    def __call__(self, X: Array, Y: Array | None = None) -> Array:
        """Return the Gram matrix, shape (n_samples_X, n_samples_Y)."""
        rows = present_rows(X)
        if Y is None:
            columns, values = rows, self.kernel(X[rows])
        else:
            columns = present_rows(Y)
            values = self.kernel(X[rows], Y[columns])
        K = np.zeros((rows.size, columns.size))
        K[np.ix_(rows, columns)] = values
        return K

    def diag(self, X: Array) -> Array:
        """Return k(x, x) for every row, shape (n_samples_X,)."""
        rows = present_rows(X)
        diagonal = np.zeros(rows.size)
        diagonal[rows] = kernel_diagonal(self.kernel, X[rows])
        return diagonal
