"""The Gram matrices of cross-validation folds, cut from one stack where possible."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators._grams import Grams, additive_model
from multikernel.estimators._one_vs_rest import Expansion
from multikernel.estimators._precomputed import normalize_in_place
from multikernel.estimators._predict import AdditiveModel, CrossGrams, Rows
from multikernel.gram import DenseStack, GramStack, Normalization
from multikernel.gram.normalization import empty_normalization
from multikernel.gram.scaled import ScaledStack


@dataclass(frozen=True, eq=False)
class StackGrams:
    """Kernels cut from the stack of all samples, where new samples are row numbers.

    Parameters
    ----------
    whole : GramStack
        The matrices of all samples, normalised or not.
    indices : ndarray of shape (n_active,)
        The active kernels.
    train : ndarray of shape (n_train,)
        The fold's training samples.
    normalization : Normalization
        What was learnt on them.
    """

    whole: GramStack
    indices: Indices
    train: Indices
    normalization: Normalization

    def __call__(self, X: Rows, position: int) -> Array:
        """Return one active kernel's matrix, shape (n_samples, n_train)."""
        m = int(self.indices[position])
        rows = X.astype(np.intp)
        one = self.whole.take(np.array([m]))
        K: Array = (
            one.restrict(rows, self.train).columns(np.arange(self.train.size))[0].copy()
        )
        diagonal = one.diagonals()[0]
        row_diagonal, diagonal = diagonal[rows], diagonal[self.train]
        for step in self.normalization.steps:
            step.apply(m, K, row_diagonal, diagonal)
        return K


@dataclass(frozen=True, eq=False)
class Fold:
    """The training Gram matrices of a fold, and its validation samples.

    Parameters
    ----------
    stack : GramStack
        On the fold's training samples, normalised by what they say alone.
    cross : callable
        As `Grams.cross`: the kernels between validation and training samples.
    inputs : ndarray of shape (n_test, ...)
        The validation samples, as those kernels take them.
    """

    stack: GramStack
    cross: Callable[[Indices, Indices], tuple[CrossGrams, Indices]]
    inputs: Rows

    def model(self, expansion: Expansion) -> AdditiveModel:
        """Return the model of coefficients over the training samples."""
        return additive_model(self.cross, expansion)


def make_fold(
    full: Grams, train: Indices, test: Indices, weights: Array | None
) -> Fold:
    """Return the Gram matrices of a fold, the same as if it were fitted alone.

    A single step of normalisation gives the same on a normalised matrix as on the
    kernel itself: the means that centring subtracts and the factors of scaling do not
    depend on what was subtracted or multiplied before. So kernels are computed once
    for all folds, unless several steps are applied or the stack is not in memory.

    Parameters
    ----------
    full : Grams
        The matrices of all samples.
    train, test : ndarray of int
        The fold's samples, as positions among those of `full`.
    weights : ndarray of shape (n_train,) or None
        Weights of the normalisation's statistics.

    Returns
    -------
    fold : Fold
    """
    several = len(full.built.normalization.steps) > 1
    # Folds learn their own factors, so those of the whole do not matter.
    whole = full.stack.stack if isinstance(full.stack, ScaledStack) else full.stack
    if several or not isinstance(whole, DenseStack):
        grams = full.rebuilt(train, weights)
        return Fold(grams.stack, grams.cross, full.X[test])
    stack = whole.restrict(train, train)
    assert isinstance(stack, DenseStack)
    normalization = empty_normalization(
        full.options.normalize, stack.shape[0], train.size, weights
    )
    if normalization.steps:
        shared = np.shares_memory(stack.array, whole.array)
        array = stack.array.copy() if shared else stack.array
        normalize_in_place(array, normalization)
        stack = DenseStack(array)

    everyone = np.arange(train.size)

    def cross(active: Indices, used: Indices) -> tuple[CrossGrams, Indices]:
        return StackGrams(whole, active, train, normalization), everyone

    return Fold(stack, cross, test)
