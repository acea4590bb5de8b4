"""Plot of the kernels that are selected on most resamples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from multikernel.display import _style
from multikernel.display._style import Axes, BarContainer
from multikernel.display.base import Display
from multikernel.inspection import Stability, stability_selection


@dataclass(eq=False, repr=False)
class StabilityDisplay(Display):
    """Bar chart of how often kernels are selected on halves of the samples.

    A dashed line marks the frequency from which a kernel is called stable.

    Parameters
    ----------
    stability : Stability
        Result of `multikernel.inspection.stability_selection`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : BarContainer

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.display import StabilityDisplay
    >>> from multikernel.inspection import Stability
    >>> chosen = np.array([[True, False], [True, True]])
    >>> found = Stability(("age", "height"), chosen, np.array([0]), threshold=0.75)
    >>> [float(bar.get_width()) for bar in StabilityDisplay(found).plot().bars_]
    [1.0, 0.5]
    """

    stability: Stability
    bars_: BarContainer = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: object,
        y: ArrayLike,
        n_resamples: int = 100,
        *,
        ax: Axes | None = None,
        max_kernels: int = 20,
        **parameters: Any,
    ) -> StabilityDisplay:
        """Run stability selection and plot the result.

        Parameters
        ----------
        estimator, X, y, n_resamples, **parameters
            Passed to `multikernel.inspection.stability_selection`.
        ax, max_kernels
            See `plot`.
        """
        selection = stability_selection(estimator, X, y, n_resamples, **parameters)
        return cls(selection).plot(ax, max_kernels=max_kernels)

    def plot(
        self, ax: Axes | None = None, *, max_kernels: int = 20, **bar_kwargs: Any
    ) -> StabilityDisplay:
        """Plot the bars, the most frequent on top, and gray below the threshold.

        All bars are gray if so many stable kernels may be due to chance; see
        `multikernel.inspection.Stability.proves`.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. Default: a new figure of fitting height.
        max_kernels : int, default=20
            Maximum number of bars. Kernels that were never selected have none.
        **bar_kwargs : dict
            Passed to ``ax.barh``.
        """
        stability = self.stability
        frequencies = stability.frequencies
        order = np.argsort(-frequencies, kind="stable")[:max_kernels]
        order = order[frequencies[order] > 0.0]
        size = 7.2, 1.4 + 0.27 * len(order)
        (panel,) = self._new_axes(ax, "barh", bar_kwargs, figsize=size)
        is_stable = (frequencies[order] >= stability.threshold) & stability.proves
        colors = [_style.color(0) if stable else _style.QUIET for stable in is_stable]
        names = [stability.kernel_names[kernel] for kernel in order]
        widths = frequencies[order]
        self.bars_ = _style.bars(panel, widths, names, colors, **bar_kwargs)
        panel.axvline(stability.threshold, **_style.DASHED)
        panel.set_xlim(0.0, 1.0)
        panel.set_xlabel(
            f"share of {len(stability.selections)} halves that chose the kernel"
        )
        n_stable = stability.stable_kernels.size
        # Without line breaks, this sentence would be wider than the figure.
        verdict = stability.verdict.replace(": ", ":\n")
        _style.headline(
            panel,
            f"{n_stable} of {len(stability.kernel_names)} kernels chosen on "
            f"{stability.threshold:.0%} of halves or more;\n{verdict}",
        )
        return self
