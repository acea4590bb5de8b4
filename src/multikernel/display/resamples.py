"""Pictures of what resamples say: stable kernels, and shares of held-out variance."""

from typing import TYPE_CHECKING, Any

import numpy as np

from multikernel._validation import COUNT, check_parameter
from multikernel.display import _style
from multikernel.display.weights import KernelWeightsDisplay
from multikernel.inspection import (
    Stability,
    VarianceSplit,
    stability_selection,
    variance_split,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure


class StabilityDisplay:
    """Bars of the kernels that were chosen most often, and the threshold.

    Parameters
    ----------
    stability : Stability
        From `multikernel.inspection.stability_selection`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the bars.
    figure_ : matplotlib Figure
        Figure that holds them.
    bars_ : BarContainer
        The bars.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.display import StabilityDisplay
    >>> from multikernel.inspection import Stability
    >>> chosen = np.array([[True, False], [True, True]])
    >>> found = Stability(("age", "height"), chosen, np.array([0]), threshold=0.75)
    >>> display = StabilityDisplay(found).plot()
    >>> [float(bar.get_width()) for bar in display.bars_]
    [1.0, 0.5]
    """

    ax_: "Axes"
    figure_: "Figure"
    bars_: "BarContainer"

    def __init__(self, stability: Stability) -> None:
        self.stability = stability

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        n_resamples: int = 100,
        *,
        ax: "Axes | None" = None,
        max_kernels: int = 20,
        **parameters: Any,
    ) -> "StabilityDisplay":
        """Run the selection and draw it.

        Parameters
        ----------
        estimator, X, y, n_resamples
            As `multikernel.inspection.stability_selection` takes them.
        ax : matplotlib Axes, default=None
            See `plot`.
        max_kernels : int, default=20
            See `plot`.
        **parameters : dict
            Passed to `multikernel.inspection.stability_selection`.
        """
        found = stability_selection(estimator, X, y, n_resamples, **parameters)
        return cls(found).plot(ax, max_kernels=max_kernels)

    def plot(
        self, ax: "Axes | None" = None, *, max_kernels: int = 20, **bar_kwargs: Any
    ) -> "StabilityDisplay":
        """Draw the bars, the most frequent on top, those below the threshold in grey.

        Where the bound proves nothing of those above (`Stability.proves`), these are
        grey too, and the headline says so.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure of fitting height when None.
        max_kernels : int, default=20
            Most bars. Kernels that were never chosen have none.
        **bar_kwargs : dict
            Passed to ``ax.barh``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        found = self.stability
        frequencies = found.frequencies
        order = np.argsort(-frequencies, kind="stable")[:max_kernels]
        order = order[frequencies[order] > 0.0]
        (panel,) = _style.axes_for(ax, 1, figsize=(7.2, 1.4 + 0.27 * len(order)))
        self.ax_, self.figure_ = panel, _style.figure_of(panel)
        passed = (frequencies[order] >= found.threshold) & found.proves
        style: dict[str, Any] = {"height": 0.72}
        style["color"] = [_style.color(0) if p else _style.QUIET for p in passed]
        rows, widths = np.arange(len(order)), frequencies[order]
        self.bars_ = panel.barh(rows, widths, **(style | bar_kwargs))
        names = [found.kernel_names[kernel] for kernel in order]
        _style.name_rows(panel, dict(enumerate(names)), len(order))
        panel.axvline(found.threshold, **_style.DASHED)
        panel.set_xlim(0.0, 1.0)
        panel.set_xlabel(
            f"share of {len(found.selections)} halves that chose the kernel"
        )
        n_stable = found.stable_kernels.size
        verdict = found.verdict.replace(": ", ":\n")  # a figure is narrower than that
        _style.headline(
            panel,
            f"{n_stable} of {len(found.kernel_names)} kernels chosen on "
            f"{found.threshold:.0%} of halves or more;\n{verdict}",
        )
        return self


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
