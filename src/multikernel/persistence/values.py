"""Conversion of values that skops cannot store to plain values, and back."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, MappingView
from copy import copy
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from importlib import import_module
from os import PathLike, fspath
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import numpy as np

LIBRARIES = ("pandas", "polars", "pyarrow")
"""Libraries whose columns and indices are stored as lists or arrays."""


LONGEST_TEXT = 100
"""Maximum characters of a date; pandas needs 15 s to reject a million."""


@dataclass(frozen=True)
class StoredValue:
    """A value in the form stored in a model file."""

    # Key of `KINDS`, and the arguments of its rebuilding function.
    kind: str
    parts: tuple[object, ...]


def _pandas_object(name: str, *parts: object, **keywords: object) -> object:
    """Return a pandas object; raise for long texts, which pandas parses slowly."""
    texts = (text for text in (*parts, *keywords.values()) if isinstance(text, str))
    if any(len(text) > LONGEST_TEXT for text in texts):
        raise ValueError(
            f"The text of a {name} has more than {LONGEST_TEXT} characters."
        )
    return getattr(import_module("pandas"), name)(*parts, **keywords)


def _frozen(value: Any) -> tuple[object, ...]:
    """Return the name and the arguments of a frozen distribution of scipy.stats."""
    return value.dist.name, value.args, value.kwds


def _distribution(
    name: str, args: tuple[object, ...], kwds: dict[str, object]
) -> object:
    """Return a frozen distribution of scipy.stats; raise if none has this name."""
    stats = import_module("scipy.stats")
    family = getattr(stats, name)
    if not isinstance(family, stats.rv_continuous | stats.rv_discrete):
        raise ValueError(
            f"The file has a distribution {name!r}, which is not one of scipy.stats."
        )
    return family(*args, **kwds)


def _isoformat(value: Any) -> tuple[str]:
    """Return a date or time as ISO 8601 text."""
    return (value.isoformat(),)


# The rebuilding functions get values from files, so they must not run code, or allocate
# more memory than their parts.
KINDS: dict[str, tuple[Callable[..., Iterable[object]], Callable[..., object]]] = {
    "builtins.frozenset": (tuple, lambda *parts: frozenset(parts)),
    "builtins.dict": (dict.items, lambda *pairs: dict(pairs)),
    "collections.OrderedDict": (dict.items, lambda *pairs: OrderedDict(pairs)),
    "datetime.date": (_isoformat, date.fromisoformat),
    "datetime.datetime": (_isoformat, datetime.fromisoformat),
    "datetime.time": (_isoformat, time.fromisoformat),
    "datetime.timedelta": (lambda v: (v.days, v.seconds, v.microseconds), timedelta),
    "decimal.Decimal": (lambda v: (str(v),), Decimal),
    "pandas.NAType": (lambda v: (), lambda: import_module("pandas").NA),
    "pandas.NaTType": (lambda v: (), lambda: import_module("pandas").NaT),
    "pandas.Timestamp": (_isoformat, partial(_pandas_object, "Timestamp")),
    "pandas.Timedelta": (_isoformat, partial(_pandas_object, "Timedelta")),
    "pandas.Interval": (
        lambda v: (v.left, v.right, v.closed),
        partial(_pandas_object, "Interval"),
    ),
    "pandas.Period": (
        lambda v: (v.ordinal, v.freqstr),
        lambda ordinal, freq: _pandas_object("Period", ordinal=ordinal, freq=freq),
    ),
    "scipy.stats._distn_infrastructure.rv_continuous_frozen": (_frozen, _distribution),
    "scipy.stats._distn_infrastructure.rv_discrete_frozen": (_frozen, _distribution),
}
"""Functions that split values into parts and rebuild them, by type name."""

OWNED = (
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
)
"""Types of attributes that refer to their estimator, which a tree cannot store."""

SEQUENCES: tuple[Any, ...] = (MappingView, range, deque, memoryview)
"""Types stored as a list."""

ATOMS = (str, bytes, int, float, type, FunctionType, MethodType, ModuleType)


def plain(item: object) -> object:
    """Return an object in a form that skops can store; changed parts are copied."""
    return _Replacer(_storable)(item)


def restored(item: object) -> object:
    """Return an object with the values that `plain` replaced."""
    return _Replacer(_rebuilt)(item)


def _rebuilt(item: object) -> object:
    """Return the value of a `StoredValue`, and other objects unchanged."""
    if not isinstance(item, StoredValue):
        return item
    return KINDS[item.kind][1](*map(restored, item.parts))


def _storable(item: object) -> object:
    """Return an object in a form that skops can store; its parts are not converted."""
    if isinstance(item, np.ndarray):
        # Texts of NumPy's own type become objects, and subclasses, such as memory maps,
        # plain arrays.
        array = item.astype(object) if item.dtype.kind == "T" else item
        return array if type(array) is np.ma.MaskedArray else np.asarray(array)
    if isinstance(item, Iterator):
        raise TypeError("An iterator is empty after one use: pass a list.")
    if isinstance(item, slice):
        bounds = (item.start, item.stop, item.step)
        return slice(*(b.item() if isinstance(b, np.generic) else b for b in bounds))
    if isinstance(item, MappingProxyType):
        return _storable(dict(item))
    if isinstance(item, SEQUENCES):
        return list(item)
    if isinstance(item, PathLike):
        return fspath(item)
    if isinstance(item, dict) and all(type(key) in (str, int) for key in item):
        return item
    return _storable_by_name(item)


def _storable_by_name(item: Any) -> object:
    """Return the stored form of an object, chosen by the name of its type."""
    item_type = type(item)
    library = item_type.__module__.partition(".")[0]
    module = library if library in LIBRARIES else item_type.__module__
    name = f"{module}.{item_type.__qualname__}"
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


class _Replacer:
    """Callable that returns an object with a function applied to all its parts."""

    def __init__(self, change: Callable[[object], object]) -> None:
        self.change = change
        # Keep the objects alive, because Python reuses the id of a deleted object.
        # An object with several references is replaced once.
        self.done: dict[int, tuple[object, object]] = {}

    def __call__(self, item: object) -> object:
        if item is None or isinstance(item, ATOMS):
            return item
        if id(item) not in self.done:
            self.done[id(item)] = (item, self._with_parts(self.change(item)))
        return self.done[id(item)][1]

    def _with_parts(self, item: Any) -> object:
        """Return an object with its parts replaced: a copy, unless no part changes."""
        is_object_array = isinstance(item, np.ndarray) and item.dtype.kind == "O"
        if isinstance(item, list | tuple | set) or is_object_array:
            old = list(np.asarray(item).flat if is_object_array else item)
            new = list(map(self, old))
            if all(new_part is b for new_part, b in zip(new, old, strict=True)):
                return item
            if is_object_array:
                shaped = np.fromiter(new, dtype=object).reshape(item.shape)
                is_masked = isinstance(item, np.ma.MaskedArray)
                return np.ma.MaskedArray(shaped, item.mask) if is_masked else shaped
            return getattr(type(item), "_make", type(item))(new)
        if not isinstance(item, dict) and not hasattr(item, "__dict__"):
            return item
        old_parts = item if isinstance(item, dict) else vars(item)
        parts = {key: self(value) for key, value in old_parts.items()}
        if all(parts[key] is old_parts[key] for key in old_parts):
            return item
        if isinstance(item, dict):
            copied = copy(item)
            copied.update(parts)
            return copied
        kind: Any = type(item)
        copied = kind.__new__(kind)
        vars(copied).update(parts)
        return copied


def failing_part(root: object, fails: Callable[[object], object]) -> tuple[str, object]:
    """Return the innermost part of `root` for which `fails` is true, with its path."""
    # The path is a Python expression such as ``Model.kernels['u']``.
    path, item = type(root).__name__, root
    seen = {id(root)}
    while True:
        parts = (entry for entry in parts_of(item) if id(entry[2]) not in seen)
        part = next((entry for entry in parts if fails(entry[2])), None)
        if part is None:
            return path, item
        template, key, item = part
        path += template.format(key)
        seen.add(id(item))


def parts_of(item: object) -> Iterator[tuple[str, object, object]]:
    """Yield each part of an object with its key, and a template of the path to it."""
    # `template.format(key)` extends a path such as ``Model`` by ``.kernels`` or
    # ``['u']``. Nothing is computed from the parts, which may come from an untrusted
    # file.
    if isinstance(item, Mapping):
        yield from (("[{!r}]", key, value) for key, value in item.items())
        yield from ((" key {!r}", key, key) for key in item)
    elif isinstance(item, list | tuple | set | frozenset):
        yield from (("[{}]", index, part) for index, part in enumerate(item))
    elif isinstance(item, np.ndarray):
        members = item.flat if item.dtype.kind == "O" else ()
        yield from (("[{}]", index, part) for index, part in enumerate(members))
    elif hasattr(item, "__dict__") and not isinstance(item, ATOMS):
        yield from ((".{}", name, part) for name, part in vars(item).items())
