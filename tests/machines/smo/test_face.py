"""Newton steps on the free samples."""

import warnings

import numpy as np

from multikernel.machines.smo.state import (
    LEFT,
    LOWER,
    RHO,
    RIGHT,
    UPPER,
    F,
    free_samples,
    minimize_on_face,
    set_slopes,
)


def test_a_step_too_small_to_reach_an_end_says_nothing():
    # The ends are 1e3 away, 1e311 times the step: no number, but no matter either.
    K = 1e307 * np.array([[2.0, 1.0], [1.0, 2.0]])
    v = np.zeros((9, 2))
    v[RHO], v[LOWER], v[UPPER] = 1.0, 0.0, 1e3
    v[RIGHT] = v[LEFT] = -0.5, -0.25
    v[F] = 0.4
    set_slopes(v)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert minimize_on_face(v, free_samples(v), K, paired=False) == 1
    assert np.allclose(v[RHO], 1.0)
    assert np.array_equal(v[F], [0.4, 0.4])  # what rho has, which did not change
