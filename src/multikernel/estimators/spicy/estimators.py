"""Sparse multiple kernel learning by SpicyMKL."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from multikernel._validation import Check
from multikernel.estimators.parameters import NORMALIZE
from multikernel.estimators.scale import CLASS_ALPHA, TARGET_ALPHA
from multikernel.estimators.spicy.method import (
    NULL_CHECKS,
    SPARSE_CHECKS,
    SparseMethod,
    documented_classifier,
    documented_regressor,
    sparse_method,
)
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


@dataclass(eq=False, repr=False)
class SparseClassification:
    """The parameters of sparse classification, chosen by a search or not."""

    _checks: ClassVar[Mapping[str, Check]] = SPARSE_CHECKS

    kernels: Any = None
    _: KW_ONLY
    loss: str | Loss = "log_loss"
    l1_ratio: float = 1.0
    selection: str = "separate"
    normalize: Steps = NORMALIZE
    penalty_weights: Any = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 100
    class_weight: Any = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@dataclass(eq=False, repr=False)
class SparseRegression:
    """The parameters of sparse regression, chosen by a search or not."""

    _checks: ClassVar[Mapping[str, Check]] = SPARSE_CHECKS

    kernels: Any = None
    _: KW_ONLY
    loss: str | Loss = "squared_error"
    epsilon: float | None = None
    quantile: float = 0.5
    l1_ratio: float = 1.0
    selection: str = "shared"
    normalize: Steps = NORMALIZE
    penalty_weights: Any = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int = 100
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@documented_classifier
@dataclass(eq=False, repr=False)
class SpicyMKLClassifier(SparseClassification, ClassifierMKL):
    r"""Sparse multiple kernel classification, solved by SpicyMKL.

    Minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_m f_m(x_i) + b\Bigr) + \alpha \sum_m \Bigl(r \|f_m\|
        + \frac{1 - r}{2} \|f_m\|^2\Bigr)

    with sample weights s and ``r = l1_ratio``. Most functions f_m are exactly zero:
    the model consists of the remaining kernels. Every fit ends with a duality gap, a
    bound on the distance of ``objective_`` to the optimum. SpicyMKL is the name of
    [1]_: its augmented Lagrangian, on a working set of kernels, solves part of the
    fits; Newton's method in the kernel weights solves the others. ``fit_info_`` stores
    which algorithm ran; `multikernel.solvers.SpicyMKL` says when each runs.

    Parameters
    ----------
    alpha : float, "auto", "null" or NullAlpha, default="auto"
        Strength of the penalty, positive. "null" computes the strength at which some
        kernel enters with probability 0.05 if y is noise, see `NullAlpha`. "auto" is
        0.01; with the default ``kernels`` of a wide table it is 0.003 if none is on a
        single column, and at least that of "null" if thousands of pairs of columns
        join. ``alpha_`` has the value. No kernel enters at ``alpha_max`` or above,
        which is at most 1/2 for the logistic loss and kernels of unit variance. The C
        of [1]_ is n_samples times alpha for the same kernels.

    Attributes
    ----------
    alpha_
    l1_ratio_
    objective_ : float or ndarray of shape (n_classes,)
        Mean loss plus alpha times the penalty.

    See Also
    --------
    SpicyMKLClassifierCV : Chooses alpha by cross-validation along a path.
    multikernel.solvers.SpicyMKL : The algorithm.

    References
    ----------
    .. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SpicyMKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = SpicyMKLClassifier(kernels, alpha=0.05).fit(X, y)
    >>> [model.kernel_names_[m] for m in model.active_kernels_]
    ['gaussian(sigma=1)[x2]']
    >>> bool(model.duality_gap_ <= model.tol)
    True
    """

    _checks = NULL_CHECKS

    alpha: Any = "auto"

    def _method(self) -> SparseMethod:
        return sparse_method(self, self.alpha, CLASS_ALPHA, partitions=True)


@documented_regressor
@dataclass(eq=False, repr=False)
class SpicyMKLRegressor(SparseRegression, RegressorMKL):
    r"""Sparse multiple kernel regression, solved by SpicyMKL.

    Minimizes, over functions of the kernels' spaces and an intercept,

    .. math::
        \frac{1}{\sum_i s_i} \sum_i s_i\, \ell\Bigl(y_i,
        \sum_m f_m(x_i) + b\Bigr) + \alpha \sum_m \Bigl(r \|f_m\|
        + \frac{1 - r}{2} \|f_m\|^2\Bigr)

    with sample weights s and ``r = l1_ratio``. Most functions f_m are exactly zero:
    the model consists of the remaining kernels. Every fit ends with a duality gap, a
    bound on the distance of ``objective_`` to the optimum. SpicyMKL is the name of
    [1]_: its augmented Lagrangian, on a working set of kernels, solves part of the
    fits; Newton's method in the kernel weights solves the others. ``fit_info_`` stores
    which algorithm ran; `multikernel.solvers.SpicyMKL` says when each runs.

    Parameters
    ----------
    alpha : float, "auto", "null" or NullAlpha, default="auto"
        Strength of the penalty, positive, for targets with a standard deviation of one:
        for "squared_error" and "huber" the fit multiplies it by the standard deviation
        of y. "null" computes the strength at which some kernel enters with probability
        0.05 if y is noise, see `NullAlpha`. "auto" is 0.02, and at least that of "null"
        if thousands of pairs of columns are in the default ``kernels``. With the
        squared error and kernels of mean diagonal one, no kernel enters at 1 or above.

    Attributes
    ----------
    alpha_
    epsilon_
    l1_ratio_
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Feasible dual point a that proves ``duality_gap_``, zero at samples of weight
        zero. At the optimum f_m is a multiple of K_m a.
    objective_ : float or ndarray of shape (n_targets,)
        Mean loss plus alpha times the penalty.
    n_iter_ : int or ndarray of shape (n_targets,)
        Number of outer iterations.

    See Also
    --------
    SpicyMKLRegressorCV : Chooses alpha by cross-validation along a path.
    multikernel.solvers.SpicyMKL : The algorithm.

    References
    ----------
    .. [1] Suzuki, Tomioka (2009). SpicyMKL. METR 2009-45, University of Tokyo.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import SpicyMKLRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 1])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = SpicyMKLRegressor(kernels, alpha=0.05).fit(X, y)
    >>> model.active_kernels_
    array([1])
    """

    _checks = NULL_CHECKS

    alpha: Any = "auto"

    def _method(self) -> SparseMethod:
        return sparse_method(self, self.alpha, TARGET_ALPHA, partitions=True)
