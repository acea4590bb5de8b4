"""A plain function of two strings as a kernel."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import FLAG, check_parameter
from multikernel.kernels.sequence.base import SequenceKernel
from multikernel.kernels.sequence.letters import Sequences


def function_choice(value: object) -> str | None:
    """Check ``function``."""
    return None if callable(value) else "a function of two strings"


@dataclass(frozen=True)
class StringKernel(SequenceKernel):
    """A function of two strings as a kernel on a column of strings.

    It is called once for every pair of strings, so a matrix of n strings takes
    n (n + 1) / 2 calls. A `SequenceKernel` of your own compares all at once.

    Parameters
    ----------
    function : callable
        Called as ``function(a, b, **parameters)`` with two strings, it returns a
        number: the same for (b, a), and positive semidefinite as a whole. A model file
        holds its place in a module, which whoever loads the file must trust.
    parameters : mapping, default={}
        Further arguments.
    cosine : bool, default=False
        Whether k(s, t) is divided by the square root of k(s, s) k(t, t), so that long
        strings do not count more.

    Raises
    ------
    ValueError
        If `function` cannot be called, or `cosine` is no flag.

    See Also
    --------
    multikernel.kernels.FunctionKernel : The same for rows of numbers.

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
        given = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
        return f"{name}({given})"

    def check(self, sequences: Sequences) -> None:
        """Take any letters."""

    def represent(self, sequences: Sequences) -> list[str]:
        """Return the strings."""
        return sequences.texts()

    def compare(self, rows: Any, cols: Any) -> Array:
        """Return the values of all pairs, each called once where it is symmetric."""
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
        """Return the values of strings with themselves."""
        values = [self.function(a, a, **self.parameters) for a in represented]
        return np.array(values, dtype=np.float64)
