"""Turning errors of users into one sentence, and warnings into one line."""

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec

import typer
from rich.console import Console
from rich.markup import escape

P = ParamSpec("P")

# What bad input, missing files and missing libraries raise. Anything else is a defect
# of the program and keeps its traceback.
USER_ERRORS = (ValueError, OSError, ImportError, MemoryError)


def user_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Wrap a command: its errors become a sentence on stderr and exit code 1."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        console = Console(stderr=True, soft_wrap=True)
        with warnings.catch_warnings():
            warnings.showwarning = _one_line(console)
            try:
                command(*args, **kwargs)
            except USER_ERRORS as error:
                message = " ".join(str(error).split())
                console.print(f"[bold red]Error:[/] {escape(message)}")
                raise typer.Exit(1) from error

    return guarded


def _one_line(console: Console) -> Callable[..., None]:
    def show(message: Warning | str, category: type[Warning], *_: object) -> None:
        text = " ".join(str(message).split())
        console.print(f"[bold yellow]{category.__name__}:[/] {escape(text)}")

    return show
