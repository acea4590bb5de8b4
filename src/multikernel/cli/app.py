"""The commands, put together.

What describes a command imports nothing that takes long to load, which what it does is
imported by: ``--help`` and completion take a third of a second, and not three.
"""

import inspect
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

import typer

from multikernel import __version__
from multikernel.cli import _requests as requests
from multikernel.cli._messages import user_errors
from multikernel.cli._start import loading

# Defects of the program keep Python's own traceback; users' errors never show one.
app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def multikernel(
    *,
    version: bool = typer.Option(False, "--version", help="Show the version."),
) -> None:
    """Multiple kernel learning with certified optimality."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


COMMANDS: dict[str, tuple[type, str]] = {
    "demo": (requests.Demo, "_demo:run_demo"),
    "fit": (requests.Fit, "_fitting:run_fit"),
    "predict": (requests.Predict, "_saved:run_predict"),
    "score": (requests.Score, "_saved:run_score"),
    "path": (requests.FollowPath, "_paths:run_path"),
    "compare": (requests.Compare, "_compare:run_compare"),
    "inspect": (requests.Inspect, "_saved:run_inspect"),
    "report": (requests.Report, "_saved:run_report"),
}
"""What each command is asked, and the function that does it."""


def _command(request: type, place: str) -> Callable[..., None]:
    """Return a command, whose options are the fields of a request."""

    @user_errors
    def command(**options: Any) -> None:
        with loading():
            act = resolve_name(f"multikernel.cli.{place}")
        act(request(**options))

    command.__signature__ = inspect.signature(request)  # type: ignore[attr-defined]
    command.__doc__ = request.__doc__
    return command


for name, (request, place) in COMMANDS.items():
    app.command(name)(_command(request, place))
