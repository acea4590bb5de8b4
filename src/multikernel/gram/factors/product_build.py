"""Stacks of products in factors, built of a dictionary or cut from another stack."""

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
"""Tolerance of the factors of products over the mains': a product's factor has
ten times as many columns, and what it leaves is in the bounds. With 1 a factor of
100 000 samples had 145 columns, with 100 it has 107."""


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
    """Return a stack on some samples, normalized by these alone.

    Mains keep their landmarks, which are chosen without labels, and stay centered in
    the samples that they were centered in.
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
    """Return a stack with the scales that a normalization learns of it."""
    if isinstance(terms, EveryPair):
        empty = without_factors(normalization, len(terms))
        computed: Any = LearntScales(mains, terms, empty)
        every = EveryProduct(mains, terms, computed, landmarks)
        learnt = Normalization((GivenScaleStep(landmarks.weights, computed),))
        return BuiltStack(every, learnt, every.zero_kernels())
    scales = learnt_scales(mains, terms, normalization)
    stack = FactoredProducts(mains, terms, scales, landmarks)
    return BuiltStack(stack, normalization, stack.zero_kernels())
