"""Landmarks of low-rank factors, and explicit features of kernels."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, singledispatch
from itertools import combinations_with_replacement
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from multikernel._typing import Array, Indices
from multikernel._validation import (
    COUNT,
    FOLDER,
    NON_NEGATIVE,
    PRECISION,
    check_parameter,
)
from multikernel.gram.base import GramStack
from multikernel.gram.factors.growth import (
    Factor,
    Goal,
    KernelColumns,
    exact_factor,
    grow,
    kernel_and_columns,
    kernel_columns,
    without_landmarks,
)
from multikernel.gram.factors.low_rank import FactorStack, LowRankStack
from multikernel.gram.lazy import LazyStack, lazy_stack
from multikernel.gram.steps import inverse_roots
from multikernel.kernels.base import (
    Kernel,
    KernelDictionary,
    kernel_diagonal,
    kernel_name,
)
from multikernel.kernels.built_in import is_built_in
from multikernel.kernels.columns import ColumnKernel, select_columns
from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.gaussian import radial_form
from multikernel.kernels.polynomial import LinearKernel, PolynomialKernel
from multikernel.kernels.sampled import FeatureKernel
from multikernel.kernels.sequence import SequenceKernel
from multikernel.kernels.sequence.base import Form

MOST_MONOMIALS = 64
"""Largest number of monomials that are used as features of a polynomial kernel."""


@dataclass(frozen=True)
class LowRank:
    """Storage of kernels by their values at landmarks.

    A kernel gets landmarks until its residual, the kernel minus its approximation, has
    a trace of at most `tol` times the trace of the centered kernel, or until it has
    `first` landmarks. It gets more later, up to `max_rank`, if the duality gap over the
    full kernels requires them. With `folder`, factors are stored in files there; these
    may have `dtype` "float32", and the gap is then accurate to seven digits.
    """

    max_rank: int = 2000
    tol: float = 1e-8
    first: int = 200
    folder: str | os.PathLike[str] | None = None
    dtype: str = "float64"

    def __post_init__(self) -> None:
        for name in ("max_rank", "first"):
            check_parameter("LowRank", name, getattr(self, name), COUNT)
        check_parameter("LowRank", "tol", self.tol, NON_NEGATIVE)
        check_parameter("LowRank", "folder", self.folder, FOLDER)
        check_parameter("LowRank", "dtype", self.dtype, PRECISION)
        if self.folder is None and self.dtype != "float64":
            raise ValueError(
                f"LowRank: dtype={self.dtype!r} requires factors in files: pass a "
                "folder, or omit dtype."
            )

    @property
    def goal(self) -> Goal:
        """Return the criterion that ends the first choice of a kernel's landmarks."""
        return Goal(min(self.first, self.max_rank), self.tol)


@dataclass(frozen=True, eq=False)
class KernelLandmarks:
    """The landmarks and the normalization of one factor, sqrt(scale) * (Z - shift)."""

    # Z is K R^-1, with K the kernel's values between samples and landmarks, and R the
    # Cholesky factor of its values between landmarks; or Z consists of explicit
    # features of the kernel.
    # (rank,), rows of `Landmarks.X`; empty if Z consists of features.
    chosen: Indices
    # R transposed; None if Z consists of features, or if all landmarks are samples of
    # the stack, so that the factor contains R.
    triangle: Array | None = None
    scale: float = 1.0
    shift: Array | None = None  # (rank,), weighted column means of Z if centered


@dataclass(frozen=True, eq=False)
class Landmarks:
    """The landmarks of a stack of factors, with its kernels and samples."""

    dictionary: KernelDictionary
    X: Array  # (n_all, n_features), the samples that landmarks are chosen from
    rows: Indices  # (n_samples,), rows of `X` that are the samples of the stack
    weights: Array  # (n_samples,), weights of these samples; the sum is one
    cosine: bool  # whether kernels are scaled to a diagonal of ones
    options: LowRank  # limits on landmarks
    kernels: "Sequence[KernelLandmarks] | NDArray[np.object_]" = ()
    _shared: dict[int, Array] = field(default_factory=dict, init=False)

    @property
    def samples(self) -> Array:
        """Return the stack's samples, shape (n_samples, n_features)."""
        is_whole = self.rows.size == self.X.shape[0]
        return self.X if is_whole else self.X[self.rows]

    @property
    def centered(self) -> bool:
        """Return whether kernels are centered."""
        return any(kernel.shift is not None for kernel in self.kernels)

    @cached_property
    def scales(self) -> Array:
        """Return the number that multiplies each kernel, shape (n_kernels,)."""
        return np.array([kernel.scale for kernel in self.kernels])

    def restrict(self, samples: Indices, weights: Array) -> Self:
        """Return a copy for a part of the samples, with these sample weights."""
        return replace(self, rows=self.rows[samples], weights=weights)

    def columns(self, m: int) -> KernelColumns:
        """Return an object that computes columns of kernel m on the stack's samples."""
        kernel = self.dictionary[m]
        owner = f"Kernel {m} ({kernel_name(kernel)})"
        return kernel_columns(kernel, self.samples, owner, cosine=self.cosine)

    def factor(self, m: int, goal: Goal) -> Factor:
        """Return the factor of kernel m: its features if few, else from landmarks."""
        features = feature_rows(self.dictionary[m], self.samples, cosine=self.cosine)
        if features is None or len(features[0]) > self.samples.shape[0]:
            columns = self.columns(m)
            # If few samples are distinct, all distinct samples are landmarks.
            exact_kernel_factor = exact_factor(columns, self.options.max_rank)
            if exact_kernel_factor is not None:
                return exact_kernel_factor
            return grow(columns, without_landmarks(columns), self.weights, goal)
        rows, diagonal = features
        residual, no_landmarks = np.zeros(diagonal.size), np.empty(0, dtype=np.intp)
        return Factor(rows, residual, no_landmarks, diagonal)

    def positions(self, m: int) -> Indices:
        """Return each landmark's position in `samples`; -1 if it is not in them."""
        positions = np.full(self.X.shape[0], -1)
        positions[self.rows] = np.arange(self.rows.size)
        return np.asarray(positions[self.kernels[m].chosen])

    def triangle(self, stack: GramStack, m: int) -> Array:
        """Return the lower Cholesky factor L of a kernel at its landmarks."""
        kernel = self.kernels[m]
        if kernel.triangle is not None:
            return kernel.triangle
        assert isinstance(stack, LowRankStack)
        part = slice(stack.offsets[m], stack.offsets[m + 1])
        # The factor's rows at the landmarks are sqrt(scale) (L - shift).
        values = stack.factors[self.positions(m), part] / np.sqrt(kernel.scale)
        return np.tril(values if kernel.shift is None else values + kernel.shift)

    def shared_triangle(self, stack: GramStack, m: int) -> Array:
        """Return `triangle`, cached so that all folds of the stack share one array."""
        if m not in self._shared:
            self._shared[m] = self.triangle(stack, m)
        return self._shared[m]

    def widths(self, stack: GramStack, kernels: Indices) -> tuple[int, ...]:
        """Return how many coefficients the function of each chosen kernel has."""
        # This is the rank of a factor, and the number of samples for a matrix.
        widths = stack.held_numbers()[kernels] / stack.shape[1]
        return tuple(widths.astype(int).tolist())

    def predictor(self, stack: GramStack, m: int) -> Kernel:
        """Return the kernel that evaluates kernel m of a stack at new samples."""
        return self.dictionary[m]

    def coefficients(
        self, stack: GramStack, m: int, coefs: Array
    ) -> tuple[Array, Array]:
        """Return weights and constants that evaluate K_m coefs at any sample."""
        # At a sample, the function K_m coefs is the product of the weights, (rank,
        # n_outputs), with the features of the sample, or with the kernel between the
        # sample and the landmarks, plus the constants, (n_outputs,).
        assert isinstance(stack, FactorStack)
        shift, landmark_rows = self.kernels[m].shift, self.kernels[m].chosen
        weights = np.sqrt(self.scales[m]) * stack.own_coordinates(m, coefs)
        constant = np.zeros(weights.shape[1]) if shift is None else -(shift @ weights)
        if landmark_rows.size:
            triangle = self.triangle(stack, m)
            weights = solve_triangular(triangle, weights, lower=True, trans="T")
        if landmark_rows.size and self.cosine:
            points = self.X[landmark_rows]
            kernel, points = kernel_and_columns(self.dictionary[m], points)
            weights *= inverse_roots(kernel_diagonal(kernel, points))[:, None]
        # A zero kernel without landmarks has a column of zeros as its factor.
        return weights, constant

    def full_forms(self, kernels: Indices, v: Array) -> Array:
        """Return v^T K_m v of full kernels, not of their factors; nan if unknown."""
        forms = np.full(kernels.size, np.nan)
        positions, stack = self._without_cosine(kernels)
        if stack is not None:
            if self.centered:
                v = v - np.multiply.outer(self.weights, v.sum(axis=0))
            forms[positions] = stack.quadratic_forms(v)
        return np.asarray(self.scales[kernels] * forms)

    def full_columns(self, kernels: Indices, samples: Indices) -> Array:
        """Return uncentered columns of full kernels, not of factors; nan if unknown."""
        # The shape is (n_kernels, n_samples, n_columns).
        columns = np.full((kernels.size, self.rows.size, samples.size), np.nan)
        positions, stack = self._without_cosine(kernels)
        if stack is not None:
            columns[positions] = stack.columns(samples)
        return np.asarray(self.scales[kernels][:, None, None] * columns)

    def _without_cosine(self, kernels: Indices) -> tuple[Indices, LazyStack | None]:
        """Return positions of kernels unchanged by 'cosine', and a stack of them."""
        # The cosine normalization changes all kernels but Gaussian ones. The stack is
        # not normalized; it is None if 'cosine' changes all of the kernels.
        members = [self.dictionary[int(m)] for m in kernels]
        is_unchanged = [not self.cosine or radial_form(k) is not None for k in members]
        positions = np.flatnonzero(is_unchanged)
        if not positions.size:
            return positions, None
        unchanged = ListDictionary([members[position] for position in positions])
        return positions, lazy_stack(unchanged, self.samples)


def landmarks_of(stack: GramStack) -> Landmarks | None:
    """Return the landmarks of a stack of factors, None if it has none."""
    landmarks: Landmarks | None = getattr(stack, "landmarks", None)
    return landmarks


def feature_rows(
    kernel: Kernel, X: Array, *, cosine: bool
) -> tuple[Array, Array] | None:
    """Return a kernel's exact features, (rank, n_samples), and diagonal; or None."""
    # The result is None if `kernel_features` has no features of the kernel. With
    # `cosine`, every sample's features are scaled to length one, so the diagonal is
    # one, or zero for a sample whose features are zero.
    features = kernel_features(kernel, X)
    if features is None:
        return None
    rows = np.array(features.T, order="C")
    diagonal = np.einsum("ri,ri->i", rows, rows)
    if cosine:
        rows *= inverse_roots(diagonal)
        diagonal = np.where(diagonal > 0.0, 1.0, 0.0)
    return rows, diagonal


@singledispatch
def kernel_features(kernel: Kernel, X: Array) -> Array | None:
    """Return features Z with k(X, X) = Z Z^T exactly, or None if none are known.

    Register a function for the class of your own kernel to give it features.
    """
    return None


@kernel_features.register
def _linear_features(kernel: LinearKernel, X: Array) -> Array | None:
    """Return the samples as the features of a linear kernel; None for subclasses."""
    # A subclass may compute another kernel.
    return X if type(kernel) is LinearKernel else None


@kernel_features.register
def _own_features(kernel: FeatureKernel, X: Array) -> Array | None:
    """Return the features of a class of this library; None for users' subclasses."""
    is_ours = type(kernel).__module__.startswith("multikernel.")
    return kernel.features(X) if is_ours else None


@kernel_features.register
def _polynomial_features(kernel: PolynomialKernel, X: Array) -> Array | None:
    """Return the monomials of a polynomial kernel; None if over `MOST_MONOMIALS`."""
    if type(kernel) is not PolynomialKernel:
        return None
    n_features = X.shape[1]
    if math.comb(n_features + kernel.degree, kernel.degree) > MOST_MONOMIALS:
        return None
    # (s <x, x'> + c)^q is the q-th power of a linear kernel with a constant feature.
    base = np.column_stack([np.sqrt(kernel.scale) * X, np.ones(X.shape[0])])
    base[:, -1] *= np.sqrt(kernel.offset)
    monomials = []
    indices = range(n_features + (kernel.offset > 0.0))
    for factors in combinations_with_replacement(indices, kernel.degree):
        powers = np.bincount(factors)
        count = math.factorial(kernel.degree)
        for power in powers.tolist():
            count //= math.factorial(power)
        monomials.append(math.sqrt(count) * np.prod(base[:, factors], axis=1))
    return np.column_stack(monomials)


@kernel_features.register
def _columns_features(kernel: ColumnKernel, X: Array) -> Array | None:
    """Return the features of the kernel on its columns; None if none are known."""
    if type(kernel) is not ColumnKernel:
        return None
    return kernel_features(kernel.kernel, select_columns(X, kernel.columns))


@kernel_features.register(SequenceKernel)
def _sequences_features(kernel: SequenceKernel[Form], X: Array) -> Array | None:
    """Return a sequence kernel's features; None if too many, or for custom kernels."""
    return kernel.factor(X) if is_built_in(kernel) else None


def known_ranks(dictionary: KernelDictionary, X: Array) -> Indices | None:
    """Return the number of features of every kernel; None if any is unknown."""
    ranks = np.empty(len(dictionary), dtype=np.intp)
    for m in range(ranks.size):
        features = kernel_features(dictionary[m], X[:1])
        if features is None:
            return None
        ranks[m] = features.shape[1]
    return ranks
