"""Squared distances and inner products between the rows of two arrays."""

import numpy as np

from multikernel._typing import Array

FEW_COLUMNS = 2
"""Up to this many columns differences are squared directly: exact, and no slower."""


def inner_products(X: Array, Y: Array | None = None) -> Array:
    r"""Return :math:`\langle x_i, y_j \rangle` for all pairs of rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples_X, n_features)
        Rows.
    Y : ndarray of shape (n_samples_Y, n_features), optional
        Rows of the second set; `X` itself when left out, and then the result is
        exactly symmetric.

    Returns
    -------
    products : ndarray of shape (n_samples_X, n_samples_Y)
    """
    A = np.ascontiguousarray(X)
    # NumPy computes A @ A.T by a symmetric rank-k update: half the work, and exactly
    # symmetric. It needs contiguous rows for that.
    return np.asarray(A @ (A if Y is None else Y).T)


def squared_distances(X: Array, Y: Array | None = None) -> Array:
    r"""Return :math:`\|x_i - y_j\|^2` for all pairs of rows.

    For more than two columns the expansion
    :math:`\|x\|^2 + \|y\|^2 - 2 \langle x, y \rangle` is used on data moved to the
    mean of `X`, where it loses least to cancellation.

    Parameters
    ----------
    X : ndarray of shape (n_samples_X, n_features)
        Rows.
    Y : ndarray of shape (n_samples_Y, n_features), optional
        Rows of the second set; `X` itself when left out, and then the result is
        exactly symmetric with a zero diagonal.

    Returns
    -------
    distances : ndarray of shape (n_samples_X, n_samples_Y)
        Non-negative.

    Examples
    --------
    >>> import numpy as np
    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]))
    array([[ 0., 25.],
           [25.,  0.]])
    """
    if X.shape[1] <= FEW_COLUMNS:
        return _by_differences(X, X if Y is None else Y)
    center = X.mean(axis=0)
    A = X - center
    B = A if Y is None else Y - center
    distances = inner_products(A, None if Y is None else B)
    norms_a = np.einsum("ij,ij->i", A, A)
    norms_b = np.einsum("ij,ij->i", B, B)
    distances *= -2.0
    distances += norms_a[:, None] + norms_b[None, :]
    np.maximum(distances, 0.0, out=distances)
    if Y is None:
        np.fill_diagonal(distances, 0.0)
    return distances


def _by_differences(X: Array, Y: Array) -> Array:
    """Sum squared differences column by column."""
    total = np.zeros((X.shape[0], Y.shape[0]))
    for column in range(X.shape[1]):
        difference = np.subtract.outer(X[:, column], Y[:, column])
        difference *= difference
        total += difference
    return total
