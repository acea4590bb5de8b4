"""Quadratic forms of Gaussian kernels from one triangle, which halves the work.

With the lower triangle of a symmetric matrix written row after row, a quadratic form
is one inner product with the products :math:`v_i v_j`, doubled off the diagonal; for
several kernels it is one matrix-vector product.
"""

from collections.abc import Iterator
from itertools import pairwise
from threading import Lock
from typing import overload

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.lazy.plan import RadialPlan
from multikernel.gram.lazy.radial import BATCH, BLOCK_NUMBERS, RadialBatch, Samples
from multikernel.linalg.threads import available_threads, run_blocks

GROUP_PAIRS = 2**21
"""Pairs whose products of v are held at a time, 16 MB."""


def radial_forms(plan: RadialPlan, samples: Samples, v: Array, forms: Array) -> None:
    """Add the quadratic forms of Gaussian kernels to a vector.

    Parameters
    ----------
    plan : RadialPlan
        The kernels.
    samples : Samples
        The samples, the same for rows and columns.
    v : ndarray of shape (n_samples, n_outputs)
        The vectors; forms are summed over them.
    forms : ndarray of shape (n_kernels,)
        Added to, at the kernels' positions.
    """
    if plan.kernels.size:
        for group in _row_runs(slice(0, v.shape[0]), GROUP_PAIRS):
            _add_group(plan, samples, _PairProducts(v, group), forms)


class _PairProducts:
    """The products v_i v_j of some rows' pairs, doubled off the diagonal."""

    def __init__(self, v: Array, rows: slice) -> None:
        gram = v[rows] @ v[: rows.stop].T
        stops = np.arange(rows.start, rows.stop) + 1
        inside = np.arange(rows.stop) < stops[:, None]
        gram *= 2.0
        gram[np.arange(stops.size), stops - 1] *= 0.5
        self.rows = rows
        self._values = gram[inside]
        self._first = _n_pairs(rows.start)

    def block(self, rows: slice) -> Array:
        """Return the products of a run of these rows."""
        first, last = _n_pairs(rows.start), _n_pairs(rows.stop)
        return self._values[first - self._first : last - self._first]


def _add_group(
    plan: RadialPlan, samples: Samples, products: _PairProducts, forms: Array
) -> None:
    """Add what a group of rows gives to the forms."""
    blocks = _row_runs(products.rows, BLOCK_NUMBERS // min(BATCH, plan.kernels.size))
    # Few kernels are spread over threads by their rows.
    many = plan.kernels.size >= 4 * BATCH * available_threads()
    per_task = len(blocks) if many else 1
    lock = Lock()

    def tasks() -> Iterator[tuple[RadialBatch, list[slice]]]:
        for batch in plan.batches(BATCH):
            radial = RadialBatch(batch, samples)
            for start in range(0, len(blocks), per_task):
                yield radial, blocks[start : start + per_task]

    def work(task: tuple[RadialBatch, list[slice]]) -> None:
        radial, rows = task
        part = _batch_forms(radial, rows, products)
        with lock:
            forms[radial.plan.kernels] += part

    run_blocks(work, tasks())


def _batch_forms(
    radial: RadialBatch, blocks: list[slice], products: _PairProducts
) -> Array:
    """Return what some rows give to the quadratic forms of a batch of kernels."""
    n_kernels = radial.plan.kernels.size
    largest = max(_n_pairs(rows.stop) - _n_pairs(rows.start) for rows in blocks)
    buffer = np.empty(n_kernels * largest)
    forms = np.zeros(n_kernels)
    for rows in blocks:
        stops = np.arange(rows.start, rows.stop) + 1
        pairs = int(stops.sum())
        values = buffer[: n_kernels * pairs]
        radial.exponents(rows, stops, np.arange(n_kernels) * pairs, values)
        np.exp(values, out=values)
        forms += values.reshape(n_kernels, pairs) @ products.block(rows)
    return forms


def _row_runs(rows: slice, pairs: int) -> list[slice]:
    """Cut rows of a lower triangle into runs of about so many pairs, or one row."""
    ends = _n_pairs(np.arange(rows.start, rows.stop + 1)) - _n_pairs(rows.start)
    cuts = np.flatnonzero(np.diff(ends[1:] // pairs, prepend=-1))
    bounds = [*(rows.start + cuts).tolist(), rows.stop]
    return [slice(a, b) for a, b in pairwise(bounds)]


@overload
def _n_pairs(n_rows: int) -> int: ...
@overload
def _n_pairs(n_rows: Indices) -> Indices: ...
def _n_pairs(n_rows: int | Indices) -> int | Indices:
    """Return the number of pairs in so many first rows of a lower triangle."""
    return n_rows * (n_rows + 1) // 2
