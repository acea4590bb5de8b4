"""Multiple kernel learning by local Rademacher complexity."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from multikernel.estimators.descriptions import documented
from multikernel.estimators.local_rademacher.method import (
    TAIL_CHECKS,
    TailMethod,
    tail_method,
)
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss


@dataclass(eq=False, repr=False)
class TailClassification:
    """The parameters of local Rademacher classification, chosen by a search or not."""

    _checks = TAIL_CHECKS

    kernels: Any = None
    _: KW_ONLY
    method: str = "conv"
    n_starts: int = 3
    loss: str | Loss = "hinge"
    solver: str = "auto"
    selection: str = "separate"
    normalize: Steps = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    class_weight: Any = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@dataclass(eq=False, repr=False)
class TailRegression:
    """The parameters of local Rademacher regression, chosen by a search or not."""

    _checks = TAIL_CHECKS

    kernels: Any = None
    _: KW_ONLY
    method: str = "conv"
    n_starts: int = 3
    loss: str | Loss = "epsilon_insensitive"
    epsilon: float | None = None
    solver: str = "auto"
    normalize: Steps = None
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None


@documented("local Rademacher", "local Rademacher, classifiers")
@dataclass(eq=False, repr=False)
class LocalRademacherMKLClassifier(TailClassification, ClassifierMKL):
    r"""Classification by local Rademacher complexity: conv and dc [1]_.

    Minimizes, over functions of the kernels' spaces, an intercept and kernel weights
    :math:`\mu \ge 0`,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\mu_m} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s. The constraint on the weights does not contain the traces of
    the kernels but the tail sums of their spectra: like the local Rademacher
    complexity, it does not count the leading theta eigenvalues. Kernels are scaled to
    trace n. "conv" requires

    .. math::
        \Bigl\| \Bigl( \mu_m \, \tfrac1n \sum_{j > \theta} \lambda_j(K_m)
        \Bigr)_m \Bigr\|_p \le 1,

    which is lp-norm learning with kernels divided by their tails. This problem is
    convex, and every fit ends with a duality gap. "dc" bounds the tail of the combined
    kernel, :math:`\frac1n \sum_{j > \theta} \lambda_j(\sum_m \mu_m K_m) \le 1` where p
    is 1 (`TailDC` has the norm for other p). This problem is not convex. "dc" solves a
    sequence of convex problems, each with its own gap, and each decreases
    ``objective_``. The model is the best of `n_starts` stationary points and has no
    certificate. With ``theta=0`` both are `LpMKLClassifier` with ``normalize="trace"``.

    Parameters
    ----------
    n_starts : int, default=3
        Number of starts of "dc": the first starts from the result of "conv", the second
        from equal weights, the others from random weights.

    Attributes
    ----------
    C_
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        Feasible dual point of the (last) convex problem; from -C to C for the hinge and
        the logistic loss, zero at samples of weight zero.
    duality_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of "conv"; nan for "dc".
    subproblem_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the last convex problem; only for "dc".
    start_objectives_ : ndarray of shape (n_starts,) or (n_classes, n_starts)
        Objective reached from each start, ascending; only for "dc".
    tail_sums_ : ndarray of shape (n_kernels, min(theta, n_samples) + 1)
        Tail sums of each kernel beyond 0, 1, ..., theta eigenvalues, divided by n.
    n_iter_ : int or ndarray of shape (n_classes,)
        Number of outer iterations; for "dc", number of convex problems over all starts.

    See Also
    --------
    LocalRademacherMKLClassifierCV : Chooses C and theta by cross-validation.
    LpMKLClassifier : The same problem with traces in place of tail sums.
    multikernel.gram.TailNormalizer : The normalization of "conv", for every estimator.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LocalRademacherMKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> conv = LocalRademacherMKLClassifier(kernels, p=1.0, theta=4).fit(X, y)
    >>> int(np.argmax(conv.kernel_weights_)), bool(conv.duality_gap_ <= conv.tol)
    (2, True)
    >>> dc = LocalRademacherMKLClassifier(kernels, p=1.0, theta=4, method="dc")
    >>> dc = dc.fit(X, y)
    >>> int(np.argmax(dc.kernel_weights_)), bool(dc.subproblem_gap_ <= dc.tol)
    (2, True)
    """

    C: float | None = None
    p: float = 2.0
    _: KW_ONLY
    theta: int = 1

    def _method(self) -> TailMethod:
        return tail_method(self, self.theta, self.C)


@documented("local Rademacher")
@dataclass(eq=False, repr=False)
class LocalRademacherMKLRegressor(TailRegression, RegressorMKL):
    r"""Regression by local Rademacher complexity: conv and dc [1]_.

    Minimizes, over functions of the kernels' spaces, an intercept and kernel weights
    :math:`\mu \ge 0`,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\mu_m} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s. The constraint on the weights does not contain the traces of
    the kernels but the tail sums of their spectra: like the local Rademacher
    complexity, it does not count the leading theta eigenvalues. Kernels are scaled to
    trace n. "conv" requires

    .. math::
        \Bigl\| \Bigl( \mu_m \, \tfrac1n \sum_{j > \theta} \lambda_j(K_m)
        \Bigr)_m \Bigr\|_p \le 1,

    which is lp-norm learning with kernels divided by their tails. This problem is
    convex, and every fit ends with a duality gap. "dc" bounds the tail of the combined
    kernel, :math:`\frac1n \sum_{j > \theta} \lambda_j(\sum_m \mu_m K_m) \le 1` where p
    is 1 (`TailDC` has the norm for other p). This problem is not convex. "dc" solves a
    sequence of convex problems, each with its own gap, and each decreases
    ``objective_``. The model is the best of `n_starts` stationary points and has no
    certificate. With ``theta=0`` both are `LpMKLRegressor` with ``normalize="trace"``.

    Parameters
    ----------
    n_starts : int, default=3
        Number of starts of "dc": the first starts from the result of "conv", the second
        from equal weights, the others from random weights.

    Attributes
    ----------
    C_
    epsilon_
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative weights mu of the kernels, which are scaled to trace n, on the
        boundary of the constraint.
    dual_coef_ : ndarray of shape (n_samples,)
        Feasible dual point of the (last) convex problem; from -C to C for the
        epsilon-insensitive loss, zero at samples of weight zero.
    duality_gap_ : float
        Relative duality gap of "conv"; nan for "dc".
    subproblem_gap_ : float
        Relative duality gap of the last convex problem; only for "dc".
    start_objectives_ : ndarray of shape (n_starts,)
        Objective reached from each start, ascending; only for "dc".
    tail_sums_ : ndarray of shape (n_kernels, min(theta, n_samples) + 1)
        Tail sums of each kernel beyond 0, 1, ..., theta eigenvalues, divided by n.
    n_iter_ : int
        Number of outer iterations; for "dc", number of convex problems over all starts.

    See Also
    --------
    LocalRademacherMKLRegressorCV : Chooses C and theta by cross-validation.
    LpMKLRegressor : The same problem with traces in place of tail sums.
    multikernel.gram.TailNormalizer : The normalization of "conv", for every estimator.

    References
    ----------
    .. [1] Cortes, Kloft, Mohri (2013). Learning kernels using local Rademacher
       complexity. NIPS 26.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import LocalRademacherMKLRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 2])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> conv = LocalRademacherMKLRegressor(kernels, p=1.0, theta=4).fit(X, y)
    >>> int(np.argmax(conv.kernel_weights_)), bool(conv.duality_gap_ <= conv.tol)
    (2, True)
    >>> dc = LocalRademacherMKLRegressor(kernels, p=1.0, theta=4, method="dc")
    >>> dc = dc.fit(X, y)
    >>> int(np.argmax(dc.kernel_weights_)), bool(dc.subproblem_gap_ <= dc.tol)
    (2, True)
    """

    C: float | None = None
    p: float = 2.0
    _: KW_ONLY
    theta: int = 1

    def _method(self) -> TailMethod:
        return tail_method(self, self.theta, self.C)
