"""Precomputed Gram matrices as samples, with the samples first."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import shown
from multikernel.gram.files import PathLike, joined, open_stack, scratch
from multikernel.linalg.tables import backing


def stack_grams(grams: Any) -> Array:
    """Return Gram matrices as one X for ``kernels="precomputed"``.

    The samples come first, so that scikit-learn slices X as it slices any pairwise
    data: `cross_val_score`, `GridSearchCV` and pipelines work as they are.

    Parameters
    ----------
    grams : ndarray of shape (n_kernels, n_samples, n_fit_samples), path, or sequence \
            of array-like of shape (n_samples, n_fit_samples) or paths
        The matrices: square for the training data, new samples in the rows for
        prediction. A path is that of a file of NumPy's format (.npy), or of a folder
        that `map_grams` or storage "memmap" has written.

    Returns
    -------
    X : ndarray of shape (n_samples, n_fit_samples, n_kernels)
        Of an array a view, without a copy; of a path a view of the file, of which no
        more is read than is asked for. Of a list a view of the one array that it is
        copied into: a temporary file where a path or a memory map is among them.
        `fit` uses that layout without a further copy where kernels are at most scaled
        ("trace", "variance").

    Raises
    ------
    ValueError
        If there is no matrix, if their shapes differ, or if a file was not written
        to its end.

    See Also
    --------
    map_grams : Writes matrices to a file, one by one.
    multikernel.kernels.PrecomputedKernel : Shares one copy across folds and clones,
        and gives kernels names.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import stack_grams
    >>> stack_grams([np.eye(4), np.ones((4, 4))]).shape
    (4, 4, 2)
    """
    if isinstance(grams, str | os.PathLike):
        return np.moveaxis(open_stack(grams)[0], 0, -1)
    if isinstance(grams, np.ndarray) and grams.ndim == 3:
        return np.moveaxis(grams, 0, -1)
    matrices = _matrices(grams)
    if any(backing(matrix) is not None for matrix in matrices):
        return np.moveaxis(joined(matrices), 0, -1)
    return np.moveaxis(np.stack(matrices), 0, -1)


def map_grams(grams: Any, folder: PathLike, *, name: str = "grams") -> Array:
    """Write Gram matrices to a file, and return them as X, which reads the file.

    Parameters
    ----------
    grams : sequence of array-like of shape (n_samples, n_fit_samples), or paths
        The matrices, copied one by one; float32 where all are.
    folder : str or path-like
        Where to; made if it does not exist. `stack_grams` opens it again.
    name : str, default="grams"
        What its header calls them.

    Returns
    -------
    X : ndarray of shape (n_samples, n_fit_samples, n_kernels)
        For ``kernels="precomputed"``.

    Raises
    ------
    OSError
        If the folder holds a stack already, or the disk has no room.
    ValueError
        If there is no matrix, or if their shapes differ.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from multikernel.estimators import map_grams, stack_grams
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     X = map_grams([np.eye(4), np.ones((4, 4))], folder)
    ...     same = np.array_equal(stack_grams(folder), X)
    >>> X.shape, same
    ((4, 4, 2), True)
    """
    return np.moveaxis(joined(_matrices(grams), folder, name), 0, -1)


def _matrices(grams: Any) -> list[Array]:
    """Return matrices one by one, those in files without reading them."""
    if not isinstance(grams, Iterable):
        raise ValueError(
            "Gram matrices are an array of three axes, a path, or a sequence of "
            f"matrices and paths, got {shown(grams)}."
        )
    matrices: list[Array] = []
    for gram in grams:
        if isinstance(gram, str | os.PathLike):
            matrices += list(open_stack(gram)[0])
        else:
            matrices.append(np.asarray(gram))
    if not matrices:
        raise ValueError("stack_grams needs at least one Gram matrix, got none.")
    for number, matrix in enumerate(matrices):
        if matrix.ndim != 2 or matrix.shape != matrices[0].shape:
            raise ValueError(
                f"Gram matrix {number} has shape {matrix.shape}, the first one "
                f"{matrices[0].shape}: all must be two-dimensional and alike."
            )
    return matrices


def opened(X: Any) -> Any:
    """Return precomputed kernels that are given as paths as the array they stand for.

    Parameters
    ----------
    X : path, list of paths, or anything else
        Anything else is returned as it is.
    """
    paths = X if isinstance(X, list | tuple) else [X]
    named = [isinstance(path, str | os.PathLike) for path in paths]
    return stack_grams(X) if named and all(named) else X


def without_others(X: Array, rows: Indices) -> Array:
    """Return the matrices between some samples, in a file where they are in one.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_samples, n_kernels)
        The matrices.
    rows : ndarray of shape (n_rows,)
        The samples.
    """
    if backing(X) is None:
        return np.asarray(X[np.ix_(rows, rows)])
    array = scratch(None, (X.shape[2], rows.size, rows.size), X.dtype.name)
    for m in range(X.shape[2]):
        array[m] = X[:, :, m][np.ix_(rows, rows)]
    return np.moveaxis(array, 0, -1)
