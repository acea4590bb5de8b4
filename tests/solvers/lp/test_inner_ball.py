"""Balls inside the p-ball: what they answer with, and how much that is."""

import numpy as np
import pytest

from multikernel.certificates import Expansion
from multikernel.regularizers import SquaredBlockNorm
from multikernel.solvers.lp.inner_ball import InnerBall


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0, np.inf])
@pytest.mark.parametrize("excess", [0.0, 1e-6, 0.3])
def test_support_is_what_the_response_gives(p, excess):
    rng = np.random.default_rng(0)
    center = rng.uniform(1e-6, 1.0, 8) ** 3
    center /= np.linalg.norm(center, p)
    ball = InnerBall(SquaredBlockNorm(1.0, p), center, max(p, 1.0 + excess))
    support = ball.support()
    for forms in (rng.uniform(size=8), np.arange(8.0), 1e-200 * np.ones(8)):
        expected = ball.respond(forms) @ forms
        # The response divides logarithms, rounded, by P - 1.
        np.testing.assert_allclose(support(forms), expected, rtol=1e-6)
    assert support(np.zeros(8)) == 0.0


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("excess", [0.0, 1e-6])
def test_a_single_kernel_is_followed_to_itself(excess):
    """At a corner no step in rho moves the weights, by however little P is above 1."""
    rho = np.ones(3)
    ball = InnerBall(SquaredBlockNorm(1.0, 1.0), np.full(2, 0.5), 1.0 + excess)
    old = Expansion(rho, np.array([[1e-60] * 3, [0.0] * 3]), np.array([3e-60, 0.0]))
    weights = ball.respond(old.forms)
    for step in (0.0, 0.5):
        new = Expansion(rho + step, old.images, old.forms)
        np.testing.assert_array_equal(ball.follow(old, new, weights), weights)
