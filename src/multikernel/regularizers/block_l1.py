"""The block l1 norm: sparse multiple kernel learning."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from multikernel._typing import Array
from multikernel.regularizers.base import Strength


@dataclass(frozen=True)
class BlockL1(Strength):
    r"""Sum of the block norms times alpha, :math:`\alpha \sum_m \|f_m\|`.

    All kernel weights are zero if `alpha` is at least the largest dual norm of the
    model without kernels (Bach, Lanckriet and Jordan 2004).

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.regularizers import BlockL1
    >>> float(BlockL1(2.0).value(np.array([1.0, 0.5])))
    3.0
    """

    # Bach, Lanckriet, Jordan (2004). Multiple kernel learning, conic duality, and the
    # SMO algorithm. ICML. doi:10.1145/1015330.1015424

    @property
    def threshold(self) -> float:
        """Threshold alpha: blocks with a smaller dual norm are zero."""
        return self.alpha

    def value(self, norms: Array) -> float:
        """Return the penalty at the block norms."""
        return cast(float, self.alpha * norms.sum(axis=0))

    def conjugate(self, dual_norms: Array, at: Array) -> float:
        """Return 0 if no dual norm exceeds alpha, else infinity."""
        # feasible_scale may round up by an ulp or two.
        allowed = self.alpha * (1 + 4 * np.finfo(float).eps)
        is_inside = dual_norms.max(axis=0, initial=0.0) <= allowed
        return cast(float, np.where(is_inside, 0.0, np.inf)[()])

    def feasible_scale(self, dual_norms: Array) -> float:
        """Return the largest factor up to 1 with which no dual norm exceeds alpha."""
        largest = dual_norms.max(axis=0, initial=0.0)
        return cast(float, self.alpha / np.maximum(largest, self.alpha))

    def prox(self, norms: Array, step: float) -> Array:
        """Return the soft-thresholded norms, max(norms - step * alpha, 0)."""
        return np.maximum(norms - step * self.alpha, 0.0)

    def prox_derivative(self, norms: Array, step: float) -> Array:
        """Return 1 for norms above step * alpha, else 0."""
        return (norms > step * self.alpha).astype(np.float64)


class BlockL1Each(BlockL1):
    """Block l1 norms of many targets, with strengths of shape (n_targets,).

    Norms have shape (n_kernels, n_targets), and results have one entry per target.
    """

    def __init__(self, alpha: Array) -> None:
        object.__setattr__(self, "alpha", alpha)
