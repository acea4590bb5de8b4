"""What skops cannot store, as plain values: for a file, and back.

Models hold what users passed: a pandas Index of columns, dates as categories, truth
values as keys. A copy of the model for the file holds lists and stored values in their
place; the model itself stays as it is, because `clone` compares parameters.
"""

from collections import OrderedDict, deque
from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    ValuesView,
)
from copy import copy
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import partial
from importlib import import_module
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any
from uuid import UUID

import numpy as np

LIBRARIES = ("pandas", "polars", "pyarrow")
"""Libraries whose columns and indices are stored as lists or arrays."""


LONGEST_TEXT = 100
"""Characters of a date or a duration; pandas takes 15 s to refuse a million."""


@dataclass(frozen=True)
class StoredValue:
    """A value as a model file holds it.

    Parameters
    ----------
    kind : str
        Key of `KINDS`.
    parts : tuple
        What its function of `KINDS` makes the value of.
    """

    kind: str
    parts: tuple[Any, ...]


def _of_pandas(name: str, *parts: Any, **named: Any) -> Any:
    texts = (text for text in (*parts, *named.values()) if isinstance(text, str))
    if any(len(text) > LONGEST_TEXT for text in texts):
        raise ValueError(
            f"the text of a {name} has more than {LONGEST_TEXT} characters"
        )
    return getattr(import_module("pandas"), name)(*parts, **named)


def _frozen(value: Any) -> tuple[Any, ...]:
    return value.dist.name, value.args, value.kwds


def _distribution(name: str, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
    stats = import_module("scipy.stats")
    family = getattr(stats, name)
    if not isinstance(family, stats.rv_continuous | stats.rv_discrete):
        raise ValueError(f"{name} is no distribution of scipy.stats")
    return family(*args, **kwds)


def _isoformat(value: Any) -> tuple[str]:
    return (value.isoformat(),)


def _text(value: Any) -> tuple[str]:
    return (str(value),)


KINDS: dict[str, tuple[Callable[[Any], Iterable[Any]], Callable[..., Any]]] = {
    "builtins.complex": (lambda v: (v.real, v.imag), complex),
    "builtins.frozenset": (tuple, lambda *parts: frozenset(parts)),
    "builtins.dict": (dict.items, lambda *pairs: dict(pairs)),
    "collections.OrderedDict": (dict.items, lambda *pairs: OrderedDict(pairs)),
    "datetime.date": (_isoformat, date.fromisoformat),
    "datetime.datetime": (_isoformat, datetime.fromisoformat),
    "datetime.time": (_isoformat, time.fromisoformat),
    "datetime.timedelta": (lambda v: (v.days, v.seconds, v.microseconds), timedelta),
    "decimal.Decimal": (_text, Decimal),
    # Not of text: from 1e999999999 a Fraction would compute all digits.
    "fractions.Fraction": (
        lambda v: (v.numerator, v.denominator),
        lambda numerator, denominator: Fraction(numerator, denominator),
    ),
    "uuid.UUID": (_text, UUID),
    "pandas.NAType": (lambda v: (), lambda: import_module("pandas").NA),
    "pandas.NaTType": (lambda v: (), lambda: import_module("pandas").NaT),
    "pandas.Timestamp": (_isoformat, partial(_of_pandas, "Timestamp")),
    "pandas.Timedelta": (_isoformat, partial(_of_pandas, "Timedelta")),
    "pandas.Interval": (
        lambda v: (v.left, v.right, v.closed),
        partial(_of_pandas, "Interval"),
    ),
    "pandas.Period": (
        lambda v: (v.ordinal, v.freqstr),
        lambda ordinal, freq: _of_pandas("Period", ordinal=ordinal, freq=freq),
    ),
    "scipy.stats._distn_infrastructure.rv_continuous_frozen": (_frozen, _distribution),
    "scipy.stats._distn_infrastructure.rv_discrete_frozen": (_frozen, _distribution),
}
"""How values are taken apart, and made of their parts, by the names of their types.

What makes them runs on values from files: it must neither run code nor take memory
beyond that of its parts."""

OWNED = (
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)
"""Parts of an estimator that hold it, which a tree cannot; they only show its name."""

SEQUENCES = (KeysView, ValuesView, ItemsView, range, deque, memoryview)
"""What is stored as a list."""

ATOMS = (str, bytes, int, float, type, FunctionType, MethodType, ModuleType)


def plain(item: Any) -> Any:
    """Return an object as skops can store it; what must change is copied."""
    return _Replacing(_stored)(item)


def restored(item: Any) -> Any:
    """Return an object with the values that `plain` took apart."""
    return _Replacing(_value)(item)


def _value(item: Any) -> Any:
    if not isinstance(item, StoredValue):
        return item
    return KINDS[item.kind][1](*map(restored, item.parts))


def _stored(item: Any) -> Any:
    """Return one object as skops can store it, its parts as they are."""
    if isinstance(item, np.ndarray):
        return _stored_array(item)
    if isinstance(item, Iterator):
        raise TypeError("an iterator is used up by its first use")
    if isinstance(item, slice):
        ends = (item.start, item.stop, item.step)
        return slice(*(e.item() if isinstance(e, np.generic) else e for e in ends))
    if isinstance(item, MappingProxyType):
        return _stored(dict(item))
    if isinstance(item, SEQUENCES):
        return list(item)
    if isinstance(item, dict) and all(type(key) in (str, int) for key in item):
        return item
    return _stored_by_name(item)


def _stored_by_name(item: Any) -> Any:
    """Return what is stored of an object of a type that is known by its name."""
    kind = type(item)
    library = kind.__module__.partition(".")[0]
    module = library if library in LIBRARIES else kind.__module__
    name = f"{module}.{kind.__qualname__}"
    if name in OWNED:
        item = copy(item)
        if not isinstance(item.owner, str):
            item.owner = type(item.owner).__name__
        return item
    if name in KINDS:
        return StoredValue(name, tuple(KINDS[name][0](item)))
    if library in LIBRARIES and hasattr(item, "__array__"):
        array = np.asarray(item)
        return array.tolist() if array.dtype.kind in "OUT" else array
    return item


def _stored_array(array: Any) -> Any:
    """Return an array of a type that can be stored."""
    if array.dtype.kind == "T":
        array = array.astype(object)
    if type(array) in (np.ndarray, np.ma.MaskedArray):
        return array
    return np.asarray(array)  # a memory map, for example


class _Replacing:
    """Applies a function to an object and then to its parts, and copies what changes.

    An object that is reached by several ways is replaced once.
    """

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self.change = change
        # The objects as well: the number of one that is gone may be another's.
        self.done: dict[int, tuple[Any, Any]] = {}

    def __call__(self, item: Any) -> Any:
        if item is None or isinstance(item, ATOMS):
            return item
        if id(item) not in self.done:
            self.done[id(item)] = (item, self._with_parts(self.change(item)))
        return self.done[id(item)][1]

    def _with_parts(self, item: Any) -> Any:
        if isinstance(item, dict):
            values = self._changed(item)
            return item if values is None else _updated(copy(item), values)
        if isinstance(item, list | tuple | set):
            members = list(map(self, item))
            if all(new is old for new, old in zip(members, item, strict=True)):
                return item
            return getattr(type(item), "_make", type(item))(members)
        if isinstance(item, np.ndarray):
            return self._with_members(item) if item.dtype.kind == "O" else item
        if not hasattr(item, "__dict__"):
            return item
        values = self._changed(vars(item))
        if values is None:
            return item
        kind: Any = type(item)
        copied = kind.__new__(kind)
        _updated(vars(copied), values)
        return copied

    def _changed(self, items: dict[Any, Any]) -> dict[Any, Any] | None:
        """Return the new values of a mapping, None if all are the old ones."""
        values = {key: self(value) for key, value in items.items()}
        return values if any(values[key] is not items[key] for key in items) else None

    def _with_members(self, array: Any) -> Any:
        old = np.asarray(array)
        new = np.empty(old.size, dtype=object)
        for place, member in enumerate(old.flat):
            new[place] = self(member)
        if all(one is other for one, other in zip(new, old.flat, strict=True)):
            return array
        shaped = new.reshape(old.shape)
        masked = isinstance(array, np.ma.MaskedArray)
        return np.ma.MaskedArray(shaped, array.mask) if masked else shaped


def _updated(mapping: dict[Any, Any], values: dict[Any, Any]) -> dict[Any, Any]:
    mapping.update(values)
    return mapping


def place_of(root: Any, fails: Callable[[Any], bool]) -> tuple[str, Any]:
    """Return the innermost part of an object for which a function is true.

    It is returned with how Python reaches it, such as ``Model.kernels['u']``.
    """
    place, item = type(root).__name__, root
    seen = {id(root)}
    while True:
        parts = (each for each in _named_parts(item) if id(each[1]) not in seen)
        part = next((each for each in parts if fails(each[1])), None)
        if part is None:
            return place, item
        place, item = place + part[0], part[1]
        seen.add(id(item))


def _named_parts(item: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object is made of, with how Python reaches it."""
    if isinstance(item, dict):
        yield from ((f"[{key!r}]", value) for key, value in item.items())
    elif isinstance(item, list | tuple) or (
        isinstance(item, np.ndarray) and item.dtype.kind == "O" and item.ndim == 1
    ):
        yield from ((f"[{number}]", part) for number, part in enumerate(item))
    elif hasattr(item, "__dict__") and not isinstance(item, ATOMS):
        yield from ((f".{name}", part) for name, part in vars(item).items())
