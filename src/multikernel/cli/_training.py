"""Estimators and data from the options of fit, path and compare."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from multikernel.cli._columns import (
    SPECTRA,
    ColumnChoice,
    KernelSet,
    SequenceChoice,
    kernels_on,
    parse_views,
    view_kernels,
)
from multikernel.cli._frames import refuse_empty
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
from multikernel.cli._tables import Table, as_times, read_table
from multikernel.cli._targets import default_target
from multikernel.estimators import TableEncoder
from multikernel.estimators.parameters import SIMPLEST
from multikernel.estimators.read.kinds import Sheet, default_texts
from multikernel.estimators.table_encoder import PERIODS
from multikernel.gram import LowRank, Storage
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Interactions,
    LinearKernel,
    ParameterGrid,
    TanimotoKernel,
    Unpenalized,
)
from multikernel.kernels.graph import (
    AnovaGrid,
    HermiteGrid,
    KernelGraph,
    PolynomialGrid,
)
from multikernel.kernels.sequence.tables import SEQUENCES

OPTIONS: Mapping[str, str] = {"alpha": "--alpha", "C": "-C", "p": "-p"}
"""Options of the strengths."""

IMPUTE = ("mean", "median")
"""Ways to fill missing numbers; categories get the most frequent value."""

# Widths for standardized columns, from wiggly to nearly linear functions.
GAUSSIANS = tuple(GaussianKernel(width) for width in (0.5, 1.0, 2.0, 5.0))
# Kernels, and whether each column gets its own; None is the estimators' own choice.
KERNELS: Mapping[str, KernelSet | None] = {
    "default": None,
    "columns": (GAUSSIANS, True),
    "joint": (GAUSSIANS, False),
    "linear": ((LinearKernel(),), True),
    "tanimoto": ((TanimotoKernel(),), False),
}
# For methods that select among the nodes of a graph.
GRAPHS: Mapping[str, KernelGraph | None] = {
    "default": None,
    "polynomial": PolynomialGrid(4),
    "hermite": HermiteGrid(9),
    "subsets": AnovaGrid(),
}


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
    parameters = {"kernels": kernels, **options, **method.parameters, **settings}
    kind = method.estimator(task, cv=cv)
    return make_estimator(kind, {**parameters, **strength})


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
    """Attribute type errors to --set, whose values are the only unchecked ones."""
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


def find_kernels(
    name: str,
    table: Table,
    sequences: SequenceChoice = SPECTRA,
    *,
    graphs: bool = False,
) -> Any:
    """Return the ``kernels`` parameter for --kernels.

    `graphs` means that the method requires a graph.
    """
    check_choice("--kernels", name, GRAPHS if graphs else KERNELS)
    if table.precomputed:
        if name != "default":
            raise ValueError(
                f"--kernels {name} requires columns, but this file contains Gram "
                "matrices: remove the option."
            )
        return "precomputed"
    if graphs:
        _check_graph_columns(table)
        return GRAPHS[name]
    entry = KERNELS[name]
    if table.views:
        if table.sequences:
            raise ValueError(
                "--view cannot contain columns of --sequence: remove them from one of "
                "the options."
            )
        views = {view: table.encoded(columns) for view, columns in table.views.items()}
        return view_kernels(views, table.categories, entry) | _free_view(table)
    if table.unpenalized:
        return _beside_unpenalized(table, sequences, entry)
    if entry is None:
        return _default_kernels(table, sequences)
    if table.sequences or table.categories:
        by_column = [k for c in table.sequences for k in sequences.find(table.X, c)]
        by_column += [ColumnKernel(CategoryKernel(), c) for c in table.categories]
        return by_column + kernels_on(table.numbers, entry)
    kernels, per_column = entry
    columns = range(len(table.numbers)) if per_column else [slice(None)]
    return ParameterGrid(kernels, columns)


def _check_graph_columns(table: Table) -> None:
    """Raise unless all columns are numbers with a penalty, without views."""
    if table.unpenalized:
        raise ValueError("--method hkl does not support --unpenalized: remove it.")
    texts = [*table.sequences, *table.categories]
    if table.views or texts:
        dropped = " ".join(f"--drop '{name}'" for name in texts)
        raise ValueError(
            "--method hkl supports numeric columns only, without --view and "
            f"--category{': ignore text with ' * bool(dropped)}{dropped}."
        )


def _free_view(table: Table) -> dict[str, Unpenalized]:
    """Return a view of the unpenalized columns, empty without such columns."""
    columns = table.encoded(table.unpenalized)
    return {"unpenalized": Unpenalized(columns)} if columns else {}


def _beside_unpenalized(
    table: Table, sequences: SequenceChoice, entry: KernelSet | None
) -> dict[str, Any]:
    """Return views: unpenalized columns, each sequence, and all other columns."""
    views: dict[str, Any] = {
        c: (c, sequences.find(table.X, c)) for c in table.sequences
    }
    free = {*table.encoded(table.unpenalized)}
    words = [c for c in table.categories if c not in free]
    others = [c for c in table.numbers if c not in free] + words
    if others:
        views |= view_kernels({"other columns": others}, words, entry)
    return views | _free_view(table)


def with_interactions(
    kernels: Any, name: str, table: Table, *, graphs: bool
) -> Interactions:
    """Return the ``kernels`` parameter with interactions."""
    if graphs:
        raise ValueError(
            "--interactions cannot be used with --method hkl, whose graphs already "
            "contain interactions of all orders: remove it."
        )
    if table.precomputed:
        raise ValueError(
            "--interactions requires columns, but this file contains Gram matrices: "
            "add products of the matrices to the file instead."
        )
    if name == "joint" and not (table.views or table.sequences or table.categories):
        raise ValueError(
            "--interactions requires kernels on different columns, but --kernels "
            "joint acts on all columns: use --kernels default or columns, or --view."
        )
    return Interactions(kernels)


def _default_kernels(table: Table, sequences: SequenceChoice) -> Any:
    """Return None if the estimator's default applies, else views of the columns."""
    if not table.sequences:
        return None
    kinds, _ = default_texts(Sheet(table.X))
    sure = {table.X.columns[c] for c, kind in kinds.items() if kind == SEQUENCES}
    if sequences == SPECTRA and sure == {*table.sequences}:
        return None
    by_column = {c: sequences.find(table.X, c) for c in table.sequences}
    if not (others := table.numbers + list(table.categories)):
        return [ColumnKernel(kernel, c) for c in by_column for kernel in by_column[c]]
    views: dict[str, Any] = {c: (c, kernels) for c, kernels in by_column.items()}
    return {"other columns": others} | views


def make_estimator(kind: type, parameters: Mapping[str, Any]) -> Any:
    """Return an estimator; raise ValueError for an unknown parameter."""
    try:
        return kind(**parameters)
    except TypeError as error:
        raise ValueError(str(error)) from error


def scaler(table: Table) -> Any:
    """Return a scaler of the numeric columns, except unpenalized ones."""
    free = {*table.encoded(table.unpenalized)}
    numbers = [name for name in table.numbers if name not in free]
    return _of_numbers(StandardScaler(), table, numbers)


def _filler(table: Table, strategy: str) -> Any:
    """Return a step that fills missing numbers and categories."""
    numbers = SimpleImputer(strategy=strategy, keep_empty_features=True)
    every = max(2, len(table.X))
    words = TableEncoder((), every, "most_frequent")
    return _of_numbers(numbers, table, table.numbers, words)


def _dates(table: Table) -> Any:
    """Return a step that encodes dates as numbers."""
    encoder = TableEncoder(table.periods)
    step = ColumnTransformer(
        [("dates", encoder, [*table.dates])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    return step.set_output(transform="pandas")


def _of_numbers(
    step: Any, table: Table, numbers: list[str], words: Any = "passthrough"
) -> Any:
    """Return a step for the numeric columns that keeps column names."""
    if table.sequences or table.categories or len(numbers) < len(table.numbers):
        step = ColumnTransformer(
            [("numbers", step, numbers), ("words", words, [*table.categories])],
            remainder="passthrough",
            verbose_feature_names_out=False,
        )
    return step.set_output(transform="pandas")


def preparation(
    table: Table, *, scale: bool, impute: str | None = None
) -> list[tuple[str, Any]]:
    """Return the pipeline steps before a model; none for Gram matrices."""
    if impute is not None:
        check_choice("--impute", impute, IMPUTE)
    if table.precomputed:
        return []
    if impute is None:
        plain = {*table.numbers} - {*table.dates}
        numbers = table.X[[name for name in table.X if name in plain]]
        refuse_empty(numbers, np.asarray(numbers.count()))
    steps = [("dates", _dates(table))] if table.dates else []
    steps += [] if impute is None else [("impute", _filler(table, impute))]
    return [*steps, ("scale", scaler(table))] if scale else steps


def prepared(table: Table, *, scale: bool = True, impute: str | None = None) -> Any:
    """Return the features after the preparation steps."""
    steps = with_scaling("passthrough", table, scale=scale, impute=impute)
    return steps.fit_transform(table.X)


def with_scaling(
    estimator: Any, table: Table, *, scale: bool, impute: str | None = None
) -> Pipeline:
    """Return a pipeline of the preparation steps and the estimator."""
    return Pipeline(
        [*preparation(table, scale=scale, impute=impute), ("model", estimator)]
    )
