"""The product of a symmetric matrix with a vector, from one triangle."""

import numpy as np
import pytest

from multikernel.linalg.loops import write_symmetric_product


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 63, 101])
def test_it_is_the_product_with_the_whole_matrix(n):
    rng = np.random.default_rng(n)
    B, v = rng.standard_normal((n, n)), rng.standard_normal(n)
    matrix, out = B + B.T, np.full(n, np.nan)
    lower = np.where(np.tri(n, dtype=bool), matrix, np.nan)
    write_symmetric_product(lower, v, out)
    np.testing.assert_allclose(out, matrix @ v, rtol=1e-12, atol=1e-12)
