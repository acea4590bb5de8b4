"""Views: named groups of columns with kernels of their own."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import load, save
from multikernel.estimators import (
    GroupOMPRegressor,
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    stack_grams,
)
from multikernel.exceptions import DataWarning
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Interactions,
    LinearKernel,
    Unpenalized,
    Views,
    median_dictionary,
    per_column,
)
from multikernel.kernels.sequence import SpectrumKernel

RNG = np.random.default_rng(0)
N = 90
GENES = [f"g{k}" for k in range(6)]
FRAME = pd.DataFrame(RNG.standard_normal((N, 6)), columns=GENES).assign(
    age=RNG.normal(60.0, 10.0, N),
    stage=RNG.integers(1, 4, N),
    site=RNG.choice(["colon", "lung", "skin"], N),
    ward=pd.Categorical(RNG.integers(1, 3, N)),
)
Y = np.sin(FRAME["g0"]) + (FRAME["site"] == "lung") + 0.03 * FRAME["age"]
VIEWS = {
    "expression": (make_column_selector(pattern="^g"), GaussianKernel.grid(3, 0.5, 2)),
    "clinic": ["age", "stage"],
    "origin": ["site", "ward"],
}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("age", [6]),
        (["stage", "age"], [7, 6]),
        (slice("g1", "g3"), [1, 2, 3]),
        (slice(0, 2), [0, 1]),
        ([0, 5], [0, 5]),
        (make_column_selector(dtype_include="int64"), [7]),
        (make_column_selector(pattern="^g[45]$"), [4, 5]),
        (lambda frame: frame.columns.str.startswith("g"), [0, 1, 2, 3, 4, 5]),
        (np.arange(10) == 6, [6]),
    ],
)
def test_columns_are_selected_as_in_a_column_transformer(columns, expected):
    views = {"view": (columns, LinearKernel())}
    model = SpicyMKLRegressor(views, alpha=1e-3).fit(FRAME, Y)
    assert model.view_columns_["view"].tolist() == expected
    by_index = [ColumnKernel(LinearKernel(), expected)]
    Z = FRAME.drop(columns=["site", "ward"])
    other = SpicyMKLRegressor(by_index, alpha=1e-3).fit(Z, Y)
    np.testing.assert_allclose(model.predict(FRAME), other.predict(Z))


def test_every_kernel_is_named_after_its_view():
    model = SpicyMKLRegressor(VIEWS, alpha=0.01).fit(FRAME, Y)
    assert model.kernel_names_[0].startswith("gaussian(sigma=")
    assert all(
        f"[{view}" in name
        for name, view in zip(model.kernel_names_, model.kernel_views_, strict=True)
    )
    assert "category()[origin]" in model.kernel_names_
    assert any(name.endswith("[clinic: age]") for name in model.kernel_names_)
    assert list(model.view_columns_) == ["expression", "clinic", "origin"]


def test_sums_over_views():
    model = SpicyMKLRegressor(VIEWS, alpha=0.01).fit(FRAME, Y)
    views = np.array(model.kernel_views_)
    for view in VIEWS:
        weight = model.kernel_weights_[views == view].sum()
        assert model.view_weights_[view] == pytest.approx(weight)
    assert sum(model.view_shares_.values()) == pytest.approx(1.0)
    assert sum(model.view_weights_.values()) == pytest.approx(1.0)
    table = model.summary("view").set_index("view")
    assert table["variance_share"].to_dict() == pytest.approx(model.view_shares_)
    assert table.loc["origin", "n_kernels"] == 1
    full = model.summary()
    assert full.groupby("view")["weight"].sum().to_dict() == pytest.approx(
        {view: w for view, w in model.view_weights_.items() if w > 0}
    )


def test_without_views_there_are_no_sums():
    model = SpicyMKLRegressor(alpha=0.05).fit(FRAME[GENES], Y)
    assert not hasattr(model, "view_shares_")
    with pytest.raises(ValueError, match="fitted without views"):
        model.summary("view")
    with pytest.raises(ValueError, match="by must be 'kernel', 'view' or 'column'"):
        model.summary("columns")


def test_default_kernels_of_a_view_are_those_of_its_columns_alone():
    model = SpicyMKLRegressor({"clinic": ["age", "stage"]}, alpha=0.01).fit(FRAME, Y)
    kernels = median_dictionary(FRAME[["age", "stage"]].to_numpy()).kernels
    alone = SpicyMKLRegressor(kernels, alpha=0.01).fit(FRAME[["age", "stage"]], Y)
    np.testing.assert_allclose(
        model.predict(FRAME), alone.predict(FRAME[["age", "stage"]])
    )
    assert [name.split("[")[0] for name in model.kernel_names_] == [
        name.split("[")[0] for name in alone.kernel_names_
    ]


def test_kernels_within_a_view_name_columns_of_the_view():
    inner = [ColumnKernel(LinearKernel(), "stage"), ColumnKernel(LinearKernel(), 0)]
    views = {"clinic": (["age", "stage"], inner)}
    model = SpicyMKLRegressor(views, alpha=0.01).fit(FRAME, Y)
    assert model.kernel_names_ == ["linear()[clinic: stage]", "linear()[clinic: age]"]
    bad = {"clinic": (["age", "stage"], ColumnKernel(LinearKernel(), "g0"))}
    with pytest.raises(
        ValueError, match=r"View 'clinic': .* 'g0', which the data does"
    ):
        SpicyMKLRegressor(bad).fit(FRAME, Y)


@pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
def test_categories_are_compared(library):
    frame = FRAME[["site"]]
    X = frame if library is pd else pl.DataFrame({"site": frame["site"].tolist()})
    views = {"site": "site"}
    model = SpicyMKLRegressor(views, alpha=1e-3, normalize="trace", tol=1e-10)
    model.fit(X, Y)
    one_hot = pd.get_dummies(frame).astype(float)
    by_hand = clone(model).set_params(kernels=[LinearKernel()])
    by_hand.fit(one_hot, Y)
    np.testing.assert_allclose(model.predict(X), by_hand.predict(one_hot), rtol=1e-6)
    assert model.categories_[0].tolist() == ["colon", "lung", "skin"]
    # A category that was not met is like none: the term is that of the origin.
    new = library.DataFrame({"site": ["brain", "lung"]})
    nothing = one_hot.iloc[:1] * 0.0
    with pytest.warns(DataWarning, match="not seen in fit"):
        assert model.predict(new)[0] == pytest.approx(by_hand.predict(nothing)[0])


def test_category_kernels_in_a_list_beside_numbers_and_sequences():
    frame = FRAME[["g0", "site"]].assign(dna=["ACGTACG", "CCCTACG"] * (N // 2))
    kernels = [
        ColumnKernel(CategoryKernel(), "site"),
        ColumnKernel(SpectrumKernel(2), "dna"),
        GaussianKernel("median"),
    ]
    model = SpicyMKLRegressor(kernels, alpha=0.01).fit(frame, Y)
    names = [name.split("[")[1] for name in model.kernel_names_]
    assert names == ["site]", "dna]", "all numbers]"]
    assert model.duality_gap_ <= model.tol
    in_views = {"site": "site", "dna": ("dna", SpectrumKernel(2)), "g": "g0"}
    other = SpicyMKLRegressor(in_views, alpha=0.01).fit(frame, Y)
    assert other.kernel_names_[:2] == ["category()[site]", "spectrum(k=2)[dna]"]
    with pytest.raises(ValueError, match="numbers, but column 'site' contains"):
        SpicyMKLRegressor({"site": ("site", LinearKernel())}).fit(frame, Y)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
def test_views_survive_clones_files_pipelines_and_searches(tmp_path):
    model = clone(SpicyMKLRegressor(VIEWS, alpha=0.01)).fit(FRAME, Y)
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(FRAME), model.predict(FRAME))
    assert again.view_shares_ == model.view_shares_
    assert again.kernel_views_ == model.kernel_views_

    numeric = {"genes": (slice(0, 6), GaussianKernel("median")), "clinic": [6, 7]}
    X = FRAME.drop(columns=["site", "ward"]).to_numpy()
    pipeline = make_pipeline(StandardScaler(), SpicyMKLRegressor(numeric, alpha=0.01))
    by_hand = []
    for train, test in KFold(3).split(X):
        scaler, one = StandardScaler(), SpicyMKLRegressor(numeric, alpha=0.01)
        one.fit(scaler.fit_transform(X[train]), Y[train])
        by_hand.append(one.score(scaler.transform(X[test]), Y[test]))
    np.testing.assert_allclose(cross_val_score(pipeline, X, Y, cv=3), by_hand)
    grid = {"spicymklregressor__alpha": [0.01]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, Y)
    assert search.best_score_ == pytest.approx(np.mean(by_hand))
    search = SpicyMKLRegressorCV(VIEWS, n_alphas=3, cv=2).fit(FRAME, Y)
    assert search.kernel_views_ == model.kernel_views_


@pytest.mark.parametrize(
    "model",
    [
        SpicyMKLRegressor(alpha=0.01, tol=1e-8),
        GroupOMPRegressor(max_kernels=4),
        LpMKLRegressor(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_missing_view_adds_nothing(model, tmp_path):
    views = {"genes": (GENES, LinearKernel()), "clinic": (["age"], LinearKernel())}
    X = FRAME[[*GENES, "age"]].astype(float)
    X.iloc[:20, :6] = np.nan
    X.loc[30:40, "age"] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        clone(model).set_params(kernels=views).fit(X, Y)
    model.set_params(kernels=Views(views, missing="zero")).fit(X, Y)
    assert model.active_kernels_.tolist() == [0, 1]
    terms = model.contributions(X)
    assert not terms[:20, 0].any()
    assert not terms[30:41, 1].any()
    assert terms[20:, 0].all()
    # Zeros in place of a view are what a linear kernel on zeros says.
    by_hand = clone(model).set_params(kernels=views).fit(X.fillna(0.0), Y)
    np.testing.assert_allclose(
        model.predict(X), by_hand.predict(X.fillna(0.0)), atol=2e-3
    )
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(
        load(tmp_path / "model.skops").predict(X), model.predict(X)
    )
    X.loc[50, "g3"] = np.nan
    with pytest.raises(
        ValueError, match=r"Row 50 has missing .* view 'genes', .* 'g3'"
    ):
        model.predict(X)


def test_missing_categories():
    X = FRAME[["age", "site"]].astype({"site": object})
    X.loc[:10, "site"] = None
    views = {"clinic": "age", "site": "site"}
    with pytest.raises(ValueError, match="NaN"):
        SpicyMKLRegressor(views).fit(X, Y)
    model = SpicyMKLRegressor(Views(views, missing="zero"), alpha=1e-3).fit(X, Y)
    terms = dict(zip(model.active_kernels_, model.contributions(X).T, strict=True))
    site = terms[model.kernel_names_.index("category()[site]")]
    assert not site[:11].any()
    assert site[11:].any()


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ({"a": ("g0", "g1", "g2")}, r"Did you mean the list \['g0', 'g1', 'g2'\]\?"),
        ({"a": ("g0", "g1")}, r"tuple .* Did you mean the list \['g0', 'g1'\]\?"),
        ({"a": ("g0", "gausssian")}, r"Did you mean GaussianKernel\('median'\)\?"),
        ({"a": ("g0", "rbff")}, "Did you mean 'rbf'"),
        ({"a": ("g0", LinearKernel(), 3)}, "columns and kernels"),
        ({"a": "gene"}, "View 'a': .* 'gene', which the data does not have"),
        ({"a": []}, "View 'a': The view has no columns"),
        (
            {"a": make_column_selector(pattern="q")},
            "View 'a': The view has no columns",
        ),
        ({"a": ([True], LinearKernel())}, "of 1 values does not match 10 columns"),
        ({"a": ("g0", [])}, "View 'a': kernels must contain at least one kernel"),
        ({"a": 17}, "View 'a': .* index 17"),
        ({"a": (LinearKernel(), "g0")}, r"View 'a': .*: pass \(columns, kernel\)"),
        ({"a": np.eye(len(Y))}, "View 'a': .* For a Gram matrix, pass .*Grams"),
        ({"a": ["g0", "g1", "g0"]}, "View 'a': Column 'g0' is selected twice"),
    ],
)
def test_sentences(views, message):
    with pytest.raises(ValueError, match=message):
        SpicyMKLClassifier(views).fit(FRAME, Y > 2.0)


def test_columns_of_several_levels_are_named_by_tuples():
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 2)))
    table.columns = pd.MultiIndex.from_tuples([("r", "a"), ("r", "b")])
    model = SpicyMKLRegressor({"u": [("r", "b")]}).fit(table, table.iloc[:, 1])
    assert model.view_columns_["u"].tolist() == [1]


def test_targets_in_another_order_than_gram_matrices_are_warned_of():
    names = [f"s{i}" for i in range(30)]
    x = np.random.default_rng(0).standard_normal(30)
    X = stack_grams({"k": pd.DataFrame(np.outer(x, x), names, names)})
    with pytest.warns(DataWarning, match=r"y and X .* pass y.loc\[list\(X.labels\)\]"):
        SpicyMKLRegressor("precomputed").fit(X, pd.Series(x, names)[::-1])


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_a_search_learns_widths_once_and_repeats_itself():
    first = SpicyMKLRegressorCV(VIEWS, n_alphas=3, cv=3).fit(FRAME, Y)
    again = SpicyMKLRegressorCV(VIEWS, n_alphas=3, cv=3, n_jobs=2).fit(FRAME, Y)
    assert first.kernel_names_ == again.kernel_names_
    one = SpicyMKLRegressor(VIEWS, alpha=0.1).fit(FRAME, Y)
    assert one.kernel_names_ == first.kernel_names_


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_the_notebook_shows_views_kernels_and_the_gap():
    model = SpicyMKLRegressorCV(VIEWS, n_alphas=3, cv=2)
    assert "variance share" not in model._repr_html_()
    model.fit(FRAME, Y)
    text = model._repr_mimebundle_()["text/html"]
    for said in ("variance share", "duality gap", "alpha", "r2 in cross-validation"):
        assert said in text
    assert text.count("<td>clinic</td>") >= 1
    assert text.count("Shares of the variance sum to one") == 1
    assert model._repr_html_().count("Shares of the variance sum to one") == 1
    assert model.summary().attrs["alpha"] == model.alpha_


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "dates as pandas categories"),
        (pd.period_range("2020", periods=2), "periods as pandas categories"),
        ([True, False], "truth values"),
    ],
)
def test_categories_of_any_kind_are_named_by_their_kind(values, kind):
    frame = pd.DataFrame({"a": pd.Categorical(np.resize(values, N))})
    model = SpicyMKLRegressor({"origin": ["a"]}).fit(frame, Y)
    model.predict(frame)
    message = f"'a' holds text, but must hold .* convert the column to {kind},"
    with pytest.raises(ValueError, match=message):
        model.predict(frame.astype(str))


@pytest.mark.parametrize(
    ("column", "now", "message"),
    [
        (
            "site",
            np.arange(N),
            "'site' holds numbers, but must hold text, as in fit",
        ),
        (
            "ward",
            FRAME["ward"].astype(str),
            "'ward' holds text, but must hold numbers, as in fit",
        ),
        (
            "ward",
            FRAME["ward"].astype(str).where(np.arange(N) != 3, "Oslo"),
            "correct 'Oslo' at row 3",
        ),
        (
            "site",
            FRAME["site"].str.encode("ascii"),
            "'site' holds bytes, but must hold text, as in fit",
        ),
    ],
)
def test_categories_stay_text_or_numbers(column, now, message):
    model = SpicyMKLRegressor({"origin": ["site", "ward"]}).fit(FRAME, Y)
    with pytest.raises(ValueError, match=message):
        model.predict(FRAME.assign(**{column: now}))


def test_a_word_beside_numbers_is_a_category_not_seen_in_fit():
    model = SpicyMKLRegressor({"origin": ["site", "ward"]}).fit(FRAME, Y)
    ward = FRAME["ward"].astype(object).where(np.arange(N) != 3, "Oslo")
    with pytest.warns(DataWarning, match=r"column 'ward' in 1 of 90 rows \('Oslo'\)"):
        predicted = model.predict(FRAME.assign(ward=ward))
    assert np.flatnonzero(predicted != model.predict(FRAME)).tolist() == [3]
    with pytest.warns(DataWarning, match="column 'ward' in 1 of 1 rows"):
        alone = model.predict(FRAME.assign(ward=ward)[3:4])
    np.testing.assert_allclose(alone, predicted[3:4])
    # A number as text is an error, also beside numbers.
    with pytest.raises(ValueError, match="correct '1' at row 3"):
        model.predict(FRAME.assign(ward=ward.where(ward != "Oslo", "1")))


@pytest.mark.parametrize("kernels", [None, [GaussianKernel(1.0)]])
def test_a_column_without_any_value_is_named(kernels):
    clinic = ["age", "stage"] if kernels is None else (["age", "stage"], kernels)
    views = Views({"clinic": clinic, "origin": "site"}, missing="expected")
    for X in (FRAME.assign(stage=None), FRAME.assign(stage=np.nan)):
        with pytest.raises(ValueError, match=r"View 'clinic': no .* column 'stage'"):
            SpicyMKLRegressor(views).fit(X, Y)
    # Weights of zero leave samples out, and with them all values.
    weights = (np.arange(N) < N // 2).astype(float)
    half = FRAME.assign(stage=FRAME["stage"].where(weights == 0.0))
    with pytest.raises(ValueError, match=r"View 'clinic': no .* column 'stage'"):
        SpicyMKLRegressor(views).fit(half, Y, weights)
    found = SpicyMKLRegressor(views).fit(FRAME, Y)
    assert np.isfinite(found.predict(FRAME.assign(stage=None))).all()


def test_truth_values_may_be_a_series():
    for given in (pd.Series(FRAME.columns == "age"), FRAME.columns == "age"):
        model = SpicyMKLRegressor({"clinic": given}).fit(FRAME, Y)
        assert model.view_columns_["clinic"].tolist() == [FRAME.columns.get_loc("age")]


@pytest.mark.parametrize("kind", [dict, lambda mask: Unpenalized(mask["v"])])
@pytest.mark.parametrize("dtype", [bool, "boolean", object])
def test_masks_with_labels_select_by_label(kind, dtype):
    X = pd.DataFrame({"x": Y, "b": Y**2, "w": np.sin(Y)})
    mask = pd.Series([False, True, False], index=["w", "b", "x"], dtype=dtype)
    for selector in (mask, lambda frame: mask):
        view = kind({"v": selector})
        views = view if isinstance(view, dict) else {"v": view}
        model = SpicyMKLRegressor(views | {"x": (["x"], LinearKernel())}).fit(X, Y)
        assert model.view_columns_["v"].tolist() == [1]
    with pytest.raises(ValueError, match=r"View 'v': The labels of a mask must be"):
        SpicyMKLRegressor({"v": mask.rename({"w": "y"})}).fit(X, Y)


def test_columns_of_numbers_that_no_kernel_in_use_reads_may_be_absent():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(60, 5)), columns=list("abcde"))
    y = X["b"] + X["e"]
    views = {"main": "b", "noise": ["c", "d"], "free": Unpenalized("e")}
    model = SpicyMKLRegressor(views, alpha=0.2).fit(X, y)
    assert model.view_shares_["noise"] == 0.0
    expected = model.predict(X)
    np.testing.assert_array_equal(model.predict(X[["b", "e"]]), expected)
    np.testing.assert_array_equal(model.predict(X[["a", "b", "d", "e"]]), expected)
    for columns in (["b"], ["e", "b"], ["a", "c", "d", "e"], ["b", "e", "z"]):
        with pytest.raises(ValueError, match=r"(?i)feature|column"):
            model.predict(X.reindex(columns=columns, fill_value=0.0))


def test_integers_that_may_be_names_of_other_columns_are_refused():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=[1, 2, 3])
    y = np.sin(2 * X[1])
    fit = SpicyMKLRegressor({"v": (X.columns[:1], GaussianKernel(1.0))}).fit(X, y)
    assert fit.view_columns_["v"].tolist() == [0]
    mask = [False, True, True]
    fit = SpicyMKLRegressor({"v": (mask, GaussianKernel(1.0))}).fit(X, y)
    assert fit.view_columns_["v"].tolist() == [1, 2]
    for columns in ([1, 2], 2, np.array([1])):
        with pytest.raises(ValueError, match="may be positions or names"):
            SpicyMKLRegressor({"v": (columns, GaussianKernel(1.0))}).fit(X, y)
    kernels = Interactions(per_column(GaussianKernel(1.0), 3), between=X.columns[:2])
    assert SpicyMKLRegressor(kernels).fit(X, y).kernel_names_[-1] == "1 × 2"
