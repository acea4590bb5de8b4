r"""Newton steps on the face of the simplices that the masses are on.

Samples with mass on several classes are free to move it between these. Over their
positive masses, the dual is a quadratic with a block of curvature for each class,
coupled by the rows, which keep their sums, and by the classes, whose sums an intercept
holds. Both go by elimination: with the blocks :math:`K_c` the changes are

.. math:: \delta_c = K_c^{-1} (s_c - r + b_c 1),

and the multipliers r, b solve a system of as many equations as there are such samples
and classes.
"""

import numpy as np

from multikernel._typing import Array, Indices, Mask
from multikernel.linalg.shifted import solve_shifted

SHIFT = 1e-12
"""This share of the trace is added to diagonals, which is above the rounding of their
factorisations."""

MOST_FACES = 10
"""Systems of one call: each but the last ends where a mass vanishes."""


def torn_samples(masses: Array) -> Indices:
    """Return the samples with mass on several classes."""
    return np.flatnonzero(np.count_nonzero(masses > 0.0, axis=0) > 1)


def minimise_on_face(
    masses: Array, scores: Array, shift: Array, excess: Array, K: Array
) -> tuple[Array, Array, bool]:
    """Return the best masses of the face, or masses on its boundary, and intercepts.

    Parameters
    ----------
    masses, scores : ndarray of shape (n_classes, n_torn)
        Of the samples with mass on several classes; the scores without intercepts.
    shift : ndarray of shape (n_classes,)
        The intercepts.
    excess : ndarray of shape (n_classes,) or (0,)
        Sums of rho that the masses are to take up; empty without an intercept.
    K : ndarray of shape (n_torn, n_torn)
        Their Gram matrix.

    Returns
    -------
    masses : ndarray of shape (n_classes, n_torn)
    shift : ndarray of shape (n_classes,)
        The multipliers of the last system.
    reached : bool
        Whether these are the best masses.
    """
    masses, scores, free = masses.copy(), scores + shift[:, None], masses > 0.0
    left = excess.copy()
    for _ in range(MOST_FACES):
        try:
            change, b = _direction(K, scores, free, left)
        except np.linalg.LinAlgError:
            break
        falling = change < 0.0
        room = np.full_like(masses, np.inf)
        room[falling] = -masses[falling] / change[falling]
        step = min(1.0, float(room.min()))
        masses = np.where(room <= step, 0.0, np.maximum(masses + step * change, 0.0))
        scores = scores - (step * change) @ K
        left = (1.0 - step) * left
        if step == 1.0:
            return masses, shift + b, True
        free &= masses > 0.0
        if not np.any(free.sum(axis=0) > 1):
            break
    return masses, shift, False


def _direction(
    K: Array, scores: Array, free: Mask, excess: Array
) -> tuple[Array, Array]:
    """Return the changes of the free masses to the minimum, and of the intercepts."""
    changes, shifts = respond(K, scores[None], free, excess[None])
    return changes[0], shifts[0]


def respond(K: Array, scores: Array, free: Mask, excess: Array) -> tuple[Array, Array]:
    """Return what free masses, and the intercepts, do where scores change.

    Parameters
    ----------
    K : ndarray of shape (n_rows, n_rows)
        The Gram matrix of samples with mass on several classes.
    scores : ndarray of shape (n_changes, n_classes, n_rows)
        Several changes, each for itself.
    free : ndarray of bool, shape (n_classes, n_rows)
        The positive masses.
    excess : ndarray of shape (n_changes, n_classes) or (n_changes, 0)
        What the masses of each class are to take up; empty without an intercept.

    Returns
    -------
    changes : ndarray of shape (n_changes, n_classes, n_rows)
    shifts : ndarray of shape (n_changes, n_classes)

    Raises
    ------
    numpy.linalg.LinAlgError
        If a system has no factor.
    """
    n_changes, n_classes, n_rows = scores.shape
    size = n_rows + excess.shape[1]
    system, sides = np.zeros((size, size)), np.zeros((size, n_changes))
    sides[n_rows:] = excess.T
    members = [np.flatnonzero(own) for own in free]
    inverses = [_inverse(K[np.ix_(own, own)]) for own in members]
    for c, (own, inverse) in enumerate(zip(members, inverses, strict=True)):
        response = inverse @ scores[:, c, own].T
        system[np.ix_(own, own)] += inverse
        sides[own] += response
        if excess.size:
            sums = inverse.sum(axis=1)
            system[own, n_rows + c] -= sums
            system[n_rows + c, own] -= sums
            system[n_rows + c, n_rows + c] = sums.sum()
            sides[n_rows + c] -= response.sum(axis=0)
    # Rows without a free mass, and classes that no sample can leave, stay.
    alone = np.flatnonzero(system.diagonal() == 0.0)
    system[alone, alone], sides[alone] = 1.0, 0.0
    if excess.size:
        # One constant for all rows and classes changes nothing.
        corner = system[n_rows:, n_rows:]
        corner += float(corner.diagonal().mean()) / n_classes
    ridge = np.full(size, SHIFT * float(system.diagonal().mean()))
    found = solve_shifted(system, sides, ridge, None).T
    rows, shifts = found[:, :n_rows], np.zeros((n_changes, n_classes))
    shifts[:, : excess.shape[1]] = found[:, n_rows:]
    changes = np.zeros_like(scores)
    for c, (own, inverse) in enumerate(zip(members, inverses, strict=True)):
        moved = scores[:, c, own] - rows[:, own] + shifts[:, [c]]
        changes[:, c, own] = moved @ inverse
    # Rounding must not move what rows sum to.
    counts = np.maximum(free.sum(axis=0), 1)
    changes -= np.where(free, changes.sum(axis=1, keepdims=True) / counts, 0.0)
    return changes, shifts


def _inverse(K: Array) -> Array:
    """Return the inverse of a matrix, and of a tiny multiple of the identity."""
    if not K.size:
        return K
    ridge = np.full(len(K), SHIFT * max(float(np.trace(K)), 1e-300))
    return solve_shifted(K, np.eye(len(K)), ridge, None)
