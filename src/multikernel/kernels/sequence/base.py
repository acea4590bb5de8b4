"""Base class of sequence kernels, and kernels on a window of each sequence."""

from abc import ABC, abstractmethod
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

BLOCK_ROWS = 64
"""Number of matrix rows that are computed at a time."""


class SequenceKernel(ABC):
    """Base class of kernels on strings.

    Subclasses convert sequences to a representation and compare representations. A
    table with one column of strings needs no `ColumnKernel`.
    """

    alphabet: str | Alphabet
    cosine: bool

    @property
    @abstractmethod
    def name(self) -> str:
        """Return the readable name."""

    @abstractmethod
    def represent(self, sequences: Sequences) -> Any:
        """Return the representation of sequences."""

    @abstractmethod
    def compare(self, rows: Any, cols: Any) -> Array:
        """Return the matrix before cosine scaling; pass `rows` twice if symmetric."""

    @abstractmethod
    def squared_norms(self, represented: Any) -> Array:
        """Return k(x, x) of represented sequences before cosine scaling."""

    def __call__(self, X: Any, Y: Any = None) -> Array:
        """Return the Gram matrix; `read_sequences` lists the accepted types."""
        rows = self.represent(read_sequences(X))
        cols = rows if Y is None else self.represent(read_sequences(Y))
        K = self.compare(rows, cols)
        if self.cosine:
            scales = unit_scales(self.squared_norms(rows))
            others = scales
            if cols is not rows:
                others = unit_scales(self.squared_norms(cols))
            # Multiplying the scales first preserves exact symmetry.
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
        """Return features Z with k(X, X) = Z Z^T, or None if there are too many."""
        return None

    def check(self, sequences: Sequences) -> None:
        """Raise unless the kernel supports the sequences."""
        self.encode(sequences)

    def encode(self, sequences: Sequences) -> Sequences:
        """Return letter codes in the kernel's alphabet."""
        return find_alphabet(self.alphabet).encode(sequences)


def unit_scales(squares: Array) -> Array:
    """Return the inverse norms of vectors from their squared norms; zero for zero."""
    scales = np.zeros(squares.shape)
    np.divide(1.0, np.sqrt(squares), out=scales, where=squares > 0.0)
    return scales


def mirror(K: Array) -> None:
    """Copy the upper triangle of a square matrix to the lower one."""
    for i in range(len(K)):
        K[i + 1 :, i] = K[i, i + 1 :]


def check_kernel_options(kernel: SequenceKernel) -> None:
    """Raise unless the parameters common to all sequence kernels are valid."""
    object.__setattr__(kernel, "alphabet", find_alphabet(kernel.alphabet))
    if not isinstance(kernel.cosine, bool | np.bool_):
        raise ValueError(
            f"{type(kernel).__name__}: cosine must be True or False, got "
            f"{kernel.cosine!r}."
        )


END = AnyOf((Number(integer=True), NOTHING))


@dataclass(frozen=True)
class WindowKernel(SequenceKernel):
    """A sequence kernel on a part of each sequence.

    Parameters
    ----------
    kernel : SequenceKernel
        The kernel on the part.
    start, stop : int or None, default=None
        Bounds of the part, as in Python slices; negative numbers count from the end.
    label : str, optional
        Text in the brackets of the name. Default: the bounds.

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
        """Return whether kernel values are scaled to k(x, x) = 1."""
        return self.kernel.cosine

    @property
    def name(self) -> str:
        """Return the name of the kernel with the part in brackets."""
        ends = ["" if end is None else str(end) for end in (self.start, self.stop)]
        label = self.label if self.label is not None else ":".join(ends)
        return f"{self.kernel.name}[{label}]"

    def factor(self, X: Any) -> Array | None:
        """Return features of the parts, or None if there are too many."""
        parts = read_sequences(X).window(self.start, self.stop)
        return self.kernel.factor(parts)

    def check(self, sequences: Sequences) -> None:
        """Raise unless the kernel supports the parts."""
        self.kernel.check(sequences.window(self.start, self.stop))

    def represent(self, sequences: Sequences) -> Any:
        """Return the representation of the parts."""
        return self.kernel.represent(sequences.window(self.start, self.stop))

    def compare(self, rows: Any, cols: Any) -> Array:
        """Return the matrix before cosine scaling."""
        return self.kernel.compare(rows, cols)

    def squared_norms(self, represented: Any) -> Array:
        """Return k(x, x) of represented parts before cosine scaling."""
        return self.kernel.squared_norms(represented)
