"""Ordered classes: the cumulative logit model with fixed thresholds."""

from typing import Self

import numpy as np
from scipy.special import expit

from multikernel._typing import Array, Indices
from multikernel.linalg import EPS
from multikernel.losses.log_logistic import LogLogisticLoss

CLOSED = 1e-10
"""Largest result of `CumulativeLogitLoss.relative_imbalance` that counts as zero."""


class CumulativeLogitLoss(LogLogisticLoss):
    r"""Negative log-likelihood of ordered classes with increasing thresholds.

    .. math:: P(y \le k \mid x) = 1 / (1 + \exp(f(x) - \theta_k))

    `thresholds` has shape (n_classes - 1,); targets are 0.0, 1.0, ..., n_classes - 1.0.
    The loss is jointly convex in f and the thresholds. It includes terms without f,
    because `multikernel.solvers.FreeThresholds` optimizes the thresholds.
    """

    # The model: McCullagh, P. (1980). Regression models for ordinal data. JRSS B 42,
    # 109-142. Convexity: Pratt, J. W. (1981). Concavity of the log likelihood. JASA 76,
    # 103-106.

    # The base class has a log link, but decision values of classes are not logarithms.
    link = None  # type: ignore[assignment]

    def __init__(self, thresholds: Array) -> None:
        boundaries = np.concatenate([[-np.inf], thresholds, [np.inf]])
        if not np.all(np.diff(thresholds) > 0.0):
            raise ValueError(
                f"thresholds must be strictly increasing, got {thresholds}."
            )
        super().__init__(boundaries[:-1], boundaries[1:], 1.0)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.thresholds,)

    def __repr__(self) -> str:
        return f"CumulativeLogitLoss({len(self.lower)} classes)"

    @property
    def thresholds(self) -> Array:
        """The increasing thresholds, shape (n_classes - 1,)."""
        return self.upper[:-1]

    def value(self, y: Array, f: Array) -> Array:
        """Return the loss of each sample."""
        return super().value(y, f) + self._threshold_terms(y)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the conjugate with respect to f, for fixed thresholds."""
        return super().conjugate(y, u) - self._threshold_terms(y)

    def unsuitable(self, y: Array) -> str | None:
        """Return why the targets have no best constant model, or None."""
        if np.ptp(y) == 0.0:
            return "all samples are of one class: include at least two classes"
        return None

    def estimated(
        self, y: Array, weights: Array | None
    ) -> tuple[Self, dict[str, float]]:
        """Return the loss with a constant model's thresholds, and an empty dict."""
        # Nothing determines the thresholds of classes without samples.
        if np.unique(y).size < len(self.lower):
            return self, {}
        weights = np.ones(len(y)) if weights is None else weights
        return self.fitted(y, np.zeros(len(y)), weights), {}

    def _threshold_terms(self, y: Array) -> Array:
        """Return -log(1 - exp(a - b)) with thresholds a and b around each class."""
        a, b = self.intervals(y)
        return np.asarray(-np.log(-np.expm1(a - b)))

    @classmethod
    def fitted(
        cls, y: Array, f: Array, weights: Array, start: Array | None = None
    ) -> Self:
        """Return the loss with the maximum likelihood thresholds for decision values f.

        `y` holds the classes 0.0, 1.0, ..., all present, `weights` positive sample
        weights, and `start` initial thresholds, (n_classes - 1,).
        """
        codes = y.astype(np.intp)
        if start is not None:
            loss, has_converged = cls(start)._newton(codes, f, weights)
            if has_converged:
                return loss
        cumulative_counts = np.cumsum(np.bincount(codes, weights))
        shares = cumulative_counts[:-1] / cumulative_counts[-1]
        # If the range of the decision values is at most 8, no second derivative of the
        # loss is negligible.
        halvings = int(np.ceil(np.log2(max(float(np.ptp(f)) / 8.0, 1.0))))
        scale = 2.0**halvings
        # Start at thresholds of the class shares, shifted by the median decision value.
        loss = cls(np.log(shares) - np.log1p(-shares) + float(np.median(f)) / scale)
        for _ in range(halvings):
            loss, _ = loss._newton(codes, f / scale, weights)
            loss, scale = cls(2.0 * loss.thresholds), 0.5 * scale
        return loss._newton(codes, f, weights)[0]

    def _newton(self, codes: Indices, f: Array, weights: Array) -> tuple[Self, bool]:
        """Return the loss after Newton steps, and whether its thresholds converged."""
        # The steps minimize the weighted loss over the thresholds, for fixed decision
        # values f; `codes` are the classes as integers. A step is halved until the
        # thresholds increase and the loss decreases enough.
        loss, y, last_imbalance = self, codes.astype(np.float64), np.inf
        for _ in range(50):
            slopes, curvature = loss.threshold_derivatives(codes, f, weights)
            imbalance = loss.relative_imbalance(codes, f, weights)
            # The curvature may vanish far from all thresholds.
            ridge = EPS * (weights.sum() + np.diagonal(curvature))
            step = -np.linalg.solve(curvature + np.diag(ridge), slopes)
            predicted = float(slopes @ step)
            before = float(weights @ loss.value(y, f))
            # If changes of the loss are rounding errors, the gradient decides.
            is_rounding = -predicted <= 1e-13 * before
            if is_rounding and not EPS < imbalance <= 0.5 * last_imbalance:
                break
            last_imbalance = imbalance if is_rounding else np.inf
            next_loss, length = None, 1.0
            while next_loss is None and length > 1e-12:
                thresholds = loss.thresholds + length * step
                if np.all(np.diff(thresholds) > 0.0):
                    next_loss = type(self)(thresholds)
                    after = float(weights @ next_loss.value(y, f))
                    allowed = before + 1e-4 * length * predicted + 4.0 * EPS * before
                    next_loss = next_loss if after <= allowed or is_rounding else None
                length *= 0.5
            if next_loss is None:
                break
            loss = next_loss
        return loss, loss.relative_imbalance(codes, f, weights) <= CLOSED

    def relative_imbalance(self, codes: Indices, f: Array, weights: Array) -> float:
        """Return the relative size of the thresholds' gradient, 0 at the optimum."""
        # An entry of the gradient is the difference of its two parts from `_slopes`.
        # The largest absolute entry is divided by the smaller of two numbers: the
        # largest sum of an entry's two parts, and the total weight.
        positive, negative = self._slopes(codes, f, weights)
        total = float(weights.sum())
        # If thresholds separate all samples, both parts of the gradient vanish.
        parts = min(float(np.max(positive + negative)), total) + 1e-20 * total
        return float(np.max(np.abs(positive - negative))) / parts

    def _slopes(self, codes: Indices, f: Array, weights: Array) -> tuple[Array, Array]:
        """Return the positive and negative parts of the gradient in the thresholds."""
        size, term_slopes = len(self.lower), self._term_slopes()[codes]
        lower_pulls = expit(self.lower[codes] - f) + term_slopes
        upper_pulls = expit(f - self.upper[codes]) + term_slopes
        # The gradient of the weighted loss, (n_classes - 1,), is the positive minus the
        # negative part. A threshold's positive part is a sum over the samples of the
        # class above the threshold, its negative part over those of the class below.
        positive = np.bincount(codes, weights * lower_pulls, minlength=size)[1:]
        negative = np.bincount(codes, weights * upper_pulls, minlength=size)[:-1]
        return positive.astype(np.float64), negative.astype(np.float64)

    def curvatures(
        self, codes: Indices, f: Array, weights: Array
    ) -> tuple[Array, Array, Array]:
        """Return the weighted loss's Hessian as coefficients of squared differences.

        The differences are between each sample's decision value and the threshold below
        and above its class, (n_samples,) each, and between neighboring thresholds,
        (n_classes - 2,). Arguments are those of `threshold_derivatives`.
        """
        a, b = self.lower[codes], self.upper[codes]
        term_slopes = self._term_slopes()
        counts = np.bincount(codes, weights, minlength=term_slopes.size)
        between = (counts * term_slopes * (1.0 + term_slopes))[1:-1]
        at_lower = weights * expit(a - f) * expit(f - a)
        return at_lower, weights * expit(f - b) * expit(b - f), between

    def _term_slopes(self) -> Array:
        """Return the derivative of -log(1 - exp(a - b)) in a, one for each class."""
        # a is the threshold below the class, and b is the threshold above it.
        with np.errstate(over="ignore"):
            return np.asarray(1.0 / np.expm1(self.upper - self.lower))

    def threshold_derivatives(
        self, codes: Indices, f: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return gradient and Hessian of the weighted loss in the n thresholds.

        Their shapes are (n,) and (n, n). `codes` are the classes as integers, `f`
        decision values, `weights` sample weights, each of shape (n_samples,).
        """
        positive, negative = self._slopes(codes, f, weights)
        at_lower, at_upper, between = self.curvatures(codes, f, weights)
        size = len(self.lower)
        counts = np.bincount(codes, at_lower, minlength=size)[1:]
        counts += np.bincount(codes, at_upper, minlength=size)[:-1]
        return positive - negative, np.diag(counts) + path_laplacian(between)


def path_laplacian(weights: Array) -> Array:
    """Return the matrix A with x^T A x = sum_k weights[k] (x[k + 1] - x[k])^2."""
    padded_weights = np.pad(weights, 1)
    matrix = np.diag(padded_weights[1:] + padded_weights[:-1])
    return np.asarray(matrix - np.diag(weights, 1) - np.diag(weights, -1))
