"""A picture of how fast a fit converged."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from multikernel.display._style import DASHED, axes_for, color, figure_of, note, tidy
from multikernel.inspection.pipelines import final_estimator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

XAxis = Literal["seconds", "iteration", "passes"]
_X_LABELS = {
    "seconds": "time [s]",
    "iteration": "iteration",
    "passes": "passes over all Gram matrices",
}


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
    ax_ : ndarray of shape (2,) of matplotlib Axes
        The gap (or the objective) above, the active kernels below.
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
    figure_: "Figure"
    line_: "list[Line2D]"

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
        ax: "Sequence[Axes] | None" = None,
        x: XAxis = "seconds",
        **line_kwargs: Any,
    ) -> "ConvergenceDisplay":
        """Draw the history of a fitted model.

        Parameters
        ----------
        estimator : estimator
            Fitted model with a ``history_``, or a pipeline or search that ends in one.
        ax : pair of matplotlib Axes, default=None
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
        ax: "Sequence[Axes] | None" = None,
        *,
        x: XAxis = "seconds",
        **line_kwargs: Any,
    ) -> "ConvergenceDisplay":
        """Draw both curves, a gap on a logarithmic axis.

        Parameters
        ----------
        ax : pair of matplotlib Axes, default=None
            Axes for the gap and for the active kernels; a new figure when None.
        x : {"seconds", "iteration", "passes"}, default="seconds"
            What the horizontal axis shows.
        **line_kwargs : dict
            Passed to ``ax.plot`` for all lines.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If `x` is none of the three.
        """
        if x not in _X_LABELS:
            raise ValueError(f"x must be one of {tuple(_X_LABELS)}, got {x!r}.")
        upper, lower = axes_for(ax, 2, figsize=(6.4, 5.2))
        self.ax_, self.figure_ = np.array([upper, lower]), figure_of(upper)
        self.line_ = []
        for number in np.unique(self.history["output"]).astype(int):
            lines = self.history[self.history["output"] == number]
            heights = lines["objective"] if self._greedy else lines["duality_gap"]
            if not self._greedy:  # a gap of zero has no place on a logarithmic axis
                heights = np.where(heights > 0, heights, np.nan)
            style: dict[str, Any] = {"marker": "o", "markersize": 3.5}
            if self.output_names is not None:
                style["label"] = self.output_names[number]
            style |= {"color": color(number)} | line_kwargs
            self.line_ += upper.plot(lines[x], heights, **style)
            lower.plot(lines[x], lines["n_active"], **style)
        lower.set_xlabel(_X_LABELS[x])
        self._annotate(upper, lower)
        return self

    @property
    def _greedy(self) -> bool:
        """Return whether the method has no gaps, only objectives."""
        return bool(np.isnan(self.history["duality_gap"]).all())

    def _annotate(self, upper: "Axes", lower: "Axes") -> None:
        """Add scales, labels, the tolerance and the legend."""
        if self._greedy:
            upper.set_ylabel("objective")
        else:
            upper.set_yscale("log")
            upper.set_ylabel("relative duality gap")
        lower.set_ylabel("active kernels")
        lower.set_ylim(bottom=0)
        lower.locator_params(axis="y", integer=True)
        tidy(upper, grid="y")
        tidy(lower, grid="y")
        if self.tol is not None and not self._greedy:
            upper.axhline(self.tol, **DASHED)
            place = (0.0, self.tol), ("axes fraction", "data"), (4, 3)
            note(upper, f"tol = {self.tol:g}", *place)
        if self.output_names is not None:
            upper.legend(title="class", frameon=False, fontsize="small")
