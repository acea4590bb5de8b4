"""Command options from the fields of a dataclass (the request).

This module imports nothing of the library, so that help appears at once.
"""

import inspect
from collections.abc import Callable
from dataclasses import field, fields
from pkgutil import resolve_name
from typing import Any

import typer

from multikernel.cli._messages import user_errors
from multikernel.cli._start import loading


def option(help: str, *names: str, default: Any = None, **more: Any) -> Any:
    """Return a dataclass field with an option; fields without it are no options."""
    made = typer.Option(default, *names, help=help, **more)
    return field(default=default, metadata={"option": made})


def argument(help: str) -> Any:
    """Return a dataclass field with a required argument."""
    made = typer.Argument(..., help=help, show_default=False)
    return field(metadata={"option": made})


def command(request: type, function: str) -> Callable[..., None]:
    """Return a command that passes a request to a function.

    The function is loaded when called. The docstring of the request is the help text.
    """

    def made(**options: Any) -> None:
        with loading():
            act = resolve_name(f"multikernel.cli.{function}")
        act(request(**options))

    made.__doc__ = request.__doc__
    parameters = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.metadata["option"],
            annotation=each.type,
        )
        for each in fields(request)
        if each.metadata
    ]
    names = [
        name
        for each in parameters
        for name in each.default.param_decls or (f"--{each.name.replace('_', '-')}",)
    ]
    made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return user_errors(made, names)
