"""What the compiled loops of SMO take and give; importing it does not load numba."""

from typing import NamedTuple

from multikernel._typing import Array, Indices

Pair = tuple[float, float]
Found = tuple[int, float]
"""A sample, -1 for none, and a value that goes with it."""

Span = tuple[int, int]
"""The step to start at, and the step to stop before."""

LANES = 64
"""Samples of a block. A minimum over a long array is one chain of dependent steps; the
elementwise minimum of blocks is vectorised, and leaves this many candidates."""

CONVERGED, STEPS_DONE, MISSING, STALLED, INDEFINITE = range(5)
"""Why a loop returned."""

TINY = 1e-200
NOISE = 1e-15  # curvature below this share of the diagonal is rounding
NEGATIVE = 1e-6  # and below minus this share it cannot be rounding, even of float32


class Variables(NamedTuple):
    """One entry per sample in play; the loops change the first four in place."""

    rho: Array
    f: Array
    """(K rho) without the intercept."""
    up: Array
    """Slope of c to the right of rho; infinity at the upper bound."""
    down: Array
    """Slope of c to the left of rho; minus infinity at the lower bound."""
    lower: Array
    upper: Array
    right: Array
    """Slope of c on the positive side."""
    left: Array
    """Slope of c on the negative side, at most `right`."""
    diagonal: Array
    """Of K; read-only, as `Rows.data` is, so that one compiled loop takes both."""


class Rows(NamedTuple):
    """The rows of K at hand."""

    data: Array
    """Of shape (n_slots, n), read-only."""
    slot: Indices
    """Where the row of each sample lies in `data`, -1 for nowhere."""
    stamp: Indices
    """When each slot was last used; written here, read where rows are replaced."""


class Outcome(NamedTuple):
    """What a loop hands back; calling it again goes on from there."""

    code: int
    missing: int
    """The sample whose row is needed, for the code MISSING."""
    step: int
    violation: float
    """The largest violation of the optimality conditions, infinity if not known."""
