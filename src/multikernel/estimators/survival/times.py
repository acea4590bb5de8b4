"""Times to an event as they come in: seen, or known to lie in an interval."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel._validation import listed

FORMS = (
    "a structured array with a field of truth values (whether the event was seen) and "
    "a field of times, two columns 'event' and 'time', or two columns 'lower' and "
    "'upper' between which the event was"
)


@dataclass(frozen=True, eq=False)
class Times:
    """Intervals that hold the times of events.

    Parameters
    ----------
    lower, upper : ndarray of shape (n_samples,)
        Equal for an event that was seen; upper is infinite where the time is censored
        on the right, and lower zero where it is on the left.
    """

    lower: Array
    upper: Array

    @property
    def seen(self) -> Mask:
        """Return which events were seen, at a time or within an interval."""
        return np.isfinite(self.upper)

    @property
    def logs(self) -> tuple[Array, Array]:
        """Return the logarithms of the ends."""
        with np.errstate(divide="ignore"):
            return np.log(self.lower), np.log(self.upper)

    def distinct(self) -> tuple["Times", Indices]:
        """Return the distinct intervals, and for every sample the position of its own.

        Copies of a sample then have the same target.
        """
        ends = np.stack([self.lower, self.upper], axis=1)
        rows, places = np.unique(ends, axis=0, return_inverse=True)
        return Times(rows[:, 0], rows[:, 1]), places.reshape(-1)

    def structured(self) -> Any:
        """Return the times as scorers of survival take them.

        Fields are ``event`` and ``time``, or ``lower`` and ``upper`` where some time is
        only known to lie in an interval.
        """
        exact = (self.lower == self.upper) | ~self.seen
        if exact.all():
            made = np.empty(len(self.lower), dtype=[("event", bool), ("time", float)])
            made["event"], made["time"] = self.seen, self.lower
            return made
        made = np.empty(len(self.lower), dtype=[("lower", float), ("upper", float)])
        made["lower"], made["upper"] = self.lower, self.upper
        return made


def read_times(owner: str, y: Any) -> Times:
    """Return the times of events, checked; what is no such gets a sentence.

    Parameters
    ----------
    owner : str
        The estimator, for messages.
    y : structured array, or data frame or array of two columns
        Whether events were seen, and the times of them or of the last look; or lower
        and upper ends.
    """
    columns = _columns(owner, y)
    names = {name.lower(): name for name in columns if isinstance(name, str)}
    if {"lower", "upper"} <= names.keys():
        ends = (_numbers(owner, columns[names[name]], name) for name in _ENDS)
        return _interval(owner, *ends)
    if {"event", "time"} <= names.keys():
        event, time = columns[names["event"]], columns[names["time"]]
    else:
        event, time = columns.values()
        if _is_truth(time) and not _is_truth(event):
            event, time = time, event
    seen = _truth(owner, event)
    numbers = _numbers(owner, time, "the time")
    wrong = np.flatnonzero(~((numbers > 0.0) & np.isfinite(numbers)))
    if wrong.size:
        raise ValueError(
            f"{owner}: times must be above 0 and finite, as their logarithms are "
            f"modelled, and y has {numbers[wrong[0]]:g} at row {wrong[0]}. What began "
            "and ended within the first unit may count as half a unit."
        )
    return Times(numbers, np.where(seen, numbers, np.inf))


_ENDS = ("lower", "upper")


def _columns(owner: str, y: Any) -> dict[Any, Any]:
    """Return the two columns of y by their names, numbers where they have none."""
    if y is None:
        raise ValueError(f"{owner} requires y to be passed: {FORMS}.")
    if getattr(getattr(y, "dtype", None), "names", None):
        columns = {name: y[name] for name in y.dtype.names}
    elif hasattr(y, "columns"):
        columns = {name: np.asarray(y[name]) for name in y.columns}
    else:
        table = np.asarray(y)
        if table.ndim != 2:
            raise ValueError(f"{owner}: y must be {FORMS}; got shape {table.shape}.")
        columns = dict(enumerate(table.T))
    if len(columns) != 2:
        raise ValueError(
            f"{owner}: y has {len(columns)} columns ({listed(list(columns))}), and "
            f"must be {FORMS}. There are no strata and no times of entry here: fit a "
            "model for each stratum, or give what it is of as a column of X."
        )
    return columns


def _is_truth(column: Any) -> bool:
    """Return whether a column holds nothing but truth values, or zeros and ones."""
    values = np.asarray(column)
    if values.dtype.kind == "O":
        return all(isinstance(each, bool | np.bool_) for each in values.tolist())
    return values.dtype.kind == "b" or (
        values.dtype.kind in "iuf" and bool(np.isin(values, (0, 1)).all())
    )


def _truth(owner: str, column: Any) -> Mask:
    """Return whether events were seen, or say what is no answer to that."""
    if not _is_truth(column):
        values = np.asarray(column)
        wrong = next(each for each in values.tolist() if each not in (0, 1))
        raise ValueError(
            f"{owner}: whether the event was seen must be True or False, or 1 or 0, "
            f"and y has {wrong!r}. y must be {FORMS}."
        )
    return np.asarray(column).astype(bool)


def _numbers(owner: str, column: Any, name: str) -> Array:
    """Return a column as numbers, refusing nan."""
    try:
        numbers = np.array(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{owner}: {name} must be numbers, got {np.asarray(column).flat[0]!r}."
        ) from error
    missing = np.flatnonzero(np.isnan(numbers))
    if missing.size:
        raise ValueError(
            f"{owner}: {name} is missing (nan) at row {missing[0]}. Leave out rows "
            "without a time; an end that is not known is 0 or infinite."
        )
    return numbers


def _interval(owner: str, lower: Array, upper: Array) -> Times:
    """Return intervals, or say which one is none."""
    right = (lower >= 0.0) & (lower <= upper) & (upper > 0.0) & np.isfinite(lower)
    wrong = np.flatnonzero(~(right & ((lower > 0.0) | np.isfinite(upper))))
    if wrong.size:
        row = wrong[0]
        raise ValueError(
            f"{owner}: intervals need 0 <= lower <= upper, upper above 0, and an end "
            f"that says something; row {row} is [{lower[row]:g}, {upper[row]:g}]."
        )
    return Times(lower, upper)
