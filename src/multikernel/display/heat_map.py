"""Heat map of views or kernels by outputs."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from multikernel._validation import COUNT, OneOf, check_parameter
from multikernel.display import _style
from multikernel.display._style import Axes, QuadMesh
from multikernel.display.base import Display
from multikernel.display.weights import VALUE_NAMES, shown_values
from multikernel.inspection.pipelines import final_estimator


@dataclass(eq=False, repr=False)
class HeatMapDisplay(Display):
    """Heat map of weights or shares: rows are views or kernels, columns outputs.

    Parameters
    ----------
    values : array-like of shape (n_rows, n_outputs)
        The values; shares may be negative.
    row_names, output_names : sequence of str
        Names of the views or kernels, and of the classes, labels or targets.
    value_name : str, default="share of the variance of f"
        Label of the color bar.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    map_ : QuadMesh

    Examples
    --------
    >>> from multikernel.display import HeatMapDisplay
    >>> cells = HeatMapDisplay([[0.9, 0.2], [0.1, 0.8]], ["p53", "MYC"], ["B", "T"])
    >>> cells.plot().map_.get_array().tolist()
    [[0.9, 0.2], [0.1, 0.8]]
    """

    values: Any
    row_names: Sequence[str]
    output_names: Sequence[str]
    _: KW_ONLY
    value_name: str = "share of the variance of f"
    map_: QuadMesh = field(init=False)

    def __post_init__(self) -> None:
        rows, outputs = ("n_rows",), ("n_outputs",)
        self._read_fields(row_names=rows, output_names=outputs, values=rows + outputs)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        values: str | None = None,
        *,
        ax: Axes | None = None,
        max_rows: int = 60,
        **mesh_kwargs: Any,
    ) -> "HeatMapDisplay":
        """Plot the shares of the views or kernels for every output of a model.

        Parameters
        ----------
        estimator : estimator
            Fitted model, or a pipeline or search that ends in one.
        values : {"view_shares", "variance_shares", "kernel_weights"}, default=None
            Fitted attribute to plot, without its last underscore; only active kernels
            are drawn. Default: shares of views if the model has views, else of kernels.
        ax, **mesh_kwargs
            See `plot`.
        max_rows : int, default=60
            Maximum number of rows, those with the largest sums of absolute values.
        """
        model = final_estimator(estimator)
        if values is None:
            has_views = hasattr(model, "view_shares_")
            values = "view_shares" if has_views else "variance_shares"
        check_parameter(cls.__name__, "max_rows", max_rows, COUNT)
        check_parameter(cls.__name__, "values", values, OneOf(tuple(VALUE_NAMES)))
        heads = model.output_names_
        all_values, names = shown_values(model, values)
        indices = np.arange(len(names))
        if values != "view_shares":
            indices = model.active_kernels_
        rows = all_values[:, indices].T
        # With a shared selection, all outputs have the same weights.
        rows = np.broadcast_to(rows, (len(rows), len(heads)))
        largest = np.argsort(-np.abs(rows).sum(axis=1), kind="stable")
        drawn_rows = np.sort(largest[:max_rows])
        texts = [names[m] for m in indices[drawn_rows]]
        display = cls(rows[drawn_rows], texts, heads, value_name=VALUE_NAMES[values])
        return display.plot(ax, **mesh_kwargs)

    def plot(self, ax: Axes | None = None, **mesh_kwargs: Any) -> "HeatMapDisplay":
        """Plot the map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. Default: a new figure of fitting size.
        **mesh_kwargs : dict
            Passed to ``ax.pcolormesh``.
        """
        n_rows, n_outputs = self.values.shape
        size = max(4.8, 3.6 + 0.45 * n_outputs), 1.8 + 0.27 * n_rows
        (panel,) = self._new_axes(ax, "pcolormesh", mesh_kwargs, figsize=size)
        largest = float(np.abs(self.values).max(initial=0.0)) or 1.0
        negative = bool((self.values < 0.0).any())
        cmap, lowest = ("RdBu_r", -largest) if negative else ("Blues", 0.0)
        style = {"cmap": cmap, "vmin": lowest, "vmax": largest, **mesh_kwargs}
        edges = np.arange(n_outputs + 1) - 0.5, np.arange(n_rows + 1) - 0.5
        self.map_ = panel.pcolormesh(*edges, self.values, **style)
        _style.name_rows(panel, dict(enumerate(self.row_names)), n_rows)
        panel.set_ylim(n_rows - 0.5, -0.5)
        _style.label_columns(panel, self.output_names)
        panel.grid(visible=False)
        empty = np.flatnonzero(~self.values.any(axis=0)).tolist()
        if empty:
            names = ", ".join(self.output_names[output] for output in empty)
            _style.headline(panel, f"no kernel in use: {names}")
        label = _style.literal(self.value_name)
        bar = self.figure_.colorbar(self.map_, ax=panel, label=label)
        bar.outline.set_visible(False)
        return self
