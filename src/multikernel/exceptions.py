"""Errors and warnings of the library; each message says what to do next."""

import sys
import warnings

from sklearn.exceptions import (
    ConvergenceWarning,
    InconsistentVersionWarning,
    NotFittedError,
)

__all__ = [
    "ConvergenceWarning",
    "DataWarning",
    "DegenerateKernelWarning",
    "DictionaryWarning",
    "IndefiniteKernelError",
    "LongFitWarning",
    "NotFittedError",
    "SearchWarning",
    "StackTooLargeError",
    "UnsupportedProblemError",
    "UntrustedTypesError",
    "VersionWarning",
]


def warn_user(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Issue a warning that points to the user's line that called this package."""
    package, stack_level = __name__.partition(".")[0], 2
    frame = sys._getframe(1)  # the caller's frame has stacklevel 2 in `warnings.warn`
    while frame.f_back is not None and _belongs_to(package, frame.f_globals):
        frame, stack_level = frame.f_back, stack_level + 1
    # The category of a `Warning` instance is its own class.
    warnings.warn(message, category, stacklevel=stack_level)


def _belongs_to(package: str, namespace: dict[str, object]) -> bool:
    """Return whether a frame's globals belong to a module of a package."""
    return str(namespace.get("__name__", "")).partition(".")[0] == package


class UnsupportedProblemError(ValueError):
    """A solver does not support a problem; the message gives the reason."""


class IndefiniteKernelError(ValueError):
    """A Gram matrix is not positive semidefinite; `kernel` is its index, if known."""

    def __init__(self, message: str, kernel: int | None = None) -> None:
        super().__init__(message)
        self.kernel = kernel


class StackTooLargeError(MemoryError):
    """A stack of Gram matrices would exceed the memory limit."""

    def __str__(self) -> str:
        page = 'The page "Memory and storage" of the documentation compares storages.'
        return f"{super().__str__()} {page}"


class DataWarning(UserWarning):
    """Data are ambiguous; the message says where, and how to resolve the ambiguity."""


class DegenerateKernelWarning(UserWarning):
    """A kernel is zero, or constant and so zero when centered, on the training data."""


class DictionaryWarning(UserWarning):
    """Some kernels of a dictionary were removed, or are of little use for the data."""


class LongFitWarning(UserWarning):
    """A fit in progress is expected to take minutes or more."""


class UntrustedTypesError(ValueError):
    """A model file contains types that are not trusted; the message lists them."""


class SearchWarning(UserWarning):
    """A chosen model may be poor, or a search would choose a better one.

    Examples are a choice at an end of the grid, a chosen model without kernels or with
    only one predicted class, and a fold that lacks a class.
    """


class VersionWarning(InconsistentVersionWarning):  # type: ignore[misc] # no types
    """A model file was written with other versions of libraries than those installed.

    Parameters
    ----------
    message : str
        The versions, and what to do.
    estimator_name : str
        Class of the model in the file.
    current_sklearn_version, original_sklearn_version : str
        The installed version of scikit-learn, and the version that wrote the file.
    """

    def __init__(self, message: str, **about: str) -> None:
        super().__init__(**about)
        self.args = (message,)

    def __str__(self) -> str:
        return str(self.args[0])
