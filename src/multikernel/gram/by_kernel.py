"""Stacks that store kernels of high rank as matrices, and all others as factors."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.gram.base import GramStack
from multikernel.gram.factors.landmarks import KernelLandmarks, Landmarks
from multikernel.gram.factors.low_rank import LowRankStack, low_rank_form
from multikernel.gram.matrix import GramMatrix
from multikernel.gram.normalization import (
    BuildOptions,
    BuiltStack,
    GivenScales,
    check_steps,
)
from multikernel.gram.refine import Refinement, refined
from multikernel.kernels.base import KernelDictionary


@dataclass(frozen=True, eq=False)
class ByKernelStack(GramStack):
    """A stack of some kernels as matrices, and the others as low-rank factors.

    The mask `is_dense` selects the kernels in `dense`; both parts keep the order of the
    kernels. The matrices are exact, the low-rank factors approximate. Predictions for
    new samples require `dictionary`. They multiply the kernels in `dense` by `scales`,
    shape (n_dense,), by default ones.
    """

    dense: GramStack
    factored: LowRankStack
    is_dense: Mask
    dictionary: KernelDictionary | None = None
    scales: Array | None = None
    in_memory = True
    landmarks: Landmarks | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        n_dense = int(np.count_nonzero(self.is_dense))
        n_factored, n_samples = self.is_dense.size - n_dense, self.factored.shape[1]
        dense, factored = self.dense.shape, self.factored.shape
        if (dense[:2], factored[0]) != ((n_dense, n_samples), n_factored):
            raise ValueError(
                f"ByKernelStack: is_dense marks {n_dense} kernels as dense and "
                f"{n_factored} as factored, but dense has the shape {dense}, and "
                f"factored {factored}: pass stacks of the same samples that match "
                "is_dense."
            )
        dictionary, factors = self.dictionary, self.factored.landmarks
        if dictionary is not None and factors is not None:
            landmarks = self._all_landmarks(dictionary, factors)
            object.__setattr__(self, "landmarks", landmarks)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return self.is_dense.size, self.factored.shape[1], self.factored.shape[1]

    @property
    def positions(self) -> Indices:
        """Return each kernel's index in `dense` or `factored`, shape (n_kernels,)."""
        positions = np.empty(self.is_dense.size, dtype=np.intp)
        for mask in (self.is_dense, ~self.is_dense):
            positions[mask] = np.arange(np.count_nonzero(mask))
        return positions

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""
        return self._merged(self.dense.matvec(v), self.factored.matvec(v))

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        forms = self.dense.quadratic_forms(v), self.factored.quadratic_forms(v)
        return self._merged(*forms)

    def block_matvec(self, coefs: Array) -> Array:
        """Return K_m coefs[m] for every m, (n_kernels, n_samples[, n_outputs])."""
        dense = self.dense.block_matvec(coefs[self.is_dense])
        return self._merged(dense, self.factored.block_matvec(coefs[~self.is_dense]))

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m, dense if a kernel in the sum is a matrix."""
        dense_weights, factor_weights = weights[self.is_dense], weights[~self.is_dense]
        if not dense_weights.any():
            return self.factored.combine(factor_weights)
        total = self.dense.combine(dense_weights)
        if not factor_weights.any():
            return total
        active = np.flatnonzero(factor_weights)
        active_stack = self.factored.take(active)
        roots = np.sqrt(np.repeat(factor_weights[active], active_stack.ranks))
        return total.plus(active_stack.factors * roots)

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        """Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples)."""
        total = self.dense.combined_rows(weights[self.is_dense], rows)
        total += self.factored.combined_rows(weights[~self.is_dense], rows)
        return total

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        return self._merged(self.dense.columns(indices), self.factored.columns(indices))

    def take(self, kernels: Indices) -> GramStack:
        """Return the chosen kernels; a `ByKernelStack` only if both storages occur."""
        return self._selected(kernels, self.dense.take)

    def once(self, kernels: Indices) -> GramStack:
        """Return the chosen kernels for a single pass; see `GramStack.once`."""
        return self._selected(kernels, self.dense.once)

    def restrict(self, samples: Indices) -> GramStack:
        """Return the stack on the chosen samples."""
        parts = self.dense.restrict(samples), self.factored.restrict(samples)
        return ByKernelStack(*parts, self.is_dense)

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        return self._merged(self.dense.diagonals(), self.factored.diagonals())

    def traces(self, shares: Array | None = None) -> Array:
        """Return the (weighted) trace of every matrix; see `GramStack.traces`."""
        return self._merged(self.dense.traces(shares), self.factored.traces(shares))

    def held_numbers(self) -> Array:
        """Return the number of stored numbers per kernel, shape (n_kernels,)."""
        return self._merged(self.dense.held_numbers(), self.factored.held_numbers())

    def residual_bounds(self, v: Array) -> Array:
        """Return bounds on forms of the residuals; see `GramStack.residual_bounds`."""
        bounds = self.dense.residual_bounds(v), self.factored.residual_bounds(v)
        return self._merged(*bounds)

    def residual_traces(self, shares: Array) -> Array:
        """Return weighted traces of residuals; see `GramStack.residual_traces`."""
        traces = self.dense.residual_traces(shares)
        return self._merged(traces, self.factored.residual_traces(shares))

    def full_forms(self, kernels: Indices, v: Array) -> Array:
        """Return v^T K_m v of full kernels, not of their factors; nan if unknown."""
        forms, is_dense = np.empty(kernels.size), self.is_dense[kernels]
        positions = self.positions[kernels]
        if is_dense.any():
            forms[is_dense] = self.dense.once(positions[is_dense]).quadratic_forms(v)
        if not is_dense.all():
            forms[~is_dense] = self.factored.full_forms(positions[~is_dense], v)
        return forms

    def refine(
        self, refinement: Refinement, max_bytes: int | None = None
    ) -> "ByKernelStack | None":
        """Return the stack with more landmarks in its factors; None if none changes."""
        # `max_bytes` limits the memory of all factors.
        positions = self.positions
        goals = {
            int(positions[m]): goal
            for m, goal in refinement.goals.items()
            if not self.is_dense[m]
        }
        finer = refined(self.factored, replace(refinement, goals=goals), max_bytes)
        factors = None if finer is None else low_rank_form(finer)
        return None if factors is None else replace(self, factored=factors)

    def _merged(self, dense: Array, factored: Array) -> Array:
        """Return values of `dense` and `factored` as one array, in order of kernels."""
        values = np.empty((self.is_dense.size, *dense.shape[1:]))
        values[self.is_dense], values[~self.is_dense] = dense, factored
        return values

    def _selected(
        self, kernels: Indices, take_dense: Callable[[Indices], GramStack]
    ) -> GramStack:
        """Return chosen kernels; `take_dense` selects those that are matrices."""
        indices = np.arange(self.is_dense.size)[kernels]
        is_dense, positions = self.is_dense[indices], self.positions[indices]
        if not is_dense.any():
            return self.factored.take(positions)
        if is_dense.all():
            return take_dense(positions)
        factors = self.factored.take(positions[~is_dense])
        return ByKernelStack(take_dense(positions[is_dense]), factors, is_dense)

    def _all_landmarks(
        self, dictionary: KernelDictionary, factors: Landmarks
    ) -> Landmarks:
        """Return all kernels' landmarks: all samples for those stored as matrices."""
        scales = np.ones(self.dense.shape[0]) if self.scales is None else self.scales
        dense_landmarks = [
            KernelLandmarks(factors.rows, None, s) for s in scales.tolist()
        ]
        kernels = tuple(
            dense_landmarks[position] if is_dense else factors.kernels[position]
            for is_dense, position in zip(self.is_dense, self.positions, strict=True)
        )
        samples = factors.X, factors.rows, factors.weights
        options = factors.cosine, factors.options
        return SampleLandmarks(dictionary, *samples, *options, kernels)


refined.register(ByKernelStack, ByKernelStack.refine)


@dataclass(frozen=True, eq=False)
class SampleLandmarks(Landmarks):
    """Landmarks of a `ByKernelStack`; for kernels stored as matrices, every sample."""

    def coefficients(
        self, stack: GramStack, m: int, coefs: Array
    ) -> tuple[Array, Array]:
        """Return weights of landmarks, and constants; see `Landmarks.coefficients`."""
        assert isinstance(stack, ByKernelStack)
        if stack.is_dense[m]:
            return self.scales[m] * coefs, np.zeros(coefs.shape[1])
        landmarks = stack.factored.landmarks
        assert landmarks is not None
        return landmarks.coefficients(stack.factored, int(stack.positions[m]), coefs)


def join_parts(
    dense: BuiltStack,
    factored: BuiltStack,
    is_dense: Mask,
    dictionary: KernelDictionary,
    options: BuildOptions,
) -> BuiltStack:
    """Join normalized stacks of matrices and of factors, and their normalizations."""
    normalization = options.unfitted(is_dense.size, dense.stack.shape[1])
    fitted = normalization, dense.normalization, factored.normalization
    steps = zip(*(each.steps for each in fitted), strict=True)
    for step, dense_step, factor_step in steps:
        for name in step.per_kernel:
            getattr(step, name)[is_dense] = getattr(dense_step, name)
            getattr(step, name)[~is_dense] = getattr(factor_step, name)
    factors = factored.stack
    assert isinstance(factors, LowRankStack)
    scales = dense.normalization.factors(np.arange(dense.stack.shape[0]))
    stack = ByKernelStack(dense.stack, factors, is_dense, dictionary, scales)
    zero_dense = np.flatnonzero(is_dense)[dense.degenerate]
    zero_factored = np.flatnonzero(~is_dense)[factored.degenerate]
    return BuiltStack(stack, normalization, np.union1d(zero_dense, zero_factored))


def subset_options(options: BuildOptions, kernels: Mask) -> BuildOptions:
    """Return the options for the kernels in a mask; raise unless steps only scale."""
    steps = check_steps(options.normalize)
    if not options.unfitted(1, 1).only_scales:
        # The message shows only the steps that the user passed. `GivenScales` is not
        # one of them: `GramOptions.scaled` adds it.
        given = [step for step in steps if type(step) is not GivenScales]
        shown = given[0] if len(given) == 1 else given
        raise ValueError(
            f"storage='by_kernel' does not support normalize={shown!r}, "
            "which does more than multiply kernels by numbers: pass normalize=None, "
            "'trace' or 'variance', or storage='auto'."
        )
    subset_steps = [
        GivenScales(step.factors[kernels]) if isinstance(step, GivenScales) else step
        for step in steps
    ]
    return replace(options, normalize=subset_steps)
