"""The data and the dictionaries of these measurements."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from multikernel.datasets import load, make_ringnorm
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    KernelDictionary,
    ListDictionary,
    NystroemKernel,
    ParameterGrid,
    spicy_dictionary,
)

Array = NDArray[np.float64]

WIDTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
N_TEST = 10_000
SIDE = 28
"""Rows and columns of an image of mnist."""


@dataclass(frozen=True)
class Split:
    """Standardized rows to learn from and to test on."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


def generated(n_samples: int, seed: int = 0) -> tuple[Array, Array]:
    """Return rows of 20 columns, not standardized, and their labels.

    Labels alternate; rows are standard normal, positive ones times two and negative
    ones shifted by 2 / sqrt(20).
    """
    y = np.where(np.arange(n_samples) % 2 == 0, 1.0, -1.0)
    X = np.random.default_rng(seed).standard_normal((n_samples, 20))
    X[y > 0.0] *= 2.0
    X[y < 0.0] += 2.0 / np.sqrt(20.0)
    return X, y


def split_of(data: str, n_samples: int | None) -> Split:
    """Return a data set by name, with so many rows to learn from."""
    if data in ("generated", "ringnorm"):
        assert n_samples is not None
        make = generated if data == "generated" else _ringnorm
        X, y = make(n_samples, 0)
        X_test, y_test = make(N_TEST, 1)
    else:
        X, y, X_test, y_test = _held_out(data, n_samples)
    scaler = StandardScaler().fit(X)
    return Split(scaler.transform(X), y, scaler.transform(X_test), y_test)


def _ringnorm(n_samples: int, seed: int) -> tuple[Array, Array]:
    X, y = make_ringnorm(n_samples, random_state=seed)
    return X, np.where(y > 0, 1.0, -1.0)


def _held_out(data: str, n_samples: int | None) -> tuple[Array, ...]:
    """Return rows of a stored set, a fifth of all (or what is left) for the test."""
    bunch = load("uci_magic04" if data == "magic04" else data)
    X = np.asarray(bunch.X, dtype=float)
    if data == "mnist":
        y = np.where(np.asarray(bunch.y, dtype=float) % 2 == 1, 1.0, -1.0)
    else:
        y = np.where(bunch.y == np.unique(bunch.y)[1], 1.0, -1.0)
    if data == "breast_cancer":
        few = n_samples is not None
        X, y = (X[:n_samples, :3], y[:n_samples]) if few else (X, y)
        return X, y, X, y
    n_test = len(y) // 5
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=n_test, random_state=0, stratify=y
    )
    return X[:n_samples], y[:n_samples], X_test, y_test


def kernel_list(
    data: str, n_columns: int, widths: Sequence[float] = WIDTHS
) -> list[tuple[list[int], float]]:
    """Return the columns and widths of the Gaussian kernels of a data set."""
    if data == "mnist":
        # The 196 pixels of a quadrant are as far apart as 14 standardized columns.
        return [(pixels, 14.0 * width) for pixels in quadrants() for width in widths]
    return [([j], width) for j in range(n_columns) for width in widths]


def dictionary_of(
    data: str, n_columns: int, widths: Sequence[float] = WIDTHS
) -> KernelDictionary:
    """Return the kernels of a data set; of quadrants of images, seen by landmarks."""
    if data == "breast_cancer":
        return spicy_dictionary(n_columns)
    if data == "mnist":
        pairs = kernel_list(data, n_columns, widths)
        return ListDictionary(
            [
                ColumnKernel(NystroemKernel(GaussianKernel(width), 300), columns)
                for columns, width in pairs
            ]
        )
    return ParameterGrid([GaussianKernel(width) for width in widths], range(n_columns))


def quadrants() -> list[list[int]]:
    """Return the pixels of the quadrants of an image."""
    places = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    half = SIDE // 2
    ends = (slice(0, half), slice(half, SIDE))
    return [places[rows, cols].ravel().tolist() for rows in ends for cols in ends]
