"""Regularisers: conformance, properties for any numbers, and their limits."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from multikernel.regularizers import (
    REGULARIZERS,
    BlockElasticNet,
    BlockL1,
    SparseBlockNorm,
    SquaredBlockNorm,
)
from multikernel.regularizers.squared_block_norm import p_norm
from multikernel.testing import check_regularizer

ELASTIC_NETS = [BlockElasticNet(2.0, ratio) for ratio in (0.0, 0.3, 0.999)]

SQUARED_NORMS = [
    SquaredBlockNorm(2.0, p)
    for p in (1.0, 1.0001, 32 / 31, 4 / 3, 2.0, 4.0, 1000.0, np.inf)
]
SPARSE_NORMS = [SparseBlockNorm(2.0, r, p) for r, p in ((0.3, 1.0), (0.9, 4 / 3))]
each_penalty = pytest.mark.parametrize(
    "regularizer",
    [BlockL1(1.5), *ELASTIC_NETS, *SQUARED_NORMS, *SPARSE_NORMS],
    ids=repr,
)

norms_of_any_size = arrays(np.float64, 5, elements=st.floats(0.0, 1e6))


@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=lambda r: r.__name__)
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 30.0])
def test_conformance(regularizer, alpha):
    check_regularizer(regularizer(alpha=alpha))


@pytest.mark.parametrize("regularizer", [*ELASTIC_NETS, *SPARSE_NORMS], ids=repr)
def test_conformance_of_other_ratios(regularizer):
    check_regularizer(regularizer)


@pytest.mark.parametrize("regularizer", SQUARED_NORMS, ids=repr)
@pytest.mark.parametrize("alpha", [1e-3, 30.0])
def test_conformance_of_squared_norms(regularizer, alpha):
    with np.errstate(all="raise"):
        check_regularizer(SquaredBlockNorm(alpha, regularizer.p))


@each_penalty
@given(t=norms_of_any_size, s=norms_of_any_size)
def test_fenchel_young_for_any_norms(regularizer, t, s):
    s = s * regularizer.feasible_scale(s)
    rest = regularizer.value(t) + regularizer.conjugate(s, t) - t @ s
    assert rest >= -1e-12 * (regularizer.value(t) + t @ s)


@pytest.mark.parametrize("regularizer", [BlockL1(1.5), *ELASTIC_NETS], ids=repr)
@given(v=norms_of_any_size, step=st.floats(1e-3, 1e3))
def test_prox_obeys_moreau(regularizer, v, step):
    """s = (v - prox(v)) / step is a subgradient at prox(v): Fenchel-Young is tight."""
    t = regularizer.prox(v, step)
    s = (v - t) / step
    s = s * regularizer.feasible_scale(s)
    # Cancellation in v - t is amplified by 1 / step where the penalty is weak.
    rounding = 1e-15 * v.max() / step * (t.sum() + s.sum()) * 10
    rest = regularizer.value(t) + regularizer.conjugate(s, t) - t @ s
    assert abs(rest) <= 1e-9 * (1.0 + t @ s) + rounding


@pytest.mark.parametrize("regularizer", [BlockL1(1.5), *ELASTIC_NETS], ids=repr)
def test_prox_by_brute_force(regularizer):
    v = np.array([0.1, 1.0, 3.0, 9.0])
    result = minimize(
        lambda t: 0.8 * regularizer.value(t) + 0.5 * np.sum((t - v) ** 2),
        v,
        bounds=[(0.0, None)] * 4,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    np.testing.assert_allclose(regularizer.prox(v, 0.8), result.x, atol=1e-6)


def test_elastic_net_tends_to_the_block_l1_norm():
    norms = np.array([0.0, 1.0, 2.0])
    near, limit = BlockElasticNet(2.0, 1.0 - 1e-9), BlockL1(2.0)
    assert near.value(norms) == pytest.approx(limit.value(norms), rel=1e-8)
    np.testing.assert_allclose(near.prox(norms, 0.4), limit.prox(norms, 0.4), atol=1e-8)


def test_feasible_scale_leaves_no_dual_norm_outside():
    rng = np.random.default_rng(0)
    for _ in range(1000):
        regularizer, s = BlockL1(rng.exponential()), rng.exponential(size=3)
        assert regularizer.conjugate(s * regularizer.feasible_scale(s), s) == 0.0


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("regularizer", [BlockL1, BlockElasticNet])
def test_bad_strengths_are_refused(regularizer, alpha):
    with pytest.raises(ValueError, match="alpha must be positive and finite"):
        regularizer(alpha)


@pytest.mark.parametrize("l1_ratio", [-0.1, 1.0, 1.5, np.nan])
def test_bad_ratios_are_refused(l1_ratio):
    with pytest.raises(ValueError, match="l1_ratio must be at least 0 and below 1"):
        BlockElasticNet(1.0, l1_ratio)


@pytest.mark.parametrize("regularizer", SQUARED_NORMS, ids=repr)
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_kernel_weights_lie_on_the_unit_sphere(regularizer, scale):
    norms = scale * np.array([0.0, 1e-9, 0.3, 1.0, 1.0, 7.0])
    weights = regularizer.kernel_weights(norms)
    assert p_norm(weights, regularizer.p) == pytest.approx(1.0, rel=1e-12)
    assert weights[0] == 0.0
    assert np.all(np.diff(weights) >= 0.0)
    assert not regularizer.kernel_weights(np.zeros(3)).any()


@pytest.mark.parametrize("regularizer", SQUARED_NORMS, ids=repr)
def test_kernel_weights_by_brute_force(regularizer):
    """No weights on the sphere make the quadratic bound smaller."""
    rng = np.random.default_rng(0)
    norms = rng.exponential(size=4)
    best = np.sum(norms**2 / regularizer.kernel_weights(norms))
    for spread in (1e-3, 0.1, 2.0):
        for _ in range(100):
            other = regularizer.kernel_weights(norms)
            other = other * np.exp(spread * rng.normal(size=4))
            other /= p_norm(other, regularizer.p)
            assert np.sum(norms**2 / other) >= best * (1.0 - 1e-12)


@pytest.mark.parametrize("regularizer", SQUARED_NORMS, ids=repr)
def test_responding_weights_are_the_slope_of_the_conjugate(regularizer):
    forms = np.random.default_rng(1).exponential(size=5)
    weights = regularizer.responding_weights(forms)
    conjugate = regularizer.conjugate(np.sqrt(forms), forms)
    assert weights @ forms / (2.0 * regularizer.alpha) == pytest.approx(conjugate)
    assert p_norm(weights, regularizer.p) == pytest.approx(1.0)


@pytest.mark.parametrize("p", [1.0, 4 / 3, 2.0, 7.5, np.inf])
def test_norms_of_few_and_many_numbers(p):
    for x in (np.zeros(3), np.empty(0), np.random.default_rng(2).exponential(size=999)):
        assert p_norm(x[::2], p) == pytest.approx(np.linalg.norm([0.0, *x[::2]], p))
    assert np.isnan(p_norm(np.array([0.0, np.nan]), p))
    assert np.isfinite(p_norm(np.array([1e200, 1e200]), p))


def test_squared_norm_ends():
    norms = np.array([3.0, 4.0])
    assert SquaredBlockNorm(2.0, 1.0).value(norms) == pytest.approx(49.0)
    assert SquaredBlockNorm(2.0, np.inf).value(norms) == pytest.approx(25.0)
    assert SquaredBlockNorm(2.0, np.inf).conjugate(norms, norms) == 6.25
    assert SquaredBlockNorm(2.0, 1.0).conjugate(norms, norms) == 4.0


@pytest.mark.parametrize("p", [0.99, -1.0, np.nan])
def test_squared_norm_refuses_p_below_one(p):
    with pytest.raises(ValueError, match="p must be at least 1"):
        SquaredBlockNorm(1.0, p)


@pytest.mark.parametrize("p", [1.0, 1.5, np.inf])
def test_sparse_norms_are_between_their_limits(p):
    rng = np.random.default_rng(0)
    norms, dual_norms = rng.exponential(size=(2, 5))
    limits = [
        (SparseBlockNorm(2.0, 0.0, p), SquaredBlockNorm(2.0, p)),
        (SparseBlockNorm(2.0, 0.3, np.inf), BlockElasticNet(2.0, 0.3)),
    ]
    for penalty, limit in limits:
        assert penalty.value(norms) == pytest.approx(limit.value(norms))
        conjugates = [each.conjugate(dual_norms, norms) for each in (penalty, limit)]
        assert conjugates[0] == pytest.approx(conjugates[1])


@pytest.mark.parametrize("settings", [{"l1_ratio": 1.0}, {"p": 0.5}, {"alpha": 0.0}])
def test_sparse_norms_say_what_is_wrong(settings):
    with pytest.raises(ValueError, match="must be"):
        SparseBlockNorm(**{"alpha": 1.0, **settings})
