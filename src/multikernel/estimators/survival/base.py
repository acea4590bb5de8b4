"""Base class of estimators of times to an event, with the predictions they share."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.exceptions import UndefinedMetricWarning

from multikernel._typing import Array, Indices
from multikernel._validation import DAMAGED_FIT, check_weights, shown
from multikernel.estimators.by_copy import LearnsByCopy, Task
from multikernel.estimators.parameters import NORMALIZE
from multikernel.estimators.publish.fitted import FittedModel
from multikernel.estimators.read.doubts import warn_order
from multikernel.estimators.read.targets import read_columns
from multikernel.estimators.spicy.method import SPARSE_CHECKS
from multikernel.estimators.survival.likelihood import (
    concordance,
    most_likely_scale,
)
from multikernel.estimators.survival.times import Times, read_times
from multikernel.exceptions import warn_user
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import LogLogisticLoss


@dataclass(eq=False, repr=False)
class SurvivalMKL(LearnsByCopy):
    """Base class of models of times to an event."""

    _checks = SPARSE_CHECKS

    kernels: object = None
    _: KW_ONLY
    l1_ratio: float = 1.0
    normalize: Steps = NORMALIZE
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 100
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0

    _instead_of_offset: ClassVar[str] = (
        "divide the times by exp(offset), and multiply predicted times by exp(offset)"
    )

    def _task(self, y: object, sample_weight: object) -> Task:
        """Return the `Task` of the fit, with a loss for the distinct times in y."""
        times = read_times(type(self).__name__, y)
        weights = check_weights(sample_weight, len(times.lower))
        table, codes, loss = regression_on_rows(times, weights)

        def add_attributes(
            attributes: dict[str, object], f: Callable[[], Array]
        ) -> None:
            # `f` returns the decision values on the training samples. Searches set
            # ``scale_`` themselves. Without a refit they have no model.
            attributes.setdefault("loss_scale_", loss.scale)
            if "scale_" not in attributes and "dual_coef_" in attributes:
                attributes["scale_"] = most_likely_scale(*times.logs, f(), weights)

        # The targets of the regression are row numbers of the table of distinct times.
        targets = codes.astype(np.float64)
        strata = table, codes
        return Task(loss, targets, strata, classes=None, add_attributes=add_attributes)

    def predict(self, X: object) -> Array:
        """Return risks; a higher risk means an earlier event.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, or Gram matrices of shape (n_samples, n_fit_samples, n_kernels).

        Returns
        -------
        risk : ndarray of shape (n_samples,)
            The negative logarithm of the median time, divided by ``scale_``. The
            difference between the risks of two samples is the logarithm of the odds
            ratio of an event before time t, which is the same for every t.
        """
        return np.asarray(-self.linear_predictor(X) / self._scale())

    def predict_median(self, X: object) -> Array:
        """Return the median times to the event in the training unit, (n_samples,).

        X is as in `predict`.
        """
        f = self.linear_predictor(X)
        # Without the limits, exp(f) could be zero or infinite.
        return np.exp(np.clip(f, -700.0, 700.0))

    def predict_survival_function(self, X: object, times: "ArrayLike") -> Array:
        r"""Return the probabilities that the event happens after the given times.

        .. math:: S(t \mid x) = \frac{1}{1 + \exp((\log t - f(x)) / \sigma)}

        Here f(x) is the result of `linear_predictor`, and sigma is ``scale_``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `predict`.
        times : array-like of shape (n_times,)
            Nonnegative times in the unit of the training data.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_times)
            ``S(times[j] | X[i])`` at [i, j]. Probabilities of times after the last time
            in the training data are extrapolations.

        Raises
        ------
        ValueError
            If a time is negative or not a number.
        """
        grid = np.atleast_1d(read_columns(times, "times"))
        if grid.ndim != 1 or not bool(np.all(grid >= 0.0)):
            raise ValueError(
                f"{type(self).__name__}: times must be a one-dimensional sequence of "
                f"nonnegative numbers, got {shown(times)}."
            )
        f = np.asarray(self.linear_predictor(X))
        with np.errstate(divide="ignore"):
            exponents = (f[:, None] - np.log(grid)) / self._scale()
        return np.asarray(expit(exponents), dtype=np.float64)

    def score(
        self, X: object, y: "ArrayLike", sample_weight: "ArrayLike | None" = None
    ) -> float:
        """Return Harrell's index of concordance of the risks.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `predict`.
        y : structured array, or data frame or array of two columns
            Times to the event, as in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; the weight of a pair of samples is their product.

        Returns
        -------
        index : float
            Share of the pairs of samples with known order of events whose order the
            risks predict correctly: 0.5 for random predictions, 1 at best.
        """
        f = np.asarray(self.linear_predictor(X))
        # The model of a fold has a loss, and codes of its times in `y`.
        if self.loss is None:
            warn_order(type(self).__name__, X, y=y, sample_weight=sample_weight)
            times = read_times(type(self).__name__, y)
            bounds = times.lower, times.upper
        else:
            bounds = self.loss.intervals(y)
        if len(bounds[0]) != f.size:
            raise ValueError(
                f"{type(self).__name__}: X has {f.size} samples, but y has "
                f"{len(bounds[0])}: pass one time for each row of X."
            )
        index = concordance(*bounds, -f, check_weights(sample_weight, f.size))
        if np.isnan(index) and self.loss is None:
            which = "samples" if sample_weight is None else "samples of positive weight"
            warn_user(
                f"{type(self).__name__}: the score is nan because no two {which} have "
                "a known order: pass more samples, including observed events.",
                UndefinedMetricWarning,
            )
        return index

    def _scale(self) -> float:
        """Return ``scale_``; for the model of a fold, return the scale of its loss."""
        return float(self.scale_ if self.loss is None else self.loss_scale_)

    def _check_fitted(self) -> None:
        """Raise unless a model from a file has valid shapes and a valid ``scale_``."""
        super()._check_fitted()
        fitted = isinstance(vars(self).get("_state"), FittedModel)
        scale = vars(self).get("scale_", 1.0)
        if fitted and not (isinstance(scale, float) and 0.0 < scale < np.inf):
            raise ValueError(
                f"{type(self).__name__}: scale_ must be a finite float above 0, got "
                f"{scale!r}. {DAMAGED_FIT}"
            )


def regression_on_rows(
    times: Times, weights: Array | None = None
) -> tuple[Times, Indices, LogLogisticLoss]:
    """Return the distinct times, the index of each sample's time, and the loss."""
    # The loss is for a regression whose targets are these indices, the rows of the
    # table of distinct times. The scale of the loss is the most likely scale of a
    # constant model for all samples, with the sample weights `weights`.
    table, codes = times.distinct()
    counts = np.ones(len(codes)) if weights is None else weights
    loss = LogLogisticLoss(*table.logs, scale=1.0)
    is_used = counts > 0.0
    loss, _ = loss.estimated(codes[is_used].astype(np.float64), counts[is_used])
    return table, codes, loss
