"""Parameters in units of the targets: the one place where "scale" becomes a number.

A loss of degree k grows as the k-th power of its targets, and a penalty of the norms
of functions as the first: the strength of such a penalty is free of the unit of y if it
is in units of the (k - 1)-th power of the deviation of y. Every method knows the power
of its own parameter.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from multikernel._typing import Array
from multikernel._validation import LARGEST_VALUE, SMALLEST_STRENGTH, Check
from multikernel.estimators.read.samples import Samples

Amount = float | str
"""A number, or "scale", or a multiple of that such as "0.1scale"."""

ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
"""A deviation below this share of the largest target is that of a constant."""


def multiple_of_scale(value: object) -> float | None:
    """Return how many times "scale" a parameter is, None where it is no such text.

    Examples
    --------
    >>> from multikernel.estimators.scale import multiple_of_scale
    >>> [multiple_of_scale(value) for value in ("scale", "0.1scale", "3 scale", 0.1)]
    [1.0, 0.1, 3.0, None]
    """
    found = re.fullmatch(r"(.*?) ?scale", value) if isinstance(value, str) else None
    if found is None:
        return None
    try:
        return float(found[1] or 1.0)
    except ValueError:
        return None


@dataclass(frozen=True)
class InUnits:
    """A number, or a multiple of what "scale" stands for.

    Parameters
    ----------
    check : Check
        What the number, and the multiple, must pass.
    """

    check: Check

    def __call__(self, value: object) -> str | None:
        """Return what was expected, or None."""
        multiple = multiple_of_scale(value)
        expected = self.check(value if multiple is None else multiple)
        if expected is None:
            return None
        return f"{expected}, or 'scale', or a multiple of that such as '0.1scale'"


def deviations(targets: Array, weights: Array | None, *, pooled: bool) -> Array:
    """Return the weighted deviations of targets; a constant's counts as one.

    Targets have shape (n_outputs, n_samples). Where they are `pooled`, outputs have one
    deviation in common, the root of the mean of their variances.
    """
    found = np.array([_deviation(np.ascontiguousarray(y), weights) for y in targets])
    if pooled:
        largest = max(found.max(), np.finfo(np.float64).tiny)
        found = largest * np.sqrt(np.mean((found / largest) ** 2, keepdims=True))
    return np.asarray(np.where(found > 0.0, found, 1.0))


def _deviation(y: Array, weights: Array | None) -> float:
    """Return the deviation of one target, zero where it is rounding of a constant."""
    size = float(np.abs(y).max()) or 1.0
    y = y / size
    # Twice, as the first mean is rounded where targets are far from zero.
    for _ in range(2):
        y = y - np.average(y, weights=weights)
    widest = float(np.abs(y).max())
    if widest <= ROUNDING:
        return 0.0
    # Squares of what is left could be too small for a number.
    return size * widest * math.sqrt(np.average((y / widest) ** 2, weights=weights))


@dataclass(frozen=True, eq=False)
class Units:
    """What the problems of a fit measure their targets in.

    Parameters
    ----------
    owner : str
        The estimator.
    deviations : ndarray of shape (n_problems,)
        Those of the targets.
    classes : bool
        Whether targets are classes, which have no unit: "scale" is a plain constant.
    """

    owner: str
    deviations: Array
    classes: bool

    def numbers(
        self, name: str, value: Amount, standard: float, power: int | None
    ) -> Array:
        """Return what a parameter is for each problem, (n_problems,).

        Where targets have a deviation of one, "scale" stands for `standard`. The
        `power` is that of the deviation which the parameter is in units of; None where
        the loss does not declare its degree: then a multiple of "scale" is refused, as
        is a number that is too large or too small to compute with.
        """
        multiple = multiple_of_scale(value)
        if multiple is None:
            return self._checked(name, value, np.full(self.deviations.size, value))
        if power is None and not self.classes:
            raise ValueError(
                f"{self.owner}: {name} is {value!r}, which takes a loss that declares "
                "its degree, by which power of the targets it grows (degree = 2 in "
                "its class, as for squares), and this one does not: give a number."
            )
        # What is beyond all numbers is refused.
        with np.errstate(over="ignore"):
            unit = standard * self.deviations ** (0 if power is None else power)
            return self._checked(name, value, multiple * unit)

    def _checked(self, name: str, value: Amount, numbers: Array) -> Array:
        """Return numbers, or raise for one whose products leave all numbers."""
        numbers = numbers.astype(np.float64)
        smallest, largest = float(numbers.min()), float(numbers.max())
        nothing = value == 0.0 or multiple_of_scale(value) == 0.0
        if largest > LARGEST_VALUE:
            wrong, allowed = largest, f"at most {LARGEST_VALUE:g}"
        elif smallest < SMALLEST_STRENGTH and not nothing:
            wrong, allowed = smallest, f"at least {SMALLEST_STRENGTH:g}"
        else:
            return numbers
        if not isinstance(value, str):
            raise ValueError(
                f"{self.owner}: {name} is {value!r}, and {allowed} is possible."
            )
        raise ValueError(
            f"{self.owner}: {name} is {value!r}, here {wrong:.3g}, and {allowed} is "
            "possible. Choose another multiple, or another unit for the targets."
        )

    def published(self, value: Amount, numbers: Array) -> float | Array:
        """Return what `numbers` has made of a value as an attribute, (n_problems,).

        A single number where it is the same for all by itself.
        """
        alike = self.classes or multiple_of_scale(value) is None
        return float(numbers[0]) if alike or numbers.size == 1 else numbers


def target_units(owner: str, samples: Samples, pooled: bool | None = None) -> Units:
    """Return what the problems of a fit measure their targets in.

    Whether outputs are one problem (`pooled`) is by default whether they share a
    selection.
    """
    targets = samples.targets
    pooled = samples.shared if pooled is None else pooled
    if samples.classes is not None:
        return Units(owner, np.ones(1 if pooled else len(targets)), True)
    return Units(owner, deviations(targets, samples.weights, pooled=pooled), False)


CLASS_ALPHA = 0.01
TARGET_ALPHA = 0.02
"""What ``alpha="scale"`` stands for: for classes, and where targets have a deviation of
one. ``benchmarks/defaults`` (strengths), 6 sets, R^2 less that of the search, median
and worst set: squared error with 0.01 -0.005 and -0.155, with 0.02 -0.012 and -0.063,
with 0.05 -0.017 and -0.090; absolute error -0.001 and -0.395, -0.000 and -0.185, -0.028
and -0.086. Classes, 7 sets: with 0.01 -0.003 and -0.022."""


def sparse_strengths(units: Units, power: int | None, alpha: Amount) -> Array:
    """Return the strengths of a sum of norms beside a mean loss, shape (n_problems,).

    They are in that `power` of the deviation of the targets, where it is known, and
    `alpha` is the parameter of `SpicyMKLRegressor`.
    """
    standard = CLASS_ALPHA if units.classes else TARGET_ALPHA
    return units.numbers("alpha", alpha, standard, power)


@dataclass(frozen=True, eq=False)
class Grid:
    """Values of a parameter that a search tries: numbers, or multiples of "scale".

    Parameters
    ----------
    values : ndarray of shape (n_values, ...)
        The numbers, or the multiples.
    multiples : bool, default=False
        Whether they are multiples.
    """

    values: Array
    multiples: bool = False

    @classmethod
    def of(cls, given: Sequence[Amount]) -> Self:
        """Return the grid of a parameter that has passed `GRID`, ascending."""
        multiples = [multiple_of_scale(value) for value in given]
        inside = multiples[0] is not None
        values = multiples if inside else given
        return cls(np.unique(np.asarray(values, dtype=np.float64)), inside)

    def __getitem__(self, chosen: Any) -> Self:
        """Return some of the values."""
        return replace(self, values=self.values[chosen])

    def amounts(self) -> list[Amount]:
        """Return the values as the parameter takes them."""
        found: list[float] = self.values.ravel().tolist()
        return [f"{value!r}scale" if self.multiples else value for value in found]

    def labels(self) -> Any:
        """Return the same as an array of shape (n_values,)."""
        return np.array(self.amounts(), dtype=object if self.multiples else None)

    def published(self, numbers: Sequence[float | Array]) -> Array:
        """Return the numbers that were used as an attribute, (n_values,).

        Given are those of every value, from `Units.published`. Where problems have
        numbers of their own, it is the multiples.
        """
        used = np.asarray(numbers, dtype=np.float64)
        return used if used.ndim == 1 else self.values
