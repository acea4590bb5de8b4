"""All that is asked of given Gram matrices before a fit, in one reading."""

from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel.gram.dense import DenseStack
from multikernel.linalg.threads import run_blocks

KERNELS_PER_TASK = 16


@dataclass(frozen=True, eq=False)
class Census:
    """Sums over the entries of every matrix.

    Parameters
    ----------
    asymmetry : ndarray of shape (n_kernels,)
        u^T K v - v^T K u for two vectors of random signs: about the Frobenius norm of
        K - K^T, so that a single pair of entries that differ is found. Not finite
        where an entry is not.
    forms : ndarray of shape (n_kernels,)
        Quadratic forms of the weights.
    """

    asymmetry: Array
    forms: Array


def take_census(
    stack: DenseStack, weights: Array, random: np.random.RandomState
) -> Census:
    """Read every matrix once, on all threads; the stack knows its diagonals then.

    Parameters
    ----------
    stack : DenseStack
        Square matrices.
    weights : ndarray of shape (n_samples,)
        The vector of `Census.forms`.
    random : RandomState
        Draws the signs.

    Returns
    -------
    census : Census
    """
    from multikernel.gram.part_loops import add_census

    signs = random.choice([-1.0, 1.0], size=(2, stack.shape[1]))
    vectors = np.vstack([signs, weights])
    sums, diagonals = np.zeros((stack.shape[0], 3)), np.empty(stack.shape[:2])

    def work(start: int) -> None:
        chosen = slice(start, start + KERNELS_PER_TASK)
        add_census(stack.array[chosen], vectors, sums[chosen], diagonals[chosen])

    run_blocks(work, range(0, stack.shape[0], KERNELS_PER_TASK))
    stack.know_diagonals(diagonals)
    # What is too large for sums is not finite here, and is named by its readers.
    with np.errstate(over="ignore", invalid="ignore"):
        return Census(sums[:, 0] - sums[:, 1], sums[:, 2])
