"""The Gram matrices of cross-validation folds, cut from one stack where possible."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators._grams import Grams, additive_model
from multikernel.estimators._one_vs_rest import Expansion
from multikernel.estimators._predict import AdditiveModel, CrossGrams, Rows
from multikernel.gram import GramStack, Normalization, build_part
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
        everyone = np.arange(self.train.size)
        K: Array = one.restrict(rows, self.train).columns(everyone)[0]
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
    full: Grams,
    train: Indices,
    test: Indices,
    weights: Array | None,
    n_jobs: int = 1,
) -> Fold:
    """Return the Gram matrices of a fold, the same as if it were fitted alone.

    Kernels are computed once for all folds, which look at one stack, unless several
    steps of normalisation do more than scale or the stack is not in memory.

    Parameters
    ----------
    full : Grams
        The matrices of all samples.
    train, test : ndarray of int
        The fold's samples, as positions among those of `full`; those of training
        ascend.
    weights : ndarray of shape (n_train,) or None
        Weights of the normalisation's statistics.
    n_jobs : int, default=1
        How many folds are made at a time.

    Returns
    -------
    fold : Fold
    """
    built = build_part(
        full.stack,
        train,
        normalize=full.options.normalize,
        sample_weight=weights,
        max_bytes=full.options.max_bytes,
        n_copies=n_jobs,
    )
    if built is None:
        grams = full.rebuilt(train, weights)
        return Fold(grams.stack, grams.cross, full.X[test])
    whole = full.stack.stack if isinstance(full.stack, ScaledStack) else full.stack
    normalization, everyone = built.normalization, np.arange(train.size)

    def cross(active: Indices, used: Indices) -> tuple[CrossGrams, Indices]:
        kept = used if normalization.only_scales else everyone
        grams = StackGrams(whole, active, train[kept], normalization)
        return grams, kept

    return Fold(built.stack, cross, test)
