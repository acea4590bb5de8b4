"""HKL with alpha chosen by cross-validation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multikernel.estimators.hkl.candidates import HullCandidates
from multikernel.estimators.hkl.data import HullData
from multikernel.estimators.hkl.estimators import HullParameters
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
            if self.alphas is not None:
                return HullCandidates(method, grid_of(self.alphas)[::-1])
            # The penalty is squared, so no strength makes the functions exactly zero.
            # With alpha=1 they are almost zero, and no search on 20 data sets chose an
            # alpha above 3e-3.
            alphas = np.geomspace(1.0, self.alpha_min_ratio, self.n_alphas)
            return HullCandidates(method, alphas)

        return Search(self, method, candidates)


@dataclass(eq=False, repr=False)
class HKLClassifierCV(HullParameters, HullSearchCV, ClassifierMKL):
    """Classification on a graph of kernels with alpha chosen by cross-validation.

    Each fold solves the problem of `HKLClassifier` for decreasing alphas, and starts
    the search over the graph from the nodes of the previous model. Each fold
    standardizes columns and fits the graph on its own training samples.

    Parameters
    ----------
    kernels : KernelGraph or None, default=None
        Graph of kernels with its weights; None means ``PolynomialGrid(4)``.
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
        Candidate values of alpha. None means a logarithmic grid that descends from 1.
    n_alphas : int, default=11
        Number of values in the default grid of ``alphas``.
    alpha_min_ratio : float, default=1e-5
        Ratio of the last value of the default grid to the first, in (0, 1].
    standardize : bool, default=True
        Whether to scale columns to mean zero and standard deviation one. A column that
        then has values outside [-4, 4] is divided further, to fit into [-4, 4].
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap of the visited nodes at which to stop; see also `certify`.
    max_kernels : int or None, default=None
        Maximum number of nodes to visit; None means 300, or 1000 with `certify`.
    certify : bool, default=False
        Whether to visit nodes until the gap over the whole graph is at most ``tol``. If
        False, the search ends when the remaining nodes do not differ from noise.
    max_iter : int, default=1000
        Maximum number of rounds of the search over the graph.
    verbose : int, default=0
        If positive, print one line per round to standard error.

    Attributes
    ----------
    alpha_ : float
        Strength of the penalty in this fit.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate values of alpha, descending, on the same scale as ``alphas``.
    hull_path_ : HullPath
        Fits on all samples for the candidate strengths, down to the chosen one.
    hull_ : list of nodes
        Nodes of the model with all their ancestors; the union over the classes.
    selected_nodes_ : dict of str to float
        Norm of each nonzero function by the name of its node, largest first.
    node_norms_ : ndarray of shape (n_hull,)
        Root of the sum over the classes of squared ``block_norms_``, for each node.
    node_degrees_ : list of tuple of int
        Degrees of the factors of each node in ``hull_``: (2, 1) for x1^2 * x3. For a
        `DictionaryGraph`, the number of ancestors of each node.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the log loss if the model minimizes one, else its loss).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_hull,) or (n_classes, n_hull)
        Weight of the kernel of each node in ``hull_``.
    block_norms_ : ndarray of shape (n_hull,) or (n_classes, n_hull)
        Norm of the function of each node in ``hull_``.
    variance_shares_ : ndarray of shape (n_hull,) or (n_classes, n_hull)
        Share of each node in the variance of training decision values; may be negative.
    active_kernels_ : ndarray of shape (n_active,)
        Positions in ``hull_`` of the nodes with a nonzero function.
    kernel_names_ : list of str
        Names of the nodes in ``hull_``.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Feasible dual point that proves ``duality_gap_``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercept; the functions of the nodes have mean zero on the training samples.
    objective_ : float or ndarray of shape (n_classes,)
        Mean loss plus penalty.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap over the whole graph; may exceed ``tol`` without `certify`.
    reduced_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap over the visited nodes; above ``tol``, the fit warns.
    n_searched_ : int or ndarray of shape (n_classes,)
        Number of visited nodes.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of rounds of all searches over the graph along ``hull_path_``.
    history_ : structured ndarray of shape (n_lines,)
        One record per round, see `Progress`; ``output`` is the index of the class, and
        ``n_active`` the number of visited nodes.
    status_, status_message_ : str
        Worst `Status` of all classes, such as "noise_limited", and a sentence about it.
    fit_info_ : dict
        Keys "solver", "cv_tol" (duality gap at which folds stop), "search_rows" (scored
        rows) and "predicted_alike" (the class, if all validation samples get the same,
        or "").
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    HKLClassifier : The model for one alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import HKLClassifierCV
    >>> from multikernel.kernels.graph import PolynomialGrid
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> y = np.where(X[:, 0] * X[:, 2] > 0, "same", "other")
    >>> model = HKLClassifierCV(PolynomialGrid(2), alphas=[1e-3, 1e-4], cv=3).fit(X, y)
    >>> 'x1 * x3' in model.selected_nodes_
    True
    """


@dataclass(eq=False, repr=False, kw_only=True)
class HKLRegressorCV(HullParameters, HullSearchCV, RegressorMKL):
    """Regression on a graph of kernels with alpha chosen by cross-validation.

    Each fold solves the problem of `HKLRegressor` for decreasing alphas, and starts the
    search over the graph from the nodes of the previous model. Each fold standardizes
    columns and fits the graph on its own training samples.

    Parameters
    ----------
    kernels : KernelGraph or None, default=None
        Graph of kernels with its weights; None means ``PolynomialGrid(4)``.
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
        Seed of the rows that ``max_search_rows`` draws for scoring; None means 0.
    alphas : sequence of float or None, default=None
        Candidate values of alpha. None means a logarithmic grid that descends from 1.
    n_alphas : int, default=11
        Number of values in the default grid of ``alphas``.
    alpha_min_ratio : float, default=1e-5
        Ratio of the last value of the default grid to the first, in (0, 1].
    standardize : bool, default=True
        Whether to scale columns to mean zero and standard deviation one. A column that
        then has values outside [-4, 4] is divided further, to fit into [-4, 4].
    fit_intercept : bool, default=True
        Whether to fit the intercept b; otherwise b = 0.
    tol : float, default=1e-3
        Relative duality gap of the visited nodes at which to stop; see also `certify`.
    max_kernels : int or None, default=None
        Maximum number of nodes to visit; None means 300, or 1000 with `certify`.
    certify : bool, default=False
        Whether to visit nodes until the gap over the whole graph is at most ``tol``. If
        False, the search ends when the remaining nodes do not differ from noise.
    max_iter : int, default=1000
        Maximum number of rounds of the search over the graph.
    verbose : int, default=0
        If positive, print one line per round to standard error.
    intervals : bool, default=False
        Whether to store fold models for `predict_interval`. This can double the time.

    Attributes
    ----------
    epsilon_ : float
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    alpha_ : float
        Strength of the penalty in the units of y.
    alphas_ : ndarray of shape (n_alphas,)
        All candidate values of alpha, descending, on the same scale as ``alphas``.
    hull_path_ : HullPath
        Fits on all samples for the candidate strengths, down to the chosen one.
    hull_ : list of nodes
        Nodes of the model with all their ancestors.
    selected_nodes_ : dict of str to float
        Norm of each nonzero function by the name of its node, largest first.
    node_norms_ : ndarray of shape (n_hull,)
        Norm of the function of each node in ``hull_``.
    node_degrees_ : list of tuple of int
        Degrees of the factors of each node in ``hull_``: (2, 1) for x1^2 * x3. For a
        `DictionaryGraph`, the number of ancestors of each node.
    best_params_, best_index_, best_score_ : dict, int, float
        Chosen parameters, their index in ``cv_results_`` and mean score. Ties prefer a
        model with kernels, then the lower ``mean_test_loss``, then the simplest model.
    cv_results_ : dict of ndarray of shape (n_candidates,)
        Parameters and scores as in scikit-learn, ``mean_n_active`` (active kernels) and
        ``mean_test_loss`` (the loss that the model minimizes, without the penalty).
    n_splits_ : int
        Number of folds.
    kernel_weights_ : ndarray of shape (n_hull,)
        Weight of the kernel of each node in ``hull_``.
    block_norms_ : ndarray of shape (n_hull,)
        The same as ``node_norms_``.
    variance_shares_ : ndarray of shape (n_hull,)
        Share of each node in the variance of training decision values; may be negative.
    active_kernels_ : ndarray of shape (n_active,)
        Positions in ``hull_`` of the nodes with a nonzero function.
    kernel_names_ : list of str
        Names of the nodes in ``hull_``.
    dual_coef_ : ndarray of shape (n_samples,)
        Feasible dual point that proves ``duality_gap_``.
    intercept_ : ndarray of shape (1,)
        Intercept; the functions of the nodes have mean zero on the training samples.
    objective_ : float
        Mean loss plus penalty.
    duality_gap_ : float
        Relative duality gap over the whole graph; may exceed ``tol`` without `certify`.
    reduced_gap_ : float
        Relative duality gap over the visited nodes; above ``tol``, the fit warns.
    n_searched_ : int
        Number of visited nodes.
    n_iter_ : int
        Number of rounds of all searches over the graph along ``hull_path_``.
    history_ : structured ndarray of shape (n_lines,)
        One record per round with the fields of `Progress`; ``output`` is 0, and
        ``n_active`` the number of visited nodes.
    status_, status_message_ : str
        Why the search stopped: a `Status` such as "noise_limited", and a sentence.
    fit_info_ : dict
        Keys "solver", "cv_tol" (duality gap at which folds stop) and "search_rows"
        (scored rows).
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    HKLRegressor : The model for one alpha.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import HKLRegressorCV
    >>> from multikernel.kernels.graph import PolynomialGrid
    >>> X = np.random.default_rng(0).standard_normal((100, 4))
    >>> y = X[:, 0] + 2.0 * X[:, 1] ** 2 * X[:, 3]
    >>> model = HKLRegressorCV(PolynomialGrid(4), alphas=[1e-3, 1e-4], cv=3).fit(X, y)
    >>> 'x2^2 * x4' in model.selected_nodes_
    True
    """

    intervals: bool = False
