"""Dictionaries of products of kernels, as estimators make them."""

from multikernel.kernels import Interactions
from multikernel.kernels.columns import Features
from multikernel.kernels.interactions import with_interactions


def interactions_of(kernels, X, weights=None, spec=None, names=None):
    """Return kernels and their products on X, whose columns may have names."""
    features = Features(X.shape[1], names)
    origins = range(X.shape[1])
    return with_interactions(
        spec or Interactions(), kernels, X, weights, features, origins
    )
