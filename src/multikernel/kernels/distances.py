"""Squared distances and inner products between the rows of two arrays."""

import numpy as np
from scipy.spatial.distance import cdist

from multikernel._typing import Array


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

    Differences are taken before they are squared, so that a pair's distance depends
    on the pair alone: the expansion into norms and inner products is faster beyond
    some thirty columns (fourfold at a hundred), but cancels beside a distant row.

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
    return np.asarray(cdist(X, X if Y is None else Y, "sqeuclidean"))
