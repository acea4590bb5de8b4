"""Quadratic forms in single precision: off by no more than they say, and by as much."""

import numpy as np
import pytest

from multikernel.gram import ScaledStack, lazy_stack
from multikernel.gram.compute.loops import power_of_two
from multikernel.gram.metered import Meter, MeteredStack
from multikernel.kernels import (
    GaussianKernel,
    ListDictionary,
    ParameterGrid,
    PolynomialKernel,
    random_subset_gaussians,
)
from multikernel.solvers.spicy.working_set import dual_norms_above


def samples(n, d, offset=0.0):
    return offset + np.random.default_rng(3).normal(size=(n, d))


def test_powers_are_within_four_units():
    x = np.linspace(-126.0, 0.0, 200_001).astype(np.float32)
    found = np.array([power_of_two(each) for each in x], dtype=float)
    exact = np.exp2(x.astype(float))
    assert np.all(np.abs(found - exact) <= 4.0 * 2.0**-24 * exact)
    for far in (-1e30, -np.inf):
        assert power_of_two(np.float32(far)) == np.float32(2.0**-126)


@pytest.mark.parametrize("outputs", [(), (2,)])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_forms_are_off_by_their_errors_at_most(scale, outputs):
    X = samples(60, 12)
    stack = lazy_stack(random_subset_gaussians(1500, 12, random_state=0), X)
    v = scale * np.random.default_rng(0).normal(size=(60, *outputs))
    exact, (forms, errors) = stack.quadratic_forms(v), stack.rough_forms(v)
    assert np.all(np.abs(forms - exact) <= errors)
    assert 0.0 < errors.max() < 1e-5 * np.sum(np.abs(v)) ** 2


def test_errors_that_all_point_the_same_way_are_within_the_bound():
    # All pairs are the same, so that their roundings add up: each kernel is off by
    # its own, and the largest of them is some units of single precision.
    X = np.array([[0.0], [1.0]])[np.arange(200) % 2]
    widths = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    stack = lazy_stack(ListDictionary([GaussianKernel(w) for w in widths]), X)
    v = np.ones(200)
    exact, (forms, errors) = stack.quadratic_forms(v), stack.rough_forms(v)
    off = np.abs(forms - exact)
    assert np.all(off <= errors)
    assert off.max() > 0.5 * 2.0**-24 * v.sum() ** 2


def test_single_precision_sees_samples_that_are_far_from_zero():
    # Differences are taken before anything is rounded.
    dictionary = random_subset_gaussians(50, 6, random_state=0)
    v = np.random.default_rng(1).normal(size=40)
    near, far = (lazy_stack(dictionary, samples(40, 6, c)) for c in (0.0, 1e7))
    forms, errors = far.rough_forms(v)
    assert np.all(np.abs(forms - near.quadratic_forms(v)) <= 2.0 * errors)


@pytest.mark.parametrize("size", [1e-12, 1e20])
def test_what_single_precision_cannot_hold_is_computed_in_double(size):
    kernels = ListDictionary([GaussianKernel(size), GaussianKernel(2 * size)])
    stack = lazy_stack(kernels, size * samples(20, 3))
    v = np.random.default_rng(0).normal(size=20)
    forms, errors = stack.rough_forms(v)
    assert not errors.any()
    np.testing.assert_array_equal(forms, stack.quadratic_forms(v))


def test_kernels_that_are_not_gaussian_have_no_error():
    kernels = ParameterGrid([GaussianKernel(1.0), PolynomialKernel(2)], [0, 1, 2])
    _, errors = lazy_stack(kernels, samples(20, 3)).rough_forms(np.ones(20))
    assert np.count_nonzero(errors) == 3


@pytest.mark.parametrize("share", [0.05, 0.8])
def test_bounds_on_dual_norms_hold_in_single_precision(share):
    # Each bound is a form and its error. Half of the forms themselves are too low, and
    # would prove too much.
    X = samples(30, 10)
    lazy = lazy_stack(random_subset_gaussians(2000, 10, random_state=1), X)
    stack = ScaledStack(lazy, np.linspace(0.5, 2.0, 2000))
    rho = np.random.default_rng(2).normal(size=30)
    exact = np.sqrt(stack.quadratic_forms(rho))
    assert np.any(stack.rough_forms(rho)[0] < exact**2 * (1.0 - 1e-12))
    level = float(np.quantile(exact, 1.0 - share))
    metered = MeteredStack(stack, Meter(2000 * 30 * 30))
    bounds = dual_norms_above(metered, rho, level)
    assert np.all(bounds >= exact * (1.0 - 1e-12))
    np.testing.assert_array_equal(bounds > level, exact > level)
    above = bounds > level
    np.testing.assert_allclose(bounds[above], exact[above], rtol=1e-12)
    assert 1.0 < metered.meter.passes <= 1.01 + share
