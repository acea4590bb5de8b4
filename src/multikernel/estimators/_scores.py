"""Scores of decision values: any scikit-learn scorer, without predicting again."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from multikernel._typing import Array
from multikernel.estimators._tasks import ClassPredictions, predictions

Scorer = Callable[..., float]


@dataclass(frozen=True, eq=False)
class FoldScores:
    """What one fold says of every candidate.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates,)
        Validation scores.
    n_active : ndarray of shape (n_candidates,)
        Kernels in the models.
    gaps : ndarray of shape (n_outputs, n_candidates)
        Relative duality gaps of the solves.
    """

    scores: Array
    n_active: Array
    gaps: Array


class FoldClassifier(ClassPredictions, ClassifierMixin, BaseEstimator):
    """A classifier whose X are decision values, for scorers.

    Parameters
    ----------
    loss : str
        Name of the loss: which methods there are.
    classes : ndarray of shape (n_classes,)
        The labels.
    """

    def __init__(self, loss: str, classes: Array) -> None:
        self.loss = loss
        self.classes = classes
        self.classes_ = classes

    def _decision_values(self, X: Any) -> Array:
        return np.asarray(X)


class FoldRegressor(RegressorMixin, BaseEstimator):
    """A regressor whose X are predictions, for scorers."""

    def predict(self, X: Any) -> Array:
        """Return X, a single column as a vector."""
        return predictions(np.asarray(X))


def make_score(
    scorer: Scorer, loss: str, classes: Array | None, y: Array, weights: Array | None
) -> Callable[[Array], float]:
    """Return a function from decision values of a fold to their score.

    Parameters
    ----------
    scorer : callable
        From an estimator, X and y to a number; `sklearn.metrics.check_scoring` makes
        one.
    loss : str
        Name of the loss.
    classes : ndarray of shape (n_classes,) or None
        The labels; None for a regression.
    y : ndarray of shape (n_test,)
        The validation targets.
    weights : ndarray of shape (n_test,) or None
        Their sample weights, handed to scorers that take them.

    Returns
    -------
    score : callable
        Raises a ValueError where the scorer asks for probabilities that the loss does
        not have.
    """
    model = FoldRegressor() if classes is None else FoldClassifier(loss, classes)
    arguments = {}
    if weights is not None and _takes_weights(scorer):
        arguments["sample_weight"] = weights

    def score(f: Array) -> float:
        try:
            return float(scorer(model, f, y, **arguments))
        except AttributeError as error:
            if loss == "log_loss" or "_proba" not in str(error):
                raise
            raise ValueError(
                "scoring asks for class probabilities, which a model with loss="
                f"{loss!r} does not have: use loss='log_loss', or a score of decision "
                "values or labels, such as 'roc_auc' or 'accuracy'."
            ) from error

    return score


def _takes_weights(scorer: Scorer) -> bool:
    names = inspect.signature(scorer).parameters
    return "sample_weight" in names or any(
        parameter.kind is parameter.VAR_KEYWORD for parameter in names.values()
    )


def cv_results(
    parameters: Mapping[str, Array], folds: Sequence[FoldScores]
) -> dict[str, Array]:
    """Return the scores of all folds as scikit-learn's searches do.

    Parameters
    ----------
    parameters : mapping of str to ndarray of shape (n_candidates,)
        What the candidates differ in, such as ``alpha``.
    folds : sequence of FoldScores
        One per fold.

    Returns
    -------
    results : dict of ndarray of shape (n_candidates,)
        The parameters, ``split0_test_score`` and so on, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``, ``mean_n_active``.

    Raises
    ------
    ValueError
        If no candidate has a score.
    """
    scores = np.array([fold.scores for fold in folds])
    mean = scores.mean(axis=0)
    if not np.isfinite(mean).any():
        raise ValueError(
            f"No {' and '.join(parameters)} has a finite score in every fold: check "
            "scoring, that every fold holds every class, and for r2, the default of a "
            "regression, that it holds at least two samples."
        )
    results = dict(parameters)
    results |= {f"split{k}_test_score": row for k, row in enumerate(scores)}
    results["mean_test_score"] = mean
    results["std_test_score"] = scores.std(axis=0)
    results["rank_test_score"] = rankdata(
        np.where(np.isfinite(mean), -mean, np.inf), method="min"
    ).astype(np.intp)
    results["mean_n_active"] = np.array([fold.n_active for fold in folds]).mean(axis=0)
    return results
