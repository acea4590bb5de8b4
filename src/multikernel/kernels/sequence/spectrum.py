"""Words of sequences, and the spectrum kernel, which counts them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from multikernel._typing import Array, Indices
from multikernel._validation import Number, check_parameter
from multikernel.kernels.sequence.base import (
    SequenceKernel,
    check_kernel_options,
    fill_rows,
    unit_scales,
)
from multikernel.kernels.sequence.letters import (
    Alphabet,
    Sequences,
    find_alphabet,
    read_sequences,
)
from multikernel.linalg.threads import compiled

LOOPS = "multikernel.kernels.sequence.loops"


@dataclass(frozen=True, eq=False)
class Words:
    """A value for every word of every sequence.

    Sequence i has the words ``columns[starts[i] : starts[i + 1]]``, ascending, and the
    same range of `values`. `n_words` is the number of possible words.
    """

    starts: Indices
    columns: Indices
    values: Array
    n_words: int

    @property
    def number(self) -> int:
        """Return the number of sequences."""
        return self.starts.size - 1

    @cached_property
    def owners(self) -> Indices:
        """Return the sequence of every entry."""
        return np.repeat(np.arange(self.number), np.diff(self.starts))

    @property
    def sparse(self) -> csr_array:
        """Return the values as a sparse matrix of shape (n_sequences, n_words)."""
        shape = self.number, self.n_words
        return csr_array((self.values, self.columns, self.starts), shape=shape)

    def sums(self, values: Array) -> Array:
        """Return the sum of the given values over each sequence."""
        sums = np.bincount(self.owners, values, minlength=self.number)
        return np.asarray(sums, dtype=np.float64)

    def scaled(self, scales: Array) -> "Words":
        """Return the words with values multiplied by one factor per sequence."""
        values = self.values * scales[self.owners]
        return Words(self.starts, self.columns, values, self.n_words)


def check_words(owner: str, alphabet: str | Alphabet, length: int) -> None:
    """Raise if the number of possible words exceeds 64-bit integers."""
    size = find_alphabet(alphabet).size
    if size**length >= 2**62:
        raise ValueError(
            f"{owner}: there are {size}^{length} words of {length} letters, but at "
            "most 2^62 are supported: choose shorter words or a smaller alphabet."
        )


def count_words(codes: Sequences, offsets: Indices, size: int) -> Words:
    """Count the words of sequences, except words with an unknown letter.

    `offsets` are the ascending positions of a word's letters, and `size` is the size of
    the alphabet.
    """
    sorted_words = np.empty(codes.letters.size, dtype=np.int64)
    ends = compiled(LOOPS, "word_codes")(
        codes.letters, codes.starts, offsets, size, sorted_words
    )
    words = sorted_words[: ends[-1]]
    # Sorted words form runs, which end where the word or the sequence changes.
    first = np.zeros(words.size + 1, dtype=bool)
    first[ends] = True
    first[1:-1] |= words[1:] != words[:-1]
    runs = np.flatnonzero(first)
    counts = np.diff(runs).astype(np.float64)
    starts = np.searchsorted(runs, ends)
    return Words(starts, words[runs[:-1]], counts, size**offsets.size)


def compare_words(rows: Words, cols: Words, mode: int) -> Array:
    """Return sums over the common words of all pairs, shape (n_rows, n_cols).

    Pass the same object twice for a symmetric matrix. `mode` is a comparison of
    `loops.common_sums`.
    """
    symmetric = rows is cols
    used, numbers = np.unique(cols.columns, return_inverse=True)
    # The sequences of each word, ascending.
    shape = cols.number, used.size
    table = csr_array((cols.values, numbers, cols.starts), shape=shape).tocsc()
    starts, owners = table.indptr.astype(np.int64), table.indices.astype(np.int64)
    # Values are positive, because absent words have no entry.
    postings = starts, owners, table.data, table.data * np.log(table.data)
    words, columns = rows, numbers.astype(np.int64)
    if not symmetric:
        words, columns = _known_words(rows, used)
    loop = compiled(LOOPS, "common_sums")

    def work(first: int, out: Array) -> None:
        entries = words.starts, columns, words.values
        loop(*entries, *postings, first, symmetric, mode, out)

    K = np.zeros((rows.number, cols.number))
    return fill_rows(K, symmetric=symmetric, work=work)


def _known_words(rows: Words, used: Indices) -> tuple[Words, Indices]:
    """Return the entries whose word is in `used`, and the positions of the words."""
    if not used.size:
        used = np.array([-1], dtype=np.int64)
    positions = np.minimum(np.searchsorted(used, rows.columns), used.size - 1)
    is_used = used[positions] == rows.columns
    counts = np.bincount(rows.owners[is_used], minlength=rows.number)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    words = Words(starts, rows.columns[is_used], rows.values[is_used], rows.n_words)
    return words, positions[is_used].astype(np.int64)


@dataclass(frozen=True)
class SpectrumKernel(SequenceKernel):
    r"""The spectrum kernel [1]_, :math:`k(x, x') = \sum_u \#_u(x) \#_u(x')`.

    The sum is over all words u of k letters; :math:`\#_u(x)` is the number of
    occurrences of u in x, with overlaps.

    Parameters
    ----------
    k : int
        Word length, 1 to 12.
    alphabet : str or Alphabet, default="dna"
        "dna", "rna", "protein", a string of letters, or an `Alphabet`, which also
        defines the treatment of other letters.
    cosine : bool, default=True
        Whether to divide by :math:`\sqrt{k(x, x) k(x', x')}`. Sequences without a word
        have the value zero.

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
        """Return word counts, whose inner products are the kernel.

        Parameters
        ----------
        X : sequence or array of str of shape (n_samples,)
            Sequences.

        Returns
        -------
        Z : sparse array of shape (n_samples, n_features)
            One column per word in the order of the alphabet: ACG is column 0 * 16 + 1 *
            4 + 2. Rows have norm one if `cosine` is True.
        """
        words = self.represent(read_sequences(X))
        if self.cosine:
            words = words.scaled(unit_scales(self.squared_norms(words)))
        return words.sparse

    def factor(self, X: Any) -> Array | None:
        """Return dense counts (at most 33 kB per sequence), or None for long words."""
        if self.n_features > 4**6:
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
