"""Base class of sequence kernels, kernels on windows, and kernels from functions."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from multikernel._typing import Array
from multikernel._validation import (
    FLAG,
    NOTHING,
    AnyOf,
    InstanceOf,
    Number,
    check_parameter,
)
from multikernel.kernels.sequence.letters import (
    Alphabet,
    Sequences,
    find_alphabet,
    read_sequences,
)
from multikernel.linalg.threads import run_blocks

LOOPS = "multikernel.kernels.sequence.loops"

BLOCK_ROWS = 64
"""Number of matrix rows that a thread computes at a time."""


Form = TypeVar("Form")
"""A kernel's representation of sequences, such as a table of counts."""


class SequenceKernel(ABC, Generic[Form]):
    """Base class of kernels on strings.

    Subclasses provide `alphabet`, `cosine` (whether to scale to k(x, x) = 1), `name`,
    and the methods `represent`, `compare` and `squared_norms`. Optionally, `factor`
    returns features, and `check` raises for sequences that the kernel does not support.
    A table with a single column of strings needs no `ColumnKernel`.
    """

    alphabet: str | Alphabet
    cosine: bool

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the readable name."""

    @abstractmethod
    def represent(self, sequences: Sequences) -> Form:
        """Return the sequences in a form for `compare` and `squared_norms`."""

    @abstractmethod
    def compare(self, rows: Form, cols: Form) -> Array:
        """Return the Gram matrix before cosine scaling, symmetric if rows is cols."""

    @abstractmethod
    def squared_norms(self, represented: Form) -> Array:
        """Return k(x, x) of each sequence before cosine scaling, (n_sequences,)."""

    def __call__(self, X: object, Y: object = None) -> Array:
        """Return the Gram matrix of sequences, given as strings or as rows of codes."""
        rows = self.represent(read_sequences(X))
        cols = rows if Y is None else self.represent(read_sequences(Y))
        K = self.compare(rows, cols)
        if self.cosine:
            scales = unit_scales(self.squared_norms(rows))
            col_scales = scales
            if cols is not rows:
                col_scales = unit_scales(self.squared_norms(cols))
            # Multiplying the scales first preserves exact symmetry.
            for start in range(0, K.shape[0], BLOCK_ROWS):
                block = slice(start, start + BLOCK_ROWS)
                K[block] *= scales[block, None] * col_scales
        return K

    def diag(self, X: object) -> Array:
        """Return k(x, x) for every sequence, shape (n_samples,)."""
        squares = self.squared_norms(self.represent(read_sequences(X)))
        if self.cosine:
            squares = squares * unit_scales(squares) ** 2
        return squares

    def factor(self, X: object) -> Array | None:
        """Return features Z, k(X, X) = Z Z^T, or None if the kernel has too many."""
        return None

    def check(self, sequences: Sequences) -> None:
        """Raise unless the kernel supports the sequences."""
        self.encode(sequences)

    def encode(self, sequences: Sequences) -> Sequences:
        """Return the sequences as codes of letters in the kernel's alphabet."""
        return find_alphabet(self.alphabet).encode(sequences)


def unit_scales(squares: Array) -> Array:
    """Return the inverse norms of vectors from their squared norms; zero for zero."""
    scales = np.zeros(squares.shape)
    np.divide(1.0, np.sqrt(squares), out=scales, where=squares > 0.0)
    return scales


def fill_rows(
    K: Array, work: Callable[[int, Array], None], *, symmetric: bool
) -> Array:
    """Fill a matrix in blocks of rows on all threads, and return it.

    `work` is called with the index of the first row, and the rows to fill. If the
    matrix is symmetric, `work` may skip entries left of the diagonal.
    """

    def fill(start: int) -> None:
        work(start, K[start : start + BLOCK_ROWS])

    run_blocks(fill, range(0, len(K), BLOCK_ROWS))
    if symmetric:
        for i in range(len(K)):
            K[i + 1 :, i] = K[i, i + 1 :]
    return K


def check_kernel_options(kernel: SequenceKernel[Form]) -> None:
    """Convert `alphabet` to an `Alphabet`; raise if it or `cosine` is invalid."""
    object.__setattr__(kernel, "alphabet", find_alphabet(kernel.alphabet))
    check_parameter(type(kernel).__name__, "cosine", kernel.cosine, FLAG)


END = AnyOf((Number(integer=True), NOTHING))


@dataclass(frozen=True)
class WindowKernel(SequenceKernel[Form]):
    """A sequence kernel on a window, which is a part of each sequence.

    `start` and `stop` bound the window as in Python slices; negative numbers count from
    the end. `label` is the text in the brackets of the name, by default the bounds.
    """

    kernel: SequenceKernel[Form]
    start: int | None = None
    stop: int | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        kernel_type = InstanceOf(SequenceKernel, "a sequence kernel")
        check_parameter("WindowKernel", "kernel", self.kernel, kernel_type)
        check_parameter("WindowKernel", "start", self.start, END)
        check_parameter("WindowKernel", "stop", self.stop, END)
        label_type = AnyOf((InstanceOf(str, "a string"), NOTHING))
        check_parameter("WindowKernel", "label", self.label, label_type)

    @property
    def alphabet(self) -> str | Alphabet:  # type: ignore[override]
        """Return the alphabet of the kernel."""
        return self.kernel.alphabet

    @property
    def cosine(self) -> bool:  # type: ignore[override]
        """Return whether kernel values are scaled to k(x, x) = 1."""
        return self.kernel.cosine

    @property
    def name(self) -> str:
        """Return the name of the kernel with the window in brackets."""
        ends = ["" if end is None else str(end) for end in (self.start, self.stop)]
        label = self.label if self.label is not None else ":".join(ends)
        return f"{self.kernel.name}[{label}]"

    def factor(self, X: object) -> Array | None:
        """Return features of the windows, or None if the kernel has too many."""
        windows = read_sequences(X).window(self.start, self.stop)
        return self.kernel.factor(windows)

    def check(self, sequences: Sequences) -> None:
        """Raise unless the kernel supports the windows of the sequences."""
        self.kernel.check(sequences.window(self.start, self.stop))

    def represent(self, sequences: Sequences) -> Form:
        """Return the windows in the form of `kernel.represent`."""
        return self.kernel.represent(sequences.window(self.start, self.stop))

    def compare(self, rows: Form, cols: Form) -> Array:
        """Return the Gram matrix of windows from `represent`, before cosine scaling."""
        return self.kernel.compare(rows, cols)

    def squared_norms(self, represented: Form) -> Array:
        """Return k(x, x) of each sequence's window before scaling, (n_sequences,)."""
        return self.kernel.squared_norms(represented)


def expect_function(value: object) -> str | None:
    """Return a description of valid functions, or None if the value is valid."""
    return None if callable(value) else "a function of two strings"


@dataclass(frozen=True)
class StringKernel(SequenceKernel[list[str]]):
    """A kernel on a column of strings, from a symmetric function of two strings.

    ``function(a, b, **parameters)`` is called for every pair and must be positive
    semidefinite. Model files store its import path, which must be trusted when loading.
    With `cosine`, k(s, t) is divided by sqrt(k(s, s) k(t, t)). Subclasses of
    `SequenceKernel` can compare all strings at once.
    """

    function: Callable[..., float]
    parameters: Mapping[str, object] = field(default_factory=dict)
    cosine: bool = False

    alphabet = ""

    def __post_init__(self) -> None:
        check_parameter("StringKernel", "function", self.function, expect_function)
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
        """Return the sequences as a list of strings, the arguments of `function`."""
        return sequences.texts()

    def compare(self, rows: list[str], cols: list[str]) -> Array:
        """Return the values of all pairs; a symmetric matrix needs half the calls."""
        K = np.empty((len(rows), len(cols)))
        for i, a in enumerate(rows):
            start = i if cols is rows else 0
            K[i, start:] = [
                self.function(a, b, **self.parameters) for b in cols[start:]
            ]
            if cols is rows:
                K[start:, i] = K[i, start:]
        return K

    def squared_norms(self, represented: list[str]) -> Array:
        """Return k(s, s) for every string s."""
        values = [self.function(a, a, **self.parameters) for a in represented]
        return np.array(values, dtype=np.float64)
