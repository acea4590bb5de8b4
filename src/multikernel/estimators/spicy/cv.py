"""Sparse MKL by SpicyMKL, with alpha chosen by cross-validation along a path."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.grams.method import solved_candidate
from multikernel.estimators.grams.recipe import GramFit, Recipe, problems_of
from multikernel.estimators.grams.shortlist import is_shortened
from multikernel.estimators.grams.solving import (
    fits_of_path,
    follow_outputs,
    follow_path,
    until_stopped,
)
from multikernel.estimators.grams.training import Training
from multikernel.estimators.method import Means, Method, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import iterations
from multikernel.estimators.scale import grid_of
from multikernel.estimators.search.choice import (
    PATIENCE,
    TARGET_PATIENCE,
    StrengthCandidates,
    has_peaked,
)
from multikernel.estimators.search.path import path_arrays, strength_grid
from multikernel.estimators.search.search import Search, SearchCV, loosen_tol
from multikernel.estimators.search.targets import (
    chosen_recipe,
    refit_targets,
    target_blocks,
)
from multikernel.estimators.spicy.estimators import SparseParameters
from multikernel.estimators.spicy.method import sparse_method
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.problem import Solution

ALPHA_MIN_RATIO = 1e-3
"""Default of ``alpha_min_ratio``; ``benchmarks/defaults`` (paths) compares values."""


@dataclass(eq=False, repr=False, kw_only=True)
class AlphaSearchCV(SearchCV):
    """Base class of searches that choose alpha by cross-validation."""

    alphas: Sequence[float] | None = None
    n_alphas: int = 12
    alpha_min_ratio: float = ALPHA_MIN_RATIO

    def _method(self) -> Method:
        return alpha_search(self)


def alpha_search(model: BaseMKL) -> Search:
    """Return the search of an estimator over strengths of the penalty."""
    method = sparse_method(model, 1.0)

    def candidates(data: Training) -> AlphaCandidates:
        blocks, is_given = target_blocks(model, data), model.alphas is not None
        if is_given:
            alphas = grid_of(model.alphas)[::-1]
        else:
            problems, _ = problems_of(method.recipe(data), data)
            alphas = strength_grid(problems, model.n_alphas, model.alpha_min_ratio)
        return AlphaCandidates(method, alphas, open_ends=is_given, blocks=blocks)

    return Search(model, method, candidates)


@dataclass(frozen=True, eq=False)
class AlphaCandidates(StrengthCandidates):
    """Candidates of a search: strengths of the penalty, from the largest on."""

    # Whether larger strengths than the first could give another model. False if no
    # kernel enters at the first strength.
    open_ends: bool
    # Whether `refit` solves the path down to the chosen strength.
    with_path: bool = True

    def open_grids(self, best_params: Mapping[str, float]) -> Mapping[str, Array]:
        """Return the grid of alpha; {} if its extension cannot give better models."""
        # If no kernel enters at the first strength, larger ones give the same model.
        is_closed = not self.open_ends and best_params["alpha"] == self.alphas[0]
        return {} if is_closed else super().open_grids(best_params)

    def without_path(self) -> Self:
        """Return candidates whose `refit` computes no path."""
        return replace(self, with_path=False)

    def solve(self, training: Training, watch: Watch, means: Means) -> Iterator[Solved]:
        """Yield the models for decreasing strengths while the mean scores improve."""
        recipes, chain = self.recipes(training), range(self.alphas.size)
        is_separate = self.blocks is not None
        n_choices = len(recipes[0].losses) if is_separate else 1
        patience = TARGET_PATIENCE if is_separate else PATIENCE
        # The index of each problem's last recipe; -1 ends its path, see `follow_path`.
        last_steps = np.full(n_choices, len(recipes))
        path = until_stopped(follow_path(recipes, training, watch, last_steps))
        for index, fit in enumerate(path):
            # Targets whose paths have ended have no solution.
            models = [solution for solution in fit.solutions if solution is not None]
            solved = solved_candidate(index, replace(fit, solutions=models))
            if is_separate:
                solved = replace(
                    solved,
                    n_active=np.array([solution.active.size for solution in models]),
                    targets=np.flatnonzero([s is not None for s in fit.solutions]),
                )
            yield replace(solved, chain=chain)
            last_steps[[has_peaked(m, chain, patience) for m in means().T]] = -1
            if (last_steps < 0).all():
                return

    def refit(self, training: Training, watch: Watch, best: Any) -> dict[str, object]:
        """Return the fitted attributes of candidate `best`, and the path to it."""
        recipes = self.recipes(training)
        # Only the last fit needs the estimator's tol; others use the tol of folds.
        steps = self.with_tol(loosen_tol(self.method.tol)).recipes(training)
        steps = steps[: int(np.max(best)) + 1]
        if self.blocks is not None:
            recipe = chosen_recipe(recipes, best)
            fit, paths = refit_targets(
                steps, recipe, training, watch, best, self.blocks
            )
            fit = self.method.finish(fit, stopped=watch.stopped)
        else:
            fit, paths = self._refit_together(steps, recipes[best], training, watch)
        attributes: dict[str, object] = self.method.publish(fit)
        attributes["n_iter_"] = iterations(paths)
        attributes["alphas_"] = self.alphas
        # Paths have a point for each of `steps`, or only for the chosen strength.
        alphas = self.alphas[len(steps) - len(paths[0]) : len(steps)]
        scale = np.reshape(fit.recipe.objective_scale, (-1, 1))
        attributes["path_"] = path_arrays(alphas, paths, scale)
        return attributes

    def _refit_together(
        self, steps: Sequence[Recipe], recipe: Recipe, training: Training, watch: Watch
    ) -> tuple[GramFit, list[tuple[Solution, ...]]]:
        """Return the final fit with one strength for all outputs, and their paths."""
        if self.with_path:
            *path, fit = fits_of_path(steps, recipe, training, watch, follow_path)
        else:
            path, fit = [], next(follow_outputs([recipe], training, watch))
        fit = self.method.finish(fit, stopped=watch.stopped)
        solved_steps = [step.solutions for step in path]
        if is_shortened(training):
            # The path was solved on a short list of kernels, so the gaps of its
            # solutions do not hold for all kernels.
            solved_steps = [
                [replace(s, duality_gap=np.nan) for s in solutions]
                for solutions in solved_steps
            ]
        return fit, list(zip(*solved_steps, fit.solutions, strict=True))


@dataclass(eq=False, repr=False)
class SpicyMKLClassifierCV(SparseParameters, AlphaSearchCV, ClassifierMKL):
    """Sparse multiple kernel classification with alpha chosen by cross-validation.

    Each fold solves the problem of `SpicyMKLClassifier` for all candidate alphas, with
    warm starts, and normalizes kernels by its own training samples.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    loss : str or Loss, default="log_loss"
        "log_loss", "hinge", "squared_hinge", "squared_error" (targets of -1 and 1) or a
        loss object. `predict_proba` requires "log_loss".
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
    alphas : sequence of float or None, default=None
        Candidate values of alpha, the strength of the penalty. None means a logarithmic
        grid that descends from the smallest alpha at which no kernel enters.
    n_alphas : int, default=12
        Number of values in the default grid of ``alphas``.
    alpha_min_ratio : float, default=1e-3
        Ratio of the last value of the default grid to the first, in (0, 1].
    l1_ratio : float, default=1.0
        Share r of the block l1 norm, in [0, 1]. Below 1, similar kernels enter jointly.
    selection : {"shared", "separate"}, default="separate"
        With several labels or more than two classes, "separate" fits each with its own
        kernels. "shared" fits all with the same kernels: in the penalty, ‖f_m‖ is the
        root of the sum of squares of ``block_norms_[:, m]``, and for classes,
        "log_loss" is the multinomial loss, "hinge" the Crammer-Singer loss. "shared" is
        often more accurate if classes depend on the same columns.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization: "variance" (variance of one in feature space), "trace" (mean
        diagonal of one), "cosine", "center" or a list of steps. None omits it.
    penalty_weights : dict, sequence of float or None, default=None
        Weights w_m > 0, one per kernel or by name of kernel or view; weights not given
        are 1. The penalty contains w_m ‖f_m‖, not ‖f_m‖. ``kernel_weights_`` and
        ``block_norms_`` then refer to normalized kernels divided by w_m².
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
    alpha_ : float
        Strength of the penalty in this fit.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate values of alpha, descending, on the same scale as ``alphas``.
    path_ : RegularizationPath
        Fits on all samples for the candidate strengths, down to the chosen one.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the log loss if the model minimizes one, else its loss).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Sum one, or all zero if no kernel entered; a row per separate selection.
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
        Names of all kernels, and their number. Above a million, ``kernel_names_`` and
        ``kernel_weights_`` contain only the kernels that the solver needed.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Dual point a that proves ``duality_gap_``; optimal f_m are multiples of K_m a.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float or ndarray of shape (n_classes,)
        Mean loss plus alpha times the penalty.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of outer iterations along the path on all samples.
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
    SpicyMKLClassifier : The model for one alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLClassifierCV
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> model = SpicyMKLClassifierCV(n_alphas=8, cv=3).fit(X, y)
    >>> model.alphas_.shape, bool(model.best_score_ > 0.6)
    ((8,), True)
    """


@dataclass(eq=False, repr=False, kw_only=True)
class SpicyMKLRegressorCV(SparseParameters, AlphaSearchCV, RegressorMKL):
    """Sparse multiple kernel regression with alpha chosen by cross-validation.

    Each fold solves the problem of `SpicyMKLRegressor` for all candidate alphas, with
    warm starts, and normalizes kernels by its own training samples. With
    ``selection="separate"`` each target gets its own alpha, unless ``scoring`` is a
    callable: it returns one score for all targets, so all targets share an alpha.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, also as functions or names of `sklearn.metrics.pairwise`.
        None means `median_dictionary` of X, for which you should standardize numeric
        columns, or `sequence_dictionary` for text. A dict maps views to columns, see
        `multikernel.kernels.Views`. "precomputed": X is the result of `stack_grams`.
    loss : str or Loss, default="squared_error"
        "squared_error", "epsilon_insensitive", "quantile", "huber", "poisson" (counts),
        "gamma" (positive amounts) or a loss object.
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
    alphas : sequence of float or None, default=None
        Candidate values of alpha, the strength of the penalty. None means a logarithmic
        grid that descends from the smallest alpha at which no kernel enters.
    n_alphas : int, default=12
        Number of values in the default grid of ``alphas``.
    alpha_min_ratio : float, default=1e-3
        Ratio of the last value of the default grid to the first, in (0, 1].
    l1_ratio : float, default=1.0
        Share r of the block l1 norm, in [0, 1]. Below 1, similar kernels enter jointly.
    selection : {"shared", "separate"}, default="shared"
        "shared" gives all targets the same kernels: in the penalty, ‖f_m‖ is the root
        of the sum of squares of ``block_norms_[:, m]``. "separate" fits each alone.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization: "variance" (variance of one in feature space), "trace" (mean
        diagonal of one), "cosine", "center" or a list of steps. None omits it.
    penalty_weights : dict, sequence of float or None, default=None
        Weights w_m > 0, one per kernel or by name of kernel or view; weights not given
        are 1. The penalty contains w_m ‖f_m‖, not ‖f_m‖. ``kernel_weights_`` and
        ``block_norms_`` then refer to normalized kernels divided by w_m².
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
    quantile : float, default=0.5
        Level of the quantile, between 0 and 1; only for "quantile".
    intervals : bool, default=False
        Whether to store fold models for `predict_interval`. This can double the time.

    Attributes
    ----------
    epsilon_ : float or ndarray of shape (n_targets,)
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    l1_ratio_ : float or ndarray of shape (n_targets,)
        Value of ``l1_ratio`` for y that is not standardized; only if it is below 1.
    alpha_ : float or ndarray of shape (n_targets,)
        Strength of the penalty in the units of y; an array if ``selection="separate"``.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate values of alpha, descending, on the same scale as ``alphas``.
    target_scores_ : ndarray of shape (n_targets, n_candidates)
        Mean score of each target and candidate, nan for skipped candidates; only if
        each target has its own alpha. ``best_params_``, ``best_index_`` and ``alpha_``
        then have one entry for each target, and ``cv_results_`` and ``best_score_``
        contain means over targets.
    path_ : RegularizationPath
        Fits on all samples for the candidate strengths, down to the (smallest) chosen
        one. Below the chosen strength of a target, the path repeats its final model.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the loss that the model minimizes, without the penalty).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        Sum one, or all zero if no kernel entered; a row per separate selection.
    block_norms_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        Share of each f_m in the variance of training decision values; may be negative.
    view_weights_, view_shares_, kernel_views_, view_columns_ : dict, dict, list, dict
        With views: sums of weights and shares, each kernel's view, each view's columns.
    category_features_, categories_, sequence_features_ : ndarray, list, ndarray
        Indices of category columns, values of each, and indices of sequence columns.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight for at least one target, ascending.
    kernel_names_, n_kernels_ : list of str, int
        Names of all kernels, and their number. Above a million, ``kernel_names_`` and
        ``kernel_weights_`` contain only the kernels that the solver needed.
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Dual point a that proves ``duality_gap_``; optimal f_m are multiples of K_m a.
    intercept_ : ndarray of shape (n_targets,)
        Intercepts.
    unpenalized_coef_, unpenalized_names_ : ndarray, list of str
        Coefficients and names of `multikernel.kernels.Unpenalized` columns, if any.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float or ndarray of shape (n_targets,)
        Mean loss plus alpha times the penalty.
    duality_gap_ : float or ndarray of shape (n_targets,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int or ndarray of shape (n_targets,)
        Number of outer iterations along the path on all samples.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration; ``output``: index of the target, see `Progress`.
    status_, status_message_ : str
        Worst `Status` of all targets, such as "converged", and a sentence about it.
    fit_info_ : dict
        Keys "solver", "storage", "storage_reason", "left_out" (unused default kernels),
        "cv_tol" (duality gap at which folds stop) and "search_rows" (scored rows).
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    SpicyMKLRegressor : The model for one alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import SpicyMKLRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2]) + 0.3 * rng.standard_normal(60)
    >>> model = SpicyMKLRegressorCV(n_alphas=8, cv=3).fit(X, y)
    >>> model.alphas_.shape, bool(model.best_score_ > 0.6)
    ((8,), True)
    """

    quantile: float = 0.5
    selection: str = "shared"
    intervals: bool = False
