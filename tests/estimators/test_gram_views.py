"""Gram matrices, columns and confounders in one model."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from reference.estimators import ESTIMATORS
from sklearn.base import clone, is_classifier
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import display, load, save, with_samples
from multikernel.estimators import (
    FixedWeightsMKLClassifier,
    FixedWeightsMKLClassifierCV,
    FixedWeightsMKLRegressor,
    FixedWeightsMKLRegressorCV,
    GroupOMPRegressor,
    GroupOMPRegressorCV,
    HKLRegressor,
    LpMKLClassifier,
    LpMKLClassifierCV,
    LpMKLRegressor,
    LpMKLRegressorCV,
    OneClassMKL,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    SpicyMKLSurvival,
    stack_grams,
)
from multikernel.kernels import GaussianKernel, Grams, Interactions, Unpenalized, Views

N, KERNEL = 60, GaussianKernel(1.5)
RANDOM = np.random.default_rng(0)
NAMES = [f"drug {i}" for i in RANDOM.permutation(N)]
SHAPES = RANDOM.standard_normal((N, 3))
K = pd.DataFrame(KERNEL(SHAPES), NAMES, NAMES)
FRAME = pd.DataFrame(RANDOM.standard_normal((N, 3)), columns=["dose", "pH", "age"])
FRAME["drug"] = NAMES
Y = 2.0 * np.sin(SHAPES[:, 0]) + FRAME["dose"] ** 2 / 2 + FRAME["age"]
COLUMNS = FRAME.assign(s0=SHAPES[:, 0], s1=SHAPES[:, 1], s2=SHAPES[:, 2])

ASSAY = {"assay": (["dose", "pH"], KERNEL)}
CONFOUNDERS = {"confounders": Unpenalized(["age"])}
GIVEN = {"tanimoto": Grams(K, "drug"), **ASSAY}
SAME = {"tanimoto": (["s0", "s1", "s2"], KERNEL), **ASSAY}

# Sixty samples are few, and the best strength may be the last.
pytestmark = pytest.mark.filterwarnings(
    "ignore::multikernel.exceptions.SearchWarning",
    "ignore::multikernel.exceptions.DictionaryWarning",
)


def answers(model, X):
    return getattr(model, "decision_function", model.predict)(X)


def targets(kind):
    return (Y.median() < Y).astype(int) if is_classifier(kind()) else Y


def check_same(kind, given, same, X=FRAME, **parameters):
    """Check that two ways to say one thing lead to one model."""
    y = targets(kind)
    model = kind(given, **parameters).fit(X, y)
    expected = kind(same, **parameters).fit(COLUMNS.drop(columns="drug"), y)
    # All kernels are computed the same way, but for rounding.
    np.testing.assert_allclose(
        answers(model, X), answers(expected, COLUMNS.drop(columns="drug")), atol=0.01
    )
    assert model.kernel_names_[0] == "gram[tanimoto]"
    return model, expected


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in ESTIMATORS
        if not kind.__name__.startswith(("HKL", "OneClass"))
        and not kind.__name__.endswith("CV")  # some take a minute
    ],
)
def test_every_method_takes_a_matrix_beside_columns(kind):
    check_same(kind, GIVEN, SAME)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (SpicyMKLRegressor, {}),
        (SpicyMKLRegressor, {"loss": "huber"}),
        (SpicyMKLRegressorCV, {"n_alphas": 4}),
        (SpicyMKLClassifier, {}),
        pytest.param(
            SpicyMKLClassifierCV, {"n_alphas": 3, "cv": 2}, marks=pytest.mark.slow
        ),
        (LpMKLRegressor, {"loss": "squared_error"}),
        (LpMKLRegressorCV, {"loss": "squared_error", "Cs": [1.0, 4.0], "ps": [2.0]}),
        (LpMKLClassifier, {"loss": "log_loss"}),
        pytest.param(
            LpMKLClassifierCV,
            {"loss": "log_loss", "Cs": [1.0], "ps": [2.0], "cv": 2},
            marks=pytest.mark.slow,
        ),
        (FixedWeightsMKLRegressor, {"loss": "squared_error"}),
        pytest.param(
            FixedWeightsMKLRegressorCV,
            {"loss": "squared_error", "Cs": [1.0, 4.0]},
            marks=pytest.mark.slow,
        ),
        (FixedWeightsMKLClassifier, {"loss": "log_loss"}),
        pytest.param(
            FixedWeightsMKLClassifierCV,
            {"loss": "log_loss", "Cs": [1.0], "cv": 2},
            marks=pytest.mark.slow,
        ),
        (GroupOMPRegressor, {}),
        (GroupOMPRegressorCV, {}),
    ],
)
def test_matrices_stand_beside_confounders(kind, parameters):
    given, same = GIVEN | CONFOUNDERS, SAME | CONFOUNDERS
    model, expected = check_same(kind, given, same, **parameters)
    np.testing.assert_allclose(
        model.unpenalized_coef_, expected.unpenalized_coef_, atol=0.01
    )
    alone = {name: given[name] for name in ("tanimoto", "confounders")}
    model = kind(alone, **parameters).fit(FRAME, targets(kind))
    assert model.unpenalized_names_ == ["age"]


def test_it_is_the_model_on_all_matrices():
    grams = stack_grams([K.to_numpy(), KERNEL(FRAME[["dose", "pH"]].to_numpy())])
    model = SpicyMKLRegressor(GIVEN, 0.01, tol=1e-8).fit(FRAME, Y)
    expected = SpicyMKLRegressor("precomputed", 0.01, tol=1e-8).fit(grams, Y)
    np.testing.assert_allclose(model.predict(FRAME), expected.predict(grams), rtol=1e-6)
    assert model.duality_gap_ <= 1e-8
    assert model.n_features_in_ == FRAME.shape[1]
    assert set(model.summary()["view"]) == {"tanimoto", "assay"}


def test_novelties_and_times_too():
    outside = OneClassMKL(GIVEN).fit(FRAME).decision_function(FRAME)
    same = OneClassMKL(SAME).fit(COLUMNS.drop(columns="drug"))
    expected = same.decision_function(COLUMNS.drop(columns="drug"))
    np.testing.assert_allclose(outside, expected, atol=1e-6)
    times = pd.DataFrame({"event": Y > 0.0, "time": np.exp(Y)})
    survival = SpicyMKLSurvival(GIVEN).fit(FRAME, times).predict(FRAME)
    same = SpicyMKLSurvival(SAME).fit(COLUMNS.drop(columns="drug"), times)
    expected = same.predict(COLUMNS.drop(columns="drug"))
    np.testing.assert_allclose(survival, expected, atol=1e-4)


@pytest.mark.parametrize("normalize", ["variance", "trace", ["center", "variance"]])
@pytest.mark.parametrize("storage", ["dense", "low_rank", "lazy"])
def test_rows_may_be_in_any_order_and_weigh_as_copies(normalize, storage):
    given = {"alpha": 0.01, "normalize": normalize, "storage": storage, "tol": 1e-8}
    weights = RANDOM.integers(0, 3, N)
    rows = RANDOM.permutation(np.repeat(np.arange(N), weights))
    model = SpicyMKLRegressor(GIVEN, **given).fit(FRAME, Y, sample_weight=weights)
    copies = SpicyMKLRegressor(GIVEN, **given).fit(FRAME.iloc[rows], Y.iloc[rows])
    np.testing.assert_allclose(
        model.predict(FRAME), copies.predict(FRAME), rtol=1e-4, atol=1e-5
    )


def test_folds_searches_and_pipelines_keep_matrix_and_table_together():
    model = SpicyMKLRegressor(GIVEN, 0.01)
    same = SpicyMKLRegressor(SAME, 0.01)
    table = COLUMNS.drop(columns="drug")
    expected = cross_val_score(same, table, Y)
    np.testing.assert_allclose(cross_val_score(model, FRAME, Y), expected, atol=1e-4)
    scaled = make_column_transformer(
        (StandardScaler(), ["dose", "pH"]), ("passthrough", ["drug"])
    )
    kernels = {"tanimoto": Grams(K, 2), "assay": ([0, 1], KERNEL)}
    pipeline = make_pipeline(scaled, SpicyMKLRegressor(kernels, 0.01))
    grid = {
        "spicymklregressor__alpha": [0.01, 0.1],
        "spicymklregressor__kernels__assay__sigma": [1.0, 2.0],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(FRAME, Y)
    assert search.best_estimator_[-1].kernel_weights_.all()
    assert search.best_estimator_[-1].kernels["tanimoto"] is kernels["tanimoto"]


def test_several_outputs_and_arrays_of_numbers():
    table = np.column_stack([FRAME[["dose", "pH"]], np.arange(N)])
    kernels = {"tanimoto": Grams(K.to_numpy(), 2), "assay": ([0, 1], KERNEL)}
    several = np.column_stack([Y, Y**2])
    for selection in ("separate", "shared"):
        given = {"alpha": 0.01, "selection": selection}
        model = SpicyMKLRegressor(kernels, **given).fit(table, several)
        named = SpicyMKLRegressor(GIVEN, **given).fit(FRAME, several)
        np.testing.assert_allclose(
            model.predict(table), named.predict(FRAME), rtol=1e-9
        )


TRAIN, NEW = np.arange(40), np.arange(40, N)
KNOWN = [NAMES[i] for i in TRAIN]
PART = {**GIVEN, "tanimoto": Grams(K.loc[KNOWN, KNOWN], "drug")}
ROWS = K.loc[[NAMES[i] for i in NEW], KNOWN[::-1]]


@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLRegressor(PART, 0.01),
        SpicyMKLRegressor(PART | CONFOUNDERS, 0.01),
        SpicyMKLRegressor(PART, 0.01, storage="low_rank"),
        SpicyMKLRegressor(PART, 0.01, normalize=["center", "variance"]),
        SpicyMKLRegressor(Interactions(PART), 0.001),
        SpicyMKLRegressorCV(PART, alphas=[0.01], cv=3),
        GroupOMPRegressor(PART, 0.01),
    ],
)
def test_new_samples_bring_their_rows(model, tmp_path):
    X, X_new, y = FRAME.iloc[TRAIN], FRAME.iloc[NEW], Y.iloc[TRAIN]
    model = clone(model).fit(X, y)
    message = r"'tanimoto': the matrix of Grams has no row for 'drug \d+'"
    with pytest.raises(ValueError, match=message):
        model.predict(X_new)
    kernels = model.kernels
    paired = isinstance(kernels, Interactions)
    whole = (kernels.kernels if paired else kernels) | {"tanimoto": GIVEN["tanimoto"]}
    whole = Interactions(whole) if paired else whole
    expected = clone(model).set_params(kernels=whole).fit(X, y)
    before = deepcopy(model.categories_)
    extended = with_samples(model, {"tanimoto": ROWS})
    np.testing.assert_array_equal(extended.predict(X_new), expected.predict(X_new))
    np.testing.assert_array_equal(extended.predict(X), model.predict(X))
    np.testing.assert_array_equal(before[0], model.categories_[0])
    rows = ROWS[KNOWN].to_numpy()
    again = with_samples(model, {"tanimoto": rows}, names=list(ROWS.index))
    np.testing.assert_array_equal(again.predict(X_new), expected.predict(X_new))
    save(extended, tmp_path / "model.skops")
    kept = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(kept.predict(X_new), expected.predict(X_new))
    # A loaded model takes rows as well.
    save(model, tmp_path / "model.skops")
    kept = with_samples(load(tmp_path / "model.skops"), {"tanimoto": ROWS})
    np.testing.assert_array_equal(kept.predict(X_new), expected.predict(X_new))


def test_pipelines_and_searches_bring_rows_too():
    X, X_new, y = FRAME.iloc[TRAIN], FRAME.iloc[NEW], Y.iloc[TRAIN]
    columns = make_column_transformer(("passthrough", ["drug", "dose", "pH"]))
    kernels = {"tanimoto": Grams(K.loc[KNOWN, KNOWN], 0), "assay": ([1, 2], KERNEL)}
    pipeline = make_pipeline(columns, SpicyMKLRegressor(kernels))
    search = GridSearchCV(pipeline, {"spicymklregressor__alpha": [0.01]}, cv=3)
    search.fit(X, y)
    expected = SpicyMKLRegressor(GIVEN, 0.01).fit(X, y).predict(X_new)
    extended = with_samples(search, {"tanimoto": ROWS})
    np.testing.assert_allclose(extended.predict(X_new), expected)
    with pytest.raises(ValueError, match="has no row"):
        search.predict(X_new)


def test_matrices_out_of_use_need_no_rows():
    noise = GaussianKernel(1.0)(RANDOM.standard_normal((40, 2)))
    kernels = {**PART, "noise": Grams(noise, "drug", names=KNOWN)}
    model = SpicyMKLRegressor(kernels, 0.2).fit(FRAME.iloc[TRAIN], Y.iloc[TRAIN])
    assert model.view_weights_["noise"] == 0.0
    extended = with_samples(model, {"tanimoto": ROWS})
    whole = {**kernels, "tanimoto": GIVEN["tanimoto"]}
    expected = clone(model).set_params(kernels=whole).fit(FRAME.iloc[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(
        extended.predict(FRAME.iloc[NEW]), expected.predict(FRAME.iloc[NEW])
    )


def fitted(**changed):
    return SpicyMKLRegressor({**GIVEN, **changed}, 0.01).fit(FRAME, Y)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: fitted(tanimoto=Grams(K, "drugs")), "View 'tanimoto': .* mean 'drug'"),
        (
            lambda: fitted(tanimoto=Grams(K, ["drug", "age"])),
            "must be one column of X",
        ),
        (
            lambda: fitted(tanimoto=Grams(K.to_numpy(), "drug")),
            "'drug' holds text, but must hold numbers, as in the sample names of",
        ),
        (
            lambda: fitted(tanimoto=Grams(K, "age")),
            "'age' holds numbers, but must hold text",
        ),
        (
            lambda: fitted(tanimoto=PART["tanimoto"]),
            "no row for 'drug .* 15 more\\. Column",
        ),
        (lambda: fitted(tanimoto=Grams(K.iloc[:, :50], "drug")), "no column for 'drug"),
        (
            lambda: fitted(tanimoto=Grams(K - 0.5, "drug")),
            r"^gram\[tanimoto\]: .*semid",
        ),
        (
            lambda: fitted(rest=KERNEL),
            "'rest': The view is a kernel without columns: pass",
        ),
        (
            lambda: SpicyMKLRegressor([KERNEL, GIVEN["tanimoto"]]).fit(FRAME, Y),
            "Grams must be a named view",
        ),
        (
            lambda: SpicyMKLRegressor(Views(GIVEN, missing="zero")).fit(FRAME, Y),
            "View 'tanimoto': missing='zero' is supported for columns only",
        ),
        (lambda: HKLRegressor(GIVEN).fit(FRAME, Y), "None or a KernelGraph"),
        (
            lambda: fitted().predict(FRAME.assign(drug=None)),
            "no row for None\\. Column",
        ),
        (
            lambda: display.ContributionDisplay.from_estimator(fitted(), FRAME, 0),
            r"gram\[tanimoto\] uses a precomputed matrix, which cannot be drawn",
        ),
    ],
)
def test_what_is_wrong_is_said(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


LONE = K.loc[KNOWN[:1]].set_axis(["new"])


@pytest.mark.parametrize(
    ("rows", "names", "message"),
    [
        (
            {"assay": LONE},
            None,
            r"rows for 'assay', .* one of 'tanimoto'",
        ),
        ({}, None, "got no rows, but requires rows for views"),
        ({"tanimoto": K}, None, r"already has rows of 'drug \d+', .*"),
        ({"tanimoto": LONE.T}, None, "must be names of training samples, such as"),
        ({"tanimoto": LONE.to_numpy()}, None, "shape .1, 60. without names"),
        ({"tanimoto": LONE.to_numpy()[:, 1:]}, ["new"], r"got .* shape \(1, 59\), but"),
        ({"tanimoto": LONE.set_axis([7])}, None, "such as 7, but .* such as 'drug"),
        ({"tanimoto": LONE * 1j}, None, "has complex values"),
        (
            {"tanimoto": LONE.astype(str) + "a"},
            None,
            "contains values that are not numbers",
        ),
        ({"tanimoto": pd.concat([LONE, LONE], axis=1)}, None, "have the same name"),
        ({"tanimoto": LONE * np.nan}, None, r"is nan at \[0, 0\]"),
    ],
)
def test_rows_that_do_not_fit_are_refused(rows, names, message):
    with pytest.raises(ValueError, match=message):
        with_samples(fitted(), rows, names=names)


def test_rows_come_by_view():
    with pytest.raises(
        TypeError, match=r"requires a mapping from views to rows, .* got DataFrame"
    ):
        with_samples(fitted(), LONE)


def test_values_that_nobody_brought_are_not_made_up():
    X_new = FRAME.iloc[:1].assign(drug="new")
    some = with_samples(fitted(), {"tanimoto": LONE.iloc[:, :9]})
    with pytest.raises(ValueError, match="new samples have no value in column 54 "):
        some.predict(X_new)
    cosine = SpicyMKLRegressor(GIVEN, 0.01, normalize="cosine").fit(FRAME, Y)
    with pytest.raises(ValueError, match="divide each k"):
        with_samples(cosine, {"tanimoto": LONE}).predict(X_new)
    with pytest.raises(TypeError, match="pipeline or search that ends in one, got int"):
        with_samples(3, {"tanimoto": LONE})


def test_a_missing_column_of_new_samples_is_named():
    random = np.random.default_rng(0)
    x, names = random.standard_normal(50), [f"s{i}" for i in range(50)]
    K = pd.DataFrame(np.outer(x, x), names, names)
    X = pd.DataFrame({"id": names})
    views = {"g": Grams(K.iloc[:40, :40], "id")}
    model = with_samples(
        SpicyMKLRegressor(views).fit(X[:40], x[:40]), {"g": K.iloc[40:, :39]}
    )
    with pytest.raises(ValueError, match="have no value in column 39 "):
        model.predict(X[40:])
