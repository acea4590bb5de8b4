"""Sparse models of times to an event, alpha chosen by cross-validation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import Check
from multikernel.estimators.descriptions import documented
from multikernel.estimators.grams.solving import solve_outputs
from multikernel.estimators.grams.training import Training
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import merge
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.search.folds import cut_fold
from multikernel.estimators.search.scores import takes
from multikernel.estimators.search.search import Search
from multikernel.estimators.search.splits import folds_of, make_splits
from multikernel.estimators.spicy.cv import AlphaSearchCV, alpha_search
from multikernel.estimators.spicy.method import SparseMethod
from multikernel.estimators.survival.base import SurvivalMKL
from multikernel.estimators.survival.likelihood import (
    has_known_order,
    most_likely_scale,
)
from multikernel.estimators.survival.times import Times
from multikernel.losses import LogLogisticLoss


@dataclass(frozen=True, eq=False)
class SurvivalSearch(Search):
    """A search whose folds say the scale of the answers, at the strength chosen."""

    def learn(self, data: Any, watch: Watch) -> dict[str, Any]:
        """Return what a search does, and the scale beside models of other samples."""
        attributes = super().learn(data, watch)
        if not self.model.refit:
            return attributes
        assert isinstance(self.method, SparseMethod)
        alpha = attributes["best_params_"]["alpha"]
        method = replace(self.method, alpha=alpha).with_tol(self.cv_tol)
        samples = data.samples
        splits = make_splits(self.source.owner, self.model, samples, quiet=True)
        values = [_outside(method, data, split) for split in splits]
        tests = np.concatenate([test for _, test in splits])
        lower, upper = self.model.loss.ends(samples.targets[0][tests])
        weights = None if samples.weights is None else samples.weights[tests]
        f = np.concatenate(values)
        scale = most_likely_scale(lower, upper, f, weights)
        return attributes | {"scale_": scale}


def _outside(
    method: SparseMethod, data: Training, split: tuple[Indices, Indices]
) -> Array:
    """Return a fold's decision values of the samples on its validation side."""
    fold = cut_fold(data, split, 1, "log")
    fit = solve_outputs(method.recipe(fold.training), fold.training, None)
    model = fit.training, merge(fit.solutions)
    values: Array = fold.decision_values([model])[0, :, 0]
    return values


@dataclass(frozen=True, eq=False)
class OnTimes:
    """A scorer of times, for samples whose targets are positions in a table.

    Parameters
    ----------
    scoring : callable
        The user's, with arguments (model, X, y).
    table : structured ndarray of shape (n_intervals,)
        The times.
    """

    scoring: Callable[..., float]
    table: Any

    def __call__(self, model: Any, X: Any, y: Array) -> float:
        """Return the score of a model."""
        return self.scoring(model, X, self.table[y.astype(np.intp)])


def survival_scoring(value: Any) -> str | None:
    """Check a ``scoring`` parameter: None, or a function."""
    if value is None or (callable(value) and takes(value, 3)):
        return None
    return "None for the index of concordance, or a callable (model, X, y)"


@documented("SpicyMKL")
@dataclass(eq=False, repr=False)
class SpicyMKLSurvivalCV(SurvivalMKL, AlphaSearchCV):
    """Sparse model of survival times with alpha chosen by cross-validation.

    Each fold solves the problem of `SpicyMKLSurvival` for all strengths, with warm
    starts. The search chooses the strength with the best mean concordance index.

    Parameters
    ----------
    n_alphas : int, default=20
        Number of strengths in the default grid.
    alpha_min_ratio : float, default=1e-3
        Ratio of the last strength of the default grid to the first, in (0, 1].
    cv : int, splitter, iterable of (train, test) or None, default=None
        The folds; None means five. With a number of folds, the folds are stratified by
        the event indicator, and keep ``groups`` together if ``fit`` gets groups. A
        splitter gets the event indicator as its classes. Metadata routing needs
        ``set_fit_request(groups=True)``.
    scoring : callable or None, default=None
        Score to maximize; None means Harrell's concordance index. A callable is called
        with the model, the validation samples and their times: a structured array with
        the fields ``event`` and ``time``, or ``lower`` and ``upper`` if some times are
        interval-censored.

    Attributes
    ----------
    l1_ratio_
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative kernel weights with sum one; all zero if no kernel entered.
    scale_ : float
        Sigma of the predictions: the maximum likelihood estimate for the predictions of
        the fold models at ``alpha_`` on their validation samples.
    loss_scale_ : float
        Sigma of the minimized loss: the maximum likelihood estimate without kernels.
    alpha_
    alphas_
    path_ : RegularizationPath
        Norms, weights, objectives and gaps along the path on all samples, which ends at
        the chosen strength.
    objective_ : float
        Mean loss plus alpha times the penalty.
    n_iter_ : int
        Number of outer iterations along the path on all samples.

    See Also
    --------
    SpicyMKLSurvival : The model for one alpha.

    References
    ----------
    .. [1] Harrell, F. E., Califf, R. M., Pryor, D. B., Lee, K. L. and Rosati, R. A.
       (1982). Evaluating the yield of medical tests. JAMA 247, 2543-2546.
       https://doi.org/10.1001/jama.1982.03320430047030

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SpicyMKLSurvivalCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((120, 4))
    >>> time = np.exp(X[:, 1] + 0.3 * rng.logistic(size=120))
    >>> end = rng.exponential(4.0, size=120)
    >>> y = np.column_stack([time <= end, np.minimum(time, end)])
    >>> model = SpicyMKLSurvivalCV(n_alphas=8, cv=3).fit(X, y)
    >>> bool(model.best_score_ > 0.8), bool(0.2 < model.scale_ < 0.5)
    (True, True)
    """

    _checks: ClassVar[Mapping[str, Check]] = {"scoring": survival_scoring}

    def _learner(
        self, loss: LogLogisticLoss, samples: tuple[Times, Indices, Any], groups: Any
    ) -> Self:
        """Return the copy that learns, with folds by events and scores of times."""
        times, codes, _ = samples
        learner = super()._learner(loss, samples, groups)
        seen = times.seen[codes]
        learner.cv = list(folds_of(self.cv, seen, groups, stratify=True))
        if self.scoring is not None:
            learner.scoring = OnTimes(self.scoring, times.structured())
        return learner

    def _unscored(self, samples: Samples, test: Indices) -> str | None:
        """Return the reason why a validation side has no score, or None."""
        ends = self.loss.ends(samples.targets[0][test])
        if self.scoring is not None or has_known_order(*ends):
            return None
        return "holds no two times whose order is known"

    def _method(self) -> SurvivalSearch:
        search = alpha_search(self)
        return SurvivalSearch(self, search.method, search.candidates)
