"""Base of estimators that learn by a copy: a regression on numbers of targets."""

import copy
from typing import Any, Self

from multikernel._typing import Array
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.read.partitions import lazy


class LearnsByCopy(BaseMKL):
    """Base of the models whose targets are positions in tables of a loss.

    What learns is a copy of the estimator that has the loss: a regression on these
    positions. What it publishes becomes the estimator's.
    """

    # Of the copy that learns, and of the models that a search scores.
    loss: Any = None

    def _learner(self, loss: Any, samples: Any, groups: Any) -> Self:
        """Return the copy that learns; a search has folds by samples and groups."""
        learner = copy.copy(self)
        learner.loss = loss
        return learner

    @lazy
    def linear_predictor(self, X: Any) -> Array:
        """Return the sum of the functions, and of the intercept where there is one.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `predict`.

        Returns
        -------
        f : ndarray of shape (n_samples,)
            Of times to an event the logarithms of the medians; of ordered classes what
            thresholds cut into classes, the larger, the higher the class.
        """
        values: Array = self._decision_values(X)[:, 0]
        return values
