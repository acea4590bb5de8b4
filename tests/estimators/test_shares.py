"""Block norms and shares of the variance, which every fit publishes."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.preprocessing import StandardScaler

from multikernel.estimators import (
    FixedWeightsMKLRegressor,
    GroupOMPClassifier,
    GroupOMPRegressor,
    HKLRegressor,
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    stack_grams,
    variance_shares,
)
from multikernel.exceptions import DictionaryWarning
from multikernel.kernels import GaussianKernel, LinearKernel

FLOWERS, SPECIES = load_iris(return_X_y=True)
X, Y = (array[:90] for array in load_diabetes(return_X_y=True))
X, Y = StandardScaler().fit_transform(X), (Y - Y.mean()) / Y.std()


def by_definition(terms, weights):
    """Return Cov(f_m, f) / Var(f), one number at a time."""
    f = terms.sum(axis=-1)
    cov = np.cov(np.column_stack([f, terms]).T, aweights=weights, ddof=0)
    return cov[0, 1:] / cov[0, 0]


@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLRegressor(alpha=0.05),
        SpicyMKLRegressor(alpha=0.05, storage="lazy"),
        SpicyMKLRegressor(alpha=0.05, storage="low_rank"),
        GroupOMPRegressor(max_kernels=4),
        LpMKLRegressor(p=1.5),
        FixedWeightsMKLRegressor(),
        HKLRegressor(alpha=0.05),
    ],
    ids=lambda model: type(model).__name__,
)
def test_shares_are_those_of_the_contributions(model):
    weights = np.random.default_rng(0).integers(0, 3, 90).astype(float)
    model.fit(X, Y, sample_weight=weights)
    shares = model.variance_shares_
    expected = by_definition(model.contributions(X), weights)
    assert model.active_kernels_.size > 1
    np.testing.assert_allclose(shares[model.active_kernels_], expected, atol=1e-10)
    assert np.count_nonzero(shares) <= model.active_kernels_.size
    assert shares.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLClassifier(alpha=0.02),
        SpicyMKLClassifierCV(n_alphas=3, cv=2),
        GroupOMPClassifier(max_kernels=4),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_every_class_has_its_own(model):
    model.fit(FLOWERS, SPECIES)
    terms = model.contributions(FLOWERS)
    assert model.variance_shares_.shape == model.block_norms_.shape
    for k in range(3):
        np.testing.assert_allclose(
            model.variance_shares_[k, model.active_kernels_],
            by_definition(terms[:, k], None),
            atol=1e-10,
        )
    np.testing.assert_allclose(
        variance_shares(terms), model.variance_shares_[:, model.active_kernels_]
    )


def test_prefixes_of_a_greedy_model_have_those_of_their_own_terms():
    model = GroupOMPRegressor(max_kernels=5, tol=1e-3).fit(X, Y)
    part = model.prefix(3)
    expected = by_definition(part.contributions(X), None)
    np.testing.assert_allclose(
        part.variance_shares_[part.active_kernels_], expected, atol=1e-10
    )
    nothing = model.prefix(0)
    assert not nothing.variance_shares_.any()
    assert not nothing.block_norms_.any()


def test_block_norms_are_those_of_the_normalized_kernels():
    kernels = [GaussianKernel(2.0), LinearKernel()]
    grams = stack_grams([kernel(X) for kernel in kernels])
    for model in (SpicyMKLRegressor("precomputed", alpha=0.05, normalize=None),):
        model.fit(grams, Y)
        # f_m is K_m a, and its squared norm a^T K_m a = f_m^T K_m^+ f_m.
        f = model.contributions(grams)
        for place, m in enumerate(model.active_kernels_):
            squared = f[:, place] @ np.linalg.pinv(grams[..., m], 1e-12) @ f[:, place]
            assert model.block_norms_[m] == pytest.approx(np.sqrt(squared), rel=1e-5)


def test_a_model_without_kernels_has_no_shares():
    model = SpicyMKLRegressor(alpha=1e3)
    with pytest.warns(DictionaryWarning, match="no active kernel"):
        model.fit(X, Y)
    assert not model.variance_shares_.any()
    assert variance_shares(np.ones((4, 2))).tolist() == [0.0, 0.0]


def test_shares_of_two_independent_terms_are_their_variances():
    terms = [[0.0, 1.0], [3.0, 1.0], [0.0, 2.0], [3.0, 2.0]]
    np.testing.assert_allclose(variance_shares(terms), [0.9, 0.1])
