"""lp-norm multiple kernel learning: any degree of sparsity."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from multikernel.estimators.descriptions import documented
from multikernel.estimators.lp.method import LP_CHECKS, MarginMethod, lp_method
from multikernel.estimators.parameters import NORMALIZE
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


@dataclass(eq=False, repr=False)
class LpClassification:
    """The parameters of classification by lp-norm MKL, chosen by a search or not."""

    _checks = LP_CHECKS

    kernels: Any = None
    _: KW_ONLY
    loss: str | Loss = "hinge"
    solver: str = "auto"
    selection: str = "separate"
    normalize: Steps = NORMALIZE
    penalty_weights: Any = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    class_weight: Any = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@dataclass(eq=False, repr=False)
class LpRegression:
    """The parameters of regression by lp-norm MKL, chosen by a search or not."""

    _checks = LP_CHECKS

    kernels: Any = None
    _: KW_ONLY
    loss: str | Loss = "epsilon_insensitive"
    epsilon: float | None = None
    quantile: float = 0.5
    solver: str = "auto"
    selection: str = "shared"
    normalize: Steps = NORMALIZE
    penalty_weights: Any = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@documented("lp-norm, classifiers")
@dataclass(eq=False, repr=False)
class LpMKLClassifier(LpClassification, ClassifierMKL):
    r"""Classification by lp-norm multiple kernel learning [1]_.

    Minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac12 \Bigl( \sum_m \|f_m\|^q \Bigr)^{2/q} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr), \qquad q = \frac{2p}{p + 1}

    with sample weights s. This is a support vector machine (or the machine of another
    loss) with the kernel :math:`\sum_m \theta_m k_m`, minimized over the weights theta
    as well: nonnegative, with p-norm one. Every fit ends with a duality gap, a bound on
    the distance of ``objective_`` to the optimum.

    Parameters
    ----------
    p : float, default=2.0
        Order of the norm of the kernel weights, at least 1. With p = 1 most weights are
        zero; a larger p makes the weights more similar, and with p = inf all are one.

    Attributes
    ----------
    C_

    See Also
    --------
    LpMKLClassifierCV : Chooses C and p by cross-validation.
    FixedWeightsMKLClassifier : The same problem with equal weights, p = inf.
    SpicyMKLClassifier : For large dictionaries and sparse models, p = 1.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and
       accurate lp-norm multiple kernel learning. NIPS 22, 997-1005.
    .. [2] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LpMKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> sparse = LpMKLClassifier(kernels, C=0.1, p=1.0).fit(X, y)
    >>> sparse.active_kernels_
    array([2])
    >>> even = LpMKLClassifier(kernels, p=2.0).fit(X, y)
    >>> len(even.active_kernels_), bool(even.duality_gap_ <= even.tol)
    (4, True)
    >>> float(np.sum(even.kernel_weights_**2).round(6))
    1.0
    """

    C: float | None = None
    p: float = 2.0

    def _method(self) -> MarginMethod:
        return lp_method(self, [self.p], self.C)


@documented("several targets", "lp-norm, regressors")
@dataclass(eq=False, repr=False)
class LpMKLRegressor(LpRegression, RegressorMKL):
    r"""Regression by lp-norm multiple kernel learning [1]_.

    Minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac12 \Bigl( \sum_m \|f_m\|^q \Bigr)^{2/q} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr), \qquad q = \frac{2p}{p + 1}

    with sample weights s. This is a support vector machine (or the machine of another
    loss) with the kernel :math:`\sum_m \theta_m k_m`, minimized over the weights theta
    as well: nonnegative, with p-norm one. Every fit ends with a duality gap, a bound on
    the distance of ``objective_`` to the optimum.

    Parameters
    ----------
    p : float, default=2.0
        Order of the norm of the kernel weights, at least 1. With p = 1 most weights are
        zero; a larger p makes the weights more similar, and with p = inf all are one.

    Attributes
    ----------
    C_
    epsilon_
    objective_ : float or ndarray of shape (n_targets,)
        Objective of the model: the penalty plus C times the sum of the losses.
    n_iter_ : int or ndarray of shape (n_targets,)
        Number of outer iterations.

    See Also
    --------
    LpMKLRegressorCV : Chooses C and p by cross-validation.
    FixedWeightsMKLRegressor : The same problem with equal weights, p = inf.
    SpicyMKLRegressor : For large dictionaries and sparse models, p = 1.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and
       accurate lp-norm multiple kernel learning. NIPS 22, 997-1005.
    .. [2] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LpMKLRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> sparse = LpMKLRegressor(kernels, C=0.1, p=1.0).fit(X, y)
    >>> sparse.active_kernels_
    array([2])
    >>> even = LpMKLRegressor(kernels, p=2.0).fit(X, y)
    >>> len(even.active_kernels_), bool(even.duality_gap_ <= even.tol)
    (4, True)
    >>> float(np.sum(even.kernel_weights_**2).round(6))
    1.0
    """

    C: float | None = None
    p: float = 2.0

    def _method(self) -> MarginMethod:
        return lp_method(self, [self.p], self.C)
