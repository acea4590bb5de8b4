"""Sparse models of times to an event, with alpha chosen by cross-validation."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from multikernel._typing import Array, Indices
from multikernel._validation import Check
from multikernel.estimators.grams.solving import solve_outputs
from multikernel.estimators.grams.training import Training
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import merge
from multikernel.estimators.read.samples import Samples
from multikernel.estimators.search.folds import cut_fold
from multikernel.estimators.search.scores import accepts
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
    """A search whose validation samples determine the scale of predictions."""

    def learn(self, data: Any, watch: Watch) -> dict[str, Any]:
        """Choose alpha; return the attributes, with a scale from validation sets."""
        attributes = super().learn(data, watch)
        if not self.model.refit:
            return attributes
        assert isinstance(self.method, SparseMethod)
        alpha = attributes["best_params_"]["alpha"]
        method = replace(self.method, alpha=alpha).with_tol(self.cv_tol)
        samples = data.samples
        splits = make_splits(self.source.owner, self.model, samples, quiet=True)
        values = [_validation_values(method, data, split) for split in splits]
        tests = np.concatenate([test for _, test in splits])
        lower, upper = self.model.loss.intervals(samples.targets[0][tests])
        weights = None if samples.weights is None else samples.weights[tests]
        f = np.concatenate(values)
        scale = most_likely_scale(lower, upper, f, weights)
        return attributes | {"scale_": scale}


def _validation_values(
    method: SparseMethod, data: Training, split: tuple[Indices, Indices]
) -> Array:
    """Fit the training set of a fold; return decision values of the validation set."""
    fold = cut_fold(data, split, 1, "log")
    fit = solve_outputs(method.recipe(fold.training), fold.training, None)
    model = fit.training, merge(fit.solutions)
    values: Array = fold.decision_values([model])[0, :, 0]
    return values


@dataclass(frozen=True, eq=False)
class TimesScorer:
    """A scorer of times for samples whose targets are positions in a table."""

    scoring: Callable[..., float]  # the user's function, with arguments (model, X, y)
    table: Any  # structured array of the times

    def __call__(self, model: Any, X: Any, y: Array) -> float:
        """Return the score of a model."""
        return self.scoring(model, X, self.table[y.astype(np.intp)])


def survival_scoring(value: object) -> str | None:
    """Return None for a valid ``scoring`` of times, otherwise the accepted values."""
    if value is None or (callable(value) and accepts(value, 3)):
        return None
    return "None for the index of concordance, or a callable (model, X, y)"


@dataclass(eq=False, repr=False)
class SpicyMKLSurvivalCV(SurvivalMKL, AlphaSearchCV):
    """Sparse model of survival times with alpha chosen by cross-validation.

    Each fold solves the problem of `SpicyMKLSurvival` for all strengths, with warm
    starts. The search chooses the strength with the best mean concordance index.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        The candidate kernels. None selects `median_dictionary`: a linear kernel and
        Gaussian kernels of a few widths, on all columns together and on each column
        alone. The widths follow from the samples; standardize numeric columns first.
        Only SpicyMKL estimators add their `Interactions`; ``fit_info_`` names columns
        and interactions that are omitted because the fit would take too long. If X
        contains strings, None selects `sequence_dictionary`; each categorical column of
        a data frame gets a `CategoryKernel`. A dict maps the name of a view to its
        columns, or to (columns, kernels), see `multikernel.kernels.Views`; a view may
        be a precomputed matrix, see `multikernel.kernels.Grams`. A kernel may be a
        function, "tanimoto" or a name of `sklearn.metrics.pairwise`, see
        `multikernel.kernels.FunctionKernel`. Sparse tables of SciPy need kernels on all
        columns or on views. For "precomputed" see `stack_grams`.
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
    n_jobs : int or None, default=None
        Number of folds fitted in parallel, by threads that share the Gram matrices; -1
        uses all cores.
    refit : bool or "one_standard_error", default=True
        Whether to fit the model with the chosen parameters on all samples.
        "one_standard_error" chooses the simplest candidate whose mean score is within
        one standard error of the best: the one with the fewest kernels, the first if
        several tie.
    max_search_rows : int, "auto" or None, default="auto"
        Largest number of rows on which candidates are scored; the chosen model is
        always fitted on all rows. None uses all rows, and so does "auto" for up to 4000
        rows. For longer tables "auto" draws 2000 rows with ``random_state``, and
        doubles them until the choice is expected to lose at most 0.0015 of the score
        against any other candidate. No sample loses a class from a fold; groups of more
        than 400 rows are drawn in pieces. On n of N rows, ``alpha`` is scored as
        alpha (N / n)^0.6, because the best alpha falls with the number of rows. See the
        page "Large data" of the user guide.
    alphas : sequence of float, default=None
        Candidate strengths. None creates a logarithmic grid that descends from the
        smallest strength at which no kernel enters.
    n_alphas : int, default=12
        Number of strengths in the default grid.
    alpha_min_ratio : float, default=1e-3
        Ratio of the last strength of the default grid to the first, in (0, 1].
    l1_ratio : float, default=1.0
        Share of the block l1 norm in the penalty, in [0, 1]. Below 1, kernels that
        carry the same information enter together. A regressor applies it to targets
        scaled to a standard deviation of one.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization of the kernels. "variance" gives unit variance in feature space,
        "trace" a mean diagonal of one, "cosine" cosine similarity; "center" only
        centers. An object such as `multikernel.gram.TailNormalizer` is accepted too. A
        list is applied in order. The factors are computed on the training samples.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Maximum number of outer iterations; each passes over all kernels.
    storage : str, LowRank or Device, default="auto"
        Storage of the Gram matrices during the fit, see `multikernel.gram.build_stack`.
        "dense" stores all matrices, "dense32" in single precision; "lazy" recomputes
        them when needed; "low_rank", or a `multikernel.gram.LowRank`, stores factors
        from landmarks; "by_kernel" stores kernels of high rank whole and factors of the
        others; "device", or a `multikernel.gram.Device`, stores matrices on an
        accelerator. "auto" chooses the storage that is predicted to be the fastest.
        Precomputed matrices are not copied or converted.
    max_bytes : int, default=None
        Maximum memory of the Gram matrices in bytes, including copies for folds; None
        allows half of the free memory.
    verbose : int, default=0
        If positive, print one line per iteration to standard error.
    random_state : int, RandomState or None, default=None
        Seed of the vectors that test precomputed matrices for symmetry and of
        subsamples of the dictionary. All other steps are deterministic.

    Attributes
    ----------
    l1_ratio_ : float or ndarray of shape (n_outputs,)
        Value of ``l1_ratio`` that corresponds to ``alpha_`` in the units of the
        targets; only if ``l1_ratio`` is below 1.
    best_params_ : dict
        Chosen parameters. Ties in the score are broken in this order: a model with
        kernels before a constant model, then the lower ``mean_test_loss``, then the
        simplest model.
    best_index_ : int
        Index of the chosen parameters in ``cv_results_``.
    best_score_ : float
        Mean score of the chosen parameters.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Results of the search with the keys of scikit-learn: ``params``,
        ``param_<name>``, ``split<k>_test_score``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``. Two keys are added: ``mean_n_active``,
        the mean number of active kernels, and ``mean_test_loss``, the mean log loss of
        the validation samples if the model minimizes a log loss, otherwise the mean of
        the model's loss.
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative kernel weights with sum one; all zero if no kernel entered.
    scale_ : float
        Sigma of the predictions: the maximum likelihood estimate for the predictions of
        the fold models at ``alpha_`` on their validation samples.
    loss_scale_ : float
        Sigma of the minimized loss: the maximum likelihood estimate without kernels.
    alpha_ : float or ndarray of shape (n_outputs,)
        Regularization strength in the units of the targets; one for each target if the
        selection is separate. A search stores the strength with the best mean score,
        the largest one if several tie.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate strengths in the units of ``alpha``, descending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps along the path on all samples, which ends at
        the chosen strength.
    block_norms_ : ndarray of shape (n_kernels,)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,)
        Share of each term in the variance of the decision values on the training
        samples. The shares sum to one; the share of a term that opposes the others is
        negative.
    view_weights_, view_shares_ : dict
        Sums of ``kernel_weights_`` and ``variance_shares_`` over the kernels of each
        view; only if ``kernels`` was a mapping of views. ``kernel_views_`` is the view
        of each kernel, ``view_columns_`` the columns of each view.
    category_features_, categories_ : ndarray, list of ndarray
        Positions of the text columns that are compared as categories, and the training
        values of each.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,)
        Feasible dual point a that proves ``duality_gap_``; from -C to C for the
        epsilon-insensitive loss, zero at samples of weight zero. At the optimum
        f_m = ``kernel_weights_[m]`` K_m a.
    intercept_ : ndarray of shape (1,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float
        Mean loss plus alpha times the penalty.
    duality_gap_ : float
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int
        Number of outer iterations along the path on all samples.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration with the fields output (always 0), iteration,
        seconds, objective, duality_gap, n_active, passes, inner_steps.
    status_ : str
        Reason why the solver stopped: "converged" if the tolerance was reached,
        otherwise another name of a `Status` in lower case.
    status_message_ : str
        The reason as a sentence.
    n_kernels_ : int
        Number of kernels in the dictionary. Above one million interactions of columns
        with few values, ``kernel_weights_``, ``kernel_names_`` and the other attributes
        of kernels describe a short list; all other kernels have weight zero, and the
        gap covers all kernels.
    fit_info_ : dict
        Details of the fit. "solver": the algorithms that produced the solution of each
        problem, in order, such as "newton_in_weights". "storage" and "storage_reason":
        the storage of the Gram matrices and the reason for it. "left_out": columns,
        interactions and exact kernels that the default dictionary omits, and the
        reason; empty if it omits none or if ``kernels`` is given. "cv_tol" (searches):
        relative duality gap for the fits of the folds, 30 times ``tol`` and at most
        0.03. "search_rows" (searches): number of rows whose folds gave the scores, see
        ``max_search_rows``. "predicted_alike" (searches): the class that the chosen
        models predict for every validation sample; empty if predictions differ, and for
        regressors.
    n_features_in_ : int
        Number of columns of X; for precomputed kernels, number of training samples.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names; only if X was a data frame.

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

    def _copied(
        self, loss: LogLogisticLoss, strata: tuple[Times, Indices, Any], groups: Any
    ) -> Self:
        """Return a copy with the given loss, and with folds stratified by events."""
        times, codes, _ = strata
        inner = super()._copied(loss, strata, groups)
        is_observed = times.seen[codes]
        inner.cv = folds_of(self.cv, is_observed, groups, stratify=True)
        if self.scoring is not None:
            inner.scoring = TimesScorer(self.scoring, times.structured())
        return inner

    def _why_unscored(self, samples: Samples, test: Indices) -> str | None:
        """Return why a validation set cannot be scored; None if it can."""
        bounds = self.loss.intervals(samples.targets[0][test])
        if self.scoring is not None or has_known_order(*bounds):
            return None
        return "holds no two times whose order is known"

    def _method(self) -> SurvivalSearch:
        search = alpha_search(self)
        return SurvivalSearch(self, search.method, search.candidates)
