"""Dictionaries of sequence kernels, including the default for strings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from multikernel._validation import InstanceOf, check_parameter
from multikernel.kernels.base import Kernel
from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.sequence.base import SequenceKernel, WindowKernel
from multikernel.kernels.sequence.letters import (
    ALPHABETS,
    Alphabet,
    Sequences,
    read_sequences,
)
from multikernel.kernels.sequence.motif import MotifKernel, motif_patterns
from multikernel.kernels.sequence.profile import ProfileKernel
from multikernel.kernels.sequence.spectrum import SpectrumKernel
from multikernel.kernels.sequence.weighted_degree import WeightedDegreeKernel

Window = tuple[int | None, int | None]
"""Start and stop of a part of a sequence, as in a slice."""

PROTEIN_SECTIONS: Mapping[str, Window] = {
    "whole": (None, None),
    "first 15": (0, 15),
    "first 60": (0, 60),
    "last 15": (-15, None),
}
"""Sections of a protein in Ong and Zien (2008); sorting signals are at the ends."""


def per_window(
    windows: Mapping[str, Window],
    kernels: SequenceKernel[Any] | Sequence[SequenceKernel[Any]],
) -> ListDictionary:
    """Return sequence kernels on named parts of each sequence.

    `windows` maps names to (start, stop) as in `WindowKernel`; each part gets all
    `kernels`.
    """
    expected = InstanceOf(Mapping, "a mapping from names to (start, stop)")
    check_parameter("per_window", "windows", windows, expected)
    kernel_list = [kernels] if isinstance(kernels, SequenceKernel) else list(kernels)
    return ListDictionary(
        [
            WindowKernel(kernel, start, stop, label)
            for label, (start, stop) in windows.items()
            for kernel in kernel_list
        ],
        [f"{kernel.name}[{label}]" for label in windows for kernel in kernel_list],
    )


def motif_dictionary(
    compare_by: str = "jensen_shannon",
    *,
    sigma: float = 0.5,
    alphabet: str | Alphabet = "protein",
) -> ListDictionary:
    """Return the 64 motif kernels of Ong and Zien (2008) for proteins.

    Each of 16 patterns of at most five positions is applied to four sections: the whole
    protein, and its first 15, first 60 and last 15 residues. Arguments are as in
    `MotifKernel`.
    """
    kernels = [
        MotifKernel(pattern, compare_by, sigma, alphabet)
        for pattern in motif_patterns()
    ]
    return per_window(PROTEIN_SECTIONS, kernels)


def dna_dictionary(
    *,
    spectra: Sequence[int] = (3, 4, 5, 6),
    degree: int = 20,
    shift: int = 0,
    alphabet: str | Alphabet = "dna",
) -> ListDictionary:
    """Return spectrum, weighted degree and property kernels on DNA of equal length.

    Parameters
    ----------
    spectra : sequence of int, default=(3, 4, 5, 6)
        Word lengths of the spectrum kernels.
    degree, shift : int, default=20 and 0
        As in `WeightedDegreeKernel`.
    alphabet : str or Alphabet, default="dna"
        Letters of the sequences, or their name, as in `Alphabet`.

    Examples
    --------
    >>> from multikernel.kernels.sequence import dna_dictionary
    >>> [kernel.name for kernel in dna_dictionary(spectra=[4])][:3]
    ['weighted_degree(degree=20)', 'spectrum(k=4)', 'profile(twist)']
    """
    return ListDictionary(
        [
            WeightedDegreeKernel(degree, shift, alphabet),
            *(SpectrumKernel(k, alphabet) for k in spectra),
            ProfileKernel("twist", alphabet=alphabet),
            ProfileKernel("stacking", alphabet=alphabet),
        ]
    )


# Short words such as MARRIED may also contain only letters of amino acids.
LEAST_LETTERS = 20
"""Minimum length of a text that counts as a sequence."""

# These settings have the best AUC on promoters of E. coli and splice sites of C.
# elegans, 0.953 and 0.981 (with the spectrum alone 0.937 and 0.686).
WORD, DEGREE, SHIFT = 3, 5, 2
"""Word length, degree and shift of the default kernels on sequences."""


def sequence_dictionary(
    sequences: object, alphabet: str | Alphabet | None = None
) -> ListDictionary:
    """Return the default kernels for sequences (``kernels=None``).

    These are a spectrum kernel with words of three letters and, for sequences of equal
    length, a weighted degree kernel of degree 5 with shifts up to 2.

    Parameters
    ----------
    sequences : sequence or array of str
        Training sequences.
    alphabet : str or Alphabet, optional
        Default: the first of "dna", "rna" and "protein" that contains all letters.

    Raises
    ------
    ValueError
        If `alphabet` is None and the texts do not look like sequences: they have other
        letters, ambiguous bases or fewer than 20 letters, or at most half of the texts
        are different.

    Examples
    --------
    >>> from multikernel.kernels.sequence import sequence_dictionary
    >>> sites = ["ACGTACGGTACCATTGACCA", "TTGACAATTAATCATCGGCT"]
    >>> [kernel.name for kernel in sequence_dictionary(sites)]
    ['spectrum(k=3)', 'weighted_degree(degree=5, shift=2)']
    """
    strings = read_sequences(sequences)
    if alphabet is None:
        reason = why_no_sequences(strings)
        if reason is not None:
            raise ValueError(
                "sequence_dictionary: the strings do not look like sequences, because "
                f"{reason}: pass alphabet if they are sequences."
            )
        alphabet = fitting_alphabet(strings)
        assert alphabet is not None
    kernels: list[Kernel] = [SpectrumKernel(WORD, alphabet)]
    if np.unique(strings.lengths).size == 1:
        kernels.append(WeightedDegreeKernel(DEGREE, SHIFT, alphabet))
    return ListDictionary(kernels)


def why_no_sequences(sequences: Sequences) -> str | None:
    """Return why strings do not look like sequences, or None if they do."""
    lengths = sequences.lengths
    shortest = int(np.argmin(lengths))
    if lengths[shortest] < LEAST_LETTERS:
        sequence = Sequences(
            sequences.letters, sequences.starts[shortest : shortest + 2]
        ).texts()[0]
        return f"{sequence!r} has fewer than {LEAST_LETTERS} letters"
    if fitting_alphabet(sequences) is None:
        bases = ambiguous_bases(sequences)
        if bases:
            return (
                f"they contain {bases!r} beside A, C, G and T, as DNA with ambiguous "
                "bases does"
            )
        return "not all letters are capitals of DNA, RNA or proteins"
    if 2 * len(set(sequences.texts())) <= lengths.size:
        return "at most half of them are different"
    return None


AMBIGUOUS = frozenset("ACGTUNRYKMSWBDHV")
"""Letters of bases, and IUPAC letters for sets of bases."""


def ambiguous_bases(sequences: Sequences) -> str:
    """Return the ambiguous letters in text that is mostly bases; "" if none."""
    letters = set(bytes(np.unique(sequences.letters)).decode("latin-1"))
    is_plain = any(letters <= {*ALPHABETS[name]} for name in ("dna", "rna"))
    is_ambiguous = _mostly_bases(sequences) and not is_plain and letters <= AMBIGUOUS
    return "".join(sorted(letters - {*"ACGTU"})) if is_ambiguous else ""


def _mostly_bases(sequences: Sequences) -> bool:
    """Return whether over half of the letters are bases or N (unknown base)."""
    bases = np.isin(sequences.letters, np.frombuffer(b"ACGTUN", dtype=np.uint8))
    return bool(bases.mean() > 0.5)


def fitting_alphabet(sequences: Sequences) -> str | None:
    """Return the name of the first alphabet that contains all letters, or None."""
    letters = set(bytes(np.unique(sequences.letters)).decode("latin-1"))
    name = next(
        (name for name, alphabet in ALPHABETS.items() if letters <= {*alphabet}), None
    )
    # Text that is mostly bases is DNA or RNA with other letters, not a protein.
    return None if name == "protein" and _mostly_bases(sequences) else name
