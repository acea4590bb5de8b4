"""Estimators on strings, alone and beside numbers in a data frame."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from multikernel import load, save
from multikernel.estimators import (
    GroupOMPClassifier,
    HKLClassifier,
    LpMKLClassifier,
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    stack_grams,
)
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Grams,
    LinearKernel,
    ListDictionary,
    ParameterGrid,
)
from multikernel.kernels.sequence import (
    Alphabet,
    MotifKernel,
    ProfileKernel,
    SpectrumKernel,
    WeightedDegreeKernel,
    WindowKernel,
    per_window,
    sequence_dictionary,
)

DEFAULT_DEGREE = "weighted_degree(degree=5, shift=2)"
PARTS = {"before": (0, 15), "after": (15, 30)}
KERNELS = [
    WeightedDegreeKernel(4, shift=2),
    SpectrumKernel(3),
    ProfileKernel("twist"),
    WindowKernel(MotifKernel("x.x", alphabet="dna"), 0, 20, "start"),
]


def splice_sites(n, seed=0):
    """Random DNA; in one class, A and G stand in the middle."""
    rng = np.random.default_rng(seed)
    letters = rng.choice(list("ACGT"), size=(n, 30))
    y = np.where(np.arange(n) % 2 == 0, 1, -1)
    letters[y == 1, 14], letters[y == 1, 15] = "A", "G"
    return ["".join(row) for row in letters], y


def grams(kernels, X, Y=None):
    """Return the matrices of some kernels as an estimator takes them."""
    return stack_grams([kernel(X, X if Y is None else Y) for kernel in kernels])


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        SpicyMKLClassifier(kernels=KERNELS, alpha=0.02),
        LpMKLClassifier(kernels=KERNELS, p=2),
        GroupOMPClassifier(kernels=KERNELS, max_kernels=2),
        SpicyMKLClassifierCV(kernels=KERNELS, cv=2, n_alphas=3),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_end_to_end(estimator, tmp_path):
    X, y = splice_sites(120)
    model = clone(estimator).fit(X[:80], y[:80])
    # Sequences are what their Gram matrices are.
    given = clone(estimator).set_params(kernels="precomputed")
    given.fit(grams(KERNELS, X[:80]), y[:80])
    np.testing.assert_allclose(
        model.decision_function(X[80:]),
        given.decision_function(grams(KERNELS, X[80:], X[:80])),
        atol=1e-3,
    )
    assert model.n_features_in_ == 1
    assert model.sequence_features_.tolist() == [0]
    assert "spectrum(k=3)" in model.kernel_names_
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(
        again.decision_function(X[80:]), model.decision_function(X[80:])
    )


def test_precomputed_says_the_same():
    X, y = splice_sites(60)
    model = LpMKLClassifier(kernels=KERNELS, p=2, tol=1e-6).fit(X, y)
    grams = [kernel(X) for kernel in KERNELS]
    other = LpMKLClassifier(
        kernels="precomputed", p=2, tol=1e-6, normalize=model.normalize
    ).fit(np.stack(grams, axis=-1), y)
    np.testing.assert_allclose(model.kernel_weights_, other.kernel_weights_, atol=1e-4)
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-5)


def test_forms_of_one_column():
    X, y = splice_sites(40)
    model = SpicyMKLClassifier(kernels=KERNELS, alpha=0.02).fit(X, y)
    expected = model.decision_function(X)
    forms = (np.array(X), np.array(X, dtype=object)[:, None], pd.Series(X), tuple(X))
    for form in forms:
        np.testing.assert_array_equal(model.decision_function(form), expected)
        again = clone(model).fit(form, y)
        np.testing.assert_array_equal(again.dual_coef_, model.dual_coef_)


def mixed(n, seed=0):
    X, y = splice_sites(n, seed)
    rng = np.random.default_rng(seed)
    table = {
        "age": rng.normal(size=n) + y,
        "site": X,
        "dose": rng.normal(size=n),
        "tail": [x[: 10 + i % 5] for i, x in enumerate(X)],
    }
    return pd.DataFrame(table), y


MIXED = [
    ColumnKernel(WeightedDegreeKernel(4), "site"),
    ColumnKernel(SpectrumKernel(2), "tail"),
    ColumnKernel(LinearKernel(), "age"),
    GaussianKernel(1.0),
]


def test_sequences_beside_numbers(tmp_path):
    frame, y = mixed(120)
    train, test = frame[:80], frame[80:]
    model = LpMKLClassifier(kernels=MIXED, p=2).fit(train, y[:80])
    assert model.kernel_names_ == [
        "weighted_degree(degree=4)[site]",
        "spectrum(k=2)[tail]",
        "linear()[age]",
        "gaussian(sigma=1)[all numbers]",
    ]
    # Each kernel sees its column and no other: the terms are those of the parts.
    numbers = frame[["age", "dose"]].to_numpy()
    grams = [
        WeightedDegreeKernel(4)(frame["site"]),
        SpectrumKernel(2)(frame["tail"]),
        LinearKernel()(numbers[:, :1]),
        GaussianKernel(1.0)(numbers),
    ]
    parts = LpMKLClassifier(
        {str(k): Grams(K, 0) for k, K in enumerate(grams)},
        p=2,
        normalize=model.normalize,
    )
    rows = np.arange(120.0)[:, None]
    parts.fit(rows[:80], y[:80])
    np.testing.assert_allclose(
        model.decision_function(test), parts.decision_function(rows[80:]), atol=1e-3
    )
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    for form in (test, pl.from_pandas(test)):
        np.testing.assert_array_equal(
            again.decision_function(form), model.decision_function(test)
        )


def test_polars_and_arrays_of_objects():
    frame, y = mixed(60)
    model = LpMKLClassifier(kernels=MIXED, p=2).fit(frame, y)
    other = clone(model).fit(pl.from_pandas(frame), y)
    np.testing.assert_array_equal(other.dual_coef_, model.dual_coef_)
    by_place = [
        ColumnKernel(WeightedDegreeKernel(4), 1),
        ColumnKernel(SpectrumKernel(2), -1),
        ColumnKernel(LinearKernel(), 0),
        GaussianKernel(1.0),
    ]
    other = clone(model).set_params(kernels=by_place).fit(frame.to_numpy(), y)
    np.testing.assert_array_equal(other.dual_coef_, model.dual_coef_)
    assert other.kernel_names_[1] == "spectrum(k=2)[x3]"


def test_grids_and_names():
    frame, y = mixed(30)
    grid = ParameterGrid([SpectrumKernel(1), SpectrumKernel(2)], ["site", "tail"])
    model = LpMKLClassifier(kernels=grid, p=2).fit(frame, y)
    assert model.kernel_names_[1:3] == ["spectrum(k=2)[site]", "spectrum(k=1)[tail]"]
    named = ListDictionary([MIXED[0], MIXED[1]], ["by place", "by word"])
    model = LpMKLClassifier(kernels=named, p=2).fit(frame, y)
    assert model.kernel_names_ == ["by place", "by word"]
    twice = [SpectrumKernel(2), SpectrumKernel(2)]
    model = LpMKLClassifier(kernels=twice, p=2).fit(frame["site"], y)
    assert model.kernel_names_ == ["spectrum(k=2) #0", "spectrum(k=2) #1"]


def test_new_sequences_may_be_longer():
    frame, y = mixed(60)
    kernels = [ColumnKernel(SpectrumKernel(2), "tail"), *MIXED[2:]]
    model = LpMKLClassifier(kernels=kernels, p=2).fit(frame, y)
    longer = frame.assign(tail=[t + "ACGT" * 30 for t in frame["tail"]])
    values = model.decision_function(longer)
    K = SpectrumKernel(2)(longer["tail"], frame["tail"])
    assert not np.allclose(values, model.decision_function(frame))
    # One by one says the same: no row depends on the width of others.
    single = [model.decision_function(longer[i : i + 1])[0] for i in range(5)]
    np.testing.assert_allclose(values[:5], single, rtol=1e-12)
    assert K.shape == (60, 60)


def test_searches_slice_strings():
    X, y = splice_sites(60)
    model = LpMKLClassifier(kernels=KERNELS, p=2)
    given, K = LpMKLClassifier("precomputed", p=2), grams(KERNELS, X)
    np.testing.assert_array_equal(
        cross_val_score(model, X, y, cv=3), cross_val_score(given, K, y, cv=3)
    )
    grid = {"C": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=2).fit(pd.Series(X), y)
    assert search.best_score_ == GridSearchCV(given, grid, cv=2).fit(K, y).best_score_


def test_copies_and_weights_of_sequences():
    X, y = splice_sites(40)
    weights = np.ones(40)
    weights[:5] = 2.0
    weighted = SpicyMKLClassifier(kernels=KERNELS, alpha=0.02).fit(X, y, weights)
    copied = clone(weighted).fit(X + X[:5], np.append(y, y[:5]))
    np.testing.assert_allclose(
        weighted.decision_function(X), copied.decision_function(X), rtol=1e-10
    )


def test_factors_and_matrices_are_one_model():
    X, y = splice_sites(60)
    kernels = per_window(PARTS, [SpectrumKernel(2), ProfileKernel("stacking")])
    dense = LpMKLClassifier(kernels=kernels, p=2, storage="dense").fit(X, y)
    thin = LpMKLClassifier(kernels=kernels, p=2, storage="low_rank").fit(X, y)
    np.testing.assert_allclose(
        thin.decision_function(X), dense.decision_function(X), atol=1e-3
    )
    lazy = LpMKLClassifier(kernels=kernels, p=2, storage="lazy").fit(X, y)
    np.testing.assert_allclose(
        lazy.decision_function(X), dense.decision_function(X), atol=1e-3
    )


def test_factors_of_profiles_take_sequences_of_any_length():
    X, y = splice_sites(60)
    rows = [x[: 8 + 3 * (i % 5)] for i, x in enumerate(X)]
    kernels = [ProfileKernel("stacking"), SpectrumKernel(2)]
    new = [X[0][:5], X[1] + X[2][:7], X[3][:12]]
    dense, thin = (
        SpicyMKLClassifier(kernels, alpha=0.01, tol=1e-6, storage=storage).fit(rows, y)
        for storage in ("dense", "low_rank")
    )
    assert 0 in thin.active_kernels_
    for some in (new, new[:1], new[1:2]):
        np.testing.assert_allclose(
            thin.decision_function(some), dense.decision_function(some), atol=1e-3
        )


def test_regression_on_strings():
    X, _ = splice_sites(60)
    share = np.array([10.0 * x.count("A") / len(x) for x in X])
    model = LpMKLRegressor(kernels=[SpectrumKernel(1), SpectrumKernel(2)], p=2)
    model.fit(X[:40], share[:40])
    given = LpMKLRegressor("precomputed", p=2)
    given.fit(grams(model.kernels, X[:40]), share[:40])
    np.testing.assert_allclose(
        model.predict(X[40:]),
        given.predict(grams(model.kernels, X[40:], X[:40])),
        rtol=1e-4,
    )


@pytest.mark.parametrize(
    ("kernels", "X", "message"),
    [
        ([SpectrumKernel(2)], ["ACG", "", "ACC", "A"], "Sequence 1 is empty"),
        ([SpectrumKernel(2)], ["ACG", None, "AC", "A"], "Sequence 1 is None"),
        ([SpectrumKernel(2)], ["ACG", 3.0, "AC", "A"], "Sequence 1 is 3.0"),
        ([SpectrumKernel(2)], ["ACG", "AC", "ANG", "A"], "2 has the letter 'N' at po"),
        ([SpectrumKernel(2)], ["ACG", "AC", "ac", "A"], "='upper'., which reads"),
        ([SpectrumKernel(2)], ["ACG", "A\u0416", "AC", "A"], "'\u0416' at position 1"),
        ([WeightedDegreeKernel(2)], ["AC", "ACG", "GG", "TT"], "align='start'"),
        ([SpectrumKernel(2)], np.eye(4), "X has no strings"),
        ([GaussianKernel(1.0)], ["AC", "CA", "GG", "TT"], "kernels for seq"),
        (None, ["AC", "CA", "GG", "TT"], "multikernel.kernels.sequence"),
        (
            [GaussianKernel(1.0), SpectrumKernel(2)],
            ["AC", "CA", "GG", "TT"],
            "X has no column of numbers",
        ),
        (
            [CategoryKernel(), SpectrumKernel(2)],
            ["AC", "CA", "GG", "TT"],
            r"no column of categories: select .* ColumnKernel\(Cat",
        ),
    ],
)
def test_sentences_at_fit(kernels, X, message):
    with pytest.raises(ValueError, match=message):
        LpMKLClassifier(kernels=kernels).fit(X, [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ([SpectrumKernel(2)], "Columns of sequences: 'site', 'tail'"),
        ([ColumnKernel(SpectrumKernel(2), "age")], "'age' contains numbers"),
        (
            [ColumnKernel(SpectrumKernel(2), ["age", "site"])],
            "requires one column of sequences, got 2 columns: select one",
        ),
        (
            [ColumnKernel(LinearKernel(), ["age", "site"]), MIXED[0]],
            "'site' contains sequences",
        ),
        ([ColumnKernel(SpectrumKernel(2), "sight")], "Did you mean 'site'"),
    ],
)
def test_sentences_about_columns(kernels, message):
    frame, y = mixed(8)
    with pytest.raises(ValueError, match=message):
        LpMKLClassifier(kernels=kernels).fit(frame, y)


def test_missing_values_beside_sequences():
    frame, y = mixed(8)
    frame.loc[3, "age"] = np.nan
    with pytest.raises(ValueError, match="NaN at row 3, column 'age'"):
        LpMKLClassifier(kernels=MIXED).fit(frame, y)
    frame, y = mixed(8)
    frame.loc[3, "tail"] = None
    with pytest.raises(ValueError, match="Sequence 3 of column 'tail'"):
        LpMKLClassifier(kernels=MIXED).fit(frame, y)


def test_other_kinds_of_columns_at_prediction():
    frame, y = mixed(20)
    model = LpMKLClassifier(kernels=MIXED, p=2).fit(frame, y)
    with pytest.raises(
        ValueError, match="'site' holds no text, but held text in fit: convert"
    ):
        model.predict(frame.assign(site=1.0))
    with pytest.raises(
        ValueError, match="'dose' holds text, but held numbers in fit: conv"
    ):
        model.predict(frame.assign(dose="ACGT"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["age", "site"]])


def test_options_for_other_letters():
    X, y = splice_sites(40)
    X = [x.lower() if i % 3 else x[:5] + "N" + x[6:] for i, x in enumerate(X)]
    alphabet = Alphabet("dna", unknown="skip", lower="upper")
    model = LpMKLClassifier(kernels=[WeightedDegreeKernel(4, alphabet=alphabet)], p=2)
    upper = [x.upper() for x in X]
    np.testing.assert_allclose(
        model.fit(X, y).decision_function(X),
        model.fit(upper, y).decision_function(X),
        rtol=1e-9,
    )


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
def test_a_fit_on_numbers_forgets_the_sequences():
    X, y = splice_sites(20)
    model = LpMKLClassifier(kernels=[SpectrumKernel(2)]).fit(X, y)
    model.set_params(kernels=[LinearKernel()]).fit(np.eye(20), y)
    assert not hasattr(model, "sequence_features_")
    model.predict(np.eye(20))


def test_sequences_have_default_kernels(tmp_path):
    X, y = splice_sites(120)
    model = LpMKLClassifier(p=2).fit(X[:80], y[:80])
    assert model.kernel_names_ == ["spectrum(k=3)", DEFAULT_DEGREE]
    named = LpMKLClassifier([SpectrumKernel(3), WeightedDegreeKernel(5, 2)], p=2)
    named.fit(X[:80], y[:80])
    np.testing.assert_array_equal(
        model.decision_function(X[80:]), named.decision_function(X[80:])
    )
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(
        again.decision_function(X[80:]), model.decision_function(X[80:])
    )
    # Lengths that differ leave the spectrum.
    cut = [text[: 30 - k % 3] for k, text in enumerate(X)]
    assert LpMKLClassifier().fit(cut, y).kernel_names_ == ["spectrum(k=3)"]


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize("make", [pd.Series, np.array, pl.Series, pd.DataFrame])
def test_default_kernels_of_sequences_in_any_form(make):
    X, y = splice_sites(60)
    model = SpicyMKLClassifierCV(cv=2, n_alphas=3).fit(make(X), y)
    assert len(model.kernel_names_) == 2
    assert model.predict(make(X)).shape == (60,)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_default_kernels_of_sequences_beside_numbers(frame):
    X, y = splice_sites(80)
    rng = np.random.default_rng(0)
    proteins = ["".join(row) for row in rng.choice(list("ADKWY"), size=(80, 25))]
    numbers = {"a": rng.normal(size=80), "b": rng.normal(size=80) + y}
    data = frame({"a": numbers["a"], "site": X, "b": numbers["b"], "chain": proteins})
    model = LpMKLClassifier(p=2).fit(data, y)
    assert model.sequence_features_.tolist() == [1, 3]
    names = model.kernel_names_
    assert names[-4:] == [
        "spectrum(k=3)[site]", f"{DEFAULT_DEGREE}[site]",
        "spectrum(k=3)[chain]", f"{DEFAULT_DEGREE}[chain]",
    ]  # fmt: skip
    alone = LpMKLClassifier(p=2).fit(frame(numbers), y)
    ours = [name.replace("[all numbers]", "") for name in names[:-4]]
    assert ours == alone.kernel_names_
    assert any(name.endswith("[b]") for name in ours)
    # The kernels of numbers see the numbers that they were made for.
    kernels = [
        LinearKernel(), GaussianKernel(1.0),
        ColumnKernel(GaussianKernel(1.0), "b"), ColumnKernel(SpectrumKernel(3), "site"),
    ]  # fmt: skip
    chosen = LpMKLClassifier(kernels).fit(data, y)
    assert chosen.duality_gap_ <= chosen.tol
    changed = frame({**{c: data[c] for c in data.columns}, "b": numbers["b"] + 1.0})
    terms = model.contributions(changed) - model.contributions(data)
    moved = [model.kernel_names_[m] for m in model.active_kernels_[terms.any(axis=0)]]
    assert all(name.endswith(("[b]", "[all numbers]")) for name in moved)
    assert any(name.endswith("[b]") for name in moved)


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DataWarning")
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.DictionaryWarning")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ([f"NAME {k}" for k in range(60)], "fewer than 20 letters"),
        ([site.replace("AC", "AN") for site in splice_sites(60)[0]], "ambiguous bases"),
        (["A" * 30, "C" * 30, "G" * 30] * 20, "as long as sequences"),
        ([None] + ["ACGT" * 6] * 59, "not text"),
        (["3.5", "?", "2"] * 20, r"'\?' at row 1 is not a number"),
        (["2024-05-01", "2024-06-01"] * 30, "'2024-05-01' reads as a number or a date"),
        (["31/01/2024", "30/01/2024"] * 30, "'30/01/2024' reads as a number or a date"),
        (["1,000,000", "2,500,000"] * 30, "'1,000,000' reads as a number"),
        (["50 %", "low"] * 30, "'50 %' reads as a number"),
        (["10 mg", "20 mg", "7.5 mg"] * 20, "'10 mg' reads as a number with a unit"),
        (["Jan-24", "Feb-24"] * 30, "'Feb-24' reads as a date"),
    ],
)
def test_text_that_may_be_categories_gets_no_default(text, reason):
    X, y = splice_sites(60)
    with pytest.raises(ValueError, match="kernels") as alone:
        LpMKLClassifier().fit(pd.DataFrame({"job": text}), y)
    repeats = 2 * len(set(text)) <= len(text)
    assert ("For categories, pass a view" in str(alone.value)) is repeats
    assert "multikernel.kernels.sequence" in str(alone.value)
    if None not in text:
        with pytest.raises(ValueError, match="list of strings"):
            LpMKLClassifier().fit(text, y)
    with pytest.raises(ValueError, match=reason) as beside:
        LpMKLClassifier().fit(pd.DataFrame({"site": X, "job": text}), y)
    sentence = str(beside.value)
    assert "'job'" in sentence
    assert ("CategoryKernel" in sentence) is repeats
    assert "multikernel.kernels.sequence" in sentence
    if None not in text and repeats:
        # What the sentence says to write is what works.
        kernels = [ColumnKernel(SpectrumKernel(3), "site")]
        kernels.append(ColumnKernel(CategoryKernel(), "job"))
        data = pd.DataFrame({"site": X, "job": text})
        model = LpMKLClassifier(kernels).fit(data, y)
        assert model.duality_gap_ <= model.tol


TWICE = 2 * list(splice_sites(60)[0][:30])


@pytest.mark.parametrize(
    "data",
    [
        lambda X: pd.DataFrame({"site": X, "place": pd.Categorical(TWICE)}),
        lambda X: pl.DataFrame(
            {"site": X, "place": pl.Series(TWICE, dtype=pl.Categorical)}
        ),
    ],
    ids=["pandas", "polars"],
)
def test_categories_of_frames_are_never_sequences(data):
    X, y = splice_sites(60)
    model = LpMKLClassifier().fit(data(X), y)
    assert model.kernel_names_[0] == "category()[place]"
    assert model.sequence_features_.tolist() == [0]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_default_kernels_of_categories_beside_numbers(frame):
    rng = np.random.default_rng(0)
    numbers = {"a": rng.normal(size=60), "b": rng.normal(size=60)}
    job = rng.choice(["MARRIED", "FEMALE"], 60)
    y = (numbers["a"] + (job == "FEMALE") > 0.5).astype(int)
    data = frame({"a": numbers["a"], "job": job, "b": numbers["b"], "one": ["x"] * 60})
    model = LpMKLClassifier(p=2).fit(data, y)
    alone = LpMKLClassifier(p=2).fit(frame(numbers), y).kernel_names_
    ours = [name.replace("[all numbers]", "") for name in model.kernel_names_]
    assert ours == [*alone, "category()[job]"]
    # The kernels of numbers do not see the codes of the categories.
    other = frame({**{c: data[c] for c in data.columns}, "job": job[::-1].copy()})
    terms = model.contributions(other) - model.contributions(data)
    moved = [model.kernel_names_[m] for m in model.active_kernels_[terms.any(axis=0)]]
    assert moved == ["category()[job]"]
    with pytest.raises(ValueError, match="No column of X varies"):
        LpMKLClassifier().fit(frame({"one": ["x"] * 60}), y)


def test_columns_of_one_name_are_no_sequences():
    X, y = splice_sites(60)
    data = pd.DataFrame({"site": X, "same": X}).set_axis(["site", "site"], axis=1)
    with pytest.raises(ValueError, match="site"):
        LpMKLClassifier().fit(data, y)


def test_graphs_of_kernels_take_no_sequences_by_default():
    X, y = splice_sites(60)
    with pytest.raises(ValueError, match="list of strings"):
        HKLClassifier().fit(X, y)


def test_default_dictionary_tells_the_alphabet():
    rng = np.random.default_rng(0)
    for name, letters in {"dna": "ACGT", "rna": "ACGU", "protein": "ADEFGHK"}.items():
        texts = ["".join(row) for row in rng.choice(list(letters), size=(9, 22))]
        found = sequence_dictionary(texts)
        assert [kernel.alphabet for kernel in found.kernels] == [Alphabet(name)] * 2
    with pytest.raises(ValueError, match=r"sequence_dictionary: .* capitals"):
        sequence_dictionary(["acgt" * 6, "ttga" * 6])
