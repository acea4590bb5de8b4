"""Bars of kernel weights, or of shares of the variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from multikernel._typing import Array, Indices
from multikernel._validation import COUNT, check_parameter
from multikernel.display import _style
from multikernel.display._style import Axes, BarContainer
from multikernel.display.base import Display
from multikernel.estimators.base import BaseMKL
from multikernel.inspection import Bootstrap, VarianceSplit, variance_split
from multikernel.inspection.pipelines import final_estimator, output_heads

WHAT_IS_SPLIT = {
    "R²": "share of the variance of held-out targets",
    "D²": "share of the deviance of held-out targets",
}

VALUE_NAMES = {
    "kernel_weights": "kernel weight",
    "variance_shares": "share of the variance of f",
    "view_shares": "share of the variance of f",
}


@dataclass(eq=False, repr=False)
class KernelWeightsDisplay(Display):
    """Bar chart of the largest kernel weights or shares.

    If the outputs have separate kernel weights, each output has a group of bars.

    Parameters
    ----------
    kernel_weights : array-like of shape (n_kernels,) or (n_groups, n_kernels)
        Weights, or variance shares, which may be negative.
    kernel_names : sequence of str, of length n_kernels
        Names of the kernels.
    group_names : sequence of str, of length n_groups, default=None
        Names of the groups, for example classes; required if there are several.
    intervals : pair of array-like of the shape of `kernel_weights`, default=None
        Lower and upper ends of error bars.
    value_name : str, default="kernel weight"
        Axis label of `kernel_weights`.
    counted : str, default="kernels"
        Plural noun for the bars in the headline.
    zeros : bool, default=False
        Whether to include bars of value zero.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : list of BarContainer
        One container per group.

    Examples
    --------
    >>> from multikernel.display import KernelWeightsDisplay
    >>> display = KernelWeightsDisplay([0.7, 0.0, 0.3], ["age", "height", "weight"])
    >>> [float(bar.get_width()) for bar in display.plot().bars_[0]]
    [0.7, 0.3]
    """

    kernel_weights: Any
    kernel_names: Sequence[str]
    _: KW_ONLY
    group_names: Sequence[str] | None = None
    intervals: Any = None
    value_name: str = VALUE_NAMES["kernel_weights"]
    counted: str = "kernels"
    zeros: bool = False
    bars_: list[BarContainer] = field(init=False)

    def __post_init__(self) -> None:
        self.kernel_weights = np.atleast_2d(self.kernel_weights)
        self.group_names = ("",) if self.group_names is None else self.group_names
        if self.intervals is not None:
            self.intervals = np.stack([np.atleast_2d(end) for end in self.intervals])
        axes = "n_groups", "n_kernels"
        names = {"group_names": axes[:1], "kernel_names": axes[1:]}
        self._read_fields(**names, kernel_weights=axes, intervals=("n_ends", *axes))

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        ax: Axes | None = None,
        max_kernels: int | None = None,
        values: str | None = None,
        bootstrap: Bootstrap | None = None,
        level: float = 0.9,
        **bar_kwargs: Any,
    ) -> KernelWeightsDisplay:
        """Plot the weights of a fitted model.

        Parameters
        ----------
        estimator : estimator
            Fitted model, or a pipeline or search that ends in one.
        ax, max_kernels, **bar_kwargs
            See `plot`.
        values : {"kernel_weights", "variance_shares", "view_shares"}, default=None
            Values of the bars; "view_shares" has one bar per view. Default: weights, or
            shares if all active kernels have equal weights.
        bootstrap : Bootstrap, default=None
            Result of `multikernel.inspection.bootstrap` for this model, for error bars.
        level : float, default=0.9
            Share of the bootstrap fits inside the error bars.
        """
        model = final_estimator(estimator)
        weights = np.atleast_2d(model.kernel_weights_)
        if values is None:
            # If all active kernels have the same weight, show the shares instead.
            positive = weights[weights > 0.0]
            all_equal = positive.size > 1 and np.ptp(positive) <= 1e-12 * positive.max()
            has_shares = all_equal and hasattr(model, "variance_shares_")
            values = "variance_shares" if has_shares else "kernel_weights"
        if values not in VALUE_NAMES:
            raise ValueError(
                f"values must be one of {tuple(VALUE_NAMES)} or None, got {values!r}."
            )
        weights_shown, names = shown_values(model, values)
        intervals = None if bootstrap is None else bootstrap.interval(values, level)
        group_names = output_heads(model) if len(weights_shown) > 1 else None
        display = cls(
            weights_shown,
            names,
            group_names=group_names,
            intervals=intervals,
            value_name=VALUE_NAMES[values],
            counted="views" if values == "view_shares" else "kernels",
            # Views without active kernels are shown as well.
            zeros=values == "view_shares",
        )
        return display.plot(ax=ax, max_kernels=max_kernels, **bar_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_kernels: int | None = None,
        **bar_kwargs: Any,
    ) -> KernelWeightsDisplay:
        """Plot the bars, the largest on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. Default: a new figure of fitting height.
        max_kernels : int, default=None
            Maximum number of bars in a group. Default: 20 in total, at least 3 per
            group; all, also those of weight zero, if `zeros` is True.
        **bar_kwargs : dict
            Passed to ``ax.barh``.
        """
        group_names = self.group_names or ()
        n_groups = len(group_names)
        limit = len(self.kernel_names) if self.zeros else max(3, 20 // n_groups)
        limit = limit if max_kernels is None else max_kernels
        largest = [_largest(w, limit, zeros=self.zeros) for w in self.kernel_weights]
        has_headings = n_groups > 1  # each group has its name in a row above it
        n_rows = sum(len(group) + has_headings for group in largest)
        size = 7.2, 1.1 + 0.27 * n_rows
        (panel,) = self._new_axes(ax, "barh", bar_kwargs, figsize=size)
        self.bars_ = []
        row = 0
        ticks: dict[int, str] = {}
        for index, group in enumerate(largest):
            rows = np.arange(row, row + len(group)) + has_headings
            self._draw(index, rows, group, bar_kwargs)
            if has_headings:
                heading, point = group_names[index], (0.0, row + 0.15)
                style = {"weight": "bold", "va": "center", "color": _style.color(index)}
                units = "axes fraction", "data"
                _style.label(panel, heading, point, units, (4, 0), **style)
            names = [self.kernel_names[kernel] for kernel in group]
            ticks |= dict(zip(rows.tolist(), names, strict=True))
            row += len(group) + has_headings
        _style.name_rows(panel, ticks, n_rows)
        self._annotate(largest)
        return self

    def _draw(
        self, index: int, rows: Indices, group: Indices, bar_kwargs: dict[str, object]
    ) -> None:
        """Draw bars for the kernels in `group` of one output, at the heights `rows`."""
        widths = self.kernel_weights[index][group]
        style: dict[str, object] = {"color": _style.color(index), "height": 0.72}
        if self.intervals is not None:
            bounds = self.intervals[:, index, group]
            # If an interval does not contain the value, one of its lengths would be
            # negative, which matplotlib rejects.
            style["xerr"] = np.maximum([widths - bounds[0], bounds[1] - widths], 0.0)
            style["error_kw"] = {"ecolor": _style.INK, "elinewidth": 1.1, "capsize": 2}
        self.bars_.append(self.ax_.barh(rows, widths, **(style | bar_kwargs)))

    def _annotate(self, groups: list[Indices]) -> None:
        """Add the axis label, and a headline with the number of kernels."""
        if self.kernel_weights.min(initial=0.0) >= 0.0:
            self.ax_.set_xlim(left=0.0)
        else:
            self.ax_.axvline(0.0, color=_style.INK, linewidth=0.8)
        self.ax_.set_xlabel(_style.literal(self.value_name))
        n_active = int((self.kernel_weights != 0).any(axis=0).sum())
        n_shown = np.unique(np.concatenate(groups)).size
        title = f"{n_active} of {len(self.kernel_names)} {self.counted} in use"
        if n_shown < n_active:
            title += f", {n_shown} shown"
        _style.headline(self.ax_, title)


def shown_values(model: BaseMKL, values: str) -> tuple[Array, list[str]]:
    """Return weights or shares, (n_outputs, n_names), and names of kernels or views."""
    shown = getattr(model, f"{values}_")
    if values != "view_shares":
        return np.atleast_2d(shown), model.kernel_names_
    return np.atleast_2d(np.stack([*shown.values()], axis=-1)), [*shown]


def _largest(weights: Array, n_bars: int, *, zeros: bool) -> Indices:
    """Return indices of the `n_bars` largest absolute weights, by descending weight."""
    # Kernels with weight zero are included only if `zeros` is true.
    sizes = np.abs(weights)
    order = np.argsort(-sizes, kind="stable")[:n_bars]
    order = order if zeros else order[sizes[order] > 0]
    return order[np.argsort(-weights[order], kind="stable")]


@dataclass(eq=False, repr=False)
class VarianceSplitDisplay(Display):
    """Bar chart of each kernel's or view's share of the held-out variance.

    Error bars show the intervals of the shares over resamples.

    Parameters
    ----------
    split : VarianceSplit
        Result of `multikernel.inspection.variance_split`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : list of BarContainer
        One container per target.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.display import VarianceSplitDisplay
    >>> from multikernel.inspection import VarianceSplit
    >>> drawn = np.array([[0.5, 0.1], [0.7, 0.3]])
    >>> split = VarianceSplit(("genes", "clinic"), drawn.mean(axis=0), 0.8, drawn)
    >>> bars = VarianceSplitDisplay(split).plot().bars_[0]
    >>> [round(float(bar.get_width()), 2) for bar in bars]
    [0.6, 0.2]
    """

    split: VarianceSplit
    bars_: list[BarContainer] = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: object,
        y: ArrayLike,
        by: str = "kernel",
        *,
        ax: Axes | None = None,
        level: float = 0.9,
        max_terms: int | None = None,
        max_targets: int = 6,
        **parameters: Any,
    ) -> VarianceSplitDisplay:
        """Split the held-out variance of a model and plot the shares.

        Parameters
        ----------
        estimator, X, y, by, **parameters
            Passed to `multikernel.inspection.variance_split`.
        ax, level, max_terms, max_targets
            See `plot`.
        """
        split = variance_split(estimator, X, y, by, **parameters)
        return cls(split).plot(
            ax, level=level, max_terms=max_terms, max_targets=max_targets
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        level: float = 0.9,
        max_terms: int | None = None,
        max_targets: int = 6,
        **bar_kwargs: Any,
    ) -> VarianceSplitDisplay:
        """Plot the bars, the largest on top, with a group for each target.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. Default: a new figure of fitting height.
        level : float, default=0.9
            Share of the resamples inside the error bars.
        max_terms : int, default=None
            Maximum number of bars per group. Default: 20 in total, at least 3 a group.
        max_targets : int, default=6
            Maximum number of targets; if there are more, only their mean is shown.
        **bar_kwargs : dict
            Passed to ``ax.barh``.
        """
        check_parameter(type(self).__name__, "max_targets", max_targets, COUNT)
        self._check_keywords("barh", bar_kwargs)
        n_targets = max(1, len(self.split.output_names))
        split = self.split if n_targets <= max_targets else self.split.mean()
        bars = KernelWeightsDisplay(
            split.shares,
            split.names,
            group_names=split.output_names or None,
            intervals=split.interval(level),
            value_name=WHAT_IS_SPLIT[self.split.score],
        ).plot(ax, max_kernels=max_terms, **bar_kwargs)
        self.ax_, self.figure_, self.bars_ = bars.ax_, bars.figure_, bars.bars_
        scores = ", ".join(f"{value:.2f}" for value in np.ravel(split.r2))
        note = f", mean of {n_targets} targets," if n_targets > max_targets else ""
        label = f"{self.split.score} {scores}{note} on held-out samples"
        _style.headline(self.ax_, f"{label}; error bars: {level:.0%} of resamples")
        return self
