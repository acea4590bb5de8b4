"""Local Rademacher complexity as numbers: what the tails of spectra are for."""

import math
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices


@dataclass(frozen=True)
class LocalComplexity:
    """A bound on the local Rademacher complexity of one kernel's unit ball.

    Parameters
    ----------
    bound : float
        The bound.
    cut_off : int
        The theta at which it is reached: how many eigenvalues exceed r.
    """

    bound: float
    cut_off: int


def local_rademacher_bound(
    eigenvalues: Array, r: float, n_samples: int, *, tail: float = 0.0
) -> LocalComplexity:
    r"""Return the upper bound of theorem 3 of [1]_, and the cut-off that gives it.

    For the functions g of norm at most one in the space of a kernel with
    :math:`E g^2 \le r`,

    .. math::
        E R_n(F; r) \le \sqrt{\frac2n \min_\theta \Bigl( \theta r + \sum_{j > \theta}
        \lambda_j \Bigr)} = \sqrt{\frac2n \sum_j \min(r, \lambda_j)}.

    The minimising theta is the first cut-off to try in a constraint on tails.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n_eigenvalues,)
        Eigenvalues of the kernel's integral operator, in any order; on a sample the
        eigenvalues of K / n stand for them. The theorem is about the operator: with a
        sample in its place the number is an estimate of the bound.
    r : float
        Bound on the second moment of the functions, positive.
    n_samples : int
        Size of the samples.
    tail : float, default=0.0
        Sum of eigenvalues that are not given, for example the `TailSums.tails` beyond
        the leading ones.

    Raises
    ------
    ValueError
        If r or the number of samples is not positive, or an eigenvalue or the tail is
        negative.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.diagnostics import local_rademacher_bound
    >>> found = local_rademacher_bound(np.array([1.0, 0.25, 0.04]), 0.5, n_samples=100)
    >>> found.cut_off, round(found.bound, 6)
    (1, 0.125698)
    """
    values = _checked(eigenvalues, r, n_samples)
    if not tail >= 0.0:
        raise ValueError(f"tail must be at least 0, got {tail}.")
    total = float(np.minimum(values, r).sum()) + tail
    cut_off = int(np.count_nonzero(values > r))
    return LocalComplexity(math.sqrt(2.0 * total / n_samples), cut_off)


def cut_off_values(eigenvalues: Array, r: float) -> Array:
    r"""Return :math:`\theta r + \sum_{j > \theta} \lambda_j` for theta = 0, 1, ...

    Parameters
    ----------
    eigenvalues : ndarray of shape (n_eigenvalues,)
        Eigenvalues, in any order.
    r : float
        Bound on the second moment of the functions.

    Returns
    -------
    values : ndarray of shape (n_eigenvalues + 1,)

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.diagnostics import cut_off_values
    >>> cut_off_values(np.array([4.0, 2.0, 1.0]), r=1.5)
    array([7. , 4.5, 4. , 4.5])
    """
    values = np.sort(_checked(eigenvalues, r, 1))[::-1]
    tails = np.append(np.cumsum(values[::-1])[::-1], 0.0)
    return np.asarray(r * np.arange(values.size + 1) + tails)


def _checked(eigenvalues: Array | Indices, r: float, n_samples: int) -> Array:
    """Return eigenvalues as floats; raise if they, r or n_samples are wrong."""
    values = np.asarray(eigenvalues, dtype=np.float64)
    if not (math.isfinite(r) and r > 0.0):
        raise ValueError(f"r must be a positive number, got {r}.")
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
    if not bool(np.all(np.isfinite(values) & (values >= 0.0))):
        raise ValueError(
            "eigenvalues must be finite and not negative; clip what rounding leaves."
        )
    return values
