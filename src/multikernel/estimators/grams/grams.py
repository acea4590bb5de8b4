"""The Gram matrices of an estimator: their options, and kernels at new samples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel._validation import check_weights
from multikernel.estimators.publish.fitted import BlockFunctions
from multikernel.estimators.publish.predict import (
    AdditiveModel,
    CrossGrams,
    KernelGrams,
    LandmarkGrams,
    PrecomputedGrams,
    Rows,
)
from multikernel.estimators.read.numbers import OF_A_FOLD, finite_predictions
from multikernel.estimators.read.precomputed import precomputed_stack
from multikernel.gram import BuiltStack, Device, GramStack, LowRank
from multikernel.gram.build import build_checked
from multikernel.gram.costs import Storage
from multikernel.gram.factors.blocked_build import build_blocked
from multikernel.gram.factors.growth import kernel_and_columns
from multikernel.gram.factors.landmarks import landmarks_of
from multikernel.gram.factors.row_blocks import SampledRows, rows_in_blocks
from multikernel.gram.matrix import cache_first_matrices, column_runs
from multikernel.gram.normalization import BuildOptions, GivenScales, StepName
from multikernel.gram.steps import CenterStep
from multikernel.kernels import ColumnKernel, KernelDictionary
from multikernel.kernels.interactions import InteractionDictionary
from multikernel.linalg import EPS
from multikernel.linalg.tables import CHUNK_BYTES

if TYPE_CHECKING:
    from multikernel.estimators.grams.training import Training


@dataclass(frozen=True)
class GramOptions:
    """Options for building the Gram matrices of an estimator."""

    # The first three fields are arguments of `build_stack`.
    normalize: tuple[StepName, ...]
    storage: Storage
    max_bytes: int | None
    # Is called with the share of rows read so far, while kernels of a Dask collection
    # are built.
    report: Callable[[float], None] | None = None

    def scaled(self, factors: Array) -> "GramOptions":
        """Return options that multiply each normalized kernel by its factor."""
        if np.all(factors == 1.0):
            return self
        return replace(self, normalize=(*self.normalize, GivenScales(factors)))

    def with_all_landmarks(self) -> "GramOptions":
        """Return options that build low-rank factors of maximum rank from the start."""
        storage = LowRank() if self.storage == "low_rank" else self.storage
        if not isinstance(storage, LowRank):
            return self
        return replace(self, storage=replace(storage, first=storage.max_rank))

    def before_split(self) -> "GramOptions":
        """Return options for matrices that are cut into folds, and normalized later."""
        factored = isinstance(self.storage, LowRank) or self.storage == "low_rank"
        factored |= isinstance(self.storage, Device) and bool(self.storage.factors)
        # The matrices of each fold are normalized after the split, with one exception.
        # Low-rank factors approximate the cosine-normalized kernels, so this step comes
        # before the split. No data leak between folds, because cosine normalization of
        # a sample x uses k(x, x) only, and not the other samples.
        early = factored and "cosine" in self.normalize
        in_files = isinstance(self.storage, LowRank) and self.storage.folder is not None
        # Each fold computes its kernels, and writes them to its own files. So the
        # kernels of all samples can be lazy.
        storage = "lazy" if in_files else self.storage
        return replace(self, normalize=("cosine",) * early, storage=storage)


def gram_matrices(
    dictionary: KernelDictionary | None,
    X: Array,
    options: GramOptions,
    weights: Array | None,
) -> BuiltStack:
    """Return normalized Gram matrices; X contains matrices if `dictionary` is None."""
    # Sample `weights` affect the means and variances of the normalization.
    if dictionary is None:
        return precomputed_stack(X, weights, options.normalize, options.max_bytes)
    storage = options.storage
    rows: Array | SampledRows = X
    if isinstance(storage, LowRank) and storage.folder is not None:
        rows = X if isinstance(X, SampledRows) else rows_in_blocks(X, storage.folder)
    if isinstance(rows, SampledRows):
        return build_blocked(
            dictionary,
            replace(rows, tell=options.report),
            normalize=options.normalize,
            options=storage if isinstance(storage, LowRank) else None,
            sample_weight=weights,
            max_bytes=options.max_bytes,
        )
    checked_weights = check_weights(weights, len(X))
    build_options = BuildOptions(options.normalize, checked_weights, options.max_bytes)
    return build_checked(dictionary, X, storage, build_options)


def without_constants(
    built: BuiltStack,
    dictionary: KernelDictionary | None,
    X: Array,
    options: GramOptions,
    weights: Array | None,
) -> BuiltStack:
    """Return Gram matrices in which kernels that are constant on X are zero."""
    centered = "center" in options.normalize or "variance" in options.normalize
    # The intercept makes constant kernels redundant. Centering and normalization of the
    # variance already set them to zero.
    centered |= isinstance(dictionary, InteractionDictionary)
    if centered or isinstance(X, SampledRows):
        return built
    stack, factors = built.stack, np.ones(built.stack.shape[0])
    for run in column_runs(factors.size, stack.shape[1]):
        factors[run] = ~_are_constant(stack.once(run))
    factors[built.degenerate] = 1.0
    if factors.all():
        return built
    return gram_matrices(dictionary, X, options.scaled(factors), weights)


def _are_constant(stack: GramStack) -> NDArray[np.bool_]:
    """Return a mask of matrices that are constant up to rounding."""
    diagonals = stack.diagonals()
    first, rounding = diagonals[:, :1], 8.0 * EPS * diagonals[:, :1]
    is_constant = np.asarray(np.all(np.abs(diagonals - first) <= rounding, axis=1))
    indices = np.flatnonzero(is_constant)
    # A kernel with a constant diagonal c is constant if k(x_1, x_i) = c for all i.
    columns = stack.once(indices).columns(np.array([0]))[:, :, 0]
    is_close = np.abs(columns - first[indices]) <= rounding[indices]
    is_constant[indices] = is_close.all(axis=1)
    return is_constant


def additive_model(training: "Training", expansion: BlockFunctions) -> AdditiveModel:
    """Return the functions of `expansion` as a model that predicts for new samples."""
    # The model stores only the training samples that it needs.
    active, coefs, stack = expansion.active, expansion.coefs, training.stack
    linear_part = expansion.intercept, training.design, expansion.effects
    if landmarks_of(stack) is None:
        used = np.flatnonzero(coefs.any(axis=(0, 2)))
        grams, used_rows = cross_grams(training, active, used)
        if used_rows.size < coefs.shape[1]:
            coefs = coefs[:, used_rows]
        return AdditiveModel(grams, coefs, *linear_part)
    pairs = zip(active.tolist(), coefs, strict=True)
    kernel_coefs = [landmark_coefs(stack, m, values) for m, values in pairs]
    grams, kernel_coefs = used_landmarks(landmark_grams(stack, active), kernel_coefs)
    n_rows = max(map(len, kernel_coefs), default=0)
    coefs = np.zeros((active.size, n_rows, coefs.shape[2]))
    for position, values in enumerate(kernel_coefs):
        coefs[position, : len(values)] = values
    return AdditiveModel(grams, coefs, *linear_part)


def used_landmarks(
    grams: LandmarkGrams, coefs: list[Array]
) -> tuple[LandmarkGrams, list[Array]]:
    """Return the landmarks with nonzero coefficients, and these coefficients."""
    # Exact kernels have all samples as landmarks, of which support vector machines use
    # few. Each array in `coefs` has shape (rank[ + 1], n_outputs); the additional last
    # row is a constant.
    landmarks, ranks, used_coefs = list(grams.landmarks), list(grams.ranks), []
    for k, values in enumerate(coefs):
        rank = ranks[k]
        used = np.array(values.any(axis=1))
        # Explicit features and the constant are always stored. At least one landmark
        # stays, because a kernel without landmarks would be read as explicit features.
        used[rank if len(landmarks[k]) else 0 :] = True
        used[0] = True
        if not used.all():
            landmarks[k] = landmarks[k][used[:rank]]
            ranks[k] = len(landmarks[k])
        used_coefs.append(values[used])
    used_grams = replace(grams, landmarks=tuple(landmarks), ranks=tuple(ranks))
    return used_grams, used_coefs


def landmark_coefs(stack: GramStack, m: int, coefs: Array) -> Array:
    """Convert coefficients of kernel m over samples to coefficients over landmarks."""
    landmarks = landmarks_of(stack)
    assert landmarks is not None
    values, constant = landmarks.coefficients(stack, m, coefs)
    # For centered kernels, the result has an additional last row, the constant.
    return np.vstack([values, constant]) if landmarks.centered else values


def landmark_grams(stack: GramStack, active: Indices) -> LandmarkGrams:
    """Return the `active` kernels, each between new samples and its landmarks."""
    landmarks = landmarks_of(stack)
    assert landmarks is not None
    kernels, columns, samples = [], [], []
    for m in active.tolist():
        kernel = landmarks.predictor(stack, m)
        points = landmarks.X[landmarks.kernels[m].chosen]
        column_kernel, column_points = kernel_and_columns(kernel, points)
        kernels.append(column_kernel)
        columns.append(kernel.columns if type(kernel) is ColumnKernel else None)
        samples.append(column_points)
    return LandmarkGrams(
        tuple(kernels),
        tuple(columns),
        tuple(samples),
        landmarks.widths(stack, active),
        landmarks.cosine,
        landmarks.centered,
        landmarks.scales[active],
    )


def cross_grams(
    training: "Training", active: Indices, used_samples: Indices
) -> tuple[CrossGrams, Indices]:
    """Return active kernels for new samples, and indices of the samples to store."""
    # The coefficients of `used_samples` are nonzero.
    stored, normalization = used_samples, training.built.normalization
    if any(isinstance(step, CenterStep) for step in normalization.steps):
        # Centering a new sample requires its kernel values at all training samples.
        stored = np.arange(training.stack.shape[1])
    normalization = normalization.take(active)
    if training.dictionary is None:
        return PrecomputedGrams(active, training.rows[stored], normalization), stored
    kernels = tuple(training.dictionary[int(m)] for m in active)
    return KernelGrams(kernels, training.X[stored], normalization), stored


TermFunction = Callable[["Training", int, Array], Array]
"""Returns the term K_m @ coefs at new samples, given (training data, m, coefs)."""


def validation_terms(data: "Training", train: Indices, test: Indices) -> TermFunction:
    """Return a function that computes terms K_m @ coefs at validation samples."""
    if data.stack.in_memory:
        return _stored_terms(data.stack, train, test)
    return _computed_terms(data.X[test])


def _stored_terms(stack: GramStack, train: Indices, test: Indices) -> TermFunction:
    """Return a function that computes terms from the stored matrices of all samples."""
    # For a kernel stored as factors, one product is cheaper than all its entries.
    in_factors = stack.held_numbers() < 0.5 * stack.shape[1] ** 2
    n_cached = CHUNK_BYTES // (32 * max(1, train.size * test.size))

    @lru_cache(maxsize=n_cached)
    def matrix(m: int) -> Array:
        """Return kernel m between `test` and `train`, cached for the next models."""
        return stack.entries(m, test, train)

    def term(training: "Training", m: int, coefs: Array) -> Array:
        """Return K_m @ coefs at the samples `test`, shape (test.size, n_outputs)."""
        # K_m, (test.size, train.size), is normalized as on the fold's training set.
        normalization, index = training.built.normalization, np.array([m])
        if normalization.only_scales and in_factors[m]:
            padded = np.zeros((stack.shape[1], coefs.shape[1]))
            padded[train] = normalization.factors(index) * coefs
            return np.asarray(stack.once(index).matvec(padded)[0, test])
        if normalization.only_scales:
            return np.asarray(normalization.factors(index) * (matrix(m) @ coefs))
        K, diagonal = matrix(m).copy(), stack.diagonals()[m]
        normalization.apply(m, K, diagonal[test], diagonal[train])
        return K @ coefs

    return term


def _computed_terms(X_test: Rows) -> TermFunction:
    """Return a function that computes terms from kernels evaluated at `X_test`."""

    @lru_cache(maxsize=1)
    def cached_matrices(built: BuiltStack) -> Callable[[int], Array]:
        """Return a function from a kernel's index to its matrix, with a cache."""

        # The matrix has a row per validation sample and a column per landmark.
        def matrix_of(m: int) -> Array:
            return landmark_grams(built.stack, np.array([m])).at(X_test)(0)

        return cache_first_matrices(matrix_of)

    def term(training: "Training", m: int, coefs: Array) -> Array:
        if landmarks_of(training.stack) is not None:
            matrix = cached_matrices(training.built)(m)
            return matrix @ landmark_coefs(training.stack, m, coefs)
        all_samples = np.arange(training.stack.shape[1])
        grams, _ = cross_grams(training, np.array([m]), all_samples)
        return grams.at(X_test)(0) @ coefs

    return term


@np.errstate(over="ignore", invalid="ignore")
def fold_values(
    term: TermFunction,
    n_test: int,
    models: Sequence[tuple["Training", BlockFunctions]],
    *,
    columns: Array | None = None,
    offset: Array | None = None,
) -> Array:
    """Return decision values on a validation set, (n_models, n_test, n_outputs)."""
    # All models have the same kernels and samples, so each kernel is evaluated once,
    # with the matrices of the last model.
    # `columns` and `offset` are the unpenalized columns and the offsets of the
    # validation samples.
    training, expansions = models[-1][0], [expansion for _, expansion in models]
    f = np.repeat([[e.intercept] for e in expansions], n_test, axis=1)
    if offset is not None:
        f += offset
    if columns is not None:
        effects = [e.effects for e in expansions if e.effects is not None]
        f += np.asarray(columns @ np.stack(effects))
    uses: dict[int, list[tuple[int, int]]] = {}
    for model, expansion in enumerate(expansions):
        for position, kernel in enumerate(expansion.active.tolist()):
            uses.setdefault(kernel, []).append((model, position))
    for kernel, pairs in uses.items():
        coefs = [expansions[model].coefs[position] for model, position in pairs]
        values = term(training, kernel, np.concatenate(coefs, axis=1))
        for k, (model, _) in enumerate(pairs):
            f[model] += values[:, k * f.shape[2] : (k + 1) * f.shape[2]]
    finite_predictions(np.moveaxis(f, 1, 0), OF_A_FOLD)
    return f
