"""HKL with alpha chosen by cross-validation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multikernel.estimators.hkl.candidates import HullCandidates
from multikernel.estimators.hkl.data import HullData
from multikernel.estimators.hkl.estimators import HullClassification, HullRegression
from multikernel.estimators.hkl.method import hull_method
from multikernel.estimators.method import Method
from multikernel.estimators.scale import grid_of
from multikernel.estimators.search.search import Search, SearchCV
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL


@dataclass(eq=False, repr=False, kw_only=True)
class HullSearchCV(SearchCV):
    """Base class of searches that choose alpha of HKL by cross-validation."""

    alphas: Sequence[float] | None = None
    n_alphas: int = 11
    alpha_min_ratio: float = 1e-5

    def _method(self) -> Method:
        method = hull_method(self)

        def candidates(data: HullData) -> HullCandidates:
            """Return the candidates for the training data of all folds."""
            if self.alphas is not None:
                return HullCandidates(method, grid_of(self.alphas)[::-1])
            # At a strength of one, functions are almost zero. No strength makes the
            # model of a squared penalty constant, and the largest strength chosen on 20
            # data sets was 3e-3.
            alphas = np.geomspace(1.0, self.alpha_min_ratio, self.n_alphas)
            return HullCandidates(method, alphas)

        return Search(self, method, candidates)


@dataclass(eq=False, repr=False)
class HKLClassifierCV(HullClassification, HullSearchCV, ClassifierMKL):
    """Classification on a graph of kernels, alpha chosen by cross-validation [1]_.

    Each fold solves the problem of `HKLClassifier` for all strengths, each starting
    from the previous hull. The search chooses the strength with the best mean
    validation score. Each fold standardizes columns and fits graphs on its own training
    samples.

    Parameters
    ----------
    kernels : KernelGraph or None, default=None
        Graph of kernels with its weights. None means ``PolynomialGrid(4)``: all
        monomials with powers up to four.
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
        Number of folds fitted in parallel, by threads; -1 uses all cores.
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
        Candidate strengths. None creates a logarithmic grid that descends from 1.
    n_alphas : int, default=11
        Number of strengths in the default grid.
    alpha_min_ratio : float, default=1e-5
        Ratio of the last strength of the default grid to the first, in (0, 1].
    loss : str or Loss, default="log_loss"
        "log_loss", "hinge", "squared_hinge", "squared_error" (targets of -1 and 1) or a
        loss object. `predict_proba` requires "log_loss".
    standardize : bool, default=True
        Whether to scale columns to mean zero and standard deviation one, which the
        weights of grids expect. A column with a value beyond four standard deviations
        is scaled so that its largest value is four.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop: over the visited nodes
        (``reduced_gap_``), and with `certify` over the whole graph (``duality_gap_``).
        A fit that ends above ``tol`` warns.
    max_kernels : int or None, default=None
        Maximum number of nodes to visit; None means 300, or 1000 with `certify`.
    certify : bool, default=False
        Whether to visit nodes until the gap over the whole graph is at most ``tol``. If
        False, the search ends when the remaining nodes do not differ from noise;
        ``status_message_`` then says so.
    max_iter : int, default=1000
        Maximum number of rounds of the search.
    class_weight : dict, "balanced" or None, default=None
        Factor of the sample weights for each class label; "balanced" gives all classes
        the same total weight.
    verbose : int, default=0
        If positive, print one line per round to standard error.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_outputs,)
        Regularization strength in the units of the targets; one for each target if the
        selection is separate. A search stores the strength with the best mean score,
        the largest one if several tie.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate strengths in the units of ``alpha``, descending.
    hull_path_ : HullPath
        Norms, objectives and gaps along the path on all samples, which ends at the
        chosen strength.
    hull_ : list of nodes
        Nodes of the model, closed under ancestors; with more than two classes the union
        over the classes.
    selected_nodes_ : dict of str to float
        Norm of the function of each selected node by the node's name, largest first.
    node_norms_ : ndarray of shape (n_hull,)
        Norm of the function of each node in the hull.
    node_degrees_ : list of tuple of int
        Positive levels of the inputs in each node of the hull, descending.
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
    kernel_weights_ : ndarray of shape (n_hull,) or (n_classes, n_hull)
        Kernel weights of the model; with more than two classes one row per class.
    block_norms_ : ndarray of shape (n_hull,) or (n_classes, n_hull)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_hull,) or (n_classes, n_hull)
        Share of each term in the variance of the decision values on the training
        samples. The shares sum to one; the share of a term that opposes the others is
        negative.
    active_kernels_ : ndarray of shape (n_active,)
        Positions in ``hull_`` of the nodes with a nonzero function.
    kernel_names_ : list of str
        Names of the nodes of the hull.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Feasible dual point that proves ``duality_gap_``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept, for functions that are centered on the training samples.
    objective_ : float or ndarray of shape (n_classes,)
        Mean loss plus penalty.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap over all nodes of the graph, including nodes that the
        search did not visit. It may exceed ``tol`` unless `certify` is True.
    reduced_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap over the visited nodes; the fit warns if it exceeds
        ``tol``.
    n_searched_ : int or ndarray of shape (n_classes,)
        Number of visited nodes.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of rounds of the search along the path on all samples.
    history_ : structured ndarray of shape (n_lines,)
        One record per round with the fields output (index of the class, 0 for two
        classes), iteration, seconds, objective, duality_gap (nan if not computed),
        n_active (visited nodes), passes (0), inner_steps.
    status_ : str
        Reason why the search stopped, the worst over all classes: the name of a
        `Status` in lower case, such as "converged" or "noise_limited".
    status_message_ : str
        The reason as a sentence.
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
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names; only if X was a data frame.

    See Also
    --------
    HKLClassifier : The model for one alpha.

    References
    ----------
    .. [1] Bach (2008). Exploring large feature spaces with hierarchical multiple
       kernel learning. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import HKLClassifierCV
    >>> from multikernel.kernels.graph import PolynomialGrid
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.standard_normal((100, 4)), 0.5 * rng.standard_normal(100)
    >>> y = np.where(X[:, 0] * X[:, 2] + noise > 0, "same", "other")
    >>> grid = PolynomialGrid(2)
    >>> model = HKLClassifierCV(grid, alphas=[1e-2, 1e-3, 1e-4], cv=3).fit(X, y)
    >>> 'x1 * x3' in model.selected_nodes_
    True
    """


@dataclass(eq=False, repr=False, kw_only=True)
class HKLRegressorCV(HullRegression, HullSearchCV, RegressorMKL):
    """Regression on a graph of kernels, alpha chosen by cross-validation [1]_.

    Each fold solves the problem of `HKLRegressor` for all strengths, each starting from
    the previous hull. The search chooses the strength with the best mean validation
    score. Each fold standardizes columns and fits graphs on its own training samples.

    Parameters
    ----------
    kernels : KernelGraph or None, default=None
        Graph of kernels with its weights. None means ``PolynomialGrid(4)``: all
        monomials with powers up to four.
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
        Number of folds fitted in parallel, by threads; -1 uses all cores.
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
        Candidate strengths, as ``alpha`` of `HKLRegressor`. None creates a logarithmic
        grid that descends from 1.
    n_alphas : int, default=11
        Number of strengths in the default grid.
    alpha_min_ratio : float, default=1e-5
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
    standardize : bool, default=True
        Whether to scale columns to mean zero and standard deviation one, which the
        weights of grids expect. A column with a value beyond four standard deviations
        is scaled so that its largest value is four.
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop: over the visited nodes
        (``reduced_gap_``), and with `certify` over the whole graph (``duality_gap_``).
        A fit that ends above ``tol`` warns.
    max_kernels : int or None, default=None
        Maximum number of nodes to visit; None means 300, or 1000 with `certify`.
    certify : bool, default=False
        Whether to visit nodes until the gap over the whole graph is at most ``tol``. If
        False, the search ends when the remaining nodes do not differ from noise;
        ``status_message_`` then says so.
    max_iter : int, default=1000
        Maximum number of rounds of the search.
    verbose : int, default=0
        If positive, print one line per round to standard error.
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
    alphas_ : ndarray of shape (n_alphas,)
        All candidate strengths in the units of ``alpha``, descending.
    hull_path_ : HullPath
        Norms, objectives and gaps along the path on all samples, which ends at the
        chosen strength.
    hull_ : list of nodes
        Nodes of the model, closed under ancestors.
    selected_nodes_ : dict of str to float
        Norm of the function of each selected node by the node's name, largest first.
    node_norms_ : ndarray of shape (n_hull,)
        Norm of the function of each node in the hull.
    node_degrees_ : list of tuple of int
        Positive levels of the inputs in each node of the hull, descending.
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
    kernel_weights_ : ndarray of shape (n_hull,)
        Kernel weights of the model.
    block_norms_ : ndarray of shape (n_hull,)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_hull,)
        Share of each term in the variance of the decision values on the training
        samples. The shares sum to one; the share of a term that opposes the others is
        negative.
    active_kernels_ : ndarray of shape (n_active,)
        Positions in ``hull_`` of the nodes with a nonzero function.
    kernel_names_ : list of str
        Names of the nodes of the hull.
    dual_coef_ : ndarray of shape (n_samples,)
        Feasible dual point that proves ``duality_gap_``.
    intercept_ : ndarray of shape (1,)
        Intercept, for functions that are centered on the training samples.
    objective_ : float
        Mean loss plus penalty.
    duality_gap_ : float
        Relative duality gap over all nodes of the graph, including nodes that the
        search did not visit. It may exceed ``tol`` unless `certify` is True.
    reduced_gap_ : float
        Relative duality gap over the visited nodes; the fit warns if it exceeds
        ``tol``.
    n_searched_ : int
        Number of visited nodes.
    n_iter_ : int
        Number of rounds of the search along the path on all samples.
    history_ : structured ndarray of shape (n_lines,)
        One record per round with the fields output (always 0), iteration, seconds,
        objective, duality_gap (nan if not computed), n_active (visited nodes), passes
        (0), inner_steps.
    status_ : str
        Reason why the search stopped: the name of a `Status` in lower case, such as
        "converged" or "noise_limited".
    status_message_ : str
        The reason as a sentence.
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
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names; only if X was a data frame.

    See Also
    --------
    HKLRegressor : The model for one alpha.

    References
    ----------
    .. [1] Bach (2008). Exploring large feature spaces with hierarchical multiple
       kernel learning. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import HKLRegressorCV
    >>> from multikernel.kernels.graph import PolynomialGrid
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.standard_normal((100, 4)), 0.5 * rng.standard_normal(100)
    >>> y = X[:, 0] + 2.0 * X[:, 1] ** 2 * X[:, 3] + noise
    >>> grid = PolynomialGrid(4)
    >>> model = HKLRegressorCV(grid, alphas=[1e-3, 1e-4, 1e-5], cv=3).fit(X, y)
    >>> model.best_score_ > 0.8
    True
    """

    intervals: bool = False
