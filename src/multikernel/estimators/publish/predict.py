"""Fitted additive models, which evaluate only active kernels, in chunks of rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import DAMAGED_FIT, check_places, check_shapes
from multikernel.estimators.publish.shared_values import SharedValues
from multikernel.estimators.read.numbers import finite_predictions
from multikernel.estimators.read.unpenalized import Design
from multikernel.gram import Normalization, cross_gram, kernel_features
from multikernel.gram.steps import CenterStep, inverse_roots
from multikernel.kernels import Kernel
from multikernel.kernels.base import checked_values, kernel_diagonal, kernel_name
from multikernel.kernels.columns import (
    Columns,
    Features,
    resolve_indices,
    resolve_kernel,
    select_columns,
)
from multikernel.linalg.tables import row_chunks
from multikernel.linalg.threads import run_blocks

Rows = Array | Indices
"""New samples: their data, or their row numbers if a model supports these."""

CENTERED = (
    "A centered kernel is defined between new and training samples only: remove "
    "'center' from normalize, because the intercept has the same effect."
)
"""Why centered kernels are not functions of arbitrary pairs of samples."""


class CrossGrams(ABC):
    """The normalized kernels of a model between new and stored training samples."""

    @property
    @abstractmethod
    def widths(self) -> tuple[int, ...]:
        """The number of columns of each kernel's matrix."""

    @abstractmethod
    def check_columns(self, n_kernels: int, n_features: int, *, packed: bool) -> None:
        """Raise ValueError unless the kernels match the data of an estimator."""
        # `n_kernels` is the size of the dictionary. `n_features` is the number of
        # columns; for precomputed kernels it is the number of training samples. If
        # `packed`, it is not compared, because rows of sequences or of sparse tables
        # are stored with another number of columns.

    @abstractmethod
    def between(self, X: Array, Y: Array, position: int) -> Array:
        """Return the active kernel at `position`, evaluated between samples X and Y."""
        # Raises if the kernel is defined between new and training samples only.

    @property
    def n_cached(self) -> int:
        """The maximum number of matrices that a function returned by `at` caches."""
        return 0

    @abstractmethod
    def at(self, X: Rows) -> Callable[[int], Array]:
        """Return a function from a kernel's position to its matrix at new samples."""
        # A matrix has a row per new sample; `widths` are the numbers of columns.


@dataclass(frozen=True, eq=False)
class KernelGrams(CrossGrams):
    """Kernels that are evaluated between new samples and stored training samples."""

    kernels: tuple[Kernel, ...]
    X: Array  # the stored training samples
    normalization: Normalization  # fitted on the training data

    def _check_fitted(self) -> None:
        """Raise unless the shapes of the arrays, which come from a file, agree."""
        check_shapes("KernelGrams", X=(self.X, ("n_kept", "n_features")))
        self.normalization.check(len(self.kernels), len(self.X))
        features = Features(self.X.shape[1])
        for kernel in self.kernels:
            resolve_kernel(kernel, features)

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of columns of each kernel's matrix."""
        return (self.X.shape[0],) * len(self.kernels)

    def check_columns(self, n_kernels: int, n_features: int, *, packed: bool) -> None:
        """Raise unless stored samples have `n_features` columns or are `packed`."""
        if not packed:
            check_shapes("KernelGrams", X=(self.X, ("n_kept", n_features)))

    def between(self, X: Array, Y: Array, position: int) -> Array:
        """Return one active kernel between any samples X and Y."""
        if any(isinstance(step, CenterStep) for step in self.normalization.steps):
            raise ValueError(CENTERED)
        kernel = self.kernels[position]
        shape = X.shape[0], Y.shape[0]
        K = checked_values(lambda: kernel(X, Y), shape, kernel).copy()
        diagonals = [np.array(kernel_diagonal(kernel, samples)) for samples in (X, Y)]
        self.normalization.apply(position, K, *diagonals)
        return K

    @cached_property
    def _values(self) -> SharedValues:
        """The kernels at the stored samples, with shared distances and factors."""
        return SharedValues(self.kernels, self.X)

    @property
    def n_cached(self) -> int:
        """The maximum number of matrices that a function returned by `at` caches."""
        return self._values.n_cached

    def at(self, X: Rows) -> Callable[[int], Array]:
        """Return a function from a kernel's position to its matrix at new samples."""
        new = np.asarray(X, dtype=np.float64)
        values = self._values.at(new)

        def matrix(position: int) -> Array:
            kernel, step = self.kernels[position], (self.normalization, position)
            return cross_gram(kernel, new, self.X, *step, partial(values, position))

        return matrix

    def __getstate__(self) -> dict[str, object]:
        return {k: v for k, v in vars(self).items() if k != "_values"}


@dataclass(frozen=True, eq=False)
class LandmarkGrams(CrossGrams):
    """Kernel values of new samples and landmarks, or a kernel's explicit features."""

    # The model's coefficients come from `Landmarks.coefficients`. If kernels are
    # centered, the last column of each kernel's matrix is one, for the constant.
    kernels: tuple[Kernel, ...]  # evaluated on rows of their `columns`
    columns: tuple[Columns | None, ...]  # the columns of each kernel; None for all
    # Landmarks on these columns, (rank, n_columns) for each kernel; without rows if a
    # kernel has explicit features.
    landmarks: tuple[Array, ...]
    ranks: tuple[int, ...]  # number of landmarks, or of features, of each kernel
    cosine: bool  # whether values are divided by the square roots of the diagonals
    centred: bool  # the spelling of model files of format 4
    # Factor of each kernel by normalization; the coefficients already include it.
    scales: Array

    def _check_fitted(self) -> None:
        """Raise unless the shapes of the arrays, which come from a file, agree."""
        by_kernel = {
            name: (getattr(self, name), (len(self.kernels),))
            for name in ("columns", "landmarks", "ranks", "scales")
        }
        check_shapes("LandmarkGrams", **by_kernel)
        kernel_fields = zip(self.columns, self.landmarks, self.ranks, strict=True)
        for columns, landmarks, rank in kernel_fields:
            width = len(columns) if isinstance(columns, tuple) else "n_columns"
            n_rows = rank if np.size(landmarks) else 0
            shapes = {"landmarks of a kernel": (landmarks, (n_rows, width))}
            check_shapes("LandmarkGrams", **shapes)

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of columns of each kernel's matrix."""
        return tuple(rank + self.centred for rank in self.ranks)

    def check_columns(self, n_kernels: int, n_features: int, *, packed: bool) -> None:
        """Raise if a kernel uses a missing column, or lacks landmarks and features."""
        # Columns are checked against `n_features`, unless rows are `packed`.
        for columns in self.columns:
            if columns is not None and not packed:
                resolve_indices(columns, Features(n_features))
        for kernel, landmarks in zip(self.kernels, self.landmarks, strict=True):
            if not len(landmarks):
                sample = np.zeros((1, landmarks.shape[1]))
                if kernel_features(kernel, sample) is None:
                    raise ValueError(
                        f"LandmarkGrams: {kernel_name(kernel)} has neither landmarks "
                        f"nor a method 'features'. {DAMAGED_FIT}"
                    )

    def between(self, X: Array, Y: Array, position: int) -> Array:
        """Return one active kernel between any samples X and Y."""
        if self.centred:
            raise ValueError(CENTERED)
        columns, kernel = self.columns[position], self.kernels[position]
        if columns is not None:
            X, Y = select_columns(X, columns), select_columns(Y, columns)
        shape = X.shape[0], Y.shape[0]
        K = checked_values(lambda: kernel(X, Y), shape, kernel)
        if self.cosine:
            roots = [inverse_roots(kernel_diagonal(kernel, Z)) for Z in (X, Y)]
            K = roots[0][:, None] * K * roots[1]
        return np.asarray(self.scales[position] * K)

    def at(self, X: Rows) -> Callable[[int], Array]:
        """Return a function from a kernel's position to its matrix at new samples."""
        return partial(self._matrix, np.asarray(X, dtype=np.float64))

    def _matrix(self, new: Array, position: int) -> Array:
        """Return the matrix of the kernel at `position` for the samples `new`."""
        # It has shape (n_new, widths[position]): a column for each landmark or feature
        # of the kernel, followed by a column of ones if the kernels are centered.
        columns = self.columns[position]
        if columns is not None:
            new = select_columns(new, columns)
        kernel, landmarks = self.kernels[position], self.landmarks[position]
        if landmarks.shape[0]:
            shape = new.shape[0], landmarks.shape[0]
            K = checked_values(lambda: kernel(new, landmarks), shape, kernel)
        else:
            features = kernel_features(kernel, new)
            assert features is not None
            K = features[:, : self.ranks[position]]
            # Shorter sequences have fewer features; the missing features are zero.
            n_missing = self.ranks[position] - K.shape[1]
            K = np.pad(K, ((0, 0), (0, n_missing))) if n_missing else K
        if self.cosine:
            K = K * inverse_roots(kernel_diagonal(kernel, new))[:, None]
        return np.column_stack([K, np.ones(new.shape[0])]) if self.centred else K


@dataclass(frozen=True, eq=False)
class PrecomputedGrams(CrossGrams):
    """Slices of precomputed matrices, shape (n_samples, n_fit, n_kernels)."""

    indices: Indices  # the active kernels
    columns: Indices  # positions of the stored samples in the training set
    normalization: Normalization  # without steps that require k(x, x)

    def _check_fitted(self) -> None:
        """Raise unless the shapes of the arrays, which come from a file, agree."""
        indices, columns = (self.indices, ("n_active",)), (self.columns, ("n_kept",))
        check_shapes("PrecomputedGrams", indices=indices, columns=columns)
        self.normalization.check(self.indices.size, self.columns.size)

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of columns of each kernel's matrix."""
        return (self.columns.size,) * self.indices.size

    def check_columns(self, n_kernels: int, n_features: int, *, packed: bool) -> None:
        """Raise unless the data have all matrices and columns that the model uses."""
        # The data have `n_kernels` precomputed matrices, whose `n_features` columns are
        # the training samples. `packed` is not used.
        check_places("PrecomputedGrams", "indices", self.indices, n_kernels)
        check_places("PrecomputedGrams", "columns", self.columns, n_features)

    def between(self, X: Array, Y: Array, position: int) -> Array:
        """Raise, because precomputed matrices are not functions of samples."""
        raise ValueError(
            "The combined kernel of two arbitrary samples is not defined for "
            "precomputed matrices, which contain only values between new and training "
            "samples: fit with kernels on columns, or with Views whose kernels are "
            "Grams."
        )

    def at(self, X: Rows) -> Callable[[int], Array]:
        """Return a function from a kernel's position to its matrix at new samples."""

        def matrix(position: int) -> Array:
            K = X[:, self.columns, self.indices[position]].astype(np.float64)
            # Scaling and centering do not use the diagonals.
            diagonals = (np.full(size, np.nan) for size in K.shape)
            self.normalization.apply(position, K, *diagonals)
            return K

        return matrix


def check_effects(
    design: Design | None, effects: Array | None, sizes: tuple[int, ...]
) -> None:
    """Raise unless `effects` has one coefficient per column and output."""
    if (design is None) is not (effects is None):
        raise ValueError(
            "The fitted model must have unpenalized columns and their coefficients, or "
            f"none of both. {DAMAGED_FIT}"
        )
    if design is not None and effects is not None:
        # The last of the `sizes` is the number of outputs; a preceding one is the
        # number of models.
        axes = (*sizes[:-1], len(design.names), sizes[-1])
        check_shapes("Unpenalized columns", effects=(effects, axes))


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A sum of kernel expansions, one per active kernel, and an intercept."""

    grams: CrossGrams
    # Shape (n_active, n_kept, n_outputs); a kernel with fewer columns than n_kept uses
    # the first coefficients only.
    coefs: Array
    intercept: Array
    design: Design | None = None  # the unpenalized columns
    # Coefficients of the unpenalized columns, (n_columns, n_outputs).
    effects: Array | None = None

    def _check_fitted(self) -> None:
        """Raise unless the shapes of the arrays, which come from a file, agree."""
        check_effects(self.design, self.effects, self.intercept.shape)
        widths = self.grams.widths
        check_shapes(
            "AdditiveModel",
            intercept=(self.intercept, ("n_outputs",)),
            coefs=(
                self.coefs,
                (len(widths), max(widths) if widths else "n_kept", "n_outputs"),
            ),
        )

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        return self.intercept.size

    @property
    def n_active(self) -> int:
        """The number of active kernels."""
        return len(self.coefs)

    def check_columns(self, n_kernels: int, n_features: int, *, packed: bool) -> None:
        """Raise unless the kernels and the unpenalized columns match the data."""
        # The arguments are as in `CrossGrams.check_columns`.
        self.grams.check_columns(n_kernels, n_features, packed=packed)
        if self.design is not None:
            self.design.check_columns(n_features)

    def contributions(self, X: Rows) -> Array:
        """Return every term of the sum, shape (n_samples, n_outputs, n_active)."""
        return self.terms(X, range(self.coefs.shape[0]))

    def terms(self, X: Rows, positions: Sequence[int]) -> Array:
        """Return the terms at `positions`, (n_samples, n_outputs, n_positions)."""
        # A position is an index into the active kernels.
        _, n_kept, n_outputs = self.coefs.shape
        terms = np.empty((X.shape[0], n_outputs, len(positions)))
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in row_chunks(X.shape[0], n_kept * (1 + self.grams.n_cached)):
                matrix = self.grams.at(X[rows])
                for index, position in enumerate(positions):
                    K = matrix(position)
                    terms[rows, :, index] = K @ self.coefs[position, : K.shape[1]]
        return finite_predictions(terms)

    def decision_values(self, X: Rows) -> Array:
        """Return the sum of all terms and the intercept, (n_samples, n_outputs)."""
        n_active, n_kept, _ = self.coefs.shape
        f = np.repeat(self.intercept[None], X.shape[0], axis=0)
        if self.design is not None and self.effects is not None:
            f += self.design(X) @ self.effects

        @np.errstate(over="ignore", invalid="ignore")
        def add(rows: slice) -> None:
            matrix = self.grams.at(X[rows])
            for position in range(n_active):
                K = matrix(position)
                f[rows] += K @ self.coefs[position, : K.shape[1]]

        # Computing a matrix requires four arrays of its size.
        n_columns = 4 * n_kept * (1 + self.grams.n_cached)
        run_blocks(add, row_chunks(X.shape[0], n_columns))
        return finite_predictions(f)
