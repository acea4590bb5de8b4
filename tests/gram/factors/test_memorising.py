"""Questions about kernels in blocks fetch a few rows of factors, and no columns."""

import numpy as np

from multikernel.gram.checks import kernel_shapes
from multikernel.gram.factors.blocked_build import build_blocked
from multikernel.gram.factors.engine import InProcess, RowBlocks, SampledRows
from multikernel.gram.factors.factorise import build_low_rank
from multikernel.kernels import ColumnKernel, GaussianKernel, ListDictionary


class Counting(InProcess):
    """Counts the numbers that come back."""

    numbers = 0

    def gather(self, handles):
        for handle in handles:
            Counting.numbers += np.size(handle) if isinstance(handle, np.ndarray) else 0
        return super().gather(handles)


def test_shapes_are_those_in_memory():
    X = np.random.default_rng(0).standard_normal((4000, 2))
    kernels = ListDictionary(
        [ColumnKernel(GaussianKernel(width), 0) for width in (0.3, 1.0, 30.0)]
    )
    ends = np.array([0, 1500, 4000])
    blocks = RowBlocks(Counting(), (X[:1500], X[1500:]), ends)
    built = build_blocked(kernels, SampledRows(blocks, X[::4]))
    before = Counting.numbers
    found = kernel_shapes(built.stack)
    assert Counting.numbers - before <= 2000 * built.stack.ranks.sum()
    expected = kernel_shapes(build_low_rank(kernels, X).stack)
    np.testing.assert_allclose(found[0], expected[0], rtol=0.15)
    np.testing.assert_allclose(found[1], expected[1], rtol=0.15)
