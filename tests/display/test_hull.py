"""Pictures of a hull: what is named, what is counted."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from multikernel.display import HullDisplay
from multikernel.estimators import HKLRegressorCV, SpicyMKLRegressor
from multikernel.kernels import LinearKernel
from multikernel.kernels.graph import PolynomialGrid


@pytest.fixture(scope="module", name="model")
def fitted():
    X = np.random.default_rng(0).standard_normal((150, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    search = HKLRegressorCV(PolynomialGrid(3), alphas=[1.0, 0.1, 0.01], cv=2)
    with pytest.warns(UserWarning, match="smallest value in the grid"):
        return search.fit(X, y)


def test_the_strongest_nodes_are_named_and_all_are_counted(model):
    display = HullDisplay.from_estimator(model, max_nodes=2)
    names = [tick.get_text() for tick in display.ax_[0].get_yticklabels()]
    assert names == list(model.selected_nodes_)[:2]
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, list(model.selected_nodes_.values())[:2])
    assert display.counts_.sum() == len(model.hull_)
    assert display.counts_[2, 2] == sum(d == (1, 1) for d in model.node_degrees_)
    assert f"hull of {len(model.hull_)} nodes" in display.ax_[0].get_title(loc="left")


def test_a_hull_of_150_nodes_takes_no_more_room():
    few = HullDisplay(np.ones(12), ["x1"] * 12, [(1,)] * 12).plot()
    many = HullDisplay(np.ones(150), ["x1 * x2"] * 150, [(1, 1)] * 150).plot()
    assert many.figure_.get_figheight() == few.figure_.get_figheight()
    assert "12 shown" in many.ax_[0].get_title(loc="left")


def test_a_hull_of_nothing_is_drawn():
    display = HullDisplay([0.0], ["1"], [()]).plot()
    assert len(display.bars_) == 0
    assert display.counts_.tolist() == [[1]]


def test_given_axes_are_used_and_wrong_ones_refused():
    _, axes = plt.subplots(2)
    display = HullDisplay([1.0], ["x1"], [(1,)]).plot(axes)
    assert display.ax_ == list(axes)
    with pytest.raises(TypeError, match="2 matplotlib Axes"):
        HullDisplay([1.0], ["x1"], [(1,)]).plot(axes[0])


def test_other_models_are_refused():
    X = np.random.default_rng(0).standard_normal((20, 1))
    other = SpicyMKLRegressor([LinearKernel()]).fit(X, X[:, 0])
    with pytest.raises(TypeError, match="pass a fitted HKL"):
        HullDisplay.from_estimator(other)


def test_sizes_that_disagree_are_refused():
    with pytest.raises(ValueError, match=r"norms must have .* n_names=2, got \(1,\)"):
        HullDisplay([1.0], ["a", "b"], [()])
