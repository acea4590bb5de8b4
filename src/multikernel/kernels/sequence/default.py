"""The kernels that strings get where none are named, and which strings do."""

from typing import Any

import numpy as np

from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.sequence.alphabet import KNOWN
from multikernel.kernels.sequence.base import SequenceKernel
from multikernel.kernels.sequence.reading import Sequences, read_sequences
from multikernel.kernels.sequence.spectrum import SpectrumKernel
from multikernel.kernels.sequence.weighted_degree import WeightedDegreeKernel

LEAST_LETTERS = 20
"""Ordinary words are shorter: MARRIED and FEMALE are spelt in amino acids."""

MOST_BASES = 0.5
"""Share of A, C, G, T, U and N in proteins, a quarter in nature. N and the other codes
of ambiguous bases are amino acids as well: with more it may be DNA."""

WORD, DEGREE, SHIFT = 3, 5, 2
"""400 promoters of E. coli and 400 acceptor sites of C. elegans, p = 2, AUC on 1000
others: spectrum alone 0.937 and 0.686; with a weighted degree of 5 0.949 and 0.978, of
20 0.946 and 0.966 and a warning that it memorises; of 5 with shifts to 2 0.953 and
0.981. Longer words lower the first two: of 3 to 6 letters 0.934 and 0.650."""


def sequence_dictionary(sequences: Any) -> ListDictionary:
    """Return the dictionary that ``kernels=None`` stands for on sequences.

    A spectrum kernel of words of three letters, and where all sequences have one
    length a weighted degree kernel of degree 5 with shifts up to 2.

    Parameters
    ----------
    sequences : sequence or array of str
        The training sequences. They tell the alphabet: "dna", "rna" or "protein",
        the first one that has all letters. There is no default for others, for
        sequences of less than 20 letters, for "proteins" more than half of whose
        letters are bases or N, and where no more than half of the sequences differ:
        these may be DNA with gaps, or categories.

    Returns
    -------
    dictionary : ListDictionary

    Raises
    ------
    ValueError
        If there is no default for them; it says why.

    Examples
    --------
    >>> from multikernel.kernels.sequence import sequence_dictionary
    >>> sites = ["ACGTACGGTACCATTGACCA", "TTGACAATTAATCATCGGCT"]
    >>> [kernel.name for kernel in sequence_dictionary(sites)]
    ['spectrum(k=3)', 'weighted_degree(degree=5, shift=2)']
    """
    found = read_sequences(sequences)
    reason = why_no_sequences(found)
    if reason is not None:
        raise ValueError(f"There are no default kernels for these sequences: {reason}.")
    alphabet = _alphabet(found)
    assert alphabet is not None
    kernels: list[SequenceKernel] = [SpectrumKernel(WORD, alphabet)]
    if np.unique(found.lengths).size == 1:
        kernels.append(WeightedDegreeKernel(DEGREE, SHIFT, alphabet))
    return ListDictionary(kernels)


def why_no_sequences(found: Sequences) -> str | None:
    """Return why text may be something else than sequences, or None.

    Parameters
    ----------
    found : Sequences
        The text.

    Returns
    -------
    reason : str or None
    """
    lengths = found.lengths
    short = int(np.argmin(lengths))
    if lengths[short] < LEAST_LETTERS:
        text = Sequences(found.letters, found.starts[short : short + 2]).texts()[0]
        return f"{text!r} has fewer than {LEAST_LETTERS} letters"
    if _alphabet(found) is None:
        return "not all letters are capitals of DNA, RNA or proteins"
    if 2 * len(set(found.texts())) <= lengths.size:
        return "no more than half of them differ"
    return None


def _alphabet(found: Sequences) -> str | None:
    """Return the name of the first alphabet that has all letters."""
    letters = set(bytes(np.unique(found.letters)).decode("latin-1"))
    name = next((name for name, known in KNOWN.items() if letters <= {*known}), None)
    bases = np.isin(found.letters, np.frombuffer(b"ACGTUN", dtype=np.uint8))
    return None if name == "protein" and bases.mean() > MOST_BASES else name
