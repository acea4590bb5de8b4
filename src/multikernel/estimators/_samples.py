"""The training samples of a fit, and how they stand to the rows of the input."""

from dataclasses import dataclass, replace

import numpy as np

from multikernel._typing import Array, Indices

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
    """The training samples that are left once those of weight zero are out.

    Parameters
    ----------
    X : ndarray of shape (n_samples, ...)
        Their data; for precomputed kernels rows and columns are left out.
    labels : ndarray of shape (n_samples,)
        Class indices, or the targets of a regression.
    weights : ndarray of shape (n_samples,) or None
        Sample weights without class weights, positive.
    rows : ndarray of shape (n_samples,)
        Their positions in the input.
    y : ndarray of shape (n_rows,)
        The targets of the whole input.
    classes : ndarray of shape (n_classes,) or None
        The class labels, ascending; None for a regression.
    copies : Copies or None
        Which rows every sample stands for; None for ``rows``, one each.
    groups : ndarray of shape (n_rows,) or None
        The groups that folds keep together, of the whole input.
    """

    X: Array
    labels: Labels
    weights: Array | None
    rows: Indices
    y: Array
    classes: Array | None = None
    copies: Copies | None = None
    groups: Array | None = None

    def scatter(self, values: Array) -> Array:
        """Return values per sample as values per input row, zero at rows left out."""
        full = np.zeros((*values.shape[:-1], self.y.shape[0]))
        if self.copies is None:
            full[..., self.rows] = values
        else:
            copies = self.copies
            full[..., copies.rows] = values[..., copies.owners] * copies.shares
        return full

    def rows_of(self, chosen: Indices) -> Indices:
        """Return the input rows that some of the samples stand for, ascending."""
        if self.copies is None:
            return np.sort(self.rows[chosen])
        return np.sort(self.copies.rows[np.isin(self.copies.owners, chosen)])

    def subset(self, chosen: Indices) -> "Samples":
        """Return some of the samples, without their X, which folds do not need."""
        weights = None if self.weights is None else self.weights[chosen]
        return replace(
            self, labels=self.labels[chosen], weights=weights, rows=self.rows[chosen]
        )
