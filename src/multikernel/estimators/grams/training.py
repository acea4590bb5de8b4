"""The training data of methods that learn from Gram matrices."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import listed
from multikernel.certificates import check_combination
from multikernel.estimators.grams.grams import (
    fold_values,
    gram_matrices,
    validation_terms,
    without_constants,
)
from multikernel.estimators.grams.useless import are_given, warn_degenerate
from multikernel.estimators.method import Data, Fold
from multikernel.estimators.publish.fitted import BlockFunctions
from multikernel.estimators.read.defaults import ChosenKernels
from multikernel.estimators.read.dictionary import KernelNames
from multikernel.estimators.read.precomputed import (
    by_name,
    labels_of_grams,
    names_of_grams,
)
from multikernel.estimators.read.samples import Samples, merge_equal
from multikernel.estimators.read.unpenalized import Design
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram import BuiltStack, GramStack, build_part
from multikernel.gram.checks import is_semidefinite
from multikernel.gram.factors.landmarks import landmarks_of
from multikernel.gram.projected import LeastSquares
from multikernel.gram.rounded import (
    is_single,
    possibly_indefinite_kernels,
    with_rounding_ratios,
)
from multikernel.kernels import KernelDictionary
from multikernel.kernels.built_in import is_built_in
from multikernel.linalg.tables import equal_shares

if TYPE_CHECKING:
    from multikernel.estimators.grams.source import GramSource

NOT_PROVEN = (
    "The weighted sum of the active kernels is not positive semidefinite on the "
    "training samples, so the duality gap is invalid. Remove kernels whose Gram "
    "matrices have negative eigenvalues, or set these eigenvalues to zero."
)


@dataclass(frozen=True, eq=False)
class Training(Data):
    """The samples and their normalized Gram matrices, the training data of a method."""

    # In a fold, `samples` are the training samples, but `samples.X` has all samples.
    samples: Samples
    built: BuiltStack
    kernels: ChosenKernels
    # The estimator's settings, with the options from which `built` was computed.
    source: "GramSource"
    # Entries of ``fit_info_`` about the kernels and their storage.
    fit_info: Mapping[str, object]
    # The unpenalized columns.
    design: Design | None = None
    # Indices of the training samples as rows of `samples.X`; None means all its rows,
    # in order.
    table_rows: Indices | None = None
    # Whether this is the training set of a fold, with normalized matrices.
    is_part: bool = False
    # Whether precomputed matrices of new samples have columns for these samples only,
    # as scorers get them, and not for all rows of the input.
    has_own_columns: bool = False

    @property
    def rows(self) -> Indices:
        """Column of each sample in the precomputed matrices of new samples."""
        rows = self.samples.rows
        return np.arange(rows.size) if self.has_own_columns else rows

    @property
    def X(self) -> Array:  # noqa: N802 - what scikit-learn calls it
        """The rows of the samples; a fold reads them from the complete table."""
        X = self.samples.X
        return X if self.table_rows is None else X[self.table_rows]

    @property
    def dictionary(self) -> KernelDictionary | None:
        """The kernels, with column indices; None for precomputed kernels."""
        return self.kernels.dictionary

    @property
    def stack(self) -> GramStack:
        """The Gram matrices."""
        return self.built.stack

    @property
    def none_varies(self) -> bool:
        """Whether all kernels are zero or constant."""
        return self.built.degenerate.size == self.stack.shape[0]

    @cached_property
    def stack_with_rounding(self) -> GramStack:
        """The Gram matrices with bounds on the rounding errors of centering."""
        single = self.is_part and is_single(self.source.options.storage)
        inputs = self.stack, self.dictionary, self.X, self.built.normalization
        return with_rounding_ratios(*inputs, rounded_to_single=single)

    @property
    def names(self) -> KernelNames:
        """The names of all kernels."""
        X = self.samples.table.given
        names, labels = names_of_grams(X), labels_of_grams(X)
        return KernelNames(self.dictionary, self.stack.shape[0], names, labels)

    @property
    def n_bytes(self) -> float:
        """The size of the Gram matrices in bytes."""
        return 8.0 * self.stack.pass_numbers()

    @property
    def precomputed(self) -> bool:  # type: ignore[override]
        """Whether Gram matrices were given instead of samples."""
        return self.dictionary is None

    @cached_property
    def least_squares(self) -> LeastSquares | None:
        """The least-squares fit of unpenalized columns; None if there are none."""
        if self.design is None:
            return None
        columns, weights = self.design(self.X), self.samples.weights
        return LeastSquares(columns, weights, self.source.fit_intercept)

    def with_fitted_columns(self, expansion: BlockFunctions) -> BlockFunctions:
        """Return `expansion` with the intercept and unpenalized columns fitted."""
        # An expansion that has coefficients of unpenalized columns is unchanged.
        fit, active = self.least_squares, expansion.active
        if fit is None or expansion.effects is not None:
            return expansion
        # Convert the solution of projected kernels to a model of the kernels
        # themselves.
        coefs = fit.projection.project_each(expansion.coefs, transposed=True)
        f = np.zeros(self.residuals.shape[::-1])
        if active.size:
            f = self.stack.once(active).block_matvec(coefs).sum(axis=0)
        intercept, effects = self.fitted_columns(f)
        return replace(expansion, coefs=coefs, intercept=intercept, effects=effects)

    def fitted_columns(self, f: Array) -> tuple[Array, Array]:
        """Return intercepts and coefficients of unpenalized columns, fit to y - f."""
        # `f`, (n_samples, n_outputs), are the decision values of the kernels.
        fit, targets = self.least_squares, self.residuals
        assert fit is not None
        # First subtract the rounded mean of each output's targets, so that targets far
        # from zero lose no digits. The intercepts include these means again.
        level = np.average(targets, axis=1, weights=fit.weights)
        level = np.rint(level) if fit.fit_intercept else np.zeros_like(level)
        intercept, effects = fit.coefficients((targets - level[:, None]).T - f)
        return intercept + level, effects

    @property
    def residuals(self) -> Array:
        """The targets minus their offsets, shape (n_outputs, n_samples)."""
        samples = self.samples
        return samples.targets - (0.0 if samples.offset is None else samples.offset.T)

    @cached_property
    def kernel_size(self) -> float:
        """The mean variance of the kernels in feature space; 1 if all are constant."""
        # If the normalization sets the variances, computing them again could cancel.
        sizes = self.built.normalization.variances()
        if sizes is None:
            shares = equal_shares(self.stack.shape[1], self.samples.weights)
            # Constant parts of kernels do not count, because the intercept fits them.
            sizes = self.stack.traces(shares) - self.stack.quadratic_forms(shares)
        size = float(sizes.mean())
        return size if size > 0.0 else 1.0

    @contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Add the name of the kernel to errors about its matrix."""
        try:
            yield
        except IndefiniteKernelError as error:
            located = self._locate_error(error)
            rounded = self._rounded_kernels(located)
            if rounded:
                names = listed(self.names(rounded[:5]), len(rounded))
                advice = (
                    "Standardize the columns, use narrower kernels, or remove these "
                    "kernels."
                )
                if are_given(self, np.array(rounded)).all():
                    advice = "Compute them from centered features, or remove them."
                raise ValueError(
                    f"{self.source.owner}: these kernels are constant on the training "
                    "samples up to a relative difference of 1e-9, so centering yields "
                    f"rounding errors only: {names}. {advice}"
                ) from error
            if located.kernel is None or (self.precomputed and not self.names.given):
                raise located from error
            raise by_name(located, self.names([located.kernel])[0]) from error

    def _locate_error(self, error: IndefiniteKernelError) -> IndefiniteKernelError:
        """Return an error with the index of an indefinite kernel, or `error` itself."""
        if error.kernel is None and self.stack.in_memory:
            try:
                check_combination(self.stack, np.ones(self.stack.shape[0]))
            except IndefiniteKernelError as single_error:
                return single_error
        return error

    def _rounded_kernels(self, error: IndefiniteKernelError) -> list[int]:
        """Return those kernels of an error that are indefinite because of rounding."""
        data = self
        if self.source.options.normalize and not self.built.normalization.steps:
            # Matrices of searches are normalized in each fold.
            data, _ = self.part(np.arange(self.samples.rows.size))
        all_kernels = range(self.stack.shape[0])
        kernels = all_kernels if error.kernel is None else [error.kernel]
        return possibly_indefinite_kernels(data.stack_with_rounding, kernels)

    def check_definite(self, active: Indices, weights: Array) -> None:
        """Raise if a model's weighted sum of kernels is not positive semidefinite."""
        if landmarks_of(self.stack) is not None:
            return
        kernels = self.dictionary
        if kernels and all(is_built_in(kernels[m]) for m in active.tolist()):
            return
        sums = np.unique(np.atleast_2d(weights), axis=0)
        combine = self.stack.combine
        if active.size < len(sums):
            # A sum of positive semidefinite kernels is positive semidefinite.
            units = np.equal.outer(active, np.arange(self.stack.shape[0])).astype(float)
            if all(is_semidefinite(combine(unit)) for unit in units):
                return
        for sum_weights in sums[sums.any(axis=1)]:
            total = combine(sum_weights)
            if is_semidefinite(total):
                continue
            # The check did not prove the sum semidefinite. If a quadratic form proves a
            # kernel indefinite, raise an error that names this kernel.
            check_combination(self.stack, sum_weights)
            if total.array is not None:
                raise IndefiniteKernelError(NOT_PROVEN)

    def part(
        self, indices: Indices, n_in_memory: int = 1
    ) -> tuple["Training", Indices]:
        """Return the data of the samples `indices`, and indices that merging keeps."""
        # `Data.part` describes merging. The matrices of `self` must not be normalized
        # yet. The returned matrices are as if computed from the samples `indices`
        # alone. They are views of dense matrices if kernels are only scaled. Otherwise
        # they are copies, and the `n_in_memory` parts that are in memory at a time
        # share the limit `max_bytes`. Lazy matrices are computed again.
        samples, table_rows = self.samples.subset(indices), self.table_rows
        if self.source.merges_copies:
            indices, samples = merge_equal(self.samples, indices)
        # If all rows are required, do not copy a table that is stored in a file.
        is_complete = np.array_equal(indices, np.arange(self.samples.rows.size))
        if not (is_complete or self.precomputed):
            table_rows = indices if table_rows is None else table_rows[indices]
        part = replace(self, samples=samples, table_rows=table_rows, is_part=True)
        built = build_part(
            self.stack,
            indices,
            normalize=self.source.options.normalize,
            sample_weight=samples.weights,
            max_bytes=self.source.options.max_bytes,
            n_copies=n_in_memory,
        )
        if built is None:
            inputs = self.dictionary, part.X, self.source.options, samples.weights
            built = gram_matrices(*inputs)
        return replace(part, built=built), indices

    def sample(self, rows: Indices) -> "Training":
        """Return some samples, with new, unnormalized matrices to cut folds from."""
        X = self.samples.X[np.ix_(rows, rows)] if self.precomputed else self.X[rows]
        samples = replace(self.samples.subset(rows), X=X)
        options = self.source.options.before_split()
        # Matrices of the samples `rows` may fit in memory even if those of all do not.
        if options.storage == "lazy":
            options = replace(options, storage="auto")
        built = gram_matrices(self.dictionary, X, options, samples.weights)
        return replace(self, samples=samples, built=built, table_rows=None)

    def on_all_samples(self) -> "Training":
        """Return all samples with normalized Gram matrices, ready for a fit."""
        all_samples = np.arange(self.samples.rows.size)
        training, indices = self.part(all_samples)
        built, options = training.built, self.source.options
        inputs = self.dictionary, training.X, options, training.samples.weights
        # Equal samples were merged. Compute the matrices of the merged samples anew, so
        # that an integer weight and copies of a sample give the same last digits.
        if indices.size < all_samples.size:
            built = gram_matrices(*inputs)
        if self.source.fit_intercept:
            built = without_constants(built, *inputs)
        training = replace(training, built=built)
        warn_degenerate(training)
        return training

    def fold(
        self,
        train: Indices,
        test: Indices,
        n_in_memory: int,
        *,
        omit_offset: bool = False,
    ) -> Fold:
        """Return the fold of `train` and `test`, with kernels normalized on `train`."""
        # `n_in_memory` folds are in memory at a time, in addition to the matrices of
        # all samples; all of these share the limit `max_bytes`. If `omit_offset`, the
        # decision values of the validation samples `test` do not include their offsets.
        # `part` may merge equal samples: `train` then has one of each. Scorers get
        # precomputed matrices with columns for these samples only.
        training, train = self.part(train, n_in_memory + 1)
        training = replace(training, has_own_columns=self.precomputed)
        image = validation_terms(self, train, test)
        validation = self.samples.subset(test)
        columns = None if self.design is None else self.design(self.X[test])
        offset = None if omit_offset else validation.offset
        values = partial(fold_values, image, test.size, columns=columns, offset=offset)
        return Fold(training, validation, values)
