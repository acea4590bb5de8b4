"""Theorem 1 of the lp-norm paper: a penalty on the weights is a bound on them.

The Tikhonov form (its eq. 4) is solved by a conic program over weights and functions,
written from the formula; the Ivanov form (eq. 5) by the library.
"""

import warnings
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
from reference.conic import LossTerm, features
from reference.lp_problems import lp_problem
from reference.toys import toy_grams, toy_targets

from multikernel.certificates import decision_values
from multikernel.problem import Status
from multikernel.solvers import InterleavedNewton

GRAMS = toy_grams(n_kernels=4)
each_case = pytest.mark.parametrize(
    ("loss", "p"),
    [("hinge", 1.0), ("hinge", 4 / 3), ("hinge", 3.0), ("squared_error", 2.0)],
)


@dataclass(frozen=True)
class Tikhonov:
    """An optimum of eq. 4."""

    value: float
    theta: np.ndarray
    f: np.ndarray


def tikhonov(loss, p, C, mu):
    r"""Minimize C sum of losses + 1/2 sum |w_m|^2 / theta_m + mu |theta|_p^p."""
    y = toy_targets(loss)
    maps = [features(K) for K in GRAMS]
    w = [cp.Variable(L.shape[1]) for L in maps]
    b, theta = cp.Variable(), cp.Variable(len(GRAMS), nonneg=True)
    z = cp.Variable(len(y))
    link = z == sum(L @ v for L, v in zip(maps, w, strict=True)) + b
    term = LossTerm(loss, y, np.full(len(y), C), 0.1)
    norms = sum(cp.quad_over_lin(v, t) for v, t in zip(w, theta, strict=True))
    penalty = cp.sum(theta) if p == 1.0 else cp.sum(cp.power(theta, p))
    total = term.expression(z) + 0.5 * norms + mu * penalty
    accurate = {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8, "tol_feas": 1e-8}
    with warnings.catch_warnings():
        # Its value divides by weights of zero; ours, below, does not.
        warnings.simplefilter("ignore", RuntimeWarning)
        cp.Problem(cp.Minimize(total), [link]).solve(solver=cp.CLARABEL, **accurate)
    sizes = np.array([v.value @ v.value for v in w])
    weights = np.maximum(theta.value, 0.0)
    used = weights > 1e-9
    assert sizes[~used].max(initial=0.0) < 1e-9  # 0 / 0 is 0
    value = term.value(z.value) + 0.5 * np.sum(sizes[used] / weights[used])
    return Tikhonov(value + mu * np.sum(weights**p), weights, z.value)


def ivanov(loss, p, C):
    """Solve eq. 5 by the library; its objective there is divided by C."""
    problem = lp_problem(loss, p, C, grams=GRAMS)
    solution = InterleavedNewton(tol=1e-9).solve(problem)
    assert solution.status is Status.CONVERGED
    return problem, solution


@each_case
@pytest.mark.parametrize("mu", [0.3, 5.0])
def test_a_tikhonov_optimum_is_an_ivanov_optimum(loss, p, mu):
    C = 2.0
    penalized = tikhonov(loss, p, C, mu)
    size = float(np.sum(penalized.theta**p) ** (1.0 / p))
    problem, bounded = ivanov(loss, p, size * C)
    np.testing.assert_allclose(
        bounded.kernel_weights, penalized.theta / size, atol=2e-4
    )
    f = decision_values(problem, bounded)
    np.testing.assert_allclose(f, penalized.f, atol=2e-4 * np.abs(f).max())
    # Its value, from that of the bound: times C / size, and the penalty of a size.
    value = C * bounded.objective + mu * size**p
    assert value == pytest.approx(penalized.value, rel=1e-6)


@each_case
@pytest.mark.parametrize("C", [0.5, 4.0])
def test_an_ivanov_optimum_is_a_tikhonov_optimum(loss, p, C):
    problem, bounded = ivanov(loss, p, C)
    losses = problem.loss.value(problem.y, decision_values(problem, bounded)).sum()
    half = C * (bounded.objective - losses)  # 1/2 sum |w_m|^2 / theta_m, |theta| = 1
    # Where the slopes of half / s and mu s^p along s theta cancel at s = 1.
    mu = half / p
    penalized = tikhonov(loss, p, C, mu)
    assert C * bounded.objective + mu == pytest.approx(penalized.value, rel=1e-6)
    np.testing.assert_allclose(penalized.theta, bounded.kernel_weights, atol=2e-4)
