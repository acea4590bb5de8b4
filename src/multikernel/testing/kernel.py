"""Conformance of a kernel: its values, its diagonal, and that it is one."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.kernels import Kernel


def check_kernel(kernel: Kernel, X: Any, tol: float = 1e-8) -> None:
    """Check that a kernel keeps what a fit with it rests on.

    The matrix must be finite, symmetric and positive semidefinite, ``kernel(X)`` be
    ``kernel(X, X)``, the value of two samples not depend on what else is in the call,
    and ``diag`` be the diagonal. No check of some samples proves that a function is
    positive semidefinite on all: try several sets, of different scales.

    Parameters
    ----------
    kernel : Kernel
        The kernel; one on strings gets strings.
    X : ndarray of shape (n_samples, n_features), or sequence of str
        Samples as the kernel takes them, some ten to some hundred, four at least.
    tol : float, default=1e-8
        Largest error, over the largest value.

    Raises
    ------
    AssertionError
        With a sentence that names the broken promise.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.kernels import FunctionKernel, GaussianKernel
    >>> from multikernel.testing import check_kernel
    >>> X = np.random.default_rng(0).standard_normal((20, 3))
    >>> check_kernel(GaussianKernel(1.0), X)
    >>> check_kernel(FunctionKernel("sigmoid"), X)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    AssertionError: sigmoid() is not positive semidefinite: its matrix of these ...
    """
    name = getattr(kernel, "name", None) or repr(kernel)
    _require(
        callable(kernel) and callable(getattr(kernel, "diag", None)),
        f"{name} is no kernel: that is callable as kernel(X, Y) and has diag(X).",
    )
    n = len(X)
    _require(n >= 4, f"check_kernel needs four samples at least, got {n}.")
    before = np.array(X, copy=True)
    K = _matrix(kernel(X), (n, n), f"{name}: kernel(X)")
    same = before.tobytes() == np.asarray(X).tobytes()  # nan as well
    _require(same, f"{name} changes the samples.")
    size = tol * float(np.abs(K).max())
    _near(kernel(X, X), K, size, f"{name}: kernel(X, X) is not kernel(X)")
    _near(K.T, K, size, f"{name} is not symmetric: k(x, z) is not k(z, x)")
    _check_parts(kernel, X, K, size, name)
    lowest = float(np.linalg.eigvalsh(0.5 * (K + K.T))[0])
    trace = float(np.abs(np.diagonal(K)).sum())
    _require(
        lowest >= -tol * trace,
        f"{name} is not positive semidefinite: its matrix of these samples has an "
        f"eigenvalue of {lowest:.3g}, where its trace is {trace:.3g}.",
    )


def _check_parts(kernel: Kernel, X: Any, K: Array, size: float, name: str) -> None:
    """Raise unless values of some samples are those that they have among all."""
    first, others = np.arange(0, len(X), 2), np.arange(1, len(X), 3)
    part = kernel(_taken(X, first), _taken(X, others))
    text = f"{name}: the value of two samples depends on what else is in the call"
    _near(part, K[np.ix_(first, others)], size, text)
    text = f"{name}: diag(X) is not the diagonal of kernel(X)"
    _near(kernel.diag(X), np.diagonal(K), size, text)
    _near(kernel.diag(_taken(X, first)), np.diagonal(K)[first], size, text)


def _taken(X: Any, rows: Indices) -> Any:
    """Return some samples, of an array or of a sequence of strings."""
    if isinstance(X, Sequence):
        return [X[row] for row in rows.tolist()]
    return X[rows]


def _matrix(values: Any, shape: tuple[int, ...], what: str) -> Array:
    """Return values of a kernel, or raise unless they are finite, in a shape."""
    array = np.asarray(values)
    _require(array.shape == shape, f"{what} has shape {array.shape}, expected {shape}.")
    _require(array.dtype.kind in "fiub", f"{what} is not of real numbers.")
    _require(bool(np.isfinite(array).all()), f"{what} has values that are not finite.")
    return array.astype(np.float64)


def _near(values: Any, expected: Array, size: float, text: str) -> None:
    """Raise a sentence unless values are those expected, up to an error."""
    found = _matrix(values, expected.shape, text)
    error = float(np.abs(found - expected).max())
    _require(error <= size, f"{text}: they differ by {error:.3g}.")


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)
