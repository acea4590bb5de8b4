"""Newton steps on the current face of the simplices, where zero masses remain zero.

The masses are the dual variables of module `machine`, in one simplex per sample. Only
the positive masses of samples with several positive masses change. K_c is the Gram
matrix of the samples whose mass of class c changes. The sums of the masses of each
sample and, with an intercept, of each class are fixed, which couples the blocks: the
masses of class c change by K_c^-1 (s_c - r + b_c), with the decision values s_c of the
class. The multipliers r, one per sample, and b_c, one per class, solve a linear system.
A step that leaves the simplices is projected onto them.
"""

import numpy as np

from multikernel._typing import Array, Mask
from multikernel.linalg.shifted import solve_shifted
from multikernel.linalg.simplex_system import SimplexSystem, project_simplex
from multikernel.machines.base import MOST_FACES

LENGTHS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01)
"""Shares of a step that are projected if the full step leaves the simplices."""


def minimize_on_face(
    masses: Array, scores: Array, intercepts: Array, class_sums: Array, K: Array
) -> tuple[Array, Array, bool]:
    """Minimize the dual objective over the positive masses.

    Return the new masses, the intercepts, and whether both are optimal on the face.
    """
    # Only the n_split samples with mass on several classes may change. `masses` and
    # `scores`, which exclude the intercepts, have shape (n_classes, n_split); K is the
    # Gram matrix of these samples. `class_sums` contains each class's sum of rho, which
    # the changes of the masses must cancel; it is empty without an intercept. The new
    # intercepts are the multipliers of the last linear system; if they are not optimal,
    # `intercepts` is returned unchanged.
    masses, is_free = masses.copy(), masses > 0.0
    scores = scores + intercepts[:, None]
    remaining = class_sums.copy()
    for _ in range(MOST_FACES):
        try:
            change, b = _direction(K, scores, is_free, remaining)
        except np.linalg.LinAlgError:
            break
        if np.all(masses + change >= 0.0):
            return masses + change, intercepts + b, True
        # A step that leaves the simplices is projected, and more masses become zero.
        next_masses = _best_projected_step(masses, change, scores + b[:, None], K)
        if next_masses is None:
            break
        scores = scores - (next_masses - masses) @ K
        remaining = remaining - (next_masses - masses).sum(axis=1)[: remaining.size]
        masses = next_masses
        is_free &= masses > 0.0
        if not np.any(is_free.sum(axis=0) > 1):
            break
    return masses, intercepts, False


def _best_projected_step(
    masses: Array, change: Array, scores: Array, K: Array
) -> Array | None:
    """Return the best masses after projected steps; None if no step is better."""
    # With a matrix of low rank and large scale, only flat directions decrease the
    # objective. Projections may leave these directions, so the unprojected step up to
    # the boundary is tried as well. `value` is the change of the minimized objective.
    totals, best, lowest = masses.sum(axis=0), None, 0.0
    projected = (project_simplex((masses + x * change).T, totals).T for x in LENGTHS)
    for candidate in (_step_to_first_bound(masses, change), *projected):
        direction = candidate - masses
        value = 0.5 * float(np.vdot(direction @ K, direction))
        value -= float(np.vdot(scores, direction))
        if value < lowest:
            best, lowest = candidate, value
    return best


def _step_to_first_bound(masses: Array, change: Array) -> Array:
    """Return the masses after the longest step that keeps all of them nonnegative."""
    lengths = np.full_like(masses, np.inf)
    np.divide(masses, -change, out=lengths, where=change < 0.0)
    stepped = np.maximum(masses + lengths.min() * change, 0.0)
    stepped[lengths == lengths.min()] = 0.0
    return np.asarray(stepped)


def _direction(
    K: Array, scores: Array, is_free: Mask, class_sums: Array
) -> tuple[Array, Array]:
    """Return the Newton steps of the positive masses and of the intercepts."""
    # The masses of class c change by K_c^-1 (s_c - r + b_c) with its scores s_c, such
    # that the sum for each sample does not change (multipliers r) and, if `class_sums`
    # is not empty, the sums for the classes are `class_sums` (multipliers b).
    rows_of_class = [np.flatnonzero(rows) for rows in is_free]
    inverses = [_inverse(K[np.ix_(rows, rows)]) for rows in rows_of_class]
    no_diagonal = np.zeros((len(K), len(rows_of_class)))
    centered = class_sums.size > 0
    system = SimplexSystem(no_diagonal, rows_of_class, inverses, centered=centered)
    changes, shifts = system.solve(scores.T[None], class_sums if centered else None)
    return np.ascontiguousarray(changes[0].T), -shifts[0]


def _inverse(K: Array) -> Array:
    """Return (K + ridge I)^-1, with a tiny ridge against rounding."""
    if not K.size:
        return K
    # The ridge exceeds the rounding errors of the factorization.
    ridge = np.full(len(K), 1e-12 * max(float(np.trace(K)), 1e-300))
    return solve_shifted(K, np.eye(len(K)), ridge, None)
