"""Build stacks of products of factors from a dictionary or another stack."""

from dataclasses import replace
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.factors.centred import CenteredMains, centred_mains
from multikernel.gram.factors.every_product import (
    EveryProduct,
    LearntScales,
    learnt_scales,
    without_factors,
)
from multikernel.gram.factors.factorise import build_low_rank, cut_low_rank
from multikernel.gram.factors.features import exact_at_values
from multikernel.gram.factors.landmarks import KernelLandmarks, LowRank
from multikernel.gram.factors.low_rank import LowRankStack
from multikernel.gram.factors.products import FactoredProducts, ProductLandmarks
from multikernel.gram.normalization import BuildOptions, BuiltStack, Normalization
from multikernel.gram.steps import GivenScaleStep
from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.interactions import InteractionDictionary
from multikernel.kernels.products import uncentred
from multikernel.kernels.terms import EveryPair, Terms

ROUGHER = 100.0
"""Ratio of the tolerances of products and mains. The factor of a product has ten times
as many columns, and bounds include its residual. On 100 000 samples a factor has 107
columns; with a ratio of 1 it had 145."""


def build_products(
    dictionary: InteractionDictionary, X: Array, storage: LowRank, options: BuildOptions
) -> BuiltStack:
    """Factorize the mains of a dictionary, and return the stack of all its kernels.

    Normalization only scales kernels.
    """
    mains, n_samples = dictionary.mains.kernels, len(X)
    plain = ListDictionary([exact_at_values(k, X) or uncentred(k) for k in mains])
    stack = build_low_rank(plain, X, storage, replace(options, normalize=None)).stack
    assert isinstance(stack, LowRankStack)
    # Landmarks belong to the mains; no kernel of the whole dictionary has its own.
    none = np.array([KernelLandmarks(np.empty(0, dtype=np.intp))])
    kernels = np.broadcast_to(none, len(dictionary))
    samples = X, np.arange(n_samples), options.shares(n_samples)
    landmarks = ProductLandmarks(dictionary, *samples, False, storage, kernels)
    tol = ROUGHER * storage.tol
    centred = centred_mains(dictionary.mains, stack, tol, options.max_bytes)
    empty = options.unfitted(len(dictionary), n_samples)
    return _normalised(centred, dictionary.terms, landmarks, empty)


def cut_products(
    whole: FactoredProducts, samples: Indices, options: BuildOptions
) -> BuiltStack:
    """Return the stack on some samples, normalized on these alone.

    Mains keep their landmarks, which are chosen without labels, and the samples in
    which they are centered.
    """
    plain = replace(options, normalize=None)
    stack = cut_low_rank(whole.mains.stack, samples, plain).stack
    assert isinstance(stack, LowRankStack)
    assert whole.landmarks is not None
    landmarks = whole.landmarks.restrict(samples, options.shares(samples.size))
    mains = replace(whole.mains, stack=stack, made={})
    empty = options.unfitted(whole.shape[0], samples.size)
    return _normalised(mains, whole.terms, landmarks, empty)


def _normalised(
    mains: CenteredMains,
    terms: Terms,
    landmarks: ProductLandmarks,
    normalization: Normalization,
) -> BuiltStack:
    """Return a stack with the scales of a normalization fitted to it."""
    if isinstance(terms, EveryPair):
        empty = without_factors(normalization, len(terms))
        computed: Any = LearntScales(mains, terms, empty)
        every = EveryProduct(mains, terms, computed, landmarks)
        learnt = Normalization((GivenScaleStep(landmarks.weights, computed),))
        return BuiltStack(every, learnt, every.zero_kernels())
    scales = learnt_scales(mains, terms, normalization)
    stack = FactoredProducts(mains, terms, scales, landmarks)
    return BuiltStack(stack, normalization, stack.zero_kernels())
