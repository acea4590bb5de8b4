"""What each term of a model amounts to: its norm, and its share of the variance."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from multikernel._typing import Array, Indices
from multikernel.gram.base import GramStack
from multikernel.linalg.weighted import covariances_with_sum


def variance_shares(terms: ArrayLike, sample_weight: ArrayLike | None = None) -> Array:
    r"""Return the share of each term in the variance of their sum.

    With :math:`f = \sum_m f_m` the share of term m is

    .. math:: \operatorname{Cov}(f_m, f) / \operatorname{Var}(f)

    over the samples. Shares sum to one. A negative one belongs to a term that works
    against the others. Unlike kernel weights they do not depend on how a method scales
    its kernels, and so compare models of different methods.

    Parameters
    ----------
    terms : array-like of shape (n_samples, n_active)
        The terms of a model, as `contributions` of an estimator returns them; of
        several outputs of shape (n_samples, n_outputs, n_active).
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    shares : ndarray of shape (n_active,) or (n_outputs, n_active)
        Zeros where the sum is constant.

    Examples
    --------
    >>> from multikernel.estimators import variance_shares
    >>> variance_shares([[0.0, 1.0], [3.0, 1.0], [0.0, 2.0], [3.0, 2.0]])
    array([0.9, 0.1])
    """
    values = np.asarray(terms, dtype=np.float64)
    weights = np.ones(values.shape[0])
    if sample_weight is not None:
        weights = np.asarray(sample_weight, dtype=np.float64)
    return shares_of(covariances_with_sum(values, weights))


def shares_of(products: Array) -> Array:
    """Return products with the sum of all terms over their own sum.

    Parameters
    ----------
    products : ndarray of shape (..., n_terms)
        The products.

    Returns
    -------
    shares : ndarray of shape (..., n_terms)
        Zeros where their sum is none.
    """
    totals = products.sum(axis=-1, keepdims=True)
    shares = np.zeros(products.shape)
    np.divide(products, totals, out=shares, where=totals > 0.0)
    return shares


def described_terms(
    stack: GramStack, active: Indices, coefs: Array, sample_weight: Array | None
) -> dict[str, Array]:
    """Return what a fit publishes about the terms of its model.

    Parameters
    ----------
    stack : GramStack
        The kernels on the training samples.
    active : ndarray of shape (n_active,)
        Those of the model.
    coefs : ndarray of shape (n_active, n_samples, n_outputs)
        Their expansions.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights of the samples.

    Returns
    -------
    attributes : dict
        ``block_norms_`` and ``variance_shares_``, both of shape (n_outputs,
        n_kernels).
    """
    weights = np.ones(stack.shape[1]) if sample_weight is None else sample_weight
    squares, products = stack.term_covariances(active, coefs, weights)
    norms = np.sqrt(np.maximum(squares, 0.0))
    return spread_terms(norms, shares_of(products), active, stack.shape[0])


def spread_terms(
    norms: Array, shares: Array, active: Indices, n_kernels: int
) -> dict[str, Any]:
    """Return norms and shares of the terms of a model as those of all kernels.

    Parameters
    ----------
    norms, shares : ndarray of shape (n_outputs, n_active)
        Of the terms.
    active : ndarray of shape (n_active,)
        Their kernels.
    n_kernels : int
        How many kernels there are.

    Returns
    -------
    attributes : dict
        ``block_norms_`` and ``variance_shares_``; for one output of shape
        (n_kernels,), otherwise (n_outputs, n_kernels).
    """
    named = {"block_norms_": norms, "variance_shares_": shares}
    full = {name: np.zeros((len(norms), n_kernels)) for name in named}
    for name, values in named.items():
        full[name][:, active] = values
    return {
        name: array[0] if len(array) == 1 else array for name, array in full.items()
    }
