"""Hierarchical multiple kernel learning: selection among the nodes of a graph."""

from dataclasses import KW_ONLY, dataclass

from multikernel.estimators.hkl.method import (
    HULL_CHECKS,
    STANDARD_ALPHA,
    HullMethod,
    hull_method,
)
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.kernels.graph import KernelGraph


@dataclass(eq=False, repr=False)
class HullParameters:
    """Parameters common to the HKL estimators and their searches."""

    _checks = HULL_CHECKS

    kernels: KernelGraph | None = None
    _: KW_ONLY
    standardize: bool = True
    fit_intercept: bool = True
    tol: float = 1e-3
    max_kernels: int | None = None
    certify: bool = False
    max_iter: int = 1000
    verbose: int = 0


@dataclass(eq=False, repr=False)
class HKLClassifier(HullParameters, ClassifierMKL):
    r"""Classification by selection among the nodes of a graph of kernels, HKL [1]_.

    The fit minimizes, over functions f_v of all nodes v and an intercept b,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i, \sum_v f_v(x_i) + b\Bigr)
        + \frac{\alpha}{2} \Bigl(\sum_v d_v \|f_{D(v)}\|\Bigr)^2

    with sample weights s, node weights d_v of the graph, and D(v), which contains v and
    its descendants. A node enters the model only after all its ancestors, so an
    interaction enters only after all its parts. The search therefore visits few nodes
    of a graph that may be too large to enumerate.

    Parameters
    ----------
    kernels : KernelGraph or None, default=None
        Graph of kernels with its weights; None means ``PolynomialGrid(4)``.
    alpha : float, default=1e-3
        Strength of the penalty, positive: the lambda of [1]_.
    loss : str or Loss, default="log_loss"
        "log_loss", "hinge", "squared_hinge", "squared_error" (targets of -1 and 1) or a
        loss object. `predict_proba` requires "log_loss".
    class_weight : dict, "balanced" or None, default=None
        Factor of the sample weights by class; "balanced" gives classes equal totals.
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
    hull_ : list of nodes
        Nodes of the model with all their ancestors; the union over the classes.
    selected_nodes_ : dict of str to float
        Norm of each nonzero function by the name of its node, largest first.
    node_norms_ : ndarray of shape (n_hull,)
        Root of the sum over the classes of squared ``block_norms_``, for each node.
    node_degrees_ : list of tuple of int
        Degrees of the factors of each node in ``hull_``: (2, 1) for x1^2 * x3. For a
        `DictionaryGraph`, the number of ancestors of each node.
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
        Number of rounds of the search over the graph.
    history_ : structured ndarray of shape (n_lines,)
        One record per round, see `Progress`; ``output`` is the index of the class, and
        ``n_active`` the number of visited nodes.
    status_, status_message_ : str
        Worst `Status` of all classes, such as "noise_limited", and a sentence about it.
    fit_info_ : dict
        Details of the fit; "solver" names the algorithm.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    HKLClassifierCV : Chooses alpha by cross-validation along a path.
    multikernel.kernels.graph.PolynomialGrid : A graph of monomials.

    References
    ----------
    .. [1] Bach (2008). Exploring large feature spaces with hierarchical multiple
       kernel learning. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import HKLClassifier
    >>> from multikernel.kernels.graph import PolynomialGrid
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> y = np.where(X[:, 0] * X[:, 2] > 0, "same", "other")
    >>> model = HKLClassifier(PolynomialGrid(2), alpha=0.01).fit(X, y)
    >>> next(iter(model.selected_nodes_))
    'x1 * x3'
    """

    alpha: float = STANDARD_ALPHA

    def _method(self) -> HullMethod:
        return hull_method(self, self.alpha)


@dataclass(eq=False, repr=False)
class HKLRegressor(HullParameters, RegressorMKL):
    r"""Regression by selection among the nodes of a graph of kernels, HKL [1]_.

    The fit minimizes, over functions f_v of all nodes v and an intercept b,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i, \sum_v f_v(x_i) + b\Bigr)
        + \frac{\alpha}{2} \Bigl(\sum_v d_v \|f_{D(v)}\|\Bigr)^2

    with sample weights s, node weights d_v of the graph, and D(v), which contains v and
    its descendants. A node enters the model only after all its ancestors, so an
    interaction enters only after all its parts. The search therefore visits few nodes
    of a graph that may be too large to enumerate.

    Parameters
    ----------
    kernels : KernelGraph or None, default=None
        Graph of kernels with its weights; None means ``PolynomialGrid(4)``.
    alpha : float, default=1e-3
        Strength of the penalty, positive, for targets of standard deviation one: the
        lambda of [1]_.
    loss : str or Loss, default="squared_error"
        "squared_error", "epsilon_insensitive", "quantile" (the median), "huber",
        "poisson" (counts), "gamma" (positive amounts) or a loss object, such as
        ``PinballLoss(0.9)`` for another quantile.
    epsilon : float or None, default=None
        Error in standard deviations of y: "epsilon_insensitive" ignores smaller errors
        (None means 0.1), "huber" is linear beyond it (None means 0.7).
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
        Strength of the penalty in the units of y.
    epsilon_ : float
        Epsilon in the units of y; only for "epsilon_insensitive" and "huber".
    hull_ : list of nodes
        Nodes of the model with all their ancestors.
    selected_nodes_ : dict of str to float
        Norm of each nonzero function by the name of its node, largest first.
    node_norms_ : ndarray of shape (n_hull,)
        Norm of the function of each node in ``hull_``.
    node_degrees_ : list of tuple of int
        Degrees of the factors of each node in ``hull_``: (2, 1) for x1^2 * x3. For a
        `DictionaryGraph`, the number of ancestors of each node.
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
        Number of rounds of the search over the graph.
    history_ : structured ndarray of shape (n_lines,)
        One record per round with the fields of `Progress`; ``output`` is 0, and
        ``n_active`` the number of visited nodes.
    status_, status_message_ : str
        Why the search stopped: a `Status` such as "noise_limited", and a sentence.
    fit_info_ : dict
        Details of the fit; "solver" names the algorithm.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    HKLRegressorCV : Chooses alpha by cross-validation along a path.
    multikernel.kernels.graph.PolynomialGrid : A graph of monomials.

    References
    ----------
    .. [1] Bach (2008). Exploring large feature spaces with hierarchical multiple
       kernel learning. NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import HKLRegressor
    >>> from multikernel.kernels.graph import PolynomialGrid
    >>> X = np.random.default_rng(0).standard_normal((200, 5))
    >>> y = X[:, 0] + 2.0 * X[:, 1] ** 2 * X[:, 3]
    >>> model = HKLRegressor(PolynomialGrid(4), alpha=0.001).fit(X, y)
    >>> 'x2^2 * x4' in model.selected_nodes_
    True
    """

    alpha: float = STANDARD_ALPHA

    def _method(self) -> HullMethod:
        return hull_method(self, self.alpha)
