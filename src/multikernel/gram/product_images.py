"""Products of two mains with vectors of their own, and no product written down."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.gram.dense import DenseStack, threads_for
from multikernel.linalg.tables import read_only
from multikernel.linalg.threads import available_threads, compiled, run_blocks

LOOPS = "multikernel.gram.product_loops"

ROWS_BYTES = 2**20
"""Bytes of rows of mains that stay in a core's cache while all products take theirs:
with 30 mains of 400 samples and 5 vectors 2**17 took 2.5 times as long as 2**21."""


def inside_images(
    mains: DenseStack, terms: Indices, samples: Indices, rows: Array
) -> Array:
    """Multiply products on some samples by rows of their own.

    Parameters
    ----------
    mains : DenseStack
        The mains.
    terms : ndarray of shape (n_kernels, 2)
        The two mains of every product; the second is -1 where the first is alone.
    samples : ndarray of shape (n_samples,)
        The samples, by their numbers in the mains.
    rows : ndarray of shape (n_kernels, n_rows, n_samples)
        The rows.

    Returns
    -------
    images : ndarray of shape (n_kernels, n_rows, n_samples)
    """
    images, rows = np.zeros(rows.shape), np.ascontiguousarray(rows)
    array, n_kernels, n_samples = read_only(mains.array), len(terms), samples.size
    add_products = compiled(LOOPS, "add_products")

    def work(part: slice) -> None:
        used, factors = np.unique(terms[part], return_inverse=True)
        # The number -1 comes first, where there is one.
        alone = int(used[0] < 0)
        factors = factors.reshape(-1, 2) - alone
        block = max(1, ROWS_BYTES // (8 * used.size * n_samples))
        each = factors, rows[part], block, images[part]
        add_products(array, used[alone:], samples, *each)

    threads = threads_for(n_kernels * n_samples**2)
    step = -(-n_kernels // (threads or available_threads())) or 1
    run_blocks(work, (slice(i, i + step) for i in range(0, n_kernels, step)), threads)
    return images
