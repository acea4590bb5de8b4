"""Names that matplotlib would read otherwise, in every picture and in the report."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from multikernel import (
    SpicyMKLClassifier,
    SpicyMKLRegressor,
    display,
    report,
)
from multikernel.inspection import Stability, VarianceSplit

NAMES = ["US$_per_$unit", "_under", "$\\frac{$"]


def texts(figure):
    """Draw a figure, and return all its texts as they were drawn."""
    figure.canvas.draw()
    plt.close(figure)
    found = figure.findobj(lambda artist: hasattr(artist, "get_text"))
    return [text.get_text().replace(r"\$", "$") for text in found if text.get_visible()]


def test_displays_of_given_values():
    drawn = np.array([[0.5, 0.1, 0.2], [0.7, 0.3, 0.2]])
    split = VarianceSplit(tuple(NAMES), drawn.mean(axis=0), 0.8, drawn)
    chosen = np.array([[True, True, True], [True, True, False]])
    stability = Stability(tuple(NAMES), chosen, np.array([0]), threshold=0.75)
    lines = np.array([[0.1, 0.2, 0.1], [0.5, 0.4, 0.3]])
    pictures = [
        display.KernelWeightsDisplay(drawn[0], NAMES),
        display.KernelWeightsDisplay(drawn, NAMES, group_names=NAMES[:2]),
        display.ExplanationDisplay([0.2, -0.5, 0.1], NAMES, 1.0),
        display.VarianceSplitDisplay(split),
        display.StabilityDisplay(stability),
        display.HullDisplay([0.5, 0.4, 0.3], NAMES, [(1,), (1,), (1, 1)]),
        display.RegularizationPathDisplay([1.0, 0.1], lines, NAMES),
    ]
    for picture in pictures:
        seen = texts(picture.plot().figure_)
        assert {*NAMES} <= {*seen}, type(picture).__name__


@pytest.mark.parametrize("name", NAMES)
def test_axes_legends_and_titles(name):
    few = [0.0, 1.0]
    one = display.ContributionDisplay(
        [few], few, [name], title=name, value_name=name, categories=[[name, "b"]]
    )
    two = display.ContributionDisplay(
        [[0, 1, 2], few], np.ones((3, 2)), ["a", name], categories=[None, [name, "_b"]]
    )
    grid = np.arange(9.0)
    heat = display.ContributionDisplay(
        [grid, grid], np.ones((9, 9)), [name, name], value_name=name
    )
    for picture, count in ((one, 4), (two, 2), (heat, 3)):
        assert texts(picture.plot().figure_).count(name) >= count
    legend = two.ax_.get_legend().get_texts()
    assert [text.get_text().replace(r"\$", "$") for text in legend] == [name, "_b"]
    history = np.array(
        [(3, k, i, i, i, 0.5) for k in (0, 1) for i in (1, 2)],
        dtype=[("n_active", float)]
        + [
            (field, float)
            for field in ("output", "iteration", "seconds", "passes", "duality_gap")
        ],
    )
    course = display.ConvergenceDisplay(history, output_names=[name, "_b"]).plot()
    assert {name, "_b"} <= {*texts(course.figure_)}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_reports(monkeypatch):
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(60, 3)), columns=NAMES)
    X["_level$"] = np.resize(["_d$", "$x$", "b"], 60)
    y = np.sin(2 * X[NAMES[0]]) + X[NAMES[1]] * X[NAMES[2]] + (X["_level$"] == "b")
    # Drawing is what may fail: files of pictures take most of the time.
    monkeypatch.setattr(
        Figure, "savefig", lambda figure, *_, **__: figure.draw_without_rendering()
    )
    targets = pd.DataFrame({"a$b$": y, "_c": -y})
    for model, target in [
        (SpicyMKLRegressor(alpha=0.01), y),
        (SpicyMKLClassifier(), np.where(y > 0, "$a$", "_b")),
        (SpicyMKLRegressor(selection="shared"), targets),
    ]:
        fitted = model.fit(X, target)
        assert report(fitted, X, target).endswith("</html>")


@pytest.mark.parametrize("keyword", ["output", "by"])
def test_unknown_keywords_get_a_sentence(keyword):
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = SpicyMKLRegressor(alpha=0.05).fit(X, X[:, 0])
    plt.close("all")
    wrong = {keyword: 1}
    for make, given in [
        (display.KernelWeightsDisplay, ()),
        (display.ExplanationDisplay, (X,)),
        (display.ContributionDisplay, (X, "x0")),
        (display.ConvergenceDisplay, ()),
    ]:
        if make in (display.ExplanationDisplay, display.ContributionDisplay) and (
            keyword == "output"
        ):
            continue
        with pytest.raises(TypeError, match=f"{make.__name__} has no parameter"):
            make.from_estimator(model, *given, **wrong)
    with pytest.raises(TypeError, match=r"max_kernels.*keyword of matplotlib's barh"):
        display.KernelWeightsDisplay([1.0], ["a"]).plot(**wrong)
    assert not plt.get_fignums()
    known = {"alpha": 0.5, "lw": 1.0, "capsize": 2, "hatch": "/"}
    display.KernelWeightsDisplay([1.0], ["a"]).plot(**known)
    display.RegularizationPathDisplay([1.0, 0.1], [[0], [1]], ["a"]).plot(marker="o")
