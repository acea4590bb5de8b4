"""The sparse MKL estimators: what they fit, predict, and leave alone."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_regression

from multikernel.certificates import duality_gap, primal_value
from multikernel.estimators import SpicyMKLClassifier, SpicyMKLRegressor
from multikernel.exceptions import (
    ConvergenceWarning,
    DegenerateKernelWarning,
    DictionaryWarning,
    SearchWarning,
)
from multikernel.gram import build_stack
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ListDictionary,
    ParameterGrid,
    PolynomialKernel,
)
from multikernel.linalg import tables
from multikernel.losses import LOSSES, weighted
from multikernel.problem import Problem, Status
from multikernel.regularizers import BlockElasticNet, BlockL1
from multikernel.solvers import SpicyMKL

KERNELS = ParameterGrid(
    [GaussianKernel(0.7), GaussianKernel(2.0), PolynomialKernel(2)],
    [slice(None), 0, 1, 2, 3],
)


def binary(n=80, seed=0):
    X, y = make_classification(
        n, 4, n_informative=3, n_redundant=0, random_state=seed, flip_y=0.05
    )
    return (X - X.mean(0)) / X.std(0), y


def regression(n=70, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 4))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2


@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_objective_is_that_of_the_documented_problem(loss, l1_ratio, fit_intercept):
    X, y = binary()
    alpha = 0.02
    model = SpicyMKLClassifier(
        KERNELS,
        alpha,
        loss=loss,
        l1_ratio=l1_ratio,
        fit_intercept=fit_intercept,
        tol=1e-6,
    ).fit(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    terms, f = model.contributions(X), model.decision_function(X)
    built = build_stack(KERNELS, X, normalize="variance")
    norms = []
    for column, m in enumerate(model.active_kernels_):
        K = built.stack.take(np.array([m])).columns(np.arange(len(y)))[0]
        # ||f||^2 = f^T K^+ f for f in the range of K
        coefs = np.linalg.lstsq(K, terms[:, column], rcond=1e-12)[0]
        norms.append(np.sqrt(terms[:, column] @ coefs))
    norms = np.array(norms)
    penalty = l1_ratio * norms.sum() + 0.5 * (1 - l1_ratio) * (norms**2).sum()
    mean_loss = LOSSES[loss]().value(signs, f).mean()
    assert model.objective_ == pytest.approx(mean_loss + alpha * penalty, rel=1e-5)
    assert model.duality_gap_ <= 1e-6
    np.testing.assert_allclose(
        model.kernel_weights_[model.active_kernels_], norms / norms.sum(), rtol=1e-3
    )
    if not fit_intercept:
        assert model.intercept_ == 0.0


@pytest.mark.parametrize("loss", ["squared_error", "epsilon_insensitive"])
def test_the_regressor_solves_the_problem_in_the_summed_scale(loss):
    X, y = regression()
    model = SpicyMKLRegressor(
        KERNELS, 0.05, loss=loss, epsilon=0.2, l1_ratio=0.7, tol=1e-6
    ).fit(X, y)
    built = build_stack(KERNELS, X, normalize="variance")
    named = loss == "epsilon_insensitive"
    own = LOSSES[loss](0.2 * y.std()) if named else LOSSES[loss]()
    alpha = 0.05 * (1.0 if named else y.std())
    # alpha (0.7 |f| + 0.3 |f|^2 / 2s), whatever the loss.
    whole = 0.7 + 0.3 / y.std()
    penalty = BlockElasticNet(alpha * whole * len(y), 0.7 / whole)
    problem = Problem(built.stack, y, own, penalty)
    solution = SpicyMKL(tol=1e-6).solve(problem)
    assert model.objective_ == pytest.approx(solution.objective / len(y), rel=2e-6)
    assert duality_gap(problem, solution) <= 1e-6


@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_contributions_sum_to_the_decision_function(loss):
    X, y = binary()
    model = SpicyMKLClassifier(KERNELS, 0.01, loss=loss, normalize="center").fit(X, y)
    new = binary(seed=3)[0]
    terms = model.contributions(new)
    assert terms.shape == (len(new), len(model.active_kernels_))
    np.testing.assert_allclose(
        terms.sum(axis=1) + model.intercept_, model.decision_function(new), atol=1e-10
    )


def test_contributions_of_several_classes_have_an_axis_for_them():
    X, y = load_iris(return_X_y=True)
    model = SpicyMKLClassifier(KERNELS).fit(X, y)
    terms = model.contributions(X[::3])
    assert terms.shape == (50, 3, len(model.active_kernels_))
    np.testing.assert_allclose(
        terms.sum(axis=2) + model.intercept_,
        model.decision_function(X[::3]),
        atol=1e-10,
    )


@pytest.mark.parametrize("normalize", [None, "trace", "variance", "cosine", "center"])
def test_prediction_on_the_training_samples_equals_the_fit(normalize):
    X, y = regression()
    model = SpicyMKLRegressor(KERNELS, 0.05, normalize=normalize).fit(X, y)
    built = build_stack(KERNELS, X, normalize=normalize)
    problem = Problem(
        built.stack, y, LOSSES["squared_error"](), BlockL1(model.alpha_ * len(y))
    )
    solution = SpicyMKL().solve(problem)
    images = built.stack.take(solution.active).block_matvec(solution.coefs)
    expected = images.sum(axis=0) + solution.intercept
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-8, atol=1e-10)
    norms = solution.norms
    objective = primal_value(problem, norms, expected) / len(y)
    assert model.objective_ == pytest.approx(objective, rel=1e-9)


def test_one_vs_rest_equals_separate_binary_fits():
    X, y = load_iris(return_X_y=True)
    model = SpicyMKLClassifier(KERNELS, 0.02, class_weight={1: 2.0}).fit(X, y)
    weights = np.where(y == 1, 2.0, 1.0)
    for label in range(3):
        one = SpicyMKLClassifier(KERNELS, 0.02).fit(X, y == label, weights)
        np.testing.assert_allclose(
            model.decision_function(X)[:, label], one.decision_function(X), atol=1e-12
        )
        np.testing.assert_array_equal(model.kernel_weights_[label], one.kernel_weights_)
        np.testing.assert_array_equal(model.dual_coef_[label], one.dual_coef_)
        assert model.objective_[label] == one.objective_
        lines = model.history_[model.history_["output"] == label]
        np.testing.assert_array_equal(lines["duality_gap"], one.history_["duality_gap"])
    union = np.flatnonzero(model.kernel_weights_.any(axis=0))
    np.testing.assert_array_equal(model.active_kernels_, union)


@pytest.mark.parametrize("normalize", ["trace", "variance", "center"])
@pytest.mark.parametrize("loss", ["log_loss", "hinge"])
def test_integer_weights_equal_repetition(loss, normalize):
    X, y = binary(50)
    weights = np.random.default_rng(1).integers(0, 4, 50)
    settings = {"loss": loss, "normalize": normalize, "tol": 1e-8, "max_iter": 300}
    model = SpicyMKLClassifier(KERNELS, 0.03, **settings)
    by_weight = clone(model).fit(X, y, weights)
    by_copies = clone(model).fit(X.repeat(weights, axis=0), y.repeat(weights))
    assert by_weight.objective_ == pytest.approx(by_copies.objective_, rel=1e-7)
    np.testing.assert_allclose(
        by_weight.decision_function(X), by_copies.decision_function(X), atol=2e-3
    )
    assert not by_weight.dual_coef_[weights == 0].any()
    assert not np.isin(np.flatnonzero(weights == 0), by_weight.support_).any()
    # The dual variable of a weight is the sum of those of its copies.
    copies = np.repeat(np.arange(50), weights)
    summed = np.bincount(copies, by_copies.dual_coef_, minlength=50)
    np.testing.assert_allclose(by_weight.dual_coef_, summed, atol=2e-3)


def test_class_weights_multiply_sample_weights():
    X, y = binary()
    sample_weight = np.linspace(0.5, 1.5, len(y))
    own = SpicyMKLClassifier(KERNELS, class_weight={0: 3.0}).fit(X, y, sample_weight)
    by_hand = SpicyMKLClassifier(KERNELS).fit(
        X, y, sample_weight * np.where(y == 0, 3.0, 1.0)
    )
    np.testing.assert_array_equal(
        own.decision_function(X), by_hand.decision_function(X)
    )


def test_balanced_classes_have_the_same_total_weight():
    X, y = binary()
    keep = np.flatnonzero((y == 0) | (np.arange(len(y)) % 4 == 0))
    X, y = X[keep], y[keep]
    sample_weight = np.linspace(0.5, 1.5, len(y))
    totals = np.array([sample_weight[y == label].sum() for label in (0, 1)])
    factor = sample_weight.sum() / (2 * totals)
    balanced = SpicyMKLClassifier(KERNELS, class_weight="balanced")
    by_hand = SpicyMKLClassifier(KERNELS).fit(X, y, sample_weight * factor[y])
    np.testing.assert_allclose(
        balanced.fit(X, y, sample_weight).decision_function(X),
        by_hand.decision_function(X),
        atol=1e-9,
    )


def test_weights_that_are_all_equal_change_nothing():
    X, y = regression()
    plain = SpicyMKLRegressor(KERNELS, 0.05).fit(X, y)
    scaled = SpicyMKLRegressor(KERNELS, 0.05).fit(X, y, np.full(len(y), 4.0))
    np.testing.assert_allclose(plain.predict(X), scaled.predict(X), atol=2e-2)
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=2e-3)


def test_probabilities_are_those_of_the_logistic_model():
    X, y = binary()
    model = SpicyMKLClassifier(KERNELS).fit(X, y)
    expected = 1.0 / (1.0 + np.exp(-model.decision_function(X)))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)
    np.testing.assert_allclose(
        np.exp(model.predict_log_proba(X)), model.predict_proba(X)
    )
    hinge = SpicyMKLClassifier(KERNELS, loss="hinge").fit(X, y)
    assert not hasattr(hinge, "predict_proba")
    with pytest.raises(AttributeError, match="predict_proba"):
        hinge.predict_proba(X)


def test_probabilities_of_several_classes_sum_to_one_even_far_away():
    X, y = load_iris(return_X_y=True)
    model = SpicyMKLClassifier([LinearKernel()], 1e-4).fit(X, y)
    probabilities = model.predict_proba(1e4 * X)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_only_active_kernels_are_evaluated_at_prediction():
    calls = []

    class Counting(GaussianKernel):
        def __call__(self, X, Y=None):
            calls.append(self.sigma)
            return super().__call__(X, Y)

    kernels = [ColumnKernel(Counting(1.0 + c / 10), c) for c in range(4)]
    X = regression()[0]
    model = SpicyMKLRegressor(kernels, 0.3).fit(X, np.sin(2 * X[:, 2]))
    calls.clear()
    model.predict(X)
    np.testing.assert_array_equal(model.active_kernels_, [2])
    assert calls == [1.2]


def test_no_gram_matrix_is_kept():
    X, y = binary(60)
    model = SpicyMKLClassifier(KERNELS).fit(X, y)
    assert len(pickle.dumps(model)) < 60 * 60 * 8


def test_only_support_samples_are_kept():
    X, y = binary(60)
    weights = (np.arange(60) % 3 > 0).astype(float)
    model = SpicyMKLClassifier(KERNELS).fit(X, y, weights)
    assert model._state.model.grams.X.shape == (len(model.support_), 4)
    assert len(model.support_) <= 40


def test_a_fit_leaves_parameters_and_inputs_alone():
    X, y = binary()
    weights = np.linspace(0.5, 1.0, len(y))
    for array in (X, y, weights):
        array.setflags(write=False)
    kernels = [GaussianKernel(1.0), LinearKernel()]
    model = SpicyMKLClassifier(kernels, class_weight={0: 2.0})
    before = model.get_params()
    model.fit(X, y, weights)
    after = model.get_params()
    assert all(after[name] is before[name] for name in before)


def test_pickling_keeps_predictions():
    X, y = load_iris(return_X_y=True)
    model = SpicyMKLClassifier(KERNELS).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.kernel_names_ == model.kernel_names_


def test_fits_in_several_threads_agree():
    X, y = binary(120)
    model = SpicyMKLClassifier(KERNELS, 0.005, tol=1e-6)
    alone = clone(model).fit(X, y)
    with ThreadPoolExecutor(2) as pool:
        fits = list(pool.map(lambda _: clone(model).fit(X, y), range(4)))
    for fit in fits:
        np.testing.assert_allclose(
            fit.decision_function(X), alone.decision_function(X), atol=1e-8
        )


def test_above_alpha_max_the_model_is_constant():
    X, y = binary()
    model = SpicyMKLClassifier(KERNELS, 10.0)
    with pytest.warns(DictionaryWarning, match="no active kernel"):
        model.fit(X, y)
    assert model.active_kernels_.size == 0
    assert model.contributions(X).shape == (len(y), 0)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean(), rtol=1e-6)
    assert not model.kernel_weights_.any()


def test_too_few_iterations_are_reported_with_the_gap():
    X, y = binary()
    model = SpicyMKLClassifier(KERNELS, 0.001, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"gap of \d\.\d\de-\d\d\. The iter"):
        model.fit(X, y)
    assert Status(model.status_message_) is Status.MAX_ITER
    assert model.duality_gap_ > 1e-9


def test_history_ends_at_the_fitted_values():
    X, y = binary()
    model = SpicyMKLClassifier(KERNELS, 0.005, tol=1e-7).fit(X, y)
    last = model.history_[-1]
    assert last["objective"] == pytest.approx(model.objective_)
    assert last["duality_gap"] == pytest.approx(model.duality_gap_)
    assert last["n_active"] == model.active_kernels_.size
    assert (np.diff(model.history_["seconds"]) >= 0).all()
    assert Status(model.status_message_) is Status.CONVERGED


def test_a_callback_sees_every_line_and_can_stop():
    X, y = binary()
    lines = []

    def watch(line):
        lines.append(line)
        return len(lines) == 2

    model = SpicyMKLClassifier(KERNELS, 0.001, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="callback"):
        model.fit(X, y, callback=watch)
    assert [line.iteration for line in lines] == [0, 1]
    assert Status(model.status_message_) is Status.STOPPED
    assert len(model.history_) == 2


def test_an_interrupt_leaves_the_estimator_as_it_was():
    X, y = binary()

    def interrupt(line):
        raise KeyboardInterrupt

    fresh = SpicyMKLClassifier(KERNELS)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y, callback=interrupt)
    assert set(vars(fresh)) == set(fresh.get_params(deep=False))

    fitted = SpicyMKLClassifier(KERNELS).fit(X[:, :4], y)
    before = dict(vars(fitted))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(np.hstack([X, X]), y, callback=interrupt)
    assert vars(fitted).keys() == before.keys()
    assert all(vars(fitted)[name] is before[name] for name in before)


def test_verbose_writes_progress_to_standard_error_only(capsys):
    X, y = binary()
    SpicyMKLClassifier(KERNELS, verbose=1).fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "SpicyMKLClassifier: iteration 1, " in captured.err
    SpicyMKLClassifier(KERNELS).fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_degenerate_kernels_are_named():
    X, y = regression()
    X[:, 3] = 0.0
    kernels = [GaussianKernel(1.0), ColumnKernel(LinearKernel(), 3)]
    with pytest.warns(DegenerateKernelWarning, match=r"1 of 2 kernels.*linear\(\)\[x3"):
        model = SpicyMKLRegressor(kernels, 0.05).fit(X, y)
    np.testing.assert_array_equal(model.active_kernels_, [0])


def test_kernel_names_are_those_of_the_dictionary():
    X, y = binary()
    names = ListDictionary([GaussianKernel(1.0), LinearKernel()], ["near", "far"])
    assert SpicyMKLClassifier(names).fit(X, y).kernel_names_ == ["near", "far"]
    default = SpicyMKLClassifier().fit(X, y)
    assert len(default.kernel_names_) == default.kernel_weights_.size == 8 + 6
    assert not hasattr(SpicyMKLClassifier(), "kernel_names_")


@pytest.mark.parametrize("storage", ["dense32", "lazy"])
@pytest.mark.parametrize("normalize", ["trace", "center"])
def test_storage_does_not_change_the_model(storage, normalize):
    X, y = binary()
    dense = SpicyMKLClassifier(KERNELS, normalize=normalize, tol=1e-6).fit(X, y)
    other = clone(dense).set_params(storage=storage).fit(X, y)
    np.testing.assert_allclose(
        other.decision_function(X), dense.decision_function(X), atol=1e-2
    )
    assert other.objective_ == pytest.approx(dense.objective_, rel=1e-5)


def test_prediction_in_chunks_equals_prediction_at_once(monkeypatch):
    X, y = binary()
    model = SpicyMKLClassifier(KERNELS).fit(X, y)
    whole, terms = model.decision_function(X), model.contributions(X)
    monkeypatch.setattr(tables, "CHUNK_BYTES", 8 * len(model.support_) * 7)
    np.testing.assert_allclose(model.decision_function(X), whole, atol=1e-12)
    np.testing.assert_allclose(model.contributions(X), terms, atol=1e-12)


def test_labels_of_any_type_come_back():
    X, y = binary()
    numbers = SpicyMKLClassifier(KERNELS).fit(X, y).predict(X)
    for labels in (np.array(["no", "yes"]), np.array([False, True]), np.array([3, 7])):
        model = SpicyMKLClassifier(KERNELS).fit(X, labels[y])
        np.testing.assert_array_equal(model.classes_, labels)
        np.testing.assert_array_equal(model.predict(X), labels[numbers])


def test_a_refit_forgets_the_feature_names_of_a_frame():
    pandas = pytest.importorskip("pandas")
    X, y = make_regression(30, 4, random_state=0)
    model = SpicyMKLRegressor(KERNELS, 0.02)
    model.fit(pandas.DataFrame(X, columns=list("abcd")), y)
    assert hasattr(model, "feature_names_in_")
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")


def test_the_losses_share_one_definition_of_weights():
    X, y = regression()
    weights = np.linspace(0.2, 2.0, len(y))
    model = SpicyMKLRegressor(KERNELS, 0.05, tol=1e-6).fit(X, y, weights)
    built = build_stack(KERNELS, X, normalize="variance", sample_weight=weights)
    problem = Problem(
        built.stack,
        y,
        weighted(LOSSES["squared_error"](), weights),
        BlockL1(model.alpha_ * weights.sum()),
    )
    solution = SpicyMKL(tol=1e-6).solve(problem)
    assert model.objective_ == pytest.approx(
        solution.objective / weights.sum(), rel=2e-6
    )


def test_a_default_strength_on_many_samples_names_the_search(monkeypatch):
    """A default fit of 300 000 rows had an R2 of 0.80 where boosting had 0.91."""
    monkeypatch.setattr("multikernel.estimators.spicy.method.MANY_SAMPLES", 50)
    X, y = regression()
    with pytest.warns(SearchWarning, match=r"70 samples.*SpicyMKLRegressorCV.*--cv 5"):
        SpicyMKLRegressor(KERNELS).fit(X, y)
    # Any other strength was chosen, and few samples are what the default is made for.
    SpicyMKLRegressor(KERNELS, alpha=0.01).fit(X, y)
    SpicyMKLRegressor(KERNELS).fit(X[:40], y[:40])
