"""A block l1 norm plus a squared block q-norm, the penalty of UFO-MKL."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.regularizers.base import SharedStrength
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm


@dataclass(frozen=True)
class SparseBlockNorm(SharedStrength):
    r"""Sum of the block norms plus half their squared q-norm, q = 2 p / (p + 1).

    .. math:: \alpha \Bigl( r \sum_m \|f_m\|
        + \frac{1 - r}{2} \bigl( \sum_m \|f_m\|^q \bigr)^{2/q} \Bigr)

    The penalty of UFO-MKL; `l1_ratio` is r in [0, 1) and `p` is in [1, inf]. With r = 0
    it is `SquaredBlockNorm`, with p = inf `BlockElasticNet`.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.regularizers import SparseBlockNorm
    >>> SparseBlockNorm(2.0, l1_ratio=0.5, p=1.0).value(np.array([1.0, 0.5]))
    2.625
    """

    # Orabona, Jie (2011). Ultra-fast optimization algorithm for sparse multi kernel
    # learning. ICML, 249-256. Its penalty lambda / 2 ||w||_{2,q}^2 + a ||w||_{2,1} has
    # alpha = lambda + a and r = a / (lambda + a); `multikernel.solvers.ufo_exponent`
    # returns its exponent.

    p: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        SquaredBlockNorm(1.0, self.p)  # validates p

    @property
    def squared(self) -> SquaredBlockNorm:
        """The squared norm alone, of strength alpha * (1 - l1_ratio)."""
        return SquaredBlockNorm(self.alpha * (1.0 - self.l1_ratio), self.p)

    def value(self, norms: Array) -> float:
        """Return the penalty at the block norms."""
        return self.threshold * float(norms.sum()) + self.squared.value(norms)

    def conjugate(self, dual_norms: Array, at: Array) -> float:
        """Return the conjugate of `squared` at max(dual_norms - threshold, 0)."""
        # The conjugate has a closed form, so `at`, the primal block norms, is not used.
        excess = np.maximum(dual_norms - self.threshold, 0.0)
        return self.squared.conjugate(excess, at)
