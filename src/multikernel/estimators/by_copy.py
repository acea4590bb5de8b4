"""Base class of estimators that fit a copy of themselves to integer codes of y."""

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.fit import fit_estimator, publish
from multikernel.estimators.read.doubts import warn_order
from multikernel.estimators.read.partitions import lazy
from multikernel.estimators.read.precomputed import labels_of_grams
from multikernel.losses import Loss
from multikernel.problem import Callback

# It adds fitted attributes to a dict, given a function that returns decision values.
SetAttributes = Callable[[dict[str, object], Callable[[], Array]], None]


class Task(NamedTuple):
    """The regression that a copy fits, and how to get attributes from its fit."""

    loss: Loss
    codes: Array  # one integer for each target
    strata: object  # for the folds of a search
    classes: Array | None  # in their order; None for times
    add_attributes: SetAttributes


class LearnsByCopy(BaseMKL):
    """Base class of models that replace their targets by integer codes for a loss."""

    # Targets such as censored times are not numbers, so a loss is created that reads
    # their codes: rows in a table of times, or class numbers. A copy of the estimator
    # with this loss fits a regression on the codes. The estimator then gets the fitted
    # attributes of the copy.

    # The loss to minimize. Only the copy, and models that a search scores, have one; it
    # is None on the user's estimator.
    loss: Any = None

    # The end of the error message about an offset: what to do instead.
    _instead_of_offset: ClassVar[str] = "remove this argument"

    @abstractmethod
    def _task(self, y: object, sample_weight: object) -> Task:
        """Check the targets; return their codes and the loss for them, see `Task`."""

    def _learn(
        self,
        X: object,
        y: object,
        sample_weight: object,
        offset: object,
        callback: Callback | None,
        groups: object = None,
    ) -> Self:
        """Fit a copy to the codes of y, and set its attributes on this estimator."""
        self._check_parameters()
        inner, task = self._coded(X, y, sample_weight, offset, groups)
        fit_estimator(inner, X, task.codes, sample_weight, callback, groups)
        fitted = vars(inner).items()
        attributes = {k: v for k, v in fitted if k.endswith("_") or k == "_state"}
        task.add_attributes(attributes, lambda: np.asarray(inner.linear_predictor(X)))
        publish(self, attributes)
        return self

    def _coded(
        self,
        X: object,
        y: object,
        sample_weight: object,
        offset: object,
        groups: object,
    ) -> tuple[Self, Task]:
        """Return a copy that fits codes of y, and its task."""
        self._refuse_offset(offset)
        # Compare row labels here, because the copy gets arrays without them.
        warn_order(type(self).__name__, X, labels_of_grams(X), y=y)
        task = self._task(y, sample_weight)
        return self._copied(task.loss, task.strata, groups), task

    def _refuse_offset(self, offset: object) -> None:
        """Raise if there is an offset, which no model of this kind supports."""
        if offset is not None:
            raise ValueError(
                f"{type(self).__name__} does not support offset: "
                f"{self._instead_of_offset}."
            )

    def _copied(self, loss: Any, strata: Any, groups: object) -> Self:
        """Return a copy of this estimator that fits the given loss."""
        # Searches override this method, to stratify folds by `strata` and keep `groups`
        # together.
        inner = copy.copy(self)
        inner.loss = loss
        return inner

    @lazy
    def linear_predictor(self, X: object) -> Array:
        """Return the sum of the functions and of the intercept, if any.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `predict`.

        Returns
        -------
        f : ndarray of shape (n_samples,)
            For times to an event, logarithms of the medians. For ordered classes,
            values that ``thresholds_`` divide into classes.
        """
        values: Array = self._decision_values(X)[:, 0]
        return values
