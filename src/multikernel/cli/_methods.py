"""The methods of the command line, one entry each."""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer, get_scorer_names

from multikernel import estimators
from multikernel.cli._messages import check_choice, note
from multikernel.cli._targets import Targets
from multikernel.estimators.base import BaseMKL
from multikernel.losses import LOSSES

USUAL = ("classification", "regression")
LOSS_TASKS = {name: kind.tasks for name, kind in LOSSES.items()}


ENDINGS: Mapping[str, str] = {
    "classification": "Classifier",
    "regression": "Regressor",
    "survival": "Survival",
    "ordinal": "Ordinal",
}
"""Endings of estimator names by task."""
TASKS = (*ENDINGS,)


SPECIAL = ("survival", "ordinal")
"""Tasks that only SpicyMKL supports."""


@dataclass(frozen=True)
class Entry:
    """The estimators of one method."""

    # Name of the method in its paper.
    title: str
    # First part of the names of the method's estimators.
    stem: str
    # Supported tasks; empty if the method has no targets.
    tasks: Sequence[str] = USUAL
    # Ending of the names of the method's searches; None if it has no search.
    search: str | None = "CV"
    # Whether the method's kernels are the nodes of a graph.
    graphs: bool = False
    # Whether the method's estimators are always searches.
    always: bool = False
    # Rule for kernel weights that are fixed before the fit.
    weights: str | None = None
    # Options that the method does not support.
    refuses: Sequence[str] = ()

    def estimator(self, task: str, *, cv: bool = False) -> type[BaseMKL]:
        """Return the estimator class for a task, or its search if `cv`."""
        if self.tasks and task not in self.tasks:
            raise ValueError(
                f"{self.title} supports {' and '.join(self.tasks)}, not {task}: "
                "choose another --method, or set --task."
            )
        if cv and self.search is None:
            raise ValueError(
                f"{self.title} has no parameter that --cv could choose: remove --cv."
            )
        searches = cv or self.always
        ending = ENDINGS[task] if self.tasks else ""
        ending += (self.search or "") if searches else ""
        estimator_class: type[BaseMKL] = getattr(estimators, self.stem + ending)
        return estimator_class


EXTRAS = ("--offset", "--unpenalized")
"""Options that some methods do not support."""

METHODS: Mapping[str, Entry] = {
    "spicy": Entry("SpicyMKL", "SpicyMKL", TASKS),
    "group-omp": Entry("Group-OMP", "GroupOMP"),
    "hkl": Entry("HKL", "HKL", graphs=True, refuses=(*EXTRAS, "--view")),
    "lp": Entry("lp-norm MKL", "LpMKL"),
    "rademacher": Entry("local Rademacher MKL", "LocalRademacherMKL"),
    "uniform": Entry("the unweighted sum", "FixedWeightsMKL"),
    "alignment": Entry(
        "centered alignment", "FixedWeightsMKL", weights="alignment", refuses=EXTRAS
    ),
    "easy": Entry(
        "EasyMKL", "FixedWeightsMKL", USUAL[:1], weights="easy", refuses=EXTRAS
    ),
    "single": Entry(
        "the best single kernel", "FixedWeightsMKL", always=True, weights="single"
    ),
    "one-class": Entry("one-class MKL", "OneClassMKL", (), search=None, refuses=EXTRAS),
}


def find_method(name: str) -> Entry:
    """Return a method by its name on the command line."""
    check_choice("--method", name, METHODS)
    return METHODS[name]


def check_scoring(name: str, offset: str | None = None) -> None:
    """Raise unless a name is a score of scikit-learn, and there is no offset."""
    if offset is not None:
        raise ValueError(
            "--scoring does not support --offset: remove --scoring or --offset."
        )
    names = get_scorer_names()
    if name not in names:
        suggestions = difflib.get_close_matches(name, names) or ["roc_auc", "r2"]
        raise ValueError(
            "--scoring must be a score of scikit-learn, such as "
            f"{' or '.join(suggestions)}; got {name!r}."
        )


def scored_by(name: str, model: BaseEstimator, X: object, y: object) -> float:
    """Return a score of scikit-learn; raise if it does not apply to the model."""
    try:
        return float(get_scorer(name)(model, X, y))
    except (AttributeError, TypeError, ValueError) as error:
        reason = str(error).rstrip(".")
        raise ValueError(
            f"--scoring {name} does not apply to this model and target ({reason}): "
            "choose another score, or remove --scoring."
        ) from error


def needed_targets(target: list[str] | None, method: Entry) -> list[str]:
    """Return the target columns; raise if they are missing or not supported."""
    if method.tasks and not target:
        raise ValueError(
            "Missing option --target: the column to predict. Add it, for example "
            "--target outcome."
        )
    if target and not method.tasks:
        raise ValueError(
            f"{method.title} does not use targets: pass the column to --drop instead "
            "of --target."
        )
    return target or []


def find_task(task: str | None, loss: str | None, y: Targets | None) -> str:
    """Return the task that the options or the targets determine."""
    tasks: Sequence[str] = TASKS
    if loss is not None:
        check_choice("--loss", loss, LOSS_TASKS)
        tasks = LOSS_TASKS[loss]
    if task is None and len(tasks) > 1:
        return _task_of_targets(y)
    option = f"--loss {loss}" if task is None else f"--task {task}"
    task = task or tasks[0]
    check_choice("--task", task, TASKS)
    if task not in tasks:
        advice = ": change one of these options"
        if task in SPECIAL:
            advice = ", which has its own loss: remove --loss"
        raise ValueError(
            f"--loss {loss} supports {' and '.join(tasks)}, but --task is "
            f"{task}{advice}."
        )
    if task == "survival" and not isinstance(y, pd.DataFrame):
        raise ValueError(
            "--task survival requires the options --target (column of the event or "
            "censoring time) and --event (column of the event indicator). For "
            "intervals, rename the columns of the file to lower and upper, and "
            "use --target lower,upper."
        )
    if task == "ordinal" and not isinstance(y, np.ndarray):
        raise ValueError(
            "--task ordinal supports one --target, got several: name one column "
            "of ordered classes."
        )
    if task in USUAL:
        _check_targets(option, task, y)
    return task


def _check_targets(option: str, task: str, y: Targets | None) -> None:
    """Raise for text targets of a regression, and for fractions as classes."""
    cells = np.asarray(y).ravel().tolist()
    texts = (cell for cell in cells if isinstance(cell, str))
    floats = (cell for cell in cells if isinstance(cell, float))
    fractions = (number for number in floats if not number.is_integer())
    invalid = next(texts if task == "regression" else fractions, None)
    if invalid is not None:
        expected = "numbers" if task == "regression" else "classes"
        raise ValueError(
            f"{option} requires {expected}, but the target holds {invalid!r}: use "
            "another --task or --loss, or correct the target."
        )


def with_event(targets: list[str], event: str | None) -> list[str]:
    """Return the target columns and, if given, the event column."""
    if event is None:
        return targets
    if not targets:
        raise ValueError(
            f"--event {event!r} requires --target, the column with the event or "
            "censoring time: add it, or remove --event."
        )
    if event in targets:
        raise ValueError(
            f"--event {event!r} is also the column of --target: name the column with "
            "the event indicator."
        )
    return [*targets, event]


def _task_of_targets(y: Targets | None) -> str:
    """Return the task that the values of targets suggest; print a note if unsure."""
    if y is None:
        return USUAL[0]
    if isinstance(y, pd.DataFrame):
        labels = np.isin(y.to_numpy(), (0, 1)).all()
        return "classification" if labels else "regression"
    if not pd.api.types.is_numeric_dtype(y) or pd.api.types.is_bool_dtype(y):
        return "classification"
    values = np.unique(y)
    if values.size > 20 or not np.all(values == values.round()):
        return "regression"
    if values.size > 2:
        note(
            f"The {values.size} different whole numbers of the target are read as "
            "classes: use --task regression for amounts, counts or years."
        )
    return "classification"


def parse_settings(settings: list[str]) -> dict[str, object]:
    """Convert ``name=value`` pairs to parameters; values are JSON or text."""
    parameters: dict[str, object] = {}
    for pair in settings:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(
                f"--set requires name=value, got {pair!r}: write, for example, --set "
                "l1_ratio=0.5."
            )
        name = name.strip()
        if name in parameters:
            raise ValueError(
                f"--set {name} is given more than once: remove all but one."
            )
        parameters[name] = _parsed_value(name, value.strip())
    # JSON reads null as None, but alpha=null requests the strength "null".
    if parameters.get("alpha", "") is None:
        parameters["alpha"] = "null"
    if "kernels" in parameters:
        raise ValueError("--set cannot set kernels: use --kernels.")
    return parameters


def _parsed_value(name: str, text: str) -> object:
    """Return a value of --set as JSON, or as text if it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.startswith(("{", "[")):
            raise ValueError(
                f"--set {name} is not valid JSON: {text[:80]!r} ({error}). Close all "
                'brackets, and put names and words in double quotes: {"0": 2.5}.'
            ) from error
        return text


def label_keys(weights: object, y: NDArray[np.generic]) -> object:
    """Return class weights by label; the keys from JSON are text, even for numbers."""
    if not isinstance(weights, Mapping):
        return weights
    labels = pd.unique(y).tolist()
    by_text = {str(label): label for label in labels}
    by_text |= {json.dumps(label): label for label in labels if isinstance(label, bool)}
    return {by_text.get(key, key): weight for key, weight in weights.items()}
