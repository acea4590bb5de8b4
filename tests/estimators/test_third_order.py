"""Interactions of three columns in fits: the optimum over all that was offered."""

import numpy as np
import pandas as pd
import pytest

from multikernel import (
    GroupOMPRegressor,
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    bootstrap,
    report,
)
from multikernel.display import ContributionDisplay
from multikernel.inspection import sobol_indices
from multikernel.kernels import (
    GaussianKernel,
    Interactions,
    ListDictionary,
    Unpenalized,
    per_column,
)
from multikernel.kernels.third_order import with_third_factors
from multikernel.persistence import load, save

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 5))
product = X[:, 0] * X[:, 1]
y = product * X[:, 2] + product + X[:, 3] + 0.1 * RNG.normal(size=150)
NEW = RNG.normal(size=(20, 5))
MAINS = per_column(GaussianKernel(1.0), 5)
SPEC = Interactions(MAINS, order=3)
TRIPLE = "x0 × x1 × x2"


def dictionary_of(model):
    return model._state.names.dictionary


def closed(model):
    """Return whether every pair in use was offered with every third kernel."""
    return with_third_factors(dictionary_of(model), model.active_kernels_) is None


def written_down(model):
    """Return the same model of kernels that nobody knows to be products."""
    found = dictionary_of(model)
    kernels = ListDictionary([found[m] for m in range(len(found))])
    parameters = model.get_params(deep=False).items()
    same = {name: value for name, value in parameters if name != "kernels"}
    factors = found.scales() ** -0.5
    return type(model)(kernels, **(same | {"penalty_weights": factors.tolist()}))


@pytest.mark.parametrize("storage", ["auto", "dense32", "low_rank", "lazy"])
def test_the_optimum_over_all_that_was_offered(storage):
    weights = RNG.integers(1, 3, 150).astype(float)
    one = SpicyMKLRegressor(SPEC, alpha=0.03, tol=1e-6, storage=storage)
    one.fit(X, y, sample_weight=weights)
    assert TRIPLE in one.summary()["kernel"].tolist()
    assert closed(one)
    other = written_down(one).set_params(storage="dense")
    other.fit(X, y, sample_weight=weights)
    assert one.duality_gap_ <= 1e-6
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-5)
    exact = storage in ("auto", "lazy")
    tol = 1e-4 if exact else 3e-3
    np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), atol=tol)


def test_the_fit_says_what_was_offered():
    model = SpicyMKLRegressor(SPEC, alpha=0.03).fit(X, y)
    n_thirds = model.kernel_weights_.size - 15
    assert f"All 10 pairs of kernels, and {n_thirds} products" in model.offered_
    assert model.offered_ in model._repr_html_()
    assert model.offered_ in report(model)
    model.set_params(kernels=Interactions(MAINS)).fit(X, y)
    assert model.kernel_weights_.size == 15
    assert not hasattr(model, "offered_")


def test_they_predict_what_pairs_cannot():
    models = [
        SpicyMKLRegressor(Interactions(MAINS, order=order), alpha=0.01).fit(X, y)
        for order in (2, 3)
    ]
    rows = np.random.default_rng(1).normal(size=(1000, 5))
    both = rows[:, 0] * rows[:, 1]
    target = both * rows[:, 2] + both + rows[:, 3]
    pairs, triples = (model.score(rows, target) for model in models)
    assert triples > pairs + 0.1


def test_a_search_offers_them_to_its_model():
    pairs = SpicyMKLRegressorCV(Interactions(MAINS, weight=1.0), cv=3).fit(X, y)
    spec = Interactions(MAINS, weight=1.0, order=3)
    model = SpicyMKLRegressorCV(spec, cv=3).fit(X, y)
    assert model.alpha_ == pairs.alpha_
    assert model.best_score_ == pairs.best_score_
    assert TRIPLE in model.summary()["kernel"].tolist()
    assert closed(model)
    assert model.duality_gap_ <= model.tol
    assert model.path_.norms.shape[1:] == (
        len(model.path_.alphas),
        model.path_.kernels.size,
    )


def test_several_targets_and_classes():
    Y = np.column_stack([y, X[:, 4] + 0.1 * RNG.normal(size=150)])
    model = SpicyMKLRegressor(SPEC, alpha=0.06, selection="separate").fit(X, Y)
    assert model.kernel_weights_.shape[0] == 2
    assert closed(model)
    for selection in ("separate", "shared"):
        search = SpicyMKLRegressorCV(SPEC, cv=2, selection=selection).fit(X, Y)
        assert closed(search)
    labels = np.digitize(product, [-0.5, 0.5])
    classes = SpicyMKLClassifier(SPEC, alpha=0.01).fit(X, labels)
    assert closed(classes)
    assert classes.predict(NEW).shape == (20,)


def test_columns_without_a_penalty_stay():
    views = {f"x{c}": ([c], GaussianKernel(1.0)) for c in range(4)}
    views["x4"] = Unpenalized([4])
    spec = Interactions(views, order=3)
    model = SpicyMKLRegressor(spec, alpha=0.03).fit(X, y + 3.0 * X[:, 4])
    assert model.unpenalized_coef_[0] == pytest.approx(3.0, abs=0.3)
    assert TRIPLE in model.view_shares_
    assert model.duality_gap_ <= model.tol


@pytest.mark.parametrize("storage", ["auto", "low_rank"])
def test_model_files_and_indices(tmp_path, storage):
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = SpicyMKLRegressor(SPEC, alpha=0.03, storage=storage).fit(frame, y)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert again.offered_ == model.offered_
    found = sobol_indices(again, frame)
    total = dict(zip(found.names, found.total, strict=True))
    assert found.estimated
    assert min(total["a"], total["b"]) > 0.2
    assert total["c"] > 0.05 > total.get("e", 0.0)
    with pytest.raises(ValueError, match=r"reads 3 columns.*one or two"):
        ContributionDisplay.from_estimator(again, frame, "a × b × c")


def test_collections_of_dask_have_them():
    collections = pytest.importorskip("dask.array")
    rows = collections.from_array(X, chunks=(50, 5))
    one = SpicyMKLRegressor(SPEC, alpha=0.03, tol=1e-5).fit(rows, y)
    other = SpicyMKLRegressor(SPEC, alpha=0.03, tol=1e-5).fit(X, y)
    assert one.offered_ == other.offered_
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=3e-3)


@pytest.mark.parametrize("model", [LpMKLRegressor(SPEC), GroupOMPRegressor(SPEC)])
def test_other_methods_refuse_them(model):
    with pytest.raises(ValueError, match="take SpicyMKL, or order=2"):
        model.fit(X, y)


def test_resamples_would_have_kernels_of_their_own():
    with pytest.raises(ValueError, match="take order=2"):
        bootstrap(SpicyMKLRegressor(SPEC), X, y, 2)


def test_penalties_go_by_name():
    names = {"gaussian(sigma=1)[x3]": 1e3}
    model = SpicyMKLRegressor(SPEC, alpha=0.03, penalty_weights=names).fit(X, y)
    assert "gaussian(sigma=1)[x3]" not in model.summary()["kernel"].tolist()
    assert TRIPLE in model.summary()["kernel"].tolist()
    model.set_params(penalty_weights=[1.0] * 15)
    with pytest.raises(ValueError, match="a dict of names"):
        model.fit(X, y)
