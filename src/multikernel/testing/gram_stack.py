"""Conformance of stacks of Gram matrices: all methods are compared with arrays."""

from itertools import pairwise

import numpy as np
from numpy.linalg import LinAlgError
from numpy.random import Generator

from multikernel._typing import Array
from multikernel._validation import shown
from multikernel.gram.base import GramStack
from multikernel.gram.factors.low_rank import low_rank_form
from multikernel.gram.matrix import GramMatrix
from multikernel.gram.refine import Refinement, refined
from multikernel.linalg.shifted import OMITTED_TRACE


def check_gram_stack(
    stack: GramStack, reference: Array, tol: float = 1e-9, seed: int = 0
) -> None:
    """Check that a stack computes the same results as dense arrays.

    All methods are called with one and several outputs, and for all or some kernels and
    samples. Results must be float64 arrays of the right shape, with relative errors of
    at most `tol`; use 1e-5 for float32 storage. `reference` contains the matrices,
    symmetric positive semidefinite, shape (n_kernels, n_samples, n_samples). A wrong
    result raises an ``AssertionError`` that names the method.

    >>> import numpy as np
    >>> from multikernel.gram import DenseStack
    >>> array = np.stack([np.eye(5), np.ones((5, 5))])
    >>> check_gram_stack(DenseStack(array), array)
    """
    rng = np.random.default_rng(seed)
    _check_products(stack, reference, tol, rng)
    _check_columns(stack, reference, tol, rng)
    _check_sizes(stack, reference, tol)
    _check_terms(stack, reference, tol, rng)
    _check_factors(stack, reference, tol)
    _check_residuals(stack, reference, tol, rng)
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
        case = f"with outputs {outputs}"
        _compare(f"matvec {case}", stack.matvec(v), images, tol)
        coefs = rng.normal(size=(n_kernels, n, *outputs))
        coefs.flags.writeable = False
        expected = np.einsum("mij,mj...->mi...", K, coefs)
        _compare(f"block_matvec {case}", stack.block_matvec(coefs), expected, tol)
        forms = np.sum(images * v, axis=tuple(range(1, images.ndim)))
        _compare(f"quadratic_forms {case}", stack.quadratic_forms(v), forms, tol)
        rough, errors = stack.rough_forms(v)
        nearest = np.clip(forms, rough - errors, rough + errors)
        _compare(f"rough_forms {case}", nearest, forms, tol)
        parts = [part.quadratic_forms(v) for part in stack.in_parts()]
        _compare("forms of all parts", np.concatenate(parts), forms, tol)
        kernels, above, bound = stack.largest_forms(v, -np.inf, 2)
        _compare(f"largest_forms {case}", above, forms[kernels], tol)
        ordered = np.append(np.sort(above)[::-1], bound)[:n_kernels]
        _compare(f"largest_forms {case}", ordered, np.sort(forms)[::-1][:3], tol)


def _check_columns(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check columns, rows, entries and products with few columns or kernels."""
    n_kernels, n, _ = K.shape
    rows_, cols = rng.permutation(n)[: max(1, n // 2)], rng.permutation(n)[:2]
    _compare("columns", stack.columns(rows_), K[:, :, rows_], tol)
    values = rng.normal(size=rows_.size)
    coefs = np.zeros((n_kernels, n))
    coefs[:, rows_] = values
    expected = K[:, :, rows_] @ values
    _compare("block_matvec of few", stack.block_matvec(coefs), expected, tol)
    weights = np.where(np.arange(n_kernels) % 3 == 1, 0.0, rng.random((n_kernels,)))
    rows = np.tensordot(weights, K, axes=1)[rows_]
    _compare("combined_rows", stack.combined_rows(weights, rows_), rows, tol)
    kernels = rng.permutation(n_kernels)[:2]
    multiply = stack.resident_products(kernels)
    vectors = rng.normal(size=(kernels.size, 2, n))
    order = np.arange(kernels.size)[::-1].copy()
    expected = vectors @ K[kernels[order]]
    _compare("resident_products", multiply(order, vectors), expected, tol)
    m = int(kernels[0])
    expected = K[m][np.ix_(rows_, cols)]
    _compare("entries", stack.entries(m, rows_, cols), expected, tol)


def _check_sizes(stack: GramStack, K: Array, tol: float) -> None:
    """Check diagonals, traces and the reported memory in bytes."""
    _compare("diagonals", stack.diagonals(), np.einsum("mii->mi", K), tol)
    _compare("traces", stack.traces(), np.einsum("mii->m", K), tol)
    shares = np.arange(1.0, 1.0 + K.shape[1])
    weighted = np.einsum("mii->mi", K) @ shares
    has_features = stack.has_features()
    assert has_features.shape == K.shape[:1], (
        f"has_features must return one boolean per kernel, got {shown(has_features)}."
    )
    rounded = stack.rounded_traces()
    lower_bound = (1.0 - tol) * np.abs(stack.traces())
    is_bound = rounded.shape == K.shape[:1] and np.all(rounded >= lower_bound)
    assert is_bound, (
        "rounded_traces must return one number per kernel, at least abs(traces), got "
        f"{shown(rounded)} with traces {shown(stack.traces())}."
    )
    _compare("traces with shares", stack.traces(shares), weighted, tol)
    pass_numbers, entries = stack.pass_numbers(), stack.held_numbers()
    assert pass_numbers > 0.0, (
        f"pass_numbers must return a positive number, got {shown(pass_numbers)}."
    )
    is_valid = entries.shape == K.shape[:1] and np.all(entries > 0.0)
    assert is_valid, (
        "held_numbers must return one positive number per kernel, got "
        f"{shown(entries)}."
    )
    zero = np.flatnonzero(~np.einsum("mii->mi", K).any(axis=1))
    zero_kernels = stack.zero_kernels()
    assert np.array_equal(zero_kernels, zero), (
        "zero_kernels must return the indices of the kernels with a zero diagonal, "
        f"{shown(zero)}, got {shown(zero_kernels)}."
    )
    shares_work = stack.shares_work()
    assert isinstance(shares_work, bool), (
        f"shares_work must return True or False, got {shown(shares_work)}."
    )


def _check_terms(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check `term_products` and `term_covariances`, for one vector per kernel."""
    n_kernels, n, _ = K.shape
    coefs = rng.normal(size=(n_kernels, n, 2))
    images = K @ coefs
    squares = np.einsum("mik,mik->mk", coefs, images)
    is_used, units = np.arange(n_kernels) % 2 == 0, rng.random((n_kernels,))
    roots = np.sqrt(np.einsum("mii->mi", K)[is_used])
    for label, expansions in (
        ("", coefs),
        (" of own_expansions", stack.own_expansions(coefs)),
    ):
        assert expansions.shape[1] in (n, stack.expansion_length), (
            "own_expansions must return n_samples or expansion_length coefficients "
            f"per kernel, got {expansions.shape[1]}."
        )
        products = stack.term_products(expansions)
        _compare(f"term_products{label}, forms", products.forms, squares.sum(1), tol)
        total, sizes = products.sums(is_used, units)
        _compare(f"term_products{label}, sums", total, images[is_used].sum(axis=0), tol)
        _compare(f"term_products{label}, roots", sizes, units[is_used] @ roots, tol)
    weights = rng.random((n,))
    kernels = rng.permutation(n_kernels)[: max(1, n_kernels // 2)]
    returned = stack.term_covariances(kernels, coefs[kernels], weights)
    means = np.einsum("i,mik->mk", weights, images[kernels]) / weights.sum()
    terms = images[kernels] - means[:, None]
    covariances = np.einsum("i,mik,ik->km", weights, terms, terms.sum(axis=0))
    _compare("term_covariances, squares", returned[0], squares[kernels].T, tol)
    # The covariance of constant terms is zero only up to rounding errors of their
    # squares, so the test compares errors with the squares.
    largest = float(weights.sum() * np.square(images[kernels]).max(initial=0.0))
    _compare("term_covariances", returned[1], covariances, 10.0 * tol, largest)


def _check_factors(stack: GramStack, K: Array, tol: float) -> None:
    """Check that factors, if any, reproduce the matrices."""
    tall, factors = stack.tall_form(), low_rank_form(stack)
    all_rows = np.arange(K.shape[1])
    if tall is not None:
        Z, edges = tall[0].rows(all_rows), tall[1]
        parts = [Z[:, a:b] for a, b in pairwise(edges.tolist())]
        _compare("tall_form", np.stack([A @ A.T for A in parts]), K, tol)
    if factors is not None:
        _compare("low_rank_form", factors.columns(all_rows), K, tol)
    kernels = np.arange(K.shape[0])[::-2].copy()
    v, weights = np.eye(K.shape[1])[:, :3], np.arange(1.0, 1.0 + K.shape[1])
    for m, factor in zip(kernels, stack.own_factors(kernels) or (), strict=False):
        _compare("own_factors", factor.times(factor.inner(v)), K[m] @ v, tol)
        Z = factor.rows_of(slice(None)).T
        _compare("own_factors, rows_of", Z @ Z.T, K[m], tol)
        _compare("own_factors, gram", factor.gram(weights), (Z.T * weights) @ Z, tol)


def _check_residuals(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check residual bounds, residual traces, full forms and the refined stack."""
    v, kernels = rng.normal(size=(K.shape[1],)), np.arange(min(2, K.shape[0]))
    bounds, shares = stack.residual_bounds(v), np.full(K.shape[1], 1.0 / K.shape[1])
    traces = stack.residual_traces(shares)
    for label, returned in (("residual_bounds", bounds), ("residual_traces", traces)):
        is_valid = returned.shape == K.shape[:1] and np.all(returned >= 0.0)
        assert is_valid, (
            f"{label} must return one nonnegative number per kernel, got "
            f"{shown(returned)}."
        )
    forms, full = stack.quadratic_forms(v)[kernels], stack.full_forms(kernels, v)
    size = tol * np.abs(forms).max()
    largest = forms + bounds[kernels]
    # Full forms may be NaN.
    assert not np.any((full < forms - size) | (full > largest + size)), (
        "full_forms must return values from quadratic_forms to quadratic_forms + "
        f"residual_bounds, that is from {shown(forms)} to {shown(largest)}, got "
        f"{shown(full)}."
    )
    finer = refined(stack, Refinement(v, dict.fromkeys(kernels.tolist(), 0.0)))
    new_bounds = bounds if finer is None else finer.residual_bounds(v)
    assert not np.any(new_bounds > bounds + size), (
        "refined() must return a stack whose residual_bounds are no larger than "
        f"before: they were {shown(bounds)}, and are {shown(new_bounds)}."
    )


def _check_combination(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check weighted sums, with all, one and no kernel."""
    n_kernels, n, _ = K.shape
    random, unit = rng.random((n_kernels,)), np.eye(n_kernels)[-1]
    for weights in (random, unit, np.zeros(n_kernels)):
        total, matrix = np.tensordot(weights, K, axes=1), stack.combine(weights)
        _check_matrix("combine", matrix, total, tol, rng)
        factor = rng.normal(size=(n, 2))
        shifted = matrix.plus(factor)
        _check_matrix("combine, plus", shifted, total + factor @ factor.T, tol, rng)
        # A = K + diag(shift) is positive definite for this large shift. R^-1 A R^-T is
        # the identity for every root R of A; roots may omit small columns of factors.
        size = float(np.abs(total).sum(axis=1).max()) or 1.0
        shift = size * (1.0 + rng.random((n,)))
        root = stack.root(weights, shift)
        if root is not None:
            A = total + np.diag(shift)
            identity = root.half(A @ root.rest(np.eye(n)))
            largest = max(tol, 2.0 * OMITTED_TRACE)
            _compare("root, R^-1 A R^-T", identity, np.eye(n), largest)


def _check_matrix(
    label: str, matrix: GramMatrix, total: Array, tol: float, rng: Generator
) -> None:
    """Check all methods of a matrix against the array `total`."""
    _check_shape(label, matrix.shape, total)
    v = rng.normal(size=(total.shape[1], 2))
    _compare(f"{label}, matvec", matrix.matvec(v[:, 0]), total @ v[:, 0], tol)
    _compare(f"{label}, matvec with outputs", matrix.matvec(v), total @ v, tol)
    columns = rng.permutation(total.shape[1])[:2]
    _compare(f"{label}, columns", matrix.columns(columns), total[:, columns], tol)
    within = total[np.ix_(columns, columns)]
    _compare(f"{label}, within", matrix.within(columns), within, tol)
    rows = rng.permutation(total.shape[0])[:3]
    between = total[np.ix_(rows, columns)]
    _compare(f"{label}, between", matrix.between(rows, columns), between, tol)
    _compare(f"{label}, diagonal", matrix.diagonal(), total.diagonal(), tol)
    if matrix.array is not None:
        _compare(f"{label}, array", matrix.array, total, tol)
    _check_solve(label, matrix, total, tol, rng)


def _check_solve(
    label: str, matrix: GramMatrix, total: Array, tol: float, rng: Generator
) -> None:
    """Check that solutions of shifted systems have small residuals."""
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
            _compare(f"{label}, solve", x, expected, tol)
    try:
        matrix.solve(np.ones(n), shift=np.full(n, -10.0 * n * size))
    except LinAlgError:
        return
    raise AssertionError(
        f"{label}, solve: a negative definite system must raise LinAlgError."
    )


def _check_take(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check `take` and `once` with adjacent, scattered and repeated kernels."""
    n_kernels = K.shape[0]
    v = rng.normal(size=(K.shape[2],))
    scattered = rng.permutation(n_kernels)[: max(1, n_kernels // 2)]
    repeated = np.array([0, n_kernels - 1, 0])
    for kernels in (np.arange(n_kernels), scattered, repeated, np.arange(1)):
        expected, order = K[kernels], np.arange(kernels.size)[::-1]
        stacks = (("take", stack.take(kernels)), ("once", stack.once(kernels)))
        for label, part in stacks:
            _check_shape(label, part.shape, expected)
            _compare(f"{label}, matvec", part.matvec(v), expected @ v, tol)
            # Summands may cancel, which limits the accuracy of a quadratic form.
            largest = float((np.abs(expected) @ np.abs(v) @ np.abs(v)).max())
            forms, sums = part.quadratic_forms(v), expected @ v @ v
            _compare(f"{label}, quadratic_forms", forms, sums, tol, largest)
            taken = part.take(order).matvec(v)
            _compare(f"take of {label}", taken, expected[order] @ v, tol)


def _check_restrict(stack: GramStack, K: Array, tol: float, rng: Generator) -> None:
    """Check `restrict` with samples in any order, and that it commutes with `take`."""
    n_kernels, n, _ = K.shape
    ascending = np.sort(rng.permutation(n)[: max(1, n // 2)])
    shuffled = rng.permutation(n)[: max(2, n // 3)]
    kernels = rng.permutation(n_kernels)[: max(1, n_kernels // 2)]
    for samples in (ascending, shuffled):
        part, expected = stack.restrict(samples), K[:, samples][:, :, samples]
        _check_products(part, expected, tol, rng)
        _check_columns(part, expected, tol, rng)
        _check_sizes(part, expected, tol)
        _check_combination(part, expected, tol, rng)
        v = rng.normal(size=samples.size)
        one_way = stack.take(kernels).restrict(samples).matvec(v)
        other_way = part.take(kernels).matvec(v)
        _compare("take and restrict in the other order", one_way, other_way, tol)


def _check_shape(label: str, shape: tuple[int, ...], expected: Array) -> None:
    """Raise unless a shape equals the expected array's."""
    is_equal = shape == expected.shape
    assert is_equal, f"{label} must have shape {expected.shape}, got {shape}."


def _compare(
    label: str, result: object, expected: Array, tol: float, scale: float = 0.0
) -> None:
    """Raise unless a result is a float64 array close to the expected one."""
    if not isinstance(result, np.ndarray) or result.dtype != np.float64:
        dtype = getattr(result, "dtype", type(result).__name__)
        raise AssertionError(f"{label} must return a float64 array, got {dtype}.")
    _check_shape(label, result.shape, expected)
    tiny = float(np.finfo(np.float64).tiny)
    # Errors are relative to the largest expected number, or to `scale` if larger.
    size = max(float(np.abs(expected).max(initial=0.0)), scale, tiny)
    error = float(np.abs(result - expected).max(initial=0.0)) / size
    assert error <= tol, (
        f"{label} must equal NumPy's result up to a relative error of {tol:g}, got an "
        f"error of {error:.2g}."
    )
