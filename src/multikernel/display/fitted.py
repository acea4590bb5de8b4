"""Finding a fitted model, or the scores of a search, in whatever the caller holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from multikernel._typing import Array


def final_estimator(estimator: Any) -> Any:
    """Return the fitted model inside a pipeline or a search.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    TypeError
        If what is inside is no multiple kernel model, or a search has not kept one.
    """
    model = _innermost(estimator, "kernel_weights_")
    if hasattr(model, "kernel_weights_"):
        return model
    if hasattr(model, "cv_results_"):
        raise TypeError(
            f"{type(model).__name__} was fitted with refit=False and holds no model: "
            "fit it with refit=True."
        )
    raise TypeError(
        f"{type(model).__name__} has no kernel_weights_: expected a fitted multiple "
        "kernel model, or a pipeline or search that ends in one."
    )


def output_names(model: Any) -> list[str]:
    """Return what the outputs of a fitted model are called.

    Those of classes in a model of an earlier version, which knows no others.
    """
    return list(model.output_names_) or [str(label) for label in model.classes_]


def output_heads(model: Any) -> list[str]:
    """Return the names of outputs as pictures write them, where classes say so."""
    names = output_names(model)
    classes = [str(label) for label in getattr(model, "classes_", ())]
    return [f"class {name}" for name in names] if names == classes else names


def _innermost(estimator: Any, attribute: str) -> Any:
    """Return the innermost of nested estimators, of those with an attribute if any."""
    layers = [estimator]
    while True:
        model = layers[-1]
        steps = getattr(model, "steps", None)
        last = steps[-1][1] if isinstance(steps, list) and steps else None
        inner = getattr(model, "best_estimator_", last)
        if inner is None:
            break
        layers.append(inner)
    having = [model for model in layers if hasattr(model, attribute)]
    if not having and hasattr(model, "fit"):
        check_is_fitted(model)
    return (having or layers)[-1]


@dataclass(frozen=True, eq=False)
class SearchScores:
    """What a search has tried, read off its ``cv_results_`` alone.

    Parameters
    ----------
    model : estimator
        The innermost search that an estimator holds, with or without a final model.
    columns : dict of ndarray of shape (n_candidates,)
        The values of the parameters that were asked for.
    folds : ndarray of shape (n_candidates, n_folds)
        All scores.
    best : int
        Number of the chosen candidate.
    """

    model: Any
    columns: dict[str, Array]
    folds: Array
    best: int

    @property
    def name(self) -> str:
        """Return what the scores are: the metric, and over how many folds."""
        scoring: Any = getattr(self.model, "scoring", None)
        metric = "accuracy" if is_classifier(self.model) else "R²"
        if isinstance(scoring, str):
            metric = scoring
        elif scoring is not None:
            metric = str(getattr(scoring, "__name__", type(scoring).__name__))
        spoken = metric.replace("neg_", "negative ").replace("_", " ")
        return f"{spoken}, {self.folds.shape[1]} folds"

    @classmethod
    def of(cls, estimator: Any, names: Sequence[str]) -> "SearchScores":
        """Return the scores of a search, with its columns of some parameters."""
        model = _innermost(estimator, "cv_results_")
        results = getattr(model, "cv_results_", {})
        columns = {
            name: np.asarray(values, dtype=np.float64)
            for name in names
            for key, values in results.items()
            if key == f"param_{name}" or key.endswith(f"__{name}")
        }
        splits = (f"split{fold}_test_score" for fold in range(len(results)))
        scores = [results[name] for name in splits if name in results]
        folds = np.column_stack(scores) if scores else np.empty((0, 0))
        return cls(model, columns, folds, int(getattr(model, "best_index_", 0)))
