"""Plot of the convergence of a fit."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from multikernel.display import _style
from multikernel.display._style import Axes, Figure, Line2D
from multikernel.inspection.pipelines import final_estimator

XAxis = Literal["seconds", "iteration", "passes"]
_X_LABELS = {
    "seconds": "time [s]",
    "iteration": "iteration",
    "passes": "passes over all Gram matrices",
}


GAP = "multikernel-gap"
"""Group id of the lines of duality gaps."""


class ConvergenceDisplay:
    """Relative duality gap and number of active kernels during a fit.

    For greedy methods, which have no gap, the objective is drawn instead.

    Parameters
    ----------
    history : structured ndarray of shape (n_lines,)
        ``history_`` of a fitted model, with the fields ``seconds``, ``iteration``,
        ``passes``, ``duality_gap`` (or ``objective``), ``n_active``, and ``output``,
        the index of the problem if a fit solved several.
    output_names : sequence of str, default=None
        Names of the problems, for the legend.
    tol : float, default=None
        Tolerance of the fit, drawn as a dashed line.

    Attributes
    ----------
    ax_ : ndarray of shape (2,) or (1,) of matplotlib Axes
        Axes of the gap (or objective), and of the active kernels if drawn.
    figure_ : matplotlib Figure
        Figure that contains the axes.
    line_ : list of Line2D
        Lines of the upper axes, one per problem.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.display import ConvergenceDisplay
    >>> fields = ["output", "iteration", "seconds", "passes", "duality_gap", "n_active"]
    >>> history = np.array(
    ...     [(0, 1, 0.1, 1, 0.5, 30), (0, 2, 0.2, 2, 1e-4, 9)],
    ...     dtype=[(field, float) for field in fields],
    ... )
    >>> display = ConvergenceDisplay(history, tol=1e-3).plot(x="iteration")
    >>> [line.get_xdata().tolist() for line in display.line_]
    [[1.0, 2.0]]
    """

    ax_: NDArray[Any]
    figure_: Figure
    line_: list[Line2D]

    def __init__(
        self,
        history: NDArray[np.void],
        *,
        output_names: Sequence[str] | None = None,
        tol: float | None = None,
    ) -> None:
        self.history = history
        self.output_names = None if output_names is None else tuple(output_names)
        self.tol = tol

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        ax: Axes | Sequence[Axes] | None = None,
        x: XAxis = "seconds",
        **line_kwargs: Any,
    ) -> "ConvergenceDisplay":
        """Plot the history of a fitted model.

        Parameters
        ----------
        estimator : estimator
            Fitted model with a ``history_``, or a pipeline or search that ends in one.
        ax : matplotlib Axes or pair of them, default=None
            See `plot`.
        x : {"seconds", "iteration", "passes"}, default="seconds"
            See `plot`.
        **line_kwargs : dict
            See `plot`.
        """
        model = final_estimator(estimator)
        several = len(np.unique(model.history_["output"])) > 1
        names = model.output_names_ if several else None
        display = cls(
            model.history_, output_names=names, tol=model.get_params().get("tol")
        )
        return display.plot(ax=ax, x=x, **line_kwargs)

    def plot(
        self,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        x: XAxis = "seconds",
        **line_kwargs: Any,
    ) -> "ConvergenceDisplay":
        """Plot both curves, with a logarithmic axis for the gap.

        Parameters
        ----------
        ax : matplotlib Axes or pair of them, default=None
            Axes for the gap and the active kernels, or for the gap only. Default: a new
            figure with both. On the ``ax_`` of another display, lines get the next
            colors.
        x : {"seconds", "iteration", "passes"}, default="seconds"
            Quantity on the horizontal axis.
        **line_kwargs : dict
            Passed to ``ax.plot`` for all lines; ``label`` appears in the legend.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `x` is invalid.
        """
        _style.check_keywords(self, "plot", line_kwargs)
        if x not in _X_LABELS:
            raise ValueError(f"x must be one of {tuple(_X_LABELS)}, got {x!r}.")
        count = (
            1 if ax is not None and np.size(np.asarray(ax, dtype=object)) == 1 else 2
        )
        panels = _style.axes_for(ax, count, figsize=(6.4, 5.2))
        upper = panels[0]
        self.ax_, self.figure_ = np.array(panels), _style.figure_of(upper)
        self.line_ = []
        # The axes may contain lines of other displays.
        first = sum(line.get_gid() == GAP for line in upper.lines)
        for number in np.unique(self.history["output"]).astype(int):
            lines = self.history[self.history["output"] == number]
            style = {
                "color": _style.color(first + number),
                **self._look(number, line_kwargs),
            }
            self.line_ += upper.plot(
                lines[x], self._heights(lines), **{"gid": GAP, **style}
            )
            for lower in panels[1:]:
                (line,) = lower.plot(lines[x], lines["n_active"], **style)
                # Limits start at zero and include lines of later displays.
                line.sticky_edges.y.append(0.0)
                lower.update_datalim([(lines[x][0], 0.0)])
        panels[-1].set_xlabel(_X_LABELS[x])
        self._annotate_gap(upper)
        for lower in panels[1:]:
            _annotate_active(lower)
        if self.output_names is not None or "label" in line_kwargs:
            _draw_legend(upper, "class" if "label" not in line_kwargs else "")
        return self

    def _look(self, number: int, line_kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the style and label of a problem's lines."""
        style: dict[str, Any] = {"marker": "o", "markersize": 3.5} | line_kwargs
        if self.output_names is not None:
            labels = [str(line_kwargs["label"])] if "label" in line_kwargs else []
            style["label"] = ", ".join([*labels, self.output_names[number]])
        return style

    def _heights(self, lines: NDArray[np.void]) -> NDArray[Any]:
        """Return the values of the upper plot."""
        if self._greedy:
            return np.asarray(lines["objective"])
        # A logarithmic axis cannot show a gap of zero.
        gaps = lines["duality_gap"]
        return np.where(gaps > 0, gaps, np.nan)

    @property
    def _greedy(self) -> bool:
        """Return whether the method reports objectives instead of gaps."""
        return bool(np.isnan(self.history["duality_gap"]).all())

    def _annotate_gap(self, upper: Axes) -> None:
        """Add the scale, the label and, unless present, the tolerance."""
        _style.tidy(upper, grid="y")
        if self._greedy:
            upper.set_ylabel("objective")
            return
        upper.set_yscale("log")
        upper.set_ylabel("relative duality gap")
        text = f"tol = {self.tol:g}" if self.tol is not None else ""
        if self.tol is not None and text not in [
            text.get_text() for text in upper.texts
        ]:
            upper.axhline(self.tol, **_style.DASHED)
            _style.note(upper, text, (0.0, self.tol), ("axes fraction", "data"), (4, 3))


def _draw_legend(upper: Axes, title: str) -> None:
    """Add a legend of all labeled lines, also those of other displays."""
    drawn = [line for line in upper.lines if line.get_gid() == GAP]
    texts = {line: str(line.get_label()) for line in drawn}
    # Lines of earlier displays may be unlabeled.
    texts = {k: v for k, v in texts.items() if not v.startswith("_child")}
    _style.legend(upper, list(texts), list(texts.values()), title)


def _annotate_active(lower: Axes) -> None:
    """Add the label and ticks of the active kernels."""
    lower.set_ylabel("active kernels")
    lower.locator_params(axis="y", integer=True)
    _style.tidy(lower, grid="y")
