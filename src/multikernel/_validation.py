"""Validation of arguments, shared by all layers of the library."""

import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral, Real
from types import NoneType

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array
from multikernel.exceptions import IndefiniteKernelError

Check = Callable[[object], str | None]
"""Function of a value: returns None if it is accepted, else a text of valid values."""


@dataclass(frozen=True)
class Number:
    """A check for a finite real number in an interval."""

    # The ends are included unless `above` or `below` excludes them.
    low: float = -np.inf
    high: float = np.inf
    above: bool = False
    integer: bool = False
    below: bool = False

    def __call__(self, value: object) -> str | None:
        number_type = Integral if self.integer else Real
        if isinstance(value, number_type) and not isinstance(value, (bool, np.bool_)):
            try:
                number = float(value)
            except OverflowError:  # a Python integer beyond the range of floats
                number = np.inf
            above_low = number > self.low if self.above else number >= self.low
            below_high = number < self.high if self.below else number <= self.high
            if math.isfinite(number) and above_low and below_high:
                return None
        return f"{'an integer' if self.integer else 'a finite number'}{self._range()}"

    def _range(self) -> str:
        if math.isfinite(self.high) and not math.isfinite(self.low):
            return f" of at most {self.high:g}"
        if math.isfinite(self.high):
            left, right = "(" if self.above else "[", ")" if self.below else "]"
            return f" in {left}{self.low:g}, {self.high:g}{right}"
        if math.isfinite(self.low):
            return f" {'above' if self.above else 'of at least'} {self.low:g}"
        return ""


@dataclass(frozen=True)
class OneOf:
    """A check that a value is one of a few options."""

    options: tuple[object, ...]

    def __call__(self, value: object) -> str | None:
        # Types must match, because True == 1, and arrays compare elementwise. Grids
        # of scikit-learn may hold text as values of NumPy.
        value_type = str if isinstance(value, np.str_) else type(value)
        for option in self.options:
            if value_type is type(option) and value == option:
                return None
        options = ", ".join(repr(option) for option in self.options)
        return f"one of {options}" if len(self.options) > 1 else options


@dataclass(frozen=True)
class AnyOf:
    """A check for a value that passes at least one of several checks."""

    checks: tuple[Check, ...]

    def __call__(self, value: object) -> str | None:
        expected = []
        for check in self.checks:
            text = check(value)
            if text is None:
                return None
            expected.append(text)
        return ", or ".join(filter(None, expected))


@dataclass(frozen=True)
class InstanceOf:
    """A check for an object of a type or protocol; messages contain `description`."""

    kind: type | tuple[type, ...]
    description: str

    def __call__(self, value: object) -> str | None:
        # A class also has the methods of a protocol, but only instances are accepted.
        accepted = isinstance(value, self.kind) and not isinstance(value, type)
        return None if accepted else self.description


DAMAGED_FIT = "The fitted model is damaged: fit again."
"""End of messages about attributes that a fit cannot have set."""

FLAG = InstanceOf((bool, np.bool_), "True or False")
POSITIVE = Number(0.0, above=True)
NON_NEGATIVE = Number(0.0)
UNIT_INTERVAL = Number(0.0, 1.0)
COUNT = Number(1, integer=True)
NOTHING = OneOf((None,))
CALLBACK = InstanceOf((Callable, NoneType), "callable, or None")  # type: ignore[arg-type]
FOLDER = InstanceOf((str, os.PathLike, NoneType), "a path or None")
BYTES = AnyOf((NOTHING, Number(0)))
PRECISION = OneOf(("float64", "float32"))

# Products of a few such values do not overflow.
LARGEST_VALUE = 1e100
"""Largest accepted absolute value of data, targets, alpha and total sample weight."""

SMALLEST_STRENGTH = 1e-150
"""Smallest nonzero alpha or size of targets: its square does not underflow."""

ASYMMETRY = 1e-7
"""Asymmetry, relative to the trace, up to which it counts as a rounding error."""


def check_parameter(owner: str, name: str, value: object, check: Check) -> None:
    """Raise a ValueError that names the accepted values if a parameter is invalid."""
    expected = check(value)
    if expected is not None:
        is_scalar_array = isinstance(value, np.ndarray) and value.ndim == 0
        advice = ", a 0-d array: pass its item()" if is_scalar_array else ""
        raise ValueError(
            f"{owner}: {name} must be {expected}, got {shown(value)}{advice}."
        )


def shown(value: object) -> str:
    """Return a value as text for a message; long texts are truncated."""
    try:
        text = repr(value)
    except ValueError:  # Python does not print integers of over 4300 digits
        return f"a huge {type(value).__name__}"
    if "\n" in text:  # arrays are printed over several lines
        text = " ".join(text.split())
    return text if len(text) <= 300 else f"{text[:300]}..."


def type_shown(value: object) -> str:
    """Return the name of a value's type for a message; a class is named itself."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return type(value).__name__


def printable(text: str) -> str:
    """Return `text` in characters that standard output can encode."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = text.replace("²", "2").replace("×", "x")
        return plain.encode(encoding, "backslashreplace").decode(encoding)
    return text


def listed(names: Sequence[object], n_names: int | None = None) -> str:
    """Return the first five names as text, with the number of further names."""
    head = names[:5]
    # `n_names` is the total number, by default that of the given names.
    n_more = (len(names) if n_names is None else n_names) - len(head)
    text = ", ".join(repr(name) for name in head)
    return f"{text} and {n_more} more" if n_more > 0 else text


def check_table(owner: str, X: object) -> Array:
    """Return X as a float64 array, without a copy if possible; raise if invalid."""
    if np.ma.is_masked(X):
        raise ValueError(
            f"{owner}: X has masked values: fill them, or remove their samples."
        )
    try:
        array = np.asarray(X)
        if array.dtype.kind not in "biufO":
            raise TypeError(array.dtype)
        table = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{owner}: X must be an array of real numbers, within the range of float64 "
            f"and of shape (n_samples, n_features), got {shown(X)}."
        ) from error
    if table.ndim != 2 or not table.size:
        raise ValueError(
            f"{owner}: X must have shape (n_samples, n_features) and at least one "
            f"sample and feature, got shape {table.shape}."
        )
    return table


def check_shapes(owner: str, **arrays: tuple[object, tuple[int | str, ...]]) -> None:
    """Raise unless arrays have the given shapes, as in ``K=(K, ("n_samples", 3))``."""
    # An axis is given by its length, an integer, or by a name. Axes with the same name
    # must have the same length, also if they belong to different arrays. If a tuple
    # replaces the array, it counts as an array with one axis.
    lengths: dict[str, int] = {}
    for name, (array, axes) in arrays.items():
        expected = f"shape ({', '.join(map(str, axes))}{',' * (len(axes) == 1)})"
        if isinstance(array, tuple):
            array = np.empty(len(array))
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
            raise ValueError(
                f"{owner}: {name} must be an array of numbers of {expected}, got "
                f"{shown(array)}."
            )
        is_valid = array.ndim == len(axes)
        for axis, length in zip(axes, array.shape, strict=False):
            size = axis if isinstance(axis, int) else lengths.setdefault(axis, length)
            is_valid &= size == length
        if not is_valid:
            sizes = [f"{axis}={n}" for axis, n in lengths.items() if axis in axes]
            suffix = f" with {', '.join(sizes)}" if sizes else ""
            raise ValueError(
                f"{owner}: {name} must have {expected}{suffix}, got {array.shape}."
            )


def check_places(owner: str, name: str, indices: object, size: int) -> None:
    """Raise unless `indices` is an array of integers from 0 to `size` - 1."""
    array = indices if isinstance(indices, np.ndarray) else np.empty(0)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{owner}: {name} must be an array of integers of shape (n,), got "
            f"{shown(indices)}."
        )
    if array.size and not 0 <= int(array.min()) <= int(array.max()) < size:
        raise ValueError(
            f"{owner}: {name} must contain integers from 0 to {size - 1}, got "
            f"{int(array.min())} to {int(array.max())}."
        )


def check_weights(sample_weight: object, n_samples: int) -> Array | None:
    """Return sample weights as a float64 vector, or None without weights."""
    if sample_weight is None:
        return None
    weights = _weights_as_floats(sample_weight)
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(
            f"Sample weights must be 1D, of shape ({n_samples},): sample_weight has "
            f"{weights.size} values for {n_samples} samples, shape {weights.shape}."
        )
    invalid_rows = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if invalid_rows.size:
        raise ValueError(
            "sample_weight must be finite and nonnegative, but "
            f"sample_weight[{invalid_rows[0]}] is {weights[invalid_rows[0]]:g}: "
            "correct this weight, or remove the sample."
        )
    if not weights.any():
        raise ValueError(
            "All values of sample_weight are zero: pass at least one positive weight."
        )
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not 1.0 / LARGEST_VALUE <= total <= LARGEST_VALUE:
        raise ValueError(
            f"sample_weight (times class_weight) sums to {total:.3g}, but its sum must "
            f"be from {1.0 / LARGEST_VALUE:g} to {LARGEST_VALUE:g}: scale the weights "
            "by a common factor."
        )
    # A weight below 1e-40 times the largest weight does not affect a sum over samples,
    # not even its last digit.
    return np.where(weights < 1e-40 * weights.max(), 0.0, weights)


def _weights_as_floats(sample_weight: object) -> Array:
    """Return weights of any shape as float64; raise unless they are real numbers."""
    try:
        array = np.asanyarray(sample_weight)
    except ValueError as error:  # lists of different lengths
        raise ValueError(
            "sample_weight must hold one number per sample, but it contains sequences "
            "of different lengths."
        ) from error
    if array.dtype.kind in "biuf" and not np.ma.is_masked(array):
        return np.asarray(array, dtype=np.float64)
    problem = _why_not_real(array)
    if problem:
        raise ValueError(f"sample_weight must hold real numbers, got {problem}.")
    try:
        return np.asarray(array, dtype=np.float64)
    except OverflowError as error:
        present = [v for v in array.ravel().tolist() if v is not None]
        too_large = next(v for v in present if abs(v) > sys.float_info.max)
        raise ValueError(
            "sample_weight must hold real numbers within the range of float64, got "
            f"{shown(too_large)}."
        ) from error


def _why_not_real(array: NDArray[np.generic]) -> str:
    """Describe the values of an array that are not real numbers; "" if none."""
    if np.ma.is_masked(array):
        return "masked values"
    if array.dtype.kind in "cmM":
        return "complex numbers" if array.dtype.kind == "c" else "dates or durations"
    # NumPy would silently convert text to numbers.
    accepted = (Real, Decimal, NoneType)
    invalid = [v for v in array.ravel().tolist() if not isinstance(v, accepted)]
    return shown(invalid[0]) if invalid else ""


def check_symmetric(K: Array, name: str, kernel: int | None = None) -> None:
    """Raise unless a matrix is square, finite, and symmetric up to rounding."""
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(f"{name} must be square, got shape {K.shape}.")
    if not np.isfinite(K.sum()) and not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise ValueError(
            f"{name} has values that are not finite, the first {K[i, j]:g} at "
            f"[{i}, {j}]: impute the data of these samples, or remove the samples."
        )
    tolerance = ASYMMETRY * float(np.abs(K.diagonal()).sum())
    for start in range(0, K.shape[0], 256):  # blocks limit the memory
        rows = slice(start, start + 256)
        difference = np.abs(K[rows] - K[:, rows].T)
        if difference.max() > tolerance:
            row, j = np.unravel_index(int(np.argmax(difference)), difference.shape)
            i = start + int(row)
            refuse_distances(K, name, kernel)
            raise ValueError(
                f"{name} is not symmetric: its values at [{i}, {j}] and [{j}, {i}] "
                f"are {K[i, j]!s} and {K[j, i]!s}. If this is rounding, use "
                "(K + K.T) / 2; otherwise check how the matrix was computed."
            )


ZERO_DIAGONAL = "its diagonal is 0 and other values are not"
"""The finding about a matrix for which `has_zero_diagonal` returns True."""


def has_zero_diagonal(K: Array) -> bool:
    """Return whether the diagonal, but not the matrix, is zero up to rounding."""
    return bool(np.abs(K.diagonal()).max() < ASYMMETRY * np.abs(K).max())


def refuse_distances(K: Array, name: str, kernel: int | None = None) -> None:
    """Raise if the diagonal of a matrix, but not the matrix, is zero."""
    if has_zero_diagonal(K):
        raise not_semidefinite(name, ZERO_DIAGONAL, kernel)


def not_semidefinite(
    name: str, finding: str, kernel: int | None
) -> IndefiniteKernelError:
    """Return the error about a matrix that may contain distances."""
    return IndefiniteKernelError(
        f"{name} is not positive semidefinite: {finding}. If this is a matrix D of "
        "distances, pass a kernel of D, such as exp(-D). Otherwise remove the matrix.",
        kernel,
    )
