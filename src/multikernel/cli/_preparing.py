"""Steps before a model: dates, missing values and scales."""

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from multikernel.cli._features import Table, refuse_empty
from multikernel.cli._messages import check_choice
from multikernel.estimators import TableEncoder

IMPUTE = ("mean", "median")
"""Ways to fill missing numbers; categories get the most frequent value."""


def scaler(table: Table) -> Any:
    """Return a scaler of the numeric columns, except unpenalized ones."""
    free = {*table.encoded(table.unpenalized)}
    numbers = [name for name in table.numbers if name not in free]
    return _of_numbers(StandardScaler(), table, numbers)


def _filler(table: Table, strategy: str) -> Any:
    """Return a step that fills missing numbers and categories."""
    numbers = SimpleImputer(strategy=strategy, keep_empty_features=True)
    max_categories = max(2, len(table.X))
    words = TableEncoder((), max_categories, "most_frequent")
    return _of_numbers(numbers, table, table.numbers, words)


def _dates(table: Table) -> Any:
    """Return a step that encodes dates as numbers."""
    return _on_columns(("dates", TableEncoder(table.periods), [*table.dates]))


def _of_numbers(
    step: Any, table: Table, numbers: list[str], words: Any = "passthrough"
) -> Any:
    """Return a step that transforms the numeric columns and keeps column names."""
    if table.sequences or table.categories or len(numbers) < len(table.numbers):
        on_words = ("words", words, [*table.categories])
        return _on_columns(("numbers", step, numbers), on_words)
    return step.set_output(transform="pandas")


def _on_columns(*steps: tuple[str, Any, list[str]]) -> ColumnTransformer:
    """Return a transformer of the given columns; other columns follow unchanged."""
    transformer = ColumnTransformer(
        [*steps], remainder="passthrough", verbose_feature_names_out=False
    )
    return transformer.set_output(transform="pandas")


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
        refuse_empty(numbers)
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
