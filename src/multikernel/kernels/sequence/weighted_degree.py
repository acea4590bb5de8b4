"""The weighted degree kernel, with or without shifts."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from multikernel._typing import Array
from multikernel._validation import COUNT, Number, OneOf, check_parameter
from multikernel.kernels.sequence.base import (
    LOOPS,
    SequenceKernel,
    check_kernel_options,
    fill_rows,
)
from multikernel.kernels.sequence.letters import (
    UNKNOWN,
    Alphabet,
    Bits,
    Letters,
    Sequences,
    find_alphabet,
)
from multikernel.linalg.threads import compiled

ADVICE = (
    "select windows of one length with WindowKernel, or pass align='start' or "
    "align='end'"
)


@dataclass(frozen=True, eq=False)
class Planes:
    """The result of `bit_planes`, and the length of the longest sequence."""

    bits: Bits
    longest: int

    def widened(self, n_words: int) -> Bits:
        """Return the bits, padded with zeros to `n_words` words."""
        missing = n_words - self.bits.shape[2]
        return np.pad(self.bits, ((0, 0), (0, 0), (0, missing)))


def bit_planes(rows: Letters, n_planes: int) -> Bits:
    """Return each bit of the letter codes as a plane, and a plane of known letters."""
    # Codes of shape (n_sequences, 64 n_words) give planes of shape (n_sequences,
    # n_planes + 1, n_words). Unknown letters have no bits, so they match no letter.
    is_letter = rows != UNKNOWN
    planes = [*((rows >> plane) & is_letter for plane in range(n_planes)), is_letter]
    packed = np.packbits(np.stack(planes, axis=1), axis=2, bitorder="little")
    return packed.view("<u8").astype(np.uint64, copy=False)


@dataclass(frozen=True)
class WeightedDegreeKernel(SequenceKernel["Planes"]):
    r"""The weighted degree kernel [1]_, which compares words position by position.

    .. math:: k(x, x') = \sum_{d=1}^D \beta_d \sum_l \sum_{s=0}^S \delta_s
        \bigl( [u_{d,l+s}(x) = u_{d,l}(x')] + [u_{d,l}(x) = u_{d,l+s}(x')] \bigr)

    with :math:`u_{d,l}(x)` the word of d letters at position l, :math:`\beta_d = 2 (D -
    d + 1) / (D (D + 1))` and :math:`\delta_s = 1 / (2 (s + 1))` [2]_. Without shifts,
    it is the weighted number of equal words at equal positions.

    Parameters
    ----------
    degree, shift : int, default=20, 0
        Length D of the longest words, and largest shift S.
    alphabet : str or Alphabet, default="dna"
        Letters of the sequences, or their name, as in `Alphabet`.
    cosine : bool, default=True
        Whether to divide by :math:`\sqrt{k(x, x) k(x', x')}`.
    align : {"equal", "start", "end"}, default="equal"
        Treatment of sequences of different lengths: raise an error, or align them at
        their first or last letters.

    References
    ----------
    .. [1] Ratsch, G. and Sonnenburg, S. (2004). Accurate splice site detection for
       Caenorhabditis elegans. In Kernel Methods in Computational Biology, 277-298.
    .. [2] Ratsch, G., Sonnenburg, S. and Scholkopf, B. (2005). RASE. Bioinformatics 21,
       i369-i377. https://doi.org/10.1093/bioinformatics/bti1053

    Examples
    --------
    >>> from multikernel.kernels.sequence import WeightedDegreeKernel
    >>> WeightedDegreeKernel(2, cosine=False)(["ACGT", "ACTT"]).round(3)
    array([[3.667, 2.333],
           [2.333, 3.667]])
    """

    # The kernel is positive definite, because 1/2 + sum_{s <= S} cos(s w) / (s + 1) is
    # never negative (Rogosinski and Szego, 1928).

    degree: int = 20
    shift: int = 0
    alphabet: str | Alphabet = "dna"
    cosine: bool = True
    align: str = "equal"

    def __post_init__(self) -> None:
        check_parameter("WeightedDegreeKernel", "degree", self.degree, COUNT)
        shifts = Number(0, integer=True)
        check_parameter("WeightedDegreeKernel", "shift", self.shift, shifts)
        alignments = OneOf(("equal", "start", "end"))
        check_parameter("WeightedDegreeKernel", "align", self.align, alignments)
        check_kernel_options(self)

    @property
    def name(self) -> str:
        """Return the readable name."""
        shift = f", shift={self.shift}" * (self.shift > 0)
        return f"weighted_degree(degree={self.degree}{shift})"

    @property
    def shift_weights(self) -> Array:
        """Return the weights of pairs of positions at distance 0, 1, ..., `shift`."""
        weights = np.asarray(0.5 / np.arange(1.0, self.shift + 2))
        # For s = 0, both terms in the brackets of the formula above are equal, so they
        # count as one term of twice the weight 1/2.
        weights[0] = 1.0
        return weights

    def encode(self, sequences: Sequences) -> Sequences:
        """Return codes of letters; raise for lengths that `align` does not allow."""
        lengths = sequences.lengths
        longest = int(lengths.max(initial=0))
        if self.align == "equal" and longest != lengths.min(initial=longest):
            shortest = int(np.argmin(lengths))
            raise ValueError(
                f"{self.name} compares sequences position by position, but sequence "
                f"{shortest} has {lengths.min()} letters and the longest has "
                f"{longest}: {ADVICE}."
            )
        return super().encode(sequences)

    def represent(self, sequences: Sequences) -> "Planes":
        """Return the letters as bits."""
        longest = int(sequences.lengths.max(initial=0))
        codes = self.encode(sequences)
        is_reversed = self.align == "end"
        if is_reversed:
            # Reversed sequences are aligned at their last letters, and equal words
            # remain equal.
            starts = codes.starts[-1] - codes.starts[::-1]
            codes = Sequences(codes.letters[::-1], starts)
        rows = codes.padded(64 * max(1, -(-longest // 64)), UNKNOWN)
        n_planes = max(1, int(find_alphabet(self.alphabet).size - 1).bit_length())
        bits = bit_planes(rows[::-1] if is_reversed else rows, n_planes)
        return Planes(bits, longest)

    def compare(self, rows: "Planes", cols: "Planes") -> Array:
        """Return the weighted number of equal words for all pairs of sequences."""
        shape = rows.bits.shape[0], cols.bits.shape[0]
        if self.align == "equal" and all(shape) and rows.longest != cols.longest:
            raise ValueError(
                f"{self.name} compares sequences position by position, but some have "
                f"{rows.longest} letters and others {cols.longest}: {ADVICE}."
            )
        symmetric = rows is cols
        n_words = max(rows.bits.shape[2], cols.bits.shape[2])
        row_bits = rows.widened(n_words)
        col_bits = row_bits if symmetric else cols.widened(n_words)
        run, degrees, shifts = self._loop()

        def work(start: int, out: Array) -> None:
            run(row_bits, col_bits, degrees, shifts, start, symmetric, out)

        return fill_rows(np.empty(shape), work, symmetric=symmetric)

    def squared_norms(self, represented: "Planes") -> Array:
        """Return k(x, x) of sequences before cosine scaling."""
        bits = represented.bits
        loop, degrees, shifts = self._loop()
        norms = np.empty((bits.shape[0], 1, 1))
        for i, out in enumerate(norms):
            sequence = bits[i : i + 1]
            loop(sequence, sequence, degrees, shifts, 0, True, out)
        return norms[:, 0, 0]

    def _loop(self) -> tuple[Callable[..., None], Array, Array]:
        """Return the compiled loop, and the weights of degrees and of shifts."""
        D = self.degree
        degree_weights = np.asarray(2.0 * (D - np.arange(D)) / (D * (D + 1.0)))
        return compiled(LOOPS, "run_sums"), degree_weights, self.shift_weights
