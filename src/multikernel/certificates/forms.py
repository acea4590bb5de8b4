"""Dual norms, and the checks that quadratic forms and their sums are a kernel's."""

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram.base import GramStack
from multikernel.gram.checks import ROUNDING
from multikernel.linalg import TINY
from multikernel.linalg.spectra import lowest_direction


def factor_norms(gram: GramStack, v: Array) -> Array:
    """Return ||v||_{K_m} for every matrix of a stack: one pass.

    Parameters
    ----------
    gram : GramStack
        The matrices.
    v : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        A dual variable, or expansions.

    Returns
    -------
    norms : ndarray of shape (n_kernels,)

    Raises
    ------
    IndefiniteKernelError
        If a quadratic form is negative beyond rounding, so that its matrix is no
        kernel matrix.
    """
    forms = gram.quadratic_forms(v)
    check_forms(gram, forms, v)
    return np.sqrt(np.maximum(forms, 0.0))


def dual_norms(gram: GramStack, rho: Array) -> Array:
    """Return ||rho||_{K_m} for every kernel, or upper bounds on them: one pass.

    Parameters
    ----------
    gram : GramStack
        The kernel matrices.
    rho : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Dual variable.

    Returns
    -------
    norms : ndarray of shape (n_kernels,)
        Those of the kernels that the stack stands for: where it leaves a residual of
        them, what that adds at most is included (`GramStack.residual_bounds`).

    Raises
    ------
    IndefiniteKernelError
        As `factor_norms`.
    """
    norms = factor_norms(gram, rho)
    return np.sqrt(norms**2 + gram.residual_bounds(rho))


def not_finite(kernel: int) -> str:
    """Return the sentence about a matrix that products cannot be taken with."""
    return (
        f"Gram matrix {kernel} has values that are not finite, or too large for "
        "products with them: impute or scale the data, or leave it out."
    )


def check_forms(
    gram: GramStack, forms: Array, rho: Array, kernels: Indices | None = None
) -> None:
    """Raise if a quadratic form is not finite, or negative beyond rounding.

    Parameters
    ----------
    gram : GramStack
        The kernel matrices.
    forms : ndarray of shape (n_kernels,)
        Their quadratic forms of `rho`.
    rho : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The vector.
    kernels : ndarray of shape (n_kernels,), optional
        What the message calls the kernels, where `gram` is a part of a stack.

    Raises
    ------
    IndefiniteKernelError
        Naming the worst kernel.
    """
    # |rho|^2 times the trace bounds the form.
    lowest = int(np.argmin(forms))
    if forms[lowest] >= 0.0 and np.isfinite(forms).all():
        return
    size = float(np.sum(rho * rho))
    diagonal = gram.traces()
    depth = np.where(np.isfinite(forms), -forms, np.inf)
    bad = depth > ROUNDING * size * np.maximum(np.abs(diagonal), TINY)
    bad |= ~np.isfinite(forms)
    if not bad.any():
        return
    worst = int(np.argmax(np.where(bad, depth, -np.inf)))
    curvature = forms[worst] / max(size, TINY)
    name = worst if kernels is None else int(kernels[worst])
    if not np.isfinite(forms[worst]):
        raise IndefiniteKernelError(not_finite(name), kernel=name)
    raise IndefiniteKernelError(
        f"Gram matrix {name} is not positive semidefinite: a quadratic form of it is "
        f"{forms[worst]:.3g} (Rayleigh quotient {curvature:.3g}, so it has an "
        "eigenvalue at or below that, where its trace is "
        f"{diagonal[worst]:.3g}). Shift its diagonal by at least minus that "
        "eigenvalue, clip its negative eigenvalues, or leave it out.",
        kernel=name,
    )


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
