"""Greedy estimators: the solver's path, one selection for all outputs, prefixes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import GroupOMPClassifier, GroupOMPRegressor, load, save
from multikernel.estimators import stack_grams
from multikernel.exceptions import ConvergenceWarning
from multikernel.gram import build_stack
from multikernel.kernels import (
    ColumnKernel,
    GaussianKernel,
    LinearKernel,
    ParameterGrid,
    PolynomialKernel,
)
from multikernel.losses import HingeLoss, LogisticLoss, SquaredLoss, weighted
from multikernel.problem import Problem
from multikernel.regularizers import BlockElasticNet
from multikernel.solvers import GroupOMP

KERNELS = ParameterGrid(
    [GaussianKernel(0.7), GaussianKernel(2.0), PolynomialKernel(2)],
    [slice(None), 0, 1, 2, 3],
)
LINEAR = ParameterGrid([LinearKernel()], [0, 1, 2, 3, slice(0, 2)])
LOSSES = {"squared_error": SquaredLoss, "log_loss": LogisticLoss, "hinge": HingeLoss}
FITTED = (
    "selection_order_",
    "improvements_",
    "kernel_weights_",
    "active_kernels_",
    "dual_coef_",
    "intercept_",
    "support_",
    "objective_",
    "n_iter_",
)


def binary(n=50):
    X, y = make_classification(
        n, 4, n_informative=3, n_redundant=0, random_state=0, flip_y=0.1
    )
    return (X - X.mean(0)) / X.std(0), y


def regression(n=50, n_outputs=1):
    random = np.random.default_rng(0)
    X = random.standard_normal((n, 4))
    signals = [np.sin(2 * X[:, 0]), X[:, 1] ** 2, X[:, 2] - X[:, 3]][:n_outputs]
    y = np.column_stack(signals) + 0.2 * random.standard_normal((n, n_outputs))
    return X, y[:, 0] if n_outputs == 1 else y


def three_classes():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X[::3]), np.array(["a", "b", "c"])[y[::3]]


def solver_path(X, targets, loss, alpha, n_kernels, weights=None):
    stack = build_stack(KERNELS, X, normalize="variance", sample_weight=weights).stack
    total = len(X) if weights is None else weights.sum()
    problem = Problem(
        stack, targets, weighted(loss, weights), BlockElasticNet(alpha * total, 0.0)
    )
    return GroupOMP(max_kernels=n_kernels).path(problem), total


@pytest.mark.parametrize("loss", LOSSES)
def test_classifier_follows_the_path_of_the_solver(loss):
    X, y = binary()
    model = GroupOMPClassifier(KERNELS, 0.03, max_kernels=4, loss=loss).fit(X, y)
    path, total = solver_path(X, 2.0 * y - 1.0, LOSSES[loss](), 0.03, 4)
    np.testing.assert_array_equal(model.selection_order_, path.order)
    np.testing.assert_allclose(model.improvements_, path.improvements / total)
    np.testing.assert_allclose(model.history_["objective"], path.objectives / total)
    np.testing.assert_allclose(model.dual_coef_, path.solution().dual)
    assert model.status_ == "selected"
    assert np.isnan(model.duality_gap_)


def test_weights_are_those_of_the_problem():
    X, y = regression()
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    model = GroupOMPRegressor(KERNELS, 0.03, max_kernels=4, tol=1e-3)
    model.fit(X, y, weights)
    kept = weights > 0
    path, total = solver_path(X[kept], y[kept], SquaredLoss(), 0.03, 4, weights[kept])
    np.testing.assert_array_equal(model.selection_order_, path.order)
    np.testing.assert_allclose(model.objective_, path.objectives[-1] / total)
    assert not model.dual_coef_[~kept].any()
    repeated = np.repeat(np.arange(len(y)), weights.astype(int))
    copies = clone(model).fit(X[repeated], y[repeated])
    np.testing.assert_array_equal(copies.selection_order_, model.selection_order_)
    np.testing.assert_allclose(copies.predict(X), model.predict(X), atol=1e-9)


def test_predictions_are_those_of_the_expansion():
    X, y = regression()
    model = GroupOMPRegressor(KERNELS, 0.03, max_kernels=3, normalize=None).fit(X, y)
    new = X[:7] + 0.1
    expansion = model.dual_coef_ / (0.03 * len(y))
    terms = [KERNELS[m](new, X) @ expansion for m in model.active_kernels_]
    np.testing.assert_allclose(model.contributions(new), np.transpose(terms))
    np.testing.assert_allclose(model.predict(new), sum(terms) + model.intercept_)


def test_several_targets_share_one_selection():
    X, y = regression(n_outputs=3)
    model = GroupOMPRegressor(KERNELS, 0.03, max_kernels=5).fit(X, y)
    path, _ = solver_path(X, y, SquaredLoss(), 0.03, 5)
    np.testing.assert_array_equal(model.selection_order_, path.order)
    assert model.kernel_weights_.shape == (15,)
    assert model.predict(X[:4]).shape == (4, 3)
    assert model.dual_coef_.shape == (3, 50)
    # The selection is shared, the fits are not: on the same kernels each target has
    # the fit of its own.
    alone = [KERNELS[m] for m in model.active_kernels_]
    for k in range(3):
        single = GroupOMPRegressor(alone, 0.03, max_kernels=5, tol=0.0).fit(X, y[:, k])
        np.testing.assert_allclose(single.predict(X), model.predict(X)[:, k], atol=1e-8)


def test_one_column_of_targets_is_a_vector():
    X, y = regression()
    with pytest.warns(match="column-vector y was passed"):
        model = GroupOMPRegressor(KERNELS, max_kernels=2).fit(X, y[:, None])
    assert model.predict(X).shape == (50,)


@pytest.mark.parametrize("loss", LOSSES)
def test_several_classes_share_one_selection(loss):
    X, y = three_classes()
    model = GroupOMPClassifier(KERNELS, 0.03, max_kernels=3, loss=loss).fit(X, y)
    signs = np.where(y[:, None] == np.array(["a", "b", "c"]), 1.0, -1.0)
    path, _ = solver_path(X, signs, LOSSES[loss](), 0.03, 3)
    np.testing.assert_array_equal(model.selection_order_, path.order)
    f = model.decision_function(X)
    assert f.shape == (50, 3)
    np.testing.assert_array_equal(model.predict(X), model.classes_[f.argmax(axis=1)])


def cases():
    yield GroupOMPRegressor(KERNELS, 0.03, max_kernels=5, tol=1e-3), regression()
    yield (
        GroupOMPRegressor(KERNELS, 0.03, max_kernels=5, tol=1e-3),
        regression(n_outputs=3),
    )
    yield GroupOMPRegressor(LINEAR, 0.03, max_kernels=4, tol=0.0), regression()
    yield (
        GroupOMPRegressor(KERNELS, 0.03, max_kernels=4, tol=1e-3, normalize="center"),
        (regression()),
    )
    for loss in LOSSES:
        yield GroupOMPClassifier(KERNELS, 0.03, max_kernels=4, loss=loss), binary()
    yield GroupOMPClassifier(KERNELS, 0.03, max_kernels=4), three_classes()


@pytest.mark.parametrize(("model", "data"), list(cases()))
def test_prefixes_equal_refits(model, data):
    X, y = data
    model = clone(model).fit(X, y)
    staged = list(model.staged_predict(X + 0.1))
    assert len(staged) == len(model.selection_order_) + 1
    for k in range(1, len(staged)):
        refit = clone(model).set_params(max_kernels=k).fit(X, y)
        view = model.prefix(k)
        for name in FITTED:
            np.testing.assert_allclose(
                getattr(view, name), getattr(refit, name), atol=1e-9, err_msg=name
            )
        np.testing.assert_array_equal(
            view.history_["objective"], model.history_["objective"][: k + 1]
        )
        assert view.status_ == "selected"
        if y.dtype.kind == "f":
            np.testing.assert_allclose(staged[k], refit.predict(X + 0.1), atol=1e-8)
            np.testing.assert_allclose(view.predict(X + 0.1), staged[k], atol=1e-8)
        else:
            np.testing.assert_array_equal(staged[k], refit.predict(X + 0.1))
            np.testing.assert_array_equal(view.predict(X + 0.1), staged[k])


def test_the_model_without_kernels_is_constant():
    X, y = regression(n_outputs=3)
    model = GroupOMPRegressor(KERNELS, max_kernels=2).fit(X, y)
    empty = model.prefix(0)
    np.testing.assert_allclose(
        empty.predict(X), np.broadcast_to(y.mean(axis=0), y.shape), atol=1e-12
    )
    assert empty.contributions(X).shape == (50, 3, 0)
    assert empty.active_kernels_.size == empty.n_iter_ == 0
    np.testing.assert_allclose(empty.objective_, 0.5 * y.var(axis=0).sum())
    assert model.active_kernels_.size == 2


def test_prefixes_that_were_not_selected_are_refused():
    X, y = regression()
    model = GroupOMPRegressor(KERNELS, max_kernels=2).fit(X, y)
    for wrong in (3, -1):
        message = (
            rf"n_kernels={wrong} is out of range, because .* an integer from 0 to 2"
        )
        with pytest.raises(ValueError, match=message):
            model.prefix(wrong)


def test_stages_of_a_classifier():
    X, y = three_classes()
    model = GroupOMPClassifier(KERNELS, max_kernels=3, loss="log_loss").fit(X, y)
    values = list(model.staged_decision_function(X))
    chances = list(model.staged_predict_proba(X))
    for k in range(4):
        view = model.prefix(k)
        np.testing.assert_allclose(values[k], view.decision_function(X), atol=1e-12)
        np.testing.assert_allclose(chances[k], view.predict_proba(X), atol=1e-12)
    hinge = GroupOMPClassifier(KERNELS, max_kernels=1, loss="hinge").fit(X, y)
    assert not hasattr(hinge, "staged_predict_proba")


def test_the_precision_stops_without_a_warning(recwarn):
    X, y = regression()
    model = GroupOMPRegressor(KERNELS, alpha=1.0, tol=0.05).fit(X, y)
    assert model.status_ == "precise"
    assert 0 < model.n_iter_ < 15
    assert model.improvements_.min() > 0.05 * 0.5 * y.var()
    assert not recwarn.list


def test_callbacks_see_every_model_and_may_stop():
    X, y = regression()
    seen = []

    def stop(line):
        seen.append(line.n_active)
        return line.n_active == 2

    model = GroupOMPRegressor(KERNELS)
    with pytest.warns(ConvergenceWarning, match="with 2 kernels. The callback stopped"):
        model.fit(X, y, callback=stop)
    assert seen == [0, 1, 2]
    assert model.status_ == "stopped"
    assert model.n_iter_ == 2


def test_progress_lines_have_no_gap(capsys):
    X, y = regression()
    GroupOMPRegressor(KERNELS, max_kernels=1, verbose=1).fit(X, y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "storage 'dense'" in lines[0]
    assert lines[2].endswith("1 active kernels")
    assert not any("gap" in line for line in lines)


@pytest.mark.parametrize("normalize", [None, "trace", "variance", ["center", "trace"]])
@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_low_rank_equals_dense(normalize, loss):
    X, y = binary()
    model = GroupOMPClassifier(LINEAR, 0.03, loss=loss, normalize=normalize, tol=0.0)
    dense = clone(model).set_params(storage="dense").fit(X, y)
    for storage in ("low_rank", "auto"):
        thin = clone(model).set_params(storage=storage).fit(X, y)
        np.testing.assert_array_equal(thin.selection_order_, dense.selection_order_)
        np.testing.assert_allclose(
            thin.decision_function(X), dense.decision_function(X), atol=1e-5
        )


def test_landmarks_select_what_whole_matrices_do():
    X, y = binary()
    whole, thin = (
        GroupOMPClassifier(KERNELS, storage=storage).fit(X, y)
        for storage in ("dense", "low_rank")
    )
    np.testing.assert_array_equal(thin.selection_order_, whole.selection_order_)
    np.testing.assert_allclose(
        thin.decision_function(X), whole.decision_function(X), atol=1e-4
    )


def test_precomputed_kernels_equal_kernels():
    X, y = regression()
    train, test = np.arange(40), np.arange(40, 50)
    plain = GroupOMPRegressor(KERNELS, max_kernels=4).fit(X[train], y[train])
    grams = stack_grams([KERNELS[m](X, X) for m in range(15)])
    model = GroupOMPRegressor("precomputed", max_kernels=4)
    model.fit(grams[np.ix_(train, train)], y[train])
    np.testing.assert_array_equal(model.selection_order_, plain.selection_order_)
    cross = grams[np.ix_(test, train)]
    for ours, theirs in zip(
        model.staged_predict(cross), plain.staged_predict(X[test]), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library):
    frames = pytest.importorskip(library)
    X, y = regression(n_outputs=2)
    names = ["age", "height", "dose", "width"]
    frame = frames.DataFrame({name: X[:, k] for k, name in enumerate(names)})
    targets = frames.DataFrame({"first": y[:, 0], "second": y[:, 1]})
    kernels = [ColumnKernel(GaussianKernel(0.7), name) for name in names]
    model = GroupOMPRegressor(kernels, max_kernels=2).fit(frame, targets)
    plain = GroupOMPRegressor(
        ParameterGrid([GaussianKernel(0.7)], range(4)), max_kernels=2
    ).fit(X, y)
    np.testing.assert_array_equal(
        model.prefix(1).predict(frame), plain.prefix(1).predict(X)
    )
    chosen = model.selection_order_[0]
    assert model.kernel_names_[chosen] == f"gaussian(sigma=0.7)[{names[chosen]}]"
    assert list(model.prefix(1).feature_names_in_) == names


@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_survive_a_file(tmp_path, n_classes):
    X, y = binary() if n_classes == 2 else three_classes()
    model = GroupOMPClassifier(KERNELS, max_kernels=3, loss="log_loss").fit(X, y)
    save(model, tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.selection_order_, model.selection_order_)
    np.testing.assert_array_equal(
        loaded.prefix(1).decision_function(X), model.prefix(1).decision_function(X)
    )
    assert loaded.status_ == model.status_


def test_searches_over_the_number_of_kernels():
    X, y = regression()
    pipeline = make_pipeline(StandardScaler(), GroupOMPRegressor(KERNELS))
    grid = {"groupompregressor__max_kernels": [1, 4]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(pd.DataFrame(X), y)
    assert search.best_estimator_[-1].n_iter_ == search.best_params_[next(iter(grid))]


def test_subsamples_of_the_dictionary():
    X, y = regression()
    model = GroupOMPRegressor(KERNELS, max_kernels=4, random_state=0)
    full = clone(model).fit(X, y).selection_order_
    drawn = [
        clone(model).set_params(subsample=0.2, random_state=seed).fit(X, y)
        for seed in range(5)
    ]
    orders = {tuple(m.selection_order_) for m in drawn}
    assert len(orders) > 1
    again = clone(drawn[0]).fit(X, y)
    np.testing.assert_array_equal(again.selection_order_, drawn[0].selection_order_)
    everything = clone(model).set_params(subsample=15).fit(X, y)
    np.testing.assert_array_equal(everything.selection_order_, full)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha must be a finite number above 0, got"),
        ({"max_kernels": 0}, "max_kernels must be None, or an integer of at least 1"),
        ({"max_kernels": 1.5}, "max_kernels must be None, or an integer of at least 1"),
        ({"tol": -1.0}, "tol must be a finite number of at least 0"),
        ({"subsample": 0.0}, r"subsample must be a finite number in \(0, 1\], or an"),
        ({"subsample": 1.5}, r"subsample must be a finite number in \(0, 1\], or an"),
        (
            {"loss": "absolute"},
            "loss must be one of 'squared_error', 'epsilon_insensitive'",
        ),
        (
            {"storage": "sparse"},
            "storage must be one of .*'low_rank', or a LowRank or Device, got 'sparse'",
        ),
    ],
)
def test_wrong_parameters_get_a_sentence(parameters, message):
    X, y = regression()
    with pytest.raises(ValueError, match=f"GroupOMPRegressor: {message}"):
        GroupOMPRegressor(KERNELS).set_params(**parameters).fit(X, y)


def test_wrong_targets_get_a_sentence():
    X, y = regression(n_outputs=2)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        GroupOMPClassifier(KERNELS).fit(X, y > 0)
    y[3, 1] = np.nan
    with pytest.raises(ValueError, match="y contains NaN"):
        GroupOMPRegressor(KERNELS).fit(X, y)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        GroupOMPRegressor(KERNELS).fit(X, y[:3])


@pytest.mark.parametrize("loss", ["poisson", "gamma"])
def test_stages_predict_means_as_their_models_do(loss):
    """A log link: values of kernels are logarithms, and predictions are none."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    means = np.exp(1.0 + X[:, 0])
    y = rng.poisson(means) if loss == "poisson" else means * rng.gamma(2.0, 0.5, 60)
    model = GroupOMPRegressor(loss=loss, max_kernels=3).fit(X, y)
    staged = list(model.staged_predict(X))
    np.testing.assert_allclose(staged[-1], model.predict(X))
    np.testing.assert_allclose(staged[1], model.prefix(1).predict(X))


def test_weights_select_as_copies_do_for_any_loss():
    rng = np.random.default_rng(1)
    X, w = rng.standard_normal((30, 6)), rng.integers(1, 5, 30)
    y = np.sin(X[:, 0]) + X[:, 1] + 0.5 * X[:, 2] * X[:, 3] > 0.3
    kernels = [
        ColumnKernel(GaussianKernel(sigma), [j]) for j in range(6) for sigma in (0.5, 2)
    ]
    model = GroupOMPClassifier(kernels, alpha=0.01, loss="hinge", max_kernels=4)
    rows = np.repeat(np.arange(30), w)
    copies = clone(model).fit(X[rows], y[rows])
    for scale in (1.0, 2.0**-20):
        fit = clone(model).fit(X, y, scale * w)
        np.testing.assert_array_equal(fit.selection_order_, copies.selection_order_)
