"""What is said to the user: plain text, errors as a sentence, warnings as a line."""

import functools
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import ParamSpec

import typer
from rich.console import Console
from rich.text import Text

P = ParamSpec("P")

# What bad input, missing files and missing libraries raise. Anything else is a defect
# of the program and keeps its traceback.
USER_ERRORS = (ValueError, OSError, ImportError, MemoryError)


def console(*, stderr: bool = False) -> Console:
    """Return a console to which names of files and of classes are no markup."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def say(
    message: object, label: str = "", style: str = "", *, stderr: bool = False
) -> None:
    """Write one line.

    Parameters
    ----------
    message : object
        What to say; line breaks in it become spaces.
    label : str, default=""
        What to put before it, in a style of its own.
    style : str, default=""
        The style of the label, in the words of rich.
    stderr : bool, default=False
        Whether to write to standard error.
    """
    # Names of files may hold bytes that are no text.
    plain = " ".join(str(message).split()).encode("utf-8", "backslashreplace").decode()
    line = Text.assemble((label, style), " " if label else "", plain)
    console(stderr=stderr).print(line, soft_wrap=True)


def user_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Wrap a command: its errors become a sentence on stderr and exit code 1."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            try:
                command(*args, **kwargs)
                sys.stdout.flush()
            except BrokenPipeError:
                raise  # nobody reads on: typer ends without a word
            except USER_ERRORS as error:
                say(error, "Error:", "bold red", stderr=True)
                raise typer.Exit(1) from error

    return guarded


def _show_warning(
    message: Warning | str, category: type[Warning], *_: object, **__: object
) -> None:
    say(message, f"{category.__name__}:", "bold yellow", stderr=True)


def check_choice(option: str, value: str, choices: Iterable[str]) -> None:
    """Raise unless an option of the command line has one of a few values.

    Raises
    ------
    ValueError
        If it has another; the message lists them.
    """
    if value not in choices:
        listed = ", ".join(choices)
        raise ValueError(f"{option} must be one of {listed}, got {value!r}.")
