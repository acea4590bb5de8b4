"""Compiled loops of UFO-MKL: visits of samples, and the weights of kernels."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.linalg.jit import loop, part


@loop(error_model="numpy")
def slopes(
    squares: Array, scale: float, threshold: float, strength: float, exponent: float
) -> Array:
    """Return the weight of each kernel in the next model w of `UFOMKL`."""
    # Let g be the sum of the loss slopes of all visits. The part of w for kernel m is
    # -weights[m] K_m g. `squares` are g^T K_m g; `scale` is n_samples divided by the
    # number of visited samples. The other arguments belong to the penalty. With
    # s_m = scale sqrt(squares_m), a the threshold, q the exponent and v = max(s - a,
    # 0), the weights are
    #     scale v_m^(q - 1) / (strength |v|_q^(q - 2) s_m).
    norms = scale * np.sqrt(np.maximum(squares, 0.0))
    weights = np.zeros(norms.size)
    largest = max(norms.max() - threshold, 0.0)
    if largest == 0.0:
        return weights
    # Divide by the largest norm, so that powers do not overflow.
    total = 0.0
    for m in range(norms.size):
        total += (max(norms[m] - threshold, 0.0) / largest) ** exponent
    factor = scale * largest * total ** (2.0 / exponent - 1.0) / strength
    for m in range(norms.size):
        share = max(norms[m] - threshold, 0.0) / largest
        if share > 0.0:
            weights[m] = factor * share ** (exponent - 1.0) / norms[m]
    return weights


@loop(error_model="numpy")
def visit(  # noqa: PLR0913 - compiled code takes arrays, not objects
    columns: Array,
    places: Indices,
    samples: Indices,
    labels: Indices,
    sizes: Array,
    visited: int,
    threshold: float,
    strength: float,
    exponent: float,
    coefs: Array,
    images: Array,
    squares: Array,
) -> int:
    """Visit `samples` in turn; return the number of nonzero slopes of the loss."""
    # Slopes of the loss at a sample are subtracted from its column of `coefs`, and
    # `images` and `squares` are updated. `coefs`, (n_outputs, n_samples), is minus the
    # sum of the slopes of the `visited` samples; `images`, (n_kernels, n_outputs,
    # n_samples), and `squares` are the images and squared norms of `coefs`. `columns`,
    # (n_columns, n_kernels, n_samples), are from all Gram matrices; `places` are the
    # indices of the samples' columns. `labels` are class indices, or -1 and 1 for one
    # output. `sizes` are sample weights.
    n_kernels, n_outputs, n = images.shape
    scores = np.empty(n_outputs)
    n_steps = 0
    for k in range(samples.size):
        i = samples[k]
        scale = n / max(visited + k, 1)
        weights = slopes(squares, scale, threshold, strength, exponent)
        scores[:] = 0.0
        for m in range(n_kernels):
            for c in range(n_outputs):
                scores[c] += weights[m] * images[m, c, i]
        if n_outputs == 1:
            if labels[i] * scores[0] < 1.0:
                n_steps += 1
                size = labels[i] * sizes[i]
                _add_to_output(columns[places[k]], i, 0, size, coefs, images, squares)
            continue
        other = _violating_class(scores, labels[i])
        if other != labels[i]:
            n_steps += 1
            _add_to_output(
                columns[places[k]], i, labels[i], sizes[i], coefs, images, squares
            )
            _add_to_output(
                columns[places[k]], i, other, -sizes[i], coefs, images, squares
            )
    return n_steps


@part(error_model="numpy")
def _violating_class(scores: Array, own: int) -> int:
    """Return the class with the largest loss, or `own` if the loss is zero."""
    other, highest = own, scores[own]
    for c in range(scores.size):
        if c != own and 1.0 + scores[c] > highest:
            other, highest = c, 1.0 + scores[c]
    return other


@part(error_model="numpy")
def _add_to_output(  # noqa: PLR0913 - compiled code takes arrays, not objects
    rows: Array,
    i: int,
    output: int,
    size: float,
    coefs: Array,
    images: Array,
    squares: Array,
) -> None:
    """Add `size` to coefs[output, i]; update images K_m coefs and squared norms."""
    coefs[output, i] += size
    for m in range(squares.size):
        row, line = rows[m], images[m, output]
        squares[m] += size * (2.0 * line[i] + size * row[i])
        for j in range(row.size):
            line[j] += size * row[j]
