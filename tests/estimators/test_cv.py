"""Cross-validated estimators equal what one would do by hand, fold by fold."""

import itertools
import re
import warnings
import weakref

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    PredefinedSplit,
    StratifiedKFold,
)

from multikernel.estimators import (
    LpMKLClassifierCV,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    stack_grams,
)
from multikernel.exceptions import (
    ConvergenceWarning,
    DegenerateKernelWarning,
    DictionaryWarning,
    SearchWarning,
)
from multikernel.gram import build_stack
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
CLOSE = 1e-9  # gap at which two fits of one problem are the same to the eye


def binary(n=60, seed=0):
    X, y = make_classification(
        n, 4, n_informative=3, n_redundant=0, random_state=seed, flip_y=0.1
    )
    return (X - X.mean(0)) / X.std(0) + 0.5, y


def regression(n=60, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 4)) + 0.5
    return X, np.sin(2 * X[:, 0]) + 0.3 * random.standard_normal(n)


def scores_by_hand(model, X, y, alphas, splits, weights, score):
    rows = []
    for train, test in splits:
        own = None if weights is None else weights[train]
        row = []
        for alpha in alphas:
            fit = clone(model).set_params(alpha=alpha)
            with warnings.catch_warnings():  # the largest alphas leave no kernel
                warnings.simplefilter("ignore", DictionaryWarning)
                fit.fit(X[train], y[train], own)
            row.append(score(fit, X[test], y[test], test))
        rows.append(row)
    return np.array(rows)


def split_scores(search):
    names = [f"split{k}_test_score" for k in range(search.n_splits_)]
    return np.array([search.cv_results_[name] for name in names])


@pytest.mark.parametrize(
    "normalize",
    [
        None,
        "variance",
        ("center", "trace"),
        *(
            pytest.param(n, marks=pytest.mark.slow)
            for n in ("trace", "cosine", "center")
        ),
    ],
)
def test_scores_equal_refits_by_hand(normalize):
    X, y = regression()
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    search = SpicyMKLRegressorCV(
        KERNELS, n_alphas=4, cv=splits, normalize=normalize, tol=CLOSE, max_iter=300
    ).fit(X, y)
    model = SpicyMKLRegressor(KERNELS, normalize=normalize, tol=CLOSE, max_iter=300)
    expected = scores_by_hand(
        model, X, y, search.alphas_, splits, None, lambda m, A, b, _: m.score(A, b)
    )
    np.testing.assert_allclose(split_scores(search), expected, atol=2e-4)
    best = np.argmax(expected.mean(axis=0))
    assert search.best_params_ == {"alpha": search.alphas_[best]}
    assert search.alpha_ == pytest.approx(search.alphas_[best] * y.std())
    assert search.best_score_ == pytest.approx(expected.mean(axis=0)[best], abs=2e-4)


def test_weights_enter_folds_fits_and_scores():
    X, y = binary()
    weights = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    splits = list(StratifiedKFold(3).split(X, y))
    search = SpicyMKLClassifierCV(
        KERNELS,
        n_alphas=4,
        alpha_min_ratio=1e-2,
        cv=splits,
        class_weight="balanced",
        tol=CLOSE,
    ).fit(X, y, weights)
    model = SpicyMKLClassifier(KERNELS, class_weight="balanced", tol=CLOSE)
    expected = scores_by_hand(
        model,
        X,
        y,
        search.alphas_,
        splits,
        weights,
        lambda m, A, b, test: m.score(A, b, weights[test]),
    )
    np.testing.assert_allclose(split_scores(search), expected, atol=1e-12)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_several_classes_and_a_score_of_probabilities():
    X, y = load_iris(return_X_y=True)
    X = X[::2]
    y = np.array(["a", "b", "c"])[y[::2]]
    search = SpicyMKLClassifierCV(
        KERNELS,
        n_alphas=3,
        alpha_min_ratio=1e-2,
        cv=3,
        scoring="neg_log_loss",
        tol=1e-8,
    ).fit(X, y)
    scorer = get_scorer("neg_log_loss")
    model = SpicyMKLClassifier(KERNELS, tol=1e-8)
    splits = StratifiedKFold(3).split(X, y)
    expected = scores_by_hand(
        model, X, y, search.alphas_, splits, None, lambda m, A, b, _: scorer(m, A, b)
    )
    np.testing.assert_allclose(split_scores(search), expected, atol=2e-3)
    assert search.path_.norms.shape[:2] == (3, 3)
    assert search.kernel_weights_.shape == (3, len(KERNELS))
    assert search.duality_gap_.shape == (3,)


def test_a_function_scores_the_decision_values():
    X, y = binary()

    def area(model, X, y):
        return roc_auc_score(y, model.decision_function(X))

    own = SpicyMKLClassifierCV(KERNELS, n_alphas=3, cv=3, scoring=area)
    named = SpicyMKLClassifierCV(KERNELS, n_alphas=3, cv=3, scoring="roc_auc")
    weights = np.ones(len(y))
    np.testing.assert_array_equal(
        split_scores(own.fit(X, y, weights)), split_scores(named.fit(X, y))
    )


@pytest.mark.parametrize(
    "scoring", ["neg_log_loss", lambda model, X, y: model.predict_proba(X).mean()]
)
def test_a_score_of_probabilities_that_the_loss_does_not_have(scoring):
    search = SpicyMKLClassifierCV(
        KERNELS, n_alphas=2, cv=2, loss="hinge", scoring=scoring
    )
    with pytest.raises(ValueError, match=r"probabilities, which .* loss='hinge'"):
        search.fit(*binary())


def test_the_final_model_is_the_fit_at_the_chosen_alpha():
    X, y = binary()
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=6, cv=3, tol=CLOSE).fit(X, y)
    alone = SpicyMKLClassifier(KERNELS, search.alpha_, tol=CLOSE).fit(X, y)
    np.testing.assert_allclose(
        search.decision_function(X), alone.decision_function(X), atol=1e-3
    )
    assert search.objective_ == pytest.approx(alone.objective_, rel=1e-7)
    where = list(search.alphas_).index(search.alpha_)
    path = search.path_
    np.testing.assert_array_equal(path.alphas, search.alphas_[: where + 1])
    np.testing.assert_array_equal(
        path.kernel_weights[0, where], search.kernel_weights_[path.kernels]
    )
    assert path.objectives[0, where] == search.objective_
    assert not path.norms[0, 0].any()  # at alpha_max no kernel is in
    assert (np.diff(path.objectives[0]) <= 1e-12).all()
    assert search.fit_info_["cv_tol"] == pytest.approx(30.0 * CLOSE)
    assert (path.duality_gaps <= search.fit_info_["cv_tol"]).all()
    assert path.duality_gaps[0, -1] == search.duality_gap_ <= CLOSE


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_a_path_ends_where_the_score_has_gone_down_for_long():
    """What is left out has no score, and the choice among the rest is the same."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 4))
    y = np.where(X[:, 0] + 1.5 * rng.standard_normal(60) > 0.0, 1, 0)
    settings = {"n_alphas": 15, "alpha_min_ratio": 1e-4, "scoring": "neg_log_loss"}
    ended = SpicyMKLClassifierCV(**settings, tol=1e-4).fit(X, y)
    mean = ended.cv_results_["mean_test_score"]
    solved = np.flatnonzero(np.isfinite(mean))
    np.testing.assert_array_equal(solved, np.arange(solved.size))
    assert ended.best_index_ < solved[-1] < 14
    assert np.isnan(split_scores(ended)[:, solved.size :]).all()
    all_folds = list(StratifiedKFold(5).split(X, y))
    ratios = ended.alphas_ / ended.alphas_[0]
    np.testing.assert_allclose(ratios, np.geomspace(1.0, 1e-4, 15))
    for place in (ended.best_index_, solved[-1]):
        scores = []
        for train, test in all_folds:
            model = SpicyMKLClassifier(
                alpha=ended.alphas_[place], tol=ended.fit_info_["cv_tol"]
            )
            P = model.fit(X[train], y[train]).predict_proba(X[test])
            scores.append(-log_loss(y[test], P))
        assert np.mean(scores) == pytest.approx(mean[place], abs=0.05)
    weakest = SpicyMKLClassifierCV(
        alphas=ended.alphas_[[ended.best_index_, -1]], scoring="neg_log_loss"
    ).fit(X, y)
    assert weakest.alpha_ == ended.alpha_


def test_of_ties_the_best_log_loss_with_a_kernel_wins():
    X, y = binary()
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=5, alpha_min_ratio=1e-2, cv=3)
    losses = clone(search).set_params(scoring="neg_log_loss").fit(X, y)
    search.set_params(scoring=lambda model, X, y: 0.0).fit(X, y)
    results = search.cv_results_
    active, loss = results["mean_n_active"], results["mean_test_loss"]
    assert active[0] < active[1]
    np.testing.assert_allclose(loss, -losses.cv_results_["mean_test_score"])
    best = np.argmin(np.where(active > 0, loss, np.inf))
    assert search.best_index_ == best
    np.testing.assert_array_equal(results["rank_test_score"], 1)
    empty = SpicyMKLClassifierCV(KERNELS, alphas=[1e3, 1e2], cv=3)
    with pytest.warns(SearchWarning, match="chose alpha=1e\\+03, a model without act"):
        empty.fit(X, y)
    assert empty.best_index_ == 0


def test_a_choice_without_kernels_gets_a_sentence():
    X, y = binary()

    def fewest(model, X, y):
        return -float(model.active_kernels_.size)

    search = SpicyMKLClassifierCV(KERNELS, alphas=[9.0, 0.01], cv=3, scoring=fewest)
    with pytest.warns(
        SearchWarning, match="chose alpha=9, a model without active kernels"
    ):
        search.fit(X, y)
    with pytest.warns(SearchWarning, match="has any: pass smaller values in alphas"):
        search.set_params(alphas=[9.0, 8.0]).fit(X, y)


@pytest.mark.parametrize(
    ("sign", "named"), [(1.0, "alpha=0.3, the largest"), (-1.0, "0.001, the smallest")]
)
def test_a_choice_at_an_end_of_the_grid_gets_a_sentence(sign, named):
    X, y = regression()

    def score(model, X, y):
        return sign * model.objective_

    grid = [0.3, 0.1, 0.03, 0.001]
    search = SpicyMKLRegressorCV(KERNELS, alphas=grid, cv=3, scoring=score)
    with pytest.warns(SearchWarning, match=named):
        search.fit(X, y)
    inside = SpicyMKLRegressorCV(KERNELS, alphas=grid, cv=3, scoring=lambda *_: 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SearchWarning)
        inside.fit(X, y)  # a tie is no reason to look further


def test_results_have_the_columns_of_scikit_learn():
    X, y = binary()
    search = SpicyMKLClassifierCV(KERNELS, alphas=[0.1, 0.02], cv=3, tol=CLOSE)
    search.fit(X, y)
    model = SpicyMKLClassifier(KERNELS, tol=search.fit_info_["cv_tol"])
    grid = GridSearchCV(model, {"alpha": [0.1, 0.02]}, cv=3).fit(X, y)
    own = {name for name in grid.cv_results_ if not name.endswith("_time")}
    assert set(search.cv_results_) == own | {"mean_n_active", "mean_test_loss"}
    assert search.cv_results_["params"] == grid.cv_results_["params"]
    assert search.best_params_ == grid.best_params_
    assert search.best_index_ == grid.best_index_
    for name in ("mean_test_score", "std_test_score", "rank_test_score"):
        np.testing.assert_allclose(search.cv_results_[name], grid.cv_results_[name])


def test_an_infinite_score_is_the_best_or_the_worst_of_all():
    X, y = regression()
    y = y > y.mean()
    own = {0.3: -np.inf, 0.1: 1.0, 0.03: np.inf, 0.01: np.nan}

    def score(model, X, y):
        return own[model.alpha_]

    search = SpicyMKLClassifierCV(KERNELS, alphas=list(own), cv=3, scoring=score)
    results = search.fit(X, y).cv_results_
    assert search.alpha_ == 0.03
    np.testing.assert_array_equal(results["rank_test_score"], [3, 2, 1, 3])


def test_deviations_of_huge_errors_are_numbers():
    """Errors of 1e198 have no square, but a deviation they have."""
    X, y = regression()
    y = 1e99 * (y - y.mean())
    scoring = "neg_mean_squared_error"
    search = SpicyMKLRegressorCV(KERNELS, alphas=[0.01, 0.1], cv=3, scoring=scoring)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        search.fit(X, y)
    spread = search.cv_results_["std_test_score"]
    scores = split_scores(search)
    np.testing.assert_allclose(spread, 1e198 * (scores / 1e198).std(axis=0))
    assert spread.max() > 1e196


def test_given_alphas_are_tried_in_descending_order():
    X, y = regression()
    alphas = [0.01, 0.3, 0.05, 0.05]
    search = SpicyMKLRegressorCV(KERNELS, alphas=alphas, cv=3).fit(X, y)
    np.testing.assert_array_equal(search.alphas_, [0.3, 0.05, 0.01])
    assert search.get_params()["alphas"] is alphas


def test_folds_in_threads_change_nothing():
    X, y = binary()
    search = SpicyMKLClassifierCV(
        KERNELS, n_alphas=4, alpha_min_ratio=1e-2, cv=4, tol=1e-6
    )
    alone = clone(search).fit(X, y)
    together = clone(search).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_allclose(split_scores(together), split_scores(alone))
    assert together.alpha_ == alone.alpha_
    # The model on all samples is solved beside the folds, and is the same.
    np.testing.assert_allclose(together.path_.objectives, alone.path_.objectives)
    np.testing.assert_allclose(together.dual_coef_, alone.dual_coef_, atol=1e-9)
    assert together.n_iter_ == alone.n_iter_


# What is stopped may be solved, or not: which thread says the sixteenth line is open.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_a_search_in_threads_that_is_stopped_has_the_model_that_it_chose():
    X, y = binary()
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=4, cv=3, n_jobs=2)
    lines = []

    def stop(line):
        lines.append(line)
        return len(lines) == 16

    search.fit(X, y, callback=stop)
    # The other thread may have been about to say a line.
    assert len(lines) <= 17
    assert search.alpha_ in search.alphas_
    assert search.alpha_ in search.path_.alphas
    assert np.isfinite(search.duality_gap_)


def test_without_refit_there_is_a_choice_but_no_model():
    X, y = binary()
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=3, cv=3, refit=False).fit(X, y)
    full = SpicyMKLClassifierCV(KERNELS, n_alphas=3, cv=3).fit(X, y)
    assert search.best_params_ == full.best_params_
    assert not {"kernel_weights_", "alpha_"} & vars(search).keys()
    with pytest.raises(NotFittedError, match="refit=False"):
        search.predict(X)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_precomputed_kernels_are_cut_for_folds_as_data_are():
    X, y = regression()
    K = build_stack(KERNELS, X).stack.columns(np.arange(len(y)))
    weights = (np.arange(len(y)) % 5 > 0).astype(float)
    settings = {"n_alphas": 3, "cv": 3, "tol": 1e-8}
    for normalize in ("trace", "center", ["variance", "center"]):
        on_data = SpicyMKLRegressorCV(KERNELS, normalize=normalize, **settings)
        on_grams = SpicyMKLRegressorCV("precomputed", normalize=normalize, **settings)
        on_data.fit(X, y, weights)
        on_grams.fit(stack_grams(K), y, weights)
        np.testing.assert_allclose(
            split_scores(on_grams), split_scores(on_data), atol=1e-6
        )
        np.testing.assert_allclose(
            on_grams.predict(stack_grams(K)), on_data.predict(X), atol=1e-5
        )


def test_lazy_kernels_are_computed_for_every_fold():
    X, y = regression()
    settings = {"n_alphas": 3, "cv": 3, "tol": 1e-10}
    dense = SpicyMKLRegressorCV(KERNELS, **settings).fit(X, y)
    lazy = SpicyMKLRegressorCV(KERNELS, storage="lazy", **settings).fit(X, y)
    np.testing.assert_allclose(split_scores(lazy), split_scores(dense), atol=1e-6)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_folds_may_train_on_everything():
    X, y = regression()
    everything = np.arange(len(y))
    cv = [(everything, everything)]
    search = SpicyMKLRegressorCV(KERNELS, n_alphas=3, cv=cv, normalize="center")
    search.fit(X, y)
    alone = SpicyMKLRegressor(KERNELS, search.alpha_, normalize="center").fit(X, y)
    assert search.best_score_ == pytest.approx(alone.score(X, y), abs=1e-2)
    assert search.score(X, y) == pytest.approx(search.best_score_, abs=1e-2)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_folds_that_share_samples_and_scores_of_classes_for_numbers_are_named():
    X, y = binary()
    rows = np.arange(len(y))
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=2, cv=[(rows, rows[::2])])
    with pytest.warns(SearchWarning, match="sets of fold 0 of cv share samples"):
        search.fit(X, y)
    search.cv = PredefinedSplit(np.arange(9) % 3)  # made for another table
    with pytest.warns(SearchWarning, match=f"only the first 9 of {len(y)} samples"):
        search.fit(X, np.resize([0, 0, 0, 1, 1, 1], len(y)))
    for settings, words in (
        ({"scoring": "roc_auc"}, "'roc_auc' requires classes, but the targets"),
        ({"scoring": "accuracy"}, "'accuracy' does not apply to these targets: "),
        ({"cv": KFold}, r"cv is the class KFold: pass KFold\(\.\.\.\)"),
        ({"cv": StratifiedKFold(3)}, r"cv=StratifiedKFold\(.* cannot split these data"),
    ):
        with pytest.raises(ValueError, match=words):
            SpicyMKLRegressorCV(KERNELS, n_alphas=2, **settings).fit(X, X[:, 0])


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_unsolved_paths_are_counted():
    X, y = binary()
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=3, cv=3, max_iter=1, tol=1e-10)
    with pytest.warns(ConvergenceWarning) as caught:
        search.fit(X, y)
    messages = " ".join(str(warning.message) for warning in caught)
    counts = re.search(r"(\d+) of (\d+) solves along the paths", messages)
    assert counts is not None
    unsolved, solves = map(int, counts.groups())
    # Nothing needs a step at the first strength; a fold may leave out the last one.
    assert 4 <= unsolved < solves <= 12


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alphas": [0.1, -1.0]}, "alphas must be None, or a sequence of finite"),
        ({"alphas": []}, "alphas must be"),
        ({"alphas": np.array(0.1)}, "alphas must be None, or a sequence of finite"),
        ({"n_alphas": 0}, "n_alphas must be an integer of at least 1"),
        ({"alpha_min_ratio": 2.0}, r"alpha_min_ratio must be a finite number in \(0"),
        ({"n_jobs": 0}, "n_jobs must be None"),
        ({"scoring": ["accuracy"]}, "scoring must be None, a callable with"),
        ({"scoring": "accuracy_"}, r"get_scorer_names\(\) \(.accuracy."),
        ({"l1_ratio": 0.0}, "first alpha of a path, is not defined: pass a positive"),
        ({"cv": [([0, 1], [2])]}, "fold 0 of cv contains no sample of class 1"),
        ({"cv": [([], [2])]}, "Fold 0 of cv has an empty training or"),
        (
            {"cv": [([0, 1, 2, 3], [30])]},
            "Fold 0 of cv has row numbers from 30 to 30, but X has 30 rows",
        ),
        (
            {"cv": [([0.0, 3.0], [4.0])]},
            r"row numbers, or of 30 booleans, .* of float64",
        ),
        ({"cv": [None]}, "Fold 0 of cv must be a pair, the rows .*got None"),
        ({"cv": [([0, 1], [2], [3])]}, "Fold 0 of cv must be a pair"),
        ({"cv": []}, r"cv=.* yields no fold: pass a cv that yields at least one"),
        ({"scoring": lambda m, X, y: np.nan}, "No alpha has a finite score"),
        ({"scoring": lambda y: 0.0}, r"a callable with arguments \(model, X, y\)"),
        ({"scoring": len}, r"a callable with arguments \(model, X, y\)"),
        ({"scoring": lambda m, X, y: None}, "must return one number, got None"),
    ],
)
def test_bad_settings_get_a_sentence(settings, message):
    X, y = binary(30)
    y = np.array([0, 0] + [1, 0] * 14)
    with pytest.raises(ValueError, match=message):
        SpicyMKLClassifierCV([LinearKernel()], **{"n_alphas": 2} | settings).fit(X, y)


RARE = np.zeros(40, dtype=int)
RARE[:3] = 1


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss"])
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_folds_without_a_class_have_no_part_in_mean_scores(scoring):
    X, _ = binary(40)
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=3, scoring=scoring, class_weight={})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search.fit(X, RARE)
    (sentence,) = [str(w.message) for w in caught if "mean scores" in str(w.message)]
    assert "mean scores ignore fold 3, 4 of cv, because" in sentence
    assert not any(issubclass(w.category, UndefinedMetricWarning) for w in caught)
    results = search.cv_results_
    scores = np.array([results[f"split{k}_test_score"] for k in range(5)])
    assert np.isnan(scores[3:]).all()
    np.testing.assert_allclose(results["mean_test_score"], scores[:3].mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], scores[:3].std(axis=0))


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
@pytest.mark.filterwarnings("ignore:.*is skipped:UserWarning")
def test_a_score_that_needs_all_classes_is_not_advised_where_no_fold_has_them():
    X, _ = binary(40)
    alone = np.zeros(40, dtype=int)
    alone[0] = 1
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=3)
    with pytest.warns(SearchWarning, match=r"class 0 for all.*: pass class_weight="):
        search.fit(X, alone)
    search.set_params(scoring="neg_log_loss")
    with pytest.raises(
        ValueError, match=r"samples of every class.*scorer says: .*label"
    ):
        search.fit(X, alone)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"scoring": "roc_auc"},
            r"two classes only, but y has 3: pass scoring='roc_auc_ovr'",
        ),
        (
            {"scoring": "neg_log_loss", "loss": "hinge"},
            r"such as scoring='accuracy'\.$",
        ),
    ],
)
def test_scores_of_two_classes_name_those_of_several(settings, message):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        SpicyMKLClassifierCV([LinearKernel()], n_alphas=2, **settings).fit(X, y)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "quantile", "poisson"])
def test_constant_targets_are_predicted_without_any_kernel(loss):
    X, _ = regression()
    search = SpicyMKLRegressorCV(KERNELS, loss=loss, n_alphas=3, cv=3)
    with pytest.warns(SearchWarning, match="a model without active kernels"):
        search.fit(X, np.full(len(X), 5.0))
    np.testing.assert_allclose(search.predict(X), 5.0)
    assert search.duality_gap_ == 0.0


def test_constant_columns_leave_the_constant():
    X, y = regression()
    search = SpicyMKLRegressorCV([LinearKernel()], n_alphas=3, cv=3)
    with (
        pytest.warns(SearchWarning, match="a model without active kernels"),
        pytest.warns(DegenerateKernelWarning),
        pytest.warns(DictionaryWarning),
    ):
        search.fit(0.0 * X + 3.0, y)
    np.testing.assert_allclose(search.predict(X), y.mean())


def test_a_callback_that_stops_a_search_keeps_what_is_done():
    X, y = binary()
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=4, cv=3)
    lines = []
    whole = clone(search).fit(X, y, callback=lambda line: lines.append(line))
    seen = []

    def stop(line):
        seen.append(line)
        return len(seen) == len(lines) // 2

    with pytest.warns(ConvergenceWarning, match="gap above the tolerance"):
        search.fit(X, y, callback=stop)
    assert len(seen) == len(lines) // 2
    done = np.isfinite(split_scores(search))
    assert done[:, 0].all()
    assert not done[:, -1].any()
    tried = done.any(axis=0)
    finished = done[:, tried].all(axis=1)
    scores = split_scores(search)[finished][:, tried]
    np.testing.assert_array_equal(scores, split_scores(whole)[finished][:, tried])
    expected = scores.mean(axis=0)
    np.testing.assert_allclose(search.cv_results_["mean_test_score"][tried], expected)
    assert search.best_score_ == expected.max()
    assert search.status_ == "stopped"
    assert search.duality_gap_ > search.tol
    assert search.predict(X).shape == y.shape


@pytest.mark.parametrize("n_lines", range(4, 12))
def test_a_choice_beside_what_was_left_out_is_no_end_of_the_grid(n_lines):
    X, y = binary()
    search = LpMKLClassifierCV(KERNELS, cv=3)
    lines = iter(range(1, n_lines))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "LpMKL.* predicts class", SearchWarning)
        warnings.filterwarnings("error", ".*a wider grid", SearchWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y, callback=lambda line: next(lines, None) is None)
    assert np.isnan(search.cv_results_["mean_test_score"]).any()


def test_a_search_that_is_stopped_before_a_score_is_unfitted():
    X, y = binary()
    search = SpicyMKLClassifierCV(KERNELS, n_alphas=4, cv=3, tol=CLOSE)
    with pytest.raises(RuntimeError, match="before any candidate was scored"):
        search.fit(X, y, callback=lambda line: True)
    assert not hasattr(search, "alpha_")


def test_a_search_without_room_for_all_folds_stops_in_one(monkeypatch):

    monkeypatch.setattr("multikernel.estimators.search.folds.ALL_FOLDS_BYTES", 0)
    X, y = binary()
    lines = itertools.count()
    model = SpicyMKLClassifierCV(KERNELS, alphas=[0.1, 0.01], cv=3)
    with pytest.warns(ConvergenceWarning, match="gap above the tolerance"):
        model.fit(X, y, callback=lambda line: next(lines) > 4)
    scored = [~np.isnan(model.cv_results_[f"split{k}_test_score"]) for k in range(3)]
    assert scored[0].any()
    assert not scored[2].any()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_folds_without_room_beside_one_another_go_one_by_one(monkeypatch, n_jobs):
    from multikernel.estimators.search.folds import Folds

    X, y = make_classification(60, 4, random_state=0)
    model = SpicyMKLClassifierCV(alphas=[0.1, 0.01], cv=4, n_jobs=n_jobs)
    together = clone(model).fit(X, y)
    cut, held, most = Folds.cut, [], []

    def counted(folds, number):
        fold = cut(folds, number)
        held.append(weakref.ref(fold.training))
        most.append(sum(each() is not None for each in held))
        return fold

    monkeypatch.setattr("multikernel.estimators.search.folds.ALL_FOLDS_BYTES", 0)
    monkeypatch.setattr(Folds, "cut", counted)
    alone = clone(model).fit(X, y)
    assert max(most) <= n_jobs < len(held) == 4
    for name in ("split0_test_score", "split3_test_score", "mean_n_active"):
        np.testing.assert_array_equal(
            alone.cv_results_[name], together.cv_results_[name]
        )
    np.testing.assert_array_equal(alone.dual_coef_, together.dual_coef_)
