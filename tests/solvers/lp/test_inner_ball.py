"""Balls inside the p-ball: what they answer with, and how much that is."""

import numpy as np
import pytest

from multikernel.regularizers import SquaredBlockNorm
from multikernel.regularizers.squared_block_norm import p_norm
from multikernel.solvers.lp.inner_ball import InnerBall


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0, np.inf])
@pytest.mark.parametrize("excess", [0.0, 1e-6, 0.3])
def test_support_is_what_the_response_gives(p, excess):
    rng = np.random.default_rng(0)
    center = rng.uniform(1e-6, 1.0, 8) ** 3
    center /= p_norm(center, p)
    ball = InnerBall(SquaredBlockNorm(1.0, p), center, max(p, 1.0 + excess))
    support = ball.support()
    for forms in (rng.uniform(size=8), np.arange(8.0), 1e-200 * np.ones(8)):
        expected = ball.respond(forms) @ forms
        # The response divides logarithms, rounded, by P - 1.
        np.testing.assert_allclose(support(forms), expected, rtol=1e-6)
    assert support(np.zeros(8)) == 0.0
