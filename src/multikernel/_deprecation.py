"""How an old way of the public interface ends, as docs/project/versions has it."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from multikernel.exceptions import warn_user

MINOR_VERSIONS = 2
"""How many minor versions what is deprecated goes on working."""

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


def warn_deprecated(old: str, *, since: str, replacement: str) -> None:
    """Warn that something will end, and in which version.

    Parameters
    ----------
    old : str
        What is deprecated, in the user's words: a name, or a parameter and its owner.
    since : str
        The version that deprecates it, such as ``"1.1"``.
    replacement : str
        What to use instead.
    """
    major, minor = (int(number) for number in since.split("."))
    end = f"{major}.{minor + MINOR_VERSIONS}"
    warn_user(
        f"{old} is deprecated since version {since} and ends with version {end}: use "
        f"{replacement}.",
        FutureWarning,
    )


def deprecated(
    *, since: str, replacement: str
) -> Callable[[Callable[Arguments, Answer]], Callable[Arguments, Answer]]:
    """Make a function or method warn that it will end; it does what it did.

    Parameters
    ----------
    since : str
        The version that deprecates it, such as ``"1.1"``.
    replacement : str
        What to use instead.
    """

    def decorate(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
        @wraps(function)
        def warned(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
            warn_deprecated(
                f"{function.__qualname__}()", since=since, replacement=replacement
            )
            return function(*args, **kwargs)

        return warned

    return decorate
