"""Sparse learning by SpicyMKL, with alpha chosen by cross-validation along a path."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.grams.method import (
    finish_fit,
    fitted_attributes,
    solved_candidate,
)
from multikernel.estimators.grams.recipe import Recipe, problems_of
from multikernel.estimators.grams.shortlist import is_shortened
from multikernel.estimators.grams.solving import (
    follow_outputs,
    follow_path,
    solve_path,
    until_stopped,
)
from multikernel.estimators.grams.training import Training
from multikernel.estimators.method import Candidates, Means, Method, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import iterations, single
from multikernel.estimators.scale import grid_of, target_scale
from multikernel.estimators.search.choice import RATE, TARGET_PATIENCE, has_peaked
from multikernel.estimators.search.path import path_arrays, strength_grid
from multikernel.estimators.search.search import Search, SearchCV, loosen_tol
from multikernel.estimators.search.targets import (
    chosen_recipe,
    refit_targets,
    target_blocks,
)
from multikernel.estimators.spicy.estimators import (
    SparseClassification,
    SparseRegression,
)
from multikernel.estimators.spicy.method import sparse_method
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL

ALPHA_MIN_RATIO = 1e-3
"""Ratio of the last to the first strength of paths: ``benchmarks/defaults`` (paths)."""


@dataclass(eq=False, repr=False, kw_only=True)
class AlphaSearchCV(SearchCV):
    """Base class of searches that choose alpha by cross-validation."""

    alphas: Sequence[float] | None = None
    n_alphas: int = 12
    alpha_min_ratio: float = ALPHA_MIN_RATIO

    def _method(self) -> Method:
        return alpha_search(self)


def alpha_search(model: Any) -> Search:
    """Return the search of an estimator over strengths."""
    method = sparse_method(model, 1.0)

    def candidates(data: Training) -> AlphaCandidates:
        """Return the candidates for the training data of all folds."""
        blocks, is_given = target_blocks(model, data), model.alphas is not None
        if is_given:
            alphas = grid_of(model.alphas)[::-1]
        else:
            problems, _ = problems_of(method.recipe(data), data)
            alphas = strength_grid(problems, model.n_alphas, model.alpha_min_ratio)
        return AlphaCandidates(method, alphas, open_ends=is_given, blocks=blocks)

    return Search(model, method, candidates)


@dataclass(frozen=True, eq=False)
class AlphaCandidates(Candidates):
    """Strengths as candidates; the largest comes first and gives the simplest model."""

    alphas: Array  # descending
    # Whether the grid could be extended at both ends, as a grid given by the user;
    # otherwise it starts at the strength at which no kernel enters.
    open_ends: bool
    # Whether to solve the path to the chosen strength on all samples.
    with_path: bool = True

    def grid(self, max_kernels: int | None = None) -> dict[str, Array]:
        """Return the grid of strengths."""
        return {"alpha": self.alphas}

    def scaled_to_share(self, share: float) -> Self:
        """Return candidates with strengths adapted to a share of the samples."""
        return replace(self, alphas=self.alphas * share**-RATE)

    def open_grids(self, best_params: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the grid, unless the choice is at an end that cannot be extended."""
        is_closed = not self.open_ends and best_params["alpha"] == self.alphas[0]
        return {} if is_closed else super().open_grids(best_params)

    def without_path(self) -> Self:
        """Return candidates whose `refit` computes no path."""
        return replace(self, with_path=False)

    def solve(self, training: Training, watch: Watch, means: Means) -> Iterator[Solved]:
        """Yield the models along the path while the mean score improves."""
        recipes, chain = self._recipes(training), range(self.alphas.size)
        if self.blocks is not None:
            yield from self._solve_targets(recipes, training, watch, means)
            return
        path = until_stopped(follow_path(recipes, training, watch))
        for index, fit in enumerate(path):
            yield replace(solved_candidate(index, fit), chain=chain)
            if has_peaked(means(), chain):
                return

    def _solve_targets(
        self, recipes: Sequence[Recipe], training: Training, watch: Watch, means: Means
    ) -> Iterator[Solved]:
        """Yield the models of the targets whose mean scores may still improve."""
        chain, n_targets = range(len(recipes)), len(recipes[0].losses)
        last_steps = np.full(n_targets, len(recipes))
        path = until_stopped(follow_path(recipes, training, watch, last_steps))
        for index, fit in enumerate(path):
            models = [solution for solution in fit.solutions if solution is not None]
            yield replace(
                solved_candidate(index, replace(fit, solutions=models)),
                n_active=np.array([solution.active.size for solution in models]),
                chain=chain,
                targets=np.flatnonzero([s is not None for s in fit.solutions]),
            )
            mean_scores = means()
            if mean_scores is not None:
                stops = [has_peaked(m, chain, TARGET_PATIENCE) for m in mean_scores.T]
                last_steps[stops] = -1
            if (last_steps < 0).all():
                return

    def refit(self, training: Training, watch: Watch, best: Any) -> dict[str, Any]:
        """Return the fitted attributes of candidate `best`, and the path to it."""
        recipes = self._recipes(training)
        # The path is solved to the tolerance of the folds.
        loose = self.with_tol(loosen_tol(self.method.tol))._recipes(training)
        if self.blocks is not None:
            return self._refit_targets(recipes, loose, training, watch, best)
        recipe, steps = recipes[best], loose[: best + 1]
        if self.with_path:
            *path, fit = solve_path(steps, recipe, training, watch, follow_path)
        else:
            path, fit = [], next(follow_outputs([recipe], training, watch))
        fit = finish_fit(fit, stopped=watch.stopped)
        alphas = self.alphas[best - len(path) : best + 1]
        solved_steps = [step.solutions for step in path]
        if is_shortened(training):
            # Gaps on the short list do not include the other kernels.
            solved_steps = [
                [replace(s, duality_gap=np.nan) for s in solutions]
                for solutions in solved_steps
            ]
        attributes = fitted_attributes(fit)
        paths = list(zip(*solved_steps, fit.solutions, strict=True))
        attributes["n_iter_"] = iterations(paths)
        attributes["alphas_"] = self.alphas
        attributes["path_"] = path_arrays(alphas, paths, recipe.objective_scale)
        return attributes

    def _refit_targets(
        self,
        recipes: Sequence[Recipe],
        loose: Sequence[Recipe],
        training: Training,
        watch: Watch,
        best: Indices,
    ) -> dict[str, Any]:
        """Return the attributes of the final models, with one strength per target."""
        assert self.blocks is not None
        final, steps = chosen_recipe(recipes, best), loose[: int(best.max()) + 1]
        fit, paths = refit_targets(steps, final, training, watch, best, self.blocks)
        attributes = fitted_attributes(finish_fit(fit, stopped=watch.stopped))
        n_iter = [sum(point.n_iter for point in path) for path in paths]
        attributes["n_iter_"] = single(np.maximum(n_iter, 1))
        attributes["alphas_"] = self.alphas
        scale = np.reshape(final.objective_scale, (-1, 1))
        attributes["path_"] = path_arrays(self.alphas[: len(steps)], paths, scale)
        return attributes

    def _recipes(self, training: Training) -> list[Recipe]:
        """Return losses, penalties and solver for each strength."""
        samples = training.samples
        # Compute the scale of the targets once: for each strength it took a tenth of
        # the time of a search.
        owner, loss = self.method.source.owner, self.method.loss.unit
        scale = target_scale(owner, samples, loss)
        return [
            replace(self.method, alpha=alpha).recipe_at(scale, samples.total_weight)
            for alpha in self.alphas.tolist()
        ]


@dataclass(eq=False, repr=False)
class SpicyMKLClassifierCV(SparseClassification, AlphaSearchCV, ClassifierMKL):
    """Sparse multiple kernel classification with alpha chosen by cross-validation.

    Each fold solves the problem of `SpicyMKLClassifier` for all strengths, with warm
    starts. The search chooses the strength with the best mean validation score. The
    Gram matrices are computed once; each fold normalizes them by its own training
    samples, as `SpicyMKLClassifier` does.

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
    loss : str or Loss, default="log_loss"
        "log_loss", "hinge", "squared_hinge", "squared_error" (targets of -1 and 1) or a
        loss object. `predict_proba` requires "log_loss".
    l1_ratio : float, default=1.0
        Share of the block l1 norm in the penalty, in [0, 1]. Below 1, kernels that
        carry the same information enter together. A regressor applies it to targets
        scaled to a standard deviation of one.
    selection : {"shared", "separate"}, default="separate"
        Selection of kernels for more than two classes. "separate" fits each class
        against the rest, with its own kernels and weights. "shared" selects one set of
        kernels for all classes: "log_loss" becomes the multinomial loss, "hinge" the
        loss of Crammer and Singer, other losses are summed over the classes. Choose
        "shared" for one selection to report and for jointly fitted probabilities;
        choose "separate" if classes depend on different kernels. With default kernels
        and strength "shared" had the higher accuracy on 12 of 17 data sets, by up to
        0.025, and lost 0.026 where classes depend on different columns. Each column of
        multilabel targets counts as a class. Sharing changes the loss of a classifier,
        but not of a regressor, so the defaults differ.
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
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=100
        Maximum number of outer iterations; each passes over all kernels.
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
    l1_ratio_ : float or ndarray of shape (n_outputs,)
        Value of ``l1_ratio`` that corresponds to ``alpha_`` in the units of the
        targets; only if ``l1_ratio`` is below 1.
    alpha_ : float or ndarray of shape (n_outputs,)
        Regularization strength in the units of the targets; one for each target if the
        selection is separate. A search stores the strength with the best mean score,
        the largest one if several tie.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate strengths in the units of ``alpha``, descending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps along the path on all samples, which ends at
        the chosen strength.
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
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Nonnegative kernel weights with sum one; all zero if no kernel entered. More
        than two classes have one row per class, unless the selection is shared. A
        shared selection has one row and one gap, but dual points and intercepts for
        each class. Labels of multilabel targets count as classes.
    block_norms_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
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
        Indices of the kernels with a nonzero weight for at least one class, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Feasible dual point a that proves ``duality_gap_``, zero at samples of weight
        zero. At the optimum f_m is a multiple of K_m a.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float or ndarray of shape (n_classes,)
        Mean loss plus alpha times the penalty.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of outer iterations along the path on all samples.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration with the fields output (index of the class, 0 for
        two classes), iteration, seconds, objective, duality_gap, n_active, passes,
        inner_steps.
    status_ : str
        Reason why the solver stopped, the worst over all classes: "converged" if the
        tolerance was reached, otherwise another name of a `Status` in lower case.
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
    SpicyMKLClassifier : The model for one alpha.

    References
    ----------
    .. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SpicyMKLClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = SpicyMKLClassifierCV(kernels, n_alphas=8, cv=3).fit(X, y)
    >>> model.alphas_.shape, bool(model.alpha_ in model.alphas_)
    ((8,), True)
    """


@dataclass(eq=False, repr=False, kw_only=True)
class SpicyMKLRegressorCV(SparseRegression, AlphaSearchCV, RegressorMKL):
    """Sparse multiple kernel regression with alpha chosen by cross-validation.

    Each fold solves the problem of `SpicyMKLRegressor` for all strengths, with warm
    starts. The search chooses the strength with the best mean validation score. The
    Gram matrices are computed once; each fold normalizes them by its own training
    samples, as `SpicyMKLRegressor` does.

    With ``selection="separate"`` each target gets its own strength, unless ``scoring``
    is a callable, which scores all targets together.

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
    loss : str or Loss, default="squared_error"
        Loss by name or as an object. "squared_error" is half the squared error,
        "epsilon_insensitive" the absolute error beyond ``epsilon``, "quantile" the
        pinball loss, "huber" quadratic near zero and linear beyond ``epsilon``.
        "poisson" (counts) and "gamma" (positive amounts) are half the deviance with a
        log link.
    epsilon : float or None, default=None
        Error in units of the standard deviation of y. "epsilon_insensitive" ignores
        smaller errors (None means 0.1); "huber" is linear beyond it (None means 0.7).
    quantile : float, default=0.5
        Level of the quantile, between 0 and 1; only for "quantile".
    l1_ratio : float, default=1.0
        Share of the block l1 norm in the penalty, in [0, 1]. Below 1, kernels that
        carry the same information enter together. A regressor applies it to targets
        scaled to a standard deviation of one.
    selection : {"shared", "separate"}, default="shared"
        Selection of kernels for several targets. "shared" selects one set of kernels
        for all targets, by the joint norm of a kernel's functions. "separate" fits each
        target with its own kernels and weights. If targets depend on the same kernels,
        "shared" finds them with fewer samples. With one target both are the same. The
        default of classifiers is "separate" because sharing changes their loss.
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
    intervals : bool, default=False
        Whether to store the models of all folds at the chosen parameters for
        `predict_interval`. They are fitted again, to the tolerance of the folds, which
        can double the time of the search; each needs the memory of a fitted model.

    Attributes
    ----------
    epsilon_ : float or ndarray of shape (n_outputs,)
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    l1_ratio_ : float or ndarray of shape (n_outputs,)
        Value of ``l1_ratio`` that corresponds to ``alpha_`` in the units of the
        targets; only if ``l1_ratio`` is below 1.
    alpha_ : float or ndarray of shape (n_outputs,)
        Regularization strength in the units of the targets; one for each target if the
        selection is separate. A search stores the strength with the best mean score,
        the largest one if several tie.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate strengths in the units of ``alpha``, descending.
    target_scores_ : ndarray of shape (n_targets, n_candidates)
        Mean score of each target and candidate, nan for skipped candidates; only if
        each target has its own strength. ``best_params_``, ``best_index_`` and
        ``alpha_`` then contain one entry for each target, and ``best_score_`` is the
        mean over targets. ``cv_results_`` contains means of scores and sums of losses
        over targets.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps along the path on all samples, which ends at
        the chosen strength. If each target has its own strength, the path ends at the
        smallest; beyond its strength a target keeps its model.
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
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_targets, n_kernels)
        Nonnegative kernel weights with sum one; all zero if no kernel entered.
        With separate selections each target has its own row, objective, gap and number
        of iterations.
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
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Feasible dual point a that proves ``duality_gap_``, zero at samples of weight
        zero. At the optimum f_m is a multiple of K_m a.
    intercept_ : ndarray of shape (n_targets,)
        Intercept of each target.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float or ndarray of shape (n_targets,)
        Mean loss plus alpha times the penalty.
    duality_gap_ : float or ndarray of shape (n_targets,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int or ndarray of shape (n_targets,)
        Number of outer iterations along the path on all samples.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration with the fields output (index of the problem),
        iteration, seconds, objective, duality_gap, n_active, passes, inner_steps.
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
    SpicyMKLRegressor : The model for one alpha.

    References
    ----------
    .. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SpicyMKLRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 1]) + 0.1 * rng.standard_normal(60)
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = SpicyMKLRegressorCV(kernels, alpha_min_ratio=1e-3, cv=3).fit(X, y)
    >>> bool(model.best_score_ > 0.9)
    True
    """

    intervals: bool = False
