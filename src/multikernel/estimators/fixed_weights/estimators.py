"""The machine on a weighted sum of kernels: the baselines of every method."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from multikernel.estimators.descriptions import documented
from multikernel.estimators.fixed_weights.method import weight_checks, weighted_method
from multikernel.estimators.method import Method
from multikernel.estimators.parameters import SUM_NORMALIZE
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


@dataclass(eq=False, repr=False)
class WeightedClassification:
    """The parameters of classification by fixed weights, chosen by a search or not."""

    kernels: Any = None
    _: KW_ONLY
    kernel_weights: Any = "uniform"
    weight_params: Mapping[str, Any] | None = None
    loss: str | Loss = "hinge"
    normalize: Steps = SUM_NORMALIZE
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    class_weight: Any = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@dataclass(eq=False, repr=False)
class WeightedRegression:
    """The parameters of regression by fixed weights, chosen by a search or not."""

    kernels: Any = None
    _: KW_ONLY
    kernel_weights: Any = "uniform"
    weight_params: Mapping[str, Any] | None = None
    loss: str | Loss = "epsilon_insensitive"
    epsilon: float | None = None
    normalize: Steps = SUM_NORMALIZE
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@documented("fixed weights", "fixed weights, classifiers")
@dataclass(eq=False, repr=False)
class FixedWeightsMKLClassifier(WeightedClassification, ClassifierMKL):
    r"""Classification with a sum of kernels with fixed weights.

    Minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\theta_m} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s: for the hinge loss this is `sklearn.svm.SVC` with the
    weighted sum of the normalized kernels. The weights theta are equal, given, or
    computed by a rule from the kernels and targets alone [2]_, [3]_. Use this estimator
    as the baseline for learned weights. Equal weights are `LpMKLClassifier` with p =
    inf and the same ``normalize`` [1]_.

    Attributes
    ----------
    C_
    machine_gap_

    See Also
    --------
    LpMKLClassifier : Learns the weights together with the functions.
    FixedWeightsMKLClassifierCV : Chooses C, or the best single kernel.

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
    >>> from multikernel.estimators import FixedWeightsMKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> FixedWeightsMKLClassifier(kernels).fit(X, y).kernel_weights_
    array([1., 1., 1., 1.])
    >>> model = FixedWeightsMKLClassifier(kernels, kernel_weights="alignment").fit(X, y)
    >>> int(np.argmax(model.kernel_weights_))
    2
    """

    _checks = weight_checks("uniform", "alignment", "easy")

    C: float | None = None

    def _method(self) -> Method:
        return weighted_method(self, self.C)


@documented("fixed weights", "fixed weights, regressors")
@dataclass(eq=False, repr=False)
class FixedWeightsMKLRegressor(WeightedRegression, RegressorMKL):
    r"""Regression with a sum of kernels with fixed weights.

    Minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\theta_m} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s: for the epsilon-insensitive loss this is `sklearn.svm.SVR`
    with the weighted sum of the normalized kernels. The weights theta are equal, given,
    or computed by a rule from the kernels and targets alone [2]_. Use this estimator as
    the baseline for learned weights. Equal weights are `LpMKLRegressor` with p = inf
    and the same ``normalize`` [1]_.

    Attributes
    ----------
    C_
    epsilon_
    machine_gap_

    See Also
    --------
    LpMKLRegressor : Learns the weights together with the functions.
    FixedWeightsMKLRegressorCV : Chooses C, or the best single kernel.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.
    .. [2] Cortes, Mohri, Rostamizadeh (2012). Algorithms for learning kernels based on
       centered alignment. JMLR 13, 795-828.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import FixedWeightsMKLRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> FixedWeightsMKLRegressor(kernels).fit(X, y).kernel_weights_
    array([1., 1., 1., 1.])
    >>> model = FixedWeightsMKLRegressor(kernels, kernel_weights="alignment").fit(X, y)
    >>> int(np.argmax(model.kernel_weights_))
    2
    """

    _checks = weight_checks("uniform", "alignment")

    C: float | None = None

    def _method(self) -> Method:
        return weighted_method(self, self.C)
