"""The commands, put together, and ``multikernel demo``, from kernels to pictures.

What describes a command imports nothing that takes long to load, which what it does is
imported by: ``--help`` and completion take a third of a second, and not three.
"""

from pathlib import Path
from typing import Annotated

import typer

from multikernel import __version__
from multikernel.cli import _options as options
from multikernel.cli._messages import user_errors
from multikernel.cli._start import loading
from multikernel.cli.fit import compare, fit, path
from multikernel.cli.saved import inspect, predict, report, score

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


@user_errors
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the pictures.")
    ] = Path("multikernel-demo"),
    json: options.Json = False,
) -> None:
    """Train on the breast cancer data with 837 kernels, and draw what came out."""
    with loading():
        from multikernel.cli import _demo

    _demo.run_demo(output, json=json)


for command in (demo, fit, predict, score, path, compare, inspect, report):
    app.command()(command)
