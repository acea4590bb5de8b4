"""Compiled loops over sequences: words, what two have in common, runs of matches."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.kernels.sequence.letters import Bits, Letters
from multikernel.linalg.jit import loop

LINEAR, INTERSECTION, JENSEN_SHANNON = 0, 1, 2
"""How the values of two sequences at a common word are compared."""


@loop()
def word_codes(
    codes: Letters, starts: Indices, offsets: Indices, size: int, out: Indices
) -> Indices:
    """Write the number of every word of every sequence, and return where they end.

    Sequence i of the codes of letters, 255 for those that are in no word, begins at
    ``starts[i]``; its words, ascending, become ``out[ends[i] : ends[i + 1]]``. The
    places of a word's letters ascend from 0, and `size` is how many letters there are.
    """
    n = starts.size - 1
    ends = np.zeros(n + 1, dtype=np.int64)
    used = 0
    for i in range(n):
        for first in range(starts[i], starts[i + 1] - offsets[-1]):
            word = np.int64(0)
            for k in range(offsets.size):
                code = codes[first + offsets[k]]
                if code == 255:
                    word = np.int64(-1)
                    break
                word = word * size + code
            if word >= 0:
                out[used] = word
                used += 1
        out[ends[i] : used].sort()
        ends[i + 1] = used
    return ends


@loop()
def common_sums(  # noqa: PLR0913 - compiled code takes arrays, not objects
    row_starts: Indices,
    row_columns: Indices,
    row_values: Array,
    posting_starts: Indices,
    postings: Indices,
    posting_values: Array,
    posting_logs: Array,
    first: int,
    symmetric: bool,
    mode: int,
    out: Array,
) -> None:
    """Sum over the words that two sequences share, for some rows and all columns.

    The words of row i, with their values, begin at ``row_starts[i]``; the sequences of
    the columns that hold word u, ascending, at ``posting_starts[u]``, with their values
    x and x log x, any numbers unless the mode is `JENSEN_SHANNON`. Sums are
    added to `out`, (n_chosen_rows, n_cols), whose first row is number `first`; where
    the matrix is symmetric entries left of the diagonal are left out.
    """
    for row in range(out.shape[0]):
        i = first + row
        lowest = i if symmetric else 0
        sums = out[row]
        for t in range(row_starts[i], row_starts[i + 1]):
            word, p = row_columns[t], row_values[t]
            log_p = p * np.log(p) if mode == JENSEN_SHANNON else 0.0
            for u in range(posting_starts[word + 1] - 1, posting_starts[word] - 1, -1):
                j, q = postings[u], posting_values[u]
                if j < lowest:
                    break
                if mode == LINEAR:
                    sums[j] += p * q
                elif mode == INTERSECTION:
                    sums[j] += min(p, q)
                else:
                    both = (p + q) * np.log(p + q) - log_p - posting_logs[u]
                    sums[j] += 0.5 * both


@loop()
def count_bits(word: np.uint64) -> np.int64:
    """Return how many bits of a word are one; a single instruction once compiled."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@loop()
def shifted_by(planes: Bits, shift: int, out: Bits) -> None:
    """Write bits moved to later places, or to earlier ones for a negative shift.

    Both arrays have the shape (n_planes, n_words); what leaves the words is lost.
    """
    n_words = planes.shape[1]
    words, bits = abs(shift) // 64, np.uint64(abs(shift) % 64)
    rest = np.uint64(64) - bits
    for plane in range(planes.shape[0]):
        for w in range(n_words):
            value = np.uint64(0)
            near = w - words if shift > 0 else w + words
            far = near - 1 if shift > 0 else near + 1
            if 0 <= near < n_words:
                part = planes[plane, near]
                value = part << bits if shift > 0 else part >> bits
            if bits > 0 and 0 <= far < n_words:
                part = planes[plane, far]
                value |= part >> rest if shift > 0 else part << rest
            out[plane, w] = value


@loop()
def mark_equal(moved: Bits, cols: Bits, j: int, equal: Bits) -> None:
    """Write a bit for every place where shifts of one sequence agree with another, j.

    The sequence is given in all shifts, (n_planes + 1, n_words, n_moves), the others as
    (n_cols, n_planes + 1, n_words); of `equal`, (n_words + 1, n_moves), all but the
    last row is overwritten.
    """
    n_planes = moved.shape[0] - 1
    for w in range(moved.shape[1]):
        is_letter = cols[j, n_planes, w]
        for s in range(moved.shape[2]):
            equal[w, s] = moved[n_planes, w, s] & is_letter
        for plane in range(n_planes):
            opposite = ~cols[j, plane, w]
            for s in range(moved.shape[2]):
                equal[w, s] &= moved[plane, w, s] ^ opposite


@loop()
def weigh_runs(equal: Bits, degrees: Array, weights: Array, numbers: Indices) -> float:
    """Return the weighted number of runs of one set bit, of two and so on.

    There is a column of bits for every shift, (n_words + 1, n_moves), zeros in the last
    words; they are overwritten, and so are the numbers, (n_moves,). Runs have the
    weights `degrees` by their length, shifts have `weights`.
    """
    one, last = np.uint64(1), np.uint64(63)
    total = 0.0
    for degree in range(degrees.size):
        bits = np.uint64(0)
        numbers[:] = 0
        for w in range(equal.shape[0] - 1):
            for s in range(weights.size):
                word = equal[w, s]
                numbers[s] += count_bits(word)
                # Runs that start here go on where the next bit starts one as well.
                word &= (word >> one) | (equal[w + 1, s] << last)
                equal[w, s] = word
                bits |= word
        weighted = 0.0
        for s in range(weights.size):
            weighted += weights[s] * numbers[s]
        total += degrees[degree] * weighted
        if bits == 0:
            break
    return total


@loop()
def run_sums(  # noqa: PLR0913 - compiled code takes arrays, not objects
    rows: Bits,
    cols: Bits,
    degrees: Array,
    shifts: Array,
    first: int,
    symmetric: bool,
    out: Array,
) -> None:
    """Write the weighted number of equal words in equal or shifted places.

    Places where two sequences agree are the bits of a few machine words: those where a
    word of d letters starts that both have are the bits b with the next d - 1 set as
    well. So 64 places cost what one would.

    Sequences are given as `weighted_degree.bit_planes` returns them, and the weights of
    words by their length and by how far they are apart. The first row of `out`,
    (n_chosen_rows, n_cols), is number `first`; where the matrix is symmetric entries
    left of the diagonal are left out.
    """
    n_shifts, n_words = shifts.size - 1, rows.shape[2]
    n_moves = 2 * n_shifts + 1
    # Shifts are neighbors in memory, so that one instruction serves several of them:
    # a fifth of the time of one shift after the other.
    moved = np.empty((rows.shape[1], n_words, n_moves), dtype=np.uint64)
    equal = np.zeros((n_words + 1, n_moves), dtype=np.uint64)
    buffer = np.empty((rows.shape[1], n_words), dtype=np.uint64)
    weights, numbers = np.empty(n_moves), np.empty(n_moves, dtype=np.int64)
    for s in range(n_moves):
        weights[s] = shifts[abs(s - n_shifts)]
    for row in range(out.shape[0]):
        i = first + row
        for s in range(n_moves):
            shifted_by(rows[i], s - n_shifts, buffer)
            # One by one: an assignment of whole arrays takes four seconds to compile,
            # for the words of its error.
            for plane in range(rows.shape[1]):
                for w in range(n_words):
                    moved[plane, w, s] = buffer[plane, w]
        for j in range(i if symmetric else 0, cols.shape[0]):
            mark_equal(moved, cols, j, equal)
            out[row, j] = weigh_runs(equal, degrees, weights, numbers)
