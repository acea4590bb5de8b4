"""conv and dc as estimators: attributes, theta = 0, searches, storage."""

import numpy as np
import pytest

from multikernel.estimators import (
    FixedWeightsMKLClassifier,
    GroupOMPRegressor,
    LocalRademacherMKLClassifier,
    LocalRademacherMKLClassifierCV,
    LocalRademacherMKLRegressor,
    LpMKLClassifier,
    SpicyMKLClassifier,
    stack_grams,
)
from multikernel.exceptions import DegenerateKernelWarning
from multikernel.gram import TailNormalizer
from multikernel.kernels import ColumnKernel, GaussianKernel, LinearKernel
from multikernel.persistence import load, save

X = np.random.default_rng(0).standard_normal((70, 3))
Y = np.where(np.abs(X[:, 1]) > 0.7, 1, 0)
THREE = np.digitize(X[:, 1], [-0.5, 0.5])
KERNELS = [ColumnKernel(GaussianKernel(1.0), column) for column in range(3)]
METHODS = pytest.mark.parametrize("method", ["conv", "dc"])


@METHODS
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_no_free_eigenvalues_are_trace_normalized_lp_norm_mkl(method, p):
    settings = {"p": p, "C": 2.0, "tol": 1e-8}
    plain = LpMKLClassifier(KERNELS, normalize="trace", **settings).fit(X, Y)
    ours = LocalRademacherMKLClassifier(KERNELS, theta=0, method=method, **settings)
    ours.fit(X, Y)
    assert ours.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    assert ours.decision_function(X) == pytest.approx(
        plain.decision_function(X), abs=2e-3
    )


def test_conv_is_the_normaliser_and_any_lp_solver():
    settings = {"C": 1.0, "p": 1.0, "tol": 1e-8}
    ours = LocalRademacherMKLClassifier(KERNELS, theta=3, **settings).fit(X, Y)
    normalize = TailNormalizer(3)
    plain = LpMKLClassifier(KERNELS, normalize=normalize, **settings).fit(X, Y)
    assert ours.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    new = np.random.default_rng(1).standard_normal((20, 3))
    assert ours.decision_function(new) == pytest.approx(
        plain.decision_function(new), abs=2e-3
    )
    weights = ours.kernel_weights_ * ours.tail_sums_[:, 3]
    assert weights == pytest.approx(plain.kernel_weights_, abs=1e-4)


@pytest.mark.parametrize(
    "kind", [SpicyMKLClassifier, FixedWeightsMKLClassifier, GroupOMPRegressor]
)
def test_every_estimator_takes_the_normaliser(kind, tmp_path):
    model = kind(KERNELS, normalize=["center", TailNormalizer(2)]).fit(X, Y)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict(X), model.predict(X))


@METHODS
def test_regression_and_classes_have_what_they_publish(method):
    settings = {"method": method, "theta": 2, "p": 1.0}
    classes = LocalRademacherMKLClassifier(KERNELS, **settings).fit(X, THREE)
    assert classes.kernel_weights_.shape == (3, 3)
    first = LocalRademacherMKLClassifier(KERNELS, **settings)
    first.fit(X, classes.classes_[0] == THREE)
    np.testing.assert_allclose(
        classes.decision_function(X)[:, 0], first.decision_function(X), atol=1e-8
    )
    assert classes.tail_sums_.shape == (3, 3)
    regression = LocalRademacherMKLRegressor(KERNELS, **settings).fit(X, X[:, 1])
    if method == "conv":
        assert regression.duality_gap_ <= regression.tol
    terms = regression.contributions(X).sum(axis=1) + regression.intercept_
    assert terms == pytest.approx(regression.predict(X), abs=1e-8)
    for model, shape in ((classes, (3,)), (regression, ())):
        if method == "dc":
            assert np.isnan(model.duality_gap_).all()
            assert np.shape(model.subproblem_gap_) == shape
            assert np.all(model.subproblem_gap_ <= model.tol)
            assert model.start_objectives_.shape == (*shape, 3)
            assert np.allclose(model.start_objectives_[..., 0], model.objective_)
            assert "no certificate" in model.status_message_
        else:
            assert np.all(model.duality_gap_ <= model.tol)
            assert not hasattr(model, "subproblem_gap_")


@METHODS
def test_precomputed_kernels_give_the_same_model(method):
    grams = np.stack([kernel(X) for kernel in KERNELS])
    settings = {"method": method, "theta": 2, "tol": 1e-6}
    ours = LocalRademacherMKLClassifier(KERNELS, **settings).fit(X, Y)
    given = LocalRademacherMKLClassifier("precomputed", **settings)
    given.fit(stack_grams(grams), Y)
    assert given.objective_ == pytest.approx(ours.objective_, rel=1e-5)


@METHODS
def test_factors_give_the_same_model(method):
    kernels = [LinearKernel(), ColumnKernel(LinearKernel(), [0, 1])]
    settings = {"method": method, "theta": 1, "tol": 1e-6}
    found = [
        LocalRademacherMKLClassifier(kernels, storage=storage, **settings)
        .fit(X, X[:, 1] > 0)
        .objective_
        for storage in ("low_rank", "dense")
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-4)


@METHODS
def test_kernels_without_a_tail_are_named(method):
    kernels = [*KERNELS, ColumnKernel(LinearKernel(), 1)]
    model = LocalRademacherMKLClassifier(kernels, method=method, theta=1)
    with pytest.warns(
        DegenerateKernelWarning, match=r"1 of 4 .* rank 1 or less.*linear"
    ):
        model.fit(X, Y)
    with pytest.warns(DegenerateKernelWarning, match="rank 1 or less"):
        LpMKLClassifier(kernels, normalize=TailNormalizer(1)).fit(X, Y)


@METHODS
def test_more_free_eigenvalues_than_samples_are_all_there_are(method):
    """A theta of 1e9 asked for 52 GiB."""
    models = []
    for theta in (70, 10**9):
        model = LocalRademacherMKLClassifier(KERNELS, theta=theta, method=method)
        with pytest.warns(DegenerateKernelWarning, match="theta=.* has no effect"):
            models.append(model.fit(X, Y))
    few, many = models
    np.testing.assert_array_equal(many.kernel_weights_, few.kernel_weights_)
    assert many.tail_sums_.shape == (3, 71)


@METHODS
def test_the_search_chooses_among_models_of_its_folds(method):
    fold = [(np.arange(0, 50), np.arange(50, 70))]
    settings = {"method": method, "p": 1.0, "tol": 1e-6, "n_starts": 1}
    search = LocalRademacherMKLClassifierCV(
        KERNELS, Cs=[0.1, 1.0], thetas=[4, 0], cv=fold, **settings
    )
    search.fit(X, Y)
    assert search.thetas_.tolist() == [0, 4]
    assert [*search.cv_results_["param_C"]] == [0.1, 0.1, 1.0, 1.0]
    assert [*search.cv_results_["param_theta"]] == [0, 4, 0, 4]
    for params, score in zip(
        search.cv_results_["params"],
        search.cv_results_["split0_test_score"],
        strict=True,
    ):
        one = LocalRademacherMKLClassifier(KERNELS, **params, **settings)
        assert one.fit(X[:50], Y[:50]).score(X[50:], Y[50:]) == score
    best = LocalRademacherMKLClassifier(
        KERNELS, C=search.C_, theta=search.theta_, **settings
    ).fit(X, Y)
    assert search.objective_ == pytest.approx(best.objective_, rel=1e-4)
    assert search.path_.duality_gaps.max() <= 1e-6


def test_dc_needs_a_finite_p():
    with pytest.raises(ValueError, match="requires a finite p"):
        LocalRademacherMKLClassifier(KERNELS, method="dc", p=np.inf).fit(X, Y)
