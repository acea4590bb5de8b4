"""Permutations within groups or of whole groups, and the p-values of their draws."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.certificates import scores
from multikernel.estimators.read.kinds import is_missing

Draw = Callable[[int, np.random.RandomState], Iterator[Indices]]
"""From a number and a random state to so many orders of the samples."""


def permutations_of(owner: str, groups: Any, permute: str, n_samples: int) -> Draw:
    """Return what draws orders of the samples, groups respected."""
    if groups is None:
        if permute == "groups":
            raise ValueError(
                f"{owner}: permute='groups' exchanges groups, and groups is None: pass "
                "one label for each sample."
            )
        return partial(scores.permutations, np.zeros(n_samples))
    codes = _group_codes(owner, groups, n_samples)
    if permute == "within":
        return partial(scores.permutations, codes)
    sizes = np.bincount(codes)
    if np.unique(sizes).size == sizes.size:
        raise ValueError(
            f"{owner}: permute='groups' exchanges groups of one size, and the "
            f"{sizes.size} groups have {sizes.size} different sizes: aggregate the "
            "rows of each group into one row, or use permute='within'."
        )
    return partial(scores.exchanges, codes)


def _group_codes(owner: str, groups: Any, n_samples: int) -> Indices:
    """Return the number of each sample's group."""
    labels = np.asarray(groups)
    if labels.shape != (n_samples,):
        raise ValueError(
            f"{owner}: groups must be one label for each of the {n_samples} "
            f"samples, got an array of shape {labels.shape}."
        )
    missing = [row for row, label in enumerate(labels.tolist()) if is_missing(label)]
    if missing:
        raise ValueError(
            f"{owner}: groups has no label at row {missing[0]}: label every sample."
        )
    numbers: dict[Any, int] = {}
    codes = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
    return np.array(codes)


def shares(draws: Array, values: Array) -> Array:
    """Return the share of draws, (n_kernels or 1, n_draws), as large as each value."""
    return np.asarray((draws >= values[:, None]).mean(axis=1))


def view_tests(
    views: tuple[str, ...] | None, forms: Array, least: Array
) -> dict[str, tuple[float, float]]:
    """Return the two p-values of the largest standardized statistic of every view.

    `forms` are those of all draws, the data first; a draw ties with a kernel from its
    entry of `least` on.
    """
    tests, largest = {}, forms.max(axis=0)
    for view in dict.fromkeys(views or ()):
        inside = np.flatnonzero([name == view for name in views or ()])
        best = inside[forms[inside, 0].argmax()]
        draws = np.stack([forms[inside].max(axis=0), largest])
        alone, family = shares(draws, least[[best, best]])
        tests[view] = (float(alone), float(family))
    return tests
