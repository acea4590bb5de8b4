"""Lines of tail sums, and areas of cut-offs."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from multikernel.display import CutOffDisplay, TailSpectrumDisplay
from multikernel.estimators import LocalRademacherMKLRegressor, LpMKLRegressor
from multikernel.gram import DenseStack, tail_sums
from multikernel.kernels import GaussianKernel

X = np.random.default_rng(0).standard_normal((30, 2))
KERNELS = [GaussianKernel(1.0), GaussianKernel(4.0)]


def test_every_kernel_has_a_labelled_line_of_its_logarithms():
    grams = np.stack([kernel(X) for kernel in KERNELS])
    tails = tail_sums(DenseStack(grams), 5).tails
    display = TailSpectrumDisplay(tails, ["a", "b"]).plot()
    for K, line in zip(grams, display.lines_, strict=True):
        values = np.linalg.eigvalsh(K)[::-1] / 30
        exact = [np.log10(values[j:].sum()) for j in range(6)]
        assert line.get_ydata() == pytest.approx(exact, abs=1e-6)
        assert line.get_xdata().tolist() == [0, 1, 2, 3, 4, 5]
    assert [text.get_text() for text in display.ax_.texts] == ["a", "b"]
    plt.close(display.figure_)


def test_it_is_drawn_from_a_fitted_model_only_if_that_has_tails():
    y = X[:, 0]
    model = LocalRademacherMKLRegressor(KERNELS, theta=3).fit(X, y)
    display = TailSpectrumDisplay.from_estimator(model)
    assert display.tails.shape == (2, 4)
    assert "Gaussian, width" in display.ax_.texts[0].get_text()
    plt.close(display.figure_)
    with pytest.raises(TypeError, match="has no tail_sums_"):
        TailSpectrumDisplay.from_estimator(LpMKLRegressor(KERNELS).fit(X, y))


def test_few_cut_offs_have_whole_numbers_on_their_axis():
    tails = np.array([[1.0, 0.5, 0.2], [1.0, 0.9, 0.8]])
    display = TailSpectrumDisplay(tails, ["a", "b"]).plot()
    ticks = display.ax_.get_xticks()
    assert np.array_equal(ticks, ticks.round())
    plt.close(display.figure_)


def test_tails_of_zero_end_a_line_and_many_kernels_are_thinned():
    tails = np.column_stack([np.ones(30), np.linspace(0.0, 0.5, 30)])
    display = TailSpectrumDisplay(tails, [f"k{m}" for m in range(30)]).plot()
    assert len(display.lines_) == 12
    assert np.isnan(display.lines_[0].get_ydata()[1])
    assert "12 of 30" in display.ax_.get_title(loc="left")
    plt.close(display.figure_)


def test_names_must_fit():
    with pytest.raises(ValueError, match="1 kernels but 2 kernel names"):
        TailSpectrumDisplay([[1.0, 0.5]], ["a", "b"])


def test_areas_are_those_of_the_cut_offs():
    display = CutOffDisplay(0.5 ** np.arange(10), r=0.1).plot(cut_offs=(1, 4))
    assert display.cut_off == 4
    for panel, theta in zip(display.axes_, (1, 4), strict=True):
        values = 0.5 ** np.arange(10)
        area = theta * 0.1 + values[theta:].sum()
        assert f"{area:.3g}" in panel.get_title(loc="left")
    plt.close(display.figure_)
