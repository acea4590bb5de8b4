"""Pictures as files, without a screen."""

import io
from pathlib import Path
from typing import Any

from multikernel.display._style import pyplot
from multikernel.persistence import write_whole


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
    picture = io.BytesIO()
    figure.savefig(picture, dpi=120, format=path.suffix[1:] or "png")
    plt.close(figure)
    write_whole(path, picture.getvalue())
