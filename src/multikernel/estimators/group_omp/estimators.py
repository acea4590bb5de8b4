"""Greedy selection of kernels by MKL-GOMP."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from multikernel.estimators.descriptions import documented
from multikernel.estimators.group_omp import prefixes
from multikernel.estimators.group_omp.method import (
    GREEDY_CHECKS,
    STANDARD_RIDGE,
    GreedyMethod,
    greedy_method,
)
from multikernel.estimators.parameters import NORMALIZE
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


@dataclass(eq=False, repr=False)
class GreedyClassification:
    """The parameters and stages of greedy classification, chosen by a search or not."""

    _checks = GREEDY_CHECKS

    kernels: Any = None
    _: KW_ONLY
    max_kernels: int | None = None
    tol: float = 1e-3
    loss: str | Loss = "squared_error"
    subsample: float | int = 1.0
    normalize: Steps = NORMALIZE
    penalty_weights: Any = None
    fit_intercept: bool = True
    class_weight: Any = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None

    prefix = prefixes.prefix
    staged_decision_function = prefixes.staged_decision_function
    staged_predict = prefixes.staged_classes
    staged_predict_proba = prefixes.staged_predict_proba


@dataclass(eq=False, repr=False)
class GreedyRegression:
    """The parameters and stages of greedy regression, chosen by a search or not."""

    _checks = GREEDY_CHECKS

    kernels: Any = None
    _: KW_ONLY
    max_kernels: int | None = None
    tol: float = 1e-3
    loss: str | Loss = "squared_error"
    epsilon: float | None = None
    subsample: float | int = 1.0
    normalize: Steps = NORMALIZE
    penalty_weights: Any = None
    fit_intercept: bool = True
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None

    prefix = prefixes.prefix
    staged_predict = prefixes.staged_targets
    __sklearn_tags__ = prefixes.tags_of_several


@documented("Group-OMP", "Group-OMP, classifiers")
@dataclass(eq=False, repr=False)
class GroupOMPClassifier(GreedyClassification, ClassifierMKL):
    r"""Classification on greedily selected kernels, by MKL-GOMP [1]_.

    Each step adds the kernel that best fits the residual of the current model. The
    model is then fitted again on the selected kernels G,

    .. math::
        \min_{f, b} \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_{m \in G} f_m(x_i) + b\Bigr)
        + \frac{\alpha}{2} \sum_{m \in G} \|f_m\|^2

    with sample weights s. Targets are -1 and 1. More than two classes have one target
    column per class and share one selection: the improvement of a kernel is summed over
    the classes.

    ``max_kernels`` sets the number of kernels exactly. Each prefix of the selection is
    a model: `prefix` returns one, `staged_predict` predicts with all of them.

    Parameters
    ----------
    alpha : float, default=0.01
        Strength of the ridge penalty, positive, relative to the mean loss: the lambda
        of [1]_.
    max_kernels : int or None, default=None
        Number of kernels to select. With None, only `tol` stops the selection.
    loss : {"squared_error", "log_loss", "hinge"} or Loss, default="squared_error"
        Loss, by name or as an object; targets of the squared error are -1 and 1. Only
        "log_loss" has `predict_proba`.

    Attributes
    ----------
    alpha_
    selection_order_
    improvements_
    active_kernels_ : ndarray of shape (n_selected,)
        Indices of the selected kernels, ascending.
    objective_ : float
        Mean loss, summed over the classes, plus the penalty.
    duality_gap_ : float
        Always nan: each refit is exact, but a greedy selection has no certificate; see
        `multikernel.diagnostics.recovery_coefficient`.

    See Also
    --------
    GroupOMPClassifierCV : Chooses the number of kernels and alpha.
    multikernel.solvers.GroupOMP : The algorithm.

    References
    ----------
    .. [1] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit
       for sparse learning with multiple kernels. NIPS 24.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import GroupOMPClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((90, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = GroupOMPClassifier(kernels, max_kernels=2).fit(X, y)
    >>> model.kernel_names_[model.selection_order_[0]]
    'gaussian(sigma=1)[x2]'
    >>> [round(float(np.mean(labels == y)), 2) for labels in model.staged_predict(X)]
    [0.52, 0.99, 1.0]
    >>> model.prefix(1).active_kernels_
    array([2])
    """

    alpha: float = STANDARD_RIDGE

    def _method(self) -> GreedyMethod:
        return greedy_method(self, self.alpha)


@documented("Group-OMP", "mean loss, regressors", "Group-OMP, regressors")
@dataclass(eq=False, repr=False)
class GroupOMPRegressor(GreedyRegression, RegressorMKL):
    r"""Regression on greedily selected kernels, by MKL-GOMP [1]_.

    Each step adds the kernel that best fits the residual of the current model. The
    model is then fitted again on the selected kernels G,

    .. math::
        \min_{f, b} \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_{m \in G} f_m(x_i) + b\Bigr)
        + \frac{\alpha}{2} \sum_{m \in G} \|f_m\|^2

    with sample weights s. Several targets share one selection: losses, penalties and
    improvements are summed over the targets, so scale the targets to comparable units.

    ``max_kernels`` sets the number of kernels exactly. Each prefix of the selection is
    a model: `prefix` returns one, `staged_predict` predicts with all of them.

    Parameters
    ----------
    alpha : float, default=0.01
        Strength of the ridge penalty, positive, relative to the mean loss: the lambda
        of [1]_ for targets with a standard deviation of one. For "epsilon_insensitive"
        and "quantile" the fit divides it by the standard deviation of y.
    max_kernels : int or None, default=None
        Number of kernels to select. With None, only `tol` stops the selection.
    tol : float, default=1e-2
        Precision of the selection, not a duality gap: stop when no kernel improves the
        fit by more than this share of the largest possible improvement over the
        constant model. For the squared loss that is half the variance of the target.
        Regression targets are noisier than labels: with the 1e-3 of classifiers the
        selection fits noise (on the diabetes data R^2 falls from 0.48 to 0.40).

    Attributes
    ----------
    alpha_
    epsilon_
    selection_order_
    improvements_
    active_kernels_ : ndarray of shape (n_selected,)
        Indices of the selected kernels, ascending.
    intercept_ : ndarray of shape (n_outputs,)
        The intercept.
    objective_ : float
        Mean loss, summed over the targets, plus the penalty.
    duality_gap_ : float
        Always nan: each refit is exact, but a greedy selection has no certificate; see
        `multikernel.diagnostics.recovery_coefficient`.

    See Also
    --------
    GroupOMPRegressorCV : Chooses the number of kernels and alpha.
    multikernel.solvers.GroupOMP : The algorithm.

    References
    ----------
    .. [1] Sindhwani, Lozano (2011). Non-parametric group orthogonal matching pursuit
       for sparse learning with multiple kernels. NIPS 24.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import GroupOMPRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.column_stack([np.sin(2.0 * X[:, 1]), X[:, 1] + 0.5 * X[:, 3]])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = GroupOMPRegressor(kernels, max_kernels=2).fit(X, y)
    >>> model.selection_order_
    array([1, 3])
    >>> model.predict(X).shape, model.prefix(1).active_kernels_
    ((60, 2), array([1]))
    """

    alpha: float = STANDARD_RIDGE
    _: KW_ONLY
    tol: float = 1e-2

    def _method(self) -> GreedyMethod:
        return greedy_method(self, self.alpha)
