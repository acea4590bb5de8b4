"""One-class learning with many kernels, for novelty and outlier detection."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
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
    """A method that solves one problem without targets: novelty detection."""

    source: GramSource
    solver: OneClass

    why_no_path: ClassVar[str] = (
        "has no strength: its parameter nu is the share of outliers."
    )

    def learn(self, data: Training, watch: Watch) -> dict[str, Any]:
        """Solve the one-class problem, and return the fitted attributes."""
        weights = data.samples.weights
        weights = np.ones(data.stack.shape[1]) if weights is None else weights
        solution = self.solver.solve(data.stack, weights / weights.sum(), watch)
        warn_unconverged(data, [solution])
        # The solver defines the loss and the penalty too.
        fit = GramFit(Recipe((), (), self.solver), data, [solution])
        return fitted_attributes(fit) | {"offset_": -float(solution.intercept[0])}


@dataclass(eq=False, repr=False)
class OneClassMKL(OutlierMixin, BaseMKL):
    r"""Novelty and outlier detection with lp-norm weights of the kernels.

    The fit minimizes, over weights of p-norm at most one, functions of the kernels'
    spaces and an offset [1]_,

    .. math::
        \frac12 \sum_m \frac{\|f_m\|^2}{\theta_m} - b + \frac{1}{\nu \sum_i s_i}
        \sum_i s_i \max\Bigl(0, b - \sum_m f_m(x_i)\Bigr)

    with sample weights s: the one-class machine of `sklearn.svm.OneClassSVM` on a
    combination of kernels that is learned at the same time. Every fit ends with a
    duality gap, a bound on the distance of ``objective_`` to the optimum. The combined
    Gram matrix is stored in memory.

    Parameters
    ----------
    kernels : Kernel, list, dict, KernelDictionary, "precomputed" or None, default=None
        The candidate kernels, as for other estimators. None selects Gaussian kernels of
        a few widths on all columns together, which must be standardized, and for up to
        eight columns also on each column alone. These kernels are bounded, so a sample
        far from all others is unusual. A linear kernel is unbounded: samples far out on
        the side of the mean count as usual.
    nu : float, default=0.5
        Upper bound on the share of training samples outside the boundary, in (0, 1]; at
        least this share is on or outside the boundary.
    p : float, default=2.0
        Order of the norm of the kernel weights, at least 1; infinite gives the sum of
        all kernels. With p = 1 few kernels are selected. Near 1, kernels that are
        almost constant are preferred because no sample is unusual to them.
    normalize : str, Normalizer, list of str and Normalizer, or None, default="variance"
        Normalization of the kernels. "variance" gives unit variance in feature space,
        "trace" a mean diagonal of one, "cosine" cosine similarity; "center" only
        centers. An object such as `multikernel.gram.TailNormalizer` is accepted too. A
        list is applied in order. The factors are computed on the training samples.
    penalty_weights : dict, sequence of float or None, default=None
        Penalty weights w_m > 0: the penalty contains w_m ‖f_m‖ in place of ‖f_m‖, so a
        kernel of weight 2 must explain twice as much to enter. A sequence has one
        number for each kernel. A dict maps names of kernels or views to weights; a
        kernel's name takes precedence over its view's, and kernels without an entry
        have weight 1. The fit divides the normalized kernels by w_m²; ``block_norms_``
        and ``kernel_weights_`` refer to these scaled kernels, ``variance_shares_`` does
        not depend on the scale.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_iter : int, default=200
        Maximum number of iterations; each fits one machine and passes over all kernels.
    storage : str, LowRank or Device, default="auto"
        Storage of the Gram matrices during the fit, see `multikernel.gram.build_stack`.
        "dense" stores all matrices, "dense32" in single precision; "lazy" recomputes
        them when needed; "low_rank", or a `multikernel.gram.LowRank`, stores factors
        from landmarks; "by_kernel" stores kernels of high rank whole and factors of the
        others; "device", or a `multikernel.gram.Device`, stores matrices on an
        accelerator. "auto" chooses the storage that is predicted to be the fastest.
        Precomputed matrices are not copied or converted.
    max_bytes : int, default=None
        Maximum memory of the Gram matrices in bytes, including copies for folds; None
        allows half of the free memory.
    verbose : int, default=0
        If positive, print one line per iteration to standard error.
    random_state : int, RandomState or None, default=None
        Seed of the vectors that test precomputed matrices for symmetry and of
        subsamples of the dictionary. All other steps are deterministic.

    Attributes
    ----------
    kernel_weights_ : ndarray of shape (n_kernels,)
        Nonnegative kernel weights with p-norm one.
    block_norms_ : ndarray of shape (n_kernels,)
        Norm of each function f_m in the space of its normalized kernel.
    variance_shares_ : ndarray of shape (n_kernels,)
        Share of each term in the variance of the decision values on the training
        samples. The shares sum to one; the share of a term that opposes the others is
        negative.
    view_weights_, view_shares_ : dict
        Sums of ``kernel_weights_`` and ``variance_shares_`` over the kernels of each
        view; only if ``kernels`` was a mapping of views. ``kernel_views_`` is the view
        of each kernel, ``view_columns_`` the columns of each view.
    category_features_, categories_ : ndarray, list of ndarray
        Positions of the text columns that are compared as categories, and the training
        values of each.
    active_kernels_ : ndarray of shape (n_active,)
        Indices of the kernels with a nonzero weight, ascending.
    kernel_names_ : list of str
        Names of all kernels.
    dual_coef_ : ndarray of shape (n_samples,)
        Feasible dual point a that proves ``duality_gap_``: nonnegative, with sum one.
        At the optimum f_m = ``kernel_weights_[m]`` K_m a.
    intercept_ : ndarray of shape (1,)
        Minus the offset.
    offset_ : float
        The offset b: `decision_function` is `score_samples` minus it.
    support_ : ndarray of shape (n_support,)
        Indices of the training samples with a nonzero coefficient.
    objective_ : float
        Objective of the model.
    duality_gap_ : float
        Relative duality gap of the model; the fit stops when it is at most ``tol``.
    n_iter_ : int
        Number of outer iterations, at least one.
    history_ : structured ndarray of shape (n_lines,)
        One record per outer iteration with the fields output (always 0), iteration,
        seconds, objective, duality_gap, n_active, passes, inner_steps.
    status_ : str
        Reason why the solver stopped: "converged" if the tolerance was reached,
        otherwise another name of a `Status` in lower case.
    status_message_ : str
        The reason as a sentence.
    n_kernels_ : int
        Number of kernels in the dictionary. Above one million interactions of columns
        with few values, ``kernel_weights_``, ``kernel_names_`` and the other attributes
        of kernels describe a short list; all other kernels have weight zero, and the
        gap covers all kernels.
    fit_info_ : dict
        Details of the fit. "solver": the algorithms that produced the solution of each
        problem, in order, such as "newton_in_weights". "storage" and "storage_reason":
        the storage of the Gram matrices and the reason for it. "left_out": columns,
        interactions and exact kernels that the default dictionary omits, and the
        reason; empty if it omits none or if ``kernels`` is given. "cv_tol" (searches):
        relative duality gap for the fits of the folds, 30 times ``tol`` and at most
        0.03. "search_rows" (searches): number of rows whose folds gave the scores, see
        ``max_search_rows``. "predicted_alike" (searches): the class that the chosen
        models predict for every validation sample; empty if predictions differ, and for
        regressors.
    n_features_in_ : int
        Number of columns of X; for precomputed kernels, number of training samples.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names; only if X was a data frame.

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
    >>> from multikernel.estimators import OneClassMKL
    >>> X = np.random.default_rng(0).standard_normal((80, 2))
    >>> model = OneClassMKL(nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    >>> bool(model.duality_gap_ <= model.tol)
    True
    """

    _checks: ClassVar[Mapping[str, Check]] = {
        "nu": Number(0.0, 1.0, above=True),
        "p": p_choice,
    }

    kernels: Any = None
    nu: float = 0.5
    _: KW_ONLY
    p: float = 2.0
    normalize: Steps = NORMALIZE
    penalty_weights: Any = None
    tol: float = 1e-3
    max_iter: int = 200
    storage: Storage = "auto"
    max_bytes: int | None = None
    verbose: int = 0
    random_state: Any = None

    def fit(  # type: ignore[override] # no `offset`: one class has no known part
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        callback: Callback | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Training data; with ``kernels="precomputed"`` Gram matrices of shape
            (n_samples, n_samples, n_kernels), see `stack_grams`.
        y : ignored
            Not used; present by convention.
        sample_weight : array-like of shape (n_samples,), default=None
            Nonnegative weights of the samples. An integer weight has the effect of as
            many copies of the sample; a weight of zero removes it.
        callback : callable, default=None
            Called with a `Progress` once per iteration; the fit stops if it returns
            True.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are invalid; the message says which and why.

        Warns
        -----
        ConvergenceWarning
            If the solver stopped above the tolerance; the message gives the gap.
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
        # The machine uses the full combined kernel, and factors are not refined.
        source = gram_source(self, refines=False, novelty=True)
        solver = OneClass(float(self.nu), float(self.p), float(self.tol), self.max_iter)
        return OneClassMethod(source, solver)

    def decision_function(self, X: Any) -> Array:
        """Return decision values, positive inside and negative outside.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data; with ``kernels="precomputed"`` of shape (n_samples, n_fit_samples,
            n_kernels).

        Returns
        -------
        f : ndarray of shape (n_samples,)
            Negative outside.
        """
        values: Array = self._decision_values(X)[:, 0]
        return values

    def score_samples(self, X: Any) -> Array:
        """Return the decision values without the offset.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data, as in `decision_function`.

        Returns
        -------
        f : ndarray of shape (n_samples,)
            ``decision_function(X) + offset_``.
        """
        scores: Array = self.decision_function(X) + self.offset_
        return scores

    def predict(self, X: Any) -> Indices:
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
