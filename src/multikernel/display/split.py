"""A picture of how held-out variance is split among kernels or views."""

from typing import TYPE_CHECKING, Any

import numpy as np

from multikernel._validation import Number, check_parameter
from multikernel.display import _style
from multikernel.display.weights import KernelWeightsDisplay
from multikernel.inspection import VarianceSplit, variance_split

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure

COUNT = Number(1, integer=True)


class VarianceSplitDisplay:
    """Bars of the shares of held-out variance, with intervals.

    Parameters
    ----------
    split : VarianceSplit
        From `multikernel.inspection.variance_split`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the bars.
    figure_ : matplotlib Figure
        Figure that holds them.
    bars_ : list of BarContainer
        One container per target.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.display import VarianceSplitDisplay
    >>> from multikernel.inspection import VarianceSplit
    >>> drawn = np.array([[0.5, 0.1], [0.7, 0.3]])
    >>> split = VarianceSplit(("genes", "clinic"), drawn.mean(axis=0), 0.8, drawn)
    >>> display = VarianceSplitDisplay(split).plot()
    >>> [round(float(bar.get_width()), 2) for bar in display.bars_[0]]
    [0.6, 0.2]
    """

    ax_: "Axes"
    figure_: "Figure"
    bars_: "list[BarContainer]"

    def __init__(self, split: VarianceSplit) -> None:
        self.split = split

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        by: str = "kernel",
        *,
        ax: "Axes | None" = None,
        level: float = 0.9,
        max_terms: int | None = None,
        max_targets: int = 6,
        **parameters: Any,
    ) -> "VarianceSplitDisplay":
        """Split the variance and draw it.

        Parameters
        ----------
        estimator, X, y, by
            As `multikernel.inspection.variance_split` takes them.
        ax : matplotlib Axes, default=None
            See `plot`.
        level : float, default=0.9
            See `plot`.
        max_terms : int, default=None
            See `plot`.
        max_targets : int, default=6
            See `plot`.
        **parameters : dict
            Passed to `multikernel.inspection.variance_split`.
        """
        split = variance_split(estimator, X, y, by, **parameters)
        shown: dict[str, Any] = {"max_terms": max_terms, "max_targets": max_targets}
        return cls(split).plot(ax, level=level, **shown)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        level: float = 0.9,
        max_terms: int | None = None,
        max_targets: int = 6,
        **bar_kwargs: Any,
    ) -> "VarianceSplitDisplay":
        """Draw the bars, the largest on top, a group for each target.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure of fitting height when None.
        level : float, default=0.9
            Share of the resamples inside the error bars.
        max_terms : int, default=None
            Most bars in a group; None shares out 20, with at least 3 in each group.
        max_targets : int, default=6
            Most targets with a group each; the mean of more has one group.
        **bar_kwargs : dict
            Passed to ``ax.barh``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        check_parameter(type(self).__name__, "max_targets", max_targets, COUNT)
        n_targets = max(1, len(self.split.output_names))
        split = self.split if n_targets <= max_targets else self.split.mean()
        bars = KernelWeightsDisplay(
            split.shares,
            split.names,
            group_names=split.output_names or None,
            intervals=split.interval(level),
            value_name="share of the variance of held-out targets",
        ).plot(ax, max_kernels=max_terms, **bar_kwargs)
        self.ax_, self.figure_, self.bars_ = bars.ax_, bars.figure_, bars.bars_
        scores = ", ".join(f"{value:.2f}" for value in np.ravel(split.r2))
        of = f", mean of {n_targets} targets," if n_targets > max_targets else ""
        said = f"R² {scores}{of} on held-out samples"
        _style.headline(self.ax_, f"{said}; error bars: {level:.0%} of resamples")
        return self
