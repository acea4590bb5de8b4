"""Compiled loops over matrices in memory: of single precision, and parts of them.

Of a part the entries of other samples are passed over, not copied, and only the lower
triangle is read: on 455 samples of 300 matrices of 569 x 569 a product takes 0.9 of the
time that it takes on a copy of their rows and columns, and a quadratic form 0.75, while
making that copy takes as long as some twenty passes.

Throughout, `array` are symmetric matrices of float64 or float32, (n_matrices, n, n),
`kernels` the n_chosen of them that are wanted, `weights` a number for each wanted one,
and `rows` the samples that count, ascending; `out` is overwritten unless it says
otherwise.
"""

from multikernel._typing import Array, Indices
from multikernel.gram.matrix import Stored
from multikernel.linalg.jit import loop


@loop(fastmath={"reassoc", "contract"})
def add_forms(
    array: Stored, kernels: Indices, rows: Indices, v: Array, out: Array
) -> None:
    """Add the quadratic forms of a vector by some matrices to `out`, (n_chosen,).

    The vector, (n,), may differ from zero at `rows` alone.
    """
    pairs = rows.size - rows.size % 2
    for c in range(kernels.size):
        K = array[kernels[c]]
        total = 0.0
        # Two rows at a time: the vector is then read half as often.
        for p in range(0, pairs, 2):
            i, k = rows[p], rows[p + 1]
            first, second = K[i], K[k]
            a, b = 0.0, 0.0
            for j in range(i):
                a += first[j] * v[j]
                b += second[j] * v[j]
            for j in range(i, k):
                b += second[j] * v[j]
            total += v[i] * (2.0 * a + first[i] * v[i])
            total += v[k] * (2.0 * b + second[k] * v[k])
        if pairs < rows.size:
            i = rows[pairs]
            last = K[i]
            a = 0.0
            for j in range(i):
                a += last[j] * v[j]
            total += v[i] * (2.0 * a + last[i] * v[i])
        out[c] += total


@loop(fastmath={"reassoc", "contract"})
def write_images(
    array: Stored, kernels: Indices, rows: Indices, vectors: Array, out: Array
) -> None:
    """Write the products of some matrices with a vector each, or with the same one.

    The vectors, (n_chosen, n) or (1, n), may differ from zero at `rows` alone; `out`,
    (n_chosen, n), is right there, and anything elsewhere.
    """
    pairs = rows.size - rows.size % 2
    for c in range(kernels.size):
        K, v, image = array[kernels[c]], vectors[c % len(vectors)], out[c]
        image[:] = 0.0
        for p in range(0, pairs, 2):
            i, k = rows[p], rows[p + 1]
            first, second = K[i], K[k]
            a, b, v_i, v_k = 0.0, 0.0, v[i], v[k]
            for j in range(i):
                a += first[j] * v[j]
                b += second[j] * v[j]
                image[j] += first[j] * v_i + second[j] * v_k
            image[i] += a + first[i] * v_i
            for j in range(i, k):
                b += second[j] * v[j]
                image[j] += second[j] * v_k
            image[k] += b + second[k] * v_k
        if pairs < rows.size:
            i = rows[pairs]
            last = K[i]
            a, v_i = 0.0, v[i]
            for j in range(i):
                a += last[j] * v[j]
                image[j] += last[j] * v_i
            image[i] += a + last[i] * v_i


@loop(fastmath={"reassoc", "contract"})
def _write_sum(
    rows: Stored, place: int, steps: Indices, factors: Array, out: Array
) -> None:
    """Write the sum over k of ``factors[k] * rows[place + steps[k]]`` into `out`.

    Eight rows at a time: each is in a page of its own, so that the memory is asked for
    eight things at once. Sums of 16 to 300 rows take two thirds of the time of one by
    one, and of 837 rows in matrices of 455 a tenth less than four at a time.
    """
    out[:] = 0.0
    eights = steps.size - steps.size % 8
    for k in range(0, eights, 8):
        a, b = rows[place + steps[k]], rows[place + steps[k + 1]]
        c, d = rows[place + steps[k + 2]], rows[place + steps[k + 3]]
        e, f = rows[place + steps[k + 4]], rows[place + steps[k + 5]]
        g, h = rows[place + steps[k + 6]], rows[place + steps[k + 7]]
        p, q, r, s = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
        t, u, v, w = factors[k + 4], factors[k + 5], factors[k + 6], factors[k + 7]
        for j in range(out.size):
            first = p * a[j] + q * b[j] + r * c[j] + s * d[j]
            out[j] += first + t * e[j] + u * f[j] + v * g[j] + w * h[j]
    for k in range(eights, steps.size):
        row, factor = rows[place + steps[k]], factors[k]
        for j in range(out.size):
            out[j] += factor * row[j]


@loop()
def write_cut(matrix: Stored, rows: Indices, out: Array) -> None:
    """Write the rows and columns of some samples of one matrix, (n_rows, n_rows).

    NumPy takes rows and then columns: of 480 among 600 samples that took 0.47 ms, and
    this takes 0.17.
    """
    for p in range(rows.size):
        row = matrix[rows[p]]
        for q in range(rows.size):
            out[p, q] = row[rows[q]]


@loop()
def combine_rows(  # noqa: PLR0913 - compiled code takes arrays, not objects
    every: Stored,
    steps: Indices,
    weights: Array,
    rows: Indices,
    task: tuple[int, int],
    workspace: Array,
    out: Array,
) -> None:
    """Write some rows of a weighted sum of matrices, and the same columns.

    `every` are the rows of all matrices, (n_matrices * n, n), and `steps` where those
    that are wanted begin. `out`, (n_rows, n_rows), is the sum at `rows`: those from the
    first of a `task` to before its last are written, of its lower triangle in rows and
    of its upper one in columns. The workspace is of shape (n,).
    """
    first, last = task
    for p in range(first, last):
        total = workspace[: rows[p] + 1]
        _write_sum(every, rows[p], steps, weights, total)
        for q in range(p + 1):
            out[p, q] = total[rows[q]]
    # Last, in runs: one entry of every row after another, a column takes twice as long.
    for q in range(last):
        for p in range(max(first, q + 1), last):
            out[q, p] = out[p, q]


@loop()
def write_sums(
    rows: Stored, places: Indices, steps: Indices, factors: Array, out: Array
) -> None:
    """Write sums over k of ``factors[i, k] * rows[places[i] + steps[k]]``, (n, n_cols).

    Of the rows of all matrices, one matrix after another: a sum of some matrices' rows
    of one number, or of some rows of one matrix. A single row of factors is for
    every sum.
    """
    for i in range(places.size):
        _write_sum(rows, places[i], steps, factors[i % len(factors)], out[i])
