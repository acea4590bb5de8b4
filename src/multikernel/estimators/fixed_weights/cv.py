"""Choice of C for fixed weights, or of the best single kernel."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from multikernel._typing import Array
from multikernel.estimators.fixed_weights.estimators import (
    WeightedClassification,
    WeightedRegression,
)
from multikernel.estimators.fixed_weights.method import (
    WeightedSumMethod,
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
from multikernel.solvers import FixedWeights


@dataclass(frozen=True, eq=False)
class KernelCandidates(Candidates):
    """All pairs of a single kernel and a value of C as candidates."""

    Cs: Array  # shape (n_Cs, 1), ascending
    n_kernels: int

    def single_kernel(self, m: int) -> MarginCandidates:
        """Return the candidates with kernel `m` alone: one for each C."""
        method, weights = self.method, np.zeros(self.n_kernels)
        weights[m] = 1.0
        rule = partial(given_weights, weights=weights)
        solver = FixedWeights(rule, method.solver)
        single = WeightedSumMethod(method.source, method.loss, 1.0, np.inf, solver)
        first, exponents = m * len(self.Cs), np.array([np.inf])
        return MarginCandidates(single, self.Cs, exponents, with_p=False, start=first)

    def grid(self, max_kernels: int | None = None) -> dict[str, Array]:
        """Return the kernel and the C of every candidate."""
        n_Cs = len(self.Cs)
        kernel_indices: Any = np.repeat(np.arange(self.n_kernels), n_Cs)
        return {"kernel": kernel_indices, "C": np.tile(self.Cs[:, 0], self.n_kernels)}

    def open_grids(self, best_params: Mapping[str, Any]) -> Mapping[str, Array]:
        """Return the grid of C only; kernels have no order, and so no end."""
        return {"C": self.Cs[:, 0]}

    def solve(self, training: Training, watch: Watch, means: Means) -> Iterator[Solved]:
        """Yield the models of each kernel, increasing C while scores improve."""
        for m in range(self.n_kernels):
            yield from self.single_kernel(m).solve(training, watch, means)
            if watch.stopped:
                return

    def refit(self, training: Training, watch: Watch, best: int) -> dict[str, Any]:
        """Return the fitted attributes of candidate `best` on all samples."""
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
            return margin_search(self, method, [np.inf], with_p=False)

        def candidates(data: Training) -> KernelCandidates:
            """Return the candidates for the training data of all folds."""
            Cs = margin_grid(self.Cs, method, data, np.ones(1))
            return KernelCandidates(method, Cs, data.stack.shape[0])

        return Search(self, method, candidates)


@dataclass(eq=False, repr=False)
class FixedWeightsMKLClassifierCV(
    WeightedClassification, WeightedSearchCV, ClassifierMKL
):
    r"""Classification with fixed weights, C chosen by cross-validation.

    Each fold computes the weights from its training samples and solves the problem of
    `FixedWeightsMKLClassifier` for all values of C, with warm starts. The search
    chooses the C with the best mean validation score. With ``kernel_weights="single"``
    each kernel alone is a candidate with all values of C, and the model is the best
    single kernel. Kernels are fitted and Gram matrices computed once, without labels;
    each fold normalizes them by its own training samples.

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
        Candidate values of C, positive. None means c / (s v) for c = 1/32, 1/8, 1/2, 2,
        ..., 128, and four times that for "log_loss". Here s is the sum of the weights
        (one for a rule) and v the mean variance of the kernels. If there is one value,
        "single" chooses the kernel only.
    kernel_weights : str, array-like or callable, default="uniform"
        Weights of the normalized kernels. "uniform" gives each kernel weight 1.
        "alignment" uses the centered alignment with the targets, see
        `multikernel.solvers.alignment_weights`; the weights sum to one. "easy", for
        classifiers, is the rule of EasyMKL, see `multikernel.solvers.easy_weights`; the
        weighted sum has a mean diagonal of one. "single", for searches, gives weight 1
        to the kernel with the best score. An array has one nonnegative weight for each
        kernel. A callable receives the kernels (a `multikernel.gram.GramStack`), the
        targets (-1 and 1 for classes) and the sample weights, and returns such an
        array. With more than two classes a rule is applied to each class against the
        rest.
    weight_params : dict or None, default=None
        Parameters of the rule: ``method`` ("independent", "joint" or "greedy") and
        ``max_kernels`` for "alignment", ``regularization`` for "easy", or keyword
        arguments of a callable.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        Loss by name or as an object. "squared_error" uses targets of -1 and 1.
        `predict_proba` requires "log_loss".
    normalize : str, Normalizer, list of str and Normalizer, or None, default="trace"
        Normalization of the kernels. "trace" gives a mean diagonal of one, which the
        rules for weights expect; "variance" gives unit variance in feature space. The
        options of other estimators are accepted too. The factors are computed on the
        training samples.
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
    Cs_ : ndarray of shape (n_Cs,)
        All values of C, ascending.
    kernel_ : int
        Index of the chosen kernel in ``kernel_names_``; only for "single".
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples. The strengths of the path
        are 1 / C.
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
        Weights in use. "uniform" gives weight 1 to each kernel whose term is nonzero; a
        kernel that is zero on the training samples, or constant there beside an
        intercept, gets weight 0. More than two classes have one row per class.
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
        Objective of the model: the penalty plus C times the sum of the losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the problem with fixed weights; nan for weights from a
        rule, which are not proven to be optimal.
    n_iter_ : int or ndarray of shape (n_classes,)
        Total number of outer iterations over all C.
    machine_gap_ : float or ndarray of shape (n_outputs,)
        Relative duality gap of the problem with fixed weights; only for weights from a
        rule.
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
    FixedWeightsMKLClassifier : The model for one C.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.
    .. [2] Cortes, Mohri, Rostamizadeh (2012). Algorithms for learning kernels based on
       centered alignment. JMLR 13, 795-828.
    .. [3] Aiolli, Donini (2015). EasyMKL: a scalable multiple kernel learning
       algorithm. Neurocomputing 169, 215-224.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import FixedWeightsMKLClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = FixedWeightsMKLClassifierCV(kernels, Cs=[0.1, 1.0, 9.0], cv=3).fit(X, y)
    >>> model.best_params_["C"] == model.C_, model.Cs_.size
    (True, 3)
    >>> model.set_params(kernel_weights="single", Cs=[1.0]).fit(X, y).kernel_weights_
    array([0., 0., 1., 0.])
    """

    _checks = weight_checks("uniform", "alignment", "easy", "single")


@dataclass(eq=False, repr=False, kw_only=True)
class FixedWeightsMKLRegressorCV(WeightedRegression, WeightedSearchCV, RegressorMKL):
    r"""Regression with fixed weights, C chosen by cross-validation.

    Each fold computes the weights from its training samples and solves the problem of
    `FixedWeightsMKLRegressor` for all values of C, with warm starts. The search chooses
    the C with the best mean validation score. With ``kernel_weights="single"`` each
    kernel alone is a candidate with all values of C, and the model is the best single
    kernel. Kernels are fitted and Gram matrices computed once, without labels; each
    fold normalizes them by its own training samples.

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
        Candidate values of C, positive. None means c / (s v) for c = 1/32, 1/8, 1/2, 2,
        ..., 128. Here s is the sum of the weights (one for a rule) and v the mean
        variance of the kernels. If there is one value, "single" chooses the kernel
        only.
    kernel_weights : str, array-like or callable, default="uniform"
        Weights of the normalized kernels. "uniform" gives each kernel weight 1.
        "alignment" uses the centered alignment with the targets, see
        `multikernel.solvers.alignment_weights`; the weights sum to one. "easy", for
        classifiers, is the rule of EasyMKL, see `multikernel.solvers.easy_weights`; the
        weighted sum has a mean diagonal of one. "single", for searches, gives weight 1
        to the kernel with the best score. An array has one nonnegative weight for each
        kernel. A callable receives the kernels (a `multikernel.gram.GramStack`), the
        targets (-1 and 1 for classes) and the sample weights, and returns such an
        array. With more than two classes a rule is applied to each class against the
        rest.
    weight_params : dict or None, default=None
        Parameters of the rule: ``method`` ("independent", "joint" or "greedy") and
        ``max_kernels`` for "alignment", ``regularization`` for "easy", or keyword
        arguments of a callable.
    loss : str or Loss, default="epsilon_insensitive"
        Loss by name or as an object. "squared_error" is half the squared error,
        "epsilon_insensitive" the absolute error beyond ``epsilon``, "quantile" the
        pinball loss, "huber" quadratic near zero and linear beyond ``epsilon``.
        "poisson" (counts) and "gamma" (positive amounts) are half the deviance with a
        log link.
    epsilon : float or None, default=None
        Error in units of the standard deviation of y. "epsilon_insensitive" ignores
        smaller errors (None means 0.1); "huber" is linear beyond it (None means 0.7).
    normalize : str, Normalizer, list of str and Normalizer, or None, default="trace"
        Normalization of the kernels. "trace" gives a mean diagonal of one, which the
        rules for weights expect; "variance" gives unit variance in feature space. The
        options of other estimators are accepted too. The factors are computed on the
        training samples.
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
    Cs_ : ndarray of shape (n_Cs,)
        All values of C, ascending.
    kernel_ : int
        Index of the chosen kernel in ``kernel_names_``; only for "single".
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples. The strengths of the path
        are 1 / C.
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
        Weights in use. "uniform" gives weight 1 to each kernel whose term is nonzero; a
        kernel that is zero on the training samples, or constant there beside an
        intercept, gets weight 0.
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
        Objective of the model: the penalty plus C times the sum of the losses.
    duality_gap_ : float
        Relative duality gap of the problem with fixed weights; nan for weights from a
        rule, which are not proven to be optimal.
    n_iter_ : int
        Total number of outer iterations over all C.
    machine_gap_ : float or ndarray of shape (n_outputs,)
        Relative duality gap of the problem with fixed weights; only for weights from a
        rule.
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
    FixedWeightsMKLRegressor : The model for one C.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.
    .. [2] Cortes, Mohri, Rostamizadeh (2012). Algorithms for learning kernels based on
       centered alignment. JMLR 13, 795-828.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import FixedWeightsMKLRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2]) + 0.3 * rng.standard_normal(60)
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = FixedWeightsMKLRegressorCV(kernels, Cs=[0.1, 1.0, 9.0, 81.0], cv=3)
    >>> model.fit(X, y).best_params_["C"] in model.Cs_, model.Cs_.size
    (True, 4)
    >>> model.set_params(kernel_weights="single", Cs=[1.0]).fit(X, y).kernel_weights_
    array([0., 0., 1., 0.])
    """

    _checks = weight_checks("uniform", "alignment", "single")
    intervals: bool = False
