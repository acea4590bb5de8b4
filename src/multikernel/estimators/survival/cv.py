"""Sparse models of times to an event, with alpha chosen by cross-validation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from multikernel._typing import Array, Indices
from multikernel._validation import Check
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.grams.solving import solve_outputs
from multikernel.estimators.publish.fitted import merge
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.search.folds import Folds
from multikernel.estimators.search.scores import accepts
from multikernel.estimators.search.search import Search
from multikernel.estimators.search.splits import folds_of
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
    """A search for alpha that estimates ``scale_`` on the validation samples."""

    def _further_attributes(
        self, folds: Folds, params: Mapping[str, Any]
    ) -> dict[str, object]:
        """Return ``scale_`` for the chosen alpha."""
        assert isinstance(self.method, SparseMethod)
        data: Any = folds.data
        method = replace(self.method, alpha=params["alpha"]).with_tol(self.cv_tol)
        values = []
        for split in folds.splits:
            fold = data.fold(*split, n_in_memory=1)
            fit = solve_outputs(method.recipe(fold.training), fold.training, None)
            model = fit.training, merge(fit.solutions)
            values.append(fold.decision_values([model])[0, :, 0])
        samples, tests = data.samples, np.concatenate([t for _, t in folds.splits])
        lower, upper = self.model.loss.intervals(samples.targets[0][tests])
        weights = None if samples.weights is None else samples.weights[tests]
        f = np.concatenate(values)
        return {"scale_": most_likely_scale(lower, upper, f, weights)}


def _score_times(
    scoring: Callable[..., float],
    table: NDArray[np.void],
    model: BaseMKL,
    X: object,
    y: Array,
) -> float:
    """Call a user's function ``scoring`` with the times in the rows `y` of a table."""
    return scoring(model, X, table[y.astype(np.intp)])


def survival_scoring(value: object) -> str | None:
    """Return None for a valid ``scoring`` of times, otherwise the accepted values."""
    if value is None or (callable(value) and accepts(value)):
        return None
    return "None for the index of concordance, or a callable (model, X, y)"


@dataclass(eq=False, repr=False)
class SpicyMKLSurvivalCV(SurvivalMKL, AlphaSearchCV):
    """Sparse log-logistic model of survival times, alpha chosen by cross-validation.

    Each fold solves the problem of `SpicyMKLSurvival`, which defines sigma, for all
    candidate alphas, with warm starts. The score is the concordance index [1]_.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    cv : int, splitter, iterable of (train, test) or None, default=None
        The folds; None means five. An int or None creates folds that are stratified by
        the event indicator and keep each group together if ``fit`` receives ``groups``;
        a splitter gets the event indicator as classes.
    scoring : callable or None, default=None
        Score to maximize; None means Harrell's concordance index. A callable is called
        with the model, the validation samples and their times: a structured array with
        the fields ``event`` and ``time``, or ``lower`` and ``upper`` for intervals.
    n_jobs : int or None, default=None
        Number of folds fitted in parallel threads: None means 1, and -1 all cores.
    refit : bool or "one_standard_error", default=True
        Whether to fit the chosen model on all samples. "one_standard_error" chooses the
        candidate with fewest kernels within a standard error of the best mean score.
    max_search_rows : int, "auto" or None, default="auto"
        Maximum number of rows for scoring; None uses all. Above 4000 rows, "auto"
        doubles a sample of 2000 until choices are reliable (user guide, "Large data").
    random_state : int, RandomState or None, default=None
        Seed of the rows that ``max_search_rows`` draws for scoring; None means 0.
    alphas : sequence of float or None, default=None
        Candidate values of alpha, the strength of the penalty. None means a logarithmic
        grid that descends from the smallest alpha at which no kernel enters.
    n_alphas : int, default=12
        Number of values in the default grid of ``alphas``.
    alpha_min_ratio : float, default=1e-3
        Ratio of the last value of the default grid to the first, in (0, 1].
    l1_ratio : float, default=1.0
        Share r of the block l1 norm, in [0, 1]. Below 1, similar kernels enter jointly.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization: "variance" (variance of one in feature space), "trace" (mean
        diagonal of one), "cosine", "center" or a list of steps. None omits it.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Maximum number of outer iterations; each passes over all kernels.
    storage : str, LowRank or Device, default="auto"
        Storage of Gram matrices: "auto" (expected to be fastest), "dense", "dense32"
        (single precision), "lazy" (recomputed), "low_rank" or "by_kernel" (factors),
        "device" (accelerator) or an object; see `multikernel.gram.build_stack`.
    max_bytes : int or None, default=None
        Maximum bytes of the Gram matrices; None allows half of the free memory.
    verbose : int, default=0
        If positive, print one line per iteration to standard error.

    Attributes
    ----------
    l1_ratio_ : float
        Value of ``l1_ratio``; only if it is below 1.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the loss that the model minimizes, without the penalty).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative weights with sum one; all zero if no kernel entered.
    scale_ : float
        Sigma in predictions: the maximum likelihood estimate for the predictions of the
        fold models on their validation samples.
    loss_scale_ : float
        Sigma in the loss of the fit: the maximum likelihood estimate without kernels.
    alpha_ : float
        Strength of the penalty in this fit.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate values of alpha, descending, on the same scale as ``alphas``.
    path_ : RegularizationPath
        Fits on all samples for the candidate strengths, down to the chosen one.
    block_norms_ : ndarray of shape (n_kernels,)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,)
        Share of each f_m in the variance of training decision values; may be negative.
    view_weights_, view_shares_, kernel_views_, view_columns_ : dict, dict, list, dict
        With views: sums of weights and shares, each kernel's view, each view's columns.
    category_features_, categories_, sequence_features_ : ndarray, list, ndarray
        Indices of category columns, values of each, and indices of sequence columns.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight, ascending.
    kernel_names_, n_kernels_ : list of str, int
        Names of all kernels, and their number. Above a million, ``kernel_names_`` and
        ``kernel_weights_`` contain only the kernels that the solver needed.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual point a that proves ``duality_gap_``; optimal f_m are multiples of K_m a.
    intercept_ : ndarray of shape (1,)
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float
        Mean loss plus alpha times the penalty.
    duality_gap_ : float
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int
        Number of outer iterations along the path on all samples.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration with the fields of `Progress`; ``output`` is 0.
    status_, status_message_ : str
        Why the solver stopped: a `Status` such as "converged", and a sentence about it.
    fit_info_ : dict
        Keys "solver", "storage", "storage_reason", "left_out" (unused default kernels),
        "cv_tol" (duality gap at which folds stop) and "search_rows" (scored rows).
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    SpicyMKLSurvival : The model for one alpha.

    References
    ----------
    .. [1] Harrell, Califf, Pryor, Lee, Rosati (1982). Evaluating the yield of medical
       tests. JAMA 247, 2543-2546.

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

    def _copied(
        self, loss: LogLogisticLoss, strata: tuple[Times, Indices], groups: object
    ) -> Self:
        """Return a copy of this search that fits the given loss; see the base class."""
        inner = super()._copied(loss, strata, groups)
        times, codes = strata
        # Folds are stratified by whether the event was observed.
        inner.cv = folds_of(self.cv, times.seen[codes], groups, stratify=True)
        if callable(self.scoring):
            inner.scoring = partial(_score_times, self.scoring, times.structured())
        return inner

    def _why_unscored(self, samples: Samples, test: Indices) -> str | None:
        # The concordance index requires two validation samples of known order.
        bounds = self.loss.intervals(samples.targets[0][test])
        if self.scoring is not None or has_known_order(*bounds):
            return None
        return "holds no two times whose order is known"

    def _method(self) -> SurvivalSearch:
        search = alpha_search(self)
        return SurvivalSearch(self, search.method, search.candidates)
