"""Fits on a device give the same models as fits in memory."""

import numpy as np
import pytest

from multikernel import (
    GroupOMPRegressor,
    LpMKLClassifier,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    estimate_cost,
)
from multikernel.estimators.grams import solving
from multikernel.exceptions import StackTooLargeError
from multikernel.gram import Device, LowRank
from multikernel.gram.device.factors import DeviceMains
from multikernel.kernels import (
    GaussianKernel,
    Interactions,
    LinearKernel,
    interactions,
    per_column,
)
from multikernel.persistence import load, save

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
y = X[:, 0] ** 2 + X[:, 1] + 0.1 * RNG.normal(size=60)
TWO = np.column_stack([y, X[:, 2] - X[:, 3]])
KERNELS = [GaussianKernel(1.0), GaussianKernel(3.0), LinearKernel()]
SPEC = Interactions(per_column(GaussianKernel(1.0), 4))
DEVICE = Device("array_api_strict", "device1")


def values(model):
    return getattr(model, "decision_function", model.predict)(X)


def assert_same(one, other, tol):
    np.testing.assert_allclose(one.kernel_weights_, other.kernel_weights_, atol=tol)
    np.testing.assert_allclose(values(one), values(other), atol=tol)


@pytest.mark.parametrize(
    ("model", "targets"),
    [
        (SpicyMKLRegressor(KERNELS, alpha=0.05), y),
        (SpicyMKLRegressor(KERNELS, alpha=0.05, selection="shared"), TWO),
        (SpicyMKLRegressor(KERNELS, alpha=0.05, normalize=["center", "cosine"]), y),
        (SpicyMKLRegressor(SPEC, alpha=0.05, loss="huber"), y),
        (SpicyMKLClassifier(KERNELS, alpha=0.02), np.digitize(y, [0.5, 1.5])),
        (SpicyMKLClassifierCV(SPEC, n_alphas=4, cv=2, random_state=0), y > 1.0),
        (LpMKLClassifier(KERNELS), y > 1.0),
        (GroupOMPRegressor(KERNELS), y),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_same_model_as_in_memory(model, targets):
    here = model.set_params(storage="dense").fit(X, targets)
    weights, expected = here.kernel_weights_, values(here)
    there = model.set_params(storage=DEVICE).fit(X, targets)
    np.testing.assert_allclose(there.kernel_weights_, weights, atol=1e-9)
    np.testing.assert_allclose(values(there), expected, atol=1e-9)
    assert there.fit_info_["storage"] == "device"


def test_a_machine_with_corners_is_as_near_as_its_gap():
    there = SpicyMKLClassifier(KERNELS, alpha=0.02, loss="hinge", tol=1e-6)
    here = SpicyMKLClassifier(KERNELS, alpha=0.02, loss="hinge", tol=1e-6)
    there.set_params(storage=DEVICE).fit(X, y > 1.0)
    here.set_params(storage="dense").fit(X, y > 1.0)
    assert there.duality_gap_ <= 1e-6
    assert_same(there, here, 1e-3)


@pytest.mark.parametrize("normalize", ["variance", ["cosine", "center"]])
def test_factors_are_those_in_memory(normalize):
    factored = Device("array_api_strict", "device1", factors=True)
    options = {"alphas": [0.3, 0.02, 1e-4], "cv": 2, "normalize": normalize}
    noisy = y + np.random.default_rng(1).normal(size=60) > 1.0
    there, here = (
        SpicyMKLClassifierCV(KERNELS, storage=storage, **options).fit(X, noisy)
        for storage in (factored, LowRank(first=2000))
    )
    assert there.alpha_ == here.alpha_
    assert_same(there, here, 1e-9)


def test_interactions_in_factors():
    factored = Device("array_api_strict", "device1", factors=True)
    there = SpicyMKLRegressor(SPEC, alpha=0.05, tol=1e-6, storage=factored).fit(X, y)
    here = SpicyMKLRegressor(SPEC, alpha=0.05, tol=1e-6, storage="dense").fit(X, y)
    assert there.duality_gap_ <= 1e-6
    assert there.fit_info_["storage_reason"] == "it was asked for, as factors"
    assert_same(there, here, 1e-4)


def test_fits_on_a_short_list_pass_over_all_pairs_there(monkeypatch):
    for module in (solving, interactions):
        monkeypatch.setattr(module, "MANY", 5)
    monkeypatch.setattr(solving, "N_FIRST", 2)
    genotypes = RNG.integers(0, 3, size=(60, 8)).astype(float)
    spec = Interactions(per_column(GaussianKernel(1.0), 8))
    target = (genotypes[:, 2] - 1.0) * (genotypes[:, 5] - 1.0)
    factored = Device("array_api_strict", "device1", factors=True)
    passes = []
    add_forms = DeviceMains.add_forms
    monkeypatch.setattr(
        DeviceMains, "add_forms", lambda *given: passes.append(add_forms(*given))
    )
    there, here = (
        SpicyMKLRegressor(spec, alpha=0.02, tol=1e-6, storage=storage)
        for storage in (factored, "low_rank")
    )
    there.fit(genotypes, target)
    assert passes
    here.fit(genotypes, target)
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=1e-9)
    assert there.duality_gap_ <= 1e-6
    assert list(there.active_kernels_) == list(here.active_kernels_)


@pytest.mark.parametrize("kernels", [KERNELS, SPEC], ids=["whole", "products"])
def test_the_gap_of_single_precision_bounds_the_optimum_over_the_kernels(kernels):
    single = Device("array_api_strict", precision="float32")
    there = SpicyMKLRegressor(kernels, alpha=0.05, tol=1e-6, storage=single).fit(X, y)
    best = SpicyMKLRegressor(kernels, alpha=0.05, tol=1e-12, storage="dense").fit(X, y)
    assert there.duality_gap_ <= 1e-6
    apart = abs(best.objective_ / there.objective_ - 1.0)
    assert apart <= there.duality_gap_
    exact = SpicyMKLRegressor(kernels, alpha=0.05, tol=1e-6, storage=DEVICE).fit(X, y)
    assert there.duality_gap_ > exact.duality_gap_


def test_a_saved_model_needs_no_device(tmp_path, monkeypatch):
    model = SpicyMKLRegressor(KERNELS, alpha=0.05, storage=DEVICE).fit(X, y)
    save(model, tmp_path / "model")
    monkeypatch.setattr("multikernel.gram.device.space.find_spec", lambda name: None)
    read = load(tmp_path / "model")
    assert read.storage == DEVICE
    np.testing.assert_array_equal(read.predict(X), model.predict(X))


def test_the_cost_is_that_of_whole_matrices_there():
    X = RNG.normal(size=(2000, 2))
    kernels = [GaussianKernel(1.0 + m) for m in range(20)]
    double = estimate_cost(SpicyMKLRegressor(kernels, storage="device"), X)
    single = Device(precision="float32")
    single = estimate_cost(SpicyMKLRegressor(kernels, storage=single), X)
    assert double.storage == single.storage == "device"
    assert 1.0 <= double.n_bytes / (8 * 20 * 2000**2) < 1.3
    assert 0.5 < single.n_bytes / double.n_bytes < 0.6
    dense = estimate_cost(SpicyMKLRegressor(kernels, storage="dense"), X)
    assert double.seconds < dense.seconds


def test_a_limit_is_said_by_the_fit():
    model = SpicyMKLRegressor(KERNELS, storage=DEVICE, max_bytes=10_000)
    with pytest.raises(StackTooLargeError, match="storage 'device'"):
        model.fit(X, y)
