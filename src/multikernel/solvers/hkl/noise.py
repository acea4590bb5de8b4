"""Which sums over descendants stand out from what noise alone gives."""

import numpy as np

from multikernel._typing import Array, Indices


def standing_out(forms: Array, noise: Array, kinds: Indices) -> Array:
    """Return by how many robust deviations each ratio to noise is above the median.

    `forms` are sums over descendants, and `noise` their expectation for noise alone.
    `kinds` number the degrees of the sources: sources of the same degrees are compared
    with each other, or with all if there are few of them.
    """
    tiny = np.finfo(np.float64).tiny
    with np.errstate(invalid="ignore", over="ignore"):
        ratios = np.nan_to_num(forms / np.maximum(noise, tiny), posinf=1e300)
    z = np.empty(len(ratios))
    of_all = _middle_and_spread(ratios)
    order = np.argsort(kinds, kind="stable")
    starts = np.flatnonzero(np.diff(kinds[order], prepend=-1))
    for members in np.split(order, starts[1:]):
        among = ratios[members]
        few = among.size < 8
        middle, spread = of_all if few else _middle_and_spread(among)
        z[members] = (among - middle) / max(spread, 1e-9 * middle, tiny)
    return z


def _middle_and_spread(values: Array) -> tuple[float, float]:
    """Return the median and the robust deviation from it."""
    middle = _median(values)
    return middle, 1.4826 * _median(np.abs(values - middle))


def _median(values: Array) -> float:
    # A tenth of the time of NumPy's own for the few sources of a kind.
    ordered, n = np.sort(values), len(values)
    return float(0.5 * (ordered[(n - 1) // 2] + ordered[n // 2]))
