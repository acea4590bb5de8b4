"""Linear algebra that knows no kernel: threads, shifted systems, quadrature."""

import numpy as np

EPS = float(np.finfo(np.float64).eps)
"""The distance of one from the next number: what rounding hides of it."""

TINY = float(np.finfo(np.float64).tiny)
"""The smallest normal number: what a division by zero is guarded with."""

SINGLE = float(np.finfo(np.float32).eps) / 2.0
"""Largest relative rounding error of a number in single precision."""

CHUNK = 512
"""Numbers of each row that loops work on at a time: they stay in a core's cache."""
