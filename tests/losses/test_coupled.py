"""Losses of all classes at once: conjugates, simplices, intercepts, null models."""

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from scipy.optimize import linprog, minimize

from multikernel.certificates import best_intercepts, constant_model, project_dual
from multikernel.gram import DenseStack
from multikernel.losses import COUPLED_LOSSES, is_coupled, weighted
from multikernel.losses.coupled import intercept
from multikernel.losses.coupled.crammer_singer import transport_between_classes
from multikernel.problem import Problem
from multikernel.regularizers import BlockL1

seeds = st.integers(0, 10_000)
names = pytest.mark.parametrize("name", COUPLED_LOSSES)


def draw(seed, n=17, T=4, scale=2.0):
    """Return a generator, one-hot targets with every class, and decision values."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(T), rng.integers(0, T, n - T)])
    return rng, np.eye(T)[labels], scale * rng.normal(size=(n, T))


def literal_value(name, y, f):
    own = np.sum(y * f, axis=1)
    if name == "hinge":
        return np.max((1 - y) + f - own[:, None], axis=1)
    return np.log(np.sum(np.exp(f - own[:, None]), axis=1))


@names
@given(seed=seeds, scale=st.floats(0.01, 20.0))
def test_values_and_slopes_are_those_of_the_formula(name, seed, scale):
    rng, y, f = draw(seed, scale=scale)
    loss = COUPLED_LOSSES[name]()
    np.testing.assert_allclose(
        loss.value(y, f), literal_value(name, y, f), rtol=1e-9, atol=1e-12 * (1 + scale)
    )
    other = f + rng.normal(size=f.shape)
    tangent = loss.value(y, f) + np.sum(loss.gradient(y, f) * (other - f), axis=1)
    assert np.all(tangent <= loss.value(y, other) + 1e-9 * (1 + scale))


@names
@given(seed=seeds)
def test_fenchel_young_with_equality_at_slopes(name, seed):
    rng, y, f = draw(seed)
    loss = COUPLED_LOSSES[name]()
    for own in (loss, weighted(loss, rng.uniform(0.2, 3.0, len(y)))):
        u = own.gradient(y, f)
        slack = own.value(y, f) + own.conjugate(y, u) - np.sum(u * f, axis=1)
        np.testing.assert_allclose(slack, 0.0, atol=1e-11)
        p = rng.dirichlet(np.ones(y.shape[1]), size=len(y))
        u = own.masses(y)[:, None] * (p - y)
        slack = own.value(y, f) + own.conjugate(y, u) - np.sum(u * f, axis=1)
        assert slack.min() >= -1e-11


@names
def test_conjugate_is_infinite_off_the_simplex(name):
    _, y, _ = draw(0)
    loss = COUPLED_LOSSES[name]()
    inside = np.full_like(y, 1.0 / y.shape[1]) - y
    assert np.isfinite(loss.conjugate(y, inside)).all()
    assert np.isinf(loss.conjugate(y, inside + 1e-6)).all()
    assert np.isinf(loss.conjugate(y, 2.0 * (1.0 - y) / (y.shape[1] - 1) - y)).all()


@names
def test_the_conjugate_is_the_supremum(name):
    rng, y, _ = draw(1, n=6, T=3)
    loss = COUPLED_LOSSES[name]()
    for i in range(len(y)):
        row, p = y[i : i + 1], rng.dirichlet(np.full(3, 2.0))
        u = p - row
        if name == "hinge":  # a linear program: f free, the loss from above
            costs = np.append(-u.ravel(), 1.0)
            slopes = np.vstack([np.eye(3)[c] - row.ravel() for c in range(3)])
            found = linprog(
                costs, np.column_stack([slopes, -np.ones(3)]), -(1 - row).ravel(),
                bounds=[(-50, 50)] * 3 + [(None, None)],
            )  # fmt: skip
            best = -found.fun
        else:
            found = minimize(
                lambda f, row=row, u=u: float(
                    loss.value(row, f[None])[0] - np.sum(u * f)
                ),
                np.zeros(3),
                tol=1e-12,
            )
            best = -found.fun
        assert loss.conjugate(row, u)[0] == pytest.approx(best, abs=1e-6)


@settings(max_examples=25)
@given(seed=seeds, scale=st.floats(0.01, 1e4), center=st.booleans())
@example(seed=4474, scale=8099.0, center=True)  # went in circles, far from centered
def test_projection_is_the_nearest_dual_point(seed, scale, center):
    rng, y, f = draw(seed, n=9, T=3, scale=scale)
    weights = rng.uniform(0.2, 3.0, len(y))
    loss = weighted(COUPLED_LOSSES["hinge"](), weights)
    gram = DenseStack(np.eye(len(y))[None])
    problem = Problem(gram, y, loss, BlockL1(1.0), fit_intercept=center)
    rho = project_dual(problem, f)
    p = weights[:, None] * y - rho
    assert p.min() >= -1e-14
    np.testing.assert_allclose(p.sum(axis=1), weights, rtol=1e-12)
    if center:
        assert np.abs(rho.sum(axis=0)).max() <= 1e-12 * max(1.0, np.abs(rho).sum())
    # Of a projection no feasible point lies ahead: <candidate - rho, q - rho> <= 0.
    for _ in range(20):
        q = weights[:, None] * (y - rng.dirichlet(np.full(3, 0.3), size=len(y)))
        other = project_dual(problem, q)
        ahead = np.sum((f - rho) * (other - rho))
        assert ahead <= 1e-9 * (1.0 + scale) * len(y)


@names
@settings(max_examples=30, deadline=None)
@given(seed=seeds, scale=st.sampled_from([0.1, 2.0, 30.0]), weigh=st.booleans())
@example(seed=132, scale=30.0, weigh=False)  # Newton's method from zero went astray
def test_best_intercepts_prove_themselves(name, seed, scale, weigh):
    rng, y, f = draw(seed, scale=scale)
    f = f + y * scale
    loss = COUPLED_LOSSES[name]()
    if weigh:
        loss = weighted(loss, rng.uniform(0.2, 3.0, len(y)))
    b, dual = best_intercepts(loss, y, f)
    assert is_coupled(loss)
    assert np.abs(dual.sum(axis=0)).max() <= 1e-11
    # min over b of sum l(f + b) is the largest -l*(-rho) - <rho, f> over centered rho.
    lower = -loss.conjugate(y, -dual).sum() - np.sum(dual * f)
    value = loss.value(y, f + b).sum()
    assert value - lower <= 1e-8 * (1.0 + abs(value))


def test_an_intercept_whose_linear_program_is_stopped_is_that_before(monkeypatch):
    rng, y, f = draw(3)
    weights = rng.uniform(0.2, 3.0, len(y))
    start = np.zeros(y.shape[1])
    b, _, _ = intercept.improved_intercept(y, f, weights, start, 1.0)
    assert b.any()
    monkeypatch.setattr(intercept, "PIVOTS", 0)
    b, _, done = intercept.improved_intercept(y, f, weights, start, 1.0)
    assert done
    assert not b.any()


@names
@pytest.mark.parametrize("counts", [(5, 5, 5), (9, 2, 3), (7, 4, 3), (1, 2, 30, 4)])
@pytest.mark.parametrize("weigh", [False, True])
def test_null_models_prove_themselves(name, counts, weigh):
    y = np.repeat(np.eye(len(counts)), counts, axis=0)
    loss = COUPLED_LOSSES[name]()
    if weigh:
        rng = np.random.default_rng(0)
        loss = weighted(loss, rng.uniform(0.2, 3.0, len(y)))
    gram = DenseStack(np.eye(len(y))[None])
    model = constant_model(Problem(gram, y, loss, BlockL1(1.0)))
    value = loss.value(y, np.zeros_like(y) + model.intercept).sum()
    assert np.abs(model.dual.sum(axis=0)).max() <= 1e-12
    assert -loss.conjugate(y, -model.dual).sum() == pytest.approx(value, rel=1e-12)
    if name == "hinge" and not weigh:
        n, most = len(y), max(counts)
        assert value == pytest.approx(n if 2 * most <= n else 2 * (n - most))


@given(st.lists(st.floats(0.1, 100.0), min_size=2, max_size=8))
def test_transport_keeps_as_little_as_possible(totals):
    totals = np.array(totals)
    flow = transport_between_classes(totals)
    assert flow.min() >= 0.0
    np.testing.assert_allclose(flow.sum(axis=0), totals, rtol=1e-7)
    np.testing.assert_allclose(flow.sum(axis=1), totals, rtol=1e-7)
    least = max(0.0, 2.0 * totals.max() - totals.sum())
    assert np.trace(flow) == pytest.approx(least, abs=1e-6 * totals.sum())


@names
def test_an_empty_class_has_no_best_constant(name):
    y = np.eye(3)[[0, 1, 0, 1]]
    loss = COUPLED_LOSSES[name]()
    with pytest.raises(ValueError, match=r"Class 2 .* has no sample of positive"):
        loss.constant_model(y)
    with pytest.raises(ValueError, match=r"Class 2 .* has no sample of positive"):
        loss.best_intercept(y, np.zeros_like(y))
