"""A block l1 norm plus a squared block q-norm, the penalty of UFO-MKL."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.regularizers.base import SharedStrength
from multikernel.regularizers.squared_block_norm import SquaredBlockNorm


@dataclass(frozen=True)
class SparseBlockNorm(SharedStrength):
    r"""Sum of the block norms plus half their squared q-norm, q = 2 p / (p + 1).

    .. math::

        \alpha \Bigl( r \sum_m \|f_m\|
        + \frac{1 - r}{2} \Bigl( \sum_m \|f_m\|^q \Bigr)^{2/q} \Bigr)

    With r = 0 it is `SquaredBlockNorm`, with p = inf `BlockElasticNet`. The penalty of
    [1]_, :math:`\frac{\lambda}{2} \|w\|_{2,q}^2 + a \|w\|_{2,1}`, has :math:`\alpha =
    \lambda + a` and :math:`r = a / (\lambda + a)`; its exponent is
    `multikernel.solvers.ufo_exponent`.

    Parameters
    ----------
    alpha : float
        Positive strength.
    l1_ratio : float, default=0.5
        Share r of the block l1 norm, 0 <= r < 1.
    p : float, default=2.0
        Exponent of the squared norm, in [1, inf], as in `SquaredBlockNorm`.

    Raises
    ------
    ValueError
        If alpha is not positive and finite, l1_ratio outside [0, 1), or p below 1 or
        not a number.

    References
    ----------
    .. [1] Orabona, Jie (2011). Ultra-fast optimization algorithm for sparse multi
       kernel learning. ICML, 249-256.
    """

    p: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        SquaredBlockNorm(1.0, self.p)  # validates p

    @property
    def squared(self) -> SquaredBlockNorm:
        """The squared norm alone, of strength alpha * (1 - l1_ratio)."""
        return SquaredBlockNorm(self.alpha * (1.0 - self.l1_ratio), self.p)

    def value(self, norms: Array) -> float:
        """Return the penalty."""
        return self.threshold * float(norms.sum()) + self.squared.value(norms)

    def conjugate(self, dual_norms: Array, at: Array) -> float:
        """Return the squared norm's conjugate at (dual_norms - alpha r)_+."""
        excess = np.maximum(dual_norms - self.threshold, 0.0)
        return self.squared.conjugate(excess, at)
