"""Compiled loops over sequences: words, common words, runs of matches."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.kernels.sequence.letters import Bits, Letters
from multikernel.linalg.jit import loop, part

LINEAR, INTERSECTION, JENSEN_SHANNON = 0, 1, 2
"""Comparisons of the values of two sequences at a common word."""


@loop()
def word_codes(
    codes: Letters, starts: Indices, offsets: Indices, size: int, out: Indices
) -> Indices:
    """Write the code of every word of every sequence; return the ends of sequences.

    `codes` are letter codes, 255 for unknown letters. Words of sequence i are written
    to ``out[ends[i] : ends[i + 1]]``, ascending. `offsets` are the ascending positions
    of a word's letters, and `size` is the size of the alphabet.
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
    """Add sums over common words to some rows of a matrix.

    Words of row i begin at ``row_starts[i]``. Columns with word u begin at
    ``posting_starts[u]``, ascending, with values x and x log x (only for
    `JENSEN_SHANNON`). `out` has shape (n_chosen_rows, n_cols) and begins at row
    `first`. If the matrix is symmetric, entries left of the diagonal are skipped.
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


@part()
def count_bits(word: np.uint64) -> np.int64:
    """Return the number of ones in a word."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@part()
def shifted_by(planes: Bits, shift: int, out: Bits) -> None:
    """Write bits shifted to later positions; negative shifts move to earlier ones.

    Both arrays have shape (n_planes, n_words); bits beyond the ends are lost.
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


@part()
def mark_equal(moved: Bits, cols: Bits, j: int, equal: Bits) -> None:
    """Write a bit for each position where shifts of a sequence agree with column j.

    `moved` contains all shifts of the sequence, (n_planes + 1, n_words, n_moves), and
    `cols` the sequences of the columns, (n_cols, n_planes + 1, n_words). The last row
    of `equal`, (n_words + 1, n_moves), stays unchanged.
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


@part()
def weigh_runs(equal: Bits, degrees: Array, weights: Array, numbers: Indices) -> float:
    """Return the weighted number of runs of set bits, over lengths and shifts.

    `equal` has one column of bits per shift, (n_words + 1, n_moves), with zeros in the
    last row. It and `numbers`, (n_moves,), are overwritten. `degrees` are the weights
    of lengths, `weights` those of shifts.
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
                # A run continues if the next bit also starts a run.
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
    """Write the weighted number of equal words at equal or shifted positions.

    Positions where two sequences agree are bits, so 64 positions are compared at once:
    a common word of d letters starts at a bit whose next d - 1 bits are set. `rows` and
    `cols` are from `weighted_degree.bit_planes`. `degrees` are the weights of word
    lengths, `shifts` those of distances. `out` begins at row `first`; if the matrix is
    symmetric, entries left of the diagonal are skipped.
    """
    n_shifts, n_words = shifts.size - 1, rows.shape[2]
    n_moves = 2 * n_shifts + 1
    # Shifts are adjacent in memory, so one instruction processes several: five times
    # faster.
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
            # Assignments of whole arrays take four seconds to compile.
            for plane in range(rows.shape[1]):
                for w in range(n_words):
                    moved[plane, w, s] = buffer[plane, w]
        for j in range(i if symmetric else 0, cols.shape[0]):
            mark_equal(moved, cols, j, equal)
            out[row, j] = weigh_runs(equal, degrees, weights, numbers)
