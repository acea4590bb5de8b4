"""Plot of the hull of an HKL model."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from multikernel._typing import Indices
from multikernel.display import _style
from multikernel.display._style import Axes, BarContainer
from multikernel.display.base import Display
from multikernel.inspection.pipelines import final_estimator


@dataclass(eq=False, repr=False)
class HullDisplay(Display):
    """Plot of the hull, the set of nodes that an HKL model selected.

    A node has a level for each of its inputs, such as the degree of a polynomial. The
    upper panel has bars of the largest norms. The lower panel counts the nodes by
    number of inputs and sum of levels, shaded by their share of all squared norms.

    Parameters
    ----------
    norms : array-like of shape (n_nodes,)
        Norms of the nodes' functions; zero for inactive nodes.
    names : sequence of str, of length n_nodes
        Names of the nodes.
    degrees : sequence of tuple of int, of length n_nodes
        Levels of each node's inputs, (2, 1) for x1^2 * x3; levels of zero are omitted.

    Attributes
    ----------
    ax_ : list of matplotlib Axes
        Upper and lower panel.
    figure_ : matplotlib Figure
    bars_ : BarContainer
        The bars, strongest first.
    counts_ : ndarray of shape (n_interactions + 1, n_degrees + 1)
        Nodes of the hull by number of inputs (row) and sum of levels (column).

    Examples
    --------
    >>> from multikernel.display import HullDisplay
    >>> names, degrees = ["1", "x1", "x2", "x1 * x2"], [(), (1,), (1,), (1, 1)]
    >>> display = HullDisplay([0.0, 0.5, 0.0, 2.0], names, degrees).plot()
    >>> [float(bar.get_width()) for bar in display.bars_]
    [2.0, 0.5]
    >>> display.counts_.tolist()
    [[1, 0, 0], [0, 2, 0], [0, 0, 1]]
    """

    norms: Any
    names: Sequence[str]
    degrees: Sequence[tuple[int, ...]]
    ax_: list[Axes] = field(init=False)
    bars_: BarContainer = field(init=False)
    counts_: Indices = field(init=False)

    def __post_init__(self) -> None:
        self.degrees = tuple(map(tuple, self.degrees))
        self._read_fields(names=("n_names",), norms=("n_names",), degrees=("n_names",))

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        ax: Sequence[Axes] | None = None,
        max_nodes: int = 12,
    ) -> "HullDisplay":
        """Plot the hull of a fitted model.

        Parameters
        ----------
        estimator : estimator
            Fitted HKL model, or a pipeline or search that ends in one.
        ax, max_nodes
            See `plot`.
        """
        model = final_estimator(estimator)
        if not hasattr(model, "hull_"):
            raise TypeError(
                f"{type(model).__name__} has no hull_: pass a fitted HKLClassifier or "
                "HKLRegressor."
            )
        display = cls(model.node_norms_, model.kernel_names_, model.node_degrees_)
        return display.plot(ax=ax, max_nodes=max_nodes)

    def plot(
        self, ax: Sequence[Axes] | None = None, *, max_nodes: int = 12
    ) -> "HullDisplay":
        """Plot both panels.

        Parameters
        ----------
        ax : sequence of two matplotlib Axes, default=None
            Axes to draw on. Default: a new figure.
        max_nodes : int, default=12
            Maximum number of bars.
        """
        order = np.argsort(-self.norms, kind="stable")[:max_nodes]
        order = order[self.norms[order] > 0.0]
        height = 3.2 + 0.27 * max(order.size, 1)
        size, ratios = (7.2, height), (height - 2.4, 2.4)
        upper, lower = self.ax_ = self._new_axes(
            ax, count=2, figsize=size, sharex=False, height_ratios=ratios
        )
        names = [self.names[k] for k in order]
        self.bars_ = _style.bars(upper, self.norms[order], names, _style.color(0))
        upper.set_xlim(left=0.0)
        upper.set_xlabel("norm of the node's function")
        n_active = int(np.count_nonzero(self.norms))
        title = f"hull of {len(self.names)} nodes, {n_active} with a function"
        if order.size < n_active:
            title += f", {order.size} shown"
        _style.headline(upper, title)
        self._draw_kinds(lower)
        return self

    def _draw_kinds(self, ax: Axes) -> None:
        """Draw the table that counts nodes by number of inputs and sum of levels."""
        # `degrees` has a tuple for each node, with the levels of the node's inputs.
        n_inputs = np.array([len(degrees) for degrees in self.degrees], dtype=np.intp)
        levels = np.array([sum(degrees) for degrees in self.degrees], dtype=np.intp)
        shape = (n_inputs.max(initial=0) + 1, levels.max(initial=0) + 1)
        counts, shares = np.zeros(shape, dtype=np.intp), np.zeros(shape)
        np.add.at(counts, (n_inputs, levels), 1)
        np.add.at(shares, (n_inputs, levels), self.norms**2)
        shares /= max(shares.sum(), np.finfo(np.float64).tiny)
        self.counts_ = counts
        ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
        for (row, column), count in np.ndenumerate(counts):
            if count:
                ink = "white" if shares[row, column] > 0.6 else _style.INK
                text = ax.text(column, row, str(count), color=ink, fontsize="small")
                text.set(ha="center", va="center")
        ax.set_xticks(range(shape[1]))
        ax.set_yticks(range(shape[0]))
        ax.set_xlabel("sum of levels")
        ax.set_ylabel("inputs in a node")
        title = "number of nodes of a kind, shaded by their share of squared norms"
        _style.headline(ax, title)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
