"""Predictions of a saved model, and the columns that options add to them."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_outlier_detector

from multikernel._outcomes import Answers
from multikernel.cli._messages import check_choice
from multikernel.cli._requests import Predict
from multikernel.estimators.publish.summary import predicts_times
from multikernel.inspection import contributions
from multikernel.inspection.pipelines import data_at_model, last_step


def answers_of(ask: Answers, asked: Predict, ids: pd.DataFrame | None) -> pd.DataFrame:
    """Return the predictions with ids before them and the columns that options add."""
    estimator, X = ask.model, ask.X
    (before, model), times = last_step(estimator), asked.later or []
    predicted = ask("predict")
    frame = pd.DataFrame(predicted, columns=_heads(model, predicted, "prediction"))
    if is_outlier_detector(estimator):
        frame["decision"] = estimator.decision_function(X)
    if predicts_times(model):
        reached = data_at_model(before, X)
        frame["median_time"] = model.predict_median(reached)
        later = model.predict_survival_function(reached, times)
        for time, column in zip(times, later.T, strict=True):
            frame[f"later_than_{time:g}"] = column
    elif times:
        raise ValueError("--later requires a survival model: remove --later.")
    if asked.proba:
        if not hasattr(estimator, "predict_proba"):
            raise ValueError("This model has no probabilities: remove --proba.")
        labels = estimator.classes_ if predicted.ndim == 1 else model.output_names_
        chances = ask("predict_proba").T
        for label, column in zip(labels, chances, strict=True):
            frame[f"probability_{label}"] = column
    parts = [frame, _intervals(ask, model, asked), _terms(ask, model, asked)]
    if ids is not None:
        parts.insert(0, ids.reset_index(drop=True))
    return pd.concat(parts, axis=1)


def _heads(model: Any, predicted: Any, head: str) -> list[str]:
    """Return the column names of predictions, one per output."""
    several = np.ndim(predicted) > 1
    return [f"{head}_{name}" for name in model.output_names_] if several else [head]


def _intervals(ask: Answers, model: Any, asked: Predict) -> pd.DataFrame:
    """Return the ends of prediction intervals; no columns without --interval."""
    if asked.interval is None:
        return pd.DataFrame()
    if getattr(model._state, "folds", None) is None:
        raise ValueError(
            "--interval requires a model fitted with --cv and --intervals."
        )
    before, _ = last_step(ask.model)
    data = data_at_model(before, ask.X)
    ends = model.predict_interval(data, asked.interval, offset=ask.offset)
    parts = [
        pd.DataFrame(values, columns=_heads(model, values, head))
        for head, values in zip(("low", "high"), ends, strict=True)
    ]
    return pd.concat(parts, axis=1)


def _terms(ask: Answers, model: Any, asked: Predict) -> pd.DataFrame:
    """Return contributions and intercepts; no columns without --contributions."""
    if asked.contributions is None:
        return pd.DataFrame()
    check_choice("--contributions", asked.contributions, ("kernel", "view", "column"))
    split = contributions(ask.model, ask.X, asked.contributions)
    constants, names = np.ravel(model.intercept_), [*split.names, "intercept"]
    terms = split.terms.reshape(len(split.terms), constants.size, -1)
    columns = {}
    for position, output in enumerate(model.output_names_):
        head = f"{output}_" if constants.size > 1 else ""
        values = np.column_stack(
            [terms[:, position], np.full(len(terms), constants[position])]
        )
        for name, column in zip(names, values.T, strict=True):
            columns[f"contribution_{head}{name}"] = column
    return pd.DataFrame(columns)
