"""Kernels that memorise: those under which no sample says anything about another."""

import numpy as np

from multikernel._typing import Array

MEMORISES = 0.25
"""Ratio below which a kernel memorises. ``benchmarks/defaults`` (memory), 216 single
Gaussians on 9 sets: below it accuracy is 0.002 above that of the larger class in the
mean and contributions shrink to less than a fifth on new samples; from 0.25 to 0.5 it
is 0.06 above, from 0.5 to 1 0.16."""


def off_diagonal_ratio(variances: Array, spreads: Array, n_samples: int) -> Array:
    r"""Return what a kernel says beyond its diagonal, over what its diagonal says.

    A function :math:`f = \sum_j a_j k(x_j, \cdot)` with coefficients of random signs
    has, at a training sample, the part :math:`a_i (k(x_i, x_i) - \bar k)` that a new
    sample does not see, and :math:`\sum_{j \ne i} a_j (k(x_i, x_j) - \bar k)`, which
    it does: the ratio of their standard deviations is

    .. math:: \frac{\sqrt{n}\, \mathrm{std}_{i \ne j}\, k(x_i, x_j)}
        {\mathrm{mean}_i\, k(x_i, x_i) - \bar k},
        \qquad \bar k = \mathrm{mean}_{i \ne j}\, k(x_i, x_j).

    Neither scaling nor centring changes it. It is zero for the identity.

    Parameters
    ----------
    variances : ndarray of shape (n_kernels,)
        The denominators.
    spreads : ndarray of shape (n_kernels,)
        Standard deviations of the entries beside the diagonal.
    n_samples : int
        Number of training samples.

    Returns
    -------
    ratios : ndarray of shape (n_kernels,)
        Infinite where the denominator is zero: a constant kernel memorises nothing.
    """
    ratios = np.full(variances.shape, np.inf)
    scaled = np.sqrt(n_samples) * spreads
    np.divide(scaled, variances, out=ratios, where=variances > 0.0)
    return ratios
