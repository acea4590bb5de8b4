"""Pictures of confidence, and of what a model does: values, not pixels."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from multikernel import (
    GroupOMPRegressor,
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    SpicyMKLRegressorCV,
)
from multikernel.display import (
    ContributionDisplay,
    ExplanationDisplay,
    KernelWeightsDisplay,
    RegularizationPathDisplay,
    SparsityPathDisplay,
    StabilityDisplay,
)
from multikernel.inspection import Stability, bootstrap
from multikernel.kernels import (
    CategoryKernel,
    ColumnKernel,
    GaussianKernel,
    Interactions,
    LinearKernel,
    Views,
)
from multikernel.kernels.sequence import SpectrumKernel

KERNELS = [
    ColumnKernel(GaussianKernel(0.7), 0),
    ColumnKernel(LinearKernel(), 0),
    ColumnKernel(GaussianKernel(1.0), [1, 2]),
    ColumnKernel(LinearKernel(), [0, 1, 2]),
]


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.standard_normal((80, 3)), columns=["age", "dose", "time"])
    y = np.sin(2 * X["age"]) + 0.5 * X["age"] + X["dose"] * X["time"] + 0.2 * X["time"]
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def model(data):
    return SpicyMKLRegressor(KERNELS, 0.005).fit(*data)


def test_a_line_is_the_function_of_its_column(data, model):
    X, y = data
    fits = bootstrap(model, X, y, 10, random_state=0)
    display = ContributionDisplay.from_estimator(model, X, 0, bootstrap=fits)
    x, values = display.artist_.get_data()
    assert (x.min(), x.max()) == (X["age"].min(), X["age"].max())
    terms = model.contributions(X)[:, 0]
    expected = terms - terms.mean()
    np.testing.assert_allclose(np.interp(X["age"], x, values), expected, atol=2e-2)
    assert display.ax_.get_xlabel() == "age"
    assert display.title == "age, width 0.7"
    inside = (values >= display.band[0] - 0.2) & (values <= display.band[1] + 0.2)
    assert inside.mean() > 0.9
    rug = display.ax_.lines[-1].get_xdata()
    np.testing.assert_allclose(rug, X["age"])


def test_kernels_of_one_column_are_added(data, model):
    X, _ = data
    one, two, both = (
        ContributionDisplay.from_estimator(model, X, kernel).values
        for kernel in (0, model.kernel_names_[1], [0, 1])
    )
    np.testing.assert_allclose(one + two, both, atol=1e-12)


def test_two_columns_are_a_map(data, model):
    X, _ = data
    display = ContributionDisplay.from_estimator(model, X, 2)
    assert display.column_names == ("dose", "time")
    a, b = display.grid
    probe = pd.DataFrame({"age": 0.0, "dose": a[[7, 40]], "time": b[[50, 3]]})
    place = int(np.flatnonzero(model.active_kernels_ == 2)[0])
    mean = model.contributions(X)[:, place].mean()
    expected = model.contributions(probe)[:, place] - mean
    np.testing.assert_allclose(display.values[[7, 40], [50, 3]], expected)
    drawn = display.artist_.get_array()
    np.testing.assert_allclose(np.ravel(drawn), display.values.T.ravel())


@pytest.fixture(scope="module")
def interactions():
    """Return a model of two numbers and two categories, and what it is of."""
    random = np.random.default_rng(3)
    table = pd.DataFrame(random.standard_normal((90, 2)), columns=["age", "dose"])
    table["sex"] = random.choice(["f", "m"], 90)
    table["site"] = random.choice(["colon", "lung", "skin"], 90)
    sign = np.where(table["sex"] == "m", 1.0, -1.0)
    y = table["age"] * table["dose"] + sign * (table["site"] == "lung")
    y += sign * table["dose"]
    kernels = [ColumnKernel(GaussianKernel(2.0), name) for name in ("age", "dose")]
    kernels += [ColumnKernel(CategoryKernel(), name) for name in ("sex", "site")]
    return SpicyMKLRegressor(Interactions(kernels), 0.005).fit(table, y), table


def test_an_interaction_is_a_map_of_its_two_columns(interactions):
    model, table = interactions
    display = ContributionDisplay.from_estimator(model, table, "age × dose")
    turned = ContributionDisplay.from_estimator(model, table, "dose × age")
    assert turned.column_names == display.column_names == ("age", "dose")
    assert (display.title, turned.title) == ("age × dose", "dose × age")
    for typed in ("age x dose", "dose * age"):
        same = ContributionDisplay.from_estimator(model, table, typed)
        assert np.abs(same.values - display.values).max() == 0.0
    with pytest.raises(ValueError, match=r"ContributionDisplay\.from_estimator"):
        ExplanationDisplay.from_estimator(model, table, "age × dose")
    np.testing.assert_array_equal(turned.values, display.values)
    place = list(model.active_kernels_).index(model.kernel_names_.index("age × dose"))
    a, b = display.grid
    probe = table[:2].assign(age=a[[7, 40]], dose=b[[50, 3]])
    mean = model.contributions(table)[:, place].mean()
    expected = model.contributions(probe)[:, place] - mean
    np.testing.assert_allclose(display.values[[7, 40], [50, 3]], expected)
    dots = display.ax_.collections[-1].get_offsets()
    np.testing.assert_allclose(dots, table[["age", "dose"]])


def test_an_interaction_with_few_values_is_a_line_for_each(interactions):
    model, table = interactions
    display = ContributionDisplay.from_estimator(model, table, "dose × sex")
    assert display.ax_.get_xlabel() == "dose"
    legend = display.ax_.get_legend()
    assert legend.get_title().get_text() == "sex"
    assert [text.get_text() for text in legend.get_texts()] == ["f", "m"]
    names = [model.kernel_names_[m] for m in model.active_kernels_]
    terms = model.contributions(table)[:, names.index("dose × sex")]
    for line, sex, dots in zip(
        display.artist_, ["f", "m"], display.ax_.collections, strict=True
    ):
        own = (table["sex"] == sex).to_numpy()
        there = np.interp(table["dose"][own], *line.get_data())
        np.testing.assert_allclose(there, terms[own] - terms.mean(), atol=0.01)
        np.testing.assert_allclose(dots.get_offsets()[:, 1], there)
    both = ContributionDisplay.from_estimator(model, table, "site × sex")
    assert [len(line.get_xdata()) for line in both.artist_] == [3, 3]
    ticks = [text.get_text() for text in both.ax_.get_xticklabels()]
    assert ticks == ["colon", "lung", "skin"]
    numbers = table[["age", "dose"]].assign(sex=(table["sex"] == "m") * 1.0)
    kernels = [ColumnKernel(GaussianKernel(2.0), k) for k in (1, 2)]
    again = SpicyMKLRegressor(Interactions(kernels), 0.005)
    again.fit(numbers, numbers["dose"] * numbers["sex"])
    drawn = ContributionDisplay.from_estimator(again, numbers, "sex × dose")
    assert drawn.grid[1].tolist() == [0.0, 1.0]
    assert len(drawn.artist_) == 2


def test_a_column_with_gaps_has_the_range_of_its_values(data):
    X, y = data
    gaps = X.mask(np.arange(80)[:, None] % [9, 7, 5] == 0)
    each = {name: ([name], GaussianKernel(1.0)) for name in ("age", "dose")}
    kernels = Interactions(Views(each, missing="expected"))
    model = SpicyMKLRegressor(kernels, alpha=0.001).fit(gaps, y)
    for name in ("age", "age × dose"):
        display = ContributionDisplay.from_estimator(model, gaps, name)
        assert display.grid[0].min() == gaps["age"].min()
        assert np.isfinite(display.values).all()


def test_a_column_is_all_kernels_on_it(data, model):
    X, _ = data
    named = ContributionDisplay.from_estimator(model, X, "age")
    np.testing.assert_allclose(
        named.values, ContributionDisplay.from_estimator(model, X, [0, 1]).values
    )
    assert named.title == "age"


def test_a_pipeline_is_drawn_in_the_units_of_its_input(data):
    X, y = data
    steps = make_pipeline(StandardScaler(), SpicyMKLRegressor(KERNELS, 0.005))
    steps.fit(1e3 * X + 5e4, y)
    display = ContributionDisplay.from_estimator(steps, 1e3 * X + 5e4, 0)
    np.testing.assert_allclose(display.grid[0].max(), 1e3 * X["age"].max() + 5e4)
    assert display.column_names == ("age",)


def test_classes_are_named(data):
    X, y = data
    labels = np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.7])]
    three = SpicyMKLClassifier(KERNELS[:1], 0.02).fit(X, labels)
    display = ContributionDisplay.from_estimator(three, X, 0, output="low")
    assert "of class low" in display.ax_.get_ylabel()
    with pytest.raises(ValueError, match=r"3 classes.*: pass one of 'high'"):
        ContributionDisplay.from_estimator(three, X, 0)
    # The output is checked before the terms of all rows are computed.
    three.contributions = None
    with pytest.raises(ValueError, match=r"3 classes.*: pass one of 'high'"):
        ExplanationDisplay.from_estimator(three, X, 0)
    two = SpicyMKLClassifier(KERNELS[:1], 0.02).fit(X, y > 0)
    display = ContributionDisplay.from_estimator(two, X, 0)
    assert "(positive: True)" in display.ax_.get_ylabel()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("nothing", "no kernel named 'nothing'"),
        (9, "kernel=9 does not exist"),
        ([0, 2], "use different columns"),
        ([], "kernel is empty"),
    ],
)
def test_kernels_without_a_picture_are_refused(data, model, kernel, message):
    with pytest.raises(ValueError, match=message):
        ContributionDisplay.from_estimator(model, data[0], kernel)


def test_three_columns_and_idle_kernels_have_no_picture(data):
    X, y = data
    wide = SpicyMKLRegressor(KERNELS[3:], 0.005).fit(X, y)
    with pytest.raises(ValueError, match="uses 3 columns"):
        ContributionDisplay.from_estimator(wide, X, 0)
    idle = SpicyMKLRegressor(KERNELS, 0.4).fit(X, y)
    out = int(np.setdiff1d(range(4), idle.active_kernels_)[0])
    with pytest.raises(ValueError, match="is not active"):
        ContributionDisplay.from_estimator(idle, X, out)


def test_columns_beside_sequences_keep_their_names(data):
    X, y = data
    texts = np.where(y > 0.0, "ACGTACGT", "CCCTGGGT")
    kernels = [
        ColumnKernel(SpectrumKernel(2), "text"),
        ColumnKernel(GaussianKernel(0.7), "age"),
    ]
    X = X.assign(text=texts)[["text", "age"]]
    model = SpicyMKLRegressor(kernels, 0.005).fit(X, y)
    display = ContributionDisplay.from_estimator(model, X, kernel=1)
    assert display.ax_.get_xlabel() == "age"
    with pytest.raises(ValueError, match="uses sequences"):
        ContributionDisplay.from_estimator(model, X, kernel=0)


def test_an_explanation_adds_up(data, model):
    X, _ = data
    display = ExplanationDisplay.from_estimator(model, X, 5, max_kernels=2)
    widths = [bar.get_width() for bar in display.bars_]
    assert len(widths) == 3  # two kernels, and what is left
    assert abs(widths[0]) >= abs(widths[1])
    total = display.base + sum(widths)
    assert total == pytest.approx(model.predict(X)[5])
    assert display.base == pytest.approx(model.predict(X).mean())
    with pytest.raises(ValueError, match="sample=80 is not a row of X"):
        ExplanationDisplay.from_estimator(model, X, 80)


def test_stable_kernels_stand_out():
    selections = np.zeros((4, 6), dtype=bool)
    selections[:, 1], selections[:2, 0] = True, True
    found = Stability(tuple("abcdef"), selections, np.array([1]), 0.75)
    display = StabilityDisplay(found).plot()
    assert [bar.get_width() for bar in display.bars_] == [1.0, 0.5]
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["b", "a"]
    colors = {bar.get_facecolor() for bar in display.bars_}
    assert len(colors) == 2
    title = display.ax_.get_title(loc="left")
    assert title.startswith("1 of 6 kernels chosen on 75%")
    assert f"at most {found.expected_false:.2g} expected" in title
    assert found.proves
    assert "proves nothing" not in title


def test_no_bar_stands_out_where_nothing_is_proved():
    selections = np.array([[True, True, False], [False, True, True]])
    found = Stability(("a", "b", "c"), selections, np.array([1]), 0.75)
    assert found.expected_false == pytest.approx(8 / 3)
    display = StabilityDisplay(found).plot()
    assert len({bar.get_facecolor() for bar in display.bars_}) == 1
    for said in (display.ax_.get_title(loc="left"), repr(found)):
        assert said.startswith("1 of 3 kernels")
        words = " ".join(said.split())
        assert "at most 2.7 expected by chance, so this proves nothing" in words


def test_a_selection_can_be_run_and_drawn_at_once(data):
    X, y = data
    model = SpicyMKLRegressor(KERNELS, 0.1)
    display = StabilityDisplay.from_estimator(model, X, y, 4, random_state=0)
    assert display.stability.selections.shape == (4, 4)


def test_error_bars_are_the_interval(data, model):
    X, y = data
    fits = bootstrap(model, X, y, 10, random_state=0)
    display = KernelWeightsDisplay.from_estimator(model, bootstrap=fits, level=0.8)
    low, high = fits.interval("kernel_weights", 0.8)
    order = np.argsort(-model.kernel_weights_)
    bars = display.bars_[0].errorbar.lines[2][0].get_segments()
    first = bars[0][:, 0]
    weight = model.kernel_weights_[order[0]]
    np.testing.assert_allclose(first[0], min(low[order[0]], weight))
    np.testing.assert_allclose(first[1], max(high[order[0]], weight))


def test_weights_that_say_nothing_make_room_for_shares(data):
    greedy = GroupOMPRegressor(KERNELS, 0.01, max_kernels=3).fit(*data)
    display = KernelWeightsDisplay.from_estimator(greedy)
    assert display.ax_.get_xlabel() == "share of the variance of f"
    widths = [bar.get_width() for bar in display.bars_[0]]
    assert sum(widths) == pytest.approx(1.0)
    plain = KernelWeightsDisplay.from_estimator(greedy, values="kernel_weights")
    assert plain.ax_.get_xlabel() == "kernel weight"


def test_shares_against_the_others_point_left():
    display = KernelWeightsDisplay([1.2, -0.2, 0.0], ["a", "b", "c"]).plot()
    assert [bar.get_width() for bar in display.bars_[0]] == [1.2, -0.2]
    assert display.ax_.get_xlim()[0] < -0.2


@pytest.mark.filterwarnings("ignore::multikernel.exceptions.SearchWarning")
@pytest.mark.parametrize(
    ("scoring", "name"),
    [
        (None, "R², 3 folds"),
        ("neg_mean_absolute_error", "negative mean absolute error, 3 folds"),
        (make_scorer(mean_absolute_error), "_Scorer, 3 folds"),
    ],
)
def test_the_axis_names_the_metric(data, scoring, name):
    search = SpicyMKLRegressorCV(
        KERNELS, n_alphas=3, cv=3, scoring=scoring, alpha_min_ratio=0.1
    )
    display = RegularizationPathDisplay.from_estimator(search.fit(*data))
    assert display.score_ax_.get_ylabel().endswith(name.removeprefix("_"))
    assert "‖f_m‖" in display.ax_.get_ylabel()


def test_lines_on_each_other_are_told_apart():
    values = np.array([[0.0, 0.0, 0.0], [0.5, 0.5, 0.2], [1.0, 1.0, 0.4]])
    display = RegularizationPathDisplay([1.0, 0.5, 0.1], values, ["a", "b", "c"])
    styles = {line.get_label(): line for line in display.plot().line_}
    assert styles["a"].get_linestyle() == styles["c"].get_linestyle() == "-"
    assert styles["b"].get_linestyle() != "-"


def test_every_alpha_is_labelled():
    scores = np.random.default_rng(0).uniform(size=(3, 4, 5))
    display = SparsityPathDisplay(scores, [0.1, 0.01, 0.001], best_alpha=0.01).plot()
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == ["alpha = 0.01", "alpha = 0.1", "alpha = 0.001"]
    plt.close("all")


def test_categories_are_points_with_names():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.standard_normal(90)})
    X["site"] = random.choice(["colon", "lung", "skin"], 90)
    y = np.sin(X["age"]) + 2.0 * (X["site"] == "lung")
    model = SpicyMKLRegressor({"a": ("age", [LinearKernel()]), "site": "site"})
    fits = bootstrap(model.set_params(alpha=0.01).fit(X, y), X, y, n_resamples=6)
    kernel = next(m for m, name in enumerate(model.kernel_names_) if "cat" in name)
    display = ContributionDisplay.from_estimator(model, X, kernel, bootstrap=fits)
    plt.close("all")
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks == ["colon", "lung", "skin"]
    values = model.contributions(X)[:, list(model.active_kernels_).index(kernel)]
    for place, site in enumerate(ticks):
        own = values[X["site"] == site][0] - values.mean()
        assert display.values[place] == pytest.approx(own)
    assert display.artist_.get_linestyle() == "None"
    assert (display.band[0] <= display.band[1]).all()
