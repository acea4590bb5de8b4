"""What the displays share: matplotlib on demand, colours, labels that fit."""

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.isotonic import isotonic_regression

from multikernel._typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito's colours without the yellow: told apart by colour-blind readers, and
# dark enough for lines on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
QUIET = "#B8BEC4"
INK = "#333333"
BAND = "#D9E8F2"
DASHED: dict[str, Any] = {"color": INK, "linewidth": 1.0, "linestyle": (0, (4, 3))}


def pyplot() -> Any:
    """Return matplotlib's pyplot, or say how to install it.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    try:
        return importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError(
            "Plots need matplotlib: pip install 'multikernel[plot]'."
        ) from error


def figure_of(ax: "Axes") -> "Figure":
    """Return the whole figure that holds the axes, also from within a subfigure."""
    return ax.figure.figure


def axes_for(ax: Any, count: int, **figure: Any) -> "list[Axes]":
    """Return the axes that a caller gave, or new ones, one below the other.

    Parameters
    ----------
    ax : Axes, array-like of Axes, or None
        What the caller gave, in any shape.
    count : int
        How many a display draws on.
    **figure : dict
        Passed to ``pyplot.subplots`` for new ones.

    Returns
    -------
    axes : list of Axes

    Raises
    ------
    TypeError
        If the caller gave anything but so many axes.
    """
    if ax is None:
        shape: dict[str, Any] = {"sharex": True, "layout": "constrained"}
        ax = pyplot().subplots(count, 1, **(shape | figure))[1]
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(axes) != count or not all(hasattr(one, "transAxes") for one in axes):
        wanted = "matplotlib Axes" if count == 1 else f"{count} matplotlib Axes"
        raise TypeError(f"ax must be {wanted}, got {ax!r}.")
    return axes


def note(
    ax: "Axes",
    text: str,
    at: tuple[float, float],
    measured: tuple[str, str],
    shift: tuple[float, float],
    **style: Any,
) -> None:
    """Write a small text beside a point.

    Parameters
    ----------
    ax : matplotlib Axes
        Where.
    text : str
        What.
    at : tuple of float
        The point.
    measured : tuple of {"data", "axes fraction"}
        In which units its coordinates are.
    shift : tuple of float
        Where the text begins, in points from there.
    **style : dict
        Passed to ``ax.annotate``.
    """
    small: dict[str, Any] = {"color": INK, "fontsize": "small"}
    small |= {"xycoords": measured, "textcoords": "offset points"}
    ax.annotate(text, at, shift, **(small | style))


def color(index: int) -> str:
    """Return the color of a series; they repeat after the palette's length."""
    return PALETTE[index % len(PALETTE)]


def tidy(ax: "Axes", *, grid: Literal["x", "y", "both"]) -> None:
    """Remove the box around a plot and draw faint grid lines across one axis.

    Parameters
    ----------
    ax : matplotlib Axes
        The axes to change.
    grid : {"x", "y", "both"}
        The axis whose ticks get grid lines.
    """
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color="#E6E8EA", linewidth=0.8)
    ax.set_axisbelow(True)


def shorten(text: str, length: int = 44) -> str:
    """Return the text, its middle left out if it is longer than `length`.

    Both ends stay: a kernel's name starts with its kind and ends with its columns.

    Examples
    --------
    >>> from multikernel.display._style import shorten
    >>> shorten("gaussian(sigma=2)[worst radius]", 21)
    'gaussian(s…st radius]'
    """
    if len(text) <= length:
        return text
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


def spread(positions: Sequence[float] | Array, separation: float) -> Array:
    """Return the nearest positions in [0, 1] that keep a distance from each other.

    Parameters
    ----------
    positions : array-like of shape (n_labels,)
        Where the labels would like to be.
    separation : float
        Least distance between two of them; less is used if they do not all fit.

    Returns
    -------
    moved : ndarray of shape (n_labels,)
        In the order of `positions`.
    """
    wanted = np.asarray(positions, dtype=np.float64)
    n_labels = wanted.size
    if n_labels < 2:
        return np.clip(wanted, 0.0, 1.0)
    ramp = min(separation, 1.0 / (n_labels - 1)) * np.arange(n_labels)
    # Less its share of the ramp, a position need only not fall below the one before:
    # isotonic regression, which keeps clusters centred where they are.
    order = np.argsort(wanted, kind="stable")
    level = isotonic_regression(wanted[order] - ramp)
    moved = np.empty(n_labels)
    moved[order] = np.clip(level, 0.0, 1.0 - ramp[-1]) + ramp
    return moved
