"""Factors in blocks of rows, made of factors in one array."""

from itertools import pairwise

import numpy as np

from multikernel.gram import LowRankStack
from multikernel.gram.factors.blocked import BlockedStack
from multikernel.gram.factors.factor_blocks import FactorBlock
from multikernel.gram.factors.low_rank import Residual
from multikernel.gram.factors.row_blocks import RowBlocks


def both_stacks(Z, offsets, ends, roots=None, kind=np.float64, *, kept=False):
    """Return the same kernels in one array and in blocks that end at some rows.

    The roots are of what the factors leave; blocks may be kept on workers.
    """
    means = None if roots is None else np.full(offsets.size - 1, 1e-3)
    handles = [
        FactorBlock(
            np.asfortranarray(Z[a:b], kind),
            roots[:, a:b] if roots is not None and roots[:, a:b].any() else None,
        )
        for a, b in pairwise(ends)
    ]
    blocks = RowBlocks.from_arrays(handles, np.diff(ends))
    left = None if roots is None else Residual(roots, means)
    whole = LowRankStack(Z, offsets, left)
    blocks = blocks.persist() if kept else blocks
    return whole, BlockedStack(blocks, offsets, whole.traces(), means)
