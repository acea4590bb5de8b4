"""Reads times to an event, observed or within an interval, in the user's format."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices, Mask
from multikernel._validation import listed
from multikernel.estimators.read.kinds import column_values, is_missing, names_of
from multikernel.estimators.read.numbers import open_data
from multikernel.estimators.read.targets import as_table, read_exactly

FORMS = (
    "a structured array with a field of booleans (whether the event was observed) and "
    "a field of times, two columns 'event' and 'time', or two columns 'lower' and "
    "'upper' between which the event occurred"
)


@dataclass(frozen=True, eq=False)
class Times:
    """Intervals that contain the times of events."""

    # Both bounds are equal for an exact time; `upper` is infinite for a right-censored
    # time, and `lower` is zero for a left-censored time.
    lower: Array
    upper: Array

    @property
    def seen(self) -> Mask:
        """A mask of the samples whose event was seen: the upper bound is finite."""
        return np.isfinite(self.upper)

    @property
    def logs(self) -> tuple[Array, Array]:
        """The logarithms of the lower and of the upper bounds."""
        with np.errstate(divide="ignore"):
            return np.log(self.lower), np.log(self.upper)

    def distinct(self) -> tuple["Times", Indices]:
        """Return the distinct intervals, and the index of each sample's interval."""
        # Fits use these indices as targets, so copies of a sample have equal targets.
        bounds = np.stack([self.lower, self.upper], axis=1)
        rows, positions = np.unique(bounds, axis=0, return_inverse=True)
        return Times(rows[:, 0], rows[:, 1]), positions.reshape(-1)

    def structured(self) -> NDArray[np.void]:
        """Return a structured array of ``event`` and ``time``, or of both bounds."""
        is_exact = (self.lower == self.upper) | ~self.seen
        if is_exact.all():
            table = np.empty(len(self.lower), dtype=[("event", bool), ("time", float)])
            table["event"], table["time"] = self.seen, self.lower
            return table
        table = np.empty(len(self.lower), dtype=[("lower", float), ("upper", float)])
        table["lower"], table["upper"] = self.lower, self.upper
        return table


def read_times(owner: str, y: object) -> Times:
    """Return the validated times of events; raise if they are invalid."""
    # The two columns of y are event indicators and event or censoring times, or lower
    # and upper bounds.
    columns = _two_columns(owner, y)
    names = {name.lower(): name for name in columns if isinstance(name, str)}
    if {"lower", "upper"} <= names.keys():
        bounds = [names["lower"], names["upper"]]
        return _intervals(owner, *(_read_times(owner, columns[k], k) for k in bounds))
    if {"event", "time"} <= names.keys():
        event, time = names["event"], names["time"]
    else:
        event, time = columns
        # Without these names, the column of booleans is the event indicator.
        if _is_boolean(columns[time]) and not _is_boolean(columns[event]):
            event, time = time, event
    is_observed = _read_events(owner, columns[event], event)
    values = _read_times(owner, columns[time], time)
    invalid = np.flatnonzero(~((values > 0.0) & np.isfinite(values)))
    if invalid.size:
        raise ValueError(
            f"{owner}: times must be positive and finite, but y has "
            f"{values[invalid[0]]:g} at row {invalid[0]}: remove this row, or correct "
            "it. For a time of zero, use half of the smallest unit, such as 0.5 days."
        )
    return Times(values, np.where(is_observed, values, np.inf))


def _two_columns(owner: str, y: Any) -> dict[Any, Array]:
    """Return the two columns of y by name, or by number if they have no names."""
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, got None: pass {FORMS}.")
    if getattr(getattr(y, "dtype", None), "names", None):
        columns = {name: open_data(y[name], f"y[{name!r}]") for name in y.dtype.names}
    elif (names := names_of(y)) is not None:
        columns = {name: column_values(y[name]) for name in names}
    else:
        table = as_table(y, "y")
        if table.ndim != 2:
            raise ValueError(
                f"{owner}: y has shape {table.shape}, but must be {FORMS}."
            )
        columns = dict(enumerate(table.T))
    if len(columns) < 2:
        raise ValueError(
            f"{owner}: y has only {len(columns)} of two columns, but must be {FORMS}. "
            "If all events were observed, add a column 'event' of ones."
        )
    if len(columns) > 2:
        raise ValueError(
            f"{owner}: y has {len(columns)} columns ({listed(list(columns))}), but "
            f"must be {FORMS}. Strata and entry times are not supported: fit one "
            "model per stratum, or pass the stratum as a column of X, and remove "
            "entry times."
        )
    shapes = [column.shape for column in columns.values()]
    if any(len(shape) != 1 for shape in shapes):
        raise ValueError(
            f"{owner}: y must be {FORMS}, with one value per sample. Its fields have "
            f"shapes {shapes[0]} and {shapes[1]}: pass one-dimensional fields."
        )
    return columns


def _is_boolean(column: Array) -> bool:
    """Return whether all values of a column are True, False, 0, 1, or missing."""
    if column.dtype.kind == "O":
        types = (bool, np.bool_, int, float, np.number)
        present = [value for value in column.tolist() if not is_missing(value)]
        return all(isinstance(v, types) and v in (0, 1) for v in present)
    is_accepted = np.isin(column, (0, 1)) | (column != column)  # NaN is missing
    return column.dtype.kind in "biuf" and bool(is_accepted.all())


def _read_events(owner: str, column: Array, name: object) -> Mask:
    """Return whether each event was observed; raise for missing or other values."""
    for row, value in enumerate(column.tolist() if column.dtype.kind in "Of" else ()):
        if is_missing(value):
            raise ValueError(
                f"{owner}: the event indicator y[{name!r}] is missing ({value!r}) at "
                f"row {row}: remove this row, or write 1 or 0."
            )
    if not _is_boolean(column):
        row, invalid = next(
            (row, value)
            for row, value in enumerate(column.tolist())
            if not _is_boolean(np.array([value]))
        )
        raise ValueError(
            f"{owner}: the event indicator y[{name!r}] must be True or False, or 1 or "
            f"0, got {invalid!r} at row {row}: correct this value. In general, y must "
            f"be {FORMS}."
        )
    return column.astype(bool)


def _read_times(owner: str, column: Array, name: object) -> Array:
    """Return a column of times or bounds as numbers; raise for missing values."""
    times = np.array(read_exactly(column, f"y[{name!r}]"))
    missing = np.flatnonzero(np.isnan(times))
    if missing.size:
        raise ValueError(
            f"{owner}: y[{name!r}] is missing (nan) at row {missing[0]}: remove rows "
            "without a time, and write 0 for an unknown lower bound of an interval, "
            "inf for an unknown upper bound."
        )
    return times


def _intervals(owner: str, lower: Array, upper: Array) -> Times:
    """Return `Times` with the given bounds; raise if an interval is invalid."""
    is_valid = (lower >= 0.0) & (lower <= upper) & (upper > 0.0) & np.isfinite(lower)
    invalid = np.flatnonzero(~(is_valid & ((lower > 0.0) | np.isfinite(upper))))
    if invalid.size:
        row = invalid[0]
        raise ValueError(
            f"{owner}: intervals in y require 0 <= lower <= upper with finite lower "
            "and positive upper, and must not be [0, inf], but row "
            f"{row} is [{lower[row]:g}, {upper[row]:g}]: correct or remove the row."
        )
    return Times(lower, upper)
