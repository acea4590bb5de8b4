"""Words of sequences, and the spectrum kernel, which counts them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, vstack

from multikernel._typing import Array, Indices
from multikernel._validation import Number, check_parameter
from multikernel.kernels.sequence.base import (
    LOOPS,
    SequenceKernel,
    check_kernel_options,
    fill_rows,
    unit_scales,
)
from multikernel.kernels.sequence.letters import (
    UNKNOWN,
    Alphabet,
    Sequences,
    find_alphabet,
    read_sequences,
)
from multikernel.linalg.threads import compiled

COMPARISONS = ("linear", "intersection", "jensen_shannon")
"""Functions of a word's values in two sequences, in the order of the compiled loop."""


def check_words(owner: str, alphabet: str | Alphabet, length: int) -> None:
    """Raise if the number of possible words exceeds 64-bit integers."""
    size = find_alphabet(alphabet).size
    if size**length >= 2**62:
        raise ValueError(
            f"{owner}: there are {size}^{length} words of {length} letters, but fewer "
            "than 2^62 are supported: use words of fewer letters, or a smaller "
            "alphabet."
        )


def count_words(codes: Sequences, offsets: Indices, size: int) -> csr_array:
    """Return the counts of words without unknown letters, (n_sequences, n_words)."""
    # `offsets` are the ascending positions of a word's letters, `size` is the size of
    # the alphabet. Words are in the order of the alphabet.
    span = int(offsets[-1])
    n_starts = max(0, codes.letters.size - span)
    owners = np.repeat(np.arange(codes.number), codes.lengths)
    is_word = owners[:n_starts] == owners[span:]
    word_codes = np.zeros(n_starts, dtype=np.int64)
    for offset in offsets.tolist():
        letters = codes.letters[offset : offset + n_starts]
        is_word &= letters != UNKNOWN
        word_codes = word_codes * size + letters
    words = word_codes[is_word]
    row_ends = np.searchsorted(owners[:n_starts][is_word], np.arange(codes.number + 1))
    shape = codes.number, size**offsets.size
    counts = csr_array((np.ones(words.size), words, row_ends), shape=shape)
    counts.sum_duplicates()
    return counts


def row_sums(table: csr_array) -> Array:
    """Return the sum of every row of a sparse table, shape (n_rows,)."""
    return np.asarray(table.sum(axis=1), dtype=np.float64).reshape(-1)


def renumber_words(rows: csr_array, cols: csr_array) -> tuple[csr_array, csr_array]:
    """Return both tables without the columns of words that do not occur."""
    both = rows if cols is rows else vstack([rows, cols], format="csr")
    # Without `return_inverse`, NumPy hashes the words, which takes ten times as long.
    words, columns = np.unique(both.indices, return_inverse=True)
    shape = both.shape[0], words.size
    both = csr_array((both.data, columns, both.indptr), shape=shape)
    if cols is rows:
        return both, both
    return both[: rows.shape[0]], both[rows.shape[0] :]


def common_sums(rows: csr_array, cols: csr_array, compare_by: str) -> Array:
    """Return sums over the common words of all pairs of sequences, (n_rows, n_cols).

    `rows` and `cols` contain a positive value for each word of each sequence. The
    summand is one of `COMPARISONS` of the word's values in both sequences.
    """
    A, B = renumber_words(rows, cols)
    # A product of dense tables is faster unless most words are rare.
    if compare_by == "linear" and B.shape[0] * B.shape[1] <= 10 * B.nnz:
        values = A.toarray()
        return np.asarray(values @ (values if A is B else B.toarray()).T)
    run, mode = compiled(LOOPS, "add_common"), COMPARISONS.index(compare_by)
    sequences, postings = _with_logs(A), _with_logs(B.tocsc())

    def work(start: int, out: Array) -> None:
        run(sequences, postings, mode, start, A is B, out)

    return fill_rows(np.zeros((A.shape[0], B.shape[0])), work, symmetric=A is B)


def _with_logs(
    table: csr_array | csc_array,
) -> tuple[NDArray[np.generic], NDArray[np.generic], Array, Array]:
    """Return the arrays of a sparse table with values x, and x log x."""
    values = table.data
    return table.indptr, table.indices, values, values * np.log(values)


@dataclass(frozen=True)
class SpectrumKernel(SequenceKernel[csr_array]):
    r"""The spectrum kernel [1]_, :math:`k(x, x') = \sum_u \#_u(x) \#_u(x')`.

    The sum is over all words u of k letters; :math:`\#_u(x)` is the number of
    occurrences of u in x, with overlaps.

    Parameters
    ----------
    k : int
        Word length, 1 to 12.
    alphabet : str or Alphabet, default="dna"
        "dna", "rna", "protein", a string of letters, or an `Alphabet`.
    cosine : bool, default=True
        Whether to divide by :math:`\sqrt{k(x, x) k(x', x')}`. Sequences without a word
        have the value zero.

    References
    ----------
    .. [1] Leslie, C., Eskin, E. and Noble, W. S. (2002). The spectrum kernel. Pacific
       Symposium on Biocomputing, 564-575.

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

    def features(self, X: object) -> csr_array:
        """Return sparse counts of all words, with rows of norm one if `cosine`."""
        # Columns are in the order of the alphabet: ACG is column 0 * 16 + 1 * 4 + 2.
        counts = self.represent(read_sequences(X))
        if self.cosine:
            scales = unit_scales(self.squared_norms(counts))
            counts.data *= np.repeat(scales, np.diff(counts.indptr))
        return counts

    def factor(self, X: object) -> Array | None:
        """Return dense counts (at most 33 kB per sequence), or None for long words."""
        if find_alphabet(self.alphabet).size ** self.k > 4**6:
            return None
        return np.asarray(self.features(X).toarray())

    def represent(self, sequences: Sequences) -> csr_array:
        """Return the counts of all words, shape (n_sequences, n_words)."""
        size = find_alphabet(self.alphabet).size
        return count_words(self.encode(sequences), np.arange(self.k), size)

    def compare(self, rows: csr_array, cols: csr_array) -> Array:
        """Return the inner products of counts."""
        return common_sums(rows, cols, "linear")

    def squared_norms(self, represented: csr_array) -> Array:
        """Return the squared norms of counts."""
        return row_sums(represented.power(2))
