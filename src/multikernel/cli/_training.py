"""Data, pipelines and estimators from the options of fit, path and compare."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from scipy.sparse import issparse
from sklearn.base import TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from multikernel.cli import _methods
from multikernel.cli._columns import ColumnChoice, parse_views
from multikernel.cli._features import Table, drop_options, refuse_empty
from multikernel.cli._kernels import find_kernels, with_interactions
from multikernel.cli._messages import check_choice
from multikernel.cli._requests import Training
from multikernel.cli._tables import as_times, read_table
from multikernel.cli._targets import default_target
from multikernel.estimators import TableEncoder
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.read.targets import check_groups
from multikernel.estimators.table_encoder import PERIODS
from multikernel.gram import LowRank, Storage

NEEDS_CV = (
    "{0} requires --cv, the number of folds: add it, such as --cv 5, or remove {0}."
)
"""Error message for search options without --cv."""


def requested_estimator(
    request: Training,
    method: _methods.Entry,
    table: Table,
    strength: Mapping[str, object],
    *,
    cv: bool = False,
) -> BaseMKL:
    """Return the estimator that options and table determine; if `cv`, its search."""
    task = _methods.find_task(requested_task(request), request.loss, table.y)
    requested = {"loss": request.loss, "tol": request.tol, "storage": _storage(request)}
    options = {name: value for name, value in requested.items() if value is not None}
    settings = _methods.parse_settings(request.settings or [])
    if "class_weight" in settings:
        labels = _methods.label_keys(settings["class_weight"], table.y)
        settings["class_weight"] = labels
    if unsupported := why_unsupported(method, request, table):
        reason, remedy = unsupported
        raise ValueError(
            f"--method {request.method} {reason}: {remedy}, or use another --method."
        )
    kernels = find_kernels(request, table, graphs=method.graphs)
    if request.interactions:
        kernels = with_interactions(
            kernels, request.kernels, table, graphs=method.graphs
        )
    weights = {} if method.weights is None else {"kernel_weights": method.weights}
    parameters = {"kernels": kernels, **options, **weights, **strength}
    repeated = [name for name in settings if name in parameters]
    if repeated:
        raise ValueError(
            f"--set {repeated[0]} sets a parameter that another option, such as "
            f"--method or --cv, also sets: remove --set {repeated[0]}, or that option."
        )
    if task == "ordinal" and table.order is not None:
        settings.setdefault("order", table.order)
    estimator_class = method.estimator(task, cv=cv)
    try:
        return estimator_class(**parameters, **settings)
    except TypeError as error:  # an unknown parameter
        raise ValueError(str(error)) from error


def why_unsupported(
    method: _methods.Entry, request: Training, table: Table
) -> tuple[str, str] | None:
    """Return why a method does not support a table, and what to do; None if it does."""
    options = {
        "--offset": table.offset is not None,
        "--unpenalized": table.unpenalized,
        "--view": table.views,
    }
    refused = [option for option in method.refuses if options[option]]
    if refused:
        return f"does not support {refused[0]}", f"remove {refused[0]}"
    if method.graphs and table.precomputed:
        return "requires columns", "pass a table instead of Gram matrices"
    texts = [*table.sequences, *table.categories]
    if method.graphs and texts:
        kinds = {"--category": request.category, "--sequence": request.sequence}
        named = " and ".join(option for option, names in kinds.items() if names)
        remedy = f"{f'remove {named}, and ' * bool(named)}ignore text columns"
        return "supports numeric columns only", f"{remedy}{drop_options(texts)}"
    return None


def check_folds(option: str, folds: int | None, table: Table) -> None:
    """Raise unless every fold can have a row, or a group if there are groups."""
    unit, n_units = "rows", len(table)
    if table.groups is not None:
        unit, n_units = "groups", np.unique(check_groups(table.groups, n_units)).size
    if folds is not None and n_units < 2:
        raise ValueError(
            f"{option} {folds} requires at least two {unit}, got {n_units}: pass more "
            f"{unit}, or remove {option}."
        )
    if folds is not None and not 2 <= folds <= n_units:
        raise ValueError(
            f"{option} must lie between 2 and the number of {unit}, {n_units}, got "
            f"{folds}."
        )


@contextmanager
def explain_settings(request: Training) -> Iterator[None]:
    """Turn TypeErrors into ValueErrors that name --set, if the command has --set."""
    try:
        yield
    except TypeError as error:
        if not request.settings:
            raise
        reason = str(error).rstrip(".")
        raise ValueError(
            f"A value of --set has a wrong type: {reason}. Correct this value."
        ) from error


def _storage(request: Training) -> Storage | None:
    """Return the storage from the options; None if no option sets it."""
    if request.folder is None and request.max_rank is None:
        return request.storage
    option = "--folder" if request.max_rank is None else "--max-rank"
    only_folder = request.storage is None and request.max_rank is None
    if request.storage != "low_rank" and not only_folder:
        raise ValueError(
            f"{option} requires --storage low_rank: use --storage low_rank, or remove "
            f"{option}."
        )
    folder = None if request.folder is None else str(request.folder)
    return LowRank(request.max_rank or LowRank().max_rank, folder=folder)


def requested_targets(request: Training, method: _methods.Entry) -> list[str]:
    """Return the target columns; raise if they are missing or not supported."""
    requested_task(request)  # raises before the file is read
    targets = request.target or default_target(request.data)
    return _methods.with_event(_methods.needed_targets(targets, method), request.event)


def requested_task(request: Training) -> str | None:
    """Return the task if the options determine it, else None."""
    if request.event is None:
        return request.task
    if request.task not in (None, "survival"):
        raise ValueError(
            f"--event requires --task survival, but --task is {request.task}: use "
            "--task survival, or remove --event."
        )
    return "survival"


def requested_columns(request: Training, targets: list[str]) -> ColumnChoice:
    """Return the column options of a command."""
    for period in request.period or ():
        check_choice("--period", period, PERIODS)
    if request.period and not request.date:
        raise ValueError(
            "--period requires --date: add --date with the columns of dates, or remove "
            "--period."
        )
    labels, option = _labels(request)
    lists = ("drop", "category", "sequence", "id", "date", "period", "unpenalized")
    columns: dict[str, tuple[str, ...]] = {
        name: tuple(getattr(request, name) or ()) for name in lists
    }
    return ColumnChoice(
        target=tuple(targets),
        event=request.event,
        view=parse_views(request.view or ()),
        group=request.group,
        labels=labels,
        label_option=option,
        offset=request.offset,
        **columns,
    )


def _labels(request: Training) -> tuple[bool, str]:
    """Return whether targets are classes, and the option that makes them classes."""
    task = requested_task(request)
    if task == "ordinal":
        has_order = "order" in _methods.parse_settings(request.settings or [])
        return has_order, "--set 'order=[...]'"
    if task is None and request.loss is not None:
        tasks = _methods.LOSS_TASKS.get(request.loss, _methods.USUAL)
        task = tasks[0] if len(tasks) == 1 else None
    return task == "classification", "" if task else "--task classification"


def read_whole(request: Training, targets: list[str]) -> Table:
    """Read the files of a command into memory."""
    path, *more_paths = request.data
    table = read_table(path, requested_columns(request, targets), more_paths)
    if issparse(table.X):
        raise ValueError(
            f"{path} is a sparse table. The command line predicts from sparse tables, "
            "but does not fit on them: fit and save the model in Python, for example "
            "SpicyMKLClassifier('tanimoto').fit(X, y)."
        )
    return as_times(table, request.event)


IMPUTE = ("mean", "median")
"""Ways to fill missing numbers; categories get the most frequent value."""


def _scaler(table: Table) -> TransformerMixin:
    """Return a scaler of the numeric columns, except unpenalized ones."""
    unpenalized = {*table.encoded(table.unpenalized)}
    numeric = [name for name in table.numeric if name not in unpenalized]
    return _numeric_step(StandardScaler(), table, numeric)


def _imputer(table: Table, strategy: str) -> TransformerMixin:
    """Return a step that fills missing numbers and categories."""
    imputer = SimpleImputer(strategy=strategy, keep_empty_features=True)
    max_categories = max(2, len(table.X))  # so many that no category is replaced
    category_step = TableEncoder((), max_categories, "most_frequent")
    return _numeric_step(imputer, table, table.numeric, category_step)


def _numeric_step(
    step: TransformerMixin,
    table: Table,
    numeric: list[str],
    categories: TransformerMixin | str = "passthrough",
) -> TransformerMixin:
    """Return a step that applies `step` to the columns `numeric` of data frames."""
    # Category columns get the step `categories`; all other columns pass unchanged. If
    # the table has numeric columns only and `step` is for all of them, no column
    # transformer is needed.
    if table.sequences or table.categories or len(numeric) < len(table.numeric):
        category_step = ("words", categories, [*table.categories])
        return _column_transformer(("numbers", step, numeric), category_step)
    return step.set_output(transform="pandas")


def _column_transformer(
    *steps: tuple[str, TransformerMixin | str, list[str]],
) -> ColumnTransformer:
    """Return a transformer of the given columns; other columns follow unchanged."""
    transformer = ColumnTransformer(
        [*steps], remainder="passthrough", verbose_feature_names_out=False
    )
    return transformer.set_output(transform="pandas")


def with_steps(
    estimator: BaseMKL | str, table: Table, *, scale: bool, impute: str | None = None
) -> Pipeline:
    """Return a pipeline of preprocessing steps and the estimator."""
    # Steps: encode dates, fill missing values by `impute`, standardize if `scale`.
    if impute is not None:
        check_choice("--impute", impute, IMPUTE)
    steps: list[tuple[str, TransformerMixin]] = []
    if not table.precomputed:
        number_columns = {*table.numeric} - {*table.dates}
        if impute is None:
            refuse_empty(table.X[[name for name in table.X if name in number_columns]])
        if table.dates:
            encoder = ("dates", TableEncoder(table.periods), [*table.dates])
            steps.append(("dates", _column_transformer(encoder)))
        if impute is not None:
            steps.append(("impute", _imputer(table, impute)))
        if scale:
            steps.append(("scale", _scaler(table)))
    return Pipeline([*steps, ("model", estimator)])


def transformed(
    table: Table, *, scale: bool = True, impute: str | None = None
) -> object:
    """Return the features after the steps of `with_steps` that precede the model."""
    steps = with_steps("passthrough", table, scale=scale, impute=impute)
    return steps.fit_transform(table.X)
