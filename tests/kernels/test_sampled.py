"""Kernels of few features by design, and certificates for them."""

import numpy as np
import pytest

from multikernel.estimators import SpicyMKLClassifier, SpicyMKLRegressorCV
from multikernel.gram import build_stack
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
    NystroemKernel,
    RandomFourierFeatures,
    median_dictionary,
)
from multikernel.persistence import load, save

RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((90, 4)), RNG.standard_normal((15, 4))
Y = np.sign(X[:, 0] ** 2 - 1.0 + X[:, 1])


def test_nystroem_interpolates_its_landmarks():
    gaussian = GaussianKernel(1.5)
    kernel = NystroemKernel(gaussian, n_components=20).learnt(X)
    marks = kernel.landmarks
    assert marks.shape == (20, 4)
    np.testing.assert_allclose(kernel(X, marks), gaussian(X, marks), atol=1e-8)
    left = gaussian(X) - kernel(X)
    assert np.linalg.eigvalsh(left)[0] > -1e-9
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)))
    other = NystroemKernel(gaussian, 20, random_state=1).learnt(X)
    assert not np.array_equal(other.landmarks, marks)


def test_nystroem_needs_landmarks():
    with pytest.raises(ValueError, match=r"nystroem\(gaussian.* has no landmarks yet"):
        NystroemKernel(GaussianKernel(1.0))(X)


def test_fourier_features_stand_for_their_gaussian():
    gaussian = GaussianKernel(2.0)
    kernel = RandomFourierFeatures(gaussian, n_components=40_000)
    np.testing.assert_allclose(kernel(X[:9], NEW), gaussian(X[:9], NEW), atol=0.04)
    few = RandomFourierFeatures(gaussian, n_components=10)
    np.testing.assert_allclose(np.diag(few(X)), few.diag(X))
    assert np.linalg.matrix_rank(few(X)) == 10


@pytest.mark.parametrize(
    "make",
    [
        lambda: NystroemKernel(LinearKernel(), n_components=0),
        lambda: RandomFourierFeatures(GaussianKernel(1.0), n_components=1),
        lambda: RandomFourierFeatures(GaussianKernel(1.0), random_state=-1),
    ],
)
def test_wrong_parameters(make):
    with pytest.raises(ValueError, match="must be"):
        make()


def test_fourier_features_of_another_kernel():
    with pytest.raises(TypeError, match="gaussian must be a GaussianKernel"):
        RandomFourierFeatures(LinearKernel())


def dictionary():
    part = NystroemKernel(GaussianKernel(1.0), 7).learnt(X[:, [0, 2]])
    return ListDictionary(
        [
            NystroemKernel(GaussianKernel(1.0), n_components=12).learnt(X),
            ColumnKernel(part, [0, 2]),
            RandomFourierFeatures(GaussianKernel(2.0), n_components=8),
            LinearKernel(),
        ]
    )


def test_their_features_are_their_factors():
    stack = build_stack(dictionary(), X, normalize="variance", storage="low_rank").stack
    np.testing.assert_array_equal(stack.ranks, [12, 7, 8, 4])
    assert stack.residual is None
    whole = build_stack(dictionary(), X, normalize="variance", storage="dense").stack
    everyone = np.arange(90)
    np.testing.assert_allclose(
        stack.columns(everyone), whole.columns(everyone), atol=1e-9
    )


@pytest.mark.parametrize("storage", ["dense", "lazy", "low_rank"])
def test_estimators_draw_landmarks_and_certify(storage, tmp_path):
    model = SpicyMKLClassifier(dictionary(), alpha=0.02, tol=1e-6, storage=storage)
    model.fit(X, Y)
    assert model.duality_gap_ <= 1e-6
    assert model.kernel_names_[1].startswith("nystroem(gaussian(sigma=1), 7)[")
    expected = SpicyMKLClassifier(dictionary(), alpha=0.02, tol=1e-6).fit(X, Y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-5)
    save(model, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    np.testing.assert_allclose(
        again.decision_function(NEW), model.decision_function(NEW), rtol=1e-12
    )


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_landmarks_are_drawn_once_for_all_folds():
    search = SpicyMKLRegressorCV(dictionary(), n_alphas=4, cv=3).fit(X, X[:, 0])
    assert search.predict(NEW).shape == (15,)


def test_the_default_dictionary_of_many_samples():
    many = RNG.standard_normal((2049, 4))
    for rows, sampled in ((many, True), (many[:2048], False), (many[:, :3], False)):
        model = SpicyMKLClassifier(alpha=0.2).fit(rows, rows[:, 0] > 0.0)
        names = [name for name in model.kernel_names_ if " × " not in name]
        assert any(name.startswith("nystroem") for name in names) == sampled
        assert len(names) == len(median_dictionary(rows))
