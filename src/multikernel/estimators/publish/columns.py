"""Which columns of the data the kernels of a fitted model read."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from multikernel._typing import Indices
from multikernel.kernels import ColumnKernel, Kernel
from multikernel.kernels.columns import select_columns
from multikernel.kernels.interactions import SEPARATOR
from multikernel.kernels.products import factors_of


def held_columns(model: Any) -> Indices:
    """Return the columns of the data in the order in which a model holds them.

    Positions in the data, sequences last, each once.
    """
    sequences = np.asarray(vars(model).get("sequence_features_", ()), dtype=np.intp)
    everything = np.arange(model.n_features_in_)
    return np.concatenate([np.setdiff1d(everything, sequences), sequences])


def columns_read(model: Any, kernel: int) -> list[tuple[int, ...]]:
    """Return the columns of the data that each factor of a kernel reads, ascending.

    The model's kernels are functions of samples: no given matrices, and no graph.
    """
    held, sets = held_columns(model), []
    for factor in factors_of(model._state.names.dictionary[kernel]):
        columns = held
        if isinstance(factor, ColumnKernel):
            row = held[None].astype(float)
            columns = select_columns(row, factor.columns)[0].astype(np.intp)
        sets.append(tuple(np.unique(columns).tolist()))
    return sets


def has_columns(model: Any) -> bool:
    """Return whether a model's kernels are on columns: no matrices, and no graph."""
    state = model._fitted()
    return not state.precomputed and getattr(state.model, "grams", None) is not None


def kernels_in_use(model: Any, asked: str) -> list[Kernel]:
    """Return the active kernels of a model; what is asked for is of their columns."""
    if not has_columns(model):
        raise ValueError(
            f"{asked}: the kernels of {type(model).__name__} are given matrices, or "
            "nodes of a graph, which have no columns."
        )
    dictionary = model._state.names.dictionary
    return [dictionary[m] for m in model.active_kernels_.tolist()]


def column_names(model: Any, *others: Any) -> list[str]:
    """Return the names of all columns, x0, x1, ... where the data had none.

    They belong to a model, or to anything else that was fitted to as many columns.
    """
    for source in (model, *others):
        names = getattr(source, "feature_names_in_", None)
        if names is not None and len(names) == model.n_features_in_:
            return [str(name) for name in names]
    return [f"x{column}" for column in range(model.n_features_in_)]


def column_members(model: Any, names: Sequence[str]) -> dict[str, list[int]]:
    """Return a model's terms, grouped by the columns that they read.

    Keys are names of columns; for an interaction they join its factors' names, in
    the order of the columns. Terms are numbered in the order of ``active_kernels_``.
    """
    members: dict[str, list[int]] = {}
    for term, kernel in enumerate(model.active_kernels_.tolist()):
        parts = sorted(columns_read(model, kernel))
        named = [", ".join(names[column] for column in part) for part in parts]
        members.setdefault(SEPARATOR.join(named), []).append(term)
    return members
