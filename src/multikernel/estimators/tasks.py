"""Base classes of classifiers and regressors: targets and predictions."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit, logsumexp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from multikernel._typing import Array, Indices
from multikernel._validation import Check
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.parameters import LossChoice, is_likelihood
from multikernel.estimators.publish.fitted import FittedModel
from multikernel.estimators.read.partitions import lazy
from multikernel.estimators.read.samples import check_offset
from multikernel.estimators.read.targets import scored_targets
from multikernel.losses import Loss, loss_names
from multikernel.losses.base import predicted_means


def has_intervals(estimator: BaseMKL) -> bool:
    """Return True if a search stores the models of its folds; otherwise raise."""
    state: FittedModel | None = vars(estimator).get("_state")
    stores_folds = getattr(estimator, "intervals", False)
    if stores_folds if state is None else state.folds is not None:
        return True
    raise AttributeError(
        "predict_interval requires the models of the folds of a search, but this "
        f"{type(estimator).__name__} does not store them: fit SpicyMKLRegressorCV, or "
        "another search of a regressor, with intervals=True."
    )


def has_probabilities(estimator: BaseMKL) -> bool:
    """Return True if the loss is a likelihood; otherwise raise."""
    state: FittedModel | None = vars(estimator).get("_state")
    loss = repr(estimator.loss) if state is None else state.loss
    if is_likelihood(estimator.loss) if state is None else state.has_probabilities:
        return True
    raise AttributeError(
        f"Probabilities require loss='log_loss', but this {type(estimator).__name__} "
        f"{'has' if state is None else 'was fitted with'} loss={loss}: use "
        "loss='log_loss' if the estimator supports it, or use decision_function."
    )


@dataclass(eq=False, repr=False)
class ClassifierMKL(ClassifierMixin, BaseMKL):
    """Base class of classifiers: one problem for two classes, otherwise one-vs-rest."""

    # Classifiers with a parameter ``selection`` may solve one problem for all classes,
    # and support several labels per sample.

    _checks: ClassVar[Mapping[str, Check]] = {
        "loss": LossChoice(loss_names("classification"))
    }

    kernels: Any = None
    _: KW_ONLY
    loss: str | Loss = "log_loss"
    class_weight: Mapping[Hashable, float] | str | None = None

    @lazy
    def decision_function(self, X: object, offset: "ArrayLike | None" = None) -> Array:
        """Return the decision values.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, or Gram matrices of shape (n_samples, n_fit_samples, n_kernels).
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Added to the decision values, as in ``fit``.

        Returns
        -------
        f : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive values predict ``classes_[1]``. With more, one
            column per class; the largest predicts the class. After a fit on several
            labels, one column per label; positive values predict that a sample has it.
        """
        return one_column(self._decision_values(X, offset))

    @lazy
    def predict(self, X: object, offset: "ArrayLike | None" = None) -> Array:
        """Return the predicted classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `decision_function`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Added to the decision values, as in ``fit``.

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_labels)
            Classes. After a fit on several labels, a matrix: 1 if the sample has the
            label, 0 if it does not.
        """
        f = self._decision_values(X, offset)
        if self._state.link == "labels":
            return (f > 0.0).astype(np.intp)
        return self.classes_[class_codes(f)]

    @available_if(has_probabilities)
    @lazy
    def predict_proba(self, X: object, offset: "ArrayLike | None" = None) -> Array:
        """Return class probabilities; requires the log loss.

        With more than two classes, the one-vs-rest probabilities of a sample are scaled
        to sum to one; with ``selection="shared"``, they are the softmax of its decision
        values.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `decision_function`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Added to the decision values, as in ``fit``.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Columns are in the order of ``classes_``. With multilabel targets, each
            column has the probabilities that samples have its label.
        """
        probabilities: Array = np.exp(self.predict_log_proba(X, offset))
        return probabilities

    @available_if(has_probabilities)
    @lazy
    def predict_log_proba(self, X: object, offset: "ArrayLike | None" = None) -> Array:
        """Return the logarithms of `predict_proba`; requires the log loss.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `decision_function`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Added to the decision values, as in ``fit``.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        return log_probabilities(self._decision_values(X, offset), self._state.link)

    def score(
        self,
        X: object,
        y: "ArrayLike",
        sample_weight: "ArrayLike | None" = None,
        offset: "ArrayLike | None" = None,
    ) -> float:
        """Return the accuracy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `decision_function`.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            True classes or labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Added to the decision values, as in ``fit``.

        Returns
        -------
        accuracy : float
            Share of samples whose class, or whole set of labels, is predicted.
        """
        y, sample_weight = scored_targets(self, X, y, sample_weight)
        from sklearn.metrics import accuracy_score

        predicted = self.predict(X, offset)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        # Estimators with a parameter ``selection`` support several labels.
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = hasattr(self, "selection")
        return tags


@dataclass(eq=False, repr=False)
class RegressorMKL(RegressorMixin, BaseMKL):
    """Base class of regressors; a parameter ``selection`` allows several targets."""

    _checks: ClassVar[Mapping[str, Check]] = {
        "loss": LossChoice(loss_names("regression"))
    }

    kernels: Any = None
    _: KW_ONLY
    loss: str | Loss = "squared_error"
    epsilon: float | None = None

    @lazy
    def predict(self, X: object, offset: "ArrayLike | None" = None) -> Array:
        """Return the predicted targets.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, or Gram matrices of shape (n_samples, n_fit_samples, n_kernels).
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Added to the decision values, as in ``fit``.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The mean, or the quantile with loss="quantile", in the units of the targets.
        """
        f = self.linear_predictor(X, offset)
        return predicted_means(self._state.link, f)

    @available_if(has_intervals)
    def predict_interval(
        self, X: object, coverage: float = 0.9, offset: "ArrayLike | None" = None
    ) -> tuple[Array, Array]:
        """Return prediction intervals for new targets; only available after a search.

        These are CV+ intervals [1]_ from the models of the folds of a search with
        ``intervals=True``. For n training samples from any distribution, and parameters
        chosen without these folds, the intervals contain on average a share of at least
        2 coverage - 1 - sqrt(2 / n) of new targets (Theorem 4 of [1]_); here, the folds
        also chose the parameters. If the models of the folds agree, the share is about
        `coverage`, but then all intervals have about the same width. The user guide,
        "Uncertainty of predictions", has measured shares.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `predict`.
        coverage : float, default=0.9
            Requested share of targets inside their intervals, in [0.5, 1).
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Added to the decision values, as in ``fit``.

        Returns
        -------
        low, high : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Lower and upper bounds of each target, in the units of the targets.

        Raises
        ------
        AttributeError
            If the models of the folds are not stored.
        ValueError
            If there are fewer than coverage / (1 - coverage) training samples.

        References
        ----------
        .. [1] Barber, Candès, Ramdas and Tibshirani (2021). Predictive inference with
           the jackknife+. Annals of Statistics 49, 486-507.

        Examples
        --------
        >>> from multikernel.datasets import make_additive_regression
        >>> from multikernel.estimators import SpicyMKLRegressorCV
        >>> from multikernel.kernels import GaussianKernel, ParameterGrid
        >>> X, y = make_additive_regression(300, random_state=0)
        >>> kernels = ParameterGrid([GaussianKernel(0.7)], range(10))
        >>> model = SpicyMKLRegressorCV(kernels, intervals=True).fit(X[:150], y[:150])
        >>> low, high = model.predict_interval(X[150:], coverage=0.9)
        >>> inside = (low <= y[150:]) & (y[150:] <= high)
        >>> bool(0.8 < inside.mean() < 1.0)
        True
        """
        _, X_checked = self._model_and_data(X)
        folds, link = self._state.folds, self._state.link
        assert folds is not None
        f = folds.decision_values(X_checked)
        f = f + self._offset_values(X, offset, *f.shape[1:])
        low, high = folds.interval(predicted_means(link, f), coverage)
        if link == "log":
            low = np.maximum(low, 0.0)  # targets are nonnegative
        return one_column(low), one_column(high)

    @lazy
    def linear_predictor(self, X: object, offset: "ArrayLike | None" = None) -> Array:
        """Return the predictions, or their logarithms with loss "poisson" or "gamma".

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `predict`.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Added to the decision values, as in ``fit``.

        Returns
        -------
        f : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return one_column(self._decision_values(X, offset))

    def score(
        self,
        X: object,
        y: "ArrayLike",
        sample_weight: "ArrayLike | None" = None,
        offset: "ArrayLike | None" = None,
    ) -> float:
        """Return the share of explained deviance, averaged over targets.

        The share is R^2, or for the losses "quantile", "poisson" and "gamma" the D^2 of
        `sklearn.metrics.d2_pinball_score` and `sklearn.metrics.d2_tweedie_score`. With
        an offset, it is the score of ``y - offset``, or, for "poisson" and "gamma", of
        the rates ``y / exp(offset)``, which "poisson" weights by exp(offset).

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `predict`.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            True targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.
        offset : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            Added to the decision values, as in ``fit``.

        Returns
        -------
        score : float
            One for perfect predictions, zero for the best constant prediction.
        """
        y, sample_weight = scored_targets(self, X, y, sample_weight)
        state = vars(self).get("_state")
        deviance = None if state is None else state.deviance
        if deviance is None and offset is None:
            return float(super().score(X, y, sample_weight))
        predicted = self.predict(X, offset)
        values = [np.reshape(v, (len(predicted), -1)).T for v in (y, predicted)]
        weights = [sample_weight] * len(values[0])
        if offset is not None:
            shape = values[0].T.shape
            offsets = check_offset(type(self).__name__, offset, *shape, shared=True).T
            values, weights = without_offset(offsets, values, weights, deviance)
        return explained_deviance(values[0], values[1], weights, deviance)

    def __sklearn_tags__(self) -> Tags:
        # Estimators with a parameter ``selection`` support several targets.
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = hasattr(self, "selection")
        return tags


def without_offset(
    offset: Array,
    values: list[Array],
    weights: list[Array | None],
    deviance: tuple[str, float] | None,
) -> tuple[list[Array], list[Array | None]]:
    """Return values - offset, or rates for Tweedie deviances, and their weights."""
    # `deviance` is as in `explained_deviance`. Tweedie deviances have a logarithmic
    # link, so exp(offset) is an exposure. Rates y / exposure have the deviance of y if
    # weighted by exposure^(2 - power).
    if deviance is None or deviance[0] != "tweedie":
        return [array - offset for array in values], weights
    exposures = np.exp(offset)
    arrays = [1.0 if w is None else np.asarray(w) for w in weights]
    factors = exposures ** (2.0 - deviance[1])
    weights = [w * factor for w, factor in zip(arrays, factors, strict=True)]
    return [array / exposures for array in values], weights


def explained_deviance(
    y: Array,
    predicted: Array,
    weights: list[Array | None],
    deviance: tuple[str, float] | None,
) -> float:
    """Return the share of explained deviance (R^2 or D^2), averaged over outputs."""
    # Each row of `y` is an output. `deviance` is ("pinball", quantile) or ("tweedie",
    # power), as in `FittedModel`; None means R^2.
    from sklearn.metrics import d2_pinball_score, d2_tweedie_score, r2_score

    name, parameter = deviance or ("", 0.0)
    score: Callable[..., float] = r2_score
    if name == "pinball":
        score = partial(d2_pinball_score, alpha=parameter)
    elif name:
        score = partial(d2_tweedie_score, power=parameter)
    # Constant targets have no deviance. Their score is then 1 if all predictions are
    # exact, else 0, as in r2_score.
    explained = [
        score(a, b, sample_weight=w) if np.ptp(a) else float(np.all(a == b))
        for a, b, w in zip(y, predicted, weights, strict=True)
    ]
    return float(np.mean(explained))


def one_column(f: Array) -> Array:
    """Return `f`, (n_samples, n_outputs), or its only column, (n_samples,)."""
    return f[:, 0] if f.shape[1] == 1 else f


def class_codes(f: Array) -> Indices:
    """Return the index of each sample's predicted class from its decision values."""
    codes = f[:, 0] > 0.0 if f.shape[1] == 1 else np.argmax(f, axis=1)
    return codes.astype(np.intp)


def log_probabilities(f: Array, link: str = "one_vs_rest") -> Array:
    """Return the logarithms of class probabilities, (n_samples, n_classes)."""
    # `f` contains decision values of the log loss, (n_samples, n_outputs). With more
    # than two classes, each column is for one class against the rest, and probabilities
    # are scaled to sum to one. If `link` is "joint", the columns are from one problem
    # of all classes; if "labels", each column belongs to a label.
    if f.shape[1] == 1:
        return np.asarray(log_expit(np.hstack([-f, f])))
    logs = f if link == "joint" else log_expit(f)
    if link == "labels":
        return np.asarray(logs)
    return np.asarray(logs - logsumexp(logs, axis=1, keepdims=True))
