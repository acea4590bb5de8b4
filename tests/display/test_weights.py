"""Bars of kernel weights: which, in what order, of what length."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from multikernel import SpicyMKLRegressor
from multikernel.display import KernelWeightsDisplay

NAMES = ["a", "b", "c", "d"]


def labels(display):
    return [tick.get_text() for tick in display.ax_.get_yticklabels()]


def widths(bars):
    return [bar.get_width() for bar in bars]


def test_largest_first_and_zeros_left_out():
    display = KernelWeightsDisplay([0.1, 0.0, 0.6, 0.3], NAMES).plot()
    assert labels(display) == ["c", "d", "a"]
    assert widths(display.bars_[0]) == [0.6, 0.3, 0.1]
    bottom, top = display.ax_.get_ylim()
    assert bottom > top  # the first bar is on top
    assert display.ax_.get_title(loc="left") == "3 of 4 kernels in use"


def test_max_kernels_cuts_and_says_so():
    display = KernelWeightsDisplay([0.1, 0.0, 0.6, 0.3], NAMES).plot(max_kernels=2)
    assert labels(display) == ["c", "d"]
    title = display.ax_.get_title(loc="left")
    assert title == "3 of 4 kernels in use, 2 shown"


def test_one_group_per_class():
    weights = [[0.0, 1.0, 0.0, 0.0], [0.5, 0.2, 0.0, 0.3]]
    display = KernelWeightsDisplay(weights, NAMES, group_names=["no", "yes"]).plot()
    assert labels(display) == ["b", "a", "d", "b"]
    assert [widths(bars) for bars in display.bars_] == [[1.0], [0.5, 0.3, 0.2]]
    centers = [bar.get_y() + bar.get_height() / 2 for g in display.bars_ for bar in g]
    heads = [text.xy[1] for text in display.ax_.texts]
    assert heads[0] < centers[0] < heads[1] < centers[1]
    assert [text.get_text() for text in display.ax_.texts] == ["no", "yes"]


def test_no_kernel_in_use():
    display = KernelWeightsDisplay(np.zeros(4), NAMES).plot()
    assert len(display.bars_[0]) == 0
    assert display.ax_.get_title(loc="left") == "0 of 4 kernels in use"


def test_given_axes_and_bar_settings_are_used():
    figure, ax = plt.subplots()
    display = KernelWeightsDisplay([1.0], ["a"]).plot(ax, color="red")
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert display.bars_[0][0].get_facecolor() == (1.0, 0.0, 0.0, 1.0)


def test_axes_of_a_subfigure():
    figure = plt.figure()
    ax = figure.subfigures(1, 2)[0].subplots()
    assert KernelWeightsDisplay([1.0], ["a"]).plot(ax).figure_ is figure


@pytest.mark.parametrize(
    ("weights", "groups", "message"),
    [
        ([0.5, 0.5], None, r"n_kernels=4, got \(1, 2\)"),
        (np.ones((3, 4)), ["a", "b"], r"n_groups=2, .* got \(3, 4\)"),
        (np.ones((2, 4)), None, r"n_groups=1, .* got \(2, 4\)"),
    ],
)
def test_disagreeing_lengths_are_refused(weights, groups, message):
    with pytest.raises(ValueError, match=message):
        KernelWeightsDisplay(weights, NAMES, group_names=groups)


def test_all_views_are_in_their_picture():
    """Views that a model does not use were left out, as if they had not been tried."""
    X = np.random.default_rng(0).standard_normal((40, 3))
    views = {"a": [0], "b": [1], "c": [2]}
    model = SpicyMKLRegressor(views, alpha=0.01).fit(X, np.sin(X[:, 0]))
    assert model.view_shares_["b"] == model.view_shares_["c"] == 0.0
    display = KernelWeightsDisplay.from_estimator(model, values="view_shares")
    assert labels(display) == ["a", "b", "c"]
    assert widths(display.bars_[0])[1:] == [0.0, 0.0]
    assert display.ax_.get_title(loc="left") == "1 of 3 views in use"
