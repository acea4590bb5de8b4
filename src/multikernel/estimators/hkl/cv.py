"""HKL with alpha chosen by cross-validation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from multikernel.estimators.hkl.candidates import HullCandidates
from multikernel.estimators.hkl.data import HullData
from multikernel.estimators.hkl.estimators import HullClassification, HullRegression
from multikernel.estimators.hkl.method import (
    documented_classifier,
    documented_regressor,
    hull_method,
)
from multikernel.estimators.method import Method
from multikernel.estimators.scale import grid_of
from multikernel.estimators.search.search import Search, SearchCV
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL


@dataclass(eq=False, repr=False, kw_only=True)
class HullSearchCV(SearchCV):
    """Chooses alpha by cross-validation."""

    alphas: Sequence[float] | None = None
    n_alphas: int = 11
    alpha_min_ratio: float = 1e-5

    def _method(self) -> Method:
        method = hull_method(self)

        def candidates(whole: HullData) -> HullCandidates:
            if self.alphas is not None:
                return HullCandidates(method, grid_of(self.alphas)[::-1])
            # At one there is hardly a function: no strength makes a squared penalty's
            # model constant, and the largest chosen on 20 sets of tables was 3e-3.
            alphas = np.geomspace(1.0, self.alpha_min_ratio, self.n_alphas)
            return HullCandidates(method, alphas)

        return Search(self, method, candidates)


@documented_classifier
@dataclass(eq=False, repr=False)
class HKLClassifierCV(HullClassification, HullSearchCV, ClassifierMKL):
    """Classification on a graph of kernels, alpha chosen by cross-validation [1]_.

    Each fold solves the problem of `HKLClassifier` for all strengths, each starting
    from the previous hull. The search chooses the strength with the best mean
    validation score. Each fold standardizes columns and fits graphs on its own training
    samples.

    Parameters
    ----------
    alphas : sequence of float, default=None
        Candidate strengths. None creates a logarithmic grid that descends from 1.
    n_alphas : int, default=11
        Number of strengths in the default grid.
    alpha_min_ratio : float, default=1e-5
        Ratio of the last strength of the default grid to the first, in (0, 1].
    n_jobs : int or None, default=None
        Number of folds fitted in parallel, by threads; -1 uses all cores.

    Attributes
    ----------
    alpha_
    alphas_
    hull_path_ : HullPath
        Norms, objectives and gaps along the path on all samples, which ends at the
        chosen strength.
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
        Number of rounds of the search along the path on all samples.
    status_ : str
        Reason why the search stopped, the worst over all classes: the name of a
        `Status` in lower case, such as "converged" or "noise_limited".

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


@documented_regressor
@dataclass(eq=False, repr=False, kw_only=True)
class HKLRegressorCV(HullRegression, HullSearchCV, RegressorMKL):
    """Regression on a graph of kernels, alpha chosen by cross-validation [1]_.

    Each fold solves the problem of `HKLRegressor` for all strengths, each starting from
    the previous hull. The search chooses the strength with the best mean validation
    score. Each fold standardizes columns and fits graphs on its own training samples.

    Parameters
    ----------
    alphas : sequence of float, default=None
        Candidate strengths, as ``alpha`` of `HKLRegressor`. None creates a logarithmic
        grid that descends from 1.
    n_alphas : int, default=11
        Number of strengths in the default grid.
    alpha_min_ratio : float, default=1e-5
        Ratio of the last strength of the default grid to the first, in (0, 1].
    n_jobs : int or None, default=None
        Number of folds fitted in parallel, by threads; -1 uses all cores.

    Attributes
    ----------
    epsilon_
    alpha_
    alphas_
    hull_path_ : HullPath
        Norms, objectives and gaps along the path on all samples, which ends at the
        chosen strength.
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
        Number of rounds of the search along the path on all samples.
    status_ : str
        Reason why the search stopped: the name of a `Status` in lower case, such as
        "converged" or "noise_limited".

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
