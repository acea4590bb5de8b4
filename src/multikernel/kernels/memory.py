"""Kernels that memorise: those under which no sample says anything about another."""

import numpy as np

MEMORISES = 0.25


def off_diagonal_ratio(variance: float, spread: float, n_samples: int) -> float:
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
    variance : float or ndarray
        The denominator.
    spread : float or ndarray
        Standard deviation of the entries beside the diagonal.
    n_samples : int
        Number of training samples.

    Returns
    -------
    ratio : float or ndarray
        Infinite where the denominator is zero: a constant kernel memorises nothing.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.sqrt(n_samples) * np.asarray(spread) / variance
    return np.where(np.asarray(variance) > 0.0, ratio, np.inf)[()]
