"""Plot of the score against the number of kernels."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from multikernel.display import _style
from multikernel.display._style import Artist, Axes, Line2D
from multikernel.display.base import Display
from multikernel.inspection.pipelines import SearchScores


@dataclass(eq=False, repr=False)
class SparsityPathDisplay(Display):
    """Plot of the score against the number of kernels, a line for each alpha.

    Parameters
    ----------
    scores : array-like of shape (n_alphas, n_models, n_folds)
        Scores of models with increasing numbers of kernels.
    alphas : array-like of shape (n_alphas,)
        Regularization strengths.
    best_alpha : float, default=None
        Chosen strength, drawn in color with a band of one standard deviation over
        folds. Default: the first of `alphas`.
    best_n_kernels : int, default=None
        Chosen number of kernels, marked with a dot.
    n_kernels : array-like of int of shape (n_models,), default=None
        Numbers of kernels of the models. Default: 0, 1, 2, ...
    score_name : str, default="cross-validated score"
        Axis label of `scores`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_ : Line2D
        Line of the chosen strength.
    band_ : matplotlib artist
        Band around this line.
    other_lines_ : list of Line2D
        Lines of the other strengths, in order.
    point_ : Line2D or None
        Mark of the chosen number of kernels; None if `best_n_kernels` is None.

    Examples
    --------
    >>> from multikernel.display import SparsityPathDisplay
    >>> scores = [[[0.5, 0.5], [0.8, 0.9], [0.7, 0.9]]]
    >>> display = SparsityPathDisplay(scores, [0.1], best_n_kernels=1).plot()
    >>> display.line_.get_ydata().round(2).tolist()
    [0.5, 0.85, 0.8]
    """

    scores: Any
    alphas: Any
    _: KW_ONLY
    best_alpha: float | None = None
    best_n_kernels: int | None = None
    n_kernels: Any = None
    score_name: str = "cross-validated score"
    line_: Line2D = field(init=False)
    band_: Artist = field(init=False)
    other_lines_: list[Line2D] = field(init=False)
    point_: Line2D | None = field(init=False)

    def __post_init__(self) -> None:
        if self.n_kernels is None:
            self.n_kernels = np.arange(*np.shape(self.scores)[1:2])
        shapes = {"alphas": ("n_alphas",), "n_kernels": ("n_models",)}
        self._read_fields(**shapes, scores=("n_alphas", "n_models", "n_folds"))
        self.n_kernels = self.n_kernels.astype(int)
        for name, values in (("alpha", self.alphas), ("n_kernels", self.n_kernels)):
            best = getattr(self, f"best_{name}")
            if best is not None and best not in values:
                raise ValueError(
                    f"best_{name}={best} must be one of the values {values.tolist()}."
                )

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, ax: Axes | None = None, **line_kwargs: Any
    ) -> "SparsityPathDisplay":
        """Plot the scores of a search over the number of kernels.

        Parameters
        ----------
        estimator : estimator
            Fitted ``GroupOMP...CV`` model or another search over ``alpha`` and
            ``max_kernels``, or a pipeline or search that ends in one.
        ax, **line_kwargs
            See `plot`.
        """
        scores = SearchScores.of(estimator, ("alpha", "max_kernels"))
        if len(scores.columns) < 2:
            raise TypeError(
                f"{type(scores.model).__name__} has no scores for values of both alpha "
                "and max_kernels: pass an estimator that chooses both by "
                "cross-validation, such as GroupOMPRegressorCV."
            )
        alphas, n_kernels = scores.columns["alpha"], scores.columns["max_kernels"]
        strengths, sizes = np.array([*dict.fromkeys(alphas)]), np.unique(n_kernels)
        grid = np.full((strengths.size, sizes.size, scores.folds.shape[1]), np.nan)
        rows = np.argmax(alphas[:, None] == strengths, axis=1)
        grid[rows, np.searchsorted(sizes, n_kernels)] = scores.folds
        display = cls(
            grid,
            strengths,
            best_alpha=alphas[scores.best],
            best_n_kernels=int(n_kernels[scores.best]),
            n_kernels=sizes,
            score_name=scores.name,
        )
        return display.plot(ax=ax, **line_kwargs)

    def plot(self, ax: Axes | None = None, **line_kwargs: Any) -> "SparsityPathDisplay":
        """Plot the mean scores against the number of kernels, a line for each alpha.

        The line of the chosen alpha has a band of one standard deviation over folds.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. Default: a new figure.
        **line_kwargs : dict
            Passed to ``ax.plot`` for the line of the chosen strength.
        """
        (panel,) = self._new_axes(ax, "plot", line_kwargs, figsize=(6.8, 4.2))
        best = 0
        if self.best_alpha is not None:
            best = int(np.flatnonzero(self.alphas == self.best_alpha)[0])
        means, spreads = self.scores.mean(axis=2), self.scores.std(axis=2)
        counts = self.n_kernels
        other_means = np.delete(means, best, axis=0)
        self.other_lines_ = panel.plot(
            counts, other_means.T, color=_style.QUIET, linewidth=0.9
        )
        low, high = means[best] - spreads[best], means[best] + spreads[best]
        band_label = "± 1 standard deviation over folds"
        self.band_ = panel.fill_between(
            counts, low, high, color=_style.BAND, label=band_label
        )
        style = {"color": _style.color(0), "linewidth": 1.8, **line_kwargs}
        (self.line_,) = panel.plot(counts, means[best], **style)
        self.point_ = None
        if self.best_n_kernels is not None:
            k = self.best_n_kernels
            score, noun = means[best][counts == k], "kernel" if k == 1 else "kernels"
            (self.point_,) = panel.plot(
                [k], score, "o", color=_style.INK, label=f"chosen: {k} {noun}"
            )
        panel.set_xlabel("number of kernels")
        panel.set_ylabel(_style.literal(self.score_name))
        panel.locator_params(axis="x", integer=True)
        _style.clean_axes(panel, grid="y")
        panel.set_xlim(counts.min(), counts.max())
        lines = [self.line_, *self.other_lines_]
        alphas = [self.alphas[best], *np.delete(self.alphas, best)]
        labels = [f"alpha = {alpha:.3g}" for alpha in alphas]
        _style.label_ends(panel, lines, labels)
        panel.legend(frameon=False, fontsize="small")
        return self
