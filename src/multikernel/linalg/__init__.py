"""Linear algebra without kernels: threads, shifted systems, quadrature."""

import numpy as np

EPS = float(np.finfo(np.float64).eps)
"""Distance from 1.0 to the next larger number."""

TINY = float(np.finfo(np.float64).tiny)
"""Smallest normal number, used to avoid divisions by zero."""

SINGLE = float(np.finfo(np.float32).eps) / 2.0
"""Largest relative rounding error of a number in single precision."""

CHUNK = 512
"""Number of entries of a row that loops process at a time, to stay in the cache."""
