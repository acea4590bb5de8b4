"""Regularization paths: which kernels are named, and where alpha runs."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text

from multikernel.display import RegularizationPathDisplay

ALPHAS = [0.1, 1.0, 0.01]
VALUES = np.array([[0.4, 0.0, 0.2], [0.0, 0.0, 0.0], [0.5, 0.0, 0.9]])
NAMES = ["a", "b", "c"]


def test_lines_run_from_strong_to_weak_most_important_first():
    display = RegularizationPathDisplay(ALPHAS, VALUES, NAMES).plot()
    assert [line.get_label() for line in display.line_] == ["c", "a"]
    np.testing.assert_array_equal(display.line_[0].get_xdata(), [1.0, 0.1, 0.01])
    np.testing.assert_array_equal(display.line_[0].get_ydata(), [0.0, 0.2, 0.9])
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlim() == (1.0, 0.01)
    assert display.score_ax_ is None
    assert [text.get_text() for text in display.ax_.texts] == ["c", "a"]


def test_lines_are_drawn_where_kernels_are_in_use():
    values = np.array([[0.0], [0.0], [0.5], [0.0], [0.0]])
    display = RegularizationPathDisplay([5, 4, 3, 2, 1], values, ["a"]).plot()
    drawn = [np.nan, 0.0, 0.5, 0.0, np.nan]
    np.testing.assert_array_equal(display.line_[0].get_ydata(), drawn)
    assert display.ax_.texts[0].xy == (1.0, 0.0)


def test_labels_stand_in_the_order_of_the_ends_and_apart():
    values = np.array([[0.0, 0.0, 0.0], [0.5, 0.5 + 1e-9, 0.5 - 1e-9]])
    display = RegularizationPathDisplay([1.0, 0.1], values, NAMES).plot()
    heights = {text.get_text(): text.xyann[1] for text in display.ax_.texts}
    assert heights["c"] < heights["a"] < heights["b"]
    display.figure_.canvas.draw()
    # An annotation's own extent would count its leader line.
    boxes = [Text.get_window_extent(text) for text in display.ax_.texts]
    overlaps = [a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i]]
    assert not any(overlaps)


def test_the_rest_is_grey():
    display = RegularizationPathDisplay(ALPHAS, VALUES, NAMES).plot(max_labels=1)
    assert [line.get_label() for line in display.line_] == ["c"]
    grey = [line for line in display.ax_.lines if line not in display.line_]
    np.testing.assert_array_equal(grey[0].get_ydata(), [0.0, 0.4, 0.5])
    assert len(grey) == 1  # b never comes in


def test_scores_and_the_chosen_alpha():
    scores = np.array([[0.9, 0.7], [0.5, 0.5], [0.6, 0.8]])
    display = RegularizationPathDisplay(
        ALPHAS, VALUES, NAMES, scores=scores, best_alpha=0.1
    ).plot()
    curve, best = display.score_ax_.lines
    np.testing.assert_allclose(curve.get_ydata(), [0.5, 0.8, 0.7])
    assert list(best.get_xdata()) == [0.1, 0.1]
    band = display.score_ax_.collections[0].get_paths()[0].vertices[:, 1]
    # Two folds 0.2 apart: standard error 0.2 / sqrt(2) / sqrt(2) = 0.1.
    assert band.max() == pytest.approx(0.9)
    assert display.ax_.texts[-1].get_text() == "alpha = 0.1"


def test_one_score_per_alpha_has_no_band():
    display = RegularizationPathDisplay(
        ALPHAS, VALUES, NAMES, scores=[0.9, 0.5, 0.6]
    ).plot()
    np.testing.assert_allclose(display.score_ax_.lines[0].get_ydata(), [0.5, 0.9, 0.6])


def test_given_axes_are_used():
    _, axes = plt.subplots(2)
    display = RegularizationPathDisplay(ALPHAS, VALUES, NAMES, scores=[1, 2, 3])
    assert display.plot(axes).score_ax_ is axes[1]
    assert display.plot(axes[0]).score_ax_ is None
    assert display.ax_ is axes[0]


def test_a_path_of_one_alpha():
    display = RegularizationPathDisplay([0.1], [[1.0, 0.0, 2.0]], NAMES).plot()
    assert [line.get_label() for line in display.line_] == ["c", "a"]


def test_no_kernel_ever_in_use():
    display = RegularizationPathDisplay(ALPHAS, np.zeros((3, 3)), NAMES).plot()
    assert display.line_ == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((ALPHAS, VALUES[:2], NAMES), r"values must have .* n_alphas=3, .*\(2, 3\)"),
        (([0.0, 1.0, 2.0], VALUES, NAMES), "alphas must be positive"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        RegularizationPathDisplay(*arguments)


def test_scores_of_another_length_are_refused():
    with pytest.raises(
        ValueError, match="scores has length 2, but alphas has length 3"
    ):
        RegularizationPathDisplay(ALPHAS, VALUES, NAMES, scores=[1.0, 2.0])
