"""The machine on the unweighted sum of all kernels: the baseline of every method."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from multikernel.estimators.descriptions import documented
from multikernel.estimators.lp.candidates import margin_search
from multikernel.estimators.lp.method import MARGIN_CHECKS, MarginMethod, margin_method
from multikernel.estimators.method import AnyMethod
from multikernel.estimators.parameters import SUM_NORMALIZE
from multikernel.estimators.scale import Amount
from multikernel.estimators.search.search import SearchCV
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss

UNIFORM_TEXTS = """
normalize : str, Normalizer, list of these or None, default="trace"
    How kernels are made comparable: "trace" for a mean diagonal of one, "variance"
    for unit variance in feature space, or what other estimators take. Factors are
    learnt on the training data.
"""

UNIFORM_CLASSIFIER_TEXTS = """
kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
    One for every kernel whose term is not zero: not for one that is zero on the
    training data, nor, as far as rounding tells, for one that is constant there
    beside an intercept, which takes its place. With more than two classes one row
    per class, as all attributes that say so.
"""

UNIFORM_REGRESSOR_TEXTS = """
kernel_weights_ : ndarray of shape (n_kernels,)
    One for every kernel whose term is not zero: not for one that is zero on the
    training data, nor, as far as rounding tells, for one that is constant there
    beside an intercept, which takes its place.
"""


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
        penalty_weights: Any = None,
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
        self.penalty_weights = penalty_weights
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
        penalty_weights: Any = None,
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
        self.penalty_weights = penalty_weights
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


@documented(UNIFORM_TEXTS, UNIFORM_CLASSIFIER_TEXTS)
class UniformMKLClassifierCV(SearchCV, ClassifierMKL):
    r"""Classification with the unweighted sum of all kernels, C chosen on folds.

    The problem is that of `UniformMKLClassifier`. On every fold it is solved for all
    values of C in turn, each from the solution before, and the one with the best mean
    validation score is taken. Kernels are computed once, and what they learn from
    samples without labels is learnt once; each fold normalises them by its own
    training samples.

    Parameters
    ----------
    refit : bool, default=True
        Whether to solve for all C on all samples, and to be the model at ``C_``.

    Attributes
    ----------
    C_
    Cs_ : ndarray of shape (n_Cs,)
        All values of C, ascending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples; its strengths are 1 / C.
    n_iter_ : int or ndarray of shape (n_classes,)
        Outer iterations made for all C together.

    See Also
    --------
    UniformMKLClassifier : The model for one C.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import UniformMKLClassifierCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = UniformMKLClassifierCV(kernels, Cs=[0.1, 1.0, 9.0], cv=3).fit(X, y)
    >>> model.best_params_["C"] == model.C_, model.Cs_.size
    (True, 3)
    """

    _checks = MARGIN_CHECKS

    def __init__(
        self,
        kernels: Any = None,
        *,
        Cs: Sequence[Amount] | None = None,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
        loss: str | Loss = "hinge",
        normalize: Steps = SUM_NORMALIZE,
        penalty_weights: Any = None,
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
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.refit = refit
        self.loss = loss
        self.normalize = normalize
        self.penalty_weights = penalty_weights
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.storage = storage
        self.max_bytes = max_bytes
        self.check_psd = check_psd
        self.verbose = verbose
        self.random_state = random_state

    def _method(self) -> AnyMethod:
        return margin_search(self, margin_method(self), [np.inf], with_p=False)


@documented(UNIFORM_TEXTS, UNIFORM_REGRESSOR_TEXTS)
class UniformMKLRegressorCV(SearchCV, RegressorMKL):
    r"""Regression with the unweighted sum of all kernels, C chosen on folds.

    The problem is that of `UniformMKLRegressor`. On every fold it is solved for all
    values of C in turn, each from the solution before, and the one with the best mean
    validation score is taken. Kernels are computed once, and what they learn from
    samples without labels is learnt once; each fold normalises them by its own
    training samples.

    Parameters
    ----------
    refit : bool, default=True
        Whether to solve for all C on all samples, and to be the model at ``C_``.

    Attributes
    ----------
    epsilon_
    C_
    Cs_ : ndarray of shape (n_Cs,)
        All values of C, ascending.
    path_ : RegularizationPath
        Norms, weights, objectives and gaps on all samples; its strengths are 1 / C.
    n_iter_ : int
        Outer iterations made for all C together.

    See Also
    --------
    UniformMKLRegressor : The model for one C.

    References
    ----------
    .. [1] Kloft, Brefeld, Sonnenburg, Zien (2011). lp-norm multiple kernel learning.
       JMLR 12, 953-997.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import UniformMKLRegressorCV
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2]) + 0.3 * rng.standard_normal(60)
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = UniformMKLRegressorCV(kernels, Cs=[0.1, 1.0, 9.0], cv=3).fit(X, y)
    >>> model.best_params_["C"] == model.C_, model.Cs_.size
    (True, 3)
    """

    _checks = MARGIN_CHECKS

    def __init__(
        self,
        kernels: Any = None,
        *,
        Cs: Sequence[Amount] | None = None,
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool = True,
        loss: str | Loss = "epsilon_insensitive",
        epsilon: Amount = "scale",
        normalize: Steps = SUM_NORMALIZE,
        penalty_weights: Any = None,
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
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.refit = refit
        self.loss = loss
        self.epsilon = epsilon
        self.normalize = normalize
        self.penalty_weights = penalty_weights
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.storage = storage
        self.max_bytes = max_bytes
        self.check_psd = check_psd
        self.verbose = verbose
        self.random_state = random_state

    def _method(self) -> AnyMethod:
        return margin_search(self, margin_method(self), [np.inf], with_p=False)
