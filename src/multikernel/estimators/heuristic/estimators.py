"""Weights by a rule: centred alignment, and EasyMKL."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from multikernel._validation import Check, Number, OneOf
from multikernel.estimators.descriptions import documented
from multikernel.estimators.heuristic.rules import Method as AlignmentRule
from multikernel.estimators.heuristic.rules import (
    RuleMethod,
    alignment_weights,
    easy_weights,
    rule_method,
)
from multikernel.estimators.lp.method import MARGIN_CHECKS
from multikernel.estimators.parameters import NORMALIZE
from multikernel.estimators.scale import Amount
from multikernel.estimators.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss

CHECKS: Mapping[str, Check] = {
    **MARGIN_CHECKS,
    "method": OneOf(("independent", "joint", "greedy")),
}


def alignment_method(model: Any) -> RuleMethod:
    """Return the method of an estimator: centred alignment chooses the weights."""
    most = model.max_kernels
    rule = partial(alignment_weights, method=model.method, max_kernels=most)
    return rule_method(model, rule)


ALIGNMENT_TEXTS = """
method : {"independent", "joint", "greedy"}, default="joint"
    "independent" for the alignment of each kernel alone; "joint" for the
    combination that is aligned best, by non-negative least squares on the M² inner
    products of M kernels; "greedy" for the same on the kernels that raise the
    alignment most, one after the other.
"""


@documented(ALIGNMENT_TEXTS)
class AlignmentMKLClassifier(ClassifierMKL):
    r"""Classification with kernels weighted by their alignment with the targets.

    A heuristic: the weights are those of centred alignment [1]_, computed from kernels
    and targets alone, and the functions are then those of a machine with the weighted
    sum as its kernel,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\theta_m} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s. No certificate covers the weights, unlike those of
    `LpMKLClassifier`: the gap of the machine is in ``machine_gap_``.

    Parameters
    ----------
    max_kernels : int or None, default=None
        Kernels that "greedy" takes at most.

    Attributes
    ----------
    C_
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Weights of the kernels, not negative, with a sum of one. With more than two
        classes one row per class, as all attributes that say so.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        The dual variable of the machine: f_m is ``kernel_weights_[m]`` times K_m times
        it. Zero at samples of weight zero.
    objective_ : float or ndarray of shape (n_classes,)
        The objective of the machine: half the squared norm plus C times the sum of the
        losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        nan: nothing is proved of the weights.
    machine_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the machine for these weights.

    See Also
    --------
    LpMKLClassifier : Learns the weights together with the functions.
    UniformMKLClassifier : All weights the same.

    References
    ----------
    .. [1] Cortes, Mohri, Rostamizadeh (2012). Algorithms for learning kernels based on
       centered alignment. JMLR 13, 795-828.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import AlignmentMKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = AlignmentMKLClassifier(kernels).fit(X, y)
    >>> int(np.argmax(model.kernel_weights_))
    2
    """

    _checks = CHECKS

    def __init__(
        self,
        kernels: Any = None,
        C: Amount = 1.0,
        *,
        loss: str | Loss = "hinge",
        method: AlignmentRule = "joint",
        max_kernels: int | None = None,
        normalize: Steps = NORMALIZE,
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
        self.method = method
        self.max_kernels = max_kernels
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

    def _method(self) -> RuleMethod:
        return alignment_method(self)


@documented(ALIGNMENT_TEXTS)
class AlignmentMKLRegressor(RegressorMKL):
    r"""Regression with kernels weighted by their alignment with the targets.

    A heuristic: the weights are those of centred alignment [1]_, computed from kernels
    and targets alone, and the functions are then those of a machine with the weighted
    sum as its kernel,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\theta_m} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s. No certificate covers the weights, unlike those of
    `LpMKLRegressor`: the gap of the machine is in ``machine_gap_``.

    Parameters
    ----------
    max_kernels : int or None, default=None
        Kernels that "greedy" takes at most.

    Attributes
    ----------
    C_
    epsilon_
    kernel_weights_ : ndarray of shape (n_kernels,)
        Weights of the kernels, not negative, with a sum of one.
    dual_coef_ : ndarray of shape (n_samples,)
        The dual variable of the machine: f_m is ``kernel_weights_[m]`` times K_m times
        it. Zero at samples of weight zero.
    objective_ : float
        The objective of the machine: half the squared norm plus C times the sum of the
        losses.
    duality_gap_ : float
        nan: nothing is proved of the weights.
    machine_gap_ : float
        Relative duality gap of the machine for these weights.

    See Also
    --------
    LpMKLRegressor : Learns the weights together with the functions.
    UniformMKLRegressor : All weights the same.

    References
    ----------
    .. [1] Cortes, Mohri, Rostamizadeh (2012). Algorithms for learning kernels based on
       centered alignment. JMLR 13, 795-828.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import AlignmentMKLRegressor
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.sin(2.0 * X[:, 1])
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = AlignmentMKLRegressor(kernels).fit(X, y)
    >>> int(np.argmax(model.kernel_weights_))
    1
    """

    _checks = CHECKS

    def __init__(
        self,
        kernels: Any = None,
        C: Amount = "scale",
        *,
        loss: str | Loss = "epsilon_insensitive",
        epsilon: Amount = "scale",
        method: AlignmentRule = "joint",
        max_kernels: int | None = None,
        normalize: Steps = NORMALIZE,
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
        self.method = method
        self.max_kernels = max_kernels
        self.normalize = normalize
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.storage = storage
        self.max_bytes = max_bytes
        self.check_psd = check_psd
        self.verbose = verbose
        self.random_state = random_state

    def _method(self) -> RuleMethod:
        return alignment_method(self)


@documented()
class EasyMKLClassifier(ClassifierMKL):
    r"""Classification with kernels weighted by the margin they give, as EasyMKL does.

    A heuristic: a quadratic program on the sum of all kernels, of unit trace, finds a
    point in the convex hull of each class, in a compromise between their nearest points
    and their means; the weight of a kernel is the squared distance of the two points in
    its space [1]_. The functions are then those of a machine with the weighted sum as
    its kernel,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\theta_m} + C \sum_i s_i\,
        \ell\Bigl(y_i, \sum_m f_m(x_i) + b\Bigr)

    with sample weights s. No certificate covers the weights, unlike those of
    `LpMKLClassifier`: the gap of the machine is in ``machine_gap_``. The sum of the
    kernels is held in memory.

    Parameters
    ----------
    regularization : float, default=0.2
        The lambda of [1]_, in (0, 1]: near 0 the points are the nearest ones of the
        two classes, at 1 they are the means.

    Attributes
    ----------
    C_
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Weights of the kernels, not negative; the sum of the weighted kernels has a
        mean diagonal of one. With more than two classes one row per class, as all
        attributes that say so.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        The dual variable of the machine: f_m is ``kernel_weights_[m]`` times K_m times
        it. Zero at samples of weight zero.
    objective_ : float or ndarray of shape (n_classes,)
        The objective of the machine: half the squared norm plus C times the sum of the
        losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        nan: nothing is proved of the weights.
    machine_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the machine for these weights.

    See Also
    --------
    LpMKLClassifier : Learns the weights together with the functions.
    UniformMKLClassifier : All weights the same.

    References
    ----------
    .. [1] Aiolli, Donini (2015). EasyMKL: a scalable multiple kernel learning
       algorithm. Neurocomputing 169, 215-224.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel.estimators import EasyMKLClassifier
    >>> from multikernel.kernels import ColumnKernel, GaussianKernel
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> y = np.where(np.abs(X[:, 2]) > 0.7, "far", "near")
    >>> kernels = [ColumnKernel(GaussianKernel(1.0), column) for column in range(4)]
    >>> model = EasyMKLClassifier(kernels).fit(X, y)
    >>> int(np.argmax(model.kernel_weights_))
    2
    """

    _checks: ClassVar[Mapping[str, Check]] = {
        **MARGIN_CHECKS,
        "regularization": Number(0.0, 1.0, above=True),
    }

    def __init__(
        self,
        kernels: Any = None,
        C: Amount = 1.0,
        *,
        loss: str | Loss = "hinge",
        regularization: float = 0.2,
        normalize: Steps = NORMALIZE,
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
        self.regularization = regularization
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

    def _method(self) -> RuleMethod:
        share = float(self.regularization)
        return rule_method(self, partial(easy_weights, regularization=share))
