"""Build normalized stacks of products of two kernels, from the kernels' factors."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.factors.centered import TILE, CenteredMains, centered_mains
from multikernel.gram.factors.factorize import build_low_rank, cut_low_rank
from multikernel.gram.factors.features import exact_at_values
from multikernel.gram.factors.landmarks import KernelLandmarks, LowRank
from multikernel.gram.factors.low_rank import LowRankStack
from multikernel.gram.factors.products import FactoredProducts, ProductLandmarks
from multikernel.gram.normalization import BuildOptions, BuiltStack, Normalization
from multikernel.gram.steps import GivenScaleStep, MomentStep
from multikernel.gram.views import ScaledStack
from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.interactions import InteractionDictionary
from multikernel.kernels.products import uncenter
from multikernel.kernels.terms import ComputedRows, EveryPair, FactorIndices

# The factor of a product has ten times as many columns as the factor of a main kernel.
# A larger tolerance saves columns, and bounds include the larger residual. On 100 000
# samples, a product's factor has 107 columns; with equal tolerances it had 145.
ROUGHER = 100.0
"""Tolerance of the factors of products, divided by the tolerance of main kernels."""


class WholeTraces(FactoredProducts):
    """A stack of products whose diagonals and traces include those of residuals."""

    @property
    def _main_diagonals(self) -> Array:
        # A kernel's diagonal is that of its factor plus that of its residual, here the
        # residual before centering. Scales are computed from these diagonals.
        return self.mains.squares + self.mains.roots**2


def learnt_scales(
    mains: CenteredMains, terms: FactorIndices, normalization: Normalization
) -> Array:
    """Return the scales that an unfitted normalization computes for some products."""
    has_no_residual = mains.stack.residual is None
    stack = (FactoredProducts if has_no_residual else WholeTraces)(
        mains, terms, np.ones(len(terms))
    )
    scaled = normalization.learn_scales(stack)
    return scaled.scales if isinstance(scaled, ScaledStack) else stack.scales


@dataclass(frozen=True, eq=False)
class LearntScales(ComputedRows[Array]):
    """The scales of many products, which are computed whenever they are read."""

    mains: CenteredMains  # on the samples from which scales are computed
    terms: EveryPair
    normalization: Normalization  # not yet fitted

    def __len__(self) -> int:
        return len(self.terms)

    def rows(self, numbers: Indices) -> Array:
        """Return the scales of the products with these indices."""
        steps = self.normalization.take(numbers)
        return learnt_scales(self.mains, self.terms[numbers], steps)


def without_factors(normalization: Normalization, n_kernels: int) -> Normalization:
    """Return a copy of an unfitted normalization with arrays that take no memory."""
    # The scale factors of each step, (n_kernels,), are zeros that share one number.
    zeros = np.broadcast_to(0.0, n_kernels)
    return Normalization(
        tuple(
            replace(step, factors=zeros) if isinstance(step, MomentStep) else step
            for step in normalization.steps
        )
    )


@dataclass(frozen=True, eq=False)
class EveryProduct(FactoredProducts):
    """A stack of main kernels and all their products, processed a few at a time."""

    # Scales are `LearntScales`, computed again in every pass, which then takes about
    # twice as long.
    terms: EveryPair

    @cached_property
    def main_kernels(self) -> Indices:
        """Return the indices of the main kernels."""
        return np.arange(self.terms.alone.size)

    @property
    def paired(self) -> Indices:
        """Return the main kernels that are in at least one product."""
        return self.terms.members

    def shares_work(self) -> bool:
        """Return True: a pass over all products reads only main kernels' factors."""
        # Counting the stored numbers, as in `GramStack`, would take a pass.
        return True

    def in_parts(self) -> Iterator[FactoredProducts]:
        """Yield stacks of consecutive kernels."""
        return map(self.once, self._numbers_of_parts())

    def _numbers_of_parts(self) -> Iterator[Indices]:
        """Yield the indices of all kernels in order, as arrays of limited size."""
        step = max(1, TILE // 2 * self.paired.size)
        for start in range(0, self.shape[0], step):
            yield np.arange(start, min(start + step, self.shape[0]))

    def zero_kernels(self) -> Indices:
        """Return the kernels whose matrix is zero, ignoring the scales of products."""
        # The result lacks constant products, whose scale is zero: computing the scales
        # of all products would take a pass.
        zero = [self.main_kernels[self.once(self.main_kernels).zero_kernels()]]
        for kernels in self._numbers_of_parts():
            terms = self.terms[kernels]
            stack = FactoredProducts(self.mains, terms, np.ones(len(terms)))
            zero.append(kernels[stack.zero_kernels()])
        return np.unique(np.concatenate(zero))


def build_products(
    dictionary: InteractionDictionary, X: Array, storage: LowRank, options: BuildOptions
) -> BuiltStack:
    """Factorize main kernels, and return the stack of all kernels of a dictionary."""
    # The steps of the normalization must scale kernels, and not center them.
    mains, n_samples = dictionary.mains.kernels, len(X)
    kernels = ListDictionary([exact_at_values(k, X) or uncenter(k) for k in mains])
    stack = build_low_rank(kernels, X, storage, replace(options, normalize=None)).stack
    assert isinstance(stack, LowRankStack)
    # The stack of main kernels has landmarks; the kernels of the dictionary have none.
    no_landmarks = np.array([KernelLandmarks(np.empty(0, dtype=np.intp))])
    no_landmarks = np.broadcast_to(no_landmarks, len(dictionary))
    samples = X, np.arange(n_samples), options.shares(n_samples)
    landmarks = ProductLandmarks(dictionary, *samples, False, storage, no_landmarks)
    tol = ROUGHER * storage.tol
    centered_factors = centered_mains(dictionary.mains, stack, tol, options.max_bytes)
    normalization = options.unfitted(len(dictionary), n_samples)
    return _normalized(centered_factors, dictionary.terms, landmarks, normalization)


def cut_products(
    stack: FactoredProducts, samples: Indices, options: BuildOptions
) -> BuiltStack:
    """Return products on some samples, normalized on these samples alone."""
    # Main kernels keep their landmarks, which were chosen without labels, and the
    # samples over which they are centered.
    main_options = replace(options, normalize=None)
    main_stack = cut_low_rank(stack.mains.stack, samples, main_options).stack
    assert isinstance(main_stack, LowRankStack)
    assert stack.landmarks is not None
    landmarks = stack.landmarks.restrict(samples, options.shares(samples.size))
    mains = replace(stack.mains, stack=main_stack, factor_cache={})
    normalization = options.unfitted(stack.shape[0], samples.size)
    return _normalized(mains, stack.terms, landmarks, normalization)


def _normalized(
    mains: CenteredMains,
    terms: FactorIndices,
    landmarks: ProductLandmarks,
    normalization: Normalization,
) -> BuiltStack:
    """Fit a normalization to the kernels in `terms`; return their normalized stack."""
    if isinstance(terms, EveryPair):
        # Millions of products have too many scales to store, so they are computed
        # whenever they are read.
        unfitted = without_factors(normalization, len(terms))
        computed: Any = LearntScales(mains, terms, unfitted)
        all_products = EveryProduct(mains, terms, computed, landmarks)
        fitted = Normalization((GivenScaleStep(landmarks.weights, computed),))
        return BuiltStack(all_products, fitted, all_products.zero_kernels())
    scales = learnt_scales(mains, terms, normalization)
    stack = FactoredProducts(mains, terms, scales, landmarks)
    return BuiltStack(stack, normalization, stack.zero_kernels())
