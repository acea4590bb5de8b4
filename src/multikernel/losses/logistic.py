"""The logistic loss: classification with probabilities."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit, xlog1py, xlogy

from multikernel._typing import Array


@dataclass(frozen=True)
class LogisticLoss:
    r"""Negative log-likelihood, :math:`\ell(y, f) = \log(1 + e^{-y f})`, y = -1 or +1.

    With :math:`a = -y u` the conjugate is the negative entropy :math:`a \log a + (1 -
    a) \log(1 - a)` on :math:`0 \le a \le 1`.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.losses import LogisticLoss
    >>> LogisticLoss().value(np.array([1.0, -1.0]), np.log([3.0, 3.0]))
    array([0.28768207, 1.38629436])
    """

    tasks: ClassVar[tuple[str, ...]] = ("classification",)

    def value(self, y: Array, f: Array) -> Array:
        """Return the losses, without overflow for large margins."""
        log_probability: Array = log_expit(y * f)
        return -log_probability

    def gradient(self, y: Array, f: Array) -> Array:
        """Return -y times the probability of the other class."""
        signs = -y
        slope: Array = signs * expit(signs * f)
        return slope

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the negative entropy of a = -y u, infinity for a outside [0, 1]."""
        a = -y * u
        is_inside = (a >= 0.0) & (a <= 1.0)
        a = np.where(is_inside, a, 0.5)
        # log(1 - a) would lose digits of a small a, which large weights amplify.
        entropy = np.asarray(xlogy(a, a) + xlog1py(1.0 - a, -a), dtype=np.float64)
        return np.where(is_inside, entropy, np.inf)

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return -y log(a / (1 - a)) with a = -y u."""
        a = -y * u
        logit: Array = np.asarray(np.log(a) - np.log1p(-a))
        return -y * logit

    def conjugate_hessian(self, y: Array, u: Array) -> Array:
        """Return 1 / (a (1 - a)) with a = -y u."""
        a = -y * u
        return 1.0 / (a * (1.0 - a))

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        """Return the interval between 0 and -y."""
        return np.minimum(-y, 0.0), np.maximum(-y, 0.0)
