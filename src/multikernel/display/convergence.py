"""Plot of the convergence of a fit."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from multikernel.display import _style
from multikernel.display._style import Axes, Line2D
from multikernel.display.base import Display
from multikernel.inspection.pipelines import final_estimator

XAxis = Literal["seconds", "iteration", "passes"]
_X_LABELS = {
    "seconds": "time [s]",
    "iteration": "iteration",
    "passes": "passes over all Gram matrices",
}


@dataclass(eq=False, repr=False)
class ConvergenceDisplay(Display):
    """Plot of the duality gap and the number of active kernels during a fit.

    Greedy methods have no gap; their objective is drawn instead.

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

    history: NDArray[np.void]
    _: KW_ONLY
    output_names: Sequence[str] | None = None
    tol: float | None = None
    ax_: NDArray[np.object_] = field(init=False)
    line_: list[Line2D] = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
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
        ax, x, **line_kwargs
            See `plot`.
        """
        model = final_estimator(estimator)
        has_several = len(np.unique(model.history_["output"])) > 1
        names = model.output_names_ if has_several else None
        tol = getattr(model, "tol", None)
        display = cls(model.history_, output_names=names, tol=tol)
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
            figure with both. Pass the ``ax_`` of another display to compare fits.
        x : {"seconds", "iteration", "passes"}, default="seconds"
            Quantity on the horizontal axis.
        **line_kwargs : dict
            Passed to ``ax.plot`` for all lines; ``label`` appears in the legend.
        """
        if x not in _X_LABELS:
            raise ValueError(f"x must be one of {tuple(_X_LABELS)}, got {x!r}.")
        n_panels = 2 if ax is None else min(np.asarray(ax, dtype=object).size, 2)
        panels = self._new_axes(ax, "plot", line_kwargs, n_panels, figsize=(6.4, 5.2))
        self.ax_, upper = np.array(panels), panels[0]
        if not upper.lines:
            upper.set_prop_cycle(color=_style.PALETTE)
        self.line_ = [
            self._draw_problem(panels, output, x, line_kwargs)
            for output in np.unique(self.history["output"]).astype(int)
        ]
        panels[-1].set_xlabel(_X_LABELS[x])
        self._annotate_gap(upper)
        for lower in panels[1:]:
            lower.set_ylabel("active kernels")
            lower.locator_params(axis="y", integer=True)
            _style.clean_axes(lower, grid="y")
        if self.output_names is not None or "label" in line_kwargs:
            # The legend contains all lines on the axes, also those of other displays.
            labels = {line: str(line.get_label()) for line in upper.lines}
            labels = {k: v for k, v in labels.items() if not v.startswith("_child")}
            title = "" if "label" in line_kwargs else "class"
            _style.legend(upper, list(labels), list(labels.values()), title)
        return self

    def _draw_problem(
        self, panels: list[Axes], output: int, x: XAxis, line_kwargs: dict[str, Any]
    ) -> Line2D:
        """Draw the lines of one problem, and return the line of the upper plot."""
        lines = self.history[self.history["output"] == output]
        style = {"marker": "o", "markersize": 3.5, **line_kwargs}
        if self.output_names is not None:
            labels = [str(line_kwargs["label"])] if "label" in line_kwargs else []
            style["label"] = ", ".join([*labels, self.output_names[output]])
        heights = lines["objective"] if self._is_greedy else lines["duality_gap"]
        if not self._is_greedy:
            # A logarithmic axis cannot show a gap of zero.
            heights = np.where(heights > 0, heights, np.nan)
        (upper_line,) = panels[0].plot(lines[x], heights, **style)
        for lower in panels[1:]:
            style["color"] = upper_line.get_color()
            (line,) = lower.plot(lines[x], lines["n_active"], **style)
            # The axis starts at zero, also if a later display draws on it.
            line.sticky_edges.y.append(0.0)
            lower.update_datalim([(lines[x][0], 0.0)])
        return upper_line

    @property
    def _is_greedy(self) -> bool:
        """Whether the method reports objectives instead of gaps."""
        return bool(np.isnan(self.history["duality_gap"]).all())

    def _annotate_gap(self, upper: Axes) -> None:
        """Set scale and label of the gap's axis, and draw the tolerance once."""
        _style.clean_axes(upper, grid="y")
        if self._is_greedy:
            upper.set_ylabel("objective")
            return
        upper.set_yscale("log")
        upper.set_ylabel("relative duality gap")
        if self.tol is None:
            return
        text = f"tol = {self.tol:g}"
        if text not in [note.get_text() for note in upper.texts]:
            upper.axhline(self.tol, **_style.DASHED)
            point, coordinates = (0.0, self.tol), ("axes fraction", "data")
            _style.label(upper, text, point, coordinates, (4, 3))
