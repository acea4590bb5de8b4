"""Local Rademacher MKL, with C and theta chosen by cross-validation."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from multikernel._typing import Array, Indices
from multikernel.estimators.grams.method import fitted_attributes, solved_candidate
from multikernel.estimators.grams.recipe import GramFit, Recipe
from multikernel.estimators.grams.solving import solve_path
from multikernel.estimators.grams.training import Training
from multikernel.estimators.local_rademacher.estimators import (
    TailClassification,
    TailRegression,
)
from multikernel.estimators.local_rademacher.method import (
    dc_attributes,
    finish_tail_fit,
    tail_method,
    with_gaps,
)
from multikernel.estimators.lp.cv import MarginCandidates, margin_grid, margin_path
from multikernel.estimators.method import Means, Method, Solved
from multikernel.estimators.progress import Watch
from multikernel.estimators.publish.fitted import iterations
from multikernel.estimators.search.search import Search, SearchCV, loosen_tol
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram.spectra import TailSums, tail_sums
from multikernel.solvers import TailDC

DEFAULT_THETAS = (0, 1, 2, 4, 8, 16)
"""Default values of theta: the paper's, and zero for the plain lp-norm model."""


@dataclass(frozen=True, eq=False)
class TailCandidates(MarginCandidates):
    """All pairs of C and theta as candidates; theta varies fastest."""

    # `ps` contains the values of theta, ascending, and `Cs` has a column for each.
    with_p: bool = True  # not used
    sums: Any = None  # `TailSums` on training samples; None before they are known
    with_path: bool = True  # whether the path over C is computed on all samples

    def grid(self, max_kernels: int | None = None) -> dict[str, Array]:
        """Return C and theta of every pair."""
        return {"C": self.Cs.ravel(), "theta": np.tile(self.ps, len(self.Cs))}

    def open_grids(self, best_params: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the grid of C; a theta at the end of its grid needs no warning."""
        return {"C": self.Cs[:, np.searchsorted(self.ps, best_params["theta"])]}

    def with_tol(self, tol: float) -> Self:
        """Return the candidates with another tolerance, and a single start of "dc"."""
        method, solver = self.method.with_tol(tol), self.method.solver
        if isinstance(solver, TailDC):
            method = replace(method, solver=replace(method.solver, n_starts=1))
        return replace(self, method=method)

    def without_path(self) -> Self:
        """Return candidates whose `refit` computes no path over C."""
        return replace(self, with_path=False)

    def with_sums(self, training: Training) -> Self:
        """Return the candidates with the tail sums of training samples."""
        return replace(self, sums=largest_sums(self.ps, training))

    def solve(self, training: Training, watch: Watch, means: Means) -> Iterator[Solved]:
        """Yield the models of pairs, beginning with all C for the largest theta."""
        candidates = self.with_sums(training)
        return super(TailCandidates, candidates).solve(training, watch, means)

    def _solved(self, candidate: int, fit: GramFit) -> Solved:
        """Return a candidate's model on a fold, with the gaps of convex problems."""
        gaps = [solution.duality_gap for solution in with_gaps(fit.solutions)]
        return replace(solved_candidate(candidate, fit), gaps=np.array(gaps))

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the fitted attributes of candidate `best`, and its path over C."""
        i, j = divmod(best, self.ps.size)
        candidates = self.with_sums(training)
        recipes = candidates.recipes(training, j)
        start = 0 if self.with_path else i
        loose = candidates.with_tol(loosen_tol(self.method.tol)).recipes(training, j)
        path = solve_path(loose[start : i + 1], recipes[i], training, watch)
        path[-1] = finish_tail_fit(path[-1], stopped=watch.stopped)
        attributes = fitted_attributes(path[-1]) | dc_attributes(path[-1])
        paths = list(zip(*(with_gaps(fit.solutions) for fit in path), strict=True))
        indices = slice(i + 1 - len(path), i + 1)
        return attributes | {
            "n_iter_": iterations(paths),
            "path_": margin_path(self.Cs[indices, j], recipes[indices], paths),
            "Cs_": self.Cs[:, j],
            "thetas_": self.ps,
            "tail_sums_": candidates.sums.tails,
        }

    def recipes(self, training: Training, j: int) -> Sequence[Recipe]:
        """Return losses, penalties and solver for each C, ascending, and theta `j`."""
        sums, theta = self.sums, int(self.ps[j])
        return [
            replace(self.method, C=C).with_tails(training, sums, theta)
            for C in self.Cs[:, j].tolist()
        ]


def largest_sums(thetas: Array | Indices, training: Training) -> TailSums:
    """Return the tail sums of all kernels, for any theta up to the largest."""
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
            """Return the candidates for the training data of all folds."""
            thetas = np.unique(np.asarray(self.thetas, dtype=np.intp))
            weight_sum = method.weight_sum(data.stack.shape[0])
            sums = np.full(thetas.size, weight_sum)
            if self.Cs is None:
                # Kernels are divided by their tail sums, so C is multiplied by their
                # geometric mean.
                all_sums = largest_sums(thetas, data)
                tails = np.array([all_sums.bounded(theta) for theta in thetas.tolist()])
                tails = np.where(tails > 0.0, tails, 1.0)
                sums = weight_sum * np.exp(-np.log(tails).mean(axis=1))
            Cs: Array = margin_grid(self.Cs, method, data, sums)
            return TailCandidates(method, Cs, thetas)

        return Search(self, method, candidates)


@dataclass(eq=False, repr=False)
class LocalRademacherMKLClassifierCV(TailClassification, TailSearchCV, ClassifierMKL):
    r"""Classification by local Rademacher MKL, C and theta cross-validated.

    Each fold solves the problem of `LocalRademacherMKLClassifier` for pairs of C and
    theta, with warm starts: for the largest theta all C until scores fall, for each
    smaller theta the C near the best one. ``cv_results_`` contains nan for skipped
    pairs. The Gram matrices are computed once; each fold normalizes them by its own
    training samples and computes one spectrum of each kernel for all pairs.

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
        Candidate values of C, positive, for every theta. None means
        c t / (M^(1 - 1/p) v) for c = 1/32, 1/8, 1/2, 2, ..., 128, and four times that
        for "log_loss". M is the number of kernels, v is their mean variance, t is the
        geometric mean of their tail sums for this theta, and 1/p is 0 for p = inf.
    thetas : sequence of int, default=(0, 1, 2, 4, 8, 16)
        Candidate numbers of free eigenvalues; 0 gives the model of `LpMKLClassifier`.
    p : float, default=2.0
        Order of the norm that constrains the kernel weights, at least 1; it may be
        infinite, except for "dc". With p = 1 most weights are zero.
    method : {"conv", "dc"}, default="conv"
        "conv" bounds the tail sum of each kernel, a convex problem; "dc" bounds the
        tail sum of the weighted kernel, a difference of convex functions.
    n_starts : int, default=3
        Number of starts of "dc" for the final model: first the solution at the previous
        C (at the first C, of "conv"), then equal weights, then random weights. Folds
        use the first start only.
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
    normalize : str, Normalizer, list of str and Normalizer, or None, default=None
        Normalization of the kernels before their spectra are computed: "center",
        "cosine" or a list that is applied in order. Kernels are then scaled to trace n,
        so a scale such as "variance" has no effect.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which a convex problem stops. "dc" also stops when an
        iteration decreases the objective by less than this share.
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
        Seed of the vectors that test precomputed matrices for symmetry and of the
        random starts of "dc". All other steps are deterministic.

    Attributes
    ----------
    C_ : float or ndarray of shape (n_outputs,)
        C in the units of the targets; one for each target if the selection is separate.
        A search stores the chosen C.
    theta_ : int
        Chosen theta.
    Cs_ : ndarray of shape (n_Cs,)
        Candidate values of C for ``theta_``, ascending.
    thetas_ : ndarray of shape (n_thetas,)
        All values of theta, ascending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples for ``theta_``, and for all C
        up to ``C_``; for ``C_`` alone if scores are those of a sample of the rows. The
        strengths of the path are 1 / C; gaps of "dc" are those of the convex problems.
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
        Nonnegative weights mu of the kernels, which are scaled to trace n, on the
        boundary of the constraint. More than two classes have one row per class, unless
        the selection is shared. A shared selection has one row and one gap, but dual
        points and intercepts for each class. Labels of multilabel targets count as
        classes.
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
        Feasible dual point of the (last) convex problem; from -C to C for the hinge and
        the logistic loss, zero at samples of weight zero.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float or ndarray of shape (n_classes,)
        Objective of `LocalRademacherMKLClassifier`: the penalty plus C times the sum of
        the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of "conv"; nan for "dc".
    subproblem_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the last convex problem; only for "dc".
    start_objectives_ : ndarray of shape (n_starts,) or (n_classes, n_starts)
        Objective reached from each start, ascending; only for "dc".
    tail_sums_ : ndarray of shape (n_kernels, min(theta, n_samples) + 1)
        Tail sums of each kernel beyond 0, 1, ... eigenvalues, divided by n.
    n_iter_ : int or ndarray of shape (n_classes,)
        Total number of outer iterations over all C.
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
    LocalRademacherMKLClassifier : The model for one C and one theta.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LocalRademacherMKLClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LocalRademacherMKLClassifierCV(kernels, Cs=[0.01, 0.1, 1.0], cv=3)
    >>> model = model.fit(X, y)
    >>> model.best_params_["C"] in model.Cs_, model.theta_ in model.thetas_
    (True, True)
    """


@dataclass(eq=False, repr=False, kw_only=True)
class LocalRademacherMKLRegressorCV(TailRegression, TailSearchCV, RegressorMKL):
    r"""Regression by local Rademacher MKL, C and theta cross-validated.

    Each fold solves the problem of `LocalRademacherMKLRegressor` for pairs of C and
    theta, with warm starts: for the largest theta all C until scores fall, for each
    smaller theta the C near the best one. ``cv_results_`` contains nan for skipped
    pairs. The Gram matrices are computed once; each fold normalizes them by its own
    training samples and computes one spectrum of each kernel for all pairs.

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
        Candidate values of C, positive, for every theta. None means
        c t / (M^(1 - 1/p) v) for c = 1/32, 1/8, 1/2, 2, ..., 128. M is the number of
        kernels, v is their mean variance, t is the geometric mean of their tail sums
        for this theta, and 1/p is 0 for p = inf.
    thetas : sequence of int, default=(0, 1, 2, 4, 8, 16)
        Candidate numbers of free eigenvalues; 0 gives the model of `LpMKLRegressor`.
    p : float, default=2.0
        Order of the norm that constrains the kernel weights, at least 1; it may be
        infinite, except for "dc". With p = 1 most weights are zero.
    method : {"conv", "dc"}, default="conv"
        "conv" bounds the tail sum of each kernel, a convex problem; "dc" bounds the
        tail sum of the weighted kernel, a difference of convex functions.
    n_starts : int, default=3
        Number of starts of "dc" for the final model: first the solution at the previous
        C (at the first C, of "conv"), then equal weights, then random weights. Folds
        use the first start only.
    loss : str or Loss, default="epsilon_insensitive"
        Loss by name or as an object. "squared_error" is half the squared error,
        "epsilon_insensitive" the absolute error beyond ``epsilon``, "quantile" the
        pinball loss, "huber" quadratic near zero and linear beyond ``epsilon``.
        "poisson" (counts) and "gamma" (positive amounts) are half the deviance with a
        log link.
    epsilon : float or None, default=None
        Error in units of the standard deviation of y. "epsilon_insensitive" ignores
        smaller errors (None means 0.1); "huber" is linear beyond it (None means 0.7).
    solver : str, default="auto"
        "newton", "cutting_plane" or "alternating"; for p = 1 also "squared_form", and
        for comparison "silp", "simple" and "hessian". All reach the same optimum.
        "auto" chooses by the numbers of kernels and samples; ``fit_info_`` stores the
        choice.
    normalize : str, Normalizer, list of str and Normalizer, or None, default=None
        Normalization of the kernels before their spectra are computed: "center",
        "cosine" or a list that is applied in order. Kernels are then scaled to trace n,
        so a scale such as "variance" has no effect.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which a convex problem stops. "dc" also stops when an
        iteration decreases the objective by less than this share.
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
        Seed of the vectors that test precomputed matrices for symmetry and of the
        random starts of "dc". All other steps are deterministic.
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
    theta_ : int
        Chosen theta.
    Cs_ : ndarray of shape (n_Cs,)
        Candidate values of C for ``theta_``, ascending.
    thetas_ : ndarray of shape (n_thetas,)
        All values of theta, ascending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples for ``theta_``, and for all C
        up to ``C_``; for ``C_`` alone if scores are those of a sample of the rows. The
        strengths of the path are 1 / C; gaps of "dc" are those of the convex problems.
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
        Nonnegative weights mu of the kernels, which are scaled to trace n, on the
        boundary of the constraint.
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
        Feasible dual point of the (last) convex problem; from -C to C for the
        epsilon-insensitive loss, zero at samples of weight zero.
    intercept_ : ndarray of shape (1,)
        Intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float
        Objective of `LocalRademacherMKLRegressor`: the penalty plus C times the sum of
        the losses.
    duality_gap_ : float
        Relative duality gap of "conv"; nan for "dc".
    subproblem_gap_ : float
        Relative duality gap of the last convex problem; only for "dc".
    start_objectives_ : ndarray of shape (n_starts,)
        Objective reached from each start, ascending; only for "dc".
    tail_sums_ : ndarray of shape (n_kernels, min(theta, n_samples) + 1)
        Tail sums of each kernel beyond 0, 1, ... eigenvalues, divided by n.
    n_iter_ : int
        Total number of outer iterations over all C.
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
    LocalRademacherMKLRegressor : The model for one C and one theta.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LocalRademacherMKLRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2]) + 0.3 * rng.standard_normal(60)
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = LocalRademacherMKLRegressorCV(kernels, Cs=[0.1, 1.0, 10.0], cv=3)
    >>> model = model.fit(X, y)
    >>> model.best_params_["C"] in model.Cs_, model.theta_ in model.thetas_
    (True, True)
    """

    intervals: bool = False
