"""Bounds on local Rademacher complexities from the tails of spectra."""

import math
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices


@dataclass(frozen=True)
class LocalComplexity:
    """A bound on the local Rademacher complexity of a kernel's unit ball.

    The `bound` is that of `local_rademacher_bound`. `cut_off` is the number of
    eigenvalues above its `r`: the theta at which `cut_off_values` has its minimum.
    """

    bound: float
    cut_off: int


def local_rademacher_bound(
    eigenvalues: Array, r: float, n_samples: int, *, tail: float = 0.0
) -> LocalComplexity:
    """Return an upper bound on the local Rademacher complexity of a kernel.

    The bound, theorem 3 of Cortes, Kloft and Mohri (2013), is for functions of norm at
    most one and second moment at most `r`. The eigenvalues of the kernel's integral
    operator, in any order, are estimated by those of K / n on n samples. `tail` is the
    sum of omitted eigenvalues. The result also has the number of eigenvalues above `r`,
    ``cut_off``: try this value first as ``theta`` of `LocalRademacherMKLClassifier`.
    """
    values = _check_eigenvalues(eigenvalues, r, n_samples)
    if not tail >= 0.0:
        raise ValueError(f"tail must be at least 0, got {tail}.")
    # Theorem 3 of Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
    # complexity. NIPS 26. The smallest of `cut_off_values` is sum_j min(r, lambda_j).
    total = float(np.minimum(values, r).sum()) + tail
    cut_off = int(np.count_nonzero(values > r))
    return LocalComplexity(math.sqrt(2.0 * total / n_samples), cut_off)


def cut_off_values(eigenvalues: Array, r: float) -> Array:
    """Return theta r plus the sum of all but the theta largest values, for each theta.

    The result has shape (n_eigenvalues + 1,), for theta = 0, 1, ...; its minimum
    determines `local_rademacher_bound` for second moments of at most `r`.
    """
    values = np.sort(_check_eigenvalues(eigenvalues, r, 1))[::-1]
    tails = np.append(np.cumsum(values[::-1])[::-1], 0.0)
    return np.asarray(r * np.arange(values.size + 1) + tails)


def local_rademacher_leading_term(
    spectra: Array, r: float, n_samples: int, *, radius: float = 1.0
) -> float:
    """Return the leading term of a complexity bound; it is not a bound by itself.

    Theorem 6 of Cortes, Kloft and Mohri (2013) is for `LocalRademacherMKLClassifier`
    with ``method="conv"``, p = 1 and bounded, uncorrelated kernels. `spectra`, shape
    (n_kernels, n_eigenvalues), are the eigenvalues of the kernels' integral operators,
    each row divided by the sum of all but its ``theta`` largest eigenvalues. `r` bounds
    the second moment of the functions, and `radius` their norm.
    """
    values = _check_eigenvalues(spectra, r, n_samples, "spectra")
    if values.ndim != 2:
        raise ValueError(
            "spectra must have the shape (n_kernels, n_eigenvalues), one row for each "
            f"kernel, got {values.shape}."
        )
    if not radius > 0.0:
        raise ValueError(f"radius must be positive, got {radius}.")
    # The theorem's bound also has a term of order 1 / n, whose constant the paper does
    # not specify. This function omits that term.
    factor = (math.e * radius * math.log(values.shape[0])) ** 2
    sums = np.minimum(r, factor * values).sum(axis=1)
    return math.sqrt(16.0 * math.e / n_samples * float(sums.max()))


def local_rademacher_rate(
    n_samples: int, n_kernels: int, decay: float, *, scale: float = 1.0
) -> float:
    """Return the rate at which the excess risk decreases, without its constants.

    Theorem 7 of Cortes, Kloft and Mohri (2013) is for the squared loss and kernels as
    in `local_rademacher_leading_term` whose j-th eigenvalue is at most d j^-decay;
    `decay`, above 1, may be infinite. `scale` is d times the squared bound on the
    functions' norm. Only ratios of rates are meaningful.
    """
    if not decay > 1.0:
        raise ValueError(f"decay must be above 1, got {decay}.")
    if n_kernels < 2:
        raise ValueError(f"n_kernels must be at least 2, got {n_kernels}.")
    # Theorem 7 of Cortes, Kloft and Mohri, with the decay alpha and the scale s:
    # (s log^2 M)^(1/(1 + alpha)) M^((alpha - 1)/(alpha + 1)) n^(-alpha/(1 + alpha)).
    power = 1.0 / (1.0 + decay)  # alpha is `decay`, so alpha / (1 + alpha) = 1 - power
    logs = (scale * math.log(n_kernels) ** 2) ** power
    return float(logs * n_kernels ** (1.0 - 2.0 * power) * n_samples ** (power - 1.0))


def _check_eigenvalues(
    eigenvalues: Array | Indices, r: float, n_samples: int, name: str = "eigenvalues"
) -> Array:
    """Return eigenvalues as floats; raise if they, r or n_samples are invalid."""
    values = np.asarray(eigenvalues, dtype=np.float64)
    if not (math.isfinite(r) and r > 0.0):
        raise ValueError(f"r must be a positive finite number, got {r}.")
    if n_samples < 1:
        raise ValueError(f"n_samples must be at least 1, got {n_samples}.")
    is_valid = np.isfinite(values) & (values >= 0.0)
    if not is_valid.all():
        raise ValueError(
            f"{name} must contain finite, nonnegative numbers, got "
            f"{values[~is_valid][0]}: remove NaN and infinite values, and replace "
            "negative rounding errors by 0."
        )
    return values
