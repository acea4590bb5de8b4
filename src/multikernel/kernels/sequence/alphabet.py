"""Alphabets: which letters a kernel compares, and what becomes of all others."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from multikernel._typing import Indices
from multikernel._validation import OneOf, check_parameter
from multikernel.kernels.sequence.reading import Letters, Sequences

KNOWN = {"dna": "ACGT", "rna": "ACGU", "protein": "ACDEFGHIKLMNPQRSTVWY"}
"""Letters of the alphabets that have a name."""

UNKNOWN = 255
"""The code of a letter that is not in the alphabet."""


@dataclass(frozen=True)
class Alphabet:
    """The letters of sequences, and what to do with others.

    Parameters
    ----------
    letters : str
        The letters, or the name of a known alphabet: "dna" (ACGT), "rna" (ACGU) or
        "protein" (the twenty amino acids).
    unknown : {"error", "skip"}, default="error"
        What a letter outside the alphabet leads to: a sentence, or "skip": it equals
        no letter, so that no word with it counts.
    lower : {"error", "upper"}, default="error"
        What a lower-case letter that the alphabet has in upper case only leads to:
        "upper" reads it as that, "error" takes it for unknown. Genomes mark repeats
        by lower case.

    Raises
    ------
    ValueError
        If there are no letters, more than 254, one twice, or one beyond Latin-1.

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
                f"{', '.join(map(repr, KNOWN))}, got {self.letters!r}."
            )
        if self.letters not in KNOWN and self.letters.lower() in KNOWN:
            raise ValueError(
                f"Alphabet: the name is {self.letters.lower()!r}, got {self.letters!r}."
            )
        letters = KNOWN.get(self.letters, self.letters)
        twice = next((a for a in letters if letters.count(a) > 1), None)
        if twice is not None:
            raise ValueError(f"Alphabet: the letter {twice!r} is there twice.")
        if len(letters) >= UNKNOWN or any(not 0 < ord(a) < 256 for a in letters):
            raise ValueError(
                "Alphabet: at most 254 letters, each of one byte (Latin-1), got "
                f"{letters!r}."
            )
        object.__setattr__(self, "letters", letters)

    @property
    def size(self) -> int:
        """Return the number of letters."""
        return len(self.letters)

    @cached_property
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

    def __getstate__(self) -> dict[str, Any]:
        """Return what a model file holds."""
        return {k: v for k, v in vars(self).items() if k != "table"}

    def encode(self, sequences: Sequences) -> Sequences:
        """Return codes in place of letters, 0 to `size` - 1, or 255 if unknown.

        Parameters
        ----------
        sequences : Sequences
            Sequences of bytes.

        Returns
        -------
        codes : Sequences

        Raises
        ------
        ValueError
            Naming the first letter that is not in the alphabet, unless these are
            skipped.
        """
        codes = self.table[sequences.letters]
        if self.unknown == "error":
            wrong = np.flatnonzero(codes == UNKNOWN)
            if wrong.size:
                raise ValueError(self._complaint(sequences, wrong))
        return Sequences(codes, sequences.starts)

    def _complaint(self, sequences: Sequences, wrong: Indices) -> str:
        """Return the sentence about letters that are not in the alphabet."""
        place = int(wrong[0])
        row = int(np.searchsorted(sequences.starts, place, side="right")) - 1
        letter = chr(sequences.letters[place])
        option, effect = "unknown='skip'", "leaves out words with such letters"
        if letter.upper() in self.letters and letter != letter.upper():
            option, effect = "lower='upper'", "reads lower case as upper case"
        return (
            f"Sequence {row} has the letter {letter!r} at position "
            f"{place - int(sequences.starts[row])}, the first of {wrong.size} letters "
            f"that are not in the alphabet {self.letters!r}: "
            f"Alphabet({self.letters!r}, {option}) {effect}."
        )


def find_alphabet(alphabet: str | Alphabet) -> Alphabet:
    """Return an alphabet by its name or letters, or as it is."""
    return alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet)
