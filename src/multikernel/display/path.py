"""Plot of a regularization path."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from multikernel._typing import Array, Indices
from multikernel.display import _style
from multikernel.display._style import Axes, Line2D
from multikernel.display.base import Display
from multikernel.estimators import NamedPath
from multikernel.inspection.pipelines import SearchScores

BLOCK_NORM = "block norm ‖f_m‖: size of a kernel's function"
"""Axis label of a path of block norms."""


@dataclass(eq=False, repr=False)
class RegularizationPathDisplay(Display):
    """Plot of every kernel's norm or weight against alpha, largest alpha first.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,)
        Regularization strengths, positive, in any order.
    values : array-like of shape (n_alphas, n_kernels), default=None
        Block norms or kernel weights at each alpha; None draws the scores only.
    kernel_names : sequence of str, of length n_kernels, default=()
        Names of the kernels.
    value_name : str, default="block norm ‖f_m‖: size of a kernel's function"
        Axis label of `values`.
    scores : array-like of shape (n_alphas, n_folds), default=None
        Cross-validated scores, drawn in a second panel as mean and standard error.
    best_alpha : float, default=None
        Chosen alpha, drawn as a vertical line. `from_estimator` draws the smallest one
        if the targets have different alphas.
    score_name : str, default="cross-validated score"
        Axis label of `scores`.

    Attributes
    ----------
    alpha_name : str
        Axis label of `alphas`: "alpha", or "1 / C" for models with a C.
    ax_ : matplotlib Axes
        Axes of the path, or of the scores if there is no path.
    score_ax_ : matplotlib Axes or None
        Axes of the scores; None if they are not drawn.
    figure_ : matplotlib Figure
    line_ : list of Line2D
        Lines of the labeled kernels, largest first.

    Examples
    --------
    >>> from multikernel.display import RegularizationPathDisplay
    >>> display = RegularizationPathDisplay(
    ...     [1.0, 0.1, 0.01], [[0, 0], [0.4, 0], [0.9, 0.3]], ["age", "height"]
    ... )
    >>> [line.get_label() for line in display.plot().line_]
    ['age', 'height']
    """

    alphas: Any
    values: Any = None
    kernel_names: Sequence[str] = ()
    _: KW_ONLY
    value_name: str = BLOCK_NORM
    scores: Any = None
    best_alpha: float | None = None
    score_name: str = "cross-validated score"
    alpha_name: str = field(default="alpha", init=False)
    score_ax_: Axes | None = field(init=False)
    line_: list[Line2D] = field(init=False)

    def __post_init__(self) -> None:
        if self.values is None:
            self.values = np.empty((len(self.alphas), 0))
        rows, columns = ("n_alphas",), ("n_kernels",)
        self._read_fields(alphas=rows, kernel_names=columns, values=rows + columns)
        if self.scores is not None:
            self.scores = np.asarray(self.scores, dtype=float)
            if len(self.scores) != len(self.alphas):
                raise ValueError(
                    f"scores has length {len(self.scores)}, but alphas has length "
                    f"{len(self.alphas)}: pass one row of scores per alpha."
                )
        if not (self.alphas > 0).all():
            raise ValueError(
                "alphas must be positive, because their axis is logarithmic, got "
                f"{self.alphas.min():g}."
            )

    @classmethod
    def from_path(
        cls, found: NamedPath, *, best_alpha: float | None = None
    ) -> "RegularizationPathDisplay":
        """Return the display of a path, without drawing it.

        Parameters
        ----------
        found : NamedPath
            Result of `regularization_path`.
        best_alpha : float, default=None
            Chosen alpha.
        """
        return cls(
            found.path.alphas,
            found.norms(),
            found.kernel_names,
            value_name=_norm_name(found),
            best_alpha=best_alpha,
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        *,
        ax: Axes | Sequence[Axes] | None = None,
        max_labels: int = 7,
        **line_kwargs: Any,
    ) -> "RegularizationPathDisplay":
        """Plot the path and the scores of a search over alpha or C.

        Parameters
        ----------
        estimator : estimator
            Fitted ``...CV`` model, or a pipeline or search that ends in one. With
            ``refit=False``, and for other searches over ``alpha`` or ``C``, only the
            scores are drawn.
        ax, max_labels, **line_kwargs
            See `plot`.
        """
        scores = SearchScores.of(estimator, ("alpha", "C", "p"))
        model, columns = scores.model, scores.columns
        if not {"alpha", "C"} & {*columns}:
            raise TypeError(
                f"{type(model).__name__} has no scores for values of alpha or C: pass "
                "an estimator that chooses alpha or C by cross-validation. For other "
                "estimators, pass the result of regularization_path to from_path."
            )
        # If p was also chosen, the path belongs to the chosen p.
        p = columns.get("p", np.zeros(len(scores.folds)))
        rows = p == p[scores.best]
        name = "alpha" if "alpha" in columns else "C"
        power = 1.0 if name == "alpha" else -1.0
        alphas = columns[name] ** power
        solutions = getattr(model, "path_", None)
        path = solutions and NamedPath(solutions, model.kernel_names_)
        display = cls(
            alphas[rows],
            _norms_at(alphas[rows], path) if path else None,
            path.kernel_names if path else (),
            value_name=_norm_name(path) if path else BLOCK_NORM,
            scores=scores.folds[rows],
            best_alpha=alphas[scores.best],
            score_name=scores.name,
        )
        display.alpha_name = "alpha" if name == "alpha" else "1 / C"
        return display.plot(ax=ax, max_labels=max_labels, **line_kwargs)

    def plot(
        self,
        ax: Axes | Sequence[Axes] | None = None,
        *,
        max_labels: int = 7,
        **line_kwargs: Any,
    ) -> "RegularizationPathDisplay":
        """Plot the path and, if there are scores, the scores below it.

        Parameters
        ----------
        ax : matplotlib Axes or pair of them, default=None
            Axes for the path, or for the path and the scores. Default: a new figure.
        max_labels : int, default=7
            Number of kernels with color and name, those with the largest values.
        **line_kwargs : dict
            Passed to ``ax.plot`` for the labeled lines.
        """
        upper, lower = self._panels(ax, line_kwargs)
        self.score_ax_ = lower
        order = np.argsort(-self.alphas)
        self.line_ = []
        if self.kernel_names:
            names = self._draw_lines(order, max_labels, line_kwargs)
        upper.set_xscale("log")
        if self.alphas.min() < self.alphas.max():
            upper.set_xlim(self.alphas.max(), self.alphas.min())
        if self.kernel_names:
            upper.set_ylim(bottom=0)
            upper.set_ylabel(_style.literal(self.value_name))
            _style.clean_axes(upper, grid="y")
            _style.label_ends(upper, self.line_, names)
        if lower is not None and self.scores is not None:
            _draw_scores(lower, self.alphas[order], self.scores[order])
            lower.set_ylabel(_style.literal(self.score_name))
        label = f"{self.alpha_name}, weaker regularization to the right"
        (lower or upper).set_xlabel(label)
        self._mark_best()
        return self

    def _panels(
        self, ax: Axes | Sequence[Axes] | None, line_kwargs: Mapping[str, object]
    ) -> tuple[Axes, Axes | None]:
        """Return the upper axes, and the axes of the scores or None."""
        # Without kernel names there is no path: one panel shows the scores alone.
        has_scores = isinstance(ax, Sequence | np.ndarray) or (
            ax is None and self.scores is not None
        )
        if self.kernel_names and has_scores:
            upper, lower = self._new_axes(
                ax, "plot", line_kwargs, 2, figsize=(8.2, 6.2), height_ratios=(2, 1)
            )
            return upper, lower
        (panel,) = self._new_axes(ax, "plot", line_kwargs, figsize=(8.2, 4.6))
        return panel, None if self.kernel_names else panel

    def _draw_lines(
        self, order: Indices, max_labels: int, line_kwargs: dict[str, Any]
    ) -> list[str]:
        """Draw the largest kernels in color, the others gray; return the labels."""
        alphas, values = self.alphas[order], self.values[order]
        peaks = np.nanmax(values, axis=0)
        by_peak = np.argsort(-peaks, kind="stable")
        by_peak = by_peak[peaks[by_peak] > 0]
        values = _without_idle_stretches(values)
        self.ax_.plot(
            alphas, values[:, by_peak[max_labels:]], color=_style.QUIET, linewidth=0.8
        )
        styles = _style.line_styles(values[:, by_peak[:max_labels]])
        for rank, kernel in enumerate(by_peak[:max_labels]):
            style = {
                "color": _style.color(rank),
                "linewidth": 1.8,
                "linestyle": styles[rank],
                "label": _style.literal(self.kernel_names[kernel]),
                **line_kwargs,
            }
            self.line_ += self.ax_.plot(alphas, values[:, kernel], **style)
        names = [self.kernel_names[kernel] for kernel in by_peak[:max_labels]]
        return [str(line_kwargs.get("label", name)) for name in names]

    def _mark_best(self) -> None:
        """Draw a labeled vertical line at the chosen strength, if there is one."""
        if self.best_alpha is None:
            return
        for panel in {self.ax_, self.score_ax_ or self.ax_}:
            panel.axvline(self.best_alpha, **_style.DASHED)
        text = f"{self.alpha_name} = {self.best_alpha:.3g}"
        anchor = (self.best_alpha, 1.0), ("data", "axes fraction"), (-4, -4)
        _style.label(self.ax_, text, *anchor, ha="right", va="top")


def _norm_name(named_path: NamedPath) -> str:
    """Return the axis label of the norms of a path."""
    n_outputs = named_path.path.norms.shape[0]
    if n_outputs == 1:
        return BLOCK_NORM
    return f"{BLOCK_NORM},\nroot of the sum of squares over {n_outputs} classes"


def _norms_at(alphas: Array, named_path: NamedPath) -> Array:
    """Return the norms at given strengths; NaN for strengths that the path lacks."""
    # The row of each strength of the path, which may differ from `alphas` by rounding.
    rows = [int(np.abs(alphas - alpha).argmin()) for alpha in named_path.path.alphas]
    values = np.full((alphas.size, len(named_path.kernel_names)), np.nan)
    values[rows] = named_path.norms()
    return values


def _without_idle_stretches(values: Array) -> Array:
    """Return the values with NaN in runs of zeros, whose lines would overlap."""
    padded = np.pad(values, ((1, 1), (0, 0)))
    is_idle = (padded[:-2] == 0) & (values == 0) & (padded[2:] == 0)
    return np.where(is_idle, np.nan, values)


def _draw_scores(ax: Axes, alphas: Array, scores: Array) -> None:
    """Draw the mean score over the folds with a band of one standard error."""
    # Infinite scores cannot be drawn.
    folds = np.atleast_2d(np.where(np.isfinite(scores), scores, np.nan).T)
    mean = folds.mean(axis=0)
    error = np.zeros_like(mean)
    if len(folds) > 1:
        error = folds.std(axis=0, ddof=1) / np.sqrt(len(folds))
    ax.fill_between(alphas, mean - error, mean + error, color=_style.BAND)
    ax.plot(alphas, mean, color=_style.color(0), linewidth=1.8)
    _style.clean_axes(ax, grid="y")
