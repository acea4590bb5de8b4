"""Columns of sequences on the command line: FASTA files, and their kernels."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from multikernel.cli._console import check_choice
from multikernel.cli._views import ColumnChoice
from multikernel.datasets import read_fasta
from multikernel.display.fitted import final_estimator
from multikernel.kernels import ColumnKernel, Kernel
from multikernel.kernels.sequence import (
    Alphabet,
    SequenceKernel,
    SpectrumKernel,
    dna_dictionary,
    motif_dictionary,
)
from multikernel.kernels.sequence.letters import KNOWN

COLUMN = "sequence"
"""What the letters of a FASTA file are called as a column."""

NAME = "name"
"""What the names of its records are called, beside predictions."""

LONGEST: Mapping[str, int] = {"dna": 6, "rna": 6, "protein": 3}
"""Words of the longest spectrum: some thousand of them, as many as memory allows."""

CHOICES = ("spectrum", "dna", "protein")


@dataclass(frozen=True)
class SequenceChoice:
    """What the command line says about sequences.

    Parameters
    ----------
    kernels : str
        One of `CHOICES`.
    alphabet : str or None
        "dna", "rna" or "protein"; the first that has all letters when None.
    skip_letters : bool
        Whether other letters are skipped.
    ignore_case : bool
        Whether lower case is read as upper case.
    """

    kernels: str = "spectrum"
    alphabet: str | None = None
    skip_letters: bool = False
    ignore_case: bool = False

    def find(self, frame: pd.DataFrame, columns: tuple[str, ...]) -> list[Kernel]:
        """Return the kernels for columns of sequences.

        Parameters
        ----------
        frame : DataFrame
            The data.
        columns : tuple of str
            The columns.

        Returns
        -------
        kernels : list of Kernel

        Raises
        ------
        ValueError
            If a choice is unknown, or no alphabet fits.
        """
        check_choice("--sequence-kernels", self.kernels, CHOICES)
        return [
            ColumnKernel(kernel, column)
            for column in columns
            for kernel in self._kernels(self._alphabet(frame, column))
        ]

    def _kernels(self, name: str) -> list[SequenceKernel]:
        """Return the kernels of one column."""
        alphabet = Alphabet(
            name,
            unknown="skip" if self.skip_letters else "error",
            lower="upper" if self.ignore_case else "error",
        )
        chosen: Any = []
        if self.kernels == "dna":
            chosen = dna_dictionary(alphabet=alphabet)
        elif self.kernels == "protein":
            chosen = motif_dictionary(alphabet=alphabet)
        else:
            sizes = range(1, LONGEST[name] + 1)
            chosen = [SpectrumKernel(k, alphabet) for k in sizes]
        return [chosen[m] for m in range(len(chosen))]

    def _alphabet(self, frame: pd.DataFrame, column: str) -> str:
        """Return the name of the alphabet of a column."""
        if self.alphabet is not None:
            check_choice("--alphabet", self.alphabet, KNOWN)
            return self.alphabet
        letters = set().union(*map(set, frame[column]))
        if self.ignore_case:
            letters = {letter.upper() for letter in letters}
        for name, known in KNOWN.items():
            if letters <= set(known):
                return name
        if any({each.upper() for each in letters} <= set(k) for k in KNOWN.values()):
            raise ValueError(
                f"Column {column!r} has lower-case letters, which often mark repeats: "
                "--ignore-case reads them as upper case."
            )
        raise ValueError(
            f"The letters of column {column!r}, {''.join(sorted(letters))}, are those "
            "of no alphabet: name one with --alphabet dna, rna or protein, and use "
            "--skip-letters or --ignore-case for others."
        )


SPECTRA = SequenceChoice()
"""What holds where the command line says nothing."""


def read_fasta_frame(path: Path) -> pd.DataFrame:
    """Return the records of a FASTA file: a column of sequences, and one a field.

    The index holds their names.
    """
    records = read_fasta(path)
    index = pd.Index(records.names, name=NAME)
    frame = pd.DataFrame({COLUMN: records.sequences}, index=index)
    for key, values in records.fields.items():
        numbers = pd.to_numeric(pd.Series(values, index=index), errors="coerce")
        frame[key] = values if numbers.isna().any() else numbers
    return frame


def known_columns(estimator: Any) -> tuple[tuple[str, ...], ColumnChoice]:
    """Return the columns of sequences and of categories that a model was fitted on."""
    model = final_estimator(estimator)

    def names(attribute: str) -> tuple[str, ...]:
        places = getattr(model, attribute, ())
        return tuple(str(model.feature_names_in_[place]) for place in places)

    categories = names("category_features_")
    return names("sequence_features_"), ColumnChoice(categories=categories)


def known_features(estimator: Any) -> list[str] | None:
    """Return the columns that a model takes, None where it knows no names."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]
