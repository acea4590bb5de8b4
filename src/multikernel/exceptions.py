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
    """Warn at the line that called this package, however deep the call is here.

    A message that is a warning itself has its own category.
    """
    package, level = __name__.partition(".")[0], 2
    frame = sys._getframe(1)  # that of the caller, which is two levels up for `warn`
    while frame.f_back is not None and _belongs_to(package, frame.f_globals):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _belongs_to(package: str, namespace: dict[str, object]) -> bool:
    """Return whether a frame's globals belong to a module of a package."""
    return str(namespace.get("__name__", "")).partition(".")[0] == package


class UnsupportedProblemError(ValueError):
    """A solver cannot treat the problem; the message is its reason."""


class IndefiniteKernelError(ValueError):
    """A Gram matrix has a negative quadratic form, so it is no kernel matrix.

    Parameters
    ----------
    message : str
        What was met, and what can be done.
    kernel : int or None, default=None
        Number of the matrix, if known.
    """

    def __init__(self, message: str, kernel: int | None = None) -> None:
        super().__init__(message)
        self.kernel = kernel


class StackTooLargeError(MemoryError):
    """A stack of Gram matrices would exceed the memory limit."""

    def __str__(self) -> str:
        """Return the message, and where to read on."""
        page = 'The page "Memory and storage" of the documentation compares storages.'
        return f"{super().__str__()} {page}"


class DataWarning(UserWarning):
    """Data are ambiguous; the message names the place and how to resolve it."""


class DegenerateKernelWarning(UserWarning):
    """A kernel is zero (or constant after centering) on the training data."""


class DictionaryWarning(UserWarning):
    """A dictionary was cut to size, or kernels are of little use for the data."""


class LongFitWarning(UserWarning):
    """A fit that has begun is expected to take minutes or more."""


class UntrustedTypesError(ValueError):
    """A model file holds types that are not trusted; the message lists them."""


class SearchWarning(UserWarning):
    """What was chosen may not be what was wanted, or a search would be of use.

    It lies at an end of its grid, has no kernel, or predicts one class for all; or a
    fold lacked a class.
    """


class VersionWarning(InconsistentVersionWarning):  # type: ignore[misc] # no types
    """Other versions of libraries wrote a model file; the message names them.

    Parameters
    ----------
    message : str
        Which they are, and what can be done.
    estimator_name : str
        The class of what the file holds.
    current_sklearn_version, original_sklearn_version : str
        Of scikit-learn, here and where the file was written.
    """

    def __init__(self, message: str, **about: str) -> None:
        super().__init__(**about)
        self.args = (message,)

    def __str__(self) -> str:
        """Return the message."""
        return str(self.args[0])
