"""The search for a kernel that bends down, once a solver is stuck."""

import numpy as np

from multikernel._typing import Array
from multikernel.certificates.forms import check_forms
from multikernel.gram.base import GramStack
from multikernel.gram.checks import ROUNDING
from multikernel.linalg.extremes import lowest_direction


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
    total = gram.combine(weights)
    size = float(np.abs(total.diagonal()).sum())
    direction = lowest_direction(total.matvec, gram.shape[1], size)
    forms = gram.once(active).quadratic_forms(direction)
    sizes = np.maximum(np.abs(gram.traces()[active]), np.finfo(float).tiny)
    worst = int(np.argmin(forms / sizes))
    if forms[worst] < -ROUNDING * sizes[worst]:
        chosen = active[[worst]]
        check_forms(gram.take(chosen), forms[[worst]], direction, chosen)
