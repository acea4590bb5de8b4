"""Checks of the objects that a model file was built into.

Compiled code reads arrays without looking at their sizes, so that altered arrays would
end the process: every object whose predictions reach such code is checked here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

ONE_HOT = "sklearn.preprocessing._encoders.OneHotEncoder"

CHECKS = ("__post_init__", "_check_fitted")
"""Methods by which our objects refuse a state: dataclasses when they are made,
estimators when a fit has left something else."""


def check_loaded(root: Any) -> None:
    """Raise if any object of ours in a tree has a state that its class refuses.

    Files are built without constructors, which are what checks arrays and parameters
    otherwise. Parts are checked before the whole, which relies on them.
    """
    stack, seen = [(root, False)], set()
    while stack:
        item, opened = stack.pop()
        if opened:
            _check_state(item)
        elif id(item) not in seen:
            seen.add(id(item))
            stack.append((item, True))
            stack += [(part, False) for part in _referred_objects(item)]


def _referred_objects(item: Any) -> Iterator[Any]:
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


def _check_state(item: Any) -> None:
    kind = type(item)
    if isinstance(item, np.random.RandomState):
        _check_random_state(item)
    elif f"{kind.__module__}.{kind.__name__}" == ONE_HOT and hasattr(
        item, "categories_"
    ):
        _check_one_hot(item)
    if not kind.__module__.startswith("multikernel."):
        return
    if is_dataclass(item):
        for field in fields(item):
            if not hasattr(item, field.name):
                raise ValueError(f"a {kind.__name__} lacks its {field.name}")
    for name in CHECKS:
        if hasattr(kind, name):
            getattr(item, name)()


def _check_random_state(state: np.random.RandomState) -> None:
    """Raise if the generator would read beyond its 624 numbers."""
    position = state.get_state(legacy=False)["state"]["pos"]
    if not 0 <= position <= 624:
        raise ValueError(f"a RandomState is at number {position} of 624")


def _check_one_hot(encoder: Any) -> None:
    """Raise if a OneHotEncoder would write outside its sparse matrix."""
    n_columns = len(encoder.categories_)
    nothing = [None] * n_columns
    groups, drops = nothing, encoder._drop_idx_after_grouping
    if encoder._infrequent_enabled:
        groups = encoder._default_to_infrequent_mappings
    drops = nothing if drops is None else list(drops)
    for categories, group, drop, size in zip(
        encoder.categories_, groups, drops, encoder._n_features_outs, strict=True
    ):
        n_codes = _number_of_codes(categories, group)
        if drop is not None and not 0 <= drop < n_codes:
            raise ValueError("a OneHotEncoder drops a category that it lacks")
        if size != n_codes - (drop is not None):
            raise ValueError("the columns of a OneHotEncoder are not its categories")


def _number_of_codes(categories: Any, group: Any) -> int:
    """Return how many codes a OneHotEncoder has for a column."""
    ordered = categories.dtype.kind == "O" or np.array_equal(
        np.unique(categories), categories, equal_nan=categories.dtype.kind == "f"
    )
    if categories.ndim != 1 or not ordered:  # codes are places in a sorted array
        raise ValueError("the categories of a OneHotEncoder are not in order")
    if group is None:
        return len(categories)
    if np.shape(group) != categories.shape or group.min(initial=0) < 0:
        raise ValueError("the groups of a OneHotEncoder are not of its categories")
    return int(group.max()) + 1
