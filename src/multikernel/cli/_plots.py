"""Pictures as files, without a screen."""

from pathlib import Path
from typing import Any

from multikernel.display._style import pyplot


def off_screen() -> Any:
    """Return pyplot, drawing into files only: the command line opens no windows.

    Raises
    ------
    ImportError
        If matplotlib is not installed; the message says how to install it.
    """
    plt = pyplot()
    plt.switch_backend("Agg")
    return plt


def save_plot(display: Any, path: Path) -> None:
    """Draw a display into a file.

    Parameters
    ----------
    display : display of `multikernel.display`
        What to draw.
    path : Path
        Its ending decides the format: PNG, PDF, SVG.
    """
    plt = off_screen()
    figure = display.plot().figure_
    figure.savefig(path, dpi=120)
    plt.close(figure)
