"""Base class of the estimators of ordered classes, with their predictions."""

import json
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets

from multikernel._typing import Array, Indices
from multikernel._validation import DAMAGED_FIT, Check, check_weights, listed
from multikernel.datasets.csv_form import NUMBER
from multikernel.estimators.by_copy import LearnsByCopy, Task
from multikernel.estimators.parameters import NORMALIZE
from multikernel.estimators.publish.fitted import FittedModel
from multikernel.estimators.read.samples import refuse_fractions
from multikernel.estimators.read.targets import (
    category_order,
    read_targets,
    scored_targets,
    single_column,
)
from multikernel.estimators.spicy.method import SPARSE_CHECKS
from multikernel.estimators.survival.likelihood import concordance
from multikernel.exceptions import DataWarning, warn_user
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import CumulativeLogitLoss


def order_choice(value: Any) -> str | None:
    """Return None for a valid ``order`` of classes, otherwise the accepted values."""
    if value is None:
        return None
    is_sequence = isinstance(value, Sequence) or getattr(value, "ndim", False)
    labels = list(value) if is_sequence else []
    if len(labels) > 1 and len({*labels}) == len(labels) and not isinstance(value, str):
        return None
    return "None, or a sequence of all classes from the lowest to the highest"


@dataclass(eq=False, repr=False)
class OrdinalMKL(ClassifierMixin, LearnsByCopy):
    """Base class of models of ordered classes: a function and increasing thresholds."""

    _checks: ClassVar[Mapping[str, Check]] = {**SPARSE_CHECKS, "order": order_choice}

    # `fit_intercept` is not a parameter, because the thresholds, which are always
    # fitted, replace the intercept.
    fit_intercept: ClassVar[bool] = True

    kernels: object = None
    _: KW_ONLY
    order: Sequence[Hashable] | Array | None = None
    l1_ratio: float = 1.0
    normalize: Steps = NORMALIZE
    tol: float = 1e-3
    max_iter: int = 100
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0

    def _task(self, y: object, sample_weight: object) -> Task:
        """Return the `Task` of the fit, whose codes and strata are class numbers."""
        targets = read_targets(self, y)
        advice = "use y.astype(str), which keeps their order"
        refuse_fractions(type(self).__name__, targets, advice)
        check_classification_targets(targets)
        weights = check_weights(sample_weight, len(targets))
        counts = np.ones(len(targets)) if weights is None else weights
        is_used = counts > 0.0
        classes = classes_in_order(type(self).__name__, self.order, y, targets[is_used])
        grades = class_numbers(classes, targets)
        codes = grades.astype(np.float64)

        def fitted_loss(f: Array) -> CumulativeLogitLoss:
            # The thresholds of the loss are the most likely ones for the function f.
            y_used, f_used = codes[is_used], f[is_used]
            return CumulativeLogitLoss.fitted(y_used, f_used, counts[is_used])

        def add_attributes(
            attributes: dict[str, object], f: Callable[[], Array]
        ) -> None:
            attributes["classes_"] = classes
            # `f` returns the decision values on the training samples. A search without
            # a refit has no model.
            if "dual_coef_" in attributes:
                attributes["thresholds_"] = fitted_loss(f()).thresholds

        loss = fitted_loss(np.zeros(len(targets)))
        return Task(loss, codes, grades, classes, add_attributes)

    def predict(self, X: object) -> Array:
        """Return the most probable classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, or Gram matrices of shape (n_samples, n_fit_samples, n_kernels).

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        return np.asarray(self.classes_[np.argmax(self.predict_proba(X), axis=1)])

    def predict_median(self, X: object) -> Array:
        """Return the median classes, which minimize the expected difference in rank.

        X is as in `predict`. The result has shape (n_samples,): for each sample the
        lowest class k for which P(y <= k | x) is at least one half.
        """
        f = np.asarray(self.linear_predictor(X))
        return np.asarray(self.classes_[np.searchsorted(self.thresholds_, f)])

    def predict_proba(self, X: object) -> Array:
        r"""Return the probabilities of the classes, in the order of ``classes_``.

        They are differences of these cumulative probabilities with thresholds theta:

        .. math:: P(y \le k \mid x) = \frac{1}{1 + \exp(f(x) - \theta_k)}

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `predict`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        f = np.asarray(self.linear_predictor(X))
        margins = self.thresholds_ - f[:, None]
        # Differences of values P(y <= k) near one lose digits; use P(y > k) there.
        below, above = expit(margins), expit(-margins)
        below = np.pad(below, ((0, 0), (1, 1)), constant_values=((0, 0), (0, 1)))
        above = np.pad(above, ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
        shares = np.diff(below, axis=1), -np.diff(above, axis=1)
        return np.asarray(np.where(below[:, 1:] < 0.5, *shares))

    def score(
        self, X: object, y: "ArrayLike", sample_weight: "ArrayLike | None" = None
    ) -> float:
        """Return the accuracy, the share of samples whose class is predicted.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `predict`.
        y : array-like of shape (n_samples,)
            True classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        accuracy : float
        """
        if self.loss is None:
            y, weights = scored_targets(self, X, y, sample_weight)
            return float(super().score(X, y, weights))
        # Models of folds have no thresholds, so score the order of the decision values.
        f, grades = np.asarray(self.linear_predictor(X)), np.asarray(y, np.float64)
        return concordance(grades, grades, -f, check_weights(sample_weight, f.size))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.loss is not None:
            tags.estimator_type, tags.classifier_tags = None, None
        return tags

    def _check_fitted(self) -> None:
        """Raise unless a model from a file has one threshold fewer than classes."""
        super()._check_fitted()
        # Models of folds have a loss, and no thresholds.
        if not isinstance(vars(self).get("_state"), FittedModel) or self.loss:
            return
        if self._state.model is None:
            return
        thresholds = np.asarray(vars(self).get("thresholds_", ()), dtype=np.float64)
        shape = (np.size(vars(self).get("classes_", ())) - 1,)
        if thresholds.shape != shape or not np.all(np.diff(thresholds) > 0.0):
            raise ValueError(
                f"{type(self).__name__}: thresholds_ must be {shape[0]} increasing "
                f"numbers, one fewer than classes_, got {thresholds}. {DAMAGED_FIT}"
            )


def classes_in_order(
    owner: str, order: Iterable[Hashable] | None, y: object, targets: Array
) -> Array:
    """Return the classes in `targets`, lowest first, in the user's order or sorted."""
    # `order` is the user's argument. If it is None, use the order of the categories of
    # `y`, which are the targets in the user's format, such as ordered categories of
    # pandas. If `y` has no such order, sort the classes. `targets` are the targets of
    # samples with nonzero weight, as an array.
    present = np.unique(targets)
    if present.size < 2:
        raise ValueError(
            f"{owner} requires samples of at least two classes, got one class only: "
            f"{listed([str(label) for label in present.tolist()])}. Add samples of "
            "another class, with nonzero weight."
        )
    if order is None:
        order = category_order(single_column(y))
    if order is None and all(isinstance(v, str) for v in present.tolist()):
        sorted_names = sorted(present.tolist(), key=_natural_key)
        if not all(map(NUMBER.fullmatch, sorted_names)):
            warn_user(
                f"{owner} sorts the classes alphabetically, "
                f"{listed(list(map(str, present)))}: pass order=[...] with the classes "
                "from the lowest to the highest, for example "
                f"order={json.dumps(sorted_names)}.",
                DataWarning,
            )
            return present
        order = sorted_names
    if order is None:
        return present
    ranks = {label: rank for rank, label in enumerate(order)}
    unknown = [label for label in present.tolist() if label not in ranks]
    if unknown:
        advice = "add it to order"
        are_text = [isinstance(label, str) for label in (unknown[0], *ranks)]
        if are_text[0] not in are_text[1:]:
            of_y, of_order = "numbers", "text"
            if are_text[0]:
                of_y, of_order = of_order, of_y
            advice = (
                f"y holds {of_y} and order holds {of_order}, so convert one of them"
            )
        raise ValueError(
            f"{owner}: order must contain every class, but y also has {unknown[0]!r}: "
            f"{advice}."
        )
    return np.array(sorted(present.tolist(), key=ranks.__getitem__), present.dtype)


def _natural_key(label: str) -> list[tuple[float, str]]:
    """Return a sort key for text with numbers, which puts "g2" before "g10"."""
    if NUMBER.fullmatch(label):
        return [(float(label), label)]
    parts = re.split(r"(\d+)", label)
    return [(float(part), "") if part.isdigit() else (0.0, part) for part in parts]


def class_numbers(classes: Array, targets: Array) -> Indices:
    """Return each target's index in `classes`; any index for targets of no class."""
    sorter = np.argsort(classes)
    positions = np.searchsorted(classes, targets, sorter=sorter)
    return np.asarray(sorter[np.minimum(positions, classes.size - 1)], dtype=np.intp)
