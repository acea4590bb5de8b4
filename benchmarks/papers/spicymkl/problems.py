"""The problems of the SpicyMKL paper: data, splits, dictionaries, strengths.

Inside, losses are summed. The paper's C belongs to kernels of unit trace and summed
losses; ours have trace n, so that the same problem has alpha = C sqrt(n) here (and
C / sqrt(n) in an estimator, whose losses are averaged).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from multikernel.datasets import load
from multikernel.gram import BuiltStack, DenseStack, build_stack, cross_gram
from multikernel.gram.base import GramStack
from multikernel.kernels import random_subset_gaussians, spicy_dictionary
from multikernel.kernels.base import KernelDictionary
from multikernel.losses import (
    EpsilonInsensitiveLoss,
    HingeLoss,
    LogisticLoss,
    Loss,
    SquaredLoss,
)
from multikernel.problem import Problem, Solution
from multikernel.regularizers import BlockL1

Array = NDArray[np.float64]

UCI = ("liver", "pima", "ionosphere", "wpbc", "sonar")
STRENGTHS = (0.005, 0.05, 0.5)
"""The paper's C."""
SEED = 0
NO_LIMIT = 2**50

LOSSES: Mapping[str, Loss] = {
    "log_loss": LogisticLoss(),
    "hinge": HingeLoss(),
    "squared_error": SquaredLoss(),
    "epsilon_insensitive": EpsilonInsensitiveLoss(0.1),
}
"""The regression losses are given the labels -1 and +1 as targets."""


@dataclass(frozen=True)
class Split:
    """Training and test samples of one random split."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array


def uci_split(name: str, seed: int, most: int | None = None) -> Split:
    """Return a random split in 80 and 20 per cent, inputs standardized.

    Rows with missing values are dropped; mean and scale are those of the training
    rows, of which there are at most `most`.
    """
    X, y = _complete(name)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=0.8, random_state=SEED + seed
    )
    X, y = X[:most], y[:most]
    scaler = StandardScaler().fit(X)
    return Split(scaler.transform(X), y, scaler.transform(X_test), y_test)


def ida_split(name: str, n_train: int, seed: int) -> Split:
    """Return so many random training rows of a set; the others are the test rows.

    Inputs are standardized by the training rows: the paper's widths are meant for
    inputs of unit scale, and the copy of ringnorm at hand is in thousandths.
    """
    X, y = _complete(name)
    rows = np.random.default_rng(SEED + seed).permutation(len(y))
    train, test = rows[:n_train], rows[n_train:]
    scaler = StandardScaler().fit(X[train])
    return Split(
        scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]
    )


def _complete(name: str) -> tuple[Array, Array]:
    """Return inputs and labels of the rows without missing values."""
    data = load(name)
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
    if name == "splice":
        # Letters A, C, G, T; the IDA repository codes them 1 to 4.
        X = 1.0 + np.searchsorted(np.frombuffer(b"ACGT", np.uint8), data.X)
    whole = ~np.isnan(X).any(axis=1)
    return X[whole], y[whole]


def uci_dictionary(X: Array) -> KernelDictionary:
    """Return the 27 (d + 1) kernels of section 5.1."""
    return spicy_dictionary(X.shape[1])


def subset_dictionary(n_kernels: int, X: Array, seed: int = SEED) -> KernelDictionary:
    """Return Gaussian kernels on random feature subsets, section 5.2."""
    return random_subset_gaussians(n_kernels, X.shape[1], random_state=seed)


def dense(dictionary: KernelDictionary, X: Array) -> BuiltStack:
    """Compute all kernels, with a trace of n each."""
    return build_stack(
        dictionary, X, normalize="trace", storage="dense", max_bytes=NO_LIMIT
    )


def first_kernels(stack: GramStack, n_kernels: int) -> DenseStack:
    """Return the first kernels of a dense stack, a view."""
    part = stack.take(np.arange(n_kernels))
    assert isinstance(part, DenseStack)
    return part


def problem(stack: GramStack, y: Array, loss: str, C: float) -> Problem:
    """Return the problem for the paper's C."""
    return Problem(stack, y, LOSSES[loss], BlockL1(C * np.sqrt(len(y))))


def accuracy(
    solution: Solution, built: BuiltStack, dictionary: KernelDictionary, split: Split
) -> float:
    """Return the share of test labels that the model finds."""
    f = np.full(len(split.y_test), float(solution.intercept[0]))
    for coefs, m in zip(solution.coefs, solution.active, strict=True):
        m = int(m)
        K = cross_gram(dictionary[m], split.X_test, split.X, built.normalization, m)
        f += K @ coefs
    return float(np.mean(np.where(f > 0.0, 1.0, -1.0) == split.y_test))
