"""Collections of Dask: their partitions as blocks of rows, and lazy answers."""

from collections.abc import Callable
from copy import copy
from functools import partial, wraps
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from multikernel._typing import Array, Indices
from multikernel.estimators.read.finite import (
    check_finite_table,
    check_finite_targets,
    number_targets,
)
from multikernel.estimators.read.mixed import refuse_frames
from multikernel.estimators.read.tables import (
    Columns,
    Table,
    is_precomputed,
    read_numbers,
    settled_kernels,
    target_columns,
)
from multikernel.gram.factors.engine import RowBlocks, SampledRows
from multikernel.gram.factors.workers import mapped, partitions, started
from multikernel.kernels import Views
from multikernel.kernels.sequence.tables import CATEGORIES, SEQUENCES, takes
from multikernel.linalg.tables import is_dask

SAMPLED = 20_000
"""Rows that landmarks are chosen from: a second's work for twenty kernels, and their
choice is good to 1e-8 of the trace for all but outliers, which are looked for."""

PER_SAMPLE = ("dual_coef_", "support_", "history_")
"""Fitted attributes that predictions do not need, and that may be large."""

Method = TypeVar("Method", bound=Callable[..., Any])


def check_partitions(estimator: BaseEstimator, kernels: Any, X: Any, y: Any) -> Table:
    """Check training data in partitions; the data stay where they are.

    Parameters
    ----------
    estimator : estimator
        Its tags say what data must look like; not changed.
    kernels : object
        What its ``kernels`` stand for.
    X : dask array or data frame of shape (n_samples, n_features)
        Training data.
    y : array-like, or a collection of Dask, of shape (n_samples,)
        Targets, which are fetched.

    Returns
    -------
    table : Table
        Its X is a `SampledRows`.

    Raises
    ------
    ValueError
        With a sentence that says what is wrong.
    """
    owner = type(estimator).__name__
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    refuse_frames(X, "X")
    kernels = settled_kernels(kernels)
    other = is_precomputed(kernels) or isinstance(kernels, Views)
    if other or takes(kernels, SEQUENCES) or takes(kernels, CATEGORIES):
        raise ValueError(
            f"{owner} takes numbers in partitions, and no precomputed kernels, views "
            "or text: give it arrays in memory, for example X.compute()."
        )
    rows, columns = read_partitions(owner, X)
    targets = target_columns(estimator, y.compute() if is_dask(y) else y)
    check_finite_targets(targets)
    if is_regressor(estimator):
        targets = number_targets(targets)
    check_consistent_length(np.broadcast_to(0.0, rows.shape[:1]), targets)
    return Table(cast(Array, rows), targets, columns, X, None, kernels)


def read_partitions(owner: str, X: Any) -> tuple[SampledRows, Columns]:
    """Return the rows of a collection in blocks, with what predictions check.

    Parameters
    ----------
    owner : str
        The estimator.
    X : dask array or data frame of shape (n_samples, n_features)
        The data.

    Returns
    -------
    rows : SampledRows
        On the workers of the active client, or in memory where there is none.
    columns : Columns
        Number and names of the columns.
    """
    if len(X.shape) != 2:
        raise ValueError(f"Expected 2D array, got an X of {len(X.shape)} dimensions.")
    engine, handles = started(partitions(X))
    numbers = list(range(len(handles)))
    read = partial(_numbers, owner=owner)
    handles = engine.map(read, handles, numbers)
    sizes = np.array(engine.gather(engine.map(len, handles)), dtype=np.intp)
    handles = [handle for handle, size in zip(handles, sizes, strict=True) if size]
    if not handles:
        raise ValueError(f"Found array with 0 sample(s) while {owner} needs two.")
    sizes = sizes[sizes > 0]
    blocks = RowBlocks(engine, tuple(handles), np.concatenate([[0], np.cumsum(sizes)]))
    columns = Columns()
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    sample = np.concatenate(
        blocks.map(sampled, list(_shares(sizes)), numbers[: sizes.size])
    )
    columns.n_features_in_ = sample.shape[1]
    if names is not None:
        columns.feature_names_in_ = np.array(names, dtype=object)
    return SampledRows(blocks, sample), columns


def _numbers(part: Any, number: int, owner: str) -> Array:
    """Return a partition as finite numbers."""
    if not len(part):
        return np.empty((0, part.shape[1]))
    try:
        columns = Columns()
        numbers = read_numbers(columns, owner, part, False, reset=True)
        check_finite_table(numbers, vars(columns).get("feature_names_in_"))
        return numbers
    except ValueError as error:
        raise ValueError(f"Partition {number} of X: {error}") from error


def _shares(sizes: Indices) -> Indices:
    """Return how many rows of every block are sampled."""
    total = int(sizes.sum())
    return sizes if total <= SAMPLED else np.maximum(sizes * SAMPLED // total, 1)


def sampled(rows: Array, share: int, number: int) -> Array:
    """Return some rows of a block, the same ones each time."""
    if share >= rows.shape[0]:
        return rows
    chosen = np.random.default_rng(number).choice(rows.shape[0], share, replace=False)
    return np.asarray(rows[np.sort(chosen)])


def lazy(method: Method) -> Method:
    """Let a method that takes X answer for a collection of Dask with a lazy array."""

    @wraps(method)
    def answer(self: Any, X: Any) -> Any:
        if not is_dask(X):
            return method(self, X)
        check_is_fitted(self)
        slim = copy(self)
        for name in PER_SAMPLE:
            vars(slim).pop(name, None)
        bare = copy(slim)
        vars(bare).pop("feature_names_in_", None)
        like = method(bare, np.zeros((1, self.n_features_in_)))
        return mapped(X, partial(_answer, slim, method.__name__), like)

    return cast(Method, answer)


def _answer(estimator: Any, method: str, part: Any) -> Any:
    """Return what a method says of a partition."""
    return getattr(estimator, method)(part)
