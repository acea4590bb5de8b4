"""A picture of why a model says what it says of one sample: a bar per kernel."""

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from multikernel.display import _style
from multikernel.inspection import pipelines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure


class ExplanationDisplay:
    """Bars of what each kernel adds to the value of one sample.

    Parameters
    ----------
    terms : array-like of shape (n_active,)
        What every kernel adds to the value, beyond its mean.
    kernel_names : sequence of str, of length n_active
        Names of the kernels.
    base : float
        What the terms are added to: the mean value.
    title : str, default=""
        Which sample it is.
    value_name : str, default="contribution to f, mean zero"
        What `terms` holds, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the bars.
    figure_ : matplotlib Figure
        Figure that holds them.
    bars_ : BarContainer
        The bars.

    Raises
    ------
    ValueError
        If names and terms differ in number.

    Examples
    --------
    >>> from multikernel.display import ExplanationDisplay
    >>> display = ExplanationDisplay([0.2, -0.5], ["age", "height"], 1.0).plot()
    >>> [float(bar.get_width()) for bar in display.bars_]
    [-0.5, 0.2]
    """

    ax_: "Axes"
    figure_: "Figure"
    bars_: "BarContainer"

    def __init__(
        self,
        terms: ArrayLike,
        kernel_names: Sequence[str],
        base: float,
        *,
        title: str = "",
        value_name: str = "contribution to f, mean zero",
    ) -> None:
        self.terms = np.asarray(terms, dtype=float)
        self.kernel_names = tuple(kernel_names)
        self.base, self.title, self.value_name = float(base), title, value_name
        if self.terms.shape != (len(self.kernel_names),):
            raise ValueError(
                f"terms has shape {self.terms.shape} for {len(self.kernel_names)} "
                "kernel names."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        sample: int = 0,
        *,
        output: Any = None,
        ax: "Axes | None" = None,
        max_kernels: int = 12,
        **bar_kwargs: Any,
    ) -> "ExplanationDisplay":
        """Draw the terms of one sample beyond their means over all.

        Parameters
        ----------
        estimator : estimator
            Fitted model, or a pipeline that ends in one.
        X : array-like or data frame of shape (n_samples, n_features)
            Data to compare with, the sample among them.
        sample : int, default=0
            Number of the sample.
        output : label or int, default=None
            The class, or the number of the target, where there are several.
        ax : matplotlib Axes, default=None
            See `plot`.
        max_kernels : int, default=12
            See `plot`.
        **bar_kwargs : dict
            See `plot`.

        Raises
        ------
        ValueError
            If there is no such sample or output.

        See Also
        --------
        ContributionDisplay : Draws the function of a column, and the map of an
            interaction, over all samples.
        """
        before, _ = pipelines.last_step(estimator)
        model = pipelines.final_estimator(estimator)
        if not isinstance(sample, Integral):
            raise ValueError(
                f"sample must be the number of a sample, got {sample!r}. The function "
                "of a kernel, a column or an interaction is drawn by "
                "ContributionDisplay.from_estimator(model, X, kernel)."
            )
        terms = np.asarray(model.contributions(pipelines.data_at_model(before, X)))
        if not 0 <= sample < len(terms):
            raise ValueError(
                f"There is no sample {sample}: they are numbered from 0 to "
                f"{len(terms) - 1}."
            )
        place = pipelines.output_place(model, output) if terms.ndim == 3 else 0
        terms = terms[:, place] if terms.ndim == 3 else terms
        means = terms.mean(axis=0)
        names = model.kernel_names_
        display = cls(
            terms[sample] - means,
            [names[m] for m in model.active_kernels_],
            float(means.sum() + np.ravel(model.intercept_)[place]),
            title=f"sample {sample}",
            value_name=_style.value_name(model, place),
        )
        return display.plot(ax, max_kernels=max_kernels, **bar_kwargs)

    def plot(
        self, ax: "Axes | None" = None, *, max_kernels: int = 12, **bar_kwargs: Any
    ) -> "ExplanationDisplay":
        """Draw the bars, the largest on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; a new figure of fitting height when None.
        max_kernels : int, default=12
            Most kernels with a bar of their own; the others share one.
        **bar_kwargs : dict
            Passed to ``ax.barh``.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        order = np.argsort(-np.abs(self.terms), kind="stable")
        widths = self.terms[order[:max_kernels]].tolist()
        names = [self.kernel_names[m] for m in order[:max_kernels]]
        rest = order[max_kernels:]
        if rest.size:
            widths.append(float(self.terms[rest].sum()))
            names.append(f"{rest.size} other kernels")
        (panel,) = _style.axes_for(ax, 1, figsize=(7.2, 1.4 + 0.27 * len(names)))
        self.ax_, self.figure_ = panel, _style.figure_of(panel)
        colors = [_style.color(0 if width > 0 else 1) for width in widths]
        self.bars_ = _style.bars(panel, widths, names, colors, **bar_kwargs)
        panel.axvline(0.0, color=_style.INK, linewidth=0.8)
        panel.set_xlabel(self.value_name)
        value = self.base + float(self.terms.sum())
        head = f"f = {value:.3g}, and {self.base:.3g} on average"
        _style.headline(panel, f"{self.title}: {head}" if self.title else head)
        return self
