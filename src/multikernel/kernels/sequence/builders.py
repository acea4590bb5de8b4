"""Ready-made dictionaries of sequence kernels."""

from collections.abc import Mapping, Sequence

from multikernel._validation import InstanceOf, check_parameter
from multikernel.kernels.dictionary import ListDictionary
from multikernel.kernels.sequence.alphabet import Alphabet
from multikernel.kernels.sequence.base import SequenceKernel
from multikernel.kernels.sequence.motif import MotifKernel, motif_patterns
from multikernel.kernels.sequence.profile import ProfileKernel
from multikernel.kernels.sequence.spectrum import SpectrumKernel
from multikernel.kernels.sequence.weighted_degree import WeightedDegreeKernel
from multikernel.kernels.sequence.window import WindowKernel

Window = tuple[int | None, int | None]
"""The ends of a part of a sequence, as in a slice."""

PROTEIN_SECTIONS: Mapping[str, Window] = {
    "whole": (None, None),
    "first 15": (0, 15),
    "first 60": (0, 60),
    "last 15": (-15, None),
}
"""The sections of a protein in Ong and Zien (2008); sorting signals are at its ends."""


def per_window(
    windows: Mapping[str, Window], kernels: SequenceKernel | Sequence[SequenceKernel]
) -> ListDictionary:
    """Return sequence kernels on named parts of each sequence.

    Parameters
    ----------
    windows : mapping from str to (start, stop)
        The ends of each part, as in `WindowKernel`.
    kernels : SequenceKernel or sequence of them
        The kernels that every part gets.

    Returns
    -------
    dictionary : ListDictionary

    Examples
    --------
    >>> from multikernel.kernels.sequence import SpectrumKernel, per_window
    >>> parts = {"promoter": (0, 60), "first exon": (60, None)}
    >>> [kernel.name for kernel in per_window(parts, SpectrumKernel(4))]
    ['spectrum(k=4)[promoter]', 'spectrum(k=4)[first exon]']
    """
    named = InstanceOf(Mapping, "a mapping from names to (start, stop)")
    check_parameter("per_window", "windows", windows, named)
    several = [kernels] if isinstance(kernels, SequenceKernel) else list(kernels)
    return ListDictionary(
        [
            WindowKernel(kernel, start, stop, label)
            for label, (start, stop) in windows.items()
            for kernel in several
        ],
        [f"{kernel.name}[{label}]" for label in windows for kernel in several],
    )


def motif_dictionary(
    compare_by: str = "jensen_shannon",
    *,
    sigma: float = 0.5,
    alphabet: str | Alphabet = "protein",
) -> ListDictionary:
    """Return the 64 motif kernels of Ong and Zien on proteins [1]_.

    The 16 patterns of at most five places that hold the first one, each on four
    sections: the whole protein, its first 15 and 60 and its last 15 residues.

    Parameters
    ----------
    compare_by : {"linear", "intersection", "jensen_shannon"}, default="jensen_shannon"
        How histograms are compared.
    sigma : float, default=0.5
        Width of the Gaussian, see `MotifKernel`.
    alphabet : str or Alphabet, default="protein"
        The letters.

    Returns
    -------
    dictionary : ListDictionary

    References
    ----------
    .. [1] Ong, C. S. and Zien, A. (2008). An automated combination of kernels for
       predicting protein subcellular localization. Workshop on Algorithms in
       Bioinformatics, 186-197. https://doi.org/10.1007/978-3-540-87361-7_16

    Examples
    --------
    >>> from multikernel.kernels.sequence import motif_dictionary
    >>> dictionary = motif_dictionary("linear")
    >>> len(dictionary), dictionary[1].name, dictionary[63].name
    (64, 'motif(xx, linear)[whole]', 'motif(xxxxx, linear)[last 15]')
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
    """Return spectrum, weighted degree and property kernels on DNA of one length.

    Parameters
    ----------
    spectra : sequence of int, default=(3, 4, 5, 6)
        Letters of the words of the spectrum kernels.
    degree, shift : int, default=20 and 0
        As in `WeightedDegreeKernel`.
    alphabet : str or Alphabet, default="dna"
        The letters.

    Returns
    -------
    dictionary : ListDictionary

    Examples
    --------
    >>> from multikernel.kernels.sequence import dna_dictionary
    >>> [kernel.name for kernel in dna_dictionary(spectra=[4])]
    ['weighted_degree(degree=20)', 'spectrum(k=4)', 'profile(twist)', \
'profile(stacking)']
    """
    return ListDictionary(
        [
            WeightedDegreeKernel(degree, shift, alphabet),
            *(SpectrumKernel(k, alphabet) for k in spectra),
            ProfileKernel("twist", alphabet=alphabet),
            ProfileKernel("stacking", alphabet=alphabet),
        ]
    )
