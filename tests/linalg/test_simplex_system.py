"""Quadratic programs within simplices, against their whole systems."""

import numpy as np
from hypothesis import given, strategies as st

from multikernel.linalg.simplex_system import SimplexSystem


def whole_minimum(M, side, sums):
    """Return the minimum with the given sums of columns (None: free), and b."""
    n, T = side.shape
    rows = np.kron(np.eye(n), np.ones((1, T)))
    A, right = rows, np.zeros(n)
    if sums is not None:
        A, right = np.vstack([rows, np.tile(np.eye(T), n)]), np.append(right, sums)
    system = np.block([[M, A.T], [A, np.zeros((len(A), len(A)))]])
    found = np.linalg.lstsq(system, np.append(side.ravel(), right), rcond=None)[0]
    return found[: n * T].reshape(n, T), found[n * T + n :]


@given(seed=st.integers(0, 10**6), centered=st.booleans(), blocks=st.booleans())
def test_minima_are_those_of_the_whole_system(seed, centered, blocks):
    rng, n, T = np.random.default_rng(seed), 7, 3
    softness = 10.0 ** rng.uniform(-2.0, 2.0, (n, T))
    M, members, inverses = np.diag(1.0 / softness.ravel()), [], []
    for c in range(T):
        size = rng.integers(0, n + 1) if blocks else 0
        own = np.sort(rng.choice(n, size, replace=False))
        A = rng.normal(size=(size, size))
        block = A @ A.T + np.eye(size)
        M[np.ix_(own * T + c, own * T + c)] = block
        softness[own, c] = 0.0
        members.append(own)
        inverses.append(np.linalg.inv(block))
    sums = rng.normal(size=T) if centered else None
    sums = None if sums is None else sums - sums.mean()
    side = rng.normal(size=(n, T))
    system = SimplexSystem(softness, members, inverses, centered)
    found, shifts = system.solve(side[None], sums)
    best, b = whole_minimum(M, side, sums)
    np.testing.assert_allclose(found[0], best, atol=1e-8 * np.abs(best).max())
    if centered:
        np.testing.assert_allclose(
            shifts[0] - shifts[0].mean(), b - b.mean(), atol=1e-8 * np.abs(b).max()
        )


def test_rows_that_cannot_move_stay():
    softness = np.array([[0.0, 0.0], [1.0, 2.0]])
    nothing = [np.empty(0, dtype=np.intp)] * 2, [np.zeros((0, 0))] * 2
    system = SimplexSystem(softness, *nothing, centered=False)
    found, _ = system.solve(np.array([[[3.0, 1.0], [3.0, 0.0]]]))
    np.testing.assert_allclose(found, [[[0.0, 0.0], [2.0, -2.0]]])
