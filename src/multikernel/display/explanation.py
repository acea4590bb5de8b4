"""Plot that explains the prediction for one sample, one bar per kernel."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from multikernel.display import _style
from multikernel.display._style import Axes, BarContainer
from multikernel.display.base import Display
from multikernel.display.drawn_terms import category_labels
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.publish.columns import (
    columns_used,
    has_columns,
    table_column_order,
)
from multikernel.inspection import TermPosterior, pipelines
from multikernel.inspection.units import in_original_units

MOST_VALUES = 2
"""Maximum number of columns of a kernel whose label includes the sample's values."""


@dataclass(eq=False, repr=False)
class ExplanationDisplay(Display):
    """Bar chart of each kernel's contribution to the prediction for one sample.

    Parameters
    ----------
    terms : array-like of shape (n_active,)
        Contribution of each active kernel to the prediction, minus its mean
        contribution over a data set.
    kernel_names : sequence of str, of length n_active
        Names of the kernels.
    base : float
        Intercept plus the sum of these means; base plus `terms` is the prediction.
    title, value_name : str
        Title, such as the sample's name, and axis label of `terms`.
    errors : array-like of shape (n_active,), default=None
        Half-widths of error bars.
    values : sequence of str, of length n_active, default=None
        Values of the sample in each kernel's columns, printed beside the kernel's name.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : BarContainer

    Examples
    --------
    >>> from multikernel.display import ExplanationDisplay
    >>> display = ExplanationDisplay([0.2, -0.5], ["age", "height"], 1.0).plot()
    >>> [float(bar.get_width()) for bar in display.bars_]
    [-0.5, 0.2]
    """

    terms: Any
    kernel_names: Sequence[str]
    base: float
    _: KW_ONLY
    title: str = ""
    value_name: str = "contribution to f, mean zero"
    errors: Any = None
    values: Sequence[str] | None = None
    bars_: BarContainer = field(init=False)

    def __post_init__(self) -> None:
        self.values = tuple(self.values or [""] * len(self.kernel_names))
        names = ("n_kernel_names",)
        self._read_fields(kernel_names=names, terms=names, errors=names, values=names)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: object,
        sample: int = 0,
        *,
        output: object = None,
        posterior: TermPosterior | None = None,
        level: float = 0.9,
        ax: Axes | None = None,
        max_kernels: int = 12,
        **bar_kwargs: Any,
    ) -> "ExplanationDisplay":
        """Plot the terms of one sample minus their means over all samples.

        Names of kernels on one or two columns include the sample's values, in the units
        before a pipeline's scaling if it can be inverted.

        Parameters
        ----------
        estimator : estimator
            Fitted model, or a pipeline that ends in one.
        X : array-like or data frame of shape (n_samples, n_features)
            Data that includes the sample, for the means.
        sample : int, default=0
            Row of the sample.
        output : label or int, default=None
            The class, or the index of the target, if there are several.
        posterior : TermPosterior, default=None
            Result of `multikernel.inspection.term_posterior`, for error bars.
        level : float, default=0.9
            Probability that a term is inside its error bar.
        ax, max_kernels, **bar_kwargs
            See `plot`.
        """
        before, _ = pipelines.last_step(estimator)
        model = pipelines.final_estimator(estimator)
        has_several = len(np.ravel(model.intercept_)) > 1
        position = pipelines.output_index(model, output) if has_several else 0
        terms = np.asarray(model.contributions(pipelines.data_at_model(before, X)))
        if not (isinstance(sample, Integral) and 0 <= sample < len(terms)):
            raise ValueError(
                f"sample={sample!r} is not a row of X: pass an integer from 0 to "
                f"{len(terms) - 1}. To draw the function of a kernel, use "
                "ContributionDisplay.from_estimator."
            )
        terms = terms[:, position] if has_several else terms
        means = terms.mean(axis=0)
        names = model.kernel_names_
        errors = None
        if posterior is not None:
            _, data = model._model_and_data(pipelines.data_at_model(before, X))
            rows = data[sample : sample + 1]
            active = model.active_kernels_
            bands = [posterior.band(rows, [m], level, data) for m in active]
            errors = [0.5 * (high - low)[0, position] for low, high in bands]
        display = cls(
            terms[sample] - means,
            [names[m] for m in model.active_kernels_],
            float(means.sum() + np.ravel(model.intercept_)[position]),
            title=f"sample {sample}",
            value_name=_style.value_name(model, position),
            errors=errors,
            values=_row_values(model, before, X, sample),
        )
        return display.plot(ax, max_kernels=max_kernels, **bar_kwargs)

    def plot(
        self, ax: Axes | None = None, *, max_kernels: int = 12, **bar_kwargs: Any
    ) -> "ExplanationDisplay":
        """Plot the bars, the largest on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. Default: a new figure of fitting height.
        max_kernels : int, default=12
            Maximum number of bars of single kernels; the other kernels share one bar.
        **bar_kwargs : dict
            Passed to ``ax.barh``.
        """
        order = np.argsort(-np.abs(self.terms), kind="stable")
        widths = self.terms[order[:max_kernels]].tolist()
        texts = self.values or ()
        names = [
            f"{_style.paper_name(self.kernel_names[m])} ({texts[m]})"
            if texts[m]
            else self.kernel_names[m]
            for m in order[:max_kernels].tolist()
        ]
        remaining = order[max_kernels:]
        if remaining.size:
            widths.append(float(self.terms[remaining].sum()))
            names.append(f"{remaining.size} other kernels")
        size = 7.2, 1.4 + 0.27 * len(names)
        (panel,) = self._new_axes(ax, "barh", bar_kwargs, figsize=size)
        colors = [_style.color(0 if width > 0 else 1) for width in widths]
        self.bars_ = _style.bars(panel, widths, names, colors, **bar_kwargs)
        panel.axvline(0.0, color=_style.INK, linewidth=0.8)
        if self.errors is not None:
            shown = order[:max_kernels]
            whiskers: dict[str, Any] = {"fmt": "none", "ecolor": _style.INK}
            whiskers |= {"elinewidth": 1.0, "capsize": 2.5}
            rows = np.arange(shown.size)
            panel.errorbar(self.terms[shown], rows, xerr=self.errors[shown], **whiskers)
        panel.set_xlabel(_style.literal(self.value_name))
        value = self.base + float(self.terms.sum())
        sentence = f"f = {value:.3g}, and {self.base:.3g} on average"
        _style.headline(panel, f"{self.title}: {sentence}" if self.title else sentence)
        return self


def _row_values(
    model: BaseMKL, before: BaseEstimator | None, X: object, sample: int
) -> list[str]:
    """Return the sample's values in each active kernel's columns; "" if too many."""
    values = [""] * model.active_kernels_.size
    if not has_columns(model) or hasattr(model, "sparse_input_"):
        return values
    _, data = model._model_and_data(pipelines.data_at_model(before, X))
    shown_rows = in_original_units(before, data)
    order = table_column_order(model).tolist()
    n_numbers = len(order) - len(getattr(model, "sequence_features_", ()))
    number_columns = order[:n_numbers], shown_rows[:, :n_numbers]
    labels = category_labels(model, before, *number_columns)
    # The text of a column's value; sequence columns, which are last, have none.
    texts = {}
    for position, (column, names) in enumerate(zip(order, labels, strict=False)):
        value = shown_rows[sample, position]
        is_category = names is not None and 0 <= round(value) < len(names)
        texts[column] = names[round(value)] if names and is_category else f"{value:.4g}"
    for term, kernel in enumerate(model.active_kernels_.tolist()):
        columns = dict.fromkeys(c for part in columns_used(model, kernel) for c in part)
        if len(columns) <= MOST_VALUES and texts.keys() >= columns.keys():
            values[term] = ", ".join(texts[column] for column in columns)
    return values
