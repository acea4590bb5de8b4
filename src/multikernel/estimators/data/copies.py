"""Equal samples made one: a weight is then worth exactly as many copies.

The steps of a machine for losses with corners depend on the order of the samples, and
on how many share a dual variable. Both are settled here, by the data alone: so a
weight of two and a second copy lead to the same model to the last digits, and not only
to the tolerance.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from multikernel._typing import Indices
from multikernel.estimators.data.samples import Copies, Samples
from multikernel.gram.landmarks import row_keys
from multikernel.gram.memory import backing


def in_order(samples: Samples) -> Samples:
    """Return the samples in an order that depends on data and labels alone.

    Copies come to stand together. Precomputed kernels have no data to compare, and
    stay as they are, as does a table in a file, which no copy of would fit.

    Parameters
    ----------
    samples : Samples
        The samples.

    Returns
    -------
    samples : Samples
    """
    if not _comparable(samples):
        return samples
    order = np.argsort(_keys(samples), kind="stable")
    return replace(samples.subset(order), X=samples.X[order])


def made_one(samples: Samples, chosen: Indices) -> tuple[Indices, Samples]:
    """Return samples of which every one stands for all its copies.

    Parameters
    ----------
    samples : Samples
        The samples.
    chosen : ndarray of int
        Those of them to take.

    Returns
    -------
    firsts : ndarray of int
        The positions of those that are left, one for each group of copies.
    merged : Samples
        These, with the weights of their copies; without X.
    """
    part = samples.subset(chosen)
    if not _comparable(samples):
        return chosen, part
    _, firsts, owners = np.unique(
        _keys(replace(part, X=samples.X[chosen])),
        return_index=True,
        return_inverse=True,
    )
    if firsts.size == chosen.size:
        return chosen, part
    # Copies stand together, the groups in the order of their first ones.
    place = np.empty_like(firsts)
    order = np.argsort(firsts)
    place[order] = np.arange(firsts.size)
    firsts, owners = firsts[order], place[owners]
    weights = np.ones(chosen.size) if part.sample_weight is None else part.sample_weight
    totals = np.asarray(np.bincount(owners, weights), dtype=np.float64)
    copies = Copies(part.rows, owners, weights / totals[owners])
    merged = replace(part.subset(firsts), sample_weight=totals, copies=copies)
    return chosen[firsts], merged


def _keys(samples: Samples) -> Any:
    """Return one value per sample, the same for the same data and label."""
    return row_keys(np.column_stack([samples.X, samples.labels]))


def distinct(samples: Samples) -> Samples:
    """Return the samples in an order of their own, with copies made one.

    Parameters
    ----------
    samples : Samples
        The samples.

    Returns
    -------
    samples : Samples
    """
    samples = in_order(samples)
    firsts, merged = made_one(samples, np.arange(samples.rows.size))
    return replace(merged, X=samples.X[firsts]) if _comparable(samples) else samples


def _comparable(samples: Samples) -> bool:
    """Return whether samples are rows of a table in memory."""
    return samples.X.ndim == 2 and backing(samples.X) is None
