"""Expected cost of a fit, without fitting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier

from multikernel.estimators.base import BaseMKL, checked_method
from multikernel.estimators.by_copy import LearnsByCopy
from multikernel.estimators.fit import read_input
from multikernel.estimators.grams.source import PRECOMPUTED, GramSource, storage_choice
from multikernel.estimators.read.dictionary import choose_kernels
from multikernel.gram.costs import Choice, Costs
from multikernel.gram.factors.row_blocks import SampledRows
from multikernel.gram.memory import readable_bytes, readable_seconds


@dataclass(frozen=True)
class FitCost:
    """Expected cost of a fit, and the storage that the fit would use for its kernels.

    `storage` and `reason` are what ``fit_info_`` contains after the fit as "storage"
    and "storage_reason". `n_bytes` is the expected peak memory without X, `seconds` the
    expected time. `advice` is a sentence about a faster storage, or empty.
    """

    storage: str
    reason: str
    n_kernels: int
    n_samples: int
    n_bytes: int
    seconds: float
    advice: str

    def __str__(self) -> str:
        cost = f"{readable_bytes(self.n_bytes)}, {readable_seconds(self.seconds)}"
        sentence = (
            f"{self.n_kernels} kernels on {self.n_samples} samples, storage "
            f"{self.storage!r}, as {self.reason}: {cost}."
        )
        return f"{sentence} {self.advice}" if self.advice else sentence


def estimate_cost(
    model: BaseMKL,
    X: Any,
    y: ArrayLike | None = None,
    *,
    offset: ArrayLike | None = None,
) -> FitCost:
    """Return the expected time and memory of a fit, without fitting.

    The ranks of some kernels are estimated on some samples, which takes tens of
    milliseconds. No Gram matrix is computed.

    Parameters
    ----------
    model : estimator
        An estimator with kernels, fitted or not. For a search, the result is the cost
        of one fit on all samples.
    X : array-like or data frame of shape (n_samples, n_features)
        Training data, as in ``fit``.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Targets. None assumes two classes for a classifier, one target otherwise.
    offset : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Validated as in ``fit``; does not affect the cost.

    Returns
    -------
    cost : FitCost
        ``seconds`` is accurate to an order of magnitude, ``n_bytes`` to a factor of two
        above 50 MB.

    Raises
    ------
    TypeError
        If the model does not learn from Gram matrices, or X is a Dask collection.
    ValueError
        If a parameter or the data are invalid, as in ``fit``.

    See Also
    --------
    multikernel.gram.choice.choose_storage : Cost and storage of a dictionary.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLClassifier, estimate_cost
    >>> X = np.random.default_rng(0).standard_normal((5000, 8))
    >>> cost = estimate_cost(SpicyMKLClassifier(), X)
    >>> cost.storage, cost.n_kernels
    ('low_rank', 40)
    >>> cost.seconds < 60.0
    True
    """
    source = _checked_source(model)
    if y is None:
        # Two classes or one target make a single problem. The targets are positive,
        # because some losses require this.
        y = np.arange(len(X)) % 2 + (0 if is_classifier(model) else 1.0)
    elif isinstance(model, LearnsByCopy):
        model, task = model._coded(X, y, None, offset, None)
        y = task.codes
    samples = read_input(model, source, X, y, offset=offset)
    X = samples.X
    kernels = choose_kernels(samples, bounded=source.novelty, paired=source.paired)
    dictionary = kernels.dictionary
    if dictionary is None:
        seconds = Costs(X.shape[2], X.shape[0], 0).dense().seconds
        choice = Choice("precomputed", PRECOMPUTED, X.shape[2], X.nbytes, seconds)
    elif isinstance(X, SampledRows):
        raise TypeError(
            "estimate_cost requires X in memory, got a Dask collection: pass "
            "X.compute(), or some of its rows as an array."
        )
    else:
        choice = storage_choice(source, dictionary, X, source.options)
    n_problems = 1 if samples.shared else len(samples.targets)
    return FitCost(
        choice.name,
        choice.reason,
        choice.n_kernels,
        samples.X.shape[0],
        choice.n_bytes,
        choice.seconds * n_problems,
        choice.advice,
    )


def _checked_source(model: BaseMKL) -> GramSource:
    """Check an estimator and its parameters; return the source of its Gram matrices."""
    source = checked_method("estimate_cost", model).source
    if not isinstance(source, GramSource):
        raise TypeError(
            f"{type(model).__name__} uses a graph of kernels, whose matrices are "
            "computed during its search, so its cost cannot be estimated: pass an "
            "estimator with a list of kernels, such as SpicyMKLClassifier."
        )
    return source
