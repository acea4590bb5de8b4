"""From checked data to training samples: weights, labels and what is left out."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from multikernel._typing import Array
from multikernel._validation import check_weights
from multikernel.estimators._data import Table
from multikernel.estimators._samples import Labels, Samples


def read_samples(
    owner: str,
    table: Table,
    sample_weight: Any,
    *,
    classify: bool,
    class_weight: Any = None,
) -> Samples:
    """Return the samples of non-zero weight, with encoded targets.

    Parameters
    ----------
    owner : str
        The estimator.
    table : Table
        The checked data.
    sample_weight : array-like of shape (n_rows,) or None
        Weights.
    classify : bool
        Whether targets are class labels.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights by class.

    Returns
    -------
    samples : Samples

    Raises
    ------
    ValueError
        If fewer than two samples or two classes are left, or weights are wrong.
    """
    n_rows = table.X.shape[0]
    weights = check_weights(sample_weight, n_rows)
    rows = np.arange(n_rows) if weights is None else np.flatnonzero(weights)
    if rows.size < 2:
        raise ValueError(
            f"{owner} needs at least two samples of non-zero weight, got "
            f"n_samples={rows.size}."
        )
    X = table.X
    if rows.size < n_rows:
        X = X[np.ix_(rows, rows)] if X.ndim == 3 else X[rows]
    labels: Labels = table.y[rows]
    classes = None
    if classify:
        labels, classes = _encoded(owner, table.y[rows])
    return Samples(
        X=X,
        labels=labels,
        sample_weight=None if weights is None else weights[rows],
        rows=rows,
        table=table,
        classes=classes,
        class_weight=class_weight,
    )


def _encoded(owner: str, y: Array) -> tuple[Labels, Array]:
    """Return class indices and the classes, ascending."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"{owner} needs samples of at least two classes, got one class only: "
            f"{classes.tolist()[0]!r}."
        )
    return codes.astype(np.intp), classes
