"""Plot of a function of an additive model against its columns."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from multikernel.display import _style
from multikernel.display._style import Axes, Line2D, QuadMesh
from multikernel.display.base import Display
from multikernel.display.drawn_terms import (
    MOST_LINES,
    N_POINTS,
    KernelChoice,
    grid_over,
    requested_kernels,
    shared_columns,
    titles_of,
)
from multikernel.estimators.publish.columns import column_names
from multikernel.inspection import Bootstrap, TermPosterior, pipelines
from multikernel.inspection.terms import sum_terms


@dataclass(eq=False, repr=False)
class ContributionDisplay(Display):
    """Plot of a function of one or two columns.

    A function of one column is a line, or points for categories. A function of two
    columns is a heat map, or lines if one column has few values.

    Parameters
    ----------
    grid : sequence of one or two array-likes
        Values of each column.
    values : array-like of shape (n_points,) or (n_points_0, n_points_1)
        Function values on the grid.
    column_names : sequence of str
        Names of the columns.
    samples : array-like of shape (n_samples, n_columns), default=None
        Samples, drawn as ticks below a line and as dots on lines and heat maps.
    band : pair of array-like of shape (n_points,), default=None
        Lower and upper bound of a band around a line.
    title, value_name, band_name : str
        Title of the plot, axis label of `values`, and legend label of `band`.
    categories : sequence of (sequence of str or None), default=None
        For each column, the names of its values 0, 1, ... if these are categories.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    artist_ : Line2D, list of Line2D, or QuadMesh
        The line, the lines, or the heat map.

    Examples
    --------
    >>> from multikernel.display import ContributionDisplay
    >>> display = ContributionDisplay([[0, 1, 2]], [0.1, 0.4, 0.2], ["age"]).plot()
    >>> display.artist_.get_ydata().tolist()
    [0.1, 0.4, 0.2]
    """

    grid: Sequence[Any]
    values: Any
    column_names: Sequence[str]
    _: KW_ONLY
    samples: Any = None
    band: Any = None
    title: str = ""
    value_name: str = "contribution to f, mean zero"
    band_name: str = "band"
    categories: Any = None
    artist_: Line2D | list[Line2D] | QuadMesh = field(init=False)

    def __post_init__(self) -> None:
        self.grid = tuple(np.asarray(axis, dtype=float) for axis in self.grid)
        self.categories = tuple(self.categories or [None] * len(self.grid))
        self.band = self.band if self.band is None else np.asarray(self.band)
        shape = tuple(axis.size for axis in self.grid)
        if len(shape) not in N_POINTS:
            raise ValueError(
                f"{type(self).__name__}: grid must contain one or two arrays, with the "
                f"values of one column each, got {len(shape)} arrays."
            )
        self._read_fields(
            values=shape,
            column_names=(len(shape),),
            samples=("n_samples", len(shape)),
            band=(2, *shape),
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: object,
        kernel: KernelChoice,
        *,
        output: object = None,
        bootstrap: Bootstrap | None = None,
        posterior: TermPosterior | None = None,
        level: float = 0.9,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> "ContributionDisplay":
        """Plot the function of one or several kernels on the same one or two columns.

        Axes have the units before a pipeline's scaling, if it can be inverted.

        Parameters
        ----------
        estimator : estimator
            Fitted model, or a pipeline that ends in one.
        X : array-like or data frame of shape (n_samples, n_features)
            Data to draw as samples. Its range limits the grid, and the mean of the
            function over its samples is subtracted.
        kernel : int, str, or sequence of these
            Kernel index or name; several are summed. A column name, or two joined by ×,
            x or ``*``, means all active kernels on these columns; for `Interactions`,
            two columns are the pure interaction. Kernels must be active.
        output : label, str or int, default=None
            The class, or the name or index of the target, if there are several.
        bootstrap, posterior : Bootstrap or TermPosterior, default=None
            Result of `multikernel.inspection.bootstrap` for this model, or of
            `multikernel.inspection.term_posterior`, for the band; not both.
        level : float, default=0.9
            Pointwise level of the band.
        ax, **kwargs
            See `plot`.
        """
        if bootstrap is not None and posterior is not None:
            raise ValueError("Pass either bootstrap or posterior, not both.")
        before, _ = pipelines.last_step(estimator)
        model = pipelines.final_estimator(estimator)
        all_columns = column_names(model)
        kernels = requested_kernels(model, kernel, all_columns)
        columns = shared_columns(model, kernels)
        position = pipelines.output_index(model, output)
        fitted, data = model._model_and_data(pipelines.data_at_model(before, X))
        grid = grid_over(model, before, data, columns)
        values = sum_terms(fitted, model.active_kernels_, kernels, grid.rows, data)
        band, source = None, bootstrap or posterior
        if source is not None and len(columns) == 1:
            bounds = source.band(grid.rows, kernels, level, data)
            band = [bound[:, position] for bound in bounds]
        basis = "of bootstrap fits" if bootstrap else "given the kernel weights"
        titles = titles_of(model, kernel, kernels, all_columns)
        display = cls(
            grid.axes,
            values[:, position].reshape([axis.size for axis in grid.axes]),
            [all_columns[column] for column in columns],
            samples=grid.samples,
            band=band,
            title=" + ".join(map(_style.short_name, titles)),
            value_name=_style.value_name(model, position),
            band_name=f"{level:.0%} {basis}",
            categories=grid.labels,
        )
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> "ContributionDisplay":
        """Plot the line or the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. Default: a new figure.
        **kwargs : dict
            Passed to ``ax.plot``, or to ``ax.pcolormesh`` for heat maps.
        """
        # If one column has few values, each of them gets a line.
        line_axis = int(np.argmin([axis.size for axis in self.grid]))
        is_map = len(self.grid) == 2 and self.grid[line_axis].size > MOST_LINES
        function = "pcolormesh" if is_map else "plot"
        (panel,) = self._new_axes(ax, function, kwargs, figsize=(6.4, 4.0))
        if len(self.grid) == 1:
            self._draw_line(panel, kwargs)
            shown_axes = [0]
        elif not is_map:
            shown_axes = [1 - line_axis]
            self._draw_lines(panel, line_axis, kwargs)
        else:
            self._draw_map(panel, kwargs)
            shown_axes = [0, 1]
        panel.set_xlabel(_style.literal(self.column_names[shown_axes[0]]))
        first, *second = (self.categories[column] for column in shown_axes)
        if first is not None:
            _style.label_columns(panel, first)
        for names in second:
            if names is not None:
                texts = [_style.literal(_style.shorten(name)) for name in names]
                panel.set_yticks(range(len(names)), texts)
        _style.headline(panel, self.title)
        return self

    def _draw_line(self, ax: Axes, kwargs: dict[str, Any]) -> None:
        """Draw a function of one column, its band, and ticks at the samples."""
        x, is_categorical = self.grid[0], self.categories[0] is not None
        if self.band is not None:
            low, high = self.band
            tint, name = _style.BAND, _style.literal(self.band_name)
            if is_categorical:
                ax.vlines(x, low, high, color=tint, linewidth=9, label=name)
            else:
                ax.fill_between(x, low, high, color=tint, linewidth=0, label=name)
            ax.legend(frameon=False, fontsize="small")
        ax.axhline(0.0, color=_style.INK, linewidth=0.8)
        points = {"linestyle": "none", "marker": "o"} if is_categorical else {}
        style = {"color": _style.color(0), "linewidth": 1.8, **points, **kwargs}
        (self.artist_,) = ax.plot(x, self.values, **style)
        if self.samples is not None and not is_categorical:
            # Ticks at the samples, on the horizontal axis.
            zeros = np.zeros(len(self.samples))
            rug: dict[str, Any] = {"marker": "|", "color": _style.INK, "alpha": 0.5}
            rug |= {"linestyle": "none", "markersize": 9, "markeredgewidth": 0.6}
            bottom = ax.get_xaxis_transform()
            ax.plot(self.samples[:, 0], zeros, transform=bottom, clip_on=False, **rug)
        ax.set_ylabel(_style.literal(self.value_name))
        _style.clean_axes(ax, grid="y")

    def _draw_lines(self, ax: Axes, few: int, kwargs: dict[str, Any]) -> None:
        """Draw a function of two columns as lines, one for each value of one column."""
        # `few`, 0 or 1, is the index of this column, which has few values.
        x, levels = self.grid[1 - few], self.grid[few]
        lines = self.values.T if few else self.values
        names = self.categories[few] or [f"{level:.3g}" for level in levels]
        ax.axhline(0.0, color=_style.INK, linewidth=0.8)
        is_categorical = self.categories[1 - few] is not None
        points = {"linestyle": "none", "marker": "o"} if is_categorical else {}
        drawn_lines = []
        for index, (line, name) in enumerate(zip(lines, names, strict=True)):
            line_color = _style.color(index)
            label = _style.literal(_style.shorten(name))
            style = {"color": line_color, "linewidth": 1.8, "label": label}
            drawn_lines += ax.plot(x, line, **{**style, **points, **kwargs})
            if self.samples is not None and not is_categorical:
                # Samples are drawn on the line of the level nearest to theirs.
                distances = np.abs(self.samples[:, few, None] - levels)
                sample_x = self.samples[distances.argmin(axis=1) == index, 1 - few]
                sample_y = np.interp(sample_x, x, line)
                ax.scatter(
                    sample_x, sample_y, s=14, linewidths=0, color=line_color, alpha=0.6
                )
        self.artist_ = drawn_lines
        ax.set_ylabel(_style.literal(self.value_name))
        short_names = list(map(_style.shorten, names))
        _style.legend(ax, drawn_lines, short_names, self.column_names[few])
        _style.clean_axes(ax, grid="y")

    def _draw_map(self, ax: Axes, kwargs: dict[str, Any]) -> None:
        """Draw a function of two columns as a heat map, with the samples."""
        largest = float(np.abs(self.values).max()) or 1.0
        style = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest, **kwargs}
        style = {"shading": "nearest", "rasterized": True, **style}
        self.artist_ = heat_map = ax.pcolormesh(*self.grid, self.values.T, **style)
        if self.samples is not None:
            x, y = self.samples.T
            ax.scatter(x, y, s=5, linewidths=0, color=_style.INK, alpha=0.5)
        ax.set_ylabel(_style.literal(self.column_names[1]))
        name = _style.literal(self.value_name)
        bar = self.figure_.colorbar(heat_map, ax=ax, label=name)
        bar.outline.set_visible(False)
