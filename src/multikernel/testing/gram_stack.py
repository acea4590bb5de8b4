"""Conformance of a stack of Gram matrices: every primitive against plain arrays."""

import numpy as np
from numpy.linalg import LinAlgError
from numpy.random import Generator

from multikernel._typing import Array
from multikernel.gram.base import GramMatrix, GramStack


def check_gram_stack(
    stack: GramStack, reference: Array, tol: float = 1e-9, seed: int = 0
) -> None:
    """Check that a stack computes what a dense array says.

    Every primitive is called with one and with several outputs, on all kernels and
    samples and on some, and results must be float64 arrays of the right shape.

    Parameters
    ----------
    stack : GramStack
        The stack, square.
    reference : ndarray of shape (n_kernels, n_samples, n_samples)
        Its matrices, symmetric positive semidefinite.
    tol : float, default=1e-9
        Largest error, over the size of what is compared; 1e-5 suits float32 storage.
    seed : int, default=0
        Of the random vectors.

    Raises
    ------
    AssertionError
        With a sentence that names the primitive.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack
    >>> from multikernel.testing import check_gram_stack
    >>> array = np.stack([np.eye(5), np.ones((5, 5))])
    >>> check_gram_stack(DenseStack(array), array)
    """
    if not isinstance(stack, GramStack):
        raise AssertionError(f"{stack!r} is no GramStack: it lacks a method.")
    rng = np.random.default_rng(seed)
    _check_products(stack, reference, tol, rng)
    _check_combination(stack, reference, tol, rng)
    _check_take(stack, reference, tol, rng)
    _check_restrict(stack, reference, tol, rng)


def _check_products(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check forms, products, columns and diagonals."""
    n_kernels, n_rows, n_cols = K.shape
    if stack.shape != K.shape:
        raise AssertionError(f"shape is {stack.shape}, and {K.shape} was expected.")
    for outputs in ((), (1,), (3,)):
        v = rng.normal(size=(n_cols, *outputs))
        v.flags.writeable = False
        images = np.tensordot(K, v, axes=1)
        _compare(f"matvec with outputs {outputs}", stack.matvec(v), images, tol)
        coefs = rng.normal(size=(n_kernels, n_cols, *outputs))
        coefs.flags.writeable = False
        expected = np.einsum("mij,mj...->mi...", K, coefs)
        what = f"block_matvec with outputs {outputs}"
        _compare(what, stack.block_matvec(coefs), expected, tol)
        if n_rows == n_cols:
            forms = np.sum(images * v, axis=tuple(range(1, images.ndim)))
            what = f"quadratic_forms with outputs {outputs}"
            _compare(what, stack.quadratic_forms(v), forms, tol)
    chosen = rng.permutation(n_cols)[: max(1, n_cols // 2)]
    _compare("columns", stack.columns(chosen), K[:, :, chosen], tol)
    if n_rows == n_cols:
        _compare("diagonals", stack.diagonals(), np.einsum("mii->mi", K), tol)


def _check_combination(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check weighted sums, with all, one and no kernel."""
    n_kernels = K.shape[0]
    random, last = rng.random((n_kernels,)), np.eye(n_kernels)[-1]
    for weights in (random, last, np.zeros(n_kernels)):
        total = np.tensordot(weights, K, axes=1)
        matrix = stack.combine(weights)
        if matrix.shape != total.shape:
            raise AssertionError(
                f"combine has shape {matrix.shape}, and {total.shape} was expected."
            )
        v = rng.normal(size=(total.shape[1], 2))
        _compare("combine, matvec", matrix.matvec(v[:, 0]), total @ v[:, 0], tol)
        _compare("combine, matvec with outputs", matrix.matvec(v), total @ v, tol)
        chosen = rng.permutation(total.shape[1])[:2]
        _compare("combine, columns", matrix.columns(chosen), total[:, chosen], tol)
        if total.shape[0] == total.shape[1]:
            _compare("combine, diagonal", matrix.diagonal(), total.diagonal(), tol)
            _check_solve(matrix, total, tol, rng)


def _check_solve(matrix: GramMatrix, total: Array, tol: float, rng: Generator) -> None:
    """Check shifted systems, by what the solution solves."""
    n = total.shape[0]
    size = max(1.0, float(np.abs(total).max()))
    for low_rank in (None, np.ones((n, 1)), rng.normal(size=(n, 2))):
        shift = size * np.exp(rng.uniform(0.0, 5.0, size=n))
        system = total + np.diag(shift)
        if low_rank is not None:
            system = system + low_rank @ low_rank.T
        for rhs in (rng.normal(size=(n,)), rng.normal(size=(n, 2))):
            x = matrix.solve(rhs, shift=shift, low_rank=low_rank)
            expected = np.asarray(np.linalg.solve(system, rhs), dtype=np.float64)
            _compare("combine, solve", x, expected, tol)
    try:
        matrix.solve(np.ones(n), shift=np.full(n, -10.0 * n * size))
    except LinAlgError:
        return
    raise AssertionError(
        "combine, solve: a negative definite system must raise LinAlgError."
    )


def _check_take(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check stacks of some kernels, neighbours and scattered, also a repeated one."""
    n_kernels = K.shape[0]
    v = rng.normal(size=(K.shape[2],))
    scattered = rng.permutation(n_kernels)[: max(1, n_kernels // 2)]
    repeated = np.array([0, n_kernels - 1, 0])
    for kernels in (np.arange(n_kernels), scattered, repeated, np.arange(1)):
        part, expected = stack.take(kernels), K[kernels]
        if part.shape != expected.shape:
            raise AssertionError(
                f"take has shape {part.shape}, and {expected.shape} was expected."
            )
        _compare("take, matvec", part.matvec(v), expected @ v, tol)
        _compare(
            "take, quadratic_forms", part.quadratic_forms(v), expected @ v @ v, tol
        )
        again = np.arange(kernels.size)[::-1]
        _compare("take of take", part.take(again).matvec(v), expected[again] @ v, tol)


def _check_restrict(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check stacks on some samples, and that take and restrict commute."""
    n_kernels, n, _ = K.shape
    rows = np.sort(rng.permutation(n)[: max(1, n // 2)])
    cols = rng.permutation(n)[: max(2, n // 3)]
    square, oblong = stack.restrict(rows, rows), stack.restrict(rows, cols)
    _check_products(square, K[:, rows][:, :, rows], tol, rng)
    _check_combination(square, K[:, rows][:, :, rows], tol, rng)
    _check_products(oblong, K[:, rows][:, :, cols], tol, rng)
    kernels = rng.permutation(n_kernels)[: max(1, n_kernels // 2)]
    v = rng.normal(size=cols.size)
    one_way = stack.take(kernels).restrict(rows, cols).matvec(v)
    other_way = oblong.take(kernels).matvec(v)
    _compare("restrict of take against take of restrict", one_way, other_way, tol)


def _compare(what: str, result: object, expected: Array, tol: float) -> None:
    """Raise unless a result is a float64 array near what was expected."""
    if not isinstance(result, np.ndarray) or result.dtype != np.float64:
        kind = getattr(result, "dtype", type(result).__name__)
        raise AssertionError(f"{what}: float64 array expected, got {kind}.")
    if result.shape != expected.shape:
        raise AssertionError(
            f"{what}: shape {result.shape}, and {expected.shape} was expected."
        )
    size = max(float(np.abs(expected).max(initial=0.0)), np.finfo(np.float64).tiny)
    error = float(np.abs(result - expected).max(initial=0.0)) / size
    if not error <= tol:
        raise AssertionError(f"{what}: relative error {error:.2g} exceeds {tol:g}.")
