"""Questions about kernels in blocks fetch a few rows of factors, and no columns."""

import numpy as np

from multikernel.gram import build_stack
from multikernel.gram.checks import trivial_distances
from multikernel.gram.factors.blocked_build import build_blocked
from multikernel.gram.factors.row_blocks import RowBlocks, SampledRows
from multikernel.kernels import ColumnKernel, GaussianKernel, ListDictionary


def test_shapes_are_those_in_memory(monkeypatch):
    numbers, plain = [0], RowBlocks._computed

    def counting(self, parts):
        results = plain(self, parts)
        numbers[0] += sum(np.size(r) for r in results if isinstance(r, np.ndarray))
        return results

    monkeypatch.setattr(RowBlocks, "_computed", counting)
    X = np.random.default_rng(0).standard_normal((4000, 2))
    kernels = ListDictionary(
        [ColumnKernel(GaussianKernel(width), 0) for width in (0.3, 1.0, 30.0)]
    )
    blocks = RowBlocks.from_arrays([X[:1500], X[1500:]], [1500, 2500])
    built = build_blocked(kernels, SampledRows(blocks, X[::4]))
    before = numbers[0]
    found = trivial_distances(built.stack)
    assert numbers[0] - before <= 2000 * built.stack.ranks.sum()
    expected = trivial_distances(build_stack(kernels, X, storage="low_rank").stack)
    np.testing.assert_allclose(found[0], expected[0], rtol=0.15)
    np.testing.assert_allclose(found[1], expected[1], rtol=0.15)
