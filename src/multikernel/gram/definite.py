"""Is a Gram matrix one of a kernel: a search for its lowest direction, and a probe."""

from collections.abc import Iterator

import numpy as np
from scipy.linalg.lapack import dpotrf

from multikernel._typing import Array, Indices
from multikernel._validation import OneOf, check_parameter
from multikernel.exceptions import IndefiniteKernelError
from multikernel.gram.base import GramStack
from multikernel.gram.checks import ROUNDING, Probe
from multikernel.gram.dense import ENTRIES_PER_TASK, LOOPS, DenseStack, Stored
from multikernel.gram.matrix import GramMatrix
from multikernel.gram.refine import landmarks_of
from multikernel.gram.views import ScaledStack
from multikernel.kernels.base import KernelDictionary
from multikernel.kernels.built_in import is_built_in
from multikernel.linalg.spectra import lowest_direction
from multikernel.linalg.tables import read_only
from multikernel.linalg.threads import compiled, run_blocks, with_one_blas_thread

CHOICES = ("auto", "active", "all", "none")
"""Values of ``check_psd``."""

WITHOUT_PROOF = "check_psd='none' does without the proof."
"""Advice where it is only the check that stands in the way."""

FACTORISED = 512
"""Samples up to which a matrix is factorised before its lowest direction is searched
for: with 200, 455 and 600 samples that took 0.2, 1.2 and 2.4 ms, and the search 1.3,
1.9 and 4.5 ms (Gaussian matrices, one thread)."""

HELD = 2048
"""Samples up to which a sum is factorised, 0.2 s there, and a computed matrix held."""

SEARCH_PRODUCTS, FACTOR_RATE = 32, 28.0
"""Products that a search takes about, and how many rows a factorisation gets over while
a product reads one: its price is n / 28 products, 16 with 455 samples."""

SMALL_ENTRIES = 2**25
"""Entries, 20 ms, that a full check may read whatever else a fit does."""


def lowest_eigenvalue(K: GramMatrix) -> float:
    """Return about the lowest eigenvalue of a symmetric matrix, never one below it.

    It is the Rayleigh quotient of the direction that `lowest_direction` finds, which is
    a proof that an eigenvalue is at or below it.
    """
    size = float(np.abs(K.diagonal()).sum())
    direction = lowest_direction(K.matvec, K.shape[0], size)
    return float(direction @ K.matvec(direction))


def check_definite(
    stack: GramStack,
    dictionary: KernelDictionary | None,
    active: Indices,
    how: str = "auto",
    weights: Array | None = None,
) -> str:
    r"""Raise if a kernel that nobody vouches for is found not to be one.

    Kernels of this library are positive semidefinite by their formulas, and factors
    by how they are made; neither is looked at. In full, a matrix is factorised or its
    lowest direction searched for, which finds an eigenvalue of -1e-4 of the trace and
    often smaller ones, and takes some dozens of products. The probe takes six: the
    lowest Ritz value of Lanczos's method from a random vector, and every entry beside
    the diagonal's, :math:`K_{ij}^2 \le K_{ii} K_{jj}`. Whatever is refused is proven
    to be no kernel. The probe may let pass a matrix with an eigenvalue of -1 % of its
    trace.

    What remains proven then rests on the weighted sum, which is factorised: that
    :math:`K_\theta = \sum_m \theta_m K_m` is positive semidefinite at the weights of
    the model. Weak duality asks this at the weights that are compared, and not for each
    matrix: a dual point :math:`\rho` bounds the objective of all weights whose sum is
    positive semidefinite from below, as :math:`\rho^\top K_\theta \rho` is a sum of
    the forms that the gap is computed from. So among these weights the gap holds; what
    is left open is whether weights whose sum is *not* a kernel would seem better.

    Parameters
    ----------
    stack : GramStack
        The training matrices of all kernels.
    dictionary : KernelDictionary or None
        The kernels; None for precomputed ones.
    active : ndarray of shape (n_active,)
        The kernels of the model.
    how : {"auto", "active", "all", "none"}, default="auto"
        "active" looks at the kernels of the model in full, "all" at every kernel,
        "none" at no kernel. "auto" looks at the model's kernels: in full where they are
        few or small, so that it takes no more than a pass over all kernels or some
        hundredths of a second; otherwise by the probe, and at their sum.
    weights : ndarray of shape (n_kernels,) or (n_outputs, n_kernels), optional
        Of the sums that models use; the plain sum over `active` when left out.

    Returns
    -------
    checked : {"formula", "factors", "full", "probe", "none"}
        What the kernels looked at are known by, the weakest of all.

    Raises
    ------
    IndefiniteKernelError
        Naming all such kernels among those that are looked at, their lowest
        eigenvalues, and what can be done.

    Examples
    --------
    >>> from multikernel.gram import DenseStack
    >>> stack = DenseStack(np.array([np.eye(2), [[1.0, 1.5], [1.5, 1.0]]]))
    >>> check_definite(stack, None, np.array([0]))
    'full'
    >>> check_definite(stack, None, np.array([0, 1]))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    multikernel.exceptions.IndefiniteKernelError: Gram matrix 1 is not positive ...
    """
    check_parameter("check_definite", "how", how, OneOf(CHOICES))
    if how == "none":
        return "none"
    looked_at = range(stack.shape[0]) if how == "all" else active.tolist()
    unknown = [
        m for m in looked_at if dictionary is None or not is_built_in(dictionary[m])
    ]
    if not unknown:
        return "formula"
    # The eigenvalue belongs to the matrix as it was given, where that is known.
    held = stack.stack if isinstance(stack, ScaledStack) else stack
    if landmarks_of(held) is not None:
        return "factors"
    if how == "auto" and not _is_cheap(held.shape, len(unknown)):
        _search(held, _suspects(held, unknown), exact=True)
        if weights is None:
            weights = np.bincount(active, minlength=stack.shape[0]).astype(np.float64)
        if _sums_are_definite(stack, np.atleast_2d(weights)):
            return "probe"
    _search(held, unknown)
    return "full"


def _is_cheap(shape: tuple[int, ...], n_unknown: int) -> bool:
    """Return whether a full check of `n_unknown` matrices costs little beside a fit.

    A matrix costs the products of a search, or of a factorisation if that is less. They
    may be one pass over all kernels, or `SMALL_ENTRIES` entries. One matrix is always
    checked in full.
    """
    n_kernels, n, _ = shape
    products = n_unknown * min(SEARCH_PRODUCTS, max(1.0, n / FACTOR_RATE))
    return n_unknown == 1 or products <= max(n_kernels, SMALL_ENTRIES / n**2)


def _search(held: GramStack, kernels: list[int], *, exact: bool = False) -> None:
    """Raise if some of the matrices have an eigenvalue clearly below zero."""
    eigenvalues: dict[int, tuple[float, float]] = {}

    def look(m: int) -> None:
        K = held.take(np.array([m])).combine(np.ones(1))
        trace = float(K.diagonal().sum())
        if exact and K.array is not None:
            lowest = float(np.linalg.eigvalsh(K.array)[0])
        elif _factorises(K, ROUNDING * abs(trace), FACTORISED):
            return
        else:
            lowest = lowest_eigenvalue(K)
        if lowest < -ROUNDING * abs(trace):
            if K.array is not None and K.shape[0] <= FACTORISED:
                lowest = float(np.linalg.eigvalsh(K.array)[0])
            eigenvalues[m] = lowest, trace

    # Other storage computes a matrix on all threads.
    run_blocks(look, kernels, None if held.in_memory else 1)
    if eigenvalues:
        raise _indefinite(dict(sorted(eigenvalues.items())))


def _indefinite(found: dict[int, tuple[float, float]]) -> IndefiniteKernelError:
    """Return what says of matrices their lowest eigenvalues, beside their traces."""
    first, *others = found
    lowest, trace = found[first]
    message = (
        f"Gram matrix {first} is not positive semidefinite: it has an eigenvalue "
        f"of {lowest:.3g}, where its trace is {trace:.3g}. "
    )
    if others:
        each = (f"{m} ({found[m][0]:.3g} of {found[m][1]:.3g})" for m in others)
        message += f"Nor are others: {', '.join(each)}. "
    message += (
        "So it is no kernel, and the duality gap proves nothing. Repair it with "
        "repair_gram(K, 'clip'), 'shift' or 'flip', within folds with GramRepair, or "
        f"leave it out; {WITHOUT_PROOF}"
    )
    return IndefiniteKernelError(message, first, tuple(found))


def _suspects(held: GramStack, kernels: list[int]) -> list[int]:
    """Return the kernels whose matrix the probe shows to be indefinite."""
    n = held.shape[1]
    if not isinstance(held, DenseStack) and n > HELD:
        return kernels  # Too large to be held, so that no probe is quicker.
    start = np.random.default_rng(0).standard_normal(n)
    start /= np.linalg.norm(start)
    write = compiled(LOOPS, "write_lanczos")
    probe = Probe.empty(len(kernels), n)

    def work(block: tuple[slice, Stored, Indices]) -> None:
        part, array, places = block
        write(read_only(array), places, start, ROUNDING, *probe.part(part))

    run_blocks(work, _blocks(held, kernels), None if held.in_memory else 1)
    return [kernels[number] for number in probe.suspects()]


def _blocks(
    held: GramStack, kernels: list[int]
) -> Iterator[tuple[slice, Stored, Indices]]:
    """Yield arrays with the matrices of some kernels, and their positions in those."""
    n = held.shape[1]
    step = max(1, ENTRIES_PER_TASK // n**2) if isinstance(held, DenseStack) else 1
    for first in range(0, len(kernels), step):
        block = np.array(kernels[first : first + step])
        part = slice(first, first + block.size)
        if isinstance(held, DenseStack):
            yield part, held.array, block
        else:
            columns = held.take(block).columns(np.arange(n))
            yield part, np.ascontiguousarray(columns), np.arange(block.size)


def _sums_are_definite(stack: GramStack, weights: Array) -> bool:
    """Return whether all weighted sums of a stack are positive semidefinite."""
    for weights_of_sum in np.unique(weights, axis=0):
        K = stack.combine(weights_of_sum)
        allowed = ROUNDING * float(np.abs(K.diagonal()).sum())
        if _factorises(K, allowed, HELD):
            continue
        if K.shape[0] <= HELD or lowest_eigenvalue(K) < -allowed:
            return False
    return True


def _factorises(K: GramMatrix, allowed: float, largest: int) -> bool:
    """Return whether a factorisation proves that no eigenvalue is below a bound."""
    if K.array is None or K.shape[0] > largest:
        return False
    shifted = K.array.copy()
    shifted.reshape(-1)[:: K.shape[0] + 1] += allowed

    def factorise() -> int:
        return int(dpotrf(shifted.T, lower=1, clean=0, overwrite_a=1)[1])

    return with_one_blas_thread(factorise) == 0
