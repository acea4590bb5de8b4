"""Blocks of Gaussian kernels from their plan and the samples."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.lazy.plan import BatchLayout, RadialPlan
from multikernel.linalg.interrupts import compiled

BLOCK_NUMBERS = 2**17
"""Numbers of a block, one megabyte."""

BATCH = 32
"""Gaussian kernels that are computed together."""


@dataclass(frozen=True, eq=False)
class Samples:
    """The samples of a block's rows and columns.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Samples of the rows.
    cols : ndarray of shape (n_cols, n_features)
        Samples of the columns; the same object where the matrices are symmetric.
    row_features : ndarray of shape (n_features, n_rows)
        The same, one feature after the other.
    col_features : ndarray of shape (n_features, n_cols)
        The same, one feature after the other.
    row_numbers, col_numbers : ndarray of int
        Which samples these are: a pair of equal numbers is one sample with itself.
    """

    rows: Array
    cols: Array
    row_features: Array
    col_features: Array
    row_numbers: Indices
    col_numbers: Indices

    @property
    def symmetric(self) -> bool:
        """Return whether rows and columns are the same samples."""
        return self.rows is self.cols

    @property
    def others(self) -> Array | None:
        """Return the samples of the columns, None where they are those of the rows."""
        return None if self.symmetric else self.cols

    def restrict(self, rows: Indices, cols: Indices) -> "Samples":
        """Return the chosen samples, by their places among rows and columns."""
        chosen = make_samples(self.rows[rows])
        row_numbers = self.row_numbers[rows]
        if self.symmetric and np.array_equal(rows, cols):
            return replace(chosen, row_numbers=row_numbers, col_numbers=row_numbers)
        others = self.cols[cols]
        return Samples(
            chosen.rows,
            others,
            chosen.row_features,
            np.ascontiguousarray(others.T),
            row_numbers,
            self.col_numbers[cols],
        )


def make_samples(X: Array) -> Samples:
    """Return samples, the same in rows and columns, in both layouts."""
    features, numbers = np.ascontiguousarray(X.T), np.arange(X.shape[0])
    return Samples(X, X, features, features, numbers, numbers)


@dataclass(frozen=True, eq=False)
class RadialBatch:
    """A few Gaussian kernels on some samples, ready to be computed row by row.

    Parameters
    ----------
    plan : RadialPlan
        The kernels, at least one.
    samples : Samples
        The samples.
    """

    plan: RadialPlan
    samples: Samples

    @cached_property
    def layout(self) -> BatchLayout:
        """Return the column sets of the kernels."""
        return self.plan.layout()

    def exponents(
        self, rows: slice, stops: Indices, offsets: Indices, out: Array
    ) -> None:
        """Write the exponents of some rows of every kernel.

        The caller takes their exponential, in as few calls as its layout allows.

        Parameters
        ----------
        rows : slice
            Which rows.
        stops : ndarray of shape (n_chosen_rows,)
            How many columns, from the first, each row gets.
        offsets : ndarray of shape (n_batch,)
            Where each kernel's values start in `out`; they lie row after row.
        out : ndarray of shape (n_values,)
            Overwritten there.
        """
        layout = self.layout
        compiled("multikernel.gram.lazy.loops", "fill_exponents")(
            self.samples.row_features,
            self.samples.col_features,
            layout.used,
            layout.set_starts,
            layout.members,
            layout.kernel_starts,
            self.plan.exponents,
            rows.start,
            stops,
            offsets,
            out,
        )


def row_blocks(n_rows: int, n_cols: int, n_kernels: int) -> Iterator[slice]:
    """Cut rows into blocks that stay in a core's cache for all kernels of a batch."""
    step = max(1, BLOCK_NUMBERS // (n_kernels * max(1, n_cols)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
