"""Names of Gram matrices stay through folds, files and errors; repairs are by fold."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline

from multikernel import (
    LpMKLRegressor,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    load,
    save,
    stack_grams,
)
from multikernel.display import KernelWeightsDisplay
from multikernel.estimators import NamedGrams
from multikernel.exceptions import IndefiniteKernelError
from multikernel.inspection import (
    bootstrap,
    group_permutation_importance,
    stability_selection,
)
from multikernel.kernels import GaussianKernel, LinearKernel

NAMES = ["narrow", "wide", "linear"]


def data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.1 * rng.standard_normal(n)


def named(X, Y=None):
    kernels = [GaussianKernel(0.7), GaussianKernel(3.0), LinearKernel()]
    return {n: k(X, X if Y is None else Y) for n, k in zip(NAMES, kernels, strict=True)}


def similarities(n=30, seed=0):
    """Return raw similarities with clearly negative eigenvalues, and targets."""
    rng = np.random.default_rng(seed)
    noise = rng.uniform(-0.4, 0.4, size=(2, n, n))
    y = rng.standard_normal(n)
    bent = 0.3 * np.outer(y, y) + 0.5 * (noise + noise.swapaxes(1, 2))
    bent[:, np.arange(n), np.arange(n)] = 1.0
    return bent, y


def test_slices_of_samples_keep_names_and_others_do_not():
    X, _ = data()
    K = stack_grams(named(X))
    train, test = np.arange(30), np.arange(30, 40)
    part = K[np.ix_(test, train)]
    assert isinstance(part, NamedGrams)
    assert part.names == tuple(NAMES)
    np.testing.assert_array_equal(part, np.asarray(K)[np.ix_(test, train)])
    assert K[train].shape == K[train, ...].shape == (30, 40, 3)
    for plain in (K[0], K[:, :, 0], K[:, :, ::-1], K[..., :2], K["wide"]):
        assert type(plain) is np.ndarray
    np.testing.assert_array_equal(K["wide"], GaussianKernel(3.0)(X))
    assert len(K) == 40
    assert K.dtype == np.float64


def test_names_come_through_folds_searches_files_and_pictures(tmp_path):
    X, y = data()
    K = stack_grams(named(X))
    model = SpicyMKLRegressor("precomputed", alpha=0.05)
    plain = stack_grams(list(named(X).values()))
    np.testing.assert_array_equal(
        cross_val_predict(model, K, y, cv=4), cross_val_predict(model, plain, y, cv=4)
    )
    search = GridSearchCV(make_pipeline(model), {"spicymklregressor__alpha": [0.01]})
    inside = search.fit(K, y).best_estimator_[-1]
    own = SpicyMKLRegressorCV("precomputed", alphas=[0.05], cv=3).fit(K, y)
    for fitted in (inside, own, clone(model).fit(K, y)):
        assert fitted.kernel_names_ == NAMES
        assert set(fitted.summary()["kernel"]) <= set(NAMES)
    save(own, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert again.kernel_names_ == NAMES
    np.testing.assert_array_equal(again.predict(K), own.predict(K))
    shown = KernelWeightsDisplay.from_estimator(own).ax_.get_yticklabels()
    assert {label.get_text() for label in shown} <= set(NAMES)
    assert bootstrap(model, K, y, 2, random_state=0).kernel_names == tuple(NAMES)
    assert stability_selection(model, K, y, 2).kernel_names == tuple(NAMES)
    groups = {"gaussians": ["narrow", "wide"], "linear": ["linear"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        falls = group_permutation_importance(own, K, y, groups, random_state=0)
    assert falls.importances_mean[0] > falls.importances_mean[1]


def test_new_samples_come_under_the_names_of_the_fit():
    X, y = data()
    model = SpicyMKLRegressor("precomputed", alpha=0.05)
    model.fit(stack_grams(named(X)), y)
    new = named(X[:5] + 0.1, X)
    plain = stack_grams(list(new.values()))
    message = "X has no names of Gram matrices, but .* the names 'narrow', 'wide'"
    for method in (model.contributions, model.predict):
        with pytest.warns(UserWarning, match=message):
            expected = method(plain)
    np.testing.assert_array_equal(model.predict(stack_grams(new)), expected)
    turned = stack_grams({name: new[name] for name in reversed(NAMES)})
    with pytest.raises(ValueError, match="in the same order, for example stack_grams"):
        model.predict(turned)


@pytest.mark.parametrize(
    ("grams", "message"),
    [
        ({}, "at least one Gram matrix"),
        ({1: np.eye(2)}, "Names of Gram matrices must be text, got 1"),
        ({"a": np.eye(2), "b": np.eye(3)}, "Gram matrix 1 has shape"),
    ],
)
def test_what_cannot_be_named(grams, message):
    with pytest.raises(ValueError, match=message):
        stack_grams(grams)
    for names, wrong in ((("a",), "length 1, .* is 2"), (("a", "a"), "Two .*'a'")):
        with pytest.raises(ValueError, match=wrong):
            NamedGrams(np.ones((3, 3, 2)), names)
    with pytest.raises(ValueError, match="must have shape"):
        NamedGrams(np.ones((3, 3)), ("a",))
    with pytest.raises(KeyError, match="no Gram matrix 'c'"):
        NamedGrams(np.ones((3, 3, 1)), ("a",))["c"]


def test_labels_of_samples_in_different_orders_are_refused():
    frame = pd.DataFrame(np.eye(3), index=list("abc"), columns=list("abc"))
    turned = frame.loc[["c", "a", "b"]]
    assert stack_grams([frame, frame.to_numpy(), frame]).shape == (3, 3, 3)
    for grams in (
        [frame, turned],
        [turned],
        [frame[:2], turned[:0:-1]],
        [frame, turned.T],
    ):
        with pytest.raises(ValueError, match=r"(rows|columns) in another order than"):
            stack_grams(grams)
    new = pd.DataFrame(np.eye(3)[:2], index=["u", "v"], columns=list("abc"))
    assert stack_grams([new, frame[:2]]).shape == (2, 3, 2)


def test_a_matrix_too_small_for_floats_is_named():
    _, y = similarities()
    for scale in (1e-310, 1e-300):
        grams = stack_grams({"sound": np.outer(y, y), "tiny": scale * np.eye(30)})
        with pytest.raises(ValueError, match="tiny: Gram matrix 1 has a trace of"):
            SpicyMKLRegressor("precomputed").fit(grams, y)


@pytest.mark.filterwarnings("ignore::Warning")
def test_an_indefinite_matrix_is_named():
    bent, y = similarities()
    K = {"first": bent[0], "sound": np.outer(y, y) + np.eye(30), "second": bent[1]}
    with pytest.raises(IndefiniteKernelError, match=r"^(first|second): "):
        LpMKLRegressor("precomputed").fit(stack_grams(K), y)
    K["second"][3, 3] = -1.0
    with pytest.raises(IndefiniteKernelError, match=r"second: .*\[3, 3\] is -1"):
        SpicyMKLRegressor("precomputed").fit(stack_grams(K), y)


def test_columns_of_new_matrices_are_the_samples_of_the_fit_in_order(tmp_path):
    Z = np.random.default_rng(0).normal(size=(20, 3))
    ids = [f"s{i}" for i in range(20)]
    K = pd.DataFrame(Z @ Z.T, ids, ids)
    X = stack_grams({"K": K})
    model = SpicyMKLRegressor("precomputed", alpha=0.02).fit(X, Z[:, 0])
    save(model, tmp_path / "model.skops")
    for each in (model, load(tmp_path / "model.skops")):
        known = each.predict(stack_grams({"K": K.loc[ids[:5]]}))
        np.testing.assert_array_equal(known, each.predict(X[:5]))
        with pytest.raises(
            ValueError, match="Column 0 of the Gram matrices has the label 's19'"
        ):
            each.predict(stack_grams({"K": K.loc[ids[:5], ids[::-1]]}))
    half = clone(model).fit(X[np.ix_(range(10), range(10))], Z[:10, 0])
    assert half.predict(X[np.ix_(range(10, 20), range(10))]).shape == (10,)
    with pytest.raises(ValueError, match="training sample 0 of"):
        half.predict(X[np.ix_(range(10), range(10, 20))])


def test_named_matrices_show_their_shape_and_names():
    K = stack_grams({"tanimoto": np.eye(4), "pathways": np.ones((4, 4))})
    assert repr(K) == "Gram matrices (4, 4, 2): 'tanimoto', 'pathways'"
    assert K[np.ix_([0, 1, 2], [1, 2])].shape == (3, 2, 2)
    assert K["pathways"].sum() == 16.0
