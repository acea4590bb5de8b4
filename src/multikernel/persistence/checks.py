"""Validation of objects built from a model file."""

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from multikernel.persistence.values import parts_of

if TYPE_CHECKING:
    from sklearn.preprocessing import OneHotEncoder

ONE_HOT = "sklearn.preprocessing._encoders.OneHotEncoder"

CHECKS = ("__post_init__", "_check_fitted")
"""Methods that validate a dataclass after construction, or an object after loading."""


def check_loaded(root: object) -> None:
    """Raise if any object of this library in a tree has an invalid state."""
    # Compiled code does not check array sizes, so altered arrays could crash it. Parts
    # are validated before the object that contains them.
    stack, seen = [(root, False)], set()
    while stack:
        item, parts_checked = stack.pop()
        if parts_checked:
            _check_state(item)
        elif id(item) not in seen:
            seen.add(id(item))
            stack.append((item, True))
            stack += [(part, False) for _, _, part in parts_of(item)]


def _check_state(item: object) -> None:
    """Raise if one object has an invalid state."""
    item_type = type(item)
    if isinstance(item, np.random.RandomState):
        _check_random_state(item)
    elif f"{item_type.__module__}.{item_type.__name__}" == ONE_HOT and hasattr(
        item, "categories_"
    ):
        _check_one_hot(item)
    if not item_type.__module__.startswith("multikernel."):
        return
    if is_dataclass(item):
        for field in fields(item):
            if not hasattr(item, field.name):
                raise ValueError(f"{item_type.__name__}.{field.name} is missing.")
    for name in CHECKS:
        if hasattr(item_type, name):
            getattr(item, name)()


def _check_random_state(state: np.random.RandomState) -> None:
    """Raise if the generator would read beyond its 624 numbers."""
    position = state.get_state(legacy=False)["state"]["pos"]
    if not 0 <= position <= 624:
        raise ValueError(
            f"A RandomState has position {position}, but positions are 0 to 624."
        )


def _check_one_hot(encoder: "OneHotEncoder") -> None:
    """Raise if a OneHotEncoder would write outside its sparse matrix."""
    n_columns = len(encoder.categories_)
    no_values = [None] * n_columns
    groups, drops = no_values, encoder._drop_idx_after_grouping
    if encoder._infrequent_enabled:
        groups = encoder._default_to_infrequent_mappings
    drops = no_values if drops is None else list(drops)
    for categories, group, drop, size in zip(
        encoder.categories_, groups, drops, encoder._n_features_outs, strict=True
    ):
        n_codes = _number_of_codes(categories, group)
        is_valid = n_codes >= 0 and (drop is None or 0 <= drop < n_codes)
        if not is_valid or size != n_codes - (drop is not None):
            raise ValueError(
                "The categories of a OneHotEncoder do not match its output columns."
            )


def _number_of_codes(
    categories: NDArray[np.generic], group: NDArray[np.integer] | None
) -> int:
    """Return the number of codes of a OneHotEncoder for a column; -1 if invalid."""
    ordered = categories.dtype.kind == "O" or np.array_equal(
        np.unique(categories), categories, equal_nan=categories.dtype.kind == "f"
    )
    if categories.ndim != 1 or not ordered:  # codes index a sorted array
        return -1
    if group is None:
        return len(categories)
    if np.shape(group) != categories.shape or group.min(initial=0) < 0:
        return -1
    return int(group.max()) + 1
