"""The softmax loss: multinomial logistic regression."""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax, xlog1py, xlogy

from multikernel._typing import Array
from multikernel.losses.coupled.intercept import smoothed_intercept
from multikernel.losses.coupled.simplex import SimplexDomain, class_weights, true_values

# The temperature of the log-sum-exp is the spread of decision values divided by FLAT,
# then lower by the factor COOLING in each run of Newton's method, down to 1.
FLAT, COOLING = 8.0, 4.0
"""Largest spread of decision values at temperature 1, and ratio of temperatures."""


@dataclass(frozen=True)
class SoftmaxLoss(SimplexDomain):
    r"""Negative log-likelihood of classes, :math:`\log \sum_c e^{f_c} - f_y`.

    The conjugate is the negative entropy :math:`\sum_c p_c \log p_c` of class shares p
    in the simplex, with :math:`p = u` plus the one-hot target. With two classes,
    the loss is logistic in :math:`g = f_1 - f_0`, and :math:`\|g\| = \sqrt 2 \|f\|`.
    """

    # Böhning (1992). Multinomial logistic regression algorithm. AISM 44, 197-200.

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of each row, (n_samples,), accurate even if small."""
        distances = f - true_values(y, f)
        largest_class = np.argmax(distances, axis=1)[:, None]
        largest = np.take_along_axis(distances, largest_class, axis=1)
        shares = np.exp(distances - largest)
        np.put_along_axis(shares, largest_class, 0.0, axis=1)
        return np.asarray(largest[:, 0] + np.log1p(shares.sum(axis=1)))

    def probabilities(self, f: Array) -> Array:
        """Return the probabilities of the classes, shape (n_samples, n_classes)."""
        return np.asarray(softmax(f, axis=1))

    def gradient(self, y: Array, f: Array) -> Array:
        """Return the class probabilities minus y."""
        slope = self.probabilities(f)
        label = np.argmax(y, axis=1)[:, None]
        np.put_along_axis(slope, label, 0.0, axis=1)
        # Minus the sum of the other entries, so that rows sum exactly to zero.
        np.put_along_axis(slope, label, -slope.sum(axis=1, keepdims=True), axis=1)
        return slope

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return negative entropies of the rows of y + u, infinity off the simplex."""
        p, is_inside = self._masses_and_inside(y, u)
        # p = 1 + u would lose digits of a small u, which large weights amplify.
        terms = xlog1py(p, np.clip(u, -1.0, 0.0))
        entropy = np.where(y > 0.0, terms, xlogy(p, p)).sum(axis=1)
        return np.where(is_inside, entropy, np.inf)

    def conjugate_gradient(self, y: Array, u: Array) -> Array:
        """Return the logarithms of the class shares y + u, as decision values."""
        return np.where(y > 0.0, np.log1p(np.minimum(u, 0.0)), np.log(y + u))

    def best_intercept(
        self, y: Array, f: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Return each class's best constant by Newton's method, and a dual point."""
        w, _ = class_weights(y, weights)
        b, temperature = np.zeros(y.shape[1]), float(np.ptp(f)) / FLAT
        # For widely spread scores, the loss is nearly piecewise linear: it has little
        # curvature unless the largest scores of a sample are nearly equal.
        while temperature > 1.0:
            b, _ = smoothed_intercept(y, f, w, temperature, b)
            temperature /= COOLING
        b, p = smoothed_intercept(y, f, w, 1.0, b)
        return b, w[:, None] * (y - p)

    def constant_model(
        self, y: Array, weights: Array | None = None
    ) -> tuple[Array, Array]:
        """Return centered logarithms of class frequencies, and their dual point."""
        w, totals = class_weights(y, weights)
        shares = totals / totals.sum()
        b = np.log(shares)
        return b - b.mean(), w[:, None] * (y - shares)
