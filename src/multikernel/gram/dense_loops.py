"""Compiled loops over lower triangles of symmetric matrices, for chosen samples."""

from multikernel._typing import Array, Indices
from multikernel.gram.matrix import Stored
from multikernel.linalg.jit import loop, part


@loop(fastmath={"reassoc", "contract"})
def write_images(
    array: Stored, kernels: Indices, rows: Indices, vectors: Array, out: Array
) -> None:
    """Write array[k] v for `kernels` k, each with its own vector v or all with one."""
    # Vectors, (n_chosen, n) or (1, n), are zero outside `rows`; `out`, (n_chosen, n),
    # is valid only at `rows`, which are ascending. Matrices are symmetric, and only the
    # lower triangle is read: its entry (i, j) contributes to both out[i] and out[j].
    # Two rows are read at a time, so vectors are read half as often.
    n_in_pairs = rows.size - rows.size % 2
    for c in range(kernels.size):
        K, v, image = array[kernels[c]], vectors[c % len(vectors)], out[c]
        for j in range(image.size):
            image[j] = 0.0
        for p in range(0, n_in_pairs, 2):
            i, k = rows[p], rows[p + 1]
            row_i, row_k = K[i], K[k]
            a, b, v_i, v_k = 0.0, 0.0, v[i], v[k]
            for j in range(i):
                a += row_i[j] * v[j]
                b += row_k[j] * v[j]
                image[j] += row_i[j] * v_i + row_k[j] * v_k
            image[i] += a + row_i[i] * v_i
            for j in range(i, k):
                b += row_k[j] * v[j]
                image[j] += row_k[j] * v_k
            image[k] += b + row_k[k] * v_k
        if n_in_pairs < rows.size:
            i = rows[n_in_pairs]
            row_i = K[i]
            a, v_i = 0.0, v[i]
            for j in range(i):
                a += row_i[j] * v[j]
                image[j] += row_i[j] * v_i
            image[i] += a + row_i[i] * v_i


@part(fastmath={"reassoc", "contract"})
def _write_sum(
    rows: Stored, start: int, offsets: Indices, factors: Array, out: Array
) -> None:
    """Write the sum over k of ``factors[k] * rows[start + offsets[k]]`` into `out`."""
    for j in range(out.size):
        out[j] = 0.0
    n_in_eights = offsets.size - offsets.size % 8
    for k in range(0, n_in_eights, 8):
        a, b = rows[start + offsets[k]], rows[start + offsets[k + 1]]
        c, d = rows[start + offsets[k + 2]], rows[start + offsets[k + 3]]
        e, f = rows[start + offsets[k + 4]], rows[start + offsets[k + 5]]
        g, h = rows[start + offsets[k + 6]], rows[start + offsets[k + 7]]
        p, q, r, s = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
        t, u, v, w = factors[k + 4], factors[k + 5], factors[k + 6], factors[k + 7]
        for j in range(out.size):
            total = p * a[j] + q * b[j] + r * c[j] + s * d[j]
            out[j] += total + t * e[j] + u * f[j] + v * g[j] + w * h[j]
    for k in range(n_in_eights, offsets.size):
        row, factor = rows[start + offsets[k]], factors[k]
        for j in range(out.size):
            out[j] += factor * row[j]


@loop()
def combine_rows(  # noqa: PLR0913 - compiled code takes arrays, not objects
    all_rows: Stored,
    first_rows: Indices,
    weights: Array,
    samples: Indices,
    out_rows: tuple[int, int],
    row_buffer: Array,
    out: Array,
) -> None:
    """Write some rows of a weighted sum of matrices, between `samples`, to `out`."""
    # `all_rows`, (n_matrices * n, n), has the rows of all matrices. Chosen matrix k
    # begins at the row with index first_rows[k], and has the weight weights[k]. With
    # `out_rows` = (start, stop), a call writes the rows start:stop of the lower
    # triangle of `out`, (n_samples, n_samples), and the same columns of its upper
    # triangle. `row_buffer`, (n,), is workspace.
    start, stop = out_rows
    for p in range(start, stop):
        total = row_buffer[: samples[p] + 1]
        _write_sum(all_rows, samples[p], first_rows, weights, total)
        for q in range(p + 1):
            out[p, q] = total[samples[q]]
    # The upper triangle is copied last, along its rows: writing both triangles at once
    # takes twice as long.
    for q in range(stop):
        for p in range(max(start, q + 1), stop):
            out[q, p] = out[p, q]


@loop()
def write_scaled_sum(
    array: Stored,
    kernels: Indices,
    weights: Array,
    scale: Array,
    rows: tuple[int, int],
    out: Array,
) -> None:
    """Write the upper triangle of I + S (sum_k weights[k] K_k) S, S = diag(scale)."""
    # `kernels` are the indices of the matrices K_k in `array`. With `rows` = (start,
    # stop), a call writes these rows of `out`, from the diagonal on.
    start, stop = rows
    for i in range(start, stop):
        total = out[i, i:]
        for j in range(total.size):
            total[j] = 0.0
        for k in range(kernels.size):
            row, factor = array[kernels[k], i, i:], weights[k] * scale[i]
            for j in range(total.size):
                total[j] += factor * row[j]
        for j in range(total.size):
            total[j] *= scale[i + j]
        total[0] += 1.0


@loop()
def write_sums(
    rows: Stored, starts: Indices, offsets: Indices, factors: Array, out: Array
) -> None:
    """Write out[i], the sum over k of factors[i, k] * rows[starts[i] + offsets[k]]."""
    # If `factors` has a single row, it is used for every sum.
    for i in range(starts.size):
        _write_sum(rows, starts[i], offsets, factors[i % len(factors)], out[i])
