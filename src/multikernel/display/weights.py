"""A picture of which kernels a model uses, and how much."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from multikernel._typing import Array, Indices
from multikernel.display import _style
from multikernel.display.fitted import final_estimator, output_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure


class KernelWeightsDisplay:
    """Bars of the largest kernel weights, with the kernels' names.

    Models of several classes, targets or labels with selections of their own have one
    group of bars for each.

    Parameters
    ----------
    kernel_weights : array-like of shape (n_kernels,) or (n_groups, n_kernels)
        Non-negative weights.
    kernel_names : sequence of str, of length n_kernels
        Names of the kernels.
    group_names : sequence of str, of length n_groups, default=None
        Names of the groups, for example the classes; needed if there are several.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the bars.
    figure_ : matplotlib Figure
        Figure that holds them.
    bars_ : list of BarContainer
        One container per group.

    Raises
    ------
    ValueError
        If the numbers of weights, names and groups disagree.

    Examples
    --------
    >>> from multikernel.display import KernelWeightsDisplay
    >>> display = KernelWeightsDisplay([0.7, 0.0, 0.3], ["age", "height", "weight"])
    >>> bars = display.plot().bars_[0]
    >>> [float(bar.get_width()) for bar in bars]
    [0.7, 0.3]
    """

    ax_: "Axes"
    figure_: "Figure"
    bars_: "list[BarContainer]"

    def __init__(
        self,
        kernel_weights: ArrayLike,
        kernel_names: Sequence[str],
        *,
        group_names: Sequence[str] | None = None,
    ) -> None:
        self.kernel_weights = np.atleast_2d(np.asarray(kernel_weights, dtype=float))
        self.kernel_names = tuple(kernel_names)
        self.group_names = ("",) if group_names is None else tuple(group_names)
        n_groups, n_kernels = self.kernel_weights.shape
        if n_kernels != len(self.kernel_names):
            raise ValueError(
                f"There are {n_kernels} kernel weights but {len(self.kernel_names)} "
                "kernel names."
            )
        if n_groups != len(self.group_names):
            raise ValueError(
                f"There are {n_groups} groups of kernel weights but "
                f"{len(self.group_names)} group names."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        ax: "Axes | None" = None,
        max_kernels: int | None = None,
        **bar_kwargs: Any,
    ) -> "KernelWeightsDisplay":
        """Draw the weights of a fitted model.

        Parameters
        ----------
        estimator : estimator
            Fitted model, or a pipeline or search that ends in one.
        ax : matplotlib Axes, default=None
            See `plot`.
        max_kernels : int, default=None
            See `plot`.
        **bar_kwargs : dict
            See `plot`.

        Returns
        -------
        display : KernelWeightsDisplay
        """
        model = final_estimator(estimator)
        weights = np.atleast_2d(model.kernel_weights_)
        groups = output_names(model) if len(weights) > 1 else None
        display = cls(weights, model.kernel_names_, group_names=groups)
        return display.plot(ax=ax, max_kernels=max_kernels, **bar_kwargs)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        max_kernels: int | None = None,
        **bar_kwargs: Any,
    ) -> "KernelWeightsDisplay":
        """Draw the bars, largest on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure of fitting height when None.
        max_kernels : int, default=None
            Most bars in a group; None shares out 20, with at least 3 in each group.
            Kernels of weight zero have no bar.
        **bar_kwargs : dict
            Passed to ``ax.barh``.

        Returns
        -------
        display : KernelWeightsDisplay
            Itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        n_groups = len(self.group_names)
        most = max(3, 20 // n_groups) if max_kernels is None else max_kernels
        chosen = [_largest(weights, most) for weights in self.kernel_weights]
        headed = n_groups > 1  # a row above each group for its name
        n_rows = sum(len(group) + headed for group in chosen)
        (panel,) = _style.axes_for(ax, 1, figsize=(7.2, 1.1 + 0.27 * n_rows))
        self.ax_, self.figure_, self.bars_ = panel, _style.figure_of(panel), []
        row = 0
        ticks: dict[int, str] = {}
        for number, group in enumerate(chosen):
            rows = np.arange(row, row + len(group)) + headed
            widths = self.kernel_weights[number][group]
            style: dict[str, Any] = {"color": _style.color(number), "height": 0.72}
            self.bars_.append(panel.barh(rows, widths, **(style | bar_kwargs)))
            if headed:
                place = (0.0, row + 0.15), ("axes fraction", "data"), (4, 0)
                head: dict[str, Any] = {"weight": "bold", "va": "center"}
                head |= {"color": _style.color(number)}
                _style.note(panel, self.group_names[number], *place, **head)
            names = [_style.shorten(self.kernel_names[kernel]) for kernel in group]
            ticks |= dict(zip(rows.tolist(), names, strict=True))
            row += len(group) + headed
        panel.set_yticks(list(ticks), list(ticks.values()))
        panel.set_ylim(n_rows - 0.4, -0.6)
        self._annotate(chosen)
        return self

    def _annotate(self, chosen: list[Indices]) -> None:
        """Add the axis label and how many kernels there are."""
        ax = self.ax_
        _style.tidy(ax, grid="x")
        ax.tick_params(axis="y", length=0, labelcolor=_style.INK)
        ax.set_xlim(left=0.0)
        ax.set_xlabel("kernel weight")
        n_active = int((self.kernel_weights > 0).any(axis=0).sum())
        n_shown = np.unique(np.concatenate(chosen)).size
        title = f"{n_active} of {len(self.kernel_names)} kernels in use"
        if n_shown < n_active:
            title += f", {n_shown} shown"
        ax.set_title(title, loc="left", fontsize="medium", color=_style.INK)


def _largest(weights: Array, most: int) -> Indices:
    """Return the indices of the largest positive weights, descending."""
    order = np.argsort(-weights, kind="stable")[:most]
    return order[weights[order] > 0]
