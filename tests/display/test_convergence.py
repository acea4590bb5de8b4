"""Convergence curves: what is drawn against what."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from multikernel.display import ConvergenceDisplay

FIELDS = ["output", "iteration", "seconds", "passes", "duality_gap", "n_active"]


@pytest.fixture
def history():
    lines = [
        (0, 1, 0.1, 1.0, 0.5, 30),
        (0, 2, 0.3, 3.0, 1e-4, 9),
        (1, 1, 0.2, 2.0, 0.4, 20),
        (1, 2, 0.5, 4.0, 0.0, 5),
    ]
    return np.array(lines, dtype=[(field, float) for field in FIELDS])


@pytest.mark.parametrize("x", ["seconds", "iteration", "passes"])
def test_curves_of_one_problem(history, x):
    lines = history[:2]
    display = ConvergenceDisplay(lines, tol=1e-3).plot(x=x)
    upper, lower = display.ax_
    (gap,) = display.line_
    np.testing.assert_array_equal(gap.get_xdata(), lines[x])
    np.testing.assert_array_equal(gap.get_ydata(), lines["duality_gap"])
    np.testing.assert_array_equal(lower.lines[0].get_ydata(), lines["n_active"])
    assert upper.get_yscale() == "log"
    assert lower.get_ylim()[0] == 0
    assert upper.texts[0].get_text() == "tol = 0.001"


def test_one_curve_per_problem_and_no_gap_of_zero(history):
    display = ConvergenceDisplay(history, output_names=["no", "yes"]).plot()
    assert [line.get_label() for line in display.line_] == ["no", "yes"]
    np.testing.assert_array_equal(display.line_[1].get_ydata(), [0.4, np.nan])
    assert display.line_[0].get_color() != display.line_[1].get_color()
    assert not display.ax_[0].texts  # no tolerance was given


def test_given_axes_and_line_settings_are_used(history):
    figure, axes = plt.subplots(1, 2)
    display = ConvergenceDisplay(history[:2]).plot(axes, color="red")
    assert display.figure_ is figure
    assert list(display.ax_) == list(axes)
    assert display.line_[0].get_color() == "red"


def test_unknown_axis_is_refused(history):
    with pytest.raises(ValueError, match=r"x must be one of .* got 'time'"):
        ConvergenceDisplay(history).plot(x="time")


def test_several_models_on_the_same_axes(history):
    """A second model had the first one's colour, and its kernels were cut off."""
    larger = history[:2].copy()
    larger["n_active"] = [90, 70]
    first = ConvergenceDisplay(history[:2], tol=1e-3).plot(label="sparse")
    second = ConvergenceDisplay(larger, tol=1e-3).plot(first.ax_, label="even")
    upper, lower = second.ax_
    assert first.line_[0].get_color() != second.line_[0].get_color()
    colors = [line.get_color() for line in lower.lines]
    assert colors == [first.line_[0].get_color(), second.line_[0].get_color()]
    bottom, top = lower.get_ylim()
    assert bottom == 0.0
    assert top > 90.0
    legend = [text.get_text() for text in upper.get_legend().get_texts()]
    assert legend == ["sparse", "even"]
    assert [text.get_text() for text in upper.texts] == ["tol = 0.001"]


def test_one_axis_has_the_gap_alone(history):
    figure, axis = plt.subplots()
    display = ConvergenceDisplay(history[:2]).plot(axis)
    assert display.ax_.tolist() == [axis]
    assert len(axis.lines) == 1
    assert axis.get_yscale() == "log"
    assert axis.get_xlabel() == "time [s]"
    assert display.figure_ is figure


def test_classes_of_a_named_model_are_told_apart(history):
    display = ConvergenceDisplay(history, output_names=["no", "yes"]).plot(label="A")
    assert [line.get_label() for line in display.line_] == ["A, no", "A, yes"]
