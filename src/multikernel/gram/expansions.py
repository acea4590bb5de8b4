r"""What a function in the space of a kernel is given by: samples' numbers, or columns'.

A function :math:`f = K c` is given by one number per sample. That of a factor,
:math:`K = Z Z^\top`, is given by :math:`u = Z^\top c` as well, :math:`f = Z u` with
:math:`\|f\| = |u|`, as many numbers as the factor has columns. Where samples are so
many that one number for each and every kernel would be too much, stacks take the
latter: an array (n_kernels, length[, n_outputs]), rows filled up with zeros. Its length
is never the number of samples, by which the two are told apart.
"""

import numpy as np

from multikernel._typing import Array, Indices


def padded(u: Array, ranks: Indices, length: int) -> Array:
    """Return coordinates, one kernel's after another's, as an array of such a length.

    Parameters
    ----------
    u : ndarray of shape (total_rank[, n_outputs])
        The coordinates.
    ranks : ndarray of shape (n_kernels,)
        How many are a kernel's.
    length : int
        At least the largest rank.
    """
    filled = np.zeros((ranks.size, length, *u.shape[1:]))
    filled[np.arange(length) < ranks[:, None]] = u
    return filled


def unpadded(coefs: Array, ranks: Indices) -> Array:
    """Return coordinates one kernel's after another's.

    Columns that a factor has gained since are not used.

    Parameters
    ----------
    coefs : ndarray of shape (n_kernels, length[, n_outputs])
        As `padded` returns them, for these or for smaller ranks.
    ranks : ndarray of shape (n_kernels,)
        How many coordinates are a kernel's.
    """
    length = int(ranks.max(initial=0))
    wider = np.zeros((ranks.size, length, *coefs.shape[2:]))
    known = min(length, coefs.shape[1])
    wider[:, :known] = coefs[:, :known]
    return np.asarray(wider[np.arange(length) < ranks[:, None]])
