"""The training samples of a fit: read, and how they stand to the rows of the input."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from multikernel._typing import Array, Indices
from multikernel._validation import check_weights, listed
from multikernel.estimators.read.tables import TrainingTable
from multikernel.estimators.read.targets import read_columns, refuse_column_name
from multikernel.gram.factors.row_blocks import SampledRows
from multikernel.linalg.tables import backing, row_keys

Labels = Array | Indices
"""Targets of a regression, or class indices."""


@dataclass(frozen=True, eq=False)
class Copies:
    """Input rows, and the samples that they are copies of.

    Parameters
    ----------
    rows : ndarray of shape (n_copies,)
        Positions in the input.
    owners : ndarray of shape (n_copies,)
        For each its sample.
    shares : ndarray of shape (n_copies,)
        For each its part of that sample's weight.
    """

    rows: Indices
    owners: Indices
    shares: Array


@dataclass(frozen=True, eq=False)
class Samples:
    """The training samples with a weight above zero.

    Parameters
    ----------
    X : ndarray of shape (n_samples, ...)
        Their data; for precomputed kernels rows and columns are left out.
    labels : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Class indices, or the targets of a regression; for several labels a sample
        which of them it has, zeros and ones.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights that the user gave, positive.
    rows : ndarray of shape (n_samples,)
        Their positions in the input.
    table : TrainingTable
        The whole input.
    classes : ndarray of shape (n_classes,) or None
        The class labels, ascending; None for a regression. Where samples have several
        labels, the numbers of the labels.
    class_weight : dict, "balanced" or None
        Factors of the weights by class.
    shared : bool
        Whether outputs share a selection of kernels; otherwise each is a problem.
    copies : Copies or None
        Which rows every sample stands for; None for ``rows``, one each.
    groups : array-like of shape (n_rows,) or None
        Groups of the input's rows that folds keep together.
    offset : ndarray of shape (n_samples, n_outputs) or None
        What is added to decision values.
    """

    X: Array
    labels: Labels
    sample_weight: Array | None
    rows: Indices
    table: TrainingTable
    classes: Array | None = None
    class_weight: Any = None
    shared: bool = False
    copies: Copies | None = None
    groups: Any = None
    offset: Array | None = None

    @property
    def seen(self) -> Array:
        """Return the samples that can be looked at: a sample of those in partitions."""
        return self.X.sample if isinstance(self.X, SampledRows) else self.X

    @cached_property
    def weights(self) -> Array | None:
        """Return the weights of the losses, shape (n_samples,), or None for ones."""
        if self.class_weight is None or self.classes is None:
            return self.sample_weight
        given = self.sample_weight
        given = np.ones(self.labels.shape[0]) if given is None else given
        each = class_weights(self.class_weight, self.classes, self.labels, given)
        weights: Array = given * each[self.labels]
        return weights

    @property
    def total_weight(self) -> float:
        """Return the sum of the weights of the losses."""
        weights = self.weights
        return float(self.labels.shape[0] if weights is None else weights.sum())

    @property
    def several(self) -> bool:
        """Return whether a sample has several targets, or labels."""
        return self.labels.ndim == 2

    @cached_property
    def targets(self) -> Array:
        """Return the targets of every output, shape (n_outputs, n_samples)."""
        if self.classes is None:
            return np.atleast_2d(np.asarray(self.labels, dtype=np.float64).T)
        if self.several:
            return np.where(self.labels.T > 0, 1.0, -1.0)
        # Of two classes the second is positive; of more each has a row.
        positive = np.arange(self.classes.size) if self.classes.size > 2 else [1]
        return np.where(np.equal.outer(positive, self.labels), 1.0, -1.0)

    @property
    def output_names(self) -> tuple[str, ...]:
        """Return what outputs are called: after classes, labels or targets."""
        names = self.table.target_names
        if self.classes is not None and not self.several:
            labels = self.classes if self.classes.size > 2 else self.classes[1:]
            return tuple(str(label) for label in labels)
        if names is None and self.several:
            return tuple(f"y{k}" for k in range(self.labels.shape[1]))
        return ("y",) if names is None else names

    def scatter(self, values: Array) -> Array:
        """Return values per sample as values per input row, zero at rows left out."""
        full = np.zeros((*values.shape[:-1], len(self.table.y)))
        if self.copies is None:
            full[..., self.rows] = values
        else:
            copies = self.copies
            full[..., copies.rows] = values[..., copies.owners] * copies.shares
        return full

    def rows_of(self, chosen: Indices) -> Indices:
        """Return the rows of the input that belong to some samples, ascending."""
        if self.copies is None:
            return np.sort(self.rows[chosen])
        return np.sort(self.copies.rows[np.isin(self.copies.owners, chosen)])

    def subset(self, chosen: Indices) -> "Samples":
        """Return some of the samples, without their X, which folds do not need."""
        weights = None if self.sample_weight is None else self.sample_weight[chosen]
        return replace(
            self,
            labels=self.labels[chosen],
            sample_weight=weights,
            rows=self.rows[chosen],
            offset=None if self.offset is None else self.offset[chosen],
        )

    def of_targets(self, chosen: Indices) -> "Samples":
        """Return the same samples with some of the several targets of a regression.

        A single one gives what a fit on that column has.
        """
        columns: Any = chosen if chosen.size > 1 else int(chosen[0])
        every = self.output_names
        names = tuple(every[k] for k in chosen.tolist())
        table = replace(self.table, y=self.table.y[:, columns], target_names=names)
        offset = None if self.offset is None else self.offset[:, chosen]
        return replace(self, labels=table.y[self.rows], table=table, offset=offset)


def read_samples(
    owner: str,
    table: TrainingTable,
    sample_weight: object,
    *,
    classify: bool,
    class_weight: object = None,
    shared: bool = False,
    groups: object = None,
    offset: object = None,
) -> Samples:
    """Return the samples of nonzero weight, with encoded targets.

    With `classify` targets are class labels. Fewer than two samples or two classes, and
    wrong weights, are refused.
    """
    n_rows = table.X.shape[0]
    weights = check_weights(sample_weight, n_rows)
    rows = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
    if rows.size < 2:
        raise ValueError(
            f"{owner} requires at least two samples with nonzero weight, got "
            f"n_samples={rows.size}."
        )
    y = table.y[rows]
    if classify and class_weight is not None and y.ndim == 2:
        raise ValueError(
            f"{owner} supports class_weight for classes, not for several labels: "
            "remove class_weight, or use sample_weight."
        )
    labels, classes = _encoded(owner, y) if classify else (y, None)
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
    checked = check_offset(owner, offset, n_rows, n_outputs, alike=classes is None)
    return replace(samples, offset=checked[rows])


def _some_rows(X: Array, rows: Indices) -> Array:
    """Return the rows of a table with nonzero weight, of matrices on both axes."""
    if isinstance(X, SampledRows):
        raise ValueError(
            f"sample_weight is zero for {X.shape[0] - rows.size} rows, which cannot be "
            "removed from a Dask collection: remove them before the fit."
        )
    return X[np.ix_(rows, rows)] if X.ndim == 3 else X[rows]


def check_offset(
    owner: str, offset: Any, n_rows: int, n_outputs: int, *, alike: bool = False
) -> Array:
    """Return offsets of decision values, shape (n_rows, n_outputs), or refuse them.

    One column is for all outputs where these may be `alike`, as targets are, and
    classes are not.
    """
    refuse_column_name("offset", offset)
    values = read_columns(offset, f"{owner}: offset")
    if values.ndim == 1:
        values = values[:, None]
    widths = (1, n_outputs) if alike else (n_outputs,)
    if values.ndim != 2 or len(values) != n_rows or values.shape[1] not in widths:
        several = f" or ({n_rows}, {n_outputs})" if n_outputs > 1 else ""
        one = f"({n_rows},)" if alike or n_outputs == 1 else ""
        raise ValueError(
            f"{owner}: offset must have shape {(one + several).removeprefix(' or ')}, "
            f"got {np.shape(offset)}."
        )
    if not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0, 0])
        zero = ", the logarithm of an exposure of zero" * bool(
            np.isneginf(values[row]).any()
        )
        raise ValueError(
            f"{owner}: offset is {values[row].tolist()[0]} at row {row}{zero}: every "
            "offset must be finite; remove the row or correct its exposure."
        )
    return np.broadcast_to(values, (n_rows, n_outputs))


def _encoded(owner: str, y: Array) -> tuple[Labels, Any]:
    """Return class indices and the classes, ascending; of several labels, these."""
    if y.ndim == 2:
        check_classification_targets(y)
        return _checked_labels(owner, y), np.arange(y.shape[1])
    # Few integers or texts are classes: the full check takes a third of a millisecond.
    plain = y.dtype.kind in "biuU"
    if not plain:
        refuse_fractions(
            owner, y, "use a regressor for amounts, y.astype(str) for classes"
        )
        check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if plain and 2 * classes.size > y.size:
        check_classification_targets(y)
    if classes.size < 2:
        raise ValueError(
            f"{owner} requires samples of at least two classes, got one class only: "
            f"{classes.tolist()[0]!r}."
        )
    return codes.astype(np.intp), classes


def refuse_fractions(owner: str, y: Array, advice: str) -> None:
    """Raise for classes that are fractions, which scikit-learn takes for amounts."""
    if y.dtype.kind != "f":
        return
    fractions = np.flatnonzero(y != np.round(y))
    if fractions.size:
        row = int(fractions[0])
        raise ValueError(
            f"{owner}: Unknown label type: continuous. y holds {y[row]:g} at row "
            f"{row}, and classes must be whole numbers or text: {advice}."
        )


def _checked_labels(owner: str, y: Array) -> Array:
    """Return which of several labels every sample has, as zeros and ones."""
    labels = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    if not np.isin(labels, (0, 1)).all():
        raise ValueError(
            f"{owner} requires 0 and 1 in several columns of y, which are labels, but "
            "found other values: for classes pass one column."
        )
    constant = np.flatnonzero(labels.min(axis=0) == labels.max(axis=0))
    if constant.size:
        raise ValueError(
            f"{owner} requires samples with and without every label, but label "
            f"{constant[0]} (counted from 0) is the same for all: remove it."
        )
    return labels.astype(np.float64)


def class_weights(
    choice: Mapping[Any, float] | str, classes: Array, codes: Labels, weights: Array
) -> Array:
    """Return the weight of each class, (n_classes,).

    The `choice` "balanced" gives every class the same total weight, and all together
    their own; a class that a dict does not name has weight one. The `codes` are the
    class indices of the samples.
    """
    if isinstance(choice, Mapping):
        labels = classes.tolist()
        unknown = [label for label in choice if label not in labels]
        if unknown:
            raise ValueError(
                f"class_weight contains {listed(unknown)}, but the classes are "
                f"{listed(labels)}: correct or remove these labels."
            )
        return np.array([float(choice.get(label, 1.0)) for label in labels])
    totals = np.bincount(codes, weights, minlength=classes.size)
    # A class that a fold does not hold has nothing to weigh.
    held = np.count_nonzero(totals)
    balanced: Array = weights.sum() / (held * np.where(totals > 0.0, totals, 1.0))
    return balanced


# Equal samples are made one: a weight is then worth exactly as many copies. The steps
# of a machine for losses with corners depend on the order of the samples, and on how
# many share a dual variable. Both are settled here, by the data alone: so a weight of
# two and a second copy lead to the same model to the last digits, and not only to the
# tolerance.


def in_order(samples: Samples) -> Samples:
    """Return the samples in an order that depends on data and labels alone.

    Copies come to stand together. Precomputed kernels have no data to compare, and
    stay as they are, as does a table in a file, which no copy of would fit.
    """
    keys = _keys(samples, slice(None))
    if keys is None:
        return samples
    order = np.argsort(keys, kind="stable")
    return replace(samples.subset(order), X=samples.X[order])


def made_one(samples: Samples, chosen: Indices) -> tuple[Indices, Samples]:
    """Merge equal samples, which must be neighbors.

    Returns the positions of the `chosen` samples that stay, one for each group of equal
    ones, and these samples with summed weights and without X.
    """
    part, keys = samples.subset(chosen), _keys(samples, chosen)
    if keys is None or not (keys[1:] == keys[:-1]).any():
        return chosen, part
    owners = np.cumsum(np.append(0, keys[1:] != keys[:-1]))
    _, firsts = np.unique(owners, return_index=True)
    weights = np.ones(chosen.size) if part.sample_weight is None else part.sample_weight
    totals = np.asarray(np.bincount(owners, weights), dtype=np.float64)
    copies = Copies(part.rows, owners, weights / totals[owners])
    merged = replace(part.subset(firsts), sample_weight=totals, copies=copies)
    return chosen[firsts], merged


def distinct(samples: Samples) -> Samples:
    """Return the samples in an order of their own, with copies made one."""
    samples = in_order(samples)
    keys = _keys(samples, slice(None))
    if keys is None or not (keys[1:] == keys[:-1]).any():
        return samples
    firsts, merged = made_one(samples, np.arange(samples.rows.size))
    return replace(merged, X=samples.X[firsts])


def _keys(samples: Samples, chosen: Indices | slice) -> Any:
    """Return a key per sample, equal for equal rows; None if X is no table."""
    X = samples.X
    if not isinstance(X, np.ndarray) or X.ndim != 2 or backing(X) is not None:
        return None
    offset = () if samples.offset is None else (samples.offset[chosen],)
    return row_keys(np.column_stack([X[chosen], samples.labels[chosen], *offset]))
