"""Group-OMP, with the number of kernels and alpha chosen by cross-validation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.grams.recipe import Recipe
from multikernel.estimators.grams.shortlist import greedy_list, is_shortened
from multikernel.estimators.grams.training import Training
from multikernel.estimators.group_omp import prefixes
from multikernel.estimators.group_omp.estimators import GreedyParameters
from multikernel.estimators.group_omp.method import (
    GreedyMethod,
    greedy_method,
    joint_problem,
    prefix_attributes,
    warn_interrupted,
)
from multikernel.estimators.group_omp.stages import published_path
from multikernel.estimators.method import Candidates, Means, Method, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import BlockFunctions
from multikernel.estimators.scale import grid_of
from multikernel.estimators.search.search import Search, SearchCV
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.problem import Status
from multikernel.solvers import GreedyPath

RIDGES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
"""The default candidate strengths of the ridge penalty."""


@dataclass(frozen=True, eq=False)
class PrefixCandidates(Candidates):
    """Candidates of a search: all pairs of a number of kernels and a strength."""

    # Candidates are ordered by increasing numbers of kernels, then by decreasing
    # strengths, so the simplest comes first.
    method: GreedyMethod
    alphas: Array  # strengths, descending
    max_kernels: int  # the largest number of kernels; the smallest is zero
    open_end: bool  # whether the dictionary has more kernels than `max_kernels`

    def grid(self, max_kernels: int | None = None) -> dict[str, Array]:
        """Return the kernel count, up to `max_kernels`, and alpha of each candidate."""
        largest = self.max_kernels if max_kernels is None else max_kernels
        counts = np.arange(largest + 1)
        return {
            "max_kernels": np.repeat(counts, self.alphas.size),
            "alpha": np.tile(self.alphas, counts.size),
        }

    def open_grids(self, best_params: Mapping[str, float]) -> Mapping[str, Array]:
        """Return, by parameter, the grids that may give better models if extended."""
        grids = {"alpha": self.alphas}
        if self.open_end and best_params["max_kernels"] > 0:
            grids["max_kernels"] = np.arange(self.max_kernels + 1.0)
        return grids

    def solve(self, training: Training, watch: Watch, means: Means) -> Iterator[Solved]:
        """Yield the models with each number of kernels, for each strength."""
        recipes = self._recipes(training)
        problem = joint_problem(recipes[0], training)
        strengths = np.array([recipe.penalties[0].alpha for recipe in recipes])
        gram = problem.gram
        # Indices of the kernels from which to select; None means all kernels.
        shortlist = greedy_list(problem) if is_shortened(training) else None
        if shortlist is not None:
            gram = gram.take(shortlist)
        solver = self.method.solver
        paths = solver.paths(replace(problem, gram=gram), strengths, watch)
        for a, path in enumerate(paths):
            if shortlist is not None:
                path = replace(path, problem=problem, order=shortlist[path.order])
            if path.status is Status.STOPPED:
                continue
            published, effects = published_path(path, training)
            for k in range(len(path) + 1):
                # The candidate with k kernels and strength a has the index k n + a. The
                # last model of a path also serves for all larger numbers of kernels.
                max_count = self.max_kernels if k == len(path) else k
                n = len(recipes)
                candidates = range(k * n + a, (max_count + 1) * n, n)
                attributes = partial(prefix_attributes, recipes[a], training, path, k)
                # All kernels of a model share its coefficients, so the model is small
                # and counts as 0 bytes. Greedy models have no duality gaps.
                model = training, _expansion(published, effects, k)
                yield Solved(candidates, model, k, 0, np.empty(0), attributes)

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, object]:
        """Return the fitted attributes of candidate `best` on all samples."""
        # The strength varies fastest among the candidates.
        n_selected, a = divmod(best, self.alphas.size)
        recipe = self._recipes(training)[a]
        # The solver must select one kernel or more, but zero kernels may be the best.
        solver = replace(self.method.solver, max_kernels=max(n_selected, 1))
        strengths = np.array([recipe.penalties[0].alpha])
        (path,) = solver.paths(joint_problem(recipe, training), strengths, watch)
        warn_interrupted(self.method.source.owner, path)
        n_kernels = min(n_selected, len(path))
        attributes = prefix_attributes(recipe, training, path, n_kernels)
        return attributes | {"alphas_": self.alphas}

    def _recipes(self, training: Training) -> list[Recipe]:
        """Return the losses, penalties and solver for each strength in `alphas`."""
        return [
            replace(self.method, alpha=alpha).recipe(training)
            for alpha in self.alphas.tolist()
        ]


def _expansion(path: GreedyPath, effects: Array | None, k: int) -> BlockFunctions:
    """Return the model with the first k kernels, which share their coefficients."""
    shared = np.broadcast_to(path.coefs[k], (k, *path.coefs.shape[1:]))
    effects = None if effects is None else effects[k]
    return BlockFunctions(np.sort(path.order[:k]), shared, path.intercepts[k], effects)


@dataclass(eq=False, repr=False, kw_only=True)
class GreedySearchCV(SearchCV):
    """Base class of searches that choose alpha and the number of kernels."""

    alphas: Sequence[float] | None = None

    def _method(self) -> Method:
        # The candidates are all pairs of alpha and number of kernels, the largest alpha
        # first. `open_end`: the dictionary has more kernels than `max_kernels`.
        method = greedy_method(self)

        def candidates(data: Training) -> PrefixCandidates:
            alphas = grid_of(RIDGES if self.alphas is None else self.alphas)[::-1]
            n_kernels = data.stack.shape[0]
            limit = n_kernels if self.max_kernels is None else self.max_kernels
            largest = min(limit, n_kernels)
            return PrefixCandidates(method, alphas, largest, open_end=limit < n_kernels)

        return Search(self, method, candidates)


@dataclass(eq=False, repr=False)
class GroupOMPClassifierCV(GreedyParameters, GreedySearchCV, ClassifierMKL):
    """Classification by Group-OMP with cross-validated number of kernels and alpha.

    Each fold selects kernels as `GroupOMPClassifier` does, once for each alpha. The
    model with k kernels uses the first k selected kernels, so one selection gives the
    scores for all k. Each fold normalizes kernels by its own training samples.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    loss : {"squared_error", "log_loss", "hinge"} or Loss, default="squared_error"
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
        Seed of the rows drawn for scoring, where None means 0, and of ``subsample``.
    alphas : sequence of float or None, default=None
        Candidate strengths of the ridge penalty. None means 1e-4, 1e-3, ..., 1.
    max_kernels : int or None, default=None
        Largest candidate number of kernels. With None, ``tol`` stops the selection.
    tol : float, default=1e-3
        Precision of the selection, not a duality gap: stop when no kernel improves the
        fit by more than this share of the largest possible improvement.
    subsample : float or int, default=1.0
        Share (float) or number (int) of the kernels that each step draws and compares.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization: "variance" (variance of one in feature space), "trace" (mean
        diagonal of one), "cosine", "center" or a list of steps. None omits it.
    penalty_weights : dict, sequence of float or None, default=None
        Weights w_m > 0, one per kernel or by name of kernel or view; weights not given
        are 1. The penalty contains w_m ‖f_m‖, not ‖f_m‖. ``kernel_weights_`` and
        ``block_norms_`` then refer to normalized kernels divided by w_m².
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
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
    alpha_ : float
        Strength of the penalty in this fit.
    max_kernels_ : int
        Chosen number of kernels; for ties see ``best_params_``.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate values of alpha, descending, on the same scale as ``alphas``.
    selection_order_ : ndarray of shape (n_selected,)
        Indices of kernels in the order of selection; ties select the lowest index.
    improvements_ : ndarray of shape (n_selected,)
        Predicted decrease of ``objective_`` by each kernel when it was selected.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the log loss if the model minimizes one, else its loss).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,)
        1 for each selected kernel, 0 for the others.
    block_norms_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Norm of each function f_m in the space of its normalized kernel. More than two
        classes, or several labels, have one row each.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Share of each f_m in the variance of training decision values; may be negative.
    view_weights_, view_shares_, kernel_views_, view_columns_ : dict, dict, list, dict
        With views: sums of weights and shares, each kernel's view, each view's columns.
    category_features_, categories_, sequence_features_ : ndarray, list, ndarray
        Indices of category columns, values of each, and indices of sequence columns.
    active_kernels_ : ndarray of shape (n_selected,)
        Indices of the selected kernels, ascending.
    kernel_names_, n_kernels_ : list of str, int
        Names of all candidate kernels, and their number.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Negative gradient a of the sum of losses, for the last model. Each selected f_m
        is K_m a / (alpha * sum of sample weights), with the Gram matrix K_m.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float
        Mean loss, summed over the classes, plus the penalty.
    duality_gap_ : float
        Always nan: a greedy selection has no certificate.
    n_iter_ : int
        Number of selected kernels.
    history_ : structured ndarray of shape (n_selected + 1,)
        One record per model, first the constant one, with the fields of `Progress`.
    status_, status_message_ : str
        Why the selection stopped: "selected" if it reached ``max_kernels``, "precise"
        if ``tol`` stopped it; and a sentence about it.
    fit_info_ : dict
        Keys "solver", "storage", "storage_reason", "left_out" (unused default kernels),
        "search_rows" (scored rows) and "predicted_alike" (the class, if all
        validation samples get the same, or "").
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    GroupOMPClassifier : The model for one alpha and number of kernels.
    multikernel.display.SparsityPathDisplay : Draws scores by number of kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import GroupOMPClassifierCV
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> model = GroupOMPClassifierCV(alphas=[0.01, 0.1], cv=3).fit(X, y)
    >>> model.max_kernels_ == len(model.selection_order_)
    True
    """

    staged_decision_function = prefixes.staged_decision_function
    staged_predict = prefixes.staged_class_predictions
    staged_predict_proba = prefixes.staged_predict_proba


@dataclass(eq=False, repr=False, kw_only=True)
class GroupOMPRegressorCV(GreedyParameters, GreedySearchCV, RegressorMKL):
    """Regression by Group-OMP with cross-validated number of kernels and alpha.

    Each fold selects kernels as `GroupOMPRegressor` does, once for each alpha. The
    model with k kernels uses the first k selected kernels, so one selection gives the
    scores for all k. Each fold normalizes kernels by its own training samples.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    loss : str or Loss, default="squared_error"
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
        Seed of the rows drawn for scoring, where None means 0, and of ``subsample``.
    alphas : sequence of float or None, default=None
        Candidate strengths of the ridge penalty. None means 1e-4, 1e-3, ..., 1.
    max_kernels : int or None, default=None
        Largest candidate number of kernels. With None, ``tol`` stops the selection.
    tol : float, default=1e-3
        Precision of the selection, not a duality gap: stop when no kernel improves the
        fit by more than this share of the largest possible improvement.
    subsample : float or int, default=1.0
        Share (float) or number (int) of the kernels that each step draws and compares.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization: "variance" (variance of one in feature space), "trace" (mean
        diagonal of one), "cosine", "center" or a list of steps. None omits it.
    penalty_weights : dict, sequence of float or None, default=None
        Weights w_m > 0, one per kernel or by name of kernel or view; weights not given
        are 1. The penalty contains w_m ‖f_m‖, not ‖f_m‖. ``kernel_weights_`` and
        ``block_norms_`` then refer to normalized kernels divided by w_m².
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
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
    alpha_ : float
        Strength of the penalty in the units of y.
    max_kernels_ : int
        Chosen number of kernels; for ties see ``best_params_``.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate values of alpha, descending, on the same scale as ``alphas``.
    selection_order_ : ndarray of shape (n_selected,)
        Indices of kernels in the order of selection; ties select the lowest index.
    improvements_ : ndarray of shape (n_selected,)
        Predicted decrease of ``objective_`` by each kernel when it was selected.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the loss that the model minimizes, without the penalty).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,)
        1 for each selected kernel, 0 for the others.
    block_norms_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        Share of each f_m in the variance of training decision values; may be negative.
    view_weights_, view_shares_, kernel_views_, view_columns_ : dict, dict, list, dict
        With views: sums of weights and shares, each kernel's view, each view's columns.
    category_features_, categories_, sequence_features_ : ndarray, list, ndarray
        Indices of category columns, values of each, and indices of sequence columns.
    active_kernels_ : ndarray of shape (n_selected,)
        Indices of the selected kernels, ascending.
    kernel_names_, n_kernels_ : list of str, int
        Names of all candidate kernels, and their number.
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Negative gradient a of the sum of losses, for the last model. Each selected f_m
        is K_m a / (alpha * sum of sample weights), with the Gram matrix K_m.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float
        Mean loss, summed over the targets, plus the penalty.
    duality_gap_ : float
        Always nan: a greedy selection has no certificate.
    n_iter_ : int
        Number of selected kernels.
    history_ : structured ndarray of shape (n_selected + 1,)
        One record per model, first the constant one, with the fields of `Progress`.
    status_, status_message_ : str
        Why the selection stopped: "selected" if it reached ``max_kernels``, "precise"
        if ``tol`` stopped it; and a sentence about it.
    fit_info_ : dict
        Keys "solver", "storage", "storage_reason", "left_out" (unused default kernels)
        and "search_rows" (scored rows).
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    GroupOMPRegressor : The model for one alpha and number of kernels.
    multikernel.display.SparsityPathDisplay : Draws scores by number of kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import GroupOMPRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2]) + 0.3 * rng.standard_normal(60)
    >>> model = GroupOMPRegressorCV(alphas=[0.01, 0.1], cv=3).fit(X, y)
    >>> model.max_kernels_ == len(model.selection_order_)
    True
    """

    intervals: bool = False

    staged_predict = prefixes.staged_target_predictions
    __sklearn_tags__ = prefixes.multi_output_tags
