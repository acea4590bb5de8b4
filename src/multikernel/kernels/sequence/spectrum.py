"""The spectrum kernel: how often every word of k letters is there."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from multikernel._typing import Array
from multikernel._validation import Number, check_parameter
from multikernel.kernels.sequence.alphabet import Alphabet, find_alphabet
from multikernel.kernels.sequence.base import (
    SequenceKernel,
    check_kernel_options,
    unit_scales,
)
from multikernel.kernels.sequence.reading import Sequences, read_sequences
from multikernel.kernels.sequence.words import (
    Words,
    check_words,
    compare_words,
    count_words,
)

MOST_WORDS = 4**6
"""Words that are written out as factors at most: 33 kB a sequence. Kernels of longer
words are compared pair by pair."""


@dataclass(frozen=True)
class SpectrumKernel(SequenceKernel):
    r"""The spectrum kernel [1]_, :math:`k(x, x') = \sum_u \#_u(x) \#_u(x')`.

    The sum is over all words u of k letters, and :math:`\#_u(x)` is how often u is in
    x, overlaps included.

    Parameters
    ----------
    k : int
        Letters of a word, 1 to 12.
    alphabet : str or Alphabet, default="dna"
        "dna", "rna", "protein", a string of letters, or an `Alphabet`, which also
        says what becomes of other letters.
    cosine : bool, default=True
        Whether to divide by :math:`\sqrt{k(x, x) k(x', x')}`. A sequence without a
        word has the value zero with all.

    References
    ----------
    .. [1] Leslie, C., Eskin, E. and Noble, W. S. (2002). The spectrum kernel: a string
       kernel for SVM protein classification. Pacific Symposium on Biocomputing,
       564-575.

    Examples
    --------
    >>> from multikernel.kernels.sequence import SpectrumKernel
    >>> SpectrumKernel(2, cosine=False)(["ACAC", "CAC"])
    array([[5., 3.],
           [3., 2.]])
    """

    k: int
    alphabet: str | Alphabet = "dna"
    cosine: bool = True

    def __post_init__(self) -> None:
        check_parameter("SpectrumKernel", "k", self.k, Number(1, 12, integer=True))
        check_kernel_options(self)
        check_words("SpectrumKernel", self.alphabet, self.k)

    @property
    def name(self) -> str:
        """Return the readable name."""
        return f"spectrum(k={self.k})"

    @property
    def n_features(self) -> int:
        """Return the number of words, 4^k for DNA."""
        return int(find_alphabet(self.alphabet).size ** self.k)

    def features(self, X: Any) -> csr_array:
        """Return the counts whose inner products the kernel is.

        Parameters
        ----------
        X : sequence or array of str of shape (n_samples,)
            Sequences.

        Returns
        -------
        Z : sparse array of shape (n_samples, n_features)
            Rows of unit norm where `cosine` is true. Word by word in the order of the
            alphabet: the number of ACG is 0 * 16 + 1 * 4 + 2.
        """
        words = self.represent(read_sequences(X))
        if self.cosine:
            words = words.scaled(unit_scales(self.squared_norms(words)))
        return words.sparse

    def factor(self, X: Any) -> Array | None:
        """Return the counts, written out, where there are few words."""
        if self.n_features > MOST_WORDS:
            return None
        return np.asarray(self.features(X).toarray())

    def represent(self, sequences: Sequences) -> Words:
        """Return the counts of all words."""
        size = find_alphabet(self.alphabet).size
        return count_words(self.encode(sequences), np.arange(self.k), size)

    def compare(self, rows: Words, cols: Words) -> Array:
        """Return the inner products of counts."""
        return compare_words(rows, cols, 0)

    def squared_norms(self, represented: Words) -> Array:
        """Return the squared norms of counts."""
        return represented.sums(represented.values**2)
