"""Weights by centred alignment: classification and regression."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from multikernel._validation import Check, OneOf
from multikernel.estimators.fit.parameters import NORMALIZE, store
from multikernel.estimators.heuristic.base import RuleMKL
from multikernel.estimators.heuristic.weights import Method, alignment_weights
from multikernel.estimators.search.tasks import ClassifierMKL, RegressorMKL
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.losses import Loss
from multikernel.solvers.fixed_weights import WeightRule


class AlignmentMKL(RuleMKL):
    """Centred alignment chooses the weights."""

    _checks: ClassVar[Mapping[str, Check]] = {
        "method": OneOf(("independent", "joint", "greedy"))
    }

    method: Method
    max_kernels: int | None

    def _rule(self) -> WeightRule:
        """Return centred alignment with the targets."""
        most = self.max_kernels
        return partial(alignment_weights, method=self.method, max_kernels=most)


class AlignmentMKLClassifier(AlignmentMKL, ClassifierMKL):
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
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        The candidates. None stands for `median_dictionary`: a linear kernel, and
        Gaussians of a few widths, which the samples decide, on all columns together and
        on each alone; it expects standardised columns; on strings for
        `sequence_dictionary`. A mapping from names of views to columns, or to (columns,
        kernels), gives each view kernels of its own, see `multikernel.kernels.Views`.
        Kernels may be functions, and names of `sklearn.metrics.pairwise`, see
        `multikernel.kernels.FunctionKernel`. For "precomputed" see `stack_grams`.
    C : float, default=1.0
        What the sum of the losses is multiplied by, positive: the C of
        `sklearn.svm.SVC`. The larger it is, the closer the fit.
    loss : {"hinge", "log_loss", "squared_error"} or Loss, default="hinge"
        Loss, by name or as an object; targets of the squared error are -1 and 1. Only
        "log_loss" has `predict_proba`.
    method : {"independent", "joint", "greedy"}, default="joint"
        "independent" for the alignment of each kernel alone; "joint" for the
        combination that is aligned best, by non-negative least squares on the M² inner
        products of M kernels; "greedy" for the same on the kernels that raise the
        alignment most, one after the other.
    max_kernels : int or None, default=None
        Kernels that "greedy" takes at most.
    normalize : str, Normalizer, list of these or None, default="variance"
        How kernels are made comparable: "variance" for unit variance in feature space,
        "trace" for a mean diagonal of one, "cosine" for cosine similarity, "center", or
        an object such as `multikernel.gram.TailNormalizer`; several are applied in
        order. Factors are learnt on the training data.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is zero.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Outer iterations at most; the default of the solver when None.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights by class label; "balanced" gives all classes the
        same total weight.
    storage : str, LowRank or MemoryMapped, default="auto"
        How Gram matrices are held while fitting, see `multikernel.gram.build_stack`:
        "dense", "dense32" (single precision), "lazy" (computed when needed),
        "low_rank" or a `multikernel.gram.LowRank` (factors by landmarks), "memmap" or
        a `multikernel.gram.MemoryMapped` (in a file), or "auto" for what is predicted
        to be quickest. Precomputed ones are held as they come.
    max_bytes : int, default=None
        Limit on the bytes of the Gram matrices, with the copies that folds need; half
        of the memory that is free when None.
    check_psd : {"active", "all", False}, default="active"
        Which kernels that are not this library's own, precomputed ones among them,
        are checked for a negative eigenvalue after a fit: those of the model, all, or
        none. See `multikernel.gram.check_definite`.
    verbose : int, default=0
        Whether to write one line per iteration to standard error.
    random_state : int, RandomState or None, default=None
        Draws the vectors that test precomputed matrices for symmetry, and subsamples
        of the dictionary where there are any; the rest of a fit is deterministic.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Weights of the kernels, not negative, with a sum of one. With more than two
        classes one row per class, as all attributes that say so.
    block_norms_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Norms of the functions f_m in the spaces of their normalised kernels.
    variance_shares_ : ndarray of shape (n_kernels,) or (n_classes, n_kernels)
        Shares of the terms in the variance of the decision values on the training
        samples, see `variance_shares`: they sum to one, and one that works against
        the others is negative.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a non-zero weight (for any class), ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,) or (n_classes, n_samples)
        The dual variable of the machine: f_m is ``kernel_weights_[m]`` times K_m times
        it. Zero at samples of weight zero.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float or ndarray of shape (n_classes,)
        The objective of the machine: half the squared norm plus C times the sum of the
        losses.
    duality_gap_ : float or ndarray of shape (n_classes,)
        nan: nothing is proved of the weights.
    machine_gap_ : float or ndarray of shape (n_classes,)
        Relative duality gap of the machine for these weights.
    n_iter_ : int or ndarray of shape (n_classes,)
        Outer iterations made.
    history_ : structured ndarray of shape (n_lines,)
        One line per outer iteration: output (index of the class, 0 for two classes),
        iteration, seconds, objective, duality_gap, n_active, passes, inner_steps.
    status_ : str
        Why the solver stopped, a sentence: the value of a `Status`, the worst one of
        all classes.
    storage_, storage_reason_ : str
        How Gram matrices were held, and why.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of columns; of training samples for precomputed kernels.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names, where X was a data frame.

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

    def __init__(
        self,
        kernels: Any = None,
        C: float = 1.0,
        *,
        loss: str | Loss = "hinge",
        method: Method = "joint",
        max_kernels: int | None = None,
        normalize: Steps = NORMALIZE,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int | None = None,
        class_weight: Any = None,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str | bool = "active",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        store(self, locals())


class AlignmentMKLRegressor(AlignmentMKL, RegressorMKL):
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
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        The candidates. None stands for `median_dictionary`: a linear kernel, and
        Gaussians of a few widths, which the samples decide, on all columns together and
        on each alone; it expects standardised columns; on strings for
        `sequence_dictionary`. A mapping from names of views to columns, or to (columns,
        kernels), gives each view kernels of its own, see `multikernel.kernels.Views`.
        Kernels may be functions, and names of `sklearn.metrics.pairwise`, see
        `multikernel.kernels.FunctionKernel`. For "precomputed" see `stack_grams`.
    C : float, default=1.0
        What the sum of the losses is multiplied by, positive: the C of
        `sklearn.svm.SVR`. The larger it is, the closer the fit.
    loss : str or Loss, default="epsilon_insensitive"
        "squared_error" for half the squared error, "epsilon_insensitive" for the
        absolute error beyond ``epsilon``, or a loss object.
    epsilon : float, default=0.1
        Error that costs nothing, in units of y; for "epsilon_insensitive" only.
    method : {"independent", "joint", "greedy"}, default="joint"
        "independent" for the alignment of each kernel alone; "joint" for the
        combination that is aligned best, by non-negative least squares on the M² inner
        products of M kernels; "greedy" for the same on the kernels that raise the
        alignment most, one after the other.
    max_kernels : int or None, default=None
        Kernels that "greedy" takes at most.
    normalize : str, Normalizer, list of these or None, default="variance"
        How kernels are made comparable: "variance" for unit variance in feature space,
        "trace" for a mean diagonal of one, "cosine" for cosine similarity, "center", or
        an object such as `multikernel.gram.TailNormalizer`; several are applied in
        order. Factors are learnt on the training data.
    fit_intercept : bool, default=True
        Whether b is free; otherwise it is zero.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int or None, default=None
        Outer iterations at most; the default of the solver when None.
    storage : str, LowRank or MemoryMapped, default="auto"
        How Gram matrices are held while fitting, see `multikernel.gram.build_stack`:
        "dense", "dense32" (single precision), "lazy" (computed when needed),
        "low_rank" or a `multikernel.gram.LowRank` (factors by landmarks), "memmap" or
        a `multikernel.gram.MemoryMapped` (in a file), or "auto" for what is predicted
        to be quickest. Precomputed ones are held as they come.
    max_bytes : int, default=None
        Limit on the bytes of the Gram matrices, with the copies that folds need; half
        of the memory that is free when None.
    check_psd : {"active", "all", False}, default="active"
        Which kernels that are not this library's own, precomputed ones among them,
        are checked for a negative eigenvalue after a fit: those of the model, all, or
        none. See `multikernel.gram.check_definite`.
    verbose : int, default=0
        Whether to write one line per iteration to standard error.
    random_state : int, RandomState or None, default=None
        Draws the vectors that test precomputed matrices for symmetry, and subsamples
        of the dictionary where there are any; the rest of a fit is deterministic.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
        Weights of the kernels, not negative, with a sum of one.
    block_norms_ : ndarray of shape (n_kernels,)
        Norms of the functions f_m in the spaces of their normalised kernels.
    variance_shares_ : ndarray of shape (n_kernels,)
        Shares of the terms in the variance of the decision values on the training
        samples, see `variance_shares`: they sum to one, and one that works against
        the others is negative.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a non-zero weight, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,)
        The dual variable of the machine: f_m is ``kernel_weights_[m]`` times K_m times
        it. Zero at samples of weight zero.
    intercept_ : ndarray of shape (1,)
        The intercept.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that the model uses.
    objective_ : float
        The objective of the machine: half the squared norm plus C times the sum of the
        losses.
    duality_gap_ : float
        nan: nothing is proved of the weights.
    machine_gap_ : float
        Relative duality gap of the machine for these weights.
    n_iter_ : int
        Outer iterations made.
    history_ : structured ndarray of shape (n_lines,)
        One line per outer iteration: output (always 0), iteration, seconds, objective,
        duality_gap, n_active, passes, inner_steps.
    status_ : str
        Why the solver stopped, a sentence: the value of a `Status`.
    storage_, storage_reason_ : str
        How Gram matrices were held, and why.
    n_features_in_ : int
        Number of columns; of training samples for precomputed kernels.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names, where X was a data frame.

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

    def __init__(
        self,
        kernels: Any = None,
        C: float = 1.0,
        *,
        loss: str | Loss = "epsilon_insensitive",
        epsilon: float = 0.1,
        method: Method = "joint",
        max_kernels: int | None = None,
        normalize: Steps = NORMALIZE,
        fit_intercept: bool = True,
        tol: float = 1e-3,
        max_iter: int | None = None,
        storage: Storage = "auto",
        max_bytes: int | None = None,
        check_psd: str | bool = "active",
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        store(self, locals())
