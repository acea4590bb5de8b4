"""Read sparse tables of SciPy as packed rows, and make kernels that support them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from multikernel._typing import Array
from multikernel._validation import shown
from multikernel.estimators.read.numbers import read_array, within_reach
from multikernel.kernels import ColumnKernel, Kernel, ListDictionary, Views
from multikernel.kernels.base import kernel_name
from multikernel.kernels.columns import Features, resolve_indices
from multikernel.kernels.sparse import SparseKernel, pack, takes_sparse
from multikernel.kernels.views import View, find_views

DENSE = "or pass a dense table, X.toarray(), if it fits into memory."
"""End of messages about sparse tables."""


def read_sparse(estimator: BaseEstimator, owner: str, X: Any, *, reset: bool) -> Array:
    """Return a table of numbers as packed rows, see `multikernel.kernels.sparse`.

    A model fitted on a sparse table also predicts for dense tables.
    """
    settings = {"accept_sparse": "csr", "dtype": np.float64, "copy": True}
    table = csr_array(read_array(estimator, owner, X, reset=reset, **settings))
    table.sum_duplicates()
    table.eliminate_zeros()
    table.sort_indices()
    if not within_reach(table.data):
        raise ValueError(
            "Input X is a sparse table with values that are NaN, infinite, or too "
            "large to be squared: replace them, or remove these rows."
        )
    return pack(table)


def sparse_kernels(
    kernels: Any, X: Any, *, interactions: bool
) -> tuple[Any, tuple[View, ...]]:
    """Return kernels on packed rows, and views of such kernels; raise for others."""
    features = Features(X.shape[1])
    if interactions:
        raise ValueError(
            "Interactions require single columns, but X is a sparse table: remove "
            f"Interactions, {DENSE}"
        )
    if isinstance(kernels, Views):
        views = [
            _on_packed(view, features) for view in find_views(kernels, X, features)
        ]
        return kernels, tuple(views)
    if isinstance(kernels, ListDictionary):
        made = [_packed(kernel, features) for kernel in kernels.kernels]
        return ListDictionary(made), ()
    what = "kernels=None" if kernels is None else f"kernels={shown(kernels)}"
    raise ValueError(
        f"{what} requires single columns, but X is a sparse table: pass kernels on "
        "all columns or on views, such as kernels=[LinearKernel(), "
        f"GaussianKernel('median')] or kernels='tanimoto', {DENSE}"
    )


def _on_packed(view: View, features: Features) -> View:
    """Return a view whose kernels read packed rows."""
    if not view.penalized or view.missing != "error" or view.kernels is None:
        lack = "has no kernels" if view.missing == "error" else "may lack values"
        raise ValueError(
            f"View {view.name!r} of a sparse table {lack}: pass (columns, kernels), "
            "such as LinearKernel() or TanimotoKernel(), and no missing values, "
            f"{DENSE}"
        )
    kernels: Sequence[Kernel] = [_packed(kernel, features) for kernel in view.kernels]
    return replace(view, kernels=tuple(kernels))


def _packed(kernel: Kernel, features: Features) -> Kernel:
    """Return a kernel on packed rows."""
    columns, label, inner = None, None, kernel
    if isinstance(kernel, ColumnKernel):
        columns = resolve_indices(kernel.columns, features)
        label, inner = kernel.label, kernel.kernel
    if not takes_sparse(inner):
        raise ValueError(
            f"{kernel_name(kernel)} cannot be computed from a sparse table. Linear, "
            "polynomial, cosine, Gaussian and Tanimoto kernels can: choose one of "
            f"these, {DENSE}"
        )
    return SparseKernel(inner, features.number, columns, label)
