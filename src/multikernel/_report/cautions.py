"""Warnings about scores on training rows, constant predictions, and intervals."""

from collections.abc import Sequence

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from multikernel._report.outcomes import Targets
from multikernel._typing import Array
from multikernel._validation import listed
from multikernel.display.weights import shown_values
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.hkl.data import HullModel
from multikernel.estimators.publish.predict import KernelGrams, LandmarkGrams
from multikernel.estimators.publish.summary import output_labels
from multikernel.estimators.read.tables import check_predict_data
from multikernel.gram.factors.features import CenteredFeatures
from multikernel.inspection import Bootstrap, VarianceSplit
from multikernel.inspection.pipelines import data_at_model, last_step
from multikernel.kernels.columns import select_columns
from multikernel.linalg.tables import row_keys

RARE = "try a search with scoring='roc_auc'"
RARE_CLASS = (
    "try a search with scoring='roc_auc' ('balanced_accuracy' for many classes) or "
    "class_weight='balanced'"
)
"""Advice in warnings: RARE is for rare labels, RARE_CLASS for rare classes."""


def one_class_warning(inner: BaseMKL, predicted: Targets | None) -> list[str]:
    """Return a warning if a classifier predicts one class for all rows, else []."""
    if not is_classifier(inner):
        return []
    # Without predictions, use a search's predictions on its validation sets.
    if predicted is None or len(predicted) < 2:
        where, prediction = "validation samples", inner.fit_info_.get("predicted_alike")
    elif predicted.ndim == 1:
        labels = np.unique(predicted)
        prediction = f"class {labels.tolist()[0]!r}" if labels.size == 1 else ""
        where = f"{len(predicted)} rows"
    else:
        constant = np.flatnonzero((predicted == predicted[0]).all(axis=0))
        names = [inner.output_names_[k] for k in constant]
        prediction = f"the same for label {listed(names)}" if names else ""
        where = f"{len(predicted)} rows"
    advice = RARE if inner._state.link == "labels" else RARE_CLASS
    text = f"The model predicts {prediction} for all {where}: {advice}."
    return [text] if prediction else []


def training_rows_warning(model: BaseEstimator, inner: BaseMKL, X: object) -> list[str]:
    """Return a warning if rows of X are training samples of the model, else []."""
    n_training, n_rows = count_training_rows(model, inner, X)
    if not n_training:
        return []
    return [
        f"At least {n_training} of the {n_rows} rows passed to this report are samples "
        "that the model was fitted on: scores on these rows are better than on new "
        "samples. Pass rows that were not used in the fit."
    ]


def count_training_rows(
    model: BaseEstimator, inner: BaseMKL, X: object
) -> tuple[int, int]:
    """Return the number of training samples among the rows of X, and of all rows."""
    # Rows are compared with the samples or landmarks that the model stores.
    state = inner._state
    model_data = data_at_model(last_step(model)[0], X)
    data = check_predict_data(inner, model_data, precomputed=state.precomputed)
    if state.precomputed:
        # Symmetric matrices compare the training samples with themselves, so all rows
        # count as training samples.
        is_square = data.shape[0] == data.shape[1]
        is_symmetric = is_square and np.array_equal(data[..., 0], data[..., 0].T)
        return len(data) * is_symmetric, len(data)
    grams = getattr(state.model, "grams", None)
    # Greedy methods store the matrices in a wrapper that reorders the kernels.
    grams = getattr(grams, "grams", grams)
    stored_rows, new_rows = np.empty((0, 0)), data
    if isinstance(grams, KernelGrams):
        stored_rows = grams.X
    elif isinstance(grams, LandmarkGrams) and grams.landmarks:
        stored = [
            kernel.landmarks if isinstance(kernel, CenteredFeatures) else landmarks
            for kernel, landmarks in zip(grams.kernels, grams.landmarks, strict=True)
        ]
        largest = max(range(len(stored)), key=lambda m: stored[m].size)
        stored_rows, columns = stored[largest], grams.columns[largest]
        new_rows = data if columns is None else select_columns(data, columns)
    elif isinstance(state.model, HullModel):
        # The model of a hull stores only means and a scale. All rows count as training
        # samples if their number and means equal the number and means in the fit.
        scaler = state.model.scaler
        is_close = np.abs(data.mean(axis=0) - scaler.mean) <= 1e-9 * scaler.scale
        is_same = len(data) == inner.dual_coef_.shape[-1] and bool(is_close.all())
        return len(data) * is_same, len(data)
    if not stored_rows.size or stored_rows.shape[1] != new_rows.shape[1]:
        return 0, len(data)
    rows, samples = row_keys(np.ascontiguousarray(new_rows)), row_keys(stored_rows)
    # On few columns, rows of new samples may equal some of the landmarks by chance.
    if isinstance(grams, LandmarkGrams) and np.isin(samples, rows).mean() <= 0.5:
        return 0, len(data)
    return int(np.isin(rows, samples).sum()), len(data)


def interval_warnings(model: BaseMKL, by: str, bootstrap: Bootstrap) -> list[str]:
    """Return a warning if shares lie outside their bootstrap intervals, else []."""
    attribute = "view_shares" if by == "view" else "variance_shares"
    shares, names = shown_values(model, attribute)
    labels = output_labels(model, len(shares))
    outside = _outside(shares, bootstrap.interval(attribute), names, labels)
    return outside and [
        f"The variance share of {listed(outside)} is outside its own 90 % interval in "
        f"the table of {by}s: fits to resamples differ from this model. Use only the "
        "width of this interval, as a measure of variation."
    ]


def split_warnings(split: VarianceSplit) -> list[str]:
    """Return a warning if held-out shares lie outside their intervals, else []."""
    labels = split.output_names or [None]
    outside = _outside(split.shares, split.interval(), split.names, labels)
    return outside and [
        f"The held-out share of {listed(outside)} is outside its own 90 % interval: "
        "there are too few held-out samples for a reliable interval. Compute the split "
        "again with more held-out samples."
    ]


def _outside(
    shares: Array,
    ends: tuple[Array, Array],
    names: Sequence[str],
    labels: Sequence[object],
) -> list[str]:
    """Return the names of terms whose shares are outside their intervals `ends`."""
    # Shares have shape ([n_outputs, ]n_terms), and so have both ends. `labels` name the
    # outputs; None is the label of a single output.
    shares, low, high = np.atleast_2d(shares, *ends)
    outside = np.argwhere((shares < low) | (shares > high))
    return [
        names[k] if labels[row] is None else f"{names[k]} of {labels[row]}"
        for row, k in outside
    ]
