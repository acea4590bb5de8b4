"""Scores, confusion matrices and residuals of predictions, as parts of a page."""

import base64
import importlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics
from sklearn.base import BaseEstimator, is_classifier, is_outlier_detector
from sklearn.calibration import CalibrationDisplay
from sklearn.utils.multiclass import unique_labels

from multikernel._typing import Array, Indices
from multikernel.display._style import DASHED, clean_axes, color, headline, literal
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish.summary import html_table, predicts_times
from multikernel.estimators.read.targets import check_target_names
from multikernel.estimators.survival.times import read_times
from multikernel.inspection.pipelines import data_at_model, last_step

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_CURVES = 6
"""Maximum number of shape functions that are drawn, by decreasing variance share."""

CURVE_SIZE = 4.2, 3.2
"""Size of a shape function in inches; three fit into a row of the page."""

MOST_CLASSES = 30
"""Maximum number of classes in a confusion matrix, the most frequent ones."""

MOST_POINTS = 1000
"""Maximum number of predictions that are drawn."""

BIN_ROWS = 20
"""Minimum rows per point of a calibration curve (standard error at most 0.11)."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Predictions and scores of a model, pipeline or search on rows with offsets."""

    model: BaseEstimator
    X: object
    offset: ArrayLike | None = None

    def __call__(self, method: str, *y: ArrayLike) -> Any:
        """Return the result of a method of the model on X; "score" requires `y`."""
        before, last = last_step(self.model)
        offset = {} if self.offset is None else {"offset": self.offset}
        return getattr(last, method)(data_at_model(before, self.X), *y, **offset)


Targets = NDArray[np.generic]
"""Targets or predictions: numbers, labels of classes, or structured times."""


def checked_targets(inner: BaseMKL, X: object, y: ArrayLike) -> Targets:
    """Return valid targets for the scores of a model."""
    if predicts_times(inner):
        times: Targets = read_times("report", y).structured()
        return times
    targets = check_target_names(inner, X, y)
    if is_outlier_detector(inner) and not np.isin(targets, [-1, 1]).all():
        raise ValueError(
            f"report: y contains {targets[~np.isin(targets, [-1, 1])][0]}, but for "
            "novelty detection it must contain only 1 for usual and -1 for unusual "
            "samples."
        )
    return targets


def outcomes_on(
    answers: Answers, inner: BaseMKL, y: Targets | None, predicted: Targets | None
) -> tuple[dict[str, float], list[tuple[str, str]]]:
    """Return scores, and sections (heading, body) on predictions and targets."""
    # Without X there are no predictions.
    is_novelty, model = is_outlier_detector(inner), answers.model
    if predicted is None or (y is None and not is_novelty):
        return {}, []
    if y is None:
        return {"share of rows inside": float(np.mean(predicted == 1))}, []
    scores = _scores(answers, inner, y, predicted)
    if is_novelty:
        sides = [np.where(v == 1, "inside", "outside") for v in (y, predicted)]
        return scores, [("Confusion matrix", _confusion(sides[0], *sides))]
    if not is_classifier(inner):
        return scores, [("Predictions", _prediction_plots(inner, y, predicted))]
    if y.ndim > 1:
        return scores, [("Labels", _label_table(inner, y, predicted))]
    sections = [("Confusion matrix", _confusion(inner.classes_, y, predicted))]
    # The model has no probability for a class in `y` without training samples.
    if hasattr(model, "predict_proba") and np.isin(y, inner.classes_).all():
        shares = np.asarray(answers("predict_proba"))
        scores["log loss"] = metrics.log_loss(y, shares, labels=inner.classes_)
        if len(y) >= 2 * BIN_ROWS:
            sections.append(("Calibration", _calibration(inner.classes_, y, shares)))
    return scores, sections


def _calibration(classes: Targets, y: Targets, probas: Array) -> str:
    """Return a calibration curve of the second of two classes, as HTML."""
    # With more classes, the curve compares the probability of the predicted class with
    # the share of correct predictions.
    name = "predicted class"
    is_correct, probability = y == classes[probas.argmax(axis=1)], probas.max(axis=1)
    if len(classes) == 2:
        name = f"class {literal(classes[1])}"
        is_correct, probability = y == classes[1], probas[:, 1]

    def draw() -> CalibrationDisplay:
        display = CalibrationDisplay.from_predictions(
            is_correct.astype(int),
            probability,
            n_bins=min(10, len(y) // BIN_ROWS),
            strategy="quantile",
            pos_label=1,
            name=name,
            color=color(0),
        )
        display.ax_.set(xlabel="Predicted probability", ylabel="Share of the rows")
        clean_axes(display.ax_, grid="both")
        return display

    return html_image(draw, CURVE_SIZE) + (
        "<p>Each point is a group of rows: the share of rows in the class, against "
        "their mean predicted probability. All groups have equally many rows. For "
        "probabilities above one half, points below the dotted line mean that the "
        "model is overconfident, and points above it that it is underconfident. "
        "CalibratedClassifierCV of scikit-learn corrects both.</p>"
    )


def _confusion(classes: Targets, y: Targets, predicted: Targets) -> str:
    """Return a picture of the confusion matrix, with a row for each class."""
    names = unique_labels(classes, y, predicted)
    counts = metrics.confusion_matrix(y, predicted, labels=names)
    order = np.argsort(-counts.sum(axis=1), kind="stable")
    shown = np.sort(order[:MOST_CLASSES])
    # Counts of three digits are readable in cells of half an inch.
    size = max(CURVE_SIZE[0], 0.5 * len(shown))
    draw = partial(_draw_confusion, counts[np.ix_(shown, shown)], names[shown])
    picture = html_image(draw, (size, size))
    if len(shown) == len(names):
        return picture
    note = f"The plot shows the {len(shown)} most frequent of {len(names)} classes."
    return f"<p>{note}</p>{picture}"


def _draw_confusion(counts: Indices, names: Targets) -> metrics.ConfusionMatrixDisplay:
    """Draw a confusion matrix with the `names` of its rows, and return the display."""
    labels = list(map(literal, names))
    display = metrics.ConfusionMatrixDisplay(counts, display_labels=labels)
    rotation = "vertical" if len(labels) > 4 else "horizontal"
    return display.plot(cmap="Blues", colorbar=False, xticks_rotation=rotation)


def _label_table(model: BaseMKL, y: Targets, predicted: Targets) -> str:
    """Return a table of correct and wrong predictions with a row for each label."""
    kinds = ["rightly absent", "wrongly present", "wrongly absent", "rightly present"]
    counts = metrics.multilabel_confusion_matrix(y, predicted).reshape(-1, 4)
    columns: dict[str, list[object]] = {"label": list(model.output_names_)}
    columns |= dict(zip(kinds, counts.T.tolist(), strict=True))
    return scrolling(html_table(columns, all_in=None))


def _prediction_plots(model: BaseMKL, y: Targets, predicted: Targets) -> str:
    """Return plots of targets against predictions; one target also gets residuals."""
    y, predicted = (values.reshape(len(values), -1) for values in (y, predicted))
    names = [""] if y.shape[1] == 1 else list(model.output_names_)
    table, plot_kinds = "", ["actual_vs_predicted"]
    if len(names) == 1:
        plot_kinds.append("residual_vs_predicted")
    else:
        columns: dict[str, list[object]] = {"target": [*names]}
        for score_name, score in ERRORS.items():
            values = score(y, predicted, multioutput="raw_values")
            columns[score_name] = values.tolist()
        table = scrolling(html_table(columns, all_in=None))
    pictures = [
        html_image(partial(_errors, y[:, k], predicted[:, k], kind, name), CURVE_SIZE)
        for k, name in enumerate(names[:MOST_CURVES])
        for kind in plot_kinds
    ]
    if len(names) > MOST_CURVES:
        table += f"<p>The plots show the first {MOST_CURVES} targets.</p>"
    if len(y) > MOST_POINTS:
        table += f"<p>The plots show {MOST_POINTS} random rows of {len(y)}.</p>"
    return f'{table}<div class="curves">{"".join(pictures)}</div>'


def _errors(
    y: Targets, predicted: Targets, kind: str, name: str
) -> metrics.PredictionErrorDisplay:
    """Draw one target's predictions or residuals (`kind`) and return the display."""
    display = metrics.PredictionErrorDisplay.from_predictions(
        y,
        predicted,
        kind=kind,
        subsample=MOST_POINTS if len(y) > MOST_POINTS else None,
        random_state=0,
        scatter_kwargs={"color": color(0), "alpha": 0.6, "s": 14},
        line_kwargs=DASHED,
    )
    # The default ticks of small plots are not at round numbers.
    ticks = importlib.import_module("matplotlib.ticker")
    for axis in (display.ax_.xaxis, display.ax_.yaxis):
        axis.set_major_locator(ticks.MaxNLocator(5))
    clean_axes(display.ax_, grid="both")
    headline(display.ax_, name)
    return display


ERRORS = {
    "R²": metrics.r2_score,
    "mean absolute error": metrics.mean_absolute_error,
    "root mean squared error": metrics.root_mean_squared_error,
}
"""Functions that score predicted numbers, by the names of the scores."""


def _scores(
    answers: Answers, inner: BaseMKL, y: Targets, predicted: Targets
) -> dict[str, float]:
    """Return the scores of predictions, by name."""
    model, accuracy = answers.model, metrics.accuracy_score
    is_novelty = is_outlier_detector(model)
    if not (is_novelty or is_classifier(model)):
        scores = {name: score(y, predicted) for name, score in ERRORS.items()}
        if answers.offset is None and inner._state.deviance is None:
            return scores
        suffix = " beyond the offset" if answers.offset is not None else ""
        return {f"deviance explained{suffix}": answers("score", y)} | scores
    if y.ndim > 1:
        return {"share of rows with correct labels": accuracy(y, predicted)}
    balanced = metrics.balanced_accuracy_score(y, predicted)
    scores = {"accuracy": accuracy(y, predicted), "balanced accuracy": balanced}
    classes = getattr(model, "classes_", [-1, 1])
    if len(classes) == 2 and hasattr(model, "decision_function"):
        values, positive = answers("decision_function"), y == classes[1]
        if 0 < positive.sum() < positive.size:
            area = metrics.roc_auc_score(positive, values)
            scores["area under the ROC curve"] = area
    return scores


def scrolling(table: str) -> str:
    """Return a table that scrolls sideways if it is wider than the page."""
    return f'<div class="box">{table}</div>'


class Drawn(Protocol):
    """A display of this library or of scikit-learn, or another object with a figure."""

    @property
    def figure_(self) -> "Figure":
        """The figure with the plot."""


def html_image(
    draw: Callable[[], Drawn | SimpleNamespace], size: tuple[float, float] = (6.4, 4.8)
) -> str:
    """Call `draw`, and return the figure as an HTML image with embedded data."""
    pyplot = importlib.import_module("matplotlib.pyplot")
    with pyplot.rc_context({"figure.max_open_warning": 0, "figure.figsize": size}):
        figure: Figure = draw().figure_
        data = io.BytesIO()
        figure.savefig(data, format="png", dpi=150, bbox_inches="tight")
        pyplot.close(figure)
    text = base64.b64encode(data.getvalue()).decode()
    return f'<img alt="" src="data:image/png;base64,{text}">'
