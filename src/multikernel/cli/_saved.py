"""Saved models, and the commands `multikernel score | inspect | report`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, is_outlier_detector, is_regressor

from multikernel import report as page
from multikernel._report.outcomes import Answers
from multikernel.cli import _outputs, _report
from multikernel.cli._columns import ColumnChoice
from multikernel.cli._features import Table
from multikernel.cli._large import score_of
from multikernel.cli._messages import say
from multikernel.cli._methods import check_scoring, scored_by, with_event
from multikernel.cli._requests import Inspect, Report, Saved, SavedOnData, Score
from multikernel.cli._tables import as_times, read_table
from multikernel.cli._targets import Targets, default_target
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish.columns import unused_columns
from multikernel.estimators.publish.summary import MOST_ROWS, predicts_times
from multikernel.inspection.pipelines import final_estimator
from multikernel.persistence import MAX_BYTES, load
from multikernel.persistence.places import write_to


@contextmanager
def opened_model(request: Saved) -> Iterator[BaseEstimator]:
    """Yield a saved model; raise ValueError if the file has no usable model."""
    trusted, max_bytes = request.trusted or [], request.max_bytes or MAX_BYTES
    model = load(request.model, trusted, max_bytes=max_bytes)
    try:
        final_estimator(model)
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError(
            f"{request.model} contains no fitted model ({str(error).rstrip('.')}): "
            "save a model after fit, or pass another file."
        ) from error
    try:
        yield model
    except TypeError as error:
        raise ValueError(str(error)) from error
    except (ArithmeticError, AttributeError, LookupError) as error:
        raise ValueError(
            f"The model in {request.model} is damaged or incomplete "
            f"({type(error).__name__}: {error}): fit and save it again."
        ) from error


def known_table(
    estimator: BaseEstimator,
    request: SavedOnData,
    data: Sequence[Path],
    target: list[str],
) -> Table:
    """Return a table of the columns that a model was fitted on, with the same types."""
    model = final_estimator(estimator)
    (path, *more_paths), targets = data, with_event(target, request.event)
    choice = known_choice(model, estimator, targets, request)
    needs_grams = model._state.precomputed
    is_readable = path.suffix.lower() == ".npz" or not needs_grams
    table = read_table(path, choice, more_paths) if is_readable else None
    if table is None or (needs_grams and not table.precomputed):
        raise ValueError(
            f"{request.model} was fitted on Gram matrices, but {path} has none: pass "
            "an npz file with the array K, the matrices between the new samples and "
            "those of the fit."
        )
    is_sparse = issparse(table.X) and not hasattr(model, "sparse_input_")
    if is_sparse or (table.precomputed and not needs_grams):
        content = "a sparse table" if is_sparse else "Gram matrices"
        raise ValueError(
            f"{request.model} was not fitted on {content}, but {path} holds {content}: "
            "pass a table with the columns of the fit."
        )
    table = as_times(table, request.event)
    if predicts_times(model) and table.y is not None and np.ndim(table.y) == 1:
        raise ValueError(
            f"--target {', '.join(target)} is not enough for a survival model: add "
            "--event, the column with the event indicator, or use --target lower,upper "
            "for intervals."
        )
    if table.y is not None and not predicts_times(model):
        check_targets(model, table.y)
    return table


def check_targets(model: BaseMKL, y: Targets) -> None:
    """Raise unless targets have the number and the kind that a model predicts."""
    expected = 1 if predicts_one_column(model) else len(model.output_names_)
    n_targets = 1 if np.ndim(y) == 1 else np.shape(y)[1]
    if n_targets != expected:
        raise ValueError(
            f"--target names {n_targets} column{'s' * (n_targets > 1)}, but the model "
            f"predicts {expected}: name the columns that the model predicts."
        )
    bad_target = next((cell for cell in np.ravel(y) if isinstance(cell, str)), None)
    if bad_target is not None and is_regressor(model):
        raise ValueError(
            f"The model predicts numbers, but --target holds {bad_target!r}: name the "
            "column that the model predicts."
        )


def predicts_one_column(model: BaseMKL) -> bool:
    """Return whether predictions are one column: one target, or classes."""
    has_classes = hasattr(model, "classes_") and model._state.link != "labels"
    return has_classes or len(model.output_names_) == 1


def known_choice(
    model: BaseMKL,
    estimator: BaseEstimator,
    targets: Sequence[str],
    request: SavedOnData,
) -> ColumnChoice:
    """Return the column options that a fitted model and a command determine."""
    if request.event is not None and not predicts_times(model):
        raise ValueError(
            f"--event requires a survival model, got {type(model).__name__}: remove "
            "--event."
        )
    if (
        request.offset is not None
        and "offset" not in signature(model.predict).parameters
    ):
        raise ValueError(
            f"--offset is not supported by {type(model).__name__}: remove --offset."
        )
    names = getattr(estimator, "feature_names_in_", None)
    feature_names = None if names is None else tuple(map(str, names))
    date_step = getattr(estimator, "named_steps", {}).get("dates")
    # The step's first transformer has the date columns, see `with_steps`.
    dates = () if date_step is None else tuple(date_step.transformers_[0][2])
    number_columns = {*(feature_names or ())} - {*dates}
    unused = tuple(name for name in unused_columns(model) if name in number_columns)
    for option, named in (("--target", targets), ("--drop", request.drop or ())):
        features = {*named} & {*(feature_names or ())} - {*unused}
        if features:
            raise ValueError(
                f"{option} {min(features)} is a feature of the model, which requires "
                "it: name another column."
            )
    sequences, categories = (
        tuple(str(model.feature_names_in_[c]) for c in getattr(model, attribute, ()))
        for attribute in ("sequence_features_", "category_features_")
    )
    labels = zip(categories, getattr(model, "categories_", ()), strict=False)
    texts = [name for name, values in labels if values.dtype.kind == "U"]
    classes = np.asarray(getattr(model, "classes_", ()))
    return ColumnChoice(
        tuple(targets),
        event=request.event,
        drop=tuple(request.drop or ()),
        category=categories,
        sequence=sequences,
        labels=hasattr(model, "classes_"),
        texts=(*texts, *(targets if classes.dtype.kind in "OU" else ())),
        id=tuple(request.id or ()),
        offset=request.offset,
        date=dates,
        unused=unused,
        only=feature_names,
    )


def run_score(request: Score) -> None:
    """Score a model on the rows of files."""
    _outputs.find_output(None, [request.model, *request.data])
    targets = request.target or default_target(request.data)
    if not targets:
        raise ValueError(
            "Missing option --target: the column of true targets. Add it, for example "
            "--target outcome."
        )
    with opened_model(request) as estimator:
        if is_outlier_detector(estimator):
            raise ValueError("A one-class model has no score: use the command predict.")
        table = known_table(estimator, request, request.data, targets)
        score, measure = _score(estimator, table, request)
        has_several = table.y.ndim == 2 and measure != "concordance"
        has_several &= request.scoring is None and table.offset is None
        scores = _scores_of_targets(estimator, table) if has_several else {}
    if request.json:
        report = {"samples": len(table), "measure": measure, "score": score}
        _outputs.print_json(report | ({"scores": scores} if scores else {}))
        return
    say(f"{measure} on {len(table)} samples: {score:.6g}")
    for name, value in scores.items():
        say(f"{name}: {value:.6g}")


def _score(estimator: BaseEstimator, table: Table, request: Score) -> tuple[float, str]:
    """Return the score of a model and the name of the score."""
    name = request.scoring
    if name is None:
        score = Answers(estimator, table.X, table.offset)("score", table.y)
        return float(score), _report.score_name(final_estimator(estimator))
    check_scoring(name, request.offset)
    return scored_by(name, estimator, table.X, table.y), name


def _scores_of_targets(estimator: BaseEstimator, table: Table) -> dict[str, float]:
    """Return the score of each target or label, by name."""
    pairs = zip(np.asarray(table.y).T, estimator.predict(table.X).T, strict=True)
    names = final_estimator(estimator).output_names_
    scores = [score_of(estimator, target, prediction) for target, prediction in pairs]
    return dict(zip(names, scores, strict=True))


def run_inspect(request: Inspect) -> None:
    """Print the facts, parameters and kernels of a saved model."""
    # This raises if standard output is the file of the model.
    _outputs.find_output(None, [request.model])
    with opened_model(request) as estimator:
        report = _report.model_report(estimator)
        if request.json:
            _outputs.print_json(report)
            return
        facts = _report.chosen_parameters(report) | _report.diagnostics(report)
        _outputs.print_facts(facts, report["estimator"])
        _outputs.print_facts(report["parameters"], "parameters")
        _report.print_kernels(report, request.rows or MOST_ROWS)


def run_report(request: Report) -> None:
    """Write the HTML report of a saved model."""
    destination = _outputs.find_output(request.output, [request.model, request.data])
    with opened_model(request) as estimator:
        table = known_table(estimator, request, [request.data], request.target or [])
        text = page(estimator, table.X, table.y, offset=table.offset)
    write_to(destination, text.encode())
    if _outputs.file_name(request.output, destination) is not None:
        say(f"Written to {request.output}.")
