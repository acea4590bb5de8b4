"""lp-norm MKL, with C and p chosen by cross-validation along paths of C."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.grams.method import (
    finish_fit,
    fitted_attributes,
    solved_candidate,
)
from multikernel.estimators.grams.recipe import GramFit, Recipe
from multikernel.estimators.grams.solving import (
    follow_outputs,
    solve_path,
    until_stopped,
)
from multikernel.estimators.grams.training import Training
from multikernel.estimators.lp.estimators import LpClassification, LpRegression
from multikernel.estimators.lp.method import MarginMethod, lp_method, margin_unit
from multikernel.estimators.method import Candidates, Means, Method, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import iterations
from multikernel.estimators.scale import grid_of
from multikernel.estimators.search.choice import has_peaked
from multikernel.estimators.search.path import RegularizationPath, path_arrays
from multikernel.estimators.search.search import Search, SearchCV, loosen_tol
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.problem import Solution

# An end of this grid beat its neighbor in 16 of 222 searches, in 49 with the grid of
# Kloft et al. (2009): ``benchmarks/defaults`` (grids).
C_MULTIPLES = (1 / 32, 1 / 8, 1 / 2, 2.0, 8.0, 32.0, 128.0)
"""Default values of C in multiples of `margin_unit`."""

DEFAULT_PS = (1.0, 4 / 3, 2.0, 4.0, float("inf"))


def margin_grid(
    Cs: Any, method: MarginMethod, training: Training, weight_sums: Array
) -> Array:
    """Return the candidate values of C, one ascending column per sum of weights."""
    if Cs is not None:
        return np.tile(grid_of(Cs)[:, None], weight_sums.size)
    loss = MarginMethod.recipe(method, training).losses[0]
    units = [margin_unit(loss, training, size) for size in weight_sums.tolist()]
    return np.outer(C_MULTIPLES, units)


@dataclass(frozen=True, eq=False)
class MarginCandidates(Candidates):
    """All pairs of C and p as candidates; p varies fastest."""

    Cs: Array  # shape (n_Cs, n_ps), ascending in every column
    ps: Array | Indices  # ascending
    with_p: bool  # whether p is a parameter of the estimator
    start: int = 0  # position of the first pair among all candidates

    def grid(self, max_kernels: int | None = None) -> dict[str, Array]:
        """Return C, and p if it is a parameter, of every pair."""
        columns = {"C": self.Cs.ravel()}
        if self.with_p:
            columns["p"] = np.tile(self.ps, len(self.Cs))
        return columns

    def open_grids(self, best_params: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the grid of C for the chosen p; a p at the end needs no warning."""
        column = np.searchsorted(self.ps, best_params["p"]) if self.with_p else 0
        return {"C": self.Cs[:, column]}

    def solve(self, training: Training, watch: Watch, means: Means) -> Iterator[Solved]:
        """Yield the models of pairs, each with a warm start from a neighbor."""
        n_ps = self.ps.size
        best: int | None = None
        start: Sequence[Solution | None] = ()
        # All C are tried with the largest p, where every kernel has a weight, until
        # scores fall. The best C changes little from one p to the next: from the best C
        # of the last p, one smaller and one larger are tried, and larger ones while
        # scores rise. With the same C for all p, a smaller p has a smaller combined
        # kernel, so its best C is larger.
        for j in range(n_ps)[::-1]:
            recipes = self.recipes(training, j)
            # Positions of the pairs with this p, with C ascending.
            chain = range(self.start + j, self.start + n_ps * len(recipes), n_ps)
            first_C, latest_best = max(0, (best or 0) - 1), best
            # For every p, the first C starts from the model of the next larger p, and
            # each other C from the previous C. On 155 samples and 70 kernels this takes
            # 2 steps per solve. Starts from the same C and the next larger p take 5:
            # beyond some C the data are separated, and the optimum changes only with p.
            fits = follow_outputs(recipes[first_C:], training, watch, start)
            previous: Sequence[Solution | None] = ()
            for i, fit in enumerate(until_stopped(fits), first_C):
                training = fit.training
                yield replace(self._solved(chain[i], fit), chain=chain)
                mean_scores = means()
                latest_best = _best_in_chain(mean_scores, chain)
                if i in (first_C, latest_best):
                    # The next p starts from the model at the previous C, if any.
                    start = previous or fit.solutions
                previous = fit.solutions
                is_past = best is not None and i > max(best, latest_best or 0)
                if is_past or (best is None and has_peaked(mean_scores, chain)):
                    break
            if watch.stopped:
                return
            best = latest_best

    def _solved(self, candidate: int, fit: GramFit) -> Solved:
        """Return a candidate's model on a fold."""
        return solved_candidate(candidate, fit)

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the fitted attributes of candidate `best`, and its path over C."""
        i, j = divmod(best, self.ps.size)
        recipes = self.recipes(training, j)
        # The path is solved to the tolerance of the folds.
        candidates = self.with_tol(loosen_tol(self.method.tol))
        path_recipes = candidates.recipes(training, j)[: i + 1]
        path = solve_path(path_recipes, recipes[i], training, watch)
        path[-1] = finish_fit(path[-1], stopped=watch.stopped)
        attributes = fitted_attributes(path[-1])
        paths = list(zip(*(fit.solutions for fit in path), strict=True))
        all_Cs = self.Cs[:, j]
        indices = slice(i + 1 - len(path), i + 1)
        attributes["n_iter_"] = iterations(paths)
        attributes["path_"] = margin_path(all_Cs[indices], recipes[indices], paths)
        attributes["Cs_"] = all_Cs
        if self.with_p:
            attributes["ps_"] = self.ps
        return attributes

    def recipes(self, training: Training, j: int) -> Sequence[Recipe]:
        """Return losses, penalties and solver for each C, ascending, and the p `j`."""
        method = replace(self.method, p=float(self.ps[j]))
        return [replace(method, C=C).recipe(training) for C in self.Cs[:, j].tolist()]


def _best_in_chain(means: Array | None, chain: Sequence[int]) -> int | None:
    """Return the position in a chain with the best mean score, None if unknown."""
    if means is None or not np.isfinite(means[np.asarray(chain)]).any():
        return None
    return int(np.nanargmax(means[np.asarray(chain)]))


def margin_search(
    model: Any, method: MarginMethod, ps: Sequence[float], *, with_p: bool
) -> Search:
    """Return the search of an estimator over C, and over p if it is a parameter."""
    # The C and p of `method` are ignored.
    exponents = np.unique(np.asarray(ps, dtype=np.float64))

    def candidates(data: Training) -> MarginCandidates:
        """Return the candidates for the training data of all folds."""
        n_kernels = data.stack.shape[0]
        methods = [replace(method, p=p) for p in exponents.tolist()]
        sums = np.array([m.weight_sum(n_kernels) for m in methods])
        Cs = margin_grid(model.Cs, method, data, sums)
        return MarginCandidates(method, Cs, exponents, with_p)

    return Search(model, method, candidates)


def margin_path(
    Cs: Array, recipes: Sequence[Recipe], paths: Sequence[Sequence[Solution]]
) -> RegularizationPath:
    """Return the solutions for ascending C as a path over the strengths 1 / C."""
    # A path has one solution per C, up to the C at which its solves stopped. Objectives
    # are in the scale of C times the losses.
    n_Cs = len(paths[0])
    scales = np.transpose([recipe.objective_scale for recipe in recipes[:n_Cs]])
    return path_arrays(1.0 / Cs[:n_Cs], paths, scales)


@dataclass(eq=False, repr=False, kw_only=True)
class MarginSearchCV(SearchCV):
    """Base class of searches that choose C and p by cross-validation."""

    Cs: Sequence[float] | None = None
    ps: Sequence[float] = DEFAULT_PS

    def _method(self) -> Method:
        return margin_search(self, lp_method(self, self.ps), self.ps, with_p=True)


@dataclass(eq=False, repr=False)
class LpMKLClassifierCV(LpClassification, MarginSearchCV, ClassifierMKL):
    r"""Classification by lp-norm MKL, C and p chosen by cross-validation.

    Each fold solves the problem of `LpMKLClassifier` for pairs of C and p, with warm
    starts. The search chooses the pair with the best mean validation score. It begins
    with the largest p and increases C until the scores decrease. Each smaller p starts
    with the best C of the next larger p and its two neighbors, and continues to larger
    C while the scores rise. ``cv_results_`` contains nan for pairs that were skipped.
    The Gram matrices are computed once; each fold normalizes them by its own training
    samples, so its models are those of a `LpMKLClassifier` fitted on these samples.

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
        than 400 rows are drawn in pieces. On fewer rows the same values of C are
        scored, because C multiplies a sum over samples. See the page "Large data" of
        the user guide.
    Cs : sequence of float, default=None
        Candidate values of C, positive. None means c / (M^(1 - 1/p) v) for c = 1/32,
        1/8, 1/2, 2, ..., 128, and four times that for "log_loss". M is the number of
        kernels, v is their mean variance, and 1/p is 0 for p = inf.
    ps : sequence of float, default=(1, 4/3, 2, 4, inf)
        Candidate values of p, each at least 1.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        Loss by name or as an object. "squared_error" uses targets of -1 and 1.
        `predict_proba` requires "log_loss".
    solver : str, default="auto"
        "newton", "cutting_plane" or "alternating"; for p = 1 also "squared_form", and
        for comparison "silp", "simple" and "hessian". All reach the same optimum.
        "auto" chooses by the numbers of kernels and samples; ``fit_info_`` stores the
        choice.
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
    max_iter : int or None, default=None
        Maximum number of outer iterations; None selects the default of the solver.
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
    C_ : float or ndarray of shape (n_outputs,)
        C in the units of the targets; one for each target if the selection is separate.
        A search stores the chosen C.
    p_ : float
        Chosen p.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C for ``p_``, ascending.
    ps_ : ndarray of shape (n_ps,)
        All values of p, ascending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples for ``p_`` and C up to
        ``C_``. The strengths of the path are 1 / C; all but the last are solved to
        ``fit_info_["cv_tol"]``.
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
        Nonnegative kernel weights theta with p-norm one; all zero if no kernel enters.
        More than two classes have one row per class, unless the selection is shared. A
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
        Feasible dual point a that proves ``duality_gap_``; from -C to C for the hinge
        and the logistic loss, zero at samples of weight zero. At the optimum f_m =
        ``kernel_weights_[m]`` K_m a.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float or ndarray of shape (n_classes,)
        Objective of `LpMKLClassifier`: the penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int or ndarray of shape (n_classes,)
        Total number of outer iterations along ``path_``.
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
    LpMKLClassifier : The model for one C and one p.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and
       accurate lp-norm multiple kernel learning. NIPS 22, 997-1005.
    .. [2] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LpMKLClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LpMKLClassifierCV(kernels, Cs=[0.01, 0.1, 1.0], cv=3).fit(X, y)
    >>> model.C_ in model.Cs_, model.p_ in model.ps_
    (True, True)
    """


@dataclass(eq=False, repr=False, kw_only=True)
class LpMKLRegressorCV(LpRegression, MarginSearchCV, RegressorMKL):
    r"""Regression by lp-norm MKL, C and p chosen by cross-validation.

    Each fold solves the problem of `LpMKLRegressor` for pairs of C and p, with warm
    starts. The search chooses the pair with the best mean validation score. It begins
    with the largest p and increases C until the scores decrease. Each smaller p starts
    with the best C of the next larger p and its two neighbors, and continues to larger
    C while the scores rise. ``cv_results_`` contains nan for pairs that were skipped.
    The Gram matrices are computed once; each fold normalizes them by its own training
    samples, so its models are those of a `LpMKLRegressor` fitted on these samples.

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
        than 400 rows are drawn in pieces. On fewer rows the same values of C are
        scored, because C multiplies a sum over samples. See the page "Large data" of
        the user guide.
    Cs : sequence of float, default=None
        Candidate values of C, positive. None means c / (M^(1 - 1/p) v) for c = 1/32,
        1/8, 1/2, 2, ..., 128. M is the number of kernels, v is their mean variance, and
        1/p is 0 for p = inf.
    ps : sequence of float, default=(1, 4/3, 2, 4, inf)
        Candidate values of p, each at least 1.
    loss : str or Loss, default="epsilon_insensitive"
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
    solver : str, default="auto"
        "newton", "cutting_plane" or "alternating"; for p = 1 also "squared_form", and
        for comparison "silp", "simple" and "hessian". All reach the same optimum.
        "auto" chooses by the numbers of kernels and samples; ``fit_info_`` stores the
        choice.
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
    max_iter : int or None, default=None
        Maximum number of outer iterations; None selects the default of the solver.
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
    C_ : float or ndarray of shape (n_outputs,)
        C in the units of the targets; one for each target if the selection is separate.
        A search stores the chosen C.
    p_ : float
        Chosen p.
    Cs_ : ndarray of shape (n_Cs,)
        All values of C for ``p_``, ascending.
    ps_ : ndarray of shape (n_ps,)
        All values of p, ascending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples for ``p_`` and C up to
        ``C_``. The strengths of the path are 1 / C; all but the last are solved to
        ``fit_info_["cv_tol"]``.
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
        Nonnegative kernel weights theta with p-norm one; all zero if no kernel enters.
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
        Feasible dual point a that proves ``duality_gap_``; from -C to C for the
        epsilon-insensitive loss, zero at samples of weight zero. At the optimum
        f_m = ``kernel_weights_[m]`` K_m a.
    intercept_ : ndarray of shape (n_targets,)
        Intercept of each target.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float or ndarray of shape (n_targets,)
        Objective of `LpMKLRegressor`: the penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_targets,)
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int or ndarray of shape (n_targets,)
        Total number of outer iterations along ``path_``.
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
    LpMKLRegressor : The model for one C and one p.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and
       accurate lp-norm multiple kernel learning. NIPS 22, 997-1005.
    .. [2] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LpMKLRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2]) + 0.3 * rng.standard_normal(60)
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LpMKLRegressorCV(kernels, Cs=[0.1, 1.0, 10.0], cv=3).fit(X, y)
    >>> model.best_params_["C"] in model.Cs_, model.p_ in model.ps_
    (True, True)
    """

    intervals: bool = False
