"""The combination that a model has learnt, as one kernel for any kernel method."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.gaussian_process.kernels import Kernel

from multikernel._typing import Array
from multikernel.estimators.publish.predict import CrossGrams
from multikernel.kernels.base import checked_values
from multikernel.linalg.tables import row_chunks


class CombinedKernel(Kernel):
    """A sum of normalised kernels with fixed weights.

    It has no hyperparameters of its own, so that a Gaussian process keeps it as it is;
    ``ConstantKernel() * model.combined_kernel_ + WhiteKernel()`` learns its scale and
    the noise.

    Parameters
    ----------
    grams : CrossGrams
        The kernels of a fitted model.
    weights : ndarray of shape (n_active,)
        Their weights.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.svm import SVC
    >>> from multikernel.estimators import SpicyMKLClassifier
    >>> X = np.random.default_rng(0).standard_normal((60, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> kernel = SpicyMKLClassifier(alpha=0.05).fit(X, y).combined_kernel_
    >>> kernel(X[:3], X).shape
    (3, 60)
    >>> SVC(kernel=kernel).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(self, grams: CrossGrams, weights: Array) -> None:
        self.grams = grams
        self.weights = weights

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        """Return the kernel matrix.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Samples, with the columns of the data that the model was fitted on.
        Y : array-like of shape (n_cols, n_features), default=None
            Other samples; X when None.
        eval_gradient : bool, default=False
            Whether to return the gradient by the hyperparameters as well; there is no
            hyperparameter.

        Returns
        -------
        K : ndarray of shape (n_rows, n_cols)
            And, where asked for, an array of shape (n_rows, n_rows, 0).
        """
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
        cols = rows if Y is None else np.atleast_2d(np.asarray(Y, dtype=np.float64))
        shape = rows.shape[0], cols.shape[0]

        def add() -> Array:
            K = np.zeros(shape)
            for position, weight in enumerate(self.weights):
                K += weight * self.grams.between(rows, cols, position)
            return K

        K = checked_values(add, shape, repr(self))
        if eval_gradient:
            return K, np.empty((*K.shape, 0))
        return K

    def diag(self, X: ArrayLike) -> Array:
        """Return k(x, x) of all samples, shape (n_samples,)."""
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
        # Blocks along the diagonal: kernels are normalised by what a block holds.
        parts = [np.diag(self(rows[chunk])) for chunk in row_chunks(len(rows), 2**15)]
        return np.concatenate([*parts, np.empty(0)])

    def is_stationary(self) -> bool:
        """Return False: nothing is known of the kernels."""
        return False

    def __repr__(self) -> str:
        """Return how many kernels there are."""
        return f"CombinedKernel({len(self.weights)} kernels)"
