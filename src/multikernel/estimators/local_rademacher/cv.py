"""Local Rademacher MKL, with C and theta chosen by cross-validation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.grams.recipe import Recipe
from multikernel.estimators.grams.training import Training
from multikernel.estimators.local_rademacher.estimators import TailParameters
from multikernel.estimators.local_rademacher.method import tail_method
from multikernel.estimators.lp.cv import MarginCandidates, margin_grid
from multikernel.estimators.method import Method
from multikernel.estimators.search.search import Search, SearchCV
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram.spectra import TailSums, tail_sums
from multikernel.losses import Loss
from multikernel.solvers import TailDC

DEFAULT_THETAS = (0, 1, 2, 4, 8, 16)
"""Default values of theta: those of Cortes et al. (2013), and 0, lp-norm MKL."""


@dataclass(frozen=True, eq=False)
class TailCandidates(MarginCandidates):
    """Candidates of a search: all pairs of C and theta; theta varies fastest."""

    # The inherited `ps` contains the values of theta, ascending, and `Cs` has a column
    # for each of them.
    name: str = "theta"
    sums: TailSums | None = None  # of the training samples; None until `prepared`

    def with_tol(self, tol: float) -> Self:
        """Return candidates with tolerance `tol`, and a single start for "dc"."""
        method, solver = self.method.with_tol(tol), self.method.solver
        if isinstance(solver, TailDC):
            method = replace(method, solver=replace(method.solver, n_starts=1))
        return replace(self, method=method)

    def without_path(self) -> Self:
        """Return candidates whose `refit` computes no path over C."""
        return replace(self, with_path=False)

    def prepared(self, training: Training) -> Self:
        """Return the candidates with the tail sums of training samples."""
        return replace(self, sums=largest_sums(self.ps, training))

    def recipes(self, training: Training, j: int) -> Sequence[Recipe]:
        """Return the losses, penalties and solver for each C and the `j`-th theta."""
        sums, theta = self.sums, int(self.ps[j])
        return [
            replace(self.method, C=C).with_tails(training, sums, theta)
            for C in self.Cs[:, j].tolist()
        ]


def largest_sums(thetas: Array | Indices, training: Training) -> TailSums:
    """Return the tail sums of all kernels, for 0, 1, ... up to the largest theta."""
    return tail_sums(training.stack, int(thetas[-1]), training.samples.weights)


@dataclass(eq=False, repr=False, kw_only=True)
class TailSearchCV(SearchCV):
    """Base class of searches that choose C and theta by cross-validation."""

    Cs: Sequence[float] | None = None
    thetas: Sequence[int] = DEFAULT_THETAS
    p: float = 2.0

    def _method(self) -> Method:
        method = tail_method(self, 0)

        def candidates(data: Training) -> TailCandidates:
            thetas = np.unique(np.asarray(self.thetas, dtype=np.intp))
            weight_sum = method.weight_sum(data.stack.shape[0])
            sums = np.full(thetas.size, weight_sum)
            if self.Cs is None:
                # The method divides each kernel by its tail sum. The geometric mean of
                # the tail sums as a factor of C compensates for this.
                all_sums = largest_sums(thetas, data)
                tails = np.array([all_sums.bounded(theta) for theta in thetas.tolist()])
                tails = np.where(tails > 0.0, tails, 1.0)
                sums = weight_sum * np.exp(-np.log(tails).mean(axis=1))
            Cs: Array = margin_grid(self.Cs, method, data, sums)
            return TailCandidates(method, Cs, thetas)

        return Search(self, method, candidates)


@dataclass(eq=False, repr=False, kw_only=True)
class LocalRademacherMKLClassifierCV(TailParameters, TailSearchCV, ClassifierMKL):
    """Classification by local Rademacher MKL with cross-validated C and theta.

    Each fold solves the problem of `LocalRademacherMKLClassifier` for pairs of C and
    theta, with kernels normalized by its own training samples. For the largest theta, C
    increases until the scores decrease; for each smaller theta, only values near the
    best C are tried. ``cv_results_`` contains nan for skipped pairs.

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
        Seed of the rows drawn for scoring and of the starts of "dc"; None means 0.
    Cs : sequence of float or None, default=None
        Candidate values of C, positive. None means c t / (M^(1 - 1/p) v) for each
        theta: M is the number of kernels, v their mean variance, t the geometric mean
        of their tail sums for this theta, and c = 1/32, 1/8, ..., 128
        ("log_loss": 1/8, 1/2, ..., 512).
    thetas : sequence of int, default=(0, 1, 2, 4, 8, 16)
        Numbers theta of largest eigenvalues to omit; 0 gives `LpMKLClassifier`.
    p : float, default=2.0
        Order of the norm that constrains the kernel weights, at least 1; infinite only
        with ``method="conv"``. With p = 1 most weights are zero.
    method : {"conv", "dc"}, default="conv"
        "conv" bounds the tail sums of the single kernels, a convex problem; "dc" bounds
        the tail sum of their weighted sum, a difference of convex functions.
    n_starts : int, default=3
        Number of starts of "dc" for the final model: the solution for the previous C,
        equal weights, then random weights. Folds use one start only.
    solver : str, default="auto"
        "newton", "cutting_plane", "alternating"; for p = 1 also "squared_form", "silp",
        "simple", "hessian". All reach the same optimum; "auto" chooses by data size.
    normalize : str, Normalizer, list of str and Normalizer, or None, default=None
        Normalization before the spectra are computed: "center", "cosine" or a list. The
        kernels are then scaled to trace n, so "variance" or "trace" has no effect.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which a convex problem stops. "dc" also stops when an
        iteration decreases the objective by less than this share.
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
    selection : {"shared", "separate"}, default="separate"
        With several labels or more than two classes, "separate" fits each with its own
        kernels. "shared" fits all with the same kernels: in the penalty, ‖f_m‖ is the
        root of the sum of squares of ``block_norms_[:, m]``, and for classes,
        "log_loss" is the multinomial loss, "hinge" the Crammer-Singer loss. "shared" is
        often more accurate if classes depend on the same columns.

    Attributes
    ----------
    C_ : float
        Value of C in this fit.
    theta_ : int
        Chosen theta.
    Cs_ : ndarray of shape (n_Cs,)
        Candidate values of C for ``theta_``, ascending.
    thetas_ : ndarray of shape (n_thetas,)
        All values of theta, ascending.
    path_ : RegularizationPath
        Fits on all samples with ``theta_``, for the candidate values of C up to the
        chosen one; the alphas of the path are 1 / C.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the log loss if the model minimizes one, else its loss).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Nonnegative weights mu of kernels scaled to trace n. One row per selection.
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
        Feasible dual point of the (last) convex problem.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float or ndarray of shape (n_classes,)
        Penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of "conv"; nan for "dc".
    subproblem_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the last convex problem; only for "dc".
    start_objectives_ : ndarray of shape (n_starts,) or (n_classes, n_starts)
        Objective reached from each start, ascending; only for "dc".
    tail_sums_ : ndarray of shape (n_kernels, min(max(thetas), n_samples) + 1)
        [m, k]: sum of all but the k largest eigenvalues of kernel m / n_samples.
    n_iter_ : int or ndarray of shape (n_classes,)
        Total number of outer iterations along ``path_``.
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
    LocalRademacherMKLClassifier : The model for one C and one theta.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import LocalRademacherMKLClassifierCV
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> model = LocalRademacherMKLClassifierCV(Cs=[0.1, 1.0], thetas=[1, 4], cv=3)
    >>> model = model.fit(X, y)
    >>> model.best_params_["C"] in model.Cs_, model.theta_ in model.thetas_
    (True, True)
    """

    selection: str = "separate"


@dataclass(eq=False, repr=False, kw_only=True)
class LocalRademacherMKLRegressorCV(TailParameters, TailSearchCV, RegressorMKL):
    """Regression by local Rademacher MKL with cross-validated C and theta.

    Each fold solves the problem of `LocalRademacherMKLRegressor` for pairs of C and
    theta, with kernels normalized by its own training samples. For the largest theta, C
    increases until the scores decrease; for each smaller theta, only values near the
    best C are tried. ``cv_results_`` contains nan for skipped pairs.

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
        Seed of the rows drawn for scoring and of the starts of "dc"; None means 0.
    Cs : sequence of float or None, default=None
        Candidate values of C, positive. None means c t / (M^(1 - 1/p) v) for each
        theta: M is the number of kernels, v their mean variance, t the geometric mean
        of their tail sums for this theta, and c = 1/32, 1/8, ..., 128.
    thetas : sequence of int, default=(0, 1, 2, 4, 8, 16)
        Numbers theta of largest eigenvalues to omit; 0 gives `LpMKLRegressor`.
    p : float, default=2.0
        Order of the norm that constrains the kernel weights, at least 1; infinite only
        with ``method="conv"``. With p = 1 most weights are zero.
    method : {"conv", "dc"}, default="conv"
        "conv" bounds the tail sums of the single kernels, a convex problem; "dc" bounds
        the tail sum of their weighted sum, a difference of convex functions.
    n_starts : int, default=3
        Number of starts of "dc" for the final model: the solution for the previous C,
        equal weights, then random weights. Folds use one start only.
    solver : str, default="auto"
        "newton", "cutting_plane", "alternating"; for p = 1 also "squared_form", "silp",
        "simple", "hessian". All reach the same optimum; "auto" chooses by data size.
    normalize : str, Normalizer, list of str and Normalizer, or None, default=None
        Normalization before the spectra are computed: "center", "cosine" or a list. The
        kernels are then scaled to trace n, so "variance" or "trace" has no effect.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which a convex problem stops. "dc" also stops when an
        iteration decreases the objective by less than this share.
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
    theta_ : int
        Chosen theta.
    Cs_ : ndarray of shape (n_Cs,)
        Candidate values of C for ``theta_``, ascending.
    thetas_ : ndarray of shape (n_thetas,)
        All values of theta, ascending.
    path_ : RegularizationPath
        Fits on all samples with ``theta_``, for the candidate values of C up to the
        chosen one; the alphas of the path are 1 / C.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the loss that the model minimizes, without the penalty).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative weights mu of the kernels, which are scaled to trace n.
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
        Feasible dual point of the (last) convex problem.
    intercept_ : ndarray of shape (1,)
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float
        Penalty plus C times the sum of the losses.
    duality_gap_ : float
        Relative duality gap of "conv"; nan for "dc".
    subproblem_gap_ : float
        Relative duality gap of the last convex problem; only for "dc".
    start_objectives_ : ndarray of shape (n_starts,)
        Objective reached from each start, ascending; only for "dc".
    tail_sums_ : ndarray of shape (n_kernels, min(max(thetas), n_samples) + 1)
        [m, k]: sum of all but the k largest eigenvalues of kernel m / n_samples.
    n_iter_ : int
        Total number of outer iterations along ``path_``.
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
    LocalRademacherMKLRegressor : The model for one C and one theta.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import LocalRademacherMKLRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2]) + 0.3 * rng.standard_normal(60)
    >>> model = LocalRademacherMKLRegressorCV(Cs=[0.1, 1.0], thetas=[1, 4], cv=3)
    >>> model = model.fit(X, y)
    >>> model.best_params_["C"] in model.Cs_, model.theta_ in model.thetas_
    (True, True)
    """

    loss: str | Loss = "epsilon_insensitive"
    intervals: bool = False
