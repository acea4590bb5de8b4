"""What all kernels on sequences share; a kernel on a part of each sequence."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel._validation import NOTHING, AnyOf, InstanceOf, Number, check_parameter
from multikernel.kernels.sequence.letters import (
    Alphabet,
    Sequences,
    find_alphabet,
    read_sequences,
)
from multikernel.linalg.threads import run_blocks

BLOCK_ROWS = 64
"""Rows of a matrix that a thread computes at a time."""


class SequenceKernel(ABC):
    """A kernel on strings.

    A subclass represents sequences, and compares what represents them. In a table it
    stands on a column of strings, by `ColumnKernel` or where there is one only.
    """

    alphabet: str | Alphabet
    cosine: bool

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the readable name."""

    @abstractmethod
    def represent(self, sequences: Sequences) -> Any:
        """Return what the kernel compares, of sequences of bytes."""

    @abstractmethod
    def compare(self, rows: Any, cols: Any) -> Array:
        """Return the matrix before scaling; `cols` is `rows` where it is symmetric."""

    @abstractmethod
    def squared_norms(self, represented: Any) -> Array:
        """Return the values of sequences with themselves, before scaling."""

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """Return the Gram matrix of sequences as `read_sequences` takes them."""
        rows = self.represent(read_sequences(X))
        cols = rows if Y is None else self.represent(read_sequences(Y))
        K = self.compare(rows, cols)
        if self.cosine:
            scales = unit_scales(self.squared_norms(rows))
            others = scales
            if cols is not rows:
                others = unit_scales(self.squared_norms(cols))
            # Products of two scales first, which are as symmetric as K is.
            for first in range(0, K.shape[0], BLOCK_ROWS):
                block = slice(first, first + BLOCK_ROWS)
                K[block] *= scales[block, None] * others
        return K

    def diag(self, X: Any) -> Array:
        """Return k(x, x) for every sequence, shape (n_samples,)."""
        squares = self.squared_norms(self.represent(read_sequences(X)))
        if self.cosine:
            squares = squares * unit_scales(squares) ** 2
        return squares

    def factor(self, X: Any) -> Array | None:
        """Return Z with k(X, X) = Z Z^T, where that is known and thin enough."""
        return None

    def check(self, sequences: Sequences) -> None:
        """Raise a sentence if sequences are none that this kernel takes."""
        self.encode(sequences)

    def encode(self, sequences: Sequences) -> Sequences:
        """Return codes of letters in the kernel's alphabet."""
        return find_alphabet(self.alphabet).encode(sequences)


def unit_scales(squares: Array) -> Array:
    """Return the factors that give vectors of some squared norms length one."""
    scales = np.zeros(squares.shape)
    np.divide(1.0, np.sqrt(squares), out=scales, where=squares > 0.0)
    return scales


def fill_rows(
    K: Array, *, symmetric: bool, work: Callable[[int, Array], None]
) -> Array:
    """Fill a matrix in blocks of rows on all threads, and return it.

    `work` is called with the number of the first row and the rows to fill; where the
    matrix is symmetric, it leaves entries left of the diagonal to their mirror images.
    """
    run_blocks(
        lambda first: work(first, K[first : first + BLOCK_ROWS]),
        range(0, K.shape[0], BLOCK_ROWS),
    )
    if symmetric:
        for first in range(0, K.shape[0], BLOCK_ROWS):
            block = slice(first, first + BLOCK_ROWS)
            K[block, :first] = K[:first, block].T
            square = K[block, block]
            lower = np.tril_indices(square.shape[0], -1)
            square[lower] = square.T[lower]
    return K


def check_kernel_options(kernel: SequenceKernel) -> None:
    """Raise unless the parameters that all kernels on sequences have are right."""
    object.__setattr__(kernel, "alphabet", find_alphabet(kernel.alphabet))
    if not isinstance(kernel.cosine, bool | np.bool_):
        raise ValueError(
            f"{type(kernel).__name__}: cosine must be True or False, got "
            f"{kernel.cosine!r}."
        )


END = AnyOf((Number(integer=True), NOTHING))


@dataclass(frozen=True)
class WindowKernel(SequenceKernel):
    """A kernel that sees a part of each sequence, as `ColumnKernel` sees columns.

    Parameters
    ----------
    kernel : SequenceKernel
        The kernel on the part.
    start, stop : int or None, default=None
        The ends, as in Python's slices: the first letter is 0, `stop` does not belong
        to the part, and negative numbers count from the end of each sequence.
    label : str, optional
        What stands in brackets in the name; the ends when left out.

    Examples
    --------
    >>> from multikernel.kernels.sequence import SpectrumKernel, WindowKernel
    >>> promoter = WindowKernel(SpectrumKernel(3), 0, 60, "promoter")
    >>> promoter.name
    'spectrum(k=3)[promoter]'
    >>> WindowKernel(SpectrumKernel(1), -2)(["AAGT", "CCGT"]).round(3)
    array([[1., 1.],
           [1., 1.]])
    """

    kernel: SequenceKernel
    start: int | None = None
    stop: int | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        kind = InstanceOf(SequenceKernel, "a sequence kernel")
        check_parameter("WindowKernel", "kernel", self.kernel, kind)
        check_parameter("WindowKernel", "start", self.start, END)
        check_parameter("WindowKernel", "stop", self.stop, END)
        text = AnyOf((InstanceOf(str, "a string"), NOTHING))
        check_parameter("WindowKernel", "label", self.label, text)

    @property
    def alphabet(self) -> str | Alphabet:  # type: ignore[override]
        """Return the alphabet of the kernel."""
        return self.kernel.alphabet

    @property
    def cosine(self) -> bool:  # type: ignore[override]
        """Return whether values are cosines."""
        return self.kernel.cosine

    @property
    def name(self) -> str:
        """Return the name of the kernel with the part in brackets."""
        ends = ["" if end is None else str(end) for end in (self.start, self.stop)]
        label = self.label if self.label is not None else ":".join(ends)
        return f"{self.kernel.name}[{label}]"

    def factor(self, X: Any) -> Array | None:
        """Return the factor of the kernel on the parts."""
        parts = read_sequences(X).window(self.start, self.stop)
        return self.kernel.factor(parts)

    def check(self, sequences: Sequences) -> None:
        """Raise a sentence if parts are none that the kernel takes."""
        self.kernel.check(sequences.window(self.start, self.stop))

    def represent(self, sequences: Sequences) -> Any:
        """Return what the kernel compares, of the parts."""
        return self.kernel.represent(sequences.window(self.start, self.stop))

    def compare(self, rows: Any, cols: Any) -> Array:
        """Return the matrix before scaling."""
        return self.kernel.compare(rows, cols)

    def squared_norms(self, represented: Any) -> Array:
        """Return the values of parts with themselves, before scaling."""
        return self.kernel.squared_norms(represented)
