"""One-class learning with many kernels, for novelty and outlier detection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _num_samples

from multikernel._typing import Array, Indices
from multikernel._validation import Check, Number
from multikernel.estimators.base import BaseMKL
from multikernel.estimators.fit import fit_estimator
from multikernel.estimators.grams.method import fitted_attributes, warn_unconverged
from multikernel.estimators.grams.recipe import GramFit, Recipe
from multikernel.estimators.grams.source import GramSource, gram_source
from multikernel.estimators.grams.training import Training
from multikernel.estimators.lp.method import p_choice
from multikernel.estimators.parameters import NORMALIZE
from multikernel.estimators.progress import Watch
from multikernel.estimators.read.numbers import require_table
from multikernel.gram import Storage
from multikernel.gram.normalization import Steps
from multikernel.problem import Callback
from multikernel.solvers.one_class import OneClass


@dataclass(frozen=True, eq=False)
class OneClassMethod:
    """A method that solves the problem of novelty detection, which has no targets."""

    source: GramSource
    solver: OneClass

    def learn(self, data: Training, watch: Watch) -> dict[str, object]:
        """Solve the one-class problem, and return the fitted attributes."""
        weights = data.samples.weights
        weights = np.ones(data.stack.shape[1]) if weights is None else weights
        solution = self.solver.solve(data.stack, weights / weights.sum(), watch)
        warn_unconverged(data, [solution])
        # The solver `OneClass` defines its loss and penalty, so the recipe has none.
        fit = GramFit(Recipe((), (), self.solver), data, [solution])
        return fitted_attributes(fit) | {"offset_": -float(solution.intercept[0])}


@dataclass(eq=False, repr=False)
class OneClassMKL(OutlierMixin, BaseMKL):
    r"""Novelty and outlier detection with lp-norm weights of the kernels.

    The fit minimizes, over kernel weights theta of p-norm at most one, functions f_m in
    the kernels' spaces and an offset b [1]_,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\theta_m} - b
        + \frac{1}{\nu \sum_i s_i} \sum_i s_i \max\Bigl(0, b - \sum_m f_m(x_i)\Bigr)

    with sample weights s: the one-class machine of `sklearn.svm.OneClassSVM` on a
    learned combination of kernels. Every fit ends with a duality gap, a bound on the
    distance of ``objective_`` to the optimum. The combined Gram matrix is stored in
    memory.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        Candidate kernels, as for other estimators. None selects Gaussian kernels of a
        few widths on all columns together, which you should standardize, and for up to
        eight columns also on each column alone. A linear kernel does not detect samples
        that are far from zero in the direction of the mean.
    nu : float, default=0.5
        Upper bound on the share of training samples outside the boundary, and lower
        bound on the share of those on or outside the boundary, in (0, 1].
    p : float, default=2.0
        Order of the norm of the kernel weights, at least 1; with infinity all weights
        are equal. With p = 1 few kernels are selected. With p near 1, kernels that are
        almost constant get large weights.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization: "variance" (variance of one in feature space), "trace" (mean
        diagonal of one), "cosine", "center" or a list of steps. None omits it.
    penalty_weights : dict, sequence of float or None, default=None
        Weights w_m > 0, one per kernel or by name of kernel or view; weights not given
        are 1. The penalty contains w_m ‖f_m‖, not ‖f_m‖. ``kernel_weights_`` and
        ``block_norms_`` then refer to normalized kernels divided by w_m².
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=200
        Maximum number of iterations; each fits one machine and passes over all kernels.
    storage : str, LowRank or Device, default="auto"
        Storage of Gram matrices: "auto" (expected to be fastest), "dense", "dense32"
        (single precision), "lazy" (recomputed), "low_rank" or "by_kernel" (factors),
        "device" (accelerator) or an object; see `multikernel.gram.build_stack`.
    max_bytes : int or None, default=None
        Maximum bytes of the Gram matrices; None allows half of the free memory.
    verbose : int, default=0
        If positive, print one line per iteration to standard error.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative kernel weights with p-norm one.
    block_norms_ : ndarray of shape (n_kernels,)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,)
        Share of each f_m in the variance of training decision values; may be negative.
    view_weights_, view_shares_, kernel_views_, view_columns_ : dict, dict, list, dict
        With views: sums of weights and shares, each kernel's view, each view's columns.
    category_features_, categories_, sequence_features_ : ndarray, list, ndarray
        Indices of category columns, values of each, and indices of sequence columns.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight, ascending.
    kernel_names_, n_kernels_ : list of str, int
        Names of all candidate kernels, and their number.
    dual_coef_ : ndarray of shape (n_samples,)
        Feasible dual point a that proves ``duality_gap_``: nonnegative, with sum one.
        At the optimum f_m = ``kernel_weights_[m]`` K_m a.
    intercept_ : ndarray of shape (1,)
        Minus ``offset_``.
    offset_ : float
        The offset b: `decision_function` is `score_samples` minus it.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples that have a nonzero value in ``dual_coef_``.
    objective_ : float
        Value of the objective above, within ``duality_gap_`` (relative) of its minimum.
    duality_gap_ : float
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int
        Number of outer iterations, at least one.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration with the fields of `Progress`; ``output`` is 0.
    status_, status_message_ : str
        Why the solver stopped: a `Status` such as "converged", and a sentence about it.
    fit_info_ : dict
        Keys "solver", "storage", "storage_reason", "left_out" (unused default kernels).
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X (``X.shape[1]``), and their names if X was a data frame.

    See Also
    --------
    sklearn.svm.OneClassSVM : The same with one kernel.

    References
    ----------
    .. [1] Sonnenburg, Rätsch, Schäfer, Schölkopf (2006). Large scale multiple kernel
       learning. JMLR 7, 1531-1565.

    Examples
    --------
    >>> import numpy as np
    >>> from multikernel import OneClassMKL
    >>> X = np.random.default_rng(0).standard_normal((80, 2))
    >>> OneClassMKL(nu=0.1).fit(X).predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    """

    _checks: ClassVar[Mapping[str, Check]] = {
        "nu": Number(0.0, 1.0, above=True),
        "p": p_choice,
    }

    kernels: object = None
    nu: float = 0.5
    _: KW_ONLY
    p: float = 2.0
    normalize: Steps = NORMALIZE
    penalty_weights: Mapping[str, float] | Sequence[float] | Array | None = None
    tol: float = 1e-3
    max_iter: int = 200
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0

    def fit(  # type: ignore[override] # no `offset`: one class has no known part
        self,
        X: object,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training data, or Gram matrices from `stack_grams`.
        y : ignored
            Not used; present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights; an integer weight acts as copies of the sample.
        callback : callable, default=None
            Called with a `Progress` per iteration; the fit stops if it returns True.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            If a parameter or the data are invalid.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped above the tolerance.
        """
        if X is None:
            raise ValueError(
                "OneClassMKL requires X, got None: pass an array or a data frame."
            )
        require_table(X, "X")
        dummy_targets = np.zeros(_num_samples(X))
        fit_estimator(self, X, dummy_targets, sample_weight, callback)
        return self

    def _method(self) -> OneClassMethod:
        # The machine stores the combined Gram matrix, and low-rank factors have their
        # maximum rank from the start.
        source = gram_source(self, refines=False, novelty=True)
        solver = OneClass(float(self.nu), float(self.p), float(self.tol), self.max_iter)
        return OneClassMethod(source, solver)

    def decision_function(self, X: object) -> Array:
        """Return decision values, positive inside the boundary and negative outside.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, or Gram matrices of shape (n_samples, n_fit_samples, n_kernels).

        Returns
        -------
        f : ndarray of shape (n_samples,)
        """
        values: Array = self._decision_values(X)[:, 0]
        return values

    def score_samples(self, X: object) -> Array:
        """Return the sum of the terms: the decision values plus ``offset_``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `decision_function`.

        Returns
        -------
        f : ndarray of shape (n_samples,)
        """
        scores: Array = self.decision_function(X) + self.offset_
        return scores

    def predict(self, X: object) -> Indices:
        """Return whether samples are inside the boundary.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `decision_function`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            1 inside and on the boundary, -1 outside.
        """
        inside = self.decision_function(X) >= 0.0
        return np.where(inside, 1, -1).astype(np.intp)
