"""Hierarchical multiple kernel learning: selection among the nodes of a graph."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from multikernel.estimators.hkl.method import (
    HULL_CHECKS,
    STANDARD_ALPHA,
    HullMethod,
    documented_classifier,
    documented_regressor,
    hull_method,
)
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.kernels.graph import KernelGraph
from multikernel.losses import Loss


@dataclass(eq=False, repr=False)
class HullClassification:
    """The parameters of classification on a graph, chosen by a search or not."""

    _checks = HULL_CHECKS

    kernels: KernelGraph | None = None
    _: KW_ONLY
    loss: str | Loss = "log_loss"
    standardize: bool = True
    fit_intercept: bool = True
    tol: float = 1e-3
    max_kernels: int | None = None
    certify: bool = False
    max_iter: int = 1000
    class_weight: Any = None
    verbose: int = 0


@dataclass(eq=False, repr=False)
class HullRegression:
    """The parameters of regression on a graph, chosen by a search or not."""

    _checks = HULL_CHECKS

    kernels: KernelGraph | None = None
    _: KW_ONLY
    loss: str | Loss = "squared_error"
    epsilon: float | None = None
    standardize: bool = True
    fit_intercept: bool = True
    tol: float = 1e-3
    max_kernels: int | None = None
    certify: bool = False
    max_iter: int = 1000
    verbose: int = 0


@documented_classifier
@dataclass(eq=False, repr=False)
class HKLClassifier(HullClassification, ClassifierMKL):
    r"""Classification by selection among the nodes of a graph of kernels, HKL [1]_.

    Minimizes, over functions of all nodes v and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_v f_v(x_i) + b\Bigr)
        + \frac{\alpha}{2} \Bigl(\sum_v d_v \|f_{D(v)}\|\Bigr)^2

    with sample weights s and D(v) the descendants of v. A node enters only after all
    its ancestors, so an interaction enters only after all its parts. The search
    therefore visits few nodes of a graph that may be far too large to enumerate;
    ``duality_gap_`` covers all of its nodes.

    Parameters
    ----------
    alpha : float, default=1e-3
        Strength of the penalty, positive: the lambda of [1]_.

    Attributes
    ----------
    alpha_
    hull_ : list of nodes
        Nodes of the model, closed under ancestors; with more than two classes the union
        over the classes.
    selected_nodes_
    node_norms_
    node_degrees_
    kernel_weights_ : ndarray of shape (n_hull,) or (n_classes, n_hull)
        Kernel weights of the model; with more than two classes one row per class.
    block_norms_ : ndarray of shape (n_hull,) or (n_classes, n_hull)
        Norm of each function f_m in the space of its normalized kernel.
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
        Number of rounds of the search.
    status_ : str
        Reason why the search stopped, the worst over all classes: the name of a
        `Status` in lower case, such as "converged" or "noise_limited".

    See Also
    --------
    HKLClassifierCV : Chooses alpha by cross-validation along a path.
    multikernel.kernels.graph.PolynomialGrid : A graph.

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


@documented_regressor
@dataclass(eq=False, repr=False)
class HKLRegressor(HullRegression, RegressorMKL):
    r"""Regression by selection among the nodes of a graph of kernels, HKL [1]_.

    Minimizes, over functions of all nodes v and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_v f_v(x_i) + b\Bigr)
        + \frac{\alpha}{2} \Bigl(\sum_v d_v \|f_{D(v)}\|\Bigr)^2

    with sample weights s and D(v) the descendants of v. A node enters only after all
    its ancestors, so an interaction enters only after all its parts. The search
    therefore visits few nodes of a graph that may be far too large to enumerate;
    ``duality_gap_`` covers all of its nodes.

    Parameters
    ----------
    alpha : float, default=1e-3
        Strength of the penalty, positive: the lambda of [1]_, for targets with a
        deviation of one. For "epsilon_insensitive" and "quantile" it is divided by
        the targets' deviation.

    Attributes
    ----------
    alpha_
    epsilon_
    hull_ : list of nodes
        Nodes of the model, closed under ancestors.
    selected_nodes_
    node_norms_
    node_degrees_
    kernel_weights_ : ndarray of shape (n_hull,)
        Kernel weights of the model.
    block_norms_ : ndarray of shape (n_hull,)
        Norm of each function f_m in the space of its normalized kernel.
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
        Number of rounds of the search.
    status_ : str
        Reason why the search stopped: the name of a `Status` in lower case, such as
        "converged" or "noise_limited".

    See Also
    --------
    HKLRegressorCV : Chooses alpha by cross-validation along a path.
    multikernel.kernels.graph.PolynomialGrid : A graph.

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
