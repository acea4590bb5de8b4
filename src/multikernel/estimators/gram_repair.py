"""A step of a pipeline that makes kernels of precomputed similarity matrices."""

from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from multikernel._typing import Array
from multikernel._validation import OneOf, check_parameter, check_symmetric
from multikernel.estimators.read.precomputed import (
    NamedGrams,
    check_same_grams,
    kernels_first,
    names_of_grams,
    read_grams,
)
from multikernel.estimators.reference import REFERENCE
from multikernel.linalg.threads import aside


class GramRepair(TransformerMixin, BaseEstimator):
    r"""Make similarity matrices kernels, by the training samples of each fold alone.

    With the eigenvalues and eigenvectors :math:`K = U \Lambda U^\top` of a training
    matrix, every row of similarities to the training samples is multiplied by
    :math:`P = U\, 1[\lambda \ge 0]\, U^\top` ("clip") or
    :math:`P = U \operatorname{sign}(\lambda)\, U^\top` ("flip"): on the training
    samples that is what `repair_gram` does, and new samples are treated alike [1]_.

    Parameters
    ----------
    how : {"clip", "flip"}, default="clip"
        What becomes of negative eigenvalues. "shift", which changes what a sample has
        in common with itself alone, is `repair_gram`'s.

    Attributes
    ----------
    lowest_eigenvalues_ : ndarray of shape (n_kernels,)
        Of the training matrices, as they were given.
    n_features_in_ : int
        Number of training samples.

    See Also
    --------
    multikernel.gram.repair_gram : Repairs one matrix.

    References
    ----------
    .. [1] Chen, Y., Garcia, E. K., Gupta, M. R., Rahimi, A. and Cazzanti, L. (2009).
       Similarity-based classification: concepts and algorithms. Journal of Machine
       Learning Research 10, 747-776. https://jmlr.org/papers/v10/chen09a.html

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from multikernel import GramRepair, SpicyMKLRegressor, stack_grams
    >>> x = np.linspace(-2, 2, 40)
    >>> K = stack_grams({"sigmoid": np.tanh(np.outer(x, x) - 0.5)})
    >>> model = make_pipeline(GramRepair(), SpicyMKLRegressor("precomputed"))
    >>> bool(cross_val_score(model, K, np.sin(x), cv=4).max() > 0.9)
    True
    """

    lowest_eigenvalues_: Array
    _directions: list[Array]
    _names: Any

    _doc_link_module, _doc_link_template = REFERENCE

    def __init__(self, how: str = "clip") -> None:
        self.how = how

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions in which training matrices are negative.

        Parameters
        ----------
        X : NamedGrams or ndarray of shape (n_samples, n_samples, n_kernels)
            The matrices, from `stack_grams`.
        y : object, default=None
            Not looked at.

        Returns
        -------
        self : GramRepair

        Raises
        ------
        ValueError
            If `how` is unknown, or a matrix is not square, finite and symmetric.
        """
        owner = type(self).__name__
        check_parameter(owner, "how", self.how, OneOf(("clip", "flip")))
        grams = read_grams(self, owner, X, reset=True)
        names = names_of_grams(X)
        lowest, directions = [], []
        for m, matrix in enumerate(np.moveaxis(grams, -1, 0)):
            name = f"{names[m]}: the matrix" if names else f"Gram matrix {m}"
            check_symmetric(np.asarray(matrix, np.float64), name)
            symmetric = 0.5 * (matrix + matrix.T)
            eigenvalues, vectors = aside(partial(np.linalg.eigh, symmetric))
            lowest.append(eigenvalues[0])
            directions.append(vectors[:, eigenvalues < 0.0])
        self.lowest_eigenvalues_ = np.array(lowest, dtype=np.float64)
        self._directions = directions
        self._names = names
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Repair the training matrices, exactly symmetric.

        Parameters
        ----------
        X : NamedGrams or ndarray of shape (n_samples, n_samples, n_kernels)
            The matrices, from `stack_grams`.
        y : object, default=None
            Not looked at.

        Returns
        -------
        repaired : NamedGrams or ndarray of shape (n_samples, n_samples, n_kernels)
        """
        repaired = self.fit(X, y).transform(X)
        grams = np.asarray(repaired)
        symmetric = 0.5 * (grams + np.swapaxes(grams, 0, 1))
        return _named_as(X, symmetric)

    def transform(self, X: Any) -> Any:
        """Treat similarities to the training samples as those among these.

        Parameters
        ----------
        X : NamedGrams or ndarray of shape (n_samples, n_fit_samples, n_kernels)
            Similarities of samples to the training samples.

        Returns
        -------
        repaired : NamedGrams or ndarray of shape (n_samples, n_fit_samples, n_kernels)
            A new array; as named as `X` is.

        Raises
        ------
        ValueError
            If X has other training samples or kernels than the fit.
        """
        check_is_fitted(self)
        grams = read_grams(self, type(self).__name__, X, reset=False)
        expected = (self.n_features_in_, len(self._directions))
        if grams.shape[1:] != expected:
            raise ValueError(
                f"X has shape {grams.shape}, but {type(self).__name__} was fitted on "
                f"{expected[0]} samples and {expected[1]} kernels."
            )
        check_same_grams(type(self).__name__, X, self._names)
        order = grams.shape[2], *grams.shape[:2]
        repaired = kernels_first(grams, np.empty(order, grams.dtype))
        times = 2.0 if self.how == "flip" else 1.0
        for K, negative in zip(repaired, self._directions, strict=True):
            K -= times * (K @ negative) @ negative.T
        result: Array = np.moveaxis(repaired, 0, -1)
        return _named_as(X, result)

    def __sklearn_tags__(self) -> Tags:
        """Say that matrices are sliced on two axes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        tags.input_tags.three_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def _named_as(X: Any, grams: Array) -> Any:
    """Return Gram matrices with the names of those in X, if X has names."""
    names = names_of_grams(X)
    return grams if names is None else NamedGrams(grams, names)
