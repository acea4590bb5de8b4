"""Data that can be read in two ways: refused, or warned of once, with the place."""

import datetime as dt
import enum
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedGroupKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline

from multikernel import TableEncoder, inspection, load, save, stack_grams
from multikernel.estimators import (
    GroupOMPRegressor,
    HKLRegressor,
    LpMKLRegressor,
    SpicyMKLClassifier,
    SpicyMKLClassifierCV,
    SpicyMKLOrdinal,
    SpicyMKLOrdinalCV,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
    SpicyMKLSurvival,
    SpicyMKLSurvivalCV,
)
from multikernel.estimators.read.kinds import first_odd_cell, kinds_of, row_numbers
from multikernel.exceptions import DataWarning, IndefiniteKernelError, SearchWarning
from multikernel.inspection.resampling import group_numbers
from multikernel.kernels import (
    ColumnKernel,
    FunctionKernel,
    GaussianKernel,
    Grams,
    LinearKernel,
    Unpenalized,
    Views,
)

rng = np.random.default_rng(0)
N = 60
X = rng.standard_normal((N, 2))
DAYS = np.ceil(np.exp(2.0 + X[:, 0]))
SEEN = X[:, 1] > -0.3
COUNTS = [str(v) for v in rng.poisson(4, N)]
SPANS = pd.to_timedelta(DAYS, unit="D")
DATES = pd.to_datetime("2020-01-01") + SPANS
KERNELS = [LinearKernel()]
ODD = ["<1", "-", ".", "N.A.", "", " ", "1,5", "3 *", "4a", "12 %", "−3", "ten", "0x1F"]


def said(call):
    """Return the warnings of this package that a call gives, as text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(w.message) for w in caught if issubclass(w.category, DataWarning)]


def with_cell(cell, row=7):
    cells = list(COUNTS)
    cells[row] = cell
    return cells


@pytest.mark.parametrize("cell", ODD)
def test_the_odd_cell_of_a_column_of_numbers_is_found(cell):
    cells = with_cell(cell)
    for column in (cells, pd.Series(cells), pl.Series(cells), pa.array(cells)):
        assert first_odd_cell(column) == (7, cell)


@pytest.mark.parametrize(
    "column",
    [
        COUNTS,
        ["1", "a"] * 30,
        ["a", "b"],
        [],
        np.arange(5.0),
        ["1,5", "2,5", "3", "4"] * 5,
        [1, 2.5, None, np.nan, pd.NA, Decimal(3)],
    ],
)
def test_columns_of_numbers_and_of_words_have_no_odd_cell(column):
    assert first_odd_cell(column) is None


def test_kinds_of_a_wide_frame():
    wide = pd.DataFrame(np.zeros((2, 300)))
    assert kinds_of(wide) == ["numbers"] * 300
    assert kinds_of(wide.iloc[:0].astype(object)) == ["numbers"] * 300


def test_columns_of_row_numbers_have_no_name():
    for name in ("Unnamed: 0", "", None, "Unnamed: 0.1", "__index_level_0__"):
        assert row_numbers(name, range(5))
        assert row_numbers(name, np.arange(1.0, 6.0))
        assert not row_numbers(name, [0, 0, 1])
        assert not row_numbers(name, [0.5, 1.5])
    assert not row_numbers("id", range(5))
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame.insert(0, "Unnamed: 0", range(N))
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        (message,) = said(lambda t=table: SpicyMKLRegressor(KERNELS).fit(t, X[:, 0]))
        assert "first column of X, 'Unnamed: 0', holds row numbers" in message


@pytest.mark.parametrize("start", [0, 1])
def test_named_columns_of_row_numbers_are_warned_of(start):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(id=np.arange(N) + start)
    for table in (frame, pl.from_pandas(frame), frame.astype({"id": float})):
        (message,) = said(lambda t=table: SpicyMKLRegressor(KERNELS).fit(t, X[:, 0]))
        assert "these columns of X number the rows: 'id'; drop them" in message
    (message,) = said(lambda: SpicyMKLRegressor().fit(frame.reset_index(), X[:, 0]))
    assert "these columns of X number the rows: 'index', 'id'" in message
    for other in (
        frame.assign(id=frame["id"] + 2),
        frame.assign(id=frame["id"][::-1].to_numpy()),
        frame.assign(id=2 * frame["id"]),
        frame[["id"]],
        frame.to_numpy(),
    ):
        assert not said(lambda t=other: SpicyMKLRegressor(KERNELS).fit(t, X[:, 0]))
    (message,) = said(lambda: HKLRegressor().fit(frame, X[:, 0]))
    assert "these columns of X number the rows: 'id'" in message
    for kernels in ({"all": ["a", "b", "id"]}, ColumnKernel(LinearKernel(), "a")):
        assert not said(lambda k=kernels: SpicyMKLRegressor(k).fit(frame, X[:, 0]))


def test_large_integers_that_become_equal_are_named():
    frame = pd.DataFrame({"a": X[:, 0], "id": 2**60 + np.arange(N)})
    tables = (frame, frame.astype({"id": object}), pl.from_pandas(frame))
    for table in (*tables, frame.assign(a=np.resize(["u", "v"], N))):
        (message,) = said(lambda t=table: SpicyMKLRegressor().fit(t, X[:, 0]))
        assert "'id' of X holds different integers above 2**53" in message
    for y in (frame["id"], frame["id"].tolist(), pa.array(frame["id"])):
        message, *_ = said(lambda y=y: SpicyMKLRegressor().fit(X, y))
        assert message.startswith("y holds different integers above 2**53 ")
    events = pd.DataFrame({"event": X[:, 0] > 0, "time": frame["id"]})
    message, *_ = said(lambda: SpicyMKLSurvival().fit(X, events))
    assert message.startswith("y['time'] holds different integers above 2**53 ")
    days = frame.assign(id=10**18 + 86400 * 10**9 * np.arange(N))
    assert not said(lambda: SpicyMKLRegressor().fit(days, X[:, 0]))


@pytest.mark.parametrize("cell", ODD)
def test_an_odd_cell_among_targets_is_named(cell):
    y = pd.Series(with_cell(cell))
    (message,) = said(lambda: SpicyMKLClassifier(KERNELS, max_iter=1, tol=1).fit(X, y))
    start = "y is read as text because it holds"
    assert f"{start} {cell!r} at row 7, and numbers" in message
    for model in (SpicyMKLRegressor(), LpMKLRegressor()):
        with pytest.raises(
            ValueError, match=r"y must hold numbers, .* at row 7"
        ) as told:
            model.fit(X, y)
        assert repr(cell) in str(told.value)
    times = pd.DataFrame({"event": SEEN, "time": y})
    with pytest.raises(ValueError, match=r"y\['time'\] must hold numbers.* at row 7"):
        SpicyMKLSurvival().fit(X, times)


def test_an_odd_cell_among_numbers_and_in_categories():
    mixed = [int(v) for v in COUNTS]
    mixed[7] = "<1"
    with pytest.raises(ValueError, match="'<1' at row 7, and numbers"):
        SpicyMKLClassifier().fit(X, mixed)
    as_meant = pd.Series(with_cell("<1"), dtype="category")
    model = SpicyMKLClassifier(KERNELS, max_iter=1, tol=1.0)
    assert said(lambda: model.fit(X, as_meant)) == []
    frame = pd.DataFrame({"a": X[:, 0], "b": with_cell("<1")})
    with pytest.raises(ValueError, match="'<1' at row 7 is not a number"):
        SpicyMKLRegressor().fit(frame, X[:, 0])
    views = SpicyMKLRegressor({"v": ["a", "b"]})
    with pytest.warns(DataWarning, match="column 'b' is .* holds '<1' at row 7"):
        views.fit(frame, X[:, 0])


SPELT = {
    "fortran": ["1.5D3", "2.5D3"],
    "hexadecimal": ["0x1F", "0x2F"],
}


@pytest.mark.parametrize("cells", SPELT.values(), ids=SPELT)
def test_numbers_in_other_forms_are_no_categories(cells):
    frame = pd.DataFrame({"a": X[:, 0], "b": np.resize(cells, N)})
    with pytest.raises(ValueError, match="reads as a number"):
        SpicyMKLRegressor().fit(frame, X[:, 0])


def test_numbers_as_text_are_to_be_converted():
    x = np.round(X[:, 0], 3)
    frame = pd.DataFrame({"a": x, "b": X[:, 1]})
    for text in (x.astype(str), [str(v).replace(".", ",") for v in x], DATES):
        with pytest.raises(
            ValueError, match="If it holds numbers or dates, convert them"
        ):
            SpicyMKLRegressor().fit(frame.assign(a=pd.Series(text).astype(str)), x)
    model = SpicyMKLRegressor(KERNELS).fit(frame, x)
    for kind in (str, "category"):
        with pytest.raises(
            ValueError, match="must be numeric, as in fit, but these are not: 'a'"
        ):
            model.predict(frame.astype({"a": kind}))


FORMS = {
    "dates": [DATES, pd.Series(DATES), pl.Series(DATES.to_numpy()), list(DATES)],
    "durations": [
        SPANS,
        pd.Series(SPANS),
        SPANS.to_numpy(),
        pl.Series(SPANS.to_numpy()),
        pa.array(SPANS.to_numpy()),
        [dt.timedelta(days=d) for d in DAYS],
    ],
    "complex numbers": [pd.Series(DAYS + 1j)],
    "intervals": [pd.interval_range(0, N)],
    "periods": [pd.period_range("2020-01", periods=N, freq="M")],
}
CASES = [(kind, form) for kind, forms in FORMS.items() for form in forms]


@pytest.mark.parametrize(("kind", "form"), CASES)
def test_what_is_no_number_is_no_target_time_weight_or_offset(kind, form):
    names = f"holds {kind}: pass (?!.*TableEnc)|Complex data not supported"
    for model in (SpicyMKLRegressor(), HKLRegressor(), GroupOMPRegressor()):
        with pytest.raises(ValueError, match=names):
            model.fit(X, form)
    with pytest.raises(ValueError, match=names):
        SpicyMKLRegressor().fit(X, DAYS, offset=form)
    with pytest.raises(ValueError, match=r"sample_weight (must hold|contains complex)"):
        SpicyMKLRegressor().fit(X, DAYS, sample_weight=form)
    for names_of in (("event", "time"), ("lower", "upper")):
        times = pd.DataFrame({names_of[0]: SEEN, names_of[1]: np.asarray(form)})
        with pytest.raises(ValueError, match=f"'{names_of[1]}'. must hold .*{kind}"):
            SpicyMKLSurvival().fit(X, times)


@pytest.mark.parametrize("form", ["abc", [1, [2]], {"a": 1}, object()])
def test_offsets_and_groups_of_no_shape_get_a_sentence(form):
    with pytest.raises(ValueError, match=r"offset.* must"):
        SpicyMKLRegressor().fit(X, DAYS, offset=form)
    with pytest.raises(ValueError, match=r"groups.* must"):
        SpicyMKLRegressorCV().fit(X, DAYS, groups=form)
    with pytest.raises(ValueError, match=r"y .*must"):
        SpicyMKLSurvival().fit(X, form)


def test_the_form_of_events_and_times_changes_nothing():
    expected = SpicyMKLSurvival(KERNELS).fit(X, np.c_[SEEN, DAYS]).predict(X)
    numbers = SEEN.astype(int)
    pairs = [[int(a), float(b)] for a, b in zip(SEEN, DAYS, strict=True)]
    forms = [numbers.astype(object), numbers.astype(float).astype(object)]
    forms += [pd.array(SEEN, dtype="boolean"), pd.array(numbers, dtype="Int64")]
    tables = [pd.DataFrame({"event": each, "time": DAYS}) for each in forms]
    tables += [np.array(pairs, dtype=object), pa.table({"event": SEEN, "time": DAYS})]
    tables.append(
        pd.DataFrame({"event": SEEN, "time": [Decimal(int(d)) for d in DAYS]})
    )
    for y in tables:
        found = SpicyMKLSurvival(KERNELS).fit(X, y).predict(X)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("gap", [None, pd.NA, np.nan])
def test_events_that_are_missing_have_a_row(gap):
    y = pd.DataFrame({"event": [gap, *SEEN[1:].tolist()], "time": DAYS})
    with pytest.raises(ValueError, match=r"y\['event'\] is missing \(.*\) at row 0"):
        SpicyMKLSurvival().fit(X, y)
    with pytest.raises(ValueError, match="True or False, or 1 or 0, got 'yes'"):
        SpicyMKLSurvival().fit(X, y.assign(event=np.where(SEEN, "yes", "no")))


WORDS = np.resize(["a", "b"], N)
TAKEN = {
    "StringDType": (WORDS.astype(np.dtypes.StringDType()), ["a", "b"]),
    "Decimal": ([Decimal(1), Decimal(2)] * 30, [1, 2]),
    "equal numbers": (np.array([1, 1.0, True, 0] * 15, dtype=object), [0, 1]),
    "dictionary": (pa.array(WORDS.tolist()).dictionary_encode(), ["a", "b"]),
}
NOT_TAKEN = {
    "mixed": (["1", 1] * 30, "mixes text and other labels: '1' at row 0 and 1 at"),
    "bytes": (
        [b"a", "a"] * 30,
        "mixes text and other labels: b'a' at row 0 and 'a' at",
    ),
    "arrays": (pd.Series([np.ones(2)] * N), "y holds lists, such as array"),
    "intervals": (pd.cut(X[:, 0], 3), r"y holds intervals.*y\)\.cat\.rename_cat"),
    "dates": ([dt.date(2020, 1, 1), dt.date(2021, 1, 1)] * 30, "y holds dates, such"),
    "periods": (pd.period_range("2020", periods=N, freq="D"), "y holds periods"),
    "late date": ([1, dt.date(2020, 1, 1)] * 30, r"dates, such as .* at row 1, but"),
    "huge": ([10**30, 2] * 30, r"too large for a class.*y\.astype\(str\)"),
    "complex": ([1 + 0j, 2] * 30, "y must hold real numbers"),
    "missing date": (np.resize(np.array(["2020", "NaT"], "M8[D]"), N), "NaN at row 1"),
}


@pytest.mark.parametrize(("y", "classes"), TAKEN.values(), ids=TAKEN)
@pytest.mark.parametrize("kind", [SpicyMKLClassifier, SpicyMKLOrdinal])
def test_labels_of_other_types_are_classes(y, classes, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = kind(KERNELS).fit(X, y)
    assert model.classes_.tolist() == classes
    assert model.score(X, y) == np.mean(model.predict(X) == np.asarray(y).tolist())


@pytest.mark.parametrize(("y", "message"), NOT_TAKEN.values(), ids=NOT_TAKEN)
@pytest.mark.parametrize("kind", [SpicyMKLClassifier, SpicyMKLOrdinal])
def test_labels_of_no_type_for_classes_are_named(y, message, kind):
    with pytest.raises(ValueError, match=message):
        kind(KERNELS).fit(X, y)


def test_equal_numbers_of_several_types_are_scored():
    y = np.array([1, 1.0, True, 0] * 15, dtype=object)
    model = SpicyMKLClassifier(KERNELS)
    plain = cross_val_score(model, X, y.astype(int), cv=KFold(3))
    np.testing.assert_array_equal(cross_val_score(model, X, y, cv=KFold(3)), plain)


@pytest.mark.parametrize("kind", [object, "category"])
def test_two_spellings_are_named(kind):
    y = pd.Series(np.resize(["yes", "no", "yes ", "No"], N), dtype=kind)
    (message,) = said(lambda: SpicyMKLClassifier(KERNELS).fit(X, y))
    assert "y holds 'No' and 'no', 'yes' and 'yes '" in message.replace(
        "'yes' and 'yes ', 'No' and 'no'", "'No' and 'no', 'yes' and 'yes '"
    )
    for labels in (["1", "1.0", "2"], ["a", "a\u200b", "b"]):
        (message,) = said(lambda y=labels * 20: SpicyMKLClassifier(KERNELS).fit(X, y))
        assert "y holds {!r} and {!r} as different".format(*labels) in message
    frame = pd.DataFrame({"a": X[:, 0], "b": y, "c": y.astype(str).str.upper()})
    (message,) = said(lambda: SpicyMKLRegressor().fit(frame, X[:, 0]))
    assert "column 'b' holds" in message
    assert "column 'c' holds 'YES' and 'YES '" in message


LEVELS = ["low", "mid", "high"]
ORDERED = pd.Categorical(np.resize(LEVELS, N), LEVELS, ordered=True)


@pytest.mark.parametrize(
    "y",
    [
        pl.Series(np.resize(LEVELS, N), dtype=pl.Enum(LEVELS)),
        pa.array(ORDERED),
        pa.chunked_array([pa.array(ORDERED)]),
        pd.Series(ORDERED),
        pd.Series(pa.array(ORDERED), dtype=pd.ArrowDtype(pa.array(ORDERED).type)),
    ],
)
def test_ordered_categories_keep_their_order(y):
    assert SpicyMKLOrdinal(KERNELS).fit(X, y).classes_.tolist() == LEVELS


def test_words_that_are_numbers_are_in_their_order():
    numbers = SpicyMKLOrdinal(KERNELS).fit(X, np.resize(["1", "10", "2"], N))
    assert numbers.classes_.tolist() == ["1", "2", "10"]
    grades = np.resize(["g1", "g10", "g2"], N)
    with pytest.warns(DataWarning, match=r'order=\["g1", "g2", "g10"\]'):
        SpicyMKLOrdinal(KERNELS).fit(X, grades)


FRAME = pd.DataFrame(X, columns=["a", "b"], index=3 * np.arange(N))
Y = pd.Series(np.sin(2.0 * X[:, 0]), index=FRAME.index)
MOVED = Y.sample(frac=1, random_state=0)


def test_row_labels_in_another_order_are_warned_of():
    fitted = SpicyMKLRegressor(KERNELS).fit(FRAME, Y)
    binary = SpicyMKLClassifier(KERNELS).fit(FRAME, Y > 0)
    times = pd.DataFrame({"event": SEEN, "time": DAYS}, index=FRAME.index)
    calls = {
        "y": [
            lambda: SpicyMKLRegressor(KERNELS).fit(FRAME, MOVED),
            lambda: SpicyMKLRegressor(KERNELS).fit(FRAME, MOVED.to_frame()),
            lambda: SpicyMKLRegressor(KERNELS).fit(FRAME[["a"]], MOVED),
            lambda: SpicyMKLSurvival(KERNELS).fit(FRAME, times[::-1]),
            lambda: SpicyMKLOrdinal(KERNELS).fit(FRAME, MOVED > 0),
            lambda: fitted.score(FRAME, MOVED),
            lambda: binary.score(FRAME, MOVED > 0),
            # Half a frame beside half of the targets in another order.
            lambda: SpicyMKLRegressor(KERNELS).fit(FRAME[:40], MOVED[:40]),
            lambda: inspection.variance_split(fitted, FRAME, MOVED),
            lambda: inspection.deviance_split(fitted, FRAME, MOVED),
            lambda: inspection.kernel_tests(
                SpicyMKLSurvival(KERNELS), FRAME, times[::-1]
            ),
        ],
        "sample_weight": [
            lambda: SpicyMKLRegressor(KERNELS).fit(FRAME, Y, MOVED.abs()),
        ],
        "offset": [
            lambda: SpicyMKLRegressor(KERNELS).fit(FRAME, Y, offset=MOVED),
            lambda: fitted.predict(FRAME, offset=MOVED),
        ],
        "groups": [
            lambda: inspection.kernel_tests(fitted, FRAME, Y, groups=MOVED.rank() // 2),
            lambda: SpicyMKLRegressorCV(KERNELS, alphas=[1e-3], cv=3).fit(
                FRAME, Y, groups=MOVED.rank() // 10
            ),
        ],
    }
    for name, each in calls.items():
        for call in each:
            (message,) = said(call)
            assert f": {name} and X have the same row labels" in message


def test_row_labels_that_say_nothing_are_not_warned_of():
    for y in (Y, Y.reset_index(drop=True), Y.to_numpy(), list(Y)):
        assert said(lambda y=y: SpicyMKLRegressor(KERNELS).fit(FRAME, y)) == []
    assert said(lambda: SpicyMKLRegressor(KERNELS).fit(X, MOVED)) == []


NAMES = {
    "fresh": [0, 1, 2],
    "numbers": [5, 6, 7],
    "floats": [0.5, 1.5, 2.5],
    "tuples": pd.MultiIndex.from_tuples([("r", "x"), ("r", "y"), ("p", "x")]),
    "dates": pd.to_datetime(["2020", "2021", "2022"]),
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("text", [False, True])
def test_columns_of_any_name_keep_their_order(names, text, tmp_path):
    frame = pd.DataFrame(np.c_[X, X[:, 0] * X[:, 1]], columns=names)
    if text:
        frame[frame.columns[2]] = np.resize(["u", "v", "w"], N)
    model = SpicyMKLRegressor().fit(frame, Y.to_numpy())
    save(model, tmp_path / "model.skops")
    for each in (model, load(tmp_path / "model.skops")):
        np.testing.assert_array_equal(each.predict(frame), model.predict(frame))
        with pytest.raises(ValueError, match=r"in (the same|fit their) order"):
            each.predict(frame[frame.columns[::-1]])
    if isinstance(names, list) and names[0] == 5:
        assert "[5]" in " ".join(model.kernel_names_)


def test_names_of_several_types_are_refused_as_before():
    frame = pd.DataFrame(X, columns=["a", 1])
    with pytest.raises(TypeError, match="only supported if all input features"):
        SpicyMKLRegressor().fit(frame, X[:, 0])


def test_categories_that_the_fit_has_not_met_are_named_in_one_warning():
    words = {f"c{k}": np.resize(["u", "v", "w"][: k + 1], N) for k in range(1, 3)}
    frame = pd.DataFrame({"a": X[:, 0], **words})
    model = SpicyMKLRegressor().fit(frame, X[:, 0])
    assert said(lambda: model.predict(frame)) == []
    capitals = frame.assign(**{name: frame[name].str.upper() for name in words})
    for call in (model.predict, model.contributions):
        (message,) = said(lambda call=call: call(capitals))
        assert "'c1' in 60 of 60 rows ('U', 'V')" in message
        assert "'c2' in 60 of 60 rows ('U', 'V', 'W')" in message
    pipeline = make_pipeline(TableEncoder(max_categories=2), SpicyMKLRegressor())
    pipeline.fit(frame[["a", "c2"]], X[:, 0])
    assert said(lambda: pipeline.predict(frame[["a", "c2"]])) == []
    (message,) = said(lambda: pipeline.predict(capitals[["a", "c2"]]))
    assert "which become '(other)': column 'c2' in 60 of 60 rows" in message


GRADES = np.digitize(X[:, 0], [-0.5, 0.5])
TIMES = np.c_[SEEN, DAYS]


@pytest.mark.parametrize(
    ("search", "y", "reason"),
    [
        (SpicyMKLSurvivalCV, TIMES, "holds no two times whose order is known"),
        (SpicyMKLOrdinalCV, GRADES, "holds one class only"),
    ],
)
def test_folds_without_a_comparable_pair_are_named(search, y, reason):
    order = np.argsort(GRADES if y is GRADES else SEEN, kind="stable")
    model = search(KERNELS, alphas=[0.1], tol=0.1, cv=KFold(10))
    with pytest.warns(SearchWarning, match=f"of cv has no score.*{reason}"):
        model.fit(X[order], y[order])
    with pytest.raises(
        ValueError, match=f"no fold of cv can be used.* fold 0 of cv {reason}"
    ):
        search(KERNELS, cv=LeaveOneOut()).fit(X, y)


@pytest.mark.parametrize(
    "params", [{}, {"loss": "poisson", "scoring": "r2"}], ids=["default", "counts"]
)
def test_a_score_of_single_samples_says_why_it_is_none(params):
    search = SpicyMKLRegressorCV(KERNELS, cv=LeaveOneOut(), **params)
    with pytest.raises(ValueError, match=r"has one sample, and R\^2 requires two"):
        search.fit(X, DAYS)


def test_a_model_scored_on_one_time_says_why_there_is_no_score():
    model = SpicyMKLSurvival(KERNELS).fit(X, TIMES)
    with pytest.warns(
        UndefinedMetricWarning, match="no two samples have a known order"
    ):
        assert np.isnan(model.score(X[:1], TIMES[:1]))


def test_folds_that_lack_events_are_left_out():
    events = np.zeros(N)
    events[3] = 1.0
    search = SpicyMKLRegressorCV(KERNELS, loss="poisson", n_alphas=2, cv=5)
    with pytest.warns(SearchWarning, match="fold 0 of cv is skipped.*a count above 0"):
        search.fit(X, events)
    assert search.n_splits_ == 4
    search.set_params(cv=[(np.arange(4, N), np.arange(4))])
    with pytest.raises(
        ValueError, match=r"training set of fold 0 of cv.*count above 0"
    ):
        search.fit(X, events)


@pytest.mark.parametrize(
    ("kind", "y", "labels"),
    [
        (SpicyMKLRegressorCV, DAYS, None),
        (SpicyMKLClassifierCV, X[:, 0] > 0, X[:, 0] > 0),
        (SpicyMKLSurvivalCV, TIMES, SEEN),
        (SpicyMKLOrdinalCV, GRADES, GRADES),
    ],
)
@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
def test_a_number_of_folds_keeps_groups_together(kind, y, labels):
    groups = np.arange(N) // 6
    kernels, settings = [LinearKernel(), GaussianKernel(1.0)], {"tol": 0.1}
    found = kind(kernels, alphas=[0.1], cv=3, **settings).fit(X, y, groups=groups)
    splitter = GroupKFold(3) if labels is None else StratifiedGroupKFold(3)
    folds = list(splitter.split(X, labels, groups))
    asked = kind(kernels, alphas=[0.1], cv=folds, **settings).fit(X, y)
    for number in range(3):
        name = f"split{number}_test_score"
        np.testing.assert_array_equal(found.cv_results_[name], asked.cv_results_[name])
    with pytest.raises(ValueError, match=r"cv=20 is out .* groups.*from 2 to 10"):
        kind(kernels, cv=20).fit(X, y, groups=groups)


def test_folds_that_are_used_up_are_said_to_be():
    search = SpicyMKLRegressorCV(KERNELS, alphas=[1e-3], cv=KFold(3).split(X))
    with pytest.raises(ValueError, match="pass a list of folds, because an iterator"):
        search.fit(X, DAYS).fit(X, DAYS)


SQUARED = ((X[:, None] - X[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("normalize", ["variance", "trace", "center", None])
def test_distances_are_no_kernel(normalize):
    settings = {"normalize": normalize}
    y = X[:, 0] > 0
    message = "Gram matrix 0 is not positive semidefinite: its diagonal is 0"
    named = stack_grams({"d": SQUARED, "l": X @ X.T})
    with pytest.raises(IndefiniteKernelError, match=f"d: {message}"):
        SpicyMKLClassifier("precomputed", **settings).fit(named, y)

    def distances(A, B):
        return ((A[:, None] - B[None]) ** 2).sum(axis=2)

    for kernel, data in (
        ({"d": Grams(SQUARED, 0)}, np.arange(N)[:, None]),
        ([FunctionKernel(distances), GaussianKernel(1.0)], X),
    ):
        model = SpicyMKLClassifier(kernel, **settings)
        with pytest.raises(IndefiniteKernelError, match=message):
            model.fit(data, y)


@pytest.mark.parametrize("excess", [1e-16, -1e-15])
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_diagonal_that_is_zero_up_to_rounding_is_one_of_distances(excess, symmetric):
    D = SQUARED + excess * np.eye(N)
    D[0, 1] += 0.0 if symmetric else 1e-15
    message = "its diagonal is 0 .* such as exp"
    with pytest.raises(IndefiniteKernelError, match=f"^d: Gram matrix 0 .*{message}"):
        SpicyMKLRegressor("precomputed").fit(stack_grams({"d": D}), X[:, 0])
    with pytest.raises(IndefiniteKernelError, match=message):
        SpicyMKLRegressor({"d": Grams(D, 0)}).fit(np.arange(N)[:, None], X[:, 0])


def test_complaints_about_named_matrices_name_them():
    K, y = np.exp(-SQUARED), X[:, 0] > 0
    gap, skew = K.copy(), K.copy()
    gap[2, 3] = np.nan
    skew[2, 3] += 1.0
    for wrong in (gap, skew):
        with pytest.raises(ValueError, match=r"^bad: .*Gram matrix 1"):
            SpicyMKLClassifier("precomputed").fit(
                stack_grams({"k": K, "bad": wrong}), y
            )
    model = SpicyMKLClassifier("precomputed").fit(np.stack([K, X @ X.T], axis=2), y)
    with pytest.warns(UserWarning, match="X has names of Gram matrices, but"):
        model.predict(stack_grams({"l": X @ X.T, "k": K}))
    with pytest.raises(ValueError, match=r"^k: Input X contains NaN"):
        model.predict(stack_grams({"k": gap, "l": X @ X.T}))


def test_columns_without_a_penalty_are_no_kernels():
    for kernels in (Unpenalized([0]), [Unpenalized([0]), LinearKernel()]):
        with pytest.raises(
            ValueError, match="Unpenalized columns must be a named view"
        ):
            SpicyMKLRegressor(kernels).fit(X, DAYS)


class Color(str, enum.Enum):  # noqa: UP042 - a StrEnum has str() of its value
    RED = "red"
    TURQUOISE = "turquoise"


@pytest.mark.parametrize("kind", [list, pd.Series, "object"])
def test_members_of_text_enums_are_their_text(kind):
    members = [Color.RED, Color.TURQUOISE] * 30
    y = np.array(members, dtype=object) if kind == "object" else kind(members)
    model = SpicyMKLClassifier(KERNELS).fit(X, y)
    assert model.classes_.tolist() == ["red", "turquoise"]
    assert {type(label) for label in model.classes_.tolist()} == {str}
    table = pd.DataFrame({"x": X[:, 0], "c": pd.Series(members, dtype=object)})
    assert SpicyMKLRegressor().fit(table, DAYS).categories_[0].tolist() == [
        "red",
        "turquoise",
    ]


def test_score_names_classes_that_the_fit_has_not_seen():
    model = SpicyMKLClassifier(KERNELS).fit(X, np.resize(["a", "b"], N))
    y = np.resize(["a", "c"], N)
    assert said(lambda: model.score(X, y)) == [
        "SpicyMKLClassifier: y holds classes not seen in fit, which count as wrong, in "
        "30 of 60 rows: 'c'."
    ]
    assert not said(lambda: model.score(X, np.full(N, "a")))
    with pytest.raises(ValueError, match="y holds numbers, such as 0, but the classes"):
        model.score(X, np.resize([0, 1], N))
    numbers = SpicyMKLClassifier(KERNELS).fit(X, np.resize([1, 2], N))
    assert (
        "in 30 of 60 rows: 3" in said(lambda: numbers.score(X, np.resize([1, 3], N)))[0]
    )
    assert not said(lambda: numbers.score(X, np.resize([1.0, 2.0], N)))


CHANGED = {
    "text": (["a", "a\0"], "'a.x00' at row 1, but NumPy removes NUL"),
    "bytes": ([b"a", b"a\0"], "b'a.x00' at row 1, but NumPy removes NUL"),
    "signs": ([-1, 2**63], "holds 9.22.*e.18, but floats as labels must be finite"),
    "floats": ([0.0, 2**53 + 1], "must be finite and below 2..53"),
    "huge": ([1, 2**64], "integers must have at most 64 bits"),
}


@pytest.mark.parametrize("form", [list, lambda y: pd.Series(y, dtype=object)])
@pytest.mark.parametrize("case", CHANGED)
def test_labels_that_numpy_would_change_are_refused(case, form):
    labels, message = CHANGED[case]
    for model in (SpicyMKLClassifier(KERNELS), SpicyMKLOrdinal(KERNELS)):
        with pytest.raises(ValueError, match=message):
            model.fit(X, form(labels * (N // 2)))


def test_large_labels_that_integers_can_be_are_kept_apart():
    for labels in ([2**62, 2**62 + 1], np.array([1, 2**63 + 1], dtype=np.uint64)):
        model = SpicyMKLClassifier(KERNELS).fit(X, np.resize(labels, N))
        assert model.classes_.tolist() == list(labels)
    half = np.resize([1, 2], N).astype(np.float16)
    assert SpicyMKLClassifier(KERNELS).fit(X, half).classes_.tolist() == [1.0, 2.0]


def test_groups_that_numpy_would_change():
    search = SpicyMKLRegressorCV(KERNELS, n_alphas=2, cv=2)
    for groups in (["a", "a\0"], [2.0**53, 2.0**53 + 2]):
        with pytest.raises(ValueError, match=r"groups holds .* (NUL|below 2\*\*53)"):
            search.fit(X, X[:, 0], groups=groups * (N // 2))
    groups = [-1, 2**63, 2**63 + 1, 2**63 + 2] * (N // 4)
    assert np.unique(group_numbers(groups, N)).size == 4


@pytest.mark.parametrize(
    "values",
    [["u", "u\0"], [-1, 2**63, 2**63 + 1], [2.0**53, 2.0**53 + 2]],
)
def test_categories_that_numpy_would_change_are_refused(values):
    column = pd.Categorical(pd.Series((values * N)[:N], dtype=object))
    if isinstance(values[0], float):
        column = pd.Categorical(np.resize(values, N))
    if len(column.categories) < len(values):
        pytest.skip("this version of pandas merges these values itself")
    with pytest.raises(ValueError, match="Column 'g' is read as categories, but"):
        SpicyMKLRegressor({"a": ["g"]}).fit(pd.DataFrame({"g": column}), X[:, 0])


def test_categories_that_are_large_integers_are_no_floats_at_predict():
    numbers = 2**60 + np.arange(N) % 3
    frame = pd.DataFrame({"g": pd.Categorical(numbers)})
    model = SpicyMKLRegressor({"a": ["g"]}).fit(frame, X[:, 0])
    with pytest.raises(ValueError, match="must be finite and below 2\\*\\*53"):
        model.predict(pd.DataFrame({"g": numbers.astype(float)}))


def test_names_of_samples_end_in_no_nul_character():
    with pytest.raises(ValueError, match="NumPy removes NUL characters"):
        Grams(np.eye(2), "id", names=["a", "b\0"])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_large_integers_beside_missing_ones_are_named(library):
    numbers = [None, *(2**53 + row for row in range(N - 1))]
    if library is pd.DataFrame:
        numbers = pd.array(numbers, dtype="Int64")
    frame = library({"id": numbers, "a": X[:, 0]})
    views = Views({"u": (["id", "a"], [GaussianKernel("median")])}, "expected")
    messages = said(lambda: SpicyMKLRegressor(views).fit(frame, X[:, 1]))
    assert any("'id' of X holds different integers" in text for text in messages)


@pytest.mark.parametrize("text", ["nan", "<NA>", "NaT"])
def test_missing_labels_as_text_are_doubtful(text):
    y = np.resize(["a", text], N)
    (message,) = said(lambda: SpicyMKLClassifier(KERNELS).fit(X, y))
    assert f"y holds the text {text!r}, which astype(str) writes for missing" in message
    frame = pd.DataFrame({"g": y})
    (message,) = said(lambda: SpicyMKLRegressor({"a": ["g"]}).fit(frame, X[:, 0]))
    assert f"column 'g' holds the text {text!r}" in message


def test_labels_that_are_numbers_of_other_languages():
    y = np.resize(["1.5D3", "2.5D2"], N)
    model = SpicyMKLClassifier(KERNELS)
    assert "'1.5D3' may be a hexadecimal number or" in said(lambda: model.fit(X, y))[0]
    assert not said(lambda: model.fit(X, pd.Series(y, dtype="category")))


@pytest.mark.parametrize("kind", [list, np.array, pd.Series])
def test_a_list_of_dna_says_which_letters_are_ambiguous(kind):
    texts = ["".join(row) + "NNRY" for row in rng.choice(list("ACGT"), (N, 30))]
    with pytest.raises(ValueError, match="they contain 'NRY' beside A, C, G and T"):
        SpicyMKLClassifier().fit(kind(texts), SEEN)


@pytest.mark.parametrize("gap", [None, np.nan, 3])
def test_a_list_of_strings_with_gaps_names_the_first(gap):
    sequences = ["ACGTACGTACGTACGTACGTAC"] * N
    for row in (4, 0):
        sequences[row] = gap
        with pytest.raises(ValueError, match=f"at row {row}, and strings in other"):
            SpicyMKLRegressor().fit(sequences, X[:, 0])


def test_a_missing_event_is_named_in_an_array_of_numbers():
    y = np.array([[5.0, 1.0], [3.0, np.nan], [2.0, 0.0]])
    with pytest.raises(ValueError, match=r"y\[1\] is missing \(.*\) at row 1"):
        SpicyMKLSurvival(KERNELS).fit(X[:3], y)
