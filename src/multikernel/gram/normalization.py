"""Normalisation of kernels: learnt on the training data, applied to any other.

Every step is a congruence K -> L K L^T, so that it keeps kernels positive
semidefinite. Statistics are weighted by the sample weights, so that integer weights
equal repeated samples.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self, runtime_checkable

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.gram.dense import DenseStack
from multikernel.gram.low_rank import LowRankStack
from multikernel.gram.scaled import ScaledStack
from multikernel.kernels.base import (
    Kernel,
    checked_values,
    kernel_diagonal,
    kernel_name,
)

STEPS = ("trace", "variance", "cosine", "center")

VANISHES = 1e-12
"""Share of a kernel's size below which what is left of it is rounding only."""


TINY = float(np.finfo(np.float64).tiny)


class Step(Protocol):
    """One normalisation of every kernel of a stack."""

    def learn(self, kernels: slice, stack: GramStack) -> None:
        """Store what training matrices say.

        Parameters
        ----------
        kernels : slice
            Which kernels of the step they are.
        stack : GramStack
            Their matrices on the training samples, as the steps before left them.
            Their diagonals, products with the weights, and quadratic forms of these
            are all that a step needs, so any storage will do.
        """
        ...

    def take(self, kernels: Indices) -> Self:
        """Return the step of the chosen kernels."""
        ...

    def apply(self, m: int, K: Array, row_diagonal: Array, diagonal: Array) -> None:
        """Normalise in place.

        Parameters
        ----------
        m : int
            The kernel.
        K : ndarray of shape (n_new, n_train)
            Its matrix between new and training samples, as the steps before left it.
        row_diagonal : ndarray of shape (n_new,)
            k(x, x) of the new samples, as the steps before left it.
        diagonal : ndarray of shape (n_train,)
            k(x, x) of the training samples, as the steps before left it.
        """
        ...

    def apply_factor(self, m: int, factor: Array) -> Array:
        """Return the normalised factor L Z of the training matrix K_m = Z Z^T.

        Parameters
        ----------
        m : int
            The kernel.
        factor : ndarray of shape (n_train, rank)
            Z, as the steps before left it.

        Returns
        -------
        factor : ndarray of shape (n_train, rank)
        """
        ...


@runtime_checkable
class Normalizer(Protocol):
    """A normalisation with settings of its own, in place of the name of a step."""

    def empty(self, weights: Array, n_kernels: int) -> Step:
        """Return a step with room for what it will learn.

        Parameters
        ----------
        weights : ndarray of shape (n_train,)
            Sample weights that sum to one.
        n_kernels : int
            How many kernels it is for.
        """
        ...


Steps = str | Normalizer | Sequence[str | Normalizer] | None
"""What a ``normalize`` parameter may be."""


@dataclass(frozen=True, eq=False)
class ScaleStep(ABC):
    """A factor for every kernel.

    Parameters
    ----------
    weights : ndarray of shape (n_train,)
        Sample weights that sum to one.
    factors : ndarray of shape (n_kernels,)
        The factors; zero for a kernel that has no size.
    """

    weights: Array
    factors: Array

    @abstractmethod
    def sizes(self, stack: GramStack, forms: Array | None) -> Array:
        """Return what is to be one, shape (n_kernels,)."""

    def learn(
        self, kernels: slice, stack: GramStack, forms: Array | None = None
    ) -> None:
        """Store the factors of some kernels; see `Step.learn`.

        Quadratic forms of the weights are computed unless they are given.
        """
        self.store(kernels, self.sizes(stack, forms))

    def store(self, kernels: slice, sizes: Array) -> None:
        """Store one over the sizes of some kernels."""
        positive = sizes >= TINY  # the inverse of less is no number
        self.factors[kernels] = np.where(
            positive, 1.0 / np.where(positive, sizes, 1), 0
        )

    def take(self, kernels: Indices) -> Self:
        """Return the step of the chosen kernels."""
        return replace(self, factors=self.factors[kernels])

    def apply(self, m: int, K: Array, row_diagonal: Array, diagonal: Array) -> None:
        """Scale in place; see `Step.apply`."""
        _scale(self.factors[m], K, row_diagonal, diagonal)

    def apply_factor(self, m: int, factor: Array) -> Array:
        """Return the scaled factor; see `Step.apply_factor`."""
        return np.asarray(factor * np.sqrt(self.factors[m]))


class TraceStep(ScaleStep):
    """Scale to a (weighted) mean diagonal of one: tr K = n."""

    def sizes(self, stack: GramStack, forms: Array | None) -> Array:
        """Return the mean diagonals."""
        return np.asarray(stack.diagonals() @ self.weights)


class VarianceStep(ScaleStep):
    """Scale to unit variance in feature space: tr K / n - 1'K1 / n^2 = 1."""

    def sizes(self, stack: GramStack, forms: Array | None) -> Array:
        """Return the variances, zero for a kernel that is constant."""
        means = stack.diagonals() @ self.weights
        if forms is None:
            forms = stack.quadratic_forms(self.weights)
        variances = means - forms
        return np.where(variances > VANISHES * means, variances, 0.0)


@dataclass(frozen=True)
class CosineStep:
    """Divide by sqrt(k(x, x) k(x', x')); a sample with k(x, x) = 0 stays at zero."""

    def learn(self, kernels: slice, stack: GramStack) -> None:
        """Learn nothing: the diagonals say all."""

    def take(self, kernels: Indices) -> Self:
        """Return the step itself."""
        return self

    def apply(self, m: int, K: Array, row_diagonal: Array, diagonal: Array) -> None:
        """Divide in place."""
        K *= _inverse_roots(diagonal)
        K *= _inverse_roots(row_diagonal)[:, None]
        for values in (row_diagonal, diagonal):
            values[...] = values >= TINY

    def apply_factor(self, m: int, factor: Array) -> Array:
        """Return the factor with rows of length one; see `Step.apply_factor`."""
        squares = np.einsum("ik,ik->i", factor, factor)
        return factor * _inverse_roots(squares)[:, None]


@dataclass(frozen=True, eq=False)
class CenterStep:
    """Move the (weighted) mean of the training samples to the origin.

    Parameters
    ----------
    weights : ndarray of shape (n_train,)
        Sample weights that sum to one.
    means : ndarray of shape (n_kernels, n_train)
        Mean similarity of each training sample to all of them.
    grand_means : ndarray of shape (n_kernels,)
        Their mean.
    kept : ndarray of shape (n_kernels,)
        Zero for a kernel that is constant, one for others.
    """

    weights: Array
    means: Array
    grand_means: Array
    kept: Array

    def learn(self, kernels: slice, stack: GramStack) -> None:
        """Store the means of some kernels; see `Step.learn`."""
        means = stack.matvec(self.weights)
        grand_means = means @ self.weights
        sizes = stack.diagonals() @ self.weights
        self.means[kernels], self.grand_means[kernels] = means, grand_means
        self.kept[kernels] = sizes - grand_means > VANISHES * sizes

    def take(self, kernels: Indices) -> Self:
        """Return the step of the chosen kernels."""
        return replace(
            self,
            means=self.means[kernels],
            grand_means=self.grand_means[kernels],
            kept=self.kept[kernels],
        )

    def apply(self, m: int, K: Array, row_diagonal: Array, diagonal: Array) -> None:
        """Center in place."""
        means = K @ self.weights
        K -= self.means[m] - self.grand_means[m]
        K -= means[:, None]
        row_diagonal += self.grand_means[m] - 2.0 * means
        diagonal += self.grand_means[m] - 2.0 * self.means[m]
        _scale(self.kept[m], K, row_diagonal, diagonal)

    def apply_factor(self, m: int, factor: Array) -> Array:
        """Return the centred factor; see `Step.apply_factor`."""
        return np.asarray((factor - self.weights @ factor) * self.kept[m])


@dataclass(frozen=True)
class Normalization:
    """The steps of a stack, in the order in which they are applied.

    Parameters
    ----------
    steps : tuple of Step
        Learnt steps; empty for kernels as they are.
    """

    steps: tuple[Step, ...] = ()

    def learn(self, m: int, K: Array) -> None:
        """Learn every step from one training matrix, and normalise it in place."""
        if not self.steps:
            return
        diagonal = K.diagonal().copy()
        for step in self.steps:
            step.learn(slice(m, m + 1), DenseStack(K[None]))
            step.apply(m, K, diagonal.copy(), diagonal)

    def learn_factor(self, m: int, factor: Array) -> Array:
        """Learn every step from the factor of one matrix, and return its product."""
        ends = np.array([0, factor.shape[1]])
        for step in self.steps:
            step.learn(slice(m, m + 1), LowRankStack(factor, factor, ends))
            factor = step.apply_factor(m, factor)
        return factor

    def learn_scales(self, stack: GramStack, forms: Array | None = None) -> GramStack:
        """Learn every step from a whole stack, and return it with its factors.

        Parameters
        ----------
        stack : GramStack
            The training matrices.
        forms : ndarray of shape (n_kernels,), optional
            Their quadratic forms of the weights, where these are known.

        Returns
        -------
        scaled : GramStack

        Raises
        ------
        TypeError
            If a step does more than scale.
        """
        scales = np.ones(stack.shape[0])
        scaled = stack
        for step in self.steps:
            if not isinstance(step, ScaleStep):
                raise TypeError(f"{type(step).__name__} does more than scale.")
            step.learn(slice(None), scaled, None if forms is None else scales * forms)
            scales *= step.factors
            scaled = ScaledStack(stack, scales)
        return scaled

    @property
    def only_scales(self) -> bool:
        """Return whether every step gives a kernel nothing but a factor."""
        return all(isinstance(step, ScaleStep) for step in self.steps)

    def apply(self, m: int, K: Array, row_diagonal: Array, diagonal: Array) -> None:
        """Apply every step to one kernel, in place; see `Step.apply`."""
        for step in self.steps:
            step.apply(m, K, row_diagonal, diagonal)

    def take(self, kernels: Indices) -> "Normalization":
        """Return the normalisation of the chosen kernels."""
        return Normalization(tuple(step.take(kernels) for step in self.steps))


@dataclass(frozen=True, eq=False)
class BuiltStack:
    """A normalised stack, and what was learnt while it was built.

    Parameters
    ----------
    stack : GramStack
        The normalised Gram matrices on the training samples.
    normalization : Normalization
        What `cross_gram` needs to treat new samples alike.
    degenerate : ndarray of shape (n_degenerate,)
        Indices of kernels that are zero on the training data, or constant where
        kernels are centred or scaled to unit variance; their matrices are zero.
    """

    stack: GramStack
    normalization: Normalization
    degenerate: Indices


def check_steps(normalize: Steps) -> tuple[str | Normalizer, ...]:
    """Return normalisation steps as a tuple.

    Parameters
    ----------
    normalize : str, Normalizer, sequence of these, or None
        One step, several in order, or none.

    Returns
    -------
    steps : tuple of str or Normalizer

    Raises
    ------
    ValueError
        If a name is unknown.
    """
    if normalize is None:
        return ()
    if isinstance(normalize, str | Normalizer):
        normalize = (normalize,)
    steps = tuple(normalize)
    for step in steps:
        if not (isinstance(step, Normalizer) or step in STEPS):
            raise ValueError(
                f"normalize must be None, one of {', '.join(map(repr, STEPS))}, a "
                "normaliser such as TailNormalizer(4), or a sequence of these, got "
                f"{step!r}."
            )
    return steps


def empty_normalization(
    normalize: Steps,
    n_kernels: int,
    n_samples: int,
    sample_weight: Array | None = None,
) -> Normalization:
    """Return steps with room for what they will learn.

    Parameters
    ----------
    normalize : str, Normalizer, sequence of these, or None
        The steps.
    n_kernels, n_samples : int
        Shape of the training stack.
    sample_weight : ndarray of shape (n_samples,), optional
        Sample weights; equal ones when left out.

    Returns
    -------
    normalization : Normalization
    """
    weights = np.ones(n_samples) if sample_weight is None else sample_weight
    weights = weights / weights.sum()

    def empty(step: str | Normalizer) -> Step:
        if isinstance(step, Normalizer):
            return step.empty(weights, n_kernels)
        if step == "trace":
            return TraceStep(weights, np.zeros(n_kernels))
        if step == "variance":
            return VarianceStep(weights, np.zeros(n_kernels))
        if step == "cosine":
            return CosineStep()
        return CenterStep(
            weights,
            np.zeros((n_kernels, n_samples)),
            np.zeros(n_kernels),
            np.zeros(n_kernels),
        )

    return Normalization(tuple(empty(step) for step in check_steps(normalize)))


def cross_gram(
    kernel: Kernel, X_new: Array, X_train: Array, normalization: Normalization, m: int
) -> Array:
    """Return one normalised kernel between new and training samples.

    Parameters
    ----------
    kernel : Kernel
        Kernel m of the dictionary.
    X_new : ndarray of shape (n_new, n_features)
        New samples.
    X_train : ndarray of shape (n_train, n_features)
        The samples that `normalization` was learnt on.
    normalization : Normalization
        From `build_stack`.
    m : int
        The kernel's index in the dictionary.

    Returns
    -------
    K : ndarray of shape (n_new, n_train)
        On the training samples themselves it equals the built Gram matrix.

    Raises
    ------
    ValueError
        If the kernel returns another shape, or values that are not finite.
    """
    shape = (X_new.shape[0], X_train.shape[0])
    # A copy: a precomputed kernel returns its own array.
    K = checked_values(
        lambda: kernel(X_new, X_train), shape, kernel_name(kernel)
    ).copy()
    if not normalization.steps:
        return K
    row_diagonal = diagonal = np.empty(0)
    # Diagonals of kernels of one's own may take a call per row, and scaling needs none.
    if not normalization.only_scales:
        row_diagonal = np.array(kernel_diagonal(kernel, X_new), dtype=np.float64)
        diagonal = np.array(kernel_diagonal(kernel, X_train), dtype=np.float64)
    normalization.apply(m, K, row_diagonal, diagonal)
    return K


def _inverse_roots(diagonal: Array) -> Array:
    """Return 1 / sqrt(diagonal), zero where it is not positive, or has no digits."""
    positive = diagonal >= TINY
    roots = np.sqrt(diagonal, where=positive, out=np.ones_like(diagonal))
    return np.where(positive, 1.0 / roots, 0.0)


def _scale(factor: float, *arrays: Array) -> None:
    """Multiply in place; most often by one, as Gaussians have a trace of n."""
    if factor == 1.0:
        return
    for values in arrays:
        values *= factor
