"""The block elastic net: between sparse and uniform kernel combinations."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.regularizers.base import SharedStrength


@dataclass(frozen=True)
class BlockElasticNet(SharedStrength):
    r"""Sum of the block norms plus half their squares (Tomioka and Suzuki 2010).

    .. math:: \alpha \sum_m \Bigl( r \|f_m\| + \frac{1 - r}{2} \|f_m\|^2 \Bigr)

    `l1_ratio` is the share r, with 0 <= r < 1; `BlockL1` is the case r = 1. Pass
    `l2_ratio` = 1 - r if r is so near 1 that the difference is rounded.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.regularizers import BlockElasticNet
    >>> BlockElasticNet(2.0, l1_ratio=0.5).value(np.array([1.0, 0.5]))
    2.125
    """

    # Tomioka, Suzuki (2010). Sparsity-accuracy trade-off in MKL. arXiv:1001.2615.

    l2_ratio: float | None = None

    @property
    def _curvature(self) -> float:
        """Coefficient of the quadratic part, alpha (1 - r)."""
        l2_ratio = 1.0 - self.l1_ratio if self.l2_ratio is None else self.l2_ratio
        return self.alpha * l2_ratio

    def value(self, norms: Array) -> float:
        """Return the penalty at the block norms."""
        quadratic = 0.5 * self._curvature * float(norms @ norms)
        return float(self.threshold * norms.sum()) + quadratic

    def conjugate(self, dual_norms: Array, at: Array) -> float:
        """Return the sum of (dual_norms - alpha r)_+^2 / (2 alpha (1 - r))."""
        # The conjugate has a closed form, so `at`, the primal block norms, is not used.
        excess = np.maximum(dual_norms - self.threshold, 0.0)
        return float(excess @ excess) / (2.0 * self._curvature)

    def prox(self, norms: Array, step: float) -> Array:
        """Return (norms - step * threshold)_+ / (1 + step * alpha (1 - r))."""
        shrunk = np.maximum(norms - step * self.threshold, 0.0)
        return shrunk / (1.0 + step * self._curvature)

    def prox_derivative(self, norms: Array, step: float) -> Array:
        """Return 1 / (1 + step * alpha (1 - r)) where `prox` is positive, else 0."""
        slope = 1.0 / (1.0 + step * self._curvature)
        return np.where(norms > step * self.threshold, slope, 0.0)
