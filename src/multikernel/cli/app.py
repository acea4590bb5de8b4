"""The command-line application."""

import inspect
from collections.abc import Callable
from dataclasses import fields
from itertools import chain
from pkgutil import resolve_name

import typer

# Nothing slow is imported here, so that --help and completion take a third of a second.
from multikernel import __version__
from multikernel.cli import _requests as requests
from multikernel.cli._messages import user_errors
from multikernel.cli._start import loading

# Bugs keep Python's traceback; user errors become a sentence (`user_errors`).
app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback(invoke_without_command=True)
def multikernel(
    *, version: bool = typer.Option(False, "--version", help="Show the version.")
) -> None:
    """Multiple kernel learning with certified optimality."""
    if version:
        typer.echo(__version__)
        raise typer.Exit


def command(request: type, function: str) -> Callable[..., None]:
    """Return a command that passes a request to a function, loaded when called."""

    def run(**options: object) -> None:
        with loading():
            handler = resolve_name(f"multikernel.cli.{function}")
        for name, value in options.items():
            _refuse_blank(flags[name][0], value, helps[name])
        handler(request(**options))

    # The docstring of the request is the help text.
    run.__doc__ = request.__doc__
    parameters = [
        inspect.Parameter(
            entry.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=entry.metadata["option"],
            annotation=entry.type,
        )
        for entry in fields(request)
        if entry.metadata
    ]
    # The names of each option on the command line, such as ("--output", "-o").
    flags = {
        entry.name: entry.default.param_decls or (f"--{entry.name.replace('_', '-')}",)
        for entry in parameters
    }
    helps = {entry.name: entry.default.help for entry in parameters}
    names = list(chain.from_iterable(flags.values()))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return user_errors(run, names)


def _refuse_blank(option: str, value: object, help: str) -> None:
    """Raise for an option whose text is empty, such as an unset shell variable."""
    texts = value if isinstance(value, list) else [value]
    if any(isinstance(text, str) and not text.strip(", ") for text in texts):
        raise ValueError(f"{option} is empty: give a value, or remove it. Help: {help}")


COMMANDS: dict[str, tuple[type, str]] = {
    "demo": (requests.Demo, "_demo:run_demo"),
    "fit": (requests.Fit, "_fitting:run_fit"),
    "predict": (requests.Predict, "_predicting:run_predict"),
    "score": (requests.Score, "_saved:run_score"),
    "path": (requests.FollowPath, "_paths:run_path"),
    "compare": (requests.Compare, "_compare:run_compare"),
    "inspect": (requests.Inspect, "_saved:run_inspect"),
    "report": (requests.Report, "_saved:run_report"),
}
"""Request class and function of each command."""


for name, (request, function) in COMMANDS.items():
    app.command(name)(command(request, function))
