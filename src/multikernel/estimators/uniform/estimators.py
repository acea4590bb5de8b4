"""The machine on the unweighted sum of the kernels, the baseline of all others."""

from typing import Any

from multikernel.estimators.descriptions import (
    UNIFORM_CLASSIFIER_TEXTS,
    UNIFORM_REGRESSOR_TEXTS,
    UNIFORM_TEXTS,
    documented,
)
from multikernel.estimators.lp.method import MARGIN_CHECKS, MarginMethod, margin_method
from multikernel.estimators.parameters import SUM_NORMALIZE
from multikernel.estimators.scale import Amount
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


@documented(UNIFORM_TEXTS, UNIFORM_CLASSIFIER_TEXTS)
class UniformMKLClassifier(ClassifierMKL):
    r"""Classification with the unweighted sum of all kernels.

    Minimises, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac12 \sum_m \|f_m\|^2 + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s: a machine such as `sklearn.svm.SVC` with the sum of all
    kernels, normalised, as its kernel. No weights are learnt; it is what learnt
    weights have to beat, and `LpMKLClassifier` with p = inf and the same ``normalize``.

    Attributes
    ----------
    C_

    See Also
    --------
    LpMKLClassifier : Learns the weights.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and
       accurate lp-norm multiple kernel learning. NIPS 22, 997-1005.
    .. [2] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import UniformMKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> UniformMKLClassifier(kernels).fit(X, y).kernel_weights_
    array([1., 1., 1., 1.])
    """

    _checks = MARGIN_CHECKS

    def __init__(
        self,
        kernels: Any = None,
        C: Amount = 1.0,
        *,
        loss: str | Loss = "hinge",
        normalize: Steps = SUM_NORMALIZE,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int | None = None,
        class_weight: Any = None,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.C = C
        self.loss = loss
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.storage = storage
        self.max_bytes = max_bytes
        self.check_psd = check_psd
        self.verbose = verbose
        self.random_state = random_state

    def _method(self) -> MarginMethod:
        return margin_method(self, self.C)


@documented(UNIFORM_TEXTS, UNIFORM_REGRESSOR_TEXTS)
class UniformMKLRegressor(RegressorMKL):
    r"""Regression with the unweighted sum of all kernels.

    Minimises, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac12 \sum_m \|f_m\|^2 + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s: a machine such as `sklearn.svm.SVR` with the sum of all
    kernels, normalised, as its kernel. No weights are learnt; it is what learnt
    weights have to beat, and `LpMKLRegressor` with p = inf.

    Attributes
    ----------
    C_
    epsilon_

    See Also
    --------
    LpMKLRegressor : Learns the weights.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Laskov, Müller, Zien (2009). Efficient and
       accurate lp-norm multiple kernel learning. NIPS 22, 997-1005.
    .. [2] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import UniformMKLRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> UniformMKLRegressor(kernels).fit(X, y).kernel_weights_
    array([1., 1., 1., 1.])
    """

    _checks = MARGIN_CHECKS

    def __init__(
        self,
        kernels: Any = None,
        C: Amount = "scale",
        *,
        loss: str | Loss = "epsilon_insensitive",
        epsilon: Amount = "scale",
        normalize: Steps = SUM_NORMALIZE,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int | None = None,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str = "auto",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.kernels = kernels
        self.C = C
        self.loss = loss
        self.epsilon = epsilon
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.storage = storage
        self.max_bytes = max_bytes
        self.check_psd = check_psd
        self.verbose = verbose
        self.random_state = random_state

    def _method(self) -> MarginMethod:
        return margin_method(self, self.C)
