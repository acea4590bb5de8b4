"""Stacks that store kernels of high rank as matrices, and others as factors."""

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
    Normalization,
    check_steps,
)
from multikernel.gram.refine import Refinement, refined
from multikernel.gram.steps import ScaleStep
from multikernel.kernels.base import KernelDictionary


@dataclass(frozen=True, eq=False)
class ByKernelStack(GramStack):
    """A stack that stores some kernels as matrices, and the others as factors.

    Only factors have residuals.

    Parameters
    ----------
    whole : GramStack
        Kernels stored as whole matrices.
    factored : LowRankStack
        Kernels stored as factors.
    is_whole : ndarray of bool, shape (n_kernels,)
        Mask of the kernels that are stored as matrices. Both parts keep the order of
        the kernels.
    dictionary : KernelDictionary, optional
        All kernels, required for new samples.
    scales : ndarray of shape (n_whole,), optional
        Normalization factors of the kernels in `whole`, ones by default.

    Raises
    ------
    ValueError
        If the parts disagree with `is_whole`, or have different samples.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack, LowRankStack
    >>> from multikernel.gram.by_kernel import ByKernelStack
    >>> line = LowRankStack(np.array([[1.0], [2.0]]), np.array([0, 1]))
    >>> identity = DenseStack(np.eye(2)[None])
    >>> stack = ByKernelStack(identity, line, np.array([False, True]))
    >>> stack.quadratic_forms(np.array([1.0, 1.0]))
    array([9., 2.])
    """

    whole: GramStack
    factored: LowRankStack
    is_whole: Mask
    dictionary: KernelDictionary | None = None
    scales: Array | None = None
    in_memory = True
    landmarks: Landmarks | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        n_whole = int(np.count_nonzero(self.is_whole))
        wanted = n_whole, self.is_whole.size - n_whole
        given = self.whole.shape[0], self.factored.shape[0]
        if wanted != given or self.whole.shape[1] != self.factored.shape[1]:
            raise ValueError(
                f"ByKernelStack: is_whole describes {wanted[0]} matrices and "
                f"{wanted[1]} factors on the same samples, but whole has {given[0]} "
                f"matrices on {self.whole.shape[1]} samples, and factored {given[1]} "
                f"kernels on {self.factored.shape[1]} samples."
            )
        if self.dictionary is not None and self.factored.landmarks is not None:
            object.__setattr__(self, "landmarks", self._all_landmarks())

    @property
    def shape(self) -> tuple[int, int, int]:
        """Return (n_kernels, n_samples, n_samples)."""
        return self.is_whole.size, self.factored.shape[1], self.factored.shape[1]

    @property
    def positions(self) -> Indices:
        """Return the index of each kernel in its part, shape (n_kernels,)."""
        positions = np.empty(self.is_whole.size, dtype=np.intp)
        for mask in (self.is_whole, ~self.is_whole):
            positions[mask] = np.arange(np.count_nonzero(mask))
        return positions

    def matvec(self, v: Array) -> Array:
        """Return K_m v for every m, shape (n_kernels, n_samples[, n_outputs])."""
        return self._joined(self.whole.matvec(v), self.factored.matvec(v))

    def quadratic_forms(self, v: Array) -> Array:
        """Return v^T K_m v (summed over outputs) for every m, shape (n_kernels,)."""
        forms = self.whole.quadratic_forms(v), self.factored.quadratic_forms(v)
        return self._joined(*forms)

    def combine(self, weights: Array) -> GramMatrix:
        """Return sum_m weights[m] K_m, dense if a kernel in the sum is a matrix."""
        of_whole, others = weights[self.is_whole], weights[~self.is_whole]
        if not of_whole.any():
            return self.factored.combine(others)
        total = self.whole.combine(of_whole)
        if not others.any():
            return total
        used = np.flatnonzero(others)
        Z = low_rank_form(self.factored.take(used))
        assert Z is not None
        return total.plus(Z.factors * np.sqrt(np.repeat(others[used], Z.ranks)))

    def combined_rows(self, weights: Array, rows: Indices) -> Array:
        """Return some rows of sum_m weights[m] K_m, shape (n_rows, n_samples)."""
        total = self.whole.combined_rows(weights[self.is_whole], rows)
        total += self.factored.combined_rows(weights[~self.is_whole], rows)
        return total

    def columns(self, indices: Indices) -> Array:
        """Return the chosen columns, shape (n_kernels, n_samples, n_indices)."""
        return self._joined(self.whole.columns(indices), self.factored.columns(indices))

    def take(self, kernels: Indices) -> GramStack:
        """Return the stack of the chosen kernels; only one part if it has them all."""
        return self._part(kernels, lambda stack, own: stack.take(own))

    def once(self, kernels: Indices) -> GramStack:
        """Return the chosen kernels as a stack for one multiplication by vectors."""
        return self._part(kernels, lambda stack, own: stack.once(own))

    def restrict(self, samples: Indices) -> GramStack:
        """Return the stack on the chosen samples."""
        factors = low_rank_form(self.factored.restrict(samples))
        assert factors is not None
        return ByKernelStack(self.whole.restrict(samples), factors, self.is_whole)

    def diagonals(self) -> Array:
        """Return every diagonal, shape (n_kernels, n_samples)."""
        return self._joined(self.whole.diagonals(), self.factored.diagonals())

    def traces(self, shares: Array | None = None) -> Array:
        """Return the (weighted) trace of every matrix; see `GramStack.traces`."""
        return self._joined(self.whole.traces(shares), self.factored.traces(shares))

    def held_numbers(self) -> Array:
        """Return the number of stored numbers per kernel, shape (n_kernels,)."""
        return self._joined(self.whole.held_numbers(), self.factored.held_numbers())

    def residual_bounds(self, v: Array) -> Array:
        """Return bounds on the forms of residuals; see `GramStack.residual_bounds`."""
        bounds = self.whole.residual_bounds(v), self.factored.residual_bounds(v)
        return self._joined(*bounds)

    def residual_traces(self, shares: Array) -> Array:
        """Return weighted traces of residuals; see `GramStack.residual_traces`."""
        traces = self.whole.residual_traces(shares)
        return self._joined(traces, self.factored.residual_traces(shares))

    def full_forms(self, kernels: Indices, v: Array) -> Array:
        """Return forms of kernels, not of their factors; see `GramStack.full_forms`."""
        forms, is_whole = np.empty(kernels.size), self.is_whole[kernels]
        positions = self.positions[kernels]
        if is_whole.any():
            forms[is_whole] = self.whole.once(positions[is_whole]).quadratic_forms(v)
        if not is_whole.all():
            forms[~is_whole] = self.factored.full_forms(positions[~is_whole], v)
        return forms

    def refine(
        self, refinement: Refinement, max_bytes: int | None = None
    ) -> "ByKernelStack | None":
        """Return the stack with more landmarks in its factors; see `refine.refined`."""
        positions = self.positions
        goals = {
            int(positions[m]): goal
            for m, goal in refinement.goals.items()
            if not self.is_whole[m]
        }
        finer = refined(self.factored, replace(refinement, goals=goals), max_bytes)
        factors = None if finer is None else low_rank_form(finer)
        return None if factors is None else replace(self, factored=factors)

    def _joined(self, whole: Array, factored: Array) -> Array:
        """Return values of both parts as one array, in the order of kernels."""
        joined = np.empty((self.is_whole.size, *whole.shape[1:]))
        joined[self.is_whole], joined[~self.is_whole] = whole, factored
        return joined

    def _part(
        self, kernels: Indices, take: Callable[[GramStack, Indices], GramStack]
    ) -> GramStack:
        """Return the stack of chosen kernels; `take` selects them from each part."""
        numbers = np.arange(self.is_whole.size)[kernels]
        is_whole, positions = self.is_whole[numbers], self.positions[numbers]
        if not is_whole.any():
            return take(self.factored, positions)
        if is_whole.all():
            return take(self.whole, positions)
        factors = low_rank_form(take(self.factored, positions[~is_whole]))
        assert factors is not None
        return ByKernelStack(take(self.whole, positions[is_whole]), factors, is_whole)

    def _all_landmarks(self) -> Landmarks:
        """Return all kernels' landmarks: all samples for those stored as matrices."""
        factors = self.factored.landmarks
        assert factors is not None
        assert self.dictionary is not None
        scales = np.ones(self.whole.shape[0]) if self.scales is None else self.scales
        of_whole = [KernelLandmarks(factors.rows, None, s) for s in scales.tolist()]
        kernels = tuple(
            of_whole[position] if is_whole else factors.kernels[position]
            for is_whole, position in zip(self.is_whole, self.positions, strict=True)
        )
        return SampleLandmarks(
            self.dictionary,
            factors.X,
            factors.rows,
            factors.weights,
            factors.cosine,
            factors.options,
            kernels,
        )


refined.register(ByKernelStack, ByKernelStack.refine)


@dataclass(frozen=True, eq=False)
class SampleLandmarks(Landmarks):
    """Landmarks of a `ByKernelStack`: all samples for kernels stored as matrices."""

    def widths(self, stack: GramStack, kernels: Indices) -> tuple[int, ...]:
        """Return the number of coefficients of a function per chosen kernel."""
        assert isinstance(stack, ByKernelStack)
        numbers = np.full(stack.shape[0], stack.shape[1])
        numbers[~stack.is_whole] = stack.factored.ranks
        return tuple(numbers[kernels].tolist())

    def coefficients(
        self, stack: GramStack, m: int, coefs: Array
    ) -> tuple[Array, Array]:
        """Return coefficients over landmarks; see `Landmarks.coefficients`."""
        assert isinstance(stack, ByKernelStack)
        if stack.is_whole[m]:
            return self.scales[m] * coefs, np.zeros(coefs.shape[1])
        landmarks = stack.factored.landmarks
        assert landmarks is not None
        return landmarks.coefficients(stack.factored, int(stack.positions[m]), coefs)


def join_parts(
    whole: BuiltStack,
    factored: BuiltStack,
    is_whole: Mask,
    dictionary: KernelDictionary,
    learnt: Normalization,
) -> BuiltStack:
    """Return one stack of whole matrices and factors, each normalized separately."""
    parts = zip(
        learnt.steps,
        whole.normalization.steps,
        factored.normalization.steps,
        strict=True,
    )
    for step, of_whole, of_factors in parts:
        assert isinstance(step, ScaleStep)
        assert isinstance(of_whole, ScaleStep)
        assert isinstance(of_factors, ScaleStep)
        step.factors[is_whole] = of_whole.factors
        step.factors[~is_whole] = of_factors.factors
    factors = factored.stack
    assert isinstance(factors, LowRankStack)
    scales = whole.normalization.factors(np.arange(whole.stack.shape[0]))
    stack = ByKernelStack(whole.stack, factors, is_whole, dictionary, scales)
    degenerate = np.concatenate(
        [
            np.flatnonzero(is_whole)[whole.degenerate],
            np.flatnonzero(~is_whole)[factored.degenerate],
        ]
    )
    return BuiltStack(stack, learnt, np.sort(degenerate))


def options_of_some(options: BuildOptions, kernels: Mask) -> BuildOptions:
    """Return the build options of some kernels; raise if steps do more than scale."""
    if not options.unfitted(1, 1).only_scales:
        raise ValueError(
            "storage='by_kernel' requires kernels that are only scaled: normalize "
            f"must be None, 'trace' or 'variance', got {options.normalize!r}."
        )
    steps = [
        GivenScales(step.factors[kernels]) if isinstance(step, GivenScales) else step
        for step in check_steps(options.normalize)
    ]
    return replace(options, normalize=steps)
