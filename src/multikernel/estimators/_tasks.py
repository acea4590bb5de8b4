"""Classification and regression: what targets become, and what comes back."""

from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import log_expit, logsumexp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from multikernel._typing import Array
from multikernel._validation import POSITIVE
from multikernel.estimators._base import BaseMKL
from multikernel.estimators._data import listed
from multikernel.estimators._one_vs_rest import labels_to_signs
from multikernel.estimators._samples import Labels, Samples


def class_weight_choice(value: Any) -> str | None:
    """Check a ``class_weight`` parameter: None, "balanced" or a dict."""
    if value is None or (isinstance(value, str) and value == "balanced"):
        return None
    if isinstance(value, Mapping) and all(
        POSITIVE(weight) is None for weight in value.values()
    ):
        return None
    return "None, 'balanced', or a dict from class labels to positive weights"


def class_weights(choice: Any, classes: Array, codes: Labels, weights: Array) -> Array:
    """Return the weight of each class.

    Parameters
    ----------
    choice : dict, "balanced" or None
        "balanced" gives every class the same total weight, and all together their
        own; a class that a dict does not name has weight one.
    classes : ndarray of shape (n_classes,)
        The labels.
    codes : ndarray of shape (n_samples,)
        Class indices of the samples.
    weights : ndarray of shape (n_samples,)
        Sample weights.

    Returns
    -------
    class_weights : ndarray of shape (n_classes,)

    Raises
    ------
    ValueError
        If a dict names a label that is no class.
    """
    if choice is None:
        return np.ones(classes.size)
    if isinstance(choice, Mapping):
        known = classes.tolist()
        unknown = [label for label in choice if label not in known]
        if unknown:
            raise ValueError(
                f"class_weight names {listed(unknown)}, but the classes are "
                f"{listed(known)}."
            )
        return np.array([float(choice.get(label, 1.0)) for label in known])
    totals = np.bincount(codes, weights, minlength=classes.size)
    # A class that a fold does not hold has nothing to weigh.
    held = np.count_nonzero(totals)
    balanced: Array = weights.sum() / (held * np.where(totals > 0.0, totals, 1.0))
    return balanced


def has_probabilities(estimator: Any) -> bool:
    """Return whether the loss is a likelihood, or say why there are none."""
    if estimator.loss == "log_loss":
        return True
    raise AttributeError(
        f"Probabilities need loss='log_loss'; this {type(estimator).__name__} has "
        f"loss={estimator.loss!r}."
    )


class ClassPredictions(metaclass=ABCMeta):
    """From decision values to classes and probabilities."""

    classes_: Array
    loss: str

    @abstractmethod
    def _decision_values(self, X: Any) -> Array:
        """Return the decision values, shape (n_samples, n_outputs)."""

    def decision_function(self, X: Any) -> Array:
        """Return the decision values.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data; with ``kernels="precomputed"`` of shape (n_samples, n_fit_samples,
            n_kernels).

        Returns
        -------
        f : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]`` with two classes; otherwise one column per
            class, each from a problem of that class against the rest.
        """
        f = self._decision_values(X)
        return f[:, 0] if f.shape[1] == 1 else f

    def predict(self, X: Any) -> Array:
        """Return the predicted classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `decision_function`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        f = self._decision_values(X)
        codes = f[:, 0] > 0.0 if f.shape[1] == 1 else np.argmax(f, axis=1)
        labels: Array = self.classes_[codes.astype(np.intp)]
        return labels

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Return class probabilities; logistic loss only.

        With more than two classes the probabilities of the one-vs-rest problems are
        scaled to sum to one.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `decision_function`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        probabilities: Array = np.exp(self.predict_log_proba(X))
        return probabilities

    @available_if(has_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of class probabilities; logistic loss only.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `decision_function`.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        f = self._decision_values(X)
        if f.shape[1] == 1:
            both: Array = log_expit(np.hstack([-f, f]))
            return both
        each = log_expit(f)
        scaled: Array = each - logsumexp(each, axis=1, keepdims=True)
        return scaled


class MKLClassifier(ClassifierMixin, BaseMKL, ClassPredictions):
    """Base of the classifiers: one problem for two classes, otherwise one-vs-rest."""

    class_weight: Any

    def _encode(self, y: Array) -> tuple[Labels, Array | None]:
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least two classes, got "
                f"one class only: {classes.tolist()[0]!r}."
            )
        return codes.astype(np.intp), classes

    def _targets(self, samples: Samples) -> Array:
        assert samples.classes is not None
        return labels_to_signs(samples.labels, samples.classes.size)

    def _weights(self, samples: Samples) -> Array | None:
        if self.class_weight is None or samples.classes is None:
            return samples.weights
        own = samples.weights
        own = np.ones(samples.labels.shape[0]) if own is None else own
        each = class_weights(self.class_weight, samples.classes, samples.labels, own)
        weights: Array = own * each[samples.labels]
        return weights


class MKLRegressor(RegressorMixin, BaseMKL):
    """Base of the regressors: one real target, or several where tags say so."""

    def _encode(self, y: Array) -> tuple[Labels, Array | None]:
        return y, None

    def _targets(self, samples: Samples) -> Array:
        return np.atleast_2d(np.asarray(samples.labels, dtype=np.float64).T)

    def predict(self, X: Any) -> Array:
        """Return the predicted targets.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data; with ``kernels="precomputed"`` of shape (n_samples, n_fit_samples,
            n_kernels).

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_outputs) after a fit on \
                several targets
        """
        return predictions(self._decision_values(X))


def predictions(f: Array) -> Array:
    """Return decision values as predicted targets: a single column as a vector.

    Parameters
    ----------
    f : ndarray of shape (n_samples, n_outputs)
        The decision values.

    Returns
    -------
    y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
    """
    return f[:, 0] if f.shape[1] == 1 else f
