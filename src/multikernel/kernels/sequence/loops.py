"""Compiled loops over common words, and over runs of equal letters."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.kernels.sequence.letters import Bits
from multikernel.linalg.jit import loop, part

Entries = tuple[Indices, Indices, Array, Array]
"""A sparse table: starts of its lists, their indices, values x, and x log x."""


@loop()
def add_common(
    rows: Entries, postings: Entries, mode: int, first: int, symmetric: bool, out: Array
) -> None:
    """Add sums over the common words of each pair of sequences to `out`.

    With `symmetric`, only entries on and right of the diagonal are changed.
    """
    # Row r of `out` is the sequence first + r of `rows`, which lists the words of each
    # sequence. `postings` lists the ascending sequences of each word, which are the
    # columns of `out`. `mode` is an index of `spectrum.COMPARISONS`.
    row_starts, words, row_values, row_logs = rows
    starts, sequences, values, logs = postings
    for row in range(out.shape[0]):
        i = first + row
        for t in range(row_starts[i], row_starts[i + 1]):
            word, p, p_log = words[t], row_values[t], row_logs[t]
            for u in range(starts[word + 1] - 1, starts[word] - 1, -1):
                j, q = sequences[u], values[u]
                if symmetric and j < i:
                    break
                if mode == 0:
                    summand = p * q
                elif mode == 1:
                    summand = min(p, q)
                else:
                    # The summand of the negative Jensen-Shannon divergence, too large
                    # by (p + q) log(2) / 2, which `MotifKernel.compare` subtracts.
                    total = p + q
                    summand = 0.5 * (total * np.log(total) - (p_log + logs[u]))
                out[row, j] += summand


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
def write_shifted(planes: Bits, shift: int, out: Bits) -> None:
    """Write the bits of `planes`, moved by `shift` positions, to `out`."""
    # Positive shifts move bits to later positions, negative ones to earlier positions.
    # Both arrays have shape (n_planes, n_words); bits beyond the ends are lost.
    n_words = planes.shape[1]
    words, bits = abs(shift) // 64, np.uint64(abs(shift) % 64)
    complement = np.uint64(64) - bits
    for plane in range(planes.shape[0]):
        for w in range(n_words):
            value = np.uint64(0)
            source = w - words if shift > 0 else w + words
            neighbor = source - 1 if shift > 0 else source + 1
            if 0 <= source < n_words:
                word = planes[plane, source]
                value = word << bits if shift > 0 else word >> bits
            if bits > 0 and 0 <= neighbor < n_words:
                word = planes[plane, neighbor]
                value |= word >> complement if shift > 0 else word << complement
            out[plane, w] = value


@part()
def mark_equal(shifted: Bits, cols: Bits, j: int, equal: Bits) -> None:
    """Write a bit to `equal` for each position where shifted and cols[j] agree."""
    # Shapes: `shifted` (n_planes + 1, n_words, n_moves), `cols` (n_cols, n_planes + 1,
    # n_words), `equal` (n_words + 1, n_moves), whose last row stays unchanged.
    n_planes = shifted.shape[0] - 1
    for w in range(shifted.shape[1]):
        is_letter = cols[j, n_planes, w]
        for s in range(shifted.shape[2]):
            equal[w, s] = shifted[n_planes, w, s] & is_letter
        for plane in range(n_planes):
            opposite = ~cols[j, plane, w]
            for s in range(shifted.shape[2]):
                equal[w, s] &= shifted[plane, w, s] ^ opposite


@part()
def weigh_runs(equal: Bits, degrees: Array, weights: Array, counts: Indices) -> float:
    """Return the number of runs of set bits, weighted by length and by shift."""
    # `equal` has one column of bits per shift, (n_words + 1, n_moves), with zeros in
    # the last row. It and `counts`, (n_moves,), are overwritten. `degrees` are the
    # weights of lengths, `weights` the weights of shifts.
    one, sixty_three = np.uint64(1), np.uint64(63)
    total = 0.0
    for degree in range(degrees.size):
        bits = np.uint64(0)
        counts[:] = 0
        for w in range(equal.shape[0] - 1):
            for s in range(weights.size):
                word = equal[w, s]
                counts[s] += count_bits(word)
                # Bit t is set if a run of degree + 1 bits starts at t. The run has one
                # bit more if bit t + 1 is set, too.
                word &= (word >> one) | (equal[w + 1, s] << sixty_three)
                equal[w, s] = word
                bits |= word
        weighted = 0.0
        for s in range(weights.size):
            weighted += weights[s] * counts[s]
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
    """Write the weighted number of equal words of each pair of sequences to `out`.

    With `symmetric`, only entries on and right of the diagonal are written.
    """
    # Row r of `out` is the sequence rows[first + r], column j the sequence cols[j].
    # `rows` and `cols` are from `weighted_degree.bit_planes`. Positions where two
    # sequences agree are bits, so 64 positions are compared at once: a common word of d
    # letters starts at a bit whose next d - 1 bits are set.
    # `degrees` contains the weights of words of 1, 2, ... letters, `shifts` the weights
    # of words whose positions in the two sequences differ by 0, 1, ...
    n_shifts, n_words = shifts.size - 1, rows.shape[2]
    n_moves = 2 * n_shifts + 1
    # Shifts are adjacent in memory, so one instruction processes several: five times
    # faster.
    shifted = np.empty((rows.shape[1], n_words, n_moves), dtype=np.uint64)
    equal = np.zeros((n_words + 1, n_moves), dtype=np.uint64)
    buffer = np.empty((rows.shape[1], n_words), dtype=np.uint64)
    weights, counts = np.empty(n_moves), np.empty(n_moves, dtype=np.int64)
    for s in range(n_moves):
        weights[s] = shifts[abs(s - n_shifts)]
    for row in range(out.shape[0]):
        i = first + row
        for s in range(n_moves):
            write_shifted(rows[i], s - n_shifts, buffer)
            # Assignments of whole arrays take four seconds to compile.
            for plane in range(rows.shape[1]):
                for w in range(n_words):
                    shifted[plane, w, s] = buffer[plane, w]
        for j in range(i if symmetric else 0, cols.shape[0]):
            mark_equal(shifted, cols, j, equal)
            out[row, j] = weigh_runs(equal, degrees, weights, counts)
