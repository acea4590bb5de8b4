"""Shared parts of the displays: matplotlib on demand, colors, labels that fit."""

import importlib
import re
import textwrap
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.isotonic import isotonic_regression

from multikernel._install import how_to_install
from multikernel._typing import Array
from multikernel.estimators.base import BaseMKL
from multikernel.inspection.pipelines import output_heads
from multikernel.kernels.interactions import SEPARATOR

if TYPE_CHECKING:
    from matplotlib.artist import Artist as Artist
    from matplotlib.axes import Axes as Axes
    from matplotlib.collections import QuadMesh as QuadMesh
    from matplotlib.container import BarContainer as BarContainer
    from matplotlib.figure import Figure as Figure
    from matplotlib.lines import Line2D as Line2D
else:
    # At run time these are only type names; matplotlib is imported on demand.
    Artist = Axes = BarContainer = Figure = Line2D = QuadMesh = Any

# The colorblind-safe palette of Okabe and Ito without yellow, which is too light.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
QUIET = "#B8BEC4"
INK = "#333333"
BAND = "#D9E8F2"
DASHED: dict[str, Any] = {"color": INK, "linewidth": 1.0, "linestyle": (0, (4, 3))}


def pyplot() -> ModuleType:
    """Return matplotlib's pyplot; raise with the installation command if missing."""
    try:
        return importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError(
            f"Plots require matplotlib: {how_to_install('plot')}."
        ) from error


def figure_of(ax: Axes) -> Figure:
    """Return the whole figure that contains the axes, also for axes in a subfigure."""
    return ax.figure.figure


def label(
    ax: Axes,
    text: str,
    point: tuple[float, float],
    coordinates: tuple[str, str],
    offset: tuple[float, float],
    **style: Any,
) -> None:
    """Write a small text at a distance of `offset` typographic points from `point`."""
    # `coordinates` are Matplotlib's names of the coordinate systems of x and of y in
    # `point`: "data" or "axes fraction".
    options = {"color": INK, "fontsize": "small", **style}
    ax.annotate(literal(text), point, offset, coordinates, "offset points", **options)


def color(index: int) -> str:
    """Return the color of a series; colors repeat after the palette."""
    return PALETTE[index % len(PALETTE)]


def clean_axes(ax: Axes, *, grid: Literal["x", "y", "both"]) -> None:
    """Remove the top and right borders of a plot, and draw faint grid lines."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color="#E6E8EA", linewidth=0.8)
    ax.set_axisbelow(True)


def shorten(text: str, length: int = 44) -> str:
    """Return the text with its middle omitted if it is longer than `length`."""
    if len(text) <= length:
        return text
    # Both ends remain: a kernel's name starts with its kind and ends with its columns.
    head = (length - 1) // 2
    return f"{text[:head]}…{text[len(text) - (length - 1 - head) :]}"


KERNEL = re.compile(r"(\w+)\(((?:\w+=[^(),=]+(?:, |(?=\))))*)\)(?:\[(.*)\])?( #\d+)?")
"""Pattern of a kernel's name: kind, parameters, columns, and an optional number."""


def paper_name(name: str) -> str:
    """Return the name of a kernel for figures, such as "s5, width 2"."""
    # The example is the result for "gaussian(sigma=2)[s5]". Products are converted
    # factor by factor. Other names, and names of nested kernels, are unchanged.
    if SEPARATOR in name:
        return SEPARATOR.join(map(paper_name, name.split(SEPARATOR)))
    match = KERNEL.fullmatch(name)
    if match is None:
        return name
    kind, settings, columns, number = match.groups()
    parameters = [pair.replace("=", " ") for pair in settings.split(", ") if pair]
    values = [re.sub("^sigma ", "width ", text) for text in parameters]
    # In a name that begins with columns, a width alone identifies a Gaussian kernel.
    implied = kind == "gaussian" and columns
    parts = [columns] if columns else []
    parts += [] if implied else [kind.replace("_", " ").replace("gaussian", "Gaussian")]
    return ", ".join(parts + values) + (number or "")


def literal(text: object) -> str:
    """Return a text that matplotlib draws literally, with escaped dollar signs."""
    return str(text).replace("$", r"\$")


def legend(ax: Axes, lines: Sequence[Line2D], texts: Sequence[str], title: str) -> None:
    """Add a legend of some lines, including texts that start with an underscore."""
    # Matplotlib skips labels that begin with an underscore, so the texts are set later.
    box = ax.legend(lines, ["label"] * len(lines), frameon=False, fontsize="small")
    box.set_title(literal(title))
    for entry, text in zip(box.get_texts(), texts, strict=True):
        entry.set_text(literal(text))


def short_name(name: str) -> str:
    """Return the `paper_name` of a kernel, with the middle omitted if it is long."""
    return shorten(paper_name(name))


def separated(positions: Sequence[float] | Array, separation: float) -> Array:
    """Return positions at least `separation` apart, moved as little as possible."""
    targets = np.asarray(positions, dtype=np.float64)
    n_labels = targets.size
    if n_labels < 2:
        return np.clip(targets, 0.0, 1.0)
    # The order is kept, and positions lie in [0, 1]. The separation is smaller if
    # otherwise not all positions fit.
    ramp = min(separation, 1.0 / (n_labels - 1)) * np.arange(n_labels)
    # After subtracting the ramp, positions must only be nondecreasing. Isotonic
    # regression does this and keeps clusters centered.
    order = np.argsort(targets, kind="stable")
    shifted = isotonic_regression(targets[order] - ramp)
    result = np.empty(n_labels)
    result[order] = np.clip(shifted, 0.0, 1.0 - ramp[-1]) + ramp
    return result


def name_rows(ax: Axes, names: Mapping[int, str], n_rows: int) -> None:
    """Write a shortened name beside each row of horizontal bars, the first on top."""
    ax.set_yticks(list(names), [literal(short_name(n)) for n in names.values()])
    # `n_rows` includes rows without a name.
    ax.set_ylim(n_rows - 0.4, -0.6)
    ax.tick_params(axis="y", length=0, labelcolor=INK)
    clean_axes(ax, grid="x")


def bars(
    ax: Axes,
    widths: ArrayLike,
    names: Sequence[str],
    colors: str | Sequence[str],
    **style: Any,
) -> BarContainer:
    """Draw horizontal bars with names, the first on top."""
    rows = np.arange(len(names))
    container = ax.barh(rows, widths, **{"height": 0.72, "color": colors, **style})
    name_rows(ax, dict(enumerate(names)), max(len(names), 1))
    return container


def label_columns(ax: Axes, names: Sequence[str]) -> None:
    """Write names below a plot at 0, 1, ..., wrapped or vertical so that they fit."""
    texts = [shorten(name) for name in names]
    width = ax.get_position().width * figure_of(ax).get_figwidth() * 72.0
    # A letter is about 6 points wide at the font size of 10 points.
    n_letters = int(width / (6.0 * max(len(texts), 1))) - 1
    longest = max((len(word) for text in texts for word in text.split()), default=0)
    if longest > n_letters:
        ax.tick_params(axis="x", labelrotation=90)
    else:
        texts = [textwrap.fill(text, n_letters) for text in texts]
    ax.set_xticks(range(len(texts)), list(map(literal, texts)))


def headline(ax: Axes, text: str) -> None:
    """Write a sentence above a plot, left-aligned."""
    ax.set_title(literal(text), loc="left", fontsize="medium", color=INK)


def label_ends(ax: Axes, lines: Sequence[Line2D], texts: Sequence[str]) -> None:
    """Write a shortened text at the right end of each line, without overlaps."""
    # The axes must have their final limits.
    low, high = ax.get_ylim()
    points = ax.get_position().height * figure_of(ax).get_figheight() * 72.0
    heights = [np.asarray(line.get_ydata(), dtype=float) for line in lines]
    # The label of a line without finite values is written at the bottom.
    last_heights = [[low, *height[np.isfinite(height)]][-1] for height in heights]
    fractions = [(float(value) - low) / ((high - low) or 1.0) for value in last_heights]
    # A line of text is 11 points high.
    heights_of_text = separated(fractions, 11.0 / points)
    labels = zip(lines, texts, fractions, heights_of_text, strict=True)
    for line, text, fraction, height in labels:
        text_color = INK if line.get_color() == QUIET else line.get_color()
        arrow = {"arrowstyle": "-", "color": line.get_color(), "linewidth": 0.6}
        ax.annotate(
            literal(short_name(text)),
            xy=(1.0, fraction),
            xytext=(1.035, float(height)),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=text_color,
            fontsize=8.5,
            va="center",
            arrowprops=arrow | {"shrinkA": 1.0, "shrinkB": 0.0, "relpos": (0.0, 0.5)},
        )


LineStyle = str | tuple[int, tuple[int, int]]
"""A name of matplotlib, or an offset and the lengths of a dash and of a gap."""


def line_styles(values: Array) -> list[LineStyle]:
    """Return a line style per line: dashed for lines that cover an earlier line."""
    # The earlier line stays visible between the dashes. `values` has one column per
    # line, with NaN where the line is not drawn.
    filled = np.nan_to_num(values)
    tolerance = 0.01 * (np.ptp(filled) if filled.size else 0.0)
    dashes: list[LineStyle] = ["-", (0, (5, 5)), (0, (2, 6)), (0, (1, 4))]
    styles = []
    for line in range(values.shape[1]):
        distances = np.abs(filled[:, :line] - filled[:, [line]])
        n_covered = int(np.count_nonzero((distances <= tolerance).all(axis=0)))
        # Colors repeat after the palette, so lines of equal color get different dashes.
        styles.append(dashes[(n_covered + line // len(PALETTE)) % len(dashes)])
    return styles


def value_name(model: BaseMKL, output: int) -> str:
    """Return the axis label of a model's terms; `output` is the index of the output."""
    labels = getattr(model, "classes_", None)
    if np.size(model.intercept_) > 1:
        return f"contribution to f of {output_heads(model)[output]}, mean zero"
    # Only models of two classes have a positive class. Ordinal models also have one
    # function, but may have more classes.
    positive = ""
    if labels is not None and len(labels) == 2:
        positive = f" (positive: {labels[1]})"
    return f"contribution to f{positive}, mean zero"
