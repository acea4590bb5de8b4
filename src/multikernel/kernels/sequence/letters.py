"""Sequences as bytes and as packed numbers, and alphabets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel._validation import OneOf, check_parameter

Letters = NDArray[np.uint8]
"""Letters as bytes, or their codes."""

Bits = NDArray[np.uint64]
"""Machine words of 64 bits."""

PACKED = 6
"""Letters per number: 48 bits, below the 53 bits that float64 represents exactly."""


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of bytes, concatenated in one array."""

    letters: Letters
    starts: Indices  # sequence i is letters[starts[i] : starts[i + 1]]

    @property
    def number(self) -> int:
        """Return the number of sequences."""
        return self.starts.size - 1

    @property
    def lengths(self) -> Indices:
        """Return the length of every sequence, shape (n_sequences,)."""
        return np.diff(self.starts)

    def window(self, start: int | None, stop: int | None) -> "Sequences":
        """Return a possibly empty slice of each sequence."""
        lengths = self.lengths
        begins = _slice_ends(0 if start is None else start, lengths)
        ends = lengths if stop is None else _slice_ends(stop, lengths)
        sizes = np.maximum(ends - begins, 0)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        origin = np.repeat(self.starts[:-1] + begins - starts[:-1], sizes)
        return Sequences(self.letters[origin + np.arange(starts[-1])], starts)

    def padded(self, width: int, fill: int) -> Letters:
        """Return the letters as rows of equal width, padded with `fill`."""
        rows = np.full((self.number, width), fill, dtype=np.uint8)
        rows[np.arange(width) < self.lengths[:, None]] = self.letters
        return rows

    def texts(self) -> list[str]:
        """Return the sequences as strings."""
        text = self.letters.tobytes().decode("latin-1")
        ends = self.starts.tolist()
        return [text[a:b] for a, b in pairwise(ends)]


def _slice_ends(end: int, lengths: Indices) -> Indices:
    """Return the start or stop of a slice as a position in every sequence."""
    return np.clip(end + lengths if end < 0 else np.full_like(lengths, end), 0, lengths)


def read_sequences(X: object) -> Sequences:
    """Return strings, ASCII codes or the result of `pack` as sequences, or raise."""
    if isinstance(X, Sequences):
        return X
    # Floats are the result of `pack`; uint8 are ASCII codes, (n_sequences, length).
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.float64:
        return unpack(X)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == np.uint8:
        starts = np.arange(X.shape[0] + 1, dtype=np.intp) * X.shape[1]
        return Sequences(np.ascontiguousarray(X).reshape(-1), starts)
    if isinstance(X, str | bytes):
        raise ValueError(
            "X is a single string, but a list of sequences is required: pass [X]."
        )
    values = list(X) if isinstance(X, Sequence) else np.asarray(X, dtype=object)
    if isinstance(values, np.ndarray):
        if values.ndim == 2 and values.shape[1] != 1:
            raise ValueError(
                "Sequences must be in one column, got an array of shape "
                f"{values.shape}: select a column with ColumnKernel(kernel, column)."
            )
        values = values.reshape(-1).tolist()
    return from_texts(values)


def from_texts(values: Iterable[object], where: str = "") -> Sequences:
    """Return strings or bytes as sequences; `where` follows row numbers in messages."""
    blocks: list[bytes] = []
    for row, value in enumerate(values):
        if isinstance(value, bytes):
            blocks.append(value)
            continue
        if not isinstance(value, str):
            raise ValueError(
                f"Sequence {row}{where} is {value!r}, not a string: remove such "
                "samples."
            )
        try:
            blocks.append(value.encode("latin-1"))
        except UnicodeEncodeError as error:
            raise ValueError(
                f"Sequence {row}{where} has the character {value[error.start]!r} at "
                f"position {error.start}, which is not a Latin-1 letter: replace it."
            ) from error
    sizes = np.fromiter(map(len, blocks), dtype=np.intp, count=len(blocks))
    letters = np.frombuffer(b"".join(blocks), dtype=np.uint8)
    if not letters.all():
        row = next(row for row, encoded in enumerate(blocks) if 0 in encoded)
        raise ValueError(
            f"Sequence {row}{where} contains the null character '\\x00', which is "
            "reserved: remove this character."
        )
    return Sequences(letters, np.concatenate([[0], np.cumsum(sizes)]))


def pack(sequences: Sequences) -> Array:
    """Return sequences as rows of numbers; each number encodes six letters."""
    # Samples are rows of float64 numbers. Letter t of a number is its digit t in base
    # 256. Letters are nonzero bytes, so zeros can pad the end.
    width = max(1, -(-int(sequences.lengths.max(initial=0)) // PACKED))
    digits = np.zeros((sequences.number, width, 8), dtype=np.uint8)
    padded = sequences.padded(width * PACKED, 0)
    digits[:, :, :PACKED] = padded.reshape(sequences.number, width, PACKED)
    return digits.view("<u8")[:, :, 0].astype(np.float64)


def unpack(packed: Array) -> Sequences:
    """Return the sequences that `packed` encodes; raise unless it comes from `pack`."""
    if packed.size and not 0.0 <= packed.min() <= packed.max() < 256.0**PACKED:
        raise ValueError(
            "A sequence kernel received numbers: pass strings, or select the column "
            "of strings with ColumnKernel(kernel, column)."
        )
    numbers = np.ascontiguousarray(packed).astype("<u8")
    shape = packed.shape[0], packed.shape[1], 8
    digits = numbers.view(np.uint8).reshape(shape)[:, :, :PACKED]
    letters = digits.reshape(packed.shape[0], -1)
    lengths = np.count_nonzero(letters, axis=1)
    return Sequences(letters[letters != 0], np.concatenate([[0], np.cumsum(lengths)]))


ALPHABETS = {"dna": "ACGT", "rna": "ACGU", "protein": "ACDEFGHIKLMNPQRSTVWY"}
"""Letters of the named alphabets."""

UNKNOWN = 255
"""Code of a letter outside the alphabet."""


@dataclass(frozen=True)
class Alphabet:
    """The letters of sequences, and the treatment of other letters.

    Parameters
    ----------
    letters : str
        From 1 to 254 different Latin-1 letters, or "dna" (ACGT), "rna" (ACGU) or
        "protein" (the twenty amino acids).
    unknown : {"error", "skip"}, default="error"
        Treatment of letters outside the alphabet: raise an error, or skip all words
        that contain them.
    lower : {"error", "upper"}, default="error"
        Treatment of lower-case letters if the alphabet is upper case: "error" treats
        them as `unknown` says, "upper" as upper case. Genome files often mark repeats
        by lower case.

    Raises
    ------
    ValueError
        If `letters` is empty, or has over 254, repeated or non-Latin-1 letters.

    Examples
    --------
    >>> from multikernel.kernels.sequence import Alphabet
    >>> Alphabet("dna").letters
    'ACGT'
    """

    letters: str
    unknown: str = "error"
    lower: str = "error"

    def __post_init__(self) -> None:
        check_parameter("Alphabet", "unknown", self.unknown, OneOf(("error", "skip")))
        check_parameter("Alphabet", "lower", self.lower, OneOf(("error", "upper")))
        if not isinstance(self.letters, str) or not self.letters:
            raise ValueError(
                "Alphabet: letters must be a string of letters, or one of "
                f"{', '.join(map(repr, ALPHABETS))}, got {self.letters!r}."
            )
        if self.letters not in ALPHABETS and self.letters.lower() in ALPHABETS:
            raise ValueError(
                f"Alphabet: the name {self.letters!r} must be in lower case: pass "
                f"{self.letters.lower()!r}."
            )
        letters = ALPHABETS.get(self.letters, self.letters)
        repeated = next((a for a in letters if letters.count(a) > 1), None)
        if repeated is not None:
            raise ValueError(
                f"Alphabet: the letter {repeated!r} occurs twice in {letters!r}: pass "
                "each letter once."
            )
        if len(letters) >= UNKNOWN or any(not 0 < ord(a) < 256 for a in letters):
            raise ValueError(
                "Alphabet: letters must be at most 254 characters of one byte "
                f"(Latin-1), without the null character, got {letters!r}."
            )
        object.__setattr__(self, "letters", letters)

    @property
    def size(self) -> int:
        """Return the number of letters."""
        return len(self.letters)

    @property
    def table(self) -> Letters:
        """Return the code of every byte, shape (256,)."""
        table = np.full(256, UNKNOWN, dtype=np.uint8)
        if self.lower == "upper":
            for code, letter in enumerate(self.letters):
                if letter.lower() not in self.letters and len(letter.lower()) == 1:
                    table[ord(letter.lower())] = code
        for code, letter in enumerate(self.letters):
            table[ord(letter)] = code
        return table

    def encode(self, sequences: Sequences) -> Sequences:
        """Return codes from 0 for letters; unknown letters get 255, or an error."""
        codes = self.table[sequences.letters]
        if self.unknown == "error":
            unknown = np.flatnonzero(codes == UNKNOWN)
            if unknown.size:
                raise ValueError(self._unknown_letter_message(sequences, unknown))
        return Sequences(codes, sequences.starts)

    def _unknown_letter_message(self, sequences: Sequences, unknown: Indices) -> str:
        """Return the error message about letters outside the alphabet."""
        position = int(unknown[0])
        row = int(np.searchsorted(sequences.starts, position, side="right")) - 1
        letter = chr(sequences.letters[position])
        option, effect = "unknown='skip'", "skips words with such letters"
        if letter.upper() in self.letters and letter != letter.upper():
            option, effect = "lower='upper'", "reads lower case as upper case"
        return (
            f"Sequence {row} has the letter {letter!r} at position "
            f"{position - int(sequences.starts[row])}, the first of {unknown.size} "
            f"letters that are not in the alphabet {self.letters!r}: pass "
            f"alphabet=Alphabet({self.letters!r}, {option}), which {effect}."
        )


def find_alphabet(alphabet: str | Alphabet) -> Alphabet:
    """Return `alphabet`, converted to an `Alphabet` if it is a name or letters."""
    return alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet)
