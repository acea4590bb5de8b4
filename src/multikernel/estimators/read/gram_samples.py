"""Samples of given matrices among views: whether the matrices have them."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import listed
from multikernel.estimators.read.kinds import column_values, names_of
from multikernel.estimators.read.mixed import features_of
from multikernel.kernels import ColumnKernel, Kernel, ProductKernel, Views
from multikernel.kernels.grams import Grams, SampleKernel
from multikernel.kernels.sequence.tables import Layout
from multikernel.kernels.views import names_of_samples

BRING = (
    " multikernel.with_samples(model, {{{view!r}: rows}}) gives a model the rows of "
    "new samples."
)
"""What to do about them at prediction."""


def has_grams(kernels: Any) -> bool:
    """Return whether there are given matrices among views."""
    views = kernels.views.values() if isinstance(kernels, Views) else ()
    return any(isinstance(given, Grams) for given in views)


def find_names(kernels: Any, X: Any) -> dict[int, Array]:
    """Return for columns that name samples of given matrices all their names."""
    return names_of_samples(kernels, features_of(X)) if has_grams(kernels) else {}


def sample_kernels(kernels: Iterable[Kernel]) -> Iterator[tuple[int, SampleKernel]]:
    """Yield the given matrices among kernels and their factors, with their column."""
    for kernel in kernels:
        if isinstance(kernel, ProductKernel):
            yield from sample_kernels(kernel.kernels)
        elif isinstance(kernel, ColumnKernel):
            inner = kernel.kernel
            while hasattr(inner, "kernel"):  # what centres it
                inner = inner.kernel
            if isinstance(inner, SampleKernel) and isinstance(kernel.columns, tuple):
                yield int(kernel.columns[0]), inner


def check_samples(
    kernels: Iterable[tuple[int, SampleKernel]],
    table: Array,
    layout: Layout,
    X: Any,
    *,
    fitting: bool,
) -> None:
    """Raise where matrices lack samples of data, naming these.

    The `kernels` come with their columns in the packed `table`. Samples of a fit need a
    row and a column.
    """
    for column, kernel in kernels:
        rows = kernel.rows_of(table[:, column])
        lacking, what = np.flatnonzero(rows < 0), "row"
        if fitting and not lacking.size:
            lacking, what = np.flatnonzero(rows >= kernel.K.shape[1]), "column"
        if not lacking.size:
            continue
        names = list(dict.fromkeys(_column(X, layout.numeric[column])[lacking]))
        advice = "" if fitting else BRING.format(view=kernel.view)
        raise ValueError(
            f"View {kernel.view!r}: Grams have no {what} of {listed(names)}, which "
            f"column {layout.label(layout.numeric[column])} names, first in row "
            f"{lacking[0]} of X.{advice}"
        )


def _column(X: Any, column: int) -> Any:
    """Return a column of data as it was given, shape (n_samples,)."""
    names = names_of(X)
    if names is not None:
        return column_values(X[names[column]]).astype(object)
    array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    return array.reshape(len(array), -1)[:, column].astype(object)
