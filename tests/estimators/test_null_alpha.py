"""A strength without a search: its level, and what it asks for."""

import numpy as np
import pytest
from sklearn.base import clone

from multikernel import (
    LpMKLClassifier,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    load,
    regularization_path,
    save,
)
from multikernel.estimators import NullAlpha
from multikernel.inspection import kernel_tests
from multikernel.kernels import GaussianKernel, per_column

KERNELS = per_column(GaussianKernel(1.0), 6)

pytestmark = pytest.mark.filterwarnings("ignore:.* has no active kernel")


def sample(seed, n=60):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, 6)), random


@pytest.mark.parametrize("kind", ["regression", "classes", "targets"])
def test_noise_lets_no_kernel_in(kind):
    entered = 0
    for seed in range(80):
        X, random = sample(seed, n=40)
        y = 30.0 + 7.0 * random.normal(size=(40, 2) if kind == "targets" else 40)
        model = SpicyMKLRegressor(KERNELS, alpha="null")
        if kind == "classes":
            model, y = SpicyMKLClassifier(KERNELS, alpha="null"), y > 37.0
        entered += np.size(model.fit(X, y).active_kernels_) > 0
    # Two and a half standard errors above a level of 0.05 in 80 draws.
    assert entered <= 9


def test_it_is_the_strength_of_the_tests_of_association():
    X, random = sample(1)
    y = 1e4 * (X[:, 2] + 0.5 * random.normal(size=60))
    null = NullAlpha(level=0.1, n_permutations=99, random_state=5)
    model = SpicyMKLRegressor(KERNELS, alpha=null, tol=1e-6).fit(X, y)
    tests = kernel_tests(model, X, y, n_permutations=99, random_state=5)
    expected = tests.strengths[89] * y.std()  # the 90th of 99
    assert model.alpha_ == pytest.approx(expected, rel=1e-9)
    assert [model.kernel_names_[m] for m in model.active_kernels_] == [
        "gaussian(sigma=1)[x2]"
    ]
    assert model.alpha is null


def test_copies_of_samples_are_permuted_by_themselves():
    X, random = sample(2, n=40)
    X, y = np.repeat(X, 2, axis=0), random.normal(size=80)
    assert SpicyMKLRegressor(KERNELS, alpha="null").fit(X, y).alpha_ > 0.0


def test_files_and_sentences(tmp_path):
    X, random = sample(3)
    y = X[:, 0] + random.normal(size=60)
    model = SpicyMKLRegressor(KERNELS, alpha=NullAlpha(0.02)).fit(X, y)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert again.alpha == model.alpha
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="use at least 999"):
        NullAlpha(0.001, 199)
    assert NullAlpha(0.001).number_on(2) == NullAlpha(0.001).number_on(10**7) == 999
    assert NullAlpha().number_on(10**7) == 19
    with pytest.raises(ValueError, match=r"smooth loss, .* got a loss that is not"):
        SpicyMKLClassifier(KERNELS, alpha="null", loss="hinge").fit(X, y > 0.0)
    with pytest.raises(ValueError, match="got sample_weight or class_weight"):
        SpicyMKLRegressor(KERNELS, alpha="null").fit(X, y, random.uniform(size=60))
    with pytest.raises(
        ValueError,
        match="one of 'auto', 'null', or a finite number above 0",
    ):
        SpicyMKLRegressor(KERNELS, alpha="noise").fit(X, y)
    assert not hasattr(LpMKLClassifier(), "alpha")


def test_paths_begin_at_a_strength_of_one_all_the_same():
    X, random = sample(4)
    y = X[:, 0] + random.normal(size=60)
    paths = [
        regularization_path(SpicyMKLRegressor(KERNELS, alpha=alpha), X, y, n_alphas=3)
        for alpha in ("null", 1.0)
    ]
    np.testing.assert_allclose(paths[0].path.alphas, paths[1].path.alphas, rtol=1e-12)


def test_corners_of_huber_are_in_the_deviation_of_the_targets():
    X, random = sample(6)
    y = random.normal(size=60)
    alphas = [
        SpicyMKLRegressor(KERNELS, alpha="null", loss="huber").fit(X, unit * y).alpha_
        for unit in (1.0, 1024.0)
    ]
    assert alphas[1] == pytest.approx(1024.0 * alphas[0], rel=1e-6)


def test_a_constant_offset_changes_nothing():
    X, random = sample(3)
    counts = random.poisson(3.0, size=60).astype(float)
    constant = np.full(60, 0.7)
    for model, y in [
        (SpicyMKLRegressor(KERNELS, loss="poisson", alpha="null"), counts),
        (SpicyMKLRegressor(KERNELS, loss="gamma", alpha="null"), counts + 1.0),
        (SpicyMKLRegressor(KERNELS, alpha="null"), counts),
        (SpicyMKLClassifier(KERNELS, alpha="null"), counts > 3.0),
    ]:
        plain = model.fit(X, y).alpha_
        assert model.fit(X, y, offset=constant).alpha_ == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("loss", ["poisson", "squared_error"])
def test_the_strength_is_that_of_noise_beside_the_offset(loss):
    # The offset explains the targets: no kernel may enter.
    entered = 0
    for seed in range(30):
        X, random = sample(seed)
        offset = 2.0 * X[:, 1]
        y = offset + random.normal(size=60)
        if loss == "poisson":
            y = random.poisson(np.exp(offset + 0.5)).astype(float)
        model = SpicyMKLRegressor(KERNELS, loss=loss, alpha="null")
        entered += model.fit(X, y, offset=offset).active_kernels_.size > 0
        # Without the offset its effect counts as noise.
        assert model.alpha_ < 0.9 * clone(model).fit(X, y).alpha_
        if loss == "squared_error":
            same = model.alpha_
            assert same == pytest.approx(model.fit(X, y - offset).alpha_, rel=1e-9)
    assert entered <= 5
