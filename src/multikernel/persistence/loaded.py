"""What a file built is what its classes say: every object is asked once more."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

CHECKS = ("__post_init__", "_check_fitted")
"""Methods by which our objects refuse a state: those of dataclasses when they are made,
and of estimators the one about what a fit has left."""


def check_loaded(root: Any) -> None:
    """Raise if any object of ours in a tree has a state that its class refuses.

    Files are built without constructors, which are what checks arrays and parameters
    otherwise. Parts are checked before the whole, which relies on them.

    Parameters
    ----------
    root : object
        What was loaded.

    Raises
    ------
    Exception
        What the class of the first wrong object raises.
    """
    stack, seen = [(root, False)], set()
    while stack:
        item, opened = stack.pop()
        if opened:
            _check(item)
        elif id(item) not in seen:
            seen.add(id(item))
            stack.append((item, True))
            stack += [(part, False) for part in _parts(item)]


def _parts(item: Any) -> Iterator[Any]:
    """Yield the objects that one refers to, but for plain numbers and text."""
    if isinstance(item, Mapping):
        yield from item.keys()
        yield from item.values()
    elif isinstance(item, list | tuple | set | frozenset):
        yield from item
    elif isinstance(item, np.ndarray):
        if item.dtype.kind == "O":
            yield from item.flat
    elif not isinstance(item, type) and hasattr(item, "__dict__"):
        yield from vars(item).values()


def _check(item: Any) -> None:
    kind = type(item)
    if not kind.__module__.startswith("multikernel."):
        return
    if is_dataclass(item):
        for field in fields(item):
            if not hasattr(item, field.name):
                raise ValueError(f"a {kind.__name__} lacks its {field.name}")
    for name in CHECKS:
        if hasattr(kind, name):
            getattr(item, name)()
