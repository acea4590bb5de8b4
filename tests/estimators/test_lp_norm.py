"""The lp-norm estimators: their problem, its limits, and what they refuse."""

import numpy as np
import pytest
from reference.conic import reference_lp_optimum
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.svm import SVC, SVR

from multikernel.display import (
    ConvergenceDisplay,
    KernelWeightsDisplay,
    RegularizationPathDisplay,
)
from multikernel.estimators import (
    FixedWeightsMKLClassifier,
    FixedWeightsMKLRegressor,
    LpMKLClassifier,
    LpMKLClassifierCV,
    LpMKLRegressor,
    LpMKLRegressorCV,
    regularization_path,
    stack_grams,
)
from multikernel.exceptions import ConvergenceWarning
from multikernel.gram import build_stack
from multikernel.kernels import (
    GaussianKernel,
    LinearKernel,
    ParameterGrid,
    PolynomialKernel,
)
from multikernel.persistence import load, save
from multikernel.solvers.lp_choice import LP_SOLVERS, SPARSE_ONLY

KERNELS = ParameterGrid(
    [GaussianKernel(0.7), GaussianKernel(2.0), PolynomialKernel(2)],
    [slice(None), 0, 1],
)
P_VALUES = (1.0, 32 / 31, 4 / 3, 2.0, 1000.0, np.inf)


def binary(n=50, seed=0):
    X, y = make_classification(
        n, 4, n_informative=3, n_redundant=0, random_state=seed, flip_y=0.1
    )
    return (X - X.mean(0)) / X.std(0), y


def regression(n=50, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, 4))
    return X, np.sin(2 * X[:, 0]) + 0.3 * random.standard_normal(n)


def grams(X, normalize="variance", weights=None):
    stack = build_stack(KERNELS, X, normalize=normalize, sample_weight=weights).stack
    return stack.columns(np.arange(len(X)))


def p_norm(weights, p):
    return np.linalg.norm(weights, p)


@pytest.mark.parametrize("p", P_VALUES)
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_error"])
def test_the_classifier_reaches_the_optimum_of_its_problem(p, loss):
    X, y = binary(30)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(y))
    model = LpMKLClassifier(KERNELS, 3.0, p, loss=loss, tol=1e-7).fit(X, y, weights)
    signs = np.where(y == 1, 1.0, -1.0)
    optimum = reference_lp_optimum(
        grams(X, weights=weights), signs, loss, 3.0, p, sample_weight=weights
    )
    assert model.objective_ == pytest.approx(optimum.objective, rel=1e-6)
    assert -1e-14 <= model.duality_gap_ <= 1e-7
    assert p_norm(model.kernel_weights_, p) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("p", [1.0, 4 / 3, np.inf])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_error"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_regressor_reaches_the_optimum_of_its_problem(p, loss, fit_intercept):
    X, y = regression(30)
    model = LpMKLRegressor(
        KERNELS, 2.0, p, loss=loss, epsilon=0.2, fit_intercept=fit_intercept, tol=1e-7
    ).fit(X, y)
    s = y.std()
    C = 2.0 * (s if loss == "epsilon_insensitive" else 1.0)
    optimum = reference_lp_optimum(
        grams(X), y, loss, C, p, epsilon=0.2 * s, fit_intercept=fit_intercept
    )
    assert model.objective_ == pytest.approx(optimum.objective, rel=1e-6)
    assert p_norm(model.kernel_weights_, p) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("solver", [*LP_SOLVERS, "auto"])
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_all_solvers_reach_one_objective(solver, p):
    X, y = binary()
    if p > 1.0 and solver in SPARSE_ONLY:
        pytest.skip("for p = 1 only")
    model = LpMKLClassifier(KERNELS, p=p, solver=solver, tol=1e-5).fit(X, y)
    exact = LpMKLClassifier(KERNELS, p=p, tol=1e-9).fit(X, y)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-5)


@pytest.mark.parametrize("p", [4 / 3, 2.0, 4.0])
def test_the_dual_point_expands_the_model(p):
    X, y = binary()
    model = LpMKLClassifier(KERNELS, 3.0, p, tol=1e-10).fit(X, y)
    K = np.tensordot(model.kernel_weights_, grams(X), axes=1)
    values = K @ model.dual_coef_ + model.intercept_
    np.testing.assert_allclose(values, model.decision_function(X), atol=2e-3)
    assert np.abs(model.dual_coef_).max() <= 3.0
    assert model.dual_coef_.sum() == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize("normalize", ["variance", "trace", None])
def test_the_uniform_classifier_is_a_machine_on_the_sum(normalize):
    X, y = binary()
    new = binary(seed=1)[0]
    settings = {"normalize": normalize, "tol": 1e-10}
    uniform = FixedWeightsMKLClassifier(KERNELS, 0.7, **settings).fit(X, y)
    limit = LpMKLClassifier(KERNELS, 0.7, np.inf, **settings).fit(X, y)
    total = grams(X, normalize).sum(axis=0)
    machine = SVC(kernel="precomputed", C=0.7, tol=1e-10).fit(total, y)
    expected = machine.decision_function(total)
    for model in (uniform, limit):
        np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-4)
        np.testing.assert_array_equal(model.kernel_weights_, np.ones(len(KERNELS)))
    np.testing.assert_allclose(
        uniform.decision_function(new), limit.decision_function(new), atol=1e-4
    )
    dual = np.zeros(len(y))
    dual[machine.support_] = machine.dual_coef_[0]
    np.testing.assert_allclose(uniform.dual_coef_, dual, atol=1e-3)


def test_the_uniform_regressor_is_a_machine_on_the_sum():
    X, y = regression()
    model = FixedWeightsMKLRegressor(KERNELS, 0.7, epsilon=0.2, tol=1e-10).fit(X, y)
    total = grams(X, "trace").sum(axis=0)
    s = y.std()
    machine = SVR(kernel="precomputed", C=0.7 * s, epsilon=0.2 * s, tol=1e-10)
    machine.fit(total, y)
    np.testing.assert_allclose(model.predict(X), machine.predict(total), atol=1e-4)


def test_small_strengths_side_with_no_class():
    """With all samples at their bounds a range of intercepts is optimal."""
    X, y = binary(60)
    y = np.argsort(np.argsort(X[:, 0] + X[:, 1])) >= 30
    total = grams(X, "trace").sum(axis=0)
    machine = SVC(kernel="precomputed", C=1e-4).fit(total, y)
    model = FixedWeightsMKLClassifier(KERNELS, C=1e-4).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), machine.decision_function(total), atol=1e-6
    )
    assert model.score(X, y) == machine.score(total, y)


def test_p_goes_from_a_few_kernels_to_all():
    X, y = binary()
    counts = [
        np.count_nonzero(LpMKLClassifier(KERNELS, 0.1, p).fit(X, y).kernel_weights_)
        for p in (1.0, 2.0, np.inf)
    ]
    assert counts[0] < len(KERNELS) / 2
    assert counts[1:] == [len(KERNELS)] * 2


@pytest.mark.parametrize("kind", [LpMKLClassifier, FixedWeightsMKLClassifier])
@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_integer_weights_equal_repetition_to_the_last_digits(kind, loss):
    X, y = binary()
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, len(y))
    copies = rng.permutation(np.repeat(np.arange(len(y)), weights))
    model = kind(KERNELS, loss=loss)
    by_weight = clone(model).fit(X, y, weights)
    by_copies = clone(model).fit(X[copies], y[copies])
    assert by_weight.objective_ == pytest.approx(by_copies.objective_, rel=1e-12)
    np.testing.assert_allclose(
        by_weight.decision_function(X), by_copies.decision_function(X), rtol=1e-9
    )
    summed = np.bincount(copies, by_copies.dual_coef_, minlength=len(y))
    np.testing.assert_allclose(by_weight.dual_coef_, summed, atol=1e-12)
    assert set(copies[by_copies.support_]) == set(by_weight.support_)


def test_copies_share_their_dual_variable_by_weight():
    X, y = binary()
    X, y = np.vstack([X, X[:5]]), np.concatenate([y, y[:5]])
    weights = np.linspace(0.5, 2.0, len(y))
    model = LpMKLClassifier(KERNELS, C=0.1).fit(X, y, weights)
    dual = model.dual_coef_
    np.testing.assert_allclose(dual[-5:] * weights[:5], dual[:5] * weights[-5:])
    assert np.all(np.abs(dual) <= 0.1 * weights + 1e-12)
    assert np.array_equal(model.support_, np.sort(model.support_))


def test_a_copy_with_the_other_label_stays_apart():
    X, y = binary()
    model = FixedWeightsMKLClassifier(KERNELS, C=1.0, tol=1e-8).fit(
        np.vstack([X, X[:1]]), np.concatenate([y, y[:1] ^ 1])
    )
    total = grams(np.vstack([X, X[:1]]), "trace").sum(axis=0)
    machine = SVC(kernel="precomputed", tol=1e-8)
    machine.fit(total, np.concatenate([y, y[:1] ^ 1]))
    values = machine.decision_function(total)[:-1]
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-3)


def test_the_search_tells_copies_apart_where_folds_do():
    X, y = binary()
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    everyone = np.arange(len(y))
    together = [(everyone[6:], everyone[:6])]
    apart = [(everyone[::2], everyone[1::2])]
    for cv, weights in ((together, [2.0] * (len(y) // 2)), (apart, None)):
        model = LpMKLClassifierCV(KERNELS, Cs=[0.1, 1.0], ps=[2.0], cv=cv, tol=1e-6)
        model.fit(X, y)
        (train, test) = cv[0]
        halves = np.unique(train // 2)
        single = LpMKLClassifier(KERNELS, p=2.0, tol=model.fit_info_["cv_tol"])
        for C, found in zip(
            [0.1, 1.0], model.cv_results_["mean_test_score"], strict=True
        ):
            own = None if weights is None else np.array(weights)[halves]
            by_hand = (
                clone(single).set_params(C=C).fit(X[::2][halves], y[::2][halves], own)
            )
            assert found == pytest.approx(by_hand.score(X[test], y[test]))


def test_class_weights_are_those_of_an_svm():
    X, y = binary()
    settings = {"C": 1.0, "normalize": None, "class_weight": {1: 3.0}, "tol": 1e-10}
    model = FixedWeightsMKLClassifier(KERNELS, **settings).fit(X, y)
    total = grams(X, None).sum(axis=0)
    machine = SVC(kernel="precomputed", class_weight={1: 3.0}, tol=1e-10).fit(total, y)
    np.testing.assert_allclose(
        model.decision_function(X), machine.decision_function(total), atol=1e-4
    )


def test_one_vs_rest_equals_separate_binary_fits():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    model = LpMKLClassifier(KERNELS, p=4 / 3).fit(X, y)
    assert model.kernel_weights_.shape == (3, len(KERNELS))
    for label in range(3):
        one = LpMKLClassifier(KERNELS, p=4 / 3).fit(X, y == label)
        np.testing.assert_allclose(
            model.decision_function(X)[:, label], one.decision_function(X), atol=1e-12
        )
        assert model.objective_[label] == one.objective_
    terms = model.contributions(X)
    np.testing.assert_allclose(
        terms.sum(axis=2) + model.intercept_, model.decision_function(X), atol=1e-10
    )


def test_probabilities_are_those_of_the_logistic_model():
    X, y = binary()
    model = LpMKLClassifier(KERNELS, 0.5, loss="log_loss").fit(X, y)
    f = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-f)))
    for kind in (LpMKLClassifier, FixedWeightsMKLClassifier, LpMKLClassifierCV):
        assert not hasattr(kind(KERNELS), "predict_proba")


def test_precomputed_kernels_give_the_same_model():
    X, y = binary()
    K = build_stack(KERNELS, X).stack.columns(np.arange(len(y)))
    on_data = LpMKLClassifier(KERNELS, tol=1e-8).fit(X, y)
    on_grams = LpMKLClassifier("precomputed", tol=1e-8).fit(stack_grams(K), y)
    assert on_grams.objective_ == pytest.approx(on_data.objective_, rel=1e-7)
    np.testing.assert_allclose(
        on_grams.decision_function(stack_grams(K)), on_data.decision_function(X),
        atol=1e-3,
    )  # fmt: skip


def test_history_is_in_the_scale_of_the_objective():
    X, y = binary()
    model = LpMKLClassifier(KERNELS, 5.0, 2.0).fit(X, y)
    assert model.history_["objective"][-1] == pytest.approx(model.objective_)
    # Without any kernel all that is left is C times the loss of a constant.
    minority = min(np.bincount(y))
    assert model.history_["objective"][0] == pytest.approx(5.0 * 2.0 * minority)


def test_too_few_iterations_are_reported_with_the_gap():
    X, y = binary()
    with pytest.warns(ConvergenceWarning, match="relative duality gap of .*max_iter"):
        model = LpMKLClassifier(KERNELS, p=1.0, max_iter=1, tol=1e-8).fit(X, y)
    assert model.duality_gap_ > 1e-8


def split_scores(search):
    names = [f"split{k}_test_score" for k in range(search.n_splits_)]
    return np.array([search.cv_results_[name] for name in names])


@pytest.mark.parametrize("ps", [(1.0, 2.0, np.inf), (1.0,)])
def test_the_search_equals_refits_by_hand(ps):
    X, y = regression(40)
    splits = list(KFold(3, shuffle=True, random_state=0).split(X))
    search = LpMKLRegressorCV(KERNELS, Cs=[1.0, 0.1, 10], ps=ps, cv=splits, tol=1e-9)
    search.fit(X, y)
    expected = [
        [
            LpMKLRegressor(KERNELS, C, p, tol=1e-9)
            .fit(X[train], y[train])
            .score(X[test], y[test])
            for C in (0.1, 1.0, 10.0)
            for p in sorted(ps)
        ]
        for train, test in splits
    ]
    known = np.isfinite(search.cv_results_["mean_test_score"])
    assert known.sum() >= known.size - 1
    np.testing.assert_allclose(
        split_scores(search)[:, known], np.array(expected)[:, known], atol=1e-3
    )
    best = np.argmax(np.mean(expected, axis=0))
    C, p = (search.cv_results_[f"param_{name}"][best] for name in ("C", "p"))
    assert search.best_params_ == {"C": C, "p": p}
    assert C * y.std() == search.C_
    alone = LpMKLRegressor(KERNELS, C, p, tol=1e-9).fit(X, y)
    assert search.objective_ == pytest.approx(alone.objective_, rel=1e-8)
    np.testing.assert_allclose(search.predict(X), alone.predict(X), atol=1e-3)
    at = list(search.Cs_).index(C)
    np.testing.assert_allclose(1.0 / search.path_.alphas, search.Cs_[: at + 1])
    assert search.path_.objectives[0, at] == pytest.approx(search.objective_)


def test_every_p_is_tried_with_values_of_c_around_the_best_of_the_next_larger_one():
    X, y = regression(60)
    Cs, ps = np.logspace(-3, 4, 8), (1.0, 4 / 3, 2.0, np.inf)
    search = LpMKLRegressorCV(KERNELS, Cs=Cs, ps=ps, cv=3).fit(X, y)
    means = search.cv_results_["mean_test_score"].reshape(Cs.size, len(ps))
    last = int(np.nanargmax(means[:, -1]))
    for scores in means.T[-2::-1]:
        known = np.flatnonzero(np.isfinite(scores))
        best = int(np.nanargmax(scores))
        end = max(last, best) + 1
        expected = np.arange(max(0, last - 1), min(end, Cs.size - 1) + 1)
        np.testing.assert_array_equal(known, expected)
        last = best
    assert np.isnan(means).sum() > means.size // 4


def test_weights_and_probabilities_enter_the_search():
    X, y = binary()
    weights = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    splits = list(StratifiedKFold(3).split(X, y))
    settings = {"loss": "log_loss", "class_weight": "balanced", "tol": 1e-8}
    search = LpMKLClassifierCV(
        KERNELS, Cs=[0.3, 3.0], ps=[2.0], cv=splits, scoring="neg_log_loss", **settings
    ).fit(X, y, weights)
    expected = []
    for train, test in splits:
        row = []
        for C in (0.3, 3.0):
            model = LpMKLClassifier(KERNELS, C, 2.0, **settings)
            model.fit(X[train], y[train], weights[train])
            probabilities = model.predict_proba(X[test])
            row.append(-log_loss(y[test], probabilities, sample_weight=weights[test]))
        expected.append(row)
    np.testing.assert_allclose(split_scores(search), expected, atol=1e-3)


def test_ties_go_to_the_better_loss():
    X, y = binary()
    search = LpMKLClassifierCV(
        KERNELS, Cs=[2.0, 0.5], ps=[2.0, 4 / 3], cv=2, scoring=lambda *data: 0.0
    ).fit(X, y)
    losses = search.cv_results_["mean_test_loss"]
    assert search.best_index_ == np.nanargmin(losses)
    chosen = {"C": search.C_, "p": search.p_}
    assert search.cv_results_["params"][search.best_index_] == chosen


def test_a_search_without_refit_has_a_choice_but_no_model():
    X, y = binary()
    search = LpMKLClassifierCV(KERNELS, Cs=[1.0], ps=[2.0], cv=2, refit=False)
    assert search.fit(X, y).best_params_ == {"C": 1.0, "p": 2.0}
    assert not hasattr(search, "C_")
    with pytest.raises(NotFittedError, match="refit=False"):
        search.predict(X)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_a_callback_that_stops_a_search_keeps_what_is_done():
    X, y = binary()
    search = LpMKLClassifierCV(KERNELS, Cs=[0.1, 1.0, 10.0], ps=[1.0, 2.0], cv=2)
    lines = []
    search.fit(X, y, callback=lambda line: lines.append(line))
    half = len(lines) // 2
    seen = []

    def stop(line):
        seen.append(line)
        return len(seen) == half

    with pytest.warns(ConvergenceWarning, match="gap above the tolerance"):
        stopped = clone(search).fit(X, y, callback=stop)
    assert len(seen) == half
    scores = split_scores(stopped)
    done = np.isfinite(scores)
    assert done.any()
    assert not done.all()
    np.testing.assert_array_equal(scores[done], split_scores(search)[done])
    tried = done.any(axis=0)
    finished = done[:, tried].all(axis=1)
    assert stopped.best_score_ == scores[finished].mean(axis=0)[tried].max()
    assert stopped.status_ == "stopped"
    assert np.isfinite(stopped.duality_gap_)
    with pytest.raises(RuntimeError, match="before any candidate was scored"):
        clone(search).fit(X, y, callback=lambda line: True)


def test_grid_search_chooses_the_p_of_the_better_score():
    X, y = binary()
    search = GridSearchCV(LpMKLClassifier(KERNELS), {"p": [1.0, np.inf]}, cv=2)
    search.fit(X, y)
    scores = [
        np.mean(cross_val_score(LpMKLClassifier(KERNELS, p=p), X, y, cv=2))
        for p in (1.0, np.inf)
    ]
    assert scores[0] != scores[1]
    assert search.best_params_["p"] == (1.0, np.inf)[int(np.argmax(scores))]


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_displays_show_the_fitted_model():
    pytest.importorskip("matplotlib")
    X, y = binary()
    search = LpMKLClassifierCV(KERNELS, Cs=[0.1, 1.0, 10.0], ps=[1.0, 2.0], cv=2)
    search.fit(X, y)
    path = RegularizationPathDisplay.from_estimator(search)
    scores = search.cv_results_["mean_test_score"][
        search.cv_results_["param_p"] == search.p_
    ]
    np.testing.assert_allclose(path.scores.mean(axis=1), scores)
    assert path.score_ax_.get_xlabel().startswith("1 / C")
    assert path.best_alpha == 1.0 / search.C_
    model = LpMKLClassifier(KERNELS).fit(X, y)
    assert len(KernelWeightsDisplay.from_estimator(model, max_kernels=4).ax_.patches)
    curve = ConvergenceDisplay.from_estimator(model).line_[0].get_ydata()
    assert curve[-1] == pytest.approx(model.duality_gap_)


@pytest.mark.parametrize(
    "model",
    [
        LpMKLClassifier(KERNELS, loss="log_loss"),
        LpMKLClassifierCV(KERNELS, Cs=[1.0], ps=[1.0, 2.0], cv=2, loss="log_loss"),
        FixedWeightsMKLClassifier(KERNELS, loss="log_loss"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_saved_models_predict_the_same(model, tmp_path):
    pytest.importorskip("skops")
    X, y = binary()
    save(model.fit(X, y), tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.objective_ == model.objective_


BAD = [
    ({"C": 0.0}, r"LpMKL\w+: C must be None, or a finite number above 0, got 0\.0"),
    ({"C": -1.0}, "C must be None, or a finite number above 0, got -1"),
    ({"C": np.inf}, "C must be None, or a finite number above 0, got inf"),
    ({"p": 0.5}, r"p must be a number of at least 1, or infinity, got 0\.5"),
    ({"p": np.nan}, "p must be a number of at least 1, or infinity, got nan"),
    ({"p": "2"}, "p must be a number of at least 1, or infinity, got '2'"),
    ({"p": True}, "p must be a number of at least 1"),
    ({"solver": "smo"}, "solver must be one of 'auto', 'newton', .*, got 'smo'"),
    ({"solver": "silp"}, "solver='silp' supports p=1 only, got p=2: pass p=1, or"),
    ({"solver": "simple", "p": np.inf}, "solver='simple' supports p=1 only, got p=inf"),
    ({"max_iter": 0}, "max_iter must be None, or an integer of at least 1, got 0"),
    (
        {"loss": "absolute"},
        "loss must be one of '.*', or a loss object, got 'absolute'",
    ),
    ({"tol": -1.0}, "tol must be a finite number above 0"),
]


@pytest.mark.parametrize("kind", [LpMKLClassifier, LpMKLRegressor])
@pytest.mark.parametrize(("settings", "message"), BAD)
def test_bad_parameters_get_a_sentence(kind, settings, message):
    X, y = binary()
    model = kind(KERNELS, **settings)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert set(vars(model)) == set(model.get_params(deep=False))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"Cs": []}, "Cs must be None, or a sequence of finite numbers above 0"),
        (
            {"Cs": [1.0, -1.0]},
            "Cs must be None, or a sequence of finite numbers above 0",
        ),
        ({"Cs": 1.0}, "Cs must be None, or a sequence of finite numbers above 0"),
        ({"ps": [2.0, 0.5]}, r"ps must be a sequence of numbers of at least 1 \(or"),
        ({"solver": "hessian"}, "solver='hessian' supports p=1 only, got p=1.33"),
        ({"scoring": lambda *data: np.nan}, "No C and p has a finite score in every"),
    ],
)
def test_bad_settings_of_a_search_get_a_sentence(settings, message):
    X, y = binary()
    with pytest.raises(ValueError, match=message):
        LpMKLClassifierCV(KERNELS, **{"Cs": [1.0], "cv": 2} | settings).fit(X, y)


def test_there_is_no_strength_that_removes_all_kernels():
    X, y = binary()
    with pytest.raises(ValueError, match="has no path over alpha"):
        regularization_path(LpMKLClassifier(KERNELS), X, y)


@pytest.mark.parametrize("make", [LpMKLClassifier, FixedWeightsMKLClassifier])
def test_the_default_strength_does_not_depend_on_the_number_of_kernels(make):
    X, y = binary()
    one, many = (make(n * [KERNELS[0]]).fit(X, y) for n in (1, 16))
    difference = one.decision_function(X) - many.decision_function(X)
    assert np.abs(difference).max() < 0.01


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("normalize", ["variance", ["variance", "center"]])
@pytest.mark.parametrize("storage", ["dense", "dense32", "lazy", "low_rank"])
def test_the_default_c_does_not_depend_on_origins_and_storage(storage, normalize):
    X = np.random.default_rng(0).normal(size=(60, 2))
    kernels = [LinearKernel(), PolynomialKernel(2, scale=1e-4)]
    model = LpMKLClassifier(kernels, storage=storage, normalize=normalize, max_iter=5)
    y = X[:, 0] > 0.2
    C = LpMKLClassifier(kernels).fit(X, y).C_
    np.testing.assert_allclose(model.fit(X + 2e4, y).C_, C, rtol=1e-12)
