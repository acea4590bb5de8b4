"""Quadratic forms of Gaussian kernels, from one triangle of their matrices."""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TypeVar

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.compute.matrices import (
    BATCH,
    BLOCK_NUMBERS,
    BlockSamples,
    write_exponents,
)
from multikernel.gram.compute.plan import RadialPlan
from multikernel.gram.matrix import ENTRIES_PER_TASK
from multikernel.linalg import SINGLE
from multikernel.linalg.threads import add_blocks, available_threads, compiled

# On 200 samples, a kernel took 2.1 ns per pair of samples in batches of 32 kernels, 1.3
# ns in batches of 256, and 1.2 ns in batches of 512.
SINGLE_BATCH = 512
"""Number of Gaussian kernels that are computed together in single precision."""

TERMS = 64
"""Number of terms of a sum in single precision; sums are added in double precision."""


def radial_forms(
    plan: RadialPlan, samples: BlockSamples, v: Array, forms: Array
) -> None:
    """Add v^T K_m v (summed over outputs) of each Gaussian kernel to `forms[m]`."""
    if plan.kernels.size:
        for pair_products in _product_groups(v):
            _add_group(plan, samples, pair_products, forms, BATCH, _batch_forms)


def rough_radial_forms(
    plan: RadialPlan, samples: BlockSamples, v: Array, forms: Array
) -> float:
    """Add v^T K_m v, computed in float32, to `forms[m]`; return an error bound."""
    # The bound holds for the rounding error of each kernel's form. The caller checks
    # `in_single_range`; arguments are as in `radial_forms`.
    largest = float(np.abs(v).max())
    if largest == 0.0:
        return 0.0
    rough_forms, weight_sum = np.zeros_like(forms), 0.0
    # Products v_i v_j of the scaled vectors do not overflow in single precision.
    for products in _product_groups(v / largest):
        weight_sum += float(np.abs(products.values).sum())
        _add_group(plan, samples, products, rough_forms, SINGLE_BATCH, _single_forms)
    forms += largest**2 * rough_forms
    # With u the unit of rounding and gamma_k = k u / (1 - k u), the exponent of a
    # kernel value e^-t on d features has a relative error of at most theta =
    # gamma_{d + 3}: each square, the sum, the factor and the product are rounded. As
    # t e^-t <= 1 / e, that changes the value by at most theta / (e (1 - theta)). The
    # value is computed as a power of two with an error of 4 u. Its weight v_i v_j, and
    # the product of both, have errors of u each, and a sum of TERMS such products has
    # an error of (TERMS - 1) u. Two more u cover sums in double precision, powers too
    # small for single precision, and products of errors. All these errors are relative
    # to the weights.
    value = _gamma(TERMS + 7)
    exponent_error = _gamma(int(np.diff(plan.column_starts).max()) + 3)
    errors = value + exponent_error / (math.e * (1.0 - exponent_error))
    return largest**2 * weight_sum * errors


def _gamma(n: int) -> float:
    """Return n u / (1 - n u), a bound on the relative error of n roundings."""
    # u is the unit of rounding in single precision.
    return n * SINGLE / (1.0 - n * SINGLE)


def in_single_range(plan: RadialPlan, samples: BlockSamples) -> bool:
    """Return whether no intermediate value overflows in single precision."""
    if not plan.kernels.size:
        return False
    largest = max(np.ptp(samples.rows, axis=0).max(initial=0.0), -plan.exponents.min())
    smallest = -plan.exponents.max()
    has_few_columns = np.diff(plan.column_starts).max() < 0.01 / SINGLE
    return bool(largest <= 1e15 and smallest >= 1e-15 and has_few_columns)


class _PairProducts:
    """The products v_i v_j for j <= i and i in some rows, doubled if j < i."""

    def __init__(self, v: Array, rows: slice) -> None:
        gram = v[rows] @ v[: rows.stop].T
        row_stops = np.arange(rows.start, rows.stop) + 1
        is_lower = np.arange(rows.stop) < row_stops[:, None]
        gram *= 2.0
        gram[np.arange(row_stops.size), row_stops - 1] *= 0.5
        self.rows = rows
        self.values = gram[is_lower]
        self._first_pair = _n_pairs(rows.start)

    def block(self, rows: slice) -> Array:
        """Return the products v_i v_j for all i in `rows`, a part of `self.rows`."""
        start, stop = _n_pairs(rows.start), _n_pairs(rows.stop)
        return self.values[start - self._first_pair : stop - self._first_pair]


def _product_groups(v: Array) -> Iterator[_PairProducts]:
    """Yield the `_PairProducts` of as many rows at a time as memory allows."""
    for rows in _row_runs(slice(0, v.shape[0]), ENTRIES_PER_TASK):
        yield _PairProducts(v, rows)


PartForms = Callable[[RadialPlan, BlockSamples, list[slice], _PairProducts], Array]
"""A function that returns the contribution of some rows to the forms of a batch."""


def _add_group(
    plan: RadialPlan,
    samples: BlockSamples,
    products: _PairProducts,
    forms: Array,
    batch_size: int,
    forms_of_rows: PartForms,
) -> None:
    """Add the terms v_i v_j K_m[i, j] of all pairs in `products` to `forms[m]`."""
    blocks = _row_runs(products.rows, BLOCK_NUMBERS // min(BATCH, plan.kernels.size))
    # A task computes all rows of a batch of kernels, or some rows if kernels are few.
    has_many = plan.kernels.size >= 4 * batch_size * available_threads()
    per_task = len(blocks) if has_many else 1

    def tasks() -> Iterator[tuple[RadialPlan, list[slice]]]:
        for batch in plan.batches(batch_size):
            for start in range(0, len(blocks), per_task):
                yield batch, blocks[start : start + per_task]

    def work(task: tuple[RadialPlan, list[slice]]) -> tuple[Indices, Array]:
        batch, rows = task
        return batch.kernels, forms_of_rows(batch, samples, rows, products)

    def add(result: tuple[Indices, Array]) -> None:
        kernels, values = result
        forms[kernels] += values

    add_blocks(work, tasks(), add)


def _single_forms(
    batch: RadialPlan,
    samples: BlockSamples,
    blocks: list[slice],
    products: _PairProducts,
) -> Array:
    """Return the result of `_batch_forms`, computed in single precision."""
    forms, layout = np.zeros(batch.kernels.size), batch.layout
    rows = slice(blocks[0].start, blocks[-1].stop)
    compiled("multikernel.gram.compute.loops", "add_single_forms")(
        samples.row_features,
        layout,
        (batch.exponents / math.log(2.0)).astype(np.float32),
        rows.start,
        products.block(rows),
        forms,
    )
    return forms


def _batch_forms(
    batch: RadialPlan,
    samples: BlockSamples,
    blocks: list[slice],
    products: _PairProducts,
) -> Array:
    """Return the parts of v^T K_m v from the rows in `blocks`, (n_kernels,)."""
    n_kernels = batch.kernels.size
    max_pairs = max(_n_pairs(rows.stop) - _n_pairs(rows.start) for rows in blocks)
    buffer = np.empty(n_kernels * max_pairs)
    forms = np.zeros(n_kernels)
    for rows in blocks:
        stops = np.arange(rows.start, rows.stop) + 1
        n_pairs = int(stops.sum())
        values = buffer[: n_kernels * n_pairs]
        offsets = np.arange(n_kernels) * n_pairs
        write_exponents(batch, samples, rows, stops, offsets, values)
        np.exp(values, out=values)
        forms += values.reshape(n_kernels, n_pairs) @ products.block(rows)
    return forms


def _row_runs(rows: slice, n_entries: int) -> list[slice]:
    """Cut rows of a lower triangle into runs of about `n_entries`, or of one row."""
    n_before = _n_pairs(np.arange(rows.start, rows.stop + 1)) - _n_pairs(rows.start)
    starts = np.flatnonzero(np.diff(n_before[1:] // n_entries, prepend=-1))
    row_bounds = [*(rows.start + starts).tolist(), rows.stop]
    return [slice(start, stop) for start, stop in pairwise(row_bounds)]


Count = TypeVar("Count", int, Indices)


def _n_pairs(n_rows: Count) -> Count:
    """Return the number of entries in the first `n_rows` rows of a lower triangle."""
    return n_rows * (n_rows + 1) // 2
