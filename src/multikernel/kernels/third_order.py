"""Products of three kernels, by heredity: a pair in use, times a third kernel."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Indices
from multikernel.kernels.base import Kernel, kernel_name
from multikernel.kernels.dictionary import ListDictionary, told_apart
from multikernel.kernels.interactions import InteractionDictionary


def with_third_factors(
    dictionary: InteractionDictionary, active: Indices
) -> InteractionDictionary | None:
    """Return a dictionary that also has active pairs times third kernels.

    Each pair of a product of three is in the dictionary, so that factors are on
    different columns. Pairs become mains, whose products with others are the new
    kernels; these come last. None where there is no new one.

    Parameters
    ----------
    dictionary : InteractionDictionary
        Kernels, all their pairs, and perhaps products of three.
    active : ndarray of shape (n_active,)
        The kernels that models use.
    """
    offered = _offered_pairs(dictionary)
    present = {
        frozenset(dictionary.factors(index)) for index in _thirds(dictionary).tolist()
    }
    pairs, terms, products = list(dictionary.pairs), [], []
    for index in active.tolist():
        factors = dictionary.factors(index)
        if len(factors) != 2:
            continue
        thirds = np.flatnonzero(offered[factors[0]] & offered[factors[1]]).tolist()
        new = [m for m in thirds if frozenset((*factors, m)) not in present]
        if new:
            main = dictionary.n_single + len(pairs)
            terms += [(main, m) for m in new]
            present.update(frozenset((*factors, m)) for m in new)
            pairs.append((factors[0], factors[1]))
            products.append(dictionary[index])
    if not terms:
        return None
    return replace(
        dictionary,
        mains=_joined(dictionary.mains, products),
        terms=np.vstack([dictionary.terms, np.array(terms, dtype=np.intp)]),
        pairs=tuple(pairs),
    )


def offer_of(dictionary: InteractionDictionary) -> str:
    """Return a sentence on the kernels that a model with products of three is among."""
    n_thirds = _thirds(dictionary).size
    n_pairs = dictionary.n_products - n_thirds
    return (
        f"All {n_pairs} pairs of kernels, and {n_thirds} products of three: pairs in "
        "use times a third kernel. Others were not offered, and the duality gap says "
        "nothing of them."
    )


def _joined(mains: ListDictionary, products: Sequence[Kernel]) -> ListDictionary:
    """Return mains with products behind them, under names that differ."""
    names = [mains.name(m) for m in range(len(mains))]
    names += [kernel_name(product) for product in products]
    return ListDictionary([*mains.kernels, *products], told_apart(names))


def _thirds(dictionary: InteractionDictionary) -> Indices:
    """Return the products of three."""
    first, second = dictionary.terms.T
    return np.flatnonzero((first >= dictionary.n_single) & (second >= 0))


def _offered_pairs(dictionary: InteractionDictionary) -> NDArray[np.bool_]:
    """Return which mains have an interaction, (n_single, n_single)."""
    size = dictionary.n_single
    offered = np.zeros((size, size), dtype=np.bool_)
    first, second = dictionary.terms.T
    pairs = (first < size) & (second >= 0)
    offered[first[pairs], second[pairs]] = True
    return offered | offered.T
