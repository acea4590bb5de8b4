"""Base of the displays: their fields, and the axes of a plot."""

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from multikernel._validation import check_shapes
from multikernel.display import _style
from multikernel.display._style import Axes, Figure

TRIALS: dict[str, tuple[ArrayLike, ...]] = {
    "barh": ([0.0], [1.0]),
    "plot": ([0.0], [1.0]),
    "pcolormesh": (np.zeros((1, 1)),),
}
"""Example arguments of matplotlib functions, to test whether they accept keywords."""


class Display:
    """Base of the displays, which are dataclasses with arrays and names."""

    ax_: Any
    figure_: Figure
    from_estimator: ClassVar[Callable[..., "Display"]]

    def _read_fields(self, **shapes: tuple[int | str, ...]) -> None:
        """Convert fields to arrays and tuples; raise unless they have the `shapes`."""
        # `shapes` maps the name of a field to its axes, as in `check_shapes`. Fields
        # whose names end in "names" become tuples. Other tuples and None remain.
        fields: dict[str, tuple[object, tuple[int | str, ...]]] = {}
        for name, axes in shapes.items():
            value = getattr(self, name)
            if name.endswith("names"):
                value = tuple(value)
            elif not isinstance(value, tuple | None):
                value = np.asarray(value, dtype=np.float64)
            setattr(self, name, value)
            fields |= {} if value is None else {name: (value, axes)}
        check_shapes(type(self).__name__, **fields)

    def _new_axes(
        self,
        ax: Axes | Sequence[Axes] | None,
        function: str = "plot",
        keywords: Mapping[str, object] | None = None,
        count: int = 1,
        **figure: object,
    ) -> list[Axes]:
        """Check keywords of a plot; return `count` axes, new ones if `ax` is None."""
        self._check_keywords(function, keywords or {})
        # `figure` contains keywords of ``pyplot.subplots`` for new axes.
        if ax is None:
            settings = {"sharex": True, "layout": "constrained", **figure}
            ax = _style.pyplot().subplots(count, 1, **settings)[1]
        axes = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(axes) != count or not all(hasattr(axis, "transAxes") for axis in axes):
            expected = "matplotlib Axes" if count == 1 else f"{count} matplotlib Axes"
            raise TypeError(f"ax must be {expected}, got {ax!r}.")
        self.ax_, self.figure_ = axes[0], _style.figure_of(axes[0])
        return axes

    def _check_keywords(self, function: str, keywords: Mapping[str, object]) -> None:
        """Raise a TypeError for keywords that a function of matplotlib's axes lacks."""
        if not keywords:
            return
        axes = importlib.import_module("matplotlib.figure").Figure().add_subplot()
        for keyword, value in keywords.items():
            try:
                getattr(axes, function)(*TRIALS[function], **{keyword: value})
            except ValueError:
                continue  # the keyword exists, and its value may fit the drawn data
            except AttributeError as error:
                # The last parameter collects the keywords of matplotlib.
                names = [*inspect.signature(self.from_estimator).parameters][:-1]
                raise TypeError(
                    f"{type(self).__name__} has no parameter {keyword!r}: use "
                    f"{', '.join(names)}, or a keyword of matplotlib's {function}, "
                    "such as color."
                ) from error
