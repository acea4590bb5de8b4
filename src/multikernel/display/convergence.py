"""A picture of how fast a fit converged."""

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
"""What marks the lines of gaps among all lines of an axis."""


class ConvergenceDisplay:
    """Relative duality gap and number of active kernels in the course of a fit.

    Greedy methods have no gap: their objective is drawn in its place.

    Parameters
    ----------
    history : structured ndarray of shape (n_lines,)
        A fitted model's ``history_``: fields ``seconds``, ``iteration``, ``passes``,
        ``duality_gap`` (and ``objective``, where all gaps are nan), ``n_active``, and
        ``output``, the index of the problem that a line belongs to where a fit solved
        several, for example one per class.
    output_names : sequence of str, default=None
        Names of the problems, for the legend.
    tol : float, default=None
        The tolerance of the fit, drawn as a dashed line.

    Attributes
    ----------
    ax_ : ndarray of shape (2,) or (1,) of matplotlib Axes
        The gap (or the objective) above, the active kernels below where there are two.
    figure_ : matplotlib Figure
        Figure that holds them.
    line_ : list of Line2D
        The lines of the upper one, one per problem.

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
        """Draw the history of a fitted model.

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
        """Draw both curves, a gap on a logarithmic axis.

        Parameters
        ----------
        ax : matplotlib Axes or pair of them, default=None
            Axes for the gap and for the active kernels, or for the gap alone; a new
            figure with both when None. On the ``ax_`` of another display lines get the
            next colors, and limits hold all of them.
        x : {"seconds", "iteration", "passes"}, default="seconds"
            What the horizontal axis shows.
        **line_kwargs : dict
            Passed to ``ax.plot`` for all lines; a ``label`` is for the legend.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `x` is something else.
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
        # Other models may have their lines there.
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
                # Limits begin at zero, and hold all lines, of further models too.
                line.sticky_edges.y.append(0.0)
                lower.update_datalim([(lines[x][0], 0.0)])
        panels[-1].set_xlabel(_X_LABELS[x])
        self._annotate_gap(upper)
        for lower in panels[1:]:
            _annotate_active(lower)
        if self.output_names is not None or "label" in line_kwargs:
            classes = "class" if "label" not in line_kwargs else ""
            drawn = [line for line in upper.lines if line.get_gid() == GAP]
            texts = {line: str(line.get_label()) for line in drawn}
            # Lines of earlier displays may be unlabeled.
            texts = {k: v for k, v in texts.items() if not v.startswith("_child")}
            _style.legend(upper, list(texts), list(texts.values()), classes)
        return self

    def _look(self, number: int, line_kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return how the lines of a problem are drawn, and what they are called."""
        style: dict[str, Any] = {"marker": "o", "markersize": 3.5} | line_kwargs
        if self.output_names is not None:
            given = [str(line_kwargs["label"])] if "label" in line_kwargs else []
            style["label"] = ", ".join([*given, self.output_names[number]])
        return style

    def _heights(self, lines: NDArray[np.void]) -> NDArray[Any]:
        """Return what is drawn in the upper plot."""
        if self._greedy:
            return np.asarray(lines["objective"])
        # A gap of zero has no place on a logarithmic axis.
        gaps = lines["duality_gap"]
        return np.where(gaps > 0, gaps, np.nan)

    @property
    def _greedy(self) -> bool:
        """Return whether the method has no gaps, only objectives."""
        return bool(np.isnan(self.history["duality_gap"]).all())

    def _annotate_gap(self, upper: Axes) -> None:
        """Add scale, label and the tolerance, unless it is there."""
        _style.tidy(upper, grid="y")
        if self._greedy:
            upper.set_ylabel("objective")
            return
        upper.set_yscale("log")
        upper.set_ylabel("relative duality gap")
        text = f"tol = {self.tol:g}" if self.tol is not None else ""
        if self.tol is not None and text not in [
            each.get_text() for each in upper.texts
        ]:
            upper.axhline(self.tol, **_style.DASHED)
            _style.note(upper, text, (0.0, self.tol), ("axes fraction", "data"), (4, 3))


def _annotate_active(lower: Axes) -> None:
    """Add label and ticks to the active kernels."""
    lower.set_ylabel("active kernels")
    lower.locator_params(axis="y", integer=True)
    _style.tidy(lower, grid="y")
