"""Plots of kernel spectra: tail sums, and the best cut-off."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from multikernel._typing import Array
from multikernel.diagnostics import cut_off_values
from multikernel.display import _style
from multikernel.display._style import Axes, Figure, Line2D
from multikernel.inspection.pipelines import model_with


class TailSpectrumDisplay:
    """Logarithms of tail sums against the cut-off, one labeled line per kernel.

    Figure 2 (right) of Cortes, Kloft and Mohri (2013): local Rademacher complexity
    favors kernels whose line falls fast.

    Parameters
    ----------
    tails : array-like of shape (n_kernels, n_thetas)
        Sums of all but the theta = 0, 1, ... largest eigenvalues.
    kernel_names : sequence of str, of length n_kernels
        Names of the kernels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the lines.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    lines_ : list of Line2D
        One line per kernel shown.

    Raises
    ------
    ValueError
        If the numbers of tails and names differ.

    Examples
    --------
    >>> from multikernel.display import TailSpectrumDisplay
    >>> display = TailSpectrumDisplay([[1.0, 0.1], [1.0, 0.5]], ["smooth", "rough"])
    >>> [float(y) for y in display.plot().lines_[0].get_ydata()]
    [0.0, -1.0]
    """

    ax_: Axes
    figure_: Figure
    lines_: list[Line2D]

    def __init__(self, tails: ArrayLike, kernel_names: Sequence[str]) -> None:
        self.tails = np.atleast_2d(np.asarray(tails, dtype=float))
        self.kernel_names = tuple(kernel_names)
        if len(self.tails) != len(self.kernel_names):
            raise ValueError(
                f"There are tail sums of {len(self.tails)} kernels but "
                f"{len(self.kernel_names)} kernel names."
            )

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None, **line_kwargs: Any
    ) -> "TailSpectrumDisplay":
        """Plot the tail sums of a fitted model.

        Parameters
        ----------
        estimator : estimator
            Fitted `LocalRademacherMKLClassifier` or `LocalRademacherMKLRegressor`, or a
            pipeline or search that ends in one.
        ax : matplotlib Axes, default=None
            See `plot`.
        **line_kwargs : dict
            See `plot`.

        Raises
        ------
        TypeError
            If the model has no tail sums.
        """
        model = model_with("tail_sums_", estimator, "a fitted local Rademacher model")
        display = cls(model.tail_sums_, model.kernel_names_)
        return display.plot(ax=ax, **line_kwargs)

    def plot(
        self, ax: Axes | None = None, *, max_kernels: int = 12, **line_kwargs: Any
    ) -> "TailSpectrumDisplay":
        """Plot the lines, with names at their ends.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. Default: a new figure.
        max_kernels : int, default=12
            Maximum number of lines, evenly spaced by their last value.
        **line_kwargs : dict
            Passed to ``ax.plot``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        _style.check_keywords(self, "plot", line_kwargs)
        (panel,) = _style.axes_for(ax, 1, figsize=(7.2, 4.2))
        self.ax_, self.figure_, self.lines_ = panel, _style.figure_of(panel), []
        order = np.argsort(-self.tails[:, -1], kind="stable")
        ranks = np.linspace(0, order.size - 1, min(max_kernels, order.size))
        shown = np.sort(order[np.unique(ranks.round().astype(int))])
        thetas = np.arange(self.tails.shape[1])
        for number, kernel in enumerate(shown):
            tails = self.tails[kernel]
            # A line ends where its tail sum is zero.
            logs = np.log10(tails, where=tails > 0, out=np.full(tails.shape, np.nan))
            style: dict[str, Any] = {"color": _style.color(number)}
            self.lines_ += panel.plot(thetas, logs, **(style | line_kwargs))
        self._draw_labels(shown.tolist())
        return self

    def _draw_labels(self, chosen: list[int]) -> None:
        """Write axis labels, and kernel names at the ends of lines."""
        ax = self.ax_
        _style.tidy(ax, grid="y")
        ax.set_xlabel("eigenvalues left out, theta")
        ax.locator_params(axis="x", integer=True)
        ax.set_ylabel("log10 of the tail sum")
        if len(chosen) < len(self.kernel_names):
            title = f"{len(chosen)} of {len(self.kernel_names)} kernels shown"
            _style.headline(ax, title)
        names = [self.kernel_names[kernel] for kernel in chosen]
        _style.label_ends(ax, self.lines_, names)


class CutOffDisplay:
    r"""The bound of theorem 3 as an area, for smaller, best and larger cut-offs.

    Figure 1 of Cortes, Kloft and Mohri (2013): the area is :math:`\theta r + \sum_{j >
    \theta} \lambda_j`, smallest if theta is the number of eigenvalues above r.

    Parameters
    ----------
    eigenvalues : array-like of shape (n_eigenvalues,)
        Eigenvalues of a kernel's operator, or of K / n.
    r : float
        Bound on the second moment of functions.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One per cut-off.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    cut_off : int
        The best theta.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.display import CutOffDisplay
    >>> display = CutOffDisplay(0.5 ** np.arange(12), r=0.1)
    >>> display.cut_off, len(display.plot().axes_)
    (4, 3)
    """

    axes_: list[Axes]
    figure_: Figure

    def __init__(self, eigenvalues: ArrayLike, r: float) -> None:
        values: Array = np.sort(np.asarray(eigenvalues, dtype=float))[::-1]
        self.eigenvalues, self.r = values, float(r)
        self.areas = cut_off_values(values, self.r)
        self.cut_off = int(np.count_nonzero(values > self.r))

    def plot(
        self, ax: Any = None, *, cut_offs: Sequence[int] | None = None
    ) -> "CutOffDisplay":
        """Plot one panel per cut-off.

        Parameters
        ----------
        ax : array-like of matplotlib Axes, default=None
            Axes to draw on, one per cut-off. Default: a new figure.
        cut_offs : sequence of int, default=None
            Cut-offs to draw. Default: half the best cut-off, the best cut-off, and
            twice the best cut-off.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        best, most = self.cut_off, self.eigenvalues.size
        if cut_offs is None:
            cut_offs = (best // 2, best, min(max(2 * best, best + 1), most))
        if ax is None:
            ax = _style.pyplot().subplots(
                1, len(cut_offs), sharey=True, layout="constrained", figsize=(8.4, 2.6)
            )[1]
        self.axes_ = _style.axes_for(ax, len(cut_offs))
        self.figure_ = _style.figure_of(self.axes_[0])
        shown = min(most, max(3 * best, max(cut_offs) + 2, 8))
        ranks = np.arange(1, shown + 1)
        for panel, theta in zip(self.axes_, cut_offs, strict=True):
            heights = np.where(ranks <= theta, self.r, self.eigenvalues[:shown])
            panel.bar(ranks, heights, width=1.0, color=_style.BAND)
            panel.step(
                ranks, self.eigenvalues[:shown], where="mid", color=_style.color(0)
            )
            panel.axhline(self.r, **_style.DASHED)
            _style.tidy(panel, grid="y")
            _style.headline(panel, f"theta = {theta}, area {self.areas[theta]:.3g}")
            panel.set_xlabel("j")
        self.axes_[0].set_ylabel("eigenvalue, and r (dashed)")
        return self
