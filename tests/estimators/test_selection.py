"""Several targets, labels and classes: one selection for all, or one for each."""

import io
from contextlib import redirect_stderr

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from multikernel.display import ContributionDisplay, KernelWeightsDisplay
from multikernel.estimators import (
    GroupOMPRegressor,
    LocalRademacherMKLClassifier,
    LocalRademacherMKLClassifierCV,
    LpMKLClassifier,
    LpMKLClassifierCV,
    LpMKLRegressor,
    LpMKLRegressorCV,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    regularization_path,
)
from multikernel.kernels import ColumnKernel, GaussianKernel
from multikernel.losses import SoftmaxLoss
from multikernel.persistence import load, save

KERNELS = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
REGRESSORS = (SpicyMKLRegressor, LpMKLRegressor)
CLASSIFIERS = (SpicyMKLClassifier, LpMKLClassifier)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = np.column_stack([np.sin(2.0 * X[:, 1]), np.cos(X[:, 2]), X[:, 1] - X[:, 2]])
    return X, Y + 0.1 * rng.normal(size=Y.shape)


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("storage", ["dense", "low_rank"])
def test_shared_targets_have_one_of_all_but_points_and_intercepts(kind, storage, data):
    X, Y = data
    model = kind(KERNELS, storage=storage, tol=1e-4).fit(X, Y)
    assert model.kernel_weights_.shape == (4,)
    assert model.dual_coef_.shape == (3, 60)
    assert model.intercept_.shape == (3,)
    assert model.duality_gap_ <= 1e-4
    assert np.ndim(model.objective_) == 0
    terms = model.contributions(X)
    assert terms.shape == (60, 3, len(model.active_kernels_))
    np.testing.assert_allclose(terms.sum(axis=2) + model.intercept_, model.predict(X))
    assert model.output_names_ == ["y0", "y1", "y2"]


@pytest.mark.parametrize("kind", REGRESSORS)
def test_separate_targets_are_fits_one_by_one(kind, data):
    X, Y = data
    model = kind(KERNELS, selection="separate").fit(X, Y)
    assert model.kernel_weights_.shape == (3, 4)
    for k in range(3):
        alone = kind(KERNELS).fit(X, Y[:, k])
        np.testing.assert_allclose(model.predict(X)[:, k], alone.predict(X))
        np.testing.assert_allclose(model.kernel_weights_[k], alone.kernel_weights_)
        assert model.duality_gap_[k] == pytest.approx(alone.duality_gap_)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_one_target_is_the_same_either_way_and_as_a_column(kind, data):
    X, y = data[0], data[1][:, 0]
    models = [kind(KERNELS, selection=s).fit(X, y) for s in ("shared", "separate")]
    with pytest.warns(UserWarning, match="column-vector"):
        models.append(kind(KERNELS).fit(X, y[:, None]))
    for model in models:
        np.testing.assert_array_equal(model.predict(X), models[0].predict(X))
        assert model.contributions(X).shape == (60, len(model.active_kernels_))


def test_shared_targets_select_as_group_omp_does(data):
    X, Y = data
    greedy = GroupOMPRegressor(KERNELS, max_kernels=2).fit(X, Y)
    shared = SpicyMKLRegressor(KERNELS, alpha=0.05).fit(X, Y)
    assert set(shared.active_kernels_) == set(greedy.active_kernels_) == {1, 2}
    assert shared.dual_coef_.shape == greedy.dual_coef_.shape
    assert shared.contributions(X).shape == greedy.contributions(X).shape


@pytest.mark.parametrize("selection", ["shared", "separate"])
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels(kind, loss, selection, data):
    X, labels = data[0], (data[1] > 0.2).astype(int)
    model = kind(KERNELS, loss=loss, selection=selection, **_weak(kind))
    model.fit(X, labels)
    assert np.all(np.asarray(model.duality_gap_) <= model.tol)
    f = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), (f > 0).astype(int))
    assert (model.predict(X) == labels).mean() > 0.85
    if loss == "log_loss":
        np.testing.assert_allclose(model.predict_proba(X), 1 / (1 + np.exp(-f)))
    else:
        assert not hasattr(model, "predict_proba")


def _weak(kind):
    return {"alpha": 0.003} if kind is SpicyMKLClassifier else {"C": 5.0}


@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error"])
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classes_share_a_selection(kind, loss, data):
    X, classes = data[0], np.array(["a", "b", "c"])[np.argmax(data[1], axis=1)]
    model = kind(KERNELS, loss=loss, selection="shared", **_weak(kind)).fit(X, classes)
    assert model.duality_gap_ <= model.tol
    assert model.kernel_weights_.shape == (4,)
    assert model.output_names_ == ["a", "b", "c"]
    if loss == "log_loss":
        f = np.exp(model.decision_function(X))
        expected = f / f.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(X), expected)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_two_classes_are_the_same_either_way(kind, data):
    X, classes = data[0], data[1][:, 2] > 0.0
    values = [
        kind(KERNELS, selection=s).fit(X, classes).decision_function(X)
        for s in ("shared", "separate")
    ]
    np.testing.assert_array_equal(*values)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_searches_and_paths_take_several_targets(data):
    X, Y = data
    tol = 1e-5
    for search, single in (
        (SpicyMKLRegressorCV(KERNELS, n_alphas=4, cv=2, tol=tol), SpicyMKLRegressor),
        (
            LpMKLRegressorCV(KERNELS, Cs=[1.0, 10.0], ps=[1.5, 2.0], cv=2, tol=tol),
            LpMKLRegressor,
        ),
    ):
        search.fit(X, Y)
        alone = single(KERNELS, **search.best_params_, tol=tol)
        scores = cross_val_score(alone, X, Y, cv=2)
        assert search.best_score_ == pytest.approx(scores.mean(), abs=2e-2)
        assert search.path_.norms.shape[0] == 1
        search.set_params(tol=1e-2)  # a shape is all that is asked
        grid = GridSearchCV(search, {"selection": ["separate"]}, cv=2).fit(X, Y)
        assert grid.best_estimator_.path_.norms.shape[0] == 3
    assert regularization_path(SpicyMKLRegressor(KERNELS), X, Y).norms().shape[1] == 4


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize(
    ("search", "task"),
    [
        (SpicyMKLRegressorCV, "targets"),
        (LpMKLRegressorCV, "targets"),
        (SpicyMKLClassifierCV, "classes"),
        (LpMKLClassifierCV, "classes"),
    ],
)
def test_a_search_with_separate_selections_is_one_for_every_output(search, task, data):
    """On every fold, for every candidate, as far as the tolerance of folds says."""
    X, Y = data
    classify = task == "classes"
    if search in (SpicyMKLRegressorCV, SpicyMKLClassifierCV):
        grid = {"alphas": [0.1, 0.03, 0.01]}
    else:
        grid = {"Cs": [0.3, 3.0], "ps": [1.0, 2.0]}
    if classify:
        grid["loss"] = "log_loss"
    classes = np.argmax(Y, axis=1)
    folds = [(np.flatnonzero(part), np.flatnonzero(~part)) for part in _halves(60)]

    def values_of(y, **settings):
        found = []

        def score(model, X, y):
            f = model.decision_function(X) if classify else model.predict(X)
            found.append(f)
            return 0.0

        model = search(
            KERNELS, cv=folds, tol=1e-7, scoring=score, refit=False, **grid, **settings
        )
        assert model.fit(X, y).fit_info_["cv_tol"] == pytest.approx(3e-6)
        return np.array(found)

    outputs = [classes == c for c in range(3)] if classify else list(Y.T)
    together = values_of(classes if classify else Y, selection="separate")
    alone = np.stack([values_of(y) for y in outputs], axis=-1)
    assert together.shape == alone.shape
    assert np.abs(np.diff(together, axis=0)).max() > 1e-2
    np.testing.assert_allclose(together, alone, atol=2e-3)


def _halves(n):
    """Return which samples are learnt from, on two folds."""
    odd = np.arange(n) % 2 == 1
    return odd, ~odd


def test_a_fold_of_a_search_is_a_fit_on_it(data):
    X, Y = data
    half = np.arange(60) % 2 == 0
    split = [(np.flatnonzero(half), np.flatnonzero(~half))]
    search = SpicyMKLRegressorCV(KERNELS, alphas=[0.05], cv=split, refit=False)
    search.fit(X, Y)
    alone = SpicyMKLRegressor(KERNELS, alpha=0.05, tol=search.fit_info_["cv_tol"])
    alone.fit(X[half], Y[half])
    assert search.best_score_ == pytest.approx(alone.score(X[~half], Y[~half]))


@pytest.mark.filterwarnings("ignore:.*the same for label:UserWarning")
def test_searches_take_labels_and_shared_classes(data):
    X, labels = data[0], (data[1] > 0.0).astype(int)
    classes = np.argmax(data[1], axis=1)
    settings = {"selection": "shared", "tol": 1e-5}
    one_sample = 1.01 / 60.0  # may be at the border of two classes
    for search, single in (
        (SpicyMKLClassifierCV(KERNELS, n_alphas=4, cv=2), SpicyMKLClassifier),
        (LpMKLClassifierCV(KERNELS, Cs=[1.0, 5.0], ps=[2.0], cv=2), LpMKLClassifier),
    ):
        # Many a step for all classes by the hinge: that is among the shared classes.
        for y, own in ((labels, {}), (classes, {"loss": "log_loss"})):
            search.set_params(**settings, **own)
            best = search.fit(X, y).best_params_
            alone = single(KERNELS, **best, **settings, **own)
            scores = cross_val_score(alone, X, y, cv=2)
            assert search.best_score_ == pytest.approx(scores.mean(), abs=one_sample)


@pytest.mark.parametrize("method", ["conv", pytest.param("dc", marks=pytest.mark.slow)])
def test_searches_of_cut_offs_share_a_selection(method, data):
    X, classes = data[0], np.argmax(data[1], axis=1)
    settings = {"method": method, "selection": "shared", "tol": 1e-2}
    search = LocalRademacherMKLClassifierCV(
        KERNELS, Cs=[1.0], thetas=[1], cv=2, **settings
    ).fit(X, classes)
    assert search.kernel_weights_.shape == (4,)
    alone = LocalRademacherMKLClassifier(KERNELS, **search.best_params_, **settings)
    scores = cross_val_score(alone, X, classes, cv=2)
    assert search.best_score_ == pytest.approx(scores.mean(), abs=0.05)
    objective = alone.fit(X, classes).objective_
    assert search.objective_ == pytest.approx(objective, rel=2e-2)


def test_weights_are_copies_with_several_targets(data):
    X, Y = data
    counts = np.arange(60) % 3
    rows = np.repeat(np.arange(60), counts)
    heavy = SpicyMKLRegressor(KERNELS).fit(X, Y, sample_weight=counts)
    copied = SpicyMKLRegressor(KERNELS).fit(X[rows], Y[rows])
    np.testing.assert_allclose(heavy.predict(X), copied.predict(X), atol=1e-9)


def test_names_reach_displays_and_files(data, tmp_path):
    X, frame = data[0], pd.DataFrame(data[1], columns=["north", "south", "east"])
    model = SpicyMKLRegressor(KERNELS, selection="separate").fit(X, frame)
    assert model.output_names_ == ["north", "south", "east"]
    display = KernelWeightsDisplay.from_estimator(model)
    texts = [text.get_text() for text in display.figure_.findobj(match=_is_text)]
    assert any("south" in text for text in texts)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert again.output_names_ == model.output_names_
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    labels = SpicyMKLClassifier(KERNELS).fit(X, frame > 0)
    save(labels, tmp_path / "labels.skops")
    found = load(tmp_path / "labels.skops").predict_proba(X)
    np.testing.assert_array_equal(found, labels.predict_proba(X))


def _is_text(artist):
    return hasattr(artist, "get_text")


def test_wrong_targets_get_a_sentence(data):
    X, Y = data
    labels = (Y > 0.0).astype(int)
    labels[5, 1] = 2
    with pytest.raises(
        ValueError, match=r"labels, which must be 0 or 1, but column 1 .* contains 2"
    ):
        SpicyMKLClassifier(KERNELS).fit(X, labels)
    with pytest.raises(
        ValueError, match=r"samples without it, but column 1 of y .* is constant"
    ):
        SpicyMKLClassifier(KERNELS).fit(X, (Y > [0.0, -99.0, 0.0]).astype(int))
    with pytest.raises(
        ValueError, match="class_weight only if y has one column, not for several"
    ):
        SpicyMKLClassifier(KERNELS, class_weight="balanced").fit(X, Y > 0)
    with pytest.raises(ValueError, match="selection"):
        SpicyMKLRegressor(KERNELS, selection="joint").fit(X, Y)
    model = SpicyMKLClassifier(KERNELS, loss=SoftmaxLoss())
    with pytest.raises(ValueError, match="requires selection='shared', got 'separate'"):
        model.fit(X, np.argmax(Y, axis=1))
    with pytest.raises(ValueError, match=r"three or more .*, got 2 classes"):
        model.fit(X, Y[:, 0] > 0.0)
    for selection in ("separate", "shared"):
        model.set_params(selection=selection)
        with pytest.raises(ValueError, match=r"three or more .*, got several columns"):
            model.fit(X, Y > 0.0)


def test_progress_is_written_for_several_targets(data):
    with redirect_stderr(io.StringIO()) as written:
        SpicyMKLRegressor(KERNELS, verbose=1).fit(*data)
    assert "gap" in written.getvalue()


def test_pictures_name_the_output_that_they_show(data):
    X, frame = data[0], pd.DataFrame(data[1], columns=["north", "south", "east"])
    model = SpicyMKLRegressor(KERNELS, alpha=0.05).fit(X, frame)
    display = ContributionDisplay.from_estimator(model, X, 1, output="south")
    labels = [axis.get_ylabel() for axis in display.figure_.axes]
    assert any("of south" in label for label in labels)
