"""A compiled loop that optimizes the dual variables of one sample after another."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.linalg.jit import loop, part


@part(error_model="numpy")
def simplex_shift(row: Array, total: float, sorted_row: Array) -> float:
    """Return the t with sum(max(row - t, 0)) = total; `sorted_row` is workspace."""
    n = row.size
    # Insertion sort is fastest for short rows.
    for k in range(n):
        x, position = row[k], k
        while position > 0 and sorted_row[position - 1] < x:
            sorted_row[position] = sorted_row[position - 1]
            position -= 1
        sorted_row[position] = x
    # Differences from the largest number avoid cancellation.
    largest: float = sorted_row[0]
    partial_sum, shift = 0.0, -1.0 * total
    for k in range(1, n):
        x = sorted_row[k] - largest
        if x <= shift:
            break
        partial_sum += x
        shift = (partial_sum - total) / (k + 1)
    return largest + shift


@loop(error_model="numpy")
def sweep(  # noqa: PLR0913 - compiled code takes arrays, not objects
    masses: Array,
    scores: Array,
    shift: Array,
    excess: Array,
    penalty: float,
    weights: Array,
    diagonal: Array,
    K: Array,
    order: Indices,
    min_gap: float,
) -> tuple[int, float]:
    """Optimize each sample's masses in place; return number of moves and total gap."""
    # Masses, and scores 1[c != y] + K rho without intercepts, are (n_classes,
    # n_samples). `shift` and `excess`, (n_classes,), are the intercepts and the sum of
    # rho for each class, with a `penalty` on these sums. `scores` and `excess` follow
    # the masses. The total gap adds the gap of each sample before its move; samples
    # with a gap of at most `min_gap` stay.
    n_classes, n = masses.shape
    class_scores, target = np.empty(n_classes), np.empty(n_classes)
    workspace = np.empty(n_classes)
    steps, total = 0, 0.0
    for i in order:
        largest, mean = -np.inf, 0.0
        for c in range(n_classes):
            class_scores[c] = scores[c, i] + shift[c] + penalty * excess[c]
            largest = max(largest, class_scores[c])
        for c in range(n_classes):
            mean += masses[c, i] * (largest - class_scores[c])
        total += mean
        if not mean > min_gap:
            continue
        curvature = max(diagonal[i] + penalty, 1e-300)
        for c in range(n_classes):
            target[c] = masses[c, i] + (class_scores[c] - largest) / curvature
        shift_of_row = simplex_shift(target, weights[i], workspace)
        row = K[i]
        for c in range(n_classes):
            mass = max(target[c] - shift_of_row, 0.0)
            change = mass - masses[c, i]
            if change != 0.0:
                masses[c, i] = mass
                excess[c] -= change
                class_row = scores[c]
                for k in range(n):
                    class_row[k] -= change * row[k]
        steps += 1
    return steps, total
