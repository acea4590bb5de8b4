"""Kernels on histograms of motifs, words with gaps (Ong and Zien, 2008)."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array

from multikernel._typing import Array
from multikernel._validation import POSITIVE, OneOf, check_parameter
from multikernel.kernels.sequence.base import (
    SequenceKernel,
    check_kernel_options,
    unit_scales,
)
from multikernel.kernels.sequence.letters import Alphabet, Sequences, find_alphabet
from multikernel.kernels.sequence.spectrum import (
    COMPARISONS,
    check_words,
    common_sums,
    count_words,
    row_sums,
)


@dataclass(frozen=True)
class MotifKernel(SequenceKernel[csr_array]):
    """A kernel on histograms of the motifs of one pattern (Ong and Zien 2008).

    A motif is the letters of a window at the positions marked ``x`` in `pattern`; ``.``
    marks ignored positions. A histogram contains the share of each motif among all
    windows. `compare_by` is "linear" (sum of products), "intersection" (sum of minima),
    or "jensen_shannon" (Gaussian of width `sigma` on the Jensen-Shannon metric).
    """

    # "jensen_shannon" is exp(-JS(p, q) / (2 sigma^2)) with JS = H((p + q) / 2) - (H(p)
    # + H(q)) / 2 in nats, at most log 2. sqrt(JS) is a metric: Fuglede and Topsoe
    # (2004). Jensen-Shannon divergence and Hilbert space embedding. ISIT, 31. Ong, C.
    # S. and Zien, A. (2008). An automated combination of kernels for predicting protein
    # subcellular localization. WABI, 186-197.
    # https://doi.org/10.1007/978-3-540-87361-7_16

    pattern: str
    compare_by: str = "jensen_shannon"
    sigma: float = 0.5
    alphabet: str | Alphabet = "protein"
    cosine: bool = True

    def __post_init__(self) -> None:
        check_parameter(
            "MotifKernel", "compare_by", self.compare_by, OneOf(COMPARISONS)
        )
        check_parameter("MotifKernel", "sigma", self.sigma, POSITIVE)
        pattern = self.pattern
        is_plain = isinstance(pattern, str) and set(pattern) <= {"x", "."}
        if not (is_plain and pattern.startswith("x") and pattern.endswith("x")):
            raise ValueError(
                "MotifKernel: pattern must consist of 'x' (a selected letter) and '.' "
                f"(an ignored letter), with 'x' at both ends, got {pattern!r}."
            )
        check_kernel_options(self)
        check_words("MotifKernel", self.alphabet, pattern.count("x"))

    @property
    def name(self) -> str:
        """Return the readable name."""
        width = f", sigma={self.sigma:g}" * (self.compare_by == "jensen_shannon")
        return f"motif({self.pattern}, {self.compare_by}{width})"

    def represent(self, sequences: Sequences) -> csr_array:
        """Return the counts of all motifs, shape (n_sequences, n_motifs)."""
        size = find_alphabet(self.alphabet).size
        offsets = np.flatnonzero([letter == "x" for letter in self.pattern])
        return count_words(self.encode(sequences), offsets, size)

    def compare(self, rows: csr_array, cols: csr_array) -> Array:
        """Return the Gram matrix of histograms before cosine scaling."""
        if self.compare_by == "linear":
            scales, col_scales = _inverse_totals(rows), _inverse_totals(cols)
            return common_sums(rows, cols, "linear") * (scales[:, None] * col_scales)
        p = _histograms(rows)
        q = p if rows is cols else _histograms(cols)
        sums = common_sums(p, q, self.compare_by)
        if self.compare_by == "intersection":
            return sums
        # JS = (log 2) (|p| + |q|) / 2 - sums, where |p| is the sum of the shares in p.
        half = 0.5 * np.log(2.0)
        masses, col_masses = half * row_sums(p), half * row_sums(q)
        # Adding the row sums first preserves exact symmetry.
        sums -= masses[:, None] + col_masses
        # Rounding can make the divergence of equal histograms negative.
        np.minimum(sums, 0.0, out=sums)
        sums /= 2.0 * self.sigma**2
        K: Array = np.exp(sums, out=sums)
        if rows is cols:
            np.fill_diagonal(K, 1.0)
        return K

    def squared_norms(self, represented: csr_array) -> Array:
        """Return k(x, x) of histograms before cosine scaling."""
        if self.compare_by == "jensen_shannon":
            return np.ones(represented.shape[0])
        power = 2 if self.compare_by == "linear" else 1
        return row_sums(_histograms(represented).power(power))


def _inverse_totals(counts: csr_array) -> Array:
    """Return 1 / (number of motifs) for each sequence, or zero if it has none."""
    return unit_scales(row_sums(counts) ** 2)


def _histograms(counts: csr_array) -> csr_array:
    """Return the shares of motifs; all zero for sequences without motifs."""
    shares = counts.copy()
    shares.data *= np.repeat(_inverse_totals(counts), np.diff(counts.indptr))
    return shares


def motif_patterns(longest: int = 5) -> tuple[str, ...]:
    """Return all patterns of at most `longest` positions, such as "x.x".

    Each position is a letter ("x") or a gap ("."), and the first and the last one are
    letters. There are 2 ** (longest - 1) such patterns.
    """
    patterns = []
    for n_others in range(longest):
        for others in combinations(range(1, longest), n_others):
            selected = {0, *others}
            letters = range(max(selected) + 1)
            patterns.append("".join("x" if p in selected else "." for p in letters))
    return tuple(patterns)
