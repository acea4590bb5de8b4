"""Group-OMP, with the number of kernels and alpha chosen by cross-validation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.grams.recipe import Recipe
from multikernel.estimators.grams.shortlist import greedy_list, is_shortened
from multikernel.estimators.grams.training import Training
from multikernel.estimators.group_omp.estimators import (
    GreedyClassification,
    GreedyRegression,
)
from multikernel.estimators.group_omp.method import (
    GreedyFit,
    GreedyMethod,
    greedy_method,
    joint_problem,
    prefix_attributes,
    warn_interrupted,
)
from multikernel.estimators.group_omp.stages import PublishedPath, published_path
from multikernel.estimators.method import Candidates, Means, Method, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import BlockFunctions
from multikernel.estimators.scale import grid_of
from multikernel.estimators.search.search import Search, SearchCV
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.problem import Problem, Status
from multikernel.solvers import GreedyPath

RIDGES = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
"""The default candidate strengths."""


@dataclass(frozen=True, eq=False)
class PrefixCandidates(Candidates):
    """All pairs of a number of selected kernels and a strength as candidates."""

    # Candidates are ordered by increasing numbers of kernels, then by decreasing
    # strengths, so the simplest comes first.
    method: GreedyMethod
    alphas: Array  # strengths, descending
    max_kernels: int  # the largest number of kernels; the smallest is zero
    open_end: bool  # whether there are more kernels than `max_kernels`

    def grid(self, max_kernels: int | None = None) -> dict[str, Array]:
        """Return the number of kernels and the strength of every pair."""
        largest = self.max_kernels if max_kernels is None else max_kernels
        counts = np.arange(largest + 1)
        return {
            "max_kernels": np.repeat(counts, self.alphas.size),
            "alpha": np.tile(self.alphas, counts.size),
        }

    def open_grids(self, best_params: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the strengths, and the numbers of kernels if these could be larger."""
        edges = {"alpha": self.alphas}
        if self.open_end and best_params["max_kernels"] > 0:
            edges["max_kernels"] = np.arange(self.max_kernels + 1.0)
        return edges

    def solve(self, training: Training, watch: Watch, means: Means) -> Iterator[Solved]:
        """Yield the models with each number of kernels, for each strength."""
        recipes = self._recipes(training)
        problem = joint_problem(recipes[0], training)
        kernel_list = greedy_list(problem) if is_shortened(training) else None
        for a, path in enumerate(self._paths(recipes, problem, watch, kernel_list)):
            if path.status is Status.STOPPED:
                continue
            published = published_path(path, training)
            fit = GreedyFit(recipes[a], training, path)
            for k in range(len(path) + 1):
                max_count = self.max_kernels if k == len(path) else k
                n = len(recipes)
                candidates = range(k * n + a, (max_count + 1) * n, n)
                attributes = partial(prefix_attributes, fit, k)
                # All kernels of a model share one expansion, which needs little memory.
                model = training, _expansion(published, k)
                yield Solved(candidates, model, k, 0, np.empty(0), attributes)

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the fitted attributes of candidate `best` on all samples."""
        recipes = self._recipes(training)
        n_selected, a = divmod(best, len(recipes))
        # The solver selects at least one kernel, but the choice may be no kernel.
        solver = replace(self.method.solver, max_kernels=max(n_selected, 1))
        alone = replace(self, method=replace(self.method, solver=solver))
        problem = joint_problem(recipes[a], training)
        (path,) = alone._paths([recipes[a]], problem, watch)
        warn_interrupted(self.method.source.owner, path)
        fit = GreedyFit(recipes[a], training, path)
        attributes = prefix_attributes(fit, min(n_selected, len(path)))
        return attributes | {"alphas_": self.alphas}

    def _recipes(self, training: Training) -> list[Recipe]:
        """Return losses, penalties and solver for each strength."""
        return [
            replace(self.method, alpha=alpha).recipe(training)
            for alpha in self.alphas.tolist()
        ]

    def _paths(
        self,
        recipes: Sequence[Recipe],
        problem: Problem,
        watch: Watch,
        kernel_list: Indices | None = None,
    ) -> list[GreedyPath]:
        """Return greedy paths of all strengths, over `kernel_list` or all kernels."""
        strengths = np.array([recipe.penalties[0].alpha for recipe in recipes])
        if kernel_list is None:
            return self.method.solver.paths(problem, strengths, watch)
        listed_problem = replace(problem, gram=problem.gram.take(kernel_list))
        return [
            replace(path, problem=problem, order=kernel_list[path.order])
            for path in self.method.solver.paths(listed_problem, strengths, watch)
        ]


def _expansion(path: PublishedPath, k: int) -> BlockFunctions:
    """Return the model with the first k kernels, which share their coefficients."""
    shared = np.broadcast_to(path.coefs[k], (k, *path.coefs.shape[1:]))
    effects = None if path.effects is None else path.effects[k]
    return BlockFunctions(np.sort(path.order[:k]), shared, path.intercepts[k], effects)


@dataclass(eq=False, repr=False, kw_only=True)
class GreedySearchCV(SearchCV):
    """Base class of searches that choose alpha and the number of kernels."""

    alphas: Sequence[float] | None = None

    def _method(self) -> Method:
        method = greedy_method(self)

        def candidates(data: Training) -> PrefixCandidates:
            """Return the candidates for the training data of all folds."""
            alphas = grid_of(RIDGES if self.alphas is None else self.alphas)[::-1]
            n_kernels = data.stack.shape[0]
            limit = n_kernels if self.max_kernels is None else self.max_kernels
            largest = min(limit, n_kernels)
            return PrefixCandidates(method, alphas, largest, open_end=limit < n_kernels)

        return Search(self, method, candidates)


@dataclass(eq=False, repr=False)
class GroupOMPClassifierCV(GreedyClassification, GreedySearchCV, ClassifierMKL):
    """Classification by MKL-GOMP, sparsity and alpha chosen by cross-validation [1]_.

    Each fold selects kernels for all strengths at the same time. Each prefix of a
    selection is a candidate, so one path per fold and strength scores all numbers of
    kernels. The Gram matrices are computed once; each fold normalizes them by its own
    training samples, as `GroupOMPClassifier` does.

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
        Folds of cross-validation, as in scikit-learn; None means five. A single
        (train, test) pair is one validation set. If ``fit`` receives ``groups``, an int
        or None creates folds that keep each group together. Within pipelines and
        cross-validation, metadata routing passes groups after
        ``set_fit_request(groups=True)``.
    scoring : str, callable or None, default=None
        Score to maximize; None means accuracy. A callable is called with the fitted
        model, X and y of the validation samples, and sample weights if it accepts them.
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
        than 400 rows are drawn in pieces. On fewer rows the same values of ``alpha``
        are scored. See the page "Large data" of the user guide.
    alphas : sequence of float, default=None
        Candidate strengths of the ridge penalty, positive. None means 1e-4, 1e-3, 1e-2,
        1e-1 and 1.
    max_kernels : int or None, default=None
        Largest candidate number of kernels; the smallest is zero. With None, ``tol``
        stops the selection.
    tol : float, default=1e-3
        Precision of the selection, not a duality gap: stop when no kernel improves the
        fit by more than this share of the largest possible improvement over the
        constant model. For the squared loss that is half the mean square of the
        centered target.
    loss : {"squared_error", "log_loss", "hinge"} or Loss, default="squared_error"
        Loss, by name or as an object; targets of the squared error are -1 and 1. Only
        "log_loss" has `predict_proba`.
    subsample : float or int, default=1.0
        Random part of the dictionary that each step considers: a fraction (float) or a
        number of kernels (int).
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization of the kernels. "variance" gives unit variance in feature space,
        "trace" a mean diagonal of one, "cosine" cosine similarity; "center" only
        centers. An object such as `multikernel.gram.TailNormalizer` is accepted too. A
        list is applied in order. The factors are computed on the training samples.
    penalty_weights : dict, sequence of float or None, default=None
        Penalty weights w_m > 0: the penalty contains w_m ‖f_m‖ in place of ‖f_m‖, so a
        kernel of weight 2 must explain twice as much to enter. A sequence has one
        number for each kernel. A dict maps names of kernels or views to weights; a
        kernel's name takes precedence over its view's, and kernels without an entry
        have weight 1. The fit divides the normalized kernels by w_m²; ``block_norms_``
        and ``kernel_weights_`` refer to these scaled kernels, ``variance_shares_`` does
        not depend on the scale.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    class_weight : dict, "balanced" or None, default=None
        Factor of the sample weights for each class label; "balanced" gives all classes
        the same total weight.
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
    alpha_ : float or ndarray of shape (n_outputs,)
        Regularization strength in the units of the targets; one for each target if the
        selection is separate. A search stores the strength with the best mean score,
        the largest one if several tie.
    max_kernels_ : int
        Chosen number of kernels: the smallest one with the best mean score, then the
        largest alpha.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate strengths in the units of ``alpha``, descending.
    selection_order_ : ndarray of shape (n_selected,)
        Kernels in the order of selection. If kernels tie, the first one in the
        dictionary is selected.
    improvements_ : ndarray of shape (n_selected,)
        Predicted improvement of each kernel when it was selected, in the scale of
        ``objective_`` (half the scale of [1]_). For the squared loss the objective
        decreases by at least this amount.
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
        1 for each selected kernel, 0 for the others; the model's kernel is the sum of
        the selected kernels.
    block_norms_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
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
    active_kernels_ : ndarray of shape (n_selected,)
        Indices of the selected kernels, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Dual variable a of the last refit: minus the gradient of the losses with respect
        to the decision values. Each selected f_m is K_m a divided by alpha times the
        sum of the sample weights.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float
        Mean loss, summed over the classes, plus the penalty.
    duality_gap_ : float
        Always nan: a greedy selection has no certificate.
    n_iter_ : int
        Number of selected kernels.
    history_ : structured ndarray of shape (n_selected + 1,)
        One record per model, beginning with the constant model, with the fields output
        (always 0), iteration, seconds, objective, duality_gap (nan), n_active, passes,
        inner_steps.
    status_ : str
        Reason why the selection stopped: "selected" if it reached ``max_kernels``,
        "precise" if no further kernel improves the fit by more than ``tol``.
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
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns of X; for precomputed kernels, number of training samples.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names; only if X was a data frame.

    See Also
    --------
    GroupOMPClassifier : The model for one alpha and number of kernels.
    multikernel.display.SparsityPathDisplay : Draws the scores.

    References
    ----------
    .. [1] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit
       for sparse learning with multiple kernels. NIPS 24.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import GroupOMPClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((90, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = GroupOMPClassifierCV(kernels, cv=3).fit(X, y)
    >>> model.max_kernels_, model.selection_order_
    (1, array([2]))
    """


@dataclass(eq=False, repr=False, kw_only=True)
class GroupOMPRegressorCV(GreedyRegression, GreedySearchCV, RegressorMKL):
    """Regression by MKL-GOMP, sparsity and alpha chosen by cross-validation [1]_.

    Each fold selects kernels for all strengths at the same time. Each prefix of a
    selection is a candidate, so one path per fold and strength scores all numbers of
    kernels. The Gram matrices are computed once; each fold normalizes them by its own
    training samples, as `GroupOMPRegressor` does.

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
        Folds of cross-validation, as in scikit-learn; None means five. A single
        (train, test) pair is one validation set. If ``fit`` receives ``groups``, an int
        or None creates folds that keep each group together. Within pipelines and
        cross-validation, metadata routing passes groups after
        ``set_fit_request(groups=True)``.
    scoring : str, callable or None, default=None
        Score to maximize; None means R^2. A callable is called with the fitted model, X
        and y of the validation samples, and sample weights if it accepts them.
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
        than 400 rows are drawn in pieces. On fewer rows the same values of ``alpha``
        are scored. See the page "Large data" of the user guide.
    alphas : sequence of float, default=None
        Candidate strengths of the ridge penalty, positive, as ``alpha`` of
        `GroupOMPRegressor`. None means 1e-4, 1e-3, 1e-2, 1e-1 and 1.
    max_kernels : int or None, default=None
        Largest candidate number of kernels; the smallest is zero. With None, ``tol``
        stops the selection.
    tol : float, default=1e-3
        Precision of the selection, not a duality gap: stop when no kernel improves the
        fit by more than this share of the largest possible improvement over the
        constant model. For the squared loss that is half the variance of the target.
    loss : str or Loss, default="squared_error"
        Loss by name or as an object. "squared_error" is half the squared error,
        "epsilon_insensitive" the absolute error beyond ``epsilon``, "quantile" the
        pinball loss, "huber" quadratic near zero and linear beyond ``epsilon``.
        "poisson" (counts) and "gamma" (positive amounts) are half the deviance with a
        log link.
    epsilon : float or None, default=None
        Error in units of the standard deviation of y. "epsilon_insensitive" ignores
        smaller errors (None means 0.1); "huber" is linear beyond it (None means 0.7).
    subsample : float or int, default=1.0
        Random part of the dictionary that each step considers: a fraction (float) or a
        number of kernels (int).
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization of the kernels. "variance" gives unit variance in feature space,
        "trace" a mean diagonal of one, "cosine" cosine similarity; "center" only
        centers. An object such as `multikernel.gram.TailNormalizer` is accepted too. A
        list is applied in order. The factors are computed on the training samples.
    penalty_weights : dict, sequence of float or None, default=None
        Penalty weights w_m > 0: the penalty contains w_m ‖f_m‖ in place of ‖f_m‖, so a
        kernel of weight 2 must explain twice as much to enter. A sequence has one
        number for each kernel. A dict maps names of kernels or views to weights; a
        kernel's name takes precedence over its view's, and kernels without an entry
        have weight 1. The fit divides the normalized kernels by w_m²; ``block_norms_``
        and ``kernel_weights_`` refer to these scaled kernels, ``variance_shares_`` does
        not depend on the scale.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
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
    intervals : bool, default=False
        Whether to store the models of all folds at the chosen parameters for
        `predict_interval`. They are fitted again, to the tolerance of the folds, which
        can double the time of the search; each needs the memory of a fitted model.

    Attributes
    ----------
    epsilon_ : float or ndarray of shape (n_outputs,)
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    alpha_ : float or ndarray of shape (n_outputs,)
        Regularization strength in the units of the targets; one for each target if the
        selection is separate. A search stores the strength with the best mean score,
        the largest one if several tie.
    max_kernels_ : int
        Chosen number of kernels: the smallest one with the best mean score, then the
        largest alpha.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate strengths in the units of ``alpha``, descending.
    selection_order_ : ndarray of shape (n_selected,)
        Kernels in the order of selection. If kernels tie, the first one in the
        dictionary is selected.
    improvements_ : ndarray of shape (n_selected,)
        Predicted improvement of each kernel when it was selected, in the scale of
        ``objective_`` (half the scale of [1]_). For the squared loss the objective
        decreases by at least this amount.
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
        1 for each selected kernel, 0 for the others; the model's kernel is the sum of
        the selected kernels.
    block_norms_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_outputs, n_kernels)
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
    active_kernels_ : ndarray of shape (n_selected,)
        Indices of the selected kernels, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_outputs, n_samples)
        Dual variable a of the last refit: minus the gradient of the losses with respect
        to the predictions. Each selected f_m is K_m a divided by alpha times the sum of
        the sample weights.
    intercept_ : ndarray of shape (n_outputs,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float
        Mean loss, summed over the targets, plus the penalty.
    duality_gap_ : float
        Always nan: a greedy selection has no certificate.
    n_iter_ : int
        Number of selected kernels.
    history_ : structured ndarray of shape (n_selected + 1,)
        One record per model, beginning with the constant model, with the fields output
        (always 0), iteration, seconds, objective, duality_gap (nan), n_active, passes,
        inner_steps.
    status_ : str
        Reason why the selection stopped: "selected" if it reached ``max_kernels``,
        "precise" if no further kernel improves the fit by more than ``tol``.
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
    GroupOMPRegressor : The model for one alpha and number of kernels.
    multikernel.display.SparsityPathDisplay : Draws the scores.

    References
    ----------
    .. [1] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit
       for sparse learning with multiple kernels. NIPS 24.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import GroupOMPRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 1]) + X[:, 3] + 0.3 * rng.standard_normal(60)
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = GroupOMPRegressorCV(kernels, cv=3).fit(X, y)
    >>> model.max_kernels_, model.selection_order_
    (2, array([3, 1]))
    """

    intervals: bool = False
