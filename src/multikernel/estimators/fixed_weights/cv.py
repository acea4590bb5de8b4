"""Choice of C for fixed weights, or of the best single kernel."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.fixed_weights.estimators import WeightedParameters
from multikernel.estimators.fixed_weights.method import (
    given_weights,
    weight_checks,
    weighted_method,
)
from multikernel.estimators.grams.training import Training
from multikernel.estimators.lp.cv import MarginCandidates, margin_grid, margin_search
from multikernel.estimators.method import Candidates, Means, Method, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.search.search import Search, SearchCV
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.losses import Loss
from multikernel.solvers import FixedWeights


@dataclass(frozen=True, eq=False)
class KernelCandidates(Candidates):
    """Candidates of a search: all pairs of a single kernel and a value of C."""

    Cs: Array  # shape (n_Cs, 1), ascending
    n_kernels: int

    def single_kernel(self, m: int) -> MarginCandidates:
        """Return the candidates with only kernel `m`, one for each C."""
        method, weights = self.method, np.zeros(self.n_kernels)
        weights[m] = 1.0
        rule = partial(given_weights, weights=weights)
        single = replace(method, solver=FixedWeights(rule, method.solver))
        # The candidates with kernel m start at `start`. Fixed weights have the exponent
        # p = inf, which is no parameter of the estimator, and so has an empty name.
        ps, start = np.array([np.inf]), m * len(self.Cs)
        return MarginCandidates(single, self.Cs, ps, name="", start=start)

    def grid(self, max_kernels: int | None = None) -> dict[str, Array]:
        """Return the kernel and the C of each candidate; `max_kernels` is ignored."""
        n_Cs = len(self.Cs)
        kernel_indices: Any = np.repeat(np.arange(self.n_kernels), n_Cs)
        return {"kernel": kernel_indices, "C": np.tile(self.Cs[:, 0], self.n_kernels)}

    def open_grids(self, best_params: Mapping[str, float]) -> Mapping[str, Array]:
        """Return the grid of C; a wider grid may give better models."""
        # Kernels have no order, so no kernel is at an end.
        return {"C": self.Cs[:, 0]}

    def solve(self, training: Training, watch: Watch, means: Means) -> Iterator[Solved]:
        """Yield the models of each kernel for increasing C, while scores improve."""
        for m in range(self.n_kernels):
            yield from self.single_kernel(m).solve(training, watch, means)
            if watch.stopped:
                return

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, object]:
        """Return the fitted attributes of candidate `best` on all samples."""
        # C varies fastest among the candidates.
        m, C_index = divmod(best, len(self.Cs))
        return self.single_kernel(m).refit(training, watch, C_index)


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedSearchCV(SearchCV):
    """Base class of searches that choose C, and a single kernel if requested."""

    Cs: Sequence[float] | None = None

    def _method(self) -> Method:
        method = weighted_method(self)
        choice = self.kernel_weights
        if not (isinstance(choice, str) and choice == "single"):
            return margin_search(self, method, [np.inf], name="")

        def candidates(data: Training) -> KernelCandidates:
            Cs = margin_grid(self.Cs, method, data, np.ones(1))
            return KernelCandidates(method, Cs, data.stack.shape[0])

        return Search(self, method, candidates)


@dataclass(eq=False, repr=False)
class FixedWeightsMKLClassifierCV(WeightedParameters, WeightedSearchCV, ClassifierMKL):
    """Classification with fixed weights, C chosen by cross-validation.

    Each fold solves the problem of `FixedWeightsMKLClassifier` for all values of C,
    with kernels normalized and weights computed on its own training samples. With
    ``kernel_weights="single"`` each pair of one kernel and one C is a candidate.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        Loss. "squared_error" has targets -1 and 1; `predict_proba` needs "log_loss".
    class_weight : dict, "balanced" or None, default=None
        Factor of the sample weights by class; "balanced" gives classes equal totals.
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds as in scikit-learn, or one (train, test) pair; None means five folds. An
        int or None keeps each group together if ``fit`` receives ``groups``.
    scoring : str, callable (model, X, y[, sample_weight]) or None, default=None
        Score of validation samples that the search maximizes; None means accuracy.
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
    Cs : sequence of float or None, default=None
        Candidate values of C, positive. None means c / (s v): s is the sum of kernel
        weights (1 if a rule computes them), v the mean variance of the kernels, and
        c = 1/32, 1/8, ..., 128 ("log_loss": 1/8, 1/2, ..., 512).
    kernel_weights : str, array-like or callable, default="uniform"
        Weights of the normalized kernels: "uniform" (all 1), "alignment" or "easy" (by
        `multikernel.solvers.alignment_weights`, `multikernel.solvers.easy_weights`), an
        array, or in the CV class "single" (the kernel with the best score). A callable
        gets a `multikernel.gram.GramStack`, targets (-1 and 1) and sample weights, and
        returns an array. It is called for each class if there are more than two.
    weight_params : dict or None, default=None
        Parameters of the rule in ``kernel_weights``: ``method`` ("independent", "joint"
        or "greedy") and ``max_kernels`` for "alignment", ``regularization`` for "easy",
        or keyword arguments of a callable.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="trace"
        Normalization of the kernels: "trace" gives a mean diagonal of one, as rules for
        weights expect; also "variance", "cosine", "center", or a list applied in order.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Maximum number of outer iterations; None selects the default of the solver.
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
    C_ : float
        Value of C in this fit.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C, ascending.
    kernel_ : int
        Index of the chosen kernel in ``kernel_names_``; only for "single".
    path_ : RegularizationPath
        Fits on all samples for all C up to the chosen one; its alphas are 1 / C.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the log loss if the model minimizes one, else its loss).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Weights of the kernels, one row per class if more than two. "uniform" gives 0 to
        kernels that are zero, or constant if there is an intercept, and 1 to others.
    block_norms_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Norm of each function f_m in the space of its normalized kernel. More than two
        classes, or several labels, have one row each.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Share of each f_m in the variance of training decision values; may be negative.
    view_weights_, view_shares_, kernel_views_, view_columns_ : dict, dict, list, dict
        With views: sums of weights and shares, each kernel's view, each view's columns.
    category_features_, categories_, sequence_features_ : ndarray, list, ndarray
        Indices of category columns, values of each, and indices of sequence columns.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight for at least one class, ascending.
    kernel_names_, n_kernels_ : list of str, int
        Names of all candidate kernels, and their number.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Feasible dual point a that proves ``duality_gap_`` or ``machine_gap_``. At the
        optimum f_m = ``kernel_weights_[m]`` K_m a, with normalized Gram matrices K_m.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float or ndarray of shape (n_classes,)
        Penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap; nan for weights from a rule, which are not proven optimal.
    n_iter_ : int or ndarray of shape (n_classes,)
        Total number of outer iterations along ``path_``.
    machine_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap given the weights; only if a rule computed these weights.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration; ``output`` is the class index, see `Progress`.
    status_, status_message_ : str
        Worst `Status` of all classes, such as "converged", and a sentence about it.
    fit_info_ : dict
        Keys "solver", "storage", "storage_reason", "left_out" (unused default kernels),
        "cv_tol" (duality gap at which folds stop), "search_rows" (scored rows) and
        "predicted_alike" (the class, if all validation samples get the same, or "").
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    FixedWeightsMKLClassifier : The model for one C.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import FixedWeightsMKLClassifierCV
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> model = FixedWeightsMKLClassifierCV(kernel_weights="single", cv=3).fit(X, y)
    >>> model.best_params_["C"] in model.Cs_, model.kernel_ in model.active_kernels_
    (True, True)
    """

    _checks = weight_checks("uniform", "alignment", "easy", "single")


@dataclass(eq=False, repr=False, kw_only=True)
class FixedWeightsMKLRegressorCV(WeightedParameters, WeightedSearchCV, RegressorMKL):
    """Regression with fixed weights, C chosen by cross-validation.

    Each fold solves the problem of `FixedWeightsMKLRegressor` for all values of C, with
    kernels normalized and weights computed on its own training samples. With
    ``kernel_weights="single"`` each pair of one kernel and one C is a candidate.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    loss : str or Loss, default="epsilon_insensitive"
        "squared_error", "epsilon_insensitive", "quantile" (the median), "huber",
        "poisson" (counts), "gamma" (positive amounts) or a loss object, such as
        ``PinballLoss(0.9)`` for another quantile.
    epsilon : float or None, default=None
        Error in standard deviations of y: "epsilon_insensitive" ignores smaller errors
        (None means 0.1), "huber" is linear beyond it (None means 0.7).
    cv : int, splitter, iterable of (train, test) or None, default=None
        Folds as in scikit-learn, or one (train, test) pair; None means five folds. An
        int or None keeps each group together if ``fit`` receives ``groups``.
    scoring : str, callable (model, X, y[, sample_weight]) or None, default=None
        Score of validation samples that the search maximizes; None means R^2.
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
    Cs : sequence of float or None, default=None
        Candidate values of C, positive. None means c / (s v): s is the sum of kernel
        weights (1 if a rule computes them), v the mean variance of the kernels, and
        c = 1/32, 1/8, ..., 128.
    kernel_weights : str, array-like or callable, default="uniform"
        Weights of the normalized kernels: "uniform" (all 1), "alignment" (see
        `multikernel.solvers.alignment_weights`), an array, or in a search "single"
        (only the kernel with the best score). A callable gets a
        `multikernel.gram.GramStack`, targets and sample weights, and returns an array.
    weight_params : dict or None, default=None
        Parameters of the rule in ``kernel_weights``: ``method`` ("independent", "joint"
        or "greedy") and ``max_kernels`` for "alignment", or arguments of a callable.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="trace"
        Normalization of the kernels: "trace" gives a mean diagonal of one, as rules for
        weights expect; also "variance", "cosine", "center", or a list applied in order.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Maximum number of outer iterations; None selects the default of the solver.
    storage : str, LowRank or Device, default="auto"
        Storage of Gram matrices: "auto" (expected to be fastest), "dense", "dense32"
        (single precision), "lazy" (recomputed), "low_rank" or "by_kernel" (factors),
        "device" (accelerator) or an object; see `multikernel.gram.build_stack`.
    max_bytes : int or None, default=None
        Maximum bytes of the Gram matrices; None allows half of the free memory.
    verbose : int, default=0
        If positive, print one line per iteration to standard error.
    intervals : bool, default=False
        Whether to store fold models for `predict_interval`. This can double the time.

    Attributes
    ----------
    epsilon_ : float
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    C_ : float
        Value of C in the units of y.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C, ascending.
    kernel_ : int
        Index of the chosen kernel in ``kernel_names_``; only for "single".
    path_ : RegularizationPath
        Fits on all samples for all C up to the chosen one; its alphas are 1 / C.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the loss that the model minimizes, without the penalty).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Weights of the kernels. "uniform" gives 0 to kernels that are zero, or constant
        if there is an intercept, and 1 to the others.
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
        Names of all candidate kernels, and their number.
    dual_coef_ : ndarray of shape (n_samples,)
        Feasible dual point a that proves ``duality_gap_`` or ``machine_gap_``. At the
        optimum f_m = ``kernel_weights_[m]`` K_m a, with normalized Gram matrices K_m.
    intercept_ : ndarray of shape (1,)
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float
        Penalty plus C times the sum of the losses.
    duality_gap_ : float
        Relative duality gap; nan for weights from a rule, which are not proven optimal.
    n_iter_ : int
        Total number of outer iterations along ``path_``.
    machine_gap_ : float
        Relative duality gap given the weights; only if a rule computed these weights.
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
    FixedWeightsMKLRegressor : The model for one C.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import FixedWeightsMKLRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2]) + 0.3 * rng.standard_normal(60)
    >>> model = FixedWeightsMKLRegressorCV(kernel_weights="single", cv=3).fit(X, y)
    >>> model.best_params_["C"] in model.Cs_, model.kernel_ in model.active_kernels_
    (True, True)
    """

    _checks = weight_checks("uniform", "alignment", "single")
    loss: str | Loss = "epsilon_insensitive"
    intervals: bool = False
