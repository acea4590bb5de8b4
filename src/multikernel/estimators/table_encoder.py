"""A transformer that encodes dates and text in data frames for kernels."""

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from multikernel._install import REFERENCE
from multikernel._typing import Array
from multikernel._validation import Number, OneOf, check_parameter, listed
from multikernel.estimators.read.doubts import warn_unseen
from multikernel.estimators.read.kinds import DATES, TEXT, kinds_of
from multikernel.estimators.read.numbers import refuse_shared_names, require_table
from multikernel.kernels.sequence.tables import CATEGORIES

if TYPE_CHECKING:
    from pandas import DataFrame, Series

PERIODS = {"day": 1.0, "week": 7.0, "month": 30.436875, "year": 365.2425}
"""Lengths of periods in days; for months and years, means over the calendar."""

OTHER = "(other)"
"""Category that replaces the rare values of a column."""

DATE = re.compile(r"\d{4}-\d\d-\d\d")
"""Pattern of the first characters of a date in text."""

CATEGORICAL, UNCHANGED = "words", "rest"
"""Values of ``kinds_`` for columns other than dates."""

MOST_FREQUENT = "most_frequent"
"""The value of parameter ``missing`` that fills in missing text."""


class TableEncoder(TransformerMixin, BaseEstimator):
    r"""Encode dates as numbers, and text as categories, in a pandas data frame.

    A date becomes a decimal year, 1970 + t / 365.2425, where t is the number of days
    since 1970-01-01. For each period of p days, a date also becomes the two numbers
    :math:`\cos 2 \pi t / p` and :math:`\sin 2 \pi t / p`; a Gaussian kernel on both is
    periodic in t. Rare values of text become "(other)".

    Parameters
    ----------
    periods : sequence of {"day", "week", "month", "year"}, default=()
        Periods that are encoded for every column of dates.
    max_categories : int, default=100
        Maximum number of categories of a text column, at least 2. One of them is
        "(other)", which replaces rarer values and values not seen in fit.
    missing : {"keep", "most_frequent"}, default="keep"
        "most_frequent" replaces missing text and categories by the most frequent value
        of the column in the fit; "keep" leaves them missing, for models with
        `Views`. Missing numbers and dates always stay missing.

    Attributes
    ----------
    kinds_ : dict from str to {"dates", "words", "rest"}
        Kinds of the columns: "dates" (also text, if all values are ISO 8601 dates),
        "words" (other text, and categories), or "rest" (unchanged).
    categories_ : dict from str to tuple or None
        By column of text, the values that are not replaced by "(other)"; None if no
        value of the column is replaced.
    rare_values_ : dict from str to tuple
        By column with too many values, the training values that "(other)" replaces.
    fill_values_ : dict from str to str or float
        By column, the value that replaces missing text; empty if ``missing="keep"``.
    zoned_dates_ : list of str
        Date columns with a time zone; these are converted to UTC.
    feature_names_in_ : ndarray of str
        Names of the columns.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from multikernel import TableEncoder
    >>> X = pd.DataFrame({
    ...     "sold": pd.to_datetime(["2024-01-01", "2024-01-08", "2024-01-11"]),
    ...     "shop": ["a", "a", "b"],
    ... })
    >>> TableEncoder(periods=["week"]).fit_transform(X).round(2)
          sold  sold week cos  sold week sin shop
    0  2024.00           -0.9          -0.43    a
    1  2024.02           -0.9          -0.43    a
    2  2024.03            1.0           0.00    b
    """

    _doc_link_module, _doc_link_template = REFERENCE

    def __init__(
        self,
        periods: Sequence[str] = (),
        max_categories: int = 100,
        missing: str = "keep",
    ) -> None:
        self.periods = periods
        self.max_categories = max_categories
        self.missing = missing

    def fit(self, X: "DataFrame", y: object = None) -> Self:
        """Determine the kinds of columns, and the frequent values of text.

        Parameters
        ----------
        X : pandas DataFrame of shape (n_samples, n_features)
            The table.
        y : object, default=None
            Ignored.

        Returns
        -------
        self : TableEncoder

        Raises
        ------
        TypeError
            If X is not a pandas data frame.
        ValueError
            If a parameter is invalid, or two encoded columns would have the same name.
        """
        owner = type(self).__name__
        check_parameter(owner, "periods", self.periods, _check_periods)
        at_least_two = Number(2, integer=True)
        check_parameter(owner, "max_categories", self.max_categories, at_least_two)
        check_parameter(owner, "missing", self.missing, OneOf(("keep", MOST_FREQUENT)))
        _check_frame(owner, X)
        pairs = zip(X.columns, kinds_of(X), strict=True)
        self.kinds_ = {name: _encoding(X[name], kind) for name, kind in pairs}
        kinds = self.kinds_.items()
        text_columns = [name for name, kind in kinds if kind == CATEGORICAL]
        date_columns = [name for name, kind in kinds if kind == DATES]
        ranked = {name: _values_by_frequency(X[name]) for name in text_columns}
        n_frequent, fill = self.max_categories - 1, self.missing == MOST_FREQUENT
        long = {name: v for name, v in ranked.items() if len(v) > n_frequent + 1}
        for name, values in long.items():
            if len({*map(str, values)}) < len(values):
                raise ValueError(
                    f"Column {name!r} holds different values with the same text, such "
                    "as 1 and '1': convert all values of the column to text."
                )
        self.categories_ = dict.fromkeys(text_columns) | {
            name: tuple(values[:n_frequent]) for name, values in long.items()
        }
        self.rare_values_ = {name: tuple(v[n_frequent:]) for name, v in long.items()}
        self.fill_values_ = {name: v[0] for name, v in ranked.items() if v and fill}
        self.zoned_dates_ = [name for name in date_columns if _has_zone(X[name])]
        self.feature_names_in_ = np.array(list(X.columns), dtype=object)
        self.n_features_in_ = len(X.columns)
        refuse_shared_names(self.get_feature_names_out(), "the encoded table")
        return self

    def transform(self, X: "DataFrame") -> "DataFrame":
        """Return the table with dates as numbers and text as categories.

        Parameters
        ----------
        X : pandas DataFrame of shape (n_samples, n_features)
            A table with the columns of the fit.

        Returns
        -------
        encoded : pandas DataFrame of shape (n_samples, n_encoded)
            Missing values stay missing, except in the columns in `fill_values_`.

        Raises
        ------
        ValueError
            If columns differ from those in ``fit``, or values of a date column are not
            dates.

        Warns
        -----
        multikernel.exceptions.DataWarning
            If values not seen in ``fit`` become "(other)".
        """
        check_is_fitted(self)
        _check_frame(type(self).__name__, X)
        _check_columns(type(self).__name__, list(X.columns), list(self.kinds_))
        effect = f"which become {OTHER!r}"
        warn_unseen(type(self).__name__, len(X), self._unseen_values(X), effect)
        encoded: dict[str, object] = {}
        for name, kind in self.kinds_.items():
            if kind == DATES:
                encoded |= self._encoded_dates(name, X[name])
            elif kind == CATEGORICAL:
                fill = self.fill_values_.get(name)
                encoded[name] = _as_categories(X[name], self.categories_[name], fill)
            else:
                encoded[name] = X[name]
        return type(X)(encoded, index=X.index)

    def get_feature_names_out(
        self, input_features: object = None
    ) -> NDArray[np.object_]:
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features : object, default=None
            Ignored; names come from the fit.

        Returns
        -------
        names : ndarray of str, shape (n_encoded,)
        """
        check_is_fitted(self)
        names: list[str] = []
        for name, kind in self.kinds_.items():
            names += [name, *self._cycle_names(name)] if kind == DATES else [name]
        return np.array(names, dtype=object)

    def _unseen_values(self, X: "DataFrame") -> dict[str, list[Hashable]]:
        """Return the values not seen in `fit` that become "(other)", by column."""
        # In columns without "(other)", new values remain, and the estimator warns.
        unseen = {}
        for name, rare_values in self.rare_values_.items():
            seen_values = {*(self.categories_[name] or ()), *rare_values}
            values = [
                v for v in X[name][X[name].notna()].tolist() if v not in seen_values
            ]
            if values:
                unseen[repr(name)] = values
        return unseen

    def _cycle_names(self, name: str) -> list[str]:
        """Return the names of the cosine and sine columns of a date column."""
        return [f"{name} {p} {f}" for p in self.periods for f in ("cos", "sin")]

    def _encoded_dates(self, name: str, column: "Series") -> dict[str, Array]:
        """Return the encoded columns of a date column, with their names as keys."""
        days = _days(column)
        if days is None:
            raise ValueError(
                f"Column {name!r} held dates in fit, but in transform it is empty or "
                "has values that are not dates: correct the column, or fit again."
            )
        has_zone, had_zone = _has_zone(column), name in self.zoned_dates_
        if column.notna().any() and has_zone != had_zone:
            raise ValueError(
                f"Column {name!r} has {'a' if has_zone else 'no'} time zone, unlike in "
                "fit: convert the dates, for example with .dt.tz_localize"
                f"({None if has_zone else 'UTC'!r})."
            )
        encoded = {name: 1970.0 + days / PERIODS["year"]}
        for period in self.periods:
            # Reduce to one period first: for large angles the sine would lose digits.
            angle = 2.0 * np.pi * np.remainder(days / PERIODS[period], 1.0)
            encoded[f"{name} {period} cos"] = np.cos(angle)
            encoded[f"{name} {period} sin"] = np.sin(angle)
        return encoded


def _check_periods(value: object) -> str | None:
    """Return None if `value` is a list of periods, otherwise the accepted values."""
    if isinstance(value, list | tuple) and all(period in PERIODS for period in value):
        return None
    return f"a list of some of {', '.join(map(repr, PERIODS))}"


def _check_columns(owner: str, columns: list[Hashable], fitted: list[Hashable]) -> None:
    if columns == fitted:
        return
    missing = [name for name in fitted if name not in columns]
    added = [name for name in columns if name not in fitted]
    differences = [f"lacks the columns {listed(missing)}"] * bool(missing)
    differences += [f"has the new columns {listed(added)}"] * bool(added)
    difference = " and ".join(differences) or "has the columns in another order"
    raise ValueError(
        f"X {difference}, but {owner} was fitted on {listed(fitted)}: pass the same "
        "columns in the same order."
    )


def _check_frame(owner: str, X: object) -> None:
    """Raise unless data are a pandas data frame whose columns have distinct names."""
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        raise TypeError(
            f"{owner} requires a pandas data frame, got {type(X).__name__}: convert "
            "it first, for polars by X.to_pandas()."
        )
    require_table(X, "X")


def _encoding(column: "Series", kind: str) -> str:
    """Return the entry of ``kinds_`` for a column that `kinds_of` calls `kind`."""
    # Categorical columns are categories, even if the values are dates.
    if kind == CATEGORIES:
        return CATEGORICAL
    if kind in (DATES, TEXT) and _days(column) is not None:
        return DATES
    return CATEGORICAL if kind == TEXT else UNCHANGED


def _days(column: "Series") -> Array | None:
    """Return dates as days since 1970, nan if missing; None if some are not dates."""
    is_arrow = hasattr(column.dtype, "pyarrow_dtype")
    if getattr(column.dtype, "kind", "") == "M" and not is_arrow:
        zone = getattr(column.dtype, "tz", None)
        column = column.dt.tz_convert("UTC").dt.tz_localize(None) if zone else column
        times = column.to_numpy(dtype="datetime64[us]")
    else:
        values = column[column.notna()].tolist()
        # Dates of Arrow and Python are objects, not text: convert them to ISO 8601.
        values = [v.isoformat() if isinstance(v, date) else v for v in values]
        # Require DATE, because datetime.fromisoformat also reads text such as 20240101.
        if not values or not all(isinstance(v, str) and DATE.match(v) for v in values):
            return None
        times = np.full(len(column), "NaT", dtype="datetime64[us]")
        try:
            times[column.notna().to_numpy()] = [_parse_time(text) for text in values]
        except ValueError:  # not ISO 8601
            return None
    days = times.astype(np.int64) / 86_400e6
    return np.where(np.isnat(times), np.nan, days)


def _has_zone(column: "Series") -> bool:
    """Return whether the first date of a column has a time zone."""
    value = next(iter(column[column.notna()].tolist()), None)
    value = datetime.fromisoformat(value) if isinstance(value, str) else value
    return getattr(value, "tzinfo", None) is not None


def _parse_time(text: str) -> datetime:
    """Return the time of a text (ISO 8601), in UTC if it has a time zone."""
    time = datetime.fromisoformat(text)
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def _values_by_frequency(column: "Series") -> list[Hashable]:
    """Return the values of a column, the most frequent first."""
    counts = Counter(column[column.notna()].tolist())
    # Sort values of equal frequency alphabetically.
    return sorted(counts, key=lambda value: (-counts[value], str(value)))


def _as_categories(
    column: "Series", categories: tuple[Hashable, ...] | None, fill: Hashable
) -> "Series":
    """Return a categorical column; values not in `categories` become "(other)"."""
    if fill is not None and column.isna().any():
        column = column.astype(object).where(column.notna(), fill)
    if categories is not None:
        # Convert numbers to text, because "(other)" is text.
        names = {value: str(value) for value in categories}
        column = column.astype(object).map(
            lambda value: names.get(value, OTHER), na_action="ignore"
        )
    return column.astype("category")
