"""The commands, put together."""

import typer

from multikernel import __version__
from multikernel.cli.demo import demo
from multikernel.cli.fit import fit
from multikernel.cli.path import path
from multikernel.cli.saved import inspect, predict, report, score

# Defects of the program keep Python's own traceback; users' errors never show one.
app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def multikernel(
    version: bool = typer.Option(False, "--version", help="Show the version."),
) -> None:
    """Multiple kernel learning with certified optimality."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


for command in (demo, fit, predict, score, path, inspect, report):
    app.command()(command)
