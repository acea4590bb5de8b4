"""Ordered classes: the cumulative logit model with given thresholds."""

from typing import Self

import numpy as np
from scipy.special import expit

from multikernel._typing import Array, Indices
from multikernel.linalg import EPS
from multikernel.losses.log_logistic import LogLogisticLoss

STEPS = 200
"""Newton steps for thresholds at most; a cold start takes some ten."""

SHORTEST = 1e-12
"""Steps shorter than that change nothing."""


class CumulativeLogitLoss(LogLogisticLoss):
    r"""Minus the log-likelihood of a grade, by thresholds on a logistic scale.

    .. math:: P(y \le k \mid x) = \frac{1}{1 + \exp(f(x) - \theta_k)}

    A grade k says that f plus a logistic variable lies between two thresholds, as
    `LogLogisticLoss` has it for intervals. What the likelihood has besides depends on
    the thresholds alone, and is part of this loss, as thresholds may be free
    (`multikernel.solvers.FreeThresholds`): in f and all of them it is convex [1]_.

    Parameters
    ----------
    thresholds : ndarray of shape (n_classes - 1,)
        Increasing. Targets are 0.0, ..., n_classes - 1.0.

    Raises
    ------
    ValueError
        If they do not increase.

    References
    ----------
    .. [1] Pratt, J. W. (1981). Concavity of the log likelihood. Journal of the American
       Statistical Association 76, 103-106. https://doi.org/10.2307/2287052
    .. [2] McCullagh, P. (1980). Regression models for ordinal data. Journal of the
       Royal Statistical Society B 42, 109-142.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.losses import CumulativeLogitLoss
    >>> loss = CumulativeLogitLoss(np.array([-1.0, 1.0]))
    >>> np.exp(-loss.value(np.arange(3.0), np.zeros(3))).round(3)
    array([0.269, 0.462, 0.269])
    """

    # Decision values predict no times.
    link = None  # type: ignore[assignment]

    def __init__(self, thresholds: Array) -> None:
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        if not np.all(np.diff(thresholds) > 0.0):
            raise ValueError(f"thresholds must increase, got {thresholds}.")
        super().__init__(ends[:-1], ends[1:], 1.0)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the thresholds."""
        return type(self), (self.thresholds,)

    def __repr__(self) -> str:
        return f"CumulativeLogitLoss({len(self.lower)} classes)"

    @property
    def thresholds(self) -> Array:
        """Return the thresholds."""
        return self.upper[:-1]

    def value(self, y: Array, f: Array) -> Array:
        """Return the losses."""
        return super().value(y, f) + self._beside(y)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return the conjugate in f, thresholds being fixed."""
        return super().conjugate(y, u) - self._beside(y)

    def unsuitable(self, y: Array) -> str | None:
        """Return why targets have no constant model, or None."""
        if np.ptp(y) == 0.0:
            return "all samples are of one class"
        return None

    def _beside(self, y: Array) -> Array:
        """Return what the likelihood has beside f: -log(1 - exp(a - b))."""
        a, b = self.ends(y)
        return np.asarray(-np.log(-np.expm1(a - b)))

    @classmethod
    def fitted(cls, y: Array, f: Array, weights: Array) -> Self:
        """Return the loss with the most likely thresholds beside decision values.

        Newton's method; the problem is convex, and as small as there are thresholds.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            Grades 0.0, 1.0, ..., every one of them present.
        f : ndarray of shape (n_samples,)
            Decision values.
        weights : ndarray of shape (n_samples,)
            Positive weights of the samples.
        """
        codes = y.astype(np.intp)
        below = np.cumsum(np.bincount(codes, weights))
        shares = below[:-1] / below[-1]
        # Between the extremes of these shifts every threshold has its place.
        loss = cls(np.log(shares) - np.log1p(-shares) + float(np.median(f)))
        for _ in range(STEPS):
            slopes, curvature = loss.by_thresholds(codes, f, weights)
            # Far from its grades no sample bends the loss: a little always does.
            bent = curvature + EPS * weights.sum() * np.eye(slopes.size)
            step = -np.linalg.solve(bent, slopes)
            promise = float(slopes @ step)
            start = float(weights @ loss.value(y, f))
            if -promise <= EPS * EPS * start:
                break
            length = 1.0
            while length > SHORTEST:
                moved = loss.thresholds + length * step
                if np.all(np.diff(moved) > 0.0):
                    further = cls(moved)
                    end = float(weights @ further.value(y, f))
                    if end <= start + 1e-4 * length * promise + 4.0 * EPS * start:
                        break
                length *= 0.5
            else:
                break
            settled = -promise <= 1e-18 * start
            loss = further
            if settled:
                break
        return loss

    def by_thresholds(
        self, codes: Indices, f: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return slopes and curvature of the weighted loss in the thresholds.

        Parameters
        ----------
        codes : ndarray of shape (n_samples,)
            Grades, as whole numbers.
        f : ndarray of shape (n_samples,)
            Decision values.
        weights : ndarray of shape (n_samples,)
            Of the samples.

        Returns
        -------
        slopes : ndarray of shape (n_classes - 1,)
        curvature : ndarray of shape (n_classes - 1, n_classes - 1)
        """
        a, b = self.lower[codes], self.upper[codes]
        size = len(self.lower)
        with np.errstate(over="ignore", invalid="ignore"):
            near = np.where(np.isfinite(b - a), 1.0 / np.expm1(b - a), 0.0)
        bend = near * (1.0 + near)
        early, late = expit(a - f), expit(f - b)

        def totals(values: Array) -> Array:
            sums = np.bincount(codes, weights * values, minlength=size)
            return np.asarray(sums, dtype=np.float64)

        # A threshold is the upper end of the grade below, and the lower of the next.
        slopes = totals(early + near)[1:] - totals(late + near)[:-1]
        at_lower = totals(early * expit(f - a) + bend)[1:]
        at_upper = totals(late * expit(b - f) + bend)[:-1]
        beside = totals(bend)[1:-1]
        curvature = np.diag(at_lower + at_upper)
        return slopes, curvature - np.diag(beside, 1) - np.diag(beside, -1)
