"""Functions of two strings as kernels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import FLAG, check_parameter
from multikernel.kernels.sequence.base import SequenceKernel
from multikernel.kernels.sequence.letters import Sequences


def function_choice(value: object) -> str | None:
    """Return a description of valid functions, or None if the value is valid."""
    return None if callable(value) else "a function of two strings"


@dataclass(frozen=True)
class StringKernel(SequenceKernel):
    """A kernel on a column of strings, from a function of two strings.

    The function is called for every pair: n (n + 1) / 2 calls for n strings. A subclass
    of `SequenceKernel` can compare all strings at once.

    Parameters
    ----------
    function : callable
        Called as ``function(a, b, **parameters)`` with two strings; returns a number.
        It must be symmetric and positive semidefinite. Model files store its import
        path, which must be trusted when loading.
    parameters : mapping, default={}
        Keyword arguments of the function.
    cosine : bool, default=False
        Whether to divide k(s, t) by the square root of k(s, s) k(t, t), so that long
        strings do not dominate.

    Raises
    ------
    ValueError
        If `function` is not callable, or `cosine` is not a boolean.

    See Also
    --------
    multikernel.kernels.FunctionKernel : Kernels from functions of numeric rows.

    Examples
    --------
    >>> from multikernel.kernels.sequence import StringKernel
    >>> def shared_letters(a, b):
    ...     return len(set(a) & set(b))
    >>> StringKernel(shared_letters)(["GATT", "TACA"])
    array([[3., 2.],
           [2., 3.]])
    """

    function: Callable[..., float]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    cosine: bool = False

    alphabet = ""

    def __post_init__(self) -> None:
        check_parameter("StringKernel", "function", self.function, function_choice)
        check_parameter("StringKernel", "cosine", self.cosine, FLAG)

    @property
    def name(self) -> str:
        """Return the name of the function with its parameters."""
        name = getattr(self.function, "__name__", repr(self.function))
        parameters = ", ".join(
            f"{key}={value!r}" for key, value in self.parameters.items()
        )
        return f"{name}({parameters})"

    def check(self, sequences: Sequences) -> None:
        """Accept any letters."""

    def represent(self, sequences: Sequences) -> list[str]:
        """Return the strings."""
        return sequences.texts()

    def compare(self, rows: Any, cols: Any) -> Array:
        """Return the values of all pairs; a symmetric matrix needs half the calls."""
        K = np.empty((len(rows), len(cols)))
        for i, a in enumerate(rows):
            first = i if cols is rows else 0
            K[i, first:] = [
                self.function(a, b, **self.parameters) for b in cols[first:]
            ]
            if cols is rows:
                K[first:, i] = K[i, first:]
        return K

    def squared_norms(self, represented: Any) -> Array:
        """Return k(s, s) for every string."""
        values = [self.function(a, a, **self.parameters) for a in represented]
        return np.array(values, dtype=np.float64)
