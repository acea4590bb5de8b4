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
from multikernel.gram.normalization import BuiltStack, Normalization
from multikernel.gram.steps import GivenScaleStep
from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.interactions import InteractionDictionary
from multikernel.kernels.products import uncentred
from multikernel.kernels.terms import EveryPair, Terms
from multikernel.linalg.tables import equal_shares

ROUGHER = 100.0
"""Tolerance of the factors of products over the mains': a product's factor has
ten times as many columns, and what it leaves is in the bounds. With 1 a factor of
100 000 samples had 145 columns, with 100 it has 107."""


def build_products(
    dictionary: InteractionDictionary,
    X: Array,
    normalization: Normalization,
    sample_weight: Array | None = None,
    options: LowRank | None = None,
    max_bytes: int | None = None,
) -> BuiltStack:
    """Factorise the mains of a dictionary, and return the stack of all its kernels.

    Mains are factorized as they are, then centered; a product is factorized from these
    only when it is used, to a tolerance `ROUGHER` times as large. The normalization
    learns scales alone. All other parameters are as in `build_low_rank`.
    """
    options = LowRank() if options is None else options
    mains = dictionary.mains.kernels
    plain = ListDictionary([exact_at_values(k, X) or uncentred(k) for k in mains])
    stack = build_low_rank(
        plain, X, sample_weight=sample_weight, options=options, max_bytes=max_bytes
    ).stack
    assert isinstance(stack, LowRankStack)
    # Landmarks belong to the mains; no kernel of the whole dictionary has its own.
    none = np.array([KernelLandmarks(np.empty(0, dtype=np.intp))])
    kernels = np.broadcast_to(none, len(dictionary))
    samples = X, np.arange(len(X)), equal_shares(len(X), sample_weight)
    landmarks = ProductLandmarks(dictionary, *samples, False, options, kernels)
    tol = ROUGHER * options.tol
    centred = centred_mains(dictionary.mains, stack, tol, max_bytes)
    return _normalised(centred, dictionary.terms, landmarks, normalization)


def cut_products(
    whole: FactoredProducts,
    samples: Indices,
    normalization: Normalization,
    sample_weight: Array | None = None,
    max_bytes: int | None = None,
) -> BuiltStack:
    """Return a stack on some samples, normalized by what these say alone.

    Mains stay centered in what they were, and all samples keep their landmarks.
    """
    stack = cut_low_rank(
        whole.mains.stack, samples, sample_weight=sample_weight, max_bytes=max_bytes
    ).stack
    assert isinstance(stack, LowRankStack)
    assert whole.landmarks is not None
    shares = equal_shares(samples.size, sample_weight)
    landmarks = whole.landmarks.restrict(samples, shares)
    mains = replace(whole.mains, stack=stack, made={})
    return _normalised(mains, whole.terms, landmarks, normalization)


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
