"""Bounds on local Rademacher complexities from the tails of spectra."""

import math
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices


@dataclass(frozen=True)
class LocalComplexity:
    """A bound on the local Rademacher complexity of a kernel's unit ball.

    Parameters
    ----------
    bound : float
        The bound of `local_rademacher_bound`.
    cut_off : int
        The theta that minimizes the bound: the number of eigenvalues above r.
    """

    bound: float
    cut_off: int


def local_rademacher_bound(
    eigenvalues: Array, r: float, n_samples: int, *, tail: float = 0.0
) -> LocalComplexity:
    r"""Return the upper bound of theorem 3 of [1]_, and its cut-off.

    For functions g of norm at most one in the kernel's space with :math:`E g^2 \le r`,

    .. math::

        E R_n(F; r) \le \sqrt{\frac2n \min_\theta \Bigl( \theta r + \sum_{j > \theta}
        \lambda_j \Bigr)} = \sqrt{\frac2n \sum_j \min(r, \lambda_j)}.

    The minimizing theta is a good first cut-off for a constraint on tails.

    Parameters
    ----------
    eigenvalues : ndarray of shape (n_eigenvalues,)
        Eigenvalues of the kernel's integral operator, in any order. The eigenvalues of
        K / n on a sample estimate them.
    r : float
        Bound on the second moment of the functions, positive.
    n_samples : int
        Number of samples.
    tail : float, default=0.0
        Sum of the omitted eigenvalues, such as `TailSums.tails`.

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
    >>> result = local_rademacher_bound(np.array([1.0, 0.25, 0.04]), 0.5, n_samples=100)
    >>> result.cut_off, round(result.bound, 6)
    (1, 0.125698)
    """
    values = _check_eigenvalues(eigenvalues, r, n_samples)
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
    values = np.sort(_check_eigenvalues(eigenvalues, r, 1))[::-1]
    tails = np.append(np.cumsum(values[::-1])[::-1], 0.0)
    return np.asarray(r * np.arange(values.size + 1) + tails)


def local_rademacher_leading_term(
    spectra: Array, r: float, n_samples: int, *, radius: float = 1.0
) -> float:
    r"""Return the leading term of theorem 6 of [1]_, which is not a bound by itself.

    .. math::

        \sqrt{\frac{16 e}{n} \max_m \sum_j \min\bigl(r, e^2 \Lambda^2 \log^2(M)
        \lambda_j(\tilde K_m)\bigr)}

    It applies to `LocalRademacherMKLClassifier` with ``method="conv"`` and p = 1, for
    uniformly bounded, uncorrelated kernels. A bound requires a further term of order 1
    / n, which the theorem does not specify.
    For a single kernel the leading term is zero.

    Parameters
    ----------
    spectra : ndarray of shape (n_kernels, n_eigenvalues)
        Eigenvalues of the kernels' integral operators, divided by their tails. The
        eigenvalues of K / n on a sample estimate them.
    r : float
        Bound on the second moment of the functions, positive.
    n_samples : int
        Number of samples.
    radius : float, default=1.0
        Bound Lambda on the norm of the functions.

    Raises
    ------
    ValueError
        If r, the radius or the number of samples is not positive, or an eigenvalue is
        negative.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.diagnostics import local_rademacher_leading_term
    >>> spectra = np.array([[1.0, 0.5], [1.0, 0.1]])
    >>> round(local_rademacher_leading_term(spectra, 0.5, 10_000), 6)
    0.065949
    """
    values = _check_eigenvalues(spectra, r, n_samples)
    if values.ndim != 2:
        raise ValueError(
            f"spectra must have the shape (n_kernels, n_eigenvalues), got "
            f"{values.shape}."
        )
    if not radius > 0.0:
        raise ValueError(f"radius must be positive, got {radius}.")
    factor = (math.e * radius * math.log(values.shape[0])) ** 2
    sums = np.minimum(r, factor * values).sum(axis=1)
    return math.sqrt(16.0 * math.e / n_samples * float(sums.max()))


def local_rademacher_rate(
    n_samples: int, n_kernels: int, decay: float, *, scale: float = 1.0
) -> float:
    r"""Return the rate of theorem 7 of [1]_, without its constants.

    .. math::

        (s \log^2 M)^{1 / (1 + \alpha)} \, M^{(\alpha - 1) / (\alpha + 1)} \,
        n^{-\alpha / (1 + \alpha)}

    With ``method="conv"`` and the squared loss, the excess risk decreases at this rate
    if eigenvalues decrease as :math:`\lambda_j \le d j^{-\alpha}`. The rate is between
    :math:`\log(M) / \sqrt n` for alpha near one and :math:`M / n` for finite spectra.
    Only ratios of rates are meaningful. `local_rademacher_leading_term` states the
    assumptions.

    Parameters
    ----------
    n_samples : int
        Number of samples.
    n_kernels : int
        Number of kernels M, at least two.
    decay : float
        The exponent alpha, above 1; may be infinite.
    scale : float, default=1.0
        :math:`d \Lambda^2`.

    Raises
    ------
    ValueError
        If the exponent is not above 1, or there are fewer than two kernels.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> from multikernel.diagnostics import local_rademacher_rate
    >>> local_rademacher_rate(1000, 5, decay=float("inf"))
    0.005
    """
    if not decay > 1.0:
        raise ValueError(f"decay must be above 1, got {decay}.")
    if n_kernels < 2:
        raise ValueError(f"n_kernels must be at least 2, got {n_kernels}.")
    power = 1.0 / (1.0 + decay)  # alpha / (1 + alpha) = 1 - power
    logs = (scale * math.log(n_kernels) ** 2) ** power
    return float(logs * n_kernels ** (1.0 - 2.0 * power) * n_samples ** (power - 1.0))


def _check_eigenvalues(eigenvalues: Array | Indices, r: float, n_samples: int) -> Array:
    """Return eigenvalues as floats; raise if they, r or n_samples are invalid."""
    values = np.asarray(eigenvalues, dtype=np.float64)
    if not (math.isfinite(r) and r > 0.0):
        raise ValueError(f"r must be a positive number, got {r}.")
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
    if not bool(np.all(np.isfinite(values) & (values >= 0.0))):
        raise ValueError(
            "eigenvalues must be finite and not negative: clip rounding errors at zero."
        )
    return values
