"""Screening: upper bounds on dual norms, exact above the level, at few passes."""

import numpy as np
import pytest

from multikernel.gram import DenseStack
from multikernel.gram.metered import Meter, MeteredStack
from multikernel.solvers.spicy.screening import DualNorms
from multikernel.solvers.spicy.settings import SETTINGS

MOST = SETTINGS.most

M, N = 60, 80


def make_stack():
    Z = np.random.default_rng(0).normal(size=(M, N, 4))
    K = Z @ Z.transpose(0, 2, 1)
    stack = DenseStack(N * K / np.einsum("mii->m", K)[:, None, None])
    return MeteredStack(stack, Meter(M * N * N))


def check(bounds, stack, rho, level):
    exact = np.sqrt(stack.quadratic_forms(rho))
    assert np.all(bounds >= exact * (1.0 - 1e-9))
    above = bounds > level
    np.testing.assert_array_equal(above, exact > level)
    np.testing.assert_allclose(bounds[above], exact[above], rtol=1e-9)


def levels(stack, rho):
    """Return levels that few kernels exceed."""
    return float(np.quantile(np.sqrt(stack.quadratic_forms(rho)), 0.95))


def test_changes_in_few_samples_cost_their_share_of_a_pass():
    rng, stack = np.random.default_rng(1), make_stack()
    norms = DualNorms(stack)
    rho = rng.normal(size=N)
    for step in range(4 * MOST):
        level = levels(stack, rho)
        before = stack.meter.passes
        bounds = norms(rho, level)
        if step:
            assert stack.meter.passes - before <= 4 / N + 0.1
        check(bounds, stack, rho, level)
        rho = rho.copy()
        rho[rng.choice(N, 4, replace=False)] += rng.normal(size=4)


def test_changes_in_all_samples_are_bounded_too():
    rng, stack = np.random.default_rng(2), make_stack()
    norms = DualNorms(stack)
    for _ in range(2 * MOST):
        rho = rng.normal(size=N)
        level = levels(stack, rho)
        check(norms(rho, level), stack, rho, level)


@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_what_is_in_the_span_costs_no_pass(scale):
    rng, stack = np.random.default_rng(3), make_stack()
    norms = DualNorms(stack)
    rho = rng.normal(size=N)
    level = levels(stack, rho)
    norms(rho, level)
    before = stack.meter.passes
    bounds = norms(scale * rho, scale * level)
    assert stack.meter.passes - before <= 0.1
    check(bounds, stack, scale * rho, scale * level)


def test_rounding_does_not_build_up_while_vectors_come_and_go():
    rng, stack = np.random.default_rng(4), make_stack()
    norms = DualNorms(stack)
    rho = rng.normal(size=N)
    for _ in range(20 * MOST):
        rho = rho.copy()
        rho[rng.choice(N, 4, replace=False)] = rng.normal(size=4)
        norms(rho, levels(stack, rho))
    span = norms._span
    exact = stack.quadratic_forms(norms._last)
    np.testing.assert_allclose(span.bounds(norms._last), exact, rtol=1e-9)
