"""The training samples of a fit, and their rows in the input."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.multiclass import check_classification_targets

from multikernel._typing import Array, Indices
from multikernel._validation import LARGEST_VALUE, check_weights, listed, shown
from multikernel.estimators.read.numbers import open_data
from multikernel.estimators.read.tables import TrainingTable
from multikernel.estimators.read.targets import read_columns, refuse_column_name
from multikernel.gram.factors.row_blocks import SampledRows
from multikernel.linalg.tables import find_memmap, row_keys

Labels = Array | Indices
"""Targets of a regression, or class indices."""


@dataclass(frozen=True, eq=False)
class Copies:
    """Rows of the input that are merged into samples, because they are equal."""

    # Positions of the rows in the input.
    rows: Indices
    # Index of the sample into which each row is merged.
    owners: Indices
    # The share of each row in the weight of its sample.
    shares: Array


@dataclass(frozen=True, eq=False)
class Samples:
    """The training samples with positive weight."""

    # Precomputed kernels have only the rows and columns of these samples.
    X: Array
    # Class indices, or the targets of a regression; a matrix of zeros and ones if
    # samples have several labels.
    labels: Labels
    sample_weight: Array | None
    # Positions of the samples in the input.
    rows: Indices
    # The input of ``fit``, with all rows.
    table: TrainingTable
    # Class labels, ascending; positions 0, 1, ... of the labels if samples have
    # several labels; None for a regression.
    classes: Array | None = None
    class_weight: Mapping[Hashable, float] | str | None = None
    # Whether outputs share a selection of kernels; otherwise each has its own problem.
    shared: bool = False
    # The rows that are merged into samples; None if no rows are merged.
    copies: Copies | None = None
    # Groups of the input's rows; folds do not split a group.
    groups: object = None
    # Fixed numbers added to the decision values, shape (n_samples, n_outputs).
    offset: Array | None = None

    @property
    def seen(self) -> Array:
        """The samples in memory: all, or a random part if X is a Dask collection."""
        return self.X.sample if isinstance(self.X, SampledRows) else self.X

    @cached_property
    def weights(self) -> Array | None:
        """The weight of each sample's loss, with class weights; None if all are one."""
        if self.class_weight is None or self.classes is None:
            return self.sample_weight
        base = self.sample_weight
        base = np.ones(self.labels.shape[0]) if base is None else base
        factors = class_weights(self.class_weight, self.classes, self.labels, base)
        weights: Array = base * factors[self.labels]
        return weights

    @property
    def total_weight(self) -> float:
        """The sum of the weights of the losses."""
        weights = self.weights
        return float(self.labels.shape[0] if weights is None else weights.sum())

    @property
    def several(self) -> bool:
        """Whether each sample has several targets or labels."""
        return self.labels.ndim == 2

    @cached_property
    def targets(self) -> Array:
        """The targets of every output, shape (n_outputs, n_samples)."""
        if self.classes is None:
            return np.atleast_2d(np.asarray(self.labels, dtype=np.float64).T)
        if self.several:
            return np.where(self.labels.T > 0, 1.0, -1.0)
        # With two classes, the second one is positive; with more, each one has a row.
        positive = np.arange(self.classes.size) if self.classes.size > 2 else [1]
        return np.where(np.equal.outer(positive, self.labels), 1.0, -1.0)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs: classes, labels or targets."""
        names = self.table.target_names
        if self.classes is not None and not self.several:
            labels = self.classes if self.classes.size > 2 else self.classes[1:]
            return tuple(str(label) for label in labels)
        if names is None and self.several:
            return tuple(f"y{k}" for k in range(self.labels.shape[1]))
        return ("y",) if names is None else names

    def scatter(self, values: Array) -> Array:
        """Divide each sample's value among its input rows; return a value per row."""
        # If equal rows were merged into a sample, its value is divided among the rows
        # in proportion to their weights. Rows of weight zero get zero.
        row_values = np.zeros((*values.shape[:-1], len(self.table.y)))
        if self.copies is None:
            row_values[..., self.rows] = values
        else:
            copies = self.copies
            row_values[..., copies.rows] = values[..., copies.owners] * copies.shares
        return row_values

    def rows_of(self, indices: Indices) -> Indices:
        """Return the input rows of some samples, in ascending order."""
        if self.copies is None:
            return np.sort(self.rows[indices])
        return np.sort(self.copies.rows[np.isin(self.copies.owners, indices)])

    def subset(self, indices: Indices) -> "Samples":
        """Return some of the samples, which still refer to the X of all samples."""
        weights = None if self.sample_weight is None else self.sample_weight[indices]
        return replace(
            self,
            labels=self.labels[indices],
            sample_weight=weights,
            rows=self.rows[indices],
            offset=None if self.offset is None else self.offset[indices],
        )

    def of_targets(self, targets: Indices) -> "Samples":
        """Return the samples with some of the targets of a regression."""
        # A single target is a vector, as in a fit on its column.
        columns = targets if targets.size > 1 else int(targets[0])
        all_names = self.output_names
        names = tuple(all_names[k] for k in targets.tolist())
        table = replace(self.table, y=self.table.y[:, columns], target_names=names)
        offset = None if self.offset is None else self.offset[:, targets]
        return replace(self, labels=table.y[self.rows], table=table, offset=offset)


def read_samples(
    estimator: BaseEstimator,
    table: TrainingTable,
    sample_weight: object,
    groups: object,
    offset: ArrayLike | None,
    *,
    shared: bool,
) -> Samples:
    """Return the samples of nonzero weight, with class indices for a classifier."""
    # `shared`: one selection of kernels for all outputs.
    owner, n_rows = type(estimator).__name__, table.X.shape[0]
    class_weight = getattr(estimator, "class_weight", None)
    weights = check_weights(sample_weight, n_rows)
    rows = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
    if rows.size < 2:
        raise ValueError(
            f"{owner} requires at least two samples with nonzero weight, got "
            f"n_samples={rows.size}: pass more samples, or positive weights."
        )
    y, classes = table.y[rows], None
    labels: Labels = y
    if is_classifier(estimator):
        if class_weight is not None and y.ndim == 2:
            raise ValueError(
                f"{owner} supports class_weight only if y has one column, not for "
                "several labels: remove class_weight, or use sample_weight."
            )
        labels, classes = _encode_classes(owner, y, rows)
    samples = Samples(
        X=table.X if rows.size == n_rows else _some_rows(table.X, rows),
        labels=labels,
        sample_weight=None if weights is None else weights[rows],
        rows=rows,
        table=table,
        classes=classes,
        class_weight=class_weight,
        shared=shared,
        groups=groups,
    )
    if offset is None:
        return samples
    n_outputs = len(samples.targets)
    checked = check_offset(owner, offset, n_rows, n_outputs, shared=classes is None)
    return replace(samples, offset=checked[rows])


def _some_rows(X: Array, rows: Indices) -> Array:
    """Return rows of X, and the same columns of Gram matrices; raise for Dask data."""
    if isinstance(X, SampledRows):
        # The smallest index that the ascending `rows` do not contain.
        row = int(np.argmax(np.append(rows, -1) != np.arange(rows.size + 1)))
        raise ValueError(
            f"sample_weight is zero at row {row}, "
            "but a fit cannot drop rows of a Dask collection: remove rows of weight "
            "zero before the fit."
        )
    return X[np.ix_(rows, rows)] if X.ndim == 3 else X[rows]


def check_offset(
    owner: str, offset: ArrayLike, n_rows: int, n_outputs: int, *, shared: bool = False
) -> Array:
    """Return offsets, (n_rows, n_outputs); with `shared`, one column serves all."""
    refuse_column_name("offset", offset)
    values = read_columns(open_data(offset, "offset"), f"{owner}: offset")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    # If outputs are `shared` (targets, not classes), `offset` may also have one column,
    # which is used for all outputs.
    shapes = [f"({n_rows},)"] if shared or n_outputs == 1 else []
    shapes += [f"({n_rows}, {n_outputs})"] if n_outputs > 1 else []
    if str(values.shape) not in shapes:
        raise ValueError(
            f"{owner}: offset must have shape {' or '.join(shapes)}, got shape "
            f"{np.shape(offset)}: pass an array of such a shape."
        )
    nonfinite = np.argwhere(~(np.abs(values) <= LARGEST_VALUE)).tolist()
    if nonfinite:
        value = values[tuple(nonfinite[0])]
        reason = ", the logarithm of an exposure of zero" * bool(np.isneginf(value))
        raise ValueError(
            f"{owner}: offset is {value} at row {nonfinite[0][0]}{reason}: every "
            f"offset must be finite, with absolute value at most {LARGEST_VALUE:g}. "
            "Correct this value, or remove the row."
        )
    return np.broadcast_to(values.reshape(n_rows, -1), (n_rows, n_outputs))


def _encode_classes(owner: str, y: Array, rows: Indices) -> tuple[Labels, Any]:
    """Return class indices and classes; for label matrices, y and column numbers."""
    # `rows` are the rows of the user's y that `y` contains, for messages.
    if y.ndim == 2:
        check_classification_targets(y)
        return _check_label_matrix(owner, y), np.arange(y.shape[1])
    advice = "use a regressor for amounts, y.astype(str) for classes"
    refuse_fractions(owner, y, advice, rows)
    classes, codes = np.unique(y, return_inverse=True)
    # Skip the full check, which takes a third of a millisecond, for integers and text
    # with few distinct values: these are classes.
    if y.dtype.kind not in "biuU" or 2 * classes.size > y.size:
        check_classification_targets(y)
    if classes.size < 2:
        raise ValueError(
            f"{owner} requires samples of at least two classes, got one class only: "
            f"{classes.tolist()[0]!r}. Add samples of another class, with nonzero "
            "weight."
        )
    return codes.astype(np.intp), classes


def refuse_fractions(
    owner: str, y: Array, advice: str, rows: Indices | None = None
) -> None:
    """Raise for class labels with fractions, which scikit-learn does not accept."""
    if y.dtype.kind != "f":
        return
    fractions = np.flatnonzero(y != np.round(y))
    if fractions.size:
        row = int(fractions[0])
        raise ValueError(
            f"{owner}: Unknown label type: continuous. y holds {y[row]:g} at row "
            f"{row if rows is None else rows[row]}, but classes must be whole numbers "
            f"or text: {advice}."
        )


def _check_label_matrix(owner: str, y: Array) -> Array:
    """Return a matrix of zeros and ones: the labels of every sample."""
    labels = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    invalid = np.argwhere(~np.isin(labels, (0, 1))).tolist()
    if invalid:
        row, column = invalid[0]
        value = labels[row].tolist()[column]
        raise ValueError(
            f"{owner} reads several columns of y as labels, which must be 0 or 1, but "
            f"column {column} (counted from 0) contains {shown(value)}. For classes, "
            "pass y with one column."
        )
    constant_columns = np.flatnonzero(labels.min(axis=0) == labels.max(axis=0))
    if constant_columns.size:
        raise ValueError(
            f"{owner} requires, for each label, samples with it and samples without "
            f"it, but column {constant_columns[0]} of y (counted from 0) is constant: "
            "remove this column."
        )
    return labels.astype(np.float64)


def class_weights(
    setting: Mapping[Hashable, float] | str,
    classes: Array,
    codes: Labels,
    weights: Array,
) -> Array:
    """Return the weight of each class; `codes` are the class indices of the samples."""
    if isinstance(setting, Mapping):
        labels = classes.tolist()
        unknown = [label for label in setting if label not in labels]
        if unknown:
            raise ValueError(
                f"class_weight contains {listed(unknown)}, but the classes are "
                f"{listed(labels)}: correct or remove these labels."
            )
        return np.array([float(setting.get(label, 1.0)) for label in labels])
    # "balanced" gives all classes the same total weight, and keeps the sum of weights.
    totals = np.bincount(codes, weights, minlength=classes.size)
    # A class that is missing in a fold must not reduce the weights of other classes.
    n_present = np.count_nonzero(totals)
    balanced: Array = weights.sum() / (n_present * np.where(totals > 0.0, totals, 1.0))
    return balanced


# Equal samples are merged, so that a weight of two equals two copies. For nonsmooth
# losses, the steps of a support vector solver depend on the order of the samples, and
# on whether equal samples share a dual variable. Both are determined here from the data
# alone. So a weight of two and a second copy give the same model to the last digits,
# not only within the tolerance.


def sort_samples(samples: Samples, *, merges_copies: bool) -> Samples:
    """Sort the samples by data and labels alone; merge equal samples if requested."""
    keys = _sample_keys(samples, slice(None))
    # Samples keep their order if X contains precomputed kernels, which have no features
    # to sort by, or is a table in a file, whose sorted copy may not fit into memory.
    if keys is None:
        return samples
    order = np.argsort(keys, kind="stable")
    if not merges_copies:
        return replace(samples.subset(order), X=samples.X[order])
    rows, merged = merge_equal(samples, order)
    return replace(merged, X=samples.X[rows])


def merge_equal(samples: Samples, indices: Indices) -> tuple[Indices, Samples]:
    """Return the indices and samples that remain after merging equal neighbors."""
    part, keys = samples.subset(indices), _sample_keys(samples, indices)
    if keys is None or not (keys[1:] == keys[:-1]).any():
        return indices, part
    owners = np.cumsum(np.append(0, keys[1:] != keys[:-1]))
    _, firsts = np.unique(owners, return_index=True)
    given = part.sample_weight
    weights = np.ones(indices.size) if given is None else given
    # A merged sample has the sum of its rows' weights. X is still that of all samples.
    totals = np.asarray(np.bincount(owners, weights), dtype=np.float64)
    copies = Copies(part.rows, owners, weights / totals[owners])
    merged = replace(part.subset(firsts), sample_weight=totals, copies=copies)
    return indices[firsts], merged


def _sample_keys(samples: Samples, indices: Indices | slice) -> Any:
    """Return a key per sample, equal for equal samples; None unless X is an array."""
    X = samples.X
    if not isinstance(X, np.ndarray) or X.ndim != 2 or find_memmap(X) is not None:
        return None
    offset = () if samples.offset is None else (samples.offset[indices],)
    return row_keys(np.column_stack([X[indices], samples.labels[indices], *offset]))
