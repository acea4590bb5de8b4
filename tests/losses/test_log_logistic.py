"""The loss of times to an event: conformance, long double, extremes, bad tables."""

import numpy as np
import pytest

from multikernel.losses import LogLogisticLoss
from multikernel.testing import check_loss


def table(n, random, spread=1.0):
    """Return intervals of all four kinds in turn."""
    middle = random.normal(3.0, spread, n)
    lower, upper, kind = middle.copy(), middle.copy(), np.arange(n) % 4
    upper[kind == 1] = np.inf
    lower[kind == 2] = -np.inf
    upper[kind == 3] += 10.0 ** random.uniform(-4.0, 2.0, np.sum(kind == 3))
    return lower, upper


@pytest.mark.parametrize("scale", [0.2, 1.0, 3.0])
def test_conformance(scale):
    loss = LogLogisticLoss(*table(24, np.random.default_rng(0)), scale)
    check_loss(loss, np.arange(24.0))


def test_conjugate_is_that_of_long_double():
    # By its definition, at decision values whose slopes are the ones asked for.
    random = np.random.default_rng(1)
    lower, upper = table(400, random)
    loss, y = LogLogisticLoss(lower, upper, 0.7), np.arange(400.0)
    f = random.normal(3.0, 6.0, 400)
    a, b, g, s = (np.asarray(v, np.longdouble) for v in (lower, upper, f, loss.scale))
    early, late = np.exp((a - g) / s), np.exp((g - b) / s)
    slope = (late / (1 + late) - early / (1 + early)) / s
    exact = g * slope - np.log1p(early) - np.log1p(late)
    # The slope is rounded: its error times f is what conjugates can differ by.
    rounded = slope.astype(np.float64)
    error = np.abs(loss.conjugate(y, rounded) - exact - g * (rounded - slope))
    assert np.max(error / (1.0 + np.abs(exact))) < 1e-14
    assert np.allclose(loss.gradient(y, f), rounded, rtol=1e-12, atol=1e-15)


def test_conjugates_at_the_ends_of_their_domains():
    lower, upper = np.log([2.0, 2.0, 1e-9, 2.0]), np.log([2.0, 1.0, 3.0, 5.0])
    lower[2], upper[1] = -np.inf, np.inf
    loss, y = LogLogisticLoss(lower, upper, 0.5), np.arange(4.0)
    least, most = loss.dual_bounds(y)
    assert np.allclose(loss.conjugate(y, least)[[0, 1, 3]], -2.0 * lower[[0, 1, 3]])
    assert np.allclose(loss.conjugate(y, most)[[0, 2, 3]], 2.0 * upper[[0, 2, 3]])
    assert np.array_equal(loss.conjugate(y, np.zeros(4))[[1, 2]], [0.0, 0.0])


def test_wide_and_narrow_intervals_are_finite():
    lower = np.array([0.0, 0.0, -5000.0])
    loss = LogLogisticLoss(lower, np.array([1e-12, 1e6, 5000.0]), 0.5)
    y = np.arange(3.0)
    event = LogLogisticLoss(np.zeros(3), np.zeros(3), 0.5)
    with np.errstate(over="raise", invalid="raise"):
        for u in (-1.99, -1e-9, 0.0, 1e-300, 1.5):
            slopes = np.full(3, u)
            assert np.isfinite(loss.conjugate(y, slopes)).all()
            assert np.isfinite(loss.conjugate_gradient(y, slopes)).all()
            near = loss.conjugate(y, slopes)[0]
            assert near == pytest.approx(event.conjugate(y, slopes)[0], abs=1e-11)


@pytest.mark.parametrize(
    ("lower", "upper", "scale", "sentence"),
    [
        ([0.0], [0.0], 0.0, "scale must be positive"),
        ([1.0], [0.0], 1.0, "interval 0 .* is"),
        ([-np.inf], [np.inf], 1.0, "at least one finite bound"),
    ],
)
def test_wrong_tables_get_a_sentence(lower, upper, scale, sentence):
    with pytest.raises(ValueError, match=sentence):
        LogLogisticLoss(np.array(lower), np.array(upper), scale)


@pytest.mark.parametrize("scale", [0.025052, 0.0127, 0.83, 1.0971663891026557, 49.0])
def test_the_conjugate_is_steep_at_the_ends_of_its_domain(scale):
    """Where a scale times its inverse is not one, it passed for one that is not."""
    loss = LogLogisticLoss(*table(24, np.random.default_rng(0)), scale)
    y = np.arange(24.0)
    for end in loss.dual_bounds(y):
        with np.errstate(divide="ignore"):
            assert np.isinf(loss.conjugate_gradient(y, end)).all()
            assert np.isposinf(loss.conjugate_hessian(y, end)).all()
