"""The search for a kernel that bends down, once a solver is stuck."""

import numpy as np
from scipy.linalg import eigh

from multikernel._typing import Array
from multikernel.certificates.forms import check_forms
from multikernel.gram.base import GramMatrix, GramStack
from multikernel.gram.products import quadratic_forms_of, traces

ROUNDING = 1e-6
"""Curvature, over the trace, that passes as rounding of single precision."""

STEPS = 60
"""Lanczos steps: a negative end of the spectrum stands out after a few."""

STALE = 1e-10
"""New part of a Lanczos step, over the size of the images, that is rounding."""


def check_combination(gram: GramStack, weights: Array) -> None:
    """Raise if a direction shows that one of the combined kernels is indefinite.

    The direction is about the lowest eigenvector of the weighted sum, by Lanczos
    steps: some dozens of products with the sum. A quadratic form along it proves what
    the error says, so that a kernel that is positive semidefinite is never named; one
    that is not may be missed.

    Parameters
    ----------
    gram : GramStack
        Square kernel matrices.
    weights : ndarray of shape (n_kernels,)
        Weights of the sum, non-negative.

    Raises
    ------
    IndefiniteKernelError
        Naming the kernel that bends down most.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack
    >>> gram = DenseStack(np.array([np.eye(3), np.eye(3) - 0.8]))
    >>> check_combination(gram, np.array([1.0, 0.0]))
    >>> check_combination(gram, np.array([1.0, 1.0]))
    Traceback (most recent call last):
        ...
    multikernel.exceptions.IndefiniteKernelError: Gram matrix 1 is not positive \
semidefinite: a quadratic form of it is -1.4 (Rayleigh quotient -1.4, so it has an \
eigenvalue at or below that, where its trace is 0.6). Shift its diagonal by at least \
minus that eigenvalue, clip its negative eigenvalues, or leave it out.
    """
    active = np.flatnonzero(weights)
    if not active.size:
        return
    direction = lowest_direction(gram.combine(weights))
    forms = quadratic_forms_of(gram, active, direction)
    sizes = np.maximum(np.abs(traces(gram)[active]), np.finfo(float).tiny)
    worst = int(np.argmin(forms / sizes))
    if forms[worst] < -ROUNDING * sizes[worst]:
        chosen = active[[worst]]
        check_forms(gram.take(chosen), forms[[worst]], direction, chosen)


def lowest_direction(K: GramMatrix) -> Array:
    """Return a unit vector with about the smallest Rayleigh quotient.

    Parameters
    ----------
    K : GramMatrix
        Square and symmetric.

    Returns
    -------
    direction : ndarray of shape (n_samples,)
        The lowest Ritz vector of at most `STEPS` Lanczos steps, each of which is one
        product with `K` and is made orthogonal to all before.
    """
    n = K.shape[0]
    # The constant vector is what centred problems never look at: the start is near.
    step = 1.0 + 0.1 * np.random.default_rng(0).standard_normal(n)
    basis = np.empty((min(n, STEPS), n))
    images = np.empty_like(basis)
    size = 0
    while size < len(basis):
        length = float(np.linalg.norm(step))
        if size and length <= STALE * np.linalg.norm(images[:size]):
            break
        basis[size] = step / length
        images[size] = K.matvec(basis[size])
        size += 1
        step = images[size - 1].copy()
        # Twice, because once leaves rounding of the size of what was removed.
        for _ in range(2):
            step -= basis[:size].T @ (basis[:size] @ step)
    projected = basis[:size] @ images[:size].T
    _, ritz = eigh(0.5 * (projected + projected.T), subset_by_index=[0, 0])
    direction: Array = ritz[:, 0] @ basis[:size]
    return direction
