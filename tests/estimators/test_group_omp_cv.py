"""Choosing sparsity and strength: what one would do by hand, fold by fold."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler

from multikernel import (
    GroupOMPClassifier,
    GroupOMPClassifierCV,
    GroupOMPRegressor,
    GroupOMPRegressorCV,
    load,
    save,
)
from multikernel.estimators import stack_grams
from multikernel.exceptions import ConvergenceWarning
from multikernel.kernels import (
    GaussianKernel,
    LinearKernel,
    ParameterGrid,
    PolynomialKernel,
)

KERNELS = ParameterGrid(
    [GaussianKernel(0.7), GaussianKernel(2.0), PolynomialKernel(2)],
    [slice(None), 0, 1, 2, 3],
)
LINEAR = ParameterGrid([LinearKernel()], [0, 1, 2, 3])
ALPHAS = [0.3, 1e-3, 0.03]

# Of grids with three values, the best one is often the first or the last.
pytestmark = pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")


def regression(n=60, n_outputs=1):
    random = np.random.default_rng(0)
    X = random.standard_normal((n, 4))
    signals = [np.sin(2 * X[:, 0]) + X[:, 3], X[:, 1] ** 2][:n_outputs]
    y = np.column_stack(signals) + 0.3 * random.standard_normal((n, n_outputs))
    return X, y[:, 0] if n_outputs == 1 else y


def binary(n=60):
    X, y = make_classification(
        n, 4, n_informative=3, n_redundant=0, random_state=0, flip_y=0.1
    )
    return StandardScaler().fit_transform(X), y


def by_hand(model, X, y, splits, most, weights=None):
    """Return scores of shape (n_folds, most + 1, n_alphas), alphas descending."""
    rows = []
    for train, test in splits:
        own = None if weights is None else weights[train]
        row = []
        for k in range(most + 1):
            for alpha in sorted(ALPHAS, reverse=True):
                fit = clone(model).set_params(alpha=alpha, max_kernels=max(k, 1))
                fit = fit.fit(X[train], y[train], own)
                fit = fit.prefix(min(k, fit.n_iter_))
                seen = None if weights is None else weights[test]
                row.append(fit.score(X[test], y[test], seen))
        rows.append(row)
    return np.reshape(rows, (len(splits), most + 1, len(ALPHAS)))


def split_scores(search):
    names = [f"split{k}_test_score" for k in range(search.n_splits_)]
    scores = np.array([search.cv_results_[name] for name in names])
    return scores.reshape(search.n_splits_, -1, len(search.alphas_))


def assert_chosen(search, expected):
    """The best mean score, with as few kernels and as strong a penalty as can be."""
    np.testing.assert_allclose(split_scores(search), expected, atol=1e-7)
    mean = expected.mean(axis=0)
    assert search.best_score_ == pytest.approx(mean.max())
    k, a = np.argwhere(mean >= mean.max() - 1e-12)[0]
    assert (search.max_kernels_, search.alpha_) == (k, search.alphas_[a])


@pytest.mark.parametrize(
    ("kernels", "parameters"),
    [
        pytest.param(KERNELS, {}, marks=pytest.mark.slow),
        pytest.param(
            KERNELS, {"normalize": ("center", "trace")}, marks=pytest.mark.slow
        ),
        (KERNELS, {"storage": "lazy", "normalize": "variance"}),
        (LINEAR, {"normalize": "variance"}),
    ],
)
def test_scores_equal_refits_by_hand(kernels, parameters):
    X, y = regression()
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    search = GroupOMPRegressorCV(
        kernels, alphas=ALPHAS, max_kernels=4, cv=splits, tol=0.0, **parameters
    ).fit(X, y)
    model = GroupOMPRegressor(kernels, tol=0.0, **parameters)
    assert_chosen(search, by_hand(model, X, y, splits, 4))


def test_weights_enter_folds_fits_and_scores():
    X, y = binary()
    weights = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    splits = list(StratifiedKFold(3).split(X, y))
    search = GroupOMPClassifierCV(
        KERNELS, alphas=ALPHAS, max_kernels=3, cv=splits, class_weight="balanced"
    ).fit(X, y, weights)
    model = GroupOMPClassifier(KERNELS, class_weight="balanced")
    assert_chosen(search, by_hand(model, X, y, splits, 3, weights))


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_other_losses(loss):
    X, y = binary()
    splits = list(StratifiedKFold(2).split(X, y))
    search = GroupOMPClassifierCV(
        KERNELS, alphas=ALPHAS, max_kernels=2, cv=splits, loss=loss, n_jobs=2
    ).fit(X, y)
    assert_chosen(
        search, by_hand(GroupOMPClassifier(KERNELS, loss=loss), X, y, splits, 2)
    )


def test_several_classes_and_a_score_of_probabilities():
    X, y = load_iris(return_X_y=True)
    X, y = StandardScaler().fit_transform(X[::3]), np.array(["a", "b", "c"])[y[::3]]
    search = GroupOMPClassifierCV(
        KERNELS,
        alphas=ALPHAS,
        max_kernels=3,
        cv=3,
        scoring="neg_log_loss",
        loss="log_loss",
    ).fit(X, y)
    model = GroupOMPClassifier(
        KERNELS, search.alpha_, max_kernels=search.max_kernels_, loss="log_loss"
    )
    by_hand = cross_val_score(model, X, y, cv=3, scoring="neg_log_loss")
    assert search.best_score_ == pytest.approx(by_hand.mean(), abs=1e-6)
    assert search.best_score_ > -np.log(3.0)  # better than equal probabilities
    np.testing.assert_allclose(search.predict_proba(X).sum(axis=1), 1.0)


def test_several_targets():
    X, y = regression(n_outputs=2)
    train, test = np.arange(40), np.arange(40, 60)
    search = GroupOMPRegressorCV(
        KERNELS, alphas=ALPHAS, max_kernels=4, cv=[(train, test)]
    ).fit(X, y)
    fit = GroupOMPRegressor(KERNELS, search.alpha_, max_kernels=search.max_kernels_)
    expected = r2_score(y[test], fit.fit(X[train], y[train]).predict(X[test]))
    assert search.best_score_ == pytest.approx(expected)
    assert search.predict(X).shape == (60, 2)


def test_the_model_is_that_of_the_choice():
    X, y = regression()
    search = GroupOMPRegressorCV(KERNELS, alphas=ALPHAS, cv=3).fit(X, y)
    model = GroupOMPRegressor(
        KERNELS, search.alpha_, max_kernels=search.max_kernels_, tol=search.tol
    ).fit(X, y)
    np.testing.assert_array_equal(search.selection_order_, model.selection_order_)
    np.testing.assert_allclose(search.predict(X), model.predict(X), atol=1e-10)
    np.testing.assert_allclose(
        search.prefix(1).predict(X), model.prefix(1).predict(X), atol=1e-10
    )
    assert search.prefix(1).alpha_ == search.alpha_


def test_paths_that_end_early_count_with_their_last_model():
    X, y = regression()
    splits = list(KFold(3).split(X))
    search = GroupOMPRegressorCV(
        KERNELS, alphas=ALPHAS, cv=splits, tol=0.1, max_kernels=None
    ).fit(X, y)
    reached = search.cv_results_["param_max_kernels"].max()
    assert 1 <= reached < 15
    model = GroupOMPRegressor(KERNELS, tol=0.1)
    assert_chosen(search, by_hand(model, X, y, splits, reached))
    in_use = search.cv_results_["mean_n_active"].reshape(-1, 3)
    assert in_use[-1].min() < reached
    np.testing.assert_array_equal(in_use[0], 0.0)


def test_nothing_to_learn_selects_no_kernel():
    random = np.random.default_rng(0)
    X, y = random.standard_normal((80, 4)), random.standard_normal(80)
    search = GroupOMPRegressorCV(KERNELS, alphas=[1e-3], cv=4).fit(X, y)
    assert search.max_kernels_ == search.n_iter_ == 0
    np.testing.assert_allclose(search.predict(X), y.mean())


def test_precomputed_kernels_equal_kernels():
    X, y = regression()
    grams = stack_grams([KERNELS[m](X, X) for m in range(15)])
    plain = GroupOMPRegressorCV(KERNELS, alphas=ALPHAS, max_kernels=4, cv=3).fit(X, y)
    model = clone(plain).set_params(kernels="precomputed").fit(grams, y)
    np.testing.assert_allclose(split_scores(model), split_scores(plain), atol=1e-9)
    np.testing.assert_allclose(model.predict(grams), plain.predict(X), atol=1e-9)


def test_without_a_refit_there_is_a_choice_and_no_model():
    X, y = regression()
    search = GroupOMPRegressorCV(KERNELS, alphas=ALPHAS, cv=3, refit=False).fit(X, y)
    assert search.best_params_["max_kernels"] >= 1
    for use in (search.predict, search.staged_predict, lambda _: search.prefix(1)):
        with pytest.raises(NotFittedError, match="refit=False"):
            use(X)


def test_models_survive_a_file(tmp_path):
    X, y = binary()
    search = GroupOMPClassifierCV(KERNELS, alphas=ALPHAS, max_kernels=3, cv=2).fit(X, y)
    save(search, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))
    assert loaded.max_kernels_ == search.max_kernels_
    np.testing.assert_array_equal(split_scores(loaded), split_scores(search))


def test_a_callback_that_stops_a_search_keeps_what_is_done():
    X, y = regression()
    search = GroupOMPRegressorCV(KERNELS, alphas=ALPHAS, max_kernels=4, cv=2)
    whole = clone(search).fit(X, y)
    seen = []

    def stop(line):
        seen.append(line)
        return len(seen) == 20  # a path has four lines, and a fold three paths

    with pytest.warns(ConvergenceWarning, match="stopped with . kernels. The callback"):
        search.fit(X, y, callback=stop)
    np.testing.assert_array_equal(split_scores(search)[0], split_scores(whole)[0])
    assert np.isnan(split_scores(search)[1]).any()
    assert search.best_score_ == split_scores(search)[0].max()
    with pytest.raises(RuntimeError, match="before any candidate was scored"):
        clone(search).fit(X, y, callback=lambda line: True)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"alphas": ["1", 1.0]},
            "alphas must be None, or a sequence of finite numbers above 0",
        ),
        ({"alphas": []}, "alphas must be None, or a sequence of finite numbers"),
        (
            {"alphas": [1.0, 0.0]},
            "alphas must be None, or a sequence of finite numbers",
        ),
        ({"max_kernels": 0}, "max_kernels must be None, or an integer of at least 1"),
    ],
)
def test_wrong_parameters_get_a_sentence(parameters, message):
    X, y = regression()
    with pytest.raises(ValueError, match=f"GroupOMPRegressorCV: {message}"):
        GroupOMPRegressorCV(KERNELS).set_params(**parameters).fit(X, y)
