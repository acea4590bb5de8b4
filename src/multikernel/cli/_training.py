"""Estimators and data from the options of fit, path and compare."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse

from multikernel.cli._columns import ColumnChoice, parse_views
from multikernel.cli._features import Table
from multikernel.cli._kernels import SequenceChoice, find_kernels, with_interactions
from multikernel.cli._messages import check_choice
from multikernel.cli._methods import (
    LOSS_TASKS,
    USUAL,
    Entry,
    find_task,
    label_keys,
    needed_targets,
    parse_settings,
    with_event,
)
from multikernel.cli._requests import Compare, Fit, Training
from multikernel.cli._tables import as_times, read_table
from multikernel.cli._targets import default_target
from multikernel.estimators.parameters import SIMPLEST
from multikernel.estimators.table_encoder import PERIODS
from multikernel.gram import LowRank, Storage

OPTIONS: Mapping[str, str] = {"alpha": "--alpha", "C": "-C", "p": "-p"}
"""Options of the strengths."""


def asked_estimator(
    asked: Training,
    method: Entry,
    table: Table,
    strength: Mapping[str, Any],
    *,
    cv: bool = False,
) -> Any:
    """Return the estimator that the options and the table determine."""
    task = find_task(asked_task(asked), asked.loss, table.y)
    storage = configured_storage(asked)
    wanted = {"loss": asked.loss, "tol": asked.tol, "storage": storage}
    options = {name: value for name, value in wanted.items() if value is not None}
    settings = parse_settings(asked.settings or [])
    if "class_weight" in settings:
        settings["class_weight"] = label_keys(settings["class_weight"], table.y)
    sequences = SequenceChoice(
        asked.sequence_kernels, asked.alphabet, asked.skip_letters, asked.ignore_case
    )
    kernels = find_kernels(asked.kernels, table, sequences, graphs=method.graphs)
    if asked.interactions:
        kernels = with_interactions(kernels, asked.kernels, table, graphs=method.graphs)
    parameters = {"kernels": kernels, **options, **method.parameters}
    repeated = [name for name in settings if name in {**parameters, **strength}]
    if repeated:
        raise ValueError(f"--set {repeated[0]} repeats an option: remove one of them.")
    kind = method.estimator(task, cv=cv)
    return make_estimator(kind, {**parameters, **settings, **strength})


def check_folds(option: str, folds: int | None, table: Table) -> None:
    """Raise unless every fold can have a row, or a group if there are groups."""
    groups = table.groups
    what, most = "rows", len(table)
    if groups is not None:
        what, most = "groups", len(np.unique(groups))
    if folds is not None and not 2 <= folds <= most:
        raise ValueError(
            f"{option} must lie between 2 and the number of {what}, {most}; got "
            f"{folds}."
        )


@contextmanager
def blaming_settings(asked: Training) -> Iterator[None]:
    """Raise type errors as errors of --set, as only its values are not validated."""
    try:
        yield
    except TypeError as error:
        if not asked.settings:
            raise
        raise ValueError(f"A value of --set is not accepted: {error}") from error


def configured_storage(asked: Training) -> Storage | None:
    """Return the storage with its rank and folder."""
    if asked.max_rank is not None and asked.storage != "low_rank":
        raise ValueError("--max-rank requires --storage low_rank.")
    if asked.folder is None and asked.max_rank is None:
        return asked.storage
    if asked.storage not in (None, "low_rank"):
        raise ValueError("--folder requires --storage low_rank.")
    folder = None if asked.folder is None else str(asked.folder)
    return LowRank(asked.max_rank or LowRank().max_rank, folder=folder)


def simplest(asked: Fit | Compare) -> dict[str, str]:
    """Return the search parameter for the rule of one standard error, if asked for."""
    if not asked.one_standard_error:
        return {}
    if asked.cv is None:
        raise ValueError("--one-standard-error requires --cv.")
    return {"refit": SIMPLEST}


def asked_targets(asked: Training, method: Entry) -> list[str]:
    """Return the target columns; raise if they are missing or not supported."""
    asked_task(asked)  # raises before the file is read
    targets = needed_targets(asked.target or default_target(asked.data), method)
    return with_event(targets, asked.event)


def asked_task(asked: Training) -> str | None:
    """Return the task if the options determine it, else None."""
    if asked.event is None:
        return asked.task
    if asked.task not in (None, "survival"):
        raise ValueError(
            f"--event requires --task survival, got {asked.task}: remove one of them."
        )
    return "survival"


def asked_columns(asked: Training, targets: list[str]) -> ColumnChoice:
    """Return the column options of a command."""
    views = parse_views(asked.view or ())
    categories, sequences = tuple(asked.category or ()), tuple(asked.sequence or ())
    labels, option = _labels(asked)
    return ColumnChoice(
        tuple(targets),
        tuple(asked.drop or ()),
        views,
        categories,
        asked.group,
        sequences,
        labels,
        option,
        ids=tuple(asked.id or ()),
        offset=asked.offset,
        dates=tuple(asked.date or ()),
        periods=_periods(asked),
        unpenalized=tuple(asked.unpenalized or ()),
    )


def _periods(asked: Training) -> tuple[str, ...]:
    """Return the periods of dates; raise for unknown ones."""
    for period in asked.period or ():
        check_choice("--period", period, PERIODS)
    if asked.period and not asked.date:
        raise ValueError("--period requires --date: name the columns of dates.")
    return tuple(asked.period or ())


def _labels(asked: Training) -> tuple[bool, str]:
    """Return whether targets are classes, and the option that makes them classes."""
    task = asked_task(asked)
    if task == "ordinal":
        ordered = "order" in parse_settings(asked.settings or [])
        return ordered, "--set 'order=[...]'"
    if task is None and asked.loss is not None:
        tasks = LOSS_TASKS.get(asked.loss, USUAL)
        task = tasks[0] if len(tasks) == 1 else None
    return task == "classification", "" if task else "--task classification"


def read_whole(asked: Training, targets: list[str]) -> Table:
    """Read the files of a command into memory."""
    first, *others = asked.data
    table = read_table(first, asked_columns(asked, targets), others)
    if issparse(table.X):
        raise ValueError(
            f"{first} is a sparse table, which commands predict for and do not train "
            "on: fit and save the model in Python, for example "
            "SpicyMKLClassifier('tanimoto').fit(X, y)."
        )
    return as_times(table, asked.event)


def make_estimator(kind: type, parameters: Mapping[str, Any]) -> Any:
    """Return an estimator; raise ValueError for an unknown parameter."""
    try:
        return kind(**parameters)
    except TypeError as error:
        raise ValueError(str(error)) from error
