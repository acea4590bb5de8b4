"""The squared block q-norm: lp-norm multiple kernel learning."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.regularizers.base import Strength


@dataclass(frozen=True)
class SquaredBlockNorm(Strength):
    r"""Half the squared q-norm of the block norms, q = 2 p / (p + 1): lp-norm MKL.

    .. math:: \frac{\alpha}{2} \Bigl( \sum_m \|f_m\|^q \Bigr)^{2/q}
        = \frac{\alpha}{2} \min_{\theta \ge 0, \|\theta\|_p \le 1}
        \sum_m \frac{\|f_m\|^2}{\theta_m}

    theta are kernel weights; `p` in [1, inf] is the exponent of their norm. With p = 1
    the solution is sparse; with p = inf all kernels have weight one. `alpha` is ``1 /
    C`` of a support vector machine with the objective ``C * sum(losses) + penalty``.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.regularizers import SquaredBlockNorm
    >>> SquaredBlockNorm(2.0, p=1.0).value(np.array([1.0, 0.5]))
    2.25
    """

    # Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and accurate
    # lp-norm multiple kernel learning. NIPS 22, 997-1005. Dividing by C makes the
    # domain of the dual variables independent of C.

    p: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.p >= 1.0:
            raise ValueError(f"p must be at least 1 (it may be inf), got {self.p}.")

    @property
    def q(self) -> float:
        """Exponent of the norm of the block norms, 2 p / (p + 1)."""
        return 2.0 / (1.0 + 1.0 / self.p)

    @property
    def conjugate_p(self) -> float:
        """Exponent dual to p, p / (p - 1)."""
        return 1.0 / (1.0 - 1.0 / self.p) if self.p > 1.0 else np.inf

    def value(self, norms: Array) -> float:
        """Return the penalty at the block norms."""
        return 0.5 * self.alpha * p_norm(norms, self.q) ** 2

    def conjugate(self, dual_norms: Array, at: Array) -> float:
        """Return the squared 2p/(p-1)-norm of the dual norms, divided by 2 alpha."""
        # Eq. (9) of Kloft et al. (2009): the p/(p-1)-norm of the squared dual norms.
        # `at`, the block norms of the primal point, are not needed.
        return p_norm(dual_norms, 2.0 * self.conjugate_p) ** 2 / (2.0 * self.alpha)

    def feasible_scale(self, dual_norms: Array) -> float:
        """Return 1: the conjugate is finite everywhere."""
        return 1.0

    def kernel_weights(self, norms: Array) -> Array:
        """Return the minimizing weights theta, of p-norm one; zero for zero norms."""
        # theta_m = ||f_m||^(2/(p+1)) / (sum_k ||f_k||^(2p/(p+1)))^(1/p).
        return unit_weights(norms, 2.0 / (self.p + 1.0), self.p)

    def responding_weights(self, forms: Array) -> Array:
        """Return the weights theta of p-norm one that maximize theta^T forms.

        `forms` are the quadratic forms a^T K_m a of a dual point a, (n_kernels,). At
        the optimum, these weights are the kernel weights.
        """
        # theta_m is proportional to (a^T K_m a)^(1/(p-1)); with p = 1 the largest form
        # gets all.
        exponent = 1.0 / (self.p - 1.0) if self.p > 1.0 else np.inf
        return unit_weights(forms, exponent, self.p)


def p_norm(x: Array, p: float) -> float:
    """Return the p-norm of nonnegative numbers, without overflow for any p."""
    if p == 1.0:
        return float(x.sum())
    largest = float(x.max(initial=0.0))
    if p == np.inf or largest == 0.0:
        return largest
    # Numbers whose ratio to the largest one underflows count as zero.
    with np.errstate(under="ignore"):
        total = ((x / largest) ** p).sum()
    return float(largest * total ** (1.0 / p))


def unit_weights(x: Array, exponent: float, p: float) -> Array:
    """Return weights proportional to a power of `x`, with p-norm one; zero if x = 0."""
    weights = np.zeros_like(x)
    largest = float(x.max(initial=0.0))
    is_positive = x > 0.0
    if np.isinf(exponent):  # the largest numbers get equal shares
        is_positive = is_positive & (x == largest)
        weights[is_positive] = 1.0
    else:
        with np.errstate(under="ignore"):
            weights[is_positive] = (x[is_positive] / largest) ** exponent
    return weights / p_norm(weights, p) if largest > 0.0 else weights
