"""Conformance of a storage: all methods are compared with dense arrays."""

from itertools import pairwise

import numpy as np
from numpy.linalg import LinAlgError
from numpy.random import Generator

from multikernel._typing import Array
from multikernel.gram.base import GramStack
from multikernel.gram.factors.low_rank import low_rank_form
from multikernel.gram.matrix import GramMatrix
from multikernel.gram.refine import Refinement, refined


def check_gram_stack(
    stack: GramStack, reference: Array, tol: float = 1e-9, seed: int = 0
) -> None:
    """Check that a stack computes the same results as dense arrays.

    All methods are called with one and several outputs, and for all or some kernels and
    samples. Results must be float64 arrays of the right shape.

    Parameters
    ----------
    stack : GramStack
        Square stack.
    reference : ndarray of shape (n_kernels, n_samples, n_samples)
        Its matrices, symmetric positive semidefinite.
    tol : float, default=1e-9
        Largest relative error; use 1e-5 for float32 storage.
    seed : int, default=0
        Seed of the random vectors.

    Raises
    ------
    AssertionError
        If a result is wrong; the message names the method.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.gram import DenseStack
    >>> from multikernel.testing import check_gram_stack
    >>> array = np.stack([np.eye(5), np.ones((5, 5))])
    >>> check_gram_stack(DenseStack(array), array)
    """
    rng = np.random.default_rng(seed)
    _check_products(stack, reference, tol, rng)
    _check_columns(stack, reference, tol, rng)
    _check_sizes(stack, reference, tol)
    _check_terms(stack, reference, tol, rng)
    _check_factors(stack, reference, tol)
    _check_kernels_left(stack, reference, tol, rng)
    _check_combination(stack, reference, tol, rng)
    _check_take(stack, reference, tol, rng)
    _check_restrict(stack, reference, tol, rng)


def _check_products(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check quadratic forms and products, with several numbers of outputs."""
    n_kernels, n, _ = K.shape
    _check_shape("stack", stack.shape, K)
    for outputs in ((), (1,), (3,)):
        v = rng.normal(size=(n, *outputs))
        v.flags.writeable = False
        images = np.tensordot(K, v, axes=1)
        _compare(f"matvec with outputs {outputs}", stack.matvec(v), images, tol)
        coefs = rng.normal(size=(n_kernels, n, *outputs))
        coefs.flags.writeable = False
        expected = np.einsum("mij,mj...->mi...", K, coefs)
        what = f"block_matvec with outputs {outputs}"
        _compare(what, stack.block_matvec(coefs), expected, tol)
        forms = np.sum(images * v, axis=tuple(range(1, images.ndim)))
        what = f"quadratic_forms with outputs {outputs}"
        _compare(what, stack.quadratic_forms(v), forms, tol)
        rough, errors = stack.rough_forms(v)
        nearest = np.clip(forms, rough - errors, rough + errors)
        _compare(f"rough_forms with outputs {outputs}", nearest, forms, tol)
        kernels, above, rest = stack.largest_forms(v, -np.inf, 2)
        what = f"largest_forms with outputs {outputs}"
        _compare(what, above, forms[kernels], tol)
        ordered = np.append(np.sort(above)[::-1], rest)[:n_kernels]
        _compare(what, ordered, np.sort(forms)[::-1][:3], tol)


def _check_columns(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check columns, rows, entries and products with few columns or kernels."""
    n_kernels, n, _ = K.shape
    half, cols = rng.permutation(n)[: max(1, n // 2)], rng.permutation(n)[:2]
    _compare("columns", stack.columns(half), K[:, :, half], tol)
    values = rng.normal(size=half.size)
    coefs = np.zeros((n_kernels, n))
    coefs[:, half] = values
    expected = K[:, :, half] @ values
    _compare("block_matvec of few", stack.block_matvec(coefs), expected, tol)
    weights = np.where(np.arange(n_kernels) % 3 == 1, 0.0, rng.random((n_kernels,)))
    rows = np.tensordot(weights, K, axes=1)[half]
    _compare("combined_rows", stack.combined_rows(weights, half), rows, tol)
    some = rng.permutation(n_kernels)[:2]
    multiply = stack.resident_products(some)
    two = rng.normal(size=(some.size, 2, n))
    places = np.arange(some.size)[::-1].copy()
    expected = two @ K[some[places]]
    _compare("resident_products", multiply(places, two), expected, tol)
    m = int(some[0])
    expected = K[m][np.ix_(half, cols)]
    _compare("entries", stack.entries(m, half, cols), expected, tol)


def _check_sizes(stack: GramStack, K: Array, tol: float) -> None:
    """Check diagonals, traces and reported bytes."""
    _compare("diagonals", stack.diagonals(), np.einsum("mii->mi", K), tol)
    _compare("traces", stack.traces(), np.einsum("mii->m", K), tol)
    shares = np.arange(1.0, 1.0 + K.shape[1])
    weighted = np.einsum("mii->mi", K) @ shares
    if stack.has_features().shape != K.shape[:1]:
        raise AssertionError("has_features must return one boolean per kernel.")
    rounded = stack.rounded_traces()
    least = (1.0 - tol) * np.abs(stack.traces())
    if rounded.shape != K.shape[:1] or not np.all(rounded >= least):
        raise AssertionError("rounded_traces must be at least abs(traces).")
    _compare("traces with shares", stack.traces(shares), weighted, tol)
    if not stack.pass_numbers() > 0.0:
        raise AssertionError("pass_numbers must be positive.")
    numbers = stack.held_numbers()
    if numbers.shape != K.shape[:1] or not np.all(numbers > 0.0):
        raise AssertionError("held_numbers must return one positive number per kernel.")
    zero = np.flatnonzero(~np.einsum("mii->mi", K).any(axis=1))
    if not np.array_equal(stack.zero_kernels(), zero):
        raise AssertionError("zero_kernels must be the kernels with a zero diagonal.")
    if not isinstance(stack.shares_work(), bool):
        raise AssertionError("shares_work must be True or False.")
    parts = [part.quadratic_forms(shares) for part in stack.in_parts()]
    _compare("forms of all parts", np.concatenate(parts), shares @ K @ shares, tol)


def _check_terms(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check `term_products` and `term_covariances`, for one vector per kernel."""
    n_kernels, n, _ = K.shape
    coefs = rng.normal(size=(n_kernels, n, 2))
    images = K @ coefs
    squares = np.einsum("mik,mik->mk", coefs, images)
    used, units = np.arange(n_kernels) % 2 == 0, rng.random((n_kernels,))
    roots = np.sqrt(np.einsum("mii->mi", K)[used])
    for what, given in (
        ("", coefs),
        (" of own_expansions", stack.own_expansions(coefs)),
    ):
        if given.shape[1] not in (n, stack.expansion_length):
            raise AssertionError(
                f"own_expansions returned {given.shape[1]} coefficients per kernel; "
                "expected n_samples or expansion_length."
            )
        products = stack.term_products(given)
        _compare(f"term_products{what}, forms", products.forms, squares.sum(1), tol)
        total, sizes = products.sums(used, units)
        _compare(f"term_products{what}, sums", total, images[used].sum(axis=0), tol)
        _compare(f"term_products{what}, roots", sizes, units[used] @ roots, tol)
    weights = rng.random((n,))
    some = rng.permutation(n_kernels)[: max(1, n_kernels // 2)]
    returned = stack.term_covariances(some, coefs[some], weights)
    means = np.einsum("i,mik->mk", weights, images[some]) / weights.sum()
    terms = images[some] - means[:, None]
    covariances = np.einsum("i,mik,ik->km", weights, terms, terms.sum(axis=0))
    _compare("term_covariances, squares", returned[0], squares[some].T, tol)
    # For constant terms, covariances are rounding errors of squares.
    largest = float(weights.sum() * np.square(images[some]).max(initial=0.0))
    _compare("term_covariances", returned[1], covariances, 10.0 * tol, largest)


def _check_factors(stack: GramStack, K: Array, tol: float) -> None:
    """Check that factors, if any, reproduce the matrices."""
    tall, factors = stack.tall_form(), low_rank_form(stack)
    if tall is not None:
        every = np.arange(K.shape[1])
        Z, ends = tall[0].rows(every), tall[1]
        parts = [Z[:, a:b] for a, b in pairwise(ends.tolist())]
        _compare("tall_form", np.stack([A @ A.T for A in parts]), K, tol)
    if factors is not None:
        every = np.arange(K.shape[1])
        _compare("low_rank_form", factors.columns(every), K, tol)
    some = np.arange(K.shape[0])[::-2].copy()
    v, weights = np.eye(K.shape[1])[:, :3], np.arange(1.0, 1.0 + K.shape[1])
    for m, own in zip(some, stack.own_factors(some) or (), strict=False):
        _compare("own_factors", own.times(own.inner(v)), K[m] @ v, tol)
        Z = own.rows_of(slice(None)).T
        _compare("own_factors, rows_of", Z @ Z.T, K[m], tol)
        _compare("own_factors, gram", own.gram(weights), (Z.T * weights) @ Z, tol)


def _check_kernels_left(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check residual bounds, residual traces, full forms and the refined stack."""
    v, some = rng.normal(size=(K.shape[1],)), np.arange(min(2, K.shape[0]))
    bounds, shares = stack.residual_bounds(v), np.full(K.shape[1], 1.0 / K.shape[1])
    traces = stack.residual_traces(shares)
    for what, returned in (("residual_bounds", bounds), ("residual_traces", traces)):
        if returned.shape != K.shape[:1] or not np.all(returned >= 0.0):
            raise AssertionError(
                f"{what} must return one nonnegative number per kernel."
            )
    forms, full = stack.quadratic_forms(v)[some], stack.full_forms(some, v)
    size = tol * np.abs(forms).max()
    if np.any(full < forms - size) or np.any(full > forms + bounds[some] + size):
        raise AssertionError(
            "full_forms must be between quadratic_forms and quadratic_forms plus "
            "residual_bounds."
        )
    finer = refined(stack, Refinement(v, dict.fromkeys(some.tolist(), 0.0)))
    if finer is not None and np.any(finer.residual_bounds(v) > bounds + size):
        raise AssertionError("refined must not increase residual_bounds.")


def _check_combination(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check weighted sums, with all, one and no kernel."""
    n_kernels, n, _ = K.shape
    random, last = rng.random((n_kernels,)), np.eye(n_kernels)[-1]
    for weights in (random, last, np.zeros(n_kernels)):
        total, matrix = np.tensordot(weights, K, axes=1), stack.combine(weights)
        _check_matrix("combine", matrix, total, tol, rng)
        factor = rng.normal(size=(n, 2))
        moved = matrix.plus(factor)
        _check_matrix("combine, plus", moved, total + factor @ factor.T, tol, rng)


def _check_matrix(
    what: str, matrix: GramMatrix, total: Array, tol: float, rng: Generator
) -> None:
    """Check all methods of one matrix."""
    _check_shape(what, matrix.shape, total)
    v = rng.normal(size=(total.shape[1], 2))
    _compare(f"{what}, matvec", matrix.matvec(v[:, 0]), total @ v[:, 0], tol)
    _compare(f"{what}, matvec with outputs", matrix.matvec(v), total @ v, tol)
    columns = rng.permutation(total.shape[1])[:2]
    _compare(f"{what}, columns", matrix.columns(columns), total[:, columns], tol)
    among = total[np.ix_(columns, columns)]
    _compare(f"{what}, within", matrix.within(columns), among, tol)
    some = rng.permutation(total.shape[0])[:3]
    between = total[np.ix_(some, columns)]
    _compare(f"{what}, between", matrix.between(some, columns), between, tol)
    _compare(f"{what}, diagonal", matrix.diagonal(), total.diagonal(), tol)
    if matrix.array is not None:
        _compare(f"{what}, array", matrix.array, total, tol)
    _check_solve(what, matrix, total, tol, rng)


def _check_solve(
    what: str, matrix: GramMatrix, total: Array, tol: float, rng: Generator
) -> None:
    """Check shifted systems by their residuals."""
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
            _compare(f"{what}, solve", x, expected, tol)
    try:
        matrix.solve(np.ones(n), shift=np.full(n, -10.0 * n * size))
    except LinAlgError:
        return
    raise AssertionError(
        f"{what}, solve: a negative definite system must raise LinAlgError."
    )


def _check_take(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check `take` and `once` with adjacent, scattered and repeated kernels."""
    n_kernels = K.shape[0]
    v = rng.normal(size=(K.shape[2],))
    scattered = rng.permutation(n_kernels)[: max(1, n_kernels // 2)]
    repeated = np.array([0, n_kernels - 1, 0])
    for kernels in (np.arange(n_kernels), scattered, repeated, np.arange(1)):
        expected, again = K[kernels], np.arange(kernels.size)[::-1]
        both = (("take", stack.take(kernels)), ("once", stack.once(kernels)))
        for what, part in both:
            _check_shape(what, part.shape, expected)
            _compare(f"{what}, matvec", part.matvec(v), expected @ v, tol)
            # Summands may cancel, which limits the accuracy of a quadratic form.
            largest = float((np.abs(expected) @ np.abs(v) @ np.abs(v)).max())
            forms, sums = part.quadratic_forms(v), expected @ v @ v
            _compare(f"{what}, quadratic_forms", forms, sums, tol, largest)
            once_more = part.take(again).matvec(v)
            _compare(f"take of {what}", once_more, expected[again] @ v, tol)


def _check_restrict(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check `restrict` with samples in any order, and that it commutes with `take`."""
    n_kernels, n, _ = K.shape
    ascending = np.sort(rng.permutation(n)[: max(1, n // 2)])
    mixed = rng.permutation(n)[: max(2, n // 3)]
    kernels = rng.permutation(n_kernels)[: max(1, n_kernels // 2)]
    for samples in (ascending, mixed):
        part, expected = stack.restrict(samples), K[:, samples][:, :, samples]
        _check_products(part, expected, tol, rng)
        _check_columns(part, expected, tol, rng)
        _check_sizes(part, expected, tol)
        _check_combination(part, expected, tol, rng)
        v = rng.normal(size=samples.size)
        one_way = stack.take(kernels).restrict(samples).matvec(v)
        other_way = part.take(kernels).matvec(v)
        _compare("take and restrict in the other order", one_way, other_way, tol)


def _check_shape(what: str, shape: tuple[int, ...], expected: Array) -> None:
    """Raise unless a shape is the expected one."""
    if shape != expected.shape:
        raise AssertionError(f"{what}: got shape {shape}, expected {expected.shape}.")


def _compare(
    what: str, result: object, expected: Array, tol: float, least: float = 0.0
) -> None:
    """Raise unless a result is a float64 array close to the expected one."""
    if not isinstance(result, np.ndarray) or result.dtype != np.float64:
        kind = getattr(result, "dtype", type(result).__name__)
        raise AssertionError(f"{what}: got {kind}, expected a float64 array.")
    _check_shape(what, result.shape, expected)
    tiny = float(np.finfo(np.float64).tiny)
    # Errors are relative to the largest expected number, or to `least` if larger.
    size = max(float(np.abs(expected).max(initial=0.0)), least, tiny)
    error = float(np.abs(result - expected).max(initial=0.0)) / size
    if not error <= tol:
        raise AssertionError(f"{what}: relative error {error:.2g} exceeds {tol:g}.")
