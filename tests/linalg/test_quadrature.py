"""Quadrature bounds: they bracket the form, tighten, and meet it."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from multikernel.linalg.quadrature import start_bounds

EPS = np.finfo(float).eps


def exact_forms(matrices, vectors, shifts):
    """Return v^T K (K + c I)^{-1} v by eigenvalues, and bounds on their rounding."""
    forms = np.empty((len(matrices), len(vectors)))
    for m, K in enumerate(matrices):
        values, basis = np.linalg.eigh(K)
        values = np.maximum(values, 0.0)
        weights = values / (values + shifts[:, None])
        forms[m] = np.sum((vectors @ basis) ** 2 * weights, axis=1)
    return forms


def psd(rng, n, spread):
    """Return a matrix whose eigenvalues fall by `spread` decades, some of them 0."""
    basis = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = np.logspace(0.0, -spread, n) * rng.integers(0, 2, n)
    return (basis * values) @ basis.T


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 12),
    spread=st.floats(0.0, 12.0),
    shift=st.floats(-5.0, 3.0),
    bound=st.floats(1.0, 1e3),
)
def test_the_bounds_bracket_at_every_step(seed, n, spread, shift, bound):
    rng = np.random.default_rng(seed)
    matrices = [psd(rng, n, spread) for _ in range(2)] + [np.zeros((n, n))]
    vectors = rng.standard_normal((3, n)) * np.array([1.0, 1e-3, 0.0])[:, None]
    shifts = 10.0**shift * np.array([1.0, 3.0, 10.0])
    exact = exact_forms(matrices, vectors, shifts)
    tops = bound * np.array([np.trace(K) for K in matrices])
    bounds = start_bounds(vectors, shifts, tops)
    sizes = np.sum(vectors**2, axis=1)
    slack = 50.0 * EPS * (1.0 + tops[:, None] / shifts) * sizes
    for _ in range(n + 2):
        assert np.all(bounds.lower <= exact + slack)
        assert np.all(bounds.upper >= exact - slack)
        bounds.advance(
            np.stack([b @ K for b, K in zip(bounds.basis, matrices, strict=True)])
        )


@pytest.mark.parametrize("shift", [1e-3, 1.0, 1e3])
def test_the_bounds_meet(shift):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    v = rng.standard_normal((1, 40))
    shifts = np.array([shift])
    bounds = start_bounds(v, shifts, np.array([40.0]))
    widths = []
    for _ in range(80):
        bounds.advance(bounds.basis @ K)
        widths.append((bounds.upper - bounds.lower)[0, 0])
    exact = exact_forms([K], v, shifts)[0, 0]
    assert widths[-1] <= 1e-9 * exact
    assert widths[3] < 0.9 * widths[0]
    np.testing.assert_allclose(bounds.lower, exact, rtol=1e-9)


def test_a_form_that_is_small_beside_the_shift_keeps_its_digits():
    K, v = np.diag([3.0, 1.0, 0.5]), np.array([[1.0, 1.0, 2.0]])
    bounds = start_bounds(v, np.array([1e9]), np.array([4.5]))
    for _ in range(3):
        bounds.advance(bounds.basis @ K)
    exact = exact_forms([K], v, np.array([1e9]))
    np.testing.assert_allclose(bounds.lower, exact, rtol=1e-13)
    np.testing.assert_allclose(bounds.upper, exact, rtol=1e-13)


def test_keep_leaves_the_others_as_they_are():
    rng = np.random.default_rng(3)
    matrices = np.stack([psd(rng, 6, 2.0) for _ in range(3)])
    vectors, shifts = rng.standard_normal((2, 6)), np.array([0.1, 0.2])
    all_bounds = start_bounds(vectors, shifts, np.full(3, 6.0))
    all_bounds.advance(all_bounds.basis @ matrices)
    some = all_bounds.keep(np.array([True, False, True]))
    all_bounds.advance(all_bounds.basis @ matrices)
    some.advance(some.basis @ matrices[[0, 2]])
    np.testing.assert_allclose(some.lower, all_bounds.lower[[0, 2]])
    np.testing.assert_allclose(some.upper, all_bounds.upper[[0, 2]])


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_shifts_below_the_rounding_of_matrices_leave_bounds_that_are_numbers():
    """A kernel that rounding to single precision makes indefinite, and its shift."""
    x = np.linspace(-1.0, 1.0, 30)
    K = np.exp(-((x[:, None] - x) ** 2) / 1e3).astype(np.float32).astype(float)
    v = np.linalg.eigh(K)[1][:, :2].T @ np.diag(np.sin(9.0 * x))
    bounds = start_bounds(v, np.full(2, 1e-11), np.array([30.0]))
    for _ in range(6):
        bounds.advance(bounds.basis @ K)
        assert np.isfinite(bounds.lower).all()
        assert np.isfinite(bounds.upper).all()
