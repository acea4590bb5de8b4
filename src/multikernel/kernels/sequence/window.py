"""A sequence kernel on a part of each sequence."""

from dataclasses import dataclass
from typing import Any

from multikernel._typing import Array
from multikernel._validation import (
    NOTHING,
    AnyOf,
    InstanceOf,
    Number,
    check_parameter,
)
from multikernel.kernels.sequence.alphabet import Alphabet
from multikernel.kernels.sequence.base import SequenceKernel
from multikernel.kernels.sequence.reading import Sequences, read_sequences

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
        """Return that of the kernel on the parts."""
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
