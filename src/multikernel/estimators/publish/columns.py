"""The columns of the data that the kernels of a fitted model use."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import BaseEstimator

from multikernel._typing import Indices
from multikernel.estimators.publish.fitted import FittedEstimator
from multikernel.estimators.read.dictionary import KernelNames
from multikernel.estimators.read.tables import TEXT_FEATURES
from multikernel.kernels import ColumnKernel, Kernel
from multikernel.kernels.columns import label_of, select_columns
from multikernel.kernels.dictionary import unique_names
from multikernel.kernels.interactions import SEPARATOR
from multikernel.kernels.products import factors_of
from multikernel.kernels.sparse import SparseKernel


def table_column_order(model: FittedEstimator) -> Indices:
    """Return, for each column of the model's table, its column index in the data."""
    # The columns of sequences are last in the table.
    sequences = np.asarray(vars(model).get("sequence_features_", ()), dtype=np.intp)
    everything = np.arange(model.n_features_in_)
    return np.concatenate([np.setdiff1d(everything, sequences), sequences])


def columns_used(model: FittedEstimator, kernel_index: int) -> list[tuple[int, ...]]:
    """Return the columns of the data that each factor of a kernel uses, ascending."""
    # Kernels must be functions of samples, not given matrices or nodes of a graph.
    table_columns, column_sets = table_column_order(model), []
    dictionary = model._state.names.dictionary
    assert dictionary is not None
    for factor in factors_of(dictionary[kernel_index]):
        columns = table_columns
        if isinstance(factor, SparseKernel) and factor.columns is not None:
            columns = np.array(factor.columns, dtype=np.intp)
        if isinstance(factor, ColumnKernel):
            row = table_columns[None].astype(float)
            columns = select_columns(row, factor.columns)[0].astype(np.intp)
        column_sets.append(tuple(np.unique(columns).tolist()))
    return column_sets


def has_columns(model: FittedEstimator) -> bool:
    """Return whether kernels are functions of columns, not matrices or a graph."""
    state = model._fitted()
    return not state.precomputed and getattr(state.model, "grams", None) is not None


def kernels_in_use(model: FittedEstimator, purpose: str) -> list[Kernel]:
    """Return the active kernels of a model; raise unless they use columns."""
    # `purpose` is the start of the error message, a plural such as "Sobol indices".
    if hasattr(model, "sparse_input_"):
        raise ValueError(
            f"{purpose} require kernels on single columns, which a model fitted on a "
            "sparse table does not have: fit the model on a dense table, X.toarray()."
        )
    if not has_columns(model):
        raise ValueError(
            f"{purpose} require kernels on columns, but {type(model).__name__} was "
            "fitted on precomputed matrices or on a graph of kernels: fit a model with "
            "kernels on columns."
        )
    dictionary = model._state.names.dictionary
    assert dictionary is not None
    return [dictionary[m] for m in model.active_kernels_.tolist()]


def unused_columns(model: FittedEstimator) -> list[str]:
    """Return the names of numeric columns that a fitted model does not use."""
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if not (names and has_columns(model)):
        return []
    in_use = {*getattr(model, "unpenalized_names_", ())}
    for kernel in model.active_kernels_.tolist():
        in_use |= {names[c] for factor in columns_used(model, kernel) for c in factor}
    for attribute in TEXT_FEATURES:
        in_use |= {names[c] for c in getattr(model, attribute, ())}
    return [name for name in names if name not in in_use]


def fill_unused_columns(model: FittedEstimator, X: object) -> object:
    """Return X with zeros for absent pandas columns that the model does not use."""
    names = list(getattr(model, "feature_names_in_", ()))
    if not names or not (hasattr(X, "reindex") and hasattr(X, "columns")):
        return X
    present = {*X.columns}
    absent = [name for name in names if name not in present]
    has_other_columns = len(present) < len(X.columns) or not present <= {*names}
    # If X has unknown or repeated columns, or lacks a column that the model uses, X is
    # returned unchanged, and later checks raise an error.
    if not absent or has_other_columns or not {*absent} <= {*unused_columns(model)}:
        return X
    in_order = [name for name in names if name in present] == [*X.columns]
    # The order of columns is kept, and scikit-learn raises for a different order.
    columns = names if in_order else [*X.columns, *absent]
    return X.reindex(columns=columns, fill_value=0.0)


def names_out(steps: BaseEstimator) -> list[str]:
    """Return the names of the output columns of fitted steps; [] if unknown."""
    try:
        return [str(name) for name in steps.get_feature_names_out()]
    except (AttributeError, ValueError):
        return []


@dataclass(frozen=True)
class NamesBehindSteps(KernelNames):
    """Names of kernels whose columns are outputs of earlier steps of a pipeline."""

    # Names of the kernels in which columns are x0, x1, ...
    numbered: KernelNames = field(kw_only=True)
    # The names that replace x0, x1, ...
    columns: tuple[str, ...] = field(kw_only=True)

    @classmethod
    def of(
        cls, names: KernelNames, steps: object, n_columns: int
    ) -> "NamesBehindSteps":
        """Return `names` with the steps' output columns in place of x0, x1, ..."""
        columns = names_out(steps)
        # If the steps give no names, "x0 (transformed)" is column 0 of the transformed
        # table.
        if len(columns) != n_columns:
            columns = [f"x{column} (transformed)" for column in range(n_columns)]
        arguments = names.dictionary, names.n_kernels, names.given
        return cls(*arguments, numbered=names, columns=tuple(columns))

    def __call__(self, indices: Sequence[int] | None = None) -> list[str]:
        """Return the names of the kernels `indices`, by default of all kernels."""
        return [NUMBERED.sub(self._column, name) for name in self.numbered(indices)]

    def plain(self) -> list[str]:
        """Return the names of all kernels, in which the columns are x0, x1, ..."""
        return self.numbered()

    def _column(self, match: re.Match[str]) -> str:
        """Return the name of the column with a matched number; the match if unnamed."""
        column = int(match[1])
        return self.columns[column] if column < len(self.columns) else match[0]


NUMBERED = re.compile(r"\bx(\d+)\b")
"""Pattern of a column without a name, such as x3, in the name of a kernel."""


def column_names(model: FittedEstimator) -> list[str]:
    """Return the names of all columns; x0, x1, ... if the data had none."""
    names = model._fitted().names
    if isinstance(names, NamesBehindSteps):
        return list(names.columns)
    numbered = [f"x{column}" for column in range(model.n_features_in_)]
    return list(map(str, getattr(model, "feature_names_in_", numbered)))


Parts = tuple[tuple[int, ...], ...]
"""The columns of every factor of a kernel, in the order of the factors."""


def terms_by_columns(model: FittedEstimator) -> dict[Parts, list[int]]:
    """Return the positions of a model's terms, grouped by the columns they use."""
    terms: dict[Parts, list[int]] = {}
    # Terms are numbered in the order of ``active_kernels_``.
    for term, kernel in enumerate(model.active_kernels_.tolist()):
        column_sets = tuple(sorted(columns_used(model, kernel)))
        terms.setdefault(column_sets, []).append(term)
    return terms


def term_names(column_sets: Iterable[Parts], names: Sequence[str]) -> list[str]:
    """Return a name for the terms on each set of columns, with × between factors."""
    column_sets = list(column_sets)
    plain = [_term_name(sets, names) for sets in column_sets]
    # If two names are equal, column names that contain separators are quoted.
    quoted_columns = [repr(n) if SEPARATOR in n or ", " in n else n for n in names]
    quoted = [_term_name(sets, quoted_columns) for sets in column_sets]
    counts = Counter(plain)
    pairs = zip(plain, quoted, strict=True)
    unique = (name if counts[name] == 1 else long_name for name, long_name in pairs)
    return list(unique_names(list(unique)))


def _term_name(column_sets: Parts, names: Sequence[str]) -> str:
    """Return a term's name: the column names of its factors, with × between factors."""
    return SEPARATOR.join(label_of(columns, names) for columns in column_sets)
